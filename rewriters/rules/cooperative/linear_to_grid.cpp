#include "rewriters/rules/cooperative/linear_to_grid.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::rules::coop {

using syntax::KernelInfo;
using syntax::Variable;
using Node = syntax::Expr;

namespace {

constexpr int kWidth = 32, kHeight = 8;

// The divisor as a launch expression: a parameter's argument, or a constant.
std::optional<Expr> launch_value(const Node& divisor, const Launch& launch) {
  if (divisor.constant) return Expr(*divisor.constant);
  const Variable* variable = as_variable(&divisor);
  if (!variable || variable->param_index < 0 || variable->writes > 0) return std::nullopt;
  const auto at = static_cast<std::size_t>(variable->param_index);
  if (at >= launch.args.size() || launch.args[at].kind != Argument::Kind::kExpr)
    return std::nullopt;
  return launch.args[at].expr;
}

}  // namespace

Result<Program> linear_to_grid(const Program& program, const std::string& kernel,
                               const RewriteContext& context) {
  if (context.task && !context.task->specialize) return refused("the old grid is made a number");
  const auto parsed = parse_program(program);
  if (!parsed) return std::unexpected(parsed.error());
  const KernelInfo* info = parsed->find(kernel);
  if (!info) return refused("there is no such kernel");
  const auto block = info->block_dim(context.sizes);
  const auto grid = info->grid_dim(context.sizes);
  if (!block || !grid || (*block)[1] * (*block)[2] * (*grid)[1] * (*grid)[2] != 1) {
    return refused("the launch is not one-dimensional");
  }
  if (helpers_see_threads(*parsed->unit)) return refused("a helper looks at threadIdx");
  if (info->has_barrier || info->has_shared || info->has_warp_ops || info->has_unknown) {
    return refused("the threads of the kernel already work together, or it does unknown things");
  }
  const auto index = thread_index(*info->function, *block);
  if (!index.rest.empty() || index.global[0].empty()) {
    return refused("thread and block index are used other than as one linear index");
  }
  // The linear index: a local that holds the sum, or the sum itself where it is used directly.
  std::vector<const Node*> uses;
  const Variable* linear = nullptr;
  for (const Node* sum : index.global[0]) {
    const Variable* holder = nullptr;
    for (const Variable* local : info->function->locals) {
      if (local->init && strip_casts(local->init) == sum && local->single_assignment())
        holder = local;
    }
    if (!holder || linear) return refused("the linear index is not held in one local");
    linear = holder;
  }
  const Node* divisor = nullptr;
  std::vector<std::pair<const Node*, bool>> parts;  // the expression; is it the remainder
  const syntax::TranslationUnit& unit = *parsed->unit;
  for (const Node* expr : info->function->all_expressions) {
    if (expr->kind != Node::Kind::kVariable || expr->variable != linear) continue;
    const Node* child = expr;
    const Node* parent = expr->parent;
    while (parent && parent->kind == Node::Kind::kCast) {
      child = parent;
      parent = parent->parent;
    }
    if (!parent || parent->kind != Node::Kind::kBinary || parent->operands[0] != child) continue;
    const bool remainder = parent->text == "%";
    if (!remainder && parent->text != "/") continue;
    const Node* by = strip_implicit(parent->operands[1]);
    if (!by->range.valid() || !parent->range.valid())
      return refused("the divisor comes from a macro");
    if (divisor && unit.text(divisor->range) != unit.text(by->range)) {
      return refused("the index is divided by different numbers");
    }
    divisor = by;
    parts.emplace_back(parent, remainder);
  }
  if (!divisor || parts.empty()) return refused("the index is not taken apart");

  Program result = program;
  const std::int64_t threads = (*block)[0] * (*grid)[0];
  for (Launch* launch : launches_of(result, *info, program)) {
    const auto width = launch_value(*divisor, *launch);
    if (!width) return refused("the divisor is not known at launch");
    const auto value = width->eval(context.sizes);
    if (!value || *value < 1) return refused("the divisor is not positive");
    // Rows beyond the last must not overflow the index.
    if (threads + 2 * kWidth * *value >= std::int64_t{1} << 31)
      return refused("the index is too large");
    const std::string total =
        fmt::format("({})*({})", entry(launch->grid, 0).text(), entry(launch->block, 0).text());
    launch->grid = {
        make_expr(fmt::format("ceildiv({},{})", width->text(), kWidth)),
        make_expr(fmt::format("ceildiv(ceildiv({},{}),{})", total, width->text(), kHeight))};
    launch->block = {Expr(kWidth), Expr(kHeight)};
    const auto tall = launch->grid[1].eval(context.sizes);
    if (!tall || *tall > 65535) return refused("the grid would be too tall");
  }
  Patch patch(unit);
  const std::string column = syntax::fresh_name(unit, "column");
  const std::string row = syntax::fresh_name(unit, "row");
  const std::string width = divisor->constant ? fmt::format("{}", *divisor->constant)
                                              : std::string(unit.text(divisor->range));
  const std::string& type = linear->type.name;
  for (const auto& [expr, remainder] : parts) patch.replace(expr->range, remainder ? column : row);
  patch.replace(strip_casts(linear->init)->range,
                fmt::format("({} * ({}) + {})", row, width, column));
  const syntax::SourceRange body = info->function->body->range;
  patch.after({body.begin, body.begin + 1},
              fmt::format("\nconst {0} {1} = blockIdx.x * blockDim.x + threadIdx.x;\n"
                          "const {0} {2} = blockIdx.y * blockDim.y + threadIdx.y;\n"
                          "if ({1} >= ({3}) || {2} * ({3}) + {1} >= {4}) return;\n",
                          type, column, row, width, threads));
  set_launch_bounds(patch, *info->function, kWidth * kHeight);
  auto source = patch.source();
  if (!source) return std::unexpected(source.error());
  return with_source(result, std::move(*source));
}

}  // namespace hone::rules::coop
