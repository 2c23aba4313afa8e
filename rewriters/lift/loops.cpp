// Loops: run on symbols where that works, else round by round.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/syntax/walk.h"

namespace hone::nest {

using syntax::Stmt;

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
  enter_loop(false);
  const auto early = std::move(shared_read_early_);
  const auto written = std::move(shared_written_);
  shared_read_early_.clear();
  shared_written_.clear();
  run(*loop.body);
  left_early_ = leave_loop();
  if (loop.step != nullptr) run_step(loop, carried);
  path_.pop_back();
  if (symbol >= 0) open_loops_.pop_back();
  for (const auto& cell : shared_read_early_) {
    if (shared_written_.contains(cell)) {
      refuse(fmt::format("'{}[{}]', shared memory that one round of a loop leaves to the next",
                         memories[cell.first].name, cell.second),
             loop.statement->position);
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

/// Who has left the loop takes no step: inductions are not known after that, others must not be
/// stepped.
void Executor::run_step(const LoopParts& loop, const std::vector<Carried>& carried) {
  std::vector<Lanes> before;
  for (const Carried& one : carried) before.push_back(slot(one));
  evaluate(*loop.step);
  for (std::size_t i = 0; left_early_ && !dry_ && i < carried.size(); ++i) {
    if (carried[i].step.empty() && slot(carried[i]) != before[i]) {
      throw Refusal{"a loop that is left early", loop.statement->position, 64};
    }
  }
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
  run_or_unroll(loop);
}

namespace {

/// May a round be the last for another reason than the loop's condition?
bool may_be_left(const Stmt& body) {
  bool found = false;
  const auto look = [&](const Stmt& part) {
    found = found || part.kind == Stmt::Kind::kBreak || part.kind == Stmt::Kind::kReturn ||
            part.kind == Stmt::Kind::kOther;
  };
  syntax::for_each_node(body, look, [](const syntax::Expr&) {});
  return found;
}

}  // namespace

void Executor::run_or_unroll(const LoopParts& loop) {
  const State before = copied();
  const auto frames = frames_;
  const auto path = path_, exits = exits_, breaks = breaks_;
  const auto open_loops = open_loops_;
  const auto loop_paths = loop_paths_;
  const auto loop_unrolls = loop_unrolls_, loop_left = loop_left_;
  const auto early = shared_read_early_, written = shared_written_;
  const auto unrolled = unrolled_;
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
    loop_left_ = loop_left;
    shared_read_early_ = early;
    shared_written_ = written;
    unrolled_ = unrolled;
    stores.resize(store_count);
    loads_.resize(load_count);
    dry_ = false;
    counting_ = false;
  };
  std::optional<std::int64_t> rounds;
  try {
    run_symbolic(loop, rounds);
  } catch (const Refusal& refusal) {
    restore();
    if (refusal.most_rounds == 0) throw;
    // All for nothing, where there are more rounds than may be run.
    if (rounds && *rounds > refusal.most_rounds && !may_be_left(*loop.body)) {
      throw Refusal{fmt::format("{}; the loop at line {} has {} rounds, and at most {} are done "
                                "one after the other",
                                refusal.reason, launched_.unit->line_of(loop.statement->position),
                                *rounds, refusal.most_rounds),
                    refusal.position};
    }
    try {
      unroll(loop, refusal.most_rounds);
    } catch (const Refusal& second) {
      if (second.most_rounds == 0) throw;
      throw refusal;
    }
  }
}

void Executor::unroll(const LoopParts& loop, std::int64_t most_rounds) {
  path_.push_back(uniform(nodes_.boolean(true)));
  enter_loop(true);
  unrolled_.emplace_back(loop.statement->position, 0);
  for (std::int64_t count = 0;; ++count) {
    unrolled_.back().second = count;
    exits_.back() = breaks_.back();
    if (count > most_rounds) {
      refuse(fmt::format("a loop that is done round by round, of more than {} rounds", most_rounds),
             loop.statement->position);
    }
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
  unrolled_.pop_back();
  path_.pop_back();
  leave_loop();
}

}  // namespace hone::nest
