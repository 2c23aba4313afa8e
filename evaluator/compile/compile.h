// Compiles one program with NVRTC. Called in compile runners only: NVRTC parses hostile text.
#pragma once

#include <string>
#include <string_view>

#include "evaluator/compile_types.h"

namespace hone::compile {

/// verdict is kOk, or kCompileError with `log` holding the reason, its first line the most useful:
/// a host-file include, the compiler's first error, a kernel that is not in the source.
/// Machine code is produced when NVRTC knows `job.arch`, PTX always.
[[nodiscard]] CompiledProgram compile_program(const CompileJob& job);

/// One line for a person out of a compiler log: "line 12: identifier "x" is undefined: C[i] = x;".
/// Lines that stand for generated name expressions are not shown.
[[nodiscard]] std::string first_error(std::string_view log, std::string_view source);

}  // namespace hone::compile
