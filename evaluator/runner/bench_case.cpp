#include "evaluator/runner/bench_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/known_answers.h"

namespace hone::runner {
namespace {

using cuda::Failure;
using protocol::Runnable;

constexpr int kLibraryFlushes = 16;  // up to 300 us were seen of a host that had slept
/// Of a run that may be ended early. The GPU idles for microseconds between two of them; so few do
/// not make a program of hundreds of launches look slow.
constexpr std::size_t kParts = 8;
/// For the end of a part, however much of the time the parts before it took.
constexpr double kShortestWait_s = 0.05;

Blamed blamed(Verdict verdict, std::string detail, bool reference) {
  return Blamed{Failure{verdict, false, false, std::move(detail)}, reference};
}

}  // namespace

template <class T>
Step<T> BenchCase::blame(const Side& side, cuda::Outcome<T> outcome) const {
  if (!outcome) return std::unexpected(Blamed{std::move(outcome.error()), side.reference});
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(*outcome);
  }
}

BenchCase::BenchCase(cuda::Gpu& gpu, const Runnable& reference, const Runnable& second,
                     bool second_is_reference)
    : gpu_(gpu) {
  std::random_device random;
  hash_key_ = std::uint64_t{random()} << 32 | random();
  reference_.runnable = &reference;
  reference_.reference = true;
  second_.runnable = &second;
  second_.reference = second_is_reference;
  second_.shares_inputs = true;
}

BenchCase::~BenchCase() {
  // What is right is not left in memory that others get.
  for (Side* side : {&reference_, &precise_, &rounded_})
    if (!gpu_.lost()) (void)wipe(*side);
  for (Side* side : {&reference_, &second_, &precise_, &rounded_}) {
    side->code.reset();
    for (std::size_t i = 0; i < side->buffers.size(); ++i) {
      if (side->owned[i]) gpu_.release(side->buffers[i]);
    }
  }
}

Step<void> BenchCase::allocate() {
  HONE_STEP(allocate_side(reference_));
  return allocate_side(second_);
}

Step<bool> BenchCase::run_precise(const Runnable& precise, double limit_s) {
  return run_beside(precise_, precise, limit_s);
}

Step<bool> BenchCase::run_rounded(const std::optional<Runnable>& precise, double limit_s) {
  if (level_ != MathLevel::kTf32) return false;
  if (!rounded_program_) {
    Runnable made = precise ? *precise : *reference_.runnable;
    auto program = with_tf32_inputs(std::move(made.program));
    if (!program) return false;
    made.program = *std::move(program);
    made.key += "/tf32";
    rounded_program_ = std::move(made);
  }
  return run_beside(rounded_, *rounded_program_, limit_s);
}

Step<bool> BenchCase::run_beside(Side& side, const Runnable& runnable, double limit_s) {
  if (side.buffers.empty()) {
    side.runnable = &runnable;
    side.reference = true;
    auto allocated = allocate_side(side);
    if (!allocated) {
      if (!allocated.error().failure.out_of_memory) return std::unexpected(allocated.error());
      for (const cuda::DeviceBuffer& buffer : side.buffers) gpu_.release(buffer);
      side.buffers.clear();
      side.owned.clear();
      return false;
    }
  }
  if (known_ != nullptr) {
    auto recalled = known_->recall(side, seed_);
    if (!recalled || *recalled) return recalled;
  }
  HONE_STEP(fill_own_inputs(side));
  const auto ran = [&]() -> Step<double> {
    HONE_STEP(load(side));
    HONE_STEP(prepare(side, 0xFF));
    return run(side, limit_s);
  }();
  if (!ran && ran.error().failure.context_lost) return std::unexpected(ran.error());
  if (ran && known_ != nullptr) HONE_STEP(known_->keep(side, seed_));
  return ran.has_value();
}

Step<void> BenchCase::fill_own_inputs(Side& side) {
  const auto& buffers = side.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role == Role::kIn)
      HONE_STEP(blame(side, gpu_.fill(side.buffers[i], buffers[i], seed_)));
  }
  return {};
}

