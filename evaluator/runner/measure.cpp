#include "evaluator/runner/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "evaluator/check/fakes.h"
#include "evaluator/check/finite.h"
#include "evaluator/runner/bench_case.h"
#include "evaluator/runner/final_timing.h"
#include "evaluator/timing/statistics.h"
#include "evaluator/trace.h"

namespace hone::runner {
namespace {

using protocol::Case;
using protocol::MeasureReply;
using protocol::MeasureRequest;
using Clock = std::chrono::steady_clock;

constexpr std::uint8_t kOtherPoison = 0x5A;  // a large number in float types
constexpr std::uint8_t kTimedPoison = 0xFF;

constexpr double kCandidateFloor_s = 2;  // any candidate may run this long
constexpr double kTimeFactor = 30;       // or this many times the reference
constexpr int kQuickSamples = 20, kFewestQuickSamples = 3;
constexpr double kQuickBudget_s = 0.1;
constexpr double kClearlyWorse = 1.3;  // than the best so far: the fewest samples will do
constexpr double kFarWorse = 2;        // than the best so far: one sample will do
constexpr int kReferenceSamples = 10;
constexpr double kReferenceBudget_s = 1;
constexpr int kRecheckSamples = 5;
constexpr double kPreciseFactor = 100;  // of the time limit, in the final checks: doubles are slow
constexpr double kDrift = 0.1;  // of the reference's time: beyond it, the old one is given up
constexpr std::uint64_t kFakeSample = 1 << 20;  // elements from which a mean is taken

#define HONE_STEP(expression)                               \
  do {                                                      \
    if (auto hone_step = (expression); !hone_step)          \
      return std::unexpected(std::move(hone_step.error())); \
  } while (false)

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

MeasureReply reply_for(const Blamed& blamed) {
  MeasureReply reply;
  reply.verdict = blamed.failure.verdict;
  reply.reference_failed = blamed.reference;
  reply.context_lost = blamed.failure.context_lost;
  reply.detail = blamed.failure.detail;
  return reply;
}

/// How long the candidate may run when the reference took `reference_s`.
double candidate_limit(const MeasureRequest& request, double reference_s) {
  return reference_s +
         std::min(request.timeout_s, std::max(kCandidateFloor_s, kTimeFactor * reference_s));
}

struct Checked {
  double max_rel_error = 0;
  double reference_s = 0;             ///< wall time of the reference's run
  std::vector<std::uint64_t> hashes;  ///< of the candidate's outputs
};

/// One candidate run with `poison`, then the reference from fresh inputs, then the comparison.
/// Leaves the reference's outputs wiped.
Step<Checked> check_once(BenchCase& bench, const MeasureRequest& request, const Case& one,
                         std::uint8_t poison, double candidate_limit_s) {
  HONE_STEP(bench.make_inputs(one.seed));
  HONE_STEP(bench.load(bench.second()));
  HONE_STEP(bench.prepare(bench.second(), poison));
  HONE_STEP(bench.run(bench.second(), candidate_limit_s));
  HONE_STEP(bench.inspect(bench.second()));

  Checked checked;
  if (request.final_stage) {
    auto hashes = bench.output_hashes(bench.second());
    if (!hashes) return std::unexpected(hashes.error());
    checked.hashes = std::move(*hashes);
  }
  HONE_STEP(bench.make_inputs(one.seed));
  HONE_STEP(bench.load(bench.reference()));
  HONE_STEP(bench.prepare(bench.reference(), kPoison));
  const auto begin = Clock::now();
  HONE_STEP(bench.run(bench.reference(), request.timeout_s));
  checked.reference_s = seconds_since(begin);
  HONE_STEP(bench.inspect(bench.reference()));
  const auto error = bench.compare(check::for_inputs(request.tolerance, one.made_up), one.precise,
                                   request.timeout_s);
  if (!error) return std::unexpected(error.error());
  checked.max_rel_error = *error;
  HONE_STEP(bench.wipe(bench.reference()));
  return checked;
}

/// Without atomics there is no reason for two runs on the same inputs to differ, but a race.
std::optional<Blamed> differing(const Case& one, const Checked& first, const Checked& second) {
  if (!one.repeatable || first.hashes == second.hashes) return std::nullopt;
  return Blamed{{Verdict::kRace, false, false,
                 "two runs on the same inputs gave different answers, and it uses no atomics"},
                false};
}

/// Event-timed runs of one side: warm-up, then until the samples or the budget are used up. Each
/// on inputs that were not there before.
Step<std::vector<double>> sample(BenchCase& bench, Side& side, std::uint64_t seed, int most,
                                 double budget_s, double limit_s, double best_time_us) {
  const auto begin = Clock::now();
  const auto warm_up = bench.timed_run(side, kTimedPoison, limit_s);
  if (!warm_up) return std::unexpected(warm_up.error());
  // A run so long that warming up changes nothing is a sample itself.
  std::vector<double> samples;
  if (*warm_up > 0.3e6 * budget_s) samples.push_back(*warm_up);
  while (static_cast<int>(samples.size()) < most) {
    const int have = static_cast<int>(samples.size());
    if (have >= 1 && seconds_since(begin) > 5 * budget_s) break;
    if (have >= 1 && best_time_us > 0) {
      const double least = *std::min_element(samples.begin(), samples.end());
      if (least > kFarWorse * best_time_us) break;
      if (have >= kFewestQuickSamples && least > kClearlyWorse * best_time_us) break;
    }
    if (have >= kFewestQuickSamples && seconds_since(begin) > budget_s) break;
    HONE_STEP(bench.make_inputs(++seed, false));
    const auto us = bench.timed_run(side, kTimedPoison, limit_s);
    if (!us) return std::unexpected(us.error());
    samples.push_back(*us);
  }
  return samples;
}

/// Every output is right, or as right as the reference's; both compared with the run in double.
bool as_right(const BenchCase::Agreement& candidate, const BenchCase::Agreement& reference) {
  if (candidate.outputs.size() != reference.outputs.size()) return false;
  return std::ranges::equal(candidate.outputs, reference.outputs, [](const auto& c, const auto& r) {
    return c.ok() || check::as_right(c, r);
  });
}

}  // namespace

MeasureReply Measure::handle(MeasureRequest request) {
  request.tolerance = check::for_inputs(request.tolerance, false);
  same_bits_ = true;
  if (request.bits == protocol::SameBits::kRequired) {
    // Then nothing but the reference itself says what is right.
    request.tolerance = check::same_bits(request.tolerance);
    request.timed.precise.reset();
    for (Case& one : request.checks) one.precise.reset();
  }
  if (!request.timed.candidate) return admit(request);
  const std::string& key = request.timed.reference.key;
  if (!request.final_stage && !request.reference_samples_us.empty() &&
      !reference_samples_.contains(key)) {
    auto again = recheck(request);
    if (!again) return reply_for(again.error());
    reference_samples_[key] = std::move(*again);
  }
  return evaluate(request);
}

Step<std::vector<double>> Measure::recheck(const MeasureRequest& request) {
  std::vector<std::string> said;
  auto now = run_twice(request.timed, request, kRecheckSamples, kQuickBudget_s, said);
  if (!now) {
    now.error().failure.detail = "in a new process it " + now.error().failure.detail;
    return now;
  }
  const double was = timing::median(request.reference_samples_us), is = timing::median(*now);
  const bool stands = std::abs(is - was) <= kDrift * was;
  trace(fmt::format("the reference again: {:.3f} us, was {:.3f} us{}", is, was,
                    stands ? "" : ", which no longer holds"));
  return stands ? request.reference_samples_us : *now;
}

Step<std::vector<double>> Measure::run_twice(const Case& one, const MeasureRequest& request,
                                             int samples, double budget_s,
                                             std::vector<std::string>& said) {
  BenchCase bench(gpu_, one.reference, one.reference, true);
  HONE_STEP(bench.allocate());
  HONE_STEP(bench.make_inputs(one.seed));
  for (auto [side, poison] : {std::pair<Side*, std::uint8_t>(&bench.reference(), kPoison),
                              std::pair<Side*, std::uint8_t>(&bench.second(), kOtherPoison)}) {
    HONE_STEP(bench.load(*side));
    HONE_STEP(bench.prepare(*side, poison));
    HONE_STEP(bench.run(*side, request.timeout_s));
    HONE_STEP(bench.inspect(*side));
  }
  const auto hole = bench.unwritten(kPoison, kOtherPoison);
  if (!hole) return std::unexpected(hole.error());
  if (!hole->empty())
    return std::unexpected(Blamed{{Verdict::kWrongResult, false, false, *hole}, true});
  auto found = bench.non_finite(bench.reference(), request.tolerance, one.inputs);
  if (!found) return std::unexpected(found.error());
  said.insert(said.end(), found->begin(), found->end());
  auto same = bench.compare(request.tolerance, std::nullopt, 0);
  if (!same) {
    if (same.error().failure.verdict == Verdict::kWrongResult)
      same.error().failure.detail =
          "it gives different answers on the same input: " + same.error().failure.detail;
    return std::unexpected(same.error());
  }
  if (samples == 0) return std::vector<double>();
  auto fake = surviving_fake(bench, request);
  if (!fake) return std::unexpected(fake.error());
  if (!fake->empty())
    return std::unexpected(Blamed{{Verdict::kWrongResult, false, false, std::move(*fake)}, true});
  return sample(bench, bench.reference(), one.seed, samples, budget_s, request.timeout_s, 0);
}

Step<std::string> Measure::surviving_fake(BenchCase& bench, const MeasureRequest& request) {
  Side &want = bench.reference(), &fake = bench.second();
  const auto& buffers = want.runnable->program.buffers;
  const auto blame = [&](auto outcome) -> Step<std::remove_reference_t<decltype(*outcome)>> {
    if (!outcome) return std::unexpected(Blamed{std::move(outcome.error()), true});
    return std::move(*outcome);
  };
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto& buffer = buffers[i];
    if (buffer.role != Role::kOut && buffer.role != Role::kInOut) continue;
    const auto passes = [&](const cuda::DeviceBuffer& got) -> Step<bool> {
      const auto c =
          blame(gpu_.compare(want.buffers[i], buffer.type, got, buffer, request.tolerance));
      if (!c) return std::unexpected(c.error());
      return c->ok();
    };
    const auto told = [&](const std::string& what) { return check::would_pass(buffer.name, what); };
    ConcreteBuffer filled = buffer;
    const auto try_fill = [&](Fill fill) -> Step<bool> {
      filled.fill = std::move(fill);
      auto queued = gpu_.fill(fake.buffers[i], filled, 77);
      if (!queued) return std::unexpected(Blamed{std::move(queued.error()), true});
      return passes(fake.buffers[i]);
    };
    auto survived = try_fill({Fill::Kind::kConstant, 0, 0, ""});
    if (!survived) return std::unexpected(survived.error());
    if (*survived) return told("zeros");
    const auto bytes = blame(gpu_.read(want.buffers[i], kFakeSample * size_of(buffer.type)));
    if (!bytes) return std::unexpected(bytes.error());
    const auto spread = check::spread_of(*bytes, buffer.type);
    if (spread.count >= check::kFewestForStatistics) {
      survived = try_fill({Fill::Kind::kConstant, spread.mean, 0, ""});
      if (!survived) return std::unexpected(survived.error());
      if (*survived) return told("their mean everywhere");
      survived = try_fill({Fill::Kind::kNormal, spread.mean, spread.deviation, ""});
      if (!survived) return std::unexpected(survived.error());
      if (*survived) return told("random numbers of the same mean and deviation");
    }
    for (std::size_t k = 0; k < buffers.size(); ++k) {
      if (buffers[k].role != Role::kIn || buffers[k].type != buffer.type ||
          buffers[k].elements() != buffer.elements())
        continue;
      const auto c = blame(
          gpu_.compare(want.buffers[i], buffer.type, want.buffers[k], buffer, request.tolerance));
      if (!c) return std::unexpected(c.error());
      if (c->ok() && c->max_rel_error > 0)
        return told(fmt::format("a copy of '{}'", buffers[k].name));
    }
  }
  return std::string();
}

