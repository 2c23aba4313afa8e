#include "tests/mutants/mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <tuple>

#include "rewriters/syntax/walk.h"

namespace hone::mutants {
namespace {

using syntax::Expr;
using syntax::Function;
using syntax::SourceRange;
using syntax::Stmt;
using syntax::TranslationUnit;
using syntax::Variable;

constexpr std::array<std::string_view, kOperators> kNames = {
    "arithmetic", "comparison", "index off by one", "index exchanged", "loop bound", "loop start",
    "loop step",  "guard",      "constant",         "barrier",         "initial",    "function",
    "statement",  "axis"};

struct Exchange {
  std::string_view from, to;
};
constexpr Exchange kArithmeticExchanges[] = {
    {"+", "-"}, {"+", "*"}, {"-", "+"}, {"*", "+"},   {"*", "/"},   {"/", "*"},
    {"/", "-"}, {"%", "/"}, {"%", "*"}, {"+=", "-="}, {"-=", "+="}, {"*=", "+="},
};
constexpr Exchange kComparisonExchanges[] = {
    {"<", "<="}, {"<", ">"},  {"<=", "<"},  {"<=", ">="}, {">", ">="},
    {">", "<"},  {">=", ">"}, {">=", "<="}, {"==", "!="}, {"!=", "=="},
};
constexpr Exchange kFunctionExchanges[] = {
    {"fmaxf", "fminf"},
    {"fminf", "fmaxf"},
    {"max", "min"},
    {"min", "max"},
    {"expf", "exp2f"},
    {"__expf", "exp2f"},
    {"sqrtf", "rsqrtf"},
    {"rsqrtf", "sqrtf"},
    {"tanhf", "sinhf"},
    {"atomicAdd", "atomicMax"},
    {"atomicAdd", "atomicExch"},
    {"__shfl_xor_sync", "__shfl_up_sync"},
    {"__shfl_down_sync", "__shfl_up_sync"},
};
constexpr Exchange kAxisExchanges[] = {
    {"threadIdx.x", "threadIdx.y"}, {"threadIdx.y", "threadIdx.x"}, {"blockIdx.x", "blockIdx.y"},
    {"blockIdx.y", "blockIdx.x"},   {"blockIdx.z", "blockIdx.x"},   {"blockDim.x", "blockDim.y"},
    {"blockDim.y", "blockDim.x"},   {"gridDim.x", "gridDim.y"},     {"gridDim.y", "gridDim.x"},
};

bool is_comparison(const Expr& expr) {
  return expr.kind == Expr::Kind::kBinary &&
         std::ranges::find(kComparisonExchanges, expr.text, &Exchange::from) !=
             std::end(kComparisonExchanges);
}

bool is_barrier(const Expr& expr) {
  return expr.kind == Expr::Kind::kCall &&
         (expr.text == "__syncthreads" || expr.text == "__syncwarp");
}

bool has_effect(const Expr& expr) {
  return expr.kind == Expr::Kind::kAssign ||
         (expr.kind == Expr::Kind::kUnary &&
          (expr.text.contains("++") || expr.text.contains("--"))) ||
         (expr.kind == Expr::Kind::kCall && expr.text.starts_with("atomic"));
}

class Collector {
 public:
  explicit Collector(const TranslationUnit& unit) : unit_(unit) {}

