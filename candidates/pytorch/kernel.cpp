#include "candidates/pytorch/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace {

constexpr std::int64_t kMostInt = 2147483647;

bool needs_parentheses(std::string_view text) {
  return text.find_first_of("+-*/% ") != std::string_view::npos;
}

std::string factor(const std::string& text) {
  return needs_parentheses(text) ? "(" + text + ")" : text;
}

}  // namespace

std::string_view computed_in(ScalarType type) {
  switch (type) {
    case ScalarType::kF32:
    case ScalarType::kF16:
    case ScalarType::kBf16:
      return "float";
    case ScalarType::kBool:
      return "bool";
    default:
      return cuda_name(type);
  }
}

std::string literal(double value, ScalarType type) {
  if (!is_float(type)) {
    constexpr double kMost = 9.2233720368547e18;
    const double whole = std::isnan(value) ? 0 : std::clamp(value, -kMost, kMost);
    return fmt::format("{}", static_cast<std::int64_t>(whole));
  }
  if (std::isnan(value)) return "NAN";
  const bool wide = type == ScalarType::kF64;
  if (std::isinf(wide ? value : static_cast<double>(static_cast<float>(value)))) {
    return value < 0 ? "-INFINITY" : "INFINITY";
  }
  std::string text = wide ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return wide ? text : text + "f";
}

std::string converted(const std::string& value, ScalarType from, ScalarType to) {
  if (computed_in(from) == computed_in(to)) return value;
  return fmt::format("({})({})", computed_in(to), value);
}

std::string stored_as(ScalarType type, const std::string& value) {
  switch (type) {
    case ScalarType::kF16:
      return fmt::format("__float2half({})", value);
    case ScalarType::kBf16:
      return fmt::format("__float2bfloat16({})", value);
    default:
      return value;
  }
}

Kernel::Kernel(Translation& translation, std::string name, std::string comment)
    : to_(translation), name_(std::move(name)), comment_(std::move(comment)) {}

std::string Kernel::free_name(std::string_view wanted) const {
  const auto taken = [&](std::string_view name) {
    return std::ranges::any_of(parameters_, [&](const auto& p) { return p.name == name; }) ||
           std::ranges::any_of(numbers_, [&](const auto& n) { return n.name == name; }) ||
           std::ranges::find(locals_, name) != locals_.end();
  };
  std::string name(wanted);
  for (int i = 2; taken(name); ++i) name = fmt::format("{}{}", wanted, i);
  return name;
}

Kernel::Operand Kernel::add(std::string_view name, const Tensor& tensor, bool written) {
  Dim all = 1;
  for (const Dim& extent : to_.storage(tensor.storage).shape) all *= extent;
  if (to_.sizes.value(all) > kMostInt || to_.sizes.value(tensor.elements()) > kMostInt) {
    index_type_ = "long long";
  }
  if (written) to_.note_written(tensor.storage);
  parameters_.push_back({free_name(name), tensor, written});
  return {parameters_.size() - 1};
}

Kernel::Operand Kernel::in(std::string_view name, const Tensor& tensor) {
  return add(name, tensor, false);
}
Kernel::Operand Kernel::out(std::string_view name, const Tensor& tensor) {
  return add(name, tensor, true);
}

std::string Kernel::size(std::string_view name, const Dim& dim) {
  const Dim known = to_.sizes.resolve(dim);
  if (const auto number = known.constant()) return fmt::format("{}", *number);
  for (const Number& number : numbers_) {
    if (number.value == known) return number.name;
  }
  numbers_.push_back({free_name(name), known});
  return numbers_.back().name;
}

Indices Kernel::each(const std::vector<std::pair<std::string, Dim>>& extents) {
  return index_box(extents, false);
}
Indices Kernel::each_block(const std::vector<std::pair<std::string, Dim>>& extents) {
  return index_box(extents, true);
}

Indices Kernel::index_box(const std::vector<std::pair<std::string, Dim>>& extents, bool blocks) {
  Indices at;
  std::vector<std::string> declarations;
  std::vector<std::pair<std::string, std::string>> digits;  // index and extent
  for (const auto& [name, extent] : extents) {
    threads_ *= extent;
    const Dim known = to_.sizes.resolve(extent);
    if (known == Dim(1)) {
      at.emplace_back("0");
      continue;
    }
    std::string upper = name;
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
    const std::string bound = size(upper, known);
    locals_.push_back(free_name(name));
    at.push_back(locals_.back());
    digits.emplace_back(at.back(), bound);
  }
  if (to_.sizes.value(threads_) > kMostInt) index_type_ = "long long";
  const bool single = digits.size() == 1;
  std::string total;
  for (const auto& [index, extent] : digits) total += (total.empty() ? "" : " * ") + extent;
  if (total.empty()) total = "1";
  if (index_type_ != "int" && !single) total = "(long long)" + total;
  const std::string flat = single ? digits.front().first : free_name("i");
  if (!single) locals_.push_back(flat);
  if (blocks) {
    if (!digits.empty()) line(fmt::format("{} {} = blockIdx.x;", index_type_, flat));
  } else {
    line(index_type_ == "int"
             ? fmt::format("int {} = blockIdx.x * blockDim.x + threadIdx.x;", flat)
             : fmt::format("long long {} = (long long)blockIdx.x * blockDim.x + threadIdx.x;",
                           flat));
    line(fmt::format("if ({} >= {}) return;", flat, total));
  }
  if (single) return at;
  std::vector<std::string> lines;
  std::string below;
  for (std::size_t i = digits.size(); i-- > 0;) {
    std::string value = flat;
    if (!below.empty()) value += " / " + factor(below);
    if (i > 0) value += " % " + factor(digits[i].second);
    lines.push_back(fmt::format("{} {} = {};", index_type_, digits[i].first, value));
    below = below.empty() ? digits[i].second : digits[i].second + " * " + below;
    if (index_type_ != "int" && !below.starts_with("(long long)")) below = "(long long)" + below;
  }
  for (std::size_t i = lines.size(); i-- > 0;) line(lines[i]);
  return at;
}

