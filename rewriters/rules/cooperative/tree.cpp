#include "rewriters/rules/cooperative/tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::rules::coop {

using syntax::KernelInfo;
using syntax::Polynomial;
using syntax::Stmt;
using syntax::Variable;
using Node = syntax::Expr;

namespace {

// array[index] with exactly this index.
bool is_element(const Node* expr, const Variable* array, const Polynomial& index) {
  expr = strip_casts(expr);
  if (!expr || expr->kind != Node::Kind::kSubscript) return false;
  const Node* base = strip_casts(expr->operands[0]);
  if (base->kind != Node::Kind::kVariable || base->variable != array) return false;
  const auto found = syntax::polynomial(*expr->operands[1]);
  return found && *found == index;
}

const Variable* array_of(const Node* expr) {
  expr = strip_casts(expr);
  return expr && expr->kind == Node::Kind::kSubscript ? as_variable(expr->operands[0]) : nullptr;
}

// Where the elements live: the shared array, or a parameter that stands for it.
struct Frame {
  Polynomial mine;    ///< index that the thread updates
  Polynomial stride;  ///< distance to the partner
};

bool is_float_name(const syntax::Type& type) {
  return type.name == "float" || type.name == "double";
}

std::optional<TreeFold> fold_of_assign(const Node& assign, const Frame& frame) {
  const Variable* array = array_of(assign.operands[0]);
  if (!array || !is_element(assign.operands[0], array, frame.mine)) return std::nullopt;
  const Polynomial partner = frame.mine + frame.stride;
  const auto mine = [&](const Node* e) { return is_element(e, array, frame.mine); };
  const auto theirs = [&](const Node* e) { return is_element(e, array, partner); };
  const bool floating = is_float_name(strip_implicit(assign.operands[0])->type);
  const Node* value = strip_casts(assign.operands[1]);
  const std::string& op = assign.text;
  if (op != "=") {
    const std::string symbol = op.substr(0, op.size() - 1);
    const bool known =
        symbol == "+" || symbol == "*" || symbol == "&" || symbol == "|" || symbol == "^";
    if (!known || !theirs(value)) return std::nullopt;
    return TreeFold{array, fmt::format("$v {} $o;", op), floating};
  }
  if (value->operands.size() == 2 &&
      (value->kind == Node::Kind::kBinary || value->kind == Node::Kind::kCall)) {
    const Node* a = value->operands[0];
    const Node* b = value->operands[1];
    if (!((mine(a) && theirs(b)) || (mine(b) && theirs(a)))) return std::nullopt;
    if (value->kind == Node::Kind::kBinary) {
      const std::string& s = value->text;
      const bool known =
          s == "+" || s == "*" || s == "&" || s == "|" || s == "^" || s == "&&" || s == "||";
      if (!known) return std::nullopt;
      return TreeFold{array, fmt::format("$v = $v {} $o;", s), floating};
    }
    const std::string& f = value->text;
    const bool known =
        f == "max" || f == "min" || f == "fmaxf" || f == "fminf" || f == "fmax" || f == "fmin";
    if (!known) return std::nullopt;
    return TreeFold{array, fmt::format("$v = {}($v, $o);", f), false};
  }
  if (value->kind == Node::Kind::kConditional) {
    const Node* condition = strip_implicit(value->operands[0]);
    const std::string& c = condition->text;
    if (condition->kind != Node::Kind::kBinary ||
        (c != "<" && c != ">" && c != "<=" && c != ">=")) {
      return std::nullopt;
    }
    std::string sides[4];
    const Node* parts[4] = {condition->operands[0], condition->operands[1], value->operands[1],
                            value->operands[2]};
    for (int i = 0; i < 4; ++i) {
      sides[i] = mine(parts[i]) ? "$v" : theirs(parts[i]) ? "$o" : "";
      if (sides[i].empty()) return std::nullopt;
    }
    if (sides[0] == sides[1] || sides[2] == sides[3]) return std::nullopt;
    return TreeFold{
        array, fmt::format("$v = {} {} {} ? {} : {};", sides[0], c, sides[1], sides[2], sides[3]),
        false};
  }
  return std::nullopt;
}

std::optional<TreeFold> fold_of(const Stmt& stmt, const Frame& frame) {
  if (stmt.kind == Stmt::Kind::kExpression) {
    const Node* assign = strip_implicit(stmt.expr);
    if (!assign || assign->kind != Node::Kind::kAssign) return std::nullopt;
    return fold_of_assign(*assign, frame);
  }
  // if (sm[i + s] > sm[i]) sm[i] = sm[i + s];
  if (stmt.kind != Stmt::Kind::kIf || stmt.children.size() != 1) return std::nullopt;
  const Stmt* then = stmt.children[0];
  if (then->kind == Stmt::Kind::kCompound && then->children.size() == 1) then = then->children[0];
  const Node* assign = then->kind == Stmt::Kind::kExpression ? strip_implicit(then->expr) : nullptr;
  const Node* condition = strip_implicit(stmt.expr);
  if (!assign || assign->kind != Node::Kind::kAssign || assign->text != "=" ||
      condition->kind != Node::Kind::kBinary) {
    return std::nullopt;
  }
  const std::string& c = condition->text;
  if (c != "<" && c != ">" && c != "<=" && c != ">=") return std::nullopt;
  const Variable* array = array_of(assign->operands[0]);
  const Polynomial partner = frame.mine + frame.stride;
  if (!array || !is_element(assign->operands[0], array, frame.mine) ||
      !is_element(assign->operands[1], array, partner)) {
    return std::nullopt;
  }
  const bool first_mine = is_element(condition->operands[0], array, frame.mine) &&
                          is_element(condition->operands[1], array, partner);
  const bool first_theirs = is_element(condition->operands[0], array, partner) &&
                            is_element(condition->operands[1], array, frame.mine);
  if (!first_mine && !first_theirs) return std::nullopt;
  return TreeFold{
      array,
      fmt::format("if ({} {} {}) $v = $o;", first_mine ? "$v" : "$o", c, first_mine ? "$o" : "$v"),
      false};
}

bool is_call(const Stmt& stmt, std::string_view name) {
  const Node* call = stmt.kind == Stmt::Kind::kExpression ? strip_implicit(stmt.expr) : nullptr;
  return call && call->kind == Node::Kind::kCall && call->text == name;
}

std::vector<const Stmt*> statements(const Stmt& stmt) {
  std::vector<const Stmt*> result;
  if (stmt.kind != Stmt::Kind::kCompound) return {&stmt};
  for (const Stmt* child : stmt.children) {
    if (child->kind != Stmt::Kind::kNull) result.push_back(child);
  }
  return result;
}

// `s > 0`, `s >= 1`, `s`, `s > 32`: the smallest stride for which the loop still runs (power of
// two).
std::optional<std::int64_t> smallest_stride(const Node* condition, const Variable& s) {
  condition = strip_implicit(condition);
  if (as_variable(condition) == &s) return 1;
  if (condition->kind != Node::Kind::kBinary || as_variable(condition->operands[0]) != &s) {
    return std::nullopt;
  }
  const auto limit = strip_implicit(condition->operands[1])->constant;
  if (!limit || *limit < 0) return std::nullopt;
  std::int64_t least = 1;
  if (condition->text == ">") {
    while (least <= *limit) least *= 2;
  } else if (condition->text == ">=") {
    while (least < *limit) least *= 2;
  } else if (condition->text != "!=" || *limit != 0) {
    return std::nullopt;
  }
  return least;
}

// s >>= 1, s /= 2, s = s / 2, s = s >> 1 (or the doubling twins).
bool steps_by_two(const Node* step, const Variable& s, bool halves) {
  step = strip_implicit(step);
  if (!step || step->kind != Node::Kind::kAssign || as_variable(step->operands[0]) != &s)
    return false;
  const std::string shift = halves ? ">>" : "<<", scale = halves ? "/" : "*";
  const auto amount_fits = [&](const std::string& op, const Node* amount) {
    const auto value = strip_casts(amount)->constant;
    return value && ((op == shift && *value == 1) || (op == scale && *value == 2));
  };
  if (step->text != "=") {
    return amount_fits(step->text.substr(0, step->text.size() - 1), step->operands[1]) ||
           (!halves && step->text == "+=" && as_variable(step->operands[1]) == &s);
  }
  const Node* value = strip_casts(step->operands[1]);
  return value->kind == Node::Kind::kBinary && as_variable(value->operands[0]) == &s &&
         amount_fits(value->text, value->operands[1]);
}

class TreeFinder {
 public:
  TreeFinder(const Parsed& parsed, const KernelInfo& info, std::int64_t threads,
             const Bindings& sizes)
      : parsed_(parsed), info_(info), threads_(threads), sizes_(sizes) {}

