#include "candidates/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "candidates/characters.h"
#include "candidates/expr_spelling.h"

namespace hone {

namespace {

constexpr std::size_t kMaxExprText = 4096;  // [B]; also bounds the depth of a chain such as 1+1+…
constexpr int kMaxNesting = 200;

enum class Op {
  kLiteral,
  kName,
  kNegate,
  kOr,
  kAnd,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kMin,
  kMax,
  kCeilDiv,
};

struct BinaryOperator {
  std::string_view text;
  Op op;
  int level;  // binds tighter when higher
};
constexpr int kComparisonLevel = 3;
// Longer spellings before their prefixes.
constexpr std::array<BinaryOperator, 13> kOperators = {{{"||", Op::kOr, 1},
                                                        {"&&", Op::kAnd, 2},
                                                        {"==", Op::kEqual, kComparisonLevel},
                                                        {"!=", Op::kNotEqual, kComparisonLevel},
                                                        {"<=", Op::kLessEqual, kComparisonLevel},
                                                        {">=", Op::kGreaterEqual, kComparisonLevel},
                                                        {"<", Op::kLess, kComparisonLevel},
                                                        {">", Op::kGreater, kComparisonLevel},
                                                        {"+", Op::kAdd, 4},
                                                        {"-", Op::kSubtract, 4},
                                                        {"*", Op::kMultiply, 5},
                                                        {"/", Op::kDivide, 5},
                                                        {"%", Op::kRemainder, 5}}};

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

struct Expr::Node {
  Op op = Op::kLiteral;
  std::int64_t value = 0;
  std::string name;
  std::vector<std::shared_ptr<const Node>> operands;
};

namespace {

using NodePtr = std::shared_ptr<const Expr::Node>;

NodePtr make_node(Op op, std::vector<NodePtr> operands) {
  auto node = std::make_shared<Expr::Node>();
  node->op = op;
  node->operands = std::move(operands);
  return node;
}

class ExprParser {
 public:
  explicit ExprParser(std::string_view text) : text_(text) {}

  Result<NodePtr> parse() {
    NodePtr root = binary(1);
    if (root != nullptr) {
      skip_space();
      if (at_ < text_.size()) root = expected("an operator or the end");
    }
    if (root == nullptr) {
      return invalid(fmt::format("column {} of \"{}\": {}", error_at_ + 1, text_, error_));
    }
    return root;
  }

 private:
  // Every parse function returns null after recording the first error.
  NodePtr error(std::size_t at, std::string message) {
    if (error_.empty()) {
      error_at_ = at;
      error_ = std::move(message);
    }
    return nullptr;
  }

  NodePtr expected(std::string_view what) {
    skip_space();
    if (at_ >= text_.size()) return error(at_, fmt::format("expected {}, found the end", what));
    // Non-ASCII: show the whole UTF-8 sequence, not its first byte.
    std::size_t length = 1;
    while (at_ + length < text_.size() &&
           (static_cast<unsigned char>(text_[at_ + length]) & 0xC0) == 0x80) {
      ++length;
    }
    return error(at_, fmt::format("expected {}, found '{}'", what, text_.substr(at_, length)));
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::optional<BinaryOperator> peek_operator() {
    skip_space();
    for (const BinaryOperator& candidate : kOperators) {
      if (text_.substr(at_).starts_with(candidate.text)) return candidate;
    }
    return std::nullopt;
  }

  NodePtr binary(int lowest_level) {
    NodePtr left = unary();
    bool compared = false;
    while (left != nullptr) {
      const auto next = peek_operator();
      if (!next || next->level < lowest_level) return left;
      if (next->level == kComparisonLevel && compared) {
        return error(at_, "comparisons do not chain; write a < b && b < c");
      }
      compared = next->level == kComparisonLevel;
      at_ += next->text.size();
      NodePtr right = binary(next->level + 1);
      if (right == nullptr) return nullptr;
      left = make_node(next->op, {std::move(left), std::move(right)});
    }
    return nullptr;
  }

  NodePtr unary() {
    if (++depth_ > kMaxNesting) {
      return error(at_, fmt::format("nested more than {} deep", kMaxNesting));
    }
    NodePtr node = unary_inner();
    --depth_;
    return node;
  }

  NodePtr unary_inner() {
    if (!accept('-')) return primary();
    skip_space();
    if (at_ < text_.size() && is_digit(text_[at_])) return literal(/*negative=*/true);
    NodePtr operand = unary();
    return operand == nullptr ? nullptr : make_node(Op::kNegate, {std::move(operand)});
  }

  NodePtr primary() {
    if (accept('(')) {
      NodePtr inner = binary(1);
      if (inner == nullptr) return nullptr;
      return accept(')') ? inner : expected("')'");
    }
    skip_space();
    if (at_ < text_.size() && is_digit(text_[at_])) return literal(/*negative=*/false);
    if (at_ < text_.size() && is_name_start(text_[at_])) return name_or_call();
    return expected("an integer, a name or '('");
  }

  NodePtr literal(bool negative) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    const std::size_t end = at_;
    if (at_ < text_.size() && (text_[at_] == '.' || is_name_start(text_[at_]))) {
      return error(begin, "expected an integer: expressions hold no fractions and no suffixes");
    }
    std::string digits(negative ? "-" : "");
    digits += text_.substr(begin, end - begin);
    auto node = std::make_shared<Expr::Node>();
    const auto parsed =
        std::from_chars(digits.data(), digits.data() + digits.size(), node->value, 10);
    if (parsed.ec != std::errc()) return error(begin, "the integer does not fit 64 bits");
    return node;
  }

