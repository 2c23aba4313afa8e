// What a nest contracts: which of its indices are rows, columns, batch and summed, and what the
// two operands are. Each letter is one flat index here, whatever it was in the nest:
//
//   out[element(b, m, n)] = value(b, m, n; sum over k of a(b, m, k) * b(b, n, k))
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rewriters/schedules/contract/packing.h"
#include "rewriters/schedules/contract/patches.h"
#include "rewriters/schedules/generator.h"
#include "rewriters/tile/program.h"

namespace hone::schedules::contract {

using nest::Ref;
using nest::SymbolId;

/// What k can be at rows or columns of one tile: constant + along * index + k * coefficient >= 0.
struct Bound {
  std::int64_t constant = 0;
  std::int64_t row = 0;     ///< coefficient of m
  std::int64_t column = 0;  ///< coefficient of n
  std::int64_t k = 0;       ///< coefficient of k
};

struct Operand {
  Ref value = nullptr;                 ///< an element, 0 where `mask` does not hold
  Ref mask = nullptr;                  ///< constant true: everywhere
  ScalarType type = ScalarType::kF32;  ///< that holds `value` exactly
  SymbolId outer = -1;                 ///< m of A, n of B
  SymbolId k = -1;

  /// Elements that lie side by side in memory, at an address that is a multiple of as many: along
  /// k, or along `outer`. 1: neither. Only for one plain load.
  bool along_k = false;
  int contiguous = 1;
};

struct Contraction {
  nest::Nodes* nodes = nullptr;
  /// By phases (nest::by_phases) where its sum has fewer terms so.
  std::shared_ptr<const nest::Nest> nest;
  SymbolId batch = -1, m = -1, n = -1, k = -1;
  std::int64_t batch_size = 1, m_size = 1, n_size = 1, k_size = 1;
  Operand a, b;
  /// Extents of the nest's indices that make rows, columns and k, outermost first.
  std::vector<std::int64_t> m_digits, n_digits, k_digits;
  /// How one operand is read, A or B, where boxes of a tensor can bring it; else empty.
  std::optional<Patches> patches;
  bool patches_of_a = false;
  BulkWays bulk;  ///< how the operands reach the pipes that copy in bulk
  /// What the sum is in the nest: f32 or f64.
  ScalarType total_type = ScalarType::kF32;
  /// An f64 sum of products of f32 or less that is rounded to f32 or less: tiles may add runs of
  /// terms in f32, where what the sum of the runs loses is kept (tile::AddRuns).
  bool narrow_terms = false;
  Ref sum = nullptr;  ///< stands for the sum in `value`
  Ref value = nullptr;
  Ref element = nullptr;
  Ref guard = nullptr;
  int contiguous_n = 1;  ///< outputs side by side along n
  /// Outputs without terms that are written with each one that has some: nest::Sparse.
  struct Around {
    std::vector<tile::Place> places;
    bool side_by_side = false;
    Ref element = nullptr, guard = nullptr, empty = nullptr;

    /// All of its values changed.
    void change(const std::function<Ref(Ref)>& by) {
      for (tile::Place& place : places) place.begin = by(place.begin);
      for (Ref* value : {&element, &guard, &empty}) *value = by(*value);
    }
  };
  std::optional<Around> around;
  /// Where the sum is needed, and where its terms are not zero.
  std::vector<Bound> bounds;
  std::vector<std::string> inputs;  ///< buffers read, each once, in order

  /// All that a store of outputs prints: value, element and guard, and those of `around`.
  [[nodiscard]] std::vector<Ref> values_of_store() const;
  /// "batch 8, 512 x 768 x 64"
  [[nodiscard]] std::string describe() const;
};

/// kRefused with the reason.
[[nodiscard]] Result<Contraction> analyse(const Goal& goal);

}  // namespace hone::schedules::contract
