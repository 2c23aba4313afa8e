#include "rewriters/rules/fast_intrinsics.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "rewriters/syntax/edit.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using Node = syntax::Expr;
using syntax::Function;
using syntax::TranslationUnit;

constexpr double kUlp = 1.0 / (1 << 23);  // of a float, relative, at worst

enum class Form {
  kRename,  ///< f(x) -> fast(x)
  kDivision,
  kRsqrt,  ///< a / sqrtf(x)
  kTanh,
  kSmallPower,  ///< powf(x, 2), 3 or 4
  kPower,       ///< powf(x, c), c constant and no integer
};

/// One kind of site. Bounds of the error: absolute + relative * |value|; negative: none is stated.
struct Kind {
  std::string_view site;
  Form form;
  std::string_view float_name;  ///< the function as written: "expf", or
  std::string_view plain_name;  ///< overloaded on float: "exp"
  std::string_view fast_name;
  double absolute;
  double relative;
};

// |x| of a finite, normal result is at most 88.8 for exp, 38.6 for exp10.
constexpr Kind kKinds[] = {
    {"division", Form::kDivision, "", "", "__fdividef", 0, 2 * kUlp},
    {"rsqrt", Form::kRsqrt, "sqrtf", "sqrt", "rsqrtf", 0, 2.5 * kUlp},
    {"expf", Form::kRename, "expf", "exp", "__expf", 0, (2 + 1.173 * 88.8) * kUlp},
    {"exp10f", Form::kRename, "exp10f", "exp10", "__exp10f", 0, (2 + 2.97 * 38.6) * kUlp},
    {"tanhf", Form::kTanh, "tanhf", "tanh", "", 0, 8 * kUlp},
    {"logf", Form::kRename, "logf", "log", "__logf", 3.6e-7, 3 * kUlp},
    {"log2f", Form::kRename, "log2f", "log2", "__log2f", 2.4e-7, 3 * kUlp},
    {"log10f", Form::kRename, "log10f", "log10", "__log10f", 1.6e-7, 3 * kUlp},
    {"sinf", Form::kRename, "sinf", "sin", "__sinf", -1, -1},
    {"cosf", Form::kRename, "cosf", "cos", "__cosf", -1, -1},
    {"tanf", Form::kRename, "tanf", "tan", "__tanf", -1, -1},
    {"powf-small", Form::kSmallPower, "powf", "pow", "", 0, 2 * kUlp},
    {"powf", Form::kPower, "powf", "pow", "__powf", -1, -1},
};

constexpr std::string_view kFastTanh = R"(
  const float size = fabsf(x);
  if (size < 0.55f) {
    const float square = x * x;
    const float more = ((0.01643758f * square - 0.05267181f) * square + 0.13320725f) * square;
    return x * (1.0f + square * (more - 0.33332947f));
  }
  return copysignf(1.0f - __fdividef(2.0f, __expf(2.0f * size) + 1.0f), x);
)";

bool is_float(const Node& expr) { return expr.type.name == "float"; }

/// The constant value of a literal, through signs and conversions.
std::optional<double> literal(const Node& expr) {
  if (expr.constant) return static_cast<double>(*expr.constant);
  if (expr.kind == Node::Kind::kFloatLiteral) return expr.float_value;
  if (expr.kind == Node::Kind::kCast) return literal(*expr.operands[0]);
  if (expr.kind == Node::Kind::kUnary && expr.text == "-") {
    const auto inner = literal(*expr.operands[0]);
    return inner ? std::optional(-*inner) : std::nullopt;
  }
  return std::nullopt;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return value != 0 && std::abs(std::frexp(value, &exponent)) == 0.5;
}

/// Offset of the one `op` between two operands when nothing but blanks and parentheses are around
/// it (no comment, no macro); -1 otherwise.
int operator_between(const TranslationUnit& unit, const Node& left, const Node& right,
                     std::string_view op, bool parentheses) {
  const syntax::SourceRange gap{left.range.end, right.range.begin};
  if (!left.range.valid() || !right.range.valid() || !gap.valid()) return -1;
  const std::string_view text = unit.text(gap);
  const std::size_t at = text.find(op);
  if (at == std::string_view::npos) return -1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i >= at && i < at + op.size()) continue;
    const char c = text[i];
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank && !(parentheses && (c == '(' || c == ')'))) return -1;
  }
  return gap.begin + static_cast<int>(at);
}

/// Range of the callee's name in a call written as a plain or `::`/`std::` qualified name.
std::optional<syntax::SourceRange> callee_range(const TranslationUnit& unit, const Node& call) {
  if (!call.range.valid()) return std::nullopt;
  const std::string_view text = unit.text(call.range);
  for (const std::string_view qualifier : {"", "::", "std::", "::std::"}) {
    const std::string written = std::string(qualifier) + call.text;
    if (!text.starts_with(written)) continue;
    std::size_t next = written.size();
    while (next < text.size() && std::isspace(static_cast<unsigned char>(text[next]))) ++next;
    if (next < text.size() && text[next] == '(') {
      return syntax::SourceRange{call.range.begin,
                                 call.range.begin + static_cast<int>(written.size())};
    }
  }
  return std::nullopt;
}

