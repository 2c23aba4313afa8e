// Where the model is and how it is asked: the user's settings, checked once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone::llm {

/// Exact money, in nano-dollars. Prices of one token may be fractions of one: they are kept for a
/// million tokens.
struct Prices {
  std::int64_t input_per_million = 0;   // [n$]
  std::int64_t output_per_million = 0;  // [n$]
};

struct Settings {
  std::string url;    ///< http://host:port/v1, or the whole of it up to /chat/completions
  std::string model;  ///< as the server calls it
  std::optional<double> temperature;  ///< 0 to 2; none: the server's
  std::int64_t max_output_tokens = 8192;
  std::int64_t least_output_tokens = 512;  ///< a shorter reply is of no use
  bool stream = true;

  std::chrono::milliseconds connect_timeout{10'000};
  /// No byte for so long. Not streaming, a reply's first byte comes when all is written: until then
  /// only total_timeout counts.
  std::chrono::milliseconds idle_timeout{120'000};
  /// From its turn to the reply, with all attempts and the waits between them.
  std::chrono::milliseconds total_timeout{600'000};
  int retries = 3;  ///< attempts beyond the first
  std::int64_t max_reply_bytes = 1 << 20;
  int concurrency = 4;  ///< requests in flight

  /// http://…, https://… or socks5h://…; empty: http_proxy, https_proxy, all_proxy and no_proxy;
  /// "none": none. The environment's is never used for a loopback host.
  std::string proxy;
  std::string ca_file;           ///< PEM; empty: CURL_CA_BUNDLE, SSL_CERT_FILE, the system's
  bool allow_plain_key = false;  ///< send the key over plain http to other machines, too

  std::optional<Prices> prices;
  std::optional<std::int64_t> token_budget;  ///< input and output together
  std::optional<std::int64_t> cost_budget;   // [n$]; needs prices
};

/// Settings that can be right.
struct Endpoint {
  /// Errors: kInvalidInput, saying which setting, and what would be right. No part of a user name
  /// or password in a URL is repeated. `has_key`: what is sent must be protected.
  [[nodiscard]] static Result<Endpoint> make(Settings settings, bool has_key);

  Settings settings;
  std::string completions_url;
  std::string name;       ///< "host:port", for messages
  bool loopback = false;  ///< this machine, by its name or address in the URL
  bool tls = false;
};

/// "2.50" => 2'500'000'000; at most nine decimals, no sign, up to a million dollars.
/// Errors: kInvalidInput.
[[nodiscard]] Result<std::int64_t> parse_dollars(std::string_view text);
/// "$2.5", "$0.000000001".
[[nodiscard]] std::string format_dollars(std::int64_t nano_dollars);

}  // namespace hone::llm
