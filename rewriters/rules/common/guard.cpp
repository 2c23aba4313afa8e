#include "rewriters/rules/common/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "rewriters/rules/common/guard_conditions.h"
#include "rewriters/syntax/edit.h"

namespace hone::rules {
namespace {

using syntax::Expr;
using syntax::Polynomial;
using syntax::SourceRange;
using syntax::Stmt;
using syntax::Type;
using syntax::Variable;

constexpr int kMostGuards = 8;

class Flattener {
 public:
  Flattener(const OpenProgram& open, const syntax::KernelInfo& info, const RewriteContext& context,
            const FlattenOptions& options)
      : unit_(*open.unit),
        info_(info),
        function_(*info.function),
        conditions_(unit_, info, context, options),
        names_(unit_) {}

  /// The last guard that stands outside loops, flattened; empty when there is none left.
  Result<std::optional<std::string>> step(std::array<bool, 3>& bounded) {
    std::vector<const Stmt*> guards;
    for (const Stmt* statement : function_.all_statements) {
      if (statement->kind != Stmt::Kind::kIf || !only_compounds_above(*statement)) continue;
      if (!info_.varies_by_thread(*statement->expr) && !info_.varies_by_block(*statement->expr)) {
        continue;
      }
      guards.push_back(statement);
    }
    for (auto guard = guards.rbegin(); guard != guards.rend(); ++guard) {
      const bool early = is_early_return(**guard);
      std::vector<Conjunct> conjuncts;
      auto read = conditions_.read_condition(*(*guard)->expr, early, conjuncts);
      if (read) read = conditions_.check_axes(conjuncts);
      if (!early && !worth_flattening(**guard)) {
        if ((*guard)->children.size() == 1) close_axes(**guard, early, conjuncts, bounded);
        continue;
      }
      auto text = read ? flatten(**guard, early, conjuncts, bounded)
                       : Result<std::string>(std::unexpected(read.error()));
      if (!text) {
        if (early) return std::unexpected(text.error());
        if ((*guard)->children.size() == 1) close_axes(**guard, early, conjuncts, bounded);
        continue;
      }
      return *text;
    }
    return std::optional<std::string>{};
  }

 private:
  static bool only_compounds_above(const Stmt& statement) {
    for (const Stmt* up = statement.parent; up != nullptr; up = up->parent) {
      if (up->kind != Stmt::Kind::kCompound) return false;
    }
    return true;
  }

  static bool is_early_return(const Stmt& statement) {
    if (statement.children.size() != 1) return false;
    const Stmt* then = statement.children[0];
    if (then->kind == Stmt::Kind::kCompound && then->children.size() == 1) then = then->children[0];
    return then->kind == Stmt::Kind::kReturn && then->expr == nullptr;
  }

  /// A guarded store of a ready value is what flattening ends in: leave it.
  bool worth_flattening(const Stmt& guard) const {
    if (guard.children.size() != 1) return false;
    for (const Expr* expr : expressions_in(*guard.children[0])) {
      const auto write = write_of(*expr);
      if (write && write->memory) continue;
      if (expr->parent != nullptr && expr->parent->kind == Expr::Kind::kAssign &&
          expr == expr->parent->operands[0]) {
        continue;
      }
      if (reads_memory(*expr) && !in_store_target(*expr)) return true;
    }
    for (const Stmt* inner : function_.all_statements) {
      if (inner->kind == Stmt::Kind::kFor && within(inner, guard)) return true;
    }
    return false;
  }

  static bool in_store_target(const Expr& expr) {
    for (const Expr* at = &expr; at->parent != nullptr; at = at->parent) {
      const auto write = write_of(*at->parent);
      if (write && (write->target == at || write->atomic)) return true;
    }
    return false;
  }

  // --- the rewrite ------------------------------------------------------------------------

  /// Statements that the guard controls, in order.
  std::vector<const Stmt*> region(const Stmt& guard, bool early) const {
    std::vector<const Stmt*> result;
    if (!early) {
      result.push_back(guard.children[0]);
      return result;
    }
    const Stmt* child = &guard;
    for (const Stmt* up = guard.parent; up != nullptr; child = up, up = up->parent) {
      const auto at = std::ranges::find(up->children, child);
      result.insert(result.end(), at + 1, up->children.end());
    }
    return result;
  }

