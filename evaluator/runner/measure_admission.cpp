// Measure: the reference against itself, and what is wrong with a task.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluator/check/fakes.h"
#include "evaluator/check/finite.h"
#include "evaluator/runner/measure.h"
#include "evaluator/runner/quick_timing.h"
#include "evaluator/timing/statistics.h"
#include "evaluator/trace.h"

namespace hone::runner {
namespace {

using protocol::Case;
using protocol::MeasureReply;
using protocol::MeasureRequest;

constexpr int kRecheckSamples = 5;
constexpr double kDrift = 0.1;  // of the reference's time: beyond it, the old one is given up
constexpr std::uint64_t kFakeSample = 1 << 20;  // elements from which a mean is taken

}  // namespace

Step<std::vector<double>> Measure::recheck(const MeasureRequest& request) {
  std::vector<std::string> said;
  auto now = run_twice(timed_case(request), request, kRecheckSamples, kQuickBudget_s, said);
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
  std::vector<double> runs_us;
  for (auto [side, poison] : {std::pair<Side*, std::uint8_t>(&bench.reference(), kPoison),
                              std::pair<Side*, std::uint8_t>(&bench.second(), kOtherPoison)}) {
    HONE_STEP(bench.load(*side));
    HONE_STEP(bench.prepare(*side, poison));
    const auto us = bench.run(*side, request.timeout_s);
    if (!us) return std::unexpected(us.error());
    runs_us.push_back(*us);
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
  HONE_STEP(answers_.keep(bench.reference(), one.seed));
  auto fake = surviving_fake(bench, request, said);
  if (!fake) return std::unexpected(fake.error());
  if (!fake->empty())
    return std::unexpected(Blamed{{Verdict::kWrongResult, false, false, std::move(*fake)}, true});
  if (std::ranges::min(runs_us) > kVerySlow_us) return runs_us;
  return quick_samples(bench, bench.reference(), one.seed,
                       {.most = samples, .budget_s = budget_s, .limit_s = request.timeout_s});
}

Step<std::string> Measure::surviving_fake(BenchCase& bench, const MeasureRequest& request,
                                          std::vector<std::string>& said) {
  check::Survivors survivors;
  const auto& buffers = bench.reference().runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role != Role::kOut && buffers[i].role != Role::kInOut) continue;
    auto fake = fake_of_output(bench, request, i);
    if (!fake) return fake;
    survivors.add(static_cast<double>(buffers[i].elements()), std::move(*fake));
  }
  for (std::string& line : survivors.let_pass()) said.push_back(std::move(line));
  return survivors.refusal();
}

Step<std::string> Measure::fake_of_output(BenchCase& bench, const MeasureRequest& request,
                                          std::size_t i) {
  Side &want = bench.reference(), &fake = bench.second();
  const auto& buffers = want.runnable->program.buffers;
  const auto& buffer = buffers[i];
  const auto blame = [&](auto outcome) -> Step<std::remove_reference_t<decltype(*outcome)>> {
    if (!outcome) return std::unexpected(Blamed{std::move(outcome.error()), true});
    return std::move(*outcome);
  };
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
  return std::string();
}

MeasureReply Measure::admit(const MeasureRequest& request) {
  MeasureReply reply;
  std::vector<std::string> at_check_sizes;  // as the emulator said
  for (const auto& one : request.checks) {
    if (auto ok = run_twice(one, request, 0, 0, at_check_sizes); !ok) return reply_for(ok.error());
  }
  auto samples =
      run_twice(timed_case(request), request, kReferenceSamples, kReferenceBudget_s, reply.said);
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

}  // namespace hone::runner
