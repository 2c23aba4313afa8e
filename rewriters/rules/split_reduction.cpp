#include "rewriters/rules/split_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "rewriters/rules/cooperative/regroup.h"
#include "rewriters/rules/cooperative/split_columns.h"
#include "rewriters/rules/cooperative/split_plan.h"
#include "rewriters/rules/cooperative/strided_loop.h"

namespace hone {
namespace {

namespace coop = rules::coop;

using coop::LaneGroup;
using coop::Parsed;
using coop::Patch;
using coop::SplitLoop;
using coop::SplitPlan;
using syntax::KernelInfo;
using syntax::Stmt;

constexpr std::string_view kColumns = "/columns";  // site of the column mode
constexpr std::int64_t kUnsignedLimit = std::int64_t{1} << 32;

struct LaneShape {
  int lanes = 32;
  int block = 256;
  bool innermost = false;
  int vec = 1;
};

// The largest loop that is shared, in iterations; 0 when unknown.
std::int64_t longest_trip(const KernelInfo& info, const SplitPlan& plan, const Bindings& sizes) {
  std::int64_t longest = 0;
  for (const SplitLoop& split : plan.loops) {
    const auto trips = info.trip_count(*split.loop, sizes);
    if (!trips) return 0;
    longest = std::max(longest, *trips);
  }
  return longest;
}

std::vector<const syntax::Loop*> chosen(const SplitPlan& plan) {
  std::vector<const syntax::Loop*> loops;
  for (const SplitLoop& split : plan.loops) loops.push_back(split.loop);
  return loops;
}

/// Does the statement directly before this loop end with the barrier that the loop wants?
bool follows_fence(const SplitPlan& plan, const SplitLoop& split) {
  const Stmt& stmt = *split.loop->statement;
  if (!stmt.parent || stmt.parent->kind != Stmt::Kind::kCompound) return false;
  const auto& siblings = stmt.parent->children;
  const auto at = std::find(siblings.begin(), siblings.end(), &stmt);
  if (at == siblings.begin() || at == siblings.end()) return false;
  return std::any_of(plan.loops.begin(), plan.loops.end(), [&](const SplitLoop& other) {
    return other.fenced && other.loop->statement == *(at - 1);
  });
}

/// Code around one shared loop and the loop itself.
void share_loop(Patch& patch, const Parsed& parsed, const KernelInfo& info, const SplitLoop& split,
                const LaneGroup& group, const std::string& lane, int vec, bool after_fence,
                const Bindings& sizes) {
  const Stmt& stmt = *split.loop->statement;
  std::string before, after;
  if (split.fenced && !after_fence) before += group.barrier() + "\n";
  for (const coop::Accumulator& a : split.accumulators) {
    if (a.idempotent()) continue;
    const bool starts_there = coop::starts_at_identity(a, stmt);
    if (!starts_there) {
      before += fmt::format("if ({} != 0) {} = {};\n", lane, a.variable->name, a.identity());
    }
  }
  after += "\n" + coop::combine(split.accumulators, group, coop::repeats(stmt));
  if (split.fenced) after += group.barrier() + "\n";
  const bool alone = stmt.parent && stmt.parent->kind != Stmt::Kind::kCompound;
  if (alone) {
    before = "{\n" + before;
    after += "}\n";
  }
  const syntax::SourceRange whole =
      stmt.pragma.valid() ? syntax::SourceRange{stmt.pragma.begin, stmt.range.end} : stmt.range;
  patch.before(whole, before);
  coop::stride_loop(patch, parsed, info, *split.loop, lane, group.lanes, vec, sizes);
  patch.after(whole, after);
}

Result<Program> split_rows(const Program& program, const Parsed& parsed, const KernelInfo& info,
                           const SplitPlan& plan, const LaneShape& shape,
                           const RewriteContext& context) {
  const auto old_block = info.block_dim(context.sizes);
  if (!old_block) return refused("the launches disagree on the block size");
  const std::int64_t old_threads = (*old_block)[0] * (*old_block)[1] * (*old_block)[2];
  const std::int64_t threads = std::max(shape.lanes, shape.block);
  if (shape.lanes > 32 && threads != shape.lanes) return refused("the group must fill the block");
  if (threads > context.target.max_threads_per_block) return refused("the block is too large");
  const std::int64_t groups = threads / shape.lanes;  // per new block
  const bool even = old_threads % groups == 0;
  const bool specialize = !context.task || context.task->specialize;

  Program result = program;
  const auto launches = coop::launches_of(result, info, program);
  std::optional<std::int64_t> old_grid_x;
  bool grids_agree = true;
  for (Launch* launch : launches) {
    const Expr grid = coop::entry(launch->grid, 0);
    const auto value = grid.eval(context.sizes);
    if (!value) return std::unexpected(value.error());
    if (*value * old_threads * shape.lanes >= kUnsignedLimit) return refused("too many threads");
    grids_agree &= !old_grid_x || *old_grid_x == *value;
    old_grid_x = *value;
    const Expr grown =
        even
            ? coop::make_expr(fmt::format("({})*{}", grid.text(), old_threads / groups))
            : coop::make_expr(fmt::format("ceildiv(({})*{},{})", grid.text(), old_threads, groups));
    if (launch->grid.empty()) launch->grid.push_back(grown);
    launch->grid[0] = even && old_threads == groups ? grid : grown;
    launch->block = {Expr(threads)};
  }
  if (!old_grid_x) return refused("the kernel is not launched");
  if (!even && (!specialize || !grids_agree)) {
    return refused("the groups do not divide the old block");
  }

  const syntax::TranslationUnit& unit = *parsed.unit;
  const std::string lane = syntax::fresh_name(unit, "lane");
  const std::string group_name = syntax::fresh_name(unit, "group");
  LaneGroup group;
  group.lanes = shape.lanes;
  group.mask = "0xffffffffu";
  group.offset = syntax::fresh_name(unit, "offset");
  group.other = syntax::fresh_name(unit, "other");
  group.partial = syntax::fresh_name(unit, "partial");
  std::string prologue;
  if (shape.lanes > 32) {
    prologue += fmt::format("\n// The whole block works on one output.\n");
    prologue += fmt::format("const int {} = threadIdx.x;\n", lane);
    prologue += fmt::format("const unsigned int {} = blockIdx.x;\n", group_name);
  } else {
    prologue += fmt::format("\n// {} lanes work on one output.\n", shape.lanes);
    prologue += fmt::format("const int {} = threadIdx.x % {};\n", lane, shape.lanes);
    prologue += fmt::format("const unsigned int {} = blockIdx.x * {} + threadIdx.x / {};\n",
                            group_name, groups, shape.lanes);
    if (shape.lanes < 32) {
      const std::string mask = syntax::fresh_name(unit, "mask");
      prologue += fmt::format("const unsigned int {} = 0x{:x}u << (threadIdx.x & {});\n", mask,
                              (1u << shape.lanes) - 1, 32 - shape.lanes);
      group.mask = mask;
    }
  }
  if (!even && (*old_grid_x * old_threads) % groups != 0) {
    prologue += fmt::format("if ({} >= {}u) return;\n", group_name, *old_grid_x * old_threads);
  }

  Patch patch(unit);
  const auto index = coop::thread_index(*info.function, *old_block);
  const std::string grid_x = even ? fmt::format("(gridDim.x / {})", old_threads / groups)
                                  : fmt::format("{}u", *old_grid_x);
  coop::rederive(patch, index, *old_block, group_name, grid_x);
  coop::set_launch_bounds(patch, *info.function, threads);
  const syntax::SourceRange body = info.function->body->range;
  patch.after({body.begin, body.begin + 1}, prologue);
  for (const SplitLoop& split : plan.loops) {
    share_loop(patch, parsed, info, split, group, lane, shape.vec, follows_fence(plan, split),
               context.sizes);
  }
  for (const coop::LoneStore& store : plan.stores) {
    const bool alone = store.statement->parent->kind != Stmt::Kind::kCompound;
    const std::string fence = store.fenced ? group.barrier() + "\n" : "";
    const bool braces = alone || store.fenced;
    patch.before(store.statement->range,
                 fmt::format("{}{}if ({} == 0) ", braces ? "{ " : "", fence, lane));
    patch.after(store.statement->range,
                fmt::format("{}{}", fence.empty() ? "" : "\n" + fence, braces ? "}" : ""));
  }
  auto source = patch.source();
  if (!source) return std::unexpected(source.error());
  return coop::with_source(result, std::move(*source));
}

class SplitReduction final : public Rewriter {
 public:
  std::string_view name() const override { return "split-reduction"; }
  std::string_view summary() const override {
    return "one thread per output => lanes share its loops and combine with shuffles; legal when "
           "the "
           "loops carry only reductions and threads are independent";
  }
  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override;
  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override;
};

std::vector<ParameterValue> powers(std::int64_t low, std::int64_t high) {
  std::vector<ParameterValue> values;
  for (std::int64_t v = low; v <= high; v *= 2) values.emplace_back(v);
  return values;
}

std::vector<Proposal> SplitReduction::propose(const Program& program,
                                              const RewriteContext& context) const {
  std::vector<Proposal> proposals;
  const auto parsed = coop::parse_program(program);
  if (!parsed) return proposals;
  for (const KernelInfo& info : parsed->kernels) {
    const auto outer = coop::plan_split(*parsed, info, context.sizes, false);
    const auto inner = coop::plan_split(*parsed, info, context.sizes, true);
    if (!outer && !inner) continue;
    const SplitPlan& main = outer ? *outer : *inner;
    const std::int64_t trips = longest_trip(info, main, context.sizes);
    if (trips == 1) continue;
    const std::int64_t most =
        trips == 0
            ? 1024
            : std::min<std::int64_t>(
                  context.target.max_threads_per_block,
                  static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(trips))));
    Proposal proposal;
    proposal.rewriter = name();
    proposal.version = version();
    proposal.site = info.function->name;
    proposal.math = main.reassociates || (inner && inner->reassociates) ? MathLevel::kReassociate
                                                                        : MathLevel::kExact;
    proposal.parameters.push_back({"lanes", powers(2, std::max<std::int64_t>(most, 2))});
    proposal.parameters.push_back({"block", powers(64, 512)});
    if (outer && inner && chosen(*outer) != chosen(*inner)) {
      proposal.parameters.push_back({"nest", {std::string("outer"), std::string("inner")}});
    }
    int widest = 1;
    for (const SplitPlan* plan : {outer ? &*outer : nullptr, inner ? &*inner : nullptr}) {
      if (!plan) continue;
      for (const SplitLoop& split : plan->loops) {
        widest = std::max(widest, coop::widest_vector(*parsed, info, *split.loop, context.sizes));
      }
    }
    const bool specialize = !context.task || context.task->specialize;
    if (widest > 1 && specialize) proposal.parameters.push_back({"vec", powers(1, widest)});
    proposal.description =
        fmt::format("lanes share the loops of {} that one thread now runs alone", proposal.site);
    // Each is tried once, so that nothing is offered that apply would refuse outright.
    const auto offer = [&](Proposal offered) {
      const std::vector<std::size_t> first(offered.parameters.size(), 0);
      if (apply(program, offered.step(first), context)) proposals.push_back(std::move(offered));
    };
    if (coop::can_split_columns(*parsed, info, main, context)) {
      Proposal columns = proposal;
      columns.site += kColumns;
      columns.parameters = {{"lanes", powers(2, 32)}, {"block", powers(256, 1024)}};
      columns.description =
          fmt::format("lanes along y share the columns that one thread of {} now runs down alone",
                      proposal.site);
      offer(std::move(columns));
    }
    offer(std::move(proposal));
  }
  return proposals;
}

