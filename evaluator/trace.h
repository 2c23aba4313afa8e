// HONE_TRACE=1: hone and its runners say what they do and when [s], on stderr.
#pragma once

#include <string_view>

namespace hone {

void trace(std::string_view text);

}  // namespace hone
