// Statements of host code: see host_runner.h.

#include "rewriters/syntax/host/host_runner.h"

#include "rewriters/syntax/ast_walk.h"

namespace hone::syntax::host {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;

constexpr int kMaxIterations = 4096;      // of a loop that only computes
constexpr int kMaxAllocatingRounds = 64;  // of one that allocates

/// Does it store through pointers, or call what may?
bool may_store(const clang::Stmt* statement) {
  bool found = false;
  AstWalk walk;
  walk.statement = [&](const clang::Stmt& one) {
    const auto* binary = dyn_cast<clang::BinaryOperator>(&one);
    const bool stores = binary != nullptr && binary->isAssignmentOp() &&
                        !clang::isa<clang::DeclRefExpr>(binary->getLHS()->IgnoreParenImpCasts());
    found |= stores || clang::isa<clang::CallExpr>(one);
  };
  walk.over(statement);
  return found;
}

/// What it assigns to, steps, or takes the address of.
std::vector<const clang::Expr*> assigned_by(const clang::Stmt* statement) {
  std::vector<const clang::Expr*> targets;
  AstWalk walk;
  walk.statement = [&](const clang::Stmt& one) {
    if (const auto* binary = dyn_cast<clang::BinaryOperator>(&one)) {
      if (binary->isAssignmentOp()) targets.push_back(binary->getLHS());
    } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(&one)) {
      if (unary->isIncrementDecrementOp() || unary->getOpcode() == clang::UO_AddrOf)
        targets.push_back(unary->getSubExpr());
    }
  };
  walk.over(statement);
  return targets;
}

}  // namespace

void HostRunner::forget_assigned(const clang::Stmt* statement) {
  if (statement == nullptr) return;
  for (const clang::Expr* target : assigned_by(statement)) {
    target = target->IgnoreParenImpCasts();
    if (!clang::isa<clang::DeclRefExpr, clang::MemberExpr>(target)) continue;
    if (target->getType()->isPointerType() || target->getType()->isRecordType()) continue;
    if (const CellPtr cell = place(target)) cell->value = {};
  }
}

std::optional<bool> HostRunner::truth(const clang::Expr* condition, bool* from_arguments) {
  if (condition == nullptr) return true;
  const Value value = eval(condition);
  if (from_arguments != nullptr) *from_arguments |= value.from_arguments;
  switch (value.kind) {
    case Value::Kind::kInt:
      if (value.integer == nullptr || has_guess(value.integer)) return std::nullopt;
      return value.integer->value != 0;
    case Value::Kind::kReal:
      return value.real != 0;
    case Value::Kind::kCell:
    case Value::Kind::kMemory:
    case Value::Kind::kText:
    case Value::Kind::kFunction:
      return true;
    case Value::Kind::kNull:
      return false;
    default:
      return std::nullopt;
  }
}

/// `if (a != b) exit(1);` passed: of two guesses, one.
void HostRunner::assume_equal(const clang::Expr* condition) {
  const auto* binary = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (binary == nullptr) return;
  if (binary->getOpcode() == clang::BO_LOr) {
    assume_equal(binary->getLHS());
    assume_equal(binary->getRHS());
    return;
  }
  if (binary->getOpcode() != clang::BO_NE) return;
  const Value a = eval(binary->getLHS());
  const Value b = eval(binary->getRHS());
  if (!a.is_int() || !b.is_int()) return;
  if (b.integer->op == HostExpr::Op::kName && has_guess(b.integer)) {
    store(binary->getRHS(), a);
  } else if (a.integer->op == HostExpr::Op::kName && has_guess(a.integer)) {
    store(binary->getLHS(), b);
  }
}

HostRunner::Flow HostRunner::run_if(const clang::IfStmt& statement) {
  if (statement.getInit() != nullptr) execute(statement.getInit());
  if (statement.getConditionVariable() != nullptr) declare(*statement.getConditionVariable());
  const auto known = truth(statement.getCond());
  if (known) return execute(*known ? statement.getThen() : statement.getElse());
  const clang::Stmt* then_branch = statement.getThen();
  const clang::Stmt* else_branch = statement.getElse();
  // Nothing says which: the branch that launches, else not the one that gives up.
  if (launches(then_branch)) return execute(then_branch);
  if (launches(else_branch)) return execute(else_branch);
  if (else_branch == nullptr) {
    if (interesting(then_branch) && !ends_program(then_branch)) return execute(then_branch);
    if (ends_program(then_branch)) {
      assume_equal(statement.getCond());
    } else {
      forget_assigned(then_branch);
    }
    return Flow::kNext;
  }
  return execute(ends_program(then_branch) ? else_branch : then_branch);
}

