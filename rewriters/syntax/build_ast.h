// Clang's AST -> the mini-AST of ast.h. Internal to rewriters/syntax.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "rewriters/syntax/ast.h"

namespace clang {
class ASTContext;
}

namespace hone::syntax {

struct TranslationUnit::Storage {
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  std::deque<Variable> variables;
  std::deque<Function> functions;
};

/// Fills `unit` (whose source is set) with everything the main file declares.
void build_ast(clang::ASTContext& context, TranslationUnit& unit);

}  // namespace hone::syntax
