// One POST by libcurl: no redirections, no cookies, no compression, a connection of its own.
// Cancelled within milliseconds. The key goes into one header and nowhere else; what comes back is
// scrubbed of it before anybody sees it.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "rewriters/llm/client/clock.h"
#include "rewriters/llm/client/endpoint.h"
#include "rewriters/llm/client/key.h"

namespace hone::llm {

/// Header values are one line, printable and scrubbed.
struct HttpHead {
  int status = 0;  ///< 0: none came
  std::string content_type, content_encoding, retry_after, location;
};

enum class HttpEnd {
  kWhole,    ///< all of the body, as far as HTTP can tell
  kStopped,  ///< the sink wanted no more
  kCancelled,
  kUnconnected,  ///< no connection, no name, no TLS: nothing was sent
  kUntrusted,    ///< the server's certificate; nothing was sent
  kLost,         ///< the connection broke, or what came is not HTTP
  kIdle,         ///< no byte for the idle timeout
  kOutOfTime,
};

struct HttpResult {
  HttpEnd end = HttpEnd::kLost;
  bool sent = false;  ///< there was a connection: the server may have seen the request
  HttpHead head;
  std::string error;  ///< one line, for ends that have one
};

/// False: no more.
using HttpSink = std::function<bool(const HttpHead&, std::string_view bytes)>;

/// Blocks; from any thread. `body` is JSON. `time`: all that it may take.
[[nodiscard]] HttpResult http_post(const Endpoint& endpoint, const Key& key,
                                   const std::string& body, Milliseconds time,
                                   const std::stop_token& stopping, const HttpSink& sink);

}  // namespace hone::llm
