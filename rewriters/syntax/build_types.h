// Clang's types -> the Type of ast.h. Internal to rewriters/syntax.
#pragma once

#include <clang/AST/ASTContext.h>

#include <unordered_map>

#include "rewriters/syntax/ast.h"

namespace hone::syntax {

class TypeConverter {
 public:
  explicit TypeConverter(const clang::ASTContext& context);
  [[nodiscard]] Type convert(clang::QualType type);

 private:
  [[nodiscard]] Type converted(clang::QualType canonical);

  const clang::ASTContext& context_;
  clang::PrintingPolicy policy_;
  std::unordered_map<void*, Type> known_;  ///< by canonical type: most expressions share a few
};

}  // namespace hone::syntax
