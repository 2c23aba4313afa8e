// C++ types as the executor lays them out. Internal to rewriters/lift.
#pragma once

#include <cstdint>

#include "rewriters/syntax/ast.h"

namespace hone::nest {

inline const syntax::Type& pointee(const syntax::Type& type) {
  static const syntax::Type none;
  return type.element ? *type.element : none;
}

/// Scalars in one element of a type: 4 for float4, 12 for float[3][4].
inline std::int64_t scalars_in(const syntax::Type& type) {
  using Kind = syntax::Type::Kind;
  if (type.kind == Kind::kArray && type.element) return type.extent * scalars_in(*type.element);
  if (type.kind == Kind::kVector) return type.lanes;
  return 1;
}

inline constexpr const char* kFields[] = {"x", "y", "z", "w"};

}  // namespace hone::nest
