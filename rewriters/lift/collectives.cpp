// What threads do together: shuffles; and atomics on global memory.
#include <fmt/format.h>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"

namespace hone::nest {

using syntax::Expr;

Value Executor::shuffle(const Expr& expr) {
  const std::string& name = expr.text;
  if (name == "__syncwarp") return {};
  if (!name.starts_with("__shfl") || expr.operands.size() < 3 || !launched_.in_lockstep) {
    refuse(the_call(expr) + ", which hone does not follow", expr.position);
  }
  if (dry_) {
    Lanes unknown;
    const ScalarType type = scalar_type(expr.type, *this, expr.position);
    for (std::size_t i = 0; i < lanes_; ++i) unknown.push_back(nodes_.phi(type));
    return {Value::Kind::kScalar, unknown, -1, {}};
  }
  const Lanes value = scalar(*expr.operands[1]), offset = scalar(*expr.operands[2]);
  std::int64_t width = 32;
  if (expr.operands.size() > 3) {
    const Lanes given = scalar(*expr.operands[3]);
    if (given.size() != 1 || !given[0]->is_constant()) {
      refuse("a shuffle whose width is not known: " + quoted(expr), expr.position);
    }
    width = given[0]->constant;
  }
  if (width < 1 || width > 32) {
    refuse(fmt::format("a shuffle of width {}: {}", width, quoted(expr)), expr.position);
  }
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref by = lane(offset, i);
    if (!by->is_constant()) {
      refuse("a shuffle by what is not known: " + quoted(expr), expr.position);
    }
    const auto mine = static_cast<std::int64_t>(i % 32), start = mine / width * width;
    std::int64_t from = mine;
    if (name == "__shfl_down_sync") {
      from = mine + by->constant < start + width ? mine + by->constant : mine;
    } else if (name == "__shfl_up_sync") {
      from = mine - by->constant >= start ? mine - by->constant : mine;
    } else if (name == "__shfl_xor_sync") {
      from = (mine ^ by->constant) < start + width ? mine ^ by->constant : mine;
    } else if (name == "__shfl_sync") {
      from = start + ((by->constant % width) + width) % width;
    } else {
      refuse(the_call(expr) + ", which hone does not follow", expr.position);
    }
    const std::size_t source = i - static_cast<std::size_t>(mine) + static_cast<std::size_t>(from);
    result.push_back(lane(value, source < lanes_ ? source : i));
  }
  shrink(result);
  return {Value::Kind::kScalar, std::move(result), -1, {}};
}

Value Executor::atomic(const Expr& expr) {
  const auto op = operation_of_atomic(expr.text);
  if (!op || expr.operands.size() != 2) {
    refuse(the_call(expr) + ", which hone does not follow", expr.position);
  }
  const bool plain = expr.parent == nullptr ||
                     (expr.parent->kind == Expr::Kind::kCast && expr.parent->parent == nullptr);
  const bool used = !plain || expr.statement == nullptr ||
                    expr.statement->kind != syntax::Stmt::Kind::kExpression;
  if (used) refuse("the result of an atomic operation: " + quoted(expr), expr.position);
  const Value pointer = evaluate(*expr.operands[0]);
  if (pointer.kind != Value::Kind::kPointer) {
    refuse(the_call(expr) + " of no pointer that hone follows", expr.position);
  }
  Lanes value = scalar(*expr.operands[1]);
  const ScalarType type = memories[pointer.memory].type;
  value = map([&](Ref a) { return nodes_.cast(a, type); }, value);
  store(pointer.memory, pointer.lanes, value, expr.position, op);
  return {};
}

}  // namespace hone::nest
