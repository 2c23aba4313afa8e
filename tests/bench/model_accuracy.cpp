// How well the time model ranks candidates that a real GPU has measured. Reads a data set made by
// tests/bench/model_dataset.py (recipes and measured times), replays every recipe, compiles it,
// samples it on the emulator and compares the modelled times with the measured ones.
//   model_accuracy DATASET [--set judge|fit|all] [--task NAME] [--cache FILE] [--jobs N]
//                  [--worst N] [--spills]
// --spills: of the candidates whose machine code moves local memory, measured and modelled
// times, and what the model would say if nobody charged it for that. A cache keeps what was
// counted, so that only the model itself is run again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "candidates/recipe.h"
#include "candidates/task_reader.h"
#include "engine/rewriting/launch_check.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"
#include "tests/bench/modelled_time.h"

namespace hone {
namespace {

using nlohmann::json;

/// Counters and launches as bytes: the cache belongs to one build.
json to_cache(const Sampled& sampled) {
  json launches = json::array();
  for (const auto& l : sampled.launches) {
    std::vector<std::uint64_t> words(sizeof(emulator::Counters) / 8);
    std::memcpy(words.data(), &l.counters, sizeof l.counters);
    launches.push_back({{"counters", words},
                        {"grid", l.config.grid},
                        {"block", l.config.block},
                        {"shared", l.config.dynamic_shared_bytes},
                        {"registers", l.registers},
                        {"static_shared", l.static_shared_bytes}});
  }
  return {{"failure", sampled.failure}, {"launches", launches}};
}

Sampled from_cache(const json& j) {
  Sampled sampled;
  sampled.failure = j["failure"];
  for (const auto& l : j["launches"]) {
    runner::LaunchSample s;
    const auto words = l["counters"].get<std::vector<std::uint64_t>>();
    std::memcpy(static_cast<void*>(&s.counters), words.data(),
                std::min(words.size() * 8, sizeof s.counters));
    s.config.grid = l["grid"];
    s.config.block = l["block"];
    s.config.dynamic_shared_bytes = l["shared"];
    s.registers = l["registers"];
    s.static_shared_bytes = l["static_shared"];
    sampled.launches.push_back(std::move(s));
  }
  return sampled;
}

/// As if ptxas had spilled nothing.
runner::LaunchSample uncharged(runner::LaunchSample l) {
  emulator::Counters& c = l.counters;
  c.local_loads = c.local_stores = c.local_load_lines = c.local_store_lines = 0;
  c.frame_bytes = c.spilled_in_loops = 0;
  return l;
}

bool spills(const Sampled& sampled) {
  return std::ranges::any_of(sampled.launches, [](const auto& l) {
    return l.counters.local_loads + l.counters.local_stores > 0;
  });
}

struct Options {
  std::string dataset, set = "judge", task, cache, arch = "sm_90";
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  int worst = 0;
  bool spills = false;
};

/// One that spills: what charging it changes.
struct Spilling {
  std::string task, recipe;
  double measured = 0, uncharged = 0, modelled = 0;  // [us]
};

double error_of(double modelled, double measured) { return std::fabs(modelled / measured - 1); }

void print(const std::vector<Spilling>& all) {
  fmt::print("\n{:22} {:>10} {:>10} {:>10}\n", "with local memory", "measured", "uncharged",
             "modelled");
  std::map<std::string, std::vector<const Spilling*>> by_task;
  std::vector<double> before;
  std::vector<double> after;
  for (const Spilling& s : all) {
    fmt::print("{:22} {:10.1f} {:10.1f} {:10.1f}  {}\n", s.task, s.measured, s.uncharged,
               s.modelled, s.recipe);
    by_task[s.task].push_back(&s);
    before.push_back(error_of(s.uncharged, s.measured));
    after.push_back(error_of(s.modelled, s.measured));
  }
  for (const auto& [task, rows] : by_task) {
    double sum_before = 0;
    double sum_after = 0;
    for (const Spilling* s : rows) {
      sum_before += error_of(s->uncharged, s->measured);
      sum_after += error_of(s->modelled, s->measured);
    }
    const auto n = static_cast<double>(rows.size());
    fmt::print("{:22} {:4}: MAPE {:.1f} % uncharged, {:.1f} % charged\n", task, rows.size(),
               100 * sum_before / n, 100 * sum_after / n);
  }
  const auto mean = [](const std::vector<double>& v) {
    return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  fmt::print("all {:4}: MAPE {:.1f} % uncharged, {:.1f} % charged; median {:.1f} and {:.1f} %\n",
             all.size(), 100 * mean(before), 100 * mean(after), 100 * median(before),
             100 * median(after));
}

struct Row {
  json const* entry = nullptr;
  double measured = 0, modelled = 0;
  std::string bound;
};

int run(const Options& options) {
  std::ifstream file(options.dataset);
  const json data = json::parse(file, nullptr, false);
  if (!data.is_object()) {
    fmt::print(stderr, "{}: no data set\n", options.dataset);
    return 2;
  }
  const auto* profile = emulator::find_profile(options.arch);
  json cache = json::object();
  if (!options.cache.empty()) {
    std::ifstream in(options.cache);
    if (in) cache = json::parse(in, nullptr, false);
    if (!cache.is_object()) cache = json::object();
  }
  std::vector<Spilling> spilling;
  std::vector<double> all_spearman;
  std::vector<double> all_slowdown;
  std::vector<double> all_mape;
  fmt::print("{:22} {:>4} {:>9} {:>9} {:>9} {:>11}\n", "task", "n", "spearman", "top-5", "MAPE",
             "model/true");
  for (const auto& [name, task_data] : data["tasks"].items()) {
    if (!options.task.empty() && options.task != name) continue;
    const std::string path =
        std::string(HONE_SOURCE_DIR) + "/" + task_data["file"].get<std::string>();
    const auto task = read_task(path);
    if (!task) {
      fmt::print(stderr, "{}: {}\n", path, task.error().message);
      return 2;
    }
    LocalRewriting rewriting;  // recorded recipes of our own tasks
    auto builder = RequestBuilder::make(rewriting, *task, target_limits(options.arch), {});
    if (!builder) return 2;
    std::vector<Row> rows;
    for (const auto& entry : task_data["candidates"]) {
      if (options.set != "all" && entry["set"] != options.set) continue;
      rows.push_back({&entry, entry["time_us"], 0, ""});
    }
    // Replay here (the space is not thread-safe), sample in parallel.
    std::vector<std::pair<std::size_t, ConcreteProgram>> work;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string key = name + (*rows[i].entry)["recipe"].dump();
      if (cache.contains(key)) continue;
      const auto recipe = recipe_from_json((*rows[i].entry)["recipe"]);
      if (!recipe) continue;
      auto request = (*builder)->for_recipe(*recipe, 1);
      if (!request) {
        cache[key] = to_cache({{}, request.error().message});
        continue;
      }
      work.emplace_back(i, std::move(request->timed.candidate));
    }
    std::mutex mutex;
    std::size_t next = 0;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < options.jobs; ++t)
        threads.emplace_back([&] {
          while (true) {
            std::size_t k;
            {
              const std::lock_guard lock(mutex);
              if (next == work.size()) return;
              k = next++;
            }
            auto sampled = to_cache(sample(work[k].second, options.arch));
            const std::lock_guard lock(mutex);
            cache[name + (*rows[work[k].first].entry)["recipe"].dump()] = std::move(sampled);
          }
        });
    }
    std::vector<double> measured;
    std::vector<double> modelled;
    std::vector<Row> kept;
    for (Row& row : rows) {
      const auto sampled = from_cache(cache[name + (*row.entry)["recipe"].dump()]);
      if (!sampled.failure.empty()) {
        fmt::print(stderr, "{}: {}: {}\n", name, (*row.entry)["recipe"].dump().substr(0, 80),
                   sampled.failure);
        continue;
      }
      row.modelled = modelled_us(sampled, *profile, row.bound);
      if (options.spills && spills(sampled)) {
        Sampled bare = sampled;
        for (auto& launch : bare.launches) launch = uncharged(launch);
        std::string bound;
        std::string text;
        if (const auto recipe = recipe_from_json((*row.entry)["recipe"]))
          for (const Step& step : *recipe) text += (text.empty() ? "" : "; ") + to_string(step);
        spilling.push_back(
            {name, text, row.measured, modelled_us(bare, *profile, bound), row.modelled});
      }
      measured.push_back(row.measured);
      modelled.push_back(row.modelled);
      kept.push_back(row);
    }
    if (kept.size() < 2) continue;
    std::vector<double> errors;
    std::vector<double> ratios;
    for (const Row& row : kept) {
      errors.push_back(std::fabs(row.modelled / row.measured - 1));
      ratios.push_back(row.modelled / row.measured);
    }
    std::vector<std::size_t> order(kept.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](auto a, auto b) { return modelled[a] < modelled[b]; });
    double picked = 1e300;
    for (std::size_t k = 0; k < std::min<std::size_t>(5, order.size()); ++k)
      picked = std::min(picked, measured[order[k]]);
    const double slowdown = picked / *std::ranges::min_element(measured) - 1;
    const double mape =
        std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
    const double rho = spearman(measured, modelled);
    fmt::print("{:22} {:4} {:9.3f} {:8.1f}% {:8.1f}% {:11.2f}\n", name, kept.size(), rho,
               100 * slowdown, 100 * mape, median(ratios));
    all_spearman.push_back(rho);
    all_slowdown.push_back(slowdown);
    all_mape.push_back(mape);
    if (options.worst > 0) {
      std::ranges::sort(kept, [](const Row& a, const Row& b) {
        return std::fabs(std::log(a.modelled / a.measured)) >
               std::fabs(std::log(b.modelled / b.measured));
      });
      for (int k = 0; k < options.worst && k < static_cast<int>(kept.size()); ++k) {
        const auto recipe = recipe_from_json((*kept[k].entry)["recipe"]);
        std::string text;
        for (const Step& step : *recipe) text += " " + to_string(step);
        fmt::print("    measured {:9.1f} modelled {:9.1f} ({}){}\n", kept[k].measured,
                   kept[k].modelled, kept[k].bound, text);
      }
    }
  }
  if (!options.cache.empty()) std::ofstream(options.cache) << cache.dump();
  if (all_spearman.empty()) return 1;
  fmt::print(
      "median of {} tasks: spearman {:.3f} (lowest {:.3f}), top-5 slowdown {:.1f} %, "
      "MAPE {:.1f} %\n",
      all_spearman.size(), median(all_spearman), *std::ranges::min_element(all_spearman),
      100 * median(all_slowdown), 100 * median(all_mape));
  if (options.spills) print(spilling);
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  hone::Options options;
  CLI::App app("Compares modelled with measured times");
  app.add_option("DATASET", options.dataset)->required();
  app.add_option("--set", options.set);
  app.add_option("--task", options.task);
  app.add_option("--cache", options.cache);
  app.add_option("--arch", options.arch);
  app.add_option("--jobs", options.jobs);
  app.add_option("--worst", options.worst);
  app.add_flag("--spills", options.spills);
  CLI11_PARSE(app, argc, argv);
  return hone::run(options);
}
