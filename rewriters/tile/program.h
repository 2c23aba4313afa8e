// A tile program: how a nest is computed by one kernel. A kernel's warps are divided into roles,
// each with a body of operations on tiles; rings of tiles in shared memory lie between the roles
// that fill them and those that read them. verify() refuses what is wrong, print() writes CUDA.
//
// All integers are nodes of the nest's own graph, over symbols: a role's loops, the block's number,
// what Define names. README.md has an example.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "candidates/tensor_map.h"
#include "rewriters/affine/node.h"
#include "rewriters/tile/layout.h"
#include "rewriters/tile/rows.h"
#include "rewriters/tile/streams.h"

namespace hone::tile {

using nest::Op;
using nest::Ref;
using nest::SymbolId;

/// A tensor in global memory that bulk copies go through: a parameter of the kernel.
struct View {
  std::string name;
  std::string buffer;
  ScalarType type = ScalarType::kF32;
  std::vector<std::int64_t> shape, strides, box;  ///< as ConcreteTensorMap has them
  int swizzle = 0;                                // [B]
  bool as_tf32 = false;                           ///< only where nothing is stored through it
};

/// Its buffer does not count.
[[nodiscard]] ConcreteTensorMap tensor_map(const View& view);

struct SharedTile {
  std::string name;
  ScalarType type = ScalarType::kF32;
  /// (row, column); of an operand of a product (row of A or column of B, k).
  Layout layout;

  /// Of one stage; each begins at a multiple of 1024.
  [[nodiscard]] std::int64_t bytes() const;  // [B]
  /// Of a stage that threads copy (Stream), with what stands between its lines; each begins at a
  /// multiple of 16.
  [[nodiscard]] std::int64_t streamed_bytes() const;  // [B]
};

/// Stages of shared memory with two barriers each: full, once all of its copies have come or its
/// writers have written it, and empty, once every reader has released it. One that a role streams
/// has none: its threads wait for their own copies, and meet.
struct Ring {
  std::string name;
  int stages = 2;
  std::vector<SharedTile> tiles;
};

/// Where the sums of each warp group of a role stand as outputs before a bulk copy takes them to a
/// tensor, or threads do that have neighbours along the rows: one tile for each.
struct Staging {
  int warp_groups = 1;
  SharedTile tile;  ///< 64 rows, and the columns that go together, as staged_outputs() or
                    ///< turned_outputs() has them
};

/// Who has the sums of one instruction, or of one place in the tile.
enum class SumsOf {
  kWarpGroup,  ///< wgmma's: 64 rows, as wgmma_sums()
  kWarp,       ///< of mma.sync: blocks of 16 x 8, as mma_sums(), one row of blocks after the other
  kThread,     ///< row by row, in runs of 16 bytes: README.md says of which places
  kHalfWarp,   ///< row by row, of f32: 16 threads share rows, and take turns at runs of columns
};

/// Sums of a product, in registers: rows x columns of each warp group or warp of a role; of kThread
/// and kHalfWarp those of each thread.
struct Sums {
  std::string name;
  int columns = 64;
  int rows = 64;
  SumsOf of = SumsOf::kWarpGroup;
  ScalarType type = ScalarType::kF32;  ///< f64: of a thread alone
  int across = 8;                      ///< of a thread: so many threads side by side

