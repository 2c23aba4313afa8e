#include "rewriters/affine/operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace hone::nest {
namespace {

template <class F>
double on(double a, double b, double /*c*/) {
  return F{}(a, b);
}
template <class F>
double on_bits(double a, double b, double /*c*/) {
  return static_cast<double>(F{}(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
}
double least(double a, double b, double /*c*/) { return std::fmin(a, b); }
double most(double a, double b, double /*c*/) { return std::fmax(a, b); }
double rest(double a, double b, double /*c*/) { return std::fmod(a, b); }
double negated(double a, double /*b*/, double /*c*/) { return -a; }
double not_negative(double a, double /*b*/, double /*c*/) { return a >= 0 ? 1 : 0; }
double is_nothing(double a, double /*b*/, double /*c*/) { return a == 0 ? 1 : 0; }
constexpr auto kLeft = [](std::int64_t a, std::int64_t b) { return a << b; };
constexpr auto kRight = [](std::int64_t a, std::int64_t b) { return a >> b; };

using enum OpInfo::Trait;
constexpr unsigned kFold = kFolds | kCommutes, kBits = kInfix | kFold | kIntegers;

constexpr OpInfo kTable[] = {
    {Op::kCall, ""},
    {Op::kAdd, "+", kInfix | kFold, on<std::plus<>>, "total", 0, "sum", "atomicAdd"},
    {Op::kSub, "-", kInfix, on<std::minus<>>, "difference"},
    {Op::kMul, "*", kInfix | kFold, on<std::multiplies<>>, "product", 1, "product"},
    {Op::kDiv, "/", kInfix, on<std::divides<>>, "ratio"},
    {Op::kNeg, "neg", 0, negated},
    {Op::kMin, "min", kFold, least, "least", HUGE_VAL, "smallest", "atomicMin"},
    {Op::kMax, "max", kFold, most, "most", -HUGE_VAL, "largest", "atomicMax"},
    {Op::kFma, "fma", 0, std::fma},
    {Op::kMod, "%", kInfix | kIntegers, rest, "rest"},
    {Op::kBitAnd, "&", kBits, on_bits<std::bit_and<>>, "part", -1, "all_bits", "atomicAnd"},
    {Op::kBitOr, "|", kBits, on_bits<std::bit_or<>>, "part", 0, "any_bits", "atomicOr"},
    {Op::kBitXor, "^", kBits, on_bits<std::bit_xor<>>, "part", 0, "parity_bits", "atomicXor"},
    {Op::kShiftLeft, "<<", kInfix | kIntegers, on_bits<decltype(kLeft)>},
    {Op::kShiftRight, ">>", kInfix | kIntegers, on_bits<decltype(kRight)>},
    {Op::kNonNegative, ">=0", 0, not_negative, "inside"},
    {Op::kIsZero, "==0", 0, is_nothing, "is_zero"},
    {Op::kLess, "<", kInfix | kComparison, on<std::less<>>, "below"},
    {Op::kLessEqual, "<=", kInfix | kComparison, on<std::less_equal<>>, "not_above"},
    {Op::kEqual, "==", kInfix | kComparison | kCommutes, on<std::equal_to<>>},
    {Op::kNotEqual, "!=", kInfix | kComparison | kCommutes, on<std::not_equal_to<>>},
    {Op::kAnd, "&&", kInfix, nullptr, "all"},
    {Op::kOr, "||", kInfix, nullptr, "either"},
    {Op::kNot, "!", 0, is_nothing},
    {Op::kSelect, "select", 0, nullptr, "chosen"},
    {Op::kCast, "cast", 0, nullptr, "as"},
    {Op::kArgMin, "argmin", 0, nullptr, "part", HUGE_VAL, "best"},
    {Op::kArgMax, "argmax", 0, nullptr, "part", -HUGE_VAL, "best"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kTable); ++i)
    if (kTable[i].op != static_cast<Op>(i)) return false;
  return std::size(kTable) == static_cast<std::size_t>(Op::kArgMax) + 1;
}
static_assert(in_order());

double power_of_ten(double x) { return std::pow(10.0, x); }
double reciprocal(double x) { return 1 / x; }
double inverse_root(double x) { return 1 / std::sqrt(x); }
double sine_of_turns(double x) { return std::sin(M_PI * x); }
double cosine_of_turns(double x) { return std::cos(M_PI * x); }
double normal(double x) { return std::erfc(-x * M_SQRT1_2) / 2; }
double divided(double a, double b) { return a / b; }

// clang-format off: by name
constexpr Function kFunctions[] = {
    {"__cosf", std::cos}, {"__exp10f", power_of_ten}, {"__expf", std::exp},
    {"__fdividef", nullptr, divided}, {"__frcp_rn", reciprocal}, {"__frsqrt_rn", inverse_root},
    {"__log2f", std::log2}, {"__logf", std::log}, {"__powf", nullptr, std::pow},
    {"__sinf", std::sin}, {"__tanf", std::tan}, {"acos", std::acos}, {"acosh", std::acosh},
    {"asin", std::asin}, {"asinh", std::asinh}, {"atan", std::atan}, {"atan2", nullptr, std::atan2},
    {"atanh", std::atanh}, {"cbrt", std::cbrt}, {"ceil", std::ceil},
    {"copysign", nullptr, std::copysign}, {"cos", std::cos}, {"cosh", std::cosh},
    {"cospi", cosine_of_turns}, {"erf", std::erf}, {"erfc", std::erfc}, {"erfinv"},
    {"exp", std::exp, nullptr, "power"}, {"exp10", power_of_ten}, {"exp2", std::exp2},
    {"expm1", std::expm1}, {"fabs", std::fabs}, {"fdim", nullptr, std::fdim}, {"floor", std::floor},
    {"fmod", nullptr, std::fmod}, {"hypot", nullptr, std::hypot}, {"lgamma", std::lgamma},
    {"log", std::log, nullptr, "logarithm"}, {"log10", std::log10}, {"log1p", std::log1p},
    {"log2", std::log2}, {"nearbyint", std::nearbyint}, {"normcdf", normal},
    {"pow", nullptr, std::pow}, {"rint", std::rint}, {"round", std::round},
    {"rsqrt", inverse_root, nullptr, "inverse_root"}, {"sin", std::sin}, {"sinh", std::sinh},
    {"sinpi", sine_of_turns}, {"sqrt", std::sqrt, nullptr, "root"}, {"tan", std::tan},
    {"tanh", std::tanh, nullptr, "tangent"}, {"tgamma", std::tgamma}, {"trunc", std::trunc},
};
// clang-format on
static_assert(std::ranges::is_sorted(kFunctions, {}, &Function::name));

std::optional<Op> found_by(std::string_view OpInfo::* column, std::string_view value) {
  const auto* const found = std::ranges::find(kTable, value, column);
  if (value.empty() || found == std::end(kTable)) return std::nullopt;
  return found->op;
}

}  // namespace

const OpInfo& info(Op op) { return kTable[static_cast<std::size_t>(op)]; }

std::optional<Op> operation_named(std::string_view name) { return found_by(&OpInfo::name, name); }
std::optional<Op> operation_of_atomic(std::string_view function) {
  return found_by(&OpInfo::atomic, function);
}

bool folds_numbers(Op op) { return info(op).is(kFolds) && !info(op).is(kIntegers); }

const Function* function_named(std::string_view name) {
  const auto* const found = std::ranges::lower_bound(kFunctions, name, {}, &Function::name);
  return found != std::end(kFunctions) && found->name == name ? found : nullptr;
}

std::optional<double> evaluate(Op op, std::string_view function, std::span<const double> operands) {
  const auto at = [&](std::size_t i) { return i < operands.size() ? operands[i] : 0; };
  if (op != Op::kCall) {
    const auto known = info(op).evaluate;
    return known != nullptr ? std::optional(known(at(0), at(1), at(2))) : std::nullopt;
  }
  const Function* known = function_named(function);
  if (known == nullptr) return std::nullopt;
  if (known->of_one != nullptr && operands.size() == 1) return known->of_one(at(0));
  if (known->of_two != nullptr && operands.size() == 2) return known->of_two(at(0), at(1));
  return std::nullopt;
}

}  // namespace hone::nest
