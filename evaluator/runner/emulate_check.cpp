// A candidate at one size: is what it writes right, also when it runs again, and in other orders?
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <random>
#include <string_view>

#include "evaluator/check/compare.h"
#include "evaluator/check/doubles.h"
#include "evaluator/check/made_up.h"
#include "evaluator/check/own_numbers.h"
#include "evaluator/check/precise.h"
#include "evaluator/runner/compare_timed.h"
#include "evaluator/runner/emulate.h"
#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/emulated_reply.h"
#include "evaluator/runner/partial_run.h"

namespace hone::runner {
namespace {

using protocol::Case;
using protocol::EmulateReply;
using protocol::EmulateRequest;
using protocol::SameBits;

// Emulated warp instructions; a core runs 50-150 million a second.
constexpr std::uint64_t kMostOfReference =
    4;  // a candidate may do this much more than the reference
/// Or so many, if that is more: a tile does its whole work at a small size too. Rules write no
/// endless loops, so what they made may take longer.
constexpr std::uint64_t kCandidateLeast = 40'000'000, kCandidateLeastByRules = 200'000'000;
constexpr std::uint64_t kOtherContents = 0x9E3779B97F4A7C15;  // changes a seed
/// Calls after the first: where states are not looked at, where work is dear, and at most, so that
/// a counter of a byte comes round.
constexpr int kFewCalls = 3, kManyCalls = 16, kMostCalls = 260;
constexpr std::uint64_t kMoreWork = 100'000'000, kMostWork = 10'000'000;  // likewise, of all calls
constexpr std::uint64_t kWorkOfACall = 5000;                              // contents and comparison
constexpr std::size_t kMostKept = 64U << 20;                              // of states [B]
/// Calls in all of a program that counts them, below what sixteen bits with a sign hold, and what
/// they may cost.
constexpr std::uint64_t kMostCounted = 32'000, kMostCountedWork = 100'000'000;
/// A program that cannot be run in part is run in full at a larger size, if its buffers are no
/// larger [B].
constexpr std::int64_t kMostInFull = std::int64_t{256} << 20;
constexpr std::uint64_t kWorkInFull = 30'000'000;  // and the reference is no longer [instructions]
/// Blocks that must be compared at a larger size. One may take all the time there is.
constexpr std::uint64_t kFewCompared = 1;
/// Of the reference, over all sizes that are called one after another.
constexpr std::uint64_t kMostAtOtherSizes = 60'000'000;  // [warp instructions]
/// Numbers of a candidate's code that inputs are given, and to one of how many elements.
constexpr std::size_t kMostNumbers = 32;
constexpr std::uint64_t kMostWorkOfNumbers = 20'000'000;  // [warp instructions of references]
constexpr std::uint64_t kOneOfReplaced = 4;
constexpr double kReferenceUnits = 4e6;  // of a reference of which a part is tried

/// Can one element of each output be made? What a reference does where nobody runs it in full is
/// not known: it may be wrong there, and on a GPU that costs the process; or one of its blocks
/// touches more memory than this process may have.
bool runs_in_part(const protocol::Runnable& reference, const emulator::Module& module,
                  std::uint64_t seed) try {
  auto run =
      PartialRun::load(reference, module, seed, kReferenceUnits, std::make_shared<SharedInputs>());
  if (!run) return false;
  for (std::size_t i = 0; i < reference.program.buffers.size(); ++i) {
    const auto& buffer = reference.program.buffers[i];
    if (!is_output(buffer.role)) continue;
    const auto last = static_cast<std::uint64_t>(buffer.bytes()) - size_of(buffer.type);
    for (const std::uint64_t offset : {std::uint64_t{0}, last})
      if ((*run)->make(static_cast<int>(i), offset) != PartialRun::Made::kMade) return false;
  }
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

/// As compare_timed(); what needs too much memory is unsupported.
TimedComparison compare_in_part(const Case& one, const TimedModules& modules,
                                const TimedQuestion& question) try {
  return compare_timed(one, modules, question);
} catch (const std::bad_alloc&) {
  TimedComparison result;
  result.verdict = Verdict::kUnsupported;
  result.detail = "a few of its blocks touch more memory than there is to emulate them";
  return result;
}

/// What a candidate may take where the reference takes `reference` [warp instructions].
std::uint64_t budget_for(std::uint64_t reference, const EmulateRequest& request) {
  return std::max({kMostOfReference * reference, request.allowance,
                   request.by_rules ? kCandidateLeastByRules : kCandidateLeast});
}

}  // namespace

std::int64_t bytes_of(const ConcreteProgram& program) {
  std::int64_t bytes = 0;
  for (const auto& buffer : program.buffers) bytes += buffer.bytes();
  return bytes;
}

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
  SharedRun precise, other;
  check::Question question{.want = {reference.outputs.at(buffer.name), buffer.type},
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
  if (request.math == MathLevel::kTf32)
    question.rounded = [&]() -> check::Elements {
      other = kept_.rounded(one);
      if (other == nullptr) return {};
      return {other->outputs.at(buffer.name), other->types.at(buffer.name)};
    };
  // What cancels has no size beside what does not.
  question.locally = one.inputs == InputSet::kRelated && request.math < MathLevel::kTf32x3;
  if (request.math < MathLevel::kTf32 && !one.made_up) {
    question.operations = reference.operations;
    question.in_doubles =
        buffer.type == ScalarType::kF64 && check::computes_in_doubles(one.reference.compiled.ptx);
    question.coarse = [&]() -> check::Elements {
      other = kept_.coarse(one);
      if (other == nullptr) return {};
      return {other->outputs.at(buffer.name), buffer.type};
    };
  }
  return check::judge(question, buffer.name);
}

EmulateReply Emulate::compare_outputs(const Case& one, const ReferenceRun& reference,
                                      const EmulatedProgram& program, const EmulateRequest& request,
                                      OutputBytes& outputs, bool& perhaps_by_chance) {
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
    // Another output may be wrong without a doubt.
    if (!judged->ok() && !(perhaps_by_chance && judged->comparison.perhaps_by_chance)) {
      perhaps_by_chance = judged->comparison.perhaps_by_chance;
      result.verdict = Verdict::kWrongResult;
      result.detail = judged->detail.empty() ? check::describe(judged->comparison, buffer.name,
                                                               buffer.type, buffer.elements())
                                             : judged->detail;
      if (one.inputs != InputSet::kOwn)
        result.detail += fmt::format(" (on {})", to_string(one.inputs));
      if (one.made_up && one.inputs == InputSet::kOwn)
        result.detail += fmt::format(" (of {})", sizes_text(one.reference.program));
      if (!perhaps_by_chance) return result;
    }
  }
  return result;
}

EmulateReply Emulate::run_again(const Case& one, EmulatedProgram& program,
                                const emulator::Module& module, const EmulateRequest& request,
                                std::uint64_t budget, Calls calls, bool& perhaps_by_chance) {
  const bool often = calls == Calls::kOften;
  Case again = one;
  EmulateReply result = reply(Verdict::kOk, "");
  std::vector<std::vector<std::uint8_t>> kept;  // after each call with the first contents
  std::size_t kept_bytes = 0;
  std::uint64_t work = 0;  // [warp instructions]
  const auto repeats = [&] {
    auto state = program.state();
    if (std::ranges::find(kept, state) != kept.end()) return true;
    kept_bytes += state.size();
    if (kept_bytes <= kMostKept) kept.push_back(std::move(state));
    return false;
  };
  Counting counting{.program = program};
  if (often) (void)repeats();
  for (int call = calls == Calls::kTwo ? 2 : 1; call <= (often ? kMostCalls : kFewCalls); ++call) {
    const bool few = call % 3 == 1, first = call % 3 == 0;  // changed elements, contents
    if (call > kFewCalls && work > (call > kManyCalls ? kMostWork : kMoreWork)) break;
    again.seed = few || first ? one.seed : one.seed ^ kOtherContents;
    again.changes = few ? (one.seed ^ kOtherContents) & ~fill::kLastBits : 0;
    const auto reference = kept_.run(again);
    if (says_nothing(*reference, again,
                     check::for_inputs(request.tolerance, one.made_up).non_finite))
      continue;
    if (auto renewed = program.begin_again(again.seed, again.changes); !renewed)
      return reply(Verdict::kLaunchError, renewed.error().message);
    const auto report = program.run_all(module, budget, false);
    work += report.counters.warp_instructions + kWorkOfACall;
    if (report.verdict != Verdict::kOk)
      return reply(report.verdict, report.detail + " (when it is called again)");
    OutputBytes outputs;
    result = compare_outputs(again, *reference, program, request, outputs, perhaps_by_chance);
    if (result.verdict != Verdict::kOk) {
      result.detail +=
          fmt::format(" (when it is called again{}; what it leaves behind changes its answer)",
                      call > kFewCalls ? fmt::format(", the {}th time", call + 1) : "");
      return result;
    }
    if (call == kFewCalls && request.is_final && calls != Calls::kTwo) {
      // Nothing is new: who knows that may hope that the outputs hold the answers still.
      if (!program.begin_again(again.seed)) return result;
      const auto same = program.run_all(module, budget, false);
      if (same.verdict == Verdict::kOk)
        result = compare_outputs(again, *reference, program, request, outputs, perhaps_by_chance);
      else
        result = reply(same.verdict, same.detail);
      if (result.verdict != Verdict::kOk) {
        result.detail += " (when it is called again with the same contents)";
        return result;
      }
      result = run_nearby(one, program, module, request, budget, perhaps_by_chance);
      if (result.verdict != Verdict::kOk) return result;
      if (!often) continue;
      // What it keeps after a call with the first contents is compared below.
      if (!program.begin_again(one.seed)) return result;
      const auto once_more = program.run_all(module, budget, false);
      if (once_more.verdict != Verdict::kOk)
        return reply(once_more.verdict, once_more.detail + " (when it is called again)");
    }
    // Programs do the same with the same state and contents.
    if (often && first && repeats()) return result;
    if (often && first && kept_bytes <= kMostKept) {
      std::ranges::rotate(counting.before, counting.before + 1);
      counting.before[2] = program.state_words();
      counting.calls = call + 1;
      counting.cost = report.counters.warp_instructions + kWorkOfACall;
    }
  }
  if (often && counting.calls > 0) {
    auto later = after_many_calls(one, counting, module, request, budget);
    if (later.verdict != Verdict::kOk) return later;
  }
  return result;
}

EmulateReply Emulate::run_nearby(const Case& one, EmulatedProgram& program,
                                 const emulator::Module& module, const EmulateRequest& request,
                                 std::uint64_t budget, bool& perhaps_by_chance) {
  Case near = one;
  near.changes = one.seed | fill::kLastBits;
  const auto reference = kept_.run(near);
  if (says_nothing(*reference, near, check::for_inputs(request.tolerance, one.made_up).non_finite))
    return reply(Verdict::kOk, "");
  if (auto renewed = program.begin_again(near.seed, near.changes); !renewed)
    return reply(Verdict::kLaunchError, renewed.error().message);
  const auto report = program.run_all(module, budget, false);
  OutputBytes outputs;
  auto result = report.verdict == Verdict::kOk ? compare_outputs(near, *reference, program, request,
                                                                 outputs, perhaps_by_chance)
                                               : reply(report.verdict, report.detail);
  if (result.verdict != Verdict::kOk)
    result.detail += " (when it is called again with inputs that differ in their last bits)";
  return result;
}

EmulateReply Emulate::after_many_calls(const Case& one, const Counting& counting,
                                       const emulator::Module& module,
                                       const EmulateRequest& request, std::uint64_t budget) {
  const auto& [first, second, third] = counting.before;
  if (first.size() != third.size() || second.size() != third.size()) return reply(Verdict::kOk, "");
  std::vector<std::uint32_t> growth(third.size());  // of three calls
  bool grows = false;
  for (std::size_t i = 0; i < third.size(); ++i) {
    growth[i] = third[i] - second[i];
    if (growth[i] != second[i] - first[i]) return reply(Verdict::kOk, "");
    grows = grows || growth[i] != 0;
  }
  const std::uint64_t most = std::min(kMostCounted, kMostCountedWork / counting.cost);
  if (!grows || most < 3 * kFewCalls) return reply(Verdict::kOk, "");
  const auto reference = kept_.run(one);
  std::mt19937_64 random(request.places);
  const auto ends_well = [&](EmulatedProgram& program, std::uint64_t after) {
    if (!program.begin_again(one.seed)) return reply(Verdict::kOk, "");
    const auto report = program.run_all(module, budget, false);
    auto result = reply(report.verdict, report.detail);
    bool perhaps_by_chance = false;
    OutputBytes outputs;
    if (result.verdict == Verdict::kOk)
      result = compare_outputs(one, *reference, program, request, outputs, perhaps_by_chance);
    result.detail += fmt::format(" (when it has been called {} times)", after);
    return result;
  };
  // Nearly as often as is worth it, and any number of times.
  for (const std::uint64_t threes : {most / 3 - random() % kFewCalls, 1 + random() % (most / 3)}) {
    const std::uint64_t after = static_cast<std::uint64_t>(counting.calls) + 3 * threes;
    auto program =
        EmulatedProgram::load(*one.candidate, one.seed, EmulatedProgram::Outputs::kUninitialised);
    if (!program) return reply(Verdict::kOk, "");
    (*program)->set_threads(threads_);
    // So often that all it keeps has come to life.
    for (int call = 0; call <= kFewCalls; ++call) {
      if (call > 0 && !(*program)->begin_again(one.seed)) return reply(Verdict::kOk, "");
      if ((*program)->run_all(module, budget, false).verdict != Verdict::kOk)
        return reply(Verdict::kOk, "");
    }
    const auto now = (*program)->state_words();
    if (now.size() != third.size()) return reply(Verdict::kOk, "");
    std::vector<std::uint32_t> missing(third.size());
    for (std::size_t i = 0; i < third.size(); ++i)
      missing[i] = third[i] + static_cast<std::uint32_t>(threes) * growth[i] - now[i];
    (*program)->add_to_state(missing, 1);
    if (ends_well(**program, after).verdict == Verdict::kOk) continue;
    // It may never come to that: then the calls themselves show it.
    program =
        EmulatedProgram::load(*one.candidate, one.seed, EmulatedProgram::Outputs::kUninitialised);
    if (!program) return reply(Verdict::kOk, "");
    (*program)->set_threads(threads_);
    for (std::uint64_t call = 0; call <= after; ++call) {
      if (call > 0 && !(*program)->begin_again(one.seed)) return reply(Verdict::kOk, "");
      if ((*program)->run_all(module, budget, false).verdict != Verdict::kOk) break;
    }
    if (auto result = ends_well(**program, after + 1); result.verdict != Verdict::kOk)
      return result;
  }
  return reply(Verdict::kOk, "");
}

EmulateReply Emulate::call_at_other_sizes(const EmulateRequest& request,
                                          const std::vector<int>& unusable) {
  std::map<std::string_view, std::vector<const Case*>> by_text;
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Case& one = request.checks[i];
    if (one.candidate && !one.in_part && one.inputs == InputSet::kOwn &&
        std::ranges::find(unusable, static_cast<int>(i)) == unusable.end())
      by_text[one.candidate->compiled.ptx].push_back(&one);
  }
  std::mt19937_64 random(request.places);
  for (auto& [text, cases] : by_text) {
    if (cases.size() < 2) continue;
    std::ranges::shuffle(cases, random);
    // What a larger call left, the second of two smaller ones may show.
    for (const std::size_t i : {0, 1}) cases.push_back(cases[i]);
    const auto module = kept_.module_for(cases.front()->candidate->compiled);
    if (!module) continue;
    std::unique_ptr<EmulatedProgram> before;
    std::uint64_t work = 0;  // [warp instructions of the reference]
    for (const Case* one : cases) {
      const auto reference = kept_.run(*one);
      if (before && work + reference->warp_instructions > kMostAtOtherSizes) continue;
      work += reference->warp_instructions;
      auto program = EmulatedProgram::load(*one->candidate, one->seed,
                                           EmulatedProgram::Outputs::kUninitialised);
      if (!program) return reply(Verdict::kLaunchError, program.error().message);
      (*program)->set_threads(threads_);
      if (before) (*program)->inherit_variables(*before);
      const auto report =
          (*program)->run_all(**module, budget_for(reference->warp_instructions, request), false);
      constexpr std::string_view kAfter = " (when it is called at one size after another)";
      if (report.verdict != Verdict::kOk)
        return reply(report.verdict, fmt::format("{}{}", report.detail, kAfter));
      OutputBytes outputs;
      bool perhaps_by_chance = false;
      auto result =
          compare_outputs(*one, *reference, **program, request, outputs, perhaps_by_chance);
      if (result.verdict != Verdict::kOk && !perhaps_by_chance) {
        result.detail += kAfter;
        return result;
      }
      before = std::move(*program);
    }
  }
  return reply(Verdict::kOk, "");
}

