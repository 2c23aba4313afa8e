// A loop run once with an unknown index: how many rounds, what each does, what is left.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"

namespace hone::nest {

void Executor::rewind(const Rounds& rounds) {
  state_ = rounds.before;
  (void)copied();
  frames_ = rounds.frames;
  stores.resize(rounds.first_store);
  loads_.resize(rounds.first_load);
}

/// Where the inductions are as functions of the round.
Lanes Executor::at_round(const Carried& one, Ref index) {
  return map([&](Ref start, Ref step) { return nodes_.add(start, nodes_.multiply(index, step)); },
             one.before, one.step);
}

/// Inductions: what a round changes by a constant.
void Executor::find_inductions(Rounds& rounds) {
  const auto phis = [&] {
    std::vector<Lanes> values;
    for (const Carried& one : rounds.carried) values.push_back(one.phi);
    return values;
  };
  dry_ = true;
  round(*rounds.loop, rounds.carried, phis());
  // What is written through other names shows in what has changed.
  while (carry_more(*rounds.loop, rounds.before, rounds.carried)) {
    rewind(rounds);
    round(*rounds.loop, rounds.carried, phis());
  }
  dry_ = false;
  rewind(rounds);
  for (Carried& one : rounds.carried) {
    Lanes step;
    for (std::size_t i = 0; i < lanes_; ++i) {
      const Ref phi = lane(one.phi, i), after = lane(one.after, i);
      if (is_float(phi->type) || phi->type == ScalarType::kBool) break;
      const Ref change = nodes_.subtract(after, phi);
      if (!change->is_constant() || change->constant == 0) break;
      step.push_back(change);
    }
    if (step.size() == lanes_) one.step = step;
  }
}

/// From one part of the condition: "c - a * round >= 0" or "c - a * round != 0".
Executor::Trips Executor::trips_of(Ref part, SymbolId unknown, int position) {
  const auto no_bound = [&] { refuse("a loop whose number of rounds is not known", position); };
  const bool differs = part->is(Op::kNot) && part->args[0]->is(Op::kIsZero);
  if (!part->is(Op::kNonNegative) && !differs) no_bound();
  const Ref sum = differs ? part->args[0]->args[0] : part->args[0];
  const Ref atom = peel(nodes_.index(unknown));
  std::int64_t coefficient = 0;
  bool linear = true;
  for (const Term& term : sum->terms) {
    if (term.atom == atom) {
      coefficient = term.coefficient;
    } else if (term.atom->uses(unknown)) {
      linear = false;
    }
  }
  Ref rest = nodes_.subtract(sum, nodes_.scale(atom, coefficient));
  if (differs && coefficient > 0) {
    coefficient = -coefficient;
    rest = nodes_.scale(rest, -1);
  }
  if (!linear || coefficient >= 0) no_bound();
  const auto range = nodes_.range(rest);
  if (!range) return {};
  if (differs) {
    if (!rest->is_constant() || rest->constant % coefficient != 0 || rest->constant < 0) {
      no_bound();
    }
    const std::int64_t exact = rest->constant / -coefficient;
    return {exact, nodes_.integer(exact)};
  }
  Trips trips;
  trips.most = range->high < 0 ? 0 : range->high / -coefficient + 1;
  if (range->low + -coefficient >= 0) {
    trips.exact =
        nodes_.divide(nodes_.add(rest, nodes_.integer(-coefficient)), nodes_.integer(-coefficient));
  }
  return trips;
}

/// How many rounds: the condition with the inductions as functions of the round. Returns what the
/// condition loads.
std::vector<Executor::Load> Executor::count_rounds(Rounds& rounds) {
  const int position = rounds.loop->statement->position;
  const SymbolId unknown = nodes_.new_symbol("round", std::int64_t{1} << 40);
  for (const Carried& one : rounds.carried) {
    slot(one) = one.step.empty() ? one.phi : at_round(one, nodes_.index(unknown));
  }
  counting_ = true;
  const Lanes test = truth(*rounds.loop->condition);
  counting_ = false;
  std::vector<Load> loads(loads_.begin() + static_cast<std::ptrdiff_t>(rounds.first_load),
                          loads_.end());
  rewind(rounds);
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref condition = lane(test, i);
    if (condition->is_constant() && condition->constant == 0) {
      rounds.trips.push_back(nodes_.integer(0));
      continue;
    }
    Trips all;
    const std::vector<Ref> parts = conjuncts(condition);
    for (const Ref part : parts) {
      // Once false it must stay false: else it were a filter.
      if (part->has_phi) refuse("a loop whose number of rounds is not known", position);
      if (!part->uses(unknown)) continue;
      const Trips some = trips_of(part, unknown, position);
      if (some.most < 0) continue;
      if (all.most < 0 || some.most < all.most) all.most = some.most;
      all.exact = some.exact;
    }
    if (all.most < 0) refuse("a loop whose number of rounds is not known", position);
    rounds.count = std::max(rounds.count, all.most);
    rounds.trips.push_back(parts.size() == 1 ? all.exact : nullptr);
  }
  return loads;
}

