// The value of integer expressions and the trip counts of loops at given sizes.
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/stability.h"
#include "rewriters/syntax/walk.h"

namespace hone::syntax {
namespace {

using Value = std::optional<std::int64_t>;

Value dimension(const std::optional<Dim3>& dims, const std::string& text) {
  if (!dims || text.find('.') == std::string::npos) return std::nullopt;
  return (*dims)[text.back() - 'x'];
}

Value binary(const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (op == "+") return __builtin_add_overflow(a, b, &out) ? Value{} : Value{out};
  if (op == "-") return __builtin_sub_overflow(a, b, &out) ? Value{} : Value{out};
  if (op == "*") return __builtin_mul_overflow(a, b, &out) ? Value{} : Value{out};
  if (op == "/" || op == "%") {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
    return op == "/" ? a / b : a % b;
  }
  if (op == "<<") {
    if (b < 0 || b > 40 || a < 0 || a > (INT64_MAX >> b)) return std::nullopt;
    return a << b;
  }
  if (op == ">>") return b < 0 || b > 63 ? Value{} : Value{a >> b};
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "&&") return a != 0 && b != 0;
  if (op == "||") return a != 0 || b != 0;
  return std::nullopt;
}

/// The value after conversion to an integer type; empty when it does not fit (wraps).
Value converted(Value value, const Type& type) {
  if (!value) return value;
  if (type.kind == Type::Kind::kBool) return *value != 0 ? 1 : 0;
  if (type.bytes <= 0 || type.bytes >= 8) return type.is_signed || *value >= 0 ? value : Value{};
  const int bits = type.bytes * 8;
  const std::int64_t high = (std::int64_t{1} << (type.is_signed ? bits - 1 : bits)) - 1;
  const std::int64_t low = type.is_signed ? -high - 1 : 0;
  return *value < low || *value > high ? Value{} : value;
}

Value evaluate_expr(const KernelInfo& info, const Expr& expr, const Bindings& sizes, int depth) {
  if (depth > 64) return std::nullopt;
  if (expr.constant) return expr.constant;
  if (!expr.type.is_integer()) return std::nullopt;
  const auto inner = [&](std::size_t i) {
    return evaluate_expr(info, *expr.operands[i], sizes, depth + 1);
  };
  switch (expr.kind) {
    case Expr::Kind::kIntLiteral:
    case Expr::Kind::kBoolLiteral:
      return expr.int_value;
    case Expr::Kind::kBuiltin:
      if (expr.text == "warpSize") return 32;
      if (expr.text.starts_with("blockDim.")) return dimension(info.block_dim(sizes), expr.text);
      if (expr.text.starts_with("gridDim.")) return dimension(info.grid_dim(sizes), expr.text);
      return std::nullopt;
    case Expr::Kind::kVariable: {
      const Variable& variable = *expr.variable;
      if (variable.writes > 0 || variable.address_taken) return std::nullopt;
      if (variable.storage == Variable::Storage::kParameter) {
        return converted(info.value_of(variable, sizes), variable.type);
      }
      if (variable.storage == Variable::Storage::kLocal && variable.single_assignment() &&
          init_is_stable(variable)) {
        return evaluate_expr(info, *variable.init, sizes, depth + 1);
      }
      return std::nullopt;
    }
    case Expr::Kind::kCast:
      return converted(inner(0), expr.type);
    case Expr::Kind::kUnary: {
      const Value value = inner(0);
      if (!value) return value;
      if (expr.text == "+") return value;
      if (expr.text == "-") return converted(binary("-", 0, *value), expr.type);
      if (expr.text == "!") return *value == 0;
      return std::nullopt;
    }
    case Expr::Kind::kConditional: {
      const Value condition = inner(0);
      if (!condition) return std::nullopt;
      return inner(*condition != 0 ? 1 : 2);
    }
    case Expr::Kind::kBinary: {
      const Value left = inner(0), right = inner(1);
      if (!left || !right) return std::nullopt;
      return converted(binary(expr.text, *left, *right), expr.type);
    }
    case Expr::Kind::kCall: {
      if (!expr.intrinsic || expr.operands.size() != 2) return std::nullopt;
      if (expr.text != "min" && expr.text != "max") return std::nullopt;
      const Value left = inner(0), right = inner(1);
      if (!left || !right) return std::nullopt;
      return expr.text == "min" ? std::min(*left, *right) : std::max(*left, *right);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::int64_t> KernelInfo::evaluate(const Expr& expr, const Bindings& sizes) const {
  return evaluate_expr(*this, expr, sizes, 0);
}

std::optional<std::int64_t> KernelInfo::trip_count(const Loop& loop, const Bindings& sizes) const {
  const Value lower = evaluate(*loop.lower, sizes), upper = evaluate(*loop.upper, sizes);
  Value step = loop.step;
  if (!step && loop.step_expr != nullptr) step = evaluate(*loop.step_expr, sizes);
  if (!lower || !upper || !step || *step <= 0) return std::nullopt;
  const Value end = loop.inclusive ? binary("+", *upper, 1) : upper;
  const Value span = end ? binary("-", *end, *lower) : std::nullopt;
  if (!span) return std::nullopt;
  return *span <= 0 ? 0 : (*span + *step - 1) / *step;
}

}  // namespace hone::syntax
