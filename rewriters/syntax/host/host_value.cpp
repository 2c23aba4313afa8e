#include "rewriters/syntax/host/host_value.h"

#include <algorithm>
#include <limits>

namespace hone::syntax::host {
namespace {

using Op = HostExpr::Op;

HostInt node(Op op, std::int64_t value, const HostInt& a, const HostInt& b) {
  auto result = std::make_shared<HostExpr>();
  result->value = value;
  if (a->op == Op::kConstant && b->op == Op::kConstant) return result;
  result->op = op;
  result->operands = {a, b};
  return result;
}

bool is_constant(const HostInt& value, std::int64_t number) {
  return value->op == Op::kConstant && value->value == number;
}

bool same(const HostInt& a, const HostInt& b) {
  if (a == b) return true;
  if (a->op != b->op || a->value != b->value || a->name != b->name ||
      a->operands.size() != b->operands.size())
    return false;
  for (std::size_t i = 0; i < a->operands.size(); ++i)
    if (!same(a->operands[i], b->operands[i])) return false;
  return true;
}

/// x of `(x + d - 1)`, also written `(x - 1 + d)` or `x + 255` beside 256.
HostInt rounded_up(const HostInt& sum, const HostInt& d) {
  if (sum->op != Op::kAdd && sum->op != Op::kSub) return nullptr;
  // The sum as terms with signs: one of them is d or d's value, and the rest must be -1.
  struct Term {
    HostInt value;
    int sign;
  };
  std::vector<Term> terms;
  std::int64_t constants = 0;
  const auto collect = [&](auto&& self, const HostInt& part, int sign) -> void {
    if (part->op == Op::kAdd || part->op == Op::kSub) {
      self(self, part->operands[0], sign);
      self(self, part->operands[1], part->op == Op::kSub ? -sign : sign);
    } else if (part->op == Op::kConstant) {
      constants += sign * part->value;
    } else {
      terms.push_back({part, sign});
    }
  };
  collect(collect, sum, 1);
  if (d->op == Op::kConstant) {
    constants -= d->value;
  } else {
    const auto divisor =
        std::ranges::find_if(terms, [&](const Term& t) { return t.sign == 1 && same(t.value, d); });
    if (divisor == terms.end()) return nullptr;
    terms.erase(divisor);
  }
  if (constants != -1 || terms.empty()) return nullptr;
  HostInt rest;
  for (const Term& term : terms) {
    if (rest == nullptr) {
      if (term.sign < 0) return nullptr;
      rest = term.value;
    } else {
      rest = combine(term.sign > 0 ? Op::kAdd : Op::kSub, rest, term.value);
    }
  }
  return rest;
}

}  // namespace

HostInt constant(std::int64_t value) {
  auto result = std::make_shared<HostExpr>();
  result->value = value;
  return result;
}

HostInt combine(Op op, const HostInt& a, const HostInt& b) {
  if (a == nullptr || b == nullptr) return nullptr;
  const std::int64_t x = a->value;
  const std::int64_t y = b->value;
  std::int64_t value = 0;
  switch (op) {
    case Op::kAdd:
      if (is_constant(a, 0)) return b;
      if (is_constant(b, 0)) return a;
      return __builtin_add_overflow(x, y, &value) ? nullptr : node(op, value, a, b);
    case Op::kSub:
      if (is_constant(b, 0)) return a;
      return __builtin_sub_overflow(x, y, &value) ? nullptr : node(op, value, a, b);
    case Op::kMul:
      if (is_constant(a, 1)) return b;
      if (is_constant(b, 1)) return a;
      return __builtin_mul_overflow(x, y, &value) ? nullptr : node(op, value, a, b);
    case Op::kDiv:
      if (y == 0 || (x == std::numeric_limits<std::int64_t>::min() && y == -1)) return nullptr;
      if (is_constant(b, 1)) return a;
      if (const HostInt up = y > 0 ? rounded_up(a, b) : nullptr; up && up->value >= 0)
        return node(Op::kCeilDiv, x / y, up, b);
      // (a * n) / a is n: bytes back to elements.
      if (a->op == Op::kMul && same(a->operands[1], b)) return a->operands[0];
      if (a->op == Op::kMul && same(a->operands[0], b)) return a->operands[1];
      return node(op, x / y, a, b);
    case Op::kMod:
      if (y == 0 || y == -1) return nullptr;
      return node(op, x % y, a, b);
    case Op::kCeilDiv:
      if (y <= 0 || x < 0) return nullptr;
      if (is_constant(b, 1)) return a;
      return node(op, x / y + (x % y != 0 ? 1 : 0), a, b);
    case Op::kMin:
      return node(op, std::min(x, y), a, b);
    case Op::kMax:
      return node(op, std::max(x, y), a, b);
    case Op::kConstant:
    case Op::kName:
      break;
  }
  return nullptr;
}

bool has_name(const HostInt& value) {
  if (value == nullptr) return false;
  if (value->op == Op::kName) return true;
  return std::ranges::any_of(value->operands, [](const HostInt& part) { return has_name(part); });
}

Value int_value(HostInt value) {
  Value result;
  if (value == nullptr) return result;
  result.kind = Value::Kind::kInt;
  result.integer = std::move(value);
  return result;
}

Value real_value(double value) {
  Value result;
  result.kind = Value::Kind::kReal;
  result.real = value;
  return result;
}

bool is_number(const Value& value) { return value.is_int() || value.kind == Value::Kind::kReal; }

double number(const Value& value) {
  return value.kind == Value::Kind::kReal ? value.real : static_cast<double>(value.integer->value);
}

CellPtr deep_copy(const CellPtr& cell) {
  if (cell == nullptr) return nullptr;
  auto copy = std::make_shared<Cell>(*cell);
  if (copy->value.kind == Value::Kind::kRecord) copy->value.cell = deep_copy(cell->value.cell);
  for (auto& [key, member] : copy->members) member = deep_copy(member);
  for (auto& [key, element] : copy->elements) element = deep_copy(element);
  return copy;
}

}  // namespace hone::syntax::host
