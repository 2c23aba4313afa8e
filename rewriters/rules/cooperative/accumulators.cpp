#include "rewriters/rules/cooperative/accumulators.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::coop {

using syntax::Stmt;
using syntax::Type;
using syntax::Variable;
using Node = syntax::Expr;

bool Accumulator::idempotent() const {
  return op != ReductionOp::kSum && op != ReductionOp::kProduct && op != ReductionOp::kXor;
}

std::string Accumulator::identity() const {
  const bool one = op == ReductionOp::kProduct;
  if (variable->type.name == "float") return one ? "1.0f" : "0.0f";
  if (variable->type.name == "double") return one ? "1.0" : "0.0";
  return one ? "1" : "0";
}

bool Accumulator::needs_reassociation() const {
  return variable->type.is_float() && (op == ReductionOp::kSum || op == ReductionOp::kProduct);
}

std::string Accumulator::fold_text(const std::string& value, const std::string& other) const {
  std::string result;
  for (std::size_t i = 0; i < fold.size(); ++i) {
    if (fold[i] == '$' && i + 1 < fold.size()) {
      result += fold[++i] == 'v' ? value : other;
    } else {
      result += fold[i];
    }
  }
  return result;
}

std::string Accumulator::shuffled(const std::string& shuffle) const {
  return variable->type.bytes < 4 ? fmt::format("static_cast<{}>({})", type(), shuffle) : shuffle;
}

