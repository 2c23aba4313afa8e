#include "evaluator/runner/reference_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "evaluator/runner/emulated_program.h"

namespace hone::runner {
namespace {

constexpr std::size_t kCachedRuns = 96;
constexpr std::size_t kCachedRunBytes = 256U << 20;  // [B]
constexpr std::size_t kCachedModules = 64;
constexpr std::size_t kKnownWork = 64;
// Of a reference on inputs that its task does not list [warp instructions].
constexpr std::uint64_t kMostOfOwn = 8;  // times what it takes on its own
constexpr std::uint64_t kLeastBudget = 50'000'000, kUnknownBudget = 200'000'000;

}  // namespace

bool says_nothing(const ReferenceRun& run, const protocol::Case& one, NonFinite non_finite) {
  if (run.verdict != Verdict::kOk) return true;
  if (one.inputs != InputSet::kOwn &&
      std::ranges::any_of(run.unwritten, [](const auto& item) { return item.second >= 0; }))
    return true;
  return std::ranges::any_of(
      run.non_finite, [&](const auto& item) { return check::too_many(item.second, non_finite); });
}

Result<SharedModule> ReferenceRuns::module_for(const CompiledProgram& compiled) {
  const std::string& key = compiled.ptx;  // not a hash: strangers can make two texts with one
  for (auto it = modules_.begin(); it != modules_.end(); ++it) {
    if (it->first != key) continue;
    modules_.splice(modules_.end(), modules_, it);
    return modules_.back().second;
  }
  auto module = emulator::Module::parse(compiled.ptx);
  if (!module) return std::unexpected(module.error());
  modules_.emplace_back(key, *module);
  if (modules_.size() > kCachedModules) modules_.pop_front();
  return *module;
}

ReferenceRun ReferenceRuns::run_afresh(const protocol::Runnable& reference, std::uint64_t seed,
                                       std::uint64_t budget, std::uint64_t changes,
                                       const std::vector<Replaced>& replaced) {
  ReferenceRun run;
  const auto module = module_for(reference.compiled);
  if (!module) {
    run.verdict = Verdict::kUnsupported;
    run.detail = module.error().message;
    return run;
  }
  auto program = EmulatedProgram::load(reference, seed, EmulatedProgram::Outputs::kUninitialised);
  if (!program) {
    run.verdict = Verdict::kRefused;
    run.detail = program.error().message;
    return run;
  }
  if (changes != 0) {
    if (auto changed = (*program)->begin_again(seed, changes); !changed) {
      run.verdict = Verdict::kRefused;
      run.detail = changed.error().message;
      return run;
    }
  }
  if (!replace(**program, replaced)) {
    run.verdict = Verdict::kRefused;
    run.detail = "an element to replace is not there";
    return run;
  }
  const auto report = (*program)->run_all(**module, budget, true);
  run.verdict = report.verdict;
  run.detail = report.detail;
  run.warp_instructions = report.counters.warp_instructions;
  if (run.verdict != Verdict::kOk) return run;
  const auto& buffers = reference.program.buffers;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!is_output(buffers[i].role)) continue;
    run.types[buffers[i].name] = buffers[i].type;
    elements += buffers[i].elements();
    auto bytes = (*program)->read(static_cast<int>(i));
    run.bytes += bytes.size();
    run.non_finite[buffers[i].name] = check::non_finite_of(bytes, buffers[i].type);
    run.outputs[buffers[i].name] = std::move(bytes);
    run.unwritten[buffers[i].name] = (*program)->first_unwritten(static_cast<int>(i));
  }
  run.operations = static_cast<double>(report.counters.flops) /
                   static_cast<double>(std::max<std::int64_t>(1, elements));
  return run;
}

bool replace(EmulatedProgram& program, const std::vector<Replaced>& elements) {
  return std::ranges::all_of(elements, [&](const Replaced& one) {
    const int index = program.index_of(one.buffer);
    std::uint8_t bytes[sizeof one.bits];
    std::memcpy(bytes, &one.bits, sizeof bytes);
    return index < 0 ||
           program.write(index, one.element * one.size, std::span(bytes).first(one.size));
  });
}

ReferenceRun ReferenceRuns::run_replaced(const protocol::Runnable& reference, std::uint64_t seed,
                                         std::uint64_t budget,
                                         const std::vector<Replaced>& replaced) {
  return run_afresh(reference, seed, budget, 0, replaced);
}

SharedRun ReferenceRuns::run(const protocol::Runnable& reference, std::uint64_t seed,
                             std::uint64_t budget, std::uint64_t changes) {
  const std::string key = fmt::format("{}/{}/{}", reference.key, seed, changes);
  for (auto it = runs_.begin(); it != runs_.end(); ++it) {
    if (it->first != key) continue;
    runs_.splice(runs_.end(), runs_, it);
    return runs_.back().second;
  }
  runs_.emplace_back(
      key, std::make_shared<const ReferenceRun>(run_afresh(reference, seed, budget, changes)));
  std::size_t bytes = 0;
  for (const auto& [name, run] : runs_) bytes += run->bytes;
  while (runs_.size() > 1 && (runs_.size() > kCachedRuns || bytes > kCachedRunBytes)) {
    bytes -= runs_.front().second->bytes;
    runs_.pop_front();
  }
  return runs_.back().second;
}

SharedRun ReferenceRuns::run(const protocol::Case& one) {
  const std::string& ptx = one.reference.compiled.ptx;
  auto known = std::ranges::find(work_, ptx, &decltype(work_)::value_type::first);
  if (one.inputs != InputSet::kOwn) {
    const std::uint64_t budget = known == work_.end() ? kUnknownBudget
                                                      : std::clamp(kMostOfOwn * known->second,
                                                                   kLeastBudget, kReferenceBudget);
    return run(one.reference, one.seed, budget, one.changes);
  }
  auto found = run(one.reference, one.seed, kReferenceBudget, one.changes);
  if (known == work_.end()) known = work_.emplace(work_.end(), ptx, 0);
  known->second = std::max(known->second, found->warp_instructions);
  if (work_.size() > kKnownWork) work_.pop_front();
  return found;
}

void ReferenceRuns::assume_work(const std::string& ptx, std::uint64_t work) {
  work_.clear();
  if (work > 0) work_.emplace_back(ptx, work);
}

SharedRun ReferenceRuns::precise(const protocol::Case& one) {
  if (!one.precise) return nullptr;
  auto found = run(*one.precise, one.seed, kReferenceBudget, one.changes);
  return found->verdict == Verdict::kOk ? found : nullptr;
}

SharedRun ReferenceRuns::coarse(const protocol::Case& one) {
  auto program = with_coarse_inputs(one.reference.program);
  if (!program) return nullptr;
  protocol::Runnable reference = one.reference;
  reference.program = *std::move(program);
  reference.key += "/coarse";
  auto found = run(reference, one.seed, kReferenceBudget, one.changes);
  return found->verdict == Verdict::kOk ? found : nullptr;
}

SharedRun ReferenceRuns::rounded(const protocol::Case& one) {
  for (const protocol::Runnable* exact : {one.precise ? &*one.precise : nullptr, &one.reference}) {
    if (exact == nullptr) continue;
    auto program = with_tf32_inputs(exact->program);
    if (!program) continue;
    protocol::Runnable reference = *exact;
    reference.program = *std::move(program);
    reference.key += "/tf32";
    auto found = run(reference, one.seed, kReferenceBudget, one.changes);
    if (found->verdict == Verdict::kOk) return found;
  }
  return nullptr;
}

}  // namespace hone::runner
