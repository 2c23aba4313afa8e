#include "rewriters/rules/cooperative/strided_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/rules/cooperative/vector_loads.h"

namespace hone::rules::coop {

using syntax::Access;
using syntax::KernelInfo;
using syntax::Loop;
using syntax::Polynomial;
using syntax::Stmt;
using Node = syntax::Expr;

namespace {

// In parentheses unless it is a name or a number.
std::string grouped(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  });
  return plain ? text : "(" + text + ")";
}

struct VectorPlan {
  int lanes = 1;
  std::int64_t lower = 0, upper = 0;  // upper exclusive
  int residue = 0;                    // of the counter where a vector starts
  std::vector<VectorAccess> accesses;
};

// Only accesses that start at the same residue of the counter go together.
std::optional<VectorPlan> plan_vectors(const Parsed& parsed, const KernelInfo& info,
                                       const Loop& loop, int lanes, const Bindings& sizes) {
  if (lanes < 2 || loop.step != 1) return std::nullopt;
  const auto lower = info.evaluate(*loop.lower, sizes);
  const auto upper = info.evaluate(*loop.upper, sizes);
  if (!lower || !upper || *lower < 0) return std::nullopt;
  VectorPlan plan;
  plan.lanes = lanes;
  plan.lower = *lower;
  plan.upper = *upper + (loop.inclusive ? 1 : 0);
  const Polynomial counter = Polynomial::symbol(syntax::symbol_of(*loop.variable));
  auto accesses = vector_accesses(parsed, info, *loop.body, counter, lanes, sizes);
  if (accesses.empty()) return std::nullopt;
  // counter + residue must be a multiple of `lanes`.
  plan.residue = (lanes - accesses[0].residue) % lanes;
  for (VectorAccess& access : accesses) {
    if ((lanes - access.residue) % lanes == plan.residue) {
      plan.accesses.push_back(std::move(access));
    }
  }
  if (plan.upper - plan.lower < 2 * lanes) return std::nullopt;
  return plan;
}

std::optional<VectorPlan> best_plan(const Parsed& parsed, const KernelInfo& info, const Loop& loop,
                                    int lanes, const Bindings& sizes) {
  for (; lanes >= 2; lanes /= 2) {
    if (auto plan = plan_vectors(parsed, info, loop, lanes, sizes)) return plan;
  }
  return std::nullopt;
}

std::string counter_type(const Loop& loop) {
  const bool own = declared_inside(*loop.variable, *loop.statement);
  return own ? loop.variable->type.name + " " : "";
}

// One iteration's code with the counter and the vector accesses replaced.
std::string iteration(const Patch& patch, const Loop& loop, const VectorPlan& plan,
                      const std::string& counter, int element) {
  Patch copy = patch;
  const std::string value = element == 0 ? counter : fmt::format("({} + {})", counter, element);
  for_each_expr(*loop.body, [&](const Node& expr) {
    if (expr.kind == Node::Kind::kVariable && expr.variable == loop.variable) {
      copy.replace(expr.range, value);
    }
  });
  for (const VectorAccess& vector : plan.accesses) {
    for (const Access* access : vector.accesses) {
      copy.replace(access->expr->range, fmt::format("{}.{}", vector.name, kVectorFields[element]));
    }
  }
  // Braces only where the copies declare something.
  const Stmt& body = *loop.body;
  const bool declares =
      std::any_of(body.children.begin(), body.children.end(),
                  [](const Stmt* child) { return child->kind == Stmt::Kind::kDeclaration; });
  if (body.kind == Stmt::Kind::kCompound && !declares) {
    return copy.text({body.range.begin + 1, body.range.end - 1});
  }
  return copy.text(body.range);
}

std::string address(const Patch& patch, const Loop& loop, const Access& access,
                    const std::string& counter) {
  Patch copy = patch;
  for_each_expr(access.expr, [&](const Node& expr) {
    if (expr.kind == Node::Kind::kVariable && expr.variable == loop.variable) {
      copy.replace(expr.range, counter);
    }
  });
  return copy.text(access.expr->range);
}

}  // namespace

int widest_vector(const Parsed& parsed, const KernelInfo& info, const Loop& loop,
                  const Bindings& sizes) {
  const auto plan = best_plan(parsed, info, loop, 4, sizes);
  return plan ? plan->lanes : 1;
}

