// One request and what became of it: a reply, or what the retries need to know.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "rewriters/llm/client/clock.h"
#include "rewriters/llm/client/endpoint.h"
#include "rewriters/llm/client/key.h"
#include "rewriters/llm/client/message.h"
#include "rewriters/llm/client/meter.h"

namespace hone::llm {

struct Attempt {
  std::expected<Reply, Failure> reply;
  /// Nothing can have been paid: not connected, or refused (3xx, 4xx, 503). Else `usage` counts,
  /// and what it leaves out at the worst case.
  bool free = false;
  StatedUsage usage;
  /// Worth another try: no connection, 408, 429, 5xx, or an end before the first byte of a reply. A
  /// reply that broke off has been paid for: it is not asked for again.
  bool retry = false;
  std::optional<Milliseconds> retry_after;  ///< as the server asks
  int http_status = 0;
  std::string refusal;  ///< 400 and 422: the body, scrubbed, for what the server does not know
};

/// Blocks for `time` at most. `most_stream_bytes`: of a stream with all that is around its text.
[[nodiscard]] Attempt attempt(const Endpoint& endpoint, const Key& key, const std::string& body,
                              std::size_t most_stream_bytes, Milliseconds time, Clock& clock,
                              const std::stop_token& stopping);

}  // namespace hone::llm
