// Expressions of a kernel as values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/lift/types.h"

namespace hone::nest {

using syntax::Expr;
using syntax::Type;
using syntax::Variable;

ScalarType Executor::scalar_type(const Type& type, const Executor& self, int position) {
  if (type.kind == Type::Kind::kBool) return ScalarType::kBool;
  if (type.name == "float") return ScalarType::kF32;
  if (type.name == "double") return ScalarType::kF64;
  if (type.name == "__half") return ScalarType::kF16;
  if (type.name == "__nv_bfloat16") return ScalarType::kBf16;
  if (type.name == "__nv_fp8_e4m3") return ScalarType::kE4m3;
  if (type.name == "__nv_fp8_e5m2") return ScalarType::kE5m2;
  if (type.kind == Type::Kind::kInt) {
    if (type.bytes == 2) self.refuse(fmt::format("a value of type '{}'", type.spelling), position);
    if (type.bytes == 1) return type.is_signed ? ScalarType::kI8 : ScalarType::kU8;
    if (type.bytes <= 4) return type.is_signed ? ScalarType::kI32 : ScalarType::kU32;
    return ScalarType::kI64;
  }
  self.refuse(fmt::format("a value of type '{}'", type.spelling), position);
}

Lanes Executor::scalar(const Expr& expr) {
  Value value = evaluate(expr);
  if (value.kind != Value::Kind::kScalar) {
    if (expr.kind == Expr::Kind::kCall && expr.text.starts_with("atomic")) {
      refuse("the result of an atomic operation: " + quoted(expr), expr.position);
    }
    refuse(fmt::format("a value of type '{}' where a number is used: {}", expr.type.spelling,
                       quoted(expr)),
           expr.position);
  }
  return value.lanes;
}

Lanes Executor::truth(const Expr& expr) {
  return map([&](Ref a) { return nodes_.cast(a, ScalarType::kBool); }, scalar(expr));
}

Value Executor::builtin(const Expr& expr) {
  const auto value = [&](Lanes lanes) {
    return Value{Value::Kind::kScalar, std::move(lanes), -1, {}};
  };
  if (expr.text == "warpSize") return value(uniform(nodes_.integer(32)));
  const std::size_t dot = expr.text.find('.');
  if (dot == std::string::npos) refuse("'" + expr.text + "' as a whole", expr.position);
  const int axis = expr.text.back() - 'x';
  const ConcreteLaunch& launch = *launched_.launch;
  const std::string name = expr.text.substr(0, dot);
  if (name == "blockDim") return value(uniform(nodes_.integer(launch.block[axis])));
  if (name == "gridDim") return value(uniform(nodes_.integer(launch.grid[axis])));
  if (name == "blockIdx") return value(uniform(nodes_.index(block[axis])));
  if (name != "threadIdx") {
    refuse("'" + expr.text + "', which hone does not follow", expr.position);
  }
  if (!launched_.in_lockstep) return value(uniform(nodes_.index(thread[axis])));
  Lanes lanes;
  std::int64_t before = 1;
  for (int i = 0; i < axis; ++i) before *= launch.block[i];
  for (std::size_t i = 0; i < lanes_; ++i) {
    lanes.push_back(nodes_.integer(static_cast<std::int64_t>(i) / before % launch.block[axis]));
  }
  shrink(lanes);
  return value(std::move(lanes));
}

Value Executor::evaluate(const Expr& expr) {
  begin(expr.position);
  using Kind = Expr::Kind;
  const auto value = [&](Ref node) { return Value{Value::Kind::kScalar, uniform(node), -1, {}}; };
  if (expr.constant && expr.type.is_integer()) {
    return value(nodes_.integer(*expr.constant, expr.type.kind == Type::Kind::kBool
                                                    ? ScalarType::kBool
                                                    : ScalarType::kI64));
  }
  switch (expr.kind) {
    case Kind::kIntLiteral:
    case Kind::kBoolLiteral:
      return value(nodes_.integer(
          expr.int_value, expr.kind == Kind::kBoolLiteral ? ScalarType::kBool : ScalarType::kI64));
    case Kind::kFloatLiteral:
      return value(nodes_.number(expr.float_value, scalar_type(expr.type, *this, expr.position)));
    case Kind::kBuiltin:
      return builtin(expr);
    case Kind::kVariable:
      return evaluate_variable(expr);
    case Kind::kBinary:
      return evaluate_binary(expr);
    case Kind::kUnary:
      return evaluate_unary(expr);
    case Kind::kAssign:
      return evaluate_assign(expr);
    case Kind::kCall:
      return evaluate_call(expr);
    case Kind::kCast:
      return evaluate_cast(expr);
    case Kind::kSubscript: {
      const Place place = place_of(expr);
      if (expr.type.kind == Type::Kind::kArray) {
        return Value{Value::Kind::kPointer, place.element, place.memory, {}};
      }
      return read(place, expr.type, expr.position);
    }
    case Kind::kMember:
      return read(place_of(expr), expr.type, expr.position);
    case Kind::kConditional: {
      const Lanes condition = truth(*expr.operands[0]);
      if (const auto known = decided(condition)) return evaluate(*expr.operands[*known ? 1 : 2]);
      path_.push_back(condition);
      const Value then = evaluate(*expr.operands[1]);
      path_.back() = map([&](Ref a) { return nodes_.negate(a); }, condition);
      const Value otherwise = evaluate(*expr.operands[2]);
      path_.pop_back();
      return merge(condition, then, otherwise);
    }
    case Kind::kInitList: {
      Value made;
      if (expr.type.kind == Type::Kind::kVector) {
        made.kind = Value::Kind::kFields;
        for (int i = 0; i < expr.type.lanes; ++i) {
          made.fields[kFields[i]] =
              static_cast<std::size_t>(i) < expr.operands.size()
                  ? converted(evaluate(*expr.operands[i]), pointee(expr.type), expr.position)
                  : Value{};
        }
        return made;
      }
      if (expr.type.kind == Type::Kind::kStruct && !expr.type.fields.empty() &&
          expr.operands.size() <= expr.type.fields.size()) {
        made.kind = Value::Kind::kFields;
        for (std::size_t i = 0; i < expr.operands.size(); ++i)
          made.fields[expr.type.fields[i]] = evaluate(*expr.operands[i]);
        return made;
      }
      if (expr.operands.size() == 1) return evaluate(*expr.operands[0]);
      if (expr.operands.empty() && expr.type.kind == Type::Kind::kFloat) {
        return value(nodes_.number(0, scalar_type(expr.type, *this, expr.position)));
      }
      if (expr.operands.empty() && expr.type.is_integer()) return value(nodes_.integer(0));
      refuse(fmt::format("a list of values of type '{}': {}", expr.type.spelling, quoted(expr)),
             expr.position);
    }
    default:
      refuse("an expression that hone does not follow: " + quoted(expr), expr.position);
  }
}

Value Executor::evaluate_variable(const Expr& expr) {
  const Variable& variable = *expr.variable;
  if (variable.type.kind == Type::Kind::kArray) return array_pointer(variable);
  if (variable.is_reference && variable.storage == Variable::Storage::kLocal) {
    return read(place_of(expr), variable.type, expr.position);
  }
  if (in_memory(variable)) {
    return read({nullptr, {}, memory_of(variable), uniform(nodes_.integer(0))}, variable.type,
                expr.position);
  }
  const auto found = state_.variables.find(&variable);
  if (found != state_.variables.end()) {
    if (found->second.kind == Value::Kind::kNone) refuse(why_unknown(variable), expr.position);
    return found->second;
  }
  if (variable.storage == Variable::Storage::kShared) {
    return read({nullptr, {}, memory_of(variable), uniform(nodes_.integer(0))}, variable.type,
                expr.position);
  }
  if (variable.init != nullptr && variable.single_assignment()) return evaluate(*variable.init);
  refuse(why_unknown(variable), expr.position);
}

std::string Executor::why_unknown(const Variable& variable) const {
  const auto lost = lost_.find(&variable);
  if (lost != lost_.end()) {
    return fmt::format("the value of '{}' after the loop at line {} is not known", variable.name,
                       launched_.unit->line_of(lost->second));
  }
  return unwritten(variable.name);
}

std::string Executor::unwritten(const std::string& what) {
  return fmt::format("'{}' cannot be shown to be written before it is read", what);
}

Value Executor::converted(const Value& value, const Type& type, int position) {
  if (value.kind != Value::Kind::kScalar) return value;
  if (type.kind != Type::Kind::kInt && type.kind != Type::Kind::kBool && !type.is_float()) {
    return value;
  }
  const ScalarType to = scalar_type(type, *this, position);
  Value result = value;
  result.lanes = map([&](Ref a) { return nodes_.cast(a, to); }, value.lanes);
  return result;
}

Value Executor::evaluate_cast(const Expr& expr) {
  Value value = evaluate(*expr.operands[0]);
  if (value.kind == Value::Kind::kPointer) {
    if (expr.type.is_pointer() || expr.type.kind == Type::Kind::kArray) return value;
    refuse("a pointer used as a number: " + quoted(expr), expr.position);
  }
  if (value.kind == Value::Kind::kFields) return value;
  if (expr.type.kind == Type::Kind::kVoid) return value;
  const Type& from = expr.operands[0]->type;
  if (value.kind == Value::Kind::kScalar && from.kind == Type::Kind::kInt) {
    const bool wider = expr.type.kind == Type::Kind::kInt && expr.type.bytes > from.bytes;
    if (expr.type.is_float() || wider) wrapped(value.lanes, from, expr.position);
    // An index is taken to fit; data may not.
    const bool narrower =
        expr.type.kind == Type::Kind::kInt && expr.type.bytes == 4 &&
        (expr.type.bytes < from.bytes ||
         (expr.type.bytes == from.bytes && expr.type.is_signed && !from.is_signed));
    for (std::size_t i = 0; narrower && i < value.lanes.size(); ++i) {
      const bool is_signed = expr.type.is_signed;
      const bool data = value.lanes[i]->has_load;
      if (data && !fits(value.lanes[i], i, INT32_MIN, is_signed ? INT32_MAX : UINT32_MAX)) {
        refuse(fmt::format("a number that cannot be shown to fit '{}': {}", expr.type.spelling,
                           quoted(expr)),
               expr.position);
      }
    }
  }
  return converted(value, expr.type, expr.position);
}

Value Executor::evaluate_assign(const Expr& expr) {
  const Expr& target = *expr.operands[0];
  Value value = evaluate(*expr.operands[1]);
  const Place place = place_of(target);
  if (expr.text != "=") {
    const std::string op = expr.text.substr(0, expr.text.size() - 1);
    const Value before = read(place, target.type, expr.position);
    if (before.kind == Value::Kind::kPointer) {
      const std::int64_t size = scalars_in(pointee(target.type)) * (op == "-" ? -1 : 1);
      Value moved = before;
      moved.lanes = map([&](Ref x, Ref y) { return nodes_.add(x, nodes_.scale(y, size)); },
                        before.lanes, value.lanes);
      value = moved;
    } else {
      if (op == "/" || op == "%" || op == ">>") {
        if (before.kind == Value::Kind::kScalar) wrapped(before.lanes, target.type, expr.position);
        const Type& by = expr.operands[1]->type;
        if (value.kind == Value::Kind::kScalar) wrapped(value.lanes, by, expr.position);
        if (target.type.is_integer() && by.kind == Type::Kind::kInt && !by.is_signed) {
          for (std::size_t i = 0; i < before.lanes.size(); ++i) {
            if (!fits(before.lanes[i], i, 0, INT64_MAX)) {
              refuse(fmt::format("unsigned arithmetic that cannot be shown not to wrap around ({})",
                                 by.spelling),
                     expr.position);
            }
          }
        }
      }
      value = arithmetic(op, before, value, target.type, expr.position);
    }
  }
  value = converted(value, target.type, expr.position);
  write(place, value, target.type, expr.position);
  return value;
}

}  // namespace hone::nest
