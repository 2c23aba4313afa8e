#include <fmt/format.h>
#include <unistd.h>

#include "evaluator/compile/locate.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/evaluator.h"
#include "evaluator/pool/runner_policy.h"
#include "evaluator/pool/runner_pool.h"
#include "evaluator/protocol/measure_messages.h"

namespace hone {
namespace {

constexpr int kMostGpus = 16;

/// The driver is looked at from a child: opening it here would leave its threads and memory behind.
void look_for_gpus(const EvaluatorOptions& options, std::vector<DoctorItem>& items) {
  DoctorItem driver{"NVIDIA driver", false, "", false};
  std::vector<DoctorItem> gpus;
  for (int ordinal = 0; ordinal < kMostGpus; ++ordinal) {
    auto runner = pool::RunnerProcess::start("measure", options, ordinal);
    if (!runner) {
      if (ordinal == 0) driver.detail = runner.error().message;
      break;
    }
    const auto outcome = (*runner)->call({{"op", "open"}, {"ordinal", (*runner)->ordinal()}}, 60);
    if (!outcome.ok()) {
      if (ordinal == 0) driver.detail = "no answer from the driver: " + outcome.detail;
      break;
    }
    const auto facts = protocol::device_facts_from(outcome.reply);
    if (!facts) {
      const auto error = protocol::get_string(outcome.reply, "error");
      if (ordinal == 0)
        driver.detail = error ? protocol::clean_text(*error, 512) : "unreadable answer";
      break;
    }
    driver.present = true;
    driver.detail = "CUDA " + facts->driver;
    gpus.push_back({fmt::format("GPU {}", ordinal), true,
                    fmt::format("cuda:{}: {}, {}, {:.0f} GB", ordinal, facts->name, facts->arch,
                                static_cast<double>(facts->memory_bytes) / 1e9),
                    false});
  }
  items.push_back(driver);
  if (gpus.empty())
    gpus.push_back(
        {"GPU", false, "none: hone can use the emulated one, --device emu:sm_90", false});
  items.insert(items.end(), gpus.begin(), gpus.end());
}

/// What a compile runner is confined by here.
void look_at_sandbox(const EvaluatorOptions& options, std::vector<DoctorItem>& items) {
  const auto runner = pool::RunnerProcess::start("compile", options);
  if (!runner) {
    items.push_back({"sandbox", false, runner.error().message, true});
    return;
  }
  for (const auto& l : (*runner)->layers()) {
    items.push_back({fmt::format("sandbox: {}", to_string(l.layer)), l.active,
                     l.active ? "" : l.reason, false});
  }
}

}  // namespace

std::vector<DoctorItem> diagnose(const EvaluatorOptions& options) {
  std::vector<DoctorItem> items;
  const auto runner = pool::runner_path(options);
  const bool has_runner = access(runner.c_str(), X_OK) == 0;
  items.push_back(
      {"hone-runner", has_runner,
       has_runner ? runner : runner + " is missing; build it or install the whole package", true});
  const auto& nvrtc = compile::Nvrtc::get();
  items.push_back(
      {"NVRTC", nvrtc.has_value(),
       nvrtc ? fmt::format("{} ({})", nvrtc->text(), nvrtc->path) : nvrtc.error().message, true});
  const auto include = compile::include_folder();
  items.push_back({"CUDA headers", !include.empty(),
                   include.empty() ? "cuda_fp16.h was not found; kernels that include it will not "
                                     "compile; install the CUDA toolkit or run scripts/setup.sh"
                                   : include.string(),
                   false});
  if (has_runner) {
    look_for_gpus(options, items);
    look_at_sandbox(options, items);
  }
  return items;
}

}  // namespace hone
