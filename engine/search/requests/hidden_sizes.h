// Sizes that a task does not list, for the final checks: what is right at the listed sizes only
// shows.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "candidates/task.h"

namespace hone {

/// One binding in which all sizes are odd or prime and about as large as the check sizes; then for
/// each size one in which it alone is odd and some times larger than at any check, enough for every
/// launch that has several blocks at the timed size to have several, and the others are small
/// multiples of 16. Where constraints want multiples of up to 1024, sizes are odd multiples. A size
/// that is the same at every listed size stays; none is above its timed value. Where the task says
/// "specialize": false, a candidate must hold at every size: then one binding of powers of two and
/// their neighbours follows, and for each size one in which it alone is above its timed value, the
/// others as small as it takes to afford that; one in which all are equal; for each size one in
/// which it alone is 1, one in which all are 1; for each two one in which the first is twice the
/// second, or three or four times; and for each size that is the same at every listed size one
/// below and one above that. They satisfy the task's constraints; whether the reference works there
/// is for the caller to find out. Deterministic for a seed. Where `affordable` is given, only sizes
/// that it accepts: smaller ones, or one fewer.
[[nodiscard]] std::vector<Bindings> hidden_sizes(
    const Task& task, std::uint64_t seed,
    const std::function<bool(const Bindings&)>& affordable = {});

/// Where the task says "specialize": false, up to 64 small bindings in which every size that is not
/// the same everywhere leaves each remainder of 64 once: what is wrong at one of them shows.
/// Constraints may leave fewer.
[[nodiscard]] std::vector<Bindings> sizes_of_all_remainders(
    const Task& task, std::uint64_t seed,
    const std::function<bool(const Bindings&)>& affordable = {});

/// Where the task says "specialize": false, sizes at which a whole program need not be emulated:
/// all odd and up to 1.4 times the timed ones, so that several are large at once; all from 0.6
/// times; likewise with one of three or more small; and for each size one in which it alone is
/// three to five times the timed one. Buffers take no more than a few times what they take at the
/// timed sizes; but for each size there is one, too, in which a buffer has more than 2^32 elements,
/// which say nothing of a reference that does not write the last of them; and, where two or more
/// sizes vary and memory allows, one in which all are 1.5 to three times the timed ones.
[[nodiscard]] std::vector<Bindings> large_sizes(const Task& task, std::uint64_t seed);

}  // namespace hone
