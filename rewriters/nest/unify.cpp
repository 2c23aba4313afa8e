#include "rewriters/nest/unify.h"

#include <algorithm>
#include <map>

namespace hone::nest {
namespace {

/// Steps over a graph as if it were a tree: there may be very many, each is little work.
class Walk {
 public:
  explicit Walk(Nodes& nodes) : nodes_(nodes) {}
  void step() {
    if (++steps_ % 16 == 0) nodes_.work();
  }

 private:
  Nodes& nodes_;
  std::size_t steps_ = 0;
};

class Unifier {
 public:
  Unifier(Nodes& nodes, const Basis& basis) : nodes_(nodes), basis_(basis), walk_(nodes) {
    for (std::size_t d = 0; d < basis.symbols.size(); ++d) {
      unit_.push_back(find_unit(d));
    }
    zero_ = find_unit(basis.symbols.size());
  }

  Ref unify(const std::vector<Ref>& values) {
    const Ref first = values[0];
    nodes_.work(1 + values.size() / 16);
    if (std::ranges::all_of(values, [&](Ref v) { return v == first; })) return first;
    const auto known = done_.find(values);
    if (known != done_.end()) return known->second;
    const Ref made = unify_different(values);
    done_.emplace(values, made);
    return made;
  }

 private:
  /// The row in which digit d is one and all others are zero; for d beyond, all zero.
  std::optional<std::size_t> find_unit(std::size_t d) const {
    for (std::size_t i = 0; i < basis_.digits.size(); ++i) {
      bool fits = true;
      for (std::size_t e = 0; e < basis_.symbols.size(); ++e)
        fits = fits && basis_.digits[i][e] == (e == d ? 1 : 0);
      if (fits) return i;
    }
    return std::nullopt;
  }

  Ref affine(const std::vector<std::int64_t>& constants) {
    if (!zero_) return nullptr;
    const std::int64_t start = constants[*zero_];
    std::vector<std::int64_t> slopes;
    for (const auto& unit : unit_) slopes.push_back(unit ? constants[*unit] - start : 0);
    Ref sum = nodes_.integer(start);
    for (std::size_t d = 0; d < slopes.size(); ++d)
      sum = nodes_.add(sum, nodes_.scale(nodes_.index(basis_.symbols[d]), slopes[d]));
    for (std::size_t i = 0; i < constants.size(); ++i) {
      std::int64_t value = start;
      for (std::size_t d = 0; d < slopes.size(); ++d) value += slopes[d] * basis_.digits[i][d];
      if (value != constants[i]) return nullptr;
    }
    return sum;
  }

  /// constants[i] = start + slope * i + rise * (i / run), where the first symbol counts the rows.
  Ref stepped(const std::vector<std::int64_t>& constants) {
    const auto count = static_cast<std::int64_t>(constants.size());
    for (std::int64_t i = 0; i < count; ++i)
      if (basis_.digits[i][0] != i) return nullptr;
    if (count < 3) return nullptr;
    const std::int64_t start = constants[0], slope = constants[1] - start;
    std::int64_t run = 2;
    while (run < count && constants[run] - constants[run - 1] == slope) ++run;
    if (run == count) return nullptr;
    const std::int64_t rise = constants[run] - constants[run - 1] - slope;
    for (std::int64_t i = 0; i < count; ++i)
      if (constants[i] != start + slope * i + rise * (i / run)) return nullptr;
    const Ref row = nodes_.index(basis_.symbols[0]);
    // slope * i is slope * (i % run) + slope * run * (i / run).
    const Ref inside = nodes_.remainder(row, nodes_.integer(run));
    const Ref runs = nodes_.divide(row, nodes_.integer(run));
    const Ref steps = nodes_.scale(runs, rise + slope * run);
    return nodes_.add(nodes_.integer(start), nodes_.add(nodes_.scale(inside, slope), steps));
  }

  Ref unify_sums(const std::vector<Ref>& values) {
    std::vector<std::int64_t> constants;
    for (const Ref value : values) constants.push_back(value->constant);
    Ref sum = affine(constants);
    if (sum == nullptr && basis_.steps) sum = stepped(constants);
    if (sum == nullptr) return nullptr;
    const Ref first = values[0];
    for (std::size_t t = 0; t < first->terms.size(); ++t) {
      const std::int64_t coefficient = first->terms[t].coefficient;
      std::vector<Ref> atoms;
      for (const Ref value : values) {
        if (value->terms.size() != first->terms.size() ||
            value->terms[t].coefficient != coefficient) {
          return nullptr;
        }
        atoms.push_back(value->terms[t].atom);
      }
      const Ref atom = unify(atoms);
      if (atom == nullptr) return nullptr;
      sum = nodes_.add(sum, nodes_.scale(atom, coefficient));
    }
    return sum;
  }

