#include "engine/service/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

namespace hone {

bool ListenAddress::is_loopback() const {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return host == "localhost" || host == "::1";
}

std::optional<ListenAddress> parse_listen_address(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  ListenAddress address{text.substr(0, colon)};
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != address.host.npos) {
    return std::nullopt;  // where would an IPv6 address end?
  }
  const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(begin, end, address.port);
  const bool whole = error == std::errc() && stopped == end && begin != end;
  if (address.host.empty() || !whole || address.port < 0 || address.port > 65535)
    return std::nullopt;
  return address;
}

std::string authority(const std::string& host, int port) {
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

}  // namespace hone
