#include "rewriters/rules/common/replicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace hone::rules {
namespace {

using syntax::Expr;
using syntax::Stmt;
using syntax::Type;
using syntax::Variable;

constexpr std::array kAxisNames = {"x", "y", "z"};
using Mask = unsigned;  ///< bit per axis

/// One statement, or one variable of a declaration, that is repeated as a whole.
struct Leaf {
  const Stmt* statement = nullptr;
  const Variable* variable = nullptr;  ///< of a declaration
  Mask mask = 0;
};

class Replicator {
 public:
  Replicator(const OpenProgram& open, const syntax::KernelInfo& info,
             const std::array<Axis, 3>& axes)
      : unit_(*open.unit), info_(info), function_(*info.function), axes_(axes) {}

  Result<std::string> run() {
    for (unsigned axis = 0; axis < 3; ++axis) {
      if (axes_[axis].factor > 1) active_ |= 1U << axis;
    }
    for (const Variable* local : function_.locals) {
      if (local->address_taken) {
        return refused(fmt::format("the address of {} is taken", local->name));
      }
    }
    for (const Stmt* statement : function_.all_statements) {
      // Only what the guards left: it would end the other replicas too.
      if (statement->kind == Stmt::Kind::kReturn || statement->kind == Stmt::Kind::kOther) {
        return refused("a replica may return early");
      }
    }
    find_dependences();
    for (const Variable* parameter : function_.parameters) {
      if (mask_of(parameter) != 0) {
        return refused(fmt::format("parameter {} is changed per thread", parameter->name));
      }
    }
    find_recomputed();
    // The block that a flattened guard left behind is not needed when nothing else is around it.
    const Stmt* body = function_.body;
    while (only_compound(*body) != nullptr) body = only_compound(*body);
    auto text = block(body->children);
    if (!text) return std::unexpected(text.error());
    return "{\n" + *text + "}";
  }

 private:
  // --- which axes does a value depend on? -------------------------------------------------
  Mask mask_of(const Variable* variable) const {
    const auto found = masks_.find(variable);
    return found == masks_.end() ? 0 : found->second;
  }

  Mask mask_of(const Expr& expr) const {
    Mask mask = 0;
    for (unsigned axis = 0; axis < 3; ++axis) {
      if ((active_ >> axis & 1U) == 0) continue;
      if (axes_[axis].positions.contains(&expr)) return 1U << axis;
      if (expr.kind == Expr::Kind::kBuiltin &&
          expr.text == fmt::format("blockIdx.{}", kAxisNames[axis])) {
        mask |= 1U << axis;
      }
    }
    if (expr.kind == Expr::Kind::kVariable) mask |= mask_of(expr.variable);
    for (const Expr* operand : expr.operands) mask |= mask_of(*operand);
    return mask;
  }

  Mask control_mask(const Stmt* statement) const {
    Mask mask = 0;
    for (; statement != nullptr; statement = statement->parent) {
      switch (statement->kind) {
        case Stmt::Kind::kIf:
        case Stmt::Kind::kFor:
        case Stmt::Kind::kWhile:
        case Stmt::Kind::kDo:
        case Stmt::Kind::kSwitch:
          mask |= header_mask(*statement);
          break;
        default:
          break;
      }
    }
    return mask;
  }

  Mask header_mask(const Stmt& statement) const {
    Mask mask = 0;
    if (statement.expr != nullptr) mask |= mask_of(*statement.expr);
    if (statement.step != nullptr) mask |= mask_of(*statement.step);
    if (statement.init != nullptr) mask |= statement_mask(*statement.init);
    return mask;
  }

  /// Everything the statement touches; all axes for atomics, which must happen once per replica.
  Mask statement_mask(const Stmt& statement) const {
    Mask mask = 0;
    for (const Expr* expr : expressions_in(statement)) {
      mask |= mask_of(*expr);
      const auto write = write_of(*expr);
      if (write && (write->atomic || (write->memory && accumulates(*expr)))) mask |= active_;
    }
    for (const Variable* local : function_.locals) {
      if (local->statement != nullptr && within(local->statement, statement)) {
        mask |= mask_of(local);
      }
    }
    return mask;
  }

  static bool accumulates(const Expr& expr) {
    return expr.kind != Expr::Kind::kAssign || expr.text != "=";
  }

