// Loads and stores: what was written comes back as the value that was written.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/equations.h"
#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"

namespace hone::nest {

std::string Executor::may_be_written(int memory, const Store& store) const {
  return fmt::format("'{}' is read where it cannot be shown whether line {} has written it",
                     memories[memory].name, launched_.unit->line_of(store.position));
}

Ref Executor::load_global(int memory, Ref element, std::size_t lane_index, int position,
                          bool for_all) {
  const Lanes now = active();
  Facts facts;
  if (now.size() == 1 || !for_all) facts.add(lane(now, lane_index));
  for (const auto& [key, value] : state_.cells) {
    if (key.first != memory) continue;
    const Ref cell = lane(key.second, lane_index);
    if (cell == element) return lane(value, lane_index);
    if (!apart(nodes_, cell, element, facts)) {
      refuse(fmt::format("'{}' is read where it cannot be shown whether a loop has just written it",
                         memories[memory].name),
             position);
    }
  }
  // From the last store back to the first; those that may not have happened are kept as choices.
  std::vector<std::pair<Ref, Ref>> choices;
  Ref found = nullptr;
  for (auto store = stores.rbegin(); store != stores.rend() && found == nullptr; ++store) {
    nodes_.work();
    if (store->memory != memory) continue;
    const Ref at = lane(store->element, lane_index);
    Ref guard = lane(store->guard, lane_index), value = lane(store->value, lane_index);
    if (guard->is_constant() && guard->constant == 0) continue;
    if (store->combine)
      refuse(fmt::format("'{}' is read after an atomic operation on it", memories[memory].name),
             position);
    if (!store->symbols.empty()) {
      const auto solution = solve_for(nodes_, at, store->symbols, element);
      if (!solution) {
        if (apart(nodes_, at, element, facts)) continue;
        refuse(may_be_written(memory, *store), position);
      }
      guard = nodes_.substitute(guard, *solution);
      value = nodes_.substitute(value, *solution);
    } else if (at != element) {
      if (apart(nodes_, at, element, facts)) continue;
      refuse(may_be_written(memory, *store), position);
    }
    if (facts.prove(nodes_, guard)) {
      found = value;
    } else if (facts.prove(nodes_, nodes_.negate(guard))) {
      continue;
    } else {
      choices.emplace_back(guard, value);
    }
  }
  if (found == nullptr) {
    // One load for all lanes may be any lane's.
    const Ref who = now.size() > 1 && for_all ? nodes_.boolean(true) : lane(now, lane_index);
    loads_.push_back({memory, lane_index, element, who, open_loops_, position});
    found = nodes_.load(memories[memory].name, memories[memory].type, element);
    if (memories[memory].type == ScalarType::kI32 || memories[memory].type == ScalarType::kI64 ||
        memories[memory].type == ScalarType::kU32 || memories[memory].type == ScalarType::kI8 ||
        memories[memory].type == ScalarType::kU8) {
      found = nodes_.add(found, nodes_.integer(0));
    }
  }
  for (auto choice = choices.rbegin(); choice != choices.rend(); ++choice) {
    found = nodes_.select(choice->first, choice->second, found);
  }
  return found;
}

Lanes Executor::load(int memory, const Lanes& element, int position) {
  const Memory& from = memories[memory];
  Lanes result;
  if (dry_) {
    const bool known = from.kind == Memory::Kind::kLocal && element.size() == 1 &&
                       element[0]->is_constant() &&
                       state_.local[memory].contains(element[0]->constant);
    if (known) return state_.local[memory][element[0]->constant];
    for (std::size_t i = 0; i < lanes_; ++i) result.push_back(nodes_.phi(from.type));
    return result;
  }
  if (from.kind == Memory::Kind::kGlobal) {
    for (std::size_t i = 0; i < element.size(); ++i) {
      const Lanes now = active();
      const Ref runs = lane(now, i);
      if (now.size() > 1 && element.size() > 1 && runs->is_constant() && runs->constant == 0) {
        result.push_back(nodes_.identity(Op::kAdd, from.type));  // nobody looks
        continue;
      }
      result.push_back(load_global(memory, element[i], i, position, element.size() == 1));
    }
    shrink(result);
    return result;
  }
  if (from.kind == Memory::Kind::kLocal) {
    for (std::size_t i = 0; i < element.size(); ++i) {
      if (!element[i]->is_constant()) {
        refuse(fmt::format("the local array '{}' is indexed by what is not known", from.name),
               position);
      }
    }
    auto& cells = state_.local[memory];
    const std::size_t width = element.size();
    if (width == 1) {
      const auto found = cells.find(element[0]->constant);
      if (found == cells.end())
        refuse(unwritten(fmt::format("{}[{}]", from.name, element[0]->constant)), position);
      return found->second;
    }
    for (std::size_t i = 0; i < width; ++i) {
      const auto found = cells.find(element[i]->constant);
      if (found == cells.end())
        refuse(unwritten(fmt::format("{}[{}]", from.name, element[i]->constant)), position);
      result.push_back(lane(found->second, i));
    }
    shrink(result);
    return result;
  }
  return load_shared(memory, element, position);
}

void Executor::store(int memory, const Lanes& element, const Lanes& value, int position,
                     std::optional<Op> combine) {
  const Memory& to = memories[memory];
  const Lanes now = active();
  if (to.kind == Memory::Kind::kGlobal) {
    if (const auto runs = decided(now); runs && !*runs) return;
    if (!combine) {
      const auto cell = state_.cells.find({memory, element});
      if (cell != state_.cells.end()) {
        cell->second = choose(now, value, cell->second);
        return;
      }
    }
    for (const auto& [key, kept] : state_.cells) {
      if (key.first != memory || dry_) continue;
      for (std::size_t i = 0; i < std::max(element.size(), key.second.size()); ++i) {
        if (!apart(nodes_, lane(key.second, i), lane(element, i))) {
          refuse(fmt::format("two stores into '{}' in a loop that cannot be shown not to meet",
                             to.name),
                 position);
        }
      }
    }
    stores.push_back({memory, element, value, now, {}, combine, position});
    return;
  }
  if (dry_ && !std::ranges::all_of(element, &Node::is_constant)) return;
  const std::size_t width = std::max({element.size(), value.size(), now.size()});
  if (to.kind == Memory::Kind::kLocal) {
    for (const Ref at : element) {
      if (!at->is_constant()) {
        refuse(fmt::format("the local array '{}' is indexed by what is not known", to.name),
               position);
      }
    }
    Lanes stays = uniform(nodes_.boolean(true));
    const auto keep = [&](const Lanes& condition) {
      stays = map([&](Ref a, Ref b) { return nodes_.both(a, b); }, stays, condition);
    };
    for (const Lanes& exit : exits_) keep(exit);
    for (std::size_t i = 1; i < frames_.size(); ++i) keep(frames_[i].live);
    if (element.size() == 1) {
      Lanes& cell = state_.local[memory][element[0]->constant];
      cell = cell.empty() ? value : choose(stays, value, cell);
      return;
    }
    for (std::size_t i = 0; i < width; ++i) {
      Lanes& cell = state_.local[memory][lane(element, i)->constant];
      if (cell.empty()) {
        cell.assign(lanes_, lane(value, i));
      } else {
        if (cell.size() == 1) cell.assign(lanes_, cell[0]);
        cell[i] = nodes_.select(lane(stays, i), lane(value, i), cell[i]);
      }
    }
    return;
  }
  store_shared(memory, element, value, position, combine);
}

void Executor::barrier(int position) {
  // In lockstep every thread has done what comes before.
  if (!launched_.in_lockstep) {
    refuse("a barrier in a function that hone did not see the kernel call", position);
  }
}

/// May the store of one lane of a block, at any of its points, meet a load of what was there before
/// the launch, at another point or after it at the same?
bool Executor::may_meet(const Load& load, const Store& store, std::size_t lane_index) {
  const Ref at = lane(store.element, lane_index), guard = lane(store.guard, lane_index);
  if (guard->is_constant() && guard->constant == 0) return false;
  if (load.active->is_constant() && load.active->constant == 0) return false;
  const bool same_lane = !launched_.in_lockstep || lane_index == load.lane;
  std::vector<SymbolId> all = store.symbols;
  for (int axis = 0; axis < 3; ++axis) {
    all.push_back(block[axis]);
    if (!launched_.in_lockstep) all.push_back(thread[axis]);
  }
  // The store as if its indices were others'.
  Nodes::Substitution others;
  std::vector<SymbolId> other_symbols;
  std::map<SymbolId, SymbolId> original;
  for (const SymbolId symbol : all) {
    const SymbolId other = nodes_.new_symbol("other", nodes_.extent(symbol));
    others[symbol] = nodes_.index(other);
    other_symbols.push_back(other);
    original[other] = symbol;
  }
  const Ref element = nodes_.substitute(at, others);
  Facts facts;
  facts.add(load.active);
  const Facts loaded = facts;
  facts.add(nodes_.substitute(guard, others));
  if (apart(nodes_, element, load.element, facts)) return false;
  if (!same_lane) return true;
  // The same element as the same point's: others do not write it, else the store is refused. So
  // too where a loop stores what a loop before it has loaded.
  Nodes::Substitution renamed;
  bool alike = store.symbols.size() == load.loops.size();
  for (std::size_t i = 0; alike && i < load.loops.size(); ++i) {
    const SymbolId mine = store.symbols[store.symbols.size() - 1 - i], its = load.loops[i];
    if (mine == its && renamed.empty()) continue;
    alike = nodes_.extent(mine) == nodes_.extent(its) &&
            std::ranges::find(load.loops, mine) == load.loops.end();
    renamed[mine] = nodes_.index(its);
  }
  if (store.symbols.empty() || alike) {
    Ref inside = nodes_.boolean(true);
    const Ref own = nodes_.substitute(guard, renamed);
    for (const Ref part : conjuncts(own))
      if (!part->has_load) inside = nodes_.both(inside, part);
    if (nodes_.substitute(at, renamed) == load.element && loaded.prove(nodes_, inside))
      return false;
  }
  // A thread index made of block and thread counts as one.
  const auto solution = solve_for(nodes_, element, other_symbols, load.element);
  if (!solution) return true;
  for (const auto& [symbol, value] : *solution) {
    const SymbolId mine = original[symbol];
    if (value == nodes_.index(mine)) continue;
    const bool of_loop = std::ranges::find(store.symbols, mine) != store.symbols.end();
    const bool within = std::ranges::find(load.loops, mine) != load.loops.end();
    // A loop that the load is not in comes before or after it as a whole.
    if (of_loop && !within) continue;
    return true;
  }
  return false;
}

void Executor::check_in_place() {
  for (const Load& load : loads_) {
    for (const Store& store : stores) {
      if (store.memory != load.memory) continue;
      bool meet = store.combine.has_value();
      const std::size_t width = launched_.in_lockstep ? lanes_ : 1;
      for (std::size_t i = 0; i < width && !meet; ++i) meet = may_meet(load, store, i);
      if (meet) {
        refuse(
            fmt::format("'{}' is read here and written at line {} by threads that cannot be shown "
                        "not to meet",
                        memories[load.memory].name, launched_.unit->line_of(store.position)),
            load.position);
      }
    }
  }
}

}  // namespace hone::nest
