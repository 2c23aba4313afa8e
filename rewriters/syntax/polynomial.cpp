// Integer polynomials over symbols, and reading one off an expression.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/stability.h"

namespace hone::syntax {
namespace {

constexpr std::size_t kMaxTerms = 64;  // (a+b)^n stays readable; beyond this we do not reason

bool is_symbol_char(char c) {
  return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '#';
}

bool is_atom(const std::string& symbol) { return !symbol.empty() && symbol[0] == '('; }

bool atom_mentions(const std::string& atom, const std::string& symbol) {
  for (std::size_t at = atom.find(symbol); at != std::string::npos;
       at = atom.find(symbol, at + 1)) {
    const bool starts = at == 0 || !is_symbol_char(atom[at - 1]);
    const std::size_t end = at + symbol.size();
    if (starts && (end == atom.size() || !is_symbol_char(atom[end]))) return true;
  }
  return false;
}

std::string render(const Polynomial& polynomial) {
  std::string text;
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    if (!text.empty()) text += " + ";
    text += std::to_string(coefficient);
    for (const std::string& symbol : monomial) text += "*" + symbol;
  }
  return text.empty() ? "0" : text;
}

void add_term(Polynomial& sum, const Polynomial::Monomial& monomial, std::int64_t value) {
  auto& slot = sum.terms[monomial];
  slot = static_cast<std::int64_t>(static_cast<std::uint64_t>(slot) +
                                   static_cast<std::uint64_t>(value));
  if (slot == 0) sum.terms.erase(monomial);
}

/// Built from thread and block indices with non-negative coefficients only.
bool surely_non_negative(const Polynomial& polynomial) {
  for (const auto& [monomial, coefficient] : polynomial.terms) {
    if (coefficient < 0) return false;
    for (const std::string& symbol : monomial) {
      const bool builtin = symbol.find('.') != std::string::npos &&
                           symbol.find('#') == std::string::npos &&
                           symbol.find('-') == std::string::npos;
      if (!builtin) return false;
    }
  }
  return true;
}

Polynomial atom(const Polynomial& left, std::string_view op, const std::string& right) {
  return Polynomial::symbol(fmt::format("({} {} {})", render(left), op, right));
}

/// p / c or p % c. Terms that c divides are split off where the sign allows it.
Polynomial divide(const Polynomial& value, std::int64_t divisor, bool remainder) {
  Polynomial multiple, rest;
  for (const auto& [monomial, coefficient] : value.terms) {
    if (coefficient % divisor == 0) {
      add_term(multiple, monomial, coefficient / divisor);
    } else {
      add_term(rest, monomial, coefficient);
    }
  }
  if (rest.is_zero()) return remainder ? Polynomial{} : multiple;
  if (surely_non_negative(value)) {
    if (auto constant = rest.as_constant(); constant && *constant < divisor) {
      return remainder ? rest : multiple;
    }
    if (remainder) return atom(rest, "%", std::to_string(divisor));
    return multiple + atom(rest, "/", std::to_string(divisor));
  }
  return atom(value, remainder ? "%" : "/", std::to_string(divisor));
}

std::optional<Polynomial> read(const Expr& expr, int depth);

std::optional<Polynomial> read_binary(const Expr& expr, int depth) {
  const std::string& op = expr.text;
  static constexpr std::string_view known = "+ - * / % << >> & ";
  if (op == "," || known.find(op + " ") == std::string_view::npos) return std::nullopt;
  auto left = read(*expr.operands[0], depth), right = read(*expr.operands[1], depth);
  if (!left || !right) return std::nullopt;
  if (op == "+") return *left + *right;
  if (op == "-") return *left - *right;
  if (op == "*") {
    if (left->terms.size() * right->terms.size() > kMaxTerms) return std::nullopt;
    return *left * *right;
  }
  const auto constant = right->as_constant();
  if (op == "/" || op == "%") {
    if (constant && *constant == 0) return std::nullopt;
    if (constant && *constant > 0) return divide(*left, *constant, op == "%");
    return atom(*left, op, "(" + render(*right) + ")");
  }
  if (op == "<<" || op == ">>") {
    if (!constant || *constant < 0 || *constant > 30) return std::nullopt;
    const std::int64_t factor = std::int64_t{1} << *constant;
    return op == "<<" ? *left * Polynomial::constant(factor) : divide(*left, factor, false);
  }
  if (!constant) return std::nullopt;
  const bool low_bits = *constant >= 0 && ((*constant + 1) & *constant) == 0;
  if (low_bits && surely_non_negative(*left)) return divide(*left, *constant + 1, true);
  return atom(*left, "&", std::to_string(*constant));
}

std::optional<Polynomial> read(const Expr& expr, int depth) {
  if (depth > 64) return std::nullopt;
  if (expr.constant) return Polynomial::constant(*expr.constant);
  switch (expr.kind) {
    case Expr::Kind::kIntLiteral:
    case Expr::Kind::kBoolLiteral:
      return Polynomial::constant(expr.int_value);
    case Expr::Kind::kBuiltin:
      if (expr.text == "warpSize") return Polynomial::constant(32);
      if (expr.text.find('.') == std::string::npos) return std::nullopt;
      return Polynomial::symbol(expr.text);
    case Expr::Kind::kVariable: {
      const Variable& variable = *expr.variable;
      if (!variable.type.is_integer() || variable.address_taken) return std::nullopt;
      const bool is_local = variable.storage == Variable::Storage::kLocal;
      if (!is_local && variable.storage != Variable::Storage::kParameter &&
          !variable.type.is_const) {
        return std::nullopt;  // a module or shared variable: a load
      }
      if (variable.type.is_volatile) return std::nullopt;
      if (is_local && variable.single_assignment() && init_is_stable(variable)) {
        if (auto value = read(*variable.init, depth + 1)) return value;
      }
      return Polynomial::symbol(symbol_of(variable));
    }
    case Expr::Kind::kCast: {
      const Expr& inner = *expr.operands[0];
      if (!expr.type.is_integer() || !inner.type.is_integer()) return std::nullopt;
      if (expr.type.kind == Type::Kind::kBool || expr.type.bytes < std::min(4, inner.type.bytes)) {
        return std::nullopt;  // drops bits
      }
      return read(inner, depth);
    }
    case Expr::Kind::kUnary: {
      if (expr.text != "-" && expr.text != "+") return std::nullopt;
      auto value = read(*expr.operands[0], depth);
      if (!value || expr.text == "+") return value;
      return Polynomial{} - *value;
    }
    case Expr::Kind::kBinary:
      return read_binary(expr, depth);
    default:
      return std::nullopt;
  }
}

}  // namespace