bool calls(const TranslationUnit& unit, const Node& expr, const Kind& kind, std::size_t arity) {
  if (expr.kind != Node::Kind::kCall || expr.operands.size() != arity || !is_float(expr)) {
    return false;
  }
  if (expr.text != kind.float_name && expr.text != kind.plain_name) return false;
  if (unit.find_function(expr.text) != nullptr) return false;  // the file's own function
  return std::ranges::all_of(expr.operands, [](const Node* operand) { return is_float(*operand); });
}

/// Rewrites `expr` when it is one of `kind`; returns whether it is. Edits that are asked for twice
/// by nested expressions go to different places, so they do not overlap.
class Rewrite {
 public:
  Rewrite(const TranslationUnit& unit, const Kind& kind) : unit_(unit), kind_(kind), edits_(unit) {}

  bool visit(const Node& expr) {
    if (!expr.range.valid()) return false;
    switch (kind_.form) {
      case Form::kRename:
        return rename(expr, 1);
      case Form::kDivision:
        return expr.kind == Node::Kind::kAssign ? divide_assign(expr) : divide(expr);
      case Form::kRsqrt:
        return rsqrt(expr);
      case Form::kTanh:
        return tanh(expr);
      case Form::kSmallPower:
        return small_power(expr);
      case Form::kPower: {
        if (!calls(unit_, expr, kind_, 2)) return false;
        const auto exponent = literal(*expr.operands[1]);
        return exponent && *exponent != std::floor(*exponent) && rename(expr, 2);
      }
    }
    return false;
  }

  Result<std::string> source(const Function& function) {
    if (!helper_.empty()) edits_.insert(function.range.begin, helper_ + "\n");
    return edits_.apply();
  }

  /// Functions to be put before the first function that uses them.
  std::string helper_;

 private:
  bool rename(const Node& expr, std::size_t arity) {
    if (!calls(unit_, expr, kind_, arity)) return false;
    const auto name = callee_range(unit_, expr);
    if (!name) return false;
    edits_.replace(*name, std::string(kind_.fast_name));
    return true;
  }

  bool divide(const Node& expr) {
    if (expr.kind != Node::Kind::kBinary || expr.text != "/" || !is_float(expr)) return false;
    const Node &left = *expr.operands[0], &right = *expr.operands[1];
    if (!is_float(left) || !is_float(right)) return false;
    if (const auto value = literal(right); value && (is_power_of_two(*value) || literal(left))) {
      return false;  // the compiler multiplies, exactly
    }
    const int slash = operator_between(unit_, left, right, "/", true);
    if (slash < 0) return false;
    edits_.insert(expr.range.begin, "__fdividef(");
    edits_.replace({slash, slash + 1}, ",");
    edits_.insert(expr.range.end, ")");
    return true;
  }

  bool divide_assign(const Node& expr) {
    if (expr.text != "/=" || !is_float(*expr.operands[0]) || !is_float(*expr.operands[1])) {
      return false;
    }
    const Node& target = *expr.operands[0];
    if (target.kind != Node::Kind::kVariable || literal(*expr.operands[1])) return false;
    const int at = operator_between(unit_, target, *expr.operands[1], "/=", true);
    if (at < 0 || !target.range.valid()) return false;
    edits_.replace({at, at + 2}, "= __fdividef(" + std::string(unit_.text(target.range)) + ",");
    edits_.insert(expr.range.end, ")");
    return true;
  }

  bool rsqrt(const Node& expr) {
    if (expr.kind != Node::Kind::kBinary || expr.text != "/" || !is_float(expr)) return false;
    const Node &left = *expr.operands[0], &right = *expr.operands[1];
    if (!is_float(left) || !calls(unit_, right, kind_, 1)) return false;
    const auto name = callee_range(unit_, right);
    const int slash = operator_between(unit_, left, right, "/", true);
    if (!name || slash < 0) return false;
    const bool reciprocal =
        literal(left) == 1.0 && operator_between(unit_, left, right, "/", false) >= 0;
    if (reciprocal && expr.range.begin == left.range.begin) {
      edits_.replace({expr.range.begin, name->end}, std::string(kind_.fast_name));
    } else {
      edits_.replace({slash, slash + 1}, "*");
      edits_.replace(*name, std::string(kind_.fast_name));
    }
    return true;
  }

  bool tanh(const Node& expr) {
    if (!calls(unit_, expr, kind_, 1)) return false;
    const auto name = callee_range(unit_, expr);
    if (!name) return false;
    use_helper("fast_tanhf", kFastTanh);
    edits_.replace(*name, helper_name_);
    return true;
  }

