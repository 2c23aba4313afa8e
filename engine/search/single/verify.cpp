#include "engine/search/single/verify.h"

#include <fmt/core.h>

#include "engine/search/random.h"
#include "engine/search/records.h"
#include "engine/search/requests/requests.h"
#include "engine/search/search.h"
#include "engine/search/target/ceilings.h"
#include "engine/search/target/workers.h"
#include "rewriters/core/rewriter.h"

namespace hone {

Result<Verification> verify(const Task& task, const BoardRow& claim, const DeviceSpec& device,
                            Evaluator& evaluator, Rewriting& rewriting, Store& store) {
  const DeviceInfo& info = evaluator.info();
  if (info.name != claim.provenance.device_name)
    return invalid(
        fmt::format("candidate {} was timed on {}; this is {}: a claim is verified where it "
                    "was made",
                    claim.candidate.id, claim.provenance.device_name, info.name));
  (void)take_ceilings(evaluator, device, &store);  // without them the roof is less exact
  auto builder = RequestBuilder::make(
      rewriting, task, target_limits(info.arch), {},
      {.sizes = secret_bits(), .inputs = secret_bits(), .places = secret_bits()});
  if (!builder) return std::unexpected(builder.error());
  auto reference = (*builder)->for_program(task.reference, secret_bits());
  if (!reference) return std::unexpected(reference.error());
  auto admitted = evaluator.admit(*reference);
  if (!admitted) return std::unexpected(admitted.error());
  const CandidateRecord& candidate = claim.candidate;
  // What rules made is made anew at every size; what a person wrote is one program for all.
  auto request = candidate.recipe.empty()
                     ? (*builder)->for_program(candidate.program, secret_bits(), Stage::kFinal)
                     : (*builder)->for_recipe(candidate.recipe, secret_bits(), Stage::kFinal);
  if (!request) return std::unexpected(request.error());
  keep_secret(*request, device.modelled());
  auto evaluation = evaluate_patiently(evaluator, *request);
  if (!evaluation) return std::unexpected(evaluation.error());

  const Provenance provenance = provenance_of(device, info);
  auto run = store.begin_run(candidate.task_hash, provenance, 0, "verify", "", &task);
  if (!run) return std::unexpected(run.error());
  if (auto put = store.put(*run, candidate, *evaluation, provenance); !put)
    return std::unexpected(put.error());
  if (auto end = store.end_run(*run, "done"); !end) return std::unexpected(end.error());

  Verification result;
  result.evaluation = std::move(*evaluation);
  const Measurement &was = claim.evaluation.measurement, &is = result.evaluation.measurement;
  if (result.evaluation.verdict != Verdict::kOk) {
    result.reason =
        fmt::format("{}: {}", to_string(result.evaluation.verdict), result.evaluation.detail);
  } else if (is.speedup < (1 - kVerifyMargin) * was.speedup) {
    result.reason = fmt::format("it is {:.2f}x [{:.2f}, {:.2f}] now, {:.2f}x was claimed",
                                is.speedup, is.ci95_low, is.ci95_high, was.speedup);
  } else {
    result.stands = true;
    result.reason = fmt::format("{:.2f}x [{:.2f}, {:.2f}] now, {:.2f}x was claimed", is.speedup,
                                is.ci95_low, is.ci95_high, was.speedup);
  }
  return result;
}

}  // namespace hone
