#include "evaluator/evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "candidates/hash.h"
#include "evaluator/calibrate/calibrate.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/device/emulator/profile_file.h"
#include "evaluator/evaluator_impl.h"
#include "evaluator/pool/gpu_set.h"
#include "evaluator/pool/placement.h"
#include "evaluator/pool/runner_policy.h"

namespace hone {
namespace {

/// The time model's rates are exact; a time is extrapolated from some of a launch's blocks.
constexpr double kModelledCeilings = 0.02;

DeviceInfo emulated_info(const emulator::Profile& profile) {
  DeviceInfo info;
  info.name = fmt::format("emulated {} ({} profile)", profile.arch, profile.name);
  info.arch = profile.arch;
  info.sm_count = profile.sm_count;
  info.memory_bytes = profile.memory_bytes;
  info.ceilings = calibrate::ceilings_of(profile, fmt::format("profile {}", profile.name));
  info.ceilings.uncertainty = kModelledCeilings;
  return info;
}

/// What is known before anything but a copy was measured: the architecture's arithmetic at the
/// clock that the driver names.
Ceilings first_ceilings(const protocol::DeviceFacts& facts) {
  emulator::Profile profile;
  if (const auto* known = emulator::find_profile(facts.arch)) profile = *known;
  profile.sm_count = facts.sm_count;
  profile.clock_hz = facts.clock_khz * 1e3;
  Ceilings ceilings = calibrate::ceilings_of(profile, "copied at the start; nominal arithmetic");
  ceilings.dram_bytes_per_s = ceilings.dram_read_bytes_per_s = facts.dram_bytes_per_s;
  ceilings.l2_bytes = facts.l2_bytes;
  return ceilings;
}

}  // namespace

Result<std::unique_ptr<Evaluator>> Evaluator::open(const DeviceSpec& device,
                                                   const EvaluatorOptions& options) {
  const auto& nvrtc = compile::Nvrtc::get();
  if (!nvrtc) return std::unexpected(nvrtc.error());
  auto named = with_gpus_named(device, options);
  if (!named) return std::unexpected(named.error());
  DeviceSpec spec = std::move(*named);
  DeviceInfo info;
  LaunchLimits limits;
  std::unique_ptr<GpuSet> gpu;
  EvaluatorOptions resolved = options;
  if (spec.kind == DeviceSpec::Kind::kEmulator) {
    if (resolved.profile == nullptr) {
      const auto* built_in =
          emulator::find_profile_file(spec.profile.empty() ? spec.arch : spec.profile);
      if (built_in == nullptr) return invalid(fmt::format("no emulated device '{}'", spec.text()));
      resolved.profile = std::make_shared<emulator::ProfileFile>(*built_in);
    }
    const auto* profile = &resolved.profile->profile;
    spec.arch = profile->arch;
    info = emulated_info(*profile);
    // Boards never mix two profiles, so a user's own has a name that holds its content.
    if (options.profile != nullptr) {
      info.name = fmt::format("emulated {} ({} profile {})", profile->arch, profile->name,
                              content_hash(emulator::to_text(*resolved.profile)).substr(0, 8));
    }
    limits.threads_per_block = profile->max_threads_per_block;
    limits.shared_per_block = profile->shared_per_block;
    limits.registers_per_block = profile->registers_per_sm;
  } else {
    if (resolved.placement.by_gpu.empty()) resolved.placement = placement_of(spec, options);
    auto opened = GpuSet::open(spec.ordinals(), spec.some_will_do, resolved);
    if (!opened) return std::unexpected(opened.error());
    gpu = std::move(*opened);
    const auto& facts = gpu->facts();
    spec.arch = facts.arch;
    info.name = facts.name;
    info.arch = facts.arch;
    info.driver = facts.driver;
    info.sm_count = facts.sm_count;
    info.memory_bytes = facts.memory_bytes;
    info.ceilings = first_ceilings(facts);
    limits.threads_per_block = facts.threads_per_block;
    limits.shared_per_block = facts.shared_per_block;
    limits.registers_per_block = facts.registers_per_block;
  }
  info.toolchain = nvrtc->text();
  info.sandbox = to_string(options.sandbox);
  return std::make_unique<EvaluatorImpl>(spec, resolved, std::move(info), limits, std::move(gpu));
}

Result<DeviceSpec> with_gpus_named(const DeviceSpec& device, const EvaluatorOptions& options) {
  if (device.kind != DeviceSpec::Kind::kCuda || (!device.all_gpus && device.others.empty()))
    return device;
  const auto there = pool::gpu_addresses(options);
  if (!there) return std::unexpected(there.error());
  const auto count = static_cast<int>(there->size());
  DeviceSpec named = device;
  if (device.all_gpus) {
    if (count == 0)
      return fail(ErrorCode::kEnvironment,
                  "cuda:all: no GPU is there; `hone doctor` says why, and --device emu:sm_90 is an "
                  "emulated one");
    named.all_gpus = false;
    named.some_will_do = true;
    for (int i = 1; i < count; ++i) named.others.push_back(i);
    return named;
  }
  for (const int ordinal : named.ordinals()) {
    if (ordinal < count) continue;
    return fail(ErrorCode::kEnvironment,
                fmt::format("there is no cuda:{}: {}", ordinal,
                            count == 0   ? std::string("no GPU is visible")
                            : count == 1 ? std::string("the only GPU is cuda:0")
                                         : fmt::format("the GPUs are cuda:0 to cuda:{}, together "
                                                       "cuda:all (see CUDA_VISIBLE_DEVICES)",
                                                       count - 1)));
  }
  return named;
}

Placement placement_of(const DeviceSpec& device, const EvaluatorOptions& options) {
  if (device.kind != DeviceSpec::Kind::kCuda || device.others.empty()) return {};
  const auto addresses = pool::gpu_addresses(options);
  if (!addresses) return {};
  return pool::placed_beside(device.ordinals(), *addresses, options.sysfs, pool::allowed_cores());
}

std::string default_compile_cache() { return pool::CompileCache::default_folder(); }

}  // namespace hone
