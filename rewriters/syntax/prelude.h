// The text that stands in for the CUDA headers: one prelude that every parse includes first, and
// one small file per header that a kernel may include. Plain text; knows nothing of Clang.
#pragma once

#include <string_view>
#include <vector>

namespace hone::syntax {

struct VirtualFile {
  std::string_view name;  ///< as written between the angle brackets
  std::string_view text;
};

[[nodiscard]] std::string_view prelude_text();
[[nodiscard]] const std::vector<VirtualFile>& virtual_headers();

}  // namespace hone::syntax