  [[nodiscard]] int count() const;  ///< of each thread
  /// Of a thread: neighbours that go together, which are 16 bytes, or of half a warp less.
  [[nodiscard]] int run() const;
  /// That a warp has; 0 of a thread, of whose rows other warps have some.
  [[nodiscard]] int warp_rows() const;
};

// --- Operations. Rings, tiles, views and sums are named by their places in the program. ---

/// A named integer, from 0 to its symbol's extent - 1: what follows from extents is not asked again
/// where a kernel runs.
struct Define {
  SymbolId symbol = -1;
  Ref value = nullptr;
};
/// for (symbol = first; symbol < end; symbol += step)
struct Loop {
  SymbolId symbol = -1;
  Ref first = nullptr, end = nullptr, step = nullptr;
  Body body;
  std::string comment;
};
/// Producer: waits until the ring's next stage is empty; of a ring that bulk copies fill it says
/// how many bytes will come.
struct Acquire {
  int ring = 0;
};
/// Producer, between Acquire and Commit: one box of a tensor to its place in a tile of the stage.
/// What lies beyond the tensor is zero. `step_by_rank` is not empty: the box goes to this place in
/// every block of the cluster, and each of them copies one: that of rank r is r steps on.
struct BulkCopy {
  int ring = 0, tile = 0, view = 0;
  std::vector<Ref> from;         ///< the box's first element, outermost dimension first
  std::vector<std::int64_t> to;  ///< the same in the tile's coordinates
  std::vector<std::int64_t> step_by_rank = {};
};
/// Consumer of `ring` and producer of `to_ring`, all threads of a role. wgmma reads the upper 19
/// bits of a tile's f32, as tf32; this writes each element less those bits to a tile of the other
/// ring. The sum of both is the element, to 2^-22 of it; three products of such parts are off by
/// 2^-20 of each term at most.
struct SplitTile {
  int ring = 0, tile = 0;
  int to_ring = 1, rest = 0;
};
/// Producer: goes on to the next stage.
struct Commit {
  int ring = 0;
};
/// Consumer: waits until the ring's next stage is full.
struct Wait {
  int ring = 0;
};
/// Consumer, between Wait and Advance or Release: sums (+)= a * b over all of the tiles' k, by
/// wgmma, which goes on by itself. `fresh`, a condition: what the sums were does not count.
struct Multiply {
  int sums = 0;
  int ring = 0, a = 0, b = 0;
  Ref a_row = nullptr;  ///< of this warp group in a, a multiple of 64
  Ref fresh = nullptr;
  int a_ring = -1;     ///< where a is; -1: in `ring`, as b is
  int fragments = -1;  ///< a is these, in registers; -1: it is a tile
};
/// Consumer: the stage is empty, and the next one follows. What was multiplied from it has ended.
struct Release {
  int ring = 0;
};
/// Consumer: goes on to the next stage, and releases the one before this: what was multiplied from
/// it has ended. `nothing_before`, a condition: there is none to release.
struct Advance {
  int ring = 0;
  Ref nothing_before = nullptr;
};
/// Consumer: waits for all products, and releases the last stage.
struct Drain {
  int ring = 0;
};
/// Consumer: sums += runs; runs = the rounding error of that, which their next products are added
/// to. If `forget`, the error is lost, and the next products are to be `fresh`: runs stay what they
/// were. Sums begin as what MapSums makes them, mostly 0, for each tile of outputs; in a role that
/// streams they begin as 0.
struct AddRuns {
  int sums = 0, runs = 0;
  bool forget = false;
};
/// Consumer: the blocks of a cluster have sums of the same outputs, each over a part of k. They
/// write them to their staging, exchanged_sums(), and read one another's: afterwards `shared` are
/// the whole sums of a block's own columns, which are as many for each: rank r has the r-th of
/// them. In what order the blocks' sums are added is always the same.
struct ShareSums {
  int sums = 0, shared = 1;
  int staging = 0;
};
/// An input of an epilogue whose elements lie side by side along the outputs' columns.
struct Beside {
  Ref load = nullptr;  ///< a part of the value that is read whatever the value chooses
  int contiguous = 1;  ///< elements that may be read at once, at a multiple of as many
};
/// One index of places around an output: from `begin`, which may depend on the output, to before
/// `end`. The output itself is at `own`.
struct Place {
  SymbolId symbol = -1;
  Ref begin = nullptr;
  std::int64_t own = 0, end = 1;
};
/// Consumer: outputs from sums. Every thread has some of (row, column). The epilogue is `value`:
/// the nest's own value of one output, in which `sum` stands for the sum.
struct Store {
  int sums = 0;
  int runs = -1;  ///< not -1: the sum is that of both, in f64
  /// Of the sums' first element in the output; where each thread has its own, of all of them.
  Ref row = nullptr, column = nullptr;
  SymbolId row_symbol = -1, column_symbol = -1;  ///< what they are called in value, element, guard
  std::int64_t rows = 0, columns = 0;            ///< of the output
  std::string buffer;
  ScalarType type = ScalarType::kF32;
  Ref sum = nullptr, value = nullptr, element = nullptr, guard = nullptr;
  int contiguous = 1;               ///< outputs side by side along a row, at a multiple of as many
  std::vector<Beside> beside = {};  ///< inputs that are read as many at once as outputs are written
  /// Not empty: with each output all of these places are written, whose sums are 0: `element` and
  /// `guard` are of all of them, `value` of the output's own, `empty` of the others.
  std::vector<Place> places = {};
  bool side_by_side = false;  ///< neighbours along the last of them are so in memory
  Ref empty = nullptr;
  /// Not -1: by this staging to this view. Copies go on by themselves, and clip what lies beyond
  /// the tensor. A staging without a view turns sums of f32: neighbouring threads then write
  /// outputs of neighbouring rows, as which they lie in memory.
  int staging = -1, view = -1;
  /// By a staging, f32: the copies add the outputs to what the tensor has. `value` leaves that out.
  bool adds = false;
  std::vector<Ref> to;  ///< of the sums' first element in the view, outermost dimension first
};

struct Operation {
  std::variant<Define, Loop, Acquire, BulkCopy, Commit, Wait, Multiply, Advance, Drain, AddRuns,
               ShareSums, Store, Release, Await, SplitTile, ReadFragments, ReadPatch, MapSums,
               MapRows, ReduceRows, FoldRows, RoundSums, TakeTurn, PassTurn, Stream, WarpMultiply,
               ThreadMultiply, When, Exchange, HalfWarpMultiply, KeepSums>
      is;
};

/// All operations of a body and of those that have one, in order.
void for_each_operation(const Body& body, const std::function<void(const Operation&)>& visit);

struct Role {
  std::string name;
  int warp_groups = 1;      ///< of 128 threads
  int warps = 0;            ///< not 0: so many warps, of a role that streams
  int registers = 0;        ///< of each thread, a multiple of 8; 0: what the compiler gives
  bool one_thread = false;  ///< the body is for one thread of the role
  Body body;