Step<void> Measure::check_inputs(const Case& one, const MeasureRequest& request, double limit_s,
                                 const std::string& where) {
  BenchCase bench(gpu_, one.reference, *one.candidate, false);
  HONE_STEP(bench.allocate());
  HONE_STEP(bench.make_inputs(one.seed));
  for (Side* side : {&bench.second(), &bench.reference()}) {
    HONE_STEP(bench.make_inputs(one.seed));
    HONE_STEP(bench.load(*side));
    HONE_STEP(bench.prepare(*side, kPoison));
    HONE_STEP(bench.run(*side, side->reference ? request.timeout_s : limit_s));
    HONE_STEP(bench.inspect(*side));
  }
  const auto agreed = [&](Side& want, const Tolerance& tolerance) {
    return bench.agreement(want, bench.second(), tolerance);
  };
  const auto wrong = [&](const BenchCase::Agreement& agreement) -> Step<void> {
    return std::unexpected(
        Blamed{{Verdict::kWrongResult, false, false,
                fmt::format("{} ({}on {})", agreement.detail, where, to_string(one.inputs))},
               false});
  };
  const Tolerance own_tolerance = check::for_inputs(request.tolerance, one.made_up);
  auto plain = agreed(bench.reference(), own_tolerance);
  if (!plain) return std::unexpected(plain.error());
  if (!plain->comparable) return {};
  same_bits_ = same_bits_ && bench.same_answers();
  const bool exact_inputs = one.inputs == InputSet::kMultiples && request.exact;
  if (plain->ok && (!exact_inputs || plain->max_rel_error == 0)) return {};
  const bool little = std::ranges::any_of(plain->outputs, [&](const auto& output) {
    return check::mostly_non_finite(output, own_tolerance);
  });
  bool precise = false;
  if (one.precise) {
    auto ran = bench.run_precise(*one.precise, kPreciseFactor * request.timeout_s);
    if (!ran) return std::unexpected(ran.error());
    precise = *ran;
  }
  if (!precise) {
    if (plain->ok) return {};
    const Tolerance blind = check::loosened_blindly(own_tolerance);
    plain = agreed(bench.reference(), little ? check::numbers_alone(blind) : blind);
    if (!plain) return std::unexpected(plain.error());
    return plain->ok ? Step<void>() : wrong(*plain);
  }
  Side& truth = bench.precise();
  const auto own = bench.agreement(truth, bench.reference(), own_tolerance);
  if (!own) return std::unexpected(own.error());
  // What f32 gave without any error, fewer bits or another formula must give, too.
  if (exact_inputs && own->max_finite_error == 0) {
    const Tolerance exactly{0, 0, own_tolerance.non_finite};
    const bool same_classes = own->max_rel_error == 0;
    const auto strict =
        agreed(bench.reference(), same_classes ? exactly : check::numbers_alone(exactly));
    if (!strict) return std::unexpected(strict.error());
    if (!strict->ok) return wrong(*strict);
    if (same_classes) return {};
  }
  if (plain->ok) return {};
  Tolerance tolerance = check::loosened(own_tolerance, own->max_finite_error);
  const auto true_enough = agreed(truth, tolerance);
  if (!true_enough) return std::unexpected(true_enough.error());
  if (true_enough->ok) return {};
  // f32 overflows where double does not.
  if (little && own->max_rel_error > own->max_finite_error)
    tolerance = check::numbers_alone(tolerance);
  plain = agreed(bench.reference(), tolerance);
  if (!plain) return std::unexpected(plain.error());
  if (plain->ok) return {};
  return as_right(*true_enough, *own) ? Step<void>() : wrong(*plain);
}

