// From programs to what a runner can launch: compiled, in this process's memory or in the cache on
// disk, and within the limits of the device.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "candidates/hash.h"
#include "evaluator/align_buffers.h"
#include "evaluator/check/precise.h"
#include "evaluator/compile/compile.h"
#include "evaluator/evaluator_impl.h"
#include "evaluator/verdicts.h"

namespace hone {
namespace {

using protocol::Runnable;

constexpr std::size_t kCachedPrograms = 192;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<std::string> distinct_kernels(const ConcreteProgram& program) {
  std::vector<std::string> names;
  for (const auto& launch : program.launches) {
    if (std::find(names.begin(), names.end(), launch.kernel) == names.end())
      names.push_back(launch.kernel);
  }
  return names;
}

/// Source, defines, kernels, architecture and purpose: what decides the code. All of it and
/// not a hash, for which a stranger could find two programs with one key.
std::string compile_key(const CompileJob& job) {
  std::string text =
      fmt::format("{} {}", static_cast<int>(job.code_for), job.arch) + '\0' + job.source;
  for (const auto& [name, value] : job.defines) text += '\0' + name + '=' + value;
  for (const auto& kernel : job.kernels) text += '\0' + kernel;
  return text;
}

std::string runnable_key(const ConcreteProgram& program, CodeFor code_for) {
  const auto bytes = nlohmann::json::to_cbor(nlohmann::json(program));
  return fmt::format("{} {}", static_cast<int>(code_for),
                     content_hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

bool answers(const CompiledProgram& program, const CompileJob& job) {
  return std::ranges::equal(program.kernels, job.kernels, {}, &CompiledKernel::name);
}

bool same_code(const ConcreteProgram& a, const ConcreteProgram& b) {
  return a.source == b.source && a.defines == b.defines &&
         distinct_kernels(a) == distinct_kernels(b);
}

}  // namespace

Result<EvaluatorImpl::SharedProgram> EvaluatorImpl::compile(const ConcreteProgram& program,
                                                            Effort effort) {
  CompileJob job{program.source, program.defines, distinct_kernels(program), info_.arch};
  job.code_for = effort.code_for;
  const std::string key = fmt::format("{} ", effort.serial) + compile_key(job);
  if (auto known = compiled_before(key)) return known;
  struct Compiling {
    EvaluatorImpl& evaluator;
    const std::string& key;
    SharedProgram lasting = nullptr;
    ~Compiling() { evaluator.compiled_for(key, lasting); }
  } compiling{*this, key};
  const auto stored =
      effort.own == nullptr ? pool::CompileCache::key(job, toolchain_, info_.driver) : "";
  const auto reply = effort.own == nullptr ? cache_.find(stored) : std::nullopt;
  Result<CompiledProgram> result = infrastructure("not in the cache");
  if (reply) result = protocol::compiled_program_from(*reply);
  const bool cached = result.has_value();
  if (!cached) result = compile_now(job, effort);
  if (!result) return std::unexpected(result.error());
  if (result->verdict == Verdict::kOk && !answers(*result, job))
    return infrastructure("the compile runner answered something else than was asked");
  // Whatever else the compiler said may have had another reason than the source. Stored is what was
  // understood, not what was sent.
  if (result->verdict == Verdict::kOk && !cached && effort.own == nullptr)
    cache_.put(stored, protocol::to_message(*result));
  auto shared = std::make_shared<const CompiledProgram>(std::move(*result));
  // A crash or a time-out may have had another reason than the source.
  if (shared->verdict != Verdict::kCrash && shared->verdict != Verdict::kTimeout)
    compiling.lasting = shared;
  return shared;
}

EvaluatorImpl::SharedProgram EvaluatorImpl::compiled_before(const std::string& key) {
  std::unique_lock lock(mutex_);
  compiled_one_.wait(lock, [&] { return !compiling_.contains(key); });
  const auto found =
      std::ranges::find(compiled_, key, &std::pair<std::string, SharedProgram>::first);
  if (found == compiled_.end()) {
    compiling_.insert(key);
    return nullptr;
  }
  compiled_.splice(compiled_.end(), compiled_, found);
  return compiled_.back().second;
}

void EvaluatorImpl::compiled_for(const std::string& key, const SharedProgram& program) {
  {
    const std::lock_guard lock(mutex_);
    compiling_.erase(key);
    try {
      if (program != nullptr) compiled_.emplace_back(key, program);
    } catch (const std::bad_alloc&) {
      // It is compiled again.
    }
    if (compiled_.size() > kCachedPrograms) compiled_.pop_front();
  }
  compiled_one_.notify_all();
}

Result<CompiledProgram> EvaluatorImpl::compile_now(const CompileJob& job, Effort effort) {
  pool::RunnerPool& pool = effort.own != nullptr ? *effort.own : compilers_;
  const auto outcome =
      pool.call(protocol::to_message(job), options_.compile_timeout_s, effort.turn);
  CompiledProgram result;
  switch (outcome.status) {
    case pool::Outcome::Status::kReply:
      if (const auto error = protocol::error_of(outcome.reply))
        return infrastructure("the compile runner failed: " + *error);
      return protocol::compiled_program_from(outcome.reply);
    case pool::Outcome::Status::kTimeout:
      result.verdict = Verdict::kTimeout;
      result.log = fmt::format("compiling took more than {:.0f} s", options_.compile_timeout_s);
      return result;
    case pool::Outcome::Status::kDied:
    case pool::Outcome::Status::kMalformed:
      result.verdict = Verdict::kCrash;
      result.log = "the compiler crashed: " + outcome.detail;
      return result;
    case pool::Outcome::Status::kCannotStart:
    case pool::Outcome::Status::kCancelled:
      break;
  }
  return infrastructure(outcome.detail);
}

Result<Runnable> EvaluatorImpl::prepare_reference(const ConcreteProgram& program, Effort effort) {
  const auto compiled = compile(program, effort);
  if (!compiled) return std::unexpected(compiled.error());
  const auto& c = **compiled;
  if (c.verdict != Verdict::kOk) {
    if (c.missing_kernel) return invalid(first_line(c.log));
    if (c.verdict != Verdict::kCompileError)
      return task_failed("the reference: " + first_line(c.log));
    return task_failed("the reference does not compile: " +
                       compile::first_error(c.log, program.source));
  }
  if (auto ok = check_launches(program, c, limits_); !ok) return std::unexpected(ok.error());
  return Runnable{program, c, runnable_key(program, effort.code_for)};
}

Result<std::optional<Runnable>> EvaluatorImpl::prepare_precise(const ConcreteProgram& reference,
                                                               Effort effort) {
  const auto program = check::in_double(reference);
  if (!program) return std::nullopt;
  const auto compiled = compile(*program, effort);
  if (!compiled) return std::unexpected(compiled.error());
  if ((*compiled)->verdict != Verdict::kOk || !check_launches(*program, **compiled, limits_))
    return std::nullopt;
  return Runnable{*program, **compiled, runnable_key(*program, effort.code_for)};
}

Result<std::pair<Evaluation, Runnable>> EvaluatorImpl::prepare_candidate(
    const ConcreteProgram& reference, const ConcreteProgram& candidate, Effort effort,
    const Runnable* timed) {
  Runnable runnable;
  const auto aligned = align_buffers(reference, candidate);
  if (!aligned)
    return std::pair(verdict_of(Verdict::kLaunchError, aligned.error().message), runnable);
  runnable.program = *aligned;
  // At the check sizes it often is the same text.
  if (timed != nullptr && same_code(timed->program, candidate)) {
    runnable.compiled = timed->compiled;
    effort.code_for = CodeFor::kTiming;
  } else {
    const auto compiled = compile(candidate, effort);
    if (!compiled) return std::unexpected(compiled.error());
    runnable.compiled = **compiled;
  }
  const CompiledProgram& c = runnable.compiled;
  if (c.verdict != Verdict::kOk) {
    const std::string detail = c.verdict == Verdict::kCompileError
                                   ? compile::first_error(c.log, candidate.source)
                                   : first_line(c.log);
    return std::pair(verdict_of(c.verdict, detail), runnable);
  }
  if (auto ok = check_launches(runnable.program, c, limits_); !ok)
    return std::pair(verdict_of(Verdict::kLaunchError, ok.error().message), runnable);
  runnable.key = runnable_key(candidate, effort.code_for);
  return std::pair(verdict_of(Verdict::kOk, ""), std::move(runnable));
}

}  // namespace hone
