// Expressions of a kernel as values.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/syntax/intrinsics.h"

namespace hone::lift {
namespace {

using syntax::Expr;
using syntax::Type;
using syntax::Variable;

/// CUDA's names of a mathematical function without type: "expf" and "exp" are "exp".
std::optional<std::string> math_name(std::string name) {
  static const std::set<std::string, std::less<>> known = {
      "exp",    "exp2",   "exp10",     "expm1",    "log",   "log2",  "log10", "log1p",  "sqrt",
      "rsqrt",  "cbrt",   "sin",       "cos",      "tan",   "sinpi", "cospi", "tanh",   "sinh",
      "cosh",   "asin",   "acos",      "atan",     "asinh", "acosh", "atanh", "atan2",  "pow",
      "fabs",   "floor",  "ceil",      "round",    "trunc", "rint",  "erf",   "erfc",   "fmod",
      "hypot",  "fma",    "nearbyint", "copysign", "fdim",  "min",   "max",   "erfinv", "normcdf",
      "lgamma", "tgamma", "fmin",      "fmax"};
  if (name.starts_with("__")) return name;
  if (!known.contains(name) && name.ends_with("f")) name.pop_back();
  if (!known.contains(name)) return std::nullopt;
  if (name == "fmin" || name == "fmax") name.erase(0, 1);
  return name;
}

const Type& pointee(const Type& type) {
  static const Type none;
  return type.element ? *type.element : none;
}

/// Scalars in one element of a type: 4 for float4, 12 for float[3][4].
std::int64_t scalars_in(const Type& type) {
  if (type.kind == Type::Kind::kArray && type.element)
    return type.extent * scalars_in(*type.element);
  if (type.kind == Type::Kind::kVector) return type.lanes;
  return 1;
}

const char* const kFields[] = {"x", "y", "z", "w"};

}  // namespace

ScalarType Executor::scalar_type(const Type& type, const Executor& self, int position) {
  if (type.kind == Type::Kind::kBool) return ScalarType::kBool;
  if (type.name == "float") return ScalarType::kF32;
  if (type.name == "double") return ScalarType::kF64;
  if (type.name == "__half") return ScalarType::kF16;
  if (type.name == "__nv_bfloat16") return ScalarType::kBf16;
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
      refuse("the result of an atomic operation", expr.position);
    }
    refuse("no number where one is used", expr.position);
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
  if (name != "threadIdx") refuse("'" + expr.text + "'", expr.position);
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
  check_budget();
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
      refuse("a list of values of type '" + expr.type.spelling + "'", expr.position);
    }
    default:
      refuse("an expression that hone does not follow", expr.position);
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
    if (found->second.kind == Value::Kind::kNone) {
      refuse(fmt::format("'{}' is read before it is written", variable.name), expr.position);
    }
    return found->second;
  }
  if (variable.storage == Variable::Storage::kShared) {
    return read({nullptr, {}, memory_of(variable), uniform(nodes_.integer(0))}, variable.type,
                expr.position);
  }
  if (variable.init != nullptr && variable.single_assignment()) return evaluate(*variable.init);
  refuse(fmt::format("'{}' is read before it is written", variable.name), expr.position);
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
    refuse("a pointer used as a number", expr.position);
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
        refuse(fmt::format("a number that may not fit '{}'", expr.type.spelling), expr.position);
      }
    }
  }
  return converted(value, expr.type, expr.position);
}

