// The names, headers and directives that are device code's, and those that are not: the tables
// behind device_code.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone::llm {

/// Why this word is refused, as the end of a sentence; nothing where it is fine.
[[nodiscard]] std::optional<std::string_view> reason_against(std::string_view word, bool called,
                                                             bool scope_follows);
[[nodiscard]] bool is_device_std_name(std::string_view name);  ///< "min" of std::min
[[nodiscard]] bool is_device_header(std::string_view header);  ///< "cuda_fp16.h"
[[nodiscard]] std::string_view device_headers_in_words();
[[nodiscard]] bool is_plain_directive(std::string_view name);  ///< "define"
[[nodiscard]] bool is_plain_pragma(std::string_view name);     ///< "unroll"
[[nodiscard]] bool is_plain_attribute(std::string_view name);  ///< "aligned"

/// The first directive of an assembler in inline PTX: ".section".
[[nodiscard]] std::optional<std::string> assembler_directive(std::string_view code);

}  // namespace hone::llm
