#include "rewriters/schedules/cluster.h"

#include <fmt/format.h>

namespace hone::schedules {

std::int64_t cluster_slots(const Team& team, int cluster, bool turns) {
  return std::int64_t{turns ? 2 : 1} * team.teams * cluster * (team.threads / 32);
}

void emit_cluster_fold(Code& code, Names& names, Helpers& helpers, const Team& team, int cluster,
                       bool turns, const std::vector<Accumulator>& accumulators) {
  if (accumulators.empty()) return;
  emit_lane_fold(code, names, "32", accumulators);
  const std::string turn = turns ? "[2]" : "", rows = team.teams > 1 ? "[kRowsPerBlock]" : "";
  const std::vector<FoldSlots> slots =
      declare_slots(code, names, turn + rows + "[kCluster * kWarps]", accumulators);
  const std::string own = std::string(turns ? "[turn]" : "") + (team.teams > 1 ? "[team]" : "");

  code.open("if (lane % 32 < kCluster)");
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const auto push = [&](const std::string& into, const std::string& value) {
      code.line(fmt::format("{}(&{}{}[rank * kWarps + lane / 32], lane % 32, {});",
                            helpers.cluster("push"), into, own, value));
    };
    push(slots[i].values, accumulators[i].name);
    if (accumulators[i].finds_place()) push(slots[i].places, accumulators[i].place);
  }
  code.close();
  code.line(helpers.cluster("cluster_arrive") + "();");
  code.line(helpers.cluster("cluster_wait") + "();");

  const int all = cluster * team.threads / 32;
  const auto slot = [&](const std::string& name, const std::string& at) {
    return name + own + "[" + at + "]";
  };
  const std::string mine = all < 32 ? "lane % (kCluster * kWarps)" : "lane % 32";
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const Accumulator& one = accumulators[i];
    code.line(fmt::format("{} = {};", one.name, slot(slots[i].values, mine)));
    if (one.finds_place()) {
      code.line(fmt::format("{} = {};", one.place, slot(slots[i].places, mine)));
    }
  }
  if (all > 32) {
    const std::string from = names.fresh("part");
    code.line("#pragma unroll");
    code.open(fmt::format("for (int {0} = 32; {0} < kCluster * kWarps; {0} += 32)", from));
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
      const std::string at = from + " + lane % 32";
      accumulators[i].merge(code, slot(slots[i].values, at), slot(slots[i].places, at));
    }
    code.close();
  }
  emit_lane_fold(code, names, all < 32 ? "(kCluster * kWarps)" : "32", accumulators);
}

}  // namespace hone::schedules
