// Clang's AST -> the mini-AST: what the parts of build_ast.h's builder share.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rewriters/syntax/build_ast.h"
#include "rewriters/syntax/build_types.h"

namespace hone::syntax {

/// Lives for one translation unit.
class Builder {
 public:
  Builder(clang::ASTContext& context, TranslationUnit& unit)
      : context_(context),
        sources_(context.getSourceManager()),
        unit_(unit),
        store_(*unit.storage),
        types_(context) {}

  void run();

 private:
  // places in the text: build_ast.cpp
  int position(clang::SourceLocation location) const;
  SourceRange range(clang::SourceRange clang_range) const;
  int skip_blank(int offset) const;
  SourceRange with_semicolon(SourceRange plain) const;
  /// The `#pragma unroll` line, or `_Pragma("unroll")`, directly before a loop.
  SourceRange pragma_before(int loop_begin) const;

  // declarations: build_ast.cpp
  void declarations(const clang::DeclContext* scope);
  /// The one instance of a kernel template, where types are known; else the pattern. Text is the
  /// same for both. An `if constexpr` may hide part of the text from an instance.
  static const clang::FunctionDecl& shown_form(const clang::FunctionTemplateDecl& decl);
  void template_parameters(const clang::TemplateParameterList& list);
  Variable* global(const clang::VarDecl& decl);
  static Variable::Storage shared_storage(const clang::VarDecl& decl);
  Variable& new_variable(const clang::VarDecl& decl);
  void function(const clang::FunctionDecl& decl, bool is_template);

  // statements: build_statements.cpp
  const Stmt* statement(const clang::Stmt* source, const Stmt* parent);
  void child(Stmt& result, const clang::Stmt* source);
  void other(const clang::Stmt& source, Stmt& result);
  void fill(const clang::Stmt& source, Stmt& result);
  /// The init of a `for` is a statement with its `;` inside the parentheses.
  const Stmt* for_init(const clang::Stmt* source, const Stmt* parent);
  const Variable* local(const clang::VarDecl& decl, Stmt& statement);

  // expressions: build_expressions.cpp
  const Expr* expression(const clang::Expr* source);
  const Expr* expression(const clang::Expr* source, Expr* parent);
  const clang::Expr* strip(const clang::Expr* source, SourceRange& outer);
  static bool changes_value(const clang::ImplicitCastExpr& cast);
  void operand(Expr& result, const clang::Expr* source);
  void call_arguments(Expr& result, const clang::FunctionDecl* callee,
                      llvm::ArrayRef<const clang::Expr*> arguments);
  void fill(const clang::Expr& source, Expr& result);
  /// The converting constructor or conversion function of an explicit cast is the cast itself.
  static const clang::Expr* cast_operand(const clang::CastExpr& cast);
  void fill_reference(const clang::DeclRefExpr& reference, Expr& result);
  void fill_member(const clang::MemberExpr& member, Expr& result);
  void fill_unary(const clang::UnaryOperator& unary, Expr& result);
  void fill_operator(const clang::CXXOperatorCallExpr& call, Expr& result);
  void note_callee(Expr& call, const clang::FunctionDecl& callee);
  void fill_call(const clang::CallExpr& call, Expr& result);
  void fill_construct(const clang::CXXConstructExpr& construct, Expr& result);
  void fill_lambda(const clang::LambdaExpr& lambda, Expr& result);

  // who reads and writes a variable: build_uses.cpp
  void count_uses();

  clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  TranslationUnit& unit_;
  TranslationUnit::Storage& store_;
  TypeConverter types_;
  std::map<const clang::ValueDecl*, Variable*> variables_;
  std::map<const clang::FunctionDecl*, const Function*> functions_;  ///< by canonical declaration
  std::vector<std::pair<Expr*, const clang::FunctionDecl*>> callees_;
  std::map<std::string, int> shadow_;
  std::set<const Expr*> bound_;  ///< operands bound to a non-const reference
  std::set<const Variable*> captured_;
  Function* function_ = nullptr;
  const Stmt* statement_ = nullptr;
  int outer_begin_ = -1;
};

}  // namespace hone::syntax
