// Clang's types -> the Type of ast.h. Internal to rewriters/syntax.
#pragma once

#include <clang/AST/ASTContext.h>

#include "rewriters/syntax/ast.h"

namespace hone::syntax {

class TypeConverter {
 public:
  explicit TypeConverter(const clang::ASTContext& context);
  [[nodiscard]] Type convert(clang::QualType type) const;

 private:
  const clang::ASTContext& context_;
  clang::PrintingPolicy policy_;
};

}  // namespace hone::syntax
