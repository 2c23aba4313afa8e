#include "engine/service/job_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "engine/queue/messages.h"

namespace hone {
namespace job_views_detail {
namespace {

using queue::JobState;

constexpr std::size_t kNamed = 3;  // workers, in one line

/// "1st", "2nd", "3rd", "11th".
std::string ordinal(int n) {
  const bool teen = n % 100 >= 11 && n % 100 <= 13;
  const char* end = teen          ? "th"
                    : n % 10 == 1 ? "st"
                    : n % 10 == 2 ? "nd"
                    : n % 10 == 3 ? "rd"
                                  : "th";
  return fmt::format("{}{}", n, end);
}

/// Is there a worker that takes work for this architecture?
bool is_served(const std::string& arch, const std::vector<queue::WorkerMessage>& workers) {
  return std::ranges::any_of(workers, [&](const queue::WorkerMessage& worker) {
    return !worker.draining &&
           std::ranges::any_of(worker.devices, [&](const queue::WorkerDevice& device) {
             return (device.modelled ? device.pool : device.info.arch) == arch;
           });
  });
}

std::vector<std::string> unserved(const std::vector<std::string>& archs,
                                  const ServiceState& state) {
  std::vector<std::string> missing;
  for (const auto& arch : archs)
    if (!is_served(arch, state.workers.workers)) missing.push_back(arch);
  return missing;
}

/// Workers of other versions that have such devices: "w1 (hone 0.2.0)".
std::vector<std::string> foreign_for(const std::string& arch, const ServiceState& state) {
  std::vector<std::string> names;
  for (const auto& worker : state.workers.foreign)
    if (std::ranges::any_of(worker.devices, [&](const queue::ForeignWorker::Device& device) {
          return (device.modelled ? device.pool : device.arch) == arch;
        }))
      names.push_back(
          fmt::format("{} (hone {})", worker.id, worker.version.empty() ? "?" : worker.version));
  return names;
}

}  // namespace
}  // namespace job_views_detail

Result<ServiceState> service_state(queue::Broker& broker, bool with_line) {
  ServiceState state;
  const auto leads = broker.has_leader();
  if (!leads) return std::unexpected(leads.error());
  state.leads = *leads;
  auto trouble = broker.trouble();
  if (!trouble) return std::unexpected(trouble.error());
  state.trouble = std::move(*trouble);
  const auto model = broker.has_language_model();
  if (!model) return std::unexpected(model.error());
  state.language_model = *model;
  auto workers = broker.registered();
  if (!workers) return std::unexpected(workers.error());
  state.workers = std::move(*workers);
  if (with_line) {
    auto line = broker.line();
    if (!line) return std::unexpected(line.error());
    state.line = std::move(*line);
  }
  state.now_ms = broker.now_ms();
  return state;
}

JobView view_of(queue::JobRow row, const ServiceState& state) {
  using namespace job_views_detail;
  JobView view{std::move(row), 0, "", {}, ""};
  const queue::JobStatus& status = view.row.status;
  if (queue::has_ended(status.state)) return view;
  if (status.state == JobState::kQueued) {
    const auto place = std::ranges::find(state.line, status.id);
    if (place != state.line.end()) view.place = static_cast<int>(place - state.line.begin()) + 1;
  }
  std::vector<std::string> archs;
  if (view.row.about) archs = view.row.about->archs;
  if (archs.empty())
    for (const auto& progress : status.archs) archs.push_back(progress.arch);
  if (!state.trouble.empty()) {  // also why nobody leads, where nobody does
    view.held = state.trouble;
  } else if (!state.leads) {
    view.held = "no coordinator leads";
  } else if (view.place > 0) {
    view.held = ordinal(view.place) + " in line";
  }
  view.waits = view.held;
  // At the end nothing is left to search for.
  if (status.state == JobState::kFinishing) return view;
  view.unserved = unserved(archs, state);
  if (!view.unserved.empty())
    view.waits += fmt::format("{}waits for a worker for {}", view.waits.empty() ? "" : "; ",
                              fmt::join(view.unserved, ", "));
  return view;
}

Result<std::vector<JobView>> job_views(queue::Broker& broker, const queue::JobFilter& filter,
                                       int limit) {
  auto rows = broker.rows(filter, limit);
  if (!rows) return std::unexpected(rows.error());
  // What has ended waits for nothing: most lists need no more than themselves.
  const auto any = [&](auto is) {
    return std::ranges::any_of(*rows, [&](const auto& row) { return is(row.status.state); });
  };
  ServiceState state;
  if (any([](queue::JobState s) { return !queue::has_ended(s); })) {
    auto now =
        service_state(broker, any([](queue::JobState s) { return s == queue::JobState::kQueued; }));
    if (!now) return std::unexpected(now.error());
    state = std::move(*now);
  }
  std::vector<JobView> views;
  for (auto& row : *rows) views.push_back(view_of(std::move(row), state));
  return views;
}

Result<JobView> job_view(queue::Broker& broker, const std::string& id) {
  auto row = broker.row(id);
  if (!row) return std::unexpected(row.error());
  if (queue::has_ended(row->status.state)) return view_of(std::move(*row), {});
  const auto state = service_state(broker, row->status.state == queue::JobState::kQueued);
  if (!state) return std::unexpected(state.error());
  return view_of(std::move(*row), *state);
}

std::vector<std::string> served_archs(const std::vector<queue::WorkerMessage>& workers) {
  std::set<std::string> archs;
  for (const auto& worker : workers)
    for (const auto& device : worker.devices)
      if (!worker.draining) archs.insert(device.modelled ? device.pool : device.info.arch);
  return {archs.begin(), archs.end()};
}

std::vector<std::string> warnings_for(const std::vector<std::string>& archs,
                                      const ServiceState& state) {
  using namespace job_views_detail;
  std::vector<std::string> warnings;
  if (!state.leads)
    warnings.emplace_back("no coordinator leads now: the job waits for one (`hone coordinator`)");
  for (const auto& arch : unserved(archs, state)) {
    const auto others = foreign_for(arch, state);
    if (others.empty()) {
      warnings.push_back(fmt::format("no worker for {} is there now: the job waits for one", arch));
      continue;
    }
    const std::span first(others.data(), std::min(others.size(), kNamed));
    warnings.push_back(fmt::format(
        "for {} only workers of another version are there, which take no work of hone " HONE_VERSION
        ": {}{}",
        arch, fmt::join(first, ", "),
        others.size() > kNamed ? fmt::format(" and {} more", others.size() - kNamed) : ""));
  }
  return warnings;
}

std::vector<std::string> warnings_for(const std::vector<std::string>& archs,
                                      queue::Broker& broker) {
  const auto state = service_state(broker, false);
  return state ? warnings_for(archs, *state) : std::vector<std::string>();
}

}  // namespace hone
