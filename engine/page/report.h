// A job or a run as one file to keep or to print: no server, no script, no network.
#pragma once

#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/rewriting/rewriting.h"

namespace hone::page {

/// `runs`: of one task, at least one; a section for each device. Errors: the database's.
[[nodiscard]] Result<std::string> report_html(const Store& store, Rewriting& rewriting,
                                              const std::vector<RunRecord>& runs);

}  // namespace hone::page
