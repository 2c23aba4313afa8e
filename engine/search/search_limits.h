// Bounds that hold on the command line, on the web page and in the queue's messages alike. The
// options of a search itself are in settings.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone {

inline constexpr int kMostFinalists = 64;
inline constexpr int kMostPriority = 100;         ///< of a job; the least is -kMostPriority
inline constexpr std::size_t kMostJobArchs = 16;  ///< that one job is searched for
/// Of a language model, of all requests of a search.
inline constexpr std::int64_t kMostLlmTokens = std::int64_t{1} << 50;

}  // namespace hone