  Result<std::string> flatten(const Stmt& guard, bool early, const std::vector<Conjunct>& conjuncts,
                              std::array<bool, 3>& bounded) {
    const std::vector<const Stmt*> body = region(guard, early);
    const auto in_region = [&](const Stmt* statement) {
      return std::ranges::any_of(body, [&](const Stmt* top) { return within(statement, *top); });
    };

    std::vector<std::string> texts;
    bool conditional = false;  // is any thread still outside?
    for (const auto& conjunct : conjuncts) {
      if (conjunct.always) continue;
      conditional = true;
      if (std::ranges::find(texts, conjunct.text) == texts.end()) texts.push_back(conjunct.text);
    }
    const std::string condition = fmt::format("{}", fmt::join(texts, " && "));

    syntax::Edits edits(unit_);
    std::string clamps;
    if (conditional) {
      auto plan = guard_effects(condition, in_region, edits);
      if (!plan) return std::unexpected(plan.error());
      auto text = clamp_uses(conjuncts, *plan, in_region, edits);
      if (!text) return std::unexpected(text.error());
      clamps = *text;
    }
    for (const Stmt* statement : function_.all_statements) {
      if (!in_region(statement)) continue;
      if (statement->kind == Stmt::Kind::kReturn || statement->kind == Stmt::Kind::kOther) {
        return refused("the guarded code returns or holds a statement we cannot read");
      }
    }

    if (conditional && !early && escapes(in_region, *guard.children[0])) {
      return refused("the guarded code sets a variable that is used behind it");
    }

    if (early) {
      edits.replace(guard.range, clamps);
    } else {
      const Stmt& then = *guard.children[0];
      edits.replace({guard.range.begin, then.range.begin}, "");
      if (then.kind == Stmt::Kind::kCompound) {
        edits.insert(then.range.begin + 1, clamps);
      } else {
        edits.insert(then.range.begin, "{ " + clamps);
        edits.insert(then.range.end, " }");
      }
    }
    close_axes(guard, early, conjuncts, bounded);
    return edits.apply();
  }

  /// Notes the axes along which the guard holds back all work outside today's grid.
  void close_axes(const Stmt& guard, bool early, const std::vector<Conjunct>& conjuncts,
                  std::array<bool, 3>& bounded) const {
    const std::vector<const Stmt*> body = region(guard, early);
    const auto in_region = [&](const Stmt* statement) {
      return std::ranges::any_of(body, [&](const Stmt* top) { return within(statement, *top); });
    };
    if (!nothing_outside(in_region)) return;
    for (const auto& conjunct : conjuncts) {
      if (conjunct.closes_axis) bounded[conjunct.axis] = true;
    }
  }

  /// Does code behind the region use a variable that the region sets?
  template <class F>
  bool escapes(const F& in_region, const Stmt& body) const {
    for (const Expr* expr : function_.all_expressions) {
      if (!in_region(expr->statement)) continue;
      const auto write = write_of(*expr);
      if (!write || write->memory || write->root == nullptr || in_region(write->root->statement)) {
        continue;
      }
      for (const Expr* use : function_.all_expressions) {
        if (use->variable == write->root && !in_region(use->statement) &&
            (!use->range.valid() || use->range.begin > body.range.end)) {
          return true;
        }
      }
    }
    return false;
  }

  /// No memory access outside the region depends on the thread or the block.
  template <class F>
  bool nothing_outside(const F& in_region) const {
    for (const Expr* expr : function_.all_expressions) {
      if (expr->statement != nullptr && in_region(expr->statement)) continue;
      const auto write = write_of(*expr);
      if (write && write->memory) return false;
      const bool load = expr->kind == Expr::Kind::kSubscript ||
                        (expr->kind == Expr::Kind::kUnary && expr->text == "*");
      if (load && reads_memory(*expr) &&
          (info_.varies_by_thread(*expr) || info_.varies_by_block(*expr))) {
        return false;
      }
    }
    return true;
  }

