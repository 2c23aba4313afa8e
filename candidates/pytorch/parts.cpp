#include "candidates/pytorch/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "candidates/pytorch/names.h"
#include "candidates/pytorch/part_graph.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/task_reader.h"

namespace hone::pytorch {
namespace cutting {
namespace {

/// One part's graph, with names of its own: "conv2d", "relu", "relu_2".
class PartText {
 public:
  PartText(const Exported& whole, const PartNodes& nodes, const MathLevels& math)
      : whole_(whole), nodes_(nodes), math_(math) {
    for (const GraphInput& input : whole.inputs) inputs_.emplace(input.name, &input);
  }

  Part write() {
    for (const std::string& value : nodes_.inputs) add_input(value);
    for (const std::size_t index : nodes_.nodes) add_node(whole_.nodes[index]);
    for (const std::string& value : nodes_.outputs) {
      graph_.outputs.push_back({GraphOutput::Kind::kUser, names_.at(value), ""});
    }
    const Imported imported = import_graph(graph_, "", title(), math_);
    Part part;
    part.text = imported.text;
    std::size_t argument = 0;
    for (std::size_t i = 0; i < nodes_.inputs.size(); ++i) {
      const GraphInput& input = graph_.inputs[i];
      std::string buffer;
      if (input.kind == GraphInput::Kind::kUser) {
        buffer = imported.arguments.at(argument++);
      } else {
        buffer = std::ranges::find(imported.parameters, input.target, &Imported::Parameter::name)
                     ->buffer;
      }
      const std::string& value = nodes_.inputs[i];
      part.inputs.push_back({value, buffer, nodes_.changed.contains(value), orders_[i]});
    }
    for (std::size_t i = 0; i < nodes_.outputs.size(); ++i) {
      part.outputs.push_back({nodes_.outputs[i], imported.results.at(i), false, {}});
      const std::size_t rank = whole_.tensors.at(nodes_.outputs[i]).sizes.size();
      for (std::size_t d = 0; d < rank; ++d)
        part.outputs.back().order.push_back(static_cast<int>(d));
    }
    for (const std::size_t index : nodes_.nodes) part.nodes.push_back(whole_.nodes[index].name);
    return part;
  }

 private:
  static std::string operator_of(const Node& node) {
    const std::size_t first = node.target.find('.'), last = node.target.rfind('.');
    if (first == std::string::npos || last <= first) return "node";
    return node.target.substr(first + 1, last - first - 1);
  }

  [[nodiscard]] std::string title() const {
    constexpr std::size_t kLongest = 48;
    std::string title;
    for (const Node& node : graph_.nodes) {
      const std::string name = operator_of(node);
      if (title.ends_with(name)) continue;
      if (title.size() + name.size() > kLongest) break;
      title += (title.empty() ? "" : " ") + name;
    }
    return title;
  }

  std::string fresh(std::string_view hint) {
    std::string name = unused_name(hint, taken_, numbers_);
    taken_.insert(name);
    return name;
  }

  void name_value(const std::string& value, const std::string& name) {
    names_.emplace(value, name);
    const auto meta = whole_.tensors.find(value);
    if (meta == whole_.tensors.end()) refuse("the file says nothing of the tensor '{}'", value);
    graph_.tensors.emplace(name, meta->second);
  }

  void add_input(const std::string& value) {
    const auto found = inputs_.find(value);
    const bool parameter =
        found != inputs_.end() && (found->second->kind == GraphInput::Kind::kParameter ||
                                   found->second->kind == GraphInput::Kind::kBuffer);
    GraphInput input;
    std::string hint = "x";
    if (parameter) {
      input.kind = found->second->kind;
      hint = found->second->target.substr(found->second->target.rfind('.') + 1);
    }
    input.name = fresh(hint);
    name_value(value, input.name);
    TensorMeta& meta = graph_.tensors.at(input.name);
    if (parameter) {
      input.target = input.name;
      if (found->second->weight) meta = whole_.weights[*found->second->weight].meta;
    }
    if (found == inputs_.end()) {
      std::int64_t stride = 1;
      meta.strides.resize(meta.sizes.size());
      for (std::size_t i = meta.sizes.size(); i-- > 0;) {
        meta.strides[i] = stride;
        stride *= std::max<std::int64_t>(meta.sizes[i], 1);
      }
    }
    orders_.push_back(memory_order(meta, value));
    if (parameter) {
      input.weight = graph_.weights.size();
      graph_.weights.push_back({meta, {}, /*has_bytes=*/false});
      graph_.weights.back().meta.offset = 0;
    }
    graph_.inputs.push_back(std::move(input));
  }

  void add_node(const Node& node) {
    Node copy = node;
    copy.name = fresh(operator_of(node));
    copy.module.clear();
    for (auto& [argument, value] : copy.inputs) {
      if (auto* one = std::get_if<TensorName>(&value)) one->name = names_.at(one->name);
      if (auto* several = std::get_if<TensorNames>(&value)) {
        for (std::string& name : *several) name = name.empty() ? "" : names_.at(name);
      }
    }
    for (std::size_t i = 0; i < copy.outputs.size(); ++i) {
      std::string& output = copy.outputs[i];
      if (output.empty()) continue;
      const std::string name = i == 0 ? copy.name : fresh(fmt::format("{}_{}", copy.name, i));
      name_value(output, name);
      output = name;
    }
    graph_.nodes.push_back(std::move(copy));
  }

  const Exported& whole_;
  const PartNodes& nodes_;
  const MathLevels& math_;
  std::map<std::string, const GraphInput*> inputs_;
  std::map<std::string, std::string> names_;  ///< of the whole graph's values here
  std::set<std::string> taken_;
  LastNumbers numbers_;                   ///< behind names that are taken
  std::vector<std::vector<int>> orders_;  ///< of the inputs
  Exported graph_;
};

Parts cut(const Exported& exported, const PartsOptions& options) {
  PartGraph graph(exported, options);
  for (;;) {
    Parts parts;
    const std::vector<PartNodes> groups = graph.groups();
    std::map<std::string, std::size_t> first;
    bool good = true;
    for (const PartNodes& group : groups) {
      try {
        Part part = PartText(exported, group, options.math).write();
        if (const auto task = parse_task(part.text, "part.task.cu"); !task) {
          refuse("{}", task.error().message);
        }
        part.alike = first.try_emplace(part.text, parts.parts.size()).first->second;
        parts.parts.push_back(std::move(part));
      } catch (const Refusal& refusal) {
        graph.leave_out(group, one_line(refusal.what()));
        good = false;
      }
    }
    if (!good) continue;  // other nodes are PyTorch's now, so other parts come about
    parts.steps = graph.steps();
    parts.left_out = graph.left_out();
    parts.dropped = graph.dropped();
    return parts;
  }
}

}  // namespace
}  // namespace cutting

Result<Parts> cut_pt2(const std::filesystem::path& path, const PartsOptions& options) {
  const auto exported = read_exported(path);
  if (!exported) return std::unexpected(exported.error());
  try {
    return cutting::cut(*exported, options);
  } catch (const Refusal& refusal) {
    return invalid(fmt::format("{}: {}", path.string(), one_line(refusal.what())));
  }
}

}  // namespace hone::pytorch
