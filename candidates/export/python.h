// What `torch` and `cupy` share: the task and its programs as Python. Private to candidates/export.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "candidates/export/plan.h"

namespace hone::exporting {

class PythonWriter {
 public:
  explicit PythonWriter(const Plan& plan);

  [[nodiscard]] std::string header() const;  ///< "# …" lines on all candidates
  /// _SIZES, _BUFFERS, _shapes(), the programs, ….  Candidates that need an "a" target are left
  /// out without `arch_features`.
  [[nodiscard]] Result<std::string> tables(bool arch_features) const;

  [[nodiscard]] const std::string& function() const { return function_; }
  [[nodiscard]] std::string parameters() const;           ///< "x, y, *, K=3", of the function
  [[nodiscard]] std::vector<std::string> inputs() const;  ///< their names among them
  [[nodiscard]] std::vector<std::string> given() const;   ///< sizes that no shape tells
  [[nodiscard]] std::string comment() const;              ///< "# …" lines: what to call with what
  [[nodiscard]] std::size_t outputs() const;

 private:
  [[nodiscard]] Result<std::string> program(const Part& part, bool arch_features) const;
  [[nodiscard]] std::string size_parameters() const;  ///< "n_M, n_N"

  const Plan& plan_;
  std::map<std::string, std::string> names_;  ///< of buffers and sizes, as parameters
  /// Of sizes that an input's shape tells: which input, which dimension.
  std::map<std::string, std::pair<std::size_t, std::size_t>> inferred_;
  std::string function_;
};

/// "('a', 'b',)"
[[nodiscard]] std::string python_tuple(const std::vector<std::string>& items);

}  // namespace hone::exporting
