// What whole numbers that index something can be, so that the fills of the arguments that they are
// made of keep them in range. An element is followed as an expression of arguments: `x + 1`,
// `i * 8 + j`, `clamp(x, 0, 2)`. Immutable values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace hone::pytorch {

/// Inclusive.
struct Interval {
  std::int64_t low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};

struct WholeNode;
/// Null: nothing is known.
using Whole = std::shared_ptr<const WholeNode>;

/// An element of a buffer that the caller fills.
[[nodiscard]] Whole whole_of_buffer(int buffer);
[[nodiscard]] Whole whole_between(Interval interval);
/// What an operator makes of others, by its name in PyTorch without "aten." and overload: "add",
/// "remainder". Null where the operator is not followed or an operand is null.
[[nodiscard]] Whole whole_made(std::string_view operation, std::vector<Whole> operands);

/// The buffer of which this is an element, unchanged.
[[nodiscard]] std::optional<int> unchanged_buffer(const Whole& whole);

/// An index, and in which interval it must be.
struct IndexUse {
  Whole whole;
  Interval within;
};

/// Intervals for the buffers that the indices are made of, so that all are in range; each within
/// what is given for it. A buffer for which none was found is left out.
[[nodiscard]] std::map<int, Interval> ranges_for(const std::vector<IndexUse>& uses,
                                                 const std::map<int, Interval>& given);

}  // namespace hone::pytorch
