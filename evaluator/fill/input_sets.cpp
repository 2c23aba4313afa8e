#include "evaluator/fill/input_sets.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "evaluator/fill/formula_cpu.h"

namespace hone {
namespace {

// Deviations of a normal fill that count as its range: of 2^30 values two or so are beyond six.
constexpr double kDeviations = 6, kUsualDeviations = 3;
constexpr double kWideSteps = 8192;  // two bits more than f16 and tf32 have
constexpr double kNarrowSteps = 2;
// Four such sums are exact in f32, in any order.
constexpr double kFullSteps = 1 << 21;
constexpr std::uint64_t kFormsOfTies = 3;
constexpr double kSmallShare = 1.0 / 1024;
constexpr double kFarWidths = 250, kFarSpread = 100;  // of the fill's range

enum class Varies { kNothing, kFloats, kIntegers, kConstants, kOrdered };

Varies varies(InputSet set) {
  if (set == InputSet::kOwn) return Varies::kNothing;
  if (set == InputSet::kConstants) return Varies::kConstants;
  if (set == InputSet::kWide || set == InputSet::kTies) return Varies::kFloats;
  if (set == InputSet::kAlike) return Varies::kIntegers;
  if (set >= InputSet::kCurves) return Varies::kOrdered;
  return set < InputSet::kEqual ? Varies::kFloats : Varies::kIntegers;
}

Varies varies(const ConcreteBuffer& buffer) {
  if (buffer.role != Role::kIn && buffer.role != Role::kInOut) return Varies::kNothing;
  const Fill& fill = buffer.fill;
  const bool real = is_float(buffer.type);
  switch (fill.kind) {
    case Fill::Kind::kUniform:
    case Fill::Kind::kNormal:
      if (fill.a == fill.b && !fill.exact) return Varies::kNothing;
      return real ? Varies::kFloats : Varies::kIntegers;
    case Fill::Kind::kIntegers:
      if (fill.a == fill.b && !fill.exact) return Varies::kNothing;
      return real ? Varies::kFloats : Varies::kIntegers;
    case Fill::Kind::kConstant:
      return real || fill.a == 0 || fill.a == 1 ? Varies::kConstants : Varies::kNothing;
    case Fill::Kind::kSorted:
    case Fill::Kind::kPermutation:
    case Fill::Kind::kOneHot:
    case Fill::Kind::kLowerTriangle:
    case Fill::Kind::kUpperTriangle:
      return Varies::kOrdered;
    default:
      return Varies::kNothing;
  }
}

/// Floats that hold integers stay so: few sets vary them.
bool is_whole_float(const ConcreteBuffer& buffer) {
  return is_float(buffer.type) && buffer.fill.kind == Fill::Kind::kIntegers;
}

bool is_triangle(const Fill& fill) {
  return fill.kind == Fill::Kind::kLowerTriangle || fill.kind == Fill::Kind::kUpperTriangle;
}

bool is_16_bits(ScalarType type) { return type == ScalarType::kF16 || type == ScalarType::kBf16; }

/// Do the sets that are not for every task say something of this one?
bool says_something(const ConcreteProgram& program, const std::vector<ConcreteBuffer*>& varied,
                    InputSet set) {
  if (set == InputSet::kWide)
    return varied.size() > 1 && std::ranges::any_of(varied, [](const ConcreteBuffer* buffer) {
             return !is_16_bits(buffer->type);
           });
  if (set == InputSet::kTies)
    return std::ranges::any_of(program.buffers, [](const ConcreteBuffer& buffer) {
      return is_output(buffer.role) && is_16_bits(buffer.type);
    });
  return true;
}

/// The largest power of two in the range, or minus it.
double power_in(const Fill& fill) {
  const double end = fill.b > 0 ? fill.b : -fill.a;
  const double power = std::exp2(std::floor(std::log2(end)));
  return fill.b > 0 ? power : -power;
}

/// The largest power of two that goes `steps` times into the larger end and of which two multiples
/// lie in the range.
double step_for(const Fill& fill, double steps) {
  const double most = std::max(std::abs(fill.a), std::abs(fill.b));
  double step = std::exp2(std::floor(std::log2(most / steps)));
  while (std::floor(fill.b / step) < std::ceil(fill.a / step) + 1) step /= 2;
  return step;
}

/// Bits of a significand: more would be rounded.
double wide_steps(ScalarType type) {
  switch (type) {
    case ScalarType::kF16:
      return 1024;
    case ScalarType::kBf16:
      return 128;
    default:
      return kWideSteps;
  }
}

/// Random integers of all that the type holds.
Fill whole_type(ScalarType type) {
  constexpr std::uint64_t kSign = 1ULL << 63;
  switch (type) {
    case ScalarType::kI64:
      return {.kind = Fill::Kind::kIntegers, .exact = {{kSign, kSign - 1}}};
    case ScalarType::kU64:
      return {.kind = Fill::Kind::kIntegers, .exact = {{0, ~0ULL}}};
    default:
      return {.kind = Fill::Kind::kIntegers,
              .a = static_cast<double>(hone_type_min(static_cast<int>(type))),
              .b = static_cast<double>(hone_type_max(static_cast<int>(type)))};
  }
}

/// The range of a normal fill. Whose values are nearly all of one sign stays on its side: roots and
/// logarithms may rely on it.
void bound(Fill& fill) {
  if (fill.kind != Fill::Kind::kNormal) return;
  const double middle = fill.a, usual = kUsualDeviations * fill.b, reach = kDeviations * fill.b;
  fill.a = middle - (middle - usual > 0 && middle - reach <= 0 ? usual : reach);
  fill.b = middle + (middle + usual < 0 && middle + reach >= 0 ? usual : reach);
}

/// Of floats that hold integers, which they go on to do.
void vary_whole_float(Fill& fill, InputSet set, bool chosen) {
  if (set == InputSet::kEither) {
    fill.kind = Fill::Kind::kEither;
  } else if (set == InputSet::kWide && !chosen) {
    if (fill.a > 0 || fill.b < 1) return;
    fill.kind = Fill::Kind::kSparse;
    fill.b = power_in(fill);
  } else {
    fill.kind = Fill::Kind::kMultiples;
    fill.step = chosen ? 1 : std::max(1.0, step_for(fill, kNarrowSteps));
  }
}

void vary_float(ConcreteBuffer& buffer, InputSet set, bool chosen) {
  Fill& fill = buffer.fill;
  if (is_whole_float(buffer)) return vary_whole_float(fill, set, chosen);
  bound(fill);
  switch (set) {
    case InputSet::kTails:
      fill.kind = Fill::Kind::kTails;
      break;
    case InputSet::kEither:
      fill.kind = Fill::Kind::kEither;
      break;
    case InputSet::kEdges:
      fill.kind = Fill::Kind::kEdges;
      break;
    case InputSet::kSmall: {
      const double width = fill.b - fill.a;
      fill.kind = Fill::Kind::kUniform;
      if (fill.a <= 0 && fill.b >= 0) {
        fill.a *= kSmallShare;
        fill.b *= kSmallShare;
      } else {
        fill.b = fill.a + kSmallShare * width;
      }
      break;
    }
    case InputSet::kFar: {
      if (fill.a >= 0) break;
      const double width = fill.b - fill.a;
      const bool below = chosen || fill.b <= 0;
      fill.kind = Fill::Kind::kNormal;
      fill.a = below ? fill.a - kFarWidths * width : fill.b + kFarWidths * width;
      fill.b = kFarSpread * width;
      break;
    }
    case InputSet::kWide:
      if (chosen) {
        const double steps = is_16_bits(buffer.type) ? wide_steps(buffer.type) : kFullSteps;
        fill.kind = Fill::Kind::kMultiples;
        fill.step = step_for(fill, steps);
      } else if (fill.a <= 0 && fill.b >= 0) {
        fill.kind = Fill::Kind::kSparse;
        fill.b = power_in(fill);
      }
      break;
    default:
      fill.kind = Fill::Kind::kMultiples;
      fill.step = step_for(fill, chosen ? wide_steps(buffer.type) : kNarrowSteps);
  }
}

/// Where values near zero are in the range; `form`: of the chosen buffer.
void vary_for_ties(ConcreteBuffer& buffer, int form, bool chosen) {
  Fill& fill = buffer.fill;
  bound(fill);
  if (fill.a > 0 || fill.b < 0) return;
  const bool everywhere = form == HONE_TIES_EVERYWHERE;
  fill.b = everywhere ? power_in(fill) / 2 : power_in(fill);
  fill.kind = chosen || everywhere ? Fill::Kind::kTies : Fill::Kind::kConstant;
  if (fill.kind == Fill::Kind::kConstant) fill.a = fill.b;
  if (fill.kind == Fill::Kind::kTies) fill.form = chosen ? form : HONE_NO_TIES;
}

/// Vectors alone are added element by element.
int form_of_ties(const std::vector<ConcreteBuffer*>& varied, std::uint64_t seed) {
  const bool vectors = std::ranges::all_of(
      varied, [](const ConcreteBuffer* buffer) { return buffer->shape.size() < 2; });
  if (vectors && varied.size() > 1) return HONE_TIES_EVERYWHERE;
  return static_cast<int>(seed / varied.size() % kFormsOfTies);
}

void vary_integer(ConcreteBuffer& buffer, InputSet set, bool chosen) {
  Fill& fill = buffer.fill;
  if (set == InputSet::kWhole) {
    if (fill.unstated) fill = whole_type(buffer.type);
    return;
  }
  if ((set == InputSet::kLimits || set == InputSet::kAlike) && fill.unstated && chosen)
    fill = whole_type(buffer.type);
  bound(fill);
  switch (set) {
    case InputSet::kEqual:
      fill.kind = Fill::Kind::kEqual;
      break;
    case InputSet::kTwo:
      fill.kind = Fill::Kind::kEither;
      break;
    case InputSet::kRising:
      fill.kind = Fill::Kind::kSorted;
      break;
    case InputSet::kFalling:
      fill.kind = Fill::Kind::kFalling;
      break;
    case InputSet::kRuns:
      fill.kind = Fill::Kind::kRuns;
      break;
    case InputSet::kAlike:
      fill.kind = Fill::Kind::kEdges;
      if (buffer.type != ScalarType::kBool) fill.form = HONE_ALIKE;
      break;
    default:
      fill.kind = Fill::Kind::kEdges;
  }
}

/// Around the constant and of its sign, so that what is divided by, or rooted, stays so.
void vary_constant(ConcreteBuffer& buffer) {
  Fill& fill = buffer.fill;
  const double value = fill.a;
  fill.exact.reset();
  if (!is_float(buffer.type)) {
    fill.kind = Fill::Kind::kIntegers;
    fill.b = buffer.type == ScalarType::kBool ? 1 : value + 2;
    if (buffer.type == ScalarType::kBool) fill.a = 0;
    return;
  }
  fill.kind = Fill::Kind::kUniform;
  fill.a = value == 0 ? -1 : std::min(value / 2, value * 3 / 2);
  fill.b = value == 0 ? 1 : std::max(value / 2, value * 3 / 2);
}

}  // namespace

std::string_view to_string(InputSet set) {
  switch (set) {
    case InputSet::kOwn:
      return "the task's own inputs";
    case InputSet::kTails:
      return "heavy-tailed inputs";
    case InputSet::kEither:
      return "inputs of two values";
    case InputSet::kEdges:
      return "edge values";
    case InputSet::kMultiples:
      return "inputs with exact answers";
    case InputSet::kSmall:
      return "small inputs";
    case InputSet::kFar:
      return "far negative inputs";
    case InputSet::kEqual:
      return "equal integers";
    case InputSet::kTwo:
      return "integers of two values";
    case InputSet::kRising:
      return "rising integers";
    case InputSet::kFalling:
      return "falling integers";
    case InputSet::kRuns:
      return "runs of equal integers";
    case InputSet::kLimits:
      return "integers at the ends of their range";
    case InputSet::kWhole:
      return "integers of the whole type";
    case InputSet::kConstants:
      return "random values in place of constants";
    case InputSet::kCurves:
      return "sorted rows along a curve, permutations that move nothing or ones at the first place";
    case InputSet::kJumps:
      return "sorted rows of a few jumps, reversed permutations or ones at the last place";
    case InputSet::kOneStep:
      return "sorted rows of which one step is half, exchanged neighbours or ones at one place";
    case InputSet::kOneEnd:
      return "sorted rows at one end, rotations or ones along the diagonal";
    case InputSet::kWide:
      return "inputs with exact answers and all bits of f32";
    case InputSet::kTies:
      return "inputs whose sums are ties";
    case InputSet::kAlike:
      return "integers that differ in few bits";
  }
  return "";
}

ConcreteProgram with_inputs(ConcreteProgram program, InputSet set, std::uint64_t seed) {
  if (set == InputSet::kOwn) return program;
  std::vector<ConcreteBuffer*> varied;
  for (auto& buffer : program.buffers)
    if (varies(buffer) == varies(set) && (!is_whole_float(buffer) || set == InputSet::kEither ||
                                          set == InputSet::kMultiples || set == InputSet::kWide))
      varied.push_back(&buffer);
  if (!says_something(program, varied, set)) return program;
  // By name: a candidate may have them in another order.
  std::ranges::sort(varied, {}, &ConcreteBuffer::name);
  for (std::size_t i = 0; i < varied.size(); ++i) {
    const bool chosen = i == seed % varied.size();
    switch (varies(set)) {
      case Varies::kFloats:
        if (set == InputSet::kTies) {
          vary_for_ties(*varied[i], form_of_ties(varied, seed), chosen);
          break;
        }
        vary_float(*varied[i], set, chosen);
        break;
      case Varies::kIntegers:
        vary_integer(*varied[i], set, chosen);
        break;
      case Varies::kOrdered:
        if (set >= InputSet::kOneStep && is_triangle(varied[i]->fill)) break;
        varied[i]->fill.form =
            HONE_CURVE + static_cast<int>(set) - static_cast<int>(InputSet::kCurves);
        break;
      default:
        vary_constant(*varied[i]);
    }
  }
  return program;
}

std::optional<ConcreteProgram> with_coarse_inputs(ConcreteProgram program) {
  bool any = false;
  for (ConcreteBuffer& buffer : program.buffers) {
    if (!is_float(buffer.type) || buffer.role == Role::kScratch) continue;
    if (buffer.type != ScalarType::kF32 && buffer.type != ScalarType::kF64) return std::nullopt;
    Fill& fill = buffer.fill;
    const bool random = fill.kind == Fill::Kind::kUniform || fill.kind == Fill::Kind::kNormal;
    if (buffer.role == Role::kOut || !random) continue;
    if (fill.through && *fill.through != ScalarType::kF32) return std::nullopt;
    fill.through = ScalarType::kBf16;
    any = true;
  }
  if (!any) return std::nullopt;
  return program;
}

std::vector<InputSet> input_sets_of(const ConcreteProgram& program) {
  std::vector<InputSet> sets;
  for (const InputSet set : kAllInputSets) {
    const ConcreteProgram varied = with_inputs(program, set, 0);
    if (set == InputSet::kOwn || !std::ranges::equal(varied.buffers, program.buffers, {},
                                                     &ConcreteBuffer::fill, &ConcreteBuffer::fill))
      sets.push_back(set);
  }
  return sets;
}

bool gathers_work(const ConcreteProgram& program, InputSet set) {
  if (set != InputSet::kJumps && set != InputSet::kOneStep && set != InputSet::kOneEnd)
    return false;
  return std::ranges::any_of(program.buffers, [](const ConcreteBuffer& buffer) {
    return buffer.fill.kind == Fill::Kind::kSorted && varies(buffer) == Varies::kOrdered;
  });
}

bool depends_on_size(InputSet set) {
  return set == InputSet::kMultiples || set == InputSet::kFar || set == InputSet::kEqual ||
         set == InputSet::kLimits || set == InputSet::kOneStep || set == InputSet::kWide ||
         set == InputSet::kTies;
}

}  // namespace hone
