#include "rewriters/rules/shared_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rewriters/rules/common/guard.h"
#include "rewriters/rules/common/index_space.h"
#include "rewriters/rules/common/kernel_text.h"
#include "rewriters/rules/common/tile_plan.h"
#include "rewriters/rules/common/tile_text.h"
#include "rewriters/syntax/edit.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using rules::TilePlan;
using syntax::KernelInfo;
using syntax::Loop;

constexpr std::array<std::int64_t, 7> kSteps = {4, 8, 16, 32, 64, 128, 256};
constexpr std::int64_t kShortestLoop = 9;  // shorter ones are unrolled, not tiled

std::string kernel_of(std::string_view site) { return std::string(site.substr(0, site.find('/'))); }

Result<void> check_loop(const KernelInfo& info, const Loop& loop) {
  if (info.function->is_template) return refused("the kernel is a template");
  if (info.has_unknown) return refused("the kernel holds code we cannot read");
  if (!loop.step || *loop.step < 1) return refused("the loop does not count by a constant");
  if (info.varies_by_thread(*loop.lower) || info.varies_by_thread(*loop.upper)) {
    return refused("the loop's bounds differ between threads");
  }
  if (!info.uniform_control(*loop.statement)) {
    return refused("not all threads of a block run the loop");
  }
  for (const syntax::Expr* expr : rules::expressions_in(*loop.statement)) {
    if (expr->kind == syntax::Expr::Kind::kCall &&
        (expr->text.starts_with("__sync") || expr->text.starts_with("__bar"))) {
      return refused("the loop already holds barriers");
    }
    const auto write = rules::write_of(*expr);
    if (write && write->root != nullptr &&
        write->root->storage == syntax::Variable::Storage::kShared) {
      return refused("the loop already fills shared memory");
    }
  }
  return {};
}

std::int64_t shared_bytes_of(const KernelInfo& info) {
  std::int64_t bytes = 0;
  for (const syntax::Variable* local : info.function->locals) {
    if (local->storage == syntax::Variable::Storage::kShared) bytes += local->type.bytes;
  }
  return bytes;
}

bool has_dynamic_shared(const KernelInfo& info) {
  return std::ranges::any_of(info.launches, [](const Launch* launch) {
    return !launch->shared_bytes.is_constant() || launch->shared_bytes.text() != "0";
  });
}

/// The block shape is baked into the tiles, so it must not depend on the sizes unless the
/// candidate is made for them.
Result<void> check_block(const KernelInfo& info, const RewriteContext& context) {
  if (!info.block_dim(context.sizes)) return refused("the launches disagree on the block shape");
  if (context.task == nullptr || context.task->specialize) return {};
  for (const Launch* launch : info.launches) {
    for (const auto& extent : launch->block) {
      for (const std::string& name : extent.names()) {
        if (context.sizes.contains(name)) return refused("the block shape depends on the sizes");
      }
    }
  }
  return {};
}

/// Loops that are not marked for unrolling, such as those over replicas, in order:
/// "kernel/serial0". Unlike positions among all loops these survive a change of the coarsening in
/// front.
std::vector<std::pair<std::string, const Loop*>> serial_loops(const KernelInfo& info) {
  std::vector<std::pair<std::string, const Loop*>> result;
  for (const auto& loop : info.loops) {
    if (loop->statement->pragma.valid()) continue;
    result.emplace_back(fmt::format("{}/serial{}", info.function->name, result.size()), loop.get());
  }
  return result;
}

struct Prepared {
  Program program;
  rules::OpenProgram open;
  const KernelInfo* info = nullptr;
};

/// With guards flattened where that is possible.
Result<std::unique_ptr<Prepared>> prepare(const Program& program, const std::string& kernel,
                                          const RewriteContext& context) {
  auto prepared = std::make_unique<Prepared>();
  auto flat = rules::flatten_guards(program, kernel, context);
  prepared->program = flat ? std::move(flat->program) : program;
  auto open = rules::open_program(prepared->program);
  if (!open) return std::unexpected(open.error());
  prepared->open = std::move(*open);
  prepared->info = prepared->open.find(kernel);
  if (prepared->info == nullptr) return refused(fmt::format("no kernel {}", kernel));
  return prepared;
}