  void find_dependences() {
    bool grew = true;
    const auto add = [&](const Variable* variable, Mask mask) {
      if (variable == nullptr || (mask_of(variable) | mask) == mask_of(variable)) return;
      masks_[variable] |= mask;
      grew = true;
    };
    while (grew) {
      grew = false;
      for (const Variable* local : function_.locals) {
        if (local->init != nullptr) {
          add(local, mask_of(*local->init) | control_mask(local->statement));
        }
      }
      for (const Expr* expr : function_.all_expressions) {
        const auto write = write_of(*expr);
        if (!write || write->root == nullptr || write->memory) continue;
        // The whole expression statement, so that `a = (b = x)` and comma chains are covered.
        Mask mask = control_mask(expr->statement);
        const Expr* whole = expr;
        while (whole->parent != nullptr) whole = whole->parent;
        add(write->root, mask | mask_of(*whole));
      }
      // What a repeated statement writes exists once per repetition.
      for (const Stmt* statement : function_.all_statements) {
        if (!is_leaf(*statement)) continue;
        const Mask mask = statement_mask(*statement);
        if (mask == 0) continue;
        for (const Expr* expr : expressions_in(*statement)) {
          const auto write = write_of(*expr);
          if (write && !write->memory) add(write->root, mask);
        }
      }
    }
  }

  /// Control that is the same for all replicas: its body is jammed instead of repeating it whole.
  bool is_structural(const Stmt& statement) const {
    switch (statement.kind) {
      case Stmt::Kind::kCompound:
        return true;
      case Stmt::Kind::kFor:
      case Stmt::Kind::kWhile:
      case Stmt::Kind::kIf:
        return header_mask(statement) == 0 && !has_jumps(statement);
      default:
        return false;
    }
  }

  /// Repeated as a whole: not structural, but all around it is.
  bool is_leaf(const Stmt& statement) const {
    if (is_structural(statement)) return false;
    for (const Stmt* up = statement.parent; up != nullptr; up = up->parent) {
      if (!is_structural(*up)) return false;
      if (up->init == &statement) return false;
    }
    return true;
  }

  /// Integers and pointers that are cheaper and clearer to compute again than to keep in arrays.
  void find_recomputed() {
    bool grew = true;
    while (grew) {
      grew = false;
      for (const Variable* local : function_.locals) {
        if (mask_of(local) == 0 || recomputed_.contains(local)) continue;
        if (!local->type.is_integer() && !local->type.is_pointer()) continue;
        if (!local->single_assignment() || !can_recompute(*local->init)) continue;
        if (control_mask(local->statement) != 0) continue;
        recomputed_.insert(local);
        grew = true;
      }
    }
  }

  bool can_recompute(const Expr& expr) const {
    if (expr.kind == Expr::Kind::kUnary && expr.text == "&") {
      // &p[i]
      const Expr& place = strip_casts(*expr.operands[0]);
      return place.kind == Expr::Kind::kSubscript && can_recompute(*place.operands[0]) &&
             can_recompute(*place.operands[1]);
    }
    if (!is_pure_arithmetic(expr) && expr.operands.empty()) return false;
    if (expr.kind == Expr::Kind::kVariable) {
      const Variable& variable = *expr.variable;
      if (mask_of(&variable) != 0) return recomputed_.contains(&variable);
      if (variable.writes == 0) return true;
      // A loop counter keeps its value throughout the body.
      return std::ranges::any_of(info_.loops,
                                 [&](const auto& loop) { return loop->variable == &variable; });
    }
    if (expr.operands.empty()) return true;
    const bool known = expr.kind == Expr::Kind::kBinary || expr.kind == Expr::Kind::kCast ||
                       expr.kind == Expr::Kind::kConditional || is_pure_arithmetic(expr);
    return known && std::ranges::all_of(expr.operands, [&](const Expr* operand) {
             return can_recompute(*operand);
           });
  }

  /// The compound that is all a compound does, apart from recomputed locals; null when it does
  /// more.
  const Stmt* only_compound(const Stmt& statement) const {
    const Stmt* inner = nullptr;
    for (const Stmt* child : statement.children) {
      if (child->kind == Stmt::Kind::kDeclaration &&
          std::ranges::all_of(child->variables,
                              [&](const Variable* local) { return recomputed_.contains(local); })) {
        continue;
      }
      if (inner != nullptr || child->kind != Stmt::Kind::kCompound) return nullptr;
      inner = child;
    }
    return inner;
  }

  // --- printing -----------------------------------------------------------------------------
  Result<std::string> block(const std::vector<const Stmt*>& statements) {
    std::string text;
    std::vector<Leaf> group;
    const auto flush = [&]() -> Result<void> {
      if (group.empty()) return {};
      auto nest = print_group(group);
      group.clear();
      if (!nest) return std::unexpected(nest.error());
      text += *nest;
      return {};
    };
    for (const Stmt* statement : statements) {
      if (is_structural(*statement) && statement_mask(*statement) != 0) {
        if (auto done = flush(); !done) return std::unexpected(done.error());
        auto inner = structural(*statement);
        if (!inner) return inner;
        text += *inner;
        continue;
      }
      for (const Leaf& leaf : leaves(*statement)) {
        if (!group.empty() && !joins(group, leaf)) {
          if (auto done = flush(); !done) return std::unexpected(done.error());
        }
        group.push_back(leaf);
      }
    }
    if (auto done = flush(); !done) return std::unexpected(done.error());
    return text;
  }

