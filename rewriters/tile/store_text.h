// CUDA for outputs: sums to global memory. Part of print().
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewriters/schedules/printing/emit.h"
#include "rewriters/tile/program.h"

namespace hone::tile {

/// For one program. `values` prints its integers and loads, and must outlive this, as the program
/// must. In scope of the texts: `lane` and `warp` (of the warp group).
class StoreText {
 public:
  /// What the kernel calls the program's things: in its order, and buffers by their names.
  struct Called {
    std::vector<std::string> sums, views, stagings;
    std::map<std::string, std::string> parameters;
  };
  StoreText(const Program& program, schedules::Printer& values, Called called)
      : p_(program), values_(values), called_(std::move(called)) {}

  void write(const Store& store, schedules::Code& code);
  /// Whether the texts so far use packs of values.
  [[nodiscard]] bool packs() const { return packs_; }
  /// Dimensions of the tensors that they copy to in bulk, and whether they add to them.
  [[nodiscard]] const std::set<std::pair<int, bool>>& tensors() const { return tensors_; }
  /// Whether threads of a warp group meet between what they write to shared memory and read there.
  [[nodiscard]] bool groups_meet() const { return groups_meet_; }

 private:
  [[nodiscard]] std::string sum_type(const Store& store) const;
  [[nodiscard]] std::string some_sums(const Store& store, const std::string& at, int more,
                                      int count) const;
  /// Whether threads swap their sums first, so that neighbouring lanes have neighbours.
  [[nodiscard]] bool swaps(const Store& store) const;
  /// Outputs that a thread writes at once.
  [[nodiscard]] int width_of(const Store& store) const;
  /// Under which (m, n_run), of so many rows and columns, is an output; empty: always.
  [[nodiscard]] std::string inside(const Store& store, std::int64_t rows,
                                   std::int64_t columns) const;
  [[nodiscard]] std::string outputs(const Store& store, int width);
  [[nodiscard]] std::string read_together(const Store& store, int width);
  [[nodiscard]] std::string of_group(std::int64_t elements) const;
  /// What a warp of write_turned() does with `columns`, statements for all columns of row m.
  [[nodiscard]] std::string turned_rows(const Store& store, const std::string& columns);
  void write_by_threads(const Store& store, schedules::Code& code);
  void write_staged(const Store& store, schedules::Code& code);
  void write_turned(const Store& store, schedules::Code& code);

  const Program& p_;
  schedules::Printer& values_;
  Called called_;
  bool packs_ = false, groups_meet_ = false;
  std::set<std::pair<int, bool>> tensors_;
};

}  // namespace hone::tile