/// A function of the round alone: kept, changed to what has no phi, or folded with such.
bool Executor::is_settled(const Carried& one) const {
  for (std::size_t i = 0; i < lanes_; ++i) {
    if (lane(one.after, i) == lane(one.phi, i) || !lane(one.after, i)->has_phi) continue;
    if (!one.folds[i] || one.folds[i]->more->has_phi) return false;
  }
  return true;
}

/// Does anything that a round leaves behind depend on what is carried and not known?
bool Executor::leaves_phis(const Rounds& rounds) const {
  const auto has = [](const Lanes& lanes) { return std::ranges::any_of(lanes, &Node::has_phi); };
  for (std::size_t i = rounds.first_store; i < stores.size(); ++i)
    if (has(stores[i].element) || has(stores[i].value) || has(stores[i].guard)) return true;
  return has(rounds.guard);
}

/// Finds folds; is each carried value one, or part of one?
bool Executor::all_folds(Rounds& rounds) {
  // Each is looked for among the others.
  nodes_.work(rounds.carried.size() * rounds.carried.size() / 64);
  for (Carried& one : rounds.carried) {
    if (!one.step.empty() || !one.result.empty()) continue;
    one.folds.assign(lanes_, std::nullopt);
    for (std::size_t i = 0; i < lanes_; ++i) {
      const Ref phi = lane(one.phi, i), next = lane(one.after, i);
      if (next != phi && next->has_phi) one.folds[i] = as_fold(nodes_, phi, next);
    }
  }
  bool all = true;
  for (Carried& one : rounds.carried) {
    if (!one.step.empty() || !one.result.empty() || is_settled(one)) continue;
    all = (fold_arg(rounds.carried, one, rounds.symbol, rounds.guard) ||
           fold_arg_alone(one, rounds.symbol, rounds.guard) ||
           fold_online(rounds.carried, one, rounds.symbol, rounds.guard) ||
           fold_mean(one, rounds) || fold_squares(rounds.carried, one, rounds)) &&
          all;
  }
  return all;
}

/// What it is at the start of round `symbol`.
Lanes Executor::at_start(const Carried& one, const Rounds& rounds) {
  Lanes start;
  const SymbolId symbol = rounds.symbol;
  const SymbolId earlier = nodes_.new_symbol(nodes_.symbol(symbol).name + "'", rounds.count);
  const Nodes::Substitution rename{{symbol, nodes_.index(earlier)}};
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref first = lane(one.before, i), next = lane(one.after, i);
    const Ref always = lane(rounds.guard, i);
    if (next == lane(one.phi, i)) {
      start.push_back(first);
    } else if (next->has_phi && one.folds[i]->op == Op::kAdd && !one.folds[i]->more->uses(symbol) &&
               always->is_constant() && always->constant != 0) {
      // A count.
      const Ref more = one.folds[i]->more,
                rounds_before = nodes_.cast(nodes_.index(symbol), first->type);
      start.push_back(nodes_.op(Op::kAdd, first->type,
                                {first, nodes_.op(Op::kMul, first->type, {rounds_before, more})}));
    } else if (!next->has_phi) {
      const Ref last = nodes_.substitute(
          next, {{symbol, nodes_.subtract(nodes_.index(symbol), nodes_.integer(1))}});
      start.push_back(nodes_.select(nodes_.is_zero(nodes_.index(symbol)), first, last));
    } else {
      const Folded& fold = *one.folds[i];
      const Ref happened = nodes_.both(nodes_.less(nodes_.index(earlier), nodes_.index(symbol)),
                                       nodes_.substitute(lane(rounds.guard, i), rename));
      const Ref more = nodes_.select(happened, nodes_.substitute(fold.more, rename),
                                     nodes_.identity(fold.op, first->type));
      start.push_back(
          nodes_.op(fold.op, first->type, {first, nodes_.reduce(fold.op, {earlier}, more)}));
    }
  }
  shrink(start);
  return start;
}