  NodePtr name_or_call() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if (!accept('(')) {
      auto node = std::make_shared<Expr::Node>();
      node->op = Op::kName;
      node->name = name;
      return node;
    }
    Op op;
    if (name == "min") {
      op = Op::kMin;
    } else if (name == "max") {
      op = Op::kMax;
    } else if (name == "ceildiv") {
      op = Op::kCeilDiv;
    } else {
      return error(begin,
                   fmt::format("unknown function '{}'; there are min, max and ceildiv", name));
    }
    std::vector<NodePtr> operands;
    do {
      NodePtr operand = binary(1);
      if (operand == nullptr) return nullptr;
      operands.push_back(std::move(operand));
    } while (accept(','));
    if (!accept(')')) return expected("',' or ')'");
    if (op == Op::kCeilDiv ? operands.size() != 2 : operands.size() < 2) {
      return error(begin, fmt::format("{} takes {} arguments, found {}", name,
                                      op == Op::kCeilDiv ? "two" : "two or more", operands.size()));
    }
    return make_node(op, std::move(operands));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::size_t error_at_ = 0;
  std::string error_;
};

// Evaluates; on failure returns nullopt with `why` set.
class TreeEvaluation {
 public:
  TreeEvaluation(const Bindings& bindings, std::string& why) : bindings_(bindings), why_(why) {}

  std::optional<std::int64_t> eval(const Expr::Node& node) {
    switch (node.op) {
      case Op::kLiteral:
        return node.value;
      case Op::kName: {
        const auto found = bindings_.find(node.name);
        if (found != bindings_.end()) return found->second;
        why_ = fmt::format("unknown name '{}'", node.name);
        return std::nullopt;
      }
      case Op::kNegate: {
        const auto value = eval(*node.operands[0]);
        std::int64_t result = 0;
        if (!value) return std::nullopt;
        if (__builtin_sub_overflow(std::int64_t{0}, *value, &result)) return overflow();
        return result;
      }
      case Op::kAnd:
      case Op::kOr: {  // the right side counts only where it decides, as in C
        const auto left = eval(*node.operands[0]);
        if (!left) return std::nullopt;
        if ((*left != 0) == (node.op == Op::kOr)) return node.op == Op::kOr;
        const auto right = eval(*node.operands[1]);
        if (!right) return std::nullopt;
        return *right != 0;
      }
      default:
        break;
    }
    std::optional<std::int64_t> result = eval(*node.operands[0]);
    for (std::size_t i = 1; result && i < node.operands.size(); ++i) {
      const auto right = eval(*node.operands[i]);
      if (!right) return std::nullopt;
      result = apply(node.op, *result, *right);
    }
    return result;
  }

 private:
  std::optional<std::int64_t> overflow() {
    why_ = "overflows 64 bits";
    return std::nullopt;
  }

