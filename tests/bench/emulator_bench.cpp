// How fast the emulated GPU interprets: warp-instructions a second of CPU time, on one host thread;
// for the tensor-core kernels, matrix products (one warp's mma.sync or wgmma) a second.
//
//   emulator_bench --benchmark_filter=/all       one mode
//   emulator_bench --benchmark_filter=/threads   all checks on 1, 2, ... host threads, wall clock
//   emulator_bench --benchmark_counters_tabular=true --benchmark_repetitions=5
//   emulator_bench --dump_counters               every Counter and a checksum of the memory, as
//                                                text: diff it before and after a change
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "evaluator/device/emulator/emulator.h"

namespace {

using namespace hone::emulator;

/// A launch whose buffers are made once; `run` may be called again and again.
class Case {
 public:
  Case(const Module& module, std::string kernel, std::array<std::uint32_t, 3> grid,
       std::array<std::uint32_t, 3> block)
      : module_(module) {
    launch.kernel = std::move(kernel);
    launch.grid = grid;
    launch.block = block;
  }
  Case& floats(std::uint64_t count) {
    return buffer(count * 4, [](std::uint64_t i) {
      const float v = 0.01f * static_cast<float>(static_cast<int>(i * 37 % 101) - 50);
      std::uint32_t bits;
      std::memcpy(&bits, &v, 4);
      return bits;
    });
  }
  Case& random(std::uint64_t count) {
    return buffer(count * 4, [](std::uint64_t i) {
      return static_cast<std::uint32_t>((i * 6364136223846793005ull + 1442695040888963407ull) >>
                                        33);
    });
  }
  /// Pairs of 16-bit floats of either kind, below 1, in both signs.
  Case& halves(std::uint64_t count) {
    return buffer(count * 4, [](std::uint64_t i) {
      const std::uint64_t mixed = i * 6364136223846793005ull + 1442695040888963407ull;
      return 0x30003000u | (static_cast<std::uint32_t>(mixed >> 33) & 0x87FF87FFu);
    });
  }
  Case& zeros(std::uint64_t count) {
    return buffer(count * 4, [](std::uint64_t) { return 0u; });
  }
  Case& out(std::uint64_t count) {
    const std::uint64_t a = memory_.allocate(
        "out", count * 4, false,
        [](std::uint64_t, std::uint8_t* to, std::size_t n) { std::memset(to, 0xCD, n); });
    buffers_.push_back({a, count * 4});
    return value(a);
  }
  template <class T>
  Case& value(T v) {
    auto& p = launch.parameters;
    p.resize((p.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&v);
    p.insert(p.end(), bytes, bytes + sizeof v);
    return *this;
  }
  Case& shape(std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block) {
    launch.grid = grid;
    launch.block = block;
    return *this;
  }

  /// Counted instead of instructions.
  Case& products(std::uint64_t count) {
    products_ = count;
    return *this;
  }
  [[nodiscard]] std::uint64_t items(const RunReport& report) const {
    return products_ ? products_ : report.counters.warp_instructions;
  }

  RunReport run(const RunOptions& options) {
    return hone::emulator::run(module_, launch, memory_, options);
  }
  std::uint64_t checksum() const {
    std::uint64_t h = 1469598103934665603ull;
    for (const auto& [address, bytes] : buffers_) {
      std::vector<std::uint8_t> data(bytes);
      if (!memory_.read(address, data.data(), bytes)) return 0;
      for (const std::uint8_t b : data) h = (h ^ b) * 1099511628211ull;
    }
    return h;
  }

  LaunchConfig launch;

 private:
  Case& buffer(std::uint64_t bytes, std::uint32_t (*word)(std::uint64_t)) {
    const std::uint64_t a = memory_.allocate(
        "in", bytes, true, [word](std::uint64_t offset, std::uint8_t* to, std::size_t n) {
          for (std::size_t i = 0; i < n; i += 4) {
            const std::uint32_t v = word((offset + i) / 4);
            std::memcpy(to + i, &v, std::min<std::size_t>(4, n - i));
          }
        });
    buffers_.push_back({a, bytes});
    return value(a);
  }

  const Module& module_;
  Memory memory_;
  std::uint64_t products_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> buffers_;
};

using Cases = std::vector<std::pair<std::string, std::unique_ptr<Case>>>;

struct Modules {
  std::shared_ptr<const Module> plain, tensor;
};

/// 16 warps that do the same products again and again.
void add_tensor_cases(const Module& module, Cases& all) {
  constexpr std::uint32_t kThreads = 512;
  const auto add = [&](const char* kernel, std::uint64_t products) -> Case& {
    all.emplace_back(kernel, std::make_unique<Case>(module, kernel, std::array{4u, 1u, 1u},
                                                    std::array{kThreads / 4, 1u, 1u}));
    return all.back().second->products(kThreads / 32 * products);
  };
  add("mma_f16", 1024).halves(6 * kThreads).out(kThreads).value(256);
  add("mma_bf16", 1024).halves(6 * kThreads).out(kThreads).value(256);
  add("mma_tf32", 1024).floats(6 * kThreads).out(kThreads).value(256);
  add("mma_s8", 1024).random(6 * kThreads).out(kThreads).value(256);
  add("wgmma_f16", 64).halves(192 * 8).out(kThreads).value(64);
}

Cases make_cases(const Modules& modules) {
  Cases all;
  const auto add = [&](const char* kernel, std::array<std::uint32_t, 3> grid,
                       std::array<std::uint32_t, 3> block) -> Case& {
    all.emplace_back(kernel, std::make_unique<Case>(*modules.plain, kernel, grid, block));
    return *all.back().second;
  };
  constexpr std::uint64_t kVector = 1 << 20;
  add("fma_chains", {8, 1, 1}, {256, 1, 1}).out(2048).value(0.999f).value(0.001f).value(2000);
  add("integer_mix", {8, 1, 1}, {256, 1, 1}).out(2048).value(12345u).value(1000);
  add("vector_add", {64, 1, 1}, {256, 1, 1})
      .floats(kVector)
      .floats(kVector)
      .out(kVector)
      .value(static_cast<int>(kVector) - 5);
  add("matmul_naive", {8, 8, 1}, {16, 16, 1})
      .floats(128 * 128)
      .floats(128 * 128)
      .out(128 * 128)
      .value(128);
  add("matmul_tiled", {8, 8, 1}, {16, 16, 1})
      .floats(128 * 128)
      .floats(128 * 128)
      .out(128 * 128)
      .value(128);
  add("matmul_registers", {2, 2, 1}, {256, 1, 1})
      .floats(128 * 128)
      .floats(128 * 128)
      .out(128 * 128)
      .value(128);
  add("row_softmax", {64, 1, 1}, {256, 1, 1}).floats(64 * 4096).out(64 * 4096).value(4096);
  add("reduce_shared", {128, 1, 1}, {256, 1, 1}).floats(128 * 1024).out(128).value(1024);
  add("collatz", {32, 1, 1}, {128, 1, 1}).out(4000).value(4000);
  add("histogram", {16, 1, 1}, {256, 1, 1}).random(1 << 18).zeros(256).value(1 << 18);
  add("transpose", {16, 16, 1}, {32, 8, 1}).floats(512 * 512).out(512 * 512).value(512);
  add("gather", {16, 1, 1}, {256, 1, 1})
      .random(1 << 18)
      .floats(1 << 16)
      .out(1 << 18)
      .value(1 << 18);
  add("histogram_global", {16, 1, 1}, {256, 1, 1}).random(1 << 18).zeros(1024).value(1 << 18);
  add("scale_halves", {16, 1, 1}, {256, 1, 1}).random(1 << 17).out(1 << 17).value(1 << 18);
  add("invert_bytes", {16, 1, 1}, {256, 1, 1}).random(1 << 16).out(1 << 16).value(1 << 18);
  add_tensor_cases(*modules.tensor, all);
  return all;
}

std::shared_ptr<const Module> load(const std::string& name) {
  std::ifstream file(HONE_SOURCE_DIR "/tests/bench/data/" + name);
  std::stringstream text;
  text << file.rdbuf();
  auto module = Module::parse(text.str());
  if (!module) {
    fmt::print(stderr, "{}\n", module.error().message);
    std::exit(1);
  }
  return *module;
}

struct Mode {
  const char* name;
  bool checks, counters;
};
constexpr Mode kModes[] = {{"bare", false, false},
                           {"counters", false, true},
                           {"checks", true, false},
                           {"all", true, true}};

RunOptions options_of(const Mode& mode) {
  RunOptions options;
  options.check_initialised = options.check_races = mode.checks;
  options.counters = mode.counters;
  return options;
}

void measure(benchmark::State& state, Case& the_case, const RunOptions& options) {
  std::uint64_t items = 0;
  for (auto _ : state) {
    const RunReport report = the_case.run(options);
    if (report.verdict != hone::Verdict::kOk) {
      state.SkipWithError(report.detail.c_str());
      return;
    }
    items += the_case.items(report);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(items));
}

void dump(const Modules& modules) {
  for (auto& [name, the_case] : make_cases(modules)) {
    for (const Mode& mode : kModes) {
      const RunReport report = the_case->run(options_of(mode));
      fmt::print("{} {} verdict {} {} memory {:016x}\n", name, mode.name,
                 static_cast<int>(report.verdict), report.detail, the_case->checksum());
      // Counters is a plain row of numbers.
      std::uint64_t words[sizeof(Counters) / 8];
      std::memcpy(words, &report.counters, sizeof words);
      for (const std::uint64_t v : words) fmt::print(" {}", v);
      fmt::print("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Modules modules{load("bench_sm_90.ptx"), load("bench_tensor_sm_90a.ptx")};
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--dump_counters") == 0) {
      dump(modules);
      return 0;
    }
  }
  const Cases cases = make_cases(modules);
  for (const auto& [name, the_case] : cases)
    for (const Mode& mode : kModes)
      benchmark::RegisterBenchmark(fmt::format("{}/{}", name, mode.name).c_str(),
                                   [c = the_case.get(), &mode](benchmark::State& state) {
                                     measure(state, *c, options_of(mode));
                                   });
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (const auto& [name, the_case] : cases) {
    for (int threads = 1; threads <= std::min(cores, 16); threads *= 2) {
      RunOptions options = options_of({"checks", true, false});
      options.threads = threads;
      benchmark::RegisterBenchmark(
          fmt::format("{}/threads:{}", name, threads).c_str(),
          [c = the_case.get(), options](benchmark::State& state) { measure(state, *c, options); })
          ->MeasureProcessCPUTime()  // of all threads
          ->UseRealTime();
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
