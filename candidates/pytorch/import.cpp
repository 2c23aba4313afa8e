#include "candidates/pytorch/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "candidates/pytorch/examine.h"
#include "candidates/pytorch/exported.h"
#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/task_text.h"

namespace hone::pytorch {

std::vector<int> memory_order(const TensorMeta& meta, const std::string& name) {
  std::vector<int> order(meta.sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto stride = [&](int i) { return meta.strides[static_cast<std::size_t>(i)]; };
  const auto size = [&](int i) { return meta.sizes[static_cast<std::size_t>(i)]; };
  // Dimensions of one element lie anywhere: they stay where they are.
  std::vector<int> longer;
  std::ranges::copy_if(order, std::back_inserter(longer), [&](int i) { return size(i) != 1; });
  std::ranges::stable_sort(longer, [&](int a, int b) { return stride(a) > stride(b); });
  for (std::size_t i = 0, next = 0; i < order.size(); ++i) {
    if (meta.sizes[i] != 1) order[i] = longer[next++];
  }
  if (lies_in_a_row(meta)) std::ranges::sort(order);
  std::int64_t expected = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (size(order[i]) == 1) continue;
    if (stride(order[i]) != expected) {
      refuse(
          "'{}' has the strides [{}] for the sizes [{}]: its elements overlap or have gaps; pass a "
          "tensor that is dense in some order of its dimensions (contiguous())",
          name, fmt::join(meta.strides, ", "), fmt::join(meta.sizes, ", "));
    }
    expected *= size(order[i]);
  }
  return order;
}

namespace {

/// Fills for what has no bytes of its own: arguments, and parameters on the meta device.
nlohmann::json made_up_fill(const GraphInput& input, const TensorMeta& meta) {
  if (!is_float(meta.type)) return nullptr;
  if (input.kind == GraphInput::Kind::kUser) return {{"normal", {0, 1}}};
  const bool variance = input.target.contains("running_var");
  const bool scale = meta.sizes.size() == 1 && input.target.contains("weight");
  if (variance || scale) return {{"uniform", {0.5, 1.5}}};
  if (meta.sizes.size() < 2) return {{"uniform", {-0.5, 0.5}}};
  // As PyTorch draws weights: so that results keep the magnitude of what goes in.
  double fan_in = 1;
  for (std::size_t i = 1; i < meta.sizes.size(); ++i) fan_in *= static_cast<double>(meta.sizes[i]);
  const double bound = std::stod(fmt::format("{:.3g}", 1 / std::sqrt(fan_in)));
  return {{"uniform", {-bound, bound}}};
}

class Import {
 public:
  Import(const Exported& exported, std::string fill_path)
      : exported_(exported), fill_path_(std::move(fill_path)), read_(names_read(exported)) {}

  /// What each node is, in their order. One that hone does not take gives tensors from outside.
  Examined examine() {
    for (const GraphInput& input : exported_.inputs) {
      const TensorMeta* lacking = lacking_of(input.name);
      lacking != nullptr ? give_from_outside(input.name, *lacking) : add_input(input);
    }
    Examined all;
    for (const Node& node : exported_.nodes) all.nodes.push_back(examine(node));
    for (const auto& [name, tensor] : values_) all.storages.emplace(name, tensor.storage);
    return all;
  }

  Imported run(const std::string& name, const MathLevels& math) {
    for (const GraphInput& input : exported_.inputs) add_input(input);
    for (const Node& node : exported_.nodes) translate(node);
    finish_outputs();
    check_shared_bytes();
    to_.settle_indices();
    Imported imported;
    imported.text = task_text(to_, name, exported_.torch_version, level_of(exported_, math));
    for (const int storage : arguments_) imported.arguments.push_back(buffer_name(storage));
    for (const auto& [target, storage] : parameters_) {
      imported.parameters.push_back({target, buffer_name(storage)});
    }
    for (const int storage : results_) imported.results.push_back(buffer_name(storage));
    for (const int storage : to_.draws()) imported.draws.push_back(buffer_name(storage));
    return imported;
  }

