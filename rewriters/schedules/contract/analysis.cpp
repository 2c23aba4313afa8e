#include "rewriters/schedules/contract/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "rewriters/affine/flatten.h"
#include "rewriters/affine/neighbours.h"
#include "rewriters/affine/strides.h"
#include "rewriters/nest/phases.h"
#include "rewriters/schedules/nests.h"
#include "rewriters/schedules/printing/print_value.h"
#include "rewriters/schedules/products.h"

namespace hone::schedules::contract {
namespace {

using nest::Node;
using nest::Nodes;
using nest::Term;

/// Which dimensions are what, when the operands use these.
struct Classes {
  std::vector<SymbolId> batch, m, n, k;
};

bool uses(const std::vector<Ref>& values, SymbolId symbol) {
  return std::ranges::any_of(values, [&](Ref value) { return value->uses(symbol); });
}

ScalarType operand_type(Ref value, ScalarType sum_type) {
  return is_float(value->type) && size_of(value->type) <= size_of(sum_type) ? value->type
                                                                            : sum_type;
}

Operand make_operand(Nodes& nodes, Ref value, SymbolId outer, SymbolId k, ScalarType sum_type) {
  Operand operand;
  operand.mask = nodes.boolean(true);
  operand.outer = outer;
  operand.k = k;
  for (;;) {
    value = without_widening(value);
    const bool masked = value->is(Op::kSelect) && value->args[2]->kind == Node::Kind::kFloat &&
                        value->args[2]->value == 0;
    if (!masked) break;
    operand.mask = nodes.both(operand.mask, value->args[0]);
    value = value->args[1];
  }
  operand.value = value;
  operand.type = operand_type(value, sum_type);
  if (value->kind == Node::Kind::kLoad) {
    const int in_k = longest_run(nodes, value->args[0], k, value->type);
    const int in_outer = longest_run(nodes, value->args[0], outer, value->type);
    operand.along_k = in_k > in_outer;
    operand.contiguous = std::max(in_k, in_outer);
    if (operand.contiguous == 1) {
      operand.along_k =
          std::abs(stride_of(value->args[0], k)) == 1 ||
          (stride_of(value->args[0], outer) == 0 && stride_of(value->args[0], k) != 0);
    }
  } else if (const Ref load = first_load(value)) {
    operand.along_k = std::abs(stride_of(load->args[0], k)) == 1;
  }
  return operand;
}

/// "c + x*m + y*n + z*k >= 0" for the conditions that are so.
void add_bounds(const Contraction& c, Ref condition, std::vector<Bound>& bounds) {
  for (const Ref part : nest::conjuncts(condition)) {
    if (!part->is(Op::kNonNegative, Op::kIsZero)) continue;
    const auto [strides, others] = nest::strides_in(part->args[0], {c.m, c.n, c.k});
    if (!others.empty()) continue;
    const Bound bound{part->args[0]->constant, strides[0], strides[1], strides[2]};
    bounds.push_back(bound);
    if (part->is(Op::kIsZero))
      bounds.push_back({-bound.constant, -bound.row, -bound.column, -bound.k});
  }
}

}  // namespace

std::vector<Ref> Contraction::values_of_store() const {
  std::vector<Ref> values = {value, guard, element};
  if (around) values.insert(values.end(), {around->empty, around->guard, around->element});
  return values;
}

std::string Contraction::describe() const {
  return fmt::format("{}{} x {} x {}", batch_size > 1 ? fmt::format("{} of ", batch_size) : "",
                     m_size, n_size, k_size);
}

namespace {

/// `given`: what of the nest's guard keeps loads inside their buffers. `around`: what is written
/// with each output of the nest.
Result<Contraction> analyse(const Goal& goal, std::shared_ptr<const nest::Nest> shared, Ref given,
                            std::optional<Contraction::Around> around) {
  Nodes& nodes = *goal.nodes;
  const nest::Nest& nest = *shared;
  if (nest.combine) return refused("contract: the nest combines with what is there");

  std::vector<Ref> reductions;
  for_each(nest.value, [&](Ref node) {
    if (node->kind == Node::Kind::kReduce) reductions.push_back(node);
  });
  if (reductions.size() != 1 || reductions[0]->op != Op::kAdd) {
    return refused("contract: no single sum in the value");
  }
  const Ref reduction = reductions[0];
  if (!is_float(reduction->type)) return refused("contract: a sum of integers");

  Contraction c;
  c.nodes = &nodes;
  c.nest = std::move(shared);
  c.total_type = compute_type(reduction->type);
  const nest::Nodes::Opened sum = nodes.open(reduction);

  // select(guard, product, 0) and factors that k does not touch.
  Ref guard = nodes.boolean(true), body = sum.body;
  while (body->is(Op::kSelect) && body->args[2]->kind == Node::Kind::kFloat &&
         body->args[2]->value == 0) {
    guard = nodes.both(guard, body->args[0]);
    body = body->args[1];
  }
  std::vector<Ref> factors, scale, inner;
  factors_of(nodes, body, factors);
  for (const Ref factor : factors) {
    const bool summed =
        std::ranges::any_of(sum.symbols, [&](SymbolId symbol) { return factor->uses(symbol); });
    (summed ? inner : scale).push_back(factor);
  }
  if (inner.size() < 2) return refused("contract: the sum is not of products");
  if (inner.size() > 6) return refused("contract: a product of more than six factors");

  // Which factors make A and which B: so that most work is shared.
  std::vector<Ref> best_a, best_b;
  Classes best;
  double best_score = 0;
  for (unsigned set = 0; set < (1U << inner.size()) - 1; ++set) {
    if ((set & 1U) == 0) continue;  // the first factor is A's: the rest is symmetric
    std::vector<Ref> a, b;
    for (std::size_t i = 0; i < inner.size(); ++i)
      ((set >> i & 1U) != 0 ? a : b).push_back(inner[i]);
    Classes classes;
    bool possible = true;
    for (const SymbolId symbol : nest.dims) {
      const bool in_a = uses(a, symbol), in_b = uses(b, symbol);
      if (!in_a && !in_b) {
        // The sum is the same along it.
        possible = possible && nodes.extent(symbol) == 1;
        if (!possible) break;
      }
      (in_a == in_b ? classes.batch : in_a ? classes.m : classes.n).push_back(symbol);
    }
    for (const SymbolId symbol : sum.symbols) classes.k.push_back(symbol);
    const double m = static_cast<double>(points(nodes, classes.m));
    const double n = static_cast<double>(points(nodes, classes.n));
    const double score = m * n / (m + n);
    if (possible && score > best_score) {
      best_score = score;
      best = classes;
      best_a = a;
      best_b = b;
    }
  }
  if (best_score == 0) return refused("contract: no product of two operands");

  // Rows and columns: what is contiguous in the output is columns.
  std::vector<Ref> a_factors = best_a, b_factors = best_b;
  const auto least_stride = [&](const std::vector<SymbolId>& symbols) {
    std::int64_t least = INT64_MAX;
    for (const SymbolId symbol : symbols) {
      const std::int64_t stride = std::abs(stride_of(nest.element, symbol));
      if (nodes.extent(symbol) > 1 && stride > 0) least = std::min(least, stride);
    }
    return least;
  };
  if (least_stride(best.m) < least_stride(best.n)) {
    std::swap(best.m, best.n);
    std::swap(a_factors, b_factors);
  }
  const Ref a_value = product_of(nodes, a_factors, body->type);
  const Ref b_value = product_of(nodes, b_factors, body->type);
  sort_by_stride(best.batch, nest.element);
  sort_by_stride(best.m, nest.element);
  sort_by_stride(best.n, nest.element);
  if (const Ref load = first_load(a_value)) sort_by_stride(best.k, load->args[0]);

  nest::Nodes::Substitution digits;
  c.batch = flat_index(nodes, "batch", best.batch, digits);
  c.m = flat_index(nodes, "m", best.m, digits);
  c.n = flat_index(nodes, "n", best.n, digits);
  c.k = flat_index(nodes, "k", best.k, digits);
  const auto extents = [&](const std::vector<SymbolId>& symbols) {
    std::vector<std::int64_t> of;
    for (const SymbolId symbol : symbols) of.push_back(nodes.extent(symbol));
    return of;
  };
  c.m_digits = extents(best.m);
  c.n_digits = extents(best.n);
  c.k_digits = extents(best.k);
  c.batch_size = nodes.extent(c.batch);
  c.m_size = nodes.extent(c.m);
  c.n_size = nodes.extent(c.n);
  c.k_size = nodes.extent(c.k);
  if (c.m_size < 2 || c.n_size < 2) {
    return refused("contract: a product with a vector reuses nothing in tiles");
  }
  if (c.k_size < 4) return refused("contract: fewer than four terms");
  if (std::max({c.m_size, c.n_size, c.k_size}) > (1 << 30) || c.batch_size > (1 << 24)) {
    return refused("contract: sizes beyond 2^30");
  }

  const auto flat = [&](Ref value) {
    value = nodes.substitute(value, digits);
    for (const SymbolId symbol : {c.batch, c.m, c.n, c.k}) {
      value = with_merged_digits(nodes, value, symbol);
    }
    return value;
  };
  // Where a mask does not hold the element may be outside: then nothing is loaded but one by one.
  const auto masked_stays_inside = [&](Operand& operand) {
    if (operand.mask->is_constant() || operand.value->kind != Node::Kind::kLoad) return;
    const auto all = nodes.range(operand.value->args[0]);
    for (const ConcreteBuffer& buffer : goal.concrete->buffers) {
      if (buffer.name == operand.value->name && all && all->low >= 0 &&
          all->high < buffer.elements()) {
        return;
      }
    }
    operand.contiguous = 1;
  };
  c.a = make_operand(nodes, flat(a_value), c.m, c.k, c.total_type);
  c.b = make_operand(nodes, flat(b_value), c.n, c.k, c.total_type);
  c.narrow_terms = c.total_type == ScalarType::kF64 && c.a.type != ScalarType::kF64 &&
                   c.b.type != ScalarType::kF64 && nest.type != ScalarType::kF64;
  for (const Ref part : nest::conjuncts(flat(guard))) {
    if (part->is_constant() && part->constant != 0) continue;
    if (!part->uses(c.n)) {
      c.a.mask = nodes.both(c.a.mask, part);
    } else if (!part->uses(c.m)) {
      c.b.mask = nodes.both(c.b.mask, part);
    } else {
      return refused("contract: a condition about rows, columns and what is summed at once");
    }
  }
  // Tiles load for what the output's guard leaves out, too.
  const Ref written = flat(nest.guard);
  if (!all_in_range(goal, c.a.value) || !all_in_range(goal, c.b.value)) {
    for (const Ref part : nest::conjuncts(flat(given))) {
      if (part->is_constant() && part->constant != 0) continue;
      if (part->uses(c.m) && part->uses(c.n))
        return refused("contract: a guard about rows and columns keeps loads inside their buffers");
      if (!part->uses(c.n)) c.a.mask = nodes.both(c.a.mask, part);
      if (!part->uses(c.m)) c.b.mask = nodes.both(c.b.mask, part);
    }
  }
  masked_stays_inside(c.a);
  masked_stays_inside(c.b);
  add_bounds(c, c.a.mask, c.bounds);
  add_bounds(c, c.b.mask, c.bounds);

  c.sum = nodes.load("%sum", reduction->type, nodes.integer(0));
  const Ref scaled = scale.empty() ? c.sum
                                   : nodes.op(Op::kMul, reduction->type,
                                              {c.sum, product_of(nodes, scale, reduction->type)});
  c.value = flat(nodes.replace(
      nest.value, [&](Ref node) -> Ref { return node == reduction ? scaled : nullptr; }));
  c.element = flat(nest.element);
  c.guard = written;
  if (around) around->change(flat);
  c.around = std::move(around);
  add_bounds(c, c.guard, c.bounds);
  // Elsewhere the sum is not looked at.
  Ref chosen = c.value;
  while (chosen->is(Op::kCast)) chosen = chosen->args[0];
  if (chosen->is(Op::kSelect)) {
    const bool in_then = [&] {
      bool found = false;
      for_each(chosen->args[2], [&](Ref node) { found |= node == c.sum; });
      return !found;
    }();
    if (in_then) add_bounds(c, chosen->args[0], c.bounds);
  }
  c.contiguous_n = longest_run(nodes, c.element, c.n, nest.type);

  std::set<std::string> known;
  const auto inputs_of = [&](Ref value) {
    for_each(value, [&](Ref node) {
      if (node->kind == Node::Kind::kLoad && node != c.sum && known.insert(node->name).second) {
        c.inputs.push_back(node->name);
      }
    });
  };
  for (const Ref value : {c.a.value, c.a.mask, c.b.value, c.b.mask}) inputs_of(value);
  for (const Ref value : c.values_of_store()) inputs_of(value);
  c.patches = patches_of(c, c.b);
  if (!c.patches) {
    c.patches = patches_of(c, c.a);
    c.patches_of_a = c.patches.has_value();
  }
  c.bulk = bulk_ways_of(c);
  return c;
}

Result<Contraction> by_phases_or_not(const Goal& goal, const nest::Nest& nest,
                                     const std::optional<Contraction::Around>& around) {
  Nodes& nodes = *goal.nodes;
  if (const auto phased = nest::by_phases(nodes, nest)) {
    auto by_blocks = around;
    if (by_blocks) {
      by_blocks->change([&](Ref value) { return nodes.substitute(value, phased->by); });
      // An index with places needs this, too. Where its extent already kept all places inside, the
      // guard has no condition about them, and phases add outputs behind that extent.
      by_blocks->guard = nodes.both(by_blocks->guard, phased->there);
    }
    auto found = analyse(goal, std::make_shared<const nest::Nest>(phased->nest), phased->given,
                         std::move(by_blocks));
    if (found) return found;
  }
  auto own = std::make_shared<nest::Nest>(nest);
  if (own->guard == nullptr) own->guard = nodes.boolean(true);
  const Ref given = own->guard;
  return analyse(goal, std::move(own), given, around);
}

Contraction::Around around(const nest::Sparse& sparse) {
  Contraction::Around made{.side_by_side = sparse.side_by_side,
                           .element = sparse.element,
                           .guard = sparse.guard,
                           .empty = sparse.empty};
  for (const nest::Sparse::Place& place : sparse.places)
    made.places.push_back({place.symbol, place.begin, place.own, place.end});
  return made;
}

}  // namespace

Result<Contraction> analyse(const Goal& goal) {
  if (goal.nests.size() != 1) return refused("contract: more than one nest");
  if (const auto sparse = nest::apart_from_empty(*goal.nodes, goal.nests[0])) {
    auto found = by_phases_or_not(goal, sparse->nest, around(*sparse));
    if (found) return found;
  }
  return by_phases_or_not(goal, goal.nests[0], std::nullopt);
}

}  // namespace hone::schedules::contract
