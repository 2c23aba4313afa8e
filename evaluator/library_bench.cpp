#include "evaluator/library_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "candidates/hash.h"
#include "evaluator/compile/compile.h"
#include "evaluator/pool/gpu_client.h"

namespace hone {
namespace {

using protocol::Runnable;

constexpr double kLongest_s = 120;  // one task

std::unexpected<Error> reference_failed(const std::string& what) {
  return fail(ErrorCode::kTaskFailed, "the reference " + what);
}

Result<Runnable> compile_reference(const ConcreteProgram& program, const std::string& arch,
                                   pool::RunnerPool& compilers, double timeout_s) {
  CompileJob job{program.source, program.defines, {}, arch};
  for (const auto& launch : program.launches) {
    if (std::ranges::find(job.kernels, launch.kernel) == job.kernels.end())
      job.kernels.push_back(launch.kernel);
  }
  const auto outcome = compilers.call(protocol::to_message(job), timeout_s);
  if (!outcome.ok())
    return fail(ErrorCode::kInfrastructure, "compiling the reference failed: " + outcome.detail);
  if (const auto error = protocol::error_of(outcome.reply))
    return fail(ErrorCode::kInfrastructure, "the compile runner failed: " + *error);
  auto compiled = protocol::compiled_program_from(outcome.reply);
  if (!compiled) return std::unexpected(compiled.error());
  if (compiled->verdict != Verdict::kOk)
    return reference_failed("does not compile: " +
                            compile::first_error(compiled->log, program.source));
  compiled->ptx.clear();  // what a GPU does not read
  compiled->log.clear();
  const auto bytes = nlohmann::json::to_cbor(nlohmann::json(program));
  return Runnable{program, std::move(*compiled),
                  content_hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()})};
}

/// The same buffers, without the reference's code.
Runnable library_runnable(const LibraryCase& one) {
  Runnable runnable;
  runnable.program.buffers = one.reference.buffers;
  runnable.compiled.verdict = Verdict::kOk;
  runnable.library = one.call;
  return runnable;
}

}  // namespace

LibraryBench::LibraryBench(std::unique_ptr<GpuClient> gpu, const EvaluatorOptions& options)
    : options_(options),
      gpu_(std::move(gpu)),
      compilers_(std::make_unique<pool::RunnerPool>("compile", 1, options)) {}

LibraryBench::~LibraryBench() = default;

Result<std::unique_ptr<LibraryBench>> LibraryBench::open(int ordinal,
                                                         const EvaluatorOptions& options) {
  auto gpu = GpuClient::open(ordinal, options, "library");
  if (!gpu) return std::unexpected(gpu.error());
  const auto library = (*gpu)->open_library();
  if (!library) return std::unexpected(library.error());
  std::unique_ptr<LibraryBench> bench(new LibraryBench(std::move(*gpu), options));
  const auto& facts = bench->gpu_->facts();
  bench->device_name_ = facts.name;
  bench->versions_ = fmt::format("{}, driver {}", *library, facts.driver);
  return bench;
}

Result<Evaluation> LibraryBench::measure(const LibraryRequest& request) {
  protocol::MeasureRequest measure;
  const auto add = [&](const LibraryCase& one) -> Result<protocol::Case> {
    auto reference = compile_reference(one.reference, gpu_->facts().arch, *compilers_,
                                       options_.compile_timeout_s);
    if (!reference) return std::unexpected(reference.error());
    return protocol::Case{
        .reference = std::move(*reference), .candidate = library_runnable(one), .seed = one.seed};
  };
  for (const LibraryCase& check : request.checks) {
    auto one = add(check);
    if (!one) return std::unexpected(one.error());
    measure.checks.push_back(std::move(*one));
  }
  auto timed = add(request.timed);
  if (!timed) return std::unexpected(timed.error());
  measure.timed = std::move(*timed);
  measure.tolerance = request.tolerance;
  measure.final_stage = true;
  measure.seed = request.seed;
  measure.timeout_s = options_.device_timeout_s;
  measure.timing_s = options_.final_timing_s;
  const auto reply = gpu_->measure(measure, false, kLongest_s);
  if (!reply) return std::unexpected(reply.error());
  if (reply->reference_failed) return reference_failed("fails on the GPU: " + reply->detail);

  Evaluation evaluation;
  evaluation.verdict = reply->verdict;
  evaluation.detail = reply->detail;
  evaluation.max_rel_error = reply->max_rel_error;
  evaluation.final_stage = true;
  auto& m = evaluation.measurement;
  m.time_us = reply->time_us;
  m.reference_time_us = reply->reference_time_us;
  m.speedup = m.time_us > 0 ? m.reference_time_us / m.time_us : 0;
  m.ci95_low = reply->ci95_low;
  m.ci95_high = reply->ci95_high;
  m.samples_us = reply->samples_us;
  m.reference_samples_us = reply->reference_samples_us;
  return evaluation;
}

}  // namespace hone
