#include "rewriters/rules/coarsen_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "rewriters/rules/common/guard.h"
#include "rewriters/rules/common/index_space.h"
#include "rewriters/rules/common/kernel_text.h"
#include "rewriters/rules/common/replicate.h"
#include "rewriters/syntax/edit.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using rules::Axis;
using Node = syntax::Expr;
using syntax::KernelInfo;

constexpr std::array kAxes = {"x", "y", "z"};
constexpr std::int64_t kMostReplicas = 64;

struct Factors {
  std::array<std::int64_t, 3> count{1, 1, 1};
  std::int64_t run = 1;
};

Result<void> check_independent(const KernelInfo& info) {
  if (info.function->is_template) return refused("the kernel is a template");
  if (info.has_unknown) return refused("the kernel holds code we cannot read");
  if (info.has_shared || info.has_barrier || info.has_warp_ops) {
    return refused("the threads of a block work together");
  }
  for (const Node* expr : info.function->all_expressions) {
    const auto write = rules::write_of(*expr);
    // The order of atomics is visible in what they return.
    if (write && write->atomic && expr->statement != nullptr && expr->statement->expr != expr) {
      return refused("the result of an atomic is used");
    }
    if (expr->kind == Node::Kind::kCall && expr->text.starts_with("__threadfence")) {
      return refused("threads wait for each other through memory");
    }
    if (expr->type.is_volatile) return refused("the kernel uses volatile memory");
  }
  return {};
}

bool uses_builtin(const syntax::Function& function, const std::string& name) {
  return std::ranges::any_of(function.all_expressions, [&](const Node* expr) {
    return expr->kind == Node::Kind::kBuiltin && expr->text == name;
  });
}

/// Outermost expressions equal to blockIdx.a * blockDim.a + threadIdx.a. Refused when the builtins
/// of the axis are used in any other way.
Result<std::map<const Node*, std::string>> find_positions(const KernelInfo& info, unsigned axis,
                                                          const RewriteContext& context,
                                                          const std::string& text) {
  const std::string thread = fmt::format("threadIdx.{}", kAxes[axis]);
  const std::string block = fmt::format("blockIdx.{}", kAxes[axis]);
  rules::IndexSpace space(info, context.sizes);
  const auto threads = info.block_dim(context.sizes);
  if (!threads) return refused("the launches disagree on the block shape");
  using syntax::Polynomial;
  const Polynomial wanted = Polynomial::symbol(thread) +
                            Polynomial::constant((*threads)[axis]) * Polynomial::symbol(block);

  std::map<const Node*, std::string> found;
  const auto covered = [&](const Node* expr) {
    for (const Node* up = expr; up != nullptr; up = up->parent) {
      if (found.contains(up)) return true;
    }
    return false;
  };
  for (const Node* expr : info.function->all_expressions) {
    if (expr->kind != Node::Kind::kBinary || expr->text != "+" || covered(expr)) continue;
    const auto form = space.form(*expr);
    if (form && *form == wanted) found[expr] = text;
  }
  // Locals such as tx = threadIdx.x may feed positions only.
  std::set<const syntax::Variable*> parts;
  for (bool grew = true; grew;) {
    grew = false;
    for (const syntax::Variable* local : info.function->locals) {
      if (parts.contains(local) || !local->single_assignment()) continue;
      const Node& init = rules::strip_casts(*local->init);
      if (init.kind == Node::Kind::kBuiltin && (init.text == thread || init.text == block)) {
        parts.insert(local);
        grew = true;
      }
    }
  }
  for (const Node* expr : info.function->all_expressions) {
    if (covered(expr)) continue;
    if (expr->kind == Node::Kind::kVariable && parts.contains(expr->variable)) {
      return refused(fmt::format("{} is used beside the global position", expr->variable->name));
    }
    if (expr->kind != Node::Kind::kBuiltin || (expr->text != thread && expr->text != block)) {
      continue;
    }
    const Node* whole = expr;
    while (whole->parent != nullptr) whole = whole->parent;
    const bool feeds = std::ranges::any_of(
        parts, [&](const auto* part) { return &rules::strip_casts(*part->init) == expr; });
    if (!feeds) return refused(fmt::format("{} is used beside the global position", expr->text));
  }
  if (found.empty()) return refused("there is no global position along the axis");
  return found;
}

Result<std::array<Axis, 3>> plan_axes(const rules::OpenProgram& open, const KernelInfo& info,
                                      const Factors& factors, const RewriteContext& context) {
  std::array<Axis, 3> axes;
  rules::FreshNames names(*open.unit);
  for (unsigned axis = 0; axis < 3; ++axis) {
    const std::int64_t factor = factors.count[axis];
    if (factor == 1) continue;
    Axis& a = axes[axis];
    a.factor = factor;
    a.replica = names(fmt::format("j{}", kAxes[axis]));
    a.block_text = fmt::format("(blockIdx.{} * {} + {})", kAxes[axis], factor, a.replica);
    const std::int64_t run = std::min(factors.run, factor);
    if (run == 1) continue;
    const char* n = kAxes[axis];
    const std::string text =
        run == factor ? fmt::format("((blockIdx.{0} * blockDim.{0} + threadIdx.{0}) * {1} + {2})",
                                    n, factor, a.replica)
                      : fmt::format(
                            "((blockIdx.{0} * {1} + {2} / {3}) * (blockDim.{0} * {3}) + "
                            "threadIdx.{0} * {3} + {2} % {3})",
                            n, factor / run, a.replica, run);
    auto positions = find_positions(info, axis, context, text);
    if (!positions) return std::unexpected(positions.error());
    a.positions = std::move(*positions);
  }
  return axes;
}

