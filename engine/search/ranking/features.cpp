#include "engine/search/ranking/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/search/ranking/kernel_profile.h"

namespace hone::ranking {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kWarp = 32;
constexpr double kOverhead = 32;  // registers of a thread beside its arrays
constexpr double kMostRegisters = 255;
constexpr double kMostThreads = 2048;  // of an SM
constexpr double kMostBlocks = 32;     // likewise

// What an SM does in a cycle, roughly: only the proportions count.
constexpr double kArithmetic = 128, kSpecial = 16, kTensor = 4096, kShared = 128, kFromL2 = 48;
constexpr double kFromMemory = 18;  // bytes
constexpr double kAtomic = 1;

/// What a launch is on the device.
struct Placement {
  double threads = 0;  ///< of a block
  double blocks = 0;
  double shared = 0;         // of a block [B]
  double registers = 0;      ///< of a thread, as its arrays ask for
  double blocks_per_sm = 0;  ///< that fit
  double waves = 0;          ///< of blocks
  double fill = 0;           ///< of the waves, what is used
  double warps_per_sm = 0;   ///< at once
};

struct Described {
  const ConcreteLaunch* launch = nullptr;
  KernelProfile profile;
  Placement place;
  double cycles = 0;  ///< estimated: to tell launches apart that matter
};

double product(const Dim3& extents) {
  double all = 1;
  for (const std::int64_t extent : extents) all *= static_cast<double>(extent);
  return all;
}

Placement placed(const ConcreteLaunch& launch, const KernelProfile& profile,
                 const TargetLimits& target) {
  Placement place;
  place.threads = product(launch.block);
  place.blocks = product(launch.grid);
  place.shared = static_cast<double>(launch.shared_bytes) + profile.static_shared;
  place.registers = std::min(kOverhead + profile.local_bytes / 4, kMostRegisters);
  const double per_sm = target.registers_per_sm / (place.registers * place.threads);
  const double by_shared = place.shared > 0
                               ? static_cast<double>(target.shared_per_sm) / (place.shared + 1024)
                               : kMostBlocks;
  place.blocks_per_sm = std::max(
      1.0, std::floor(std::min({per_sm, by_shared, kMostThreads / place.threads, kMostBlocks})));
  const double sms = std::max(target.sm_count, 1);
  place.waves = place.blocks / (sms * place.blocks_per_sm);
  place.fill = place.waves / std::ceil(place.waves);
  const double at_once = std::min(place.blocks_per_sm, std::ceil(place.blocks / sms));
  place.warps_per_sm = at_once * std::ceil(place.threads / kWarp);
  return place;
}

/// Cycles of the whole device for `work` threads' worth of what the profile says.
double cycles_of(const KernelProfile& profile, const Placement& place, double sms) {
  const double used = std::min(1.0, place.blocks / sms);
  const double hidden = std::min(1.0, place.warps_per_sm / 16);
  const double work = place.blocks * place.threads / sms / std::max(used, 1e-3);
  const double issue = profile.arithmetic / kArithmetic + profile.special / kSpecial +
                       4 * profile.divisions / kArithmetic + profile.atomics / kAtomic / 8;
  const double longest = std::max({issue, profile.tensor / kTensor, profile.shared_bytes / kShared,
                                   (profile.global_bytes + profile.async_bytes) / kFromL2});
  return work * longest / std::max(hidden, 0.05) / std::max(place.fill, 0.2);
}

std::vector<Described> described(const ConcreteProgram& program, const TargetLimits& target) {
  const SourceReader reader(program);
  std::vector<Described> all;
  for (const ConcreteLaunch& launch : program.launches) {
    Described one{&launch, reader.profile(launch), {}, 0};
    one.place = placed(launch, one.profile, target);
    one.cycles = cycles_of(one.profile, one.place, std::max(target.sm_count, 1));
    all.push_back(std::move(one));
  }
  return all;
}

double log_ratio(double a, double b) { return a > 0 && b > 0 ? std::log(a / b) : kUnknown; }
double log_of(double a) { return std::log1p(std::max(a, 0.0)); }

/// Names and values together, so that neither can be forgotten.
class Collector {
 public:
  void add(const char* name, double value) {
    names.emplace_back(name);
    values.push_back(static_cast<float>(value));
  }
  std::vector<std::string> names;
  Features values;
};

void add_task(Collector& to, const TaskFacts& task) {
  const auto fact = [&](const char* name) {
    const auto found = task.nests.find(name);
    return found != task.nests.end() ? found->second : task.nests.empty() ? kUnknown : 0;
  };
  to.add("task_bytes", log_of(task.bytes));
  to.add("task_math", task.math);
  for (const char* name : {"nests", "unlifted", "parallel_axes", "reduction_axes", "products",
                           "gathers", "combines", "output_bytes", "input_bytes"})
    to.add(name, fact(name));
  for (const char* name : {"points", "operations", "special", "reduced"})
    to.add(name, log_of(fact(name)));
  to.add("operations_per_byte", log_ratio(fact("operations"), task.bytes));
  to.add("loads_per_point", log_ratio(fact("loads"), fact("points")));
}

/// Over all launches, and against what the task needs.
void add_totals(Collector& to, const std::vector<Described>& launches, const TaskFacts& task,
                const ConcreteProgram& program) {
  double arithmetic = 0, tensor = 0, special = 0, global = 0, shared = 0, atomics = 0, cycles = 0;
  for (const Described& one : launches) {
    const double threads = one.place.threads * one.place.blocks;
    arithmetic += threads * one.profile.arithmetic;
    tensor += threads * one.profile.tensor;
    special += threads * one.profile.special;
    global += threads * (one.profile.global_bytes + one.profile.async_bytes);
    shared += threads * one.profile.shared_bytes;
    atomics += threads * one.profile.atomics;
    cycles += one.cycles;
  }
  double scratch = 0;
  for (const ConcreteBuffer& buffer : program.buffers)
    if (buffer.role == Role::kScratch) scratch += static_cast<double>(buffer.bytes());
  const auto operations = task.nests.find("operations");
  const double needed = operations != task.nests.end() ? operations->second : 0;
  const double sms = std::max(task.target.sm_count, 1);
  const double least = std::max(
      {task.bytes / kFromMemory / sms, needed / (tensor > 0 ? kTensor : kArithmetic) / sms, 1.0});
  to.add("launches", static_cast<double>(launches.size()));
  to.add("all_cycles", std::log(std::max(cycles, 1.0)));
  to.add("all_cycles_of_least", std::log(std::max(cycles, 1.0) / least));
  to.add("all_arithmetic_of_needed", log_ratio(arithmetic, needed));
  to.add("all_tensor_of_needed", log_ratio(tensor, needed));
  to.add("all_special", log_ratio(special, task.bytes));
  to.add("all_global_of_needed", log_ratio(global, task.bytes));
  to.add("all_shared_of_needed", log_ratio(shared, task.bytes));
  to.add("all_atomics", log_of(atomics));
  to.add("all_scratch_of_needed", log_of(task.bytes > 0 ? scratch / task.bytes : 0));
  to.add("arithmetic_per_global_byte", log_ratio(arithmetic, global));
}

void add_place(Collector& to, const Described& one, double all_cycles) {
  const Placement& place = one.place;
  to.add("threads", std::log2(std::max(place.threads, 1.0)));
  to.add("blocks", std::log2(std::max(place.blocks, 1.0)));
  to.add("waves", std::log(std::max(place.waves, 1e-6)));
  to.add("wave_fill", place.fill);
  to.add("shared", log_of(place.shared));
  to.add("dynamic_shared", log_of(static_cast<double>(one.launch->shared_bytes)));
  to.add("array_registers", place.registers);
  to.add("blocks_per_sm", place.blocks_per_sm);
  to.add("warps_per_sm", place.warps_per_sm);
  to.add("min_blocks", one.profile.min_blocks);
  to.add("share_of_cycles", all_cycles > 0 ? one.cycles / all_cycles : 1);
  to.add("block_x",
         std::log2(static_cast<double>(std::max<std::int64_t>(one.launch->block[0], 1))));
}

void add_profile(Collector& to, const KernelProfile& p, const Placement& place) {
  for (const auto& [name, value] : {std::pair{"thread_arithmetic", p.arithmetic},
                                    {"thread_divisions", p.divisions},
                                    {"thread_special", p.special},
                                    {"thread_tensor", p.tensor},
                                    {"thread_global", p.global_accesses},
                                    {"thread_shared", p.shared_accesses},
                                    {"thread_copies", p.async_copies},
                                    {"thread_bulk_copies", p.bulk_copies},
                                    {"thread_matrix_loads", p.matrix_loads},
                                    {"thread_barriers", p.barriers},
                                    {"thread_shuffles", p.shuffles},
                                    {"thread_atomics", p.atomics},
                                    {"thread_rounds", p.loop_rounds},
                                    {"unrolled", p.unrolled}})
    to.add(name, log_of(value));
  to.add("deepest_loop", p.deepest);
  to.add("widest_access", p.widest_global);
  to.add("bytes_per_access", p.global_accesses > 0 ? p.global_bytes / p.global_accesses : kUnknown);
  to.add("bytes_per_copy", p.async_copies > 0 ? p.async_bytes / p.async_copies : kUnknown);
  to.add("bytes_per_shared", p.shared_accesses > 0 ? p.shared_bytes / p.shared_accesses : kUnknown);
  to.add("arithmetic_per_global", log_ratio(p.arithmetic, p.global_accesses + p.async_copies));
  to.add("arithmetic_per_shared", log_ratio(p.arithmetic, p.shared_accesses));
  to.add("tensor_per_shared", log_ratio(p.tensor, p.shared_accesses + p.matrix_loads));
  to.add("tensor_per_global", log_ratio(p.tensor, p.global_bytes + p.async_bytes));
  to.add("arithmetic_per_barrier", log_ratio(p.arithmetic + p.tensor, p.barriers));
  to.add("divisions_per_arithmetic", log_ratio(p.divisions, p.arithmetic));
  to.add("bytes_in_flight",
         log_of(place.warps_per_sm * kWarp * p.unrolled * std::max(p.widest_global, 4.0)));
  to.add("warpgroup", p.warpgroup);
  to.add("clusters", p.clusters);
  to.add("unknown_loops", p.unknown_loops);
}

void add_report(Collector& to, const ConcreteLaunch& main,
                std::span<const KernelResources> report) {
  const auto own = std::ranges::find(report, main.kernel, &KernelResources::kernel);
  const bool known = own != report.end();
  double spilled = report.empty() ? kUnknown : 0;
  for (const KernelResources& one : report) spilled = std::max<double>(spilled, one.spill_bytes);
  to.add("registers", known ? own->registers : kUnknown);
  to.add("spilled", log_of(spilled));
  to.add("stack", known ? log_of(own->stack_bytes) : kUnknown);
  to.add("occupancy", known ? own->occupancy : kUnknown);
}

Collector collected(const ConcreteProgram& program, const TaskFacts& task,
                    std::span<const KernelResources> report) {
  std::vector<Described> launches = described(program, task.target);
  if (launches.empty()) launches.push_back({nullptr, {}, {}, 0});
  const ConcreteLaunch none;
  const auto main = std::ranges::max_element(launches, {}, &Described::cycles);
  if (main->launch == nullptr) main->launch = &none;
  double cycles = 0;
  for (const Described& one : launches) cycles += one.cycles;
  Collector all;
  add_task(all, task);
  add_totals(all, launches, task, program);
  add_place(all, *main, cycles);
  add_profile(all, main->profile, main->place);
  add_report(all, *main->launch, report);
  return all;
}

}  // namespace

const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> kNames = collected({}, {}, {}).names;
  return kNames;
}

Result<TaskFacts> task_facts(const Task& task, std::map<std::string, double> nests,
                             const TargetLimits& target) {
  const auto reference = instantiate(task.reference, task.sizes);
  if (!reference) return std::unexpected(reference.error());
  TaskFacts facts{std::move(nests), 0, static_cast<double>(task.math), target};
  for (const ConcreteBuffer& buffer : reference->buffers)
    if (buffer.role != Role::kScratch) facts.bytes += static_cast<double>(buffer.bytes());
  return facts;
}

Features features_of(const ConcreteProgram& program, const TaskFacts& task,
                     std::span<const KernelResources> report) {
  return collected(program, task, report).values;
}

}  // namespace hone::ranking