  Result<std::string> structural(const Stmt& statement) {
    std::string head;
    if (statement.kind != Stmt::Kind::kCompound) {
      const Stmt& first = *statement.children[0];
      if (!statement.range.valid() || !first.range.valid()) {
        return refused("a statement comes from a macro");
      }
      if (statement.pragma.valid()) head = std::string(unit_.text(statement.pragma)) + "\n";
      const auto text =
          render(unit_, function_, {statement.range.begin, first.range.begin}, replacement(0));
      if (!text) return refused("a loop header comes from a macro");
      head += *text;
    }
    std::string text = head;
    const auto& parts = statement.kind == Stmt::Kind::kCompound
                            ? std::vector<const Stmt*>{&statement}
                            : statement.children;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const Stmt& child = *parts[part];
      auto inner = child.kind == Stmt::Kind::kCompound ? block(child.children) : block({&child});
      if (!inner) return inner;
      if (part > 0) text += " else ";
      text += "{\n" + *inner + "}\n";
    }
    return text;
  }

  std::vector<Leaf> leaves(const Stmt& statement) const {
    std::vector<Leaf> result;
    if (statement.kind == Stmt::Kind::kDeclaration) {
      for (const Variable* variable : statement.variables) {
        if (!recomputed_.contains(variable)) {
          result.push_back({&statement, variable, mask_of(variable)});
        }
      }
      return result;
    }
    if (statement.kind == Stmt::Kind::kNull) return result;
    result.push_back({&statement, nullptr, statement_mask(statement)});
    return result;
  }

  /// Loads of all replicas go before the stores of any: without __restrict__ the compiler could not
  /// move them there.
  bool joins(const std::vector<Leaf>& group, const Leaf& leaf) const {
    if (group.back().mask != leaf.mask) return false;
    const auto stores = [](const Leaf& item) {
      return item.variable == nullptr && writes_memory(*item.statement);
    };
    return stores(group.back()) == stores(leaf);
  }

  static bool part_of(const Leaf& leaf, const Expr& expr) {
    if (leaf.variable == nullptr) return within(expr, *leaf.statement);
    return leaf.variable->init != nullptr && expr.range.valid() &&
           leaf.variable->init->range.contains(expr.range) && within(expr, *leaf.statement);
  }

  /// Declared and used only inside this group: stays a plain local of the replica loop.
  bool is_private(const Variable& variable, const std::vector<Leaf>& group) const {
    const auto inside = [&](const Expr& expr) {
      return std::ranges::any_of(group, [&](const Leaf& leaf) { return part_of(leaf, expr); });
    };
    return std::ranges::all_of(function_.all_expressions, [&](const Expr* expr) {
      return expr->variable != &variable || inside(*expr);
    });
  }

  std::string subscripts(const Variable& variable) const {
    std::string result;
    for (int axis = 2; axis >= 0; --axis) {
      if (mask_of(&variable) >> axis & 1U) {
        result += fmt::format("[{}]", axes_[static_cast<unsigned>(axis)].replica);
      }
    }
    return result;
  }

  std::string extents(const Variable& variable) const {
    std::string result;
    for (int axis = 2; axis >= 0; --axis) {
      if (mask_of(&variable) >> axis & 1U) {
        result += fmt::format("[{}]", axes_[static_cast<unsigned>(axis)].factor);
      }
    }
    return result;
  }

  Replacement replacement(Mask mask) const {
    return [this, mask](const Expr& expr) -> std::optional<std::string> {
      for (unsigned axis = 0; axis < 3; ++axis) {
        if ((active_ & mask) >> axis & 1U) {
          const auto position = axes_[axis].positions.find(&expr);
          if (position != axes_[axis].positions.end()) return position->second;
          if (expr.kind == Expr::Kind::kBuiltin &&
              expr.text == fmt::format("blockIdx.{}", kAxisNames[axis])) {
            return axes_[axis].block_text;
          }
        }
        if ((active_ >> axis & 1U) != 0 && expr.kind == Expr::Kind::kBuiltin &&
            expr.text == fmt::format("gridDim.{}", kAxisNames[axis])) {
          return fmt::format("(gridDim.{} * {})", kAxisNames[axis], axes_[axis].factor);
        }
      }
      if (expr.kind == Expr::Kind::kVariable && hoisted_.contains(expr.variable)) {
        return expr.variable->name + subscripts(*expr.variable);
      }
      return std::nullopt;
    };
  }

