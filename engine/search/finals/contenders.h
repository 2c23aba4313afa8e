// The fastest candidates of a search so far, best first, each program once: what the compiler makes
// the same machine code of is one program, and the shorter recipe stands for it. One thread.
#pragma once

#include <string>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/store/store.h"

namespace hone {

/// A thread's, of the kernel with the most.
[[nodiscard]] int most_registers(const Evaluation& evaluation);

struct Contender {
  CandidateRecord candidate;
  double time_us = 0;     // of the quick stage
  std::string code_hash;  ///< Evaluation::code_hash
  int registers = 0;      ///< most_registers()
  bool checked = true;    ///< false: Evaluation::outpaced
};

[[nodiscard]] Contender contender_of(const CandidateRecord& candidate,
                                     const Evaluation& evaluation);

/// The faster one; of equals the one with the shorter recipe, then with fewer registers.
[[nodiscard]] bool goes_before(const Contender& a, const Contender& b);

/// `finalists`: some of `ranked`, the best first. Where none of them is checked and there is room
/// for two, the last one's place goes to the best that is: should all others be wrong, it is left.
void keep_a_checked_one(std::vector<Contender>& finalists, const std::vector<Contender>& ranked,
                        std::size_t wanted);

class Contenders {
 public:
  /// True: it is the best now.
  bool add(Contender contender);
  [[nodiscard]] const std::vector<Contender>& ranked() const { return ranked_; }
  [[nodiscard]] bool empty() const { return ranked_.empty(); }
  /// Of the best; 0: there is none.
  [[nodiscard]] double time_us() const { return empty() ? 0 : ranked_.front().time_us; }

 private:
  static constexpr std::size_t kMost = 32;
  std::vector<Contender> ranked_;
};

}  // namespace hone