namespace {

bool supported(const Type& type) {
  static const std::set<std::string, std::less<>> kNames = {
      "float", "double",        "int",         "unsigned int",
      "long",  "unsigned long", "long long",   "unsigned long long",
      "bool",  "char",          "signed char", "unsigned char",
      "short", "unsigned short"};
  return kNames.contains(type.name) && !type.is_volatile;
}

// One update of a variable: its kind, and how many uses of the variable it accounts for.
struct Update {
  ReductionOp op;
  std::string fold;
  bool compares = false;
  std::vector<const Node*> uses;  // uses of the variable that belong to this update
};

const Node* use_of(const Node* expr, const Variable& variable) {
  const Node* inner = strip_casts(expr);
  return inner && inner->kind == Node::Kind::kVariable && inner->variable == &variable ? inner
                                                                                       : nullptr;
}

int uses_in(const Node* expr, const Variable& variable) {
  int count = 0;
  for_each_expr(expr, [&](const Node& part) {
    if (part.kind == Node::Kind::kVariable && part.variable == &variable) ++count;
  });
  return count;
}

// `e` with `v` as one term: v + a - b, or one factor: v * a. The use of v, or null.
const Node* term_in(const Node* expr, const Variable& variable, std::string_view operators) {
  while (expr->kind == Node::Kind::kCast &&
         (expr->implicit || expr->type.name == variable.type.name)) {
    expr = expr->operands[0];
  }
  if (const Node* use = use_of(expr, variable)) return use;
  // An integer that takes in fractions is rounded every time: no sum.
  if (variable.type.is_integer() && !expr->type.is_integer()) return nullptr;
  if (expr->kind != Node::Kind::kBinary || expr->text.size() != 1 ||
      operators.find(expr->text) == std::string_view::npos) {
    return nullptr;
  }
  const Node* left = term_in(expr->operands[0], variable, operators);
  if (left) return uses_in(expr->operands[1], variable) == 0 ? left : nullptr;
  if (expr->text == "-") return nullptr;  // a - v changes the sign of v
  const Node* right = term_in(expr->operands[1], variable, operators);
  return right && uses_in(expr->operands[0], variable) == 0 ? right : nullptr;
}

std::optional<ReductionOp> call_op(std::string_view name) {
  if (name == "max" || name == "fmaxf" || name == "fmax") return ReductionOp::kMax;
  if (name == "min" || name == "fminf" || name == "fmin") return ReductionOp::kMin;
  return std::nullopt;
}

bool same_text(const syntax::TranslationUnit& unit, const Node* a, const Node* b) {
  a = strip_implicit(a);
  b = strip_implicit(b);
  return a->range.valid() && b->range.valid() && unit.text(a->range) == unit.text(b->range);
}

// The comparison `candidate > v` in any spelling; says what wins and gives both sides.
struct Comparison {
  ReductionOp op;
  const Node* use;  // of v
  const Node* candidate;
  std::string text;  // over $v and $o
};
std::optional<Comparison> comparison(const syntax::TranslationUnit& unit, const Node* condition,
                                     const Variable& variable) {
  condition = strip_implicit(condition);
  if (!condition || condition->kind != Node::Kind::kBinary) return std::nullopt;
  const std::string& op = condition->text;
  // candidate > v || candidate != candidate: NaN wins.
  if (op == "||") {
    auto order = comparison(unit, condition->operands[0], variable);
    const Node* test = strip_implicit(condition->operands[1]);
    const bool is_nan = order && test->kind == Node::Kind::kBinary && test->text == "!=" &&
                        same_text(unit, test->operands[0], test->operands[1]) &&
                        same_text(unit, test->operands[0], order->candidate);
    if (!is_nan) return std::nullopt;
    order->text += " || $o != $o";
    return order;
  }
  if (op != "<" && op != ">" && op != "<=" && op != ">=") return std::nullopt;
  const Node* left = strip_implicit(condition->operands[0]);
  const Node* right = strip_implicit(condition->operands[1]);
  const bool greater = op[0] == '>';
  if (const Node* use = use_of(left, variable); use && uses_in(right, variable) == 0) {
    return Comparison{greater ? ReductionOp::kMin : ReductionOp::kMax, use, right,
                      fmt::format("$v {} $o", op)};
  }
  if (const Node* use = use_of(right, variable); use && uses_in(left, variable) == 0) {
    return Comparison{greater ? ReductionOp::kMax : ReductionOp::kMin, use, left,
                      fmt::format("$o {} $v", op)};
  }
  return std::nullopt;
}

std::optional<Update> from_assignment(const syntax::TranslationUnit& unit, const Node& assign,
                                      const Variable& variable) {
  const Node* target = use_of(assign.operands[0], variable);
  const Node* value = assign.operands[1];
  const std::string& op = assign.text;
  static const std::map<std::string, std::pair<ReductionOp, const char*>, std::less<>> kCompound = {
      {"+=", {ReductionOp::kSum, "$v += $o;"}},     {"-=", {ReductionOp::kSum, "$v += $o;"}},
      {"*=", {ReductionOp::kProduct, "$v *= $o;"}}, {"&=", {ReductionOp::kAnd, "$v &= $o;"}},
      {"|=", {ReductionOp::kOr, "$v |= $o;"}},      {"^=", {ReductionOp::kXor, "$v ^= $o;"}}};
  if (const auto found = kCompound.find(op); found != kCompound.end()) {
    if (uses_in(value, variable) != 0) return std::nullopt;
    if (variable.type.is_integer() && !strip_implicit(value)->type.is_integer())
      return std::nullopt;
    return Update{found->second.first, found->second.second, false, {target}};
  }
  if (op != "=") return std::nullopt;
  const Node* rhs = strip_casts(value);
  // v = v + a - b, v = a * v
  if (const Node* use = term_in(rhs, variable, "+-"); use && use != rhs) {
    return Update{ReductionOp::kSum, "$v += $o;", false, {target, use}};
  }
  if (const Node* use = term_in(rhs, variable, "*"); use && use != rhs) {
    return Update{ReductionOp::kProduct, "$v *= $o;", false, {target, use}};
  }
  if (rhs->kind == Node::Kind::kBinary && rhs->operands.size() == 2) {
    const Node* use = use_of(rhs->operands[0], variable);
    const Node* other = rhs->operands[1];
    if (!use && (use = use_of(rhs->operands[1], variable))) other = rhs->operands[0];
    if (!use || uses_in(other, variable) != 0) return std::nullopt;
    const std::string& b = rhs->text;
    if (b == "&") return Update{ReductionOp::kAnd, "$v &= $o;", false, {target, use}};
    if (b == "|") return Update{ReductionOp::kOr, "$v |= $o;", false, {target, use}};
    if (b == "^") return Update{ReductionOp::kXor, "$v ^= $o;", false, {target, use}};
    if (b == "&&") return Update{ReductionOp::kAll, "$v = $v && $o;", false, {target, use}};
    if (b == "||") return Update{ReductionOp::kAny, "$v = $v || $o;", false, {target, use}};
    return std::nullopt;
  }
  if (rhs->kind == Node::Kind::kCall) {
    const auto& args = rhs->operands;
    if (auto call = call_op(rhs->text); call && args.size() == 2) {
      for (std::size_t side = 0; side < 2; ++side) {
        const Node* use = use_of(args[side], variable);
        if (use && uses_in(args[1 - side], variable) == 0) {
          return Update{*call, fmt::format("$v = {}($v, $o);", rhs->text), false, {target, use}};
        }
      }
    }
    const bool fused = rhs->text == "fmaf" || rhs->text == "fma" || rhs->text == "__fmaf_rn" ||
                       rhs->text == "__fma_rn";
    if (fused && args.size() == 3 && uses_in(args[0], variable) == 0 &&
        uses_in(args[1], variable) == 0) {
      if (const Node* use = use_of(args[2], variable)) {
        return Update{ReductionOp::kSum, "$v += $o;", false, {target, use}};
      }
    }
    return std::nullopt;
  }
  if (rhs->kind == Node::Kind::kConditional) {
    const auto compare = comparison(unit, rhs->operands[0], variable);
    if (!compare) return std::nullopt;
    const Node* yes = strip_implicit(rhs->operands[1]);
    const Node* no = strip_implicit(rhs->operands[2]);
    if (const Node* kept = use_of(no, variable); kept && same_text(unit, yes, compare->candidate)) {
      return Update{compare->op,
                    fmt::format("$v = {} ? $o : $v;", compare->text),
                    true,
                    {target, compare->use, kept}};
    }
    if (const Node* kept = use_of(yes, variable); kept && same_text(unit, no, compare->candidate)) {
      const auto flipped = compare->op == ReductionOp::kMax ? ReductionOp::kMin : ReductionOp::kMax;
      return Update{flipped,
                    fmt::format("$v = {} ? $v : $o;", compare->text),
                    true,
                    {target, compare->use, kept}};
    }
  }
  return std::nullopt;
}

// if (e > v) v = e;
std::optional<Update> from_if(const syntax::TranslationUnit& unit, const Node& assign,
                              const Variable& variable) {
  if (assign.text != "=") return std::nullopt;
  const Stmt* stmt = assign.statement;
  if (!stmt || stmt->kind != Stmt::Kind::kExpression || assign.parent) return std::nullopt;
  const Stmt* parent = stmt->parent;
  if (parent && parent->kind == Stmt::Kind::kCompound && parent->children.size() == 1) {
    stmt = parent;
    parent = parent->parent;
  }
  if (!parent || parent->kind != Stmt::Kind::kIf || parent->children.size() != 1) {
    return std::nullopt;
  }
  const auto compare = comparison(unit, parent->expr, variable);
  if (!compare || !same_text(unit, compare->candidate, assign.operands[1])) return std::nullopt;
  if (uses_in(assign.operands[1], variable) != 0) return std::nullopt;
  return Update{compare->op,
                fmt::format("if ({}) $v = $o;", compare->text),
                true,
                {use_of(assign.operands[0], variable), compare->use}};
}

}  // namespace