Step<std::vector<std::uint64_t>> BenchCase::output_hashes(Side& side) {
  std::vector<cuda::DeviceBuffer> outputs;
  const auto& buffers = side.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (is_output(buffers[i].role)) outputs.push_back(side.buffers[i]);
  auto inspection = blame(side, gpu_.inspect({}, outputs, hash_key_));
  if (!inspection) return std::unexpected(inspection.error());
  return std::move(inspection->hashes);
}

Step<void> BenchCase::allocate_side(Side& side) {
  for (const auto& buffer : side.runnable->program.buffers) {
    const auto& shared = reference_.runnable->program.buffers;
    const auto found = std::find_if(shared.begin(), shared.end(), [&](const ConcreteBuffer& b) {
      return b.name == buffer.name && b.role == Role::kIn;
    });
    if (side.shares_inputs && found != shared.end()) {
      side.buffers.push_back(reference_.buffers[static_cast<std::size_t>(found - shared.begin())]);
      side.owned.push_back(false);
      continue;
    }
    auto slab = blame(side, gpu_.acquire(static_cast<std::uint64_t>(buffer.bytes())));
    if (!slab) {
      if (slab.error().failure.out_of_memory)
        slab.error().failure.detail =
            fmt::format("buffer '{}' of {} bytes does not fit the GPU's memory beside the others",
                        buffer.name, buffer.bytes());
      return std::unexpected(slab.error());
    }
    side.buffers.push_back(*slab);
    side.owned.push_back(true);
  }
  return {};
}

Step<void> BenchCase::make_inputs(std::uint64_t seed, bool hashes) {
  const bool known = !input_hashes_.empty() && seed == seed_;
  seed_ = seed;
  HONE_STEP(fill_inputs());
  if (known) return {};  // the same seed, the same contents
  input_hashes_.clear();
  if (!hashes) return {};
  auto inspection = blame(reference_, gpu_.inspect({}, inputs(), hash_key_));
  if (!inspection) return std::unexpected(inspection.error());
  input_hashes_ = std::move(inspection->hashes);
  return {};
}

Step<void> BenchCase::fill_inputs() {
  const auto& buffers = reference_.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role != Role::kIn) continue;
    HONE_STEP(blame(reference_, gpu_.fill(reference_.buffers[i], buffers[i], seed_)));
    HONE_STEP(blame(reference_, gpu_.set_guards(reference_.buffers[i])));
  }
  return {};
}

bool BenchCase::makes_inputs() const {
  return std::ranges::none_of(reference_.runnable->program.buffers, [](const ConcreteBuffer& b) {
    return b.fill.kind == Fill::Kind::kFile && b.role == Role::kIn;
  });
}

std::vector<cuda::DeviceBuffer> BenchCase::inputs() const {
  std::vector<cuda::DeviceBuffer> result;
  const auto& buffers = reference_.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role == Role::kIn) result.push_back(reference_.buffers[i]);
  }
  return result;
}

Step<void> BenchCase::load(Side& side) {
  side.code.reset();
  auto code = blame(side, cuda::LoadedProgram::load(gpu_, *side.runnable));
  if (!code) return std::unexpected(code.error());
  side.code = std::move(*code);
  return bind(side);
}

Step<void> BenchCase::bind(Side& side) {
  std::vector<std::uint64_t> addresses;
  for (const auto& buffer : side.buffers) addresses.push_back(buffer.data());
  return blame(side, side.code->bind(addresses));
}

Step<void> BenchCase::prepare(Side& side, std::uint8_t poison) {
  HONE_STEP(poison_outputs(side, poison));
  for (std::size_t i = 0; i < side.buffers.size(); ++i) {
    if (!side.owned[i] || side.runnable->program.buffers[i].role == Role::kIn) continue;
    HONE_STEP(blame(side, gpu_.set_guards(side.buffers[i])));
  }
  return {};
}

Step<void> BenchCase::poison_outputs(Side& side, std::uint8_t poison) {
  const auto& buffers = side.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!side.owned[i] || buffers[i].role == Role::kIn) continue;
    const auto& b = side.buffers[i];
    if (buffers[i].role == Role::kInOut) {
      HONE_STEP(blame(side, gpu_.fill(b, buffers[i], seed_)));
    } else {
      HONE_STEP(blame(side, gpu_.set_bytes(b.data(), poison, b.bytes)));
    }
  }
  return {};
}