  /// Where guarded text lies: uses in there keep the true coordinates.
  struct Plan {
    struct Hoist {
      const Expr* value = nullptr;
      std::string name;
      int insert_at = -1;
      std::string before, after;  ///< around "const T value = …;"
    };
    std::vector<SourceRange> guarded;
    std::vector<Hoist> hoists;
  };

  template <class F>
  Result<Plan> guard_effects(const std::string& condition, const F& in_region,
                             syntax::Edits& edits) {
    Plan plan;
    const std::set<const Variable*> written = written_buffers();
    for (const Expr* expr : function_.all_expressions) {
      const auto write = write_of(*expr);
      if (!write || !write->memory || !in_region(expr->statement)) continue;
      const Stmt& statement = *expr->statement;
      if (statement.kind != Stmt::Kind::kExpression || statement.expr != expr ||
          !statement.range.valid()) {
        return refused("a store is part of a larger expression");
      }
      if (write->root != nullptr && (write->root->storage == Variable::Storage::kShared ||
                                     write->root->storage == Variable::Storage::kDynamicShared)) {
        return refused("the guarded code writes shared memory");
      }
      const bool lone =
          statement.parent != nullptr && statement.parent->kind != Stmt::Kind::kCompound;
      // Not for +=: the compiler may fuse the product and the sum only while they are together.
      const bool hoist = expr->kind == Expr::Kind::kAssign && expr->text == "=" &&
                         expr->operands.size() == 2 && reads_memory(*expr->operands[1]) &&
                         !reads_any(*expr->operands[1], written) &&
                         expr->operands[0]->type.kind != Type::Kind::kOther;
      if (hoist) {
        const Expr& value = *expr->operands[1];
        Plan::Hoist planned{&value, names_("value"), statement.range.begin, "", ""};
        planned.before = fmt::format("{}const {} {} = ", lone ? "{ " : "",
                                     expr->operands[0]->type.name, planned.name);
        planned.after = fmt::format("; if ({}) ", condition);
        plan.guarded.push_back({statement.range.begin, value.range.begin});
        plan.guarded.push_back({value.range.end, statement.range.end});
        plan.hoists.push_back(planned);
        if (lone) edits.insert(statement.range.end, " }");
      } else {
        plan.guarded.push_back(statement.range);
        edits.insert(statement.range.begin, fmt::format("{}if ({}) ", lone ? "{ " : "", condition));
        if (lone) edits.insert(statement.range.end, " }");
      }
    }
    return plan;
  }

  std::set<const Variable*> written_buffers() {
    std::set<const Variable*> result;
    for (const Expr* expr : function_.all_expressions) {
      const auto write = write_of(*expr);
      if (!write || !write->memory) continue;
      const auto place = write->atomic ? std::nullopt : conditions_.space().element(*write->target);
      result.insert(place ? place->base : write->root);  // null: unknown
    }
    return result;
  }

  /// May the expression read one of these buffers?
  bool reads_any(const Expr& expr, const std::set<const Variable*>& buffers) {
    const bool load = expr.kind == Expr::Kind::kSubscript ||
                      (expr.kind == Expr::Kind::kUnary && expr.text == "*");
    if (load && reads_memory(expr)) {
      const auto place = conditions_.space().element(expr);
      if (!place) return true;
      for (const Variable* buffer : buffers) {
        if (buffer == nullptr || buffer->storage != Variable::Storage::kParameter ||
            buffer == place->base || info_.may_alias(*buffer, *place->base)) {
          return true;
        }
      }
    }
    return std::ranges::any_of(expr.operands,
                               [&](const Expr* inner) { return reads_any(*inner, buffers); });
  }

