// The sizes of a task that is being written: which named constants of the host become sizes, how
// integers of the host are written over them, and the values they get.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewriters/syntax/host/read_unit.h"

namespace hone::init {

class Sizes {
 public:
  explicit Sizes(const std::vector<syntax::HostName>& names) : names_(names) {}

  /// The integer decides a buffer's length, or is passed to a kernel and guessed.
  void want(const syntax::HostInt& value);
  /// Its names are fixed: a block's extent, shared memory, what a kernel has baked in.
  void fix(const syntax::HostInt& value);
  /// Gives the wanted names that are not fixed names of their own; `taken`: other names.
  void settle(const std::set<std::string>& taken);

  [[nodiscard]] bool is_symbolic(const syntax::HostInt& value) const;
  /// "ceildiv(n, 256)" over the sizes; a number where there are none.
  [[nodiscard]] std::string text(const syntax::HostInt& value) const;
  /// Factors of a product, as text: ["M", "N"].
  [[nodiscard]] std::vector<std::string> factors(const syntax::HostInt& value) const;
  [[nodiscard]] std::optional<std::int64_t> value(
      const syntax::HostInt& value, const std::map<std::string, std::int64_t>& at) const;
  [[nodiscard]] std::set<std::string> names_in(const syntax::HostInt& value) const;
  /// Adds "n % 256 == 0" for each division in `value` that leaves nothing at the timed sizes.
  void exact_divisions(const syntax::HostInt& value, std::set<std::string>& constraints,
                       std::vector<std::pair<syntax::HostInt, syntax::HostInt>>& divisions) const;

  [[nodiscard]] const std::vector<std::string>& all() const { return order_; }
  [[nodiscard]] const std::map<std::string, std::int64_t>& timed() const { return timed_; }
  [[nodiscard]] bool guessed(const std::string& name) const { return guessed_.contains(name); }
  [[nodiscard]] std::string place(const std::string& name) const { return places_.at(name); }

 private:
  using Key = std::pair<std::string, std::int64_t>;
  [[nodiscard]] Key key(const syntax::HostExpr& leaf) const;

  const std::vector<syntax::HostName>& names_;
  std::vector<Key> wanted_;
  std::set<Key> fixed_;
  std::map<Key, std::string> final_;
  std::vector<std::string> order_;
  std::map<std::string, std::int64_t> timed_;
  std::set<std::string> guessed_;
  std::map<std::string, std::string> places_;
  std::set<Key> guessed_keys_;
};

}  // namespace hone::init