Step<double> BenchCase::run(Side& side, double limit_s, const std::optional<SlowerThan>& slower) {
  if (slower) return run_in_parts(side, limit_s, *slower);
  HONE_STEP(blame(side, gpu_.mark_begin()));
  HONE_STEP(blame(side, side.code->launch()));
  HONE_STEP(blame(side, gpu_.mark_end()));
  HONE_STEP(blame(side, gpu_.wait(limit_s)));
  return blame(side, gpu_.elapsed_us());
}

/// Each part is timed by the GPU: while the host is held up between two of them, the program is not
/// slow. Where the host queues the next part, or looks for its end, late, it is waited for anew.
Step<double> BenchCase::run_in_parts(Side& side, double limit_s, const SlowerThan& slower) {
  const auto is_slower = [&](bool running, double took_s, const std::string& when) {
    return std::unexpected(Blamed{
        {Verdict::kSlower, running, false,
         fmt::format("slower than {:.0f} times the best known time of {:.3g} ms: {}",
                     std::floor(1e6 * took_s / slower.best_us), 1e-3 * slower.best_us, when)},
        side.reference});
  };
  HONE_STEP(blame(side, gpu_.wait(limit_s)));  // what prepare() queued is not the program's
  const double most_s = std::min(limit_s, slower.within_s);
  const std::size_t launches = side.code->launches(), parts = std::min(launches, kParts);
  double spent_us = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t from = part * launches / parts, end = (part + 1) * launches / parts;
    if (1e-6 * spent_us > slower.between_s) {
      return is_slower(
          false, 1e-6 * spent_us,
          fmt::format("{} of its {} launches took {:.3g} s", from, launches, 1e-6 * spent_us));
    }
    HONE_STEP(blame(side, gpu_.mark_begin()));
    HONE_STEP(blame(side, side.code->launch(from, end)));
    HONE_STEP(blame(side, gpu_.mark_end()));
    auto ended = blame(side, gpu_.wait(std::max(most_s - 1e-6 * spent_us, kShortestWait_s)));
    if (!ended && ended.error().failure.verdict == Verdict::kTimeout) {
      const std::string when = fmt::format("still running after {:.3g} s", most_s);
      if (most_s < limit_s) return is_slower(true, most_s, when);
      ended.error().failure.detail = when;
    }
    HONE_STEP(std::move(ended));
    const auto us = blame(side, gpu_.elapsed_us());
    if (!us) return us;
    spent_us += *us;
  }
  return spent_us;
}

Step<double> BenchCase::timed_run(Side& side, std::uint8_t poison, double limit_s, Cache cache) {
  HONE_STEP(poison_outputs(side, poison));  // the guards keep what earlier runs did to them
  // While the GPU flushes, the host queues the rest; a library needs longer for it than a launch.
  const int flushes = cache == Cache::kWarm ? 0 : side.runnable->library ? kLibraryFlushes : 1;
  for (int i = 0; i < flushes; ++i) HONE_STEP(blame(side, gpu_.flush_l2()));
  HONE_STEP(blame(side, gpu_.mark_begin()));
  HONE_STEP(blame(side, side.code->launch()));
  HONE_STEP(blame(side, gpu_.mark_end()));
  HONE_STEP(blame(side, gpu_.wait(limit_s)));
  return blame(side, gpu_.elapsed_us());
}

Step<void> BenchCase::swap_outputs() {
  const auto& buffers = reference_.runnable->program.buffers;
  const auto& others = second_.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!is_output(buffers[i].role)) continue;
    const auto other = std::ranges::find(others, buffers[i].name, &ConcreteBuffer::name);
    if (other == others.end() || other->bytes() != buffers[i].bytes()) continue;
    std::swap(reference_.buffers[i],
              second_.buffers[static_cast<std::size_t>(other - others.begin())]);
  }
  for (Side* side : {&reference_, &second_})
    if (side->code) HONE_STEP(bind(*side));
  return {};
}

