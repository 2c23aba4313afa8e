#include "rewriters/rules/memory/lane_guard.h"

#include <string>
#include <string_view>
#include <utility>

#include "rewriters/rules/cooperative/kernel_tools.h"
#include "rewriters/rules/memory/lane_variance.h"

namespace hone::rules::memory {
namespace {

using syntax::Stmt;
using syntax::Variable;
using Node = syntax::Expr;

void split(const Node* condition, std::string_view op, std::vector<const Node*>& parts) {
  const Node* inner = coop::strip_implicit(condition);
  if (inner->kind == Node::Kind::kBinary && inner->text == op) {
    for (const Node* operand : inner->operands) split(operand, op, parts);
  } else {
    parts.push_back(inner);
  }
}

bool is_return(const Stmt& statement) {
  if (statement.kind == Stmt::Kind::kCompound) {
    return statement.children.size() == 1 && is_return(*statement.children[0]);
  }
  return statement.kind == Stmt::Kind::kReturn && statement.expr == nullptr;
}

/// Fills in the bound when `part` compares the lane with one.
bool take_bound(const Node& part, const Variable& lane, const LaneVariance& variance,
                LaneGuard& guard) {
  if (part.kind != Node::Kind::kBinary || part.operands.size() != 2) return false;
  std::string op = part.text;
  const Node *left = part.operands[0], *right = part.operands[1];
  if (coop::as_variable(left) != &lane) {
    std::swap(left, right);
    op = op == "<" ? ">" : op == ">" ? "<" : op == "<=" ? ">=" : op == ">=" ? "<=" : "";
  }
  if (coop::as_variable(left) != &lane || variance.varies(*right) || !right->range.valid()) {
    return false;
  }
  if (left->type.bytes < lane.type.bytes) return false;  // a conversion that may wrap
  const std::string_view strict = guard.returns ? ">=" : "<";
  const std::string_view inclusive = guard.returns ? ">" : "<=";
  if (op != strict && op != inclusive) return false;
  guard.bound = right;
  guard.inclusive = op == inclusive;
  return true;
}

}  // namespace

Result<LaneGuard> find_lane_guard(const syntax::Function& kernel, const Variable& lane,
                                  const std::vector<const Stmt*>& statements) {
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Stmt& statement = *statements[i];
    if (statement.kind != Stmt::Kind::kIf || statement.children.size() != 1) continue;
    const bool returns = is_return(*statement.children[0]);
    if (!returns && i + 1 != statements.size()) continue;
    const LaneVariance variance(kernel, lane, &statement);
    if (!variance.varies(*statement.expr)) continue;
    LaneGuard guard{.statement = &statement, .at = i, .returns = returns};
    std::vector<const Node*> parts;
    split(statement.expr, returns ? "||" : "&&", parts);
    bool understood = true;
    for (const Node* part : parts) {
      if (variance.varies(*part)) {
        understood =
            understood && guard.bound == nullptr && take_bound(*part, lane, variance, guard);
      } else {
        guard.others.push_back(part);
        understood = understood && part->range.valid();
      }
    }
    if (understood && guard.bound != nullptr) return guard;
    if (returns) return refused("a return that is not a bound on the global index");
    // Otherwise it is an ordinary branch.
  }
  return LaneGuard{};
}

}  // namespace hone::rules::memory
