#include "rewriters/rules/warp_reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "rewriters/rules/cooperative/tree.h"

namespace hone {
namespace {

namespace coop = rules::coop;
using coop::Tree;
using coop::TreeFold;
using syntax::Access;
using syntax::KernelInfo;
using syntax::Stmt;

std::string folded(const std::string& fold, const std::string& value, const std::string& other) {
  std::string result;
  for (std::size_t i = 0; i < fold.size(); ++i) {
    if (fold[i] == '$' && i + 1 < fold.size()) {
      result += fold[++i] == 'v' ? value : other;
    } else {
      result += fold[i];
    }
  }
  return result;
}

bool in_tree(const Access& access, const Tree& tree) {
  return coop::inside(access.statement, *tree.loop) ||
         (tree.tail && coop::inside(access.statement, *tree.tail));
}

// After the tree only element 0 holds what it held before. Everything that may read the array later
// must read element 0, or come after every thread has stored its element anew.
bool only_total_is_read(const KernelInfo& info, const Tree& tree, const TreeFold& fold,
                        const std::vector<Tree>& trees) {
  const Stmt* loop_around = nullptr;
  for (const Stmt* parent = tree.loop->parent; parent; parent = parent->parent) {
    const bool repeats = parent->kind == Stmt::Kind::kFor || parent->kind == Stmt::Kind::kWhile ||
                         parent->kind == Stmt::Kind::kDo;
    if (repeats) loop_around = parent;
  }
  // Stores `sm[threadIdx.x] = …` that every thread performs.
  const auto refills = [&](const Access& access) {
    return access.base == fold.array && access.kind == Access::Kind::kWrite && access.index &&
           *access.index == syntax::Polynomial::symbol("threadIdx.x") &&
           info.uniform_control(*access.statement) && coop::unconditional(*access.expr);
  };
  for (const Access& read : info.accesses) {
    if (read.base != fold.array || read.kind == Access::Kind::kWrite || in_tree(read, tree))
      continue;
    if (read.index && read.index->as_constant() == 0) continue;
    const int at = read.expr->range.begin;
    if (at < 0) return false;
    const bool before = at < tree.range.begin;
    if (before && !(loop_around && coop::inside(read.statement, *loop_around))) continue;
    // Between the tree and the read, or (around the loop) before the read: a refill.
    const bool refilled =
        std::any_of(info.accesses.begin(), info.accesses.end(), [&](const Access& w) {
          if (!refills(w)) return false;
          const int where = w.expr->range.begin;
          if (before) return where < at && coop::inside(w.statement, *loop_around);
          return where > tree.range.end && where < at;
        });
    if (!refilled) return false;
  }
  (void)trees;
  return true;
}

Result<bool> legal(const KernelInfo& info, const Tree& tree, const std::vector<Tree>& trees,
                   std::int64_t threads) {
  if (threads < 32 || threads > 1024 || !std::has_single_bit(static_cast<std::uint64_t>(threads))) {
    return refused("the block is no power of two from 32 to 1024");
  }
  if (!info.uniform_control(*tree.loop)) return refused("not every thread reaches the tree");
  for (const TreeFold& fold : tree.folds) {
    const syntax::Type& element = *fold.array->type.element;
    const bool known = element.name == "float" || element.name == "double" ||
                       element.name == "int" || element.name == "unsigned int" ||
                       element.name == "long long" || element.name == "unsigned long long" ||
                       element.name == "long" || element.name == "unsigned long";
    if (!known) return refused("shuffles do not move this type");
    if (!only_total_is_read(info, tree, fold, trees)) {
      return refused("more than element 0 of the array is read after the tree");
    }
    for (const Access& access : info.accesses) {
      if (!access.base) return refused("a pointer may reach the array");
    }
  }
  return true;
}

std::string shuffles(const TreeFold& fold, const std::string& value, const std::string& other,
                     const std::string& offset, std::int64_t from) {
  return fmt::format(
      "#pragma unroll\nfor (int {0} = {1}; {0} > 0; {0} /= 2) {{\n"
      "const {2} {3} = __shfl_down_sync(0xffffffffu, {4}, {0});\n{5}\n}}\n",
      offset, from, fold.array->type.element->name, other, value, folded(fold.fold, value, other));
}

class WarpReduce final : public Rewriter {
 public:
  std::string_view name() const override { return "warp-reduce"; }
  std::string_view summary() const override {
    return "tree over a shared array => shuffles in the warps and one round over the warps; legal "
           "when only the total is read afterwards";
  }
  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    const auto parsed = coop::parse_program(program);
    if (!parsed) return proposals;
    for (const KernelInfo& info : parsed->kernels) {
      const auto threads = block_threads(info, context);
      if (!threads) continue;
      const auto trees = coop::find_trees(*parsed, info, *threads, context.sizes);
      for (std::size_t i = 0; i < trees.size(); ++i) {
        Proposal proposal;
        proposal.rewriter = name();
        proposal.version = version();
        proposal.site = fmt::format("{}/tree{}", info.function->name, i);
        for (const TreeFold& fold : trees[i].folds) {
          if (fold.reassociates) proposal.math = MathLevel::kReassociate;
        }
        proposal.description =
            fmt::format("the reduction over {} uses shuffles", trees[i].folds[0].array->name);
        if (apply(program, proposal.step({}), context)) proposals.push_back(std::move(proposal));
      }
    }
    return proposals;
  }
  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override;