Step<void> BenchCase::inspect(Side& side) {
  const auto inspection = blame(side, gpu_.inspect(side.buffers, inputs(), hash_key_));
  if (!inspection) return std::unexpected(inspection.error());
  if (input_hashes_.empty()) {
    HONE_STEP(fill_inputs());
    auto fresh = blame(reference_, gpu_.inspect({}, inputs(), hash_key_));
    if (!fresh) return std::unexpected(fresh.error());
    input_hashes_ = std::move(fresh->hashes);
  }
  const auto& buffers = side.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::int64_t damage = inspection->damage[i];
    if (damage == std::numeric_limits<std::int64_t>::min()) continue;
    return std::unexpected(
        blamed(Verdict::kFault,
               fmt::format("out-of-bounds write at byte {} of '{}' (a buffer of {} bytes)", damage,
                           buffers[i].name, buffers[i].bytes()),
               side.reference));
  }
  std::size_t input = 0;
  for (const auto& buffer : reference_.runnable->program.buffers) {
    if (buffer.role != Role::kIn) continue;
    if (inspection->hashes[input] != input_hashes_[input])
      return std::unexpected(blamed(Verdict::kTampering,
                                    fmt::format("the input '{}' was written", buffer.name),
                                    side.reference));
    ++input;
  }
  return {};
}

Step<void> BenchCase::wipe(Side& side) {
  for (std::size_t i = 0; i < side.buffers.size(); ++i) {
    if (!side.owned[i] || side.runnable->program.buffers[i].role == Role::kIn) continue;
    HONE_STEP(blame(side, gpu_.set_bytes(side.buffers[i].data(), 0, side.buffers[i].bytes)));
  }
  return {};
}

Step<check::Comparison> BenchCase::compared(Side& want, Side& got, std::size_t buffer,
                                            const Tolerance& tolerance) {
  const ConcreteBuffer& wanted = want.runnable->program.buffers[buffer];
  const auto& others = got.runnable->program.buffers;
  const auto other = std::ranges::find(others, wanted.name, &ConcreteBuffer::name);
  const auto& bytes = got.buffers[static_cast<std::size_t>(other - others.begin())];
  return blame(got, gpu_.compare(want.buffers[buffer], wanted.type, bytes, *other, tolerance));
}

Step<BenchCase::Agreement> BenchCase::agreement(Side& want, Side& got, const Tolerance& tolerance) {
  Agreement result;
  const auto& buffers = want.runnable->program.buffers;
  const auto& others = got.runnable->program.buffers;
  const auto differs = [&](std::string detail) {
    result.ok = false;
    result.detail = std::move(detail);
    return result;
  };
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!is_output(buffers[i].role)) continue;
    const auto other = std::ranges::find(others, buffers[i].name, &ConcreteBuffer::name);
    if (other == others.end())
      return differs(fmt::format("the program has no buffer '{}'", buffers[i].name));
    if (other->elements() != buffers[i].elements())
      return differs(fmt::format("'{}' has another size", buffers[i].name));
    const auto comparison = compared(want, got, i, tolerance);
    if (!comparison) return std::unexpected(comparison.error());
    result.outputs.push_back(*comparison);
    result.max_rel_error = std::max(result.max_rel_error, comparison->max_rel_error);
    result.max_finite_error = std::max(result.max_finite_error, comparison->max_finite_error);
    result.comparable = result.comparable && !check::too_many({.elements = comparison->elements,
                                                               .count = comparison->non_finite},
                                                              tolerance.non_finite);
    if (!comparison->ok() && result.ok)
      (void)differs(check::describe(*comparison, other->name, other->type, other->elements()));
  }
  if (&want == &reference_ && &got == &second_)
    same_answers_ = same_answers_ && result.ok && result.max_rel_error == 0;
  return result;
}

Step<std::vector<std::string>> BenchCase::non_finite(Side& side, const Tolerance& tolerance,
                                                     InputSet inputs) {
  std::vector<std::string> said;
  const auto& program = side.runnable->program;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const ConcreteBuffer& buffer = program.buffers[i];
    if (!is_output(buffer.role)) continue;
    const auto found = blame(side, gpu_.non_finite(side.buffers[i], buffer.type));
    if (!found) return std::unexpected(found.error());
    if (check::too_many(*found, tolerance.non_finite))
      return std::unexpected(
          blamed(Verdict::kWrongResult,
                 check::refusal_of(program, buffer, *found, tolerance.non_finite), side.reference));
    if (found->count > 0) said.push_back(check::said_of(buffer, *found, inputs));
  }
  return said;
}

