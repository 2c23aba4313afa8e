// Loops: one round with an unknown index, and what the rounds come to together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/syntax/walk.h"

namespace hone::lift {

using syntax::Stmt;
using syntax::Variable;

namespace {

bool depends(Ref value, Ref phi) {
  if (!value->has_phi) return false;
  if (value == phi) return true;
  for (const Ref arg : value->args)
    if (depends(arg, phi)) return true;
  for (const Term& term : value->terms)
    if (depends(term.atom, phi)) return true;
  return false;
}

bool folds(std::string_view op) {
  return op == "+" || op == "*" || op == "min" || op == "max" || op == "&" || op == "|" ||
         op == "^";
}

}  // namespace

std::optional<Folded> as_fold(Nodes& nodes, Ref phi, Ref after) {
  const Ref before = peel(phi);
  if (!depends(after, before)) return std::nullopt;
  const auto join = [&](const std::string& op, Ref a, Ref b) {
    return nodes.op(op, after->type, {a, b});
  };
  if (after->kind == Node::Kind::kSum) {
    if (peel(after) == before) return std::nullopt;
    const Ref inner = peel(after);
    if (inner == after || inner->kind == Node::Kind::kSum) {
      // before + more, as an integer sum.
      Ref more = after;
      bool found = false;
      for (const Term& term : after->terms) {
        if (term.atom == before && term.coefficient == 1) {
          more = nodes.subtract(after, term.atom);
          found = true;
        }
      }
      if (found) {
        if (depends(more, before)) return std::nullopt;
        return Folded{"+", more};
      }
      // (select(c, before + x, before)) + y and the like.
      for (const Term& term : after->terms) {
        if (term.coefficient != 1 || !depends(term.atom, before)) continue;
        const Ref others = nodes.subtract(after, term.atom);
        if (depends(others, before)) return std::nullopt;
        const auto part = as_fold(nodes, phi, term.atom);
        if (!part || part->op != "+") return std::nullopt;
        return Folded{"+", nodes.add(part->more, others)};
      }
      return std::nullopt;
    }
    return as_fold(nodes, phi, inner);
  }
  if (after->kind != Node::Kind::kOp) return std::nullopt;
  if (after->is("select")) {
    // c && before < x ? x : before.
    if (depends(after->args[0], before) && peel(after->args[2]) == before) {
      Ref rest = nodes.boolean(true);
      std::string op;
      for (const Ref part : conjuncts(after->args[0])) {
        const bool orders = part->is("<") || part->is("<=");
        if (!depends(part, before)) {
          rest = nodes.both(rest, part);
        } else if (op.empty() && orders && part->args[0] == before &&
                   part->args[1] == after->args[1]) {
          op = "max";
        } else if (op.empty() && orders && part->args[1] == before &&
                   part->args[0] == after->args[1]) {
          op = "min";
        } else {
          return std::nullopt;
        }
      }
      if (op.empty() || depends(after->args[1], before)) return std::nullopt;
      return Folded{op, nodes.select(rest, after->args[1], nodes.identity(op, after->type))};
    }
    if (depends(after->args[0], before)) return std::nullopt;
    std::optional<Folded> sides[2];
    std::string op;
    for (int i = 0; i < 2; ++i) {
      const Ref side = after->args[1 + i];
      if (peel(side) == before) continue;
      sides[i] = as_fold(nodes, phi, side);
      if (!sides[i] || (!op.empty() && op != sides[i]->op)) return std::nullopt;
      op = sides[i]->op;
    }
    if (op.empty()) return std::nullopt;
    const Ref nothing = nodes.identity(op, after->type);
    return Folded{op, nodes.select(after->args[0], sides[0] ? sides[0]->more : nothing,
                                   sides[1] ? sides[1]->more : nothing)};
  }
  if (after->is("fma")) {
    const Ref product = nodes.op("*", after->type, {after->args[0], after->args[1]});
    if (depends(product, before)) return std::nullopt;
    if (after->args[2] == before) return Folded{"+", product};
    const auto inner = as_fold(nodes, phi, after->args[2]);
    if (!inner || inner->op != "+") return std::nullopt;
    return Folded{"+", join("+", inner->more, product)};
  }
  if (after->is("-") && depends(after->args[0], before)) {
    const Ref minus = nodes.op("neg", after->type, {after->args[1]});
    if (depends(minus, before)) return std::nullopt;
    if (after->args[0] == before) return Folded{"+", minus};
    const auto inner = as_fold(nodes, phi, after->args[0]);
    if (!inner || inner->op != "+") return std::nullopt;
    return Folded{"+", join("+", inner->more, minus)};
  }
  if (!folds(after->op) || after->args.size() != 2) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const Ref side = after->args[i], other = after->args[1 - i];
    if (!depends(side, before) || depends(other, before)) continue;
    if (peel(side) == before) return Folded{after->op, other};
    const auto inner = as_fold(nodes, phi, side);
    if (!inner || inner->op != after->op) return std::nullopt;
    return Folded{after->op, join(after->op, inner->more, other)};
  }
  return std::nullopt;
}

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

