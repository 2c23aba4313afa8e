#include "evaluator/runner/emulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <span>

#include "evaluator/check/compare.h"
#include "evaluator/check/precise.h"
#include "evaluator/device/emulator/profile_file.h"
#include "evaluator/fill/fill.h"
#include "evaluator/further_checks.h"
#include "evaluator/runner/compare_timed.h"
#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/emulated_reply.h"
#include "evaluator/runner/needed_at_timed.h"
#include "evaluator/runner/needed_inputs.h"
#include "evaluator/runner/reordered.h"
#include "evaluator/runner/sample_launches.h"
#include "evaluator/trace.h"

namespace hone::runner {
namespace {

using protocol::Case;
using protocol::EmulateReply;
using protocol::EmulateRequest;
using protocol::SameBits;
using Clock = std::chrono::steady_clock;

// Timed sizes up to these are compared in full as well.
constexpr std::uint64_t kSmallReference = 4'000'000;  // warp instructions
constexpr std::int64_t kSmallThreads = 1 << 17;       // over all launches
constexpr std::int64_t kSmallBytes = 16 << 20;        // over all buffers [B]
// Likewise, in the final stage (units_of), and of a program that hone's own rules made.
constexpr double kWholeUnits = 40e6, kWholeUnitsByRules = 8e6;
constexpr std::int64_t kWholeBytes = 128 << 20;  // [B]
constexpr double kAgainUnits = 12e6;             // then also called again, and in another order
// Of the comparisons on inputs that the task does not list, in full and in part, each.
constexpr double kOtherInputsUnits = 30e6, kOtherInputsUnitsByRules = 6e6;
// Of an output of so many bytes a sample is to write so much, scaled to the whole grid.
constexpr std::int64_t kLeastBytesJudged = 16384;
constexpr double kLeastWritten = 0.5;

bool is_small(const ConcreteProgram& program) {
  double threads = 0;
  for (const auto& launch : program.launches) {
    double product = 1;
    for (const auto n : launch.grid) product *= static_cast<double>(n);
    for (const auto n : launch.block) product *= static_cast<double>(n);
    threads += product;
  }
  return bytes_of(program) <= kSmallBytes && threads <= static_cast<double>(kSmallThreads);
}

/// Of an admission.
const char* name_of(protocol::Part::Does does) {
  using Does = protocol::Part::Does;
  switch (does) {
    case Does::kAdmit:
      return "admission";
    case Does::kReorder:
      return "admission in another order";
    case Does::kNeed:
      return "admission, is an input needed";
    case Does::kLook:
      return "admission, made-up inputs";
    default:
      return "admission, as expected";
  }
}

/// Traces what each step of a request took.
class StepTrace {
 public:
  void ends(const char* what, const EmulateReply& result, const Case* one = nullptr) {
    const std::string of = one == nullptr
                               ? ""
                               : fmt::format(" of {} on {}", sizes_text(one->reference.program),
                                             to_string(one->inputs));
    trace(fmt::format("{}{}: {} in {:.3f} s {}", what, of, to_string(result.verdict),
                      std::chrono::duration<double>(Clock::now() - begin_).count(), result.detail));
    begin_ = Clock::now();
  }

