// Keeps host files out of a compile: a kernel may include CUDA's headers and the standard ones that
// are supplied (std_headers.h), nothing else. Works on the text after line splicing and without
// comments, so that neither can hide a directive.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::compile {

/// "line 3: #include "/etc/passwd": only CUDA's own headers may be included", or nothing.
[[nodiscard]] std::optional<std::string> find_forbidden_include(
    std::string_view source, const std::vector<std::filesystem::path>& include_path);

}  // namespace hone::compile