Step<std::vector<check::LocalComparison>> BenchCase::local_agreement(Side& want, Side& got,
                                                                     const Agreement& agreed,
                                                                     const Tolerance& tolerance,
                                                                     Side* own, Side* truth) {
  std::vector<check::LocalComparison> result;
  const auto& buffers = want.runnable->program.buffers;
  const auto& others = got.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!is_output(buffers[i].role)) continue;
    if (result.size() == agreed.outputs.size()) break;  // a buffer is missing: not ok anyway
    const check::Comparison& plain = agreed.outputs[result.size()];
    if (!plain.ok()) {
      result.emplace_back();
      continue;
    }
    // agreed() has found them all.
    const auto other = std::ranges::find(others, buffers[i].name, &ConcreteBuffer::name);
    const auto typed = [&](Side* side) {
      if (side == nullptr) return cuda::TypedBuffer{};
      return cuda::TypedBuffer{&side->buffers[i], side->runnable->program.buffers[i].type};
    };
    const cuda::TypedBuffer mine{&got.buffers[static_cast<std::size_t>(other - others.begin())],
                                 other->type};
    const std::int64_t width = buffers[i].shape.empty() ? 1 : buffers[i].shape.back();
    const auto local = blame(got, gpu_.compare_locally(typed(&want), mine, width, plain.rms,
                                                       tolerance, typed(own), typed(truth)));
    if (!local) return std::unexpected(local.error());
    result.push_back(*local);
  }
  return result;
}

Step<double> BenchCase::compare(const Tolerance& tolerance, const std::optional<Runnable>& precise,
                                double limit_s) {
  auto plain = compare_by_tolerance(tolerance, precise, limit_s);
  if (plain || level_ != MathLevel::kTf32) return plain;
  const cuda::Failure& failure = plain.error().failure;
  if (failure.verdict != Verdict::kWrongResult || failure.context_lost) return plain;
  const auto right = compare_as_tf32(tolerance, precise, limit_s);
  if (!right) return right.error().failure.context_lost ? std::unexpected(right.error()) : plain;
  return *right ? Step<double>(**right) : plain;
}

Step<std::optional<double>> BenchCase::compare_as_tf32(const Tolerance& tolerance,
                                                       const std::optional<Runnable>& precise,
                                                       double limit_s) {
  const auto rounded = run_rounded(precise, limit_s);
  if (!rounded) return std::unexpected(rounded.error());
  if (!*rounded) return std::nullopt;
  const auto wide = precise ? run_precise(*precise, limit_s) : Step<bool>(false);
  if (!wide) return std::unexpected(wide.error());
  Side& truth = *wide ? precise_ : reference_;
  const auto own = agreement(truth, rounded_, tolerance);
  if (!own) return std::unexpected(own.error());
  struct Way {
    Agreement whole;
    std::vector<check::LocalComparison> parts;
  };
  const auto beside = [&](Side& want, const Tolerance& allowed) -> Step<Way> {
    auto whole = agreement(want, second_, allowed);
    if (!whole) return std::unexpected(whole.error());
    auto parts = local_agreement(want, second_, *whole, allowed, &rounded_, &truth);
    if (!parts) return std::unexpected(parts.error());
    return Way{std::move(*whole), std::move(*parts)};
  };
  const auto near = beside(rounded_, tolerance);
  if (!near) return std::unexpected(near.error());
  const auto far = beside(truth, check::loosened(tolerance, own->max_finite_error));
  if (!far) return std::unexpected(far.error());
  HONE_STEP(wipe(rounded_));  // nobody finds a right answer in memory
  if (*wide) HONE_STEP(wipe(precise_));
  const auto ok = [](const Way& way, std::size_t i) {
    return i < way.whole.outputs.size() && way.whole.outputs[i].ok() && way.parts[i].ok();
  };
  double max_rel_error = 0;
  for (std::size_t i = 0; i < own->outputs.size(); ++i) {
    if (!ok(*near, i) && !ok(*far, i)) return std::nullopt;
    max_rel_error = std::max(max_rel_error, far->whole.outputs[i].max_rel_error);
  }
  return max_rel_error;
}

