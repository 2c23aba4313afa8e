// Answers that take no computing: a task whose tolerance lets one of them pass checks nothing.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"
#include "candidates/task.h"

namespace hone::check {

/// Mean and standard deviation of the finite values.
struct Spread {
  std::size_t count = 0;
  double mean = 0, deviation = 0;
};
[[nodiscard]] Spread spread_of(std::span<const std::uint8_t> bytes, ScalarType type);
/// The mean of fewer values is nearly the answer itself.
inline constexpr std::size_t kFewestForStatistics = 8;

/// "instead of 'out', zeros would pass: ..."
[[nodiscard]] std::string would_pass(const std::string& buffer, const std::string& fake);

/// An output beside others may be flat where it has at most so much of all their elements, such as
/// the running variance of a batch norm beside the normed values themselves.
inline constexpr double kMostFlat = 0.01;

/// Which outputs of a reference a fake could stand for, and whether the task is refused for it.
class Survivors {
 public:
  /// An output of so many elements. `fake`: would_pass() of it; empty: none would.
  void add(double elements, std::string fake);
  /// The first one, where they have more than kMostFlat of all elements; else empty.
  [[nodiscard]] std::string refusal() const;
  /// What nobody is refused for, line by line.
  [[nodiscard]] std::vector<std::string> let_pass() const;

 private:
  double flat_ = 0, whole_ = 0;  // elements
  std::vector<std::string> fakes_;
};

/// One that was tried in an output's place.
struct TriedFake {
  std::string buffer, fake;
  bool passed = true;  ///< everywhere
  bool exact = true;   ///< to the bit, everywhere
};

class Fakes {
 public:
  explicit Fakes(const Tolerance& tolerance) : tolerance_(tolerance) {}

  /// One output of the reference at one size. `inputs`: the first contents of in and inout buffers.
  void see(const ConcreteBuffer& output, std::span<const std::uint8_t> want,
           const std::vector<std::pair<const ConcreteBuffer*, std::vector<std::uint8_t>>>& inputs);

  /// What was seen elsewhere, too.
  void add(const std::vector<TriedFake>& tried);
  /// In the order of trying.
  [[nodiscard]] const std::vector<TriedFake>& tried() const { return tried_; }

  /// Of each output the first fake that was right wherever it was tried. A copy of an input that is
  /// the very answer at every size is no fake. `elements` of each output, over all sizes.
  [[nodiscard]] Survivors survivors(const std::map<std::string, double>& elements) const;

 private:
  void note(TriedFake fake);

  Tolerance tolerance_;
  std::vector<TriedFake> tried_;
};

}  // namespace hone::check