void stride_loop(Patch& patch, const Parsed& parsed, const KernelInfo& info, const Loop& loop,
                 const std::string& lane, int lanes, int vec, const Bindings& sizes) {
  const Stmt& stmt = *loop.statement;
  const std::string& k = loop.variable->name;
  const std::string lower = patch.text(loop.lower->range);
  const std::string upper = patch.text(loop.upper->range);
  const bool from_zero = loop.lower->constant == 0;
  const auto start = [&](const std::string& first, bool zero, int width) {
    const std::string own = width == 1 ? lane : fmt::format("{} * {}", lane, width);
    return zero ? own : fmt::format("{} + {}", grouped(first), own);
  };
  const auto plan = best_plan(parsed, info, loop, vec, sizes);
  if (!plan) {
    const std::int64_t step = loop.step.value_or(1);
    const std::string step_text =
        loop.step ? fmt::format("{}", lanes * step)
                  : fmt::format("{} * {}", lanes, grouped(patch.text(loop.step_expr->range)));
    const std::string own_start =
        loop.step ? start(lower, from_zero, static_cast<int>(step))
                  : fmt::format("{}{} * {}", from_zero ? "" : grouped(lower) + " + ", lane,
                                grouped(patch.text(loop.step_expr->range)));
    patch.replace(loop.lower->range, own_start);
    patch.replace(stmt.step->range, fmt::format("{} += {}", k, step_text));
    return;
  }

  // V neighbouring iterations at a time; scalar loops for what is left on either side.
  const int width = plan->lanes;
  const std::string type = counter_type(loop);
  const std::string limit = loop.inclusive ? grouped(upper) + " + 1" : upper;
  const auto head = (plan->residue - plan->lower % width + width) % width;
  const std::int64_t begin = plan->lower + head;
  const bool tail = (plan->upper - begin) % width != 0;
  const std::string body = patch.text(loop.body->range);
  std::string text;
  const auto scalar_loop = [&](const std::string& from, const std::string& to) {
    return fmt::format("for ({}{} = {} + {}; {} < {}; {} += {})\n{}\n", type, k, grouped(from),
                       lane, k, to, k, lanes, body);
  };
  const std::string begin_text = head == 0 ? lower : fmt::format("{} + {}", grouped(lower), head);
  const std::string end_text = fmt::format("{} - ({} - {}) % {}", grouped(limit), grouped(limit),
                                           grouped(begin_text), width);
  if (head != 0) text += scalar_loop(lower, begin_text);
  text += fmt::format("for ({}{} = {}; {} < {}; {} += {}) {{\n", type, k,
                      start(begin_text, head == 0 && from_zero, width), k, tail ? end_text : limit,
                      k, lanes * width);
  for (const VectorAccess& access : plan->accesses) {
    const std::string at = address(patch, loop, *access.accesses[0], k);
    if (!access.reads) {
      text += fmt::format("{} {};\n", access.type, access.name);
    } else {
      text += fmt::format("{}{} {} = *reinterpret_cast<const {}*>(&{});\n",
                          access.writes ? "" : "const ", access.type, access.name, access.type, at);
    }
  }
  for (int element = 0; element < width; ++element) {
    text += iteration(patch, loop, *plan, k, element) + "\n";
  }
  for (const VectorAccess& access : plan->accesses) {
    if (!access.writes) continue;
    text += fmt::format("*reinterpret_cast<{}*>(&{}) = {};\n", access.type,
                        address(patch, loop, *access.accesses[0], k), access.name);
  }
  text += "}\n";
  if (tail) text += scalar_loop(end_text, limit);
  patch.replace(stmt.range, text);
}

bool starts_at_identity(const Accumulator& accumulator, const Stmt& loop) {
  const syntax::Variable& variable = *accumulator.variable;
  if (!variable.init || !variable.statement || variable.statement->parent != loop.parent) {
    return false;
  }
  const Node* init = strip_casts(variable.init);
  const double identity = accumulator.op == ReductionOp::kProduct ? 1 : 0;
  const bool matches = init->kind == Node::Kind::kFloatLiteral ? init->float_value == identity
                       : init->constant                        ? *init->constant == identity
                                                               : false;
  if (!matches || !loop.function) return false;
  // Nothing else may write it before the loop.
  for (const Node* expr : loop.function->all_expressions) {
    const bool writes =
        (expr->kind == Node::Kind::kAssign ||
         (expr->kind == Node::Kind::kUnary && (expr->text.find("++") != std::string::npos ||
                                               expr->text.find("--") != std::string::npos))) &&
        as_variable(expr->operands[0]) == &variable;
    if (writes && !inside(expr->statement, loop) && expr->range.begin < loop.range.begin) {
      return false;
    }
  }
  return true;
}

}  // namespace hone::rules::coop