  Ref unify_different(const std::vector<Ref>& values) {
    const Ref first = values[0];
    if (std::ranges::all_of(values, [](Ref v) {
          return v->kind == Node::Kind::kSum && v->type != ScalarType::kBool;
        })) {
      return unify_sums(values);
    }
    const bool conditions =
        std::ranges::all_of(values, [](Ref v) { return v->type == ScalarType::kBool; });
    if (conditions) {
      if (const Ref made = unify_conditions(values)) return made;
    }
    if (std::ranges::any_of(values, [](Ref v) { return v->is(Op::kSelect); })) {
      if (const Ref made = unify_choices(values)) return made;
    }
    for (const Ref value : values) {
      if (value->kind != first->kind || value->what() != first->what() ||
          value->type != first->type || value->args.size() != first->args.size() ||
          value->symbols != first->symbols) {
        return nullptr;
      }
    }
    if (first->kind != Node::Kind::kLoad && first->kind != Node::Kind::kOp &&
        first->kind != Node::Kind::kReduce) {
      return nullptr;
    }
    std::vector<std::vector<Ref>> rows;
    for (const Ref value : values) rows.push_back(value->args);
    std::vector<Ref> args = unify_args(rows);
    const bool commutes = first->kind == Node::Kind::kOp && folds_numbers(first->op);
    if (args.empty() && rows[0].size() == 2 && commutes) {
      // Operands are in the order of their making, which may differ from value to value.
      const std::vector<std::vector<Ref>> as_made = rows;
      for (std::size_t i = 1; i < rows.size(); ++i) {
        if (!alike(rows[0][0], rows[i][0]) && alike(rows[0][0], rows[i][1]))
          std::swap(rows[i][0], rows[i][1]);
      }
      if (rows != as_made) args = unify_args(rows);
    }
    if (args.empty()) return nullptr;
    if (first->kind == Node::Kind::kReduce) {
      return peel(nodes_.reduce(first->op, first->symbols, args[0]));
    }
    return peel_if(first, nodes_.with_args(first, args));
  }

  /// constants[i] where there is one, as an affine function of the digits.
  Ref fitted(const std::vector<std::optional<std::int64_t>>& constants) {
    std::optional<std::size_t> base;
    for (std::size_t i = 0; i < constants.size() && !base; ++i)
      if (constants[i]) base = i;
    if (!base) return nullptr;
    std::vector<std::int64_t> slopes(basis_.symbols.size(), 0);
    for (std::size_t d = 0; d < slopes.size(); ++d) {
      for (std::size_t i = 0; i < constants.size(); ++i) {
        if (!constants[i]) continue;
        bool only_this = basis_.digits[i][d] != basis_.digits[*base][d];
        for (std::size_t e = 0; e < slopes.size(); ++e)
          only_this = only_this && (e == d || basis_.digits[i][e] == basis_.digits[*base][e]);
        if (!only_this) continue;
        slopes[d] =
            (*constants[i] - *constants[*base]) / (basis_.digits[i][d] - basis_.digits[*base][d]);
        break;
      }
    }
    Ref sum = nodes_.integer(*constants[*base]);
    for (std::size_t d = 0; d < slopes.size(); ++d) {
      const Ref over =
          nodes_.subtract(nodes_.index(basis_.symbols[d]), nodes_.integer(basis_.digits[*base][d]));
      sum = nodes_.add(sum, nodes_.scale(over, slopes[d]));
    }
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (constants[i] && at(sum, i)->constant != *constants[i]) return nullptr;
    }
    return sum;
  }

  /// A value of the digits in one row.
  Ref at(Ref value, std::size_t row) {
    Nodes::Substitution digits;
    for (std::size_t d = 0; d < basis_.symbols.size(); ++d)
      digits[basis_.symbols[d]] = nodes_.integer(basis_.digits[row][d]);
    return nodes_.substitute(value, digits);
  }

