// HONE_TRACE=1: runners say what they do, on stderr.
#pragma once

#include <string_view>

namespace hone {

void trace(std::string_view text);

}  // namespace hone