  std::vector<Tree> find() {
    std::vector<Tree> trees;
    for (const Stmt* stmt : info_.function->all_statements) {
      if (stmt->kind != Stmt::Kind::kFor || !stmt->expr || !stmt->step || !stmt->range.valid()) {
        continue;
      }
      if (auto tree = match(*stmt)) trees.push_back(std::move(*tree));
    }
    return trees;
  }

 private:
  const Polynomial tid_ = Polynomial::symbol("threadIdx.x");

  std::optional<std::int64_t> value(const Node* expr) const {
    return info_.evaluate(*expr, sizes_);
  }

  // The stride variable and its first value.
  const Node* start_of(const Stmt& loop, const Variable*& s) const {
    if (!loop.init) return nullptr;
    if (loop.init->kind == Stmt::Kind::kDeclaration && loop.init->variables.size() == 1) {
      s = loop.init->variables[0];
      return s->init;
    }
    const Node* assign =
        loop.init->kind == Stmt::Kind::kExpression ? strip_implicit(loop.init->expr) : nullptr;
    if (!assign || assign->kind != Node::Kind::kAssign || assign->text != "=") return nullptr;
    s = as_variable(assign->operands[0]);
    return assign->operands[1];
  }

  bool is_tid(const Node* expr) const {
    const auto form = syntax::polynomial(*expr);
    return form && *form == tid_;
  }

