#include "engine/search/ranking/training/dataset.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace hone::ranking {
namespace {

/// What is known of a task before its candidates are looked at.
struct KnownTask {
  Task task;
  TaskFacts facts;
  std::string group;
};

Result<KnownTask> known_task(const Store& store, const std::string& hash, const std::string& arch,
                             Rewriting& rewriting) {
  auto task = store.find_task(hash);
  if (!task) return std::unexpected(task.error());
  KnownTask known{std::move(*task), {}, ""};
  const RewriteContext context{&known.task, known.task.sizes, target_limits(arch)};
  auto lifted = rewriting.lifted(context, known.task.reference);
  if (!lifted && !is_lasting(lifted.error())) return std::unexpected(lifted.error());
  known.group = lifted && !lifted->structure.empty() ? lifted->structure : known.task.family();
  auto facts =
      task_facts(known.task, lifted ? std::move(lifted->facts) : std::map<std::string, double>{},
                 context.target);
  if (!facts) return std::unexpected(facts.error());
  known.facts = std::move(*facts);
  return known;
}

bool is_skipped(const std::string& task, const std::vector<std::string>& skip) {
  return std::ranges::any_of(skip, [&](const std::string& name) { return task.starts_with(name); });
}

}  // namespace

Result<void> collect(const Store& store, const std::string& arch, Rewriting& rewriting,
                     const std::vector<std::string>& skip,
                     const std::function<void(const std::string& task)>& progress,
                     std::vector<TaskSamples>& all) {
  std::map<std::string, KnownTask> tasks;
  const auto names = store.tasks();
  if (!names) return std::unexpected(names.error());
  for (const TaskRecord& record : *names) {
    if (is_skipped(record.name, skip)) continue;
    progress(record.name);
    auto known = known_task(store, record.hash, arch, rewriting);
    if (!known && !is_lasting(known.error())) return std::unexpected(known.error());
    if (known) tasks.emplace(record.hash, std::move(*known));
  }
  std::string last;
  return store.timed_candidates(arch, [&](const TimedCandidate& one) {
    const auto known = tasks.find(one.task_hash);
    if (known == tasks.end()) return;
    const KnownTask& task = known->second;
    const auto concrete = instantiate(one.program, task.task.sizes);
    if (!concrete) return;
    const std::string place = one.task_hash + one.device_name + (one.modelled ? "~" : "");
    if (place != last)
      all.push_back({task.task.name, one.device_name, one.modelled, task.group, {}});
    last = place;
    all.back().samples.push_back({features_of(*concrete, task.facts),
                                  features_of(*concrete, task.facts, one.resources),
                                  std::log(one.time_us)});
  });
}

}  // namespace hone::ranking
