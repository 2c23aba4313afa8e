// HTML as text. Whatever comes from a task, a recipe or a database is a stranger's: it goes through
// escape().
#pragma once

#include <string>
#include <string_view>

namespace hone::page {

/// For text and for attributes in double quotes: & < > " ' and every byte that is no UTF-8 or no
/// character of HTML (replaced by U+FFFD).
[[nodiscard]] std::string escape(std::string_view text);

/// For one segment of a URL's path or a query's value: all but letters, digits, - _ . ~ as %XX.
[[nodiscard]] std::string url_part(std::string_view text);

/// The stylesheet of every page: dark and light by the reader's system, narrow screens, paper.
[[nodiscard]] std::string_view stylesheet();

/// "2.3 TB/s", "67 TFLOP/s": three digits, with the prefix that fits.
[[nodiscard]] std::string with_prefix(double value, std::string_view unit);

}  // namespace hone::page
