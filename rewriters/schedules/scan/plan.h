// Running reductions along an axis: rows, what is folded, and what is stored.
//
//   out[row, j] = … sum over r of (r <= j ? f(row, r) : 0) …
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/schedules/generator.h"
#include "rewriters/schedules/lane_body.h"

namespace hone::schedules::scan {

struct Running {
  Ref node = nullptr;  ///< over row and column: the fold up to there
  Ref each = nullptr;  ///< what is folded, at the column
  Op op = Op::kAdd;
  Ref before = nullptr;  ///< of a cut row: the fold of a part of it, at `part`
};

struct Plan {
  std::int64_t rows = 1;
  std::int64_t length = 1;
  SymbolId row = -1;
  SymbolId column = -1;
  bool reverse = false;    ///< from the end
  bool exclusive = false;  ///< without the element itself
  bool across = false;     ///< rows are neighbours in memory, not columns
  std::int64_t parts = 1;  ///< of a row; then `rows` counts parts
  SymbolId part = -1;
  Ref own_part = nullptr;  ///< of the row in hand
  std::vector<Running> running;
  std::vector<LaneBody::Store> stores;
};

/// A product of floats: parts of it are carried as mantissas and exponents.
[[nodiscard]] inline bool is_product(Op op, ScalarType type) {
  return op == Op::kMul && is_float(type);
}
[[nodiscard]] bool has_products(const Plan& plan);

/// kRefused: no running reductions, or of several kinds.
[[nodiscard]] Result<Plan> plan_scan(const Goal& goal);

/// Rows cut into parts, whose folds come first: nests that give them, the scratch buffers that hold
/// them, and the plan of what remains, whose rows are parts.
struct CutPlan {
  Plan plan;
  std::vector<nest::Nest> folds;
  std::vector<ConcreteBuffer> scratch;
};
[[nodiscard]] CutPlan cut_rows(const Goal& goal, const Plan& plan, std::int64_t parts,
                               const std::string& prefix);
/// A number of equal parts near the one wanted; 1: there is none.
[[nodiscard]] std::int64_t parts_near(const Plan& plan, std::int64_t wanted);
/// Whether rows with a block each are too few for the device, and long.
[[nodiscard]] bool rows_leave_idle(const Goal& goal, const Plan& plan);
/// As many as fill the device; 1: the rows do.
[[nodiscard]] std::int64_t first_parts(const Goal& goal, const Plan& plan);

struct Schedule {
  Team team;      ///< threads per row, rows per block
  int width = 1;  ///< elements moved at once
  int items = 1;  ///< vectors of a thread in a tile
  Cache cache = Cache::kDefault;
  bool single_pass = false;  ///< a block for each tile, which looks back at those before
};

[[nodiscard]] Schedule first_guess(const Goal& goal, const Plan& plan);
/// Brings it to one that can be printed.
void make_fit(const Goal& goal, const Plan& plan, Schedule& schedule);
/// A single pass of long rows: 512 threads for a tile.
[[nodiscard]] Schedule first_guess_of_tiles(const Goal& goal, const Plan& plan);
[[nodiscard]] int widest(const Goal& goal, const Plan& plan);

/// Of a single pass: tiles of a row, the buffer of what they tell each other, its 8-byte words.
[[nodiscard]] std::int64_t tiles_of(const Plan& plan, const Schedule& schedule);
[[nodiscard]] std::string state_buffer(const std::string& prefix);
[[nodiscard]] std::int64_t words_of_state(nest::Nodes& nodes, const Plan& plan,
                                          const Schedule& schedule);

void print_scan(const Goal& goal, const Plan& plan, const Schedule& schedule,
                const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                Generated& generated);

}  // namespace hone::schedules::scan
