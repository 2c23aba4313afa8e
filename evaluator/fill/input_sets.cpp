#include "evaluator/fill/input_sets.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hone {
namespace {

constexpr double kDeviations = 3;    // of a normal fill, that count as its range
constexpr double kWideSteps = 8192;  // two bits more than f16 and tf32 have
constexpr double kNarrowSteps = 2;
constexpr double kSmallShare = 1.0 / 1024;
constexpr double kFarWidths = 250, kFarSpread = 100;  // of the fill's range

bool can_vary(const ConcreteBuffer& buffer) {
  return is_float(buffer.type) && (buffer.role == Role::kIn || buffer.role == Role::kInOut) &&
         (buffer.fill.kind == Fill::Kind::kUniform || buffer.fill.kind == Fill::Kind::kNormal) &&
         buffer.fill.a != buffer.fill.b;
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
  }
  return "";
}

ConcreteProgram with_inputs(ConcreteProgram program, InputSet set, std::uint64_t seed) {
  if (set == InputSet::kOwn) return program;
  std::vector<ConcreteBuffer*> varied;
  for (auto& buffer : program.buffers)
    if (can_vary(buffer)) varied.push_back(&buffer);
  // By name: a candidate may have them in another order.
  std::ranges::sort(varied, {}, &ConcreteBuffer::name);
  for (std::size_t i = 0; i < varied.size(); ++i) {
    Fill& fill = varied[i]->fill;
    if (fill.kind == Fill::Kind::kNormal) {
      const double middle = fill.a, reach = kDeviations * fill.b;
      fill.a = middle - reach;
      fill.b = middle + reach;
    }
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
        const bool below = i == seed % varied.size() || fill.b <= 0;
        fill.kind = Fill::Kind::kNormal;
        fill.a = below ? fill.a - kFarWidths * width : fill.b + kFarWidths * width;
        fill.b = kFarSpread * width;
        break;
      }
      default:
        fill.kind = Fill::Kind::kMultiples;
        fill.step =
            step_for(fill, i == seed % varied.size() ? wide_steps(varied[i]->type) : kNarrowSteps);
    }
  }
  return program;
}

}  // namespace hone
