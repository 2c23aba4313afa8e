#include "rewriters/syntax/places.h"

#include "rewriters/syntax/stability.h"
#include "rewriters/syntax/walk.h"

namespace hone::syntax {
namespace {

/// Scalars in one value of this type: the product of its array extents.
std::optional<std::int64_t> scalars_in(const Type& type) {
  std::int64_t count = 1;
  for (const Type* at = &type; at->kind == Type::Kind::kArray; at = at->element.get()) {
    if (at->extent < 0 || !at->element) return std::nullopt;
    count *= at->extent;
  }
  return count;
}

void advance(Place& place, const Expr& steps, const Type& element, bool negative = false) {
  const auto amount = polynomial(steps);
  const auto scale = scalars_in(element);
  if (!amount || !scale || !place.index) {
    place.index.reset();
    return;
  }
  const Polynomial offset = *amount * Polynomial::constant(*scale);
  place.index = negative ? *place.index - offset : *place.index + offset;
}

bool same_element(const Type& a, const Type& b) {
  return a.element && b.element && a.element->name == b.element->name &&
         a.element->kind != Type::Kind::kOther;
}

void collect(const Expr& pointer, std::set<const Variable*>& origins,
             std::set<const Variable*>& visited);

void collect(const Variable& variable, std::set<const Variable*>& origins,
             std::set<const Variable*>& visited) {
  if (!visited.insert(&variable).second) return;
  if (variable.type.kind == Type::Kind::kArray) {
    origins.insert(&variable);
    return;
  }
  if (!variable.type.is_pointer() || variable.address_taken) {
    origins.insert(nullptr);
    return;
  }
  if (variable.storage == Variable::Storage::kParameter) {
    origins.insert(&variable);
  } else if (variable.storage != Variable::Storage::kLocal) {
    origins.insert(nullptr);
  }
  if (variable.init != nullptr) collect(*variable.init, origins, visited);
  for (const Expr* write : variable.write_sites) {
    if (write->kind == Expr::Kind::kAssign && write->text == "=") {
      collect(*write->operands[1], origins, visited);
    }
  }
}

void collect(const Expr& pointer, std::set<const Variable*>& origins,
             std::set<const Variable*>& visited) {
  const Expr& expr = without_casts(pointer);
  switch (expr.kind) {
    case Expr::Kind::kVariable:
      return collect(*expr.variable, origins, visited);
    case Expr::Kind::kBinary:
      if (expr.text == "+" || expr.text == "-") {
        const bool left = without_casts(*expr.operands[0]).type.is_pointer() ||
                          without_casts(*expr.operands[0]).type.kind == Type::Kind::kArray;
        return collect(*expr.operands[left ? 0 : 1], origins, visited);
      }
      if (expr.text == ",") return collect(*expr.operands[1], origins, visited);
      break;
    case Expr::Kind::kConditional:
      collect(*expr.operands[1], origins, visited);
      return collect(*expr.operands[2], origins, visited);
    case Expr::Kind::kAssign:
      return collect(*expr.operands[0], origins, visited);
    case Expr::Kind::kSubscript:
      // A row of an array, or `&a[i]`; an element that is itself a pointer could be anything.
      if (expr.type.is_pointer()) break;
      return collect(*expr.operands[0], origins, visited);
    case Expr::Kind::kMember:
      if (expr.type.is_pointer() || expr.operands.empty()) break;
      return collect(*expr.operands[0], origins, visited);
    case Expr::Kind::kUnary:
      if (expr.text == "&" || expr.text == "++x" || expr.text == "x++" || expr.text == "--x" ||
          expr.text == "x--") {
        const Expr& inner = *expr.operands[0];
        if (expr.text == "&" && inner.kind == Expr::Kind::kVariable &&
            !inner.variable->is_reference) {
          origins.insert(inner.variable);
          return;
        }
        return collect(inner, origins, visited);
      }
      if (expr.text == "*" && !expr.type.is_pointer()) {
        return collect(*expr.operands[0], origins, visited);
      }
      break;
    case Expr::Kind::kOther:
      if (expr.text == "nullptr") return;
      break;
    case Expr::Kind::kIntLiteral:
      return;  // a null pointer
    default:
      break;
  }
  origins.insert(nullptr);
}

}  // namespace

Place place_of(const Expr& lvalue) {
  switch (lvalue.kind) {
    case Expr::Kind::kVariable:
      if (lvalue.variable->is_reference) return {};
      return {lvalue.variable, lvalue.variable, Polynomial{}, {}};
    case Expr::Kind::kSubscript: {
      const Expr& base = *lvalue.operands[0];
      Place place = base.type.kind == Type::Kind::kArray ? place_of(base) : place_of_pointer(base);
      advance(place, *lvalue.operands[1], lvalue.type);
      place.indices.push_back(lvalue.operands[1]);
      return place;
    }
    case Expr::Kind::kUnary:
      if (lvalue.text == "*") {
        Place place = place_of_pointer(*lvalue.operands[0]);
        place.indices.clear();
        return place;
      }
      return {};
    case Expr::Kind::kMember: {
      if (lvalue.operands.empty()) return {};
      Place place = place_of(*lvalue.operands[0]);
      if (lvalue.type.kind == Type::Kind::kArray) place.index.reset();
      return place;
    }
    default:
      return {};
  }
}

Place place_of_pointer(const Expr& pointer) {
  if (pointer.type.kind == Type::Kind::kArray) return place_of(pointer);
  switch (pointer.kind) {
    case Expr::Kind::kVariable: {
      const Variable& variable = *pointer.variable;
      if (variable.address_taken) return {};
      if (variable.storage == Variable::Storage::kLocal && variable.single_assignment() &&
          variable.type.is_pointer() && init_is_stable(variable)) {
        Place origin = place_of_pointer(*variable.init);
        if (origin.base != nullptr) {
          origin.written_base = &variable;
          origin.indices.clear();
          return origin;
        }
      }
      return {&variable, &variable, Polynomial{}, {}};
    }
    case Expr::Kind::kBinary: {
      if (pointer.text != "+" && pointer.text != "-") return {};
      const bool left = pointer.operands[0]->type.is_pointer() ||
                        pointer.operands[0]->type.kind == Type::Kind::kArray;
      Place place = place_of_pointer(*pointer.operands[left ? 0 : 1]);
      if (!pointer.type.element)
        place.index.reset();
      else
        advance(place, *pointer.operands[left ? 1 : 0], *pointer.type.element, pointer.text == "-");
      return place;
    }
    case Expr::Kind::kCast: {
      const Expr& inner = *pointer.operands[0];
      Place place = place_of_pointer(inner);
      if (!same_element(pointer.type, inner.type)) place.index.reset();
      return place;
    }
    case Expr::Kind::kUnary:
      return pointer.text == "&" ? place_of(*pointer.operands[0]) : Place{};
    default:
      return {};
  }
}

std::set<const Variable*> origins_of(const Expr& pointer) {
  std::set<const Variable*> origins, visited;
  collect(pointer, origins, visited);
  return origins;
}

std::set<const Variable*> origins_of(const Variable& pointer) {
  std::set<const Variable*> origins, visited;
  collect(pointer, origins, visited);
  return origins;
}

}  // namespace hone::syntax
