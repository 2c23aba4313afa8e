#include "rewriters/rules/unroll.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/core/kernel_edit.h"

namespace hone {
namespace {

using syntax::KernelInfo;
using syntax::Loop;

constexpr std::int64_t kFactors[] = {1, 2, 4, 8, 16};
constexpr std::int64_t kMostFullTrips = 64;

class Unroll final : public Rewriter {
 public:
  std::string_view name() const override { return "unroll"; }
  std::string_view summary() const override {
    return "a loop gets #pragma unroll F; always legal, `full` for small constant trip counts";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    const auto read = read_program(program);
    if (!read) return proposals;
    for (const KernelInfo& kernel : read->kernels) {
      for (const auto& loop : kernel.loops) {
        if (!insertion_point(*read, *loop)) continue;
        const auto trips = kernel.trip_count(*loop, context.sizes);
        if (trips && *trips < 2) continue;
        Parameter factor{"factor", {}};
        for (const std::int64_t value : kFactors) {
          if (!trips || value <= *trips) factor.domain.emplace_back(value);
        }
        if (may_be_full(kernel, *loop, context)) factor.domain.emplace_back("full");
        Proposal& proposal = proposals.emplace_back();
        proposal.rewriter = name();
        proposal.site = loop->site;
        proposal.parameters.push_back(std::move(factor));
        proposal.description =
            fmt::format("unroll the loop over {} in '{}' (line {})", loop->variable->name,
                        kernel.function->name, read->unit->line_of(loop->statement->position));
      }
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext&) const override {
    const auto read = read_program(program);
    if (!read) return std::unexpected(read.error());
    for (const KernelInfo& kernel : read->kernels) {
      const Loop* loop = kernel.find_loop(step.site);
      if (loop == nullptr) continue;
      const auto at = insertion_point(*read, *loop);
      if (!at) return refused("the loop comes from a macro");
      std::string pragma = "#pragma unroll";
      // `full` is offered for short loops only, but a replay at other sizes may find it longer.
      if (step.string_param("factor", "") != "full") {
        const std::int64_t factor = step.int_param("factor", 0);
        if (std::find(std::begin(kFactors), std::end(kFactors), factor) == std::end(kFactors)) {
          return refused("the factor must be 1, 2, 4, 8, 16 or full");
        }
        pragma += fmt::format(" {}", factor);
      }
      syntax::Edits edits(*read->unit);
      if (loop->statement->pragma.valid()) {
        edits.replace(loop->statement->pragma, pragma);
      } else {
        edits.insert(*at, (starts_line(read->unit->source, *at) ? "" : "\n") + pragma + "\n");
      }
      return edited(*read, edits);
    }
    return refused(fmt::format("there is no canonical loop '{}'", step.site));
  }

 private:
  static bool may_be_full(const KernelInfo& kernel, const Loop& loop,
                          const RewriteContext& context) {
    const auto trips = kernel.trip_count(loop, context.sizes);
    return trips && *trips >= 2 && *trips <= kMostFullTrips && loop.lower->constant &&
           loop.upper->constant && loop.step;
  }

  static std::optional<int> insertion_point(const ReadProgram& read, const Loop& loop) {
    const syntax::SourceRange& range = loop.statement->range;
    if (!range.valid() || !read.unit->text(range).starts_with("for")) return std::nullopt;
    return range.begin;
  }

  static bool starts_line(const std::string& source, int offset) {
    while (offset > 0 && (source[offset - 1] == ' ' || source[offset - 1] == '\t')) --offset;
    return offset == 0 || source[offset - 1] == '\n';
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_unroll() { return std::make_unique<Unroll>(); }

}  // namespace hone
