#include "rewriters/schedules/attention/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "rewriters/affine/flatten.h"
#include "rewriters/affine/neighbours.h"
#include "rewriters/affine/strides.h"
#include "rewriters/schedules/attention/softmax.h"
#include "rewriters/schedules/nests.h"
#include "rewriters/schedules/products.h"

namespace hone::schedules::attention {
namespace {

using nest::Node;
using nest::Nodes;
using nest::Term;

constexpr int kMostColumns = 256;
constexpr double kLeastScale = 1e-34, kMostScale = 1e34;  // within: f32 holds 1024 / scale

std::unexpected<Error> refuse(const std::string& why) { return refused("attention: " + why); }

/// A sum over keys of weights, or of weights times values.
struct WeightedSum {
  Product product;
  Ref exponent = nullptr;
  std::vector<Ref> values;  ///< factors that are no weight
};

/// How an attention was found, before its indices are made flat.
struct Found {
  SymbolId key = -1;
  WeightedSum above, below;
  Ref score = nullptr;  ///< the reduction
  std::vector<SymbolId> depth;
  std::vector<Ref> query_factors, key_factors, scale;
};

class Analysis {
 public:
  explicit Analysis(const Goal& goal) : goal_(goal), nodes_(*goal.nodes) {}

  Result<Attention> run() {
    if (goal_.nests.size() != 1) return refuse("more than one nest");
    const auto nest = plain(nodes_, goal_.nests[0]);
    if (!nest || goal_.nests[0].combine) {
      return refuse("the nest combines with what is there");
    }
    nest_ = *nest;
    a_.nodes = &nodes_;
    a_.nest = &goal_.nests[0];
    if (auto done = find_sums(); !done) return std::unexpected(done.error());
    if (auto done = find_score(); !done) return std::unexpected(done.error());
    if (auto done = name_dims(); !done) return std::unexpected(done.error());
    if (auto done = find_logits(); !done) return std::unexpected(done.error());
    find_bounds();
    find_inputs();
    return a_;
  }

 private:
  [[nodiscard]] std::optional<WeightedSum> weighted(Ref body, SymbolId key) {
    WeightedSum sum;
    sum.product = product_over(nodes_, body, key);
    for (const Ref factor : sum.product.inner) {
      const Ref exponent = exponent_of(nodes_, factor, key);
      if (exponent == nullptr) {
        sum.values.push_back(factor);
      } else if (sum.exponent == nullptr) {
        sum.exponent = exponent;
      } else {
        return std::nullopt;
      }
    }
    if (sum.exponent == nullptr) return std::nullopt;
    for (const Ref factor : sum.product.below) {
      if (factor->uses(key)) return std::nullopt;
    }
    return sum;
  }

