// A matrix product as one call of a vendor's library. Made by the engine from a task, run by a
// measure runner in the place of a candidate's launches.
#pragma once

#include <cstdint>

namespace hone {

enum class Library { kCublas, kCublasLt };

/// out = A * B, with A of m x k, B of k x n and out of m x n, row-major and dense.
struct MatmulCall {
  Library library = Library::kCublas;
  int a = 0, b = 0, out = 0;  ///< the program's buffers by index
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t batch = 1;                   ///< products, one after the other in `out`
  std::int64_t a_stride = 0, b_stride = 0;  // from one product to the next [elements]; 0: the same
  bool a_transposed = false;                ///< A lies in memory as k x m
  bool b_transposed = false;                ///< B lies in memory as n x k
  bool tf32 = false;                        ///< f32 may be multiplied as TF32

  bool operator==(const MatmulCall&) const = default;
};

}  // namespace hone
