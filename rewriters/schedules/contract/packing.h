// How operands reach the bulk pipes: as copies bring them, in patches, or packed by a launch before
// in the type and the order that wgmma reads. Of f32 and of 8-bit floats that is along k:
//
//   A[k, m] * B[k, n] ──► packed_b[n, k] ──► copies bring A as it is, warps read it to registers;
//                                            wgmma reads packed_b where copies bring it
//
// Of f32 the smaller operand is packed where neither lies along k. Any operand is that no tensor
// map can have: rows that are no multiples of 16 bytes, conditions, what is computed, other types.
// One whose rows do not begin at lines of the L2 may be, as copies bring it slowly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rewriters/affine/node.h"

namespace hone::schedules {
struct Generated;
struct Goal;
}  // namespace hone::schedules

namespace hone::schedules::contract {

struct Contraction;
struct Operand;

/// How one operand reaches wgmma.
struct BulkOperand {
  ScalarType type = ScalarType::kF32;  ///< as which wgmma reads it
  bool packs = false;                  ///< a launch before writes it
  bool may_pack = false;               ///< that may, as copies bring it, but slowly
  std::int64_t elements = 0;           ///< that packing writes
  double bytes = 0;                    ///< that packing reads and writes [B]
};

/// How both do. Of f32 A goes by registers or lies along k in shared memory, B lies along k there.
struct BulkWay {
  BulkOperand a, b;         ///< wgmma's
  bool turned = false;      ///< wgmma's A is the contraction's B, its rows the output's columns
  bool in_patches = false;  ///< A comes in patches (Contraction::patches)

  [[nodiscard]] std::int64_t packed() const {  // [elements]
    return (a.packs ? a.elements : 0) + (b.packs ? b.elements : 0);
  }
};

/// Each the way that packs least; empty: there is none, or too much would have to be packed.
struct BulkWays {
  std::optional<BulkWay> as_they_are;  ///< 16-bit floats of one type, or 8-bit floats
  std::optional<BulkWay> as_bf16;      ///< of anything else, or of 8-bit floats
  std::optional<BulkWay> as_f32;
};
[[nodiscard]] BulkWays bulk_ways_of(const Contraction& c);

/// What a launch before writes of an operand, as [batch, line, inner].
struct Packing {
  std::string name;           ///< "a" or "b"
  nest::Ref value = nullptr;  ///< over the symbols; 0 where there is nothing
  ScalarType type = ScalarType::kF32;
  nest::SymbolId batch = -1, line = -1, inner = -1;
  std::int64_t batches = 1, lines = 1, length = 1;  ///< a line has so many elements
  bool turns = false;  ///< what lies side by side in memory is of neighbouring lines
  int width = 1;       ///< elements of a piece, which is written at once
  int read = 1;        ///< of these, as many as are read at once

  /// From line to line: a multiple of 128 bytes, so that copies begin at lines of the L2.
  [[nodiscard]] std::int64_t pitch() const;  // [elements]
  [[nodiscard]] std::int64_t elements() const { return batches * lines * pitch(); }
  [[nodiscard]] std::string buffer(const std::string& prefix) const {
    return prefix + "packed_" + name;
  }
};
/// Of an operand that wgmma reads as `type`: along k, or of 16 bits as it lies.
[[nodiscard]] Packing packing_of(const Contraction& c, const Operand& operand, ScalarType type);
/// The operand as a load of what was packed.
[[nodiscard]] Operand packed_operand(nest::Nodes& nodes, const Packing& packing,
                                     const Operand& operand, const std::string& prefix);

/// Adds the kernel, its launch before all others and its buffer.
void add_packing(nest::Nodes& nodes, const Packing& packing, const Goal& goal,
                 const std::string& prefix, Generated& generated);

}  // namespace hone::schedules::contract