  bool small_power(const Node& expr) {
    if (!calls(unit_, expr, kind_, 2)) return false;
    const auto name = callee_range(unit_, expr);
    const auto exponent = literal(*expr.operands[1]);
    const Node &base = *expr.operands[0], &power = *expr.operands[1];
    if (!name || !exponent || !base.range.valid() || !power.range.valid()) return false;
    const int comma = operator_between(unit_, base, power, ",", true);
    if (comma < 0 || expr.range.end - 1 < power.range.end) return false;
    if (*exponent != 2 && *exponent != 3 && *exponent != 4) return false;
    use_helper("small_powf", "return n == 2 ? x * x : n == 3 ? x * x * x : (x * x) * (x * x);",
               ", int n");
    edits_.replace(*name, helper_name_);
    edits_.replace(power.range, std::to_string(static_cast<int>(*exponent)));
    return true;
  }

  void use_helper(std::string_view stem, std::string_view body, std::string_view more = "") {
    if (!helper_.empty()) return;
    helper_name_ = syntax::fresh_name(unit_, stem);
    helper_ = "static __device__ __forceinline__ float " + helper_name_ + "(float x" +
              std::string(more) + ") { " + std::string(body) + " }\n";
  }

  const TranslationUnit& unit_;
  const Kind& kind_;
  syntax::Edits edits_;
  std::string helper_name_;
};

/// The functions called `name` that a launch may reach.
std::vector<const Function*> device_functions(const TranslationUnit& unit, const Program& program) {
  std::vector<const Function*> functions;
  for (const Function* function : unit.functions) {
    const bool launched = std::ranges::any_of(program.launches, [&](const Launch& launch) {
      return launch.kernel == function->name || launch.kernel.starts_with(function->name + "<");
    });
    const bool reachable = function->is_kernel ? launched : function->is_device;
    if (reachable && function->body != nullptr) functions.push_back(function);
  }
  return functions;
}

MathLevel level_of(const Kind& kind, const RewriteContext& context) {
  if (kind.relative < 0 || context.task == nullptr) return MathLevel::kReduced;
  const Tolerance& tolerance = context.task->tolerance;
  const bool within = kind.relative <= tolerance.rtol / 4 && kind.absolute <= tolerance.atol / 4;
  return within ? MathLevel::kReassociate : MathLevel::kReduced;
}

class FastIntrinsics final : public Rewriter {
 public:
  std::string_view name() const override { return "fast-intrinsics"; }
  int version() const override { return 2; }
  bool approximates() const override { return true; }
  std::string_view summary() const override {
    return "a / b, a / sqrtf(x), expf(x), ... => __fdividef(a, b), a * rsqrtf(x), __expf(x), ..., "
           "legal for float operands; `reduced` unless the stated error bound is well within the "
           "task's tolerance";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    const auto unit = syntax::parse(program);
    if (!unit) return proposals;
    std::string last;
    for (const Function* function : device_functions(**unit, program)) {
      for (const Kind& kind : kKinds) {
        const std::string site = function->name + "/" + std::string(kind.site);
        const bool known = std::ranges::any_of(
            proposals, [&](const Proposal& proposal) { return proposal.site == site; });
        Rewrite rewrite(**unit, kind);
        if (known || count(rewrite, *function) == 0) continue;
        proposals.push_back(
            {.rewriter = std::string(name()),
             .version = version(),
             .site = site,
             .math = level_of(kind, context),
             .description = "fast " + std::string(kind.site) + " in " + function->name});
      }
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    const auto unit = syntax::parse(program);
    if (!unit) return refused(unit.error().message);
    for (const Kind& kind : kKinds) {
      Rewrite rewrite(**unit, kind);
      const Function* first = nullptr;
      for (const Function* function : device_functions(**unit, program)) {
        if (function->name + "/" + std::string(kind.site) != step.site) continue;
        if (count(rewrite, *function) != 0 && first == nullptr) first = function;
      }
      if (first == nullptr) continue;
      const MathLevel needed = level_of(kind, context);
      if (context.task != nullptr && needed > context.task->math) {
        return refused("needs math level \"" + std::string(to_string(needed)) +
                       "\": the error bound is not within the task's tolerance");
      }
      auto source = rewrite.source(*first);
      if (!source) return std::unexpected(source.error());
      Program result = program;
      result.source = std::move(*source);  // whether it parses, apply_step() asks
      return result;
    }
    return refused("no site \"" + step.site + "\"");
  }

 private:
  static int count(Rewrite& rewrite, const Function& function) {
    int changed = 0;
    for (const Node* expr : function.all_expressions) changed += rewrite.visit(*expr) ? 1 : 0;
    return changed;
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_fast_intrinsics() { return std::make_unique<FastIntrinsics>(); }

}  // namespace hone
