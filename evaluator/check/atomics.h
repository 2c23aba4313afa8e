// Which programs may answer differently each time without being wrong.
#pragma once

#include <functional>
#include <string_view>

namespace hone::check {

/// Is there a statement, without its label and guard, for which `holds`? Also of inline assembly.
[[nodiscard]] bool any_statement(std::string_view ptx,
                                 const std::function<bool(std::string_view statement)>& holds);

/// Does the PTX hold an atomic or a reduction on memory? Then sums may come in another order each
/// time. Looks at the opcodes of statements, also of inline assembly; "ld.shared" is none.
[[nodiscard]] bool uses_atomics(std::string_view ptx);

/// Does it hold an atomic, a fence, or a volatile, ordered or uncached access: may threads tell one
/// another something in memory while they run?
[[nodiscard]] bool exchanges_words(std::string_view ptx);

}  // namespace hone::check