  /// The sum of weights times values, and the sum of weights: `value_` of both.
  Result<void> find_sums() {
    std::vector<Ref> sums = reductions_of(nest_.value);
    std::erase_if(sums, [](Ref sum) { return sum->op != Op::kAdd || !is_float(sum->type); });
    Ref reduction = nullptr;
    for (const Ref sum : sums) {
      const Nodes::Opened opened = nodes_.open(sum);
      if (opened.symbols.size() != 1) continue;
      const auto found = weighted(opened.body, opened.symbols[0]);
      if (!found || found->values.empty()) continue;
      if (reduction != nullptr) return refuse("more than one sum of weights times values");
      reduction = sum;
      found_.key = opened.symbols[0];
      found_.above = *found;
    }
    if (reduction == nullptr) return refuse("no sum of exponentials times values");
    const Ref largest = found_.above.product.largest;
    if (largest != nullptr && !is_largest_logit(nodes_, largest, found_.above.exponent, found_.key))
      return refuse(
          "weights that are 0 where something else than the largest logit is minus infinity");

    const ScalarType type = reduction->type;
    const auto leaf = [&](const char* name) { return nodes_.load(name, type, nodes_.integer(0)); };
    a_.weighted = leaf("%weighted"), a_.sum = leaf("%sum"), a_.mean = leaf("%mean");
    Ref whole = a_.weighted;
    for (const Ref factor : found_.above.product.below) {
      whole = nodes_.op(Op::kDiv, type, {whole, factor});
    }
    for (const Ref factor : found_.above.product.outer) {
      whole = nodes_.op(Op::kMul, type, {whole, factor});
    }
    Ref value = nodes_.replace(
        nest_.value, [&](Ref node) -> Ref { return node == reduction ? whole : nullptr; });
    for (const Ref rest : reductions_of(value)) {
      const Nodes::Opened opened = nodes_.open(rest);
      if (rest->op != Op::kAdd || opened.symbols.size() != 1 ||
          nodes_.extent(opened.symbols[0]) != nodes_.extent(found_.key)) {
        return refuse(fmt::format("a reduction besides the sum of weights: {}", rest->what()));
      }
      const Ref body =
          nodes_.substitute(opened.body, {{opened.symbols[0], nodes_.index(found_.key)}});
      const auto sum = weighted(body, found_.key);
      const bool bare = sum && sum->values.empty() && sum->product.outer.empty() &&
                        sum->product.below.empty() && sum->product.largest == nullptr;
      if (!bare) return refuse("a sum that is not of the weights");
      if (found_.below.exponent != nullptr) {
        if (!same(nodes_, sum->exponent, found_.below.exponent) ||
            !same(nodes_, sum->product.guard, found_.below.product.guard)) {
          return refuse("two sums of different weights");
        }
      }
      found_.below = *sum;
      value =
          nodes_.replace(value, [&](Ref node) -> Ref { return node == rest ? a_.sum : nullptr; });
    }
    if (found_.below.exponent == nullptr)
      return refuse("weights that nothing divides by their sum");
    const Ref quotient = nodes_.op(Op::kDiv, type, {a_.weighted, a_.sum});
    value_ = nodes_.replace(value,
                            [&](Ref node) -> Ref { return node == quotient ? a_.mean : nullptr; });
    if (degree(value_) != 0) return refuse("the sum of weights is used by itself");
    if (largest != nullptr) {
      bool divided = false;
      for_each(value_, [&](Ref node) { divided |= node == a_.mean; });
      if (!divided) return refuse("weights that are not divided by their sum at once");
      // The weights of a row are 1 and more together, unless no key is allowed.
      const Ref zero = nodes_.number(0, type);
      const Ref none = nodes_.op(Op::kEqual, ScalarType::kBool, {a_.sum, zero});
      const Ref mean = nodes_.op(Op::kSelect, type, {none, zero, a_.mean});
      value_ =
          nodes_.replace(value_, [&](Ref node) -> Ref { return node == a_.mean ? mean : nullptr; });
    }
    return {};
  }

  /// How a value grows with all weights; nullopt: in no such way.
  [[nodiscard]] std::optional<int> degree(Ref value) const {
    if (value == a_.weighted || value == a_.sum) return 1;
    bool touched = false;
    for_each(value, [&](Ref node) { touched |= node == a_.weighted || node == a_.sum; });
    if (!touched) return 0;
    std::vector<std::optional<int>> of;
    for (const Ref arg : value->args) of.push_back(degree(arg));
    if (std::ranges::any_of(of, [](const auto& one) { return !one; })) return std::nullopt;
    const auto zero = [&](std::size_t i) { return number_of(value->args[i]) == 0.0; };
    if (value->is(Op::kMul)) return *of[0] + *of[1];
    if (value->is(Op::kDiv)) return *of[0] - *of[1];
    if (value->is(Op::kNeg, Op::kCast)) return of[0];
    if (value->is(Op::kAdd, Op::kSub)) return of[0] == of[1] ? of[0] : std::nullopt;
    if (value->is(Op::kLess, Op::kLessEqual, Op::kEqual, Op::kNotEqual)) {
      return of[0] == of[1] || zero(0) || zero(1) ? std::optional(0) : std::nullopt;
    }
    if (value->is(Op::kAnd, Op::kOr, Op::kNot)) return 0;
    if (value->is(Op::kSelect)) {
      if (of[0] != 0) return std::nullopt;
      if (zero(1)) return of[2];
      return zero(2) || of[1] == of[2] ? of[1] : std::nullopt;
    }
    return std::ranges::all_of(of, [](const auto& one) { return one == 0; }) ? std::optional(0)
                                                                             : std::nullopt;
  }

