// A program as a graph of loop nests: for every point of a box of indices, one element of one
// buffer gets one value. What lift() makes (rewriters/lift/lift.h), generators print as CUDA
// again.
//
//   for i in [0, M), j in [0, N):  C[N*i + j] = sum over k in [0, K) of A[K*i + k] * B[N*k + j]
//
// is {dims: i, j; buffer: C; element: N*i + j; value: Reduce(+, {k}, A[…] * B[…])}.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"
#include "rewriters/affine/node.h"

namespace hone::nest {

struct Nest {
  std::string buffer;
  ScalarType type = ScalarType::kF32;
  std::vector<SymbolId> dims;  ///< parallel, outermost (largest stride in `element`) first
  Ref element = nullptr;       ///< where; different at every point of the box
  Ref guard = nullptr;         ///< which points write: a condition; constant true: all
  Ref value = nullptr;
  /// Empty for a plain store. Else the value is combined with what is there, by what folds; then
  /// points may share elements, and the element may be read from data (a histogram).
  std::optional<Op> combine;
  bool covers = false;  ///< every element of the buffer is written, each by one point
};

/// What one launch does. Loads see the buffers as they are before it.
struct LiftedLaunch {
  std::string kernel;
  std::vector<Nest>
      nests;            ///< at most one plain one per element; by buffer in order of first store
  std::string refusal;  ///< why there are no nests: "matmul, line 12: …"; else empty
  std::vector<std::string> reads;   ///< buffers; where it was refused, all that it is given
  std::vector<std::string> writes;  ///< likewise, but for those given as const
};

struct LiftedProgram {
  std::shared_ptr<Nodes> nodes;
  std::vector<LiftedLaunch> launches;
  ConcreteProgram concrete;  ///< buffers and launches at these sizes
};

/// The buffers' contents after the program, from those before; doubles hold every element.
/// Floats are rounded to their type after each operation where it is f16, bf16, an 8-bit float or
/// f32. Errors: kRefused, an element outside its buffer, or more than `most_operations`.
using Contents = std::map<std::string, std::vector<double>>;
[[nodiscard]] Result<void> execute(const LiftedProgram& program, Contents& contents,
                                   std::int64_t most_operations);

/// "for i < 64, j < 48:\n  C[48*i + j] = …", one paragraph per nest; "not lifted: why".
[[nodiscard]] std::string to_string(const LiftedProgram& program);
/// Of one launch that is lifted.
[[nodiscard]] std::string to_string(const Nodes& nodes, const LiftedLaunch& launch);

}  // namespace hone::nest
