#include "rewriters/llm/reply/program_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "candidates/json_cursor.h"
#include "candidates/launch_plan.h"
#include "candidates/task_reader.h"
#include "rewriters/llm/reply/device_code.h"

namespace hone::llm {
namespace {

Result<void> check_sizes(const Program& program, const Task& task, const Bindings& sizes,
                         const std::string& where) {
  const auto concrete = instantiate(program, sizes);
  if (!concrete) return refused(fmt::format("{} at {}", concrete.error().message, where));
  std::int64_t bytes = 0;
  for (const ConcreteBuffer& buffer : concrete->buffers) {
    if (task.reference.find_buffer(buffer.name) != nullptr) continue;
    // At most 2^40 elements of 8 bytes each, and at most 256 buffers.
    bytes += buffer.bytes();
    if (bytes > kMaxScratchBytes) {
      return refused(
          fmt::format("the scratch buffers, up to '{}', take {} bytes at {}; at most {} are given",
                      buffer.name, bytes, where, kMaxScratchBytes));
    }
  }
  return {};
}

Result<void> check_launches(const ModelProgram& model, const Program& program) {
  const Kernels kernels = kernels_of(model.source);
  if (kernels.names.empty() && !kernels.by_macro) {
    return refused("the source has no __global__ function");
  }
  for (std::size_t i = 0; i < model.launches.size(); ++i) {
    const std::string& kernel = model.launches[i].kernel;
    if (kernels.has(kernel)) continue;
    const std::string hint = suggestion(kernel, kernels.names);
    return refused(fmt::format("$.launches[{}].kernel: the source has no kernel '{}'{} It has {}.",
                               i, printable(kernel), hint.empty() ? "." : hint,
                               join_names(kernels.names)));
  }
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != Role::kOut) continue;
    if (!program.uses(buffer.name)) {
      return refused(
          fmt::format("no launch takes '{}', which the program must write", buffer.name));
    }
  }
  return {};
}

}  // namespace

Result<void> read_plan(nlohmann::json json, const Task& task, ModelProgram& model) {
  if (!json.is_object()) return refused("the JSON block must hold an object");
  for (const char* other : {"source", "code", "cuda", "why", "explanation", "name"}) {
    json.erase(other);
  }
  auto plan = read_launch_plan(json, task, model.scratch);
  if (!plan) return refused(fmt::format("in the JSON block, {}", plan.error().message));
  if (plan->scratch) model.scratch = std::move(*plan->scratch);
  if (plan->launches) model.launches = std::move(*plan->launches);
  return {};
}

Result<void> check_program(const ModelProgram& model, const Task& task, std::string_view base) {
  if (model.source.size() > kMaxSourceBytes) {
    return refused(fmt::format("the source has {} bytes; at most {} are accepted",
                               model.source.size(), kMaxSourceBytes));
  }
  if (!is_text(model.source)) return refused("the source is not UTF-8 text");
  if (const auto reason = find_host_code(model.source, base)) {
    return refused(fmt::format("in the source, {}", *reason));
  }
  const Program program = program_of(model, task);
  if (auto good = check_launches(model, program); !good) return good;
  if (auto good = check_sizes(program, task, task.sizes, "the timed sizes"); !good) return good;
  for (std::size_t i = 0; i < task.check_sizes.size(); ++i) {
    if (auto good =
            check_sizes(program, task, task.check_sizes[i], fmt::format("check_sizes[{}]", i));
        !good) {
      return good;
    }
  }
  return {};
}

Program program_of(const ModelProgram& model, const Task& task) {
  Program program = task.reference;
  program.source = model.source;
  program.defines = model.defines;
  program.launches = model.launches;
  program.buffers.insert(program.buffers.end(), model.scratch.begin(), model.scratch.end());
  return program;
}

}  // namespace hone::llm
