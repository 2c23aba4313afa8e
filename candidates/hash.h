// 128-bit content hashes as 32 hex digits (xxHash3). Not cryptographic.
#pragma once

#include <string>
#include <string_view>

namespace hone {

[[nodiscard]] std::string content_hash(std::string_view bytes);

}  // namespace hone
