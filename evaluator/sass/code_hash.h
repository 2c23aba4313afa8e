// What the machine code of a kernel is, as one short text: two programs that the compiler made the
// same of have equal ones. Names, addresses, debug lines and the order of kernels do not matter.
#pragma once

#include <string>
#include <string_view>

#include "evaluator/sass/cubin.h"

namespace hone::sass {

/// Of the kernel's instructions, those of the functions that it refers to, and the constants of the
/// file. Empty: the file has no such kernel.
[[nodiscard]] std::string code_hash(const Cubin& cubin, std::string_view kernel);

}  // namespace hone::sass
