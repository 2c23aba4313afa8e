// Stands in for the CUDA runtime's and the standard library's host headers when a whole file is
// read (read_unit.h). Comes after the device prelude (prelude.h). Plain text; knows no Clang.
#pragma once

#include <string>

namespace hone::syntax {

[[nodiscard]] std::string host_prelude_text();

}  // namespace hone::syntax
