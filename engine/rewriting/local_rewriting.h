// Parses and rewrites in this process: for the child and for tests, never for hone itself.
#pragma once

#include "engine/rewriting/rewriting.h"

namespace hone {

class LocalRewriting final : public Rewriting {
 public:
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
  void cancel() override {}
  void resume() override {}
};

}  // namespace hone
