// Finds every memory access of a kernel.
#include "rewriters/syntax/intrinsics.h"
#include "rewriters/syntax/kernel_parts.h"
#include "rewriters/syntax/places.h"
#include "rewriters/syntax/walk.h"

namespace hone::syntax {
namespace {

/// From the element `p[i]` up to what is used: `p[i].x`, `p[i].v[2]`.
const Expr& whole_use(const Expr& element) {
  const Expr* place = &element;
  while (
      place->parent != nullptr && !place->bound && place->parent->operands[0] == place &&
      (place->parent->kind == Expr::Kind::kMember ||
       (place->parent->kind == Expr::Kind::kSubscript && place->type.kind == Type::Kind::kArray))) {
    place = place->parent;
  }
  return *place;
}

bool is_element(const Expr& expr) {
  const bool deref = expr.kind == Expr::Kind::kUnary && expr.text == "*";
  if (expr.kind != Expr::Kind::kSubscript && !deref) return false;
  if (expr.type.kind == Type::Kind::kArray) return false;  // a row, not an element
  // v.data[i] of a struct in memory belongs to the access of the struct itself.
  for (const Expr* base = expr.operands[0]; !deref;) {
    if (base->kind == Expr::Kind::kSubscript && base->type.kind == Type::Kind::kArray) {
      base = base->operands[0];
      continue;
    }
    return !(base->kind == Expr::Kind::kMember && base->type.kind == Type::Kind::kArray);
  }
  return true;
}

std::optional<Access::Kind> use_kind(const Expr& element) {
  const Expr& place = whole_use(element);
  if (place.bound) return Access::Kind::kReadWrite;
  const Expr* user = place.parent;
  if (user == nullptr) return Access::Kind::kRead;
  if (user->kind == Expr::Kind::kAssign && user->operands[0] == &place) {
    return user->text == "=" ? Access::Kind::kWrite : Access::Kind::kReadWrite;
  }
  if (user->kind == Expr::Kind::kUnary && user->text.size() == 3) return Access::Kind::kReadWrite;
  if (user->kind == Expr::Kind::kUnary && user->text == "&") return std::nullopt;
  return Access::Kind::kRead;
}

Access access_of(const Expr& expr, Access::Kind kind, const Place& place) {
  Access access;
  access.kind = kind;
  access.expr = &expr;
  access.base = place.base;
  access.written_base = place.written_base;
  access.indices = place.indices;
  access.index = place.index;
  access.statement = expr.statement;
  return access;
}

void call_accesses(const Expr& call, std::vector<Access>& accesses) {
  const auto through_first = [&](Access::Kind kind) {
    if (call.operands.empty()) return;
    accesses.push_back(access_of(call, kind, place_of_pointer(*call.operands[0])));
    accesses.back().indices.clear();
  };
  const auto through_all = [&](Access::Kind kind) {
    for (const Expr* argument : call.operands) {
      const bool is_array = argument->type.kind == Type::Kind::kArray;
      if (!argument->type.is_pointer() && !is_array) continue;
      Place place = place_of_pointer(*argument);
      place.index.reset();
      place.indices.clear();
      accesses.push_back(access_of(call, kind, place));
    }
  };
  switch (call_kind(call)) {
    case CallKind::kLoad:
      return through_first(Access::Kind::kRead);
    case CallKind::kStore:
      return through_first(Access::Kind::kWrite);
    case CallKind::kAtomic:
      return through_first(Access::Kind::kAtomic);
    case CallKind::kOutPointer:
      return through_all(Access::Kind::kWrite);
    case CallKind::kWarp:
      if (call.text == "load_matrix_sync") return through_all(Access::Kind::kRead);
      return through_all(Access::Kind::kReadWrite);
    case CallKind::kUser: {
      Effects effects;
      effects.writes_memory = effects.unknown = true;
      if (call.callee->body != nullptr) effects = effects_of(*call.callee->body);
      return through_all(effects.writes_memory || effects.unknown ? Access::Kind::kReadWrite
                                                                  : Access::Kind::kRead);
    }
    case CallKind::kUnknown:
      return through_all(Access::Kind::kReadWrite);
    case CallKind::kPure:
    case CallKind::kBarrier:
    case CallKind::kGroup:
      return;
  }
}

}  // namespace

std::vector<Access> find_accesses(const Function& function) {
  std::vector<Access> accesses;
  for (const Expr* expr : function.all_expressions) {
    if (expr->kind == Expr::Kind::kCall) {
      call_accesses(*expr, accesses);
    } else if (is_element(*expr)) {
      if (const auto kind = use_kind(*expr)) {
        accesses.push_back(access_of(*expr, *kind, place_of(*expr)));
      }
    } else if (expr->kind == Expr::Kind::kVariable && expr->variable->is_reference) {
      // A use of a reference is a use of what it was bound to.
      const Variable& alias = *expr->variable;
      const Place place = alias.init != nullptr ? place_of(*alias.init) : Place{};
      if (place.base != nullptr && place.base->type.kind != Type::Kind::kArray &&
          !place.base->type.is_pointer()) {
        continue;  // of a plain local
      }
      accesses.push_back(
          access_of(*expr, use_kind(*expr).value_or(Access::Kind::kReadWrite), place));
    }
  }
  return accesses;
}

}  // namespace hone::syntax
