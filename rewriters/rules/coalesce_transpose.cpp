#include "rewriters/rules/coalesce_transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "rewriters/rules/cooperative/kernel_tools.h"
#include "rewriters/rules/cooperative/linear_to_grid.h"

namespace hone {
namespace {

namespace coop = rules::coop;
using syntax::Access;
using syntax::KernelInfo;
using syntax::Stmt;
using syntax::Variable;
using Node = syntax::Expr;

constexpr std::int64_t kTile = 32;
constexpr std::int64_t kFarApart = 8;  // elements: neighbours that share no 32-byte sector (f32)

// One piece of a straight kernel, in order.
struct Piece {
  const Stmt* declaration = nullptr;
  const Node* guard = nullptr;
  bool negated = false;  ///< the guard was `if (guard) return;`
};

struct Straight {
  std::vector<Piece> pieces;
  const Stmt* store = nullptr;
  const Node* target = nullptr;
  const Node* value = nullptr;
};

bool flatten(const Stmt& stmt, Straight& out);

bool flatten_children(const std::vector<const Stmt*>& children, Straight& out) {
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Stmt& child = *children[i];
    if (child.kind == Stmt::Kind::kNull) continue;
    if (out.store) {
      const bool final_return = child.kind == Stmt::Kind::kReturn && !child.expr;
      if (!final_return) return false;
      continue;
    }
    if (!flatten(child, out)) return false;
  }
  return true;
}

bool flatten(const Stmt& stmt, Straight& out) {
  switch (stmt.kind) {
    case Stmt::Kind::kCompound:
      return flatten_children(stmt.children, out);
    case Stmt::Kind::kDeclaration:
      out.pieces.push_back({&stmt, nullptr, false});
      return std::all_of(stmt.variables.begin(), stmt.variables.end(), [](const Variable* v) {
        return v->single_assignment() && v->storage == Variable::Storage::kLocal;
      });
    case Stmt::Kind::kIf: {
      if (stmt.children.size() != 1) return false;
      const Stmt* then = stmt.children[0];
      const Stmt* only = then->kind == Stmt::Kind::kCompound && then->children.size() == 1
                             ? then->children[0]
                             : then;
      if (only->kind == Stmt::Kind::kReturn) {
        out.pieces.push_back({nullptr, stmt.expr, true});
        return only->expr == nullptr;
      }
      out.pieces.push_back({nullptr, stmt.expr, false});
      return flatten(*then, out) && out.store;
    }
    case Stmt::Kind::kExpression: {
      const Node* assign = coop::strip_implicit(stmt.expr);
      if (!assign || assign->kind != Node::Kind::kAssign || assign->text != "=") return false;
      out.store = &stmt;
      out.target = coop::strip_implicit(assign->operands[0]);
      out.value = assign->operands[1];
      return out.target->kind == Node::Kind::kSubscript || out.target->kind == Node::Kind::kUnary;
    }
    default:
      return false;
  }
}

// The variables that an expression needs, through the initialisers of locals.
void add_needs(const Node* expr, std::set<const Variable*>& needs) {
  coop::for_each_expr(expr, [&](const Node& part) {
    if (part.kind != Node::Kind::kVariable || !part.variable) return;
    if (!needs.insert(part.variable).second) return;
    if (part.variable->init) add_needs(part.variable->init, needs);
  });
}

struct Plan {
  Straight straight;
  bool value_along_x = true;  ///< the value is read with x running fast, the store wants y
  std::string type;           ///< of the tile
};

std::optional<std::int64_t> stride(const syntax::Polynomial& index, const std::string& symbol) {
  const auto coefficient = index.coefficient(symbol);
  if (!coefficient) return std::nullopt;
  const auto value = coefficient->as_constant();
  return value ? std::optional(std::abs(*value)) : std::nullopt;
}

Result<Plan> plan_transpose(const coop::Parsed& parsed, const KernelInfo& info,
                            const RewriteContext& context) {
  if (info.has_barrier || info.has_warp_ops || info.has_shared || info.has_unknown ||
      info.has_atomics) {
    return refused("the threads of the kernel already work together, or it does unknown things");
  }
  if (coop::helpers_see_threads(*parsed.unit)) return refused("a helper looks at threadIdx");
  Plan plan;
  if (!flatten(*info.function->body, plan.straight) || !plan.straight.store) {
    return refused("the kernel is more than declarations, guards and one store");
  }
  bool changes = false;
  coop::for_each_expr(*info.function->body, [&](const Node& expr) {
    changes |= expr.kind == Node::Kind::kOther;
    changes |= expr.kind == Node::Kind::kAssign && expr.statement != plan.straight.store;
    changes |= expr.kind == Node::Kind::kAssign && expr.parent != nullptr;
    changes |= expr.kind == Node::Kind::kUnary && (expr.text.find("++") != std::string::npos ||
                                                   expr.text.find("--") != std::string::npos);
  });
  if (changes) return refused("an expression has side effects");
  const auto block = info.block_dim(context.sizes);
  if (!block || (*block)[2] != 1) return refused("the block is not two-dimensional");
  const auto index = coop::thread_index(*info.function, *block);
  for (const Node* use : index.rest) {
    const bool fine = use->text.rfind("blockDim", 0) == 0 || use->text == "blockIdx.z" ||
                      use->text == "gridDim.z";
    if (!fine) return refused("thread and block index are used other than as coordinates");
  }
  if (index.global[0].empty() || index.global[1].empty()) {
    return refused("the kernel does not use both coordinates");
  }
  const auto values = coop::symbol_values(info, context.sizes);
  std::optional<std::int64_t> store_x, store_y;
  bool along_x = false, along_y = false;
  std::optional<coop::Place> stored;
  for (const Access& access : info.accesses) {
    if (access.expr != plan.straight.target) continue;
    stored = coop::place_of(access);
    if (!stored->root || !stored->index || !coop::is_global(*stored)) {
      return refused("the store goes to an unknown place");
    }
    const auto known = coop::at_sizes(*stored->index, values);
    store_x = stride(known, "threadIdx.x");
    store_y = stride(known, "threadIdx.y");
    plan.type = access.expr->type.name;
  }
  if (!store_x || !store_y || plan.type.empty())
    return refused("the store is not linear in x and y");
  for (const Access& access : info.accesses) {
    if (access.expr == plan.straight.target) continue;
    if (access.kind != Access::Kind::kRead) return refused("there is more than one store");
    const coop::Place place = coop::place_of(access);
    // Reading through the tile delays the stores of a block: nothing may read what is stored.
    if (coop::may_overlap(info, *stored, place)) return refused("the kernel reads what it writes");
    if (!place.index) continue;
    const auto known = coop::at_sizes(*place.index, values);
    const auto x = stride(known, "threadIdx.x"), y = stride(known, "threadIdx.y");
    if (!x || !y) continue;
    along_x |= *x == 1 && *y != 1;
    along_y |= *y == 1 && *x >= kFarApart;
  }
  if (*store_y == 1 && *store_x >= kFarApart && along_x && !along_y) {
    plan.value_along_x = true;
  } else if (*store_x == 1 && *store_y != 1 && along_y) {
    plan.value_along_x = false;
  } else {
    return refused("both sides are coalesced already, or no exchange of x and y would help");
  }
  return plan;
}

std::string stage(const coop::Patch& patch, const Plan& plan, bool x_fast, bool computes,
                  const std::string& gx, const std::string& gy, const std::string& j,
                  const std::string& tile, const std::string& range_guard, std::int64_t rows) {
  std::set<const Variable*> needs;
  for (const Piece& piece : plan.straight.pieces) {
    if (piece.guard) add_needs(piece.guard, needs);
  }
  add_needs(computes ? plan.straight.value : plan.straight.target, needs);
  std::string text = fmt::format(
      "for (unsigned int {0} = threadIdx.y; {0} < {1}; {0} += {2}) {{\n"
      "const unsigned int {3} = blockIdx.x * {1} + {4};\n"
      "const unsigned int {5} = blockIdx.y * {1} + {6};\n",
      j, kTile, rows, gx, x_fast ? "threadIdx.x" : j, gy, x_fast ? j : "threadIdx.x");
  std::string closing = "}\n";
  if (!range_guard.empty()) {
    text += fmt::format("if ({}) {{\n", range_guard);
    closing += "}\n";
  }
  for (const Piece& piece : plan.straight.pieces) {
    if (piece.declaration) {
      const auto& variables = piece.declaration->variables;
      if (std::any_of(variables.begin(), variables.end(),
                      [&](const Variable* v) { return needs.contains(v); })) {
        text += patch.text(piece.declaration->range) + "\n";
      }
      continue;
    }
    const std::string guard = patch.text(piece.guard->range);
    text +=
        piece.negated ? fmt::format("if (!({})) {{\n", guard) : fmt::format("if ({}) {{\n", guard);
    closing += "}\n";
  }
  const std::string cell = x_fast ? fmt::format("{}[{}][threadIdx.x]", tile, j)
                                  : fmt::format("{}[threadIdx.x][{}]", tile, j);
  text += computes ? fmt::format("{} = {};\n", cell, patch.text(plan.straight.value->range))
                   : fmt::format("{} = {};\n", patch.text(plan.straight.target->range), cell);
  return text + closing;
}

Result<Program> through_tile(const Program& program, const std::string& kernel, std::int64_t rows,
                             const RewriteContext& context) {
  const auto parsed = coop::parse_program(program);
  if (!parsed) return std::unexpected(parsed.error());
  const KernelInfo* info = parsed->find(kernel);
  if (!info) return refused(fmt::format("there is no kernel `{}`", kernel));
  const auto plan = plan_transpose(*parsed, *info, context);
  if (!plan) return std::unexpected(plan.error());
  const auto block = *info->block_dim(context.sizes);
  const auto grid = info->grid_dim(context.sizes);
  if (!grid) return refused("the launches of the kernel differ");
  const syntax::TranslationUnit& unit = *parsed->unit;
  const std::string gx = syntax::fresh_name(unit, "gx"), gy = syntax::fresh_name(unit, "gy");
  const std::string j = syntax::fresh_name(unit, "j"), tile = syntax::fresh_name(unit, "tile");

  coop::Patch patch(unit);
  const auto index = coop::thread_index(*info->function, block);
  for (int d = 0; d < 2; ++d) {
    for (const Node* sum : index.global[d]) {
      const std::string& name = d == 0 ? gx : gy;
      patch.replace(sum->range, sum->type.name == "unsigned int"
                                    ? name
                                    : fmt::format("static_cast<{}>({})", sum->type.name, name));
    }
  }
  for (const Node* use : index.rest) {
    if (use->text == "blockDim.x") patch.replace(use->range, fmt::format("{}u", block[0]));
    if (use->text == "blockDim.y") patch.replace(use->range, fmt::format("{}u", block[1]));
    if (use->text == "blockDim.z") patch.replace(use->range, "1u");
  }
  // Tiles may reach beyond the old grid.
  std::string range_guard;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t total = (*grid)[d] * block[d];
    if (total % kTile == 0) continue;
    if (context.task && !context.task->specialize && block[d] % kTile != 0) {
      return refused("the tiles do not divide the old grid");
    }
    range_guard +=
        fmt::format("{}{} < {}u", range_guard.empty() ? "" : " && ", d == 0 ? gx : gy, total);
  }
  if (context.task && !context.task->specialize && (block[0] % kTile || block[1] % kTile)) {
    return refused("the tiles do not divide the old block");
  }

