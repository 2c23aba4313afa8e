// Statements of Clang's AST.
#include <clang/AST/Attr.h>

#include "rewriters/syntax/ast_builder.h"

namespace hone::syntax {

using clang::dyn_cast;
using clang::isa;

const Stmt* Builder::statement(const clang::Stmt* source, const Stmt* parent) {
  if (source == nullptr) return nullptr;
  if (const auto* attributed = dyn_cast<clang::AttributedStmt>(source)) {
    const Stmt* inner = statement(attributed->getSubStmt(), parent);
    auto* loop = const_cast<Stmt*>(inner);
    if (loop->position >= 0) loop->pragma = pragma_before(loop->position);
    return inner;
  }
  Stmt& result = store_.stmts.emplace_back();
  function_->all_statements.push_back(&result);
  result.parent = parent;
  result.function = function_;
  result.position = position(source->getBeginLoc());
  result.range = range(source->getSourceRange());
  const Stmt* outer = statement_;
  statement_ = &result;
  fill(*source, result);
  statement_ = outer;
  return &result;
}

void Builder::child(Stmt& result, const clang::Stmt* source) {
  if (const Stmt* inner = statement(source, &result)) {
    result.children.push_back(inner);
    // Clang's range of a loop ends before the `;` of a single-statement body.
    if (result.range.valid() && inner->range.valid() && result.kind != Stmt::Kind::kDo) {
      result.range.end = std::max(result.range.end, inner->range.end);
    }
  }
}

void Builder::other(const clang::Stmt& source, Stmt& result) {
  result.kind = Stmt::Kind::kOther;
  for (const clang::Stmt* part : source.children()) {
    if (part == nullptr) continue;
    if (const auto* expr = dyn_cast<clang::Expr>(part)) {
      Stmt& holder = store_.stmts.emplace_back();
      function_->all_statements.push_back(&holder);
      holder.kind = Stmt::Kind::kExpression;
      holder.parent = &result;
      holder.function = function_;
      holder.position = position(expr->getBeginLoc());
      holder.range = range(expr->getSourceRange());
      const Stmt* outer = statement_;
      statement_ = &holder;
      holder.expr = expression(expr);
      statement_ = outer;
      result.children.push_back(&holder);
    } else {
      child(result, part);
    }
  }
}

void Builder::fill(const clang::Stmt& source, Stmt& result) {
  using Kind = Stmt::Kind;
  if (const auto* compound = dyn_cast<clang::CompoundStmt>(&source)) {
    result.kind = Kind::kCompound;
    for (const clang::Stmt* inner : compound->body()) child(result, inner);
  } else if (const auto* declaration = dyn_cast<clang::DeclStmt>(&source)) {
    result.kind = Kind::kDeclaration;
    for (const clang::Decl* decl : declaration->decls()) {
      if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) {
        result.variables.push_back(local(*variable, result));
      } else if (!isa<clang::TypedefNameDecl, clang::EmptyDecl, clang::StaticAssertDecl,
                      clang::UsingDecl, clang::UsingDirectiveDecl, clang::EnumDecl>(decl)) {
        result.kind = Kind::kOther;
      }
    }
  } else if (const auto* branch = dyn_cast<clang::IfStmt>(&source)) {
    if (branch->hasInitStorage() || branch->hasVarStorage()) return other(source, result);
    result.kind = Kind::kIf;
    result.expr = expression(branch->getCond());
    child(result, branch->getThen());
    child(result, branch->getElse());
  } else if (const auto* loop = dyn_cast<clang::ForStmt>(&source)) {
    if (loop->getConditionVariable() != nullptr) return other(source, result);
    result.kind = Kind::kFor;
    result.init = for_init(loop->getInit(), &result);
    result.expr = expression(loop->getCond());
    result.step = expression(loop->getInc());
    child(result, loop->getBody());
  } else if (const auto* while_loop = dyn_cast<clang::WhileStmt>(&source)) {
    if (while_loop->getConditionVariable() != nullptr) return other(source, result);
    result.kind = Kind::kWhile;
    result.expr = expression(while_loop->getCond());
    child(result, while_loop->getBody());
  } else if (const auto* do_loop = dyn_cast<clang::DoStmt>(&source)) {
    result.kind = Kind::kDo;
    child(result, do_loop->getBody());
    result.expr = expression(do_loop->getCond());
    result.range = with_semicolon(result.range);
  } else if (const auto* choice = dyn_cast<clang::SwitchStmt>(&source)) {
    if (choice->hasInitStorage() || choice->hasVarStorage()) return other(source, result);
    result.kind = Kind::kSwitch;
    result.expr = expression(choice->getCond());
    child(result, choice->getBody());
  } else if (const auto* label = dyn_cast<clang::SwitchCase>(&source)) {
    result.kind = Kind::kCase;
    if (const auto* value = dyn_cast<clang::CaseStmt>(label)) {
      result.expr = expression(value->getLHS());
    }
    child(result, label->getSubStmt());
  } else if (const auto* leave = dyn_cast<clang::ReturnStmt>(&source)) {
    result.kind = Kind::kReturn;
    result.expr = expression(leave->getRetValue());
    result.range = with_semicolon(result.range);
  } else if (isa<clang::BreakStmt>(source) || isa<clang::ContinueStmt>(source)) {
    result.kind = isa<clang::BreakStmt>(source) ? Kind::kBreak : Kind::kContinue;
    result.range = with_semicolon(result.range);
  } else if (isa<clang::NullStmt>(source)) {
    result.kind = Kind::kNull;
  } else if (const auto* value = dyn_cast<clang::Expr>(&source)) {
    result.kind = Kind::kExpression;
    result.expr = expression(value);
    result.range = with_semicolon(result.range);
  } else {
    other(source, result);
  }
}

const Stmt* Builder::for_init(const clang::Stmt* source, const Stmt* parent) {
  return source == nullptr ? nullptr : statement(source, parent);
}

const Variable* Builder::local(const clang::VarDecl& decl, Stmt& statement) {
  Variable& variable = new_variable(decl);
  variable.statement = &statement;
  if (decl.hasAttr<clang::CUDASharedAttr>()) {
    variable.storage = shared_storage(decl);
  } else if (decl.isStaticLocal()) {
    variable.storage = Variable::Storage::kGlobal;
  }
  const_cast<Function*>(function_)->locals.push_back(&variable);
  if (decl.hasInit() && !(isa<clang::CXXConstructExpr>(decl.getInit()) &&
                          decl.getInitStyle() == clang::VarDecl::CallInit &&
                          cast<clang::CXXConstructExpr>(decl.getInit())->getNumArgs() == 0)) {
    variable.init = expression(decl.getInit());
    if (decl.getType()->isReferenceType()) bound_.insert(variable.init);
  }
  return &variable;
}

}  // namespace hone::syntax