Result<std::vector<Accumulator>> find_accumulators(const syntax::TranslationUnit& unit,
                                                   const syntax::Loop& loop,
                                                   const std::set<const Variable*>& private_to) {
  const Stmt& stmt = *loop.statement;
  std::vector<const Variable*> order;
  std::map<const Variable*, std::vector<const Node*>> uses, updates;
  for_each_expr(*loop.body, [&](const Node& expr) {
    if (expr.kind == Node::Kind::kVariable && expr.variable) uses[expr.variable].push_back(&expr);
    const bool assigns = expr.kind == Node::Kind::kAssign;
    const bool steps =
        expr.kind == Node::Kind::kUnary &&
        (expr.text.find("++") != std::string::npos || expr.text.find("--") != std::string::npos);
    if (!assigns && !steps) return;
    const Variable* variable = as_variable(expr.operands[0]);
    if (!variable || variable == loop.variable || declared_inside(*variable, stmt)) return;
    if (private_to.contains(variable)) return;
    if (!updates.contains(variable)) order.push_back(variable);
    updates[variable].push_back(&expr);
  });

  std::vector<Accumulator> result;
  for (const Variable* variable : order) {
    const auto no = [&](const char* why) {
      return refused(fmt::format("`{}` {}", variable->name, why));
    };
    if (!supported(variable->type)) return no("is carried from one iteration to the next");
    if (variable->address_taken) return no("has its address taken");
    if (variable->storage != Variable::Storage::kLocal &&
        variable->storage != Variable::Storage::kParameter) {
      return no("is not a local variable");
    }
    Accumulator accumulator;
    accumulator.variable = variable;
    std::set<const Node*> explained;
    for (const Node* write : updates[variable]) {
      std::optional<Update> update;
      if (write->kind == Node::Kind::kUnary) {
        if (write->parent) return no("is read while it is counted");
        update = Update{ReductionOp::kSum, "$v += $o;", false, {strip_casts(write->operands[0])}};
      } else {
        if (written_parent(write)) return no("is read while it is updated");
        update = from_assignment(unit, *write, *variable);
        if (!update) update = from_if(unit, *write, *variable);
      }
      if (!update) return no("is carried from one iteration to the next");
      if (!accumulator.fold.empty() && accumulator.op != update->op) {
        return no("is updated in two different ways");
      }
      accumulator.op = update->op;
      accumulator.fold = update->fold;
      accumulator.compares = update->compares;
      for (const Node* use : update->uses) explained.insert(use);
    }
    for (const Node* use : uses[variable]) {
      if (!explained.contains(use)) return no("is read inside the loop that accumulates it");
    }
    result.push_back(std::move(accumulator));
  }
  return result;
}

