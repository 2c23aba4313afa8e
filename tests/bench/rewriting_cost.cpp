// What a search's rewriting costs, by hand, without a GPU: asks as a search on one does, and tells
// times that the ranking model makes up.
//   rewriting_cost TASK.cu [--asks 400] [--children N] [--arch sm_90] [--seed 1] [--sources FOLDER]
// --children: so many processes, and threads that ask them, as in a search. Without, all is done in
// one thread of this process, and each answer is timed.
// --sources: writes what the recipes yield at the timed sizes there, to compile it elsewhere.
#include <fmt/format.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <unordered_set>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/rewriting/remote_rewriting.h"
#include "engine/search/ranking/ranked_strategy.h"
#include "engine/search/requests/requests.h"
#include "engine/search/strategy/strategy.h"

namespace hone {
namespace {

struct Options {
  std::string task, arch = "sm_90", sources;
  int asks = 400, children = 0;
  std::uint64_t seed = 1;
};

double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Counts what is asked of the rewriting, and the processor time of the answers.
class Counted final : public Rewriting {
 public:
  Result<Rewritten> apply(const RewriteContext& context, const Program& program, const Step& step,
                          bool with_hash) override {
    const bool timed = context.sizes == context.task->sizes;
    const double begin = processor_ms();
    auto answer = local_.apply(context, program, step, with_hash);
    count((timed ? "apply " : "apply at check sizes ") + step.rewriter, begin);
    return answer;
  }
  Result<std::vector<Proposal>> proposals(const RewriteContext& context,
                                          const Program& program) override {
    const double begin = processor_ms();
    auto answer = local_.proposals(context, program);
    count("proposals", begin);
    return answer;
  }

  Result<schedules::Explanation> lifted(const RewriteContext& context,
                                        const Program& program) override {
    return local_.lifted(context, program);
  }
  Result<NestOutputs> executed(const RewriteContext& context, const Program& program,
                               std::uint64_t seed, const std::stop_token& stopping) override {
    return local_.executed(context, program, seed, stopping);
  }
  Result<void> validate(const Program& program, const std::string& path) override {
    return local_.validate(program, path);
  }
  Result<std::string> hash(const Program& program, const std::string& path) override {
    return local_.hash(program, path);
  }
  std::string formatted(const std::string& source) override { return local_.formatted(source); }
  Result<InitResult> init(const InitRequest& request) override { return local_.init(request); }
  void cancel() override {}
  void resume() override {}

  struct Cost {
    int count = 0;
    double ms = 0;
  };
  std::map<std::string, Cost> costs;

 private:
  void count(const std::string& name, double begin) {
    Cost& cost = costs[name];
    ++cost.count;
    cost.ms += processor_ms() - begin;
  }

  LocalRewriting local_;
};

/// Of all processes that descend from this one and still run.
double descendants_ms() {
  std::map<int, std::pair<int, double>> all;  // parent and processor time, by process
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream fields(text.substr(name_end + 2));
    std::string skipped;
    int parent = 0;
    double user = 0, system = 0;
    fields >> skipped >> parent;
    for (int i = 0; i < 9; ++i) fields >> skipped;
    fields >> user >> system;
    all[std::atoi(text.c_str())] = {
        parent, 1e3 * (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK))};
  }
  double sum = 0;
  for (const auto& [id, process] : all) {
    int ancestor = process.first;
    while (ancestor > 1 && ancestor != getpid())
      ancestor = all.contains(ancestor) ? all.at(ancestor).first : 0;
    if (ancestor == getpid()) sum += process.second;
  }
  return sum;
}

class Asking {
 public:
  Asking(const Options& options, RequestBuilder& builder, Strategy& strategy,
         const ranking::Ranker& judge)
      : options_(options), builder_(builder), strategy_(strategy), judge_(judge) {}

  void run() {
    for (int i = next_++; i < options_.asks; i = next_++) strategy_.tell(one(i));
  }

  std::atomic<int> refused = 0, repeated = 0;
  [[nodiscard]] std::size_t found() const { return known_.size(); }

