#include "rewriters/rules/restrict_const.h"

#include <fmt/format.h>

#include "rewriters/core/kernel_edit.h"

namespace hone {
namespace {

using syntax::Access;
using syntax::KernelInfo;
using syntax::Variable;

struct Change {
  const Variable* parameter = nullptr;
  bool add_const = false;
  bool add_restrict = false;
};

class RestrictConst final : public Rewriter {
 public:
  std::string_view name() const override { return "restrict-const"; }
  std::string_view summary() const override {
    return "pointer parameters become const and __restrict__; legal when never written and never "
           "passed twice";
  }

  std::vector<Proposal> propose(const Program& program, const RewriteContext&) const override {
    std::vector<Proposal> proposals;
    const auto read = read_program(program);
    if (!read) return proposals;
    for (const KernelInfo& kernel : read->kernels) {
      if (!rewritten(*read, kernel)) continue;
      Proposal& proposal = proposals.emplace_back();
      proposal.rewriter = name();
      proposal.site = kernel.function->name;
      proposal.description =
          fmt::format("const and __restrict__ on the pointers of '{}'", kernel.function->name);
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext&) const override {
    const auto read = read_program(program);
    if (!read) return std::unexpected(read.error());
    const KernelInfo* kernel = read->find(step.site);
    if (kernel == nullptr) return refused(fmt::format("no kernel '{}' is launched", step.site));
    return rewritten(*read, *kernel);
  }

 private:
  static bool may_be_written(const KernelInfo& kernel, const Variable& parameter) {
    for (const Access& access : kernel.accesses) {
      if (access.kind == Access::Kind::kRead) continue;
      if (access.base == nullptr || kernel.may_alias(*access.base, parameter)) return true;
    }
    return false;
  }

  static std::vector<Change> changes(const ReadProgram& read, const KernelInfo& kernel) {
    std::vector<Change> result;
    for (const Variable* parameter : kernel.function->parameters) {
      const syntax::Type& type = parameter->type;
      if (!type.is_pointer() || !type.element || type.element->is_volatile || type.is_volatile ||
          type.element->is_pointer() || !parameter->name_range.valid() ||
          !parameter->declaration.valid()) {
        continue;
      }
      const auto before =
          read.unit->text({parameter->declaration.begin, parameter->name_range.begin});
      const auto after = read.unit->text({parameter->name_range.end, parameter->declaration.end});
      Change change;
      change.parameter = parameter;
      const bool star = before.find('*') != std::string_view::npos;
      const bool brackets = after.find('[') != std::string_view::npos;
      const bool written = may_be_written(kernel, *parameter);
      change.add_const = !type.element->is_const && (star || brackets) && !written;
      change.add_restrict = !type.is_restrict && star && !brackets;
      for (const Variable* other : kernel.function->parameters) {
        if (other == parameter || !other->type.is_pointer()) continue;
        if (kernel.may_alias(*other, *parameter) && (written || may_be_written(kernel, *other))) {
          change.add_restrict = false;
        }
      }
      if (change.add_const || change.add_restrict) result.push_back(change);
    }
    return result;
  }

  static Result<Program> with(const ReadProgram& read, const std::vector<Change>& changes) {
    syntax::Edits edits(*read.unit);
    for (const Change& change : changes) {
      if (change.add_const) edits.insert(change.parameter->declaration.begin, "const ");
      if (change.add_restrict) edits.insert(change.parameter->name_range.begin, "__restrict__ ");
    }
    return edited(read, edits);
  }

  /// A pointer that is copied to a non-const local cannot become const: the parse says so, and then
  /// every change is tried on top of those that worked.
  static Result<Program> rewritten(const ReadProgram& read, const KernelInfo& kernel) {
    if (kernel.has_unknown) return refused("the kernel calls what cannot be seen through");
    if (kernel.function->is_redeclared) return refused("the kernel is declared more than once");
    const std::vector<Change> wanted = changes(read, kernel);
    if (wanted.empty()) return changes_nothing("no pointer can become const or __restrict__");
    if (auto all = with(read, wanted)) return all;
    std::vector<Change> kept;
    for (Change change : wanted) {
      kept.push_back(change);
      if (with(read, kept)) continue;
      kept.pop_back();
      if (!change.add_const || !change.add_restrict) continue;
      change.add_const = false;
      kept.push_back(change);
      if (!with(read, kept)) kept.pop_back();
    }
    if (kept.empty()) return refused("no change leaves a source that parses");
    return with(read, kept);
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_restrict_const() { return std::make_unique<RestrictConst>(); }

}  // namespace hone