  /// Conjunctions of which some rows lack a part because it is sure to hold there, or are false as
  /// a whole: bounds that are affine in the digits.
  Ref unify_conditions(const std::vector<Ref>& values) {
    using Key = std::pair<std::vector<std::pair<std::int64_t, int>>, std::size_t>;
    std::map<Key, std::vector<Ref>> bounds;  // by their terms: one of each row, or null
    std::map<std::pair<std::string_view, std::size_t>, std::vector<Ref>> others;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i]->is_constant()) continue;
      std::map<std::vector<std::pair<std::int64_t, int>>, std::size_t> seen;
      std::map<std::string_view, std::size_t> counts;
      for (const Ref part : conjuncts(values[i])) {
        std::vector<Ref>* column = nullptr;
        if (part->is(Op::kNonNegative)) {
          std::vector<std::pair<std::int64_t, int>> terms;
          for (const Term& term : part->args[0]->terms)
            terms.emplace_back(term.coefficient, term.atom->id);
          const std::size_t place = seen[terms]++;
          column = &bounds[{std::move(terms), place}];
        } else {
          const std::size_t place = counts[part->what()]++;
          column = &others[{part->what(), place}];
        }
        column->resize(values.size(), nullptr);
        (*column)[i] = part;
      }
    }
    Ref all = nodes_.boolean(true);
    for (const auto& [key, column] : bounds) {
      std::vector<std::optional<std::int64_t>> constants;
      Ref terms = nullptr;
      for (const Ref part : column) {
        constants.emplace_back(part == nullptr ? std::nullopt
                                               : std::optional(part->args[0]->constant));
        if (part != nullptr && terms == nullptr)
          terms = nodes_.subtract(part->args[0], nodes_.integer(part->args[0]->constant));
      }
      const Ref constant = fitted(constants);
      if (constant == nullptr) return nullptr;
      all = nodes_.both(all, nodes_.non_negative(nodes_.add(terms, constant)));
    }
    for (const auto& [key, column] : others) {
      if (std::ranges::find(column, nullptr) != column.end()) return nullptr;
      const Ref part = std::ranges::all_of(column, [&](Ref p) { return p == column[0]; })
                           ? column[0]
                           : unify_parts(column);
      if (part == nullptr) return nullptr;
      all = nodes_.both(all, part);
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      if (at(all, i) != values[i]) return nullptr;
    return all;
  }

  Ref unify_parts(const std::vector<Ref>& parts) {
    const Ref first = parts[0];
    std::vector<std::vector<Ref>> rows;
    for (const Ref part : parts) {
      if (part->what() != first->what() || part->args.size() != first->args.size()) return nullptr;
      rows.push_back(part->args);
    }
    const std::vector<Ref> args = unify_args(rows);
    return args.empty() ? nullptr : nodes_.with_args(first, args);
  }

  /// Choices that some rows have made already.
  Ref unify_choices(const std::vector<Ref>& values) {
    const Ref choice = *std::ranges::find_if(values, [](Ref v) { return v->is(Op::kSelect); });
    std::vector<std::vector<Ref>> rows;
    for (const Ref value : values) {
      if (value->is(Op::kSelect)) {
        rows.push_back(value->args);
      } else if (value != choice->args[2]) {
        rows.push_back({nodes_.boolean(true), value, choice->args[2]});
      } else {
        return nullptr;
      }
    }
    const std::vector<Ref> args = unify_args(rows);
    return args.empty() ? nullptr : peel_if(choice, nodes_.with_args(choice, args));
  }

  static Ref peel_if(Ref first, Ref made) {
    return first->kind == Node::Kind::kOp ? peel(made) : made;
  }

  /// The same shape as far as is quickly told: buffers and operators.
  bool alike(Ref a, Ref b) {
    walk_.step();
    while (a->is(Op::kSelect)) a = a->args[1];
    while (b->is(Op::kSelect)) b = b->args[1];
    if (a->kind != b->kind || a->what() != b->what() || a->args.size() != b->args.size())
      return false;
    if (a->kind == Node::Kind::kLoad || a->kind == Node::Kind::kSum) return true;
    for (std::size_t i = 0; i < a->args.size(); ++i)
      if (!alike(a->args[i], b->args[i])) return false;
    return true;
  }

  std::vector<Ref> unify_args(const std::vector<std::vector<Ref>>& rows) {
    std::vector<Ref> args;
    for (std::size_t a = 0; a < rows[0].size(); ++a) {
      std::vector<Ref> column;
      for (const auto& row : rows) column.push_back(row[a]);
      args.push_back(unify(column));
      if (args.back() == nullptr) return {};
    }
    return args;
  }

  Nodes& nodes_;
  const Basis& basis_;
  Walk walk_;
  std::vector<std::optional<std::size_t>> unit_;
  std::optional<std::size_t> zero_;
  std::map<std::vector<Ref>, Ref> done_;
};

/// Every constant in a value, in the order of its parts: what like terms differ in.
void constants_of(Walk& walk, Ref value, std::vector<std::int64_t>& all) {
  walk.step();
  if (value->kind == Node::Kind::kSum) {
    all.push_back(value->constant);
    for (const Term& term : value->terms) constants_of(walk, term.atom, all);
  }
  for (const Ref arg : value->args) constants_of(walk, arg, all);
}

