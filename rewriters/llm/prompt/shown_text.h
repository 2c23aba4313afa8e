// Text of others made fit for a prompt. What is taken out cannot steer a model unseen: comments,
// control and invisible characters, what chat templates take for their own marks.
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

/// The beginning, at most `most` bytes, with a last line that says how much is left out.
[[nodiscard]] std::string shortened(std::string text, std::size_t most);

/// The source with a space for each comment, in the sense of C++ (raw strings, spliced lines);
/// no blanks at the ends of lines and no two empty lines, raw strings aside.
[[nodiscard]] std::string without_comments(std::string_view source);

/// A source as every prompt shows it, and as the edits of a diff are matched against.
[[nodiscard]] std::string shown_source(std::string_view source);

}  // namespace hone::llm
