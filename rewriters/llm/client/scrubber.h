// Replaces a secret by `[key]` in what a server or libcurl says, before anything else sees it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rewriters/llm/client/key.h"

namespace hone::llm {

inline constexpr std::string_view kScrubbed = "[key]";

/// For a stream: also a key that is split over pieces is found. The key must outlive it.
class Scrubber {
 public:
  explicit Scrubber(const Key& key);

  /// What of the stream is safe to pass on. At most the key's length less one is held back.
  [[nodiscard]] std::string add(std::string_view piece);
  /// The end of the stream: what was held back.
  [[nodiscard]] std::string finish();

 private:
  std::string_view key_;
  std::vector<std::size_t> border_;  ///< of key[0..i]: its longest proper prefix that is a suffix
  std::size_t matched_ = 0;          ///< of the key, at the end of what came: held back
};

/// A whole text at once.
[[nodiscard]] std::string scrubbed(const Key& key, std::string_view text);

/// Scrubbed, at most `most` bytes ("..." ends what was cut), control and invisible characters and
/// what is not UTF-8 as '?': fit for a terminal and for one line of a log.
[[nodiscard]] std::string one_line(const Key& key, std::string_view text, std::size_t most = 200);

}  // namespace hone::llm
