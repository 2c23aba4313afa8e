#include "tests/support/row_sums.h"

#include <algorithm>

#include "candidates/hash.h"
#include "candidates/task_reader.h"

namespace hone {
namespace {

constexpr const char* kTask = R"CU(/* hone {
  "name": "rows", "sizes": {"M": 4096, "N": 256}, "check_sizes": [{"M": 3, "N": 40}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"]},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "rows", "grid": ["ceildiv(M,128)"], "block": [128],
                "args": ["x", "y", "M", "N"]}]
}
*/ __global__ void rows(const float* x, float* y, int M, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < M) {
    float sum = 0.0f;
    for (int k = 0; k < N; ++k) sum += x[i * N + k];
    y[i] = sum;
  }
}
)CU";

Step first_choice(const Proposal& proposal) {
  return proposal.step(std::vector<std::size_t>(proposal.parameters.size()));
}

}  // namespace

Result<Evaluation> TextEvaluator::evaluate(const EvaluationRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    stages_.push_back(request.stage);
  }
  double time_us = base_us_;
  std::string code = "code";
  for (const auto& [text, worth] : worth_) {
    const bool there = request.timed.candidate.source.contains(text);
    if (!there) time_us += worth;
    if (there && worth != 0) code += text;
  }
  Evaluation evaluation;
  const bool wrong = !wrong_with_.empty() && request.timed.candidate.source.contains(wrong_with_);
  evaluation.verdict = wrong ? Verdict::kWrongResult : Verdict::kOk;
  evaluation.measurement.time_us = time_us;
  evaluation.measurement.speedup = 100 / time_us;
  if (tells_code_) evaluation.code_hash = content_hash(code);
  return evaluation;
}

RowSums::RowSums()
    : task_(*parse_task(kTask, "rows.cu")),
      builder_(*RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {}, {})) {}

Step RowSums::propose(const Recipe& recipe, const std::string& rewriter) {
  const auto proposals = builder_->space().proposals(recipe);
  for (const Proposal& proposal : *proposals)
    if (proposal.rewriter == rewriter) return first_choice(proposal);
  ADD_FAILURE() << "nothing of " << rewriter;
  return {};
}

Recipe RowSums::recipe_of(std::initializer_list<const char*> rewriters) {
  Recipe recipe;
  for (const char* rewriter : rewriters) recipe.push_back(propose(recipe, rewriter));
  return recipe;
}

Step RowSums::unroll_of_a_new_loop(const Recipe& recipe) {
  const auto before = builder_->space().proposals({}), after = builder_->space().proposals(recipe);
  for (const Proposal& proposal : *after) {
    const bool known = std::ranges::any_of(*before, [&](const Proposal& other) {
      return other.rewriter == proposal.rewriter && other.site == proposal.site;
    });
    if (proposal.rewriter == "unroll" && !known) return first_choice(proposal);
  }
  ADD_FAILURE() << "no new loop to unroll";
  return {};
}

}  // namespace hone