  Program result = program;
  for (Launch* launch : coop::launches_of(result, *info, program)) {
    while (launch->grid.size() < 2) launch->grid.push_back(Expr(1));
    for (std::size_t d = 0; d < 2; ++d) {
      if (block[d] == kTile) continue;
      launch->grid[d] = coop::make_expr(
          fmt::format("ceildiv(({})*{},{})", launch->grid[d].text(), block[d], kTile));
    }
    launch->block = {Expr(kTile), Expr(rows)};
  }
  coop::set_launch_bounds(patch, *info->function, kTile * rows);
  std::string text = fmt::format(
      "{{\n// One column more than threads: no bank conflicts.\n"
      "__shared__ {} {}[{}][{}];\n",
      plan->type, tile, kTile, kTile + 1);
  text += stage(patch, *plan, plan->value_along_x, true, gx, gy, j, tile, range_guard, rows);
  text += "__syncthreads();\n";
  text += stage(patch, *plan, !plan->value_along_x, false, gx, gy, j, tile, range_guard, rows);
  if (patch.broken()) return refused("the code to be changed comes from a macro");
  patch.replace(info->function->body->range, text + "}");
  auto source = patch.source();
  if (!source) return std::unexpected(source.error());
  return coop::with_source(result, std::move(*source));
}

