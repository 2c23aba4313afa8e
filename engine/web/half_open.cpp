#include "engine/web/half_open.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace hone::web {

std::optional<int> HalfOpen::oldest(const std::string& address, Clock::time_point now) const {
  std::optional<int> found;
  auto earliest = now - bounds_.grace;
  for (const auto& [connection, wait] : since_) {
    if (wait.address != address || wait.since > earliest) continue;
    earliest = wait.since;
    found = connection;
  }
  return found;
}

HalfOpen::Entry HalfOpen::begin(int connection, const std::string& address, Clock::time_point now) {
  end(connection);
  Entry entry;
  const auto known = counts_.find(address);
  const int of_address = known == counts_.end() ? 0 : known->second;
  if (of_address >= bounds_.soft) entry.cut = oldest(address, now);
  if (!entry.cut && of_address >= bounds_.hard) {
    entry.refused = true;
    return entry;
  }
  if (!entry.cut && waiting() >= bounds_.all) {
    const auto most =
        std::ranges::max_element(counts_, {}, &std::pair<const std::string, int>::second);
    if (most != counts_.end()) entry.cut = oldest(most->first, now);
  }
  if (entry.cut) end(*entry.cut);
  since_.insert_or_assign(connection, Wait{address, now});
  ++counts_[address];
  return entry;
}

void HalfOpen::end(int connection) {
  const auto known = since_.find(connection);
  if (known == since_.end()) return;
  const auto count = counts_.find(known->second.address);
  if (--count->second == 0) counts_.erase(count);
  since_.erase(known);
}

std::string counted_address(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (peer.ss_family == AF_INET6) {
    in6_addr network = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    constexpr int kNetworkBytes = 8;
    if (!IN6_IS_ADDR_V4MAPPED(&network))
      std::fill(std::begin(network.s6_addr) + kNetworkBytes, std::end(network.s6_addr), 0);
    inet_ntop(AF_INET6, &network, text.data(), text.size());
  }
  return text.data();
}

}  // namespace hone::web