 private:
  NodeFacts examine(const Node& node) {
    NodeFacts facts;
    const int storages = to_.storages();
    const std::size_t launches = to_.launches().size(), written = to_.written().size(),
                      draws = to_.draws().size();
    for (const std::string& name : tensors_read(node)) {
      const auto found = values_.find(name);
      if (found == values_.end()) refuse("no node makes '{}', which '{}' reads", name, node.name);
      facts.reads.insert(found->second.storage);
    }
    try {
      translate_unnamed(node);
      if (to_.draws().size() > draws) facts.why_not = "draws at random, which stays PyTorch's";
    } catch (const Refusal& refusal) {
      facts.why_not = refusal.what();
    }
    for (std::size_t i = launches; i < to_.launches().size(); ++i) {
      facts.launches += 1;
      const auto kernel =
          std::ranges::find(to_.kernels(), to_.launches()[i].kernel, &KernelText::name);
      facts.loops = facts.loops || kernel->text.contains("for (");
    }
    for (std::size_t i = written; i < to_.written().size(); ++i) {
      if (to_.written()[i] < storages) facts.writes.insert(to_.written()[i]);
    }
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      if (!facts.why_not.empty()) give_from_outside(name);
      const auto made = values_.find(name);  // there is none of what nobody reads
      if (made != values_.end()) facts.makes.insert(made->second.storage);
    }
    // Nobody knows what it does to what it is given but PyTorch.
    if (!facts.why_not.empty()) facts.writes = written_by_name(node, facts);
    return facts;
  }

  /// Of an operator that hone does not take: PyTorch names its own that write with a "_" at the
  /// end, or "out" among the overloads; batch norms write their statistics. Of others nobody knows.
  static std::set<int> written_by_name(const Node& node, const NodeFacts& facts) {
    const std::size_t dot = node.target.rfind('.');
    const bool writes = dot == std::string::npos || !node.target.starts_with("aten.") ||
                        (dot > 0 && node.target[dot - 1] == '_') ||
                        node.target.substr(dot).contains("out") ||
                        node.target.contains("batch_norm");
    return writes ? facts.reads : std::set<int>{};
  }

  void give_from_outside(const std::string& name) {
    const auto found = exported_.tensors.find(name);
    if (found == exported_.tensors.end()) refuse("the file says nothing of the tensor '{}'", name);
    give_from_outside(name, found->second);
  }

  /// Of a tensor that hone lacks the storage alone counts: nothing asks for its shape.
  void give_from_outside(const std::string& name, const TensorMeta& meta) {
    BufferText buffer;
    buffer.name = name;
    buffer.type = meta.type;
    buffer.role = Role::kIn;
    for (std::size_t i = 0; i < meta.sizes.size() && meta.lacks.empty(); ++i) {
      buffer.shape.push_back(to_.sizes.fresh(fmt::format("{}_{}", name, i), meta.sizes[i]));
    }
    values_.insert_or_assign(name, to_.give(buffer));
  }

  /// What the file says of a tensor that hone lacks; null: hone has it.
  [[nodiscard]] const TensorMeta* lacking_of(const std::string& name) const {
    const auto found = exported_.tensors.find(name);
    return found == exported_.tensors.end() || found->second.lacks.empty() ? nullptr
                                                                           : &found->second;
  }

  /// What later nodes and the module's caller see.
  static std::set<std::string> names_read(const Exported& exported) {
    std::set<std::string> names;
    for (const Node& node : exported.nodes) {
      for (const std::string& name : tensors_read(node)) names.insert(name);
    }
    for (const GraphOutput& output : exported.outputs) names.insert(output.name);
    return names;
  }

  [[nodiscard]] std::string buffer_name(int storage) {
    return storage < 0 ? "" : to_.buffer(to_.storage(storage).buffer).name;
  }

