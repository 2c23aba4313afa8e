// What leaves a loop or a switch.
#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/syntax/walk.h"

namespace hone::nest {

using syntax::Stmt;
using syntax::Variable;

bool has_effects(const syntax::Expr& expr) {
  using Kind = syntax::Expr::Kind;
  bool found = false;
  syntax::for_each_expr(expr, [&](const syntax::Expr& part) {
    found = found || part.kind == Kind::kAssign ||
            (part.kind == Kind::kCall && part.callee != nullptr) ||
            (part.kind == Kind::kUnary && part.text.size() == 3);
  });
  return found;
}

/// A switch is a loop of one round, which breaks leave; each label lets some in.
void Executor::run_switch(const Stmt& statement) {
  const Lanes value = scalar(*statement.expr);
  struct Part {
    std::vector<const Stmt*> labels;
    const Stmt* statement = nullptr;
  };
  std::vector<Part> parts;
  Lanes other = uniform(nodes_.boolean(true));
  const auto is_label = [&](const Stmt& label) {
    if (!label.expr->constant)
      refuse("a label that is no constant: " + quoted(*label.expr), label.position);
    const Ref wanted = nodes_.integer(*label.expr->constant);
    return map([&](Ref a) { return nodes_.is_zero(nodes_.subtract(a, wanted)); }, value);
  };
  const Stmt& body = *statement.children[0];
  if (body.kind != Stmt::Kind::kCompound) refuse("a switch without braces", statement.position);
  for (const Stmt* child : body.children) {
    Part part;
    for (; child->kind == Stmt::Kind::kCase; child = child->children[0]) {
      part.labels.push_back(child);
      if (child->expr == nullptr) continue;
      other = map([&](Ref a, Ref b) { return nodes_.both(a, nodes_.negate(b)); }, other,
                  is_label(*child));
    }
    part.statement = child;
    parts.push_back(std::move(part));
  }
  enter_loop(true);
  Lanes inside = uniform(nodes_.boolean(false));
  for (const Part& part : parts) {
    for (const Stmt* label : part.labels) {
      inside = map([&](Ref a, Ref b) { return nodes_.either(a, b); }, inside,
                   label->expr == nullptr ? other : is_label(*label));
    }
    run_choice(inside, *part.statement, nullptr);
  }
  leave_loop();
}

void Executor::enter_loop(bool unrolls) {
  loop_paths_.push_back(path_.size());
  loop_unrolls_.push_back(unrolls);
  loop_left_.push_back(false);
  exits_.push_back(uniform(nodes_.boolean(true)));
  breaks_.push_back(uniform(nodes_.boolean(true)));
}

bool Executor::leave_loop() {
  const bool left = loop_left_.back();
  loop_paths_.pop_back();
  loop_unrolls_.pop_back();
  loop_left_.pop_back();
  exits_.pop_back();
  breaks_.pop_back();
  return left;
}

namespace {

bool in_switch(const Stmt& jump) {
  const Stmt* around = jump.parent;
  while (around != nullptr && !is_loop(*around) && around->kind != Stmt::Kind::kSwitch)
    around = around->parent;
  return around != nullptr && around->kind == Stmt::Kind::kSwitch;
}

/// Nothing but jumps, and what is declared for the round.
bool changes_nothing(const Stmt& statement) {
  using Kind = Stmt::Kind;
  switch (statement.kind) {
    case Kind::kIf:
    case Kind::kCompound:
      return std::ranges::all_of(statement.children,
                                 [](const Stmt* child) { return changes_nothing(*child); }) &&
             (statement.expr == nullptr || !has_effects(*statement.expr));
    case Kind::kDeclaration:
      return std::ranges::all_of(statement.variables, [](const Variable* variable) {
        return variable->init == nullptr || !has_effects(*variable->init);
      });
    case Kind::kContinue:
    case Kind::kBreak:
    case Kind::kNull:
      return true;
    default:
      return false;
  }
}

/// Does the round do nothing before it is left here?
bool comes_first(const Stmt& jump) {
  const Stmt* inner = &jump;
  for (const Stmt* around = jump.parent; around != nullptr; around = around->parent) {
    if (is_loop(*around)) return true;
    if (around->kind == Stmt::Kind::kCompound) {
      for (const Stmt* earlier : around->children) {
        if (earlier == inner) break;
        if (!changes_nothing(*earlier)) return false;
      }
    } else if (around->kind != Stmt::Kind::kIf || has_effects(*around->expr)) {
      return false;
    }
    inner = around;
  }
  return false;
}

}  // namespace

void Executor::run_jump(const Stmt& statement) {
  const bool breaks = statement.kind == Stmt::Kind::kBreak;
  if (exits_.empty()) {
    refuse("a statement that hone does not follow: " + quoted(statement), statement.position);
  }
  if (!breaks && in_switch(statement)) refuse("a 'continue' in a switch", statement.position);
  Lanes here = exits_.back();
  for (std::size_t i = loop_paths_.back(); i < path_.size(); ++i)
    here = map([&](Ref a, Ref b) { return nodes_.both(a, b); }, here, path_[i]);
  if (breaks && !loop_unrolls_.back()) {
    if (!comes_first(statement) || (!dry_ && !stays_so(here))) {
      throw Refusal{"a loop that is left early", statement.position, 64};
    }
    loop_left_.back() = true;
  }
  const auto leave = [&](Lanes& exit) {
    exit = map([&](Ref a, Ref b) { return nodes_.both(a, nodes_.negate(b)); }, exit, here);
  };
  leave(exits_.back());
  if (breaks) leave(breaks_.back());
}

/// Does a condition that holds in a round hold in all later ones, too?
bool Executor::stays_so(const Lanes& condition) {
  const SymbolId symbol = open_loops_.back();
  const Nodes::Substitution next{{symbol, nodes_.add(nodes_.index(symbol), nodes_.integer(1))}};
  const Lanes now = active();
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i]->has_phi || condition[i]->has_load) return false;
    Facts facts;
    if (now.size() == 1 || condition.size() > 1) facts.add(lane(now, i));
    facts.add(condition[i]);
    if (!facts.prove(nodes_, nodes_.substitute(condition[i], next))) return false;
  }
  return true;
}

}  // namespace hone::nest