  // The rounds' guard and the index that it goes with; halving loops first, then doubling ones.
  std::optional<Frame> guarded_frame(const Node* guard, const Variable& s, bool halves) const {
    guard = strip_implicit(guard);
    if (guard->kind != Node::Kind::kBinary) return std::nullopt;
    const Polynomial stride = Polynomial::symbol(syntax::symbol_of(s));
    if (halves) {
      const bool below =
          guard->text == "<" && is_tid(guard->operands[0]) && as_variable(guard->operands[1]) == &s;
      const bool above =
          guard->text == ">" && is_tid(guard->operands[1]) && as_variable(guard->operands[0]) == &s;
      return below || above ? std::optional(Frame{tid_, stride}) : std::nullopt;
    }
    const Polynomial twice = stride * Polynomial::constant(2);
    // tid % (2 * s) == 0
    if (guard->text == "==" && strip_casts(guard->operands[1])->constant == 0) {
      const Node* modulo = strip_casts(guard->operands[0]);
      if (modulo->kind != Node::Kind::kBinary || modulo->text != "%") return std::nullopt;
      const auto by = syntax::polynomial(*modulo->operands[1]);
      if (by && *by == twice && is_tid(modulo->operands[0])) return Frame{tid_, stride};
      return std::nullopt;
    }
    // 2 * s * tid < blockDim.x
    if (guard->text == "<" && value(guard->operands[1]) == threads_) {
      const auto index = syntax::polynomial(*guard->operands[0]);
      if (index && *index == twice * tid_) return Frame{*index, stride};
    }
    return std::nullopt;
  }

  std::optional<Tree> match(const Stmt& loop) const {
    const Variable* s = nullptr;
    const Node* start = start_of(loop, s);
    if (!start || !s || s->address_taken) return std::nullopt;
    const auto first = value(start);
    if (!first) return std::nullopt;
    const bool halves = steps_by_two(loop.step, *s, true);
    std::int64_t last = 1;
    if (halves) {
      const auto least = smallest_stride(loop.expr, *s);
      if (!least || *first * 2 != threads_) return std::nullopt;
      last = *least;
    } else {
      const Node* condition = strip_implicit(loop.expr);
      const bool all = steps_by_two(loop.step, *s, false) && *first == 1 &&
                       condition->kind == Node::Kind::kBinary && condition->text == "<" &&
                       as_variable(condition->operands[0]) == s &&
                       value(condition->operands[1]) == threads_;
      if (!all) return std::nullopt;
    }
    // One guarded update and one barrier per round, perhaps an index that is computed on the way.
    const Stmt* guarded = nullptr;
    bool barrier = false;
    for (const Stmt* child : statements(*loop.children[0])) {
      if (is_call(*child, "__syncthreads")) {
        if (barrier) return std::nullopt;
        barrier = true;
      } else if (child->kind == Stmt::Kind::kDeclaration && child->variables.size() == 1 &&
                 child->variables[0]->single_assignment() &&
                 syntax::polynomial(*child->variables[0]->init)) {
        continue;
      } else if (child->kind == Stmt::Kind::kIf && child->children.size() == 1 && !guarded) {
        guarded = child;
      } else {
        return std::nullopt;
      }
    }
    if (!guarded || !barrier) return std::nullopt;
    const auto frame = guarded_frame(guarded->expr, *s, halves);
    if (!frame) return std::nullopt;
    Tree tree;
    tree.loop = &loop;
    const int begin = loop.pragma.valid() ? loop.pragma.begin : loop.range.begin;
    tree.range = {begin, loop.range.end};
    for (const Stmt* update : statements(*guarded->children[0])) {
      auto fold = fold_of(*update, *frame);
      if (!fold || !add(tree, *fold)) return std::nullopt;
    }
    if (tree.folds.empty()) return std::nullopt;
    if (last > 1 && !match_tail(tree, last)) return std::nullopt;
    return tree;
  }

