// Which of a file's launches make one task: those that hand buffers on to each other, in order.
#pragma once

#include <string>
#include <vector>

#include "engine/rewriting/init/kernel_facts.h"
#include "rewriters/syntax/host/read_unit.h"

namespace hone::init {

/// One launch with what its kernel does.
struct Stage {
  std::size_t id = 0;  ///< of the launch in UnitFacts::launches
  const syntax::HostLaunch* launch = nullptr;
  KernelFacts kernel;
};

/// Indices into `stages`, in order: with `kernel` the first launch of that name; else the first
/// group of launches of which each reads what another wrote, and that writes anything. A write by
/// the host in between ends the connection. `notes` says what stays out.
[[nodiscard]] std::vector<std::size_t> choose_stages(const std::vector<Stage>& stages,
                                                     const syntax::UnitFacts& facts,
                                                     const std::string& kernel,
                                                     std::vector<std::string>& notes);

}  // namespace hone::init