std::string Executor::name_of(const Carried& one) const {
  if (one.cell.first >= 0) return fmt::format("an element of '{}'", memories[one.cell.first].name);
  if (one.element.first >= 0) {
    return fmt::format("'{}[{}]'", memories[one.element.first].name, one.element.second);
  }
  std::string name = one.variable->name;
  for (const std::string& field : one.fields) name += "." + field;
  return "'" + name + "'";
}

/// Makes known what is settled. Throws where nothing is.
void Executor::settle(Rounds& rounds) {
  bool progress = false;
  for (std::size_t n = 0; n < rounds.carried.size(); ++n) {
    Carried& one = rounds.carried[n];
    if (!one.step.empty() || rounds.known[n] || !one.result.empty() || !is_settled(one)) continue;
    const Lanes start = at_start(one, rounds);
    // A fold that is known keeps its result: after this try its value has no phi.
    bool all_fold = true;
    for (std::size_t i = 0; i < lanes_; ++i) {
      all_fold &= lane(one.after, i) == lane(one.phi, i) || one.folds[i].has_value();
    }
    if (all_fold) one.result = folded(one, rounds.symbol, rounds.guard);
    rounds.known[n] = start;
    progress = true;
  }
  if (progress) return;
  std::string what = "a value";
  for (const Carried& one : rounds.carried) {
    if (one.step.empty() && one.result.empty() && !is_settled(one)) what = name_of(one);
  }
  throw Refusal{fmt::format("{}, which a loop carries from round to round, cannot be shown to be a "
                            "reduction or a prefix",
                            what),
                rounds.loop->statement->position, 64};
}

/// Rounds with the inductions known; what else is carried stands for itself until it is known as a
/// function of the round, which may take as many tries as there are things carried.
void Executor::run_rounds(Rounds& rounds) {
  std::vector<Carried>& carried = rounds.carried;
  for (bool looked = false;;) {
    std::vector<Lanes> values;
    rounds.known.resize(carried.size());
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const Carried& one = carried[i];
      if (!one.step.empty()) {
        values.push_back(at_round(one, nodes_.index(rounds.symbol)));
      } else {
        values.push_back(rounds.known[i] ? *rounds.known[i] : one.phi);
      }
    }
    rounds.guard = round(*rounds.loop, carried, values, rounds.symbol);
    rounds.after = state_;
    if (left_early_) {
      if (has_effects(*rounds.loop->condition)) {
        throw Refusal{"a loop that is left early", rounds.loop->statement->position, 64};
      }
      rounds.left_early = true;
      std::ranges::fill(rounds.trips, nullptr);
    }
    if (carry_more(*rounds.loop, rounds.before, carried)) {
      rewind(rounds);
      continue;
    }
    const bool looks = !looked && rounds.count > 1;
    looked = true;
    if (looks && find_cells(rounds.first_store, rounds.symbol, rounds.guard, carried)) {
      rewind(rounds);
      for (Carried& one : carried) {
        if (one.cell.first < 0 || !one.before.empty()) continue;
        path_.push_back(one.cell_guard);
        one.before = load(one.cell.first, one.cell.second, rounds.loop->statement->position);
        path_.pop_back();
      }
      rounds.first_load = loads_.size();
      continue;
    }
    if (all_folds(rounds) && !leaves_phis(rounds)) return;
    settle(rounds);
    rewind(rounds);
  }
}

/// What a carried value is after the loop; null: not known.
Lanes Executor::result_of(const Carried& one, const std::optional<Lanes>& known,
                          const Rounds& rounds) {
  if (!one.result.empty()) return one.result;
  const bool always = decided(rounds.guard).value_or(false) && !rounds.left_early;
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    if (!one.step.empty()) {
      const Ref trips = rounds.trips[i];
      result.push_back(trips == nullptr
                           ? nullptr
                           : nodes_.add(lane(one.before, i), nodes_.multiply(trips, one.step[i])));
      continue;
    }
    const Ref phi = lane(one.phi, i), next = lane(one.after, i);
    if (next == phi || (known && next == lane(*known, i))) {
      result.push_back(lane(one.before, i));
    } else if (next->has_phi) {
      result.push_back(folded(one, i, rounds.symbol, rounds.guard));
    } else {
      const Ref last = nodes_.integer(rounds.count - 1);
      result.push_back(always ? nodes_.substitute(next, {{rounds.symbol, last}}) : nullptr);
    }
  }
  return result;
}

