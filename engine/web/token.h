// The secret that lets somebody submit.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone::web {

/// The first line of a file that only its owner may read: at least 16 printable characters.
/// Errors: kInvalidInput, with what to do.
[[nodiscard]] Result<std::string> read_token(const std::filesystem::path& path);

/// Takes as long whatever differs.
[[nodiscard]] bool same_secret(std::string_view given, std::string_view secret);

}  // namespace hone::web