Polynomial Polynomial::constant(std::int64_t value) {
  Polynomial result;
  if (value != 0) result.terms[{}] = value;
  return result;
}

Polynomial Polynomial::symbol(const std::string& name) {
  Polynomial result;
  result.terms[{name}] = 1;
  return result;
}

Polynomial Polynomial::operator+(const Polynomial& other) const {
  Polynomial sum = *this;
  for (const auto& [monomial, coefficient] : other.terms) add_term(sum, monomial, coefficient);
  return sum;
}

Polynomial Polynomial::operator-(const Polynomial& other) const {
  return *this + other * constant(-1);
}

Polynomial Polynomial::operator*(const Polynomial& other) const {
  Polynomial product;
  for (const auto& [left, a] : terms) {
    for (const auto& [right, b] : other.terms) {
      Monomial both = left;
      both.insert(both.end(), right.begin(), right.end());
      std::sort(both.begin(), both.end());
      add_term(
          product, both,
          static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)));
    }
  }
  return product;
}

std::optional<std::int64_t> Polynomial::as_constant() const {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  return std::nullopt;
}

bool Polynomial::uses(const std::string& symbol) const {
  for (const auto& [monomial, coefficient] : terms) {
    for (const std::string& factor : monomial) {
      if (factor == symbol || (is_atom(factor) && atom_mentions(factor, symbol))) return true;
    }
  }
  return false;
}

std::set<std::string> Polynomial::symbols() const {
  std::set<std::string> all;
  for (const auto& [monomial, coefficient] : terms) all.insert(monomial.begin(), monomial.end());
  return all;
}

std::optional<Polynomial> Polynomial::coefficient(const std::string& symbol) const {
  Polynomial result;
  for (const auto& [monomial, value] : terms) {
    const auto count = std::count(monomial.begin(), monomial.end(), symbol);
    Monomial others;
    for (const std::string& factor : monomial) {
      if (is_atom(factor) && atom_mentions(factor, symbol)) return std::nullopt;
      if (factor != symbol) others.push_back(factor);
    }
    if (count > 1) return std::nullopt;
    if (count == 1) add_term(result, others, value);
  }
  return result;
}

Polynomial Polynomial::without(const std::string& symbol) const {
  Polynomial result;
  for (const auto& [monomial, value] : terms) {
    if (std::count(monomial.begin(), monomial.end(), symbol) == 0) result.terms[monomial] = value;
  }
  return result;
}

std::optional<Polynomial> Polynomial::substitute(const std::string& symbol,
                                                 const Polynomial& value) const {
  Polynomial result;
  for (const auto& [monomial, coefficient] : terms) {
    Polynomial product = constant(coefficient);
    for (const std::string& factor : monomial) {
      if (is_atom(factor) && atom_mentions(factor, symbol)) return std::nullopt;
      product = product * (factor == symbol ? value : Polynomial::symbol(factor));
    }
    result = result + product;
  }
  return result;
}

std::string symbol_of(const Variable& variable) { return variable.symbol; }

std::optional<Polynomial> polynomial(const Expr& expr) {
  if (!expr.type.is_integer() && !expr.constant) return std::nullopt;
  return read(expr, 0);
}

}  // namespace hone::syntax
