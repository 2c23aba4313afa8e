#include "candidates/pytorch/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "candidates/pytorch/names.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {

Dim::Dim(std::int64_t value) {
  if (value != 0) terms_[{}] = value;
}

Dim Dim::of_atom(int atom) {
  Dim dim;
  dim.terms_[{atom}] = 1;
  return dim;
}

std::optional<std::int64_t> Dim::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

std::optional<int> Dim::atom() const {
  if (terms_.size() != 1) return std::nullopt;
  const auto& [monomial, factor] = *terms_.begin();
  return monomial.size() == 1 && factor == 1 ? std::optional(monomial.front()) : std::nullopt;
}

namespace {

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) refuse("a size does not fit 64 bits");
  return result;
}
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) refuse("a size does not fit 64 bits");
  return result;
}
/// As the task's expressions: rounded towards 0, or ceildiv(), of which `by` is positive.
std::int64_t quotient_of(std::int64_t number, std::int64_t by, bool up) {
  if (by == -1) return product(number, -1);
  return up ? sum(sum(number, by), -1) / by : number / by;
}

}  // namespace

Dim& Dim::operator+=(const Dim& other) {
  for (const auto& [monomial, factor] : other.terms_) {
    std::int64_t& ours = terms_[monomial];
    ours = sum(ours, factor);
    if (ours == 0) terms_.erase(monomial);
  }
  return *this;
}

Dim& Dim::operator*=(const Dim& other) {
  Dim result;
  for (const auto& [ours, factor] : terms_) {
    for (const auto& [theirs, by] : other.terms_) {
      Monomial both = ours;
      both.insert(both.end(), theirs.begin(), theirs.end());
      std::ranges::sort(both);
      std::int64_t& term = result.terms_[both];
      term = sum(term, product(factor, by));
      if (term == 0) result.terms_.erase(both);
    }
  }
  return *this = std::move(result);
}

namespace {

/// What is left of `from` without the factors of `part`; empty: it does not have them.
std::optional<Dim::Monomial> without(const Dim::Monomial& from, const Dim::Monomial& part) {
  if (!std::ranges::includes(from, part)) return std::nullopt;
  Dim::Monomial rest;
  std::ranges::set_difference(from, part, std::back_inserter(rest));
  return rest;
}

/// a / b where b is one monomial that divides every term of a.
std::optional<Dim> divide_evenly(const Dim& a, const Dim& b) {
  if (b.terms().size() != 1) return std::nullopt;
  const auto& [atoms, factor] = *b.terms().begin();
  Dim result;
  for (const auto& [monomial, by] : a.terms()) {
    const auto rest = without(monomial, atoms);
    if (!rest || by % factor != 0) return std::nullopt;
    Dim term(by / factor);
    for (const int atom : *rest) term *= Dim::of_atom(atom);
    result += term;
  }
  return result;
}

}  // namespace

Dim Sizes::fresh(std::string_view hint, std::int64_t value) {
  if (value == 1) return 1;
  Atom atom;
  atom.name = unused_name(hint, names_, numbers_);
  atom.value = value;
  const int id = static_cast<int>(atoms_.size());
  names_.emplace(atom.name, id);
  atoms_.push_back(std::move(atom));
  return Dim::of_atom(id);
}

Dim Sizes::quotient(const Dim& a, const Dim& b, bool up) const {
  const Dim over = resolve(a), under = resolve(b);
  if (value(under) == 0) refuse("a size is divided by 0");
  if (over.constant() && under.constant()) {
    const std::int64_t x = *over.constant(), y = *under.constant();
    return quotient_of(x, y, up);
  }
  if (auto even = divide_evenly(over, under)) return *std::move(even);
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    const Atom& atom = atoms_[i];
    if (atom.is_quotient && atom.up == up && atom.numerator == over && atom.denominator == under) {
      return Dim::of_atom(static_cast<int>(i));
    }
  }
  Atom atom;
  atom.is_quotient = true;
  atom.up = up;
  atom.numerator = over;
  atom.denominator = under;
  atoms_.push_back(std::move(atom));
  return Dim::of_atom(static_cast<int>(atoms_.size()) - 1);
}

Dim Sizes::floor_div(const Dim& a, const Dim& b) { return quotient(a, b, false); }
Dim Sizes::ceil_div(const Dim& a, const Dim& b) { return quotient(a, b, true); }

Dim Sizes::resolve(const Dim& dim) const {
  Dim result;
  for (const auto& [monomial, factor] : dim.terms()) {
    Dim term(factor);
    for (const int id : monomial) {
      const Atom& atom = atoms_[static_cast<std::size_t>(id)];
      if (atom.is) {
        term *= resolve(*atom.is);
      } else if (atom.is_quotient) {
        term *= quotient(atom.numerator, atom.denominator, atom.up);
      } else {
        term *= Dim::of_atom(id);
      }
    }
    result += term;
  }
  return result;
}

std::int64_t Sizes::value(const Dim& dim) const {
  std::int64_t all = 0;
  for (const auto& [monomial, factor] : dim.terms()) {
    std::int64_t term = factor;
    for (const int id : monomial) {
      const Atom& atom = atoms_[static_cast<std::size_t>(id)];
      std::int64_t one = atom.value;
      if (atom.is_quotient) {
        const std::int64_t under = value(atom.denominator);
        if (under == 0) refuse("a size is divided by 0");
        one = quotient_of(value(atom.numerator), under, atom.up);
      }
      term = product(term, one);
    }
    all = sum(all, term);
  }
  return all;
}

