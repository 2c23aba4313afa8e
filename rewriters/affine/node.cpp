// Values that simplify as they are made: leaves, operations, and graphs made again with parts
// replaced.
#include "rewriters/affine/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "rewriters/affine/integers.h"

namespace hone::nest {
namespace {

std::vector<SymbolId> merged(std::vector<SymbolId> a, const std::vector<SymbolId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::ranges::sort(a);
  a.erase(std::ranges::unique(a).begin(), a.end());
  return a;
}

void walk(Ref value, const std::function<void(Ref)>& visit, std::set<Ref>& seen) {
  if (!seen.insert(value).second) return;
  visit(value);
  for (const Ref arg : value->args) walk(arg, visit, seen);
  for (const Term& term : value->terms) walk(term.atom, visit, seen);
}

template <class T>
void append(std::string& key, const T& part) {
  key.append(reinterpret_cast<const char*>(&part), sizeof part);
}

/// The same for equal nodes alone.
std::string key_of(const Node& node) {
  std::string key;
  key.reserve(64);
  append(key, node.kind);
  append(key, node.type);
  append(key, node.op);
  append(key, node.name.size());
  key += node.name;
  append(key, node.args.size());
  for (const Ref arg : node.args) append(key, arg->id);
  append(key, node.terms.size());
  for (const Term& term : node.terms) {
    append(key, term.coefficient);
    append(key, term.atom->id);
  }
  append(key, node.symbols.size());
  for (const SymbolId symbol : node.symbols) append(key, symbol);
  append(key, node.constant);
  append(key, node.symbol);
  append(key, node.value);
  return key;
}

}  // namespace

bool Node::uses(SymbolId id) const { return std::ranges::binary_search(free, id); }
bool uses_any(Ref value, const std::vector<SymbolId>& symbols) {
  return std::ranges::any_of(symbols, [&](SymbolId symbol) { return value->uses(symbol); });
}

SymbolId Nodes::new_symbol(std::string name, std::int64_t extent) {
  symbols_.push_back({std::move(name), extent});
  return static_cast<SymbolId>(symbols_.size() - 1);
}

Ref Nodes::make(Node node) {
  work(1 + (node.args.size() + node.terms.size()) / 4);
  std::string key = key_of(node);
  if (node.kind == Node::Kind::kPhi) append(key, nodes_.size());
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;

  constexpr std::size_t kNewNode = 10;  // as long as ten nodes found
  work(kNewNode);
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

Ref Nodes::make(Op op, ScalarType type, std::vector<Ref> args, std::string_view name) {
  Node node;
  node.type = type;
  node.op = op;
  node.name = name;
  node.args = std::move(args);
  return make(std::move(node));
}

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
  node.name = buffer;
  node.args = {element};
  return make(std::move(node));
}

Ref Nodes::phi(ScalarType type) {
  Node node;
  node.kind = Node::Kind::kPhi;
  node.type = type;
  return make(std::move(node));
}

Ref peel(Ref value) {
  const bool alone = value->kind == Node::Kind::kSum && value->constant == 0 &&
                     value->terms.size() == 1 && value->terms[0].coefficient == 1;
  return alone ? value->terms[0].atom : value;
}

void for_each(Ref value, const std::function<void(Ref)>& visit) {
  std::set<Ref> seen;
  walk(value, visit, seen);
}

std::vector<Ref> loads_in(Ref value) {
  std::vector<Ref> loads;
  std::set<Ref> seen;
  const std::function<void(Ref)> visit = [&](Ref node) {
    if (!node->has_load || !seen.insert(node).second) return;
    if (node->kind == Node::Kind::kLoad) loads.push_back(node);
    for (const Ref arg : node->args) visit(arg);
    for (const Term& term : node->terms) visit(term.atom);
  };
  visit(value);
  return loads;
}

Ref Nodes::select(Ref condition, Ref then, Ref otherwise) {
  if (condition->is_constant()) return condition->constant != 0 ? then : otherwise;
  if (then == otherwise) return then;
  if (condition->is(Op::kNot)) return select(condition->args[0], otherwise, then);
  // a < b || b != b ? b : a, which keeps NaN.
  if (const Ref order = order_alone(condition); order != condition) {
    const Ref left = order->args[0], right = order->args[1];
    if ((then == left && otherwise == right) || (then == right && otherwise == left)) {
      return op(then == right ? Op::kMax : Op::kMin, then->type, {left, right});
    }
  }
  // A constant stands on the other side: one form for "outside: 0" and "inside: x".
  const auto is_leaf = [](Ref value) {
    return value->kind == Node::Kind::kFloat || value->is_constant();
  };
  if (is_leaf(then) && !is_leaf(otherwise) && (condition->is(Op::kNonNegative, Op::kOr))) {
    const Ref opposite = negate(condition);
    if (!opposite->is(Op::kNot)) return select(opposite, otherwise, then);
  }
  if (then->type == ScalarType::kBool && otherwise->type == ScalarType::kBool) {
    return either(both(condition, then), both(negate(condition), otherwise));
  }
  if (then->is(Op::kSelect) && then->args[0] == condition) then = then->args[1];
  if (otherwise->is(Op::kSelect) && otherwise->args[0] == condition) otherwise = otherwise->args[2];
  if (then == otherwise) return then;
  if (then->is(Op::kSelect) && then->args[2] == otherwise) {
    return select(both(condition, then->args[0]), then->args[1], otherwise);
  }
  // a < b ? b : a and its kin.
  if (condition->is(Op::kLess, Op::kLessEqual)) {
    const Ref a = condition->args[0], b = condition->args[1];
    if (then == b && otherwise == a) return op(Op::kMax, then->type, {a, b});
    if (then == a && otherwise == b) return op(Op::kMin, then->type, {a, b});
  }
  if (condition->is(Op::kNonNegative) && !is_float(then->type)) {
    const Ref over = subtract(condition->args[0], subtract(then, otherwise));
    if (over->is_constant() && (over->constant == 0 || over->constant == -1)) {
      return op(Op::kMax, then->type, {then, otherwise});
    }
    const Ref under = subtract(condition->args[0], subtract(otherwise, then));
    if (under->is_constant() && (under->constant == 0 || under->constant == -1)) {
      return op(Op::kMin, then->type, {then, otherwise});
    }
  }
  const Ref made = make(Op::kSelect, then->type, {condition, then, otherwise});
  return made->is_integer() ? sum(0, {{1, made}}) : made;
}

Ref Nodes::cast(Ref a, ScalarType type) {
  if (a->type == type) return a;
  if (type == ScalarType::kBool) {
    if (peel(a)->type == ScalarType::kBool) return peel(a);
    if (!is_float(a->type)) return negate(is_zero(a));
    return op(Op::kNotEqual, ScalarType::kBool, {a, number(0, a->type)});
  }
  if (is_float(type)) {
    if (a->is_constant()) return number(static_cast<double>(a->constant), type);
    if (a->kind == Node::Kind::kFloat && !is_narrow_float(type)) {
      return number(a->value, type);
    }
    // A widening and back.
    if (a->is(Op::kCast) && a->args[0]->type == type && size_of(a->type) > size_of(type)) {
      return a->args[0];
    }
    return make(Op::kCast, type, {a});
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
  return sum(0, {{1, make(Op::kCast, type, {a})}});
}

Ref Nodes::identity(Op op, ScalarType type) {
  const double value = info(op).identity;
  if (!is_float(type)) {
    return integer(static_cast<std::int64_t>(std::clamp<double>(value, INT32_MIN, INT32_MAX)));
  }
  const double most = type == ScalarType::kF16    ? 65504.0
                      : type == ScalarType::kE4m3 ? 448.0
                      : type == ScalarType::kE5m2 ? 57344.0
                                                  : HUGE_VAL;
  return number(std::clamp(value, -most, most), type);
}

Ref Nodes::op(Op op, ScalarType type, std::vector<Ref> args) {
  const bool integers =
      !args.empty() && std::ranges::none_of(args, [](Ref a) { return is_float(a->type); });
  if (op == Op::kSelect) return select(args[0], args[1], args[2]);
  if (op == Op::kCast) return cast(args[0], type);
  if (op == Op::kNot) return negate(args[0]);
  if (op == Op::kAnd) return both(args[0], args[1]);
  if (op == Op::kOr) return either(args[0], args[1]);
  if (op == Op::kNonNegative) return non_negative(args[0]);
  if (op == Op::kIsZero) return is_zero(args[0]);
  if (integers) {
    if (op == Op::kAdd) return add(args[0], args[1]);
    if (op == Op::kSub) return subtract(args[0], args[1]);
    if (op == Op::kNeg) return scale(args[0], -1);
    if (op == Op::kMul) return multiply(args[0], args[1]);
    if (op == Op::kDiv) return divide(args[0], args[1]);
    if (op == Op::kMod) return remainder(args[0], args[1]);
    if (op == Op::kLess) return less(args[0], args[1]);
    if (op == Op::kLessEqual) return non_negative(subtract(args[1], args[0]));
    if (op == Op::kEqual) return is_zero(subtract(args[0], args[1]));
    if (op == Op::kNotEqual) return negate(is_zero(subtract(args[0], args[1])));
    const bool constants = std::ranges::all_of(args, [](Ref a) { return a->is_constant(); });
    if (op == Op::kShiftLeft && args[1]->is_constant() && args[1]->constant >= 0 &&
        args[1]->constant < 40) {
      return scale(args[0], std::int64_t{1} << args[1]->constant);
    }
    if (op == Op::kShiftRight && args[1]->is_constant() && args[1]->constant >= 0 &&
        args[1]->constant < 40) {
      const auto all = range(args[0]);
      if (all && all->low >= 0)
        return quotient(args[0], std::int64_t{1} << args[1]->constant, false);
    }
    if (op == Op::kBitAnd && args[1]->is_constant() && args[1]->constant >= 0 &&
        ((args[1]->constant + 1) & args[1]->constant) == 0) {
      const auto all = range(args[0]);
      if (all && all->low >= 0) return quotient(args[0], args[1]->constant + 1, true);
    }
    if (constants && args.size() == 2) {
      const std::int64_t a = args[0]->constant, b = args[1]->constant;
      if (op == Op::kMin) return integer(std::min(a, b));
      if (op == Op::kMax) return integer(std::max(a, b));
      if (op == Op::kBitAnd) return integer(a & b);
      if (op == Op::kBitOr) return integer(a | b);
      if (op == Op::kBitXor) return integer(a ^ b);
    }
    if ((op == Op::kMin || op == Op::kMax) && args.size() == 2) {
      // Decided by the ranges: min(16, n - i).
      const Ref first_larger = non_negative(subtract(args[0], args[1]));
      if (first_larger->is_constant()) {
        return (first_larger->constant != 0) == (op == Op::kMax) ? args[0] : args[1];
      }
    }
  }
  const auto is_number = [](Ref a, double value) {
    return a->kind == Node::Kind::kFloat && a->value == value;
  };
  if (!integers && args.size() == 2) {
    if (info(op).is(OpInfo::kFolds)) {
      if (is_number(args[0], info(op).identity)) return args[1];
      if (is_number(args[1], info(op).identity)) return args[0];
    }
    if (op == Op::kSub && is_number(args[1], 0)) return args[0];
    if (op == Op::kDiv && is_number(args[1], 1)) return args[0];
    if ((op == Op::kMax || op == Op::kMin) && args[0] == args[1]) return args[0];
  }
  // f(0) beside the fold of f(1), f(2), …
  if (!integers && args.size() == 2 && (op == Op::kMax || op == Op::kMin || op == Op::kAdd)) {
    for (int i = 0; i < 2; ++i) {
      const Ref fold = args[i], first = args[1 - i];
      if (fold->kind != Node::Kind::kReduce || fold->op != op || fold->symbols.size() != 1) {
        continue;
      }
      const Ref body = fold->args[0];
      if (substitute(body, {{fold->symbols[0], integer(-1)}}) != first) continue;
      const SymbolId longer = new_symbol("k", extent(fold->symbols[0]) + 1);
      return reduce(op, {longer},
                    substitute(body, {{fold->symbols[0], subtract(index(longer), integer(1))}}));
    }
  }
  if (op == Op::kNeg && args[0]->kind == Node::Kind::kFloat) {
    return number(-args[0]->value, args[0]->type);
  }
  const bool commutes = args.size() == 2 && info(op).is(OpInfo::kCommutes);
  if (commutes && args[0]->id > args[1]->id) std::swap(args[0], args[1]);
  return operation(op, type, std::move(args));
}

Ref Nodes::operation(Op op, ScalarType type, std::vector<Ref> args, std::string_view name) {
  const Ref made = make(op, type, std::move(args), name);
  return is_float(type) || type == ScalarType::kBool ? made : sum(0, {{1, made}});
}

Ref Nodes::call(std::string_view name, ScalarType type, std::vector<Ref> args) {
  if (const auto known = operation_named(name)) return op(*known, type, std::move(args));
  return operation(Op::kCall, type, std::move(args), name);
}

Ref Nodes::with_args(Ref a, std::vector<Ref> args) {
  if (args == a->args) return a;
  if (a->kind == Node::Kind::kLoad) return load(a->name, a->type, args[0]);
  if (a->op == Op::kCall) return call(a->name, a->type, std::move(args));
  return op(a->op, a->type, std::move(args));
}

Ref Nodes::replace(Ref root, const std::function<Ref(Ref)>& change) {
  std::unordered_map<Ref, Ref> done;
  const std::function<Ref(Ref)> visit = [&](Ref node) -> Ref {
    work();
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
    if (node->is(Op::kNonNegative)) return non_negative(settled(node->args[0]));
    if (node->kind != Node::Kind::kReduce) return nullptr;
    const Opened opened = open(node);
    return reduce(node->op, opened.symbols, settled(opened.body));
  });
}

Ref Nodes::substitute(Ref root, const Substitution& values) {
  std::unordered_map<Ref, Ref> done;
  const std::function<Ref(Ref)> visit = [&](Ref node) -> Ref {
    work();
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

}  // namespace hone::nest
