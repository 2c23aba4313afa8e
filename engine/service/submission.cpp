#include "engine/service/submission.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/search/random.h"
#include "engine/service/job_view.h"
#include "evaluator/device_spec.h"
#include "rewriters/llm/client/endpoint.h"
#include "rewriters/llm/prompt/prompt.h"

namespace hone {
namespace {

/// Sorts by the time of submission, and is nobody else's.
std::string new_job_id(std::int64_t now_ms) {
  return fmt::format("{:x}-{:08x}", now_ms / 1000, static_cast<std::uint32_t>(secret_bits()));
}

/// Of the GPUs of the workers that are there.
Result<std::vector<std::string>> archs_there(queue::Broker& broker) {
  const auto workers = broker.workers();
  if (!workers) return std::unexpected(workers.error());
  std::vector<std::string> gpus = served_archs(*workers), models;
  for (const std::string& arch : gpus)
    if (arch.starts_with("emu:")) models.push_back(arch);
  std::erase_if(gpus, [](const std::string& arch) { return arch.starts_with("emu:"); });
  if (!gpus.empty()) return gpus;
  if (!models.empty())
    return invalid(
        fmt::format("no worker has a GPU; for an emulated one say --arch {}", models.front()));
  return invalid("no worker is there to tell the architecture: name it with --arch, such as sm_90");
}

/// Of the language model. Errors: kInvalidInput, by the names of the command's options.
Result<std::optional<queue::ModelWish>> wish_of(const Submission& submission) {
  const bool limits =
      submission.llm_tokens != 0 || !submission.llm_cost.empty() || !submission.llm_modes.empty();
  if (!submission.llm && limits)
    return invalid("--llm-tokens, --llm-cost and --llm-modes limit what --llm asks for: give it");
  if (!submission.llm) return std::nullopt;
  queue::ModelWish wish;
  if (submission.llm_tokens < 0) return invalid("--llm-tokens: a number above 0");
  if (submission.llm_tokens > 0) wish.tokens = submission.llm_tokens;
  if (!submission.llm_cost.empty()) {
    const auto cost = llm::parse_dollars(submission.llm_cost);
    if (!cost)
      return invalid(fmt::format("--llm-cost {}: {}", submission.llm_cost, cost.error().message));
    wish.nano_dollars = *cost;
  }
  for (const std::string& mode : submission.llm_modes) {
    if (!llm::parse_mode(mode))
      return invalid(fmt::format("--llm-modes {}: there are {}", mode, llm::kModeNames));
    if (std::ranges::find(wish.modes, mode) == wish.modes.end()) wish.modes.push_back(mode);
  }
  return wish;
}

}  // namespace

Result<void> check_submission(const Submission& submission) {
  if (auto valid = check_settings(submission.search); !valid) return valid;
  for (const std::string& arch : submission.archs)
    if (const auto known = parse_arch(arch); !known)
      return invalid("--arch: " + known.error().message);
  if (const auto wish = wish_of(submission); !wish) return std::unexpected(wish.error());
  return {};
}

Result<void> check_task(Rewriting& rewriting, const Task& task) {
  if (const auto files = task.input_files(); !files.empty())
    return invalid(fmt::format("{}: inputs from files were not sent", task.source_path));
  if (auto valid = rewriting.validate(task.reference, task.source_path);
      !valid && valid.error().code != ErrorCode::kRefused)
    return std::unexpected(valid.error());
  return {};
}

Result<queue::JobMessage> submit(queue::Broker& broker, const Submission& submission, Task task) {
  auto wish = wish_of(submission);
  if (!wish) return std::unexpected(wish.error());
  queue::JobMessage job;
  job.submitted_at = broker.now_ms();
  job.id = new_job_id(job.submitted_at);
  job.model = std::move(*wish);
  job.task = std::move(task);
  job.search = submission.search;
  for (const std::string& text : submission.archs) {
    auto arch = parse_arch(text);
    if (!arch) return std::unexpected(arch.error());
    if (std::ranges::find(job.archs, *arch) == job.archs.end())
      job.archs.push_back(std::move(*arch));
  }
  job.priority = submission.priority;
  job.owner = submission.owner;
  if (job.archs.empty()) {
    auto archs = archs_there(broker);
    if (!archs) return std::unexpected(archs.error());
    job.archs = std::move(*archs);
  }
  if (const auto submitted = broker.submit(job); !submitted)
    return std::unexpected(submitted.error());
  return job;
}

}  // namespace hone