Step<void> Measure::check_other_inputs(const MeasureRequest& request, InputSet set,
                                       double limit_s) {
  Case one = request.timed;
  one.inputs = set;
  one.made_up = true;
  for (protocol::Runnable* runnable : {&one.reference, &*one.candidate})
    runnable->program = with_inputs(std::move(runnable->program), set, one.seed);
  if (one.precise)
    one.precise->program = with_inputs(std::move(one.precise->program), set, one.seed);
  return check_inputs(one, request, limit_s, "at the timed size, ");
}

MeasureReply Measure::admit(const MeasureRequest& request) {
  MeasureReply reply;
  std::vector<std::string> at_check_sizes;  // as the emulator said
  for (const auto& one : request.checks) {
    if (auto ok = run_twice(one, request, 0, 0, at_check_sizes); !ok) return reply_for(ok.error());
  }
  auto samples =
      run_twice(request.timed, request, kReferenceSamples, kReferenceBudget_s, reply.said);
  if (!samples) {
    reply = reply_for(samples.error());
    if (samples.error().failure.out_of_memory) reply.verdict = Verdict::kRefused;
    reply.detail += " (at the timed size)";
    return reply;
  }
  for (std::string& line : reply.said) line += " (at the timed size)";
  reply.verdict = Verdict::kOk;
  reply.samples_us = *samples;
  reply.time_us = reply.reference_time_us = timing::median(*samples);
  reference_samples_[request.timed.reference.key] = *samples;
  return reply;
}

