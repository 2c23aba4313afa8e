#include "evaluator/pool/compile_own.h"

#include <fmt/format.h>

#include "evaluator/compile/compile.h"
#include "evaluator/compile/locate.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/pool/compile_cache.h"
#include "evaluator/pool/runner_pool.h"
#include "evaluator/protocol/messages.h"

namespace hone::pool {
namespace {

constexpr double kExtra_s = 60;  // its kernels are many, and a machine may be busy

Error not_compiled(const std::string& what, const std::string& why) {
  return {ErrorCode::kEnvironment, fmt::format("compiling {} failed: {}", what, why)};
}

}  // namespace

Result<CompiledProgram> compile_own(const CompileJob& job, const std::string& what,
                                    const EvaluatorOptions& options, const std::string& driver) {
  const auto& nvrtc = compile::Nvrtc::get();
  if (!nvrtc) return std::unexpected(nvrtc.error());
  CompileCache cache(options.compile_cache);
  // A key of its own: what a stranger's program was compiled to is never taken for it.
  auto key = CompileCache::key(job, compile::toolchain_identity(nvrtc->path), driver);
  key["own"] = what;
  if (const auto known = cache.find(key)) {
    auto program = protocol::compiled_program_from(*known);
    if (program && program->verdict == Verdict::kOk && !program->cubin.empty()) return program;
  }
  RunnerPool compilers("compile", 1, options);
  const auto outcome =
      compilers.call(protocol::to_message(job), options.compile_timeout_s + kExtra_s);
  if (!outcome.ok()) return std::unexpected(not_compiled(what, outcome.detail));
  auto program = protocol::compiled_program_from(outcome.reply);
  if (!program) return program;
  if (program->verdict != Verdict::kOk || program->cubin.empty()) {
    const std::string none = "it has no back end for it; install a newer CUDA";
    return std::unexpected(
        not_compiled(what, fmt::format("NVRTC cannot compile for {}: {}", job.arch,
                                       program->log.empty() ? none : program->log)));
  }
  cache.put(key, protocol::to_message(*program));
  return program;
}

}  // namespace hone::pool
