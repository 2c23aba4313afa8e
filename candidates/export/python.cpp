#include "candidates/export/python.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "candidates/export/python_runtime.h"
#include "candidates/export/source.h"
#include "candidates/expr_spelling.h"

namespace hone::exporting {
namespace {

std::string python_integer(std::int64_t value) {
  return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
}

/// Writes expressions of one program; remembers the first that cannot be.
class Spelling {
 public:
  Spelling(const Bindings& sizes, Bindings tunables)
      : sizes_(sizes), tunables_(std::move(tunables)) {
    spelling_.literal = python_integer;
    spelling_.name = [this](const std::string& name) {
      if (sizes_.contains(name)) return "n_" + name;
      const auto found = tunables_.find(name);
      if (found == tunables_.end() && why_.empty()) why_ = fmt::format("unknown name '{}'", name);
      return found == tunables_.end() ? std::string("0") : python_integer(found->second);
    };
    spelling_.operation = [](std::string_view op, const std::vector<std::string>& operands) {
      if (op == "neg") return fmt::format("(-{})", operands[0]);
      if (op == "min" || op == "max") return fmt::format("{}({})", op, fmt::join(operands, ", "));
      for (const auto& [name, call] : std::initializer_list<std::pair<const char*, const char*>>{
               {"/", "_div"}, {"%", "_rem"}, {"ceildiv", "_ceildiv"}}) {
        if (op == name) return fmt::format("{}({}, {})", call, operands[0], operands[1]);
      }
      if (op == "+" || op == "-" || op == "*") {
        return fmt::format("({} {} {})", operands[0], op, operands[1]);
      }
      if (op == "&&" || op == "||") {
        return fmt::format("int({} != 0 {} {} != 0)", operands[0], op == "&&" ? "and" : "or",
                           operands[1]);
      }
      return fmt::format("int({} {} {})", operands[0], op, operands[1]);
    };
  }

  std::string operator()(const Expr& expr) {
    auto text = spell(expr, spelling_);
    if (!text && why_.empty()) why_ = text.error().message;
    return text.value_or("0");
  }
  std::string tuple(const std::vector<Expr>& exprs) {
    std::vector<std::string> items;
    for (const Expr& expr : exprs) items.push_back((*this)(expr));
    return python_tuple(items);
  }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  const Bindings& sizes_;
  Bindings tunables_;
  ExprSpelling spelling_;
  std::string why_;
};

/// A literal that an expression is, where a candidate stands at its sizes.
template <class Values>
std::string numbers(const Values& values) {
  std::vector<std::string> items;
  for (const std::int64_t value : values) items.push_back(python_integer(value));
  return python_tuple(items);
}

std::string python_floating(double value) {
  std::string text = fmt::format("{:.17g}", value);
  if (text.find_first_of(".en") == text.npos) text += ".0";
  return text;
}

}  // namespace

std::string python_tuple(const std::vector<std::string>& items) {
  return fmt::format("({}{})", fmt::join(items, ", "), items.size() == 1 ? "," : "");
}

PythonWriter::PythonWriter(const Plan& plan) : plan_(plan) {
  Names names(Names::Language::kPython);
  function_ = names.fresh(plan.name);
  std::size_t input = 0;
  for (const Buffer* buffer : plan.buffers()) {
    names_[buffer->name] = names.fresh(buffer->name);
    if (buffer->role == Role::kOut) continue;
    for (std::size_t d = 0; d < buffer->shape.size(); ++d) {
      const std::string& extent = buffer->shape[d].text();
      if (plan.task->sizes.contains(extent)) inferred_.try_emplace(extent, input, d);
    }
    ++input;
  }
  for (const auto& [name, value] : plan.task->sizes) {
    if (!names_.contains(name)) names_[name] = names.fresh(name);
  }
}

std::string PythonWriter::header() const {
  std::string text;
  for (const Part& part : plan_.candidates) {
    for (const std::string& line : about(*part.row, *plan_.task)) text += "# " + line + "\n";
  }
  return text;
}

std::vector<std::string> PythonWriter::inputs() const {
  std::vector<std::string> result;
  for (const Buffer* buffer : plan_.buffers()) {
    if (buffer->role != Role::kOut) result.push_back(names_.at(buffer->name));
  }
  return result;
}

std::size_t PythonWriter::outputs() const { return plan_.buffers().size() - inputs().size(); }

std::vector<std::string> PythonWriter::given() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : plan_.task->sizes) {
    if (!inferred_.contains(name)) result.push_back(names_.at(name));
  }
  return result;
}