  [[nodiscard]] int threads() const { return warps > 0 ? warps * 32 : warp_groups * 128; }
};

struct Program {
  std::string kernel;   ///< the kernel's name, and with an underscore what stands before it
  std::string prefix;   ///< of every other name at file scope
  std::string comment;  ///< what the kernel does
  nest::Nodes* nodes = nullptr;
  std::int64_t grid = 1;  // [blocks]
  /// Neighbouring blocks that share copies or sums; rank r is block % cluster.
  int cluster = 1;
  SymbolId block = -1;  ///< the block's number
  SymbolId group = -1;  ///< the warp group's number in its role
  SymbolId warp = -1;   ///< the warp's, in a role that streams
  int resident = 1;     ///< blocks that a multiprocessor has registers for; 0: is not said
  std::vector<View> views;
  std::vector<Ring> rings;
  std::vector<Staging> stagings;
  std::vector<Sums> sums;
  std::vector<Rows> rows = {};
  std::vector<Fragments> fragments = {};
  std::vector<Role> roles;
  /// The kernel's pointers: buffers that values of Stores and of CopyTiles read, and then those
  /// that are written but through views.
  struct Parameter {
    std::string buffer;
    ScalarType type = ScalarType::kF32;
    bool written = false;
  };
  std::vector<Parameter> parameters;

  [[nodiscard]] int threads() const;
  /// Whether its only role fills and reads its ring by itself.
  [[nodiscard]] bool streams() const { return !rings.empty() && is_streamed(0); }
  /// Whether the role that reads this ring fills it, in a Stream.
  [[nodiscard]] bool is_streamed(int ring) const;
  /// Whether threads of another role write this ring; else bulk copies fill it.
  [[nodiscard]] bool is_written(int ring) const;
  /// Whether blocks of the cluster copy tiles for one another: a stage is empty once it is in all.
  [[nodiscard]] bool shares_copies() const;
  [[nodiscard]] bool shares_sums() const;
  /// Arrivals that make a stage full, beside the bytes of bulk copies.
  [[nodiscard]] int writers(int ring) const;
  /// Of each thread before a role gives or takes any, where one block has all `registers`.
  [[nodiscard]] int registers_at_launch(int registers) const;
  /// From one stage of a tile of this ring to the next.
  [[nodiscard]] std::int64_t stage_step(int ring, const SharedTile& tile) const;  // [B]
  /// Tiles of rings and stagings, then the barriers of rings, and two where blocks share sums.
  [[nodiscard]] std::int64_t shared_bytes() const;                 // [B]
  [[nodiscard]] std::int64_t stage_bytes(const Ring& ring) const;  // [B]
};

/// What a device has.
struct Limits {
  std::int64_t shared_bytes = 227 * 1024;  // of a block [B]
  int registers = 65536;                   ///< of a multiprocessor
  int compute_capability = 90;
};

/// kRefused, with the operation and the reason:
///   shapes and layouts that do not fit a copy or a product; a stage that is read before it is
///   full, filled before it is empty, or never released; a ring with no or two producers; sums and
///   fragments that are touched while products are on their way; runs that are added to sums of
///   which nothing has been set; rows that have no value yet, or are folded in part; turns that are
///   not taken and passed alike; more registers than a role has; more shared memory than a block
///   has.
[[nodiscard]] Result<void> verify(const Program& program, const Limits& limits);

/// The kernel and what stands before it: for sm_90a, or of a program that streams for whatever its
/// products are for. The program must verify.
[[nodiscard]] std::string print(const Program& program);

}  // namespace hone::tile
