#include "rewriters/tile/rows_text.h"

#include <fmt/format.h>

#include <functional>

#include "rewriters/schedules/printing/instructions.h"
#include "rewriters/schedules/printing/print_value.h"
#include "rewriters/schedules/printing/text.h"

namespace hone::tile {
namespace {

using schedules::Code;
using schedules::filled;
using schedules::Holes;

constexpr const char* kTurns = R"(
// Named barriers: one group of 128 threads waits until another one has arrived.
__device__ __forceinline__ void $prefixtake_turn(int group) {
  asm volatile("bar.sync %0, 256;" ::"r"(group + 1) : "memory");
}
__device__ __forceinline__ void $prefixpass_turn(int group) {
  asm volatile("bar.arrive %0, 256;" ::"r"(group + 1) : "memory");
}
)";

/// All values below one, each once, itself last.
void below(nest::Ref value, std::set<nest::Ref>& seen, std::vector<nest::Ref>& all) {
  if (!seen.insert(value).second) return;
  for (const nest::Ref arg : value->args) below(arg, seen, all);
  for (const nest::Term& term : value->terms) below(term.atom, seen, all);
  all.push_back(value);
}
std::vector<nest::Ref> all_of(nest::Ref value) {
  std::set<nest::Ref> seen;
  std::vector<nest::Ref> all;
  below(value, seen, all);
  return all;
}

/// Elements of a lane from one block of 16 rows to the next.
int block_of(const Sums& sums) { return sums.columns / 2; }

/// Where a lane's i-th sum is.
struct Places {
  int rows = 2;                      ///< of the lane
  std::string of_lane, row, column;  ///< which of these, and its place from the sums' first on
};
Places places_of(const Sums& sums) {
  if (sums.of == SumsOf::kHalfWarp) {
    return {
        sums.rows, fmt::format("i / {}", sums.columns),
        fmt::format("lane / 16 * {} + i / {}", sums.rows, sums.columns),
        fmt::format("(i % {0} / {1} * 16 + lane % 16) * {1} + i % {1}", sums.columns, sums.run())};
  }
  const bool one_block = sums.warp_rows() == 16;
  const int each = block_of(sums);
  const std::string in_block = one_block ? "i" : fmt::format("i % {}", each);
  return {
      sums.warp_rows() / 8, one_block ? "i / 2 % 2" : fmt::format("i / {} * 2 + i / 2 % 2", each),
      fmt::format("{}i / 2 % 2 * 8 + lane / 4", sums.of == SumsOf::kWarpGroup ? "warp * 16 + "
                                                : one_block                   ? ""
                                                            : fmt::format("i / {} * 16 + ", each)),
      fmt::format("{} / 4 * 8 + lane % 4 * 2 + i % 2", in_block)};
}

}  // namespace

RowsText::RowsText(const Program& program, schedules::Printer& values, schedules::Names& names,
                   std::vector<std::string> sums)
    : p_(program), values_(values), sums_(std::move(sums)) {
  for (const Rows& rows : p_.rows) rows_.push_back(names.fresh(rows.name));
  for (const Fragments& fragments : p_.fragments) fragments_.push_back(names.fresh(fragments.name));
}

void RowsText::begin(const Role& role, const std::string& group, Code& code) {
  std::set<int> rows, fragments;
  bool turns = false;
  for_each_operation(role.body, [&](const Operation& operation) {
    turns |= std::holds_alternative<TakeTurn>(operation.is);
    if (const auto* map = std::get_if<MapRows>(&operation.is)) rows.insert(map->rows);
    if (const auto* reduce = std::get_if<ReduceRows>(&operation.is)) rows.insert(reduce->rows);
    if (const auto* round = std::get_if<RoundSums>(&operation.is)) {
      fragments.insert(round->fragments);
      if (round->rest >= 0) fragments.insert(round->rest);
    }
    if (const auto* read = std::get_if<ReadFragments>(&operation.is)) {
      fragments.insert(read->fragments);
      if (read->rest >= 0) fragments.insert(read->rest);
    }
    if (const auto* read = std::get_if<ReadPatch>(&operation.is)) {
      fragments.insert(read->fragments);
      if (read->rest >= 0) fragments.insert(read->rest);
    }
  });
  if (!rows.empty()) code.comment("Of the rows of which a lane has some columns.");
  for (const int at : rows)
    code.line(
        fmt::format("float {}[{}] = {{}};", rows_[static_cast<std::size_t>(at)], lane_rows_of(at)));
  for (const int at : fragments)
    code.line(fmt::format("unsigned {}[{}][4] = {{}};", fragments_[static_cast<std::size_t>(at)],
                          p_.fragments[static_cast<std::size_t>(at)].registers() / 4));
  group_ = group;
  groups_ = role.warp_groups;
  if (!turns) return;
  turns_ = true;
  code.comment("The first turn is group 0's.");
  code.line(fmt::format("if ({} == {}) {}pass_turn(0);", group_, groups_ - 1, p_.prefix));
}

