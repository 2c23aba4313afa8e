// What a nest attends to: softmax over keys of scores, weighing values. Each letter is one flat
// index here, whatever it was in the nest; logits are what the reference gives to exp(), less what
// no key changes, in units of log(2).
//
//   score(q, k)  = sum over d of query(q, d) * key(k, d)
//   weight(q, k) = exp2(logits(q, k; score)) where allowed(q, k), else 0
//   out[element(q, e)] = value(q, e; sum of weight * values(k, e) over the sum of weight)
//
// and all of them depend on the batch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewriters/schedules/generator.h"

namespace hone::schedules::attention {

using nest::Ref;
using nest::SymbolId;

/// Where weights are: rest + query * q + key * k >= 0. `rest` is of the batch alone.
struct Bound {
  Ref rest = nullptr;
  std::int64_t query = 0, key = 0;
};

struct Operand {
  Ref value = nullptr;
  ScalarType type = ScalarType::kF32;  ///< that holds `value` exactly
  SymbolId row = -1, column = -1;      ///< q and d, k and d, or k and e
  /// Elements that lie side by side in memory, at an address that is a multiple of as many, along
  /// the columns and along the rows; 1 where it is no plain load.
  int run_of_columns = 1, run_of_rows = 1;
  bool rows_are_near = false;  ///< neighbours are along the rows
};

struct Attention {
  nest::Nodes* nodes = nullptr;
  const nest::Nest* nest = nullptr;
  SymbolId batch = -1, q = -1, k = -1, d = -1, e = -1;
  std::int64_t batches = 1, queries = 1, keys = 1, depth = 1, columns = 1;  ///< their extents
  Operand query, key, values;

  Ref score = nullptr;   ///< stands for the score in `logits`
  Ref logits = nullptr;  // [log 2]
  /// Logits are this times the score and nothing else. From 1e-34 to 1e34: f32 holds it, and the
  /// 1024 / scale of kernels; `logits` is printed as it stands where it is not.
  std::optional<double> scale;
  Ref allowed = nullptr;      ///< constant true: every key
  std::vector<Bound> bounds;  ///< parts of `allowed`
  bool only_bounds = true;    ///< `allowed` has no other parts

  Ref mean = nullptr;                     ///< stands for the weighted mean in `value`
  Ref weighted = nullptr, sum = nullptr;  ///< likewise its two sums, where they are used alone
  Ref value = nullptr;
  Ref element = nullptr;
  Ref guard = nullptr;
  int run_of_outputs = 1;           ///< outputs side by side along e
  std::vector<std::string> inputs;  ///< buffers read, each once, in order

  /// "64 of 4096 queries x 4096 keys of 128, causal"
  [[nodiscard]] std::string describe() const;
};

/// kRefused with the reason.
[[nodiscard]] Result<Attention> analyse(const Goal& goal);

}  // namespace hone::schedules::attention
