// Parts that the kernels of every pipe have in common, as text.
#pragma once

#include <string>

#include "rewriters/schedules/contract/schedule.h"
#include "rewriters/schedules/contract/tile.h"
#include "rewriters/schedules/printing/emit.h"
#include "rewriters/schedules/printing/text.h"

namespace hone::schedules::contract {

class Emitter {
 public:
  Emitter(const Contraction& contraction, const Schedule& schedule, const Goal& goal,
          std::string prefix);

  const Contraction& c;
  const Schedule& s;
  Tile a, b;
  std::string prefix;
  /// Split sums: where each slice's go.
  std::string partial;
  /// Tiles that one block does; after them those of the last wave, each shared by s.tail blocks.
  std::int64_t whole = 0, shared = 0;

  /// What every kernel's text may ask for: prefix, name, params, constants, threads, shared,
  /// place, range, moves, first_tiles, store and more.
  [[nodiscard]] Holes holes(int width) const;
  /// Device functions and types that come before the kernels.
  [[nodiscard]] std::string helpers() const;
  /// The kernel that adds the slices up; only where the sum is split.
  [[nodiscard]] std::string second_kernel() const;
  [[nodiscard]] GeneratedLaunch first_launch() const;
  [[nodiscard]] GeneratedLaunch second_launch() const;
  /// Whether there is a second kernel, and the sums that it reads.
  [[nodiscard]] bool is_split() const { return s.split_k > 1 || shared > 0; }
  [[nodiscard]] Buffer partial_sums() const;

  /// "shared_a[stage * kElementsA + …]" without the brackets: the place of a row and a column.
  [[nodiscard]] std::string place(bool is_a, const std::string& outer, const std::string& k) const;
  /// Outputs that a lane of the tensor cores' kernels writes at once.
  [[nodiscard]] int store_width() const {
    return !in_runs() && s.split_k == 1 && size_of(c.nest->type) == 2 && c.contiguous_n >= 4 ? 4
                                                                                             : 2;
  }
  /// Tensor cores' or threads' sums of one run of terms are added to `sums`, each after a run.
  [[nodiscard]] bool in_runs() const { return adds_in_runs(c, s.pipe); }
  /// A line of comment on them, after a line break; empty where there are none.
  [[nodiscard]] std::string about_runs() const;
  /// "{sums[i][j][0], sums[i][j][1]}", or what both sets make of as many f32 from `first` on.
  [[nodiscard]] std::string totals(const std::string& at, const std::string& first,
                                   int count) const;
  [[nodiscard]] bool uses_async() const { return a.async || b.async; }
  /// A kernel's text with its $constants: those that it mentions, of every pipe's and of `more`.
  [[nodiscard]] std::string with_constants(
      const std::string& kernel,
      const std::vector<std::pair<std::string, std::int64_t>>& more) const;

 private:
  struct Move {
    std::string definition, start, end;
  };
  struct Paths;
  [[nodiscard]] Move move(bool is_a) const;
  [[nodiscard]] Paths paths(bool is_a, const std::string& used) const;
  /// Blocks that an SM holds, and thereby __launch_bounds__.
  [[nodiscard]] std::int64_t resident() const;
  [[nodiscard]] std::string bounds() const;
  [[nodiscard]] std::string tile_place(const std::string& number) const;
  /// "g_pack<float, 4>": kCount values that are loaded and stored at once.
  [[nodiscard]] std::string pack(const std::string& type, const std::string& count) const {
    return prefix + "pack<" + type + ", " + count + ">";
  }
  [[nodiscard]] std::string partial_store(int width, const Holes& holes) const;
  [[nodiscard]] std::string finish_slices() const;
  [[nodiscard]] std::string finish_tail() const;
  [[nodiscard]] std::string k_range() const;
  [[nodiscard]] std::string store(int width) const;
  [[nodiscard]] std::string finished(const std::string& width, bool vector,
                                     const std::string& sum) const;
  [[nodiscard]] std::string parameters(bool first) const;
  [[nodiscard]] std::vector<std::string> buffers(bool first) const;
  [[nodiscard]] std::string buffer_type(const std::string& name) const;
  [[nodiscard]] std::string parameter_name(const std::string& buffer) const;
  [[nodiscard]] Printer printer(const std::string& sum) const;
  const Goal& goal_;
};

/// The whole source of a schedule.
[[nodiscard]] std::string fma_kernel(const Emitter& emit);
[[nodiscard]] std::string mma_kernel(const Emitter& emit);

}  // namespace hone::schedules::contract