Result<Program> SplitReduction::apply(const Program& program, const Step& step,
                                      const RewriteContext& context) const {
  const auto parsed = coop::parse_program(program);
  if (!parsed) return std::unexpected(parsed.error());
  std::string kernel = step.site;
  const bool columns = kernel.ends_with(kColumns);
  if (columns) kernel.resize(kernel.size() - kColumns.size());
  const KernelInfo* info = parsed->find(kernel);
  if (!info) return refused(fmt::format("there is no kernel `{}`", step.site));
  LaneShape shape;
  shape.lanes = static_cast<int>(step.int_param("lanes", 32));
  shape.block = static_cast<int>(step.int_param("block", 256));
  shape.innermost = step.string_param("nest", "outer") == "inner";
  shape.vec = static_cast<int>(step.int_param("vec", 1));
  const bool power = shape.lanes >= 2 && shape.lanes <= 1024 &&
                     std::has_single_bit(static_cast<unsigned>(shape.lanes));
  if (!power) return refused("lanes must be a power of two from 2 to 1024");
  if (shape.block < 32 || shape.block % 32 != 0) {
    return refused("block must be a multiple of 32");
  }
  auto plan = coop::plan_split(*parsed, *info, context.sizes, shape.innermost);
  // Where only one way of nesting is legal, the step means that one.
  if (!plan && step.string_param("nest", "").empty()) {
    plan = coop::plan_split(*parsed, *info, context.sizes, !shape.innermost);
  }
  if (!plan) return std::unexpected(plan.error());
  if (plan->reassociates && coop::exact_only(context)) {
    return refused("a floating sum would change its order, and the task asks for exact math");
  }
  if (columns) {
    return coop::split_columns(program, kernel, shape.lanes, shape.block, shape.innermost, context);
  }
  if (context.task && !context.task->specialize) shape.vec = 1;
  if (shape.lanes > 32) shape.block = shape.lanes;
  return split_rows(program, *parsed, *info, *plan, shape, context);
}

}  // namespace

std::unique_ptr<Rewriter> make_split_reduction() { return std::make_unique<SplitReduction>(); }

}  // namespace hone
