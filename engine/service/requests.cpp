#include "engine/service/requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <future>

namespace hone {

Bindings aligned_sizes(const Bindings& check, const Bindings& timed) {
  Bindings result = check;
  for (auto& [name, value] : result) {
    const auto found = timed.find(name);
    if (found == timed.end()) continue;
    std::int64_t divisor = 1;
    while (divisor < 64 && found->second % (divisor * 2) == 0) divisor *= 2;
    value = (value + divisor - 1) / divisor * divisor;
  }
  return result;
}

Result<RequestBuilder::CheckSpace> RequestBuilder::check_space(const Bindings& sizes) const {
  auto reference = instantiate(task_.reference, sizes);
  if (!reference) return std::unexpected(reference.error());
  CheckSpace result;
  result.sizes = sizes;
  result.reference = std::move(*reference);
  result.space =
      std::make_unique<Space>(RewriteContext{&task_, sizes, target_}, std::vector<std::string>{});
  return result;
}

Result<std::unique_ptr<RequestBuilder>> RequestBuilder::make(const Task& task,
                                                             const TargetLimits& target,
                                                             std::vector<std::string> disabled) {
  std::unique_ptr<RequestBuilder> builder(new RequestBuilder(task));
  builder->target_ = target;
  auto timed = instantiate(task.reference, task.sizes);
  if (!timed) return std::unexpected(timed.error());
  builder->timed_reference_ = std::move(*timed);
  if (task.flops) {
    auto flops = task.flops->eval(task.sizes);
    if (!flops) return std::unexpected(flops.error());
    builder->flops_ = static_cast<double>(*flops);
  }
  builder->timed_ =
      std::make_unique<Space>(RewriteContext{&task, task.sizes, target}, std::move(disabled));
  for (const Bindings& sizes : task.check_sizes) {
    auto check = builder->check_space(sizes);
    if (!check) return std::unexpected(check.error());
    builder->checks_.push_back(std::move(*check));
    auto aligned = builder->check_space(aligned_sizes(sizes, task.sizes));
    if (!aligned) return std::unexpected(aligned.error());
    builder->aligned_checks_.push_back(std::move(*aligned));
  }
  return builder;
}

EvaluationRequest RequestBuilder::blank(std::uint64_t seed) const {
  EvaluationRequest request;
  request.tolerance = task_.tolerance;
  request.math = task_.math;
  request.flops = flops_;
  request.seed = seed;
  request.timed.reference = timed_reference_;
  request.timed.seed = seed;
  return request;
}

Result<CheckCase> RequestBuilder::check_case(std::size_t index, const Recipe& recipe,
                                             std::uint64_t seed) const {
  const CheckSpace* check = &checks_[index];
  auto small = check->space->program(recipe);
  if (!small && task_.specialize) {
    check = &aligned_checks_[index];
    small = check->space->program(recipe);
  }
  if (!small) return std::unexpected(small.error());
  auto concrete = instantiate(*small, check->sizes);
  if (!concrete) return refused(concrete.error().message);
  return CheckCase{check->reference, std::move(*concrete), seed};
}

Result<EvaluationRequest> RequestBuilder::for_recipe(const Recipe& recipe, std::uint64_t seed) {
  auto program = timed_->program(recipe);
  if (!program) return std::unexpected(program.error());
  auto timed = instantiate(*program, task_.sizes);
  if (!timed) return refused(timed.error().message);
  EvaluationRequest request = blank(seed);
  request.timed.candidate = std::move(*timed);
  // Rewriting takes milliseconds at each size, and the sizes have nothing to do with each other.
  std::vector<std::future<Result<CheckCase>>> cases;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    cases.push_back(
        std::async(std::launch::async, [&, i] { return check_case(i, recipe, seed + 1 + i); }));
  }
  Result<void> outcome;
  for (auto& each : cases) {
    auto check = each.get();
    if (!check) {
      if (outcome) outcome = std::unexpected(check.error());
      continue;
    }
    request.checks.push_back(std::move(*check));
  }
  if (!outcome) return std::unexpected(outcome.error());
  return request;
}

Result<EvaluationRequest> RequestBuilder::for_program(const Program& program,
                                                      std::uint64_t seed) const {
  auto timed = instantiate(program, task_.sizes);
  if (!timed) return std::unexpected(timed.error());
  EvaluationRequest request = blank(seed);
  request.timed.candidate = std::move(*timed);
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    auto concrete = instantiate(program, checks_[i].sizes);
    if (!concrete) return std::unexpected(concrete.error());
    request.checks.push_back({checks_[i].reference, std::move(*concrete), seed + 1 + i});
  }
  return request;
}

}  // namespace hone
