// What may be asked of a search, and what holds where nothing is said: the same on the command
// line, on the web page and in the queue's messages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone {

inline constexpr const char* kDefaultBudget = "60s";
inline constexpr const char* kDefaultStrategy = "evolve";  ///< of strategies()
inline constexpr int kDefaultFinalists = 5;
inline constexpr int kMostFinalists = 64;
inline constexpr int kMostPriority = 100;         ///< of a job; the least is -kMostPriority
inline constexpr std::size_t kMostJobArchs = 16;  ///< that one job is searched for
/// Of a language model, of all requests of a search.
inline constexpr std::int64_t kMostModelTokens = std::int64_t{1} << 50;

}  // namespace hone