  std::optional<std::int64_t> apply(Op op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    switch (op) {
      case Op::kEqual:
        return a == b;
      case Op::kNotEqual:
        return a != b;
      case Op::kLess:
        return a < b;
      case Op::kLessEqual:
        return a <= b;
      case Op::kGreater:
        return a > b;
      case Op::kGreaterEqual:
        return a >= b;
      case Op::kAdd:
        if (__builtin_add_overflow(a, b, &result)) return overflow();
        return result;
      case Op::kSubtract:
        if (__builtin_sub_overflow(a, b, &result)) return overflow();
        return result;
      case Op::kMultiply:
        if (__builtin_mul_overflow(a, b, &result)) return overflow();
        return result;
      case Op::kMin:
        return std::min(a, b);
      case Op::kMax:
        return std::max(a, b);
      default:
        break;
    }
    if (b == 0) {
      why_ = "divides by zero";
      return std::nullopt;
    }
    if (a == std::numeric_limits<std::int64_t>::min() && b == -1) return overflow();
    if (op == Op::kDivide) return a / b;
    if (op == Op::kRemainder) return a % b;
    const bool round_up = a % b != 0 && (a < 0) == (b < 0);
    return a / b + (round_up ? 1 : 0);
  }

  const Bindings& bindings_;
  std::string& why_;
};

void collect_names(const Expr::Node& node, std::set<std::string>& names) {
  if (node.op == Op::kName) names.insert(node.name);
  for (const NodePtr& operand : node.operands) collect_names(*operand, names);
}

bool is_condition_node(const Expr::Node& node) {
  switch (node.op) {
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
      return true;
    case Op::kAnd:
    case Op::kOr:
      return is_condition_node(*node.operands[0]) && is_condition_node(*node.operands[1]);
    default:
      return false;
  }
}

std::string_view spelling_of(Op op) {
  for (const BinaryOperator& binary : kOperators) {
    if (binary.op == op) return binary.text;
  }
  return op == Op::kNegate ? "neg" : op == Op::kMin ? "min" : op == Op::kMax ? "max" : "ceildiv";
}

std::optional<std::string> spell_node(const Expr::Node& node, const ExprSpelling& spelling,
                                      int nested_at_most) {
  if (node.op == Op::kLiteral) return spelling.literal(node.value);
  if (node.op == Op::kName) return spelling.name(node.name);
  if (nested_at_most == 0) return std::nullopt;
  std::vector<std::string> operands;
  for (const NodePtr& operand : node.operands) {
    auto text = spell_node(*operand, spelling, nested_at_most - 1);
    if (!text) return std::nullopt;
    operands.push_back(std::move(*text));
  }
  return spelling.operation(spelling_of(node.op), operands);
}

}  // namespace

Result<std::string> spell(const Expr& expr, const ExprSpelling& spelling, int most_nested) {
  const auto root = ExprParser(expr.text()).parse();
  if (!root) return std::unexpected(root.error());
  auto text = spell_node(**root, spelling, most_nested);
  if (!text) {
    return invalid(fmt::format("\"{}\" nests more than {} operations: too many to be exported",
                               expr.text(), most_nested));
  }
  return std::move(*text);
}

Expr::Expr(std::int64_t value) : text_(std::to_string(value)) {
  auto node = std::make_shared<Node>();
  node->value = value;
  root_ = std::move(node);
}

Result<Expr> Expr::parse(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.empty()) return invalid("the expression is empty; expected an integer or a name");
  if (text.size() > kMaxExprText) {
    return invalid(fmt::format("the expression has {} characters; at most {} are accepted",
                               text.size(), kMaxExprText));
  }
  auto root = ExprParser(text).parse();
  if (!root) return std::unexpected(root.error());
  Expr expr;
  expr.text_ = std::string(text);
  expr.root_ = std::move(*root);
  return expr;
}

Result<std::int64_t> Expr::eval(const Bindings& bindings) const {
  if (root_ == nullptr) return 0;
  std::string why;
  const auto value = TreeEvaluation(bindings, why).eval(*root_);
  if (!value) return invalid(fmt::format("\"{}\": {}", text_, why));
  return *value;
}

std::set<std::string> Expr::names() const {
  std::set<std::string> names;
  if (root_ != nullptr) collect_names(*root_, names);
  return names;
}

bool Expr::is_condition() const { return root_ != nullptr && is_condition_node(*root_); }

}  // namespace hone
