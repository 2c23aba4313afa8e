// Text of others made fit for a prompt. What is taken out cannot steer a model unseen: comments,
// control and invisible characters, what chat templates take for marks of their own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hone::llm {

/// Valid UTF-8 of visible characters, spaces, tabs and \n. What is not UTF-8 becomes U+FFFD; marks
/// of chat templates ("<|", "[INST]", "</s>") get a space that keeps them from being one.
[[nodiscard]] std::string visible_text(std::string_view text);

/// visible_text() in one line of at most `most` bytes; "…" ends what was cut.
[[nodiscard]] std::string visible_line(std::string_view text, std::size_t most);

/// The beginning of a UTF-8 text, about `most` bytes, and a last line that says how much is left
/// out.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// Where an invisible character stands, such as a bidirectional override: its offset and code
/// point.
struct Invisible {
  std::size_t offset = 0;
  char32_t code_point = 0;
};
/// The first one in valid UTF-8; an offset of npos: none.
[[nodiscard]] Invisible find_invisible(std::string_view text);

enum class Lines {
  kTidy,  ///< no blanks at their ends, no two empty ones
  kKept   ///< as many as before, so that a compiler's line numbers hold
};

/// The source with a space for each comment, as C++ reads it; raw strings stay as they are.
[[nodiscard]] std::string without_comments(std::string_view source, Lines lines = Lines::kTidy);

/// A source as every prompt shows it, and as the edits of a diff are matched against.
[[nodiscard]] std::string shown_source(std::string_view source, Lines lines = Lines::kTidy);

}  // namespace hone::llm