EmulateReply Emulate::check_own_numbers(const EmulateRequest& request,
                                        const std::vector<int>& unusable) {
  const EmulateReply right = reply(Verdict::kOk, "");
  std::vector<const Case*> own;
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Case& check = request.checks[i];
    if (check.candidate && !check.in_part && check.inputs == InputSet::kOwn &&
        std::ranges::find(unusable, static_cast<int>(i)) == unusable.end())
      own.push_back(&check);
  }
  std::ranges::stable_sort(own, {},
                           [](const Case* check) { return bytes_of(check->reference.program); });
  // The largest of those that are cheap. What the references do may be unknown here.
  const Case* chosen = nullptr;
  std::uint64_t work = 0;  // [warp instructions of references]
  for (const Case* check : own) {
    work += kept_.run(*check)->warp_instructions;
    if (work > kMostWorkOfNumbers) break;
    chosen = check;
  }
  if (chosen == nullptr) return right;
  Case one = *chosen;
  auto numbers = check::own_numbers(one.reference.compiled.ptx, one.candidate->compiled.ptx);
  std::mt19937_64 random(request.places);
  std::ranges::shuffle(numbers, random);
  if (numbers.size() > kMostNumbers) numbers.resize(kMostNumbers);
  std::vector<Replaced> replaced;
  for (const ConcreteBuffer& buffer : one.reference.program.buffers) {
    const auto values = check::elements_of(numbers, buffer);
    if (values.empty()) continue;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(buffer.elements()); ++i) {
      const std::uint64_t choice = random();
      if (choice % kOneOfReplaced == 0)
        replaced.push_back(
            {buffer.name, i, values[(choice >> 32) % values.size()], size_of(buffer.type)});
    }
  }
  if (replaced.empty()) return right;
  const auto module = kept_.module_for(one.candidate->compiled);
  auto program =
      EmulatedProgram::load(*one.candidate, one.seed, EmulatedProgram::Outputs::kUninitialised);
  // The answer in double is another one's.
  one.precise.reset();
  one.inputs = InputSet::kEdges;
  one.made_up = true;
  const auto reference = kept_.run_replaced(one.reference, one.seed, kMostAtOtherSizes, replaced);
  if (!module || !program || !replace(**program, replaced) ||
      says_nothing(reference, one, check::for_inputs(request.tolerance, true).non_finite))
    return right;
  (*program)->set_threads(threads_);
  const auto report =
      (*program)->run_all(**module, budget_for(reference.warp_instructions, request), false);
  constexpr std::string_view kWith = " (with numbers among the inputs that its code names)";
  if (report.verdict != Verdict::kOk)
    return reply(report.verdict, fmt::format("{}{}", report.detail, kWith));
  OutputBytes outputs;
  bool perhaps_by_chance = false;
  auto result = compare_outputs(one, reference, **program, request, outputs, perhaps_by_chance);
  if (result.verdict == Verdict::kOk || perhaps_by_chance) return right;
  const std::string on = fmt::format(" (on {})", to_string(one.inputs));
  if (result.detail.ends_with(on)) result.detail.resize(result.detail.size() - on.size());
  result.detail += kWith;
  return result;
}

