#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>

#include "engine/cli/command.h"
#include "engine/cli/interrupt.h"
#include "engine/search/random.h"
#include "engine/service/worker.h"

namespace hone::cli {
namespace worker_command {
namespace {

constexpr double kPatience_s = 30;  // of a call with a server that is away

struct Options {
  RedisOptions redis;
  DaemonOptions daemon;
  std::string device = "cuda:all";
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
  std::string name;
  int at_once = 0;
  std::int64_t input_cache_mib = kMostInputCache >> 20;
};

std::string host_name() {
  std::array<char, 256> name{};
  (void)gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string worker_id(const std::string& name) {
  std::string id = name.empty() ? host_name() : name;
  std::ranges::replace_if(id, [](char c) { return !queue::is_id(std::string_view(&c, 1)); }, '-');
  return fmt::format("{}.{:08x}", id.substr(0, 60), static_cast<std::uint32_t>(secret_bits()));
}

struct Device {
  DeviceSpec spec;
  std::unique_ptr<Evaluator> evaluator;
};

/// Where inputs are kept that tasks read from files. Its children see it if it is there before
/// they are. Empty: it cannot be made.
std::filesystem::path make_input_folder() {
  auto folder = InputCache::default_folder();
  return !folder.empty() && InputCache::make_folder(folder) ? folder : std::filesystem::path();
}

/// Several GPUs are as many devices, of which the coordinator knows each.
Result<std::vector<Device>> open_devices(const Options& options, const Log& log,
                                         const std::filesystem::path& inputs) {
  EvaluatorOptions evaluator_options;
  evaluator_options.sandbox = options.sandbox;
  evaluator_options.warn = warn_in(log);
  evaluator_options.compile_cache = default_compile_cache();
  if (!inputs.empty()) evaluator_options.input_files = {inputs.string()};
  std::vector<Device> devices;
  const auto open = [&](DeviceSpec spec) -> Result<void> {
    auto evaluator = Evaluator::open(spec, evaluator_options);
    if (!evaluator) return std::unexpected(evaluator.error());
    spec.arch = (*evaluator)->info().arch;
    devices.push_back({spec, std::move(*evaluator)});
    return {};
  };
  const auto given = DeviceSpec::parse(options.device);
  if (!given) return std::unexpected(given.error());
  const auto named = with_gpus_named(*given, evaluator_options);
  if (!named) return std::unexpected(named.error());
  if (named->modelled()) {
    if (const auto opened = open(*named); !opened) return std::unexpected(opened.error());
    return devices;
  }
  const std::vector<int> gpus = named->ordinals();
  // Each GPU has its compile runners: together as many as there are cores.
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (gpus.size() > 1) {
    evaluator_options.compile_processes = std::max(1, cores / static_cast<int>(gpus.size()));
    evaluator_options.check_processes = evaluator_options.compile_processes;
  }
  for (const int gpu : gpus) {
    DeviceSpec one;
    one.kind = DeviceSpec::Kind::kCuda;
    one.ordinal = gpu;
    if (const auto opened = open(one); !opened) return std::unexpected(opened.error());
  }
  return devices;
}

int run(const Options& options) {
  const auto& drain = watch_interrupts();
  const Log log = options.daemon.log("worker");
  Metrics metrics;
  const auto server = options.daemon.serve(metrics, log);
  if (!server) return options.daemon.fail(log, server.error());
  const auto broker = options.redis.open(kPatience_s, log);
  if (!broker) return options.daemon.fail(log, broker.error());
  const auto inputs = make_input_folder();
  auto devices = open_devices(options, log, inputs);
  if (!devices) return options.daemon.fail(log, devices.error());
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  WorkerOptions worker;
  worker.id = worker_id(options.name);
  worker.host = host_name();
  worker.inputs = {inputs, options.input_cache_mib << 20};
  worker.log = log;
  worker.metrics = &metrics;
  worker.drain = &drain;
  for (const Device& device : *devices) {
    if (!device.spec.modelled()) {
      const auto ceilings = device.evaluator->measure_ceilings();
      if (ceilings) {
        device.evaluator->use_ceilings(*ceilings);
      } else {
        log({.level = LogLevel::kWarning,
             .event = "ceilings_unmeasured",
             .message = "the device's ceilings were not measured, so the roof is the driver's "
                        "word: " +
                        ceilings.error().message,
             .fields = {{"device", device.spec.text()}}});
      }
    }
    // A GPU has candidates compiled and checked ahead; an emulated one is the cores themselves.
    const int fitting = device.spec.modelled()
                            ? cores
                            : std::clamp(5 * cores / static_cast<int>(devices->size()), 24, 96);
    worker.devices.push_back(
        {device.spec, device.evaluator.get(), options.at_once > 0 ? options.at_once : fitting});
  }
  const auto ended = run_worker(**broker, worker);
  return ended ? static_cast<int>(kDone) : options.daemon.fail(log, ended.error());
}

}  // namespace
}  // namespace worker_command

Registration add_worker(CLI::App& root) {
  using namespace worker_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "worker", "Evaluate for a coordinator on this machine's devices; SIGTERM drains it");
  options->redis.add_to(*app);
  options->daemon.add_to(*app);
  app->add_option("--device", options->device,
                  "What to evaluate on: cuda:all, every GPU of this machine, cuda:N, cuda:0,2, or "
                  "emu:sm_XX, an emulated device")
      ->type_name("DEVICE")
      ->capture_default_str();
  add_sandbox_option(*app, options->sandbox);
  app->add_option("--name", options->name,
                  "What the worker is called in lists and logs; default: the host's name")
      ->type_name("NAME");
  app->add_option("--at-once", options->at_once,
                  "How many evaluations on each device at once; 0: as many as fit")
      ->type_name("N")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app->add_option("--input-cache", options->input_cache_mib,
                  "How much is kept of inputs that tasks read from files, in ~/.cache/hone/inputs "
                  "[MiB]")
      ->type_name("MIB")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