bool has_effects(const syntax::Expr& expr) {
  using Kind = syntax::Expr::Kind;
  bool found = false;
  syntax::for_each_expr(expr, [&](const syntax::Expr& part) {
    found = found || part.kind == Kind::kAssign ||
            (part.kind == Kind::kCall && part.callee != nullptr) ||
            (part.kind == Kind::kUnary && part.text.size() == 3);
  });
  return found;
}

}  // namespace

bool Executor::carry_more(const LoopParts& loop, const State& before,
                          std::vector<Carried>& carried) {
  std::vector<Carried> more;
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

Lanes Executor::round(const LoopParts& loop, std::vector<Carried>& carried,
                      const std::vector<Lanes>& values, SymbolId symbol) {
  if (symbol >= 0) open_loops_.push_back(symbol);
  for (std::size_t i = 0; i < carried.size(); ++i) {
    slot(carried[i]) = values[i];
    shrink(slot(carried[i]));
  }
  Lanes condition = uniform(nodes_.boolean(true));
  if (loop.condition != nullptr) condition = truth(*loop.condition);
  path_.push_back(condition);
  loop_paths_.push_back(path_.size());
  loop_unrolls_.push_back(false);
  exits_.push_back(uniform(nodes_.boolean(true)));
  breaks_.push_back(uniform(nodes_.boolean(true)));
  const auto early = std::move(shared_read_early_);
  const auto written = std::move(shared_written_);
  shared_read_early_.clear();
  shared_written_.clear();
  run(*loop.body);
  exits_.pop_back();
  breaks_.pop_back();
  loop_paths_.pop_back();
  loop_unrolls_.pop_back();
  if (loop.step != nullptr) evaluate(*loop.step);
  path_.pop_back();
  if (symbol >= 0) open_loops_.pop_back();
  for (const auto& cell : shared_read_early_) {
    if (shared_written_.contains(cell)) {
      refuse("shared memory that one round of a loop leaves to the next", loop.statement->position);
    }
    if (written.contains(cell)) continue;
    shared_read_early_.insert(cell);
  }
  shared_read_early_.insert(early.begin(), early.end());
  for (const auto& cell : written) shared_read_early_.erase(cell);
  shared_read_early_.insert(early.begin(), early.end());
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i].after = slot(carried[i]);
  return condition;
}

/// Memory is unknown here: what the loop may write becomes so, too.
void Executor::run_dry(const LoopParts& loop) {
  std::vector<Carried> carried = carried_by(loop);
  std::vector<Lanes> values;
  for (const Carried& one : carried) values.push_back(one.phi);
  const std::size_t first_store = stores.size();
  const State before = state_;
  round(loop, carried, values);
  stores.resize(first_store);
  carry_more(loop, before, carried);
  for (const Carried& one : carried) {
    Lanes unknown;
    for (const Ref phi : one.phi) {
      const Ref fresh = nodes_.phi(peel(phi)->type);
      unknown.push_back(is_float(fresh->type) || fresh->type == ScalarType::kBool
                            ? fresh
                            : nodes_.add(fresh, nodes_.integer(0)));
    }
    slot(one) = unknown;
  }
}