std::string PythonWriter::parameters() const {
  std::vector<std::string> items = inputs();
  if (!given().empty()) items.emplace_back("*");
  for (const auto& [name, value] : plan_.task->sizes) {
    if (!inferred_.contains(name)) items.push_back(fmt::format("{}={}", names_.at(name), value));
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

std::string PythonWriter::size_parameters() const {
  std::vector<std::string> items;
  for (const auto& [name, value] : plan_.task->sizes) items.push_back("n_" + name);
  return fmt::format("{}", fmt::join(items, ", "));
}

std::string PythonWriter::comment() const {
  std::string text;
  for (const Buffer* buffer : plan_.buffers()) {
    std::vector<std::string> extents;
    for (const Expr& extent : buffer->shape) extents.push_back(extent.text());
    text += fmt::format("#   {}: {}{}, [{}]\n", names_.at(buffer->name), to_string(buffer->type),
                        buffer->role == Role::kOut     ? ", returned"
                        : buffer->role == Role::kInOut ? ", read and written"
                                                       : "",
                        comment_text(fmt::format("{}", fmt::join(extents, ", "))));
  }
  return text;
}

Result<std::string> PythonWriter::program(const Part& part, bool arch_features) const {
  const Program& program = *part.program;
  std::vector<std::string> kernels;
  std::vector<std::size_t> arities;
  for (const Launch& launch : program.launches) {
    const auto found = std::ranges::find(kernels, launch.kernel);
    if (found == kernels.end()) {
      kernels.push_back(launch.kernel);
      arities.push_back(launch.args.size());
    } else if (arities[static_cast<std::size_t>(found - kernels.begin())] != launch.args.size()) {
      return invalid(fmt::format("kernel '{}' has launches with different numbers of arguments",
                                 launch.kernel));
    }
  }
  std::string source;
  for (const auto& [name, value] : program.defines)
    source += fmt::format("#define {} {}\n", name, value);
  source += with_std_headers(part.source);
  source += kSignatures;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    names.push_back(python_string(kernels[i]));
    source += fmt::format(
        "extern \"C\" __device__ hone_signature<decltype(&{})> hone_signature_{}{{}};\n",
        kernels[i], i);
  }

  // Buffers by number: the caller's, then scratch.
  std::map<std::string, std::size_t> numbers_of;
  for (const Buffer* buffer : plan_.buffers()) numbers_of.emplace(buffer->name, numbers_of.size());
  const auto scratch = part.scratch(*plan_.task);
  for (const Buffer* buffer : scratch) numbers_of.emplace(buffer->name, numbers_of.size());

  Spelling spell(plan_.task->sizes, Plan::tunables(program));
  const bool fixed = part.row != nullptr;
  std::vector<std::string> scratch_items, launch_items;
  for (const Buffer* buffer : scratch) {
    const auto index = static_cast<std::size_t>(buffer - program.buffers.data());
    scratch_items.push_back(fmt::format(
        "('{}', {})", to_string(buffer->type),
        fixed ? numbers(part.concrete.buffers[index].shape) : spell.tuple(buffer->shape)));
  }
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    const Launch& launch = program.launches[i];
    const ConcreteLaunch& concrete = part.concrete.launches[i];
    std::vector<std::string> arguments;
    for (std::size_t a = 0; a < launch.args.size(); ++a) {
      const Argument& argument = launch.args[a];
      if (argument.kind == Argument::Kind::kBuffer) {
        arguments.push_back(fmt::format("_Buffer({})", numbers_of.at(argument.buffer)));
      } else if (argument.kind == Argument::Kind::kNumber) {
        arguments.push_back(python_floating(argument.number));
      } else if (argument.kind == Argument::Kind::kTensorMap) {
        const Buffer& buffer = *program.find_buffer(argument.buffer);
        const TensorMap map = spelled_out(argument.tensor_map, buffer);
        const auto reversed = [&](std::vector<Expr> exprs, const std::string& factor) {
          std::vector<std::string> texts;
          for (const Expr& expr : std::views::reverse(exprs)) texts.push_back(spell(expr) + factor);
          return python_tuple(texts);
        };
        arguments.push_back(fmt::format(
            "_TensorMap({}, {}, {}, {}, {}, {})", numbers_of.at(argument.buffer),
            static_cast<int>(spec_type(buffer.type, map.as_tf32)), reversed(map.shape, ""),
            reversed(map.strides, fmt::format(" * {}", size_of(buffer.type))),
            reversed(map.box, ""), static_cast<int>(spec_swizzle(map.swizzle))));
      } else {
        arguments.push_back(fixed ? python_integer(std::get<std::int64_t>(concrete.args[a]))
                                  : spell(argument.expr));
      }
    }
    const auto kernel = std::ranges::find(kernels, launch.kernel) - kernels.begin();
    launch_items.push_back(fmt::format(
        "({}, {}, {}, {}, {})", kernel, fixed ? numbers(concrete.grid) : spell.tuple(launch.grid),
        fixed ? numbers(concrete.block) : spell.tuple(launch.block),
        fixed ? python_integer(concrete.shared_bytes) : spell(launch.shared_bytes),
        python_tuple(arguments)));
  }
  if (!spell.why().empty()) return invalid(spell.why());

  const auto function = [&](std::string_view name, const std::vector<std::string>& items) {
    std::string text =
        fmt::format("def _{}_{}({}):\n    return (\n", name, part.name, size_parameters());
    for (const std::string& item : items) text += fmt::format("        {},\n", item);
    return text + "    )\n\n\n";
  };
  const bool exactly = plan_.dispatches() || part.arch_features;
  std::string text = function("scratch", scratch_items) + function("launches", launch_items);
  const bool usable = arch_features || !part.arch_features;
  text += fmt::format(
      "_{0} = _Program(\n    capability={1},\n    exactly={2},\n    source={3},\n    kernels={4},\n"
      "    arities={5},\n    scratch=_scratch_{0},\n    launches=_launches_{0},\n)\n",
      part.name, part.capability, exactly ? "True" : "False", python_text(source),
      python_tuple(names), numbers(arities));
  if (fixed && usable) text += fmt::format("_CANDIDATES.append(_{})\n", part.name);
  if (!fixed) text += fmt::format("_REFERENCE = _{}\n", part.name);
  return text + "\n";
}