  template <class F>
  Result<std::string> clamp_uses(const std::vector<Conjunct>& conjuncts, const Plan& plan,
                                 const F& in_region, syntax::Edits& edits) {
    std::map<const Variable*, std::string> renamed;
    std::string text;
    std::set<int> axes;
    for (const auto& conjunct : conjuncts) {
      if (conjunct.always) continue;
      axes.insert(conjunct.axis);
      const Variable& variable = *conjunct.variable;
      const auto before = renamed.find(&variable);
      const std::string current = before == renamed.end() ? variable.name : before->second;
      const std::string name = names_(variable.name + "_in");
      // In the variable's own type: the comparison must not change its signedness.
      const std::string type = variable.type.name;
      text += fmt::format("const {0} {1} = {2} {3} {4} ? {2} : {4};", type, name, current,
                          conjunct.upper ? "<" : ">", conjunct.clamp_value);
      text += "\n";
      renamed[&variable] = name;
    }

    const auto exposed = [&](const Expr& expr) {
      if (!in_region(expr.statement)) return false;
      return std::ranges::none_of(plan.guarded, [&](const SourceRange& range) {
        return expr.range.valid() && range.contains(expr.range);
      });
    };
    const auto is_axis_builtin = [&](const Expr& expr) {
      if (expr.kind != Expr::Kind::kBuiltin) return false;
      return std::ranges::any_of(axes, [&](int axis) {
        return expr.text == fmt::format("threadIdx.{}", kAxes[axis]) ||
               expr.text == fmt::format("blockIdx.{}", kAxes[axis]);
      });
    };

    // Locals in front of the guard that follow the coordinates are computed again from the clamps.
    std::set<const Variable*> tainted;
    bool grew = true;
    const auto follows = [&](const Expr& value) {
      for (const Expr* inner : function_.all_expressions) {
        if (inner->range.valid() && value.range.contains(inner->range) &&
            (is_axis_builtin(*inner) ||
             (inner->kind == Expr::Kind::kVariable && tainted.contains(inner->variable)))) {
          return true;
        }
      }
      return false;
    };
    while (grew) {
      grew = false;
      for (const Variable* local : function_.locals) {
        if (tainted.contains(local)) continue;
        bool taint = local->init != nullptr && follows(*local->init);
        for (const Expr* expr : function_.all_expressions) {
          const auto write = write_of(*expr);
          taint = taint || (write && !write->memory && write->root == local && follows(*expr));
        }
        if (taint) {
          tainted.insert(local);
          grew = true;
        }
      }
    }
    const auto replacement = [&](const Expr& expr) -> std::optional<std::string> {
      if (expr.kind != Expr::Kind::kVariable) return std::nullopt;
      const auto found = renamed.find(expr.variable);
      return found == renamed.end() ? std::nullopt : std::optional(found->second);
    };
    for (const Variable* local : function_.locals) {  // in order of declaration
      if (!tainted.contains(local) || renamed.contains(local) || in_region(local->statement)) {
        continue;
      }
      bool used = false;
      for (const Expr* expr : function_.all_expressions) {
        used = used || (expr->variable == local && exposed(*expr)) ||
               // Another local that will be computed again may need it.
               (expr->variable == local && !in_region(expr->statement) &&
                expr->statement != nullptr && expr->statement->kind == Stmt::Kind::kDeclaration);
      }
      if (!used) continue;
      const bool again = local->single_assignment() && is_pure_arithmetic(*local->init) &&
                         !mentions_mutable(*local->init) && uses_renamed(*local->init, renamed);
      if (!again) {
        if (!uses_exposed(*local, exposed)) continue;
        if (local->type.is_float()) continue;  // a value, never an address
        return refused(fmt::format("{} depends on the guarded coordinates in a way we cannot redo",
                                   local->name));
      }
      const auto value = render(unit_, function_, local->init->range, replacement);
      if (!value) return refused("an index comes from a macro");
      const std::string name = names_(local->name + "_in");
      const std::string type =
          local->type.is_pointer() ? local->type.spelling : "const " + local->type.name;
      text += fmt::format("{} {} = {};\n", type, name, *value);
      renamed[local] = name;
    }

    const std::set<const Variable*> written = written_buffers();
    for (const Expr* expr : function_.all_expressions) {
      if (!exposed(*expr)) continue;
      if (is_axis_builtin(*expr)) {
        return refused(fmt::format("the guarded code uses {} itself", expr->text));
      }
      const bool load = expr->kind == Expr::Kind::kSubscript ||
                        (expr->kind == Expr::Kind::kUnary && expr->text == "*");
      // Threads outside the guard may read while the owner writes: fine for a value that is
      // thrown away, not for an index.
      if (load && expr->type.is_integer() && reads_memory(*expr) && reads_any(*expr, written)) {
        return refused("the guarded code reads integers that it also writes");
      }
    }
    for (const Plan::Hoist& hoist : plan.hoists) {
      const auto value = render(unit_, function_, hoist.value->range, replacement);
      if (!value) return refused("a stored value comes from a macro");
      edits.insert(hoist.insert_at, hoist.before + *value + hoist.after);
      edits.replace(hoist.value->range, hoist.name);
    }
    for (const Expr* expr : function_.all_expressions) {
      if (!exposed(*expr) || !replacement(*expr)) continue;
      if (std::ranges::any_of(plan.hoists, [&](const Plan::Hoist& hoist) {
            return hoist.value->range.contains(expr->range);
          })) {
        continue;
      }
      edits.replace(expr->range, *replacement(*expr));
    }
    return text;
  }