Step<double> BenchCase::compare_by_tolerance(const Tolerance& tolerance,
                                             const std::optional<Runnable>& precise,
                                             double limit_s) {
  auto result = agreement(reference_, second_, tolerance);
  if (!result) return std::unexpected(result.error());
  const auto wrong = [&](std::string detail) {
    return std::unexpected(blamed(Verdict::kWrongResult, std::move(detail), second_.reference));
  };
  const std::size_t outputs = result->outputs.size();
  std::vector<check::LocalComparison> parts;
  if (result->ok) {
    auto found = local_agreement(reference_, second_, *result, tolerance, nullptr, nullptr);
    if (!found) return std::unexpected(found.error());
    parts = std::move(*found);
    if (std::ranges::all_of(parts, &check::LocalComparison::ok)) return result->max_rel_error;
  }
  const auto said_of = [&](const std::vector<check::LocalComparison>& local, auto right) {
    std::size_t k = 0;
    for (const ConcreteBuffer& buffer : reference_.runnable->program.buffers) {
      if (!is_output(buffer.role)) continue;
      if (!right(local[k])) return check::describe(local[k], buffer.name, buffer.type, buffer.type);
      ++k;
    }
    return std::string();
  };
  const auto without_truth = [&]() -> Step<double> {
    if (!result->ok) return wrong(std::move(result->detail));
    auto detail = said_of(parts, [](const auto& local) { return local.mostly_ok(); });
    return detail.empty() ? Step<double>(result->max_rel_error) : wrong(std::move(detail));
  };
  if (!precise) return without_truth();
  const auto ran = run_precise(*precise, limit_s);
  if (!ran) {  // the candidate was wrong by all that is known
    Blamed blamed = wrong(result->ok ? said_of(parts, [](const auto& l) { return l.ok(); })
                                     : std::move(result->detail))
                        .error();
    blamed.failure.context_lost = ran.error().failure.context_lost;
    return std::unexpected(std::move(blamed));
  }
  if (!*ran) return without_truth();
  const auto truth = agreement(precise_, second_, tolerance);
  if (!truth) return std::unexpected(truth.error());
  if (truth->outputs.size() != outputs) return wrong(std::move(result->detail));
  const auto near =
      local_agreement(reference_, second_, *result, tolerance, &reference_, &precise_);
  if (!near) return std::unexpected(near.error());
  const auto true_parts =
      local_agreement(precise_, second_, *truth, tolerance, &reference_, &precise_);
  if (!true_parts) return std::unexpected(true_parts.error());
  HONE_STEP(wipe(precise_));  // nobody finds a right answer in memory
  double max_rel_error = 0;
  for (std::size_t i = 0; i < outputs; ++i) {
    const check::Comparison &plain = result->outputs[i], &exact = truth->outputs[i];
    if (!plain.ok() && !exact.ok()) return wrong(std::move(result->detail));
    const bool right = (plain.ok() && (*near)[i].ok()) || (exact.ok() && (*true_parts)[i].ok());
    if (!right)
      return wrong(said_of(plain.ok() ? *near : *true_parts, [](const auto& l) { return l.ok(); }));
    max_rel_error = std::max(max_rel_error, (plain.ok() ? plain : exact).max_rel_error);
  }
  return max_rel_error;
}

Step<std::string> BenchCase::unwritten(std::uint8_t reference_poison, std::uint8_t second_poison) {
  const auto& buffers = reference_.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role != Role::kOut) continue;
    const auto hole =
        blame(reference_, gpu_.first_unwritten(reference_.buffers[i], reference_poison,
                                               second_.buffers[i], second_poison));
    if (!hole) return std::unexpected(hole.error());
    if (*hole >= 0)
      return fmt::format("it leaves {}[{}] unwritten", buffers[i].name,
                         *hole / static_cast<std::int64_t>(size_of(buffers[i].type)));
  }
  return std::string();
}

}  // namespace hone::runner
