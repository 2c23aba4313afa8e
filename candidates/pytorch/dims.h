// Extents, strides and offsets as integer expressions over the sizes of the task.
//
// Every dimension of a module's inputs and parameters starts as a size of its own. The shape rules
// of the operations then say which of them are the same (unify), or what one is made of: a matrix
// that takes flattened images has C * H * W rows. Equal numbers alone say nothing. So the task can
// be run at small sizes that fit together. A size that a rule needs as a number is frozen at it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/pytorch/names.h"

namespace hone::pytorch {

/// A polynomial with integer coefficients; its unknowns ("atoms") are sizes and quotients of a
/// Sizes. A value: cheap to copy, compared by form.
class Dim {
 public:
  Dim() = default;          ///< 0
  Dim(std::int64_t value);  // NOLINT(google-explicit-constructor): numbers are extents

  using Monomial = std::vector<int>;  ///< atoms, sorted; empty: 1
  [[nodiscard]] const std::map<Monomial, std::int64_t>& terms() const { return terms_; }
  [[nodiscard]] std::optional<std::int64_t> constant() const;
  /// The atom that this is, if it is nothing else.
  [[nodiscard]] std::optional<int> atom() const;

  static Dim of_atom(int atom);
  Dim& operator+=(const Dim& other);
  Dim& operator*=(const Dim& other);
  friend Dim operator+(Dim a, const Dim& b) { return a += b; }
  friend Dim operator*(Dim a, const Dim& b) { return a *= b; }
  friend Dim operator-(Dim a, const Dim& b) { return a += b * Dim(-1); }
  bool operator==(const Dim&) const = default;

 private:
  std::map<Monomial, std::int64_t> terms_;
};

class Sizes {
 public:
  /// A new size; `hint` becomes its name where that is free. 1 stays the number, since PyTorch
  /// repeats dimensions of extent 1, and no others.
  Dim fresh(std::string_view hint, std::int64_t value);

  /// Names are shared with buffers: whether a size has this one, and that a buffer has it now.
  [[nodiscard]] bool has_name(std::string_view name) const { return names_.contains(name); }
  void reserve(std::string_view name) { names_.emplace(name, -1); }

  /// a / b rounded down, or up. b must not be 0.
  Dim floor_div(const Dim& a, const Dim& b);
  Dim ceil_div(const Dim& a, const Dim& b);

  /// With all that was said by now.
  [[nodiscard]] Dim resolve(const Dim& dim) const;
  /// At the sizes of the export.
  [[nodiscard]] std::int64_t value(const Dim& dim) const;
  /// Whether they are the same by what was said; equal numbers do not count.
  [[nodiscard]] bool same(const Dim& a, const Dim& b) const;

  /// From now on they are the same; their values must be. Solves for a size where one can be had,
  /// else freezes all sizes in both.
  void unify(const Dim& a, const Dim& b);
  /// From now on this is the number that it is.
  void freeze(const Dim& dim);
  /// Puts sizes of their own for the parts of a product: where `whole` is one size, it becomes the
  /// product of new ones with these values; where it is a product whose factors have these values,
  /// those; else it is frozen. The values must multiply to the whole's.
  std::vector<Dim> split(const Dim& whole, const std::vector<std::int64_t>& values,
                         std::string_view hint);

  /// As an Expr of a task: "x_0*(x_2-2)".
  [[nodiscard]] std::string text(const Dim& dim) const;
  /// The sizes that a Dim depends on, after all that was said, with their values.
  void add_used(const Dim& dim, std::map<std::string, std::int64_t>& used) const;

 private:
  struct Atom {
    std::string name;        ///< a size
    std::int64_t value = 0;  ///< a size's
    std::optional<Dim> is;   ///< what the size was found to be
    bool is_quotient = false;
    bool up = false;
    Dim numerator, denominator;
  };
  Dim quotient(const Dim& a, const Dim& b, bool up) const;
  [[nodiscard]] bool mentions(const Dim& dim, int atom) const;
  [[nodiscard]] std::vector<int> unknowns(const Dim& dim) const;
  [[nodiscard]] std::string atom_text(int atom) const;

  /// Grows in const functions too: a quotient of what is known now may be another one.
  mutable std::deque<Atom> atoms_;  ///< references hold while it grows
  std::map<std::string, int, std::less<>> names_;
  LastNumbers numbers_;  ///< behind names that are taken
};

}  // namespace hone::pytorch