class CoalesceTranspose final : public Rewriter {
 public:
  std::string_view name() const override { return "coalesce-transpose"; }
  std::string_view summary() const override {
    return "a copy that reads one way and writes the other => through a shared tile, coalesced on "
           "both sides; legal for one store per thread, linear in both coordinates";
  }
  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    const auto parsed = coop::parse_program(program);
    if (!parsed) return proposals;
    for (const KernelInfo& info : parsed->kernels) {
      Proposal proposal;
      proposal.rewriter = name();
      proposal.version = version();
      proposal.site = info.function->name;
      proposal.parameters.push_back({"rows", {4, 8, 16, 32}});
      proposal.description = fmt::format("{} goes through a shared tile", proposal.site);
      if (apply(program, proposal.step({1}), context)) proposals.push_back(std::move(proposal));
    }
    return proposals;
  }
  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    const std::int64_t rows = step.int_param("rows", 8);
    if (rows < 1 || rows > kTile || kTile % rows != 0) return refused("rows must divide 32");
    auto direct = through_tile(program, step.site, rows, context);
    if (direct) return direct;
    const auto spread = coop::linear_to_grid(program, step.site, context);
    if (!spread) return direct;
    auto tiled = through_tile(*spread, step.site, rows, context);
    return tiled ? std::move(tiled) : std::move(direct);
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_coalesce_transpose() {
  return std::make_unique<CoalesceTranspose>();
}

}  // namespace hone
