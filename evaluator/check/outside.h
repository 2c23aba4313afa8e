// Does a candidate look at what is no input: when it runs, or as which grid? What it answers may
// then depend on it, and no number of runs would show that.
#pragma once

#include <string>
#include <string_view>

namespace hone::check {

/// The first special register of a clock, a counter or the number of the grid that the candidate's
/// PTX reads and the reference's does not, as PTX names it ("%clock64"); else empty. Not looked at:
/// the multiprocessor and addresses, which programs have reasons to know and which checks vary; the
/// global timer where a program waits at an mbarrier, since libcu++ reads it there.
[[nodiscard]] std::string looks_outside(std::string_view reference_ptx,
                                        std::string_view candidate_ptx);

}  // namespace hone::check