bool Sizes::same(const Dim& a, const Dim& b) const { return resolve(a - b).terms().empty(); }

bool Sizes::mentions(const Dim& dim, int wanted) const {
  return std::ranges::any_of(dim.terms(), [&](const auto& term) {
    return std::ranges::any_of(term.first, [&](int id) {
      const Atom& atom = atoms_[static_cast<std::size_t>(id)];
      return id == wanted || (atom.is_quotient && (mentions(atom.numerator, wanted) ||
                                                   mentions(atom.denominator, wanted)));
    });
  });
}

std::vector<int> Sizes::unknowns(const Dim& dim) const {
  std::set<int> found;
  for (const auto& [monomial, factor] : dim.terms()) {
    for (const int id : monomial) {
      const Atom& atom = atoms_[static_cast<std::size_t>(id)];
      if (!atom.is_quotient) {
        found.insert(id);
        continue;
      }
      for (const Dim& part : {atom.numerator, atom.denominator}) {
        const auto inner = unknowns(resolve(part));
        found.insert(inner.begin(), inner.end());
      }
    }
  }
  return {found.begin(), found.end()};
}

void Sizes::unify(const Dim& a, const Dim& b) {
  if (value(a) != value(b)) {
    refuse("its shape rule gives {} where the file says {}", value(a), value(b));
  }
  const Dim ours = resolve(a), theirs = resolve(b);
  const Dim difference = ours - theirs;
  if (difference.terms().empty()) return;
  // The youngest size that stands alone and nowhere else.
  std::optional<int> best;
  for (const auto& [monomial, factor] : difference.terms()) {
    if (monomial.size() != 1 || (factor != 1 && factor != -1)) continue;
    const int id = monomial.front();
    if (atoms_[static_cast<std::size_t>(id)].is_quotient) continue;
    const Dim rest = difference - Dim::of_atom(id) * Dim(factor);
    if (!mentions(rest, id) && (!best || id > *best)) best = id;
  }
  if (!best) {
    freeze(ours);
    freeze(theirs);
    return;
  }
  const std::int64_t factor = difference.terms().at({*best});
  const Dim rest = difference - Dim::of_atom(*best) * Dim(factor);
  atoms_[static_cast<std::size_t>(*best)].is = rest * Dim(-factor);
}

void Sizes::freeze(const Dim& dim) {
  for (const int id : unknowns(resolve(dim))) {
    Atom& atom = atoms_[static_cast<std::size_t>(id)];
    atom.is = Dim(atom.value);
  }
}

std::vector<Dim> Sizes::split(const Dim& whole, const std::vector<std::int64_t>& values,
                              std::string_view hint) {
  const Dim product = resolve(whole);
  std::vector<Dim> parts;
  if (const auto id = product.atom(); id && !atoms_[static_cast<std::size_t>(*id)].is_quotient) {
    Dim all = 1;
    for (const std::int64_t part : values) {
      parts.push_back(fresh(fmt::format("{}_part", hint), part));
      all *= parts.back();
    }
    unify(product, all);
    return parts;
  }
  if (product.terms().size() == 1) {
    const auto& [monomial, factor] = *product.terms().begin();
    std::vector<Dim> factors;
    if (factor != 1) factors.emplace_back(factor);
    for (const int id : monomial) factors.push_back(Dim::of_atom(id));
    for (const std::int64_t part : values) {
      const auto found =
          std::ranges::find_if(factors, [&](const Dim& one) { return value(one) == part; });
      if (part == 1) {
        parts.emplace_back(1);
      } else if (found != factors.end()) {
        parts.push_back(*found);
        factors.erase(found);
      }
    }
    if (parts.size() == values.size() && factors.empty()) return parts;
  }
  freeze(product);
  return {values.begin(), values.end()};
}

std::string Sizes::atom_text(int id) const {
  const Atom& atom = atoms_[static_cast<std::size_t>(id)];
  if (!atom.is_quotient) return atom.name;
  const auto part = [&](const Dim& dim) {
    std::string shown = text(dim);
    return shown.find_first_of("+-*/") == std::string::npos ? shown : "(" + shown + ")";
  };
  if (atom.up) return fmt::format("ceildiv({},{})", text(atom.numerator), text(atom.denominator));
  return fmt::format("({}/{})", part(atom.numerator), part(atom.denominator));
}

std::string Sizes::text(const Dim& dim) const {
  const Dim known = resolve(dim);
  if (known.terms().empty()) return "0";
  std::string positive, negative;
  for (const auto& [monomial, factor] : known.terms()) {
    std::string term;
    const std::int64_t size = factor < 0 ? -factor : factor;
    if (size != 1 || monomial.empty()) term = fmt::format("{}", size);
    for (const int id : monomial) term += (term.empty() ? "" : "*") + atom_text(id);
    if (factor < 0) {
      negative += "-" + term;
    } else {
      positive += (positive.empty() ? "" : "+") + term;
    }
  }
  return (positive.empty() ? "0" : positive) + negative;
}

void Sizes::add_used(const Dim& dim, std::map<std::string, std::int64_t>& used) const {
  for (const int id : unknowns(resolve(dim))) {
    const Atom& atom = atoms_[static_cast<std::size_t>(id)];
    used.emplace(atom.name, atom.value);
  }
}

}  // namespace hone::pytorch