HostRunner::Flow HostRunner::run_switch(const clang::SwitchStmt& statement) {
  if (statement.getInit() != nullptr) execute(statement.getInit());
  const Value value = eval(statement.getCond());
  const bool known = value.is_int() && !has_guess(value.integer);
  const clang::SwitchCase* chosen = nullptr;
  const clang::SwitchCase* first = nullptr;
  for (const clang::SwitchCase* label = statement.getSwitchCaseList(); label != nullptr;
       label = label->getNextSwitchCase()) {
    const auto* item = dyn_cast<clang::CaseStmt>(label);
    if (item == nullptr) {
      if (chosen == nullptr && known) chosen = label;
      continue;
    }
    first = label;  // the list runs backwards
    clang::Expr::EvalResult constant_value;
    if (known && !item->getLHS()->isValueDependent() &&
        item->getLHS()->EvaluateAsInt(constant_value, context_) &&
        constant_value.Val.getInt().getExtValue() == value.integer->value)
      chosen = label;
  }
  if (chosen == nullptr && !known) chosen = first;
  const auto* body = dyn_cast_or_null<clang::CompoundStmt>(statement.getBody());
  if (chosen == nullptr || body == nullptr) return Flow::kNext;
  bool running = false;
  for (const clang::Stmt* part : body->body()) {
    for (const clang::Stmt* inner = part; !running;) {
      const auto* label = dyn_cast_or_null<clang::SwitchCase>(inner);
      if (label == nullptr) break;
      running = label == chosen;
      inner = label->getSubStmt();
    }
    if (!running) continue;
    const Flow flow = execute(part);
    if (flow == Flow::kBreak) return Flow::kNext;
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

HostRunner::Flow HostRunner::run_loop(const clang::Stmt* init, const clang::Expr* condition,
                                      const clang::Expr* step, const clang::Stmt* body,
                                      bool body_first) {
  if (init != nullptr) execute(init);
  const bool matters = interesting(body) || interesting(condition);
  const bool has_launch = launches(body) || (condition != nullptr && launches(condition));
  const int rounds = has_launch ? 1 : matters ? kMaxAllocatingRounds : kMaxIterations;
  if ((matters || !may_store(body)) && !blind_) {
    if (has_launch) ++loop_launches_;
    int done = 0;
    Flow flow = Flow::kNext;
    bool open = true;  // may go on after `rounds`
    for (; done < rounds; ++done) {
      if (!body_first || done > 0) {
        const auto more = truth(condition);
        if (more && !*more) {
          open = false;
          break;
        }
        if (!more && done > 0) break;
        if (!more && !matters) break;
      }
      if (!spend()) break;
      flow = execute(body);
      if (flow == Flow::kBreak || flow == Flow::kReturn || flow == Flow::kExit) {
        open = false;
        break;
      }
      if (step != nullptr) eval(step);
    }
    if (has_launch) --loop_launches_;
    if (flow == Flow::kReturn || flow == Flow::kExit) return flow;
    if (open) {
      forget_assigned(body);
      forget_assigned(step);
    }
    return Flow::kNext;
  }
  // Once, for what it assigns and which buffers it fills, whatever its counters are.
  forget_assigned(body);
  forget_assigned(step);
  if (const auto* declared = dyn_cast_or_null<clang::DeclStmt>(init)) {
    for (const clang::Decl* decl : declared->decls()) {
      if (const auto* counter = dyn_cast<clang::VarDecl>(decl);
          counter != nullptr && counter->getType()->isIntegerType())
        frames_.back().variables[counter] = std::make_shared<Cell>();
    }
  }
  const bool was_blind = blind_;
  blind_ = true;
  const Flow flow = spend() ? execute(body) : Flow::kNext;
  blind_ = was_blind;
  forget_assigned(body);
  forget_assigned(step);
  return flow == Flow::kExit ? flow : Flow::kNext;
}

void HostRunner::declare(const clang::VarDecl& variable) {
  auto& slot =
      variable.hasGlobalStorage() ? globals_[&variable] : frames_.back().variables[&variable];
  const clang::QualType type = variable.getType();
  const clang::Expr* init = variable.getInit();
  if (type->isReferenceType() && init != nullptr) {
    if (CellPtr target = place(init)) {
      slot = target;
      return;
    }
  }
  const CellPtr cell = std::make_shared<Cell>();
  slot = cell;
  if (init == nullptr) return;
  const clang::Expr* plain = init->IgnoreParenImpCasts();
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(plain))
    plain = cleanups->getSubExpr()->IgnoreParenImpCasts();
  if (const auto* construct = dyn_cast<clang::CXXConstructExpr>(plain)) {
    eval_construct(*construct, cell);
    return;
  }
  if (const auto* list = dyn_cast<clang::InitListExpr>(plain)) {
    if (type->isArrayType()) {
      init_array(cell, *list);
      return;
    }
    if (type->isRecordType()) {
      init_record(cell, *list);
      return;
    }
  }
  Value value = eval(init);
  if (type->isIntegerType() && !type->isBooleanType()) {
    if (!value.is_int() && !blind_) {
      value = guess(variable.getNameAsString(), static_cast<const clang::Decl*>(&variable),
                    variable.getLocation());
    } else {
      value = named(std::move(value), variable.getNameAsString(),
                    static_cast<const clang::Decl*>(&variable), variable.getLocation());
    }
  }
  if (value.kind == Value::Kind::kMemory && value.memory >= 0 &&
      facts_.buffers[static_cast<std::size_t>(value.memory)].name.empty())
    facts_.buffers[static_cast<std::size_t>(value.memory)].name = variable.getNameAsString();
  store_cell(cell, std::move(value));
}

HostRunner::Flow HostRunner::execute(const clang::Stmt* statement) {
  if (statement == nullptr) return Flow::kNext;
  if (!spend()) return Flow::kExit;
  if (const auto* compound = dyn_cast<clang::CompoundStmt>(statement)) {
    for (const clang::Stmt* part : compound->body()) {
      const Flow flow = execute(part);
      if (flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
  }
  if (const auto* declaration = dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* decl : declaration->decls())
      if (const auto* variable = dyn_cast<clang::VarDecl>(decl);
          variable != nullptr && !(variable->isStaticLocal() && globals_.contains(variable)))
        declare(*variable);
    return Flow::kNext;
  }
  if (const auto* expression = dyn_cast<clang::Expr>(statement)) {
    eval(expression);
    return spend() ? Flow::kNext : Flow::kExit;
  }
  if (const auto* branch = dyn_cast<clang::IfStmt>(statement)) return run_if(*branch);
  if (const auto* loop = dyn_cast<clang::ForStmt>(statement))
    return run_loop(loop->getInit(), loop->getCond(), loop->getInc(), loop->getBody(), false);
  if (const auto* loop = dyn_cast<clang::WhileStmt>(statement))
    return run_loop(nullptr, loop->getCond(), nullptr, loop->getBody(), false);
  if (const auto* loop = dyn_cast<clang::DoStmt>(statement))
    return run_loop(nullptr, loop->getCond(), nullptr, loop->getBody(), true);
  if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(statement)) {
    if (loop->getRangeStmt() != nullptr) execute(loop->getRangeStmt());
    if (loop->getLoopVariable() != nullptr)
      frames_.back().variables[loop->getLoopVariable()] = std::make_shared<Cell>();
    return run_loop(nullptr, nullptr, nullptr, loop->getBody(), true);
  }
  if (const auto* choice = dyn_cast<clang::SwitchStmt>(statement)) return run_switch(*choice);
  if (const auto* label = dyn_cast<clang::SwitchCase>(statement))
    return execute(label->getSubStmt());
  if (const auto* label = dyn_cast<clang::LabelStmt>(statement))
    return execute(label->getSubStmt());
  if (const auto* marked = dyn_cast<clang::AttributedStmt>(statement))
    return execute(marked->getSubStmt());
  if (const auto* attempt = dyn_cast<clang::CXXTryStmt>(statement))
    return execute(attempt->getTryBlock());
  if (clang::isa<clang::BreakStmt>(statement)) return Flow::kBreak;
  if (clang::isa<clang::ContinueStmt>(statement)) return Flow::kContinue;
  if (const auto* result = dyn_cast<clang::ReturnStmt>(statement)) {
    if (result->getRetValue() != nullptr) {
      const CellPtr cell = frames_.back().by_reference ? place(result->getRetValue()) : nullptr;
      Value value = eval(result->getRetValue());
      frames_.back().result = std::move(value);
      frames_.back().result_place = cell;
    }
    return Flow::kReturn;
  }
  for (const clang::Stmt* part : statement->children()) {
    if (part == nullptr) continue;
    const Flow flow = execute(part);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

}  // namespace hone::syntax::host
