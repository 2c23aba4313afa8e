#include "candidates/pytorch/task_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace {

constexpr int kMostConstraints = 64;

class TaskWriter {
 public:
  TaskWriter(Translation& translation, std::optional<MathLevel> math)
      : from_(translation), math_(math) {
    for (const LaunchText& launch : from_.launches()) {
      for (const auto& argument : launch.args) {
        if (argument.buffer >= 0) used_.insert(argument.buffer);
      }
    }
  }

  std::string write(const std::string& name, const std::string& torch_version) {
    if (from_.launches().empty()) refuse("computes nothing: its results are its arguments");
    const std::string buffers = buffer_lines(), launches = launch_lines();
    std::string text = fmt::format("/* hone {{\n  \"name\": {},\n  \"sizes\": {{{}}},\n",
                                   shown(name), size_list());
    text += fmt::format("  \"buffers\": [\n{}],\n  \"launches\": [\n{}]", buffers, launches);
    const std::string constraints = constraint_list();
    if (!constraints.empty()) text += fmt::format(",\n  \"constraints\": [{}]", constraints);
    if (math_) text += fmt::format(",\n  \"math\": \"{}\"", to_string(*math_));
    text += "\n} */\n\n";
    text +=
        fmt::format("// From a module that PyTorch{}{} exported: one kernel for each operation.\n",
                    torch_version.empty() ? "" : " ", torch_version);
    text += includes();
    for (const KernelText& kernel : from_.kernels()) {
      text += "\n";
      if (!kernel.comment.empty()) text += fmt::format("// {}\n", kernel.comment);
      text += fmt::format("__global__ void {}{}", kernel.name, kernel.text);
    }
    return text;
  }

 private:
  /// As JSON that ends no comment; what is no UTF-8 as a replacement character.
  static std::string shown(const nlohmann::json& json) {
    std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at)) {
      text.insert(at + 1, "\\");
    }
    return text;
  }

  [[nodiscard]] bool is_left_out(int index) const {
    const BufferText& buffer = from_.buffers()[static_cast<std::size_t>(index)];
    return !used_.contains(index) && buffer.role == Role::kScratch;
  }

  /// A number as it is, else a text; at small sizes it must be `least` or more.
  std::string json_of(const Dim& dim, int least) {
    from_.sizes.add_used(dim, sizes_);
    const Dim known = from_.sizes.resolve(dim);
    if (const auto number = known.constant()) return fmt::format("{}", *number);
    note_least(known, least);
    return fmt::format("\"{}\"", from_.sizes.text(known));
  }

  std::string list_of(const std::vector<Dim>& dims) {
    std::string list;
    for (const Dim& dim : dims) list += (list.empty() ? "" : ", ") + json_of(dim, 1);
    return list.empty() ? "1" : list;
  }

  /// What is a difference or a quotient could become 0 at small sizes.
  void note_least(const Dim& dim, int least) {
    bool safe = true;
    for (const auto& [monomial, factor] : dim.terms()) safe = safe && factor > 0;
    const std::string text = from_.sizes.text(dim);
    if (!safe || (least > 0 && text.find('/') != std::string::npos)) {
      int& known = least_.try_emplace(text, least).first->second;
      known = std::max(known, least);
    }
  }

  std::string buffer_lines() {
    std::string lines;
    for (std::size_t i = 0; i < from_.buffers().size(); ++i) {
      if (is_left_out(static_cast<int>(i))) continue;
      const BufferText& buffer = from_.buffers()[i];
      // An argument that nothing reads stays: the module's caller passes it.
      lines += fmt::format("{}    {{\"name\": \"{}\", \"type\": \"{}\", \"shape\": [{}]",
                           lines.empty() ? "" : ",\n", buffer.name, to_string(buffer.type),
                           list_of(buffer.shape));
      if (buffer.role != Role::kIn)
        lines += fmt::format(", \"role\": \"{}\"", to_string(buffer.role));
      if (buffer.fill.is_null() && (!buffer.below.empty() || buffer.within)) {
        lines += fmt::format(", \"fill\": {}", range_of(buffer));
      }
      if (!buffer.fill.is_null()) lines += fmt::format(", \"fill\": {}", shown(buffer.fill));
      lines += "}";
    }
    return lines;
  }

  /// The fill of integers that index something: the smallest of their upper bounds.
  std::string range_of(const BufferText& buffer) {
    const std::int64_t low = buffer.within ? buffer.within->low : 0;
    std::set<std::string> bounds;
    for (const Dim& extent : buffer.below)
      bounds.insert(json_of(extent - 1, static_cast<int>(low)));
    if (buffer.within) bounds.insert(fmt::format("{}", buffer.within->high));
    std::string high;
    for (std::string bound : bounds) {
      std::erase(bound, '"');
      high += (high.empty() ? "" : ",") + bound;
    }
    if (bounds.size() > 1) high = fmt::format("\"min({})\"", high);
    if (bounds.size() == 1) high = *bounds.begin();
    return fmt::format("{{\"integers\": [{}, {}]}}", low, high);
  }

  std::string launch_lines() {
    std::string lines;
    for (const LaunchText& launch : from_.launches()) {
      std::string args;
      for (const auto& argument : launch.args) {
        if (!args.empty()) args += ", ";
        args += argument.buffer >= 0 ? fmt::format("\"{}\"", from_.buffer(argument.buffer).name)
                                     : json_of(argument.value, 0);
      }
      lines += fmt::format(
          "{}    {{\"kernel\": \"{}\", \"grid\": [{}], \"block\": [{}],\n     \"args\": [{}]}}",
          lines.empty() ? "" : ",\n", launch.kernel, list_of(launch.grid), list_of(launch.block),
          args);
    }
    return lines;
  }

  [[nodiscard]] std::string size_list() const {
    std::string list;
    for (const auto& [name, value] : sizes_) {
      list += fmt::format("{}\"{}\": {}", list.empty() ? "" : ", ", name, value);
    }
    return list;
  }

  [[nodiscard]] std::string constraint_list() const {
    std::string list;
    int count = 0;
    for (const auto& [text, least] : least_) {
      if (++count > kMostConstraints) break;
      list += fmt::format("{}\"{} >= {}\"", list.empty() ? "" : ", ", text, least);
    }
    return list;
  }

  [[nodiscard]] std::string includes() const {
    bool half = false, bf16 = false;
    for (const BufferText& buffer : from_.buffers()) {
      half = half || buffer.type == ScalarType::kF16;
      bf16 = bf16 || buffer.type == ScalarType::kBf16;
    }
    return fmt::format("{}{}", half ? "#include <cuda_fp16.h>\n" : "",
                       bf16 ? "#include <cuda_bf16.h>\n" : "");
  }

  Translation& from_;
  std::optional<MathLevel> math_;
  std::set<int> used_;  ///< buffers of some launch
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, int> least_;  ///< of expressions that are not positive by their form
};

}  // namespace

std::string task_text(Translation& translation, const std::string& name,
                      const std::string& torch_version, std::optional<MathLevel> math) {
  return TaskWriter(translation, math).write(name, torch_version);
}

}  // namespace hone::pytorch
