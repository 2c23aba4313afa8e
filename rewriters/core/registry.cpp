#include "rewriters/core/registry.h"

#include <fmt/format.h>

#include <future>

#include "rewriters/core/hand_edit.h"
#include "rewriters/llm/model_steps.h"
#include "rewriters/schedules/rewriter.h"
// One include per rule, and one line in rewriters() below.
// INCLUDES BEGIN
#include "rewriters/rules/aggregate_atomics.h"
#include "rewriters/rules/bake_sizes.h"
#include "rewriters/rules/cache_hints.h"
#include "rewriters/rules/coalesce_transpose.h"
#include "rewriters/rules/coarsen_threads.h"
#include "rewriters/rules/fast_intrinsics.h"
#include "rewriters/rules/launch_bounds.h"
#include "rewriters/rules/launch_shape.h"
#include "rewriters/rules/privatize_atomics.h"
#include "rewriters/rules/restrict_const.h"
#include "rewriters/rules/shared_pad.h"
#include "rewriters/rules/shared_tile.h"
#include "rewriters/rules/split_reduction.h"
#include "rewriters/rules/tunables.h"
#include "rewriters/rules/unroll.h"
#include "rewriters/rules/vectorize_access.h"
#include "rewriters/rules/warp_reduce.h"
// INCLUDES END
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

/// The sizes that steps are chosen for; without a task any sizes are.
bool are_own_sizes(const RewriteContext& context) {
  return context.task == nullptr || context.sizes == context.task->sizes;
}

bool are_one_program(const Program& one, const Program& other) {
  return one == other || syntax::structural_hash(one) == syntax::structural_hash(other);
}

}  // namespace

const std::vector<const Rewriter*>& rewriters() {
  static const auto* const list = [] {
    std::vector<std::unique_ptr<Rewriter>> owned;
    // What replaces a kernel as a whole comes first.
    for (const schedules::Generator* generator : schedules::generators())
      owned.push_back(schedules::make_rewriter(*generator));
    // The order in which rules are tried: whole-program shape, then loops and data, hints last.
    // clang-format off
    // RULES BEGIN
    owned.push_back(make_split_reduction());
    owned.push_back(make_aggregate_atomics());
    owned.push_back(make_privatize_atomics());
    owned.push_back(make_coalesce_transpose());
    owned.push_back(make_warp_reduce());
    owned.push_back(make_coarsen_threads());
    owned.push_back(make_shared_tile());
    owned.push_back(make_shared_pad());
    owned.push_back(make_tunables());
    owned.push_back(make_launch_shape());
    owned.push_back(make_restrict_const());
    owned.push_back(make_bake_sizes());
    owned.push_back(make_vectorize_access());
    owned.push_back(make_fast_intrinsics());
    owned.push_back(make_cache_hints());
    owned.push_back(make_unroll());
    owned.push_back(make_launch_bounds());
    // RULES END (scripts/new_rewriter.sh adds above this line)
    // clang-format on
    owned.push_back(make_model_code());
    owned.push_back(make_model_edit());
    owned.push_back(make_hand_edit());
    auto* pointers = new std::vector<const Rewriter*>;  // lives as long as the process
    for (auto& rewriter : owned) pointers->push_back(rewriter.release());
    return pointers;
  }();
  return *list;
}

const Rewriter* find_rewriter(std::string_view name) {
  for (const Rewriter* rewriter : rewriters()) {
    if (rewriter->name() == name) return rewriter;
  }
  return nullptr;
}

std::vector<Proposal> propose_all(const Program& program, const RewriteContext& context) {
  std::vector<Proposal> all;
  // Each rule analyses the program for itself, in milliseconds. Parsed once, before they begin.
  (void)syntax::parse(program);
  std::vector<std::future<std::vector<Proposal>>> parts;
  for (const Rewriter* rewriter : rewriters()) {
    parts.push_back(std::async(std::launch::async,
                               [&, rewriter] { return rewriter->propose(program, context); }));
  }
  for (auto& part : parts) {
    for (Proposal& proposal : part.get()) {
      if (context.task != nullptr && proposal.math > context.task->math) continue;
      all.push_back(std::move(proposal));
    }
  }
  return all;
}

Result<Program> apply_step(const Program& program, const Step& step, const RewriteContext& context,
                           bool unread) {
  const Rewriter* rewriter = find_rewriter(step.rewriter);
  if (rewriter == nullptr) return refused("no rewriter is called '" + step.rewriter + "'");
  auto next = rewriter->apply(program, step, context);
  // What a model or a person wrote may be CUDA that the compiler alone knows.
  const bool by_rule = !is_model_step(step) && step.rewriter != kHandEdit;
  if (next && by_rule && !unread) {
    if (const auto unit = syntax::parse(*next); !unit)
      return refused("the rewritten source does not parse: " + unit.error().message);
  }
  if (next && are_own_sizes(context) && are_one_program(program, *next)) return changes_nothing();
  return next;
}

Result<Program> replay(const Program& reference, const Recipe& recipe,
                       const RewriteContext& context) {
  Program program = reference;
  for (std::size_t i = 0; i < recipe.size(); ++i) {
    const Step& step = recipe[i];
    const auto failed = [&](const Error& error) {
      return fail(error.code,
                  fmt::format("step {}, {}: {}", i + 1, to_string(step), error.message));
    };
    const Rewriter* rewriter = find_rewriter(step.rewriter);
    if (rewriter != nullptr && step.version != rewriter->version()) {
      return failed({ErrorCode::kRefused, fmt::format("made by version {} of the rule, this is {}",
                                                      step.version, rewriter->version())});
    }
    if (context.task != nullptr && step.math > context.task->math) {
      return failed(
          {ErrorCode::kRefused, fmt::format("needs math '{}', the task allows '{}'",
                                            to_string(step.math), to_string(context.task->math))});
    }
    auto next = apply_step(program, step, context);
    if (!next) return failed(next.error());
    program = std::move(*next);
  }
  return program;
}

}  // namespace hone
