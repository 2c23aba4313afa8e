#include "rewriters/rules/cooperative/persistent.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/rules/cooperative/regroup.h"
#include "rewriters/rules/cooperative/vector_loads.h"

namespace hone::rules::coop {

using syntax::KernelInfo;
using syntax::Polynomial;
using syntax::Stmt;

namespace {

constexpr std::int64_t kSignedLimit = std::int64_t{1} << 31;

// `if (c) return;` directly in the kernel's body.
bool is_early_exit(const Stmt& stmt, const Stmt& body) {
  if (stmt.kind != Stmt::Kind::kIf || stmt.parent != &body || stmt.children.size() != 1) {
    return false;
  }
  const Stmt* then = stmt.children[0];
  if (then->kind == Stmt::Kind::kCompound) {
    if (then->children.size() != 1) return false;
    then = then->children[0];
  }
  return then->kind == Stmt::Kind::kReturn && then->expr == nullptr;
}

std::vector<const Stmt*> early_exits(const Stmt& body) {
  std::vector<const Stmt*> exits;
  for (const Stmt* child : body.children) {
    if (is_early_exit(*child, body)) exits.push_back(child);
  }
  return exits;
}

struct Chunk {
  int vec = 1;
  std::vector<VectorAccess> accesses;
  std::vector<std::int64_t> extents;  // of each access's buffer; 0: at least as many as threads
};

Polynomial global_index() {
  return Polynomial::symbol("blockIdx.x") * Polynomial::symbol("blockDim.x") +
         Polynomial::symbol("threadIdx.x");
}

std::optional<std::int64_t> old_threads(const KernelInfo& info, const Bindings& sizes) {
  const auto block = info.block_dim(sizes);
  const auto grid = info.grid_dim(sizes);
  if (!block || !grid) return std::nullopt;
  return (*block)[0] * (*grid)[0];
}

// What V neighbouring threads may load together. Only elements that exist are loaded, so that the
// old guards need not be understood.
Chunk plan_chunk(const Parsed& parsed, const KernelInfo& info, const Program& program, int vec,
                 const Bindings& sizes) {
  for (; vec >= 2; vec /= 2) {
    const auto threads = old_threads(info, sizes);
    if (!threads || *threads % vec != 0) continue;
    Chunk chunk;
    chunk.vec = vec;
    auto accesses = vector_accesses(parsed, info, *info.function->body, global_index(), vec, sizes,
                                    /*speculative=*/true);
    for (VectorAccess& access : accesses) {
      const Place place = place_of(*access.accesses[0]);
      const auto values = symbol_values(info, sizes);
      if (access.residue != 0 ||
          !(at_sizes(*place.index, values) - at_sizes(global_index(), values)).is_zero()) {
        continue;
      }
      const Buffer* buffer = info.buffer_of(*place.root, program);
      if (!buffer) continue;
      std::int64_t elements = 1;
      for (const Expr& extent : buffer->shape) elements *= extent.eval(sizes).value_or(0);
      if (elements < *threads && elements % vec != 0) continue;
      chunk.extents.push_back(elements < *threads ? elements : 0);
      chunk.accesses.push_back(std::move(access));
    }
    if (!chunk.accesses.empty()) return chunk;
  }
  return {};
}

}  // namespace

Result<bool> check_persistent(const Parsed& parsed, const KernelInfo& info,
                              const PersistentShape& shape, const RewriteContext& context) {
  const Stmt& body = *info.function->body;
  const auto exits = early_exits(body);
  for (const Stmt* stmt : info.function->all_statements) {
    if (stmt->kind == Stmt::Kind::kOther) return refused("the kernel holds code we cannot read");
    if (stmt->kind != Stmt::Kind::kReturn) continue;
    const bool known = std::any_of(exits.begin(), exits.end(),
                                   [&](const Stmt* exit) { return inside(stmt, *exit); });
    const bool last = !body.children.empty() && body.children.back() == stmt;
    if (!known && !last) return refused("a thread leaves the kernel in the middle");
  }
  if (info.has_unknown) return refused("the kernel does things we cannot see through");
  if (!shape.changes_launch()) return true;
  if (info.has_barrier || info.has_shared || info.has_warp_ops) {
    return refused("the threads of the kernel already work together");
  }
  if (helpers_see_threads(*parsed.unit)) return refused("a helper function looks at threadIdx");
  const auto block = info.block_dim(context.sizes);
  if (!block || (*block)[1] * (*block)[2] != 1) return refused("the block is not one-dimensional");
  if (shape.block % 32 != 0 || shape.block > context.target.max_threads_per_block) {
    return refused("the block size is no multiple of 32");
  }
  return true;
}

int widest_persistent_vector(const Parsed& parsed, const KernelInfo& info, const Program& program,
                             const Bindings& sizes) {
  return plan_chunk(parsed, info, program, 4, sizes).vec;
}

std::optional<std::int64_t> new_block_threads(const KernelInfo& info, const PersistentShape& shape,
                                              const Bindings& sizes) {
  if (shape.block > 0) return shape.block;
  const auto block = info.block_dim(sizes);
  if (!block) return std::nullopt;
  return (*block)[0] * (*block)[1] * (*block)[2];
}

std::string linear_thread(const KernelInfo& info, const PersistentShape& shape,
                          const Bindings& sizes) {
  const auto block = info.block_dim(sizes);
  if (shape.block > 0 || !block || (*block)[1] * (*block)[2] == 1) return "threadIdx.x";
  return "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))";
}

Result<Program> make_persistent(const Program& program, const Parsed& parsed,
                                const KernelInfo& info, Patch patch, const PersistentParts& parts,
                                const PersistentShape& shape, const RewriteContext& context) {
  const syntax::TranslationUnit& unit = *parsed.unit;
  const Stmt& body = *info.function->body;
  const syntax::SourceRange inner{body.range.begin + 1, body.range.end - 1};
  std::string closing;
  for (const Stmt* exit : early_exits(body)) {
    const std::string condition = patch.text(exit->expr->range);
    patch.replace(exit->range, fmt::format("if (!({})) {{", condition));
    closing += "}\n";
  }
  if (!body.children.empty() && body.children.back()->kind == Stmt::Kind::kReturn) {
    patch.replace(body.children.back()->range, "");
  }

  Program result = program;
  Patch outer(unit);
  if (patch.broken()) return refused("the code to be changed comes from a macro");
  std::string text = "{\n" + parts.preamble;
  if (!shape.changes_launch()) {
    text += "{\n" + patch.text(inner) + closing + "}\n";
  } else {
    const auto old_block = info.block_dim(context.sizes);
    const auto threads = old_threads(info, context.sizes);
    if (!old_block || !threads) return refused("the launches of the kernel differ");
    if (*threads * shape.vec * 2 >= kSignedLimit * 2) return refused("too many threads");
    const Chunk chunk = plan_chunk(parsed, info, program, shape.vec, context.sizes);
    const std::string count = syntax::fresh_name(unit, "threads");
    const std::string item = syntax::fresh_name(unit, "item");
    const auto index = thread_index(*info.function, *old_block);
    const std::string grid_x = fmt::format("({} / {})", count, (*old_block)[0]);
    const auto element = [&](int j) {
      if (chunk.vec == 1) return item;
      return j == 0 ? fmt::format("({} * {})", item, chunk.vec)
                    : fmt::format("({} * {} + {})", item, chunk.vec, j);
    };
    const std::string limit = chunk.vec == 1 ? count : fmt::format("{} / {}", count, chunk.vec);
    text += fmt::format(
        "for (unsigned int {0} = blockIdx.x * {1} + threadIdx.x; {0} < {2}; {0} += gridDim.x * "
        "{1}) "
        "{{\n",
        item, shape.block, limit);
    for (std::size_t i = 0; i < chunk.accesses.size(); ++i) {
      const VectorAccess& access = chunk.accesses[i];
      const std::string load = fmt::format("*reinterpret_cast<const {}*>(&{}[{}])", access.type,
                                           place_of(*access.accesses[0]).root->name, element(0));
      if (chunk.extents[i] == 0) {
        text += fmt::format("const {} {} = {};\n", access.type, access.name, load);
      } else {
        text += fmt::format("{} {} = {{}};\nif ({} < {}u) {} = {};\n", access.type, access.name,
                            element(0), chunk.extents[i], access.name, load);
      }
    }
    for (int j = 0; j < chunk.vec; ++j) {
      Patch copy = patch;
      rederive(copy, index, *old_block, element(j), grid_x);
      for (const VectorAccess& access : chunk.accesses) {
        for (const syntax::Access* use : access.accesses) {
          copy.replace(use->expr->range, fmt::format("{}.{}", access.name, kVectorFields[j]));
        }
      }
      if (copy.broken()) return refused("the code to be changed comes from a macro");
      text +=
          (chunk.vec > 1 ? "{\n" : "") + copy.text(inner) + closing + (chunk.vec > 1 ? "}\n" : "");
    }
    text += "}\n";
    const syntax::SourceRange parameters = info.function->parameters_range;
    const bool none = info.function->parameters.empty();
    outer.after(parameters, fmt::format("{}unsigned int {}", none ? "" : ", ", count));
    set_launch_bounds(outer, *info.function, shape.block);
    for (Launch* launch : launches_of(result, info, program)) {
      const std::string total =
          fmt::format("({})*({})", entry(launch->grid, 0).text(), entry(launch->block, 0).text());
      Argument argument;
      argument.kind = Argument::Kind::kExpr;
      argument.expr = make_expr(total);
      launch->args.push_back(argument);
      const std::int64_t per_block = std::int64_t{1} * shape.block * chunk.vec * shape.items;
      const Expr grid = make_expr(fmt::format("ceildiv({},{})", total, per_block));
      if (launch->grid.empty()) launch->grid.push_back(grid);
      launch->grid[0] = grid;
      launch->block = {Expr(shape.block)};
    }
  }
  text += parts.epilogue + "}";
  outer.replace(body.range, text);
  auto source = outer.source();
  if (!source) return std::unexpected(source.error());
  return with_source(result, std::move(*source));
}

}  // namespace hone::rules::coop