Lanes Executor::folded(const Carried& one, SymbolId symbol, const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref before = lane(one.before, i);
    if (lane(one.after, i) == lane(one.phi, i)) {
      result.push_back(before);
      continue;
    }
    const Folded& fold = *one.folds[i];
    const Ref nothing = nodes_.identity(fold.op, before->type);
    const Ref whole =
        nodes_.reduce(fold.op, {symbol}, nodes_.select(lane(guard, i), fold.more, nothing));
    result.push_back(nodes_.op(fold.op, before->type, {before, whole}));
  }
  shrink(result);
  return result;
}

bool Executor::find_cells(std::size_t first_store, SymbolId symbol, const Lanes& guard,
                          std::vector<Carried>& carried) {
  bool found = false;
  const Lanes outside = active();
  for (std::size_t i = first_store; i < stores.size(); ++i) {
    const Store& store = stores[i];
    if (!store.combine.empty() || !store.symbols.empty()) continue;
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
      return other.memory == store.memory && other.element == store.element &&
             other.combine.empty() && other.symbols.empty();
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
             other.element == store.element && other.symbols.empty() && other.combine.empty() &&
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
            refuse("an element that some rounds of a loop store", store.position);
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

/// best and where: `where` changes when `best` does.
bool Executor::fold_arg(std::vector<Carried>& carried, Carried& one, SymbolId symbol,
                        const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref after = peel(lane(one.after, i)), phi = lane(one.phi, i);
    if (!after->is("select") || peel(after->args[2]) != peel(phi) || after->args[1]->has_phi) {
      return false;
    }
    Ref found = nullptr;
    for (const Carried& best : carried) {
      if (&best == &one || best.folds.empty() || !best.folds[i]) continue;
      const Folded& fold = *best.folds[i];
      if (fold.op != "max" && fold.op != "min") continue;
      const Ref before = peel(lane(best.phi, i));
      Ref rest = nodes_.boolean(true), compared = nullptr;
      for (const Ref part : conjuncts(after->args[0])) {
        if (!part->has_phi) {
          rest = nodes_.both(rest, part);
        } else if (part->is("<") && part->args[fold.op == "max" ? 0 : 1] == before) {
          compared = part->args[fold.op == "max" ? 1 : 0];
        } else {
          compared = nullptr;
          break;
        }
      }
      const Ref nothing = nodes_.identity(fold.op, fold.more->type);
      if (compared == nullptr || nodes_.select(rest, compared, nothing) != fold.more) continue;
      const Ref values = nodes_.select(lane(guard, i), fold.more, nothing);
      const Ref extreme = nodes_.reduce(fold.op, {symbol}, values);
      const Ref place = nodes_.reduce("arg" + fold.op, {symbol}, values);
      const Ref value = nodes_.substitute(after->args[1], {{symbol, place}});
      const Ref start = lane(best.before, i);
      const Ref better = fold.op == "max" ? nodes_.op("<", ScalarType::kBool, {start, extreme})
                                          : nodes_.op("<", ScalarType::kBool, {extreme, start});
      found = nodes_.select(better, value, lane(one.before, i));
      break;
    }
    if (found == nullptr) return false;
    result.push_back(found);
  }
  shrink(result);
  one.result = result;
  return true;
}

namespace {

/// The factors of a product of floats.
void factors(Ref value, std::vector<Ref>& all) {
  if (value->is("*")) {
    factors(value->args[0], all);
    factors(value->args[1], all);
  } else {
    all.push_back(value);
  }
}

}  // namespace

/// s = s * exp(m - m') + w * exp(x - m') with m' = max(m, x): the sum of w * exp(x - max).
bool Executor::fold_online(std::vector<Carried>& carried, Carried& one, SymbolId symbol,
                           const Lanes& guard) {
  Lanes result;
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref after = lane(one.after, i), phi = lane(one.phi, i);
    Ref left = nullptr, right = nullptr;
    if (after->is("+")) {
      left = after->args[0];
      right = after->args[1];
    } else if (after->is("fma")) {
      left = nodes_.op("*", after->type, {after->args[0], after->args[1]});
      right = after->args[2];
    } else {
      return false;
    }
    if (!depends(left, phi)) std::swap(left, right);
    Ref found = nullptr;
    for (const Carried& top : carried) {
      if (&top == &one || top.folds.empty() || !top.folds[i] || top.folds[i]->op != "max") continue;
      const Ref before = lane(top.phi, i), now = lane(top.after, i), x = top.folds[i]->more;
      std::vector<Ref> scaled, added;
      factors(left, scaled);
      factors(right, added);
      std::string function;
      const auto is_exp_of = [&](Ref value, Ref from) {
        if (value->kind != Node::Kind::kOp || value->args.size() != 1) return false;
        if (value->op != "exp" && value->op != "__expf" && value->op != "exp2") return false;
        const Ref over = value->args[0];
        if (!over->is("-") || over->args[0] != from || over->args[1] != now) return false;
        function = value->op;
        return true;
      };
      const auto take = [&](std::vector<Ref>& all, auto&& wanted) {
        const auto place = std::ranges::find_if(all, wanted);
        if (place == all.end()) return false;
        all.erase(place);
        return true;
      };
      if (!take(scaled, [&](Ref f) { return f == phi; })) continue;
      if (!take(scaled, [&](Ref f) { return is_exp_of(f, before); }) || !scaled.empty()) continue;
      if (!take(added, [&](Ref f) { return is_exp_of(f, x); })) continue;
      if (std::ranges::any_of(added, &Node::has_phi)) continue;
      const ScalarType type = after->type;
      const Ref start = lane(top.before, i);
      const Ref most = nodes_.op(
          "max", type,
          {start, nodes_.reduce("max", {symbol},
                                nodes_.select(lane(guard, i), x, nodes_.identity("max", type)))});
      Ref term = nodes_.op(function, type, {nodes_.op("-", type, {x, most})});
      for (const Ref weight : added) term = nodes_.op("*", type, {term, weight});
      found =
          nodes_.reduce("+", {symbol}, nodes_.select(lane(guard, i), term, nodes_.number(0, type)));
      const Ref first = lane(one.before, i);
      if (first->kind != Node::Kind::kFloat || first->value != 0) {
        const Ref rescaled = nodes_.op(
            "*", type, {first, nodes_.op(function, type, {nodes_.op("-", type, {start, most})})});
        found = nodes_.op("+", type, {rescaled, found});
      }
      break;
    }
    if (found == nullptr) return false;
    result.push_back(found);
  }
  shrink(result);
  one.result = result;
  return true;
}

