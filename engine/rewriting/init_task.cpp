#include "engine/rewriting/init_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "candidates/scalar_type.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using syntax::Expr;
using syntax::Function;
using syntax::KernelInfo;
using syntax::Polynomial;
using syntax::Type;
using syntax::Variable;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kTimedSize = 1024;
constexpr std::int64_t kSmallSizes[] = {64, 37};

std::optional<ScalarType> scalar_of(const Type& type) {
  if (type.kind == Type::Kind::kVector && type.element != nullptr) return scalar_of(*type.element);
  if (type.name == "__half" || type.name == "half") return ScalarType::kF16;
  if (type.name == "__nv_bfloat16") return ScalarType::kBf16;
  if (type.kind == Type::Kind::kBool) return ScalarType::kBool;
  if (type.is_float()) return type.bytes == 8 ? ScalarType::kF64 : ScalarType::kF32;
  if (type.kind != Type::Kind::kInt) return std::nullopt;
  switch (type.bytes) {
    case 1:
      return type.is_signed ? ScalarType::kI8 : ScalarType::kU8;
    case 4:
      return type.is_signed ? ScalarType::kI32 : ScalarType::kU32;
    case 8:
      return type.is_signed ? ScalarType::kI64 : ScalarType::kU64;
    default:
      return std::nullopt;
  }
}

/// The integer parameters that bound the grid, from conditions such as `row < M`, and by axis.
struct Extents {
  std::vector<std::string> in_order;             ///< as they first appear as a bound
  std::map<std::string, std::string> by_symbol;  ///< "k#1" -> "K", "threadIdx.x" -> "N"
};

const Variable* integer_parameter(const Expr* expr) {
  while (expr != nullptr && expr->kind == Expr::Kind::kCast) expr = expr->operands[0];
  if (expr == nullptr || expr->kind != Expr::Kind::kVariable) return nullptr;
  const bool scalar =
      expr->variable->storage == Variable::Storage::kParameter && expr->type.is_integer();
  return scalar ? expr->variable : nullptr;
}

Extents extents_of(const KernelInfo& info) {
  Extents extents;
  for (const Expr* expr : info.function->all_expressions) {
    if (expr->kind != Expr::Kind::kBinary || expr->operands.size() != 2) continue;
    if (expr->text != "<" && expr->text != ">=") continue;
    const Variable* bound = integer_parameter(expr->operands[1]);
    const auto index = syntax::polynomial(*expr->operands[0]);
    if (bound == nullptr || !index) continue;
    for (const std::string& symbol : index->symbols()) {
      if (symbol.starts_with("blockDim") || symbol.starts_with("gridDim")) continue;
      extents.by_symbol.emplace(symbol, bound->name);
    }
  }
  return extents;
}

/// ["M", "K"] from row*K + k, when every stride is a product of sizes that the extents explain.
std::optional<std::vector<std::string>> shape_of(const Polynomial& index, const Extents& extents) {
  // Symbol -> product of parameters it is multiplied with.
  std::map<std::string, std::set<std::string>> strides;
  for (const auto& [monomial, coefficient] : index.terms) {
    std::set<std::string> factors;
    std::string mover;
    bool block = false;
    for (const std::string& symbol : monomial) {
      if (symbol.starts_with("blockIdx")) {
        block = true;  // same dimension as the threadIdx term beside it
      } else if (symbol.starts_with("threadIdx") || extents.by_symbol.contains(symbol)) {
        mover = symbol;
      } else if (!symbol.starts_with("blockDim")) {
        factors.insert(symbol.substr(0, symbol.find('#')));
      }
    }
    if (block) continue;
    if (mover.empty() || coefficient != 1) return std::nullopt;
    strides[mover] = factors;
  }
  // Innermost first: each stride must be the product of the extents inside it.
  std::vector<std::pair<std::string, std::set<std::string>>> order(strides.begin(), strides.end());
  std::ranges::sort(order, {}, [](const auto& entry) { return entry.second.size(); });
  std::vector<std::string> shape;
  std::set<std::string> inner;
  for (const auto& [symbol, factors] : order) {
    const auto extent = extents.by_symbol.find(symbol);
    if (extent == extents.by_symbol.end() || factors != inner) return std::nullopt;
    shape.insert(shape.begin(), extent->second);
    inner.insert(extent->second);
  }
  if (shape.empty()) return std::nullopt;
  return shape;
}

