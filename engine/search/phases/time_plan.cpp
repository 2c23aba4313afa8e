#include "engine/search/phases/time_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kSlowReference_s = 10e-3, kVerySlow_s = 0.1;
/// Runs of the reference that one final stage is expected to take: checks and other inputs.
constexpr double kCheckingRuns = 16;
/// Over kVerySlow_s a check, one that is timed, and other inputs: at least two, or as many as are
/// begun in 2 s.
constexpr double kRunsIfVerySlow = 2, kFewestOtherInputs = 2, kOtherInputs_s = 2;
/// As its own finalist.
constexpr double kRunsOfItself = 6, kRunsOfItselfIfVerySlow = 2;
/// And in pairs with the candidate, within a limit. From some time on it is timed apart instead.
constexpr double kPairRuns = 60, kPairs_s = 2, kTimedApart_s = 20e-3;
/// Of a budget, for all final stages, however slow the reference; on a GPU a first one takes long.
constexpr double kMostForFinals = 0.4, kMostForFinalsOnGpu = 0.45;
/// Likewise, where the reference is slow, as far as others than the best and the reference are
/// among them: they have what time is left.
constexpr double kMostForOthers = 0.3;
/// What these take is kept back: the best, the reference, and some more.
constexpr int kPrograms = 4;
/// On a GPU: the first finalist is compiled and emulated at all sizes, in fresh processes; that of
/// the others happens meanwhile. Each has a process of its own on the GPU, and the candidate runs.
constexpr double kFirstFinalist_s = 4.5, kFinalist_s = 1, kPartOfAdmission = 0.25;
/// Times what compiling the best at the timed size took: the first finalist, at least 1.2 s.
/// Or times what checking it took: up to twenty times the checks, in several processes.
constexpr double kCompiles = 3, kChecks = 2.5, kLeastFirst_s = 1.2, kCached_s = 0.02;
/// Once the best and the reference have ended theirs, others may go on until final stages have
/// taken so long, or so much of the budget.
constexpr double kFinals_s = 4, kFinalsPart = 0.1;
/// On an emulated device. An admission compiles and emulates the reference at the check sizes, an
/// evaluation the candidate; a final stage does both, at the hidden sizes and on other inputs, too:
/// some thirty checks where an evaluation has three.
constexpr double kAdmissionsPerFinalist = 2, kEvaluationsPerFinalist = 10;
/// And it compares blocks at the timed size.
constexpr double kTimedSizeCompared_s = 1;
/// The final stage may go on after the budget for this long, or this part of it.
constexpr double kGrace_s = 3.5, kGracePart = 0.035;
/// And then, while no finalist has a result, for as long as the first is expected to take; at least
/// and at most so long. Without a result all was for nothing, and how long the emulator takes for
/// checks at sizes that nobody has seen is hard to foresee.
constexpr double kLeastForTheFirst_s = 18, kMostForTheFirst_s = 30;
/// A search gets at least this part of what is left when it begins, whatever is kept back.
constexpr double kLeastForSearch = 0.3;
/// To make and evaluate what is known from earlier searches.
constexpr double kKnown_s = 3;

}  // namespace

void TimePlan::admitted(double reference_time_us, double admission_s, double now_s) {
  reference_s_ = reference_time_us * 1e-6;
  admission_s_ = admission_s;
  search_begin_s_ = now_s;
}

void TimePlan::searched(double search_s, std::int64_t finished) {
  if (finished > 0) evaluation_s_ = search_s / static_cast<double>(finished);
}

void TimePlan::compiled(double best_s) {
  found_ = true;
  // Less is what a cache takes.
  if (best_s > kCached_s) best_compile_s_ = std::max(best_compile_s_, best_s);
}

void TimePlan::checked(double best_s) { best_check_s_ = std::max(best_check_s_, best_s); }

bool TimePlan::reference_is_slow() const { return !modelled_ && reference_s_ > kSlowReference_s; }

bool TimePlan::reference_is_very_slow() const { return !modelled_ && reference_s_ > kVerySlow_s; }

double TimePlan::runs_of_reference() const {
  if (!reference_is_very_slow()) return kCheckingRuns;
  const double others = std::max(kFewestOtherInputs, std::floor(kOtherInputs_s / reference_s_) + 1);
  return std::min(kCheckingRuns, kRunsIfVerySlow + others);
}

