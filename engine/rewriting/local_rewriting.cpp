#include "engine/rewriting/local_rewriting.h"

#include "engine/rewriting/launch_check.h"
#include "rewriters/core/registry.h"
#include "rewriters/schedules/rewriter.h"
#include "rewriters/syntax/parse.h"

namespace hone {

Result<Rewritten> LocalRewriting::apply(const RewriteContext& context, const Program& program,
                                        const Step& step, bool with_hash) {
  auto next = apply_step(program, step, context, /*unread=*/!with_hash);
  if (!next) return std::unexpected(next.error());
  Rewritten rewritten{std::move(*next), ""};
  if (with_hash) rewritten.hash = syntax::structural_hash(rewritten.program);
  return rewritten;
}

Result<std::vector<Proposal>> LocalRewriting::proposals(const RewriteContext& context,
                                                        const Program& program) {
  return propose_all(program, context);
}

Result<schedules::Explanation> LocalRewriting::lifted(const RewriteContext& context,
                                                      const Program& program) {
  return schedules::explained(program, context);
}

Result<NestOutputs> LocalRewriting::executed(const RewriteContext& context, const Program& program,
                                             std::uint64_t seed,
                                             const std::stop_token& /*stopping*/) {
  return run_nests(program, context.sizes, seed);
}

Result<void> LocalRewriting::validate(const Program& program, const std::string& path) {
  return validate_launches(program, path);
}

Result<std::string> LocalRewriting::hash(const Program& program, const std::string&) {
  return syntax::structural_hash(program);
}

std::string LocalRewriting::formatted(const std::string& source) {
  return syntax::formatted(source);
}

Result<InitResult> LocalRewriting::init(const InitRequest& request) { return init_task(request); }

}  // namespace hone
