#include "rewriters/syntax/ast_walk.h"

#include <clang/AST/RecursiveASTVisitor.h>

namespace hone::syntax {
namespace {

class Visitor : public clang::RecursiveASTVisitor<Visitor> {
  using Base = clang::RecursiveASTVisitor<Visitor>;

 public:
  explicit Visitor(const AstWalk& walk) : walk_(walk) {}

  [[nodiscard]] bool shouldVisitTemplateInstantiations() const { return walk_.instantiations; }

  bool VisitStmt(clang::Stmt* statement) {
    if (walk_.statement) walk_.statement(*statement);
    return true;
  }
  bool VisitDecl(clang::Decl* declaration) {
    if (walk_.declaration) walk_.declaration(*declaration);
    return true;
  }
  bool VisitTypeLoc(clang::TypeLoc type) {
    if (walk_.type) walk_.type(type);
    return true;
  }
  bool TraverseDecl(clang::Decl* declaration) {
    if (declaration != nullptr && walk_.enters && !walk_.enters(*declaration)) return true;
    return Base::TraverseDecl(declaration);
  }
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda, DataRecursionQueue* queue = nullptr) {
    return !walk_.lambdas || Base::TraverseLambdaExpr(lambda, queue);
  }
  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc qualifier) {
    if (qualifier && walk_.qualifier) walk_.qualifier(qualifier);
    return Base::TraverseNestedNameSpecifierLoc(qualifier);
  }

 private:
  const AstWalk& walk_;
};

}  // namespace

void AstWalk::over(const clang::Stmt* root) const {
  Visitor(*this).TraverseStmt(const_cast<clang::Stmt*>(root));
}

void AstWalk::over(const clang::Decl* root) const {
  if (root != nullptr) Visitor(*this).TraverseDecl(const_cast<clang::Decl*>(root));
}

}  // namespace hone::syntax