/// Work outside today's grid must not happen.
Result<void> check_grid(const KernelInfo& info, const std::array<bool, 3>& bounded,
                        const Factors& factors, const RewriteContext& context) {
  const auto grid = info.grid_dim(context.sizes);
  const bool any_size = context.task != nullptr && !context.task->specialize;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (factors.count[axis] == 1) continue;
    const bool divides = grid && (*grid)[axis] % factors.count[axis] == 0 && !any_size;
    if (!divides && !bounded[axis]) {
      return refused(fmt::format("{} does not divide the grid's {}, and no guard bounds it",
                                 factors.count[axis], kAxes[axis]));
    }
    if (!divides && uses_builtin(*info.function, fmt::format("gridDim.{}", kAxes[axis]))) {
      return refused(fmt::format("gridDim.{} is used and would change", kAxes[axis]));
    }
  }
  return {};
}

Result<Program> coarsen(const Program& program, const std::string& kernel, const Factors& factors,
                        const RewriteContext& context) {
  std::int64_t replicas = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (factors.count[axis] < 1) return refused("a factor is not positive");
    replicas *= factors.count[axis];
  }
  if (replicas < 2) return changes_nothing("every factor is 1");
  if (replicas > kMostReplicas) {
    return refused(fmt::format("{} outputs a thread are more than registers hold", replicas));
  }
  {
    auto open = rules::open_program(program);
    if (!open) return std::unexpected(open.error());
    const KernelInfo* info = open->find(kernel);
    if (info == nullptr) return refused(fmt::format("no kernel {}", kernel));
    if (auto independent = check_independent(*info); !independent) {
      return std::unexpected(independent.error());
    }
  }
  auto flat = rules::flatten_guards(program, kernel, context, {factors.count});
  if (!flat) return std::unexpected(flat.error());

  auto open = rules::open_program(flat->program);
  if (!open) return std::unexpected(open.error());
  const KernelInfo* info = open->find(kernel);
  if (info == nullptr) return fail(ErrorCode::kInternal, "the kernel vanished");
  if (auto grid = check_grid(*info, flat->bounded, factors, context); !grid) {
    return std::unexpected(grid.error());
  }
  auto axes = plan_axes(*open, *info, factors, context);
  if (!axes) return std::unexpected(axes.error());
  auto body = rules::replicate_body(*open, *info, *axes);
  if (!body) return std::unexpected(body.error());

  syntax::Edits edits(*open->unit);
  edits.replace(info->function->body->range, *body);
  auto source = edits.apply();
  if (!source) return std::unexpected(source.error());
  Program result = flat->program;
  result.source = syntax::formatted(*source);
  for (Launch& launch : result.launches) {
    if (launch.kernel != kernel) continue;
    for (unsigned axis = 0; axis < 3; ++axis) {
      if (factors.count[axis] == 1 || axis >= launch.grid.size()) continue;
      auto divided = hone::Expr::parse(
          fmt::format("ceildiv({},{})", launch.grid[axis].text(), factors.count[axis]));
      if (!divided) return std::unexpected(divided.error());
      launch.grid[axis] = *divided;
    }
  }
  return rules::without_unused_locals(std::move(result), kernel);
}

class CoarsenThreads final : public Rewriter {
 public:
  std::string_view name() const override { return "coarsen-threads"; }
  std::string_view summary() const override {
    return "one output a thread => a tile of outputs a thread, loops jammed, grid divided; legal "
           "when the threads are independent";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> result;
    auto open = rules::open_program(program);
    if (!open) return result;
    for (const KernelInfo& info : open->kernels) {
      const std::string& kernel = info.function->name;
      if (!check_independent(info)) continue;
      const auto grid = info.grid_dim(context.sizes);
      if (!grid) continue;
      Proposal proposal{std::string(name()), version(), kernel, {}, MathLevel::kExact, ""};
      std::array<bool, 2> possible{};
      bool runs = false;
      for (unsigned axis = 0; axis < 2; ++axis) {
        if ((*grid)[axis] < 2 ||
            !uses_builtin(*info.function, fmt::format("blockIdx.{}", kAxes[axis]))) {
          continue;
        }
        Factors trial;
        trial.count[axis] = 2;
        possible[axis] = coarsen(program, kernel, trial, context).has_value();
        trial.run = 2;
        runs = runs || (possible[axis] && coarsen(program, kernel, trial, context).has_value());
      }
      if (!possible[0] && !possible[1]) continue;
      const bool plane = possible[0] && possible[1];
      for (unsigned axis = 0; axis < 2; ++axis) {
        if (!possible[axis]) continue;
        Parameter parameter{kAxes[axis], {}};
        for (const std::int64_t factor : {1, 2, 4, 8}) {
          if (factor > (*grid)[axis] || (factor == 1 && !plane)) continue;
          parameter.domain.emplace_back(factor);
        }
        proposal.parameters.push_back(parameter);
      }
      if (runs) {
        proposal.parameters.push_back({"run", {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}}});
      }
      proposal.description = fmt::format("several outputs per thread of {}", kernel);
      result.push_back(std::move(proposal));
    }
    return result;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    Factors factors;
    factors.count = {step.int_param("x", 1), step.int_param("y", 1), 1};
    factors.run = step.int_param("run", 1);
    if (factors.run < 1) return refused("run is not positive");
    return coarsen(program, step.site, factors, context);
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_coarsen_threads() { return std::make_unique<CoarsenThreads>(); }

}  // namespace hone