  void add_input(const GraphInput& input) {
    const bool user = input.kind == GraphInput::Kind::kUser;
    // What hone lacks has no buffer: a node that reads it is refused.
    if (input.name.empty() || lacking_of(input.name) != nullptr) {
      if (user) arguments_.push_back(-1);
      return;
    }
    const auto found = exported_.tensors.find(input.name);
    if (found == exported_.tensors.end())
      refuse("the file says nothing of the input '{}'", input.name);
    const Weight* weight = input.weight ? &exported_.weights[*input.weight] : nullptr;
    // Tied weights: several names of the same bytes.
    if (weight != nullptr && weight->has_bytes) {
      const auto tied = by_bytes_.find({weight->bytes.offset, weight->meta.offset});
      if (tied != by_bytes_.end() && tied->second.second == weight->meta.strides &&
          sizes_of(tied->second.first) == weight->meta.sizes) {
        values_.insert_or_assign(input.name, tied->second.first);
        parameters_.emplace_back(input.target, tied->second.first.storage);
        return;
      }
    }
    const TensorMeta& meta = weight != nullptr ? weight->meta : found->second;
    const std::string called = user ? input.name : input.target;
    const std::vector<int> order = memory_order(meta, called);
    BufferText buffer;
    buffer.name = called;
    buffer.type = meta.type;
    buffer.role = Role::kIn;
    std::vector<Dim> shape(meta.sizes.size());
    for (const int dimension : order) {
      const auto i = static_cast<std::size_t>(dimension);
      shape[i] = to_.sizes.fresh(fmt::format("{}_{}", called, dimension), meta.sizes[i]);
      buffer.shape.push_back(shape[i]);
    }
    if (weight != nullptr && weight->has_bytes) {
      buffer.fill = {
          {"file", fill_path_},
          {"offset", weight->bytes.offset +
                         static_cast<std::uint64_t>(weight->meta.offset) * size_of(meta.type)}};
    } else {
      buffer.fill = made_up_fill(input, meta);
      buffer.made_up = user;
    }
    Tensor tensor = to_.give(buffer);
    std::vector<int> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    tensor = permuted(tensor, back);
    if (user) {
      arguments_.push_back(tensor.storage);
    } else {
      parameters_.emplace_back(input.target, tensor.storage);
    }
    if (weight != nullptr && weight->has_bytes) {
      by_bytes_.insert_or_assign({weight->bytes.offset, weight->meta.offset},
                                 std::pair(tensor, weight->meta.strides));
      const std::uint64_t begin =
          weight->bytes.offset +
          static_cast<std::uint64_t>(weight->meta.offset) * size_of(meta.type);
      std::uint64_t bytes = size_of(meta.type);
      for (const std::int64_t size : meta.sizes) bytes *= static_cast<std::uint64_t>(size);
      ranges_.push_back({input.target, tensor.storage, begin, begin + bytes});
    }
    values_.insert_or_assign(input.name, tensor);
  }

  void translate_unnamed(const Node& node) {
    Call call(to_, exported_, node, values_, &read_);
    if (const Operation* operation = find_operation(node.target)) return operation->translate(call);
    if (const Operation* functional = without_underscore(node.target)) {
      return in_place(call, node, *functional);
    }
    refuse(
        "hone does not have this operation; it needs a rule in candidates/pytorch/operations, "
        "which "
        "scripts/new_operation.sh begins");
  }

  /// Whatever is wrong is told with the node.
  void translate(const Node& node) {
    try {
      translate_unnamed(node);
    } catch (const Refusal& refusal) {
      refuse("node '{}' ({}{}{}): {}", node.name, node.target, node.module.empty() ? "" : " of ",
             node.module, refusal.what());
    }
  }

  /// "aten.relu_.default": what "aten.relu.default" gives, in the place of its first argument.
  static const Operation* without_underscore(const std::string& target) {
    const std::size_t dot = target.rfind('.');
    if (dot == std::string::npos || dot == 0 || target[dot - 1] != '_') return nullptr;
    return find_operation(target.substr(0, dot - 1) + target.substr(dot));
  }

  void in_place(Call& call, const Node& node, const Operation& functional) {
    const Tensor self = call.tensor("self");
    Node other = node;
    const std::size_t dot = node.target.rfind('.');
    other.target = node.target.substr(0, dot - 1) + node.target.substr(dot);
    Call inner(to_, exported_, other, values_, nullptr);
    functional.translate(inner);
    const auto made = node.outputs.empty() ? values_.end() : values_.find(node.outputs.front());
    if (made == values_.end()) refuse("gives no result");
    const Tensor& result = made->second;
    if (result.storage == self.storage &&
        (result.shape != self.shape || result.strides != self.strides)) {
      refuse("gives a tensor another shape in place");
    }
    to_.assign(self, result);
    values_.insert_or_assign(node.outputs.front(), self);
  }

  /// What the module returns gets a buffer of its own, with the role out.
  void finish_outputs() {
    std::set<int> taken;  // buffers
    // What one input held before goes into another: kept before anything is written back.
    for (const GraphOutput& output : exported_.outputs) {
      if (output.kind != GraphOutput::Kind::kMutation) continue;
      const Tensor& from = value(output.name);
      const bool own = own_value(output, from);
      if (!own && to_.storage(from.storage).given) {
        kept_.insert_or_assign(output.name, copied(from, output.name));
      }
    }
    for (const GraphOutput& output : exported_.outputs) {
      if (output.kind == GraphOutput::Kind::kMutation) {
        write_back(output);
        continue;
      }
      if (output.name.empty()) {
        results_.push_back(-1);
        continue;
      }
      Tensor tensor = value(output.name);
      const Storage& storage = to_.storage(tensor.storage);
      if (storage.given || !to_.is_whole(tensor) || taken.contains(storage.buffer)) {
        tensor = copied(tensor, output.name);
      }
      taken.insert(to_.buffer_of(tensor));
      to_.buffer(to_.buffer_of(tensor)).role = Role::kOut;
      // A reshaped result has the module's shape.
      to_.buffer(to_.buffer_of(tensor)).shape = tensor.shape;
      results_.push_back(tensor.storage);
    }
  }

