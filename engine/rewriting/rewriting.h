// All that hone wants of the parser and the rewriters. hone itself never parses, rewrites or
// formats what strangers wrote: it asks a Rewriting, which in the program is RemoteRewriting, a
// pool of children. LocalRewriting does the work, in those children and in tests. Thread-safe.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "candidates/recipe.h"
#include "candidates/result.h"
#include "engine/rewriting/init/init_task.h"
#include "engine/rewriting/run_nests.h"
#include "rewriters/core/rewriter.h"
#include "rewriters/schedules/explanation.h"

namespace hone {

struct Rewritten {
  Program program;
  std::string hash;  ///< structural; empty unless it was asked for
};

/// Errors of all: kInfrastructure "cancelled", kEnvironment when there can be no child.
class Rewriting {
 public:
  virtual ~Rewriting() = default;

  /// `program` with one more step. Without the hash nobody makes sure that what a rule made parses.
  /// Errors: kRefused, the step is not legal here, or the source is more than the child bears.
  [[nodiscard]] virtual Result<Rewritten> apply(const RewriteContext& context,
                                                const Program& program, const Step& step,
                                                bool with_hash) = 0;

  /// What may follow `program`. Errors: kRefused, the source is more than the child bears.
  [[nodiscard]] virtual Result<std::vector<Proposal>> proposals(const RewriteContext& context,
                                                                const Program& program) = 0;

  /// What the program computes, as loop nests, with the generators that can print it or why none
  /// can, for people. Errors: kRefused, the source is more than the child bears.
  [[nodiscard]] virtual Result<schedules::Explanation> lifted(const RewriteContext& context,
                                                              const Program& program) = 0;

  /// What the program's nests leave in its buffers at the context's sizes, as run_nests does it.
  /// Once `stopping` says so, a child that is at it ends, and no other. Errors: kRefused, the
  /// source is more than the child bears.
  [[nodiscard]] virtual Result<NestOutputs> executed(const RewriteContext& context,
                                                     const Program& program, std::uint64_t seed,
                                                     const std::stop_token& stopping) = 0;

  /// As validate_launches, beside that kInvalidInput for what the child does not bear.
  [[nodiscard]] virtual Result<void> validate(const Program& program, const std::string& path) = 0;

  /// As syntax::structural_hash. Errors: kInvalidInput names `path`.
  [[nodiscard]] virtual Result<std::string> hash(const Program& program,
                                                 const std::string& path) = 0;

  /// As clang-format does it; `source` itself where that does not end well.
  [[nodiscard]] virtual std::string formatted(const std::string& source) = 0;

  /// As init_task. Errors: kInvalidInput names the file.
  [[nodiscard]] virtual Result<InitResult> init(const InitRequest& request) = 0;

  /// How many requests are worked on side by side.
  [[nodiscard]] virtual int at_once() const { return 1; }

  /// Makes requests in flight, and those that come until resume(), return soon.
  virtual void cancel() = 0;
  virtual void resume() = 0;
};

/// Would the same question be answered in the same way? Not after a cancel or without a child.
[[nodiscard]] inline bool is_lasting(const Error& error) {
  return error.code != ErrorCode::kInfrastructure && error.code != ErrorCode::kEnvironment;
}

}  // namespace hone
