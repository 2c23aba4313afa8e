// What every generator needs to write CUDA: indented lines, names, and values that are used more
// than once put into variables.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriters/schedules/printing/print_value.h"

namespace hone::schedules {

/// Lines, indented by two per open brace.
class Code {
 public:
  explicit Code(int depth = 0) : depth_(depth) {}
  void line(std::string_view text = {});
  /// "// …", broken at 100 columns.
  void comment(std::string_view text);
  /// Lines of a text that has its own indentation; those in a block of their own.
  void lines(std::string_view text);
  void block(std::string_view text);
  void open(std::string_view head);  ///< "for (…)": the brace is added
  void close(std::string_view tail = {});
  void turn(std::string_view head);  ///< "} else {"
  /// "head(a, b) {": parameters broken at 100 columns.
  void open_function(std::string_view head, const std::vector<std::string>& parameters);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_ = 0;
};

/// Names of a kernel's variables: none twice, none of C's words.
class Names {
 public:
  Names();
  void take(const std::string& name) { taken_.insert(name); }
  [[nodiscard]] std::string fresh(const std::string& base);

 private:
  std::set<std::string> taken_;
};

/// "float", "int" where the value fits, else "long long": a variable that holds it.
[[nodiscard]] std::string variable_type(nest::Nodes& nodes, Ref value);

/// "__half2float(text)": a stored element as it is computed with.
[[nodiscard]] std::string widened(ScalarType type, const std::string& text);
/// A load from a buffer that is called `name`, as it is computed with.
[[nodiscard]] std::string load_from(const std::string& name, Printer& printer, Ref load);
/// The value as an element of a buffer of `type`: "__float2half(…)".
[[nodiscard]] std::string as_element(Printer& printer, ScalarType type, Ref value);

/// The same, of exactly that type: "(double)(x)".
[[nodiscard]] std::string stored(Printer& printer, ScalarType type, Ref value);

/// How the roots use a value.
struct Use {
  Ref value = nullptr;
  int count = 0;         ///< places
  bool certain = false;  ///< evaluated whenever the roots are: in no arm of a select
};
/// Every value below the roots, operands first; not below what the printer knows, nor below
/// reductions.
[[nodiscard]] std::vector<Use> uses_of(const Printer& printer, const std::vector<Ref>& roots);

/// Puts into variables what the roots use more than once, so that the printer knows it. What reads
/// memory moves only where it is read in any case.
void emit_shared(nest::Nodes& nodes, Printer& printer, Names& names, Code& code,
                 const std::vector<Ref>& roots);

/// Puts into variables the largest parts of the roots that do not depend on `symbol`, to stand
/// before a loop over it.
void emit_invariant(nest::Nodes& nodes, Printer& printer, Names& names, Code& code,
                    const std::vector<Ref>& roots, SymbolId symbol);

}  // namespace hone::schedules
