// Operators on values; unsigned numbers are shown not to wrap around where that would be seen.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/lift/types.h"

namespace hone::nest {

using syntax::Expr;
using syntax::Type;

Value Executor::arithmetic(const std::string& op, const Value& a, const Value& b, const Type& type,
                           int position) {
  if (a.kind == Value::Kind::kPointer || b.kind == Value::Kind::kPointer) {
    refuse(fmt::format("arithmetic on pointers that hone does not follow: '{}' of a pointer", op),
           position);
  }
  const bool vectors = a.kind == Value::Kind::kFields && b.kind == Value::Kind::kFields;
  if (vectors && type.kind == Type::Kind::kVector) return fieldwise(op, {a, b}, type, position);
  if (a.kind != Value::Kind::kScalar || b.kind != Value::Kind::kScalar) {
    refuse(fmt::format("'{}' of values that are no numbers", op), position);
  }
  const ScalarType result = scalar_type(type, *this, position);
  const bool turned = op == ">" || op == ">=";
  const auto made_by = operation_named(!turned ? op : op == ">" ? "<" : "<=");
  if (!made_by) refuse(fmt::format("the operator '{}', which hone does not follow", op), position);
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
        if (turned) std::swap(x, y);
        if (info(*made_by).is(OpInfo::kComparison)) {
          return nodes_.op(*made_by, ScalarType::kBool, {x, y});
        }
        if (!real && x->type == ScalarType::kBool) x = nodes_.cast(x, ScalarType::kI32);
        if (!real && y->type == ScalarType::kBool) y = nodes_.cast(y, ScalarType::kI32);
        return nodes_.op(*made_by, real ? x->type : result, {x, y});
      },
      a.lanes, b.lanes);
  if (type.kind == Type::Kind::kInt && !type.is_signed && type.bytes <= 4) {
    for (std::size_t i = 0; i < made.lanes.size(); ++i) {
      if (!fits(made.lanes[i], i, INT32_MIN, UINT32_MAX)) {
        refuse(fmt::format("unsigned arithmetic that cannot be shown not to wrap around ({})",
                           type.spelling),
               position);
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
      refuse(fmt::format("unsigned arithmetic that cannot be shown not to wrap around ({})",
                         type.spelling),
             position);
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
    if (a.memory != b.memory) {
      refuse(fmt::format("pointers into '{}' and '{}' in one expression: {}",
                         memories[a.memory].name, memories[b.memory].name, quoted(expr)),
             expr.position);
    }
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
      refuse("the address of a variable that is no number: " + quoted(expr), expr.position);
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
                       ? nodes_.op(Op::kAdd, a->type, {a, nodes_.number(double(by), a->type)})
                       : nodes_.add(a, nodes_.integer(by));
          },
          before.lanes);
    }
    write(place, after, operand.type, expr.position);
    return op.front() == 'x' ? before : after;
  }
  Value value = evaluate(operand);
  if (value.kind != Value::Kind::kScalar) {
    refuse(fmt::format("'{}' of a value that is no number: {}", op, quoted(expr)), expr.position);
  }
  if (op == "+") return value;
  if (op == "-") {
    value.lanes = map(
        [&](Ref a) {
          return is_float(a->type) ? nodes_.op(Op::kNeg, a->type, {a}) : nodes_.scale(a, -1);
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
  refuse("an operator that hone does not follow: " + quoted(expr), expr.position);
}

}  // namespace hone::nest
