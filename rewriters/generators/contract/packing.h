// How operands of f32 reach the bulk pipes of tf32: as copies bring them, in patches, or packed by
// a launch before, which writes them along k, where wgmma reads tf32 from shared memory.
//
//   A[k, m] * B[k, n] ──► packed_b[n, k] ──► copies bring A as it is, warps read it to registers;
//                                            wgmma reads packed_b where copies bring it
//
// Where neither operand lies along k, the smaller one is packed; so is any that no tensor map can
// have: rows that are no multiples of 16 bytes, conditions, what is computed, other types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rewriters/affine/node.h"

namespace hone::generators {
struct Generated;
struct Goal;
}  // namespace hone::generators

namespace hone::generators::contract {

struct Contraction;
struct Operand;

/// How two operands of f32 or less reach wgmma, A from registers or along k from shared memory, B
/// along k from shared memory.
struct BulkF32 {
  bool turned = false;      ///< wgmma's A is the contraction's B, its rows the output's columns
  bool in_patches = false;  ///< A comes in patches (Contraction::patches)
  bool packs_a = false, packs_b = false;  ///< wgmma's
  std::int64_t packed = 0;                ///< elements that launches before write
};

/// The way that packs least; empty: there is none, or too much would have to be packed.
[[nodiscard]] std::optional<BulkF32> bulk_f32_of(const Contraction& c);

/// What a launch before writes of an operand, as [batch, row, k].
struct Packing {
  std::string name;           ///< "a" or "b"
  nest::Ref value = nullptr;  ///< f32, over the symbols; 0 where there is nothing
  nest::SymbolId batch = -1, row = -1, k = -1;
  std::int64_t batches = 1, rows = 1, k_size = 1;
  /// Elements that lie side by side are read: along k, or along the rows, so many at once.
  bool along_k = false;
  int width = 1;

  /// From row to row: whole lines of 128 bytes, so that copies begin at such.
  [[nodiscard]] std::int64_t pitch() const;  // [elements]
  [[nodiscard]] std::int64_t elements() const { return batches * rows * pitch(); }
  [[nodiscard]] std::string buffer(const std::string& prefix) const {
    return prefix + "packed_" + name;
  }
};
[[nodiscard]] Packing packing_of(const Contraction& c, const Operand& operand);
/// The operand as a load of what was packed.
[[nodiscard]] Operand packed_operand(nest::Nodes& nodes, const Packing& packing,
                                     const std::string& prefix);

/// Adds the kernel, its launch before all others and its buffer.
void add_packing(nest::Nodes& nodes, const Packing& packing, const Goal& goal,
                 const std::string& prefix, Generated& generated);

}  // namespace hone::generators::contract