  /// Recomputed locals that the expressions of the group need, in order of declaration.
  std::vector<const Variable*> needed(const std::vector<Leaf>& group) const {
    std::set<const Variable*> wanted;
    for (const Expr* expr : function_.all_expressions) {
      if (expr->variable == nullptr || !recomputed_.contains(expr->variable)) continue;
      if (std::ranges::any_of(group, [&](const Leaf& leaf) { return part_of(leaf, *expr); })) {
        wanted.insert(expr->variable);
      }
    }
    std::vector<const Variable*> result;
    for (auto local = function_.locals.rbegin(); local != function_.locals.rend(); ++local) {
      if (!wanted.contains(*local)) continue;
      // Declared inside a repeated statement: printed there.
      const bool inner = std::ranges::any_of(group, [&](const Leaf& leaf) {
        return leaf.variable == nullptr && within((*local)->statement, *leaf.statement);
      });
      if (inner) continue;
      result.insert(result.begin(), *local);
      for (const Expr* expr : function_.all_expressions) {
        if (expr->variable != nullptr && recomputed_.contains(expr->variable) &&
            expr->range.valid() && (*local)->init->range.contains(expr->range)) {
          wanted.insert(expr->variable);
        }
      }
    }
    return result;
  }

  Result<std::string> print_group(const std::vector<Leaf>& group) {
    const Mask mask = group.front().mask;
    std::string arrays;
    std::string body;
    for (const Leaf& leaf : group) {
      if (leaf.variable == nullptr) continue;
      if (mask != 0 && !is_private(*leaf.variable, group)) {
        hoisted_.insert(leaf.variable);
        arrays += declarator(*leaf.variable, extents(*leaf.variable), true) + ";\n";
      }
    }
    for (const Leaf& leaf : group) {
      auto text = leaf.variable == nullptr ? print_statement(leaf) : print_declaration(leaf);
      if (!text) return text;
      body += *text;
    }
    if (mask == 0) return body;

    std::string loops;
    int open = 0;
    Mask opened = 0;
    const std::vector<const Variable*> locals = needed(group);
    std::set<const Variable*> printed;
    for (int axis = 2; axis >= 0; --axis) {
      if ((mask >> axis & 1U) == 0) continue;
      const Axis& a = axes_[static_cast<unsigned>(axis)];
      loops += fmt::format("#pragma unroll\nfor (int {0} = 0; {0} < {1}; ++{0}) {{\n", a.replica,
                           a.factor);
      ++open;
      opened |= 1U << axis;
      for (const Variable* local : locals) {
        if (printed.contains(local) || (mask_of(local) & ~opened) != 0) continue;
        const auto value = render(unit_, function_, local->init->range, replacement(mask));
        if (!value) return refused("an index comes from a macro");
        loops += fmt::format("{} = {};\n", declarator(*local, "", false), *value);
        printed.insert(local);
      }
    }
    return arrays + loops + body + std::string(static_cast<std::size_t>(open), '}') + "\n";
  }

  Result<std::string> print_statement(const Leaf& leaf) {
    const auto text = render(unit_, function_, leaf.statement->range, replacement(leaf.mask));
    if (!text) return refused("a statement comes from a macro");
    std::string pragma;
    if (leaf.statement->pragma.valid()) {
      pragma = "\n" + std::string(unit_.text(leaf.statement->pragma)) + "\n";
    }
    return pragma + *text + "\n";
  }

  Result<std::string> print_declaration(const Leaf& leaf) {
    const Variable& variable = *leaf.variable;
    const bool array = variable.type.kind == Type::Kind::kArray;
    if (leaf.mask == 0 && leaf.statement->variables.size() == 1) return print_statement(leaf);
    const bool hoisted = hoisted_.contains(&variable);
    std::string value;
    if (variable.init != nullptr) {
      const auto text = render(unit_, function_, variable.init->range, replacement(leaf.mask));
      if (!text) return refused("an initialiser comes from a macro");
      value = *text;
    }
    if (!hoisted) {
      return declarator(variable, "", false) + (value.empty() ? "" : " = " + value) + ";\n";
    }
    if (value.empty()) return std::string();
    if (array) return refused(fmt::format("the array {} has an initialiser", variable.name));
    return fmt::format("{}{} = {};\n", variable.name, subscripts(variable), value);
  }

  const syntax::TranslationUnit& unit_;
  const syntax::KernelInfo& info_;
  const syntax::Function& function_;
  const std::array<Axis, 3>& axes_;
  Mask active_ = 0;
  std::map<const Variable*, Mask> masks_;
  std::set<const Variable*> recomputed_;  ///< index variables, computed again in each group
  std::set<const Variable*> hoisted_;     ///< became arrays over the replicas
};

}  // namespace

Result<std::string> replicate_body(const OpenProgram& open, const syntax::KernelInfo& info,
                                   const std::array<Axis, 3>& axes) {
  return Replicator(open, info, axes).run();
}

}  // namespace hone::rules
