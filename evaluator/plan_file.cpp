#include "evaluator/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "evaluator/compile/compile.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/compile_types.h"
#include "evaluator/device/arguments.h"
#include "evaluator/pool/runner_pool.h"
#include "evaluator/protocol/messages.h"

namespace hone {
namespace plan_file {
namespace {

constexpr std::string_view kMagic = "HONEPLAN";
constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kMostParameterBytes = 4096;  // what every architecture takes
constexpr std::size_t kMostParameters = 1024;
constexpr std::uint64_t kScratchAlignment = 256;  // [B]

class Writer {
 public:
  void u32(std::uint64_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void raw(std::string_view bytes) { text_ += bytes; }
  void pointer(const PlanPointer& pointer) {
    u32(pointer.offset);
    u32(pointer.buffer);
    u64(pointer.scratch_offset);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  /// The lowest byte first.
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  std::string text_;
};

/// Where each of the program's buffers is.
struct Place {
  std::uint32_t buffer = kPlanScratch;
  std::uint64_t scratch_offset = 0;  // [B]
};

std::vector<Place> places_of(const ConcreteProgram& program,
                             const std::vector<std::size_t>& callers, Plan& plan) {
  std::vector<Place> places(program.buffers.size());
  for (std::size_t i = 0; i < callers.size(); ++i)
    places.at(callers[i]).buffer = static_cast<std::uint32_t>(i);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].buffer != kPlanScratch) continue;
    places[i].scratch_offset = plan.scratch_bytes;
    const auto bytes = static_cast<std::uint64_t>(program.buffers[i].bytes());
    plan.scratch_bytes += (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  }
  return places;
}

Result<PlanLaunch> launch_of(const ConcreteProgram& program, std::size_t index,
                             const CompiledKernel& kernel, const std::vector<Place>& places) {
  const ConcreteLaunch& launch = program.launches[index];
  auto block = pack_arguments(program, index, kernel, {});
  if (!block) return std::unexpected(block.error());
  if (block->size() > kMostParameterBytes) {
    return invalid(
        fmt::format("launches[{}]: kernel '{}' takes {} bytes of parameters; a plan has "
                    "at most {}",
                    index, launch.kernel, block->size(), kMostParameterBytes));
  }
  if (kernel.parameters.size() > kMostParameters) {
    return invalid(
        fmt::format("launches[{}]: kernel '{}' takes {} parameters; a plan has at most {}", index,
                    launch.kernel, kernel.parameters.size(), kMostParameters));
  }
  PlanLaunch result{.grid = launch.grid,
                    .block = launch.block,
                    .shared_bytes = static_cast<std::uint32_t>(launch.shared_bytes),
                    .parameters = std::move(*block)};
  for (const KernelParameter& parameter : kernel.parameters)
    result.offsets.push_back(static_cast<std::uint32_t>(parameter.offset));
  for (std::size_t a = 0; a < launch.args.size(); ++a) {
    const auto pointer_to = [&](int buffer) {
      const Place& place = places[static_cast<std::size_t>(buffer)];
      return PlanPointer{static_cast<std::uint32_t>(kernel.parameters[a].offset), place.buffer,
                         place.scratch_offset};
    };
    if (const auto* buffer = std::get_if<BufferIndex>(&launch.args[a])) {
      result.pointers.push_back(pointer_to(buffer->index));
    } else if (const auto* map = std::get_if<ConcreteTensorMap>(&launch.args[a])) {
      const ScalarType type = program.buffers[static_cast<std::size_t>(map->buffer)].type;
      result.tensor_maps.push_back({pointer_to(map->buffer), spec_of(*map, type, 0)});
    }
  }
  return result;
}

std::vector<std::string> kernel_names(const ConcreteProgram& program) {
  std::vector<std::string> names;
  for (const ConcreteLaunch& launch : program.launches) {
    if (std::ranges::find(names, launch.kernel) == names.end()) names.push_back(launch.kernel);
  }
  return names;
}

}  // namespace
}  // namespace plan_file

std::string to_bytes(const Plan& plan) {
  plan_file::Writer out;
  out.raw(plan_file::kMagic);
  out.u32(plan_file::kVersion);
  out.u32(plan.buffers);
  out.u32(plan.kernels.size());
  out.u32(plan.launches.size());
  out.u64(plan.scratch_bytes);
  out.u64(plan.image.size());
  for (const std::string& name : plan.kernels) {
    out.u32(name.size());
    out.raw(name);
  }
  for (const PlanLaunch& launch : plan.launches) {
    out.u32(launch.kernel);
    for (const std::int64_t extent : launch.grid) out.u32(static_cast<std::uint64_t>(extent));
    for (const std::int64_t extent : launch.block) out.u32(static_cast<std::uint64_t>(extent));
    out.u32(launch.shared_bytes);
    out.u32(launch.parameters.size());
    out.u32(launch.offsets.size());
    out.u32(launch.pointers.size());
    out.u32(launch.tensor_maps.size());
    out.raw({reinterpret_cast<const char*>(launch.parameters.data()), launch.parameters.size()});
    for (const std::uint32_t offset : launch.offsets) out.u32(offset);
    for (const PlanPointer& pointer : launch.pointers) out.pointer(pointer);
    for (const PlanTensorMap& map : launch.tensor_maps) {
      out.pointer(map.place);
      out.u32(static_cast<std::uint32_t>(map.spec.type));
      out.u32(static_cast<std::uint32_t>(map.spec.swizzle));
      out.u32(static_cast<std::uint32_t>(map.spec.rank));
      for (const std::uint32_t extent : map.spec.box) out.u32(extent);
      for (const std::uint64_t extent : map.spec.sizes) out.u64(extent);
      for (const std::uint64_t stride : map.spec.strides) out.u64(stride);
    }
  }
  out.raw(plan.image);
  return out.take();
}

Result<Plan> plan_of(const ConcreteProgram& program, const CompiledProgram& compiled,
                     const std::vector<std::size_t>& callers) {
  Plan plan;
  plan.buffers = static_cast<std::uint32_t>(callers.size());
  plan.image = compiled.cubin;
  const auto places = plan_file::places_of(program, callers, plan);
  if (auto ok = check_launches(program, compiled, {}); !ok) return std::unexpected(ok.error());
  std::map<std::string, std::uint32_t> numbers;
  for (const std::string& name : plan_file::kernel_names(program)) {
    numbers.emplace(name, numbers.size());
    plan.kernels.push_back(compiled.find(name)->lowered_name);
  }
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    const std::string& kernel = program.launches[i].kernel;
    auto launch = plan_file::launch_of(program, i, *compiled.find(kernel), places);
    if (!launch) return std::unexpected(launch.error());
    launch->kernel = numbers.at(kernel);
    plan.launches.push_back(std::move(*launch));
  }
  return plan;
}

