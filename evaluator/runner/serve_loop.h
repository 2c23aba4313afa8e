// Shared by the modes: hello, then handle requests until the channel closes.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "candidates/result.h"

namespace hone::runner {

/// Answers {"error": text} when `handle` fails or throws. Returns the exit status.
[[nodiscard]] int serve(const char* mode,
                        const std::function<Result<nlohmann::json>(const nlohmann::json&)>& handle);

}  // namespace hone::runner
