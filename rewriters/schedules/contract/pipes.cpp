#include "rewriters/schedules/contract/pipes.h"

#include "rewriters/schedules/contract/hopper.h"

namespace hone::schedules::contract {
namespace {

constexpr Pipe kPipes[] = {Pipe::kFma,       Pipe::kFmaRuns,    Pipe::kMma,       Pipe::kTf32x3,
                           Pipe::kTf32,      Pipe::kBf16,       Pipe::kWgmmaBf16, Pipe::kWgmmaBulk,
                           Pipe::kWgmmaFast, Pipe::kBulkTf32x3, Pipe::kBulkTf32};

bool is_half(ScalarType type) { return type == ScalarType::kF16 || type == ScalarType::kBf16; }

MathLevel allowed_math(const Goal& goal) {
  const bool known = goal.context != nullptr && goal.context->task != nullptr;
  return known ? goal.context->task->math : MathLevel::kReassociate;
}

}  // namespace

std::string_view name_of(Pipe pipe) {
  constexpr std::string_view kNames[] = {"fma",
                                         "fma-runs",
                                         "mma",
                                         "tf32x3",
                                         "tf32",
                                         "bf16",
                                         "wgmma-bulk",
                                         "wgmma-bf16",
                                         "wgmma-fast",
                                         "wgmma-bulk-tf32x3",
                                         "wgmma-bulk-tf32"};
  return kNames[static_cast<std::size_t>(pipe)];
}

MathLevel math_of(const Contraction& c, Pipe pipe) {
  switch (pipe) {
    case Pipe::kTf32x3:
    case Pipe::kBulkTf32x3:
      return MathLevel::kTf32x3;
    case Pipe::kTf32:
    case Pipe::kBulkTf32:
      return MathLevel::kTf32;
    case Pipe::kBf16:
    case Pipe::kWgmmaBf16:
      return has_fp8(c) ? MathLevel::kReassociate : MathLevel::kReduced;
    case Pipe::kWgmmaFast:
      return MathLevel::kReduced;
    default:
      return MathLevel::kReassociate;
  }
}

bool is_fma(Pipe pipe) { return pipe == Pipe::kFma || pipe == Pipe::kFmaRuns; }

bool is_bulk_tf32(Pipe pipe) { return pipe == Pipe::kBulkTf32x3 || pipe == Pipe::kBulkTf32; }

bool is_thrice(Pipe pipe) { return pipe == Pipe::kTf32x3 || pipe == Pipe::kBulkTf32x3; }

bool is_bulk(Pipe pipe) {
  return pipe == Pipe::kWgmmaBulk || pipe == Pipe::kWgmmaBf16 || pipe == Pipe::kWgmmaFast ||
         is_bulk_tf32(pipe);
}

bool has_fp8(const Contraction& c) { return is_fp8(c.a.type) && is_fp8(c.b.type); }

ScalarType sum_type(const Contraction& c, Pipe pipe) {
  return pipe == Pipe::kFma ? c.total_type : ScalarType::kF32;
}

bool adds_in_runs(const Contraction& c, Pipe pipe) { return sum_type(c, pipe) != c.total_type; }

bool adds_in_short_runs(const Contraction& c, Pipe pipe) {
  return has_fp8(c) && (pipe == Pipe::kMma || pipe == Pipe::kWgmmaBulk);
}

std::vector<Pipe> pipes_for(const Contraction& c, const Goal& goal) {
  const int capability = goal.context == nullptr ? 90 : goal.context->target.compute_capability;
  const bool in_f32 = c.total_type == ScalarType::kF32 || c.narrow_terms;
  const bool same_half = is_half(c.a.type) && c.a.type == c.b.type;
  // The instructions' own sums have fewer bits than f32, so that no f64 is made of them.
  const bool fp8_along_k =
      has_fp8(c) && c.a.along_k && c.b.along_k && c.total_type == ScalarType::kF32;
  std::vector<Pipe> pipes;
  for (const Pipe pipe : kPipes) {
    if (math_of(c, pipe) > allowed_math(goal)) continue;
    bool can = true;
    // bf16 holds 8-bit floats, and is faster.
    const bool tf32 = pipe == Pipe::kTf32 || pipe == Pipe::kTf32x3;
    switch (pipe) {
      case Pipe::kFma:
        break;
      case Pipe::kFmaRuns:
        can = c.narrow_terms;
        break;
      case Pipe::kMma:
        can = (capability >= 80 && in_f32 && same_half) || (capability >= 89 && fp8_along_k);
        break;
      case Pipe::kWgmmaBulk:
      case Pipe::kWgmmaBf16:
      case Pipe::kBulkTf32x3:
      case Pipe::kBulkTf32:
        can = capability == 90 && way_of(c, pipe);
        break;
      case Pipe::kWgmmaFast:
        can = capability == 90 && has_fp8(c) && way_of(c, pipe);
        break;
      default:
        can = capability >= 80 && in_f32 && !same_half && !(tf32 && has_fp8(c));
        break;
    }
    if (can) pipes.push_back(pipe);
  }
  return pipes;
}

}  // namespace hone::schedules::contract