void RowsText::write(const TakeTurn&, Code& code) {
  code.line(fmt::format("{}take_turn({});", p_.prefix, group_));
}

void RowsText::write(const PassTurn&, Code& code) {
  code.line(fmt::format("{}pass_turn({});", p_.prefix,
                        groups_ == 2
                            ? fmt::format("1 - {}", group_)
                            : fmt::format("{0} + 1 == {1} ? 0 : {0} + 1", group_, groups_)));
}

std::string RowsText::value_text(nest::Ref value, const std::string& row) {
  for (std::size_t r = 0; r < rows_.size(); ++r)
    values_.known[p_.rows[r].value] = fmt::format("{}[{}]", rows_[r], row);
  std::vector<nest::Ref> powers;
  for (const nest::Ref node : all_of(value)) {
    if (!node->calls("exp2") || node->type != ScalarType::kF32) continue;
    values_.known[node] = fmt::format("{}power({})", p_.prefix, values_.print(node->args[0]));
    powers.push_back(node);
    powers_ = true;
  }
  std::string text = values_.print(value);
  for (const nest::Ref node : powers) values_.known.erase(node);
  return text;
}

bool RowsText::reads_rows(nest::Ref value) const {
  bool reads = false;
  for (const nest::Ref node : all_of(value))
    for (const Rows& rows : p_.rows) reads |= rows.value == node;
  return reads;
}

/// Under which a map is not left out; empty: always.
std::string RowsText::condition(nest::Ref unless, int lane_rows) {
  if (unless == nullptr) return "";
  if (!reads_rows(unless)) return fmt::format("if (!({}))", values_.print(unless));
  std::string some;
  for (int row = 0; row < lane_rows; ++row)
    some += fmt::format("{}!({})", row == 0 ? "" : " || ", value_text(unless, std::to_string(row)));
  return fmt::format("if (__any_sync(0xffffffffu, {}))", some);
}

void RowsText::settle(const std::string& registers, Code& code) const {
  if (!p_.streams()) code.line(fmt::format("{}settle({});", p_.prefix, registers));
}

void RowsText::write(const MapSums& map, Code& code) {
  const std::string& name = sums_[static_cast<std::size_t>(map.sums)];
  const Sums& sums = p_.sums[static_cast<std::size_t>(map.sums)];
  const Places places = places_of(sums);
  const std::string condition = this->condition(map.unless, places.rows);
  if (!condition.empty()) code.open(condition);
  if (map.awaits) {
    code.line(p_.prefix + "wgmma_wait<0>();");
    code.line(fmt::format("{}settle({});", p_.prefix, name));
  }
  if (map.row_symbol >= 0) values_.indices[map.row_symbol] = "m";
  if (map.column_symbol >= 0) values_.indices[map.column_symbol] = "n";
  if (map.sum != nullptr) values_.known[map.sum] = name + "[i]";
  const std::string value = value_text(map.value, "row");
  code.line("#pragma unroll");
  code.open(fmt::format("for (int i = 0; i < {}; ++i)", sums.count()));
  if (schedules::mentions(value, "row"))
    code.line(fmt::format("const int row = {};", places.of_lane));
  if (schedules::mentions(value, "m"))
    code.line(fmt::format("const int m = {} + {};", values_.print_index(map.row), places.row));
  if (schedules::mentions(value, "n"))
    code.line(
        fmt::format("const int n = {} + {};", values_.print_index(map.column), places.column));
  code.line(fmt::format("{}[i] = {};", name, value));
  code.close();
  if (!condition.empty()) code.close();
  settle(name, code);
}

void RowsText::write(const MapRows& map, Code& code) {
  code.line("#pragma unroll");
  code.line(fmt::format("for (int row = 0; row < {}; ++row) {}[row] = {};", lane_rows_of(map.rows),
                        rows_[static_cast<std::size_t>(map.rows)], value_text(map.value, "row")));
}

void RowsText::write(const ReduceRows& reduce, Code& code) {
  const auto both = [&](const std::string& a, const std::string& b) {
    return schedules::combined(reduce.op, ScalarType::kF32, a, b);
  };
  const std::string& rows = rows_[static_cast<std::size_t>(reduce.rows)];
  const std::string& name = sums_[static_cast<std::size_t>(reduce.sums)];
  const Sums& sums = p_.sums[static_cast<std::size_t>(reduce.sums)];
  if (sums.of == SumsOf::kHalfWarp) {
    reduce_of_threads(reduce, sums, code);
    return;
  }
  const std::string at = sums.warp_rows() == 16
                             ? "2 * row"
                             : fmt::format("row / 2 * {} + row % 2 * 2", block_of(sums));
  const std::string all = both("first", "second");
  const Holes holes = {
      {"rows", rows},
      {"lane_rows", std::to_string(lane_rows_of(reduce.rows))},
      {"sums", name},
      {"at", at},
      {"rest", std::to_string(sums.columns / 8 - 1)},
      {"first", both("first", fmt::format("{}[j * 4 + 4 + {}]", name, at))},
      {"second", both("second", fmt::format("{}[j * 4 + 5 + {}]", name, at))},
      {"all",
       reduce.onto ? both(rows + "[row]", reduce.op == Op::kAdd ? "(" + all + ")" : all) : all}};
  code.lines(filled(R"(#pragma unroll
for (int row = 0; row < $lane_rows; ++row) {
  float first = $sums[$at], second = $sums[$at + 1];
  #pragma unroll
  for (int j = 0; j < $rest; ++j) {
    first = $first;
    second = $second;
  }
  $rows[row] = $all;
}
)",
                    holes));
  if (!reduce.in_lanes) write(FoldRows{reduce.rows, reduce.op}, code);
}

