#include "evaluator/sanitize.h"

#include <fmt/format.h>

#include "evaluator/compile/compile.h"
#include "evaluator/evaluator_impl.h"
#include "evaluator/pool/gpu_client.h"
#include "evaluator/protocol/sanitize_messages.h"

namespace hone {

Result<SanitizeResult> EvaluatorImpl::sanitize(const SanitizeRequest& request) {
  SanitizeResult result;
  const auto stop = [&](Verdict verdict, std::string detail) {
    result.verdict = verdict;
    result.detail = std::move(detail);
    return result;
  };
  const auto compiled = compile(request.program, {});
  if (!compiled) return std::unexpected(compiled.error());
  const CompiledProgram& program = **compiled;
  if (program.verdict != Verdict::kOk) {
    const std::string line = program.log.substr(0, program.log.find('\n'));
    if (program.missing_kernel) return invalid(line);
    return stop(program.verdict, program.verdict == Verdict::kCompileError
                                     ? compile::first_error(program.log, request.program.source)
                                     : line);
  }
  if (auto ok = check_launches(request.program, program, limits_); !ok)
    return stop(Verdict::kLaunchError, ok.error().message);
  protocol::SanitizeJob job;
  job.arch = info_.arch;
  job.runnable = {request.program, program, ""};
  job.seed = request.seed;
  job.schedule_seeds = request.schedule_seeds;
  job.max_findings = request.max_findings;
  job.inputs = request.inputs;
  job.non_finite = request.non_finite;
  job.threads = per_core(request.threads);
  job.seconds = request.seconds;
  constexpr double kSlack_s = 30;  // to load the buffers, and to notice that the time is over
  const double timeout_s = request.seconds + kSlack_s;
  const auto outcome = emulators_.call(protocol::to_message(job), timeout_s);
  switch (outcome.status) {
    case pool::Outcome::Status::kReply:
      if (const auto error = protocol::error_of(outcome.reply))
        return fail(ErrorCode::kInfrastructure, "the emulator's runner failed: " + *error);
      return protocol::sanitize_result_from(outcome.reply);
    case pool::Outcome::Status::kTimeout:
      return stop(Verdict::kTimeout, fmt::format("the check took more than {:.0f} s", timeout_s));
    case pool::Outcome::Status::kDied:
    case pool::Outcome::Status::kMalformed:
      return stop(Verdict::kCrash, "the emulator's runner died: " + outcome.detail);
    default:
      return fail(ErrorCode::kInfrastructure, outcome.detail);
  }
}

Result<SanitizeResult> sanitize(Evaluator& evaluator, const SanitizeRequest& request) {
  auto* impl = dynamic_cast<EvaluatorImpl*>(&evaluator);
  if (impl == nullptr || impl->info().driver != "")
    return fail(ErrorCode::kInternal, "only the emulated GPU looks for all findings");
  return impl->sanitize(request);
}

}  // namespace hone
