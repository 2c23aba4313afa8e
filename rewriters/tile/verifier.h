// The state of verify(): who has what in hand, role by role. Its checks of rings and copies are in
// verify.cpp, those of sums, fragments and outputs in verify_sums.cpp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "rewriters/tile/program.h"

namespace hone::tile {

/// What the rows of a role have.
enum class RowsState {
  kNothing,
  kWhole,    ///< each row its value
  kInLanes,  ///< each lane what its own elements give
};

/// A product on its way.
struct Underway {
  int sums = -1, fragments = -1;
  std::set<int> rings;  ///< from whose stages it reads
  bool operator==(const Underway&) const = default;
};

/// Where one role is in a ring.
struct RingState {
  bool acquired = false;
  bool full = false;
  bool multiplied = false;  ///< the full stage
  /// Of each tile of the acquired stage, which elements were copied.
  std::vector<std::vector<bool>> copied = {};
  /// What has to be the same after each round of a loop.
  bool operator==(const RingState& other) const {
    return acquired == other.acquired && full == other.full && copied == other.copied;
  }
};

class Verifier {
 public:
  Verifier(const Program& program, const Limits& limits) : program_(program), limits_(limits) {}

  Result<void> run();

 private:
  /// The first reason is kept.
  void refuse(std::string why);

  void check_threads();

  void check_ring(int number);

  /// All that a role keeps in registers from product to product.
  void check_registers(const Role& role);
  [[nodiscard]] int registers_of(const Role& role) const;

  void walk(const Body& body);

  static bool is_place(int place, std::size_t count);
  bool has_ring(int ring);
  RingState& state(int ring) { return states_.at(static_cast<std::size_t>(ring)); }
  const Ring& ring(int at) const { return program_.rings.at(static_cast<std::size_t>(at)); }

  void check(const Define& define);
  /// Whether warp groups of a role may have different values of this.
  bool depends_on_group(nest::Ref value) const;

  void check(const Loop& loop);

  /// Whether the only role fills and reads its rings by itself.
  [[nodiscard]] bool streams() const { return program_.streams(); }
  /// Such a role is alone, and does little else.
  void check_streaming(const Role& role);
  void check(const Stream& stream);
  void check(const Exchange&);
  /// A ring of one stage is exchanged once a round, one of more stages never.
  void check_exchanges(const Stream& stream);
  /// Each tile of a ring is copied by one of these.
  void check_copies(const std::vector<CopyTile>& copies, const Ring& ring);
  /// What it fills and reads before its first round.
  void check_once(const Stream& stream);
  /// Of a tile of this ring, by all threads of the role.
  void check_copy(const CopyTile& copy, const Ring& ring);
  /// What a copy reads is a parameter, and in memory where it is read several at once.
  void check_reads_of(const CopyTile& copy);
  void check(const WarpMultiply& multiply);
  /// Its fragments, if a is such; of a tile, that nobody copies to it.
  void check_operands(const WarpMultiply& multiply);
  /// Rows from `first` on are in the tile, whatever the warp.
  void check_warp_rows(nest::Ref first, int count, const SharedTile& tile);
  /// Before the first round of a stream: a warp's rows of a tile of 16 bits.
  void check_of_warp(const ReadFragments& read);
  void check(const ThreadMultiply& multiply);
  void check(const HalfWarpMultiply& multiply);
  void check(const KeepSums& keep);
  /// Of the stream's ring: nobody copies to it at this place of the round.
  void check_uncopied(int tile);
  void check(const When& when);
  /// The tiles of a product are of the ring that is streamed, and its sums are there.
  bool is_of_stream(int ring, int a, int b, int sums);

  void check(const Acquire& acquire);

  void check(const BulkCopy& copy);

  void check(const SplitTile& split);
  /// Each warp of a block tells those of its own block.
  void read_by_warps(int at);

  void check(const ReadFragments& read);
  void check(const ReadPatch& read);
  /// All copies to this tile round to tf32.
  [[nodiscard]] bool is_rounded(int ring, int tile) const;
  /// Fragments, and `rest` unless it is -1, are what tf32 makes of such a tile.
  bool fill_fragments(const SharedTile& tile, int fragments, int rest);
  /// Nobody multiplies these fragments, which are about to be written.
  void check_unread(int fragments);
  /// 64 rows from `row` on are in the tile, whatever the warp group.
  void check_rows(nest::Ref row, const SharedTile& tile);

  void check(const Commit& commit);

  void check(const Wait& wait);

  void check(const Multiply& multiply);

  void check_from_registers(const Multiply& multiply);

  /// The types of a and b, how a lies (-1: in registers) and how b does.
  using Kind = std::tuple<ScalarType, ScalarType, int, bool>;
  void started(const Multiply& multiply, const Kind& kind);
  /// All but the last `left` products have ended.
  void ended(std::size_t left);
  bool is_underway(int sums) const;

  void check(const Advance& advance);

  void check(const Drain& drain);

  void check(const Await& await);

  void check(const Release& release);

  void check(const TakeTurn&);
  void check(const PassTurn&);

  /// Whether these sums may be read and written.
  bool at_rest(int sums);
  /// `in_lanes`: these rows may be folded in part.
  void check_reads(nest::Ref value, int in_lanes);
  static bool mentions(nest::Ref value, nest::Ref leaf);

  void check(const MapSums& map);
  void check(const MapRows& map);
  void check(const ReduceRows& reduce);
  void check(const FoldRows& fold);
  void check(const RoundSums& round);

  void check(const AddRuns& add);
  void check(const ShareSums& share);

  void check(const Store& store);

  /// In 16 bits what is added would be rounded once more than the nest says. And while copies add
  /// to a buffer, nobody may read it.
  void check_adds(const Store& store);
  void check_places(const Store& store, bool by_threads);

  /// What is read several at once is read before the value chooses, and by the kernel's pointers.
  void check_beside(const Store& store);

  /// A warp group writes its tile in bands of 128 bytes, as bulk copies of boxes read it.
  void check_staged(const Store& store);
  void check_turned(const Store& store);

  const Program& program_;
  const Limits& limits_;
  const Role* role_ = nullptr;
  std::vector<RingState> states_;
  std::vector<RowsState> rows_;
  std::vector<bool> rounded_;       ///< fragments that have values
  std::vector<Underway> underway_;  ///< in the order of their start
  bool unknown_ = false;            ///< whether there may be fewer, where a loop has no rounds
  bool turn_ = false;               ///< the role has it
  const Stream* stream_ = nullptr;  ///< whose body is walked
  bool exchanged_ = false;          ///< it has exchanged its tiles in this round
  /// (ring, tile) that has sums, and of which rows of a warp.
  std::map<std::pair<int, int>, nest::Ref> kept_;
  bool in_when_ = false;
  std::set<int> streamed_;       ///< rings
  std::set<SymbolId> of_group_;  ///< symbols that differ between its warp groups
  std::set<int> unreleased_;     ///< rings whose last stage is for Drain
  std::set<int> read_;           ///< rings that the role waits for
  std::set<int> by_warps_;       ///< rings whose tiles its warps read by themselves
  std::set<int> added_;          ///< runs that sums have whole
  std::set<int> begun_;          ///< sums that something has set for this tile of outputs
  std::optional<std::pair<ScalarType, ScalarType>> multiplied_;  ///< by warps: a helper is of these
  std::map<int, Kind> products_;                                 ///< of each sums
  std::map<int, std::set<std::string>> producers_;
  std::set<int> consumers_;
  std::map<int, std::string> staging_users_;
  std::string why_;
};

}  // namespace hone::tile