/// Who has left a round of a loop around this one, or the function, is in none of its rounds: told
/// once around the loop, not by each store in it.
void Executor::run_loop(const Stmt& statement) {
  Lanes stays = uniform(nodes_.boolean(true));
  const auto keep = [&](const Lanes& condition) {
    stays = map([&](Ref a, Ref b) { return nodes_.both(a, b); }, stays, condition);
  };
  for (const Lanes& exit : exits_) keep(exit);
  if (frames_.size() > 1) keep(frames_.back().live);
  if (decided(stays).value_or(false)) {
    run_whole_loop(statement);
    return;
  }
  State before = state_;
  const auto exits = exits_;
  const Lanes live = frames_.back().live;
  for (Lanes& exit : exits_) exit = uniform(nodes_.boolean(true));
  if (frames_.size() > 1) frames_.back().live = uniform(nodes_.boolean(true));
  path_.push_back(stays);
  run_whole_loop(statement);
  path_.pop_back();
  exits_ = exits;
  if (frames_.size() > 1) {
    frames_.back().live =
        map([&](Ref a, Ref b) { return nodes_.both(a, b); }, live, frames_.back().live);
  }
  state_ = merge(stays, std::move(state_), std::move(before));
}

void Executor::run_whole_loop(const Stmt& statement) {
  LoopParts loop;
  loop.statement = &statement;
  loop.body = statement.children[0];
  loop.condition = statement.expr;
  if (statement.kind == Stmt::Kind::kFor) {
    if (statement.init != nullptr) run(*statement.init);
    loop.step = statement.step;
  }
  loop.tests_last = statement.kind == Stmt::Kind::kDo;
  if (dry_) {
    run_dry(loop);
    return;
  }
  if (loop.tests_last || loop.condition == nullptr) {
    unroll(loop, Refusal{}.most_rounds);
    return;
  }
  const State before = state_;
  const auto frames = frames_;
  const auto path = path_, exits = exits_, breaks = breaks_;
  const auto open_loops = open_loops_;
  const auto loop_paths = loop_paths_;
  const auto loop_unrolls = loop_unrolls_;
  const auto early = shared_read_early_, written = shared_written_;
  const std::size_t store_count = stores.size(), load_count = loads_.size();
  const auto restore = [&] {
    state_ = before;
    frames_ = frames;
    path_ = path;
    exits_ = exits;
    breaks_ = breaks;
    loop_paths_ = loop_paths;
    open_loops_ = open_loops;
    loop_unrolls_ = loop_unrolls;
    shared_read_early_ = early;
    shared_written_ = written;
    stores.resize(store_count);
    loads_.resize(load_count);
    dry_ = false;
    counting_ = false;
  };
  try {
    run_symbolic(loop);
  } catch (const Refusal& refusal) {
    restore();
    if (refusal.position == -2) throw;
    try {
      unroll(loop, refusal.most_rounds);
    } catch (const Refusal& second) {
      if (second.position == -2) throw;
      throw refusal;
    }
  }
}