  /// The one sum of products in the exponent.
  Result<void> find_score() {
    const std::vector<Ref> sums = reductions_of(found_.above.exponent);
    if (sums.size() != 1 || sums[0]->op != Op::kAdd) return refuse("no single sum in the scores");
    found_.score = sums[0];
    const Nodes::Opened opened = nodes_.open(found_.score);
    found_.depth = opened.symbols;
    std::vector<Ref> factors;
    factors_of(nodes_, opened.body, factors);
    for (const Ref factor : factors) {
      const bool summed = std::ranges::any_of(
          opened.symbols, [&](SymbolId symbol) { return factor->uses(symbol); });
      (!summed                    ? found_.scale
       : factor->uses(found_.key) ? found_.key_factors
                                  : found_.query_factors)
          .push_back(factor);
    }
    if (found_.key_factors.empty() || found_.query_factors.empty()) {
      return refuse("scores that are no products of queries and keys");
    }
    return {};
  }

  [[nodiscard]] static bool any_uses(const std::vector<Ref>& values, SymbolId symbol) {
    return std::ranges::any_of(values, [&](Ref value) { return value->uses(symbol); });
  }

  /// Which of the nest's dims are queries and columns; the rest is the batch.
  Result<void> name_dims() {
    std::vector<SymbolId> batch, rows, columns;
    for (const SymbolId symbol : nest_.dims) {
      const bool in_values = any_uses(found_.above.values, symbol);
      const bool in_weights =
          found_.above.exponent->uses(symbol) || found_.above.product.guard->uses(symbol);
      const bool in_keys = any_uses(found_.key_factors, symbol);
      if (in_values && !in_weights) {
        columns.push_back(symbol);
      } else if (!in_values && !in_keys) {
        rows.push_back(symbol);
      } else {
        batch.push_back(symbol);
      }
    }
    if (columns.empty()) return refuse("values of a single column");
    // One of several: the longest.
    std::ranges::stable_sort(
        rows, [&](SymbolId x, SymbolId y) { return nodes_.extent(x) > nodes_.extent(y); });
    while (rows.size() > 1) {
      batch.push_back(rows.back());
      rows.pop_back();
    }
    sort_by_stride(batch, nest_.element);
    sort_by_stride(columns, nest_.element);
    if (const Ref load = first_load(product(found_.query_factors))) {
      sort_by_stride(found_.depth, load->args[0]);
    }
    a_.batch = flat_index(nodes_, "batch", batch, digits_);
    a_.q = flat_index(nodes_, "q", rows, digits_);
    a_.e = flat_index(nodes_, "e", columns, digits_);
    a_.d = flat_index(nodes_, "d", found_.depth, digits_);
    a_.k = flat_index(nodes_, "k", {found_.key}, digits_);
    a_.batches = nodes_.extent(a_.batch);
    a_.queries = nodes_.extent(a_.q);
    a_.columns = nodes_.extent(a_.e);
    a_.depth = nodes_.extent(a_.d);
    a_.keys = nodes_.extent(a_.k);
    if (a_.keys < 2) return refuse("a single key");
    if (std::max(a_.depth, a_.columns) > kMostColumns) {
      return refuse(fmt::format("heads of more than {}", kMostColumns));
    }
    if (std::max({a_.queries, a_.keys, a_.batches}) > (1 << 24)) return refuse("sizes beyond 2^24");

    a_.query = operand(product(found_.query_factors), a_.q, a_.d);
    a_.key = operand(product(found_.key_factors), a_.k, a_.d);
    a_.values = operand(product(found_.above.values), a_.k, a_.e);
    for (const Operand* one : {&a_.query, &a_.key, &a_.values}) {
      if (one->value->type == ScalarType::kF64) return refused("double precision");
      // Tiles are copied whole, also where no key is allowed.
      if (!all_in_range(goal_, one->value))
        return refused("a guard keeps loads inside their buffers");
    }
    return {};
  }

