// HONE_TRACE=1: hone and its runners say what they do, when [s] and with how many seconds of
// processors since the same process's last line, on stderr: "[17.302 2 +0.0512] compiled ...".
#pragma once

#include <string_view>

namespace hone {

void trace(std::string_view text);

}  // namespace hone
