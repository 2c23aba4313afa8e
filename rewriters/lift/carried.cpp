// What a loop carries from round to round: variables, their fields, elements of arrays.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/syntax/walk.h"

namespace hone::nest {

using syntax::Variable;

void Executor::collect(const Variable* variable, const Value& value,
                       std::vector<std::string> fields, std::vector<Carried>& all) {
  if (value.kind == Value::Kind::kFields) {
    for (const auto& [name, field] : value.fields) {
      std::vector<std::string> inner = fields;
      inner.push_back(name);
      collect(variable, field, std::move(inner), all);
    }
    return;
  }
  if (value.kind == Value::Kind::kNone) return;
  Carried one;
  one.variable = variable;
  one.fields = std::move(fields);
  one.before = value.lanes;
  all.push_back(std::move(one));
}

std::vector<Executor::Carried> Executor::carried_by(const LoopParts& loop) {
  std::vector<Carried> all;
  const syntax::Effects effects = syntax::effects_of(*loop.statement);
  for (const Variable* variable : effects.writes) {
    const Variable* target = variable;
    const auto value = state_.variables.find(target);
    if (value != state_.variables.end()) collect(target, value->second, {}, all);
    const auto memory = memory_ids_.find(target);
    if (memory == memory_ids_.end()) continue;
    const auto cells = state_.local.find(memory->second);
    if (cells == state_.local.end()) continue;
    for (const auto& [element, lanes] : cells->second) {
      Carried one;
      one.element = {memory->second, element};
      one.before = lanes;
      all.push_back(std::move(one));
    }
  }
  // Arrays that are written through pointers.
  if (effects.writes_memory) {
    for (const auto& [memory, cells] : state_.local) {
      for (const auto& [element, lanes] : cells) {
        const std::pair<int, std::int64_t> place{memory, element};
        nodes_.work(1 + all.size() / 32);
        if (std::ranges::find(all, place, &Carried::element) != all.end()) continue;
        Carried one;
        one.element = place;
        one.before = lanes;
        all.push_back(std::move(one));
      }
    }
  }
  for (Carried& one : all) name_phis(one);
  return all;
}

void Executor::name_phis(Carried& one) {
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref phi = nodes_.phi(lane(one.before, i)->type);
    one.phi.push_back(is_float(phi->type) || phi->type == ScalarType::kBool
                          ? phi
                          : nodes_.add(phi, nodes_.integer(0)));
  }
}

namespace {

bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.lanes != b.lanes || a.memory != b.memory) return false;
  return std::ranges::equal(a.fields, b.fields, [](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second, y.second);
  });
}

}  // namespace

bool Executor::carry_more(const LoopParts& loop, const State& before,
                          std::vector<Carried>& carried) {
  std::vector<Carried> more;
  std::size_t parts = before.variables.size() + before.cells.size();
  for (const auto& [memory, cells] : before.local) parts += cells.size();
  nodes_.work(parts * (1 + carried.size() / 32));
  for (const auto& [variable, value] : before.variables) {
    if (std::ranges::find(carried, variable, &Carried::variable) != carried.end()) continue;
    if (same(value, state_.variables[variable])) continue;
    if (variable->statement != nullptr && syntax::is_inside(variable->statement, loop.statement)) {
      continue;
    }
    const bool lives = std::ranges::any_of(
        frames_, [&](const Frame& frame) { return frame.function == variable->function; });
    if (lives) collect(variable, value, {}, more);
  }
  for (const auto& [memory, cells] : before.local) {
    for (const auto& [element, lanes] : cells) {
      const std::pair<int, std::int64_t> place{memory, element};
      if (std::ranges::find(carried, place, &Carried::element) != carried.end()) continue;
      const auto& now = state_.local[memory];
      const auto found = now.find(element);
      if (found != now.end() && found->second == lanes) continue;
      Carried one;
      one.element = place;
      one.before = lanes;
      more.push_back(std::move(one));
    }
  }
  // Elements that a loop around this one keeps.
  for (const auto& [cell, lanes] : before.cells) {
    if (std::ranges::find(carried, cell, &Carried::cell) != carried.end()) continue;
    const auto found = state_.cells.find(cell);
    if (found != state_.cells.end() && found->second == lanes) continue;
    Carried one;
    one.cell = cell;
    one.cell_guard = uniform(nodes_.boolean(true));
    one.before = lanes;
    more.push_back(std::move(one));
  }
  for (Carried& one : more) {
    name_phis(one);
    carried.push_back(std::move(one));
  }
  return !more.empty();
}