class Initialiser {
 public:
  Initialiser(const syntax::TranslationUnit& unit, std::string name) : unit_(unit) {
    result_.task["name"] = std::move(name);
  }
  Result<InitResult> run();

 private:
  Result<void> add_kernel(const KernelInfo& info);
  void add_buffer(const KernelInfo& info, const Variable& parameter, ScalarType type,
                  const Extents& extents, const std::vector<std::string>& kernel_sizes);

  const syntax::TranslationUnit& unit_;
  InitResult result_;
  std::vector<std::string> sizes_;
  Json buffers_ = Json::array();
  std::set<std::string> known_buffers_;
  Json launches_ = Json::array();
};

void Initialiser::add_buffer(const KernelInfo& info, const Variable& parameter, ScalarType type,
                             const Extents& extents, const std::vector<std::string>& kernel_sizes) {
  bool read = false;
  bool written = false;
  std::optional<std::vector<std::string>> shape;
  for (const syntax::Access& access : info.accesses) {
    if (access.base != &parameter) continue;
    read = read || access.kind != syntax::Access::Kind::kWrite;
    written = written || access.kind != syntax::Access::Kind::kRead;
    if (!shape && access.index) shape = shape_of(*access.index, extents);
  }
  const bool is_const = parameter.type.element != nullptr && parameter.type.element->is_const;
  if (known_buffers_.contains(parameter.name)) {
    // A pipeline: what an earlier kernel wrote, a later one reads.
    for (Json& buffer : buffers_) {
      if (buffer["name"] == parameter.name && written && !buffer.contains("role"))
        buffer["role"] = "inout";
    }
    return;
  }
  if (!shape) {
    shape = kernel_sizes.empty() ? std::vector<std::string>{"N"}
                                 : std::vector<std::string>{kernel_sizes.front()};
    if (kernel_sizes.empty() && std::ranges::find(sizes_, "N") == sizes_.end())
      sizes_.push_back("N");
    result_.notes.push_back(
        fmt::format("buffer {}: its shape [{}] is a guess", parameter.name, shape->front()));
  }
  Json buffer = {{"name", parameter.name}, {"type", to_string(type)}, {"shape", *shape}};
  if (!is_const && written) buffer["role"] = read ? "inout" : "out";
  buffers_.push_back(buffer);
  known_buffers_.insert(parameter.name);
}