  static bool add(Tree& tree, const TreeFold& fold) {
    const bool shared = fold.array->storage == Variable::Storage::kShared ||
                        fold.array->storage == Variable::Storage::kDynamicShared;
    const bool twice =
        std::any_of(tree.folds.begin(), tree.folds.end(),
                    [&](const TreeFold& other) { return other.array == fold.array; });
    if (!shared || twice) return false;
    tree.folds.push_back(fold);
    return true;
  }

  // The rounds below `last`, written out under `if (tid < 32)`, here or in a helper function.
  bool match_tail(Tree& tree, std::int64_t last) const {
    const Stmt* parent = tree.loop->parent;
    if (!parent || parent->kind != Stmt::Kind::kCompound) return false;
    const auto at = std::find(parent->children.begin(), parent->children.end(), tree.loop);
    if (at == parent->children.end() || at + 1 == parent->children.end()) return false;
    const Stmt& tail = **(at + 1);
    if (tail.kind != Stmt::Kind::kIf || tail.children.size() != 1) return false;
    const Node* guard = strip_implicit(tail.expr);
    const bool warp = guard->kind == Node::Kind::kBinary && guard->text == "<" &&
                      is_tid(guard->operands[0]) &&
                      strip_casts(guard->operands[1])->constant.value_or(0) >= last / 2 &&
                      strip_casts(guard->operands[1])->constant.value_or(0) <= 32;
    if (!warp || last > 64) return false;
    std::vector<const Stmt*> updates = statements(*tail.children[0]);
    Polynomial mine = tid_;
    const Variable* stands_for = nullptr;  // the helper's parameter for the array
    if (updates.size() == 1 && helper_body(*updates[0], mine, stands_for, tree, updates) &&
        tree.folds.size() != 1) {
      return false;
    }
    for (TreeFold& fold : tree.folds) {
      std::int64_t stride = last / 2;
      for (const Stmt* update : updates) {
        if (is_call(*update, "__syncwarp")) continue;
        const auto found = fold_of(*update, Frame{mine, Polynomial::constant(stride)});
        if (!found || found->fold != fold.fold ||
            found->array != (stands_for ? stands_for : fold.array)) {
          if (tree.folds.size() > 1) continue;  // perhaps another array's turn
          return false;
        }
        stride /= 2;
      }
      if (stride != 0) return false;
    }
    tree.tail = &tail;
    tree.range.end = tail.range.end;
    return true;
  }

  // warp_reduce(sm, tid): looks into the helper.
  bool helper_body(const Stmt& stmt, Polynomial& mine, const Variable*& stands_for,
                   const Tree& tree, std::vector<const Stmt*>& updates) const {
    const Node* call = stmt.kind == Stmt::Kind::kExpression ? strip_implicit(stmt.expr) : nullptr;
    if (!call || call->kind != Node::Kind::kCall || call->operands.size() != 2) return false;
    const syntax::Function* helper = parsed_.unit->find_function(call->text);
    if (!helper || !helper->body || helper->parameters.size() != 2) return false;
    if (as_variable(call->operands[0]) != tree.folds[0].array || !is_tid(call->operands[1])) {
      return false;
    }
    stands_for = helper->parameters[0];
    mine = Polynomial::symbol(syntax::symbol_of(*helper->parameters[1]));
    updates = statements(*helper->body);
    return true;
  }

  const Parsed& parsed_;
  const KernelInfo& info_;
  std::int64_t threads_;
  const Bindings& sizes_;
};

}  // namespace

std::vector<Tree> find_trees(const Parsed& parsed, const KernelInfo& info, std::int64_t threads,
                             const Bindings& sizes) {
  return TreeFinder(parsed, info, threads, sizes).find();
}

}  // namespace hone::rules::coop
