#include "rewriters/rules/cache_hints.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "rewriters/rules/cooperative/kernel_tools.h"
#include "rewriters/rules/memory/pointer_facts.h"
#include "rewriters/syntax/edit.h"

namespace hone {
namespace {

using rules::coop::Parsed;
using syntax::Access;
using Node = syntax::Expr;
using syntax::KernelInfo;
using syntax::Variable;

/// Types for which CUDA overloads the load and store intrinsics.
bool has_hinted_form(const syntax::Type& type) {
  static constexpr std::array kNames = {"char",         "signed char",    "unsigned char",
                                        "short",        "unsigned short", "int",
                                        "unsigned int", "long long",      "unsigned long long",
                                        "float",        "double",         "char2",
                                        "char4",        "uchar2",         "uchar4",
                                        "short2",       "short4",         "ushort2",
                                        "ushort4",      "int2",           "int4",
                                        "uint2",        "uint4",          "longlong2",
                                        "ulonglong2",   "float2",         "float4",
                                        "double2"};
  return !type.is_volatile && std::ranges::find(kNames, type.name) != kNames.end();
}

/// All accesses of one parameter, when they are of one kind and each can be rewritten.
struct HintTarget {
  std::vector<const Access*> accesses;
  bool loads = false;  ///< else stores
  std::vector<std::string> hints;
};

/// Offset of the `=` between target and value, or -1 when the text between is anything else (a
/// comment, a macro).
int assignment_operator(const syntax::TranslationUnit& unit, const Node& assign) {
  const syntax::SourceRange gap{assign.operands[0]->range.end, assign.operands[1]->range.begin};
  if (!gap.valid()) return -1;
  const std::string_view text = unit.text(gap);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return -1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool allowed = i < equals ? std::isspace(static_cast<unsigned char>(text[i])) != 0
                                    : i == equals || text[i] == '(' ||
                                          std::isspace(static_cast<unsigned char>(text[i])) != 0;
    if (!allowed) return -1;
  }
  return gap.begin + static_cast<int>(equals);
}

Result<void> check_access(const syntax::TranslationUnit& unit, const Access& access) {
  const Node& expr = *access.expr;
  const bool plain =
      expr.kind == Node::Kind::kSubscript || (expr.kind == Node::Kind::kUnary && expr.text == "*");
  if (!plain) return refused("an access is not a plain p[i] or *p");
  if (!expr.range.valid()) return refused("an access comes from a macro");
  if (!has_hinted_form(expr.type)) return refused("no hinted form for type " + expr.type.name);
  if (access.kind == Access::Kind::kRead) {
    const Node* parent = expr.parent;
    if (parent != nullptr && parent->kind == Node::Kind::kUnary && parent->text == "&") {
      return refused("the address of an element is taken");
    }
    if (parent != nullptr && parent->kind == Node::Kind::kMember) {
      return refused("only a part of an element is read");
    }
    return {};
  }
  const Node* assign = expr.parent;
  const bool plain_store = access.kind == Access::Kind::kWrite && assign != nullptr &&
                           assign->kind == Node::Kind::kAssign && assign->text == "=" &&
                           assign->operands[0] == &expr;
  if (!plain_store) return refused("a store is not a plain assignment");
  if (assign->parent != nullptr || assign->statement == nullptr ||
      assign->statement->kind != syntax::Stmt::Kind::kExpression) {
    return refused("the value of a store is used further");
  }
  if (!assign->range.valid() || assignment_operator(unit, *assign) < 0) {
    return refused("a store comes from a macro or holds a comment");
  }
  return {};
}

Result<HintTarget> target_of(const Parsed& facts, const KernelInfo& info,
                             const Variable& parameter) {
  HintTarget target;
  if (!parameter.type.is_pointer() || !parameter.type.element) return refused("not a pointer");
  if (parameter.type.element->is_volatile) return refused("a volatile buffer");
  if (rules::memory::escapes(info, parameter))
    return refused("the pointer leaves the kernel's sight");
  std::size_t reads = 0, writes = 0;
  for (const Access& access : info.accesses) {
    if (access.base == nullptr || !access.base->type.is_pointer()) continue;
    const auto origin = rules::memory::origin_of(*access.base);
    if (!origin || origin->parameter != &parameter) continue;
    if (auto fine = check_access(*facts.unit, access); !fine) return std::unexpected(fine.error());
    ++(access.kind == Access::Kind::kRead ? reads : writes);
    target.accesses.push_back(&access);
  }
  if (target.accesses.empty()) return refused("no access through this parameter");
  if (reads != 0 && writes != 0) return refused("both read and written");
  target.loads = reads != 0;
  if (target.loads) {
    // On a `const T* __restrict__` the compiler takes the non-coherent path by itself.
    const bool already = parameter.type.element->is_const && parameter.type.is_restrict;
    if (!already && rules::memory::read_only(info, parameter)) target.hints.push_back("ldg");
    target.hints.insert(target.hints.end(), {"ldcs", "ldcg"});
  } else {
    target.hints = {"stcs", "stcg"};
  }
  return target;
}

std::string site_of(const KernelInfo& info, const Variable& parameter) {
  return info.function->name + "/" + parameter.name;
}

class CacheHints final : public Rewriter {
 public:
  std::string_view name() const override { return "cache-hints"; }
  std::string_view summary() const override {
    return "v = x[i], y[i] = v => v = __ldg(&x[i]), __stcs(&y[i], v), legal when the parameter is "
           "only read or only stored to (ldg: nothing in the kernel writes the buffer)";
  }

