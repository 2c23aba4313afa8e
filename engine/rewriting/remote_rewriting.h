// A Rewriting whose work is done by children in the sandbox, `hone rewrite`: this same program. One
// that crashes, hangs or takes too much memory on a source costs that one request.
#pragma once

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/rewriting/rewriting.h"
#include "evaluator/pool/runner_pool.h"
#include "sandbox/policy.h"

namespace hone {

struct RemoteRewritingOptions {
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
  std::function<void(const std::string&)> warn;  ///< as EvaluatorOptions::warn
  bool tell_missing_layers = true;               ///< likewise
  std::string program;                           ///< hone; empty: the one beside this executable
  int processes = 0;      ///< 0: one per core, at most 4 or a quarter of the cores
  Placement placement;    ///< of the children; empty: any core
  double timeout_s = 10;  ///< of one request; a usual one takes 0.01 s
};

class RemoteRewriting final : public Rewriting {
 public:
  /// Starts nothing yet.
  explicit RemoteRewriting(const RemoteRewritingOptions& options = {});

  Result<Rewritten> apply(const RewriteContext& context, const Program& program, const Step& step,
                          bool with_hash) override;
  Result<std::vector<Proposal>> proposals(const RewriteContext& context,
                                          const Program& program) override;
  Result<schedules::Explanation> lifted(const RewriteContext& context,
                                        const Program& program) override;
  Result<NestOutputs> executed(const RewriteContext& context, const Program& program,
                               std::uint64_t seed, const std::stop_token& stopping) override;
  Result<void> validate(const Program& program, const std::string& path) override;
  Result<std::string> hash(const Program& program, const std::string& path) override;
  std::string formatted(const std::string& source) override;
  Result<InitResult> init(const InitRequest& request) override;
  int at_once() const override { return processes_; }
  void cancel() override { pool_.cancel(); }
  void resume() override { pool_.resume(); }

 private:
  /// The child's reply, or its Error; kInvalidInput with the reason when it does not survive.
  [[nodiscard]] Result<nlohmann::json> ask(const nlohmann::json& request,
                                           const std::stop_token& stopping = {});
  [[nodiscard]] nlohmann::json about(const char* op, const RewriteContext& context,
                                     const Program& program);

  const double timeout_s_;
  const int processes_;
  pool::RunnerPool pool_;
};

}  // namespace hone
