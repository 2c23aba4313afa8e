#include "evaluator/fill/input_sets.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "evaluator/fill/formula_cpu.h"
#include "evaluator/fill/relations.h"

namespace hone {
namespace {

constexpr double kWideSteps = 8192;  // two bits more than f16 and tf32 have
constexpr double kNarrowSteps = 2;
// Four such sums are exact in f32, in any order.
constexpr double kFullSteps = 1 << 21;
constexpr std::uint64_t kFormsOfTies = 3;
constexpr double kSmallShare = 1.0 / 1024;
constexpr double kFarWidths = 250, kFarSpread = 100;  // of the fill's range

constexpr double kTinyShare = 0x1p-30, kNarrowShare = 1.0 / 8;

enum class Varies { kNothing, kFloats, kIntegers, kConstants, kOrdered, kSequences };

/// Of kPatterns: patterns of the formula, and ranges.
enum FormOfFloats {
  kFewRows,
  kPeriodic,
  kZigzag,
  kTiny,
  kNarrow,
  kTinySquares,
  kRare,
  kRareOtherwise,
  kFewBitsOfProducts,
  kSomeBitsOfProducts,
  kFormsOfFloats
};
constexpr int kPatternsOfRows[] = {HONE_FEW_ROWS,    HONE_PERIODIC, HONE_ZIGZAG,
                                   HONE_PROGRESSION, HONE_RARE,     HONE_RARE_OTHERWISE};
constexpr int kOrdersOfSequences = 2;

Varies varies(InputSet set) {
  if (set == InputSet::kOwn) return Varies::kNothing;
  if (set == InputSet::kConstants) return Varies::kConstants;
  if (set == InputSet::kWide || set == InputSet::kTies) return Varies::kFloats;
  if (set == InputSet::kRelated || set == InputSet::kPatterns) return Varies::kFloats;
  if (set == InputSet::kAlike || set == InputSet::kRelatedIntegers ||
      set == InputSet::kPatternsOfIntegers)
    return Varies::kIntegers;
  if (set == InputSet::kSequences) return Varies::kSequences;
  if (set == InputSet::kStrided) return Varies::kFloats;
  if (set == InputSet::kStridedIntegers) return Varies::kIntegers;
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
      return Varies::kConstants;
    case Fill::Kind::kIota:
      return Varies::kSequences;
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

bool is_triangle(const Fill& fill) {
  return fill.kind == Fill::Kind::kLowerTriangle || fill.kind == Fill::Kind::kUpperTriangle;
}

bool is_16_bits(ScalarType type) { return type == ScalarType::kF16 || type == ScalarType::kBf16; }

bool is_related(InputSet set) {
  return set == InputSet::kRelated || set == InputSet::kRelatedIntegers;
}

/// Do the sets that are not for every task say something of this one?
bool says_something(const ConcreteProgram& program, const std::vector<ConcreteBuffer*>& varied,
                    InputSet set) {
  if (set == InputSet::kWide)
    return varied.size() > 1 && std::ranges::any_of(varied, [](const ConcreteBuffer* buffer) {
             return !is_narrow_float(buffer->type);
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
    case ScalarType::kE4m3:
      return 8;
    case ScalarType::kE5m2:
      return 4;
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
        const double steps = is_narrow_float(buffer.type) ? wide_steps(buffer.type) : kFullSteps;
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

/// So small that every product of two such numbers is 0, and large enough to have all its bits. Of
/// 8-bit floats, whose products are f32: the smallest with all bits.
double tiny_root(ScalarType type) {
  switch (type) {
    case ScalarType::kF64:
      return 0x1p-540;
    case ScalarType::kF16:
      return 0x1p-13;
    case ScalarType::kE4m3:
      return 0x1p-6;
    case ScalarType::kE5m2:
      return 0x1p-14;
    default:
      return 0x1p-80;
  }
}

/// So small that products of two such numbers are denormal: of the first few bits are left, of the
/// second most.
double root_of_denormals(ScalarType type, bool few) {
  switch (type) {
    case ScalarType::kF64:
      return few ? 0x1p-533 : 0x1p-515;
    case ScalarType::kF16:
      return few ? 0x1p-11 : 0x1p-8;
    case ScalarType::kE4m3:
    case ScalarType::kE5m2:
      return tiny_root(type);
    default:
      return few ? 0x1p-73 : 0x1p-66;
  }
}

void vary_by_pattern(ConcreteBuffer& buffer, std::uint64_t seed) {
  Fill& fill = buffer.fill;
  if (!is_float(buffer.type)) {
    if (fill.kind == Fill::Kind::kNormal) bound(fill);
    fill.kind = Fill::Kind::kIntegers;
    fill.pattern = kPatternsOfRows[seed % std::size(kPatternsOfRows)];
    return;
  }
  const auto form = static_cast<FormOfFloats>(seed % kFormsOfFloats);
  if (form == kFewRows || form == kPeriodic) {
    fill.pattern = kPatternsOfRows[form];
    return;
  }
  bound(fill);
  fill.kind = Fill::Kind::kUniform;
  const double width = fill.b - fill.a;
  if (form == kZigzag) {
    fill.pattern = HONE_ZIGZAG;
  } else if (form == kRare || form == kRareOtherwise) {
    fill.pattern = form == kRare ? HONE_RARE : HONE_RARE_OTHERWISE;
  } else if ((form == kTinySquares || form >= kFewBitsOfProducts) && fill.a <= 0 && fill.b >= 0) {
    const ScalarType type = fill.through.value_or(buffer.type);
    const double root = form == kTinySquares ? tiny_root(type)
                                             : root_of_denormals(type, form == kFewBitsOfProducts);
    const double share = root / std::max(-fill.a, fill.b);
    fill.a *= share;
    fill.b *= share;
  } else if (form == kTiny && fill.a <= 0 && fill.b >= 0) {
    fill.a *= kTinyShare;
    fill.b *= kTinyShare;
  } else if (std::abs(fill.a) > std::abs(fill.b)) {
    fill.b = fill.a + kNarrowShare * width;
  } else {
    fill.a = fill.b - kNarrowShare * width;
  }
}

void vary_by_stride(ConcreteBuffer& buffer) {
  fill_plainly(buffer);
  buffer.fill.pattern = HONE_STRIDED;
}

/// Between the same ends and in order, as offsets are; where it counts by ones, in any order, too.
void vary_sequence(ConcreteBuffer& buffer, std::uint64_t seed) {
  Fill& fill = buffer.fill;
  const auto elements = static_cast<double>(buffer.elements());
  const double last = fill.a + fill.b * (elements - 1);
  const bool whole = fill.a == std::floor(fill.a) && fill.b == std::floor(fill.b);
  const bool fits = is_float(buffer.type) ||
                    (whole && !fill.exact && buffer.type != ScalarType::kBool &&
                     fill.a >= static_cast<double>(hone_type_min(static_cast<int>(buffer.type))) &&
                     last <= static_cast<double>(hone_type_max(static_cast<int>(buffer.type))));
  if (!fits || elements < 2 || fill.b <= 0) return;
  if (fill.b == 1 && seed % kOrdersOfSequences == 1) {
    fill.pattern = HONE_PERMUTED;
  } else if (buffer.shape.size() == 1) {
    fill.kind = Fill::Kind::kSorted;
    fill.b = last;
  }
}

/// An integer beyond 2^53, of which no double holds all bits: down to half of it, and a multiple of
/// a quarter of the largest power of two that divides it.
void vary_exact_constant(Fill& fill, ScalarType type) {
  const std::uint64_t value = (*fill.exact)[0];
  const bool negative = type == ScalarType::kI64 && value >> 63 != 0;
  const std::uint64_t size = negative ? 0 - value : value;
  std::uint64_t step = 1;
  while (step < std::uint64_t{1} << 60 && size % (8 * step) == 0) step *= 2;
  const std::uint64_t least = (size / 2 + step - 1) / step * step;
  fill.kind = Fill::Kind::kMultiples;
  fill.step = static_cast<double>(step);
  if (negative)
    fill.exact = {{value, 0 - least}};
  else
    fill.exact = {{least, value}};
}

/// Around the constant and of its sign, so that what is divided by, or rooted, stays so.
void vary_constant(ConcreteBuffer& buffer) {
  Fill& fill = buffer.fill;
  const double value = fill.a;
  if (!is_float(buffer.type) && fill.exact) return vary_exact_constant(fill, buffer.type);
  fill.exact.reset();
  if (!is_float(buffer.type)) {
    fill.kind = Fill::Kind::kIntegers;
    if (buffer.type == ScalarType::kBool) {
      fill.a = 0;
      fill.b = 1;
    } else if (value == 0 || value == 1) {
      fill.b = value + 2;
    } else {
      // Quarters of its power of two, so that it stays as aligned as it can.
      double step = 1;
      while (std::fmod(value, 8 * step) == 0) step *= 2;
      const double least = std::ceil(std::abs(value) / 2 / step) * step;
      fill.kind = Fill::Kind::kMultiples;
      fill.step = step;
      fill.a = value < 0 ? value : least;
      fill.b = value < 0 ? -least : value;
    }
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
    case InputSet::kRelated:
      return "inputs that hang on one another";
    case InputSet::kPatterns:
      return "inputs with a pattern";
    case InputSet::kRelatedIntegers:
      return "integers that hang on one another";
    case InputSet::kPatternsOfIntegers:
      return "integers with a pattern";
    case InputSet::kSequences:
      return "other sequences";
    case InputSet::kStrided:
      return "inputs that are high at equal distances";
    case InputSet::kStridedIntegers:
      return "integers that are high at equal distances";
  }
  return "";
}

int forms_of(InputSet set) {
  switch (set) {
    case InputSet::kRelated:
    case InputSet::kRelatedIntegers:
      return forms_of_relations(set == InputSet::kRelated);
    case InputSet::kPatterns:
      return kFormsOfFloats;
    case InputSet::kPatternsOfIntegers:
      return std::size(kPatternsOfRows);
    case InputSet::kSequences:
      return kOrdersOfSequences;
    default:
      return 1;
  }
}

std::uint64_t seed_of_tiny_values(std::uint64_t seed) {
  return seed / kFormsOfFloats * kFormsOfFloats + kTiny;
}

ConcreteProgram with_inputs(ConcreteProgram program, InputSet set, std::uint64_t seed) {
  if (set == InputSet::kOwn) return program;
  std::vector<ConcreteBuffer*> varied;
  for (auto& buffer : program.buffers)
    if (varies(buffer) == varies(set) &&
        (!is_whole_float(buffer) || set == InputSet::kEither || set == InputSet::kMultiples ||
         set == InputSet::kWide || set == InputSet::kRelated))
      varied.push_back(&buffer);
  if (!says_something(program, varied, set)) return program;
  if (is_related(set) && !can_relate(varied)) return program;
  // By name: a candidate may have them in another order.
  std::ranges::sort(varied, {}, &ConcreteBuffer::name);
  if (is_related(set)) {
    relate(varied, seed);
    return program;
  }
  for (std::size_t i = 0; i < varied.size(); ++i) {
    const bool chosen = i == seed % varied.size();
    if (set == InputSet::kPatterns || set == InputSet::kPatternsOfIntegers) {
      vary_by_pattern(*varied[i], seed);
      continue;
    }
    if (set == InputSet::kStrided || set == InputSet::kStridedIntegers) {
      vary_by_stride(*varied[i]);
      continue;
    }
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
      case Varies::kSequences:
        vary_sequence(*varied[i], seed);
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

std::optional<ConcreteProgram> with_tf32_inputs(ConcreteProgram program) {
  std::vector<ConcreteBuffer*> inputs, arrays;
  for (ConcreteBuffer& buffer : program.buffers) {
    if (buffer.role != Role::kIn && buffer.role != Role::kInOut) continue;
    const bool single =
        buffer.type == ScalarType::kF32 ||
        (buffer.type == ScalarType::kF64 && buffer.fill.through == ScalarType::kF32);
    if (!single || (buffer.fill.through && *buffer.fill.through != ScalarType::kF32)) continue;
    inputs.push_back(&buffer);
    if (buffer.shape.size() > 1) arrays.push_back(&buffer);  // also [1, K]: the same at all sizes
  }
  if (inputs.empty()) return std::nullopt;
  for (ConcreteBuffer* buffer : arrays.size() > 1 ? arrays : inputs) buffer->fill.tf32 = true;
  return program;
}

std::vector<InputSet> input_sets_of(const ConcreteProgram& program) {
  std::vector<InputSet> sets;
  for (const InputSet set : kAllInputSets) {
    bool varies = set == InputSet::kOwn;
    for (int form = 0; form < forms_of(set); ++form) {
      const auto varied = with_inputs(program, set, static_cast<std::uint64_t>(form));
      varies = varies || !std::ranges::equal(varied.buffers, program.buffers, {},
                                             &ConcreteBuffer::fill, &ConcreteBuffer::fill);
    }
    if (varies) sets.push_back(set);
  }
  return sets;
}

bool rounds_products(const ConcreteProgram& program, InputSet set, std::uint64_t seed) {
  if (set != InputSet::kPatterns || seed % kFormsOfFloats < kFewBitsOfProducts) return false;
  return std::ranges::any_of(program.buffers, [](const ConcreteBuffer& buffer) {
    const Fill& fill = buffer.fill;
    if (varies(buffer) != Varies::kFloats || fill.kind != Fill::Kind::kUniform) return false;
    const ScalarType type = fill.through.value_or(buffer.type);
    const double most = std::max(std::abs(fill.a), std::abs(fill.b));
    return most > 0.99 * root_of_denormals(type, true) &&
           most < 1.01 * root_of_denormals(type, false);
  });
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
         set == InputSet::kTies || set == InputSet::kStrided || set == InputSet::kStridedIntegers;
}

}  // namespace hone
