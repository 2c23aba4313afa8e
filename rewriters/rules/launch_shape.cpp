#include "rewriters/rules/launch_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rewriters/core/kernel_edit.h"
#include "rewriters/rules/shape/thread_space.h"

namespace hone {
namespace {

using shape::Dimension;
using syntax::KernelInfo;

using Shape = std::array<std::int64_t, 3>;

std::string to_text(const Shape& shape) {
  return fmt::format("{}x{}x{}", shape[0], shape[1], shape[2]);
}

std::optional<Shape> parse_shape(const std::string& text) {
  Shape shape{};
  if (std::sscanf(text.c_str(), "%ldx%ldx%ld", &shape[0], &shape[1], &shape[2]) != 3) {
    return std::nullopt;
  }
  return to_text(shape) == text ? std::optional(shape) : std::nullopt;
}

/// "X" when `grid` is written ceildiv(X, block) or X / block: the threads really asked for.
std::optional<Expr> threads_wanted(const Expr& grid, std::int64_t block, const Bindings& bindings) {
  std::string text = grid.text();
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::string head = "ceildiv(";
  if (!text.starts_with(head) || text.back() != ')') return std::nullopt;
  int depth = 0;
  std::size_t comma = std::string::npos;
  for (std::size_t i = head.size(); i + 1 < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth < 0) return std::nullopt;
    if (text[i] == ',' && depth == 0) comma = i;
  }
  if (comma == std::string::npos) return std::nullopt;
  const auto wanted = Expr::parse(text.substr(head.size(), comma - head.size()));
  const auto divisor = Expr::parse(text.substr(comma + 1, text.size() - comma - 2));
  if (!wanted || !divisor) return std::nullopt;
  const auto value = divisor->eval(bindings);
  if (!value || *value != block) return std::nullopt;
  return *wanted;
}

class LaunchShape final : public Rewriter {
 public:
  std::string_view name() const override { return "launch-shape"; }
  std::string_view summary() const override {
    return "other block dimensions for the same threads; legal when the kernel uses only its "
           "global "
           "thread index and extra threads do nothing";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    const auto read = read_program(program);
    if (!read) return proposals;
    for (const KernelInfo& kernel : read->kernels) {
      if (!shape_free(*read, kernel)) continue;
      const auto current = kernel.block_dim(context.sizes);
      if (!current) continue;
      const auto dimensions = study(kernel, context);
      Parameter block{"block", {}};
      for (const Shape& shape : shapes(dimensions, *current)) {
        if (shape != *current && reshaped(*read, kernel, shape, context)) {
          block.domain.emplace_back(to_text(shape));
        }
      }
      if (block.domain.empty()) continue;
      Proposal& proposal = proposals.emplace_back();
      proposal.rewriter = name();
      proposal.site = kernel.function->name;
      proposal.parameters.push_back(std::move(block));
      proposal.description = fmt::format("block dimensions of '{}'", kernel.function->name);
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    const auto read = read_program(program);
    if (!read) return std::unexpected(read.error());
    const KernelInfo* kernel = read->find(step.site);
    if (kernel == nullptr) return refused(fmt::format("no kernel '{}' is launched", step.site));
    if (auto free = shape_free(*read, *kernel); !free) return std::unexpected(free.error());
    const auto shape = parse_shape(step.string_param("block", ""));
    if (!shape) return refused("`block` must look like 32x8x1");
    return reshaped(*read, *kernel, *shape, context);
  }

 private:
  static Result<void> shape_free(const ReadProgram& read, const KernelInfo& kernel) {
    if (kernel.has_shared || kernel.has_barrier || kernel.has_warp_ops) {
      return refused("threads of a block work together");
    }
    if (kernel.has_unknown) return refused("the kernel calls what cannot be seen through");
    for (const syntax::Function* function : read.unit->functions) {
      if (function->is_kernel) continue;
      for (const syntax::Expr* expr : function->all_expressions) {
        if (expr->kind == syntax::Expr::Kind::kBuiltin) {
          return refused("a device function reads thread indices");
        }
      }
    }
    return {};
  }

  static std::array<Dimension, 3> study(const KernelInfo& kernel, const RewriteContext& context) {
    return {shape::study_dimension(kernel, 'x', context.sizes),
            shape::study_dimension(kernel, 'y', context.sizes),
            shape::study_dimension(kernel, 'z', context.sizes)};
  }

  static std::vector<Shape> shapes(const std::array<Dimension, 3>& dimensions,
                                   const Shape& current) {
    const bool free_x = dimensions[0].used && dimensions[0].regular;
    const bool free_y = dimensions[1].used && dimensions[1].regular;
    std::vector<Shape> result;
    for (const std::int64_t threads : {32, 64, 128, 256, 512, 1024}) {
      for (const std::int64_t x : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
        if (!free_x && x != current[0] && current[0] != threads) continue;
        const std::int64_t width = free_x ? x : current[0];
        if (width * current[2] == 0 || threads % (width * current[2]) != 0) continue;
        const std::int64_t height = threads / (width * current[2]);
        if (!free_y && height != current[1]) continue;
        if (free_x && free_y && (width < 8 || height > 64)) continue;  // unlike anything useful
        const Shape shape{width, height, current[2]};
        if (std::find(result.begin(), result.end(), shape) == result.end()) result.push_back(shape);
      }
    }
    return result;
  }

  static Result<Program> reshaped(const ReadProgram& read, const KernelInfo& kernel,
                                  const Shape& shape, const RewriteContext& context) {
    const std::int64_t threads = shape[0] * shape[1] * shape[2];
    if (*std::min_element(shape.begin(), shape.end()) < 1 || shape[2] > 64 ||
        threads > context.target.max_threads_per_block) {
      return refused(fmt::format("no device accepts a block of {}", to_text(shape)));
    }
    if (kernel.function->launch_bounds.valid() && threads > kernel.function->max_threads) {
      return refused("more threads than __launch_bounds__ says");
    }
    const auto dimensions = study(kernel, context);
    Program result = *read.program;
    for (const Launch* launch : kernel.launches) {
      Launch& changed = result.launches[launch - read.program->launches.data()];
      for (std::size_t i = 0; i < 3; ++i) {
        auto done = reshape_dimension(*read.program, changed, i, shape[i], dimensions[i], context);
        if (!done) return std::unexpected(done.error());
      }
    }
    return result;
  }

  static Result<void> reshape_dimension(const Program& program, Launch& launch, std::size_t i,
                                        std::int64_t block, const Dimension& dimension,
                                        const RewriteContext& context) {
    Bindings bindings = context.sizes;
    for (const auto& [name, text] : program.defines) {
      bindings.emplace(name, std::atoll(text.c_str()));
    }
    const char axis = "xyz"[i];
    const Expr one(1);
    const Expr old_block = i < launch.block.size() ? launch.block[i] : one;
    const Expr old_grid = i < launch.grid.size() ? launch.grid[i] : one;
    const auto block_value = old_block.eval(bindings), grid_value = old_grid.eval(bindings);
    if (!block_value || !grid_value) return refused("the launch does not evaluate");
    if (*block_value == block) return {};
    if (!dimension.used)
      return refused(fmt::format("the kernel has no use for threads in {}", axis));
    if (!dimension.regular) {
      return refused(fmt::format("indices in {} are not blockIdx * blockDim + threadIdx", axis));
    }
    const std::int64_t old_threads = *block_value * *grid_value;
    Expr wanted = *Expr::parse(fmt::format("({})*({})", old_grid.text(), old_block.text()));
    if (dimension.strided) {
      // Any number of threads does the work.
    } else if (dimension.bound && *dimension.bound <= old_threads) {
      if (const auto asked = threads_wanted(old_grid, *block_value, bindings)) {
        const auto value = asked->eval(bindings);
        if (value && *value >= *dimension.bound) wanted = *asked;
      }
    } else if (old_threads % block != 0) {
      return refused(
          fmt::format("{} threads in {} do not divide into blocks of {}, and no guard "
                      "stops the extra ones",
                      old_threads, axis, block));
    }
    const auto grid = Expr::parse(fmt::format("ceildiv({},{})", wanted.text(), block));
    if (!grid) return std::unexpected(grid.error());
    const auto blocks = grid->eval(bindings);
    if (!blocks || *blocks < 1 || *blocks > (i == 0 ? INT32_MAX : 65535)) {
      return refused("the grid would be larger than a device accepts");
    }
    launch.block.resize(std::max(launch.block.size(), i + 1), one);
    launch.grid.resize(std::max(launch.grid.size(), i + 1), one);
    launch.block[i] = Expr(block);
    launch.grid[i] = *grid;
    return {};
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_launch_shape() { return std::make_unique<LaunchShape>(); }

}  // namespace hone