Result<TilePlan> plan(const Prepared& prepared, const Loop& loop, std::int64_t steps,
                      const RewriteContext& context, rules::IndexSpace& space) {
  if (auto legal = check_loop(*prepared.info, loop); !legal) return std::unexpected(legal.error());
  TilePlan tiles = rules::plan_tiles(*prepared.info, prepared.program, loop, steps, context, space);
  if (tiles.tiles.empty()) return refused("no load of the loop is worth staging");
  std::int64_t bytes = shared_bytes_of(*prepared.info);
  for (const auto& tile : tiles.tiles) bytes += tile.shared_bytes();
  if (bytes > context.target.shared_per_block) {
    return refused(fmt::format("the tiles need {} bytes of shared memory, the limit is {}", bytes,
                               context.target.shared_per_block));
  }
  return tiles;
}

class SharedTile final : public Rewriter {
 public:
  std::string_view name() const override { return "shared-tile"; }
  std::string_view summary() const override {
    return "loads that a block shares in a loop => tiles staged in shared memory; legal when the "
           "loop is uniform and the buffers are only read";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> result;
    auto open = rules::open_program(program);
    if (!open) return result;
    for (const KernelInfo& info : open->kernels) {
      if (info.function->is_template || info.has_unknown || has_dynamic_shared(info) ||
          !check_block(info, context)) {
        continue;
      }
      auto prepared = prepare(program, info.function->name, context);
      if (!prepared) continue;
      for (const auto& [site, loop] : serial_loops(*(*prepared)->info)) {
        const auto trips = (*prepared)->info->trip_count(*loop, context.sizes);
        if (trips && *trips < kShortestLoop) continue;
        Parameter steps{"k", {}};
        std::string names;
        for (const std::int64_t count : kSteps) {
          if (trips && count > *trips) continue;
          rules::IndexSpace space(*(*prepared)->info, context.sizes);
          const auto tiles = plan(**prepared, *loop, count, context, space);
          if (!tiles) continue;
          steps.domain.emplace_back(count);
          names.clear();
          for (const auto& tile : tiles->tiles) {
            names += (names.empty() ? "" : ", ") + tile.base->name;
          }
        }
        if (steps.domain.empty()) continue;
        result.push_back({std::string(name()),
                          version(),
                          site,
                          {steps},
                          MathLevel::kExact,
                          fmt::format("{} through shared memory", names)});
      }
    }
    return result;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    const std::int64_t count = step.int_param("k", 0);
    if (count < 2 || count > 1024) return refused("k is not between 2 and 1024");
    auto prepared = prepare(program, kernel_of(step.site), context);
    if (!prepared) return std::unexpected(prepared.error());
    const KernelInfo& info = *(*prepared)->info;
    if (has_dynamic_shared(info)) return refused("the launch uses dynamic shared memory");
    if (auto block = check_block(info, context); !block) return std::unexpected(block.error());
    const auto loops = serial_loops(info);
    const auto found =
        std::ranges::find(loops, step.site, [](const auto& entry) { return entry.first; });
    const Loop* loop = found == loops.end() ? nullptr : found->second;
    if (loop == nullptr) return refused(fmt::format("no canonical loop at {}", step.site));
    rules::IndexSpace space(info, context.sizes);
    auto tiles = plan(**prepared, *loop, count, context, space);
    if (!tiles) return std::unexpected(tiles.error());
    const bool specialize = context.task == nullptr || context.task->specialize;
    const auto trips = info.trip_count(*loop, context.sizes);

    rules::TileTextOptions options;
    options.steps = count;
    options.remainder = !(specialize && trips && *trips % count == 0);
    auto text = rules::tiled_loop((*prepared)->open, info, *loop, *tiles, options, context, space);
    if (!text) return std::unexpected(text.error());
    syntax::Edits edits(*(*prepared)->open.unit);
    syntax::SourceRange range = loop->statement->range;
    if (loop->statement->pragma.valid()) range.begin = loop->statement->pragma.begin;
    edits.replace(range, *text);
    auto source = edits.apply();
    if (!source) return std::unexpected(source.error());
    Program result = (*prepared)->program;
    result.source = syntax::formatted(*source);
    return rules::without_unused_locals(std::move(result), info.function->name);
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_shared_tile() { return std::make_unique<SharedTile>(); }

}  // namespace hone