EmulateReply Emulate::check_in_part(const Case& one, const EmulateRequest& request,
                                    bool& unusable) {
  constexpr std::string_view kTimed = " (at the timed size)";
  const auto reference = kept_.module_for(one.reference.compiled);
  const auto candidate = kept_.module_for(one.candidate->compiled);
  if (!reference || !candidate) return reply(Verdict::kUnsupported, "it cannot be parsed");
  unusable = !runs_in_part(one.reference, **reference, one.seed);
  if (unusable) return reply(Verdict::kOk, "");
  std::shared_ptr<const emulator::Module> precise;
  if (one.precise)
    if (const auto parsed = kept_.module_for(one.precise->compiled)) precise = *parsed;
  // Sums are longer than the task's own.
  Tolerance tolerance = check::for_inputs(request.tolerance, true);
  tolerance = request.bits == SameBits::kRequired ? check::same_bits(tolerance)
                                                  : check::loosened_blindly(tolerance);
  auto compared = compare_in_part(one, {**reference, **candidate, precise.get()},
                                  {.tolerance = tolerance,
                                   .to_the_bit = request.bits == SameBits::kRequired,
                                   .places = request.places ^ one.seed,
                                   .thorough = false,
                                   .enough = kFewCompared});
  unusable = compared.useless;
  if (unusable) return reply(Verdict::kOk, "");
  if (compared.verdict == Verdict::kUnsupported && !request.by_rules &&
      bytes_of(one.reference.program) <= kMostInFull &&
      kept_.run(one.reference, one.seed, kWorkInFull)->verdict == Verdict::kOk) {
    bool says_nothing = false;
    const bool exchanges = emulator::has_ordered_accesses(**candidate);
    auto in_full =
        check(one, request, {.briefly = true, .schedules = exchanges ? 1U : 0U}, says_nothing);
    if (!says_nothing) return in_full;
  }
  if (compared.detail.ends_with(kTimed))
    compared.detail.resize(compared.detail.size() - kTimed.size());
  auto result = reply(compared.verdict, compared.detail);
  // On a GPU the timed size is compared in full, and this as far as it goes.
  const bool on_gpu = !request.timed && !(request.part && request.part->timed_follows);
  if (compared.verdict == Verdict::kUnsupported && (request.by_rules || on_gpu)) {
    result = reply(Verdict::kOk, "");
    compared.not_compared = compared.detail;
  }
  if (result.verdict != Verdict::kOk)
    result.detail += fmt::format(" (of {})", sizes_text(one.reference.program));
  if (!compared.not_compared.empty())
    result.not_compared = "at larger sizes: " + compared.not_compared;
  return result;
}

