#include "engine/baselines/library_baseline.h"

#include <fmt/format.h>

#include "evaluator/timing/statistics.h"

namespace hone {
namespace {

struct Kind {
  const char* name;
  Library library;
};
constexpr Kind kKinds[] = {{"cublas", Library::kCublas}, {"cublasLt", Library::kCublasLt}};

Result<MatmulExpression> expression_of(const Task& task) {
  if (!task.torch) {
    return invalid(fmt::format(
        "{}: has no \"torch\", which says what it computes (see candidates/TASK.md)", task.name));
  }
  auto expression = parse_matmul(*task.torch);
  if (!expression) return invalid(fmt::format("{}: {}", task.name, expression.error().message));
  return expression;
}

Result<LibraryCase> case_of(const Task& task, const MatmulExpression& expression,
                            const Bindings& sizes, std::uint64_t seed) {
  auto program = instantiate(task.reference, sizes);
  if (!program) return std::unexpected(program.error());
  auto call = matmul_call(expression, *program, task.math);
  if (!call) return invalid(fmt::format("{}: {}", task.name, call.error().message));
  return LibraryCase{std::move(*program), *call, seed};
}

Result<LibraryRequest> request_for(const Task& task, std::uint64_t seed) {
  const auto expression = expression_of(task);
  if (!expression) return std::unexpected(expression.error());
  LibraryRequest request;
  request.tolerance = task.tolerance;
  request.seed = seed;
  auto timed = case_of(task, *expression, task.sizes, seed);
  if (!timed) return std::unexpected(timed.error());
  request.timed = std::move(*timed);
  for (const Bindings& sizes : task.check_sizes) {
    auto check = case_of(task, *expression, sizes, seed + 1 + request.checks.size());
    if (!check) return std::unexpected(check.error());
    request.checks.push_back(std::move(*check));
  }
  return request;
}

}  // namespace

Result<void> check_matmul(const Task& task) {
  if (auto request = request_for(task, 0); !request) return std::unexpected(request.error());
  return {};
}

Result<std::vector<LibraryOutcome>> measure_libraries(const Task& task, LibraryBench& bench,
                                                      const std::string& device,
                                                      std::uint64_t seed) {
  auto request = request_for(task, seed);
  if (!request) return std::unexpected(request.error());
  std::vector<LibraryOutcome> outcomes;
  for (const Kind& kind : kKinds) {
    request->timed.call.library = kind.library;
    for (LibraryCase& check : request->checks) check.call.library = kind.library;
    auto evaluation = bench.measure(*request);
    if (!evaluation) return std::unexpected(evaluation.error());
    LibraryOutcome outcome;
    outcome.evaluation = std::move(*evaluation);
    const Measurement& m = outcome.evaluation.measurement;
    const auto interval = timing::median_interval(m.samples_us);
    const MatmulCall& call = request->timed.call;
    const auto& a = request->timed.reference.buffers[static_cast<std::size_t>(call.a)];
    outcome.time = {kind.name,           device,
                    bench.device_name(), m.time_us,
                    interval.low,        interval.high,
                    m.samples_us,        call.tf32 ? "tf32" : std::string(to_string(a.type)),
                    bench.versions(),    ""};
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace hone