void Executor::unroll(const LoopParts& loop, std::int64_t most_rounds) {
  path_.push_back(uniform(nodes_.boolean(true)));
  loop_paths_.push_back(path_.size());
  loop_unrolls_.push_back(true);
  exits_.push_back(uniform(nodes_.boolean(true)));
  breaks_.push_back(uniform(nodes_.boolean(true)));
  for (std::int64_t count = 0;; ++count) {
    exits_.back() = breaks_.back();
    if (count > most_rounds) refuse("a loop of too many rounds", loop.statement->position);
    if (loop.condition != nullptr && (count > 0 || !loop.tests_last)) {
      const Lanes condition = truth(*loop.condition);
      const Lanes now = active();
      for (std::size_t i = 0; i < std::max(condition.size(), now.size()); ++i) {
        const Ref runs = lane(now, i);
        if (runs->is_constant() && runs->constant == 0) continue;
        if (!lane(condition, i)->is_constant()) {
          refuse("a loop whose number of rounds is not known", loop.statement->position);
        }
      }
      breaks_.back() =
          map([&](Ref a, Ref b) { return nodes_.both(a, b); }, breaks_.back(), condition);
      exits_.back() = breaks_.back();
    }
    if (const auto runs = decided(active()); runs && !*runs) break;
    run(*loop.body);
    exits_.back() = breaks_.back();
    if (const auto runs = decided(active()); runs && !*runs) break;
    if (loop.step != nullptr) evaluate(*loop.step);
  }
  path_.pop_back();
  loop_paths_.pop_back();
  loop_unrolls_.pop_back();
  exits_.pop_back();
  breaks_.pop_back();
}