Value Executor::arithmetic(const std::string& op, const Value& a, const Value& b, const Type& type,
                           int position) {
  if (a.kind == Value::Kind::kPointer || b.kind == Value::Kind::kPointer) {
    refuse("arithmetic on pointers that hone does not follow", position);
  }
  if (a.kind != Value::Kind::kScalar || b.kind != Value::Kind::kScalar) {
    refuse("arithmetic on what is no number", position);
  }
  const ScalarType result = scalar_type(type, *this, position);
  Value made{Value::Kind::kScalar, {}, -1, {}};
  made.lanes = map(
      [&](Ref x, Ref y) -> Ref {
        if (is_float(x->type) != is_float(y->type)) {  // of a compound assignment
          const ScalarType wide = is_float(x->type) ? x->type : y->type;
          x = nodes_.cast(x, wide);
          y = nodes_.cast(y, wide);
        } else if (is_float(x->type) && x->type != y->type) {
          const ScalarType wide = size_of(x->type) > size_of(y->type) ? x->type : y->type;
          x = nodes_.cast(x, wide);
          y = nodes_.cast(y, wide);
        }
        const bool real = is_float(x->type);
        if (op == ">") return nodes_.op("<", ScalarType::kBool, {y, x});
        if (op == ">=") return nodes_.op("<=", ScalarType::kBool, {y, x});
        if (op == "<" || op == "<=" || op == "==" || op == "!=") {
          return nodes_.op(op, ScalarType::kBool, {x, y});
        }
        if (!real && x->type == ScalarType::kBool) x = nodes_.cast(x, ScalarType::kI32);
        if (!real && y->type == ScalarType::kBool) y = nodes_.cast(y, ScalarType::kI32);
        return nodes_.op(op, real ? x->type : result, {x, y});
      },
      a.lanes, b.lanes);
  if (type.kind == Type::Kind::kInt && !type.is_signed && type.bytes <= 4) {
    for (std::size_t i = 0; i < made.lanes.size(); ++i) {
      if (!fits(made.lanes[i], i, INT32_MIN, UINT32_MAX)) {
        refuse("unsigned arithmetic that may wrap around", position);
      }
    }
  }
  return made;
}

bool Executor::fits(Ref value, std::size_t lane_index, std::int64_t low, std::int64_t high) {
  if (dry_) return true;
  const auto all = nodes_.range(value);
  if (all && all->low >= low && all->high <= high) return true;
  Facts facts;
  const Lanes now = active();
  if (now.size() == 1 || lane_index > 0) facts.add(lane(now, lane_index));
  const auto at_least = [&](std::int64_t bound) {
    return (all && all->low >= bound) ||
           facts.prove(nodes_, nodes_.non_negative(nodes_.subtract(value, nodes_.integer(bound))));
  };
  const auto at_most = [&](std::int64_t bound) {
    return (all && all->high <= bound) ||
           facts.prove(nodes_, nodes_.non_negative(nodes_.subtract(nodes_.integer(bound), value)));
  };
  return at_least(low) && (counting_ || at_most(high));
}

Lanes Executor::wrapped(const Lanes& value, const Type& type, int position) {
  const bool is_unsigned = type.kind == Type::Kind::kInt && !type.is_signed && type.bytes >= 4;
  if (!is_unsigned) return value;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!fits(value[i], i, 0, type.bytes == 4 ? UINT32_MAX : INT64_MAX)) {
      refuse("unsigned arithmetic that may wrap around", position);
    }
  }
  return value;
}

