// Parses CUDA with Clang 19 and an in-memory prelude (no CUDA headers, no files). The only door to
// Clang in the project. Thread-safe; results are cached by content, a repeated parse costs nothing.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "candidates/program.h"
#include "candidates/result.h"
#include "rewriters/syntax/ast.h"

namespace hone::syntax {

/// ErrorCode::kInvalidInput with "line:column: message" of the first error when Clang reports one.
/// `#include` of the CUDA headers that the prelude stands in for (cuda_fp16.h, cuda_bf16.h, mma.h,
/// cooperative_groups.h, cuda_runtime.h, math headers, …) is accepted; any other is an error.
/// Templates: a kernel template that `defines`/launches instantiate is shown as its pattern.
[[nodiscard]] Result<std::shared_ptr<const TranslationUnit>> parse(
    const std::string& source, const std::map<std::string, std::string>& defines = {});

/// The same for a program's source. A kernel template that the launches instantiate once is shown
/// as that instance (types and constants known, text that of the pattern).
[[nodiscard]] Result<std::shared_ptr<const TranslationUnit>> parse(const Program& program);

/// Drops every cached result: a long-lived process that has grown large.
void forget_parsed();

/// How often Clang parsed for parse() in this process: what was cached does not count.
[[nodiscard]] std::size_t parse_count();

/// Hash of what a program computes with, not of how it is written: comments, spacing and the names
/// of kernels, parameters and locals do not count; literals, defines, buffers and launches do.
/// Falls back to a hash of the raw text for a source that does not parse.
[[nodiscard]] std::string structural_hash(const Program& program);

/// clang-format (Google base, 100 columns, two spaces), for programs that people will read.
[[nodiscard]] std::string formatted(const std::string& source);

}  // namespace hone::syntax