EmulateReply Emulate::check(const Case& one, const EmulateRequest& request, Further further,
                            bool& unusable) {
  return check::drawn_anew(
      one,
      [&](const Case& drawn, bool& perhaps_by_chance) {
        return check_once(drawn, request, further, unusable, perhaps_by_chance);
      },
      [](const EmulateReply& answer) { return answer.verdict == Verdict::kOk; });
}

EmulateReply Emulate::check_once(const Case& one, const EmulateRequest& request, Further further,
                                 bool& unusable, bool& perhaps_by_chance) {
  Tolerance tolerance = check::for_inputs(request.tolerance, one.made_up);
  if (request.bits == SameBits::kRequired) tolerance = check::same_bits(tolerance);
  unusable = one.made_up && rounds_products(one.reference.program, one.inputs, one.seed) &&
             (!one.precise || request.math >= MathLevel::kTf32x3);
  if (unusable) return reply(Verdict::kOk, "");
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
  const std::uint64_t budget = budget_for(reference->warp_instructions, request);
  const auto report = (*program)->run_all(**module, budget, false);
  if (report.verdict == Verdict::kTimeout)
    return reply(report.verdict,
                 fmt::format("{} (at the check size {}, where the reference takes {} and a "
                             "candidate may take {})",
                             report.detail, sizes_text(one.reference.program),
                             reference->warp_instructions, budget));
  if (report.verdict != Verdict::kOk) {
    const auto at = further.timed ? "" : fmt::format(" (at {})", sizes_text(one.reference.program));
    return reply(report.verdict, report.detail + at);
  }
  if (further.timed) longest_blocks_ = (*program)->longest_blocks();

  OutputBytes outputs;
  EmulateReply result =
      compare_outputs(one, *reference, **program, request, outputs, perhaps_by_chance);
  if (result.verdict != Verdict::kOk) return result;
  const bool wrote_variables = (*program)->wrote_variables();
  wrote_variables_ = wrote_variables_ || (wrote_variables && !further.timed);
  if (further.again ? (*program)->keeps_something() : further.briefly && wrote_variables) {
    const Calls calls = !further.again ? Calls::kTwo : further.often ? Calls::kOften : Calls::kFew;
    const auto again =
        run_again(one, **program, **module, request, budget, calls, perhaps_by_chance);
    if (again.verdict != Verdict::kOk) return again;
  }
  // Stores that are seen in parts: once the first words first, once the last.
  std::uint64_t schedules = further.schedules;
  if (schedules == 1 && emulator::has_stores_seen_in_parts(**module)) schedules = 2;
  const std::uint64_t first = further.order > 0 ? further.order : 1;
  for (std::uint64_t k = first; k <= std::max(schedules, further.order); ++k) {
    const auto again =
        run_reordered(*one.candidate, **module, one, outputs, tolerance, budget, one.seed + k);
    if (again.verdict != Verdict::kOk) return again;
  }
  return result;
}

}  // namespace hone::runner
