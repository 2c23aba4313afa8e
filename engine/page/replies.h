// What a language model did in a run, for the report and the web page.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "candidates/store/store.h"

namespace hone::page {

/// Sums, why replies were refused, and the latest replies without their texts; empty: none was
/// asked. `candidate_html`: the markup of a candidate's id.
[[nodiscard]] std::string replies_html(
    const std::vector<RunReply>& replies,
    const std::function<std::string(const std::string&)>& candidate_html);

}  // namespace hone::page