Lanes& Executor::slot(const Carried& carried) {
  if (carried.element.first >= 0) {
    return state_.local[carried.element.first][carried.element.second];
  }
  if (carried.variable == nullptr) return state_.cells[carried.cell];
  Value* value = &state_.variables[carried.variable];
  for (const std::string& field : carried.fields) value = &value->fields[field];
  return value->lanes;
}

bool Executor::find_cells(std::size_t first_store, SymbolId symbol, const Lanes& guard,
                          std::vector<Carried>& carried) {
  bool found = false;
  const Lanes outside = active();
  for (std::size_t i = first_store; i < stores.size(); ++i) {
    const Store& store = stores[i];
    if (store.combine || !store.symbols.empty()) continue;
    const bool fixed =
        std::ranges::all_of(store.element, [&](Ref e) { return !e->has_phi && !e->uses(symbol); });
    const std::pair<int, Lanes> cell{store.memory, store.element};
    const bool known = std::ranges::find(carried, cell, &Carried::cell) != carried.end();
    if (!fixed || known) continue;
    // Only where the rounds read it: what was there, or what has been stored before the loop.
    const auto reads = [&](const Load& load) {
      return load.memory == store.memory && load.element == lane(store.element, load.lane);
    };
    const auto stores_too = [&](const Store& other) {
      return other.memory == store.memory && other.element == store.element && !other.combine &&
             other.symbols.empty();
    };
    const bool read =
        std::ranges::any_of(loads_, reads) ||
        std::any_of(stores.begin(), stores.begin() + static_cast<std::ptrdiff_t>(first_store),
                    stores_too);
    if (!read) continue;
    // Who is in the loop at all, and meets what the loop does not change. Whether one of its
    // rounds stores may depend on the round only where the element has been stored before.
    const bool stored = std::ranges::any_of(stores, [&](const Store& other) {
      return &other < &stores[first_store] && other.memory == store.memory &&
             other.element == store.element && other.symbols.empty() && !other.combine &&
             other.guard == outside;
    });
    Carried one;
    one.cell = cell;
    for (std::size_t j = 0; j < lanes_; ++j) {
      Ref touches = nodes_.boolean(true);
      Facts facts;
      facts.add(lane(outside, j));
      Facts in_round;
      in_round.add(lane(guard, j));
      for (const Ref part : conjuncts(lane(store.guard, j))) {
        if (facts.prove(nodes_, part)) continue;
        if (in_round.prove(nodes_, part)) {
          touches = nodes_.both(touches, nodes_.substitute(part, {{symbol, nodes_.integer(0)}}));
        } else if (part->has_phi || part->uses(symbol)) {
          if (!stored) {
            refuse(fmt::format("an element of '{}' that only some rounds of a loop store",
                               memories[store.memory].name),
                   store.position);
          }
        } else {
          touches = nodes_.both(touches, part);
        }
      }
      one.cell_guard.push_back(stored ? nodes_.boolean(true) : touches);
    }
    shrink(one.cell_guard);
    for (std::size_t j = 0; j < lanes_; ++j) {
      const ScalarType type = memories[store.memory].type;
      const Ref phi = nodes_.phi(type);
      one.phi.push_back(is_float(type) ? phi : nodes_.add(phi, nodes_.integer(0)));
    }
    carried.push_back(std::move(one));
    found = true;
  }
  return found;
}

}  // namespace hone::nest