  template <class F>
  bool uses_exposed(const Variable& local, const F& exposed) const {
    return std::ranges::any_of(function_.all_expressions, [&](const Expr* expr) {
      return expr->variable == &local && exposed(*expr);
    });
  }

  bool uses_renamed(const Expr& expr, const std::map<const Variable*, std::string>& renamed) const {
    if (expr.kind == Expr::Kind::kVariable && renamed.contains(expr.variable)) return true;
    return std::ranges::any_of(expr.operands,
                               [&](const Expr* inner) { return uses_renamed(*inner, renamed); });
  }

  static bool mentions_mutable(const Expr& expr) {
    if (expr.kind == Expr::Kind::kVariable &&
        (expr.variable->writes > 0 || expr.variable->address_taken)) {
      return true;
    }
    return std::ranges::any_of(expr.operands,
                               [](const Expr* inner) { return mentions_mutable(*inner); });
  }

  const syntax::TranslationUnit& unit_;
  const syntax::KernelInfo& info_;
  const syntax::Function& function_;
  GuardConditions conditions_;
  FreshNames names_;
};

/// A local under whose name another variable is visible around it: text that is moved to its scope
/// would mean the wrong one. Null when there is none.
const syntax::Variable* find_hiding(const syntax::Function& function) {
  for (const syntax::Variable* inner : function.locals) {
    const auto hides = [&](const syntax::Variable* outer) {
      if (outer == inner || outer->name != inner->name) return false;
      if (outer->statement == nullptr) return true;  // a parameter
      const Stmt* scope = outer->statement->parent;
      for (const Stmt* up = inner->statement; up != nullptr; up = up->parent) {
        // Two declarations of one scope cannot share a name: `inner` is further in.
        if (up == scope) return inner->statement->parent != scope;
      }
      return false;
    };
    if (inner->statement != nullptr && (std::ranges::any_of(function.parameters, hides) ||
                                        std::ranges::any_of(function.locals, hides))) {
      return inner;
    }
  }
  return nullptr;
}

}  // namespace

Result<Flattened> flatten_guards(const Program& program, const std::string& kernel,
                                 const RewriteContext& context, const FlattenOptions& options) {
  Flattened result{program, false, {}};
  for (int count = 0; count < kMostGuards; ++count) {
    auto open = open_program(result.program);
    if (!open) return std::unexpected(open.error());
    const syntax::KernelInfo* info = open->find(kernel);
    if (info == nullptr) return refused(fmt::format("no kernel {}", kernel));
    if (const syntax::Variable* hidden = find_hiding(*info->function)) {
      return refused(fmt::format("{} hides another variable of its name", hidden->name));
    }
    auto text = Flattener(*open, *info, context, options).step(result.bounded);
    if (!text) return std::unexpected(text.error());
    if (!*text) return result;
    result.program.source = std::move(**text);
    result.changed = true;
  }
  return refused("too many nested guards");
}

}  // namespace hone::rules