Result<Plan> compile_plan(const ConcreteProgram& program, const std::vector<std::size_t>& callers,
                          const std::string& arch, const EvaluatorOptions& options) {
  const auto& nvrtc = compile::Nvrtc::get();
  if (!nvrtc) return std::unexpected(nvrtc.error());
  CompileJob job{program.source, program.defines, plan_file::kernel_names(program), arch};
  pool::RunnerPool compiler("compile", 1, options);
  const auto outcome = compiler.call(protocol::to_message(job), options.compile_timeout_s);
  if (!outcome.ok()) return fail(ErrorCode::kInfrastructure, "compiling failed: " + outcome.detail);
  if (const auto error = protocol::error_of(outcome.reply))
    return fail(ErrorCode::kInfrastructure, "the compile runner failed: " + *error);
  auto compiled = protocol::compiled_program_from(outcome.reply);
  if (!compiled) return std::unexpected(compiled.error());
  if (compiled->verdict != Verdict::kOk) {
    return invalid(fmt::format("it does not compile for {}: {}", arch,
                               compile::first_error(compiled->log, program.source)));
  }
  if (compiled->cubin.empty()) {
    return fail(
        ErrorCode::kEnvironment,
        fmt::format("{} makes no machine code for {}; install a newer CUDA", nvrtc->text(), arch));
  }
  return plan_of(program, *compiled, callers);
}

}  // namespace hone
