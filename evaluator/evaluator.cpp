#include "evaluator/evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "candidates/hash.h"
#include "evaluator/calibrate/calibrate.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/device/emulator/profile_file.h"
#include "evaluator/evaluator_impl.h"
#include "evaluator/pool/gpu_client.h"

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
  DeviceSpec spec = device;
  DeviceInfo info;
  LaunchLimits limits;
  std::unique_ptr<GpuClient> gpu;
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
    auto opened = GpuClient::open(spec.ordinal, options);
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

std::string default_compile_cache() { return pool::CompileCache::default_folder(); }

}  // namespace hone
