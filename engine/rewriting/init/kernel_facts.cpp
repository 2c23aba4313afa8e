#include "engine/rewriting/init/kernel_facts.h"

#include <algorithm>
#include <map>
#include <set>

namespace hone::init {
namespace {

using syntax::Expr;
using syntax::Function;
using syntax::Stmt;
using syntax::Type;
using syntax::Variable;

using Sources = std::set<const Variable*>;

/// Follows integers that are loaded from a parameter through locals to where they are used.
class Loads {
 public:
  explicit Loads(const syntax::KernelInfo& info) : info_(info) {
    for (const syntax::Access& access : info.accesses)
      if (access.base != nullptr && access.expr != nullptr) bases_[access.expr] = access.base;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Variable* local : info.function->locals) {
        Sources found;
        if (local->init != nullptr) found = of(*local->init);
        for (const Expr* write : local->write_sites)
          if (write->operands.size() == 2) found.merge(of(*write->operands[1]));
        changed = add(local, found) || changed;
      }
      for (const Stmt* statement : info.function->all_statements) {
        if (statement->kind != Stmt::Kind::kFor || statement->expr == nullptr) continue;
        const Sources bound = of(*statement->expr);
        const Stmt* init = statement->init;
        if (init == nullptr) continue;
        for (const Variable* counter : init->variables) changed = add(counter, bound) || changed;
      }
    }
  }

  [[nodiscard]] Sources of(const Expr& expr) const {
    Sources found;
    collect(expr, found);
    return found;
  }

 private:
  bool add(const Variable* variable, const Sources& sources) {
    Sources& known = locals_[variable];
    const std::size_t before = known.size();
    known.insert(sources.begin(), sources.end());
    return known.size() != before;
  }

  void collect(const Expr& expr, Sources& found) const {
    if (expr.kind == Expr::Kind::kVariable && expr.variable != nullptr) {
      const auto local = locals_.find(expr.variable);
      if (local != locals_.end()) found.insert(local->second.begin(), local->second.end());
    }
    const auto base = bases_.find(&expr);
    if (base != bases_.end() && base->second->storage == Variable::Storage::kParameter &&
        expr.type.is_integer())
      found.insert(base->second);
    // The index of a load is not its value.
    if (expr.kind == Expr::Kind::kSubscript) return;
    for (const Expr* operand : expr.operands) collect(*operand, found);
  }

  const syntax::KernelInfo& info_;
  std::map<const Expr*, const Variable*> bases_;
  std::map<const Variable*, Sources> locals_;
};

/// Also of atomicAdd(&y[i], …) and atomicAdd(y + i, …).
std::vector<const Expr*> indices_of(const syntax::Access& access) {
  if (access.kind != syntax::Access::Kind::kAtomic || !access.indices.empty() ||
      access.expr == nullptr || access.expr->operands.empty())
    return access.indices;
  const Expr* place = access.expr->operands[0];
  while (place->kind == Expr::Kind::kCast ||
         (place->kind == Expr::Kind::kUnary && place->text == "&"))
    place = place->operands[0];
  if (place->kind == Expr::Kind::kSubscript) return {place->operands[1]};
  std::vector<const Expr*> found;
  if (place->kind == Expr::Kind::kBinary)
    for (const Expr* part : place->operands)
      if (part->type.is_integer()) found.push_back(part);
  return found;
}

/// Does the statement of this write read the same buffer? `x[i] = x[i] + 1`
bool reads_too(const syntax::KernelInfo& info, const syntax::Access& write) {
  return std::ranges::any_of(info.accesses, [&](const syntax::Access& one) {
    return one.base == write.base && one.statement == write.statement &&
           one.kind != syntax::Access::Kind::kWrite;
  });
}

/// Through locals that are never assigned again.
bool depends_on(const Expr& expr, const Variable& variable) {
  if (expr.variable == &variable) return true;
  if (expr.variable != nullptr && expr.variable->single_assignment() &&
      depends_on(*expr.variable->init, variable))
    return true;
  return std::ranges::any_of(expr.operands,
                             [&](const Expr* one) { return depends_on(*one, variable); });
}

bool leaves_its_domain(const Expr& expr) {
  static const std::set<std::string> kCalls = {
      "sqrt",  "sqrtf",  "rsqrt",  "rsqrtf", "log",        "logf",        "log2",      "log2f",
      "log10", "log10f", "pow",    "powf",   "__logf",     "__powf",      "acosf",     "asinf",
      "acos",  "asin",   "log1pf", "log1p",  "__fdividef", "__frsqrt_rn", "__fsqrt_rn"};
  if (expr.kind == Expr::Kind::kCall) return kCalls.contains(expr.text);
  const bool quotient = (expr.kind == Expr::Kind::kBinary && expr.text == "/") ||
                        (expr.kind == Expr::Kind::kAssign && expr.text == "/=");
  if (!quotient || !expr.type.is_float() || expr.operands.size() != 2) return false;
  const Expr* divisor = expr.operands[1];
  while (divisor->kind == Expr::Kind::kCast) divisor = divisor->operands[0];
  return divisor->kind != Expr::Kind::kFloatLiteral && divisor->kind != Expr::Kind::kIntLiteral &&
         !(divisor->variable != nullptr &&
           divisor->variable->storage == Variable::Storage::kParameter);
}

}  // namespace

