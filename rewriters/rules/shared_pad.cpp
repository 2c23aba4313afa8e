#include "rewriters/rules/shared_pad.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "rewriters/rules/common/kernel_text.h"
#include "rewriters/syntax/edit.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using Node = syntax::Expr;
using syntax::KernelInfo;
using syntax::Type;
using syntax::Variable;

std::vector<std::int64_t> extents_of(const Variable& array) {
  std::vector<std::int64_t> extents;
  for (const Type* type = &array.type; type->kind == Type::Kind::kArray && type->element;
       type = type->element.get()) {
    extents.push_back(type->extent);
  }
  return extents;
}

std::int64_t shared_bytes(const KernelInfo& info) {
  std::int64_t bytes = 0;
  for (const Variable* local : info.function->locals) {
    if (local->storage == Variable::Storage::kShared) bytes += local->type.bytes;
  }
  return bytes;
}

/// Every use is array[i][j]… down to one element. `crosses_rows`: a subscript other than the last
/// differs between threads somewhere.
Result<bool> check_uses(const KernelInfo& info, const Variable& array, std::size_t dimensions) {
  bool crosses_rows = false;
  for (const Node* expr : info.function->all_expressions) {
    if (expr->kind != Node::Kind::kVariable || expr->variable != &array) continue;
    const Node* at = expr;
    for (std::size_t i = 0; i < dimensions; ++i) {
      const Node* up = at->parent;
      while (up != nullptr && up->kind == Node::Kind::kCast && up->implicit) {
        at = up;
        up = up->parent;
      }
      if (up == nullptr || up->kind != Node::Kind::kSubscript || up->operands[0] != at) {
        return refused(fmt::format("{} is used other than by all its subscripts", array.name));
      }
      if (i + 1 < dimensions && info.varies_by_thread(*up->operands[1])) crosses_rows = true;
      at = up;
    }
    for (const Node* up = at->parent; up != nullptr; up = up->parent) {
      if (up->kind == Node::Kind::kUnary && up->text == "&") {
        const Node* call = up->parent;
        while (call != nullptr && call->kind == Node::Kind::kCast && call->implicit) {
          call = call->parent;
        }
        const bool atomic =
            call != nullptr && call->kind == Node::Kind::kCall && call->text.starts_with("atomic");
        if (!atomic)
          return refused(fmt::format("the address of an element of {} is taken", array.name));
      }
      if (up->kind != Node::Kind::kMember && up->kind != Node::Kind::kCast) break;
    }
  }
  return crosses_rows;
}

struct PadTarget {
  const Variable* array = nullptr;
  std::vector<std::int64_t> extents;
  bool crosses_rows = false;
};

Result<PadTarget> target(const KernelInfo& info, std::string_view name) {
  if (info.has_unknown) return refused("the kernel holds code we cannot read");
  PadTarget result;
  for (const Variable* local : info.function->locals) {
    if (local->name != name || local->storage != Variable::Storage::kShared) continue;
    if (result.array != nullptr)
      return refused(fmt::format("two shared arrays are called {}", name));
    result.array = local;
  }
  if (result.array == nullptr) return refused(fmt::format("no shared array {}", name));
  result.extents = extents_of(*result.array);
  if (result.extents.size() < 2) return refused(fmt::format("{} has one dimension", name));
  if (std::ranges::min(result.extents) < 1) return refused("an extent is not known");
  auto crosses = check_uses(info, *result.array, result.extents.size());
  if (!crosses) return std::unexpected(crosses.error());
  result.crosses_rows = *crosses;
  return result;
}

Result<void> check_size(const KernelInfo& info, const PadTarget& target, std::int64_t pad,
                        const RewriteContext& context) {
  const std::int64_t row = target.extents.back();
  const std::int64_t bytes = target.array->type.bytes;
  const std::int64_t total = shared_bytes(info) - bytes + bytes / row * (row + pad);
  if (total > context.target.shared_per_block) {
    return refused(fmt::format("{} bytes of shared memory are over the limit of {}", total,
                               context.target.shared_per_block));
  }
  return {};
}

std::string pad_site_of(const KernelInfo& info, const Variable& array) {
  return info.function->name + "/" + array.name;
}

class SharedPad final : public Rewriter {
 public:
  std::string_view name() const override { return "shared-pad"; }
  std::string_view summary() const override {
    return "rows of a shared array => padded rows, so that columns fall into distinct banks; legal "
           "when the array is only used by full subscripts";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> result;
    auto open = rules::open_program(program);
    if (!open) return result;
    for (const KernelInfo& info : open->kernels) {
      for (const Variable* local : info.function->locals) {
        if (local->storage != Variable::Storage::kShared) continue;
        const auto found = target(info, local->name);
        if (!found || !found->crosses_rows) continue;
        Parameter pad{"pad", {}};
        for (const std::int64_t elements : {1, 4, 8}) {
          if (check_size(info, *found, elements, context)) pad.domain.emplace_back(elements);
        }
        if (pad.domain.empty()) continue;
        result.push_back({std::string(name()),
                          version(),
                          pad_site_of(info, *local),
                          {pad},
                          MathLevel::kExact,
                          fmt::format("wider rows of {}", local->name)});
      }
    }
    return result;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    const std::int64_t pad = step.int_param("pad", 0);
    if (pad < 1 || pad > 64) return refused("pad is not between 1 and 64");
    const auto slash = step.site.find('/');
    if (slash == std::string::npos) return refused("the site names no array");
    auto open = rules::open_program(program);
    if (!open) return std::unexpected(open.error());
    const KernelInfo* info = open->find(step.site.substr(0, slash));
    if (info == nullptr) return refused("no such kernel");
    auto found = target(*info, step.site.substr(slash + 1));
    if (!found) return std::unexpected(found.error());
    if (auto size = check_size(*info, *found, pad, context); !size) {
      return std::unexpected(size.error());
    }
    const syntax::SourceRange range = found->array->declaration;
    const std::string text{open->unit->text(range)};
    const auto open_bracket = text.rfind('[');
    const auto close_bracket = text.rfind(']');
    if (open_bracket == std::string::npos || close_bracket == std::string::npos ||
        close_bracket < open_bracket || text.find('=') != std::string::npos) {
      return refused("the declaration of the array is not plain");
    }
    syntax::Edits edits(*open->unit);
    const int begin = range.begin + static_cast<int>(open_bracket) + 1;
    const int end = range.begin + static_cast<int>(close_bracket);
    const std::string extent{open->unit->text({begin, end})};
    const bool number = std::ranges::all_of(extent, [](char c) { return c >= '0' && c <= '9'; });
    edits.replace({begin, end}, number ? fmt::format("{}", found->extents.back() + pad)
                                       : fmt::format("({}) + {}", extent, pad));
    auto source = edits.apply();
    if (!source) return std::unexpected(source.error());
    Program result = program;
    result.source = syntax::formatted(*source);
    return result;
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_shared_pad() { return std::make_unique<SharedPad>(); }

}  // namespace hone
