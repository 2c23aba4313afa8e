// Nests as text.
#include "rewriters/nest/nest.h"

#include <fmt/format.h>

namespace hone::nest {

std::string to_string(const Nodes& nodes, const LiftedLaunch& launch) {
  std::string text = launch.kernel + ":\n";
  for (const Nest& nest : launch.nests) {
    std::string over;
    for (const SymbolId symbol : nest.dims) {
      over += fmt::format("{}{} < {}", over.empty() ? "" : ", ", nodes.symbol(symbol).name,
                          nodes.extent(symbol));
    }
    text += fmt::format("  for {}:{}\n    {}[{}] {}= {}\n", over.empty() ? "once" : over,
                        nest.guard->is_constant() ? "" : " if " + to_string(nodes, nest.guard),
                        nest.buffer, to_string(nodes, nest.element),
                        nest.combine ? info(*nest.combine).name : "", to_string(nodes, nest.value));
  }
  return text;
}

std::string to_string(const LiftedProgram& program) {
  std::string text;
  for (const LiftedLaunch& launch : program.launches) {
    text += launch.refusal.empty() ? to_string(*program.nodes, launch)
                                   : "not lifted: " + launch.refusal + "\n";
  }
  return text;
}

}  // namespace hone::nest