  std::vector<Mutation> collect() {
    for (const Function* function : unit_.functions) {
      // First come is what a text counts as: an initial value and a loop's start are constants too.
      for (const Variable* local : function->locals) initial_value(*local);
      for (const Stmt* statement : function->all_statements) visit(*statement);
      for (const Expr* expr : function->all_expressions) {
        if (!expr->implicit) visit(*expr);
      }
    }
    const auto key = [](const Mutation& m) {
      return std::tuple(m.op, m.range.begin, m.range.end, m.text);
    };
    std::ranges::sort(found_, {}, key);
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string text(const SourceRange& range) const {
    return std::string(unit_.text(range));
  }
  [[nodiscard]] std::string text(const Expr& expr) const { return text(expr.range); }

  void add(Operator op, const SourceRange& range, std::string replacement) {
    if (!range.valid() || text(range) == replacement) return;
    if (!seen_.emplace(range.begin, range.end, replacement).second) return;
    found_.push_back({op, range, std::move(replacement)});
  }

  /// Where the operator of a binary expression or an assignment stands.
  [[nodiscard]] SourceRange operator_range(const Expr& expr) const {
    const Expr& left = *expr.operands[0];
    const Expr& right = *expr.operands[1];
    if (!expr.range.valid() || !left.range.valid() || !right.range.valid()) return {};
    const auto between = unit_.text({left.range.end, right.range.begin});
    const auto at = between.find(expr.text);
    if (at == std::string_view::npos) return {};
    const int begin = left.range.end + static_cast<int>(at);
    return {begin, begin + static_cast<int>(expr.text.size())};
  }

  template <std::size_t N>
  void exchange(Operator op, std::string_view name, const SourceRange& range,
                const Exchange (&table)[N]) {
    if (!range.valid() || unit_.text(range) != name) return;
    for (const Exchange& entry : table) {
      if (entry.from == name) add(op, range, std::string(entry.to));
    }
  }

  void visit(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kBinary:
      case Expr::Kind::kAssign: {
        const SourceRange range = operator_range(expr);
        exchange(Operator::kArithmetic, expr.text, range, kArithmeticExchanges);
        exchange(Operator::kComparison, expr.text, range, kComparisonExchanges);
        if (expr.text == "&&" || expr.text == "||") {
          add(Operator::kGuard, expr.range, text(*expr.operands[0]));
          add(Operator::kGuard, expr.range, text(*expr.operands[1]));
        }
        break;
      }
      case Expr::Kind::kSubscript:
        subscript(expr);
        break;
      case Expr::Kind::kConditional:
        add(Operator::kGuard, expr.operands[0]->range, "true");
        break;
      case Expr::Kind::kIntLiteral:
        add(Operator::kConstant, expr.range, std::to_string(expr.int_value + 1));
        if (expr.int_value > 0)
          add(Operator::kConstant, expr.range, std::to_string(expr.int_value - 1));
        break;
      case Expr::Kind::kFloatLiteral:
        if (expr.float_value == 0) {
          add(Operator::kConstant, expr.range, "1.0f");
        } else if (expr.range.valid()) {
          add(Operator::kConstant, expr.range, "(-" + text(expr) + ")");
          add(Operator::kConstant, expr.range, "(1.01f * " + text(expr) + ")");
        }
        break;
      case Expr::Kind::kCall: {
        const int begin = expr.range.begin;
        if (!expr.range.valid()) break;
        exchange(Operator::kFunction, expr.text,
                 {begin, std::min(begin + static_cast<int>(expr.text.size()), expr.range.end)},
                 kFunctionExchanges);
        break;
      }
      case Expr::Kind::kBuiltin:
        exchange(Operator::kAxis, expr.text, expr.range, kAxisExchanges);
        break;
      default:
        break;
    }
  }

  void subscript(const Expr& expr) {
    const Expr& base = *expr.operands[0];
    const Expr& index = *expr.operands[1];
    if (!expr.range.valid() || !base.range.valid() || !index.range.valid()) return;
    for (const char* by : {" + 1", " - 1"})
      add(Operator::kIndexOffByOne, index.range, text(index) + by);
    const Expr& row = syntax::without_casts(base);
    if (row.kind == Expr::Kind::kSubscript && row.operands[1]->range.valid()) {
      const SourceRange first = row.operands[1]->range;
      add(Operator::kIndexExchanged, {first.begin, index.range.end},
          text(index) + text({first.end, index.range.begin}) + text(first));
    }
    syntax::for_each_expr(index, [&](const Expr& sum) {
      if (sum.kind == Expr::Kind::kBinary && sum.text == "+") {
        exchange_terms(sum, *sum.operands[0], *sum.operands[1]);
        exchange_terms(sum, *sum.operands[1], *sum.operands[0]);
      }
    });
  }

  /// `a * b + c`, either way around: c in the place of a, and of b.
  void exchange_terms(const Expr& sum, const Expr& left, const Expr& other) {
    const Expr& product = syntax::without_casts(left);
    if (product.kind != Expr::Kind::kBinary || product.text != "*") return;
    for (const Expr* factor : product.operands) {
      const SourceRange a =
          std::min(factor->range, other.range, [](auto& x, auto& y) { return x.begin < y.begin; });
      const SourceRange b = a == factor->range ? other.range : factor->range;
      if (!a.valid() || !b.valid() || a.end > b.begin || !sum.range.contains(a)) continue;
      add(Operator::kIndexExchanged, {a.begin, b.end},
          grouped(b) + text({a.end, b.begin}) + grouped(a));
    }
  }