 private:
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

const emulator::Profile* Emulate::profile_for(const EmulateRequest& request) {
  if (request.profile.empty()) return emulator::find_profile(request.arch);
  if (request.profile == profile_text_) return &profile_;
  auto parsed = emulator::parse_profile(request.profile, "profile");
  if (!parsed) return nullptr;
  profile_text_ = request.profile;
  profile_ = std::move(parsed->profile);
  return &profile_;
}

/// Why the blocks that were sampled do not tell what a candidate takes; empty where they do.
std::string Emulate::cannot_stand_for_all(const ProgramSample& sample, const Case& one,
                                          const emulator::Profile& profile,
                                          const SampleOptions& options) {
  const auto unlike = std::ranges::find_if(sample.written, [&](const auto& written) {
    const auto& buffers = one.candidate->program.buffers;
    const auto buffer = std::ranges::find(buffers, written.first, &ConcreteBuffer::name);
    return buffer->bytes() >= kLeastBytesJudged && written.second < kLeastWritten;
  });
  if (unlike == sample.written.end() && sample.unwritten.empty()) return {};
  // What the reference does itself is no reason.
  const auto module = kept_.module_for(one.reference.compiled);
  if (!module) return {};
  const auto own = sample_launches(one.reference, one.seed, **module, profile,
                                   {.most_in_full = options.most_in_full, .seed = options.seed});
  if (own.verdict != Verdict::kOk) return {};
  if (!sample.unwritten.empty() && own.unwritten.empty())
    return fmt::format(
        "its blocks do too different work for a sample of them: they read of '{}' "
        "what none of them wrote",
        sample.unwritten);
  if (unlike == sample.written.end()) return {};
  const auto expected = own.written.find(unlike->first);
  if (expected == own.written.end() ||
      unlike->second >= kLeastWritten * std::min(1.0, expected->second))
    return {};
  return fmt::format(
      "its blocks do too different work for a sample of them: if all wrote as the "
      "sampled ones do, that would be {:.0f} % of '{}'",
      100 * unlike->second, unlike->first);
}

EmulateReply Emulate::model(const EmulateRequest& request, const emulator::Profile& profile,
                            double& units) {
  const Case& one = *request.timed;
  const auto& runnable = one.candidate ? *one.candidate : one.reference;
  const bool is_reference = !one.candidate;
  const auto module = kept_.module_for(runnable.compiled);
  if (!module) return reply(Verdict::kUnsupported, module.error().message, is_reference);
  const bool is_limited =
      one.candidate && one.candidate->compiled.ptx != one.reference.compiled.ptx;
  SampleOptions options = is_limited ? candidate_sample(request.is_final) : SampleOptions();
  if (request.is_final) {  // as the candidate that it is compared with
    options.thorough = true;
    options.most_in_full = candidate_sample(true).most_in_full;
  }
  if (request.most_units > 0) options.most_units = std::min(options.most_units, request.most_units);
  if (is_reference) options.least_blocks = 2;
  options.seed = request.places;
  for (const auto& block : longest_blocks_) options.also.push_back(block.number);
  const auto sampled = sample_launches(runnable, one.seed, **module, profile, options);
  if (sampled.verdict != Verdict::kOk) return reply(sampled.verdict, sampled.detail, is_reference);
  if (is_limited)
    if (const auto why = cannot_stand_for_all(sampled, one, profile, options); !why.empty())
      return reply(Verdict::kUnsupported, why);

  EmulateReply result = reply(Verdict::kOk, "");
  if (is_reference)
    result.read_whole =
        needed_at_timed(runnable, **module, one.seed, sampled.touched_whole, request.places);
  double longest_us = -1, variance = 0;
  longest_modelled_.clear();
  for (const LaunchSample& launch : sampled.launches) {
    const auto time = emulator::model(profile, launch.counters, launch.config, launch.registers,
                                      launch.static_shared_bytes);
    result.time_us += longest_us < 0 ? time.time_us : emulator::following_us(profile, time);
    variance += std::pow(time.time_us * sampling_error(launch.counters), 2);
    if (time.time_us > longest_us) {
      longest_us = time.time_us;
      result.bound = time.bound;
    }
    units += units_of(launch.counters) * static_cast<double>(launch.counters.blocks_total) /
             static_cast<double>(std::max<std::uint64_t>(1, launch.counters.blocks));
    for (const auto& [name, value] : to_map(launch.counters)) result.counters[name] += value;
    longest_modelled_.push_back(launch.counters.most_of_a_block);
  }
  if (result.time_us > 0) result.time_error = std::sqrt(variance) / result.time_us;
  return result;
}

EmulateReply Emulate::with_longest_blocks(EmulateReply modelled, const EmulateRequest& request,
                                          const emulator::Profile& profile) {
  constexpr std::uint64_t kMuchLonger = 2;
  bool missed = false;
  for (std::size_t i = 0; i < std::min(longest_blocks_.size(), longest_modelled_.size()); ++i)
    missed = missed || longest_blocks_[i].instructions > kMuchLonger * longest_modelled_[i];
  if (!missed) return modelled;
  double units = 0;
  auto again = model(request, profile, units);
  if (again.verdict != Verdict::kOk) return again;
  return again.time_us > modelled.time_us ? again : modelled;
}

EmulateReply Emulate::compare_timed(const EmulateRequest& request, double units,
                                    std::vector<InputSet> usable, bool own) {
  const Case& timed = *request.timed;
  const auto reference = kept_.module_for(timed.reference.compiled);
  const auto candidate = kept_.module_for(timed.candidate->compiled);
  if (!reference || !candidate) return reply(Verdict::kUnsupported, "it cannot be parsed");
  std::shared_ptr<const emulator::Module> precise;
  if (timed.precise) {
    const auto parsed = kept_.module_for(timed.precise->compiled);
    if (parsed) precise = *parsed;
  }
  const bool exchanges = !request.by_rules && emulator::has_ordered_accesses(**candidate);
  const double whole_units = request.by_rules ? kWholeUnitsByRules : kWholeUnits;
  const double other_inputs = request.by_rules ? kOtherInputsUnitsByRules : kOtherInputsUnits;
  const bool small =
      units <= whole_units && bytes_of(timed.reference.program) <= kWholeBytes &&
      kept_.run(timed.reference, timed.seed, static_cast<std::uint64_t>(whole_units))->verdict ==
          Verdict::kOk;
  // Where one lost element of many counts, and how often a value comes, shows at this size alone.
  // The others may differ in what a program does for this size only; in which order, nobody knows.
  std::mt19937_64 random(request.places);
  std::ranges::sort(usable);
  std::ranges::shuffle(usable, random);
  const auto is_strided = [](InputSet set) {
    return set == InputSet::kStrided || set == InputSet::kStridedIntegers;
  };
  const auto rank = [&](InputSet set) {
    return depends_on_size(set) ? (is_strided(set) ? 1 : 0) : 2;
  };
  std::ranges::stable_sort(usable, {}, rank);
  if (own) usable.insert(usable.begin(), InputSet::kOwn);
  EmulateReply result = reply(Verdict::kOk, "");
  double in_full = 0, in_part = 0;
  int compared_in_full = 0, sets = 0;
  std::int64_t blocks = 0, elements = 0;
  for (const InputSet set : usable) {
    const bool is_own = set == InputSet::kOwn;
    if (!is_own && (in_part > other_inputs || (small && in_full >= other_inputs))) break;
    Case one = timed;
    if (!is_own) {
      one.inputs = set;
      one.made_up = true;
      for (protocol::Runnable* runnable :
           {&one.reference, &*one.candidate, one.precise ? &*one.precise : nullptr}) {
        if (runnable == nullptr) continue;
        runnable->program = with_inputs(std::move(runnable->program), set, one.seed);
        runnable->key += fmt::format("/{}", to_string(set));
      }
      // Small sizes show it as well.
      if (rounds_products(one.reference.program, set, one.seed)) continue;
    }
    EmulateReply compared;
    const double before_in_full = in_full, before_in_part = in_part;
    if (small && (is_own || in_full < other_inputs)) {
      bool useless = false;
      const bool again = is_own && units <= kAgainUnits;
      compared = check(one, request,
                       {.again = again,
                        .briefly = is_own && !request.by_rules,
                        .schedules = again || (is_own && exchanges) ? 1U : 0U,
                        .timed = is_own},
                       useless);
      if (compared.verdict != Verdict::kOk) compared.detail += " (at the timed size)";
      compared_in_full += useless ? 0 : 1;
      in_full += 2 * units;
    } else {
      const auto found =
          runner::compare_timed(one, {**reference, **candidate, precise.get()},
                                {.tolerance = check::for_inputs(request.tolerance, one.made_up),
                                 .exact = request.exact,
                                 .math = request.math,
                                 .to_the_bit = request.bits == SameBits::kRequired,
                                 .places = request.places + static_cast<std::uint64_t>(set),
                                 .candidate_units = units,
                                 .thorough = is_own,
                                 .by_rules = request.by_rules});
      compared = reply(found.verdict, found.detail);
      compared.max_rel_error = found.max_rel_error;
      if (request.bits == SameBits::kNoted && !found.useless)
        same_bits_ = same_bits_ && found.same_bits;
      if (is_own) result.not_compared = found.not_compared;
      if (!is_own) in_part += found.units;
      // Of some programs a part costs as much as the whole, which was enough once.
      if (is_own && found.whole && units > kAgainUnits) in_part += other_inputs + 1;
      if (!is_own && found.blocks == 0 && !found.useless) in_part += other_inputs;
      if (!found.useless) {
        blocks += found.blocks;
        elements += found.elements;
        ++sets;
      }
      trace(fmt::format("timed, {}: {} blocks, {} elements, {:.1f}e6 units{}", to_string(set),
                        found.blocks, found.elements, found.units / 1e6,
                        found.whole ? ", in full" : ""));
    }
    if (is_own) result.max_rel_error = compared.max_rel_error;
    if (compared.verdict != Verdict::kOk) return compared;
    if (is_strided(set)) {  // takes no other set's place
      in_full = before_in_full;
      in_part = before_in_part;
    }
  }
  const auto add = [&](std::string text) {
    result.compared += (result.compared.empty() ? "" : "; ") + text;
  };
  if (compared_in_full > 0)
    add(fmt::format("in full on {} set{} of inputs", compared_in_full,
                    compared_in_full == 1 ? "" : "s"));
  if (sets > 0)
    add(fmt::format("{} elements, by {} blocks drawn, on {} set{} of inputs", elements, blocks,
                    sets, sets == 1 ? "" : "s"));
  return result;
}

EmulateReply Emulate::handle(const EmulateRequest& request) {
  threads_ = request.threads;
  same_bits_ = true;
  longest_blocks_.clear();
  wrote_variables_ = false;
  if (request.part) return handle_part(request);
  double max_rel_error = 0;
  StepTrace step;
  const bool is_final = request.is_final;
  const FurtherChecks chosen = further_checks(request, known_references(request));
  std::vector<int> unusable;
  std::string not_compared;
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const auto& one = request.checks[i];
    bool useless = false;
    if (one.in_part) {
      auto in_part = check_in_part(one, request, useless);
      step.ends("check in part", in_part);
      if (useless) unusable.push_back(static_cast<int>(i));
      if (in_part.verdict != Verdict::kOk) return in_part;
      if (not_compared.empty()) not_compared = std::move(in_part.not_compared);
      continue;
    }
    const Further asked = {.again = is_final || i == chosen.reordered,
                           .often = is_final && i == chosen.called_often,
                           .schedules = chosen.schedules(i)};
    auto result = check(one, request, asked, useless);
    if (useless) unusable.push_back(static_cast<int>(i));
    step.ends("check", result, &one);
    max_rel_error = std::max(max_rel_error, result.max_rel_error);
    result.max_rel_error = max_rel_error;
    if (result.verdict != Verdict::kOk) return result;
  }
  EmulateReply result = after_checks(request, unusable, max_rel_error);
  if (result.not_compared.empty()) result.not_compared = std::move(not_compared);
  result.unusable = std::move(unusable);
  return result;
}

std::vector<KnownReference> Emulate::known_references(const EmulateRequest& request) {
  std::vector<KnownReference> known;
  for (const Case& one : request.checks) {
    known.emplace_back();
    if (!one.in_part) known.back() = known_reference(one, looks_further(request));
  }
  return known;
}

KnownReference Emulate::known_reference(const Case& one, bool looks_further) {
  const auto run = kept_.run(one);
  KnownReference known{.usable = run->verdict == Verdict::kOk, .work = run->warp_instructions};
  if (!looks_further || !one.candidate) return known;
  const auto module = kept_.module_for(one.candidate->compiled);
  known.exchanges = module && emulator::has_ordered_accesses(**module);
  return known;
}

EmulateReply Emulate::handle_part(const EmulateRequest& request) {
  using Does = protocol::Part::Does;
  const protocol::Part& part = *request.part;
  StepTrace step;
  if (part.does == Does::kRest) {
    if (request.timed) kept_.assume_work(request.timed->reference.compiled.ptx, part.own_work);
    wrote_variables_ = part.wrote_variables;
    return after_checks(request, part.unusable, 0);
  }
  if (request.checks.size() != 1) return reply(Verdict::kCrash, "a part is one check");
  const Case& one = request.checks.front();
  kept_.assume_work(one.reference.compiled.ptx, part.own_work);
  EmulateReply result = reply(Verdict::kOk, "");
  if (part.does == Does::kReference) {
    const auto known = known_reference(one, looks_further(request));
    result.reference_usable = known.usable;
    result.reference_work = known.work;
    result.exchanges = known.exchanges;
    step.ends("reference", result, &one);
    return result;
  }
  if (!one.candidate) {
    result = admission_part(one, request);
    step.ends(name_of(part.does), result, &one);
    return result;
  }
  bool useless = false;
  const bool reorders = part.does == Does::kReorder;
  const Further asked = reorders ? Further{.order = static_cast<std::uint64_t>(part.schedules)}
                                 : Further{.again = request.is_final,
                                           .often = part.often,
                                           .schedules = static_cast<std::uint64_t>(part.schedules)};
  result = one.in_part ? check_in_part(one, request, useless) : check(one, request, asked, useless);
  step.ends(one.in_part ? "check in part"
            : reorders  ? "check in another order"
                        : "check",
            result, &one);
  if (useless) result.unusable = {0};
  if (result.verdict == Verdict::kOk) result.same_bits = same_bits_;
  result.wrote_variables = wrote_variables_;
  return result;
}

EmulateReply Emulate::after_checks(const EmulateRequest& request, const std::vector<int>& unusable,
                                   double max_rel_error) {
  StepTrace step;
  if (request.is_final && wrote_variables_) {
    auto between = call_at_other_sizes(request, unusable);
    step.ends("calls at other sizes", between);
    if (between.verdict != Verdict::kOk) return between;
  }
  if (looks_further(request)) {
    auto named = check_own_numbers(request, unusable);
    step.ends("check of numbers of its own", named);
    if (named.verdict != Verdict::kOk) return named;
  }
  EmulateReply result = reply(Verdict::kOk, "");
  bool compared = false;  // in full, at the timed size
  // A program made for the timed sizes is another text than the one at the check sizes.
  // Only the reference decides whether it is small: a candidate may not opt out.
  if (request.timed && request.timed->candidate && is_small(request.timed->reference.program) &&
      kept_.run(request.timed->reference, request.timed->seed, kSmallReference)->verdict ==
          Verdict::kOk) {
    bool useless = false;
    result = check(*request.timed, request,
                   {.again = true, .schedules = request.checks.empty() ? 1U : 0U, .timed = true},
                   useless);
    step.ends("check at the timed size", result);
    compared = !useless;
    max_rel_error = std::max(max_rel_error, result.max_rel_error);
    result.max_rel_error = max_rel_error;
    if (result.verdict != Verdict::kOk) {
      result.detail += " (at the timed size)";
      return result;
    }
  }
  if (request.timed) {
    const auto* profile = profile_for(request);
    double units = 0;
    result = profile == nullptr ? reply(Verdict::kUnsupported, "no model of " + request.arch,
                                        !request.timed->candidate)
                                : model(request, *profile, units);
    step.ends("model", result);
    if (result.verdict == Verdict::kOk && request.is_final && request.timed->candidate) {
      std::set<InputSet> usable;
      for (std::size_t i = 0; i < request.checks.size(); ++i)
        if (request.checks[i].inputs != InputSet::kOwn &&
            std::ranges::find(unusable, static_cast<int>(i)) == unusable.end())
          usable.insert(request.checks[i].inputs);
      auto at_timed = compare_timed(request, units, {usable.begin(), usable.end()}, !compared);
      step.ends("comparison at the timed size", at_timed);
      max_rel_error = std::max(max_rel_error, at_timed.max_rel_error);
      if (at_timed.verdict == Verdict::kUnsupported && request.by_rules)
        at_timed.not_compared = std::move(at_timed.detail);
      else if (at_timed.verdict != Verdict::kOk)
        return at_timed;
      result = with_longest_blocks(std::move(result), request, *profile);
      if (result.verdict != Verdict::kOk) return result;
      result.not_compared = std::move(at_timed.not_compared);
      result.compared = std::move(at_timed.compared);
    }
  }
  result.max_rel_error = max_rel_error;
  result.same_bits = same_bits_;
  return result;
}

}  // namespace hone::runner
