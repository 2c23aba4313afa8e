// The child's side of RemoteRewriting: `hone rewrite`, hidden from the command line's help.
#pragma once

#include <cstddef>
#include <string_view>

namespace hone {

inline constexpr std::string_view kRewriteMode = "rewrite";

/// Answers requests on descriptor 3 until it is closed. Returns the exit status.
[[nodiscard]] int serve_rewriting();

/// Sets the stack of all threads that this process starts from now on [B].
void set_thread_stacks(std::size_t bytes);

}  // namespace hone