  [[nodiscard]] std::string grouped(const SourceRange& range) const {
    std::string inner = text(range);
    const bool plain = std::ranges::all_of(
        inner, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
    return plain ? inner : "(" + inner + ")";
  }

  void visit(const Stmt& statement) {
    switch (statement.kind) {
      case Stmt::Kind::kFor:
        loop_bound(statement);
        loop_start(statement);
        loop_step(statement);
        break;
      case Stmt::Kind::kWhile:
      case Stmt::Kind::kDo:
        loop_bound(statement);
        break;
      case Stmt::Kind::kIf:
        guard(statement);
        break;
      case Stmt::Kind::kExpression:
        if (statement.expr == nullptr) break;
        if (is_barrier(*statement.expr)) add(Operator::kBarrier, statement.range, ";");
        if (has_effect(*statement.expr)) add(Operator::kStatement, statement.range, ";");
        break;
      default:
        break;
    }
  }

  void loop_bound(const Stmt& loop) {
    if (loop.expr == nullptr || !is_comparison(*loop.expr)) return;
    const SourceRange bound = loop.expr->operands[1]->range;
    if (!bound.valid()) return;
    for (const char* by : {" + 1", " - 1"}) add(Operator::kLoopBound, bound, text(bound) + by);
  }

  void loop_start(const Stmt& loop) {
    if (loop.init == nullptr) return;
    std::vector<const Expr*> starts;
    for (const Variable* variable : loop.init->variables) starts.push_back(variable->init);
    if (loop.init->expr != nullptr && loop.init->expr->kind == Expr::Kind::kAssign)
      starts.push_back(loop.init->expr->operands[1]);
    for (const Expr* start : starts) {
      if (start == nullptr || !start->range.valid()) continue;
      for (const char* by : {" + 1", " - 1"})
        add(Operator::kLoopStart, start->range, text(*start) + by);
    }
  }

  void loop_step(const Stmt& loop) {
    if (loop.step == nullptr || !loop.step->range.valid()) return;
    const Expr& step = *loop.step;
    if (step.kind == Expr::Kind::kAssign && step.text != "=")
      add(Operator::kLoopStep, step.operands[1]->range, text(*step.operands[1]) + " + 1");
    if (step.kind == Expr::Kind::kUnary && step.text.contains("++"))
      add(Operator::kLoopStep, step.range, text(*step.operands[0]) + " += 2");
  }

  /// What the condition keeps out comes in: an early exit is never taken, a body always runs.
  void guard(const Stmt& statement) {
    const Stmt* then = statement.children.empty() ? nullptr : statement.children[0];
    while (then != nullptr && then->kind == Stmt::Kind::kCompound && then->children.size() == 1)
      then = then->children[0];
    const bool exits =
        then != nullptr && (then->kind == Stmt::Kind::kReturn || then->kind == Stmt::Kind::kBreak ||
                            then->kind == Stmt::Kind::kContinue);
    if (statement.expr != nullptr)
      add(Operator::kGuard, statement.expr->range, exits ? "false" : "true");
  }

  void initial_value(const Variable& variable) {
    if (variable.init == nullptr || variable.writes == 0 || variable.type.is_pointer()) return;
    if (variable.type.kind == syntax::Type::Kind::kArray || variable.is_reference) return;
    const Stmt* parent = variable.statement == nullptr ? nullptr : variable.statement->parent;
    if (parent != nullptr && parent->kind == Stmt::Kind::kFor && parent->init == variable.statement)
      return;
    const Expr& literal = syntax::without_casts(*variable.init);
    const bool is_float = literal.kind == Expr::Kind::kFloatLiteral;
    const bool is_zero = is_float && literal.float_value == 0;
    if (!is_zero) add(Operator::kInitialValue, variable.init->range, is_float ? "0.0f" : "0");
    add(Operator::kInitialValue, variable.init->range, is_float ? "1.0f" : "1");
  }

  const TranslationUnit& unit_;
  std::vector<Mutation> found_;
  std::set<std::tuple<int, int, std::string>> seen_;
};

}  // namespace

std::string_view to_string(Operator op) { return kNames[static_cast<std::size_t>(op)]; }

std::vector<Mutation> mutations(const TranslationUnit& unit) { return Collector(unit).collect(); }

std::string description(const TranslationUnit& unit, const Mutation& mutation) {
  const std::string& source = unit.source;
  const auto begin = static_cast<std::size_t>(mutation.range.begin);
  const auto end = static_cast<std::size_t>(mutation.range.end);
  const std::size_t newline = source.rfind('\n', begin == 0 ? 0 : begin - 1);
  const std::size_t first = newline == std::string::npos || begin == 0 ? 0 : newline + 1;
  const std::size_t last = std::min(source.find('\n', end), source.size());
  const std::string lines =
      source.substr(first, begin - first) + mutation.text + source.substr(end, last - end);
  std::string words;  // one space between words
  for (const char c : lines) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space) {
      words += c;
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
  }
  return fmt::format("{}: {}", unit.line_of(mutation.range.begin), words);
}

}  // namespace hone::mutants