/// The reference as its own finalist.
double TimePlan::seconds_of_reference() const {
  return kFinalist_s +
         (reference_is_very_slow() ? kRunsOfItselfIfVerySlow : kRunsOfItself) * reference_s_;
}

/// Of the best, the reference and some more; where the reference is very slow, of those that will
/// be timed at all.
double TimePlan::seconds_of_finals() const {
  if (!reference_is_very_slow()) return kPrograms * seconds_per_finalist();
  return affordable_finalists(kPrograms - 1) * seconds_per_finalist() + seconds_of_reference();
}

double TimePlan::seconds_per_finalist() const {
  if (!modelled_) {
    const double pairs_s =
        reference_s_ > kTimedApart_s ? 0 : std::min(kPairs_s, kPairRuns * reference_s_);
    return std::max(kFinalist_s, kPartOfAdmission * admission_s_) +
           runs_of_reference() * reference_s_ + pairs_s;
  }
  return kTimedSizeCompared_s +
         std::max(kAdmissionsPerFinalist * admission_s_, kEvaluationsPerFinalist * evaluation_s_);
}

double TimePlan::admission_end() const { return budget_.seconds > 0 ? budget_.seconds : kNever; }

double TimePlan::search_end() const {
  // But for the reference there is nothing to time yet; or the first faster candidate may replace
  // only one of several launches, where one of those that were sent ahead may replace all of them.
  const bool waits = (!modelled_ && !found_) || (reference_is_very_slow() && pioneers_out_);
  return waits && budget_.seconds > 0 ? budget_.seconds : proposals_end();
}

double TimePlan::proposals_end() const {
  const double total = budget_.seconds;
  if (total <= 0) return kNever;
  double reserve =
      modelled_ ? std::clamp(0.05 * total, 0.5, 5.0) : std::clamp(0.12 * total, 2.0, 20.0);
  // A GPU times one finalist after the other, and may use the time after the budget for it.
  const double first =
      best_compile_s_ > 0
          ? std::max(std::clamp(std::max(kCompiles * best_compile_s_, kChecks * best_check_s_),
                                kLeastFirst_s, kFirstFinalist_s),
                     kPartOfAdmission * admission_s_)
          : std::max(kFirstFinalist_s, admission_s_);
  const double other = modelled_ ? 0 : first - (finals_end() - total);
  double wanted = seconds_of_finals() + other;
  if (!modelled_ && reference_s_ > kTimedApart_s)
    wanted = std::max(std::min(kMostForOthers * total, wanted),
                      seconds_per_finalist() + seconds_of_reference() + other);
  const double most = modelled_ ? kMostForFinals : kMostForFinalsOnGpu;
  reserve = std::max(reserve, std::min(most * total, wanted));
  const double begin = std::min(search_begin_s_, total);
  return std::max(begin + kLeastForSearch * (total - begin), total - reserve);
}

double TimePlan::known_end() const {
  return std::max(search_end(), std::min(search_begin_s_ + kKnown_s, budget_.seconds));
}

double TimePlan::finals_end() const {
  const double total = budget_.seconds;
  return total > 0 ? total + std::max(kGrace_s, kGracePart * total) : kNever;
}

double TimePlan::for_the_first_s() const {
  double wanted = kCompiles * best_compile_s_ + kChecks * best_check_s_;
  // What a cache had at the timed size takes the compiler as long as any at the others.
  if (!modelled_) wanted = std::max(wanted, kFirstFinalist_s) + runs_of_reference() * reference_s_;
  return std::clamp(wanted, kLeastForTheFirst_s, kMostForTheFirst_s);
}

double TimePlan::enough_finals_s() const {
  if (budget_.seconds <= 0 || modelled_) return kNever;
  return std::max(kFinals_s, kFinalsPart * budget_.seconds);
}

int TimePlan::affordable_finalists(int wanted) const {
  if (budget_.seconds <= 0 || (!modelled_ && !reference_is_slow())) return wanted;
  const double affordable =
      kMostForFinals * budget_.seconds / std::max(1e-3, seconds_per_finalist());
  const double least = std::min(reference_is_very_slow() ? 1 : 2, wanted);
  return static_cast<int>(std::clamp<double>(affordable, least, wanted));
}

}  // namespace hone
