// Small things that the decoders of several families use. Private to ptx/.
#pragma once

#include <initializer_list>
#include <string_view>

#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {

inline bool any_of(std::string_view w, std::initializer_list<std::string_view> list) {
  for (auto x : list)
    if (x == w) return true;
  return false;
}

inline Class class_of(Type t) {
  if (t.kind == Type::kFloat || t.kind == Type::kBFloat) {
    if (t.bits == 64 && !t.packed) return Class::kFp64;
    if (t.bits == 16 || (t.packed && t.bits == 32)) return Class::kFp16;
    return Class::kFp32;
  }
  return Class::kInteger;
}

inline constexpr Type kU32{Type::kUnsigned, 32};
inline constexpr Type kPredicate{Type::kPred, 1};

}  // namespace hone::emulator
