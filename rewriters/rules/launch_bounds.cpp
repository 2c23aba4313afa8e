#include "rewriters/rules/launch_bounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/core/kernel_edit.h"

namespace hone {
namespace {

using syntax::KernelInfo;

constexpr std::int64_t kMinBlocks[] = {1, 2, 3, 4, 6, 8};

int threads_per_sm(const TargetLimits& target) {
  switch (target.compute_capability) {
    case 75:
      return 1024;
    case 86:
    case 87:
    case 89:
    case 120:
      return 1536;
    default:
      return 2048;
  }
}

/// ptxas does not spill the accumulators of warp group products: with fewer it gives up.
std::int64_t least_registers(const Program& program) {
  return program.source.contains("wgmma.mma_async") ? 168 : 16;
}

/// A kernel that gives registers from some warps to others counts on what its own bounds leave it:
/// with fewer it would wait for them for ever.
bool divides_registers(const Program& program) { return program.source.contains("setmaxnreg"); }

class LaunchBounds final : public Rewriter {
 public:
  std::string_view name() const override { return "launch-bounds"; }
  std::string_view summary() const override {
    return "a kernel gets __launch_bounds__(threads, min_blocks); legal when the blocks fit an SM";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    const auto read = read_program(program);
    if (!read || divides_registers(program)) return proposals;
    for (const KernelInfo& kernel : read->kernels) {
      const auto threads = block_threads(kernel, context);
      if (!threads || !has_place(kernel)) continue;
      Parameter blocks{"min_blocks", {}};
      for (const std::int64_t count : kMinBlocks) {
        if (!has_bounds(kernel, *threads, count) &&
            count * *threads <= threads_per_sm(context.target) &&
            count * *threads * least_registers(program) <= context.target.registers_per_sm)
          blocks.domain.emplace_back(count);
      }
      if (blocks.domain.empty()) continue;
      Proposal& proposal = proposals.emplace_back();
      proposal.rewriter = name();
      proposal.site = kernel.function->name;
      proposal.parameters.push_back(std::move(blocks));
      proposal.description =
          fmt::format("bound the registers of '{}' by its blocks per SM", kernel.function->name);
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    const auto read = read_program(program);
    if (!read) return std::unexpected(read.error());
    const KernelInfo* kernel = read->find(step.site);
    if (kernel == nullptr) return refused(fmt::format("no kernel '{}' is launched", step.site));
    if (divides_registers(program))
      return refused("the program's warps divide their registers, by setmaxnreg");
    const auto threads = block_threads(*kernel, context);
    if (!threads) return refused("the block size depends on what is not known");
    if (!has_place(*kernel)) return refused("the kernel is declared by a macro, or twice");
    const std::int64_t blocks = step.int_param("min_blocks", 0);
    if (std::find(std::begin(kMinBlocks), std::end(kMinBlocks), blocks) == std::end(kMinBlocks) ||
        blocks * *threads > threads_per_sm(context.target)) {
      return refused(fmt::format("{} blocks of {} threads do not fit on an SM", blocks, *threads));
    }
    if (has_bounds(*kernel, *threads, blocks)) return program;
    const std::string text = fmt::format("__launch_bounds__({}, {})", *threads, blocks);
    syntax::Edits edits(*read->unit);
    if (kernel->function->launch_bounds.valid()) {
      edits.replace(kernel->function->launch_bounds, text);
    } else {
      edits.insert(kernel->function->attribute_insert, text + " ");
    }
    return edited_unparsed(*read, edits);
  }

 private:
  static bool has_place(const KernelInfo& kernel) {
    const syntax::Function& function = *kernel.function;
    return function.name_range.valid() && !function.is_redeclared &&
           (function.launch_bounds.valid() || function.max_threads == 0);
  }

  /// As macros and constants evaluate, however they are written.
  static bool has_bounds(const KernelInfo& kernel, std::int64_t threads, std::int64_t min_blocks) {
    return kernel.function->max_threads == threads && kernel.function->min_blocks == min_blocks;
  }

  /// The largest block of any launch. Without `specialize` the number must hold at every size.
  static std::optional<std::int64_t> block_threads(const KernelInfo& kernel,
                                                   const RewriteContext& context) {
    Bindings bindings = context.sizes;
    for (const auto& [name, text] : kernel.program->defines) {
      bindings.emplace(name, std::atoll(text.c_str()));
    }
    std::int64_t most = 0;
    for (const Launch* launch : kernel.launches) {
      std::int64_t threads = 1;
      for (const Expr& entry : launch->block) {
        if (context.task != nullptr && !context.task->specialize) {
          for (const std::string& name : entry.names()) {
            if (context.sizes.count(name) != 0) return std::nullopt;
          }
        }
        const auto value = entry.eval(bindings);
        if (!value) return std::nullopt;
        threads *= *value;
      }
      most = std::max(most, threads);
    }
    if (most <= 0 || most > context.target.max_threads_per_block) return std::nullopt;
    return most;
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_launch_bounds() { return std::make_unique<LaunchBounds>(); }

}  // namespace hone
