// CUDA for what is done to sums between products (rows.h). Part of print().
#pragma once

#include <set>
#include <string>
#include <vector>

#include "rewriters/schedules/printing/emit.h"
#include "rewriters/tile/program.h"

namespace hone::tile {

/// For one program. `values` prints its integers and loads, and must outlive this, as the program
/// must. In scope of the texts: `lane` and `warp` (of the warp group).
class RowsText {
 public:
  /// `sums` are the names of the program's sums; names of rows and fragments are taken from
  /// `names`.
  RowsText(const Program& program, schedules::Printer& values, schedules::Names& names,
           std::vector<std::string> sums);

  /// Variables of the rows and fragments that a role uses, and its first turn. `group`: what the
  /// warp group's number is called.
  void begin(const Role& role, const std::string& group, schedules::Code& code);
  /// Device functions that the texts so far call.
  [[nodiscard]] std::string helpers() const;
  [[nodiscard]] const std::string& fragments(int at) const {
    return fragments_[static_cast<std::size_t>(at)];
  }

  void write(const MapSums& map, schedules::Code& code);
  void write(const MapRows& map, schedules::Code& code);
  void write(const ReduceRows& reduce, schedules::Code& code);
  void write(const FoldRows& fold, schedules::Code& code);
  void write(const RoundSums& round, schedules::Code& code);
  void write(const TakeTurn& take, schedules::Code& code);
  void write(const PassTurn& pass, schedules::Code& code);

 private:
  [[nodiscard]] std::string value_text(nest::Ref value, const std::string& row);
  /// For a warp whose lanes have so many rows.
  [[nodiscard]] std::string condition(nest::Ref unless, int lane_rows);
  /// Of each lane: two of each 16, or half of what a warp has.
  [[nodiscard]] int lane_rows_of(int rows) const;
  [[nodiscard]] bool has_half_warps() const;
  void reduce_of_threads(const ReduceRows& reduce, const Sums& sums, schedules::Code& code);
  /// Registers that products write have their values here: nothing moves across.
  void settle(const std::string& registers, schedules::Code& code) const;
  [[nodiscard]] bool reads_rows(nest::Ref value) const;

  const Program& p_;
  schedules::Printer& values_;
  std::vector<std::string> sums_, rows_, fragments_;
  std::string group_;
  int groups_ = 1;  ///< warp groups of the role
  bool powers_ = false, turns_ = false;
  std::set<ScalarType> pairs_;
};

}  // namespace hone::tile
