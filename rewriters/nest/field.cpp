#include "rewriters/nest/field.h"

#include <cmath>

namespace hone::nest {
namespace {

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result = Field::multiply(result, base);
    base = Field::multiply(base, base);
  }
  return result;
}

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t Field::add(std::uint64_t a, std::uint64_t b) { return (a + b) % kPrime; }
std::uint64_t Field::subtract(std::uint64_t a, std::uint64_t b) {
  return (a + kPrime - b) % kPrime;
}

std::uint64_t Field::multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{a} * b % kPrime);
}

std::uint64_t Field::divide(std::uint64_t a, std::uint64_t b) {
  return multiply(a, power(b, kPrime - 2));
}

std::uint64_t Field::integer(std::int64_t value) {
  const auto size = static_cast<std::int64_t>(kPrime);
  return static_cast<std::uint64_t>((value % size + size) % size);
}

std::uint64_t Field::unknown(Ref value) const {
  return mixed(seed_ ^ mixed(static_cast<std::uint64_t>(value->id))) % kPrime;
}

std::uint64_t Field::of(Ref value) {
  const auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  const std::uint64_t result = work_out(value);
  known_.emplace(value, result);
  return result;
}

std::uint64_t Field::work_out(Ref value) {
  if (value->kind == Node::Kind::kFloat) {
    if (!std::isfinite(value->value)) return unknown(value);
    int exponent = 0;
    const auto digits =
        static_cast<std::int64_t>(std::ldexp(std::frexp(value->value, &exponent), 53));
    const std::uint64_t scale = power(2, static_cast<std::uint64_t>(std::abs(exponent - 53)));
    return exponent >= 53 ? multiply(integer(digits), scale) : divide(integer(digits), scale);
  }
  if (value->kind == Node::Kind::kSum) {
    std::uint64_t sum = integer(value->constant);
    for (const Term& term : value->terms)
      sum = add(sum, multiply(integer(term.coefficient), of(term.atom)));
    return sum;
  }
  if (value->kind != Node::Kind::kOp) return unknown(value);
  if (value->is(Op::kCast) && !is_narrow_float(value->type) &&
      (is_float(value->type) || !is_float(value->args[0]->type))) {
    return of(value->args[0]);
  }
  const bool real = is_float(value->type);
  if (value->is(Op::kMul)) return multiply(of(value->args[0]), of(value->args[1]));
  if (!real) return unknown(value);
  if (value->is(Op::kAdd)) return add(of(value->args[0]), of(value->args[1]));
  if (value->is(Op::kSub)) return subtract(of(value->args[0]), of(value->args[1]));
  if (value->is(Op::kNeg)) return subtract(0, of(value->args[0]));
  if (value->is(Op::kDiv) || value->calls("__fdividef")) {
    return divide(of(value->args[0]), of(value->args[1]));
  }
  if (value->is(Op::kFma)) {
    return add(multiply(of(value->args[0]), of(value->args[1])), of(value->args[2]));
  }
  return unknown(value);
}

}  // namespace hone::nest
