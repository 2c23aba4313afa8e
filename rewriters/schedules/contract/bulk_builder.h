// Makes the tile programs of hopper.h. What all products have in common is in hopper.cpp, tf32 in
// bulk_tf32.cpp, operands in patches in bulk_patches.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rewriters/schedules/contract/bulk_operands.h"

namespace hone::schedules::contract {

/// What the roles have in common: which tile of the output is next, and of which part of k.
struct Place {
  SymbolId batch = -1, m_first = -1, n_first = -1;
  SymbolId slice = -1;         ///< only where sums are split
  SymbolId row_of_tiles = -1;  ///< where copies bring A in patches, in place of m_first
  /// Of the slice, from where to where terms are not zero: one tile of k at least.
  Ref k_begin = nullptr, k_end = nullptr;
};

class BulkBuilder {
 public:
  BulkBuilder(const Contraction& given, const Schedule& s, const Goal& goal,
              const std::string& prefix);

  tile::Program build();

  /// Launches before it.
  [[nodiscard]] const std::vector<Packing>& packings() const { return packings_; }

 private:
  Ref number(std::int64_t value) { return nodes_.integer(value); }
  Ref at(SymbolId symbol) { return nodes_.index(symbol); }
  /// Of the block in its cluster.
  Ref rank() { return nodes_.remainder(at(program_.block), number(program_.cluster)); }

  /// Registers that the copying threads leave to the others.
  [[nodiscard]] std::pair<int, int> registers() const;
  static constexpr int kSplitRegisters = 72;  ///< what the compiler takes where there are enough

  /// Of three products, what wgmma leaves of B, whose upper bits it reads where copies bring it.
  void add_tf32_ring();
  /// Whether wgmma has A in registers.
  [[nodiscard]] bool reads_fragments() const;
  [[nodiscard]] bool is_turned() const { return c_.n != given_.n; }

  /// Rows and k as boxes of the tensor bring them; B packed in the order in which tiles go through
  /// the window, with zeros where there is no such k.
  void arrange_in_patches();
  tile::View view_of_patches() const;
  /// (input of the rows, channel)
  [[nodiscard]] tile::SharedTile patch() const;
  /// Where B's tiles are.
  [[nodiscard]] int b_ring() const { return tiling_ ? 1 : 0; }
  /// Of a row of tiles, counted in steps, from the slice's first on.
  Ref step_at(const Place& place, SymbolId step);
  SymbolId new_step();
  tile::Loop over(SymbolId symbol, tile::Body body);

  /// For each step a box of A, and for each group of places a tile of B.
  tile::Operation load_patches();

  /// All of k for one tile of outputs.
  tile::Operation multiply_patches(Ref of_group);
  /// Two sets of fragments take turns: one is read, of the next group of places in the window,
  /// while the tensor cores multiply the other.
  void multiply_in_pairs(SymbolId step, Ref of_group, tile::Body& body);
  /// What a group of places in the window reads, to these fragments and, of three products, the
  /// next ones.
  void read_group(Ref group, Ref of_group, int fragments, tile::Body& body);

  /// Where shared memory is left for it, outputs are copied in bulk, as many columns at a time as
  /// fit.
  void stage_outputs();
  /// Whether rows alone say which places around an output there are.
  [[nodiscard]] bool places_are_of_rows() const;

  /// Buffers that the output's value reads, and the output where it is written by threads.
  void parameters();
  [[nodiscard]] bool stores_by_copies() const;

  /// Whether a second kernel adds up what tiles of parts of k have written.
  [[nodiscard]] bool has_partial_sums() const { return s_.split_k > 1 && !s_.share_by_cluster; }
  /// Whether there is a second set of sums, of what is added to those of before.
  [[nodiscard]] bool adds_runs() const {
    return in_runs() || in_short_runs() || is_thrice(s_.pipe);
  }
  /// Where the sums of each part of k go.
  [[nodiscard]] std::string partial() const { return program_.prefix + "partial"; }

  /// Names for the place of the `tile`th tile. Blocks that run together go through s.group rows of
  /// tiles: what they read stays in the L2. Of the names, a role has those that it needs.
  enum class Needs { kOutputs, kCopies, kOnlyBounds };
  Place place(SymbolId tile, tile::Body& body, Needs needs = Needs::kOutputs);

  /// Names for k_begin and k_end of this place, whose rows, of all blocks of a cluster, and columns
  /// begin there.
  void bound(Place& place, Ref first_row, Ref first_column, tile::Body& body);

  tile::Operation over_tiles(SymbolId tile, tile::Body body);
  tile::Loop over_k(const Place& place, SymbolId k, tile::Body body);
  /// Whether it is the first of the place's k.
  Ref is_first(const Place& place, SymbolId k) {
    return nodes_.is_zero(nodes_.subtract(at(k), place.k_begin));
  }

  /// Boxes of one operand at (batch, first, k).
  void copies(bool is_a, const Place& place, SymbolId k, tile::Body& body);

  tile::Operation load();

  tile::Operation math();

  /// What products of B's upper bits leave of it.
  tile::Operation split();

  /// One tile of k as tf32.
  tile::Body tf32_round(const Place& place, SymbolId k, Ref of_group);
  /// Fragments by the tile of B whose copy has come: once, or the three products of halves that
  /// matter, the small ones first. `fresh`: the first of all. `from`: which fragments.
  void multiply_fragments(tile::Body& body, Ref fresh, tile::Body meanwhile = {}, int from = 0);

  /// Runs of a few tiles of k, each of which ends before its sums are added up.
  tile::Operation over_runs(const Place& place, SymbolId k, Ref of_group);
  [[nodiscard]] bool in_runs() const { return adds_in_runs(c_, s_.pipe); }
  [[nodiscard]] bool in_short_runs() const { return adds_in_short_runs(c_, s_.pipe); }

  [[nodiscard]] tile::Store store_at(const Place& where, Ref of_group);

  tile::Store store(const Place& where, Ref of_group);

  /// The sums themselves, as [slice, batch, m, n].
  tile::Store partial_store(const Place& where, Ref of_group);

  const Contraction& given_;
  Contraction c_;  ///< rows and columns as wgmma has them
  const Schedule& s_;
  const Goal& goal_;
  nest::Nodes& nodes_;
  const std::int64_t tile_k_;  ///< 128 bytes, as wide as a swizzle
  std::int64_t tiles_m_ = 0, tiles_n_ = 0, tiles_ = 0;
  std::int64_t of_slice_ = 0;  ///< tiles
  std::int64_t k_each_ = 0;    ///< of each tile
  const std::string prefix_;
  std::vector<Bound> bounds_;  ///< by which terms of a tile are zero, or not needed
  bool a_along_k_ = false;     ///< in tiles that copies bring
  std::vector<Packing> packings_;
  // Where A is read in patches: how; whether there is such an output; and a value over rows of the
  // output as one over rows of tiles.
  std::optional<PatchTiling> tiling_;
  int made_ring_ = 1;  ///< of what a role makes of B
  Ref in_output_ = nullptr;
  std::function<Ref(Ref)> by_patches_;
  tile::Program program_;
};

}  // namespace hone::schedules::contract