std::optional<ScalarType> scalar_of(const Type& type) {
  if (type.kind == Type::Kind::kVector && type.element != nullptr) return scalar_of(*type.element);
  if (type.name == "__half" || type.name == "half") return ScalarType::kF16;
  if (type.name == "__nv_bfloat16") return ScalarType::kBf16;
  if (type.name == "__nv_fp8_e4m3") return ScalarType::kE4m3;
  if (type.name == "__nv_fp8_e5m2") return ScalarType::kE5m2;
  if (type.name == "__half2") return ScalarType::kF16;
  if (type.name == "__nv_bfloat162") return ScalarType::kBf16;
  if (type.kind == Type::Kind::kBool) return ScalarType::kBool;
  if (type.kind == Type::Kind::kVoid) return ScalarType::kU8;
  if (type.is_float()) return type.bytes == 8 ? ScalarType::kF64 : ScalarType::kF32;
  if (type.kind != Type::Kind::kInt) return std::nullopt;
  switch (type.bytes) {
    case 1:
      return type.is_signed ? ScalarType::kI8 : ScalarType::kU8;
    case 4:
      return type.is_signed ? ScalarType::kI32 : ScalarType::kU32;
    case 8:
      return type.is_signed ? ScalarType::kI64 : ScalarType::kU64;
    default:
      return std::nullopt;
  }
}

std::vector<const Function*> code_of(const syntax::KernelInfo& info) {
  std::vector<const Function*> code = {info.function};
  const auto add = [&](auto&& wanted) {
    for (const Function* function : info.unit->functions)
      if (!function->is_kernel && wanted(*function) &&
          std::ranges::find(code, function) == code.end())
        code.push_back(function);
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    for (const Expr* expr : code[i]->all_expressions) {
      const bool call = expr->kind == Expr::Kind::kCall;
      if (call && expr->intrinsic) continue;
      if (call && !expr->text.empty() && !expr->text.starts_with('.')) {
        // By name: of overloads, and of a template's instances, all.
        add([&](const Function& one) { return &one == expr->callee || one.name == expr->text; });
      } else if (call || expr->kind == Expr::Kind::kOther) {
        add([&](const Function& one) { return expr->callee == nullptr || &one == expr->callee; });
      }
    }
  }
  return code;
}

KernelFacts kernel_facts(const syntax::KernelInfo& info) {
  KernelFacts facts;
  facts.info = &info;
  const Function& function = *info.function;
  const Loads loads(info);
  std::map<const Variable*, int> index_of;
  for (const Variable* parameter : function.parameters) {
    index_of[parameter] = static_cast<int>(facts.parameters.size());
    ParameterFacts one;
    one.is_buffer = parameter->type.is_pointer();
    facts.parameters.push_back(one);
  }
  const auto at = [&](const Variable* parameter) -> ParameterFacts& {
    return facts.parameters[static_cast<std::size_t>(index_of.at(parameter))];
  };
  for (const syntax::Access& access : info.accesses) {
    const bool known = access.base != nullptr && index_of.contains(access.base);
    if (known) {
      ParameterFacts& one = at(access.base);
      if (!one.read && !one.written && access.kind == syntax::Access::Kind::kWrite)
        one.written_first = !reads_too(info, access);
      one.read = one.read || access.kind != syntax::Access::Kind::kWrite;
      one.written = one.written || access.kind != syntax::Access::Kind::kRead;
    }
    for (const Expr* index : indices_of(access)) {
      for (const Variable* source : loads.of(*index)) {
        if (!index_of.contains(source)) continue;
        auto& targets = at(source).indexes;
        const int target = known ? index_of.at(access.base) : -1;
        if (std::ranges::find(targets, target) == targets.end()) targets.push_back(target);
        const bool stores = access.kind == syntax::Access::Kind::kWrite ||
                            access.kind == syntax::Access::Kind::kReadWrite;
        if (stores && target >= 0) at(source).scattered_into.push_back(target);
      }
    }
  }
  for (std::size_t i = 0; i < facts.parameters.size(); ++i) {
    // Reached in a way that this cannot follow: as its type allows.
    ParameterFacts& one = facts.parameters[i];
    const Variable* parameter = function.parameters[i];
    if (!one.is_buffer || one.read || one.written || parameter->reads == 0) continue;
    one.read = true;
    one.written = parameter->type.element != nullptr && !parameter->type.element->is_const;
  }
  for (const Stmt* statement : function.all_statements) {
    if (statement->kind != Stmt::Kind::kFor || statement->expr == nullptr) continue;
    for (const Variable* source : loads.of(*statement->expr))
      if (index_of.contains(source)) at(source).bounds_loops = true;
  }
  for (const auto& loop : info.loops) {
    if (loop->upper == nullptr || loop->lower == nullptr) continue;
    if (!info.varies_by_thread(*loop->lower) && !info.varies_by_block(*loop->lower)) continue;
    const auto bound = syntax::polynomial(*loop->upper);
    if (!bound) continue;
    for (const Variable* parameter : function.parameters)
      if (bound->uses(syntax::symbol_of(*parameter)))
        at(parameter).ends_grid_loops = at(parameter).ends_loops = true;
  }
  for (const Stmt* statement : function.all_statements) {
    if (statement->kind != Stmt::Kind::kFor && statement->kind != Stmt::Kind::kWhile &&
        statement->kind != Stmt::Kind::kDo)
      continue;
    for (const Variable* parameter : function.parameters)
      if (statement->expr != nullptr && depends_on(*statement->expr, *parameter))
        at(parameter).ends_loops = true;
  }
  for (const Function* any : code_of(info))
    for (const Expr* expr : any->all_expressions)
      facts.wants_positive = facts.wants_positive || leaves_its_domain(*expr);
  for (const Expr* expr : function.all_expressions) {
    if (expr->kind != Expr::Kind::kBinary || expr->operands.size() != 2) continue;
    if (expr->text != "<" && expr->text != ">=" && expr->text != "<=" && expr->text != ">")
      continue;
    if (info.varies_by_thread(*expr->operands[0]) || info.varies_by_thread(*expr->operands[1]))
      facts.compares_index = true;
  }
  return facts;
}

}  // namespace hone::init