 private:
  Outcome one(int i) {
    Outcome outcome{.recipe = strategy_.ask()};
    const auto rewritten = builder_.space().rewritten(outcome.recipe);
    if (!rewritten) {
      ++refused;
      return outcome;
    }
    // The model's own error is about so large.
    const double noise = static_cast<double>(std::hash<std::string>()(rewritten->hash) % 100);
    outcome.time_us = std::exp(judge_.predict(rewritten->program).value_or(0) + noise / 100);
    outcome.verdict = Verdict::kOk;
    {
      const std::lock_guard lock(mutex_);
      outcome.duplicate = !known_.insert(rewritten->hash).second;
    }
    if (outcome.duplicate) {
      ++repeated;
      return outcome;
    }
    const auto request = builder_.for_rewritten(rewritten->program, outcome.recipe, 1);
    if (!request) outcome.verdict = Verdict::kRefused;
    if (request && !options_.sources.empty()) {
      const auto stem = fmt::format("{}/{:04}", options_.sources, i);
      std::ofstream(stem + ".cu") << request->timed.candidate.source;
      std::ofstream recipe(stem + ".recipe");
      for (const Step& step : outcome.recipe) recipe << to_string(step) << "\n";
    }
    return outcome;
  }

  const Options& options_;
  RequestBuilder& builder_;
  Strategy& strategy_;
  const ranking::Ranker& judge_;
  std::atomic<int> next_ = 0;
  std::mutex mutex_;
  std::unordered_set<std::string> known_;  ///< hashes
};

Result<void> search(const Options& options, const Task& task, Rewriting& rewriting) {
  auto builder = RequestBuilder::make(rewriting, task, target_limits(options.arch), {});
  if (!builder) return std::unexpected(builder.error());
  Space& space = (*builder)->space();
  const auto model = ranking::built_in_model(options.arch);
  auto ranker = ranking::Ranker::make(model, space.context(), rewriting);
  const auto judge = ranking::Ranker::make(model, space.context(), rewriting);
  if (!ranker || !judge) return invalid("there is no model for " + options.arch);
  const double reference_us = std::exp(judge->predict(task.reference).value_or(0));
  RankedStrategy strategy(strategies().front().make(space, options.seed, reference_us),
                          std::move(ranker), space, options.seed);
  Asking asking(options, **builder, strategy, *judge);
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i < options.children; ++i) threads.emplace_back([&] { asking.run(); });
    asking.run();
  }
  fmt::print("{} asks, {} refused, {} repeated, {} new\n", options.asks, asking.refused.load(),
             asking.repeated.load(), asking.found());
  return {};
}

int run(const Options& options) {
  const auto task = read_task(options.task);
  if (!task) return fmt::print(stderr, "{}\n", task.error().message), 1;
  const double begin = processor_ms();
  double children_ms = 0;
  Counted counted;
  Result<void> done;
  if (options.children > 0) {
    RemoteRewritingOptions remote;
    remote.sandbox = sandbox::Mode::kOff;
    remote.processes = options.children;
    RemoteRewriting rewriting(remote);
    done = search(options, *task, rewriting);
    children_ms = descendants_ms();
  } else {
    done = search(options, *task, counted);
  }
  if (!done) return fmt::print(stderr, "{}\n", done.error().message), 1;
  const double ms = processor_ms() - begin;
  fmt::print("{:.1f} ms of this process and {:.1f} ms of children per ask\n", ms / options.asks,
             children_ms / options.asks);
  for (const auto& [name, cost] : counted.costs)
    fmt::print("{:45} {:6} {:8.2f} ms each {:6.1f} %\n", name, cost.count, cost.ms / cost.count,
               100 * cost.ms / ms);
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  hone::Options options;
  CLI::App app("What a search's rewriting costs.");
  app.add_option("task", options.task)->required();
  app.add_option("--asks", options.asks);
  app.add_option("--children", options.children);
  app.add_option("--arch", options.arch);
  app.add_option("--seed", options.seed);
  app.add_option("--sources", options.sources);
  CLI11_PARSE(app, argc, argv);
  if (!options.sources.empty()) std::filesystem::create_directories(options.sources);
  return hone::run(options);
}
