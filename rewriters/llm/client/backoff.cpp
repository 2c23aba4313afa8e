#include "rewriters/llm/client/backoff.h"

#include <curl/curl.h>

#include <algorithm>
#include <string>

namespace hone::llm {
namespace {

constexpr Milliseconds kFirst = std::chrono::seconds(1);
constexpr Milliseconds kLongestPause = std::chrono::seconds(30);
constexpr Milliseconds kDay = std::chrono::hours(24);

}  // namespace

Milliseconds Backoff::wait(int attempt) {
  const int doublings = std::clamp(attempt - 1, 0, 5);
  const Milliseconds full = std::min(kFirst * (1 << doublings), kLongestPause);
  std::lock_guard lock(mutex_);
  std::uniform_int_distribution<std::int64_t> draw(full.count() / 2, full.count());
  return Milliseconds(draw(random_));
}

std::optional<Milliseconds> retry_after(std::string_view value, Clock::Date now) {
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  if (value.empty() || value.size() > 64) return std::nullopt;
  if (value.find_first_not_of("0123456789") == value.npos) {
    if (value.size() > 9) return kDay;
    return std::min(Milliseconds(std::chrono::seconds(std::stoll(std::string(value)))), kDay);
  }
  const std::time_t date = curl_getdate(std::string(value).c_str(), nullptr);
  if (date == -1) return std::nullopt;
  const auto wait =
      std::chrono::ceil<Milliseconds>(std::chrono::system_clock::from_time_t(date) - now);
  return std::clamp(wait, Milliseconds(0), kDay);
}

}  // namespace hone::llm
