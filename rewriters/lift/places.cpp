// Places: what an expression names, and reading and writing there.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/lift/types.h"

namespace hone::nest {

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
        refuse(
            fmt::format("several dynamic shared arrays: '{}' and '{}'", other->name, variable.name),
            variable.name_range.begin);
      }
    }
  }
  if (variable.storage == Variable::Storage::kConstant ||
      variable.storage == Variable::Storage::kGlobal) {
    refuse(fmt::format("'{}', a variable at file scope, which hone does not follow", variable.name),
           variable.name_range.begin);
  }
  if (shared && !launched_.in_lockstep) {
    throw Refusal{fmt::format("'{}', shared memory of a function that hone did not see the kernel "
                              "call",
                              variable.name),
                  variable.name_range.begin, 0};
  }
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
        if (variable.init == nullptr) {
          refuse(fmt::format("'{}', a reference to what hone does not know", variable.name),
                 expr.position);
        }
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
      if (object.kind != Type::Kind::kVector) {
        refuse("a field of a struct in memory: " + quoted(expr), expr.position);
      }
      for (int i = 0; i < object.lanes; ++i) {
        if (expr.text == kFields[i]) {
          place.element =
              map([&](Ref a) { return nodes_.add(a, nodes_.integer(i)); }, place.element);
          return place;
        }
      }
      refuse("a field that hone does not follow: " + quoted(expr), expr.position);
    }
    case Kind::kSubscript: {
      const Expr& base = *expr.operands[0];
      const Value pointer = evaluate(base);
      if (pointer.kind != Value::Kind::kPointer) {
        refuse("a subscript of what hone does not know to be an array: " + quoted(expr),
               expr.position);
      }
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
        if (pointer.kind != Value::Kind::kPointer) {
          refuse("'*' of what hone does not know to be a pointer: " + quoted(expr), expr.position);
        }
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
  refuse("a place that hone does not follow: " + quoted(expr), expr.position);
}

Value Executor::read(const Place& place, const Type& type, int position) {
  if (place.variable != nullptr) {
    const Variable& variable = *place.variable;
    const auto found = state_.variables.find(&variable);
    if (found == state_.variables.end()) refuse(why_unknown(variable), position);
    const Value* value = &found->second;
    for (const std::string& field : place.fields) {
      const auto inner = value->fields.find(field);
      if (inner == value->fields.end()) refuse(unwritten(variable.name + "." + field), position);
      value = &inner->second;
    }
    if (value->kind == Value::Kind::kNone) refuse(why_unknown(variable), position);
    return *value;
  }
  if (type.kind == Type::Kind::kVector) {
    if (!type.element ||
        scalar_type(*type.element, *this, position) != memories[place.memory].type) {
      refuse(fmt::format("'{}' read as '{}'", memories[place.memory].name, type.spelling),
             position);
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
    refuse(fmt::format("'{}' read as '{}', a struct in memory", memories[place.memory].name,
                       type.spelling),
           position);
  }
  if (scalar_type(type, *this, position) != memories[place.memory].type) {
    refuse(fmt::format("'{}' read as '{}'", memories[place.memory].name, type.spelling), position);
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
    if (value.kind != Value::Kind::kFields) {
      refuse(fmt::format("a '{}' written to '{}' from what hone does not know to be one",
                         type.spelling, memories[place.memory].name),
             position);
    }
    for (int i = 0; i < type.lanes; ++i) {
      const auto field = value.fields.find(kFields[i]);
      if (field == value.fields.end() || field->second.kind != Value::Kind::kScalar) {
        refuse(fmt::format("a '{}' of which '.{}' is not known", type.spelling, kFields[i]),
               position);
      }
      store(place.memory,
            map([&](Ref a) { return nodes_.add(a, nodes_.integer(i)); }, place.element),
            field->second.lanes, position);
    }
    return;
  }
  if (value.kind != Value::Kind::kScalar) {
    refuse(fmt::format("a value that is no number written to '{}'", memories[place.memory].name),
           position);
  }
  const ScalarType as = memories[place.memory].type;
  if (scalar_type(type, *this, position) != as) {
    refuse(fmt::format("'{}' written as '{}'", memories[place.memory].name, type.spelling),
           position);
  }
  store(place.memory, place.element,
        map([&](Ref a) { return is_float(a->type) == is_float(as) ? nodes_.cast(a, as) : a; },
            value.lanes),
        position);
}

}  // namespace hone::nest
