#include "engine/search/single/variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "candidates/export/read_export.h"
#include "engine/results/text_diff.h"
#include "engine/search/random.h"
#include "engine/search/records.h"
#include "engine/search/requests/requests.h"
#include "engine/search/target/ceilings.h"
#include "engine/search/target/workers.h"
#include "rewriters/core/hand_edit.h"

namespace hone {
namespace {

bool is_edited(const Recipe& recipe) {
  return !recipe.empty() && recipe.back().rewriter == kHandEdit;
}

/// One line, for notes.
std::string as_it_stands(std::string why) {
  return std::move(why) + "; so its text is checked as it stands at every size";
}

/// What goes wrong at a size that a text is not for says nothing of the text.
void without_blame(Evaluation& evaluation) {
  if (evaluation.verdict == Verdict::kOk || evaluation.verdict == Verdict::kCompileError) return;
  evaluation.detail = fmt::format(
      "it cannot be checked: the text was made for the timed sizes, and at a check size it ends as "
      "{}: {}",
      to_string(evaluation.verdict), evaluation.detail);
  evaluation.verdict = Verdict::kRefused;
}

/// The steps of an export as the rewriters here propose them: the file may say of a step that it
/// needs less than it does. What nobody here proposes is of unknown origin.
Recipe with_own_levels(Recipe recipe, const Task& task, Space& timed) {
  Recipe prefix;
  for (Step& step : recipe) {
    const auto proposal = timed.proposal_of(prefix, step);
    step.math = std::max(step.math, proposal ? proposal->math : task.math);
    prefix.push_back(step);
  }
  return recipe;
}

}  // namespace

Result<VariantProgram> program_of_variant(const Variant& variant, const Task& task,
                                          Rewriting& rewriting, Space& timed,
                                          std::vector<std::string>& notes) {
  VariantProgram text{.program = variant.program, .recipe = {}};
  if (!variant.exported) return text;
  auto made = timed.program(variant.recipe);
  if (!made) {
    if (!is_lasting(made.error())) return std::unexpected(made.error());
    notes.push_back(as_it_stands("the steps that made this export cannot be repeated here: " +
                                 made.error().message));
    text.timed_sizes_only = true;
    return text;
  }
  // Both as clang-format writes them, so that only what somebody edited differs.
  Program before = *made, after = variant.program;
  before.source = edited_text_base(rewriting.formatted(as_exported(before.source)));
  after.source = edited_text_base(rewriting.formatted(after.source));
  const auto was = rewriting.hash(before, "the export"), is = rewriting.hash(after, "the variant");
  if (!was) return std::unexpected(was.error());
  if (!is) return std::unexpected(is.error());
  Recipe recipe = with_own_levels(variant.recipe, task, timed);
  if (*was == *is) return VariantProgram{std::move(*made), std::move(recipe)};

  if (variant.recipe.empty()) return text;  // the same at all sizes
  recipe.push_back(hand_edit_step(line_edits(before.source, after.source), task.math));
  auto edited = timed.program(recipe);
  if (!edited && !is_lasting(edited.error())) return std::unexpected(edited.error());
  if (edited) {
    const auto hash = rewriting.hash(*edited, "the variant");
    if (!hash) return std::unexpected(hash.error());
    if (*hash == *is) return VariantProgram{std::move(*edited), std::move(recipe)};
  }
  notes.push_back(as_it_stands("more than the kernels' text was edited"));
  text.timed_sizes_only = true;
  return text;
}

namespace {

/// A run of its own.
Result<void> keep(Store& store, const Task& task, const Finalist& result,
                  const Provenance& provenance, std::uint64_t seed) {
  if (auto put = store.put_task(task); !put) return put;
  auto run = store.begin_run(result.candidate.task_hash, provenance, seed, "variant", "", &task);
  if (!run) return std::unexpected(run.error());
  if (auto put = store.put(*run, result.candidate, result.evaluation, provenance); !put) {
    return std::unexpected(put.error());
  }
  return store.end_run(*run, "done");
}

/// Its verdict after the quick stage and, where that passes, the final one: it fails cheaply before
/// it is timed in full. `chosen` falls back to the text as it stands.
Result<Evaluation> evaluate(VariantProgram& chosen, RequestBuilder& builder, Random& random,
                            Evaluator& evaluator, bool modelled, std::vector<std::string>& notes) {
  Evaluation result;
  for (const Stage stage : {Stage::kQuick, Stage::kFinal}) {
    const std::uint64_t bits = random.bits();
    const auto make = [&] {
      return chosen.recipe.empty()
                 ? builder.for_program(chosen.program, bits, stage)
                 : builder.for_rewritten(chosen.program, chosen.recipe, bits, stage);
    };
    auto request = make();
    if (!request && is_edited(chosen.recipe) && request.error().code == ErrorCode::kRefused) {
      notes.push_back(
          as_it_stands("the edit cannot be made at the other sizes: " + request.error().message));
      chosen.recipe.clear();
      chosen.timed_sizes_only = true;
      request = make();
    }
    if (!request) {
      result.verdict = Verdict::kLaunchError;
      result.detail = request.error().message;
      break;
    }
    keep_secret(*request, modelled);
    auto evaluation = evaluate_patiently(evaluator, *request);
    if (!evaluation) return evaluation;
    result = std::move(*evaluation);
    if (result.verdict != Verdict::kOk) break;
  }
  return result;
}

}  // namespace

Result<Finalist> run_variant(const Task& task, const Variant& variant, const DeviceSpec& device,
                             Evaluator& evaluator, Rewriting& rewriting, Store* store,
                             std::uint64_t seed, std::vector<std::string>& notes) {
  if (auto valid = rewriting.validate(task.reference, task.source_path);
      !valid && valid.error().code != ErrorCode::kRefused) {
    return std::unexpected(valid.error());
  }
  // What cannot be read is said before anything is measured.
  if (auto readable = rewriting.hash(variant.program, "the variant"); !readable)
    return std::unexpected(readable.error());
  (void)take_ceilings(evaluator, device, store);  // without them the roof is less exact
  auto builder = RequestBuilder::make(
      rewriting, task, target_limits(evaluator.info().arch), {},
      {.sizes = secret_bits(), .inputs = secret_bits(), .places = secret_bits()});
  if (!builder) return std::unexpected(builder.error());
  Random random(seed);
  auto chosen = program_of_variant(variant, task, rewriting, (*builder)->space(), notes);
  if (!chosen) return std::unexpected(chosen.error());
  auto reference = (*builder)->for_program(task.reference, random.bits());
  if (!reference) return std::unexpected(reference.error());
  auto admitted = evaluator.admit(*reference);
  if (!admitted) return std::unexpected(with_place(admitted.error(), task));
  std::istringstream lines(admitted->note);
  for (std::string line; std::getline(lines, line);) notes.push_back(line);

  auto evaluation = evaluate(*chosen, **builder, random, evaluator, device.modelled(), notes);
  if (!evaluation) return std::unexpected(evaluation.error());
  Finalist result;
  result.evaluation = std::move(*evaluation);
  if (chosen->timed_sizes_only) without_blame(result.evaluation);
  CandidateRecord& candidate = result.candidate;
  auto hash = rewriting.hash(chosen->program, "the variant");
  if (!hash) return std::unexpected(hash.error());
  candidate.program_hash = std::move(*hash);
  candidate.task_hash = task.hash();
  candidate.task_name = task.name;
  candidate.program = std::move(chosen->program);
  candidate.recipe = std::move(chosen->recipe);
  candidate.origin = "variant";
  result.evaluation.final_stage = result.evaluation.verdict == Verdict::kOk;
  if (store != nullptr) {
    auto kept = keep(*store, task, result, provenance_of(device, evaluator.info()), seed);
    if (!kept) return std::unexpected(kept.error());
  }
  candidate.id = id_of(store, candidate);
  return result;
}

}  // namespace hone
