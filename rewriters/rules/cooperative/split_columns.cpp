#include "rewriters/rules/cooperative/split_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/rules/common/guard.h"
#include "rewriters/rules/cooperative/regroup.h"
#include "rewriters/rules/cooperative/strided_loop.h"

namespace hone::rules::coop {

using syntax::Access;
using syntax::KernelInfo;
using syntax::Stmt;
using Node = syntax::Expr;

namespace {

constexpr std::int64_t kStaticShared = 48 * 1024;  // [B]

bool same_everywhere(const KernelInfo& info, const Node* expr) {
  return !expr || (!info.varies_by_thread(*expr) && !info.varies_by_block(*expr));
}

// Is every thread of every block sure to come by this loop, equally often?
Result<bool> reached_by_all(const KernelInfo& info, const Stmt& loop) {
  for (const Stmt* parent = loop.parent; parent; parent = parent->parent) {
    if (parent->kind == Stmt::Kind::kCompound) continue;
    if (parent->kind == Stmt::Kind::kIf && same_everywhere(info, parent->expr)) continue;
    const syntax::Loop* outer = parent->kind == Stmt::Kind::kFor ? info.loop_of(*parent) : nullptr;
    if (outer && same_everywhere(info, outer->lower) && same_everywhere(info, outer->upper) &&
        (outer->step || same_everywhere(info, outer->step_expr))) {
      continue;
    }
    return refused("not every thread reaches the loop");
  }
  bool returns = false;
  for (const Stmt* stmt : info.function->all_statements) {
    returns |= stmt->kind == Stmt::Kind::kReturn;
  }
  if (returns) return refused("some threads leave the kernel early");
  return true;
}

std::string combine_columns(const SplitLoop& split, int lanes, int columns,
                            const std::string& partial, const std::string& part,
                            const std::string& other) {
  std::string text = "{\n";
  for (const Accumulator& a : split.accumulators) {
    text += fmt::format("__shared__ {} {}_{}[{}][{}];\n", a.type(), partial, a.variable->name,
                        lanes, columns);
  }
  for (const Accumulator& a : split.accumulators) {
    text += fmt::format("{0}_{1}[threadIdx.y][threadIdx.x] = {1};\n", partial, a.variable->name);
  }
  text += "__syncthreads();\n";
  for (const Accumulator& a : split.accumulators) {
    text += fmt::format("{1} = {0}_{1}[0][threadIdx.x];\n", partial, a.variable->name);
  }
  text += fmt::format("for (int {0} = 1; {0} < {1}; ++{0}) {{\n", part, lanes);
  for (const Accumulator& a : split.accumulators) {
    text += fmt::format("{{ const {} {} = {}_{}[{}][threadIdx.x]; {} }}\n", a.type(), other,
                        partial, a.variable->name, part, a.fold_text(a.variable->name, other));
  }
  text += "}\n";
  if (repeats(*split.loop->statement)) text += "__syncthreads();\n";
  return text + "}\n";
}

}  // namespace

bool can_split_columns(const Parsed&, const KernelInfo& info, const SplitPlan& plan,
                       const RewriteContext& context) {
  const auto block = info.block_dim(context.sizes);
  if (!block || (*block)[1] * (*block)[2] != 1 || (*block)[0] < 8) return false;
  const auto values = symbol_values(info, context.sizes);
  for (const SplitLoop& split : plan.loops) {
    if (split.writes) return false;
    for (const Access& access : info.accesses) {
      if (!inside(access.statement, *split.loop->statement)) continue;
      const Place place = place_of(access);
      if (!place.index) continue;
      const auto known = at_sizes(*place.index, values);
      const auto along = known.coefficient("threadIdx.x");
      const auto down = known.coefficient(syntax::symbol_of(*split.loop->variable));
      if (along && along->as_constant() == 1 && down && !down->is_zero()) return true;
    }
  }
  return false;
}

Result<Program> split_columns(const Program& program, const std::string& kernel, int lanes,
                              int block, bool innermost, const RewriteContext& context) {
  {
    const auto original = parse_program(program);
    if (!original) return std::unexpected(original.error());
    const KernelInfo* before = original->find(kernel);
    if (!before) return refused("there is no such kernel");
    const auto first_plan = plan_split(*original, *before, context.sizes, innermost);
    if (!first_plan) return std::unexpected(first_plan.error());
    if (!can_split_columns(*original, *before, *first_plan, context)) {
      return refused("threads do not read neighbouring columns");
    }
  }
  auto flat = flatten_guards(program, kernel, context);
  if (!flat) return std::unexpected(flat.error());
  const Program& start = flat->program;
  const auto parsed = parse_program(start);
  if (!parsed) return std::unexpected(parsed.error());
  const KernelInfo* found = parsed->find(kernel);
  if (!found) return refused("the kernel is gone");
  const KernelInfo& info = *found;
  const auto plan = plan_split(*parsed, info, context.sizes, innermost);
  if (!plan) return std::unexpected(plan.error());
  const auto old_block = info.block_dim(context.sizes);
  const std::int64_t columns = block / lanes;
  if (lanes > 64 || columns < 8 || block % lanes != 0) {
    return refused("a block needs at least 8 columns");
  }
  const std::int64_t old_columns = (*old_block)[0];
  if (old_columns % columns != 0) return refused("the columns do not divide the old block");
  const syntax::TranslationUnit& unit = *parsed->unit;
  const std::string lane = syntax::fresh_name(unit, "lane");
  const std::string group = syntax::fresh_name(unit, "group");
  const std::string partial = syntax::fresh_name(unit, "partial");
  const std::string part = syntax::fresh_name(unit, "part");
  const std::string other = syntax::fresh_name(unit, "other");

  Program result = start;
  for (Launch* launch : launches_of(result, info, start)) {
    const Expr grid = entry(launch->grid, 0);
    if (launch->grid.empty()) launch->grid.push_back(grid);
    if (old_columns != columns) {
      launch->grid[0] = make_expr(fmt::format("({})*{}", grid.text(), old_columns / columns));
    }
    launch->block = {Expr(columns), Expr(static_cast<std::int64_t>(lanes))};
  }

  Patch patch(unit);
  rederive(patch, thread_index(*info.function, *old_block), *old_block, group,
           fmt::format("(gridDim.x / {})", old_columns / columns));
  set_launch_bounds(patch, *info.function, columns * lanes);
  const syntax::SourceRange body = info.function->body->range;
  patch.after({body.begin, body.begin + 1},
              fmt::format("\n// {} lanes along y share one column each.\n"
                          "const int {} = threadIdx.y;\n"
                          "const unsigned int {} = blockIdx.x * {} + threadIdx.x;\n",
                          lanes, lane, group, columns));
  std::int64_t shared = 0;
  for (const SplitLoop& split : plan->loops) {
    const Stmt& stmt = *split.loop->statement;
    if (auto reached = reached_by_all(info, stmt); !reached) {
      return std::unexpected(reached.error());
    }
    std::string before;
    for (const Accumulator& a : split.accumulators) {
      shared += static_cast<std::int64_t>(a.variable->type.bytes) * columns * lanes;
      if (a.idempotent() || starts_at_identity(a, stmt)) continue;
      before += fmt::format("if ({} != 0) {} = {};\n", lane, a.variable->name, a.identity());
    }
    const bool alone = stmt.parent->kind != Stmt::Kind::kCompound;
    const syntax::SourceRange whole =
        stmt.pragma.valid() ? syntax::SourceRange{stmt.pragma.begin, stmt.range.end} : stmt.range;
    patch.before(whole, (alone ? "{\n" : "") + before);
    stride_loop(patch, *parsed, info, *split.loop, lane, lanes, 1, context.sizes);
    patch.after(whole,
                "\n" +
                    combine_columns(split, lanes, static_cast<int>(columns), partial, part, other) +
                    (alone ? "}\n" : ""));
  }
  if (shared > kStaticShared) return refused("the partial results exceed shared memory");
  for (const LoneStore& store : plan->stores) {
    if (store.fenced) return refused("a stored value is read again");
    const bool alone = store.statement->parent->kind != Stmt::Kind::kCompound;
    patch.before(store.statement->range, fmt::format("{}if ({} == 0) ", alone ? "{ " : "", lane));
    patch.after(store.statement->range, alone ? " }" : "");
  }
  auto source = patch.source();
  if (!source) return std::unexpected(source.error());
  return with_source(result, std::move(*source));
}

}  // namespace hone::rules::coop
