#include "engine/service/variant.h"

#include <sstream>

#include "engine/search/random.h"
#include "engine/service/ceilings.h"
#include "engine/service/records.h"
#include "engine/service/requests.h"
#include "engine/service/workers.h"

namespace hone {

Result<Finalist> run_variant(const Task& task, const Program& variant, const DeviceSpec& device,
                             Evaluator& evaluator, Rewriting& rewriting, Store* store,
                             std::uint64_t seed, std::vector<std::string>& notes) {
  if (auto valid = rewriting.validate(task.reference, task.source_path);
      !valid && valid.error().code != ErrorCode::kRefused) {
    return std::unexpected(valid.error());
  }
  auto variant_hash = rewriting.hash(variant, "the variant");
  if (!variant_hash) return std::unexpected(variant_hash.error());
  (void)take_ceilings(evaluator, device, store);  // without them the roof is less exact
  auto builder = RequestBuilder::make(rewriting, task, target_limits(evaluator.info().arch), {},
                                      {.sizes = secret_bits(), .inputs = secret_bits()});
  if (!builder) return std::unexpected(builder.error());
  Random random(seed);
  auto reference = (*builder)->for_program(task.reference, random.bits());
  if (!reference) return std::unexpected(reference.error());
  auto admitted = evaluator.admit(*reference);
  if (!admitted) return std::unexpected(with_place(admitted.error(), task));
  std::istringstream lines(admitted->note);
  for (std::string line; std::getline(lines, line);) notes.push_back(line);

  Finalist result;
  CandidateRecord& candidate = result.candidate;
  candidate.program_hash = std::move(*variant_hash);
  candidate.task_hash = task.hash();
  candidate.task_name = task.name;
  candidate.program = variant;
  candidate.origin = "variant";
  // Fails cheaply before it is timed in full.
  for (const Stage stage : {Stage::kQuick, Stage::kFinal}) {
    auto request = (*builder)->for_program(variant, random.bits(), stage);
    if (!request) {
      result.evaluation.verdict = Verdict::kLaunchError;
      result.evaluation.detail = request.error().message;
      break;
    }
    keep_secret(*request, device.modelled());
    auto evaluation = evaluate_patiently(evaluator, *request);
    if (!evaluation) return std::unexpected(evaluation.error());
    result.evaluation = std::move(*evaluation);
    if (result.evaluation.verdict != Verdict::kOk) break;
  }
  result.evaluation.final_stage = result.evaluation.verdict == Verdict::kOk;
  if (store != nullptr) {
    const Provenance provenance = provenance_of(device, evaluator.info());
    if (auto put = store->put_task(task); !put) return std::unexpected(put.error());
    auto run = store->begin_run(candidate.task_hash, provenance, seed, "variant");
    if (!run) return std::unexpected(run.error());
    if (auto put = store->put(*run, candidate, result.evaluation, provenance); !put) {
      return std::unexpected(put.error());
    }
    if (auto end = store->end_run(*run, "done"); !end) return std::unexpected(end.error());
  }
  candidate.id = id_of(store, candidate);
  return result;
}

}  // namespace hone