Value Executor::evaluate_binary(const Expr& expr) {
  const std::string& op = expr.text;
  const auto boolean = [&](Lanes lanes) {
    return Value{Value::Kind::kScalar, std::move(lanes), -1, {}};
  };
  if (op == ",") {
    evaluate(*expr.operands[0]);
    return evaluate(*expr.operands[1]);
  }
  if (op == "&&" || op == "||") {
    const Lanes left = truth(*expr.operands[0]);
    const auto known = decided(left);
    if (known && *known == (op == "||")) return boolean(left);
    path_.push_back(op == "&&" ? left : map([&](Ref a) { return nodes_.negate(a); }, left));
    const Lanes right = truth(*expr.operands[1]);
    path_.pop_back();
    return boolean(
        map([&](Ref a, Ref b) { return op == "&&" ? nodes_.both(a, b) : nodes_.either(a, b); },
            left, right));
  }
  const Value a = evaluate(*expr.operands[0]), b = evaluate(*expr.operands[1]);
  const bool left = a.kind == Value::Kind::kPointer, right = b.kind == Value::Kind::kPointer;
  if (left != right && (op == "+" || (op == "-" && left))) {
    const Value& pointer = left ? a : b;
    const Value& index = left ? b : a;
    const Type& type = left ? expr.operands[0]->type : expr.operands[1]->type;
    const std::int64_t size = scalars_in(pointee(type)) * (op == "-" ? -1 : 1);
    Value moved = pointer;
    moved.lanes = map([&](Ref x, Ref y) { return nodes_.add(x, nodes_.scale(y, size)); },
                      pointer.lanes, index.lanes);
    return moved;
  }
  if (left && right) {
    if (a.memory != b.memory) refuse("pointers into different buffers compared", expr.position);
    const std::int64_t size = scalars_in(pointee(expr.operands[0]->type));
    if (op == "-") {
      return boolean(map(
          [&](Ref x, Ref y) { return nodes_.divide(nodes_.subtract(x, y), nodes_.integer(size)); },
          a.lanes, b.lanes));
    }
    const Value x{Value::Kind::kScalar, a.lanes, -1, {}}, y{Value::Kind::kScalar, b.lanes, -1, {}};
    return arithmetic(op, x, y, expr.type, expr.position);
  }
  const Type& type = expr.operands[0]->type;
  const bool is_unsigned = type.kind == Type::Kind::kInt && !type.is_signed && type.bytes >= 4;
  if (is_unsigned && a.kind == Value::Kind::kScalar && b.kind == Value::Kind::kScalar) {
    const std::int64_t most = type.bytes == 4 ? UINT32_MAX : INT64_MAX;
    const auto all_fit = [&](const Lanes& lanes, std::int64_t low, std::int64_t high) {
      for (std::size_t i = 0; i < lanes.size(); ++i)
        if (!fits(lanes[i], i, low, high)) return false;
      return true;
    };
    const bool orders = op == "<" || op == "<=" || op == ">" || op == ">=";
    if (orders && (!all_fit(a.lanes, 0, most) || !all_fit(b.lanes, 0, most))) {
      // What would be below zero is larger than what an int can hold.
      const bool of_left = all_fit(b.lanes, 0, INT32_MAX);
      const Value& value = of_left ? a : b;
      const Value& bound = of_left ? b : a;
      if (all_fit(value.lanes, INT32_MIN, INT32_MAX) && all_fit(bound.lanes, 0, INT32_MAX)) {
        const bool smaller = (op == "<" || op == "<=") == of_left;
        Value compared = arithmetic(op, a, b, expr.type, expr.position);
        compared.lanes = map(
            [&](Ref result, Ref x) {
              const Ref positive = nodes_.non_negative(x);
              return smaller ? nodes_.both(positive, result)
                             : nodes_.either(nodes_.negate(positive), result);
            },
            compared.lanes, value.lanes);
        return compared;
      }
    }
    if (op == "==" || op == "!=") {
      const Lanes over = map([&](Ref x, Ref y) { return nodes_.subtract(x, y); }, a.lanes, b.lanes);
      if (!all_fit(over, -most, most)) {
        wrapped(a.lanes, type, expr.position);
        wrapped(b.lanes, type, expr.position);
      }
    } else if (orders || op == "/" || op == "%" || op == ">>") {
      wrapped(a.lanes, type, expr.position);
      wrapped(b.lanes, expr.operands[1]->type, expr.position);
    }
  }
  return arithmetic(op, a, b, expr.type, expr.position);
}