Result<void> Initialiser::add_kernel(const KernelInfo& info) {
  const Function& function = *info.function;
  const Extents extents = extents_of(info);
  std::vector<std::string> kernel_sizes;
  for (const Variable* parameter : function.parameters) {
    if (parameter->type.is_integer()) {
      kernel_sizes.push_back(parameter->name);
      if (std::ranges::find(sizes_, parameter->name) == sizes_.end())
        sizes_.push_back(parameter->name);
    }
  }
  Json args = Json::array();
  for (const Variable* parameter : function.parameters) {
    const Type& type = parameter->type;
    if (type.is_pointer() && type.element != nullptr) {
      const auto scalar = scalar_of(*type.element);
      if (!scalar) {
        return invalid(
            fmt::format("line {}: parameter '{}' of kernel '{}' is '{}'; a buffer holds f32, "
                        "f64, f16, bf16, i32, i64, i8, u8, u32, u64 or bool",
                        unit_.line_of(parameter->name_range.begin), parameter->name, function.name,
                        type.spelling));
      }
      add_buffer(info, *parameter, *scalar, extents, kernel_sizes);
      args.push_back(parameter->name);
    } else if (type.is_integer()) {
      args.push_back(parameter->name);
    } else if (type.is_float()) {
      args.push_back(1.0);
      result_.notes.push_back(
          fmt::format("argument {} of {}: 1.0 is a guess", parameter->name, function.name));
    } else {
      return invalid(
          fmt::format("line {}: parameter '{}' of kernel '{}' is '{}'; only pointers and "
                      "scalars can be passed",
                      unit_.line_of(parameter->name_range.begin), parameter->name, function.name,
                      type.spelling));
    }
  }
  // One grid dimension per thread dimension that the kernel uses, as wide as what bounds it.
  int dimensions = 1;
  for (const Expr* expr : function.all_expressions) {
    if (expr->kind != Expr::Kind::kBuiltin) continue;
    if (expr->text.ends_with(".y")) dimensions = std::max(dimensions, 2);
    if (expr->text.ends_with(".z")) dimensions = 3;
  }
  const std::vector<std::vector<int>> blocks = {{256}, {16, 16}, {16, 16, 1}};
  const std::vector<int>& block = blocks[static_cast<std::size_t>(dimensions - 1)];
  Json grid = Json::array();
  constexpr const char* kAxes[] = {"x", "y", "z"};
  for (int d = 0; d < dimensions; ++d) {
    std::string extent;
    for (const char* prefix : {"threadIdx.", "blockIdx."}) {
      const auto found = extents.by_symbol.find(std::string(prefix) + kAxes[d]);
      if (extent.empty() && found != extents.by_symbol.end()) extent = found->second;
    }
    if (extent.empty()) {
      extent = kernel_sizes.empty() ? "N"
                                    : kernel_sizes[std::min<std::size_t>(
                                          static_cast<std::size_t>(d), kernel_sizes.size() - 1)];
      result_.notes.push_back(
          fmt::format("grid.{} of {}: {} is a guess", kAxes[d], function.name, extent));
    }
    const int width = block[static_cast<std::size_t>(d)];
    grid.push_back(width == 1 ? extent : fmt::format("ceildiv({}, {})", extent, width));
  }
  launches_.push_back(
      {{"kernel", function.name}, {"grid", grid}, {"block", block}, {"args", args}});
  return {};
}

Result<InitResult> Initialiser::run() {
  Program program;
  for (const Function* function : unit_.functions) {
    if (!function->is_kernel) continue;
    if (function->is_template) {
      result_.notes.push_back(
          fmt::format("template kernel {}: write its instance, such as {}<float>, into the launch",
                      function->name, function->name));
    }
    Launch launch;
    launch.kernel = function->name;
    program.launches.push_back(launch);
  }
  if (program.launches.empty()) return invalid("no __global__ function in the source");
  const auto kernels = syntax::analyse(unit_, program);
  if (!kernels) return std::unexpected(kernels.error());
  for (const KernelInfo& info : *kernels) {
    if (auto added = add_kernel(info); !added) return std::unexpected(added.error());
  }
  Json sizes = Json::object();
  Json checks = Json::array();
  for (const std::string& size : sizes_) sizes[size] = kTimedSize;
  for (const std::int64_t small : kSmallSizes) {
    Json check = Json::object();
    std::int64_t value = small;
    for (const std::string& size : sizes_) check[size] = value++;
    if (!check.empty()) checks.push_back(check);
  }
  const bool has_output =
      std::ranges::any_of(buffers_, [](const Json& b) { return b.contains("role"); });
  if (!has_output) {
    result_.notes.emplace_back(
        "no buffer is written that this can see: set \"role\": \"out\" where it is");
  }
  result_.task["sizes"] = sizes;
  if (!checks.empty()) result_.task["check_sizes"] = checks;
  result_.task["buffers"] = buffers_;
  result_.task["launches"] = launches_;
  result_.task["tolerance"] = {{"rtol", 1e-4}, {"atol", 1e-5}};
  result_.task["math"] = "reassociate";
  return std::move(result_);
}

}  // namespace

Result<InitResult> init_task(const std::string& source, const std::string& name) {
  auto unit = syntax::parse(source);
  if (!unit) return std::unexpected(unit.error());
  return Initialiser(**unit, name).run();
}

}  // namespace hone
