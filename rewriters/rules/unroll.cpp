#include "rewriters/rules/unroll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "rewriters/core/kernel_edit.h"

namespace hone {
namespace {

using syntax::KernelInfo;
using syntax::Loop;

constexpr std::int64_t kFactors[] = {1, 2, 4, 8, 16};
constexpr std::int64_t kMostFullTrips = 64;
/// Of a loop, unrolled together with the loops in it: more take the compiler seconds and more.
constexpr std::int64_t kMostStatements = 4096;
/// The compiler does not repeat bodies of more statements unasked: measured, of 36 generated
/// products each has the same machine code with `#pragma unroll 1` and without.
constexpr std::int64_t kMostRepeatedUnasked = 512;
/// Loops of so few constant rounds are unrolled by the compiler itself.
constexpr std::int64_t kFewTrips = 16;

enum class Count { kMost, kSure };  // with what the compiler may unroll unasked, or without

/// How often a loop's body stands in the code.
std::int64_t copies(const KernelInfo& kernel, const Loop& loop, const syntax::TranslationUnit& unit,
                    const Bindings& sizes, Count count) {
  const auto trips = kernel.trip_count(loop, sizes);
  const bool constant = trips && loop.lower->constant && loop.upper->constant;
  const std::int64_t all = constant ? std::clamp<std::int64_t>(*trips, 1, kMostStatements) : 1;
  if (!loop.statement->pragma.valid()) return count == Count::kMost && all <= kFewTrips ? all : 1;
  const std::string_view text = unit.text(loop.statement->pragma);
  const auto digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos) return all;
  const std::int64_t written = std::atoll(std::string(text.substr(digits)).c_str());
  return std::clamp<std::int64_t>(written, 1, kMostStatements);
}

/// The statements of a loop's body with the loops in it unrolled as they will be.
std::int64_t statements_in(const KernelInfo& kernel, const Loop& loop,
                           const syntax::TranslationUnit& unit, const Bindings& sizes, Count kind) {
  std::int64_t count = 0;
  for (const syntax::Stmt* statement : kernel.function->all_statements) {
    if (statement == loop.statement || !loop.statement->range.contains(statement->range)) continue;
    std::int64_t times = 1;
    for (const auto& inner : kernel.loops) {
      if (inner.get() == &loop || inner->statement == statement) continue;
      if (!loop.statement->range.contains(inner->statement->range)) continue;
      if (inner->statement->range.contains(statement->range))
        times = std::min(times * copies(kernel, *inner, unit, sizes, kind), kMostStatements);
    }
    count = std::min(count + times, kMostStatements + 1);
  }
  return count;
}

/// Unrolled as a whole on purpose: with other factors arrays leave the registers, and emulating or
/// compiling it may take minutes.
bool is_deliberate(const Loop& loop, const syntax::TranslationUnit& unit) {
  const syntax::SourceRange& pragma = loop.statement->pragma;
  return pragma.valid() && unit.text(pragma).find_first_of("0123456789") == std::string_view::npos;
}

std::string pragma_text(const ParameterValue& factor) {
  const std::string text = to_string(factor);
  return text == "full" ? "#pragma unroll" : "#pragma unroll " + text;
}

/// Whether the loop's pragma asks for that factor already, in whatever spelling: `unroll(4)`,
/// `_Pragma("unroll 4")`. A loop without a pragma has no factor: the compiler chooses one, so
/// `#pragma unroll 1` there is a change.
bool has_factor(const Loop& loop, const syntax::TranslationUnit& unit,
                const ParameterValue& factor) {
  if (!loop.statement->pragma.valid()) return false;
  const auto plain = [](std::string_view text) {
    std::string letters;
    for (const char c : text) {
      if (isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') letters += c;
    }
    const auto from = letters.find("unroll");
    return from == std::string::npos ? letters : letters.substr(from);
  };
  return plain(unit.text(loop.statement->pragma)) == plain(pragma_text(factor));
}

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
        if (is_deliberate(*loop, *read->unit)) continue;
        const auto body_of = [&](Count kind) {
          return statements_in(kernel, *loop, *read->unit, context.sizes, kind);
        };
        const std::int64_t body = body_of(Count::kMost);
        const bool stays_rolled =
            !loop->statement->pragma.valid() && body_of(Count::kSure) > kMostRepeatedUnasked;
        Parameter factor{"factor", {}};
        const auto offer = [&](ParameterValue value) {
          if (!has_factor(*loop, *read->unit, value)) factor.domain.push_back(std::move(value));
        };
        for (const std::int64_t value : kFactors) {
          if (value > 1 && value * body > kMostStatements) break;
          if (value == 1 && stays_rolled) continue;
          if (!trips || value <= *trips) offer(value);
        }
        if (may_be_full(kernel, *loop, context) && *trips * body <= kMostStatements) offer("full");
        if (factor.domain.empty()) continue;
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
      // `full` is offered for short loops only, but a replay at other sizes may find it longer.
      ParameterValue factor = "full";
      if (step.string_param("factor", "") != "full") {
        factor = step.int_param("factor", 0);
        if (std::ranges::find(kFactors, std::get<std::int64_t>(factor)) == std::end(kFactors))
          return refused("the factor must be 1, 2, 4, 8, 16 or full");
      }
      if (has_factor(*loop, *read->unit, factor)) return program;
      const std::string pragma = pragma_text(factor);
      syntax::Edits edits(*read->unit);
      if (loop->statement->pragma.valid()) {
        edits.replace(loop->statement->pragma, pragma);
      } else {
        edits.insert(*at, (starts_line(read->unit->source, *at) ? "" : "\n") + pragma + "\n");
      }
      return edited_unparsed(*read, edits);
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