MeasureReply Measure::evaluate(const MeasureRequest& request) {
  double max_rel_error = 0;
  const auto whole = [&]() -> Step<FinalTimes> {
    for (std::size_t i = 0; i < request.checks.size(); ++i) {
      const Case& one = request.checks[i];
      if (one.inputs != InputSet::kOwn) {
        HONE_STEP(check_inputs(one, request, candidate_limit(request, 0.1), ""));
        continue;
      }
      BenchCase bench(gpu_, one.reference, *one.candidate, false);
      HONE_STEP(bench.allocate());
      // What is right by chance over one poison is not over the other. The quick stage takes them
      // in turns, the final stage both.
      std::vector<std::uint8_t> poisons = {i % 2 == 0 ? kPoison : kOtherPoison};
      if (request.final_stage) poisons = {kPoison, kOtherPoison};
      std::optional<Checked> first;
      for (const std::uint8_t poison : poisons) {
        const auto checked = check_once(bench, request, one, poison, candidate_limit(request, 0.1));
        if (!checked) return std::unexpected(checked.error());
        max_rel_error = std::max(max_rel_error, checked->max_rel_error);
        if (first) {
          if (auto race = differing(one, *first, *checked)) return std::unexpected(*race);
        }
        first = *checked;
      }
      same_bits_ = same_bits_ && bench.same_answers();
    }
    trace("checks passed");
    const Case& one = request.timed;
    if (request.final_stage) {
      for (const InputSet set : request.other_inputs)
        HONE_STEP(check_other_inputs(request, set, candidate_limit(request, 0.5)));
    }
    BenchCase bench(gpu_, one.reference, *one.candidate, false);
    HONE_STEP(bench.allocate());
    const auto known = reference_samples_.find(one.reference.key);
    const double expected_s =
        known != reference_samples_.end() ? timing::median(known->second) * 1e-6 : 0.5;
    auto checked =
        check_once(bench, request, one, kOtherPoison, candidate_limit(request, expected_s));
    if (!checked) return std::unexpected(checked.error());
    max_rel_error = std::max(max_rel_error, checked->max_rel_error);
    if (request.final_stage) {
      const auto again =
          check_once(bench, request, one, kPoison, candidate_limit(request, expected_s));
      if (!again) return std::unexpected(again.error());
      if (auto race = differing(one, *checked, *again)) return std::unexpected(*race);
    }

    // New inputs and freshly loaded code: nothing kept from the check is of use.
    const std::uint64_t timed_seed = one.seed ^ 0xD1B54A32D192ED03ULL;
    const double limit_s = candidate_limit(request, checked->reference_s);
    if (request.final_stage) {
      auto times = time_final(bench, request, limit_s, clocks_.get());
      same_bits_ = same_bits_ && bench.same_answers();
      return times;
    }
    FinalTimes timed;
    if (known == reference_samples_.end()) {
      HONE_STEP(bench.make_inputs(timed_seed));
      HONE_STEP(bench.load(bench.reference()));
      auto samples = sample(bench, bench.reference(), timed_seed, kReferenceSamples,
                            kReferenceBudget_s, request.timeout_s, 0);
      if (!samples) return std::unexpected(samples.error());
      HONE_STEP(bench.wipe(bench.reference()));
      reference_samples_[one.reference.key] = std::move(*samples);
    }
    HONE_STEP(bench.make_inputs(timed_seed));
    HONE_STEP(bench.load(bench.second()));
    auto samples = sample(bench, bench.second(), timed_seed, kQuickSamples, kQuickBudget_s, limit_s,
                          request.best_time_us);
    if (!samples) return std::unexpected(samples.error());
    timed.candidate_us = std::move(*samples);
    timed.reference_us = reference_samples_[one.reference.key];
    // What the last timed launch left behind counts too.
    HONE_STEP(bench.inspect(bench.second()));
    HONE_STEP(bench.remake_inputs());
    HONE_STEP(bench.load(bench.reference()));
    HONE_STEP(bench.prepare(bench.reference(), kPoison));
    HONE_STEP(bench.run(bench.reference(), request.timeout_s));
    auto error = bench.compare(request.tolerance, one.precise, request.timeout_s);
    if (!error) {
      if (error.error().failure.verdict == Verdict::kWrongResult)
        error.error().failure.detail += " (after the timed launches)";
      return std::unexpected(error.error());
    }
    timed.max_rel_error = *error;
    same_bits_ = same_bits_ && bench.same_answers();
    HONE_STEP(bench.wipe(bench.reference()));
    return timed;
  };

  const auto timed = whole();
  MeasureReply reply;
  if (!timed) {
    reply = reply_for(timed.error());
    reply.max_rel_error = max_rel_error;
    return reply;
  }
  reply.verdict = Verdict::kOk;
  reply.same_bits = same_bits_;
  reply.max_rel_error = std::max(max_rel_error, timed->max_rel_error);
  reply.warm_time_us = timing::median(timed->warm_us);
  reply.reference_warm_time_us = timing::median(timed->reference_warm_us);
  reply.discarded = timed->discarded;
  reply.clock_mhz = timed->clock_mhz;
  reply.outliers =
      timing::count_outliers(timed->candidate_us) + timing::count_outliers(timed->reference_us);
  reply.samples_us = timed->candidate_us;
  reply.reference_samples_us = timed->reference_us;
  reply.time_us = timing::median(timed->candidate_us);
  reply.reference_time_us = timing::median(timed->reference_us);
  const auto interval =
      timing::ratio_interval(timed->reference_us, timed->candidate_us, request.seed + 1);
  reply.ci95_low = interval.low;
  reply.ci95_high = interval.high;
  return reply;
}

}  // namespace hone::runner