void RowsText::write(const FoldRows& fold, Code& code) {
  const std::string& rows = rows_[static_cast<std::size_t>(fold.rows)];
  const auto step = [&](int lanes) {
    return schedules::combined(
        fold.op, ScalarType::kF32, rows + "[row]",
        fmt::format("__shfl_xor_sync(0xffffffffu, {}[row], {})", rows, lanes));
  };
  const int lanes = has_half_warps() ? 16 : 4;
  std::string steps;
  for (int other = 1; other < lanes; other *= 2)
    steps += fmt::format("{}[row] = {};\n", rows, step(other));
  code.lines(filled(R"(#pragma unroll
for (int row = 0; row < $lane_rows; ++row) {  // the $lanes lanes of a row
  $steps
}
)",
                    {{"lane_rows", std::to_string(lane_rows_of(fold.rows))},
                     {"lanes", lanes == 4 ? "four" : std::to_string(lanes)},
                     {"steps", steps}}));
}

bool RowsText::has_half_warps() const { return p_.sums[0].of == SumsOf::kHalfWarp; }

int RowsText::lane_rows_of(int rows) const {
  return p_.rows[static_cast<std::size_t>(rows)].warp_rows / (has_half_warps() ? 2 : 8);
}

void RowsText::reduce_of_threads(const ReduceRows& reduce, const Sums& sums, Code& code) {
  const auto both = [&](const std::string& a, const std::string& b) {
    return schedules::combined(reduce.op, ScalarType::kF32, a, b);
  };
  const std::string& rows = rows_[static_cast<std::size_t>(reduce.rows)];
  const std::string& name = sums_[static_cast<std::size_t>(reduce.sums)];
  code.lines(filled(
      R"(#pragma unroll
for (int row = 0; row < $rows_of; ++row) {
  float first = $sums[row * $columns];
  #pragma unroll
  for (int j = 1; j < $columns; ++j) first = $both;
  $rows[row] = $all;
}
)",
      {{"rows_of", std::to_string(sums.rows)},
       {"columns", std::to_string(sums.columns)},
       {"sums", name},
       {"rows", rows},
       {"both", both("first", fmt::format("{}[row * {} + j]", name, sums.columns))},
       {"all", reduce.onto ? both(rows + "[row]", "first") : "first"}}));
  if (!reduce.in_lanes) write(FoldRows{reduce.rows, reduce.op}, code);
}

void RowsText::write(const RoundSums& round, Code& code) {
  const Fragments& to = p_.fragments[static_cast<std::size_t>(round.fragments)];
  const bool tf32 = to.type == ScalarType::kF32;
  Holes holes = {{"prefix", p_.prefix},
                 {"count", std::to_string(to.registers() / 4)},
                 {"to", fragments_[static_cast<std::size_t>(round.fragments)]},
                 {"kind", tf32 ? "" : schedules::kind_of(to.type)},
                 {"rest", round.rest < 0 ? "" : fragments_[static_cast<std::size_t>(round.rest)]},
                 {"sums", sums_[static_cast<std::size_t>(round.sums)]}};
  if (!tf32) pairs_.insert(to.type);
  holes["made"] = filled(
      !tf32 ? "$to[j][l] = $prefixpair_$kind($sums[j * 8 + l * 2], $sums[j * 8 + l * 2 + 1]);"
      : round.rest < 0
          ? "$to[j][l] = $prefixrounded(__float_as_uint($sums[j * 4 + l % 2 * 2 + l / 2]));"
          : "$prefixsplit($to[j][l], $rest[j][l], __float_as_uint($sums[j * 4 + l % 2 * 2 + l / "
            "2]));",
      holes);
  holes["settle"] = p_.streams() ? "" : filled("$prefixsettle($to[j]);", holes);
  code.lines(filled(R"(#pragma unroll
for (int j = 0; j < $count; ++j) {
  #pragma unroll
  for (int l = 0; l < 4; ++l) {
    $made
  }
  $settle
}
)",
                    holes));
}

std::string RowsText::helpers() const {
  std::string text = powers_ ? schedules::power_function(p_.prefix) : "";
  if (turns_) text += filled(kTurns, {{"prefix", p_.prefix}});
  for (const ScalarType type : pairs_)
    text += schedules::pair_function(p_.prefix, "pair_" + schedules::kind_of(type), type);
  return text;
}

}  // namespace hone::tile