void Executor::run_symbolic(const LoopParts& loop) {
  const int position = loop.statement->position;
  const State before = state_;
  const auto frames = frames_;
  const std::size_t first_store = stores.size();
  std::size_t first_load = loads_.size();
  const auto rewind = [&] {
    state_ = before;
    frames_ = frames;
    stores.resize(first_store);
    loads_.resize(first_load);
  };
  std::vector<Carried> carried = carried_by(loop);

  // Inductions: what a round changes by a constant.
  std::vector<Lanes> values;
  for (const Carried& one : carried) values.push_back(one.phi);
  dry_ = true;
  round(loop, carried, values);
  // What is written through other names shows in what has changed.
  while (carry_more(loop, before, carried)) {
    rewind();
    values.clear();
    for (const Carried& one : carried) values.push_back(one.phi);
    round(loop, carried, values);
  }
  dry_ = false;
  rewind();
  for (Carried& one : carried) {
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
  const auto at = [&](const Carried& one, Ref index) {
    return map([&](Ref start, Ref step) { return nodes_.add(start, nodes_.multiply(index, step)); },
               one.before, one.step);
  };

  // How many rounds: the condition with the inductions as functions of the round.
  const SymbolId unknown = nodes_.new_symbol("round", std::int64_t{1} << 40);
  for (std::size_t i = 0; i < carried.size(); ++i) {
    slot(carried[i]) =
        carried[i].step.empty() ? carried[i].phi : at(carried[i], nodes_.index(unknown));
  }
  counting_ = true;
  const Lanes test = truth(*loop.condition);
  counting_ = false;
  const std::vector<Load> test_loads(loads_.begin() + static_cast<std::ptrdiff_t>(first_load),
                                     loads_.end());
  rewind();
  // What the condition does is done once more than the rounds.
  const bool condition_acts = has_effects(*loop.condition);
  std::int64_t rounds = 0;
  Lanes trips;  // per lane; null: not one number
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref condition = lane(test, i);
    if (condition->is_constant() && condition->constant == 0) {
      trips.push_back(nodes_.integer(0));
      continue;
    }
    std::int64_t most = -1;
    Ref exact = nullptr;
    const auto no_bound = [&] { refuse("a loop whose number of rounds is not known", position); };
    for (const Ref part : conjuncts(condition)) {
      // Once false it must stay false: else it were a filter.
      if (part->has_phi) no_bound();
      if (!part->uses(unknown)) continue;
      const bool differs = part->is("!") && part->args[0]->is("==0");
      if (!part->is(">=0") && !differs) no_bound();
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
      if (!range) continue;
      if (differs) {
        if (!rest->is_constant() || rest->constant % coefficient != 0 || rest->constant < 0) {
          no_bound();
        }
        most = rest->constant / -coefficient;
        exact = nodes_.integer(most);
        continue;
      }
      const std::int64_t bound = range->high < 0 ? 0 : range->high / -coefficient + 1;
      if (most < 0 || bound < most) most = bound;
      exact = range->low + -coefficient >= 0
                  ? nodes_.divide(nodes_.add(rest, nodes_.integer(-coefficient)),
                                  nodes_.integer(-coefficient))
                  : nullptr;
    }
    if (conjuncts(condition).size() != 1) exact = nullptr;
    if (most < 0) no_bound();
    rounds = std::max(rounds, most);
    trips.push_back(exact);
  }
  if (rounds == 0) {
    if (condition_acts) truth(*loop.condition);
    return;
  }
  std::string name = "i";
  for (const Carried& one : carried) {
    if (!one.step.empty() && one.variable != nullptr) name = one.variable->name;
  }
  const SymbolId symbol = nodes_.new_symbol(name, rounds);

  // A round with the inductions known; what else is carried stands for itself until it is known
  // as a function of the round, which may take as many tries as there are things carried.
  std::vector<std::optional<Lanes>> known(carried.size());
  Lanes guard;
  State after;
  for (bool looked = false;;) {
    values.clear();
    known.resize(carried.size());
    for (std::size_t i = 0; i < carried.size(); ++i) {
      Carried& one = carried[i];
      if (!one.step.empty()) {
        values.push_back(at(one, nodes_.index(symbol)));
      } else {
        values.push_back(known[i] ? *known[i] : one.phi);
      }
    }
    guard = round(loop, carried, values, symbol);
    after = state_;
    if (carry_more(loop, before, carried)) {
      rewind();
      continue;
    }
    const bool looks = !looked && rounds > 1;
    looked = true;
    if (looks && find_cells(first_store, symbol, guard, carried)) {
      rewind();
      for (Carried& one : carried) {
        if (one.cell.first < 0 || !one.before.empty()) continue;
        path_.push_back(one.cell_guard);
        one.before = load(one.cell.first, one.cell.second, position);
        path_.pop_back();
      }
      first_load = loads_.size();
      continue;
    }
    bool used = false;  // phis in what the round leaves behind
    const auto uses = [&](Ref value) { used = used || value->has_phi; };
    for (std::size_t i = first_store; i < stores.size(); ++i) {
      std::ranges::for_each(stores[i].element, uses);
      std::ranges::for_each(stores[i].value, uses);
      std::ranges::for_each(stores[i].guard, uses);
    }
    std::ranges::for_each(guard, uses);
    bool open = false;
    for (Carried& one : carried) {
      if (!one.step.empty() || !one.result.empty()) continue;
      one.folds.assign(lanes_, std::nullopt);
      for (std::size_t i = 0; i < lanes_; ++i) {
        const Ref phi = lane(one.phi, i), next = lane(one.after, i);
        if (next == phi || !next->has_phi) continue;
        one.folds[i] = as_fold(nodes_, phi, next);
        if (!one.folds[i] || one.folds[i]->more->has_phi) open = true;
      }
    }
    const auto settled = [&](const Carried& one) {  // as a function of the round alone
      for (std::size_t i = 0; i < lanes_; ++i) {
        if (lane(one.after, i) == lane(one.phi, i) || !lane(one.after, i)->has_phi) continue;
        if (!one.folds[i] || one.folds[i]->more->has_phi) return false;
      }
      return true;
    };
    if (open) {
      bool all = true;
      for (Carried& one : carried) {
        if (!one.step.empty() || !one.result.empty() || settled(one)) continue;
        if (!fold_arg(carried, one, symbol, guard) && !fold_online(carried, one, symbol, guard)) {
          all = false;
        }
      }
      open = !all;
    }
    if (!open && !used) break;
    // Make what is settled known, as what it is at the start of round `symbol`.
    bool progress = false;
    for (std::size_t n = 0; n < carried.size(); ++n) {
      Carried& one = carried[n];
      if (!one.step.empty() || known[n] || !one.result.empty() || !settled(one)) continue;
      Lanes start;
      const SymbolId earlier = nodes_.new_symbol(name + "'", rounds);
      const Nodes::Substitution rename{{symbol, nodes_.index(earlier)}};
      for (std::size_t i = 0; i < lanes_; ++i) {
        const Ref first = lane(one.before, i), next = lane(one.after, i);
        if (next == lane(one.phi, i)) {
          start.push_back(first);
        } else if (!next->has_phi) {
          const Ref last = nodes_.substitute(
              next, {{symbol, nodes_.subtract(nodes_.index(symbol), nodes_.integer(1))}});
          start.push_back(nodes_.select(nodes_.is_zero(nodes_.index(symbol)), first, last));
        } else {
          const Folded& fold = *one.folds[i];
          const Ref happened = nodes_.both(nodes_.less(nodes_.index(earlier), nodes_.index(symbol)),
                                           nodes_.substitute(lane(guard, i), rename));
          const Ref more = nodes_.select(happened, nodes_.substitute(fold.more, rename),
                                         nodes_.identity(fold.op, first->type));
          start.push_back(
              nodes_.op(fold.op, first->type, {first, nodes_.reduce(fold.op, {earlier}, more)}));
        }
      }
      shrink(start);
      // A fold that is known keeps its result: after this try its value has no phi.
      bool all_fold = true;
      for (std::size_t i = 0; i < lanes_; ++i) {
        all_fold &= lane(one.after, i) == lane(one.phi, i) || one.folds[i].has_value();
      }
      if (all_fold) one.result = folded(one, symbol, guard);
      known[n] = start;
      progress = true;
    }
    if (!progress) {
      std::string what = "a value";
      for (const Carried& one : carried) {
        if (one.step.empty() && one.result.empty() && !settled(one) && one.variable != nullptr)
          what = "'" + one.variable->name + "'";
      }
      throw Refusal{fmt::format("{}, which a loop carries in a way that is no reduction", what),
                    position, 64};
    }
    rewind();
  }

  for (const Load& load : test_loads) {
    for (std::size_t i = first_store; i < stores.size(); ++i) {
      if (stores[i].memory == load.memory) {
        refuse("a loop whose number of rounds is not known", position);
      }
    }
  }

  // What is left after the loop.
  const bool always = decided(guard).value_or(false);
  const auto last_of = [&](const Lanes& lanes) {
    Lanes last;
    for (const Ref value : lanes) {
      last.push_back(value->has_phi || !always
                         ? nullptr
                         : nodes_.substitute(value, {{symbol, nodes_.integer(rounds - 1)}}));
    }
    return last;
  };
  std::vector<std::pair<std::size_t, Lanes>> results;
  for (std::size_t n = 0; n < carried.size(); ++n) {
    const Carried& one = carried[n];
    Lanes result;
    if (!one.result.empty()) {
      result = one.result;
    } else if (!one.step.empty()) {
      for (std::size_t i = 0; i < lanes_; ++i) {
        result.push_back(trips[i] == nullptr ? nullptr
                                             : nodes_.add(lane(one.before, i),
                                                          nodes_.multiply(trips[i], one.step[i])));
      }
    } else {
      const Lanes last = last_of(one.after);
      for (std::size_t i = 0; i < lanes_; ++i) {
        const Ref phi = lane(one.phi, i), next = lane(one.after, i);
        if (next == phi || (known[n] && next == lane(*known[n], i))) {
          result.push_back(lane(one.before, i));
        } else if (next->has_phi) {
          Carried single = one;
          result.push_back(lane(folded(single, symbol, guard), i));
        } else {
          result.push_back(lane(last, i));
        }
      }
    }
    results.emplace_back(n, std::move(result));
  }
  // Shared memory: what the last round left.
  auto shared = after.shared;
  for (auto& [memory, cells] : shared) {
    for (auto cell = cells.begin(); cell != cells.end();) {
      const auto& old = before.shared;
      const auto same = old.find(memory);
      const bool kept = same != old.end() && same->second.contains(cell->first) &&
                        same->second.at(cell->first) == cell->second;
      if (kept) {
        ++cell;
      } else if (always && !cell->second->has_phi) {
        cell->second = nodes_.substitute(cell->second, {{symbol, nodes_.integer(rounds - 1)}});
        ++cell;
      } else {
        cell = cells.erase(cell);
      }
    }
  }
  auto shared_guards = before.shared_guards;
  for (const auto& [cell, guard_of] : after.shared_guards) {
    const auto memory = shared.find(cell.first);
    if (memory == shared.end() || !memory->second.contains(cell.second)) continue;
    shared_guards[cell] = nodes_.substitute(guard_of, {{symbol, nodes_.integer(rounds - 1)}});
  }
  state_ = before;
  state_.shared = std::move(shared);
  state_.shared_guards = std::move(shared_guards);
  for (std::size_t i = first_store; i < stores.size(); ++i) stores[i].symbols.push_back(symbol);
  for (auto& [n, result] : results) {
    Carried& one = carried[n];
    const bool unknown_value =
        std::ranges::any_of(result, [](Ref value) { return value == nullptr; });
    shrink(result);
    if (one.cell.first >= 0) {
      if (unknown_value) refuse("an element whose last value is not known", position);
      path_.push_back(one.cell_guard);
      store(one.cell.first, one.cell.second, result, position);
      path_.pop_back();
    } else if (unknown_value) {
      if (one.element.first >= 0) {
        state_.local[one.element.first].erase(one.element.second);
      } else {
        state_.variables[one.variable] = {};
      }
    } else {
      slot(one) = result;
    }
  }
  if (condition_acts) truth(*loop.condition);
}

}  // namespace hone::lift
