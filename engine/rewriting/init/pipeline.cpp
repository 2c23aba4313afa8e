#include "engine/rewriting/init/pipeline.h"

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <set>

namespace hone::init {

using syntax::HostArgument;
using syntax::HostEvent;

std::vector<std::size_t> choose_stages(const std::vector<Stage>& stages,
                                       const syntax::UnitFacts& facts, const std::string& kernel,
                                       std::vector<std::string>& notes) {
  std::vector<std::size_t> chosen;
  if (!kernel.empty()) {
    for (std::size_t i = 0; i < stages.size() && chosen.empty(); ++i)
      if (stages[i].launch->plain == kernel) chosen.push_back(i);
    return chosen;
  }
  std::vector<std::size_t> group(stages.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto root = [&](std::size_t i) {
    while (group[i] != i) i = group[i];
    return i;
  };
  std::map<int, std::size_t> writer;
  std::vector<bool> writes(stages.size());
  for (const HostEvent& event : facts.events) {
    if (event.kind == HostEvent::Kind::kWrite || event.kind == HostEvent::Kind::kZero)
      writer.erase(event.index);
    if (event.kind != HostEvent::Kind::kLaunch) continue;
    std::size_t i = 0;
    while (i < stages.size() && stages[i].id != static_cast<std::size_t>(event.index)) ++i;
    if (i == stages.size()) continue;
    const auto& args = stages[i].launch->args;
    const auto& parameters = stages[i].kernel.parameters;
    for (std::size_t a = 0; a < args.size() && a < parameters.size(); ++a) {
      if (args[a].kind != HostArgument::Kind::kBuffer || !parameters[a].read) continue;
      const auto from = writer.find(args[a].buffer);
      if (from != writer.end()) group[root(i)] = root(from->second);
    }
    for (std::size_t a = 0; a < args.size() && a < parameters.size(); ++a) {
      if (!parameters[a].written) continue;
      writes[i] = true;
      if (args[a].kind == HostArgument::Kind::kBuffer) writer[args[a].buffer] = i;
    }
  }
  // Groups by their first launch; a launch without a buffer that it writes is no task.
  std::size_t first = stages.size();
  for (std::size_t i = 0; i < stages.size() && first == stages.size(); ++i)
    if (writes[i]) first = root(i);
  std::set<std::string> left_out;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (first < stages.size() && root(i) == first) {
      chosen.push_back(i);
    } else {
      left_out.insert(stages[i].launch->plain);
    }
  }
  for (const std::size_t i : chosen) left_out.erase(stages[i].launch->plain);
  for (const std::string& name : left_out)
    notes.push_back(fmt::format(
        "kernel {} is launched apart from these and is not here: --kernel {} makes its task", name,
        name));
  return chosen;
}

}  // namespace hone::init