Value Executor::evaluate_unary(const Expr& expr) {
  const std::string& op = expr.text;
  const Expr& operand = *expr.operands[0];
  if (op == "&") {
    const Place place = place_of(operand);
    if (place.variable != nullptr) {
      refuse("the address of a variable that is no number", expr.position);
    }
    return Value{Value::Kind::kPointer, place.element, place.memory, {}};
  }
  if (op == "*") {
    if (expr.type.kind == Type::Kind::kArray) return evaluate(operand);
    return read(place_of(expr), expr.type, expr.position);
  }
  if (op == "++x" || op == "--x" || op == "x++" || op == "x--") {
    const Place place = place_of(operand);
    const Value before = read(place, operand.type, expr.position);
    const std::int64_t by = op.find('+') != std::string::npos ? 1 : -1;
    Value after = before;
    if (before.kind == Value::Kind::kPointer) {
      const std::int64_t size = scalars_in(pointee(operand.type)) * by;
      after.lanes = map([&](Ref a) { return nodes_.add(a, nodes_.integer(size)); }, before.lanes);
    } else {
      after.lanes = map(
          [&](Ref a) {
            return is_float(a->type)
                       ? nodes_.op("+", a->type, {a, nodes_.number(double(by), a->type)})
                       : nodes_.add(a, nodes_.integer(by));
          },
          before.lanes);
    }
    write(place, after, operand.type, expr.position);
    return op.front() == 'x' ? before : after;
  }
  Value value = evaluate(operand);
  if (value.kind != Value::Kind::kScalar) refuse("'" + op + "' of no number", expr.position);
  if (op == "+") return value;
  if (op == "-") {
    value.lanes = map(
        [&](Ref a) {
          return is_float(a->type) ? nodes_.op("neg", a->type, {a}) : nodes_.scale(a, -1);
        },
        value.lanes);
    return value;
  }
  if (op == "!") {
    value.lanes =
        map([&](Ref a) { return nodes_.negate(nodes_.cast(a, ScalarType::kBool)); }, value.lanes);
    return value;
  }
  if (op == "~") {
    value.lanes = map([&](Ref a) { return nodes_.subtract(nodes_.integer(-1), a); }, value.lanes);
    return value;
  }
  refuse("'" + op + "'", expr.position);
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
              refuse("unsigned arithmetic that may wrap around", expr.position);
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

Value Executor::evaluate_call(const Expr& expr) {
  using syntax::CallKind;
  const std::string& name = expr.text;
  static const std::map<std::string, double, std::less<>> constants = {
      {"__builtin_inff", HUGE_VAL},
      {"__builtin_inf", HUGE_VAL},
      {"__builtin_huge_valf", HUGE_VAL},
      {"__builtin_huge_val", HUGE_VAL}};
  if (const auto constant = constants.find(name); constant != constants.end()) {
    const ScalarType type = scalar_type(expr.type, *this, expr.position);
    return {Value::Kind::kScalar, uniform(nodes_.number(constant->second, type)), -1, {}};
  }
  switch (syntax::call_kind(expr)) {
    case CallKind::kUser:
      return call_function(expr);
    case CallKind::kBarrier:
      barrier(expr.position);
      return {};
    case CallKind::kWarp:
      return shuffle(expr);
    case CallKind::kAtomic:
      return atomic(expr);
    case CallKind::kLoad: {
      const Value pointer = evaluate(*expr.operands[0]);
      if (pointer.kind != Value::Kind::kPointer) refuse("'" + name + "'", expr.position);
      return read({nullptr, {}, pointer.memory, pointer.lanes}, expr.type, expr.position);
    }
    case CallKind::kStore: {
      const Value pointer = evaluate(*expr.operands[0]);
      const Value value = evaluate(*expr.operands[1]);
      if (pointer.kind != Value::Kind::kPointer) refuse("'" + name + "'", expr.position);
      write({nullptr, {}, pointer.memory, pointer.lanes}, value, expr.operands[1]->type,
            expr.position);
      return {};
    }
    case CallKind::kPure:
      break;
    default:
      refuse("the call of '" + name + "'", expr.position);
  }
  if (name.starts_with("make_")) {
    Value made;
    made.kind = Value::Kind::kFields;
    for (std::size_t i = 0; i < expr.operands.size() && i < 4; ++i) {
      made.fields[kFields[i]] =
          converted(evaluate(*expr.operands[i]), pointee(expr.type), expr.position);
    }
    return made;
  }
  std::vector<Lanes> args;
  for (const Expr* operand : expr.operands) args.push_back(scalar(*operand));
  if (name == "__int_as_float" && args.size() == 1 && args[0].size() == 1 &&
      args[0][0]->is_constant()) {
    const auto bits = static_cast<std::uint32_t>(args[0][0]->constant);
    return {Value::Kind::kScalar,
            uniform(nodes_.number(std::bit_cast<float>(bits), ScalarType::kF32)),
            -1,
            {}};
  }
  if (args.empty() || args.size() > 3) refuse("the call of '" + name + "'", expr.position);
  const ScalarType type = scalar_type(expr.type, *this, expr.position);
  for (std::size_t i = 0; i < args.size(); ++i)
    wrapped(args[i], expr.operands[i]->type, expr.position);
  static const std::set<std::string, std::less<>> conversions = {
      "__half2float",     "__float2half",        "__float2half_rn", "__bfloat162float",
      "__float2bfloat16", "__float2bfloat16_rn", "__int2float_rn",  "__uint2float_rn",
      "__double2half",    "__int2half_rn"};
  static const std::map<std::string, std::string, std::less<>> operators = {
      {"__hadd", "+"},    {"__hsub", "-"},    {"__hmul", "*"},      {"__hdiv", "/"},
      {"__hmax", "max"},  {"__hmin", "min"},  {"__fadd_rn", "+"},   {"__fmul_rn", "*"},
      {"__fsub_rn", "-"}, {"__fdiv_rn", "/"}, {"__fmaf_rn", "fma"}, {"__fsqrt_rn", "sqrt"},
      {"__mul24", "*"}};
  const auto apply = [&](const std::string& op, std::size_t count) {
    Value made{Value::Kind::kScalar, {}, -1, {}};
    std::size_t width = 1;
    for (const Lanes& arg : args) width = std::max(width, arg.size());
    for (std::size_t i = 0; i < width; ++i) {
      std::vector<Ref> operands;
      for (std::size_t j = 0; j < count; ++j) {
        Ref operand = lane(args[j], i);
        if (is_float(type) && operand->type != type) operand = nodes_.cast(operand, type);
        operands.push_back(operand);
      }
      made.lanes.push_back(nodes_.op(op, type, std::move(operands)));
    }
    shrink(made.lanes);
    return made;
  };
  if (conversions.contains(name)) {
    Value made{Value::Kind::kScalar, {}, -1, {}};
    made.lanes = map([&](Ref a) { return nodes_.cast(a, type); }, args[0]);
    return made;
  }
  if (const auto found = operators.find(name); found != operators.end()) {
    return apply(found->second, args.size());
  }
  if (name == "abs" || name == "labs" || name == "llabs") {
    if (is_float(type)) return apply("fabs", 1);
    Value made{Value::Kind::kScalar, {}, -1, {}};
    made.lanes =
        map([&](Ref a) { return nodes_.select(nodes_.non_negative(a), a, nodes_.scale(a, -1)); },
            args[0]);
    return made;
  }
  if (name == "__saturatef") {
    Value made = apply("max", 1);
    made.lanes = map(
        [&](Ref a) {
          return nodes_.op(
              "min", type,
              {nodes_.op("max", type, {a, nodes_.number(0, type)}), nodes_.number(1, type)});
        },
        args[0]);
    return made;
  }
  const auto math = math_name(name);
  const bool integers = !is_float(type) && type != ScalarType::kBool;
  if (!math || (integers && *math != "min" && *math != "max")) {
    refuse("the call of '" + name + "'", expr.position);
  }
  return apply(*math, args.size());
}

Value Executor::call_function(const Expr& expr) {
  const syntax::Function* callee = expr.callee;
  if (callee == nullptr || callee->body == nullptr || callee->is_template || expr.text.empty() ||
      expr.text.starts_with(".")) {
    refuse("the call of '" + expr.text + "'", expr.position);
  }
  if (frames_.size() > 8) refuse("calls nested too deeply", expr.position);
  for (const Frame& above : frames_) {
    if (above.function == callee) {
      refuse(fmt::format("'{}' calls itself", callee->name), expr.position);
    }
  }
  Frame frame;
  frame.function = callee;
  frame.live = uniform(nodes_.boolean(true));
  frame.loops = loop_unrolls_.size();
  // A reference parameter writes back to its argument when the call ends.
  std::vector<std::pair<const Variable*, Place>> references;
  if (callee->parameters.size() != expr.operands.size()) {
    refuse("the call of '" + expr.text + "'", expr.position);
  }
  std::map<const Variable*, Value> parameters;
  for (std::size_t i = 0; i < expr.operands.size(); ++i) {
    const Variable* parameter = callee->parameters[i];
    const Expr& operand = *expr.operands[i];
    if (parameter->is_reference && !parameter->type.is_const) {
      const Place place = place_of(operand);
      // It may be there to be written.
      const bool unset =
          place.variable != nullptr
              ? place.fields.empty() && state_.variables[place.variable].kind == Value::Kind::kNone
              : memories[place.memory].kind == Memory::Kind::kLocal && place.element.size() == 1 &&
                    place.element[0]->is_constant() &&
                    !state_.local[place.memory].contains(place.element[0]->constant);
      parameters[parameter] = unset ? Value{} : read(place, parameter->type, expr.position);
      references.emplace_back(parameter, place);
    } else {
      parameters[parameter] = converted(evaluate(operand), parameter->type, expr.position);
    }
  }
  for (auto& [parameter, value] : parameters) {
    if (in_memory(*parameter) && value.kind == Value::Kind::kScalar) {
      if (parameter->is_reference) refuse("the address of a reference", expr.position);
      state_.local[memory_of(*parameter)].clear();
      state_.local[memory_of(*parameter)][0] = value.lanes;
    } else {
      state_.variables[parameter] = std::move(value);
    }
  }
  frames_.push_back(std::move(frame));
  run(*callee->body);
  Frame done = std::move(frames_.back());
  frames_.pop_back();
  for (const auto& [parameter, place] : references) {
    const Value& last = state_.variables[parameter];
    if (last.kind != Value::Kind::kNone) write(place, last, parameter->type, expr.position);
  }
  if (done.result.kind == Value::Kind::kScalar) {
    return converted(done.result, expr.type, expr.position);
  }
  return done.result;
}

bool Executor::in_memory(const Variable& variable) {
  if (!variable.address_taken || variable.function == nullptr || variable.is_reference)
    return false;
  if (!variable.type.is_float() && !variable.type.is_integer()) return false;
  const auto known = addressed_.find(variable.function);
  if (known != addressed_.end()) return known->second.contains(&variable);
  std::set<const Variable*>& all = addressed_[variable.function];
  for (const Expr* expr : variable.function->all_expressions) {
    if (expr->kind != Expr::Kind::kUnary || expr->text != "&") continue;
    const Expr* of = expr->operands[0];
    if (of->kind == Expr::Kind::kVariable) all.insert(of->variable);
  }
  return all.contains(&variable);
}

// --- Places -----------------------------------------------------------------------------------

int Executor::memory_of(const Variable& variable) {
  const auto known = memory_ids_.find(&variable);
  if (known != memory_ids_.end()) return known->second;
  const Type* element = &variable.type;
  while (element->kind == Type::Kind::kArray && element->element) element = element->element.get();
  if (element->kind == Type::Kind::kVector && element->element) element = element->element.get();
  const bool shared = variable.storage == Variable::Storage::kShared ||
                      variable.storage == Variable::Storage::kDynamicShared;
  if (variable.storage == Variable::Storage::kDynamicShared) {
    for (const auto& [other, id] : memory_ids_) {
      if (other->storage == Variable::Storage::kDynamicShared) {
        refuse("several dynamic shared arrays", variable.name_range.begin);
      }
    }
  }
  if (variable.storage == Variable::Storage::kConstant ||
      variable.storage == Variable::Storage::kGlobal) {
    refuse(fmt::format("'{}' at file scope", variable.name), variable.name_range.begin);
  }
  if (shared && !launched_.in_lockstep) throw Refusal{"shared memory", -2};
  Memory memory;
  memory.kind = shared ? Memory::Kind::kShared : Memory::Kind::kLocal;
  memory.name = variable.name;
  memory.type = scalar_type(*element, *this, variable.name_range.begin);
  memories.push_back(std::move(memory));
  const int id = static_cast<int>(memories.size() - 1);
  memory_ids_[&variable] = id;
  return id;
}

Value Executor::array_pointer(const Variable& variable) {
  const auto found = state_.variables.find(&variable);
  if (found != state_.variables.end() && found->second.kind == Value::Kind::kPointer) {
    return found->second;
  }
  return Value{Value::Kind::kPointer, uniform(nodes_.integer(0)), memory_of(variable), {}};
}

Executor::Place Executor::place_of(const Expr& expr) {
  using Kind = Expr::Kind;
  switch (expr.kind) {
    case Kind::kVariable: {
      const Variable& variable = *expr.variable;
      if (variable.storage == Variable::Storage::kShared &&
          variable.type.kind != Type::Kind::kArray) {
        return {nullptr, {}, memory_of(variable), uniform(nodes_.integer(0))};
      }
      if (variable.is_reference && variable.storage == Variable::Storage::kLocal) {
        if (variable.init == nullptr) refuse("a reference", expr.position);
        return place_of(*variable.init);
      }
      if (in_memory(variable)) {
        return {nullptr, {}, memory_of(variable), uniform(nodes_.integer(0))};
      }
      return {&variable, {}, -1, {}};
    }
    case Kind::kMember: {
      Place place = place_of(*expr.operands[0]);
      if (place.variable != nullptr) {
        place.fields.push_back(expr.text);
        return place;
      }
      const Type& object = expr.operands[0]->type;
      if (object.kind != Type::Kind::kVector) refuse("a struct in memory", expr.position);
      for (int i = 0; i < object.lanes; ++i) {
        if (expr.text == kFields[i]) {
          place.element =
              map([&](Ref a) { return nodes_.add(a, nodes_.integer(i)); }, place.element);
          return place;
        }
      }
      refuse("'." + expr.text + "'", expr.position);
    }
    case Kind::kSubscript: {
      const Expr& base = *expr.operands[0];
      const Value pointer = evaluate(base);
      if (pointer.kind != Value::Kind::kPointer) refuse("a subscript of no array", expr.position);
      const std::int64_t size = scalars_in(pointee(base.type));
      const Lanes index = scalar(*expr.operands[1]);
      return {nullptr,
              {},
              pointer.memory,
              map([&](Ref x, Ref y) { return nodes_.add(x, nodes_.scale(y, size)); }, pointer.lanes,
                  index)};
    }
    case Kind::kUnary:
      if (expr.text == "*") {
        const Value pointer = evaluate(*expr.operands[0]);
        if (pointer.kind != Value::Kind::kPointer) refuse("'*' of no pointer", expr.position);
        return {nullptr, {}, pointer.memory, pointer.lanes};
      }
      break;
    case Kind::kCast: {
      if (expr.implicit) return place_of(*expr.operands[0]);
      break;
    }
    default:
      break;
  }
  refuse("a place that hone does not follow", expr.position);
}

Value Executor::read(const Place& place, const Type& type, int position) {
  if (place.variable != nullptr) {
    const Variable& variable = *place.variable;
    const auto found = state_.variables.find(&variable);
    if (found == state_.variables.end()) {
      refuse(fmt::format("'{}' is read before it is written", variable.name), position);
    }
    const Value* value = &found->second;
    for (const std::string& field : place.fields) {
      const auto inner = value->fields.find(field);
      if (inner == value->fields.end()) refuse("'." + field + "' is not known", position);
      value = &inner->second;
    }
    if (value->kind == Value::Kind::kNone) {
      refuse(fmt::format("'{}' is read before it is written", variable.name), position);
    }
    return *value;
  }
  if (type.kind == Type::Kind::kVector) {
    if (!type.element ||
        scalar_type(*type.element, *this, position) != memories[place.memory].type) {
      refuse("a buffer read as another type", position);
    }
    Value made;
    made.kind = Value::Kind::kFields;
    for (int i = 0; i < type.lanes; ++i) {
      const Lanes element =
          map([&](Ref a) { return nodes_.add(a, nodes_.integer(i)); }, place.element);
      made.fields[kFields[i]] =
          Value{Value::Kind::kScalar, load(place.memory, element, position), -1, {}};
    }
    return made;
  }
  if (type.kind != Type::Kind::kFloat && !type.is_integer()) {
    refuse("a struct in memory", position);
  }
  if (scalar_type(type, *this, position) != memories[place.memory].type) {
    refuse("a buffer read as another type", position);
  }
  return Value{Value::Kind::kScalar, load(place.memory, place.element, position), -1, {}};
}

void Executor::write(const Place& place, const Value& value, const Type& type, int position) {
  if (place.variable != nullptr) {
    Value* target = &state_.variables[place.variable];
    for (const std::string& field : place.fields) {
      target->kind = Value::Kind::kFields;
      target = &target->fields[field];
    }
    // Who has left the loop's round, or returned from a called function, keeps what was.
    Lanes stays = uniform(nodes_.boolean(true));
    for (const Lanes& exit : exits_)
      stays = map([&](Ref a, Ref b) { return nodes_.both(a, b); }, stays, exit);
    if (frames_.size() > 1) {
      stays = map([&](Ref a, Ref b) { return nodes_.both(a, b); }, stays, frames_.back().live);
    }
    const auto all = decided(stays);
    if (all && *all) {
      *target = value;
    } else if (target->kind == Value::Kind::kNone) {
      *target = value;
    } else {
      *target = merge(stays, value, *target);
    }
    return;
  }
  if (type.kind == Type::Kind::kVector) {
    if (value.kind != Value::Kind::kFields) refuse("a vector written from no vector", position);
    for (int i = 0; i < type.lanes; ++i) {
      const auto field = value.fields.find(kFields[i]);
      if (field == value.fields.end() || field->second.kind != Value::Kind::kScalar) {
        refuse("a vector of which a part is unknown", position);
      }
      store(place.memory,
            map([&](Ref a) { return nodes_.add(a, nodes_.integer(i)); }, place.element),
            field->second.lanes, position);
    }
    return;
  }
  if (value.kind != Value::Kind::kScalar) refuse("a value in memory that is no number", position);
  const ScalarType as = memories[place.memory].type;
  if (scalar_type(type, *this, position) != as) {
    refuse("a buffer written as another type", position);
  }
  store(place.memory, place.element,
        map([&](Ref a) { return is_float(a->type) == is_float(as) ? nodes_.cast(a, as) : a; },
            value.lanes),
        position);
}

}  // namespace hone::lift
