#include "engine/search/requests/requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "candidates/check_sizes.h"
#include "engine/search/random.h"
#include "engine/search/requests/check_costs.h"
#include "engine/search/requests/hidden_sizes.h"
#include "rewriters/core/hand_edit.h"
#include "rewriters/core/registry.h"
#include "rewriters/llm/model_steps.h"

namespace hone {
namespace {

/// Contents of the buffers at a check size in the quick stage, at least: every emulator runner
/// comes to know what the reference makes of each.
constexpr std::uint64_t kQuickInputs = 7;
/// Of a request, beside those of all remainders; the task's own come first.
constexpr std::size_t kMostChecks = 70;
constexpr int kSetsOfTies = 12;
/// What a vector, a fragment of a tensor core or a small tile asks of a size.
constexpr std::int64_t kRungs[] = {4, 8, 16};

/// What no rule vouches for.
bool is_unproved(const Step& step) { return is_model_step(step) || step.rewriter == kHandEdit; }

/// Each size the lesser of the two.
Bindings less_of(Bindings sizes, const Bindings& most) {
  for (auto& [name, value] : sizes) value = std::min(value, most.at(name));
  return sizes;
}

std::string text_of(const CheckCase& check) {
  return nlohmann::json::array({check.reference, check.candidate}).dump();
}

/// Some step puts a formula for a function that is less exact than that.
bool approximates(const Recipe& recipe) {
  return std::ranges::any_of(recipe, [](const Step& step) {
    const Rewriter* const rewriter = find_rewriter(step.rewriter);
    return rewriter != nullptr && rewriter->approximates();
  });
}

/// Has a size that has its timed value at every check another one? Whether the reference works
/// there, nobody has said.
bool varies_the_same(const Task& task, const Bindings& sizes) {
  return std::ranges::any_of(sizes, [&](const auto& size) {
    const auto timed = task.sizes.find(size.first);
    if (timed == task.sizes.end() || timed->second == size.second) return false;
    return std::ranges::all_of(task.check_sizes, [&](const Bindings& check) {
      const auto listed = check.find(size.first);
      return listed == check.end() || listed->second == timed->second;
    });
  });
}

bool has_unproved(const Recipe& recipe) { return std::ranges::any_of(recipe, is_unproved); }

}  // namespace

MathLevel claimed_math(const Recipe& recipe, const Task& task) {
  return has_unproved(recipe) ? task.math : required_math(recipe);
}

Bindings aligned_sizes(const Bindings& check, const Bindings& timed, std::int64_t most) {
  Bindings result = check;
  for (auto& [name, value] : result) {
    const auto found = timed.find(name);
    if (found == timed.end()) continue;
    std::int64_t divisor = 1;
    while (divisor < most && found->second % (divisor * 2) == 0) divisor *= 2;
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
  result.space = std::make_unique<Space>(rewriting_, RewriteContext{&task_, sizes, target_},
                                         SpaceOptions{.memory = memory_});
  return result;
}

Result<RequestBuilder::Ladder> RequestBuilder::ladder(std::vector<Bindings> rungs) const {
  rungs.erase(std::ranges::unique(rungs).begin(), rungs.end());
  Ladder result;
  for (const Bindings& sizes : rungs) {
    const bool between = sizes != rungs.front() && sizes != rungs.back();
    if (between && broken_constraint(task_, sizes)) continue;
    auto space = check_space(sizes);
    if (!space && !between) return std::unexpected(space.error());
    if (space) result.push_back(std::move(*space));
  }
  return result;
}

Result<std::unique_ptr<RequestBuilder>> RequestBuilder::make(Rewriting& rewriting, const Task& task,
                                                             const TargetLimits& target,
                                                             std::vector<std::string> disabled,
                                                             const RequestSecrets& secrets,
                                                             CheckCosts* costs) {
  CheckCosts by_elements(task);
  if (costs == nullptr) costs = &by_elements;
  std::unique_ptr<RequestBuilder> builder(new RequestBuilder(rewriting, task));
  builder->target_ = target;
  builder->secrets_ = secrets;
  auto timed = instantiate(task.reference, task.sizes);
  if (!timed) return std::unexpected(timed.error());
  builder->timed_reference_ = std::move(*timed);
  if (task.flops) {
    auto flops = task.flops->eval(task.sizes);
    if (!flops) return std::unexpected(flops.error());
    builder->flops_ = static_cast<double>(*flops);
  }
  builder->timed_ = std::make_unique<Space>(
      rewriting, RewriteContext{&task, task.sizes, target},
      SpaceOptions{.disabled = std::move(disabled), .hashes = true, .memory = builder->memory_});
  const auto add = [&](const Bindings& sizes, std::vector<Ladder>& to) -> Result<void> {
    const Bindings most = affordable_aligned_sizes(task, sizes, *costs);
    std::vector<Bindings> rungs = {sizes};
    for (const std::int64_t alignment : kRungs)
      rungs.push_back(less_of(aligned_sizes(sizes, task.sizes, alignment), most));
    rungs.push_back(most);
    auto ladder = builder->ladder(std::move(rungs));
    if (!ladder) return std::unexpected(ladder.error());
    to.push_back(std::move(*ladder));
    return {};
  };
  for (const Bindings& sizes : task.check_sizes)
    if (auto added = add(sizes, builder->checks_); !added) return std::unexpected(added.error());
  const auto affordable = [&](const Bindings& sizes) { return costs->affordable(sizes); };
  // Where the task's own expressions fail there is nothing to check.
  for (const Bindings& sizes : hidden_sizes(task, secrets.sizes, affordable))
    (void)add(sizes, builder->hidden_);
  for (const Bindings& sizes : large_sizes(task, secrets.sizes)) {
    auto ladder = builder->ladder({sizes});
    if (!ladder) continue;
    ladder->front().in_part = !costs->affordable(sizes);
    builder->hidden_.push_back(std::move(*ladder));
  }
  for (const Bindings& sizes : sizes_of_all_remainders(task, secrets.sizes, affordable))
    if (auto ladder = builder->ladder({sizes})) builder->remainders_.push_back(std::move(*ladder));
  const auto elements = [](const Ladder& ladder) {
    std::int64_t sum = 0;
    for (const auto& buffer : ladder.front().reference.buffers) sum += buffer.elements();
    return sum;
  };
  const auto smallest = std::ranges::min_element(builder->checks_, {}, elements);
  builder->smallest_ = static_cast<std::size_t>(smallest - builder->checks_.begin());
  builder->input_sets_ = input_sets_of(builder->timed_reference_);
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

/// What a model or a person wrote is refused here, or cannot be launched: no rule vouches for it,
/// so that is no size to leave out.
bool RequestBuilder::unproved_refuses(const CheckSpace& check, const Recipe& recipe) const {
  Recipe prefix;
  for (const Step& step : recipe) {
    prefix.push_back(step);
    if (!check.space->replays(prefix)) return is_unproved(step);
  }
  if (!has_unproved(recipe)) return false;
  const auto program = check.space->program(recipe);
  return program && !instantiate(*program, check.sizes);
}

bool RequestBuilder::checks_edits_as_timed(const Recipe& recipe) const {
  const auto last = std::find_if(recipe.rbegin(), recipe.rend(),
                                 [](const Step& step) { return step.rewriter == kModelEdit; });
  if (last == recipe.rend()) return true;
  const Recipe edited(recipe.begin(), last.base());  // what rules make of it they prove
  const auto timed = timed_->program(edited);
  if (!timed) return false;
  for (const Ladder& ladder : checks_) {
    const auto checked = checked_at(ladder, recipe).space->program(edited);
    if (checked && checked->source == timed->source) return true;
  }
  return false;
}

const RequestBuilder::CheckSpace& RequestBuilder::checked_at(const Ladder& ladder,
                                                             const Recipe& recipe) const {
  if (!task_.specialize || unproved_refuses(ladder.front(), recipe)) return ladder.front();
  // A hand's or a model's edit is to be checked in the text that is timed: sizes as alike as can
  // be.
  if (has_unproved(recipe))
    return ladder.front().space->replays(recipe) ? ladder.front() : ladder.back();
  const auto replays = [&](const CheckSpace& rung) { return rung.space->replays(recipe); };
  const auto rung = std::ranges::find_if(ladder, replays);
  return rung != ladder.end() ? *rung : ladder.back();
}

Result<CheckCase> RequestBuilder::check_case(const Ladder& ladder, const Recipe& recipe,
                                             std::uint64_t seed) const {
  const CheckSpace& used = checked_at(ladder, recipe);
  const auto small = used.space->program(recipe);
  if (!small) return std::unexpected(small.error());
  auto concrete = instantiate(*small, used.sizes);
  if (!concrete) return refused(concrete.error().message);
  return CheckCase{.reference = used.reference,
                   .candidate = std::move(*concrete),
                   .seed = seed,
                   .in_part = used.in_part};
}

std::uint64_t RequestBuilder::check_seed(std::uint64_t seed, Stage stage, std::size_t i) const {
  if (stage == Stage::kFinal) return seed + 1 + i;
  return Random(secrets_.inputs + quick_inputs(seed)).bits() + i;
}

std::uint64_t RequestBuilder::quick_inputs(std::uint64_t seed) const {
  return seed % std::max<std::uint64_t>(kQuickInputs, input_sets_.size());
}

/// Does the set ask no more of a candidate than what it claims?
bool RequestBuilder::applies(InputSet set, const EvaluationRequest& request) const {
  if (set == InputSet::kWide) return request.claims < MathLevel::kTf32x3;
  if (set == InputSet::kTies) return request.math == MathLevel::kExact;
  return true;
}

void RequestBuilder::vary_inputs(EvaluationRequest& request, Stage stage) const {
  request.stage = stage;
  request.places = Random(stage == Stage::kFinal ? secrets_.places : ~secrets_.inputs).bits() | 1;
  if (request.checks.empty()) return;
  if (stage == Stage::kQuick) {
    const InputSet set = input_sets_[quick_inputs(request.seed) % input_sets_.size()];
    if (applies(set, request)) request.checks[smallest_].inputs = set;
    return;
  }
  const std::vector<CheckCase> own = request.checks;
  const auto add = [&](std::size_t i, InputSet set, int another = 0) {
    if (request.checks.size() >= kMostChecks || !applies(set, request)) return;
    CheckCase& other = request.checks.emplace_back(own[i]);
    other.inputs = set;
    other.seed = (own[i].seed ^ (static_cast<std::uint64_t>(set) << 56)) +
                 static_cast<std::uint64_t>(another);
  };
  for (const InputSet set : input_sets_) {
    if (set == InputSet::kOwn) continue;
    // Where ties are, the seed decides, and most say nothing of a sum in another order.
    for (int i = 0; i < (set == InputSet::kTies ? kSetsOfTies : 1); ++i) add(smallest_, set, i);
  }
  for (const InputSet set : input_sets_)
    for (int form = 1; form < forms_of(set); ++form) add(smallest_, set, form);
  // Last, where there are more than may be: what each set shows has been asked once above.
  for (std::size_t i = 0; i < own.size(); ++i)
    for (const InputSet set : input_sets_)
      if (i != smallest_ && !own[i].in_part && depends_on_size(set)) add(i, set);
}

/// Values near 0, where an approximation shows that is good elsewhere: so that such a candidate
/// does not take an exact one's place in the final stage, only to be refused there. The contents
/// are those of all such candidates: the reference's answer is known after the first.
void RequestBuilder::add_tiny_values(EvaluationRequest& request) const {
  if (std::ranges::find(input_sets_, InputSet::kPatterns) == input_sets_.end()) return;
  CheckCase tiny = request.checks[smallest_];
  tiny.inputs = InputSet::kPatterns;
  tiny.seed = seed_of_tiny_values(Random(~secrets_.inputs).bits());
  request.checks.push_back(std::move(tiny));
}

Result<EvaluationRequest> RequestBuilder::for_recipe(const Recipe& recipe, std::uint64_t seed,
                                                     Stage stage) {
  const auto program = timed_->program(recipe);
  if (!program) return std::unexpected(program.error());
  return for_rewritten(*program, recipe, seed, stage);
}

/// The recipe at every check size and, for a final stage, at the hidden ones at which it exists: so
/// many.
Result<std::size_t> RequestBuilder::add_checks(EvaluationRequest& request, const Recipe& recipe,
                                               std::uint64_t seed, Stage stage) const {
  // Rewriting takes milliseconds at each size. In a search one after the other, so that one child
  // does it and parses once; before the final stage somebody waits for it.
  const auto policy = stage == Stage::kQuick ? std::launch::deferred : std::launch::async;
  std::vector<std::future<Result<CheckCase>>> cases;
  const auto begin = [&](const std::vector<Ladder>& ladders) {
    for (const Ladder& ladder : ladders) {
      const std::uint64_t own = check_seed(seed, stage, cases.size());
      cases.push_back(std::async(
          policy, [&ladder, &recipe, this, own] { return check_case(ladder, recipe, own); }));
    }
  };
  begin(checks_);
  if (stage == Stage::kFinal) begin(hidden_);
  Result<void> outcome;
  std::size_t hidden_checks = 0;
  std::set<std::string> texts;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto check = cases[i].get();
    const bool hidden = i >= checks_.size();
    if (!check) {
      // Made for the timed sizes, it need not exist at sizes of ours.
      const auto refuses = [&](const CheckSpace& rung) { return unproved_refuses(rung, recipe); };
      const bool may_lack =
          hidden &&
          (task_.specialize || varies_the_same(task_, hidden_[i - checks_.size()].front().sizes)) &&
          std::ranges::none_of(hidden_[i - checks_.size()], refuses);
      if (outcome && !may_lack) outcome = std::unexpected(check.error());
      continue;
    }
    check->hidden = hidden;
    // Sizes that were raised may be those of another check.
    if (hidden && request.by_rules && !texts.insert(text_of(*check)).second) continue;
    if (!hidden) texts.insert(text_of(*check));
    hidden_checks += hidden ? 1 : 0;
    request.checks.push_back(std::move(*check));
  }
  if (!outcome) return std::unexpected(outcome.error());
  return hidden_checks;
}

Result<EvaluationRequest> RequestBuilder::for_rewritten(const Program& program,
                                                        const Recipe& recipe, std::uint64_t seed,
                                                        Stage stage) const {
  auto timed = instantiate(program, task_.sizes);
  if (!timed) return refused(timed.error().message);
  EvaluationRequest request = blank(seed);
  request.claims = claimed_math(recipe, task_);
  // No rule vouches for the user's own values of tunables, nor for what a model or a hand wrote.
  request.by_rules = !has_unproved(recipe) && std::ranges::none_of(recipe, [](const Step& step) {
    return step.rewriter == "tunables";
  });
  request.timed.candidate = std::move(*timed);
  const auto hidden_checks = add_checks(request, recipe, seed, stage);
  if (!hidden_checks) return std::unexpected(hidden_checks.error());
  if (stage == Stage::kFinal && has_unproved(recipe) && !hidden_.empty() && *hidden_checks == 0)
    return refused(
        "what no rule proves exists at none of the sizes that the task does not list, so nothing "
        "shows that it is right there");
  vary_inputs(request, stage);
  if (stage != Stage::kFinal) {
    if (approximates(recipe)) add_tiny_values(request);
    return request;
  }
  if (!has_unproved(recipe)) {
    add_largest(request, recipe);
    return request;
  }
  for (const Ladder& ladder : remainders_) {
    auto check = check_case(ladder, recipe, check_seed(seed, stage, request.checks.size()));
    if (!check) return std::unexpected(check.error());
    check->hidden = true;
    request.checks.push_back(std::move(*check));
  }
  return request;
}

/// Where a check was raised no further than it took: whole tiles, and several rounds of a pipeline,
/// are at the largest sizes that can be afforded.
void RequestBuilder::add_largest(EvaluationRequest& request, const Recipe& recipe) const {
  const Ladder& ladder = checks_[smallest_];
  const CheckSpace& used = checked_at(ladder, recipe);
  if (&used == &ladder.front() || &used == &ladder.back()) return;
  const auto program = ladder.back().space->program(recipe);
  if (!program) return;
  auto concrete = instantiate(*program, ladder.back().sizes);
  if (!concrete) return;
  request.checks.push_back({.reference = ladder.back().reference,
                            .candidate = std::move(*concrete),
                            .seed = check_seed(request.seed, Stage::kFinal, request.checks.size()),
                            .hidden = true});
}

Result<EvaluationRequest> RequestBuilder::for_program(const Program& program, std::uint64_t seed,
                                                      Stage stage) const {
  auto timed = instantiate(program, task_.sizes);
  if (!timed) return std::unexpected(timed.error());
  EvaluationRequest request = blank(seed);
  request.claims = program == task_.reference ? MathLevel::kExact : task_.math;
  request.by_rules = program == task_.reference;  // nothing speaks for others
  request.timed.candidate = std::move(*timed);
  const auto add = [&](const Ladder& ladder, bool hidden) -> Result<void> {
    const CheckSpace& check = ladder.front();
    auto concrete = instantiate(program, check.sizes);
    if (!concrete) {
      if (hidden && task_.specialize) return {};
      return std::unexpected(concrete.error());
    }
    request.checks.push_back({.reference = check.reference,
                              .candidate = std::move(*concrete),
                              .seed = check_seed(seed, stage, request.checks.size()),
                              .hidden = hidden,
                              .in_part = check.in_part});
    return {};
  };
  for (const Ladder& ladder : checks_)
    if (auto added = add(ladder, false); !added) return std::unexpected(added.error());
  if (stage == Stage::kFinal) {
    for (const Ladder& ladder : hidden_)
      if (auto added = add(ladder, true); !added) return std::unexpected(added.error());
  }
  vary_inputs(request, stage);
  if (stage == Stage::kFinal && !request.by_rules) {
    for (const Ladder& ladder : remainders_)
      if (auto added = add(ladder, true); !added) return std::unexpected(added.error());
  }
  return request;
}

void keep_secret(EvaluationRequest& request, bool modelled) {
  for (CheckCase& check : request.checks) {
    // Checks of one set of inputs go through its forms by their seeds' remainders.
    const auto forms = static_cast<std::uint64_t>(forms_of(check.inputs));
    check.seed = secret_bits() / 2 / forms * forms + check.seed % forms;
  }
  // What rules made cannot know what a search's seed fills buffers with; so a search repeats.
  if (modelled && request.by_rules) return;
  request.seed = secret_bits();
  request.timed.seed = secret_bits();
}

}  // namespace hone