/// Those of where it loads alone: bounds may be missing where they are sure to hold.
void load_constants_of(Walk& walk, Ref value, std::vector<std::int64_t>& all) {
  walk.step();
  if (!value->has_load) return;
  if (value->kind == Node::Kind::kLoad) {
    constants_of(walk, value, all);
    return;
  }
  for (const Term& term : value->terms) load_constants_of(walk, term.atom, all);
  if (value->is(Op::kSelect)) {
    for (std::size_t i = 1; i < value->args.size(); ++i)
      load_constants_of(walk, value->args[i], all);
    return;
  }
  for (const Ref arg : value->args) load_constants_of(walk, arg, all);
}

/// What a fold is made of. False: too much; what it uses twice is in it twice.
bool flatten(Walk& walk, Op op, Ref value, std::vector<Ref>& terms) {
  constexpr std::size_t kMostTerms = 8192;
  walk.step();
  if (value->is(op)) {
    return flatten(walk, op, value->args[0], terms) && flatten(walk, op, value->args[1], terms);
  }
  terms.push_back(value);
  return terms.size() <= kMostTerms;
}

Ref roll(Nodes& nodes, Op op, std::vector<Ref> terms) {
  Walk walk(nodes);
  const auto count = static_cast<std::int64_t>(terms.size());
  using Key = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;
  std::vector<std::pair<Key, Ref>> keyed;
  for (const Ref term : terms) {
    keyed.emplace_back();
    load_constants_of(walk, term, keyed.back().first.first);
    constants_of(walk, term, keyed.back().first.second);
    keyed.back().second = term;
  }
  std::ranges::stable_sort(keyed, {}, [](const auto& entry) { return entry.first; });
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = keyed[i].second;
  std::vector<std::vector<std::int64_t>> shapes{{count}};
  for (std::int64_t r = 2; r < count; ++r)
    if (count % r == 0) shapes.push_back({r, count / r});
  for (const auto& shape : shapes) {
    Basis basis;
    for (const std::int64_t extent : shape) basis.symbols.push_back(nodes.new_symbol("t", extent));
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<std::int64_t> row;
      std::int64_t rest = i;
      for (const std::int64_t extent : shape) {
        row.push_back(rest % extent);
        rest /= extent;
      }
      basis.digits.push_back(std::move(row));
    }
    if (const Ref body = unified(nodes, terms, basis)) {
      return nodes.reduce(op, basis.symbols, body);
    }
  }
  return nullptr;
}

}  // namespace

Ref unified(Nodes& nodes, const std::vector<Ref>& values, const Basis& basis) {
  return Unifier(nodes, basis).unify(values);
}

namespace {

/// A fold of four terms or more; null: none of them are alike.
Ref rolled_fold(Nodes& nodes, Ref node, Rerolled& known) {
  Walk walk(nodes);
  std::vector<Ref> terms;
  if (!flatten(walk, node->op, node, terms) || terms.size() < 4) return nullptr;
  // A bias or a start beside the like terms.
  std::vector<Ref> inner;
  for (const Ref term : terms) inner.push_back(rerolled(nodes, term, known));
  std::map<std::size_t, std::vector<Ref>> by_shape;
  for (const Ref term : inner) {
    std::vector<std::int64_t> constants;
    load_constants_of(walk, term, constants);
    if (constants.empty()) constants_of(walk, term, constants);
    by_shape[constants.size()].push_back(term);
  }
  Ref whole = nullptr;
  bool rolled = false;
  for (const auto& [shape, alike] : by_shape) {
    Ref part = alike.size() >= 4 ? roll(nodes, node->op, alike) : nullptr;
    rolled = rolled || part != nullptr;
    if (part == nullptr) {
      for (const Ref term : alike)
        part = part == nullptr ? term : nodes.op(node->op, node->type, {part, term});
    }
    whole = whole == nullptr ? part : nodes.op(node->op, node->type, {whole, part});
  }
  return rolled ? whole : nullptr;
}

}  // namespace

Ref rerolled(Nodes& nodes, Ref value, Rerolled& known) {
  return nodes.replace(value, [&](Ref node) -> Ref {
    if (node->kind != Node::Kind::kOp || node->args.size() != 2) return nullptr;
    if (!folds_numbers(node->op) || !is_float(node->type)) return nullptr;
    const auto found = known.find(node);
    if (found != known.end()) return found->second;
    const Ref made = rolled_fold(nodes, node, known);
    known.emplace(node, made);
    return made;
  });
}

}  // namespace hone::nest
