// Places: what an expression names, and reading and writing there.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/lift/types.h"

namespace hone::lift {

using syntax::Expr;
using syntax::Type;
using syntax::Variable;

bool Executor::in_memory(const Variable& variable) {
  if (!variable.address_taken || variable.function == nullptr || variable.is_reference)
    return false;
  if (!variable.type.is_float() && !variable.type.is_integer()) return false;
  const auto known = addressed_.find(variable.function);
  if (known != addressed_.end()) return known->second.contains(&variable);
  std::set<const Variable*>& all = addressed_[variable.function];
  for (const Expr* expr : variable.function->all_expressions) {
    if (expr->kind != Expr::Kind::kUnary || expr->text != "&") continue;
    const Expr* of = expr->operands[0];
    if (of->kind == Expr::Kind::kVariable) all.insert(of->variable);
  }
  return all.contains(&variable);
}

int Executor::memory_of(const Variable& variable) {
  const auto known = memory_ids_.find(&variable);
  if (known != memory_ids_.end()) return known->second;
  const Type* element = &variable.type;
  while (element->kind == Type::Kind::kArray && element->element) element = element->element.get();
  if (element->kind == Type::Kind::kVector && element->element) element = element->element.get();
  const bool shared = variable.storage == Variable::Storage::kShared ||
                      variable.storage == Variable::Storage::kDynamicShared;
  if (variable.storage == Variable::Storage::kDynamicShared) {
    for (const auto& [other, id] : memory_ids_) {
      if (other->storage == Variable::Storage::kDynamicShared) {
        refuse("several dynamic shared arrays", variable.name_range.begin);
      }
    }
  }
  if (variable.storage == Variable::Storage::kConstant ||
      variable.storage == Variable::Storage::kGlobal) {
    refuse(fmt::format("'{}' at file scope", variable.name), variable.name_range.begin);
  }
  if (shared && !launched_.in_lockstep) throw Refusal{"shared memory", -2};
  Memory memory;
  memory.kind = shared ? Memory::Kind::kShared : Memory::Kind::kLocal;
  memory.name = variable.name;
  memory.type = scalar_type(*element, *this, variable.name_range.begin);
  memories.push_back(std::move(memory));
  const int id = static_cast<int>(memories.size() - 1);
  memory_ids_[&variable] = id;
  return id;
}

Value Executor::array_pointer(const Variable& variable) {
  const auto found = state_.variables.find(&variable);
  if (found != state_.variables.end() && found->second.kind == Value::Kind::kPointer) {
    return found->second;
  }
  return Value{Value::Kind::kPointer, uniform(nodes_.integer(0)), memory_of(variable), {}};
}

Executor::Place Executor::place_of(const Expr& expr) {
  using Kind = Expr::Kind;
  switch (expr.kind) {
    case Kind::kVariable: {
      const Variable& variable = *expr.variable;
      if (variable.storage == Variable::Storage::kShared &&
          variable.type.kind != Type::Kind::kArray) {
        return {nullptr, {}, memory_of(variable), uniform(nodes_.integer(0))};
      }
      if (variable.is_reference && variable.storage == Variable::Storage::kLocal) {
        if (variable.init == nullptr) refuse("a reference", expr.position);
        return place_of(*variable.init);
      }
      if (in_memory(variable)) {
        return {nullptr, {}, memory_of(variable), uniform(nodes_.integer(0))};
      }
      return {&variable, {}, -1, {}};
    }
    case Kind::kMember: {
      Place place = place_of(*expr.operands[0]);
      if (place.variable != nullptr) {
        place.fields.push_back(expr.text);
        return place;
      }
      const Type& object = expr.operands[0]->type;
      if (object.kind != Type::Kind::kVector) refuse("a struct in memory", expr.position);
      for (int i = 0; i < object.lanes; ++i) {
        if (expr.text == kFields[i]) {
          place.element =
              map([&](Ref a) { return nodes_.add(a, nodes_.integer(i)); }, place.element);
          return place;
        }
      }
      refuse("'." + expr.text + "'", expr.position);
    }
    case Kind::kSubscript: {
      const Expr& base = *expr.operands[0];
      const Value pointer = evaluate(base);
      if (pointer.kind != Value::Kind::kPointer) refuse("a subscript of no array", expr.position);
      const std::int64_t size = scalars_in(pointee(base.type));
      const Lanes index = scalar(*expr.operands[1]);
      return {nullptr,
              {},
              pointer.memory,
              map([&](Ref x, Ref y) { return nodes_.add(x, nodes_.scale(y, size)); }, pointer.lanes,
                  index)};
    }
    case Kind::kUnary:
      if (expr.text == "*") {
        const Value pointer = evaluate(*expr.operands[0]);
        if (pointer.kind != Value::Kind::kPointer) refuse("'*' of no pointer", expr.position);
        return {nullptr, {}, pointer.memory, pointer.lanes};
      }
      break;
    case Kind::kCast: {
      if (expr.implicit) return place_of(*expr.operands[0]);
      break;
    }
    default:
      break;
  }
  refuse("a place that hone does not follow", expr.position);
}

Value Executor::read(const Place& place, const Type& type, int position) {
  if (place.variable != nullptr) {
    const Variable& variable = *place.variable;
    const auto found = state_.variables.find(&variable);
    if (found == state_.variables.end()) {
      refuse(fmt::format("'{}' is read before it is written", variable.name), position);
    }
    const Value* value = &found->second;
    for (const std::string& field : place.fields) {
      const auto inner = value->fields.find(field);
      if (inner == value->fields.end()) refuse("'." + field + "' is not known", position);
      value = &inner->second;
    }
    if (value->kind == Value::Kind::kNone) {
      refuse(fmt::format("'{}' is read before it is written", variable.name), position);
    }
    return *value;
  }
  if (type.kind == Type::Kind::kVector) {
    if (!type.element ||
        scalar_type(*type.element, *this, position) != memories[place.memory].type) {
      refuse("a buffer read as another type", position);
    }
    Value made;
    made.kind = Value::Kind::kFields;
    for (int i = 0; i < type.lanes; ++i) {
      const Lanes element =
          map([&](Ref a) { return nodes_.add(a, nodes_.integer(i)); }, place.element);
      made.fields[kFields[i]] =
          Value{Value::Kind::kScalar, load(place.memory, element, position), -1, {}};
    }
    return made;
  }
  if (type.kind != Type::Kind::kFloat && !type.is_integer()) {
    refuse("a struct in memory", position);
  }
  if (scalar_type(type, *this, position) != memories[place.memory].type) {
    refuse("a buffer read as another type", position);
  }
  return Value{Value::Kind::kScalar, load(place.memory, place.element, position), -1, {}};
}

void Executor::write(const Place& place, const Value& value, const Type& type, int position) {
  if (place.variable != nullptr) {
    Value* target = &state_.variables[place.variable];
    for (const std::string& field : place.fields) {
      target->kind = Value::Kind::kFields;
      target = &target->fields[field];
    }
    // Who has left the loop's round, or returned from a called function, keeps what was.
    Lanes stays = uniform(nodes_.boolean(true));
    for (const Lanes& exit : exits_)
      stays = map([&](Ref a, Ref b) { return nodes_.both(a, b); }, stays, exit);
    if (frames_.size() > 1) {
      stays = map([&](Ref a, Ref b) { return nodes_.both(a, b); }, stays, frames_.back().live);
    }
    const auto all = decided(stays);
    if (all && *all) {
      *target = value;
    } else if (target->kind == Value::Kind::kNone) {
      *target = value;
    } else {
      *target = merge(stays, value, *target);
    }
    return;
  }
  if (type.kind == Type::Kind::kVector) {
    if (value.kind != Value::Kind::kFields) refuse("a vector written from no vector", position);
    for (int i = 0; i < type.lanes; ++i) {
      const auto field = value.fields.find(kFields[i]);
      if (field == value.fields.end() || field->second.kind != Value::Kind::kScalar) {
        refuse("a vector of which a part is unknown", position);
      }
      store(place.memory,
            map([&](Ref a) { return nodes_.add(a, nodes_.integer(i)); }, place.element),
            field->second.lanes, position);
    }
    return;
  }
  if (value.kind != Value::Kind::kScalar) refuse("a value in memory that is no number", position);
  const ScalarType as = memories[place.memory].type;
  if (scalar_type(type, *this, position) != as) {
    refuse("a buffer written as another type", position);
  }
  store(place.memory, place.element,
        map([&](Ref a) { return is_float(a->type) == is_float(as) ? nodes_.cast(a, as) : a; },
            value.lanes),
        position);
}

}  // namespace hone::lift