  [[nodiscard]] Ref product(const std::vector<Ref>& factors) {
    return product_of(nodes_, factors, factors[0]->type);
  }

  [[nodiscard]] Ref flat(Ref value) {
    value = nodes_.substitute(value, digits_);
    for (const SymbolId symbol : {a_.batch, a_.q, a_.k, a_.d, a_.e}) {
      value = with_merged_digits(nodes_, value, symbol);
    }
    return value;
  }

  Operand operand(Ref value, SymbolId row, SymbolId column) {
    Operand made;
    made.value = without_widening(flat(value));
    made.type = is_float(made.value->type) && size_of(made.value->type) <= 4 ? made.value->type
                                                                             : ScalarType::kF32;
    made.row = row;
    made.column = column;
    const Ref load = first_load(made.value);
    if (load == nullptr) return made;
    if (load == made.value) {
      made.run_of_columns = longest_run(nodes_, load->args[0], column, load->type);
      made.run_of_rows = longest_run(nodes_, load->args[0], row, load->type);
    }
    made.rows_are_near = std::abs(stride_of(load->args[0], row)) == 1 &&
                         std::abs(stride_of(load->args[0], column)) != 1;
    return made;
  }

  /// Is there a key that every query is allowed?
  bool has_key(Ref allowed) {
    const std::array<Ref, 3> keys = {nodes_.integer(0), nodes_.index(a_.q),
                                     nodes_.integer(a_.keys - 1)};
    return std::ranges::any_of(keys, [&](Ref key) {
      if (a_.queries > a_.keys && key == keys[1]) return false;
      return holds(nodes_.substitute(allowed, {{a_.k, key}}));
    });
  }
  bool holds(Ref condition) {
    return std::ranges::all_of(nest::conjuncts(condition), [&](Ref part) {
      if (part->is_constant()) return part->constant != 0;
      const auto all = part->is(Op::kNonNegative) ? nodes_.range(part->args[0]) : std::nullopt;
      return all && all->low >= 0;
    });
  }

  Result<void> find_logits() {
    const ScalarType type = found_.score->type;
    a_.score = nodes_.load("%score", type, nodes_.integer(0));
    bool of_numbers = false;
    const auto logits_of = [&](const WeightedSum& sum, Ref& logit, Ref& allowed) {
      allowed = flat(sum.product.guard);
      const Masked all = masked(nodes_, flat(sum.exponent));
      const Ref both = nodes_.both(allowed, all.allowed);
      if (all.finite && !has_key(both)) {
        of_numbers = true;
        // Rows of such numbers alone weigh them alike: they stay finite.
        logit = flat(sum.exponent);
        logit = nodes_.op(Op::kMax, logit->type, {logit, nodes_.number(-3e38, logit->type)});
      } else {
        logit = all.logit;
        allowed = both;
      }
    };
    Ref above = nullptr, below = nullptr, allowed_below = nullptr;
    logits_of(found_.above, above, a_.allowed);
    if (of_numbers && found_.above.product.largest != nullptr)
      return refuse(
          "rows that are masked by large numbers, and are 0 where they are minus infinity");
    logits_of(found_.below, below, allowed_below);
    if (!same(nodes_, above, below)) return refuse("the sum is of other weights than those used");
    if (!same_conditions(a_.allowed, allowed_below)) {
      return refuse("the sum is of other keys than those used");
    }
    const std::vector<Ref> sums = reductions_of(above);
    if (sums.size() != 1) return refuse("no single sum in the scores");
    Ref scaled = a_.score;
    for (const Ref factor : found_.scale)
      scaled = nodes_.op(Op::kMul, type, {scaled, flat(factor)});
    a_.logits =
        nodes_.replace(above, [&](Ref node) -> Ref { return node == sums[0] ? scaled : nullptr; });
    a_.scale = scale_of(a_.logits);
    if (a_.scale && !(kLeastScale <= *a_.scale && *a_.scale <= kMostScale)) a_.scale.reset();
    a_.value = flat(value_);
    a_.element = flat(nest_.element);
    a_.guard = nest_.guard == nullptr ? nodes_.boolean(true) : flat(nest_.guard);
    a_.run_of_outputs = longest_run(nodes_, a_.element, a_.e, nest_.type);
    return {};
  }