  std::vector<Proposal> propose(const Program& program, const RewriteContext&) const override {
    std::vector<Proposal> proposals;
    const auto facts = rules::coop::parse_program(program);
    if (!facts) return proposals;
    for (const KernelInfo& info : facts->kernels) {
      if (info.function->is_template) continue;
      for (const Variable* parameter : info.function->parameters) {
        const auto target = target_of(*facts, info, *parameter);
        if (!target) continue;
        Proposal proposal{.rewriter = std::string(name()),
                          .version = version(),
                          .site = site_of(info, *parameter),
                          .math = MathLevel::kExact,
                          .description = "cache hint for " + parameter->name};
        Parameter hint{.name = "hint"};
        for (const std::string& value : target->hints) hint.domain.emplace_back(value);
        proposal.parameters.push_back(std::move(hint));
        proposals.push_back(std::move(proposal));
      }
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext&) const override {
    const auto facts = rules::coop::parse_program(program);
    if (!facts) return std::unexpected(facts.error());
    for (const KernelInfo& info : facts->kernels) {
      if (info.function->is_template) continue;
      for (const Variable* parameter : info.function->parameters) {
        if (site_of(info, *parameter) != step.site) continue;
        const auto target = target_of(*facts, info, *parameter);
        if (!target) return std::unexpected(target.error());
        const std::string hint = step.string_param("hint", "");
        if (std::ranges::find(target->hints, hint) == target->hints.end()) {
          return refused("hint \"" + hint + "\" is not legal for " + parameter->name);
        }
        return rewrite(program, *facts, *target, hint);
      }
    }
    return refused("no parameter \"" + step.site + "\"");
  }

 private:
  static Result<Program> rewrite(const Program& program, const Parsed& facts,
                                 const HintTarget& target, const std::string& hint) {
    syntax::Edits edits(*facts.unit);
    for (const Access* access : target.accesses) {
      if (target.loads) {
        edits.insert(access->expr->range.begin, "__" + hint + "(&");
        edits.insert(access->expr->range.end, ")");
      } else {
        const Node& assign = *access->expr->parent;
        const int equals = assignment_operator(*facts.unit, assign);
        edits.insert(assign.range.begin, "__" + hint + "(&");
        edits.replace({equals, equals + 1}, ",");
        edits.insert(assign.range.end, ")");
      }
    }
    auto source = edits.apply();
    if (!source) return std::unexpected(source.error());
    Program result = program;
    result.source = std::move(*source);  // whether it parses, apply_step() asks
    return result;
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_cache_hints() { return std::make_unique<CacheHints>(); }

}  // namespace hone
