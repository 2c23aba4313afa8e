// Index arithmetic of one kernel: integer expressions as polynomials in which clamps, divisions
// and remainders are opaque atoms that can still be ranged, taken apart and printed again.
// One object per analysis; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewriters/syntax/analysis.h"

namespace hone::rules {

struct Interval {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool operator==(const Interval&) const = default;
};
using Ranges = std::map<std::string, Interval, std::less<>>;  ///< by symbol

class IndexSpace {
 public:
  using Polynomial = syntax::Polynomial;

  /// blockDim becomes the number it has at these sizes, when all launches agree on it.
  IndexSpace(const syntax::KernelInfo& info, const Bindings& sizes);

  /// Single-assignment locals are expanded. Empty: not integer arithmetic (a load, a call, …).
  [[nodiscard]] std::optional<Polynomial> form(const syntax::Expr& expr);

  /// A pointer parameter plus an element offset, seen through pointer locals.
  struct Address {
    const syntax::Variable* base = nullptr;
    Polynomial offset;
    const syntax::Expr* lvalue = nullptr;  ///< element(): the subscript or dereference
  };
  [[nodiscard]] std::optional<Address> address(const syntax::Expr& pointer);
  /// p[i] or *p
  [[nodiscard]] std::optional<Address> element(const syntax::Expr& lvalue);

  /// Does the polynomial use one of the symbols, inside atoms too?
  [[nodiscard]] bool uses(const Polynomial& polynomial, const std::set<std::string>& symbols) const;
  [[nodiscard]] bool symbol_uses(const std::string& symbol,
                                 const std::set<std::string>& symbols) const;
  /// Every plain symbol, those inside atoms too.
  [[nodiscard]] std::set<std::string> plain_symbols(const Polynomial& polynomial) const;

  /// Bounds of the value when each symbol lies in its range. Empty: a symbol has none, or overflow.
  [[nodiscard]] std::optional<Interval> range(const Polynomial& polynomial,
                                              const Ranges& ranges) const;

  /// Ranges of threadIdx, blockIdx (grid times `factors`), of parameters at the sizes.
  [[nodiscard]] Ranges launch_ranges(const std::array<std::int64_t, 3>& grid_factors) const;

  /// C text; `wide` computes in 64 bits. Variables are printed by name.
  [[nodiscard]] std::string text(const Polynomial& polynomial, bool wide = false) const {
    return text(polynomial, wide, false);
  }

  /// value = condition ? chosen : other, with condition `left op right`.
  struct Atom {
    enum class Kind { kDivide, kRemainder, kSelect };
    Kind kind = Kind::kDivide;
    std::string op;            ///< kSelect: "<", "<=", ">", ">="
    Polynomial left, right;    ///< operands of the operation or of the comparison
    Polynomial chosen, other;  ///< kSelect
    bool operator==(const Atom&) const = default;
  };
  [[nodiscard]] const Atom* atom(const std::string& symbol) const;
  [[nodiscard]] Polynomial atom_symbol(const Atom& atom);

  /// Symbols replaced by polynomials, inside atoms too.
  [[nodiscard]] Polynomial replace(const Polynomial& polynomial,
                                   const std::map<std::string, Polynomial>& values);
  /// Wherever the whole of `part` occurs as a summand, inside atoms too, `value` stands instead.
  [[nodiscard]] Polynomial replace_part(const Polynomial& polynomial, const Polynomial& part,
                                        const Polynomial& value);

  /// Is this atom the value of a local that looks like a clamp of flatten_guards()?
  [[nodiscard]] bool is_guard_clamp(const std::string& symbol) const {
    return clamps_.contains(symbol);
  }

  [[nodiscard]] const syntax::Variable* variable(const std::string& symbol) const;
  void name_variable(const std::string& symbol, const std::string& name) { names_[symbol] = name; }

 private:
  template <class F>
  Polynomial rebuild(const Polynomial& polynomial, const F& visit);
  /// `as_int`: the unsigned index builtins are cast, because the value may be negative on the way.
  [[nodiscard]] std::string text(const Polynomial& polynomial, bool wide, bool as_int) const;
  [[nodiscard]] std::string monomial_text(const Polynomial::Monomial& monomial,
                                          std::int64_t coefficient, bool wide, bool as_int) const;
  [[nodiscard]] std::string symbol_text(const std::string& symbol, bool as_int) const;
  [[nodiscard]] std::string operand_text(const Polynomial& polynomial, bool as_int) const;

  const syntax::KernelInfo* info_;
  Bindings sizes_;
  std::map<std::string, std::int64_t> block_;  ///< "blockDim.x" -> value
  std::vector<Atom> atoms_;                    ///< "@0", "@1", …
  std::map<std::string, const syntax::Variable*> variables_;
  std::map<std::string, std::string> names_;  ///< printed instead of the symbol
  std::set<std::string> clamps_;
  int depth_ = 0;
};

}  // namespace hone::rules