  /// Buffers are apart. What weights share in the file must stay alike: nothing may write to one.
  void check_shared_bytes() {
    for (const Range& written : ranges_) {
      if (to_.buffer(to_.storage(written.storage).buffer).role == Role::kIn) continue;
      for (const Range& other : ranges_) {
        const bool shares = other.begin < written.end && written.begin < other.end;
        if (other.storage == written.storage || !shares) continue;
        refuse(
            "the module writes to '{}', which shares some of its elements with '{}'; clone() one "
            "of them",
            written.name, other.name);
      }
    }
  }

  [[nodiscard]] std::vector<std::int64_t> sizes_of(const Tensor& tensor) const {
    std::vector<std::int64_t> sizes;
    for (const Dim& extent : tensor.shape) sizes.push_back(to_.sizes.value(extent));
    return sizes;
  }

  /// Whether the value to be written back is what its input is already.
  [[nodiscard]] bool own_value(const GraphOutput& output, const Tensor& from) const {
    for (const GraphInput& input : exported_.inputs) {
      const bool named = input.kind == GraphInput::Kind::kUser ? input.name == output.target
                                                               : input.target == output.target;
      if (named && !input.name.empty()) return value(input.name).storage == from.storage;
    }
    return false;
  }

  void write_back(const GraphOutput& output) {
    for (const GraphInput& input : exported_.inputs) {
      const bool named = input.kind == GraphInput::Kind::kUser ? input.name == output.target
                                                               : input.target == output.target;
      if (!named || input.name.empty()) continue;
      const Tensor from =
                       (kept_.contains(output.name) ? kept_.at(output.name) : value(output.name)),
                   to = value(input.name);
      if (from.storage != to.storage) to_.assign(to, from);
      return;
    }
    refuse("the signature writes back to '{}', which is no input", output.target);
  }

  const Tensor& value(const std::string& name) const {
    if (const TensorMeta* lacking = lacking_of(name))
      refuse("the result '{}' {}", name, lacking->lacks);
    const auto found = values_.find(name);
    if (found == values_.end()) refuse("no node makes the result '{}'", name);
    return found->second;
  }

  Tensor copied(const Tensor& tensor, const std::string& name) {
    const Tensor copy = to_.make(tensor.type, tensor.shape, name + "_result");
    to_.copy(tensor, copy, "copy", "The same elements, row-major.");
    return copy;
  }

  const Exported& exported_;
  std::string fill_path_;
  std::set<std::string> read_;
  Translation to_;
  std::map<std::string, Tensor> values_;
  std::map<std::string, Tensor> kept_;  ///< what inputs held at the end, before others change them
  std::map<std::pair<std::uint64_t, std::int64_t>, std::pair<Tensor, std::vector<std::int64_t>>>
      by_bytes_;
  struct Range {
    std::string name;
    int storage = -1;
    std::uint64_t begin = 0, end = 0;  // in the file [B]
  };
  std::vector<Range> ranges_;                            ///< of weights with bytes
  std::vector<int> arguments_, results_;                 ///< storages; -1: no tensor
  std::vector<std::pair<std::string, int>> parameters_;  ///< names in the module's state, storages
};

}  // namespace

Result<Imported> import_pt2(const std::filesystem::path& path, const std::string& fill_path,
                            const MathLevels& math) {
  auto exported = read_exported(path);
  if (!exported) return std::unexpected(exported.error());
  try {
    return import_graph(*exported, fill_path, path.stem().string(), math);
  } catch (const Refusal& refusal) {
    return invalid(fmt::format("{}: {}", path.string(), one_line(refusal.what())));
  }
}

Imported import_graph(const Exported& exported, const std::string& fill_path,
                      const std::string& name, const MathLevels& math) {
  return Import(exported, fill_path).run(name, math);
}

Examined examine(const Exported& exported) { return Import(exported, "").examine(); }

}  // namespace hone::pytorch
