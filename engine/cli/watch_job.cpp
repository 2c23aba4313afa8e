#include "engine/cli/watch_job.h"

#include <fmt/core.h>

#include <chrono>
#include <thread>

#include "engine/cli/interrupt.h"
#include "engine/results/json.h"

namespace hone::cli {
namespace {

constexpr auto kLooks = std::chrono::milliseconds(250);

std::string line_of(const queue::JobStatus& status, const queue::ArchProgress& arch) {
  std::string line =
      fmt::format("{} {}: {:.0f} s, {} proposed, {} evaluated", arch.arch, to_string(status.state),
                  arch.elapsed_s, arch.counts.proposed, arch.counts.evaluated());
  if (arch.best_time_us > 0) {
    line += fmt::format(", best {} ({:.2f}x)", format_time(arch.best_time_us),
                        arch.reference_time_us / arch.best_time_us);
    if (!arch.best_recipe.empty()) line += " " + arch.best_recipe;
  }
  return line;
}

}  // namespace

int watch_job(queue::Broker& broker, const std::string& id, const Common& common) {
  const auto& stop = watch_interrupts();
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  queue::JobStatus last;
  while (true) {
    auto status = broker.status(id);
    if (!status) return common.fail(status.error());
    const bool ended = status->state >= queue::JobState::kDone;
    for (std::size_t i = 0; i < status->archs.size(); ++i) {
      const std::string line = line_of(*status, status->archs[i]);
      if (i >= last.archs.size() || line != line_of(last, last.archs[i])) {
        fmt::print(out, "{}\n", line);
        std::fflush(out);
      }
    }
    if (status->waits != last.waits) {
      fmt::print(out, "{}\n", status->waits.empty() ? "goes on" : "waits: " + status->waits);
      std::fflush(out);
    }
    last = std::move(*status);
    if (ended) break;
    if (stop) {
      fmt::print(stderr, "hone: job {} goes on; `hone cancel {}` ends it\n", id, id);
      break;
    }
    std::this_thread::sleep_for(kLooks);
  }
  if (last.state >= queue::JobState::kDone) {
    fmt::print(out, "{}: {}{}{}\n", id, to_string(last.state), last.error.empty() ? "" : ": ",
               last.error);
    if (last.model && !last.model->note.empty())
      fmt::print(out, "  language model: {}\n", last.model->note);
    if (last.model && last.model->use.used)
      fmt::print(out, "  language model: {}\n", results::model_use_text(last.model->use));
    for (const auto& arch : last.archs)
      if (!arch.best_candidate.empty())
        fmt::print(out, "  {}: best {}\n", arch.arch, arch.best_candidate);
  }
  if (!common.write_json(results::job_json(last))) return kEnvironmentLacks;
  return last.state == queue::JobState::kDone || last.state < queue::JobState::kDone ? kDone
                                                                                     : kCheckFailed;
}

}  // namespace hone::cli