/// Shared memory: what the last round left.
void Executor::leave_shared(Rounds& rounds) {
  const bool always = decided(rounds.guard).value_or(false) && !rounds.left_early;
  const Nodes::Substitution last{{rounds.symbol, nodes_.integer(rounds.count - 1)}};
  if (rounds.count == 1 && !rounds.left_early) {  // all of them
    state_ = rounds.before;
    state_.shared = rounds.after.shared;
    state_.shared_guards = rounds.after.shared_guards;
    return;
  }
  auto shared = rounds.after.shared;
  for (auto& [memory, cells] : shared) {
    for (auto cell = cells.begin(); cell != cells.end();) {
      const auto& old = rounds.before.shared;
      const auto same = old.find(memory);
      const bool kept = same != old.end() && same->second.contains(cell->first) &&
                        same->second.at(cell->first) == cell->second;
      if (kept) {
        ++cell;
      } else if (always && !cell->second->has_phi) {
        cell->second = nodes_.substitute(cell->second, last);
        ++cell;
      } else {
        cell = cells.erase(cell);
      }
    }
  }
  auto shared_guards = rounds.before.shared_guards;
  for (const auto& [cell, guard_of] : rounds.after.shared_guards) {
    const auto memory = shared.find(cell.first);
    if (memory == shared.end() || !memory->second.contains(cell.second)) continue;
    shared_guards[cell] = nodes_.substitute(guard_of, last);
  }
  state_ = rounds.before;
  state_.shared = std::move(shared);
  state_.shared_guards = std::move(shared_guards);
}

/// The state after the loop.
void Executor::finish(Rounds& rounds) {
  const int position = rounds.loop->statement->position;
  std::vector<Lanes> results;
  for (std::size_t n = 0; n < rounds.carried.size(); ++n)
    results.push_back(result_of(rounds.carried[n], rounds.known[n], rounds));
  leave_shared(rounds);
  for (std::size_t i = rounds.first_store; i < stores.size(); ++i)
    stores[i].symbols.push_back(rounds.symbol);
  for (std::size_t n = 0; n < rounds.carried.size(); ++n) {
    const Carried& one = rounds.carried[n];
    const bool unknown = std::ranges::find(results[n], nullptr) != results[n].end();
    shrink(results[n]);
    if (one.cell.first >= 0) {
      if (unknown) {
        refuse(fmt::format("{} whose value after the loop is not known", name_of(one)), position);
      }
      path_.push_back(one.cell_guard);
      store(one.cell.first, one.cell.second, results[n], position);
      path_.pop_back();
    } else if (!unknown) {
      slot(one) = results[n];
    } else if (one.element.first >= 0) {
      state_.local[one.element.first].erase(one.element.second);
    } else {
      state_.variables[one.variable] = {};
      lost_[one.variable] = position;
    }
  }
}

void Executor::run_symbolic(const LoopParts& loop, std::optional<std::int64_t>& known) {
  Rounds rounds;
  rounds.loop = &loop;
  rounds.before = state_;
  rounds.frames = frames_;
  rounds.first_store = stores.size();
  rounds.first_load = loads_.size();
  rounds.carried = carried_by(loop);
  find_inductions(rounds);
  const std::vector<Load> test_loads = count_rounds(rounds);
  const auto same = [&](Ref trips) {
    return trips != nullptr && trips->is_constant() && trips->constant == rounds.count;
  };
  if (std::ranges::any_of(rounds.trips, same)) known = rounds.count;
  // What the condition does is done once more than the rounds.
  const bool condition_acts = has_effects(*loop.condition);
  if (rounds.count == 0) {
    if (condition_acts) truth(*loop.condition);
    return;
  }
  std::string name = "i";
  for (const Carried& one : rounds.carried) {
    if (!one.step.empty() && one.variable != nullptr) name = one.variable->name;
  }
  rounds.symbol = nodes_.new_symbol(name, rounds.count);
  run_rounds(rounds);
  for (const Load& load : test_loads) {
    for (std::size_t i = rounds.first_store; i < stores.size(); ++i) {
      if (stores[i].memory == load.memory) {
        refuse("a loop whose number of rounds is not known", loop.statement->position);
      }
    }
  }
  finish(rounds);
  if (condition_acts) truth(*loop.condition);
}

}  // namespace hone::nest