std::string LaneGroup::barrier() const {
  return lanes > 32 ? "__syncthreads();" : fmt::format("__syncwarp({});", mask);
}

namespace {

// Butterfly over `lanes` neighbours in a warp: each lane ends with the total, the same bits in all,
// as every step adds the same two numbers on both sides.
std::string butterfly(const std::vector<Accumulator>& accumulators, const LaneGroup& group,
                      int lanes) {
  std::string text = fmt::format("#pragma unroll\nfor (int {0} = {1}; {0} > 0; {0} /= 2) {{\n",
                                 group.offset, lanes / 2);
  for (const Accumulator& a : accumulators) {
    const std::string& v = a.variable->name;
    const std::string shuffle =
        a.shuffled(fmt::format("__shfl_xor_sync({}, {}, {})", group.mask, v, group.offset));
    if (a.fold.find("=") < a.fold.find("$o") && a.fold.rfind("$v", 0) == 0 &&
        a.fold.find("$v", 1) == std::string::npos) {
      text += a.fold_text(v, shuffle) + "\n";
    } else {
      text += fmt::format("{{ const {} {} = {}; {} }}\n", a.type(), group.other, shuffle,
                          a.fold_text(v, group.other));
    }
  }
  text += "}\n";
  for (const Accumulator& a : accumulators) {
    if (!a.compares) continue;
    const std::string& v = a.variable->name;
    text +=
        fmt::format("{} = {};\n", v,
                    a.shuffled(fmt::format("__shfl_sync({}, {}, 0, {})", group.mask, v, lanes)));
  }
  return text;
}

}  // namespace

std::string combine(const std::vector<Accumulator>& accumulators, const LaneGroup& group,
                    bool in_loop) {
  if (accumulators.empty()) return "";
  if (group.lanes <= 32) return butterfly(accumulators, group, group.lanes);
  const int warps = group.lanes / 32;
  std::string text = "{\n";
  for (const Accumulator& a : accumulators) {
    text +=
        fmt::format("__shared__ {} {}_{}[{}];\n", a.type(), group.partial, a.variable->name, warps);
  }
  text += butterfly(accumulators, group, 32);
  text += "if (threadIdx.x % 32 == 0) {\n";
  for (const Accumulator& a : accumulators) {
    text += fmt::format("{0}_{1}[threadIdx.x / 32] = {1};\n", group.partial, a.variable->name);
  }
  text += "}\n__syncthreads();\n";
  for (const Accumulator& a : accumulators) {
    text +=
        fmt::format("{1} = {0}_{1}[threadIdx.x % {2}];\n", group.partial, a.variable->name, warps);
  }
  text += butterfly(accumulators, group, warps);
  if (in_loop) text += "__syncthreads();\n";
  return text + "}\n";
}

}  // namespace hone::rules::coop