  bool same_conditions(Ref a, Ref b) {
    const std::vector<Ref> x = nest::conjuncts(a), y = nest::conjuncts(b);
    const auto within = [&](const std::vector<Ref>& some, const std::vector<Ref>& all) {
      return std::ranges::all_of(some, [&](Ref one) {
        return std::ranges::any_of(all, [&](Ref other) { return same(nodes_, one, other); });
      });
    };
    return within(x, y) && within(y, x);
  }

  /// c, where the logits are c * score.
  [[nodiscard]] std::optional<double> scale_of(Ref logits) const {
    if (logits == a_.score) return 1;
    if (logits->is(Op::kNeg)) {
      const auto inner = scale_of(logits->args[0]);
      return inner ? std::optional(-*inner) : std::nullopt;
    }
    if (logits->is(Op::kAdd)) {
      if (number_of(logits->args[1]) == 0.0) return scale_of(logits->args[0]);
      if (number_of(logits->args[0]) == 0.0) return scale_of(logits->args[1]);
    }
    if (!logits->is(Op::kMul, Op::kDiv)) return std::nullopt;
    const auto left = number_of(logits->args[0]), right = number_of(logits->args[1]);
    if (right) {
      const auto inner = scale_of(logits->args[0]);
      if (!inner) return std::nullopt;
      return logits->is(Op::kMul) ? *inner * *right : *inner / *right;
    }
    if (!left || logits->is(Op::kDiv)) return std::nullopt;
    const auto inner = scale_of(logits->args[1]);
    return inner ? std::optional(*inner * *left) : std::nullopt;
  }

  void find_bounds() {
    for (const Ref part : nest::conjuncts(a_.allowed)) {
      if (part->is_constant() && part->constant != 0) continue;
      const Ref sum = part->is(Op::kNonNegative) ? part->args[0] : part;
      const auto [strides, others] = nest::strides_in(sum, {a_.q, a_.k});
      Bound bound;
      bound.query = strides[0];
      bound.key = strides[1];
      bound.rest = nodes_.integer(sum->constant);
      bool usable = part->is(Op::kNonNegative);
      for (const Term& term : others) {
        usable = usable && !term.atom->uses(a_.q) && !term.atom->uses(a_.k);
        if (usable) bound.rest = nodes_.add(bound.rest, nodes_.scale(term.atom, term.coefficient));
      }
      if (usable) {
        a_.bounds.push_back(bound);
      } else {
        a_.only_bounds = false;
      }
    }
  }

  void find_inputs() {
    std::set<std::string> known;
    for (const Ref value : {a_.query.value, a_.key.value, a_.values.value, a_.logits, a_.allowed,
                            a_.value, a_.guard, a_.element}) {
      for_each(value, [&](Ref node) {
        if (node->kind == Node::Kind::kLoad && !node->name.starts_with("%") &&
            known.insert(node->name).second) {
          a_.inputs.push_back(node->name);
        }
      });
    }
  }

  const Goal& goal_;
  Nodes& nodes_;
  nest::Nest nest_;
  Found found_;
  Ref value_ = nullptr;
  Nodes::Substitution digits_;
  Attention a_;
};

}  // namespace

std::string Attention::describe() const {
  std::string text = batches > 1 ? fmt::format("{} of ", batches) : "";
  text += fmt::format("{} queries x {} keys of {}", queries, keys, depth);
  if (columns != depth) text += fmt::format(" and {}", columns);
  const bool causal = std::ranges::any_of(
      bounds, [](const Bound& bound) { return bound.key < 0 && bound.query > 0; });
  if (causal) return text + ", causal";
  return allowed->is_constant() ? text : text + ", masked";
}

Result<Attention> analyse(const Goal& goal) { return Analysis(goal).run(); }

}  // namespace hone::schedules::attention
