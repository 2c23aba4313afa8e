// The parts that analyse() puts a KernelInfo together from.
#pragma once

#include <memory>
#include <vector>

#include "rewriters/syntax/analysis.h"

namespace hone::syntax {

[[nodiscard]] std::vector<std::unique_ptr<Loop>> find_loops(const Function& function);
[[nodiscard]] std::vector<Access> find_accesses(const Function& function);

}  // namespace hone::syntax
