// Says whether a source is device code and nothing else, early and in words that a model can act
// on. It reads tokens, not meanings: what macros hide from it meets the compile runner's sandbox,
// which reaches no host either.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::llm {

/// Why the source is refused ("line 12: 'cudaMalloc' …"), or nothing. What `base`, a source of the
/// user's, already has of names, headers and attributes is not held against it.
[[nodiscard]] std::optional<std::string> find_host_code(std::string_view source,
                                                        std::string_view base);

/// The names that follow __global__. `by_macro`: there may be others.
struct Kernels {
  std::vector<std::string> names;
  bool by_macro = false;

  /// "ns::scale<float>" is there as "scale".
  [[nodiscard]] bool has(std::string_view kernel) const;
};
[[nodiscard]] Kernels kernels_of(std::string_view source);

}  // namespace hone::llm
