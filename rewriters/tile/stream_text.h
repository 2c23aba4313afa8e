// CUDA for rings that one role fills and reads (streams.h). Part of print().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rewriters/schedules/printing/emit.h"
#include "rewriters/schedules/printing/text.h"
#include "rewriters/tile/program.h"

namespace hone::tile {

/// For one program. `values` prints its integers and loads, and must outlive this, as the program
/// must. In scope of the texts: `thread`, `lane` and `warp` (of the block).
class StreamText {
 public:
  /// What the kernel calls a ring's things.
  struct Called {
    std::string stage, stages;       ///< the stage that is read, and how many there are
    std::vector<std::string> tiles;  ///< where each begins
  };
  /// `parameters`: buffers by their names.
  StreamText(const Program& program, schedules::Printer& values, schedules::Names& names,
             const std::map<std::string, std::string>& parameters)
      : p_(program), values_(values), names_(names), parameters_(parameters) {}

  /// Texts of a stream's operations: before its first round, in each round, and in each after an
  /// Exchange. Of one that ThreadMultiply begins `body` is what follows that, whose sums are called
  /// `sums`.
  struct Bodies {
    std::string before, body, exchanged, sums;
  };
  /// The loop around these. The stream's symbol has its name. `once`: of the ring that it fills
  /// once.
  void write(const Stream& stream, const Called& ring, const Called& once, const Bodies& bodies,
             schedules::Code& code);
  /// `a`, `rest`: names of the fragments that a is, or empty.
  void write(const WarpMultiply& multiply, const Called& ring, const Called& a_ring,
             const std::string& sums, const std::string& a, const std::string& rest,
             schedules::Code& code);
  void write(const HalfWarpMultiply& multiply, const Called& ring, const Called& a_ring,
             const std::string& sums, schedules::Code& code);
  void write(const KeepSums& keep, const Called& ring, const std::string& sums,
             schedules::Code& code);
  /// A warp's rows to these fragments.
  void write(const ReadFragments& read, const Called& ring, const std::string& to,
             schedules::Code& code);
  /// RoundSums to these calls functions that round.
  void rounds(const RoundSums& round);

  /// Device functions that the texts so far call.
  [[nodiscard]] std::string helpers() const;
  /// Whether they use packs of values.
  [[nodiscard]] bool packs() const { return packs_; }

 private:
  [[nodiscard]] schedules::Holes multiply_adds(const ThreadMultiply& multiply, const Called& ring,
                                               const std::string& sums);
  [[nodiscard]] const SharedTile& tile(int ring, int at) const {
    return p_.rings[static_cast<std::size_t>(ring)].tiles[static_cast<std::size_t>(at)];
  }
  /// Of a stage.
  [[nodiscard]] std::string elements(int ring, const SharedTile& tile) const;
  /// Where the stage that is read begins.
  [[nodiscard]] std::string in_stage(int ring, const Called& called, const SharedTile& tile) const;
  /// To the registers `to`, of which each index is named in the text: i of 16 rows; j and l of two
  /// of eight columns and two of k.
  [[nodiscard]] std::string read_of_a(const SharedTile& tile, const std::string& from,
                                      const std::string& row, const std::string& to);
  [[nodiscard]] std::string read_of_b(const SharedTile& tile, const std::string& from,
                                      const std::string& row, const std::string& to,
                                      bool as_rounded);
  [[nodiscard]] std::string one_by_one(const WarpMultiply& multiply, const SharedTile& b,
                                       schedules::Holes holes, const std::string& a,
                                       const std::string& rest);

  const Program& p_;
  schedules::Printer& values_;
  schedules::Names& names_;
  const std::map<std::string, std::string>& parameters_;
  bool packs_ = false, async_ = false, swizzled_ = false;
  bool matrices_ = false, transposed_ = false, rounded_ = false, split_ = false;
  std::string product_;  ///< the function that multiplies on the tensor cores
};

/// The first operation of a stream's body, where that is a ThreadMultiply; else nullptr.
[[nodiscard]] const ThreadMultiply* multiply_adds_of(const Stream& stream);

/// Places of a thread among those whose sums are of a thread: `thread_m` and `thread_n`.
[[nodiscard]] std::string thread_places(const Sums& sums);

}  // namespace hone::tile
