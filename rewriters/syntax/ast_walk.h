// One traversal of Clang's syntax tree, with callbacks. clang::RecursiveASTVisitor is a template of
// hundreds of functions, and each use of it costs about ten seconds of compilation: this is the
// only one.
#pragma once

#include <clang/AST/ASTFwd.h>
#include <clang/AST/NestedNameSpecifier.h>
#include <clang/AST/TypeLoc.h>

#include <functional>

namespace hone::syntax {

/// What is not given is not called. Parents come before their children, in the order of the source.
struct AstWalk {
  std::function<void(const clang::Stmt&)> statement;    ///< and expressions
  std::function<void(const clang::Decl&)> declaration;  ///< those that are entered
  std::function<bool(const clang::Decl&)> enters;       ///< false: it and what it holds is left out
  std::function<void(clang::TypeLoc)> type;             ///< as written
  std::function<void(clang::NestedNameSpecifierLoc)> qualifier;  ///< "a::" of "a::b", as written
  bool lambdas = true;          ///< false: not what lambda expressions hold
  bool instantiations = false;  ///< of templates, too

  /// Null is nothing to walk over.
  void over(const clang::Stmt* root) const;
  void over(const clang::Decl* root) const;
};

}  // namespace hone::syntax
