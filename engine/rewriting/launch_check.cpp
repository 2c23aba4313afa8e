#include "engine/rewriting/launch_check.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using syntax::Function;
using syntax::TranslationUnit;
using syntax::Type;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

/// May a buffer of this element type be passed to a pointer to `pointee`? Untyped, vector and
/// byte views of the same data are the kernel's business.
bool element_fits(ScalarType type, const Type& pointee) {
  if (pointee.kind == Type::Kind::kVector || pointee.kind == Type::Kind::kStruct ||
      pointee.kind == Type::Kind::kVoid || pointee.kind == Type::Kind::kOther) {
    return true;
  }
  const auto size = static_cast<int>(size_of(type));
  if (is_float(type)) {
    return pointee.is_float() && (pointee.bytes == 0 || pointee.bytes == size);
  }
  return pointee.is_integer() && pointee.bytes == size;
}

Result<void> check_argument(const Program& program, const Argument& argument,
                            const syntax::Variable& parameter, const std::string& place) {
  const Type& type = parameter.type;
  if (type.kind == Type::Kind::kOther) return {};  // dependent on a template parameter
  if (argument.kind == Argument::Kind::kBuffer) {
    const Buffer* buffer = program.find_buffer(argument.buffer);
    if (!type.is_pointer()) {
      return invalid(
          fmt::format("{}: buffer '{}' is passed to parameter '{}', which is a scalar "
                      "({}); pass a size or a number",
                      place, argument.buffer, parameter.name, type.spelling));
    }
    if (buffer != nullptr && type.element != nullptr &&
        !element_fits(buffer->type, *type.element)) {
      return invalid(fmt::format(
          "{}: buffer '{}' has type {} ({}) but parameter '{}' is '{}'; make the two agree", place,
          argument.buffer, to_string(buffer->type), cuda_name(buffer->type), parameter.name,
          type.spelling));
    }
    return {};
  }
  if (argument.kind == Argument::Kind::kTensorMap) {
    if (type.kind == Type::Kind::kStruct) return {};
    return invalid(fmt::format(
        "{}: a tensor map of '{}' is passed to parameter '{}' ({}); the kernel must take a const "
        "__grid_constant__ CUtensorMap",
        place, argument.buffer, parameter.name, type.spelling));
  }
  const std::string shown = argument.kind == Argument::Kind::kExpr
                                ? argument.expr.text()
                                : fmt::format("{}", argument.number);
  if (type.is_pointer()) {
    return invalid(
        fmt::format("{}: '{}' is a number but parameter '{}' is a pointer ({}); pass a "
                    "buffer's name",
                    place, shown, parameter.name, type.spelling));
  }
  if (argument.kind == Argument::Kind::kNumber && type.is_integer() &&
      argument.number != std::floor(argument.number)) {
    return invalid(fmt::format("{}: {} is not an integer but parameter '{}' is ({})", place, shown,
                               parameter.name, type.spelling));
  }
  if (type.kind == Type::Kind::kStruct || type.kind == Type::Kind::kVector) {
    return invalid(
        fmt::format("{}: parameter '{}' is a {}, passed by value; only pointers and "
                    "scalars can be passed",
                    place, parameter.name, type.spelling));
  }
  return {};
}

}  // namespace

Result<void> validate_launches(const Program& program, const std::string& path) {
  auto unit = syntax::parse(program);
  if (!unit) {
    // NVRTC has the last word on what is CUDA: without a picture of the source nothing is compared.
    return refused(
        fmt::format("the rules cannot read this source ({}:{}): only its tunables are searched",
                    path, unit.error().message));
  }
  std::vector<std::string> kernels;
  for (const Function* function : (*unit)->functions) {
    if (function->is_kernel) kernels.push_back(function->name);
  }
  if (kernels.empty()) {
    return invalid(
        fmt::format("{}: no __global__ function in the source; a task needs a kernel", path));
  }
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    const Launch& launch = program.launches[i];
    std::string name = launch.kernel.substr(0, launch.kernel.find('<'));
    if (const auto scope = name.rfind("::"); scope != std::string::npos)
      name = name.substr(scope + 2);
    const Function* function = (*unit)->find_function(name);
    if (function == nullptr || !function->is_kernel) {
      const auto nearest = std::ranges::min_element(
          kernels, {}, [&](const std::string& k) { return edit_distance(k, name); });
      return invalid(fmt::format(
          "{}: $.launches[{}].kernel: {} '{}'; did you mean '{}'? The source has {}", path, i,
          function == nullptr ? "there is no kernel" : "not a __global__ function:", name, *nearest,
          fmt::join(kernels, ", ")));
    }
    if (function->parameters.size() != launch.args.size()) {
      std::vector<std::string> expected;
      for (const auto* p : function->parameters) {
        expected.push_back(fmt::format("{} {}", p->type.spelling, p->name));
      }
      return invalid(fmt::format(
          "{}: $.launches[{}].args: {} argument{} given, kernel '{}' (line {}) takes {}: {}", path,
          i, launch.args.size(), launch.args.size() == 1 ? "" : "s", name,
          (*unit)->line_of(function->name_range.begin), function->parameters.size(),
          fmt::join(expected, ", ")));
    }
    for (std::size_t j = 0; j < launch.args.size(); ++j) {
      const std::string place = fmt::format("{}: $.launches[{}].args[{}]", path, i, j);
      if (auto fits = check_argument(program, launch.args[j], *function->parameters[j], place);
          !fits) {
        return fits;
      }
    }
  }
  return {};
}

}  // namespace hone
