#include "rewriters/nest/phases.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"

namespace hone::nest {
namespace {

/// o + constant + step * k, which has to be divisible by `stride`.
struct Meeting {
  Ref place = nullptr;  ///< that sum
  std::int64_t stride = 1;
  SymbolId output = -1, round = -1;  ///< o and k
  std::int64_t constant = 0, step = 0;

  /// What (o + constant + step * k) / stride is where it is whole, of so many outputs and rounds.
  [[nodiscard]] Range met_by(std::int64_t outputs, std::int64_t rounds) const {
    const std::int64_t last = step * (rounds - 1);
    const Range all = {constant + std::min<std::int64_t>(last, 0),
                       constant + std::max<std::int64_t>(last, 0) + outputs - 1};
    return {-floor_divide(-all.low, stride), floor_divide(all.high, stride)};
  }
  /// The same less o / stride.
  [[nodiscard]] Range neighbours(std::int64_t rounds) const { return met_by(stride, rounds); }
};

struct Sum {
  Ref reduction = nullptr;
  std::vector<SymbolId> rounds;
  Ref condition = nullptr, term = nullptr;
};

std::optional<Sum> sum_of(Nodes& nodes, Ref value) {
  Sum sum;
  for_each(value, [&](Ref node) {
    if (node->kind != Node::Kind::kReduce) return;
    sum.condition = sum.reduction == nullptr ? nodes.boolean(true) : nullptr;  // or several
    sum.reduction = node;
  });
  if (sum.condition == nullptr || sum.reduction->op != Op::kAdd) return std::nullopt;
  const Nodes::Opened opened = nodes.open(sum.reduction);
  sum.rounds = opened.symbols;
  sum.term = peel(opened.body);
  const Ref nothing = nodes.identity(Op::kAdd, sum.reduction->type);
  while (sum.term->is(Op::kSelect) && sum.term->args[2] == nothing) {
    sum.condition = nodes.both(sum.condition, sum.term->args[0]);
    sum.term = peel(sum.term->args[1]);
  }
  return sum;
}

/// `value` where the sum of the meeting is `stride` times `met`.
Ref where_met(Nodes& nodes, Ref value, const Meeting& meeting, Ref met) {
  return nodes.replace(value, [&](Ref node) -> Ref {
    if (node == meeting.place) return nodes.scale(met, meeting.stride);
    if (!node->is(Op::kDiv, Op::kMod) || !node->args[1]->is_constant() ||
        node->args[1]->constant != meeting.stride) {
      return nullptr;
    }
    const Ref over = nodes.subtract(node->args[0], meeting.place);
    if (!over->is_constant() || over->constant % meeting.stride != 0) return nullptr;
    if (node->is(Op::kMod)) return nodes.integer(0);
    return nodes.add(met, nodes.integer(over->constant / meeting.stride));
  });
}

std::optional<Meeting> meeting_of(Nodes& nodes, const Nest& nest, const Sum& sum, Ref condition) {
  if (!condition->is(Op::kIsZero)) return std::nullopt;
  const Ref rest = peel(condition->args[0]);
  if (!rest->is(Op::kMod) || !rest->args[1]->is_constant()) return std::nullopt;
  Meeting found;
  found.place = rest->args[0];
  found.stride = rest->args[1]->constant;
  if (found.place->kind != Node::Kind::kSum || found.place->terms.size() != 2) return std::nullopt;
  found.constant = found.place->constant;
  for (const Term& term : found.place->terms) {
    if (term.atom->kind != Node::Kind::kIndex) return std::nullopt;
    const SymbolId symbol = term.atom->symbol;
    if (term.coefficient == 1 && std::ranges::find(nest.dims, symbol) != nest.dims.end()) {
      found.output = symbol;
    } else if (std::ranges::find(sum.rounds, symbol) != sum.rounds.end()) {
      found.round = symbol;
      found.step = term.coefficient;
    }
  }
  if (found.output < 0 || found.round < 0 || found.stride < 2) return std::nullopt;
  // Blocks of the last phases may have fewer outputs, but not fewer terms.
  const std::int64_t outputs = nodes.extent(found.output), rounds = nodes.extent(found.round);
  const Range all = found.neighbours(rounds);
  const std::int64_t padded = floor_divide(outputs + found.stride - 1, found.stride) * found.stride;
  if (all.high < all.low || padded * (all.high - all.low + 1) >= outputs * rounds)
    return std::nullopt;
  // Loads that depend on the output otherwise may leave their buffers behind the last one.
  const Ref met = nodes.index(nodes.new_symbol("met", outputs));
  const auto depends = [&](Ref value) {
    return where_met(nodes, value, found, met)->uses(found.output);
  };
  if (padded != outputs && (depends(sum.term) || depends(sum.condition))) return std::nullopt;
  return found;
}

Phased by_phases_of(Nodes& nodes, const Phased& before, const Sum& sum, const Meeting& meeting) {
  const Nest& nest = before.nest;
  const std::int64_t outputs = nodes.extent(meeting.output);
  const std::int64_t rounds = nodes.extent(meeting.round);
  const Range all = meeting.neighbours(rounds);
  const std::string name = nodes.symbol(meeting.output).name;
  const SymbolId block = nodes.new_symbol(name, (outputs + meeting.stride - 1) / meeting.stride);
  const SymbolId phase = nodes.new_symbol(name + "_phase", meeting.stride);
  const SymbolId neighbour =
      nodes.new_symbol(nodes.symbol(meeting.round).name, all.high - all.low + 1);

  const Ref output = nodes.add(nodes.scale(nodes.index(block), meeting.stride), nodes.index(phase));
  const Ref off = nodes.add(nodes.index(neighbour), nodes.integer(all.low));
  // stride * off = phase + constant + step * round
  const Ref steps = nodes.subtract(nodes.scale(off, meeting.stride),
                                   nodes.add(nodes.index(phase), nodes.integer(meeting.constant)));
  const Ref along = meeting.step > 0 ? steps : nodes.scale(steps, -1);
  const Ref step = nodes.integer(std::abs(meeting.step));
  const Ref round = nodes.divide(along, step);
  Ref condition =
      nodes.both(nodes.non_negative(along), nodes.is_zero(nodes.remainder(along, step)));
  condition = nodes.both(condition, nodes.less(round, nodes.integer(rounds)));

  const Nodes::Substitution by = {{meeting.output, output}, {meeting.round, round}};
  const Ref met = nodes.add(nodes.index(block), off);
  // Of blocks beyond the last output, too, nothing is loaded that no output needs.
  const Range far = meeting.met_by(outputs, rounds);
  condition =
      nodes.both(condition, nodes.non_negative(nodes.subtract(met, nodes.integer(far.low))));
  condition =
      nodes.both(condition, nodes.non_negative(nodes.subtract(nodes.integer(far.high), met)));
  const auto phased = [&](Ref value) {
    return nodes.substitute(where_met(nodes, value, meeting, met), by);
  };
  std::vector<SymbolId> symbols = sum.rounds;
  std::ranges::replace(symbols, meeting.round, neighbour);
  const Ref nothing = nodes.identity(Op::kAdd, sum.reduction->type);
  const Ref reduction = nodes.reduce(
      Op::kAdd, symbols,
      nodes.select(nodes.both(condition, phased(sum.condition)), phased(sum.term), nothing));

  Phased made = before;
  for (auto& [symbol, index] : made.by) index = nodes.substitute(index, {{meeting.output, output}});
  made.by[meeting.output] = output;
  const auto at = std::ranges::find(made.nest.dims, meeting.output);
  *at = phase;
  made.nest.dims.insert(at, block);
  const auto outside = [&](Ref value) {
    return nodes.substitute(
        nodes.replace(value, [&](Ref node) { return node == sum.reduction ? reduction : nullptr; }),
        {{meeting.output, output}});
  };
  made.nest.element = outside(nest.element);
  made.nest.value = outside(nest.value);
  made.nest.guard = outside(nest.guard);
  made.given = outside(before.given);
  made.there = outside(before.there);
  if (outputs % meeting.stride != 0) {
    const Ref there = nodes.less(output, nodes.integer(outputs));
    made.nest.guard = nodes.both(made.nest.guard, there);
    made.there = nodes.both(made.there, there);
  }
  return made;
}

/// An index along which only every `factor`th output has terms, from `first` on.
struct Gap {
  SymbolId output = -1;
  std::int64_t factor = 1, first = 0;
};

/// Each output that has terms is written with the places up to the next one, by one thread and one
/// after the other. So many are enough for common strides, and keep the code of a store short.
constexpr std::int64_t kMostPlaces = 8;

/// Of a sum whose terms need o + constant + sum of steps * k to be divisible by a number: the gcd
/// of that number and all steps divides o + constant.
std::optional<Gap> gap_of(Nodes& nodes, const Nest& nest, const Sum& sum, Ref condition) {
  if (!condition->is(Op::kIsZero)) return std::nullopt;
  const Ref rest = peel(condition->args[0]);
  if (!rest->is(Op::kMod) || !rest->args[1]->is_constant()) return std::nullopt;
  const Ref place = rest->args[0];
  Gap gap{.factor = rest->args[1]->constant};
  if (place->kind != Node::Kind::kSum || gap.factor < 2) return std::nullopt;
  for (const Term& term : place->terms) {
    if (term.atom->kind != Node::Kind::kIndex) return std::nullopt;
    const SymbolId symbol = term.atom->symbol;
    if (std::ranges::find(sum.rounds, symbol) != sum.rounds.end()) {
      gap.factor = std::gcd(gap.factor, term.coefficient);
    } else if (term.coefficient == 1 && gap.output < 0 &&
               std::ranges::find(nest.dims, symbol) != nest.dims.end()) {
      gap.output = symbol;
    } else {
      return std::nullopt;
    }
  }
  if (gap.output < 0 || gap.factor < 2 || gap.factor > kMostPlaces) return std::nullopt;
  gap.first = -floor_divide(-place->constant, gap.factor) * gap.factor - place->constant;
  if (gap.first >= nodes.extent(gap.output)) return std::nullopt;
  return gap;
}

/// `value` at `factor` * index + first of the gap's output. With the factor g, (g a) / (g b)
/// becomes a / b, and (g a) % (g b) becomes g (a % b).
Ref at_reached(Nodes& nodes, Ref value, const Gap& gap, Ref output) {
  const Nodes::Substitution by = {{gap.output, output}};
  const auto divided = [&](Ref whole) -> Ref {
    if (whole->kind != Node::Kind::kSum || whole->constant % gap.factor != 0) return nullptr;
    Ref part = nodes.integer(whole->constant / gap.factor);
    for (const Term& term : whole->terms) {
      if (term.coefficient % gap.factor != 0) return nullptr;
      part = nodes.add(part, nodes.scale(term.atom, term.coefficient / gap.factor));
    }
    return part;
  };
  const auto reduced = [&](Ref node) -> Ref {
    const bool asks = node->is(Op::kIsZero);
    const Ref of = asks ? peel(node->args[0]) : node;
    if (!of->is(Op::kDiv, Op::kMod) || (asks && of->is(Op::kDiv)) || !of->args[1]->is_constant() ||
        of->args[1]->constant % gap.factor != 0 || !of->args[0]->uses(gap.output))
      return nullptr;
    const Ref part = divided(nodes.substitute(of->args[0], by));
    if (part == nullptr) return nullptr;
    const Ref divisor = nodes.integer(of->args[1]->constant / gap.factor);
    if (of->is(Op::kDiv)) return nodes.divide(part, divisor);
    const Ref rest = nodes.remainder(part, divisor);
    return asks ? nodes.is_zero(rest) : nodes.scale(rest, gap.factor);
  };
  return nodes.substitute(nodes.replace(value, reduced), by);
}

}  // namespace

std::optional<Sparse> apart_from_empty(Nodes& nodes, const Nest& nest) {
  const auto sum = sum_of(nodes, nest.value);
  if (!sum || nest.combine) return std::nullopt;
  std::vector<Gap> gaps;
  for (const Ref part : conjuncts(sum->condition)) {
    const auto gap = gap_of(nodes, nest, *sum, part);
    if (gap && std::ranges::find(gaps, gap->output, &Gap::output) == gaps.end())
      gaps.push_back(*gap);
  }
  if (gaps.empty()) return std::nullopt;
  const auto stride = [&](const Gap& gap) { return std::abs(stride_of(nest.element, gap.output)); };
  std::ranges::stable_sort(gaps, std::greater<>(), stride);

  Sparse made{.nest = nest, .side_by_side = stride(gaps.back()) == 1};
  made.nest.covers = false;
  if (nest.guard == nullptr) made.nest.guard = nodes.boolean(true);
  made.element = nest.element;
  made.guard = made.nest.guard;
  const Ref nothing = nodes.identity(Op::kAdd, sum->reduction->type);
  made.empty = nodes.replace(nest.value,
                             [&](Ref node) { return node == sum->reduction ? nothing : nullptr; });
  for (const Gap& gap : gaps) {
    const std::int64_t outputs = nodes.extent(gap.output);
    const std::string& name = nodes.symbol(gap.output).name;
    const SymbolId reached = nodes.new_symbol(name, ceil_divide(outputs - gap.first, gap.factor));
    const std::int64_t end = gap.first + gap.factor;
    const SymbolId place = nodes.new_symbol(name + "_place", end);
    const Ref first = nodes.integer(gap.first);
    made.places.push_back(
        {.symbol = place,
         .begin = nodes.select(nodes.is_zero(nodes.index(reached)), nodes.integer(0), first),
         .own = gap.first,
         .end = end});
    const Ref block = nodes.scale(nodes.index(reached), gap.factor);
    std::ranges::replace(made.nest.dims, gap.output, reached);
    for (Ref* part : {&made.nest.element, &made.nest.guard, &made.nest.value})
      *part = at_reached(nodes, *part, gap, nodes.add(block, first));
    const Ref any = nodes.add(block, nodes.index(place));
    for (Ref* part : {&made.element, &made.guard, &made.empty})
      *part = nodes.substitute(*part, {{gap.output, any}});
    made.guard = nodes.both(made.guard, nodes.less(any, nodes.integer(outputs)));
  }
  return made;
}

std::optional<Phased> by_phases(Nodes& nodes, const Nest& nest) {
  Phased made{.nest = nest,
              .given = nest.guard == nullptr ? nodes.boolean(true) : nest.guard,
              .there = nodes.boolean(true)};
  made.nest.guard = made.given;
  for (bool is_phased = false;; is_phased = true) {
    const auto sum = sum_of(nodes, made.nest.value);
    std::optional<Meeting> meeting;
    for (const Ref part : sum ? conjuncts(sum->condition) : std::vector<Ref>{}) {
      if (!meeting) meeting = meeting_of(nodes, made.nest, *sum, part);
    }
    if (!meeting) return is_phased ? std::optional(made) : std::nullopt;
    made = by_phases_of(nodes, made, *sum, *meeting);
  }
}

}  // namespace hone::nest
