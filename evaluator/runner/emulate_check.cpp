// A candidate at one size: is what it writes right, also when it runs again, and in other orders?
#include <fmt/format.h>

#include <algorithm>

#include "evaluator/check/compare.h"
#include "evaluator/check/precise.h"
#include "evaluator/runner/emulate.h"
#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/emulated_reply.h"

namespace hone::runner {
namespace {

using protocol::Case;
using protocol::EmulateReply;
using protocol::EmulateRequest;
using protocol::SameBits;

// Emulated warp instructions; a core runs 50-150 million a second.
constexpr std::uint64_t kMostOfReference =
    4;  // a candidate may do this much more than the reference
/// Or so many, if that is more: about two seconds. A tile does its whole work at a small size too.
constexpr std::uint64_t kCandidateLeast = 40'000'000;
constexpr std::uint64_t kOtherContents = 0x9E3779B97F4A7C15;  // changes a seed

}  // namespace

std::string sizes_text(const ConcreteProgram& program) {
  std::string text;
  for (const auto& buffer : program.buffers) {
    if (!text.empty()) text += ", ";
    text += buffer.name;
    for (const auto n : buffer.shape) text += fmt::format("[{}]", n);
  }
  return text;
}

Result<check::Judgement> Emulate::judge(const Case& one, const ReferenceRun& reference,
                                        const ConcreteBuffer& buffer,
                                        const std::vector<std::uint8_t>& got,
                                        const EmulateRequest& request) {
  if (request.bits != SameBits::kFree) {
    const Tolerance tolerance = check::for_inputs(request.tolerance, one.made_up);
    const auto same = check::compare(reference.outputs.at(buffer.name), got, buffer.type,
                                     check::same_bits(tolerance));
    if (!same) return std::unexpected(same.error());
    if (request.bits == SameBits::kRequired) return check::Judgement{*same, ""};
    same_bits_ = same_bits_ && same->ok();
  }
  SharedRun precise;
  const check::Question question{.want = {reference.outputs.at(buffer.name), buffer.type},
                                 .got = {got, buffer.type},
                                 .width = buffer.shape.empty() ? 1 : buffer.shape.back(),
                                 .tolerance = check::for_inputs(request.tolerance, one.made_up),
                                 .inputs = one.inputs,
                                 .exact = request.exact,
                                 .truth = [&] {
                                   precise = kept_.precise(one);
                                   if (precise == nullptr) return check::Elements{};
                                   return check::Elements{precise->outputs.at(buffer.name),
                                                          precise->types.at(buffer.name)};
                                 }};
  return check::judge(question, buffer.name);
}

EmulateReply Emulate::compare_outputs(const Case& one, const ReferenceRun& reference,
                                      const EmulatedProgram& program, const EmulateRequest& request,
                                      OutputBytes& outputs) {
  EmulateReply result = reply(Verdict::kOk, "");
  for (const auto& buffer : one.reference.program.buffers) {
    const int index = program.index_of(buffer.name);
    if (index < 0) {
      if (buffer.role == Role::kIn || buffer.role == Role::kScratch) continue;
      return reply(Verdict::kWrongResult,
                   fmt::format("the program has no buffer '{}'", buffer.name));
    }
    if (buffer.role == Role::kIn && program.was_written(index))
      return reply(Verdict::kTampering, fmt::format("the input '{}' was written", buffer.name));
  }
  for (const auto& buffer : one.reference.program.buffers) {
    if (!is_output(buffer.role)) continue;
    const int index = program.index_of(buffer.name);
    const auto hole = program.first_unwritten(index);
    if (hole >= 0 && reference.unwritten.at(buffer.name) != hole)
      return reply(Verdict::kWrongResult,
                   fmt::format("{}[{}] was not written (of {})", buffer.name,
                               hole / static_cast<std::int64_t>(size_of(buffer.type)),
                               sizes_text(one.reference.program)));
    auto& got = outputs[buffer.name] = program.read(index);
    const auto judged = judge(one, reference, buffer, got, request);
    if (!judged) return reply(Verdict::kWrongResult, judged.error().message);
    result.max_rel_error = std::max(result.max_rel_error, judged->comparison.max_rel_error);
    if (!judged->ok()) {
      result.verdict = Verdict::kWrongResult;
      result.detail = judged->detail.empty() ? check::describe(judged->comparison, buffer.name,
                                                               buffer.type, buffer.elements())
                                             : judged->detail;
      if (one.inputs != InputSet::kOwn)
        result.detail += fmt::format(" (on {})", to_string(one.inputs));
      if (one.made_up && one.inputs == InputSet::kOwn)
        result.detail += fmt::format(" (of {})", sizes_text(one.reference.program));
      return result;
    }
  }
  return result;
}

EmulateReply Emulate::run_again(const Case& one, EmulatedProgram& program,
                                const emulator::Module& module, const EmulateRequest& request,
                                std::uint64_t budget) {
  Case again = one;
  EmulateReply result = reply(Verdict::kOk, "");
  for (const std::uint64_t seed : {one.seed ^ kOtherContents, one.seed}) {
    again.seed = seed;
    const auto reference = kept_.run(again);
    if (says_nothing(*reference, again,
                     check::for_inputs(request.tolerance, one.made_up).non_finite))
      continue;
    if (auto renewed = program.begin_again(seed); !renewed)
      return reply(Verdict::kLaunchError, renewed.error().message);
    const auto report = program.run_all(module, budget, false);
    if (report.verdict != Verdict::kOk)
      return reply(report.verdict, report.detail + " (when it is called again)");
    OutputBytes outputs;
    result = compare_outputs(again, *reference, program, request, outputs);
    if (result.verdict == Verdict::kOk) continue;
    result.detail += " (when it is called again; what it leaves behind changes its answer)";
    return result;
  }
  return result;
}

EmulateReply Emulate::check(const Case& one, const EmulateRequest& request, Further further,
                            bool& unusable) {
  Tolerance tolerance = check::for_inputs(request.tolerance, one.made_up);
  if (request.bits == SameBits::kRequired) tolerance = check::same_bits(tolerance);
  const auto reference = kept_.run(one);
  unusable = one.made_up && says_nothing(*reference, one, tolerance.non_finite);
  if (unusable) return reply(Verdict::kOk, "");
  if (reference->verdict != Verdict::kOk) return reply(reference->verdict, reference->detail, true);
  const auto module = kept_.module_for(one.candidate->compiled);
  if (!module) return reply(Verdict::kUnsupported, module.error().message);
  auto program =
      EmulatedProgram::load(*one.candidate, one.seed, EmulatedProgram::Outputs::kUninitialised);
  if (!program) return reply(Verdict::kLaunchError, program.error().message);
  (*program)->set_threads(threads_);
  const std::uint64_t budget =
      std::max(reference->warp_instructions * kMostOfReference, kCandidateLeast);
  const auto report = (*program)->run_all(**module, budget, false);
  if (report.verdict == Verdict::kTimeout)
    return reply(report.verdict,
                 fmt::format("{} (at the check size {}, where the reference takes {} and a "
                             "candidate may take {})",
                             report.detail, sizes_text(one.reference.program),
                             reference->warp_instructions, budget));
  if (report.verdict != Verdict::kOk) return reply(report.verdict, report.detail);

  OutputBytes outputs;
  EmulateReply result = compare_outputs(one, *reference, **program, request, outputs);
  if (result.verdict != Verdict::kOk) return result;
  if (further.again && (*program)->keeps_something()) {
    const auto again = run_again(one, **program, **module, request, budget);
    if (again.verdict != Verdict::kOk) return again;
  }
  for (std::uint64_t k = 1; k <= further.schedules; ++k) {
    const auto again =
        run_reordered(*one.candidate, **module, one, outputs, tolerance, budget, one.seed + k);
    if (again.verdict != Verdict::kOk) return again;
  }
  return result;
}

}  // namespace hone::runner
