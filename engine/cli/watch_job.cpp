#include "engine/cli/watch_job.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "engine/cli/interrupt.h"
#include "engine/cli/table.h"
#include "engine/results/json.h"

namespace hone::cli {
namespace watch_detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLooks = std::chrono::milliseconds(250);
constexpr auto kStateLooks = std::chrono::seconds(2);  // at workers, coordinator and line
constexpr auto kPlainEvery = std::chrono::seconds(10);

std::string best_of(const queue::ArchProgress& arch) {
  if (arch.best_time_us <= 0) return "";
  return fmt::format(", best {} ({:.2f}x){}{}", format_time(arch.best_time_us),
                     arch.reference_time_us / arch.best_time_us,
                     arch.best_recipe.empty() ? "" : " ", arch.best_recipe);
}

std::string of_budget(const JobView& job, const queue::ArchProgress& arch) {
  std::string seconds = fmt::format("{:.0f} s", arch.elapsed_s);
  std::string evaluated = fmt::format("{} evaluated", arch.counts.evaluated());
  if (job.row.about) {
    const Budget& budget = job.row.about->budget;
    if (budget.seconds > 0) seconds += fmt::format(" of {:.0f} s", budget.seconds);
    if (budget.evaluations > 0) evaluated += fmt::format(" of {}", budget.evaluations);
  }
  return fmt::format("{}, {} proposed, {}", seconds, arch.counts.proposed, evaluated);
}

/// The lines without what changes all the time: where these are the same, there is no news.
std::string news_of(const JobView& job) {
  std::string news = fmt::format("{} {}", to_string(job.row.status.state), job.waits);
  for (const auto& arch : job.row.status.archs)
    news += fmt::format("\n{} {}", arch.best_time_us, arch.counts.evaluated() > 0);
  return news;
}

std::size_t width_of(std::FILE* out) {
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 80;
}

/// Whole characters only: a recipe may hold others than ASCII's.
std::string cut(std::string line, std::size_t width) {
  if (line.size() <= width) return line;
  std::size_t end = width - 3;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  return line.substr(0, end) + "...";
}

/// The lines of a terminal that are written again and again.
class Painter {
 public:
  explicit Painter(std::FILE* out) : out_(out), terminal_(isatty(fileno(out)) != 0) {}
  ~Painter() { wipe(); }
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  void show(const JobView& job) {
    const auto lines = watch_lines(job);
    if (!terminal_) {
      const std::string news = news_of(job);
      if (lines == lines_ || (news == news_ && Clock::now() - said_ < kPlainEvery)) return;
      news_ = news;
      said_ = Clock::now();
      for (const auto& line : lines) fmt::print(out_, "{}\n", line);
    } else if (lines != lines_) {
      wipe();
      for (const auto& line : lines) fmt::print(out_, "{}\n", cut(line, width_of(out_) - 1));
      drawn_ = lines.size();
    }
    lines_ = lines;
    std::fflush(out_);
  }

  /// What was drawn gives way to what comes.
  void wipe() {
    for (; drawn_ > 0; --drawn_) fmt::print(out_, "\033[A\r\033[K");
    std::fflush(out_);
  }

 private:
  std::FILE* out_;
  const bool terminal_;
  std::vector<std::string> lines_;
  std::string news_;
  std::size_t drawn_ = 0;
  Clock::time_point said_;
};

void print_end(std::FILE* out, const JobView& job) {
  const queue::JobStatus& status = job.row.status;
  fmt::print(out, "{}: {}{}{}\n", status.id, to_string(status.state),
             status.error.empty() ? "" : ": ", status.error);
  if (status.model && !status.model->note.empty())
    fmt::print(out, "  language model: {}\n", status.model->note);
  if (status.model && status.model->use.used)
    fmt::print(out, "  language model: {}\n", results::model_use_text(status.model->use));
  fmt::print(out, "{}", result_rows(job));
}

}  // namespace
}  // namespace watch_detail