Indices Kernel::each_element(const Tensor& tensor) {
  static const char* const kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  std::vector<std::pair<std::string, Dim>> extents;
  for (int i = 0; i < tensor.rank(); ++i) {
    if (i >= 8) refuse("has more than 8 dimensions");
    extents.emplace_back(kNames[i], tensor.shape[static_cast<std::size_t>(i)]);
  }
  return each(extents);
}

void Kernel::line(const std::string& text) {
  body_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n";
}
void Kernel::begin(const std::string& head) {
  line(head + " {");
  ++depth_;
}
void Kernel::end() {
  --depth_;
  line("}");
}
void Kernel::loop(std::string_view index, const std::string& bound, const std::string& from) {
  locals_.emplace_back(index);
  begin(fmt::format("for ({} {} = {}; {} < {}; {}++)", index_type_, index, from, index, bound,
                    index));
}

std::string Kernel::index_of(const Parameter& parameter, const Indices& at) {
  const Tensor& tensor = parameter.tensor;
  if (at.size() != tensor.shape.size()) refuse("an index of the wrong rank (a bug of hone's)");
  // Outermost first, so that what lies in one row is written like ((n * C + c) * H + h) * W + w.
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const bool stays = at[i] == "0" || to_.sizes.resolve(tensor.strides[i]) == Dim(0);
    if (!stays) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return to_.sizes.value(tensor.strides[a]) > to_.sizes.value(tensor.strides[b]);
  });
  std::string text;
  for (std::size_t i = 0; i < order.size();) {
    // A run of dimensions of which each is the row of the next.
    std::string run = at[order[i]];
    std::size_t last = i;
    while (last + 1 < order.size() &&
           to_.sizes.same(tensor.strides[order[last]],
                          tensor.strides[order[last + 1]] * tensor.shape[order[last + 1]])) {
      ++last;
      const std::string extent =
          size(fmt::format("{}_{}", parameter.name, order[last]), tensor.shape[order[last]]);
      run = fmt::format("{} * {} + {}", factor(run), factor(extent), at[order[last]]);
    }
    const Dim stride = to_.sizes.resolve(tensor.strides[order[last]]);
    const std::string by = size(fmt::format("{}_stride{}", parameter.name, order[last]), stride);
    if (!text.empty()) text += " + ";
    text += by == "1" ? run : fmt::format("{} * {}", factor(run), by);
    i = last + 1;
  }
  const Dim offset = to_.sizes.resolve(tensor.offset);
  if (offset != Dim(0)) {
    const std::string from = size(parameter.name + "_from", offset);
    text = text.empty() ? from : fmt::format("{} + {}", from, text);
  }
  return text.empty() ? "0" : text;
}

std::string Kernel::load_raw(Operand operand, const Indices& at) {
  const Parameter parameter = parameters_[operand.index];
  return fmt::format("{}[{}]", parameter.name, index_of(parameter, at));
}

std::string Kernel::load(Operand operand, const Indices& at) {
  const std::string raw = load_raw(operand, at);
  switch (parameters_[operand.index].tensor.type) {
    case ScalarType::kF16:
      return fmt::format("__half2float({})", raw);
    case ScalarType::kBf16:
      return fmt::format("__bfloat162float({})", raw);
    default:
      return raw;
  }
}

Indices Kernel::repeated(const Tensor& tensor, const Indices& at) const {
  Indices mine;
  const std::size_t skip = at.size() - tensor.shape.size();
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    mine.push_back(to_.sizes.resolve(tensor.shape[i]) == Dim(1) ? "0" : at[skip + i]);
  }
  return mine;
}

void Kernel::store(Operand operand, const Indices& at, const std::string& value) {
  const std::string place = load_raw(operand, at);
  line(fmt::format("{} = {};", place, value));
}

void Kernel::launch(int block) {
  LaunchText launch;
  launch.grid = {to_.sizes.ceil_div(threads_, block)};
  launch.block = {block};
  add(std::move(launch));
}

void Kernel::launch_blocks(int block) {
  LaunchText launch;
  launch.grid = {threads_};
  launch.block = {block};
  add(std::move(launch));
}

void Kernel::add(LaunchText launch) {
  std::string head = "(";
  for (const Parameter& parameter : parameters_) {
    if (head.size() > 1) head += ", ";
    head += fmt::format("{}{}* {}", parameter.written ? "" : "const ",
                        cuda_name(parameter.tensor.type), parameter.name);
    launch.args.push_back({to_.buffer_of(parameter.tensor), {}});
  }
  for (const Number& number : numbers_) {
    if (head.size() > 1) head += ", ";
    const bool wide = to_.sizes.value(number.value) > kMostInt;
    head += fmt::format("{} {}", wide ? "long long" : "int", number.name);
    launch.args.push_back({-1, number.value});
  }
  const std::string text = head + ") {\n" + body_ + "}\n";
  launch.kernel = to_.add_kernel(name_, text, comment_);
  to_.add_launch(std::move(launch));
}

}  // namespace hone::pytorch
