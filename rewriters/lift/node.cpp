#include "rewriters/lift/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace hone::lift {
namespace {

std::vector<SymbolId> merged(std::vector<SymbolId> a, const std::vector<SymbolId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::ranges::sort(a);
  a.erase(std::ranges::unique(a).begin(), a.end());
  return a;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

bool is_associative(std::string_view op) {
  return op == "+" || op == "*" || op == "min" || op == "max" || op == "&" || op == "|" ||
         op == "^";
}

}  // namespace

bool Node::uses(SymbolId id) const { return std::ranges::binary_search(free, id); }

SymbolId Nodes::new_symbol(std::string name, std::int64_t extent) {
  symbols_.push_back({std::move(name), extent});
  return static_cast<SymbolId>(symbols_.size() - 1);
}

Ref Nodes::make(Node node) {
  std::string key =
      fmt::format("{}|{}|{}|", static_cast<int>(node.kind), static_cast<int>(node.type), node.op);
  for (const Ref arg : node.args) key += fmt::format("{},", arg->id);
  for (const Term& term : node.terms) key += fmt::format("{}*{}+", term.coefficient, term.atom->id);
  for (const SymbolId symbol : node.symbols) key += fmt::format("s{}", symbol);
  key += fmt::format("|{}|{}|{:a}", node.constant, node.symbol, node.value);
  if (node.kind == Node::Kind::kPhi) key += fmt::format("p{}", nodes_.size());
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;

  if (node.kind == Node::Kind::kIndex) node.free = {node.symbol};
  node.has_phi = node.kind == Node::Kind::kPhi;
  node.has_load = node.kind == Node::Kind::kLoad;
  const auto from = [&](Ref part) {
    node.free = merged(std::move(node.free), part->free);
    node.has_phi |= part->has_phi;
    node.has_load |= part->has_load;
    node.height = std::max(node.height, part->height);
  };
  for (const Ref arg : node.args) from(arg);
  for (const Term& term : node.terms) from(term.atom);
  if (node.kind == Node::Kind::kReduce) {
    ++node.height;
    for (const SymbolId symbol : node.symbols) std::erase(node.free, symbol);
  }
  node.id = static_cast<int>(nodes_.size());
  nodes_.push_back(std::move(node));
  known_.emplace(std::move(key), &nodes_.back());
  return &nodes_.back();
}

// --- Leaves -----------------------------------------------------------------------------------

Ref Nodes::integer(std::int64_t value, ScalarType type) {
  Node node;
  node.kind = Node::Kind::kSum;
  node.type = type == ScalarType::kBool ? type : ScalarType::kI64;
  node.constant = value;
  return make(std::move(node));
}

Ref Nodes::number(double value, ScalarType type) {
  Node node;
  node.kind = Node::Kind::kFloat;
  node.type = type;
  node.value = type == ScalarType::kF32 ? static_cast<float>(value) : value;
  return make(std::move(node));
}

Ref Nodes::index(SymbolId symbol) {
  if (extent(symbol) == 1) return integer(0);
  Node node;
  node.kind = Node::Kind::kIndex;
  node.symbol = symbol;
  return sum(0, {{1, make(std::move(node))}});
}

Ref Nodes::load(const std::string& buffer, ScalarType type, Ref element) {
  Node node;
  node.kind = Node::Kind::kLoad;
  node.type = type;
  node.op = buffer;
  node.args = {element};
  return make(std::move(node));
}

Ref Nodes::phi(ScalarType type) {
  Node node;
  node.kind = Node::Kind::kPhi;
  node.type = type;
  return make(std::move(node));
}

// --- Integers ---------------------------------------------------------------------------------

Ref Nodes::sum(std::int64_t constant, std::vector<Term> terms) {
  std::map<int, Term> by_id;
  const std::function<void(std::int64_t, Ref)> take = [&](std::int64_t coefficient, Ref atom) {
    if (atom->kind == Node::Kind::kSum) {
      constant += coefficient * atom->constant;
      for (const Term& term : atom->terms) take(coefficient * term.coefficient, term.atom);
      return;
    }
    Term& slot = by_id[atom->id];
    slot.atom = atom;
    slot.coefficient += coefficient;
  };
  for (const Term& term : terms) take(term.coefficient, term.atom);
  // d * (x / d) + x % d is x.
  for (bool again = true; again;) {
    again = false;
    for (auto& [id, term] : by_id) {
      if (term.coefficient == 0 || !term.atom->is("%")) continue;
      const Ref value = term.atom->args[0], divisor = term.atom->args[1];
      for (auto& [other_id, other] : by_id) {
        if (!other.atom->is("/") || other.atom->args[0] != value ||
            other.atom->args[1] != divisor ||
            other.coefficient != term.coefficient * divisor->constant) {
          continue;
        }
        const std::int64_t coefficient = term.coefficient;
        term.coefficient = other.coefficient = 0;
        take(coefficient, value);
        again = true;
        break;
      }
      if (again) break;
    }
  }
  std::vector<Term> kept;
  for (const auto& [id, term] : by_id)
    if (term.coefficient != 0) kept.push_back(term);
  Node node;
  node.kind = Node::Kind::kSum;
  node.constant = constant;
  node.terms = std::move(kept);
  return make(std::move(node));
}

Ref Nodes::add(Ref a, Ref b) { return sum(0, {{1, a}, {1, b}}); }
Ref Nodes::subtract(Ref a, Ref b) { return sum(0, {{1, a}, {-1, b}}); }
Ref Nodes::scale(Ref a, std::int64_t factor) { return sum(0, {{factor, a}}); }

Ref Nodes::multiply(Ref a, Ref b) {
  if (a->is_constant()) return scale(b, a->constant);
  if (b->is_constant()) return scale(a, b->constant);
  Node node;
  node.kind = Node::Kind::kOp;
  node.op = "*";
  node.args = a->id < b->id ? std::vector{a, b} : std::vector{b, a};
  return sum(0, {{1, make(std::move(node))}});
}

Ref Nodes::quotient(Ref a, std::int64_t divisor, bool want_remainder) {
  const auto opaque = [&](Ref value, std::int64_t by) {
    Node node;
    node.kind = Node::Kind::kOp;
    node.op = want_remainder ? "%" : "/";
    node.args = {value, integer(by)};
    return sum(0, {{1, make(std::move(node))}});
  };
  const std::string_view op = want_remainder ? "%" : "/";
  if (divisor == 0) return opaque(a, divisor);
  if (a->is_constant()) {
    return integer(want_remainder ? a->constant % divisor : a->constant / divisor);
  }
  if (divisor < 0) return opaque(a, divisor);
  if (divisor == 1) return want_remainder ? integer(0) : a;
  const auto whole = range(a);
  if (!whole || whole->low < 0) return opaque(a, divisor);
  if (whole->high < divisor) return want_remainder ? a : integer(0);
  if (a->terms.size() == 1 && a->constant == 0 && a->terms[0].coefficient == 1) {
    const Ref atom = a->terms[0].atom;
    const bool inner = (atom->is("/") || atom->is("%")) && atom->args[1]->is_constant();
    if (inner && range(atom->args[0]) && range(atom->args[0])->low >= 0) {
      const std::int64_t by = atom->args[1]->constant;
      if (atom->is("/") && op == "/") return quotient(atom->args[0], by * divisor, false);
      if (atom->is("%") && by % divisor == 0) {
        if (op == "%") return quotient(atom->args[0], divisor, true);
        return quotient(quotient(atom->args[0], divisor, false), by / divisor, true);
      }
    }
  }
  std::vector<Term> multiple, rest;
  for (const Term& term : a->terms) {
    if (term.coefficient % divisor == 0) {
      multiple.push_back({term.coefficient / divisor, term.atom});
    } else {
      rest.push_back(term);
    }
  }
  const std::int64_t over = floor_divide(a->constant, divisor);
  const Ref remaining = sum(a->constant - over * divisor, rest);
  const auto left = range(remaining);
  if (!left || left->low < 0) {
    // Larger coefficients leave a smaller rest: 17*i by 16 is i + i by 16.
    return opaque(a, divisor);
  }
  if (left->high < divisor) return want_remainder ? remaining : sum(over, multiple);
  if (over == 0 && multiple.empty()) {
    // 1024*x + j by 2048 with j < 1024 is x by 2.
    std::set<std::int64_t, std::greater<>> steps;
    for (const Term& term : remaining->terms) {
      const std::int64_t step = std::gcd(term.coefficient, divisor);
      if (step > 1) steps.insert(step);
    }
    for (const std::int64_t step : steps) {
      std::vector<Term> coarse, fine;
      for (const Term& term : remaining->terms) {
        if (term.coefficient % step == 0) {
          coarse.push_back({term.coefficient / step, term.atom});
        } else {
          fine.push_back(term);
        }
      }
      const std::int64_t low = remaining->constant % step;
      const Ref rest_of = sum(low, fine);
      const auto reach = range(rest_of);
      if (!reach || reach->low < 0 || reach->high >= step || coarse.empty()) continue;
      const Ref inner =
          quotient(sum(remaining->constant / step, coarse), divisor / step, want_remainder);
      return want_remainder ? add(scale(inner, step), rest_of) : inner;
    }
    std::int64_t common = divisor;
    for (const Term& term : remaining->terms) common = std::gcd(common, term.coefficient);
    if (common > 1) {
      std::vector<Term> reduced;
      for (const Term& term : remaining->terms)
        reduced.push_back({term.coefficient / common, term.atom});
      const std::int64_t low = remaining->constant % common;
      const Ref inner =
          quotient(sum(remaining->constant / common, reduced), divisor / common, want_remainder);
      return want_remainder ? add(scale(inner, common), integer(low)) : inner;
    }
    return opaque(a, divisor);
  }
  const Ref of_rest = quotient(remaining, divisor, want_remainder);
  return want_remainder ? of_rest : add(sum(over, multiple), of_rest);
}

Ref Nodes::divide(Ref a, Ref b) {
  if (b->is_constant()) return quotient(a, b->constant, false);
  Node node;
  node.op = "/";
  node.args = {a, b};
  return sum(0, {{1, make(std::move(node))}});
}

Ref Nodes::remainder(Ref a, Ref b) {
  if (b->is_constant()) return quotient(a, b->constant, true);
  Node node;
  node.op = "%";
  node.args = {a, b};
  return sum(0, {{1, make(std::move(node))}});
}

namespace {

std::optional<Range> type_range(ScalarType type) {
  switch (type) {
    case ScalarType::kBool:
      return Range{0, 1};
    case ScalarType::kI8:
      return Range{-128, 127};
    case ScalarType::kU8:
      return Range{0, 255};
    case ScalarType::kI32:
      return Range{INT32_MIN, INT32_MAX};
    case ScalarType::kU32:
      return Range{0, UINT32_MAX};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Range> Nodes::range(Ref a) {
  if (is_float(a->type)) return std::nullopt;
  const auto known = ranges_.find(a);
  if (known != ranges_.end()) return known->second;
  std::optional<Range> result;
  switch (a->kind) {
    case Node::Kind::kSum: {
      Range sum{a->constant, a->constant};
      bool bounded = true;
      for (const Term& term : a->terms) {
        const auto part = range(term.atom);
        std::int64_t low = 0, high = 0;
        if (!part || __builtin_mul_overflow(part->low, term.coefficient, &low) ||
            __builtin_mul_overflow(part->high, term.coefficient, &high)) {
          bounded = false;
          break;
        }
        if (low > high) std::swap(low, high);
        if (__builtin_add_overflow(sum.low, low, &sum.low) ||
            __builtin_add_overflow(sum.high, high, &sum.high)) {
          bounded = false;
          break;
        }
      }
      if (bounded) result = sum;
      break;
    }
    case Node::Kind::kIndex:
      result = Range{0, extent(a->symbol) - 1};
      break;
    case Node::Kind::kLoad:
      result = type_range(a->type);
      break;
    case Node::Kind::kOp: {
      const auto first = a->args.empty() ? std::nullopt : range(a->args[0]);
      const auto second = a->args.size() < 2 ? std::nullopt : range(a->args[1]);
      const bool by_constant =
          a->args.size() == 2 && a->args[1]->is_constant() && a->args[1]->constant > 0;
      if (a->op == "/" && by_constant && first) {
        const std::int64_t by = a->args[1]->constant;
        result = Range{first->low / by, first->high / by};
      } else if (a->op == "%" && by_constant) {
        const std::int64_t most = a->args[1]->constant - 1;
        result =
            first && first->low >= 0 ? Range{0, std::min(most, first->high)} : Range{-most, most};
      } else if (a->op == "*" && first && second) {
        std::int64_t corner[4];
        if (!__builtin_mul_overflow(first->low, second->low, &corner[0]) &&
            !__builtin_mul_overflow(first->low, second->high, &corner[1]) &&
            !__builtin_mul_overflow(first->high, second->low, &corner[2]) &&
            !__builtin_mul_overflow(first->high, second->high, &corner[3])) {
          result = Range{*std::ranges::min_element(corner), *std::ranges::max_element(corner)};
        }
      } else if (a->op == "min" && first && second) {
        result = Range{std::min(first->low, second->low), std::min(first->high, second->high)};
      } else if (a->op == "max" && first && second) {
        result = Range{std::max(first->low, second->low), std::max(first->high, second->high)};
      } else if (a->op == "select") {
        const auto then = range(a->args[1]), otherwise = range(a->args[2]);
        if (then && otherwise) {
          result =
              Range{std::min(then->low, otherwise->low), std::max(then->high, otherwise->high)};
        }
      } else if (a->op == "&" && by_constant) {
        result = Range{0, a->args[1]->constant};
      } else if (a->op == "cast" && !is_float(a->args[0]->type)) {
        result = first;
      }
      // What is kept as 64 bits here need not be.
      if (!result && (a->op == "cast" || size_of(a->type) == 1)) result = type_range(a->type);
      break;
    }
    default:
      break;
  }
  ranges_.emplace(a, result);
  return result;
}

// --- Conditions -------------------------------------------------------------------------------

Ref Nodes::non_negative(Ref a) {
  if (const auto all = range(a)) {
    if (all->low >= 0) return boolean(true);
    if (all->high < 0) return boolean(false);
  }
  std::int64_t common = 0;
  for (const Term& term : a->terms) common = std::gcd(common, term.coefficient);
  if (common > 1 && !plain_conditions) {
    std::vector<Term> reduced;
    for (const Term& term : a->terms) reduced.push_back({term.coefficient / common, term.atom});
    a = sum(floor_divide(a->constant, common), reduced);
  }
  Node node;
  node.type = ScalarType::kBool;
  node.op = ">=0";
  node.args = {a};
  return make(std::move(node));
}

Ref Nodes::is_zero(Ref a) {
  if (a->is_constant()) return boolean(a->constant == 0);
  if (const auto all = range(a); all && (all->low > 0 || all->high < 0)) return boolean(false);
  if (a->terms[0].coefficient < 0) a = scale(a, -1);
  Node node;
  node.type = ScalarType::kBool;
  node.op = "==0";
  node.args = {a};
  return make(std::move(node));
}

Ref peel(Ref value) {
  const bool alone = value->kind == Node::Kind::kSum && value->constant == 0 &&
                     value->terms.size() == 1 && value->terms[0].coefficient == 1;
  return alone ? value->terms[0].atom : value;
}

std::vector<Ref> conjuncts(Ref condition) {
  if (!condition->is("&&")) return {condition};
  std::vector<Ref> all = conjuncts(condition->args[0]);
  const std::vector<Ref> more = conjuncts(condition->args[1]);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Ref Nodes::both(Ref a, Ref b) {
  if (a->is_constant()) return a->constant != 0 ? b : a;
  if (b->is_constant()) return b->constant != 0 ? a : b;
  std::vector<Ref> parts = conjuncts(a);
  for (const Ref part : conjuncts(b)) {
    if (std::ranges::find(parts, part) != parts.end()) continue;
    if (std::ranges::find(parts, negate(part)) != parts.end()) return boolean(false);
    parts.push_back(part);
  }
  // What is about data last: it may be there to be read only where the rest holds.
  std::ranges::sort(parts, {}, [](Ref part) { return std::make_pair(part->has_load, part->id); });
  Ref all = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Node node;
    node.type = ScalarType::kBool;
    node.op = "&&";
    node.args = {all, parts[i]};
    all = make(std::move(node));
  }
  return all;
}

Ref Nodes::either(Ref a, Ref b) {
  if (a->is_constant()) return a->constant != 0 ? a : b;
  if (b->is_constant()) return b->constant != 0 ? b : a;
  if (a == b) return a;
  if (a == negate(b)) return boolean(true);
  // What follows from the other adds nothing.
  Facts when_a, when_b;
  when_a.add(a);
  when_b.add(b);
  if (when_a.prove(*this, b)) return b;
  if (when_b.prove(*this, a)) return a;
  // (c && a) || (c && b) is c && (a || b).
  const std::vector<Ref> left = conjuncts(a), right = conjuncts(b);
  Ref common = boolean(true), only_left = boolean(true), only_right = boolean(true);
  for (const Ref part : left) {
    const bool shared = std::ranges::find(right, part) != right.end();
    (shared ? common : only_left) = both(shared ? common : only_left, part);
  }
  for (const Ref part : right)
    if (std::ranges::find(left, part) == left.end()) only_right = both(only_right, part);
  if (!common->is_constant()) return both(common, either(only_left, only_right));
  // a || (!a && b) is a || b.
  if (left.size() == 1 && std::ranges::find(right, negate(a)) != right.end()) {
    Ref rest = boolean(true);
    for (const Ref part : right)
      if (part != negate(a)) rest = both(rest, part);
    if (!a->has_load || !rest->has_load) return either(a, rest);
  }
  if (right.size() == 1 && left.size() > 1 && std::ranges::find(left, negate(b)) != left.end()) {
    return either(b, a);
  }
  Node node;
  node.type = ScalarType::kBool;
  node.op = "||";
  const bool in_order = std::make_pair(a->has_load, a->id) < std::make_pair(b->has_load, b->id);
  node.args = in_order ? std::vector{a, b} : std::vector{b, a};
  return make(std::move(node));
}

Ref Nodes::negate(Ref a) {
  if (a->is_constant()) return boolean(a->constant == 0);
  if (a->is("!")) return a->args[0];
  if (a->is(">=0")) return non_negative(sum(-1, {{-1, a->args[0]}}));
  if (a->is("||")) return both(negate(a->args[0]), negate(a->args[1]));
  Node node;
  node.type = ScalarType::kBool;
  node.op = "!";
  node.args = {a};
  return make(std::move(node));
}

// --- Values -----------------------------------------------------------------------------------

Ref Nodes::select(Ref condition, Ref then, Ref otherwise) {
  if (condition->is_constant()) return condition->constant != 0 ? then : otherwise;
  if (then == otherwise) return then;
  if (condition->is("!")) return select(condition->args[0], otherwise, then);
  // A constant stands on the other side: one form for "outside: 0" and "inside: x".
  const auto is_leaf = [](Ref value) {
    return value->kind == Node::Kind::kFloat || value->is_constant();
  };
  if (is_leaf(then) && !is_leaf(otherwise) && (condition->is(">=0") || condition->is("||"))) {
    const Ref opposite = negate(condition);
    if (!opposite->is("!")) return select(opposite, otherwise, then);
  }
  if (then->type == ScalarType::kBool && otherwise->type == ScalarType::kBool) {
    return either(both(condition, then), both(negate(condition), otherwise));
  }
  if (then->is("select") && then->args[0] == condition) then = then->args[1];
  if (otherwise->is("select") && otherwise->args[0] == condition) otherwise = otherwise->args[2];
  if (then == otherwise) return then;
  if (then->is("select") && then->args[2] == otherwise) {
    return select(both(condition, then->args[0]), then->args[1], otherwise);
  }
  // a < b ? b : a and its kin.
  if (condition->is("<") || condition->is("<=")) {
    const Ref a = condition->args[0], b = condition->args[1];
    if (then == b && otherwise == a) return op("max", then->type, {a, b});
    if (then == a && otherwise == b) return op("min", then->type, {a, b});
  }
  if (condition->is(">=0") && !is_float(then->type)) {
    const Ref over = subtract(condition->args[0], subtract(then, otherwise));
    if (over->is_constant() && (over->constant == 0 || over->constant == -1)) {
      return op("max", then->type, {then, otherwise});
    }
    const Ref under = subtract(condition->args[0], subtract(otherwise, then));
    if (under->is_constant() && (under->constant == 0 || under->constant == -1)) {
      return op("min", then->type, {then, otherwise});
    }
  }
  Node node;
  node.type = then->type;
  node.op = "select";
  node.args = {condition, then, otherwise};
  const Ref made = make(std::move(node));
  return made->is_integer() ? sum(0, {{1, made}}) : made;
}

Ref Nodes::cast(Ref a, ScalarType type) {
  if (a->type == type) return a;
  if (type == ScalarType::kBool) {
    if (peel(a)->type == ScalarType::kBool) return peel(a);
    if (!is_float(a->type)) return negate(is_zero(a));
    return op("!=", ScalarType::kBool, {a, number(0, a->type)});
  }
  if (is_float(type)) {
    if (a->is_constant()) return number(static_cast<double>(a->constant), type);
    if (a->kind == Node::Kind::kFloat && type != ScalarType::kF16 && type != ScalarType::kBf16) {
      return number(a->value, type);
    }
    // A widening and back.
    if (a->is("cast") && a->args[0]->type == type && size_of(a->type) > size_of(type)) {
      return a->args[0];
    }
    Node node;
    node.type = type;
    node.op = "cast";
    node.args = {a};
    return make(std::move(node));
  }
  if (a->kind == Node::Kind::kFloat) return integer(static_cast<std::int64_t>(a->value));
  if (!is_float(a->type)) {
    // An index is taken to fit; data may not.
    const auto all = range(a);
    const auto fits = size_of(type) == 1 ? type_range(type) : std::nullopt;
    if (fits ? all && all->low >= fits->low && all->high <= fits->high
             : type != ScalarType::kU32 || !a->has_load) {
      return a->type == ScalarType::kBool ? sum(0, {{1, a}}) : a;
    }
  }
  Node node;
  node.type = type;
  node.op = "cast";
  node.args = {a};
  return sum(0, {{1, make(std::move(node))}});
}

Ref Nodes::identity(std::string_view op, ScalarType type) {
  const bool real = is_float(type);
  const double infinity = type == ScalarType::kF16 ? 65504.0 : HUGE_VAL;
  if (op == "*") return real ? number(1, type) : integer(1);
  if (op == "min") return real ? number(infinity, type) : integer(INT32_MAX);
  if (op == "max") return real ? number(-infinity, type) : integer(INT32_MIN);
  if (op == "&") return integer(-1);
  return real ? number(0, type) : integer(0);
}

Ref Nodes::op(std::string_view name, ScalarType type, std::vector<Ref> args) {
  const bool integers =
      !args.empty() && std::ranges::none_of(args, [](Ref a) { return is_float(a->type); });
  if (name == "select") return select(args[0], args[1], args[2]);
  if (name == "cast") return cast(args[0], type);
  if (name == "!") return negate(args[0]);
  if (name == "&&") return both(args[0], args[1]);
  if (name == "||") return either(args[0], args[1]);
  if (name == ">=0") return non_negative(args[0]);
  if (name == "==0") return is_zero(args[0]);
  if (integers) {
    if (name == "+") return add(args[0], args[1]);
    if (name == "-") return subtract(args[0], args[1]);
    if (name == "neg") return scale(args[0], -1);
    if (name == "*") return multiply(args[0], args[1]);
    if (name == "/") return divide(args[0], args[1]);
    if (name == "%") return remainder(args[0], args[1]);
    if (name == "<") return less(args[0], args[1]);
    if (name == "<=") return non_negative(subtract(args[1], args[0]));
    if (name == "==") return is_zero(subtract(args[0], args[1]));
    if (name == "!=") return negate(is_zero(subtract(args[0], args[1])));
    const bool constants = std::ranges::all_of(args, [](Ref a) { return a->is_constant(); });
    if (name == "<<" && args[1]->is_constant() && args[1]->constant >= 0 &&
        args[1]->constant < 40) {
      return scale(args[0], std::int64_t{1} << args[1]->constant);
    }
    if (name == ">>" && args[1]->is_constant() && args[1]->constant >= 0 &&
        args[1]->constant < 40) {
      const auto all = range(args[0]);
      if (all && all->low >= 0)
        return quotient(args[0], std::int64_t{1} << args[1]->constant, false);
    }
    if (name == "&" && args[1]->is_constant() && args[1]->constant >= 0 &&
        ((args[1]->constant + 1) & args[1]->constant) == 0) {
      const auto all = range(args[0]);
      if (all && all->low >= 0) return quotient(args[0], args[1]->constant + 1, true);
    }
    if (constants && args.size() == 2) {
      const std::int64_t a = args[0]->constant, b = args[1]->constant;
      if (name == "min") return integer(std::min(a, b));
      if (name == "max") return integer(std::max(a, b));
      if (name == "&") return integer(a & b);
      if (name == "|") return integer(a | b);
      if (name == "^") return integer(a ^ b);
    }
    if ((name == "min" || name == "max") && args.size() == 2) {
      // Decided by the ranges: min(16, n - i).
      const Ref first_larger = non_negative(subtract(args[0], args[1]));
      if (first_larger->is_constant()) {
        return (first_larger->constant != 0) == (name == "max") ? args[0] : args[1];
      }
    }
  }
  const auto is_number = [](Ref a, double value) {
    return a->kind == Node::Kind::kFloat && a->value == value;
  };
  if (!integers && args.size() == 2) {
    if (name == "+" && is_number(args[0], 0)) return args[1];
    if (name == "+" && is_number(args[1], 0)) return args[0];
    if (name == "-" && is_number(args[1], 0)) return args[0];
    if (name == "*" && is_number(args[0], 1)) return args[1];
    if ((name == "*" || name == "/") && is_number(args[1], 1)) return args[0];
    if ((name == "max" || name == "min") && args[0] == args[1]) return args[0];
    if (name == "max" && is_number(args[0], -HUGE_VAL)) return args[1];
    if (name == "max" && is_number(args[1], -HUGE_VAL)) return args[0];
    if (name == "min" && is_number(args[0], HUGE_VAL)) return args[1];
    if (name == "min" && is_number(args[1], HUGE_VAL)) return args[0];
  }
  // f(0) beside the fold of f(1), f(2), …
  if (!integers && args.size() == 2 && (name == "max" || name == "min" || name == "+")) {
    for (int i = 0; i < 2; ++i) {
      const Ref fold = args[i], first = args[1 - i];
      if (fold->kind != Node::Kind::kReduce || fold->op != name || fold->symbols.size() != 1) {
        continue;
      }
      const Ref body = fold->args[0];
      if (substitute(body, {{fold->symbols[0], integer(-1)}}) != first) continue;
      const SymbolId longer = new_symbol("k", extent(fold->symbols[0]) + 1);
      return reduce(name, {longer},
                    substitute(body, {{fold->symbols[0], subtract(index(longer), integer(1))}}));
    }
  }
  if (name == "neg" && args[0]->kind == Node::Kind::kFloat) {
    return number(-args[0]->value, args[0]->type);
  }
  const bool commutes = args.size() == 2 && (is_associative(name) || name == "==" || name == "!=");
  Node node;
  node.op = name;
  node.type = type;
  node.args = std::move(args);
  if (commutes && node.args[0]->id > node.args[1]->id) std::swap(node.args[0], node.args[1]);
  const bool integer_result = !is_float(type) && type != ScalarType::kBool;
  const Ref made = make(std::move(node));
  return integer_result ? sum(0, {{1, made}}) : made;
}

// --- Reductions -------------------------------------------------------------------------------

Nodes::Opened Nodes::open(Ref reduction) {
  Opened opened;
  Substitution fresh;
  for (const SymbolId symbol : reduction->symbols) {
    const SymbolId own = new_symbol(symbols_[symbol].name, extent(symbol));
    opened.symbols.push_back(own);
    fresh[symbol] = index(own);
  }
  opened.body = substitute(reduction->args[0], fresh);
  return opened;
}

Ref Nodes::reduce(std::string_view op, std::vector<SymbolId> symbols, Ref body) {
  const bool arg = op == "argmin" || op == "argmax";
  const Ref nothing = arg ? nullptr : identity(op, body->type);
  if (!arg) {
    if (body == nothing) return nothing;
    for (const SymbolId symbol : symbols)
      if (extent(symbol) <= 0) return nothing;
    if (peel(body)->kind == Node::Kind::kReduce && peel(body)->op == op) {
      const Opened inner = open(peel(body));
      symbols.insert(symbols.end(), inner.symbols.begin(), inner.symbols.end());
      return reduce(op, std::move(symbols), inner.body);
    }
    // A condition between two folds of one kind goes inside.
    if (const Ref chosen = peel(body); chosen->is("select") && chosen->args[2] == nothing) {
      const Ref inside = peel(chosen->args[1]);
      if (inside->kind == Node::Kind::kReduce && inside->op == op) {
        const Opened inner = open(inside);
        symbols.insert(symbols.end(), inner.symbols.begin(), inner.symbols.end());
        return reduce(op, std::move(symbols), select(chosen->args[0], inner.body, nothing));
      }
    }
    // Conditions that are about one symbol alone are bounds of it; those about none are no
    // business of the reduction.
    const Ref chosen = peel(body);
    if (!plain_conditions && chosen->is("select") && chosen->args[2] == nothing) {
      Ref outside = boolean(true), kept = boolean(true);
      Substitution bounds;
      std::vector<SymbolId> bounded = symbols;
      for (const Ref part : conjuncts(chosen->args[0])) {
        const bool inside =
            std::ranges::any_of(symbols, [&](SymbolId symbol) { return part->uses(symbol); });
        if (!inside) {
          outside = both(outside, part);
          continue;
        }
        const bool simple = part->is(">=0") && part->args[0]->terms.size() == 1 &&
                            part->args[0]->terms[0].atom->kind == Node::Kind::kIndex &&
                            bounds.empty();
        if (!simple) {
          kept = both(kept, part);
          continue;
        }
        const Term& term = part->args[0]->terms[0];
        const auto place = std::ranges::find(bounded, term.atom->symbol);
        const std::int64_t size = extent(*place), constant = part->args[0]->constant;
        // c - k >= 0: k <= c. k - c >= 0: k >= c.
        const std::int64_t low = term.coefficient > 0 ? std::max<std::int64_t>(0, -constant) : 0;
        const std::int64_t high =
            term.coefficient > 0 ? size : std::min<std::int64_t>(size, constant + 1);
        if (high <= low) return nothing;
        const SymbolId smaller = new_symbol(symbols_[*place].name, high - low);
        bounds[*place] = add(index(smaller), integer(low));
        *place = smaller;
      }
      if (!bounds.empty() || !(outside->is_constant())) {
        Ref rest = select(kept, chosen->args[1], nothing);
        if (!bounds.empty()) rest = substitute(rest, bounds);
        return select(outside, reduce(op, bounded, rest), nothing);
      }
    }
  }
  std::vector<SymbolId> used;
  for (const SymbolId symbol : symbols) {
    if (arg || body->uses(symbol)) {
      used.push_back(symbol);
    } else if (op == "+") {
      body = is_float(body->type)
                 ? this->op("*", body->type,
                            {number(static_cast<double>(extent(symbol)), body->type), body})
                 : scale(body, extent(symbol));
    } else if (op == "*" || op == "^") {
      if (extent(symbol) != 1) used.push_back(symbol);
    }
  }
  if (used.empty()) return arg ? integer(0) : body;
  const int height = body->height + 1;
  Substitution own;
  std::vector<SymbolId> bound;
  static constexpr const char* kNames[] = {"k", "l", "m", "n", "o", "p", "q"};
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto key = std::make_tuple(height, static_cast<int>(i), extent(used[i]));
    auto place = bound_.find(key);
    if (place == bound_.end()) {
      const std::string name =
          fmt::format("{}{}", kNames[std::min(height - 1, 6)], i == 0 ? "" : std::to_string(i));
      place = bound_.emplace(key, new_symbol(name, extent(used[i]))).first;
    }
    bound.push_back(place->second);
    if (place->second != used[i]) own[used[i]] = index(place->second);
  }
  if (!own.empty()) body = substitute(body, own);
  Node node;
  node.kind = Node::Kind::kReduce;
  node.type = arg ? ScalarType::kI64 : body->type;
  node.op = op;
  node.symbols = std::move(bound);
  node.args = {body};
  const Ref made = make(std::move(node));
  return made->is_integer() ? sum(0, {{1, made}}) : made;
}

// --- Rebuilding -------------------------------------------------------------------------------

Ref Nodes::with_args(Ref a, std::vector<Ref> args) {
  if (args == a->args) return a;
  if (a->kind == Node::Kind::kLoad) return load(a->op, a->type, args[0]);
  return op(a->op, a->type, std::move(args));
}

Ref Nodes::replace(Ref root, const std::function<Ref(Ref)>& change) {
  std::unordered_map<Ref, Ref> done;
  const std::function<Ref(Ref)> visit = [&](Ref node) -> Ref {
    const auto found = done.find(node);
    if (found != done.end()) return found->second;
    Ref result = change(node);
    if (result == nullptr) {
      result = node;
      switch (node->kind) {
        case Node::Kind::kSum: {
          std::vector<Term> terms;
          bool changed = false;
          for (const Term& term : node->terms) {
            const Ref atom = visit(term.atom);
            changed |= atom != term.atom;
            terms.push_back({term.coefficient, atom});
          }
          if (changed) result = sum(node->constant, std::move(terms));
          break;
        }
        case Node::Kind::kLoad:
        case Node::Kind::kOp: {
          std::vector<Ref> args;
          for (const Ref arg : node->args) args.push_back(visit(arg));
          result = with_args(node, std::move(args));
          break;
        }
        case Node::Kind::kReduce: {
          const Opened opened = open(node);
          const Ref body = visit(opened.body);
          if (body != opened.body) result = reduce(node->op, opened.symbols, body);
          break;
        }
        default:
          break;
      }
    }
    done.emplace(node, result);
    return result;
  };
  return visit(root);
}

Ref Nodes::settled(Ref value) {
  return replace(value, [&](Ref node) -> Ref {
    if (node->is(">=0")) return non_negative(settled(node->args[0]));
    if (node->kind != Node::Kind::kReduce) return nullptr;
    const Opened opened = open(node);
    return reduce(node->op, opened.symbols, settled(opened.body));
  });
}

Ref Nodes::substitute(Ref root, const Substitution& values) {
  std::unordered_map<Ref, Ref> done;
  const std::function<Ref(Ref)> visit = [&](Ref node) -> Ref {
    const bool touched =
        std::ranges::any_of(values, [&](const auto& entry) { return node->uses(entry.first); });
    if (!touched) return node;
    const auto found = done.find(node);
    if (found != done.end()) return found->second;
    Ref result = node;
    switch (node->kind) {
      case Node::Kind::kIndex:
        result = values.at(node->symbol);
        break;
      case Node::Kind::kSum: {
        std::vector<Term> terms;
        for (const Term& term : node->terms) terms.push_back({term.coefficient, visit(term.atom)});
        result = sum(node->constant, std::move(terms));
        break;
      }
      case Node::Kind::kReduce: {
        // Opened: what is put in may use the symbols that are bound here.
        Substitution fresh;
        std::vector<SymbolId> own;
        for (const SymbolId symbol : node->symbols) {
          own.push_back(new_symbol(symbols_[symbol].name, extent(symbol)));
          fresh[symbol] = index(own.back());
        }
        const Ref body = substitute(node->args[0], fresh);
        result = reduce(node->op, own, visit(body));
        break;
      }
      default: {
        std::vector<Ref> args;
        for (const Ref arg : node->args) args.push_back(visit(arg));
        result = with_args(node, std::move(args));
        break;
      }
    }
    done.emplace(node, result);
    return result;
  };
  return visit(root);
}

// --- Facts ------------------------------------------------------------------------------------

void Facts::add(Ref condition) {
  for (const Ref part : conjuncts(condition)) {
    if (part->is_constant()) continue;
    if (std::ranges::find(conditions_, part) == conditions_.end()) conditions_.push_back(part);
  }
}

bool Facts::prove(Nodes& nodes, Ref condition) const {
  for (const Ref part : conjuncts(condition)) {
    if (part->is_constant()) {
      if (part->constant == 0) return false;
      continue;
    }
    if (std::ranges::find(conditions_, part) != conditions_.end()) continue;
    bool shown = false;
    if (part->is(">=0")) {
      for (const Ref fact : conditions_) {
        if (!fact->is(">=0")) continue;
        const auto over = nodes.range(nodes.subtract(part->args[0], fact->args[0]));
        shown = shown || (over && over->low >= 0);
      }
    }
    if (part->is("||")) shown = prove(nodes, part->args[0]) || prove(nodes, part->args[1]);
    if (!shown) return false;
  }
  return true;
}

Ref under(Nodes& nodes, Ref value, const Facts& facts) {
  if (facts.conditions().empty()) return value;
  return nodes.replace(value, [&](Ref node) -> Ref {
    if (node->type != ScalarType::kBool || node->kind != Node::Kind::kOp) return nullptr;
    if (facts.prove(nodes, node)) return nodes.boolean(true);
    if (facts.prove(nodes, nodes.negate(node))) return nodes.boolean(false);
    return nullptr;
  });
}

// --- Text -------------------------------------------------------------------------------------

std::string to_string(const Nodes& nodes, Ref value) {
  const auto text = [&](Ref part) { return to_string(nodes, part); };
  switch (value->kind) {
    case Node::Kind::kFloat:
      return fmt::format("{}", value->value);
    case Node::Kind::kIndex:
      return nodes.symbol(value->symbol).name;
    case Node::Kind::kPhi:
      return fmt::format("phi{}", value->id);
    case Node::Kind::kLoad:
      return fmt::format("{}[{}]", value->op, text(value->args[0]));
    case Node::Kind::kSum: {
      if (value->type == ScalarType::kBool) return value->constant != 0 ? "true" : "false";
      std::string sum;
      for (const Term& term : value->terms) {
        const std::int64_t size = std::abs(term.coefficient);
        sum += sum.empty() ? (term.coefficient < 0 ? "-" : "")
                           : (term.coefficient < 0 ? " - " : " + ");
        if (size != 1) sum += fmt::format("{}*", size);
        sum += text(term.atom);
      }
      if (sum.empty()) return std::to_string(value->constant);
      if (value->constant > 0) sum += fmt::format(" + {}", value->constant);
      if (value->constant < 0) sum += fmt::format(" - {}", -value->constant);
      return sum;
    }
    case Node::Kind::kReduce: {
      std::string over;
      for (const SymbolId symbol : value->symbols) {
        over += fmt::format("{}{} < {}", over.empty() ? "" : ", ", nodes.symbol(symbol).name,
                            nodes.extent(symbol));
      }
      return fmt::format("{}({}: {})", value->op == "+" ? "sum" : value->op, over,
                         text(value->args[0]));
    }
    case Node::Kind::kOp:
      break;
  }
  static const std::set<std::string, std::less<>> infix = {
      "+", "-", "*", "/", "%", "<", "<=", "&", "|", "^", "==", "!=", "&&", "||", ">>", "<<"};
  if (value->is(">=0")) return fmt::format("({} >= 0)", text(value->args[0]));
  if (value->is("==0")) return fmt::format("({} == 0)", text(value->args[0]));
  if (value->is("cast")) {
    return fmt::format("{}({})", to_string(value->type), text(value->args[0]));
  }
  if (value->is("select")) {
    return fmt::format("({} ? {} : {})", text(value->args[0]), text(value->args[1]),
                       text(value->args[2]));
  }
  if (infix.contains(value->op)) {
    return fmt::format("({} {} {})", text(value->args[0]), value->op, text(value->args[1]));
  }
  std::string args;
  for (const Ref arg : value->args) args += (args.empty() ? "" : ", ") + text(arg);
  return fmt::format("{}({})", value->op, args);
}

}  // namespace hone::lift