 private:
  static std::optional<std::int64_t> block_threads(const KernelInfo& info,
                                                   const RewriteContext& context) {
    const auto block = info.block_dim(context.sizes);
    if (!block || (*block)[1] * (*block)[2] != 1) return std::nullopt;
    return (*block)[0];
  }
};

Result<Program> WarpReduce::apply(const Program& program, const Step& step,
                                  const RewriteContext& context) const {
  const auto parsed = coop::parse_program(program);
  if (!parsed) return std::unexpected(parsed.error());
  const auto slash = step.site.rfind("/tree");
  const KernelInfo* info = parsed->find(step.site.substr(0, slash));
  if (!info || slash == std::string::npos) {
    return refused(fmt::format("there is no site `{}`", step.site));
  }
  const auto threads = block_threads(*info, context);
  if (!threads) return refused("the block is not one-dimensional");
  const auto trees = coop::find_trees(*parsed, *info, *threads, context.sizes);
  const std::string number = step.site.substr(slash + 5);
  const auto found = std::find_if(trees.begin(), trees.end(), [&](const Tree& tree) {
    return fmt::format("{}", &tree - trees.data()) == number;
  });
  if (found == trees.end()) return refused("the kernel has no such tree");
  const Tree& tree = *found;
  if (auto fine = legal(*info, tree, trees, *threads); !fine) return std::unexpected(fine.error());
  for (const TreeFold& fold : tree.folds) {
    if (fold.reassociates && coop::exact_only(context)) {
      return refused("a floating sum would change its order, and the task asks for exact math");
    }
  }

  const syntax::TranslationUnit& unit = *parsed->unit;
  const std::string offset = syntax::fresh_name(unit, "offset");
  const std::string other = syntax::fresh_name(unit, "other");
  const std::string value = syntax::fresh_name(unit, "value");
  const std::string warps = syntax::fresh_name(unit, "warps");
  const std::int64_t count = *threads / 32;
  const auto each = [&](const auto& print) {
    std::string text;
    for (const TreeFold& fold : tree.folds) {
      const std::string& array = fold.array->name;
      text += print(fold, array, fmt::format("{}_{}", array, value),
                    fmt::format("{}_{}", array, warps));
    }
    return text;
  };
  using Text = const std::string&;
  std::string text = "{\n";
  text += each([&](const TreeFold& fold, Text array, Text v, Text) {
    return fmt::format("{} {} = {}[threadIdx.x];\n", fold.array->type.element->name, v, array);
  });
  text += each([&](const TreeFold& fold, Text, Text v, Text) {
    return shuffles(fold, v, other, offset, 16);
  });
  const std::string store = "if (threadIdx.x == 0) {\n" +
                            each([&](const TreeFold&, Text array, Text v, Text) {
                              return fmt::format("{}[0] = {};\n", array, v);
                            }) +
                            "}\n";
  if (count > 1) {
    text += each([&](const TreeFold& fold, Text, Text, Text w) {
      return fmt::format("__shared__ {} {}[{}];\n", fold.array->type.element->name, w, count);
    });
    text += "if (threadIdx.x % 32 == 0) {\n" + each([&](const TreeFold&, Text, Text v, Text w) {
              return fmt::format("{}[threadIdx.x / 32] = {};\n", w, v);
            }) +
            "}\n__syncthreads();\nif (threadIdx.x < 32) {\n";
    text += each([&](const TreeFold&, Text, Text v, Text w) {
      return fmt::format("{} = {}[threadIdx.x % {}];\n", v, w, count);
    });
    text += each([&](const TreeFold& fold, Text, Text v, Text) {
      return shuffles(fold, v, other, offset, count / 2);
    });
    text += store + "}\n";
  } else {
    text += store;
  }
  text += "__syncthreads();\n}\n";
  coop::Patch patch(unit);
  patch.replace(tree.range, text);
  auto source = patch.source();
  if (!source) return std::unexpected(source.error());
  return coop::with_source(program, std::move(*source));
}

}  // namespace

std::unique_ptr<Rewriter> make_warp_reduce() { return std::make_unique<WarpReduce>(); }

}  // namespace hone
