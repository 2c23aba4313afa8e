#include "rewriters/rules/bake_sizes.h"

#include <fmt/format.h>

#include <cmath>

#include "rewriters/core/kernel_edit.h"

namespace hone {
namespace {

using syntax::KernelInfo;
using syntax::Variable;

bool fits(std::int64_t value, const syntax::Type& type) {
  if (type.kind == syntax::Type::Kind::kBool) return value == 0 || value == 1;
  if (type.bytes >= 8) return type.is_signed || value >= 0;
  const int bits = 8 * type.bytes;
  const std::int64_t high = (std::int64_t{1} << (type.is_signed ? bits - 1 : bits)) - 1;
  return value <= high && value >= (type.is_signed ? -high - 1 : 0);
}

class BakeSizes final : public Rewriter {
 public:
  std::string_view name() const override { return "bake-sizes"; }
  std::string_view summary() const override {
    return "scalar parameters and block dimensions become constants; legal when every launch "
           "passes "
           "the same value and the task may be specialised";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    const auto read = read_program(program);
    if (!read) return proposals;
    for (const KernelInfo& kernel : read->kernels) {
      if (!rewritten(*read, kernel, context)) continue;
      Proposal& proposal = proposals.emplace_back();
      proposal.rewriter = name();
      proposal.site = kernel.function->name;
      proposal.description = fmt::format("constants for the sizes of '{}'", kernel.function->name);
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    const auto read = read_program(program);
    if (!read) return std::unexpected(read.error());
    const KernelInfo* kernel = read->find(step.site);
    if (kernel == nullptr) return refused(fmt::format("no kernel '{}' is launched", step.site));
    return rewritten(*read, *kernel, context);
  }

 private:
  /// The initialiser that gives the parameter's value, e.g. "4096" or "static_cast<float>(1e-05)".
  static std::optional<std::string> value_text(const KernelInfo& kernel, const Variable& parameter,
                                               const RewriteContext& context) {
    if (parameter.type.is_integer()) {
      const auto value = kernel.value_of(parameter, context.sizes);
      if (!value || !fits(*value, parameter.type)) return std::nullopt;
      if (parameter.type.kind == syntax::Type::Kind::kBool) return *value != 0 ? "true" : "false";
      const bool small = *value <= INT32_MAX && *value >= -INT32_MAX;
      if (*value == INT64_MIN) return std::nullopt;
      return fmt::format("{}{}", *value, small ? "" : "ll");
    }
    if (parameter.type.name != "float" && parameter.type.name != "double") return std::nullopt;
    std::optional<double> common;
    for (const Launch* launch : kernel.launches) {
      const Argument& argument = launch->args[parameter.param_index];
      std::optional<double> value;
      if (argument.kind == Argument::Kind::kNumber) {
        value = argument.number;
      } else if (argument.kind == Argument::Kind::kExpr) {
        if (const auto size = argument.expr.eval(context.sizes)) value = double(*size);
      }
      if (!value || !std::isfinite(*value) || (common && *common != *value)) return std::nullopt;
      common = value;
    }
    // The launch converts the double of the task to the parameter's type in the same way.
    return fmt::format("static_cast<{}>({:.17g}{})", parameter.type.name, *common,
                       std::floor(*common) == *common && std::abs(*common) < 1e15 ? ".0" : "");
  }

  static Result<Program> rewritten(const ReadProgram& read, const KernelInfo& kernel,
                                   const RewriteContext& context) {
    if (context.task != nullptr && !context.task->specialize) {
      return refused("the task does not allow candidates for one size only");
    }
    const syntax::Function& function = *kernel.function;
    for (const Launch* launch : kernel.launches) {
      if (launch->args.size() != function.parameters.size()) {
        return refused("a launch does not match the kernel's parameters");
      }
    }
    if (!function.body->range.valid()) return refused("the kernel's body comes from a macro");
    syntax::Edits edits(*read.unit);
    std::string constants;
    for (const Variable* parameter : function.parameters) {
      if (parameter->reads == 0 || parameter->writes > 0 || parameter->address_taken ||
          parameter->type.is_volatile || !parameter->name_range.valid() ||
          !parameter->declaration.valid()) {
        continue;
      }
      const auto value = value_text(kernel, *parameter, context);
      if (!value) continue;
      constants +=
          fmt::format("\n  constexpr {} {} = {};", parameter->type.name, parameter->name, *value);
      edits.replace(parameter->name_range,
                    syntax::fresh_name(*read.unit, parameter->name + "_arg"));
    }
    const auto block = kernel.block_dim(context.sizes), grid = kernel.grid_dim(context.sizes);
    for (const syntax::Expr* expr : function.all_expressions) {
      if (expr->kind != syntax::Expr::Kind::kBuiltin || !expr->range.valid()) continue;
      const std::size_t dot = expr->text.find('.');
      if (dot == std::string::npos) continue;
      const std::string builtin = expr->text.substr(0, dot);
      const auto& dims = builtin == "blockDim" ? block : grid;
      if ((builtin != "blockDim" && builtin != "gridDim") || !dims) continue;
      edits.replace(expr->range, fmt::format("{}u", (*dims)[expr->text.back() - 'x']));
    }
    if (edits.empty()) return changes_nothing("nothing is constant");
    if (!constants.empty()) edits.insert(function.body->range.begin + 1, constants);
    return edited(read, edits);
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_bake_sizes() { return std::make_unique<BakeSizes>(); }

}  // namespace hone
