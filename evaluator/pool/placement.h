// Which cores the children of a search on several GPUs run on. A machine with more than one memory
// node has each GPU on one of them. The runner of a GPU runs on the cores of that node. Children
// that compile, check and rewrite run on the nodes of the search's GPUs, in turn. Memory then comes
// from the node that a child runs on, which is how the system gives memory. What a machine has is
// read from a folder like /sys and from this process's own set of cores.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evaluator/evaluator.h"

namespace hone::pool {

/// "0-3,8" as {0, 1, 2, 3, 8}; empty where it is no such list.
[[nodiscard]] std::vector<int> parse_cores(std::string_view list);

/// The cores that this process may run on.
[[nodiscard]] std::vector<int> allowed_cores();

/// The cores beside a PCI device ("0000:03:00.0"), of those `allowed`. Empty, which means any core,
/// where there is one memory node only, where the system does not say, and where none is allowed.
[[nodiscard]] std::vector<int> cores_beside(const std::string& pci, const std::string& sysfs,
                                            const std::vector<int>& allowed);

/// For these GPUs; `addresses`: of all GPUs on the PCI bus, by ordinal. Empty where it is not known
/// of each of them.
[[nodiscard]] Placement placed_beside(const std::vector<int>& gpus,
                                      const std::vector<std::string>& addresses,
                                      const std::string& sysfs, const std::vector<int>& allowed);

/// For a child. `ordinal`: of the GPU that it is the runner of; below 0: it works for all of them,
/// and each call gives the next one's. Empty: any core. Thread-safe.
[[nodiscard]] std::vector<int> cores_of_child(int ordinal, const Placement& placement);

/// How many cores the children have together, at least 1.
[[nodiscard]] int count_cores(const Placement& placement);

}  // namespace hone::pool