std::vector<std::string> watch_lines(const JobView& job) {
  using namespace watch_detail;
  const queue::JobStatus& status = job.row.status;
  const std::string state(to_string(status.state));
  const std::string waits = job.waits.empty() ? "" : ", " + job.waits;
  if (status.archs.empty()) return {state + waits};
  std::vector<std::string> lines;
  if (status.archs.size() <= 2) {
    for (const auto& arch : status.archs) {
      const bool unserved = std::ranges::find(job.unserved, arch.arch) != job.unserved.end();
      lines.push_back(
          fmt::format("{} {}{}{}{}: {}{}", arch.arch, state, job.held.empty() ? "" : ", ", job.held,
                      unserved ? ", waits for a worker" : "", of_budget(job, arch), best_of(arch)));
    }
    return lines;
  }
  std::int64_t evaluated = 0;
  for (const auto& arch : status.archs) evaluated += arch.counts.evaluated();
  lines.push_back(fmt::format("{} architectures {}{}: {} evaluated", status.archs.size(), state,
                              waits, evaluated));
  const auto speedup = [](const queue::ArchProgress& arch) {
    return arch.best_time_us > 0 ? arch.reference_time_us / arch.best_time_us : 0;
  };
  const auto& best = *std::ranges::max_element(status.archs, {}, speedup);
  if (best.best_time_us > 0) lines.push_back(best.arch + best_of(best));
  return lines;
}

std::string result_rows(const JobView& job) {
  using enum Table::Align;
  Table table;
  table.column("arch", kLeft);
  table.column("device", kLeft);
  table.column("rank", kRight);
  table.column("candidate", kLeft);
  table.column("time", kRight);
  table.column("speedup", kRight);
  table.column("evaluated", kRight);
  table.column("recipe", kLeft);
  bool any = false;
  for (const auto& arch : job.row.status.archs) {
    if (arch.best_candidate.empty()) continue;
    any = true;
    const auto place = std::ranges::find(job.row.places, arch.arch, &queue::JobPlace::arch);
    const bool placed = place != job.row.places.end();
    table.add({arch.arch, placed ? place->device_name : "",
               placed ? fmt::format("{}", place->rank) : "", arch.best_candidate,
               format_time(arch.best_time_us),
               fmt::format("{:.2f}x", arch.reference_time_us / arch.best_time_us),
               fmt::format("{}", arch.counts.evaluated()),
               arch.best_recipe.empty() ? "(the reference itself)" : arch.best_recipe});
  }
  if (!any) return "";
  return (job.row.about ? job.row.about->task + "\n" : "") + table.text();
}

int watch_job(queue::Broker& broker, const std::string& id, const RedisOptions& redis,
              const Common& common) {
  using namespace watch_detail;
  const auto& stop = watch_interrupts();
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  auto first = broker.row(id);
  if (!first) return common.fail(first.error());
  JobView job{std::move(*first), 0, "", {}, ""};
  const auto running = [&] { return !queue::has_ended(job.row.status.state); };
  if (running() && job.row.about)
    for (const std::string& warning : warnings_for(job.row.about->archs, broker))
      fmt::print(stderr, "hone: {}\n", warning);
  {
    Painter painter(out);
    ServiceState around;
    Clock::time_point looked{};
    while (true) {
      if (running() && Clock::now() - looked > kStateLooks) {
        auto now = service_state(broker, job.row.status.state == queue::JobState::kQueued);
        if (!now) return common.fail(now.error());
        around = std::move(*now);
        looked = Clock::now();
      }
      job = view_of(std::move(job.row), around);
      painter.show(job);
      if (!running() || stop) break;
      std::this_thread::sleep_for(kLooks);
      const auto state = job.row.status.state;
      auto status = broker.status(id);
      if (!status) return common.fail(status.error());
      job.row.status = std::move(*status);
      if (job.row.status.state != state) looked = {};
    }
  }
  if (!running()) {  // ranks are known at the end only: the whole row is read again
    auto ended = broker.row(id);
    if (!ended) return common.fail(ended.error());
    job.row = std::move(*ended);
  }
  if (running()) {
    for (const auto& line : watch_lines(job)) fmt::print(out, "{}\n", line);
    fmt::print(stderr, "hone: job {} goes on; `hone cancel {}{}` ends it\n", id, id,
               redis.as_typed());
  } else {
    print_end(out, job);
  }
  if (!common.write_json(results::job_json(job))) return kEnvironmentLacks;
  const bool well = running() || job.row.status.state == queue::JobState::kDone;
  return well ? kDone : kCheckFailed;
}

}  // namespace hone::cli