Result<std::string> PythonWriter::tables(bool arch_features) const {
  const Task& task = *plan_.task;
  Spelling spell(task.sizes, Plan::tunables(task.reference));
  std::vector<std::string> sizes, buffers, inputs, given, inferred, shapes, constraints;
  for (const auto& [name, value] : task.sizes) {
    sizes.push_back(fmt::format("({}, {})", python_string(name), value));
    const auto found = inferred_.find(name);
    if (found == inferred_.end()) {
      given.push_back(python_string(name));
    } else {
      inferred.push_back(fmt::format("{}: ({}, {})", python_string(name), found->second.first,
                                     found->second.second));
    }
  }
  for (const Buffer* buffer : plan_.buffers()) {
    buffers.push_back(fmt::format("('{}', '{}', '{}', {})", names_.at(buffer->name),
                                  to_string(buffer->type), to_string(buffer->role),
                                  buffer->shape.size()));
    shapes.push_back(spell.tuple(buffer->shape));
  }
  for (const Expr& constraint : task.constraints)
    constraints.push_back(spell(constraint) + " != 0");
  if (constraints.empty()) constraints.emplace_back("True");
  if (!spell.why().empty()) return invalid(spell.why());

  std::string text = fmt::format(
      "# What the candidates were made for.\n_SIZES = {}\n"
      "# Sizes that a shape tells: of which input, in which dimension; and those that are given.\n"
      "_INFERRED = {{{}}}\n_GIVEN = {}\n"
      "# Name, type, role, dimensions.\n_BUFFERS = {}\n"
      "_INPUTS = tuple(b for b in _BUFFERS if b[2] != 'out')\n\n\n"
      "def _shapes({}):\n    return {}\n\n\n"
      "def _constraints({}):\n    return {}\n\n\n_CANDIDATES = []\n\n\n",
      python_tuple(sizes), fmt::join(inferred, ", "), python_tuple(given), python_tuple(buffers),
      size_parameters(), python_tuple(shapes), size_parameters(), fmt::join(constraints, " and "));
  for (const Part& part : plan_.candidates) {
    auto one = program(part, arch_features);
    if (!one) return one;
    text += *one;
  }
  auto reference = program(plan_.reference, arch_features);
  if (!reference) return reference;
  return text + *reference;
}

}  // namespace hone::exporting
