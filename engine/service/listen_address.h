// Where a server listens, as people write it.
#pragma once

#include <optional>
#include <string>

namespace hone {

struct ListenAddress {
  std::string host;  ///< without the brackets of IPv6
  int port = 0;      ///< 0: any that is free

  /// Only this machine reaches it: localhost, 127.0.0.0/8, ::1.
  [[nodiscard]] bool is_loopback() const;
};

/// "127.0.0.1:8080", "[::1]:8080"; empty for what is none.
[[nodiscard]] std::optional<ListenAddress> parse_listen_address(const std::string& text);
/// As a URL has it: "[::1]:8080".
[[nodiscard]] std::string authority(const std::string& host, int port);

}  // namespace hone
