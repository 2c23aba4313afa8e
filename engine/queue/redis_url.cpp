#include "engine/queue/redis_url.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace hone {
namespace {

constexpr int kMaxDb = 1'000'000;  // a typing error rather than a database
constexpr std::size_t kMaxSocketPath = 107;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

std::string percent_encoded(std::string_view text, std::string_view also_plain) {
  std::string out;
  for (const char c : text) {
    if (is_plain(c) || also_plain.contains(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<int> number(std::string_view digits, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (digits.front() == '-' || value < least || value > most) return std::nullopt;
  return value;
}

/// Goes through the text once. Pieces are views into it, so that an error knows where it is.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<RedisUrl> run() {
    if (auto ok = scheme(); !ok) return std::unexpected(ok.error());
    const std::size_t authority_end = std::min(rest_.find_first_of("/?#"), rest_.size());
    const std::string_view authority = rest_.substr(0, authority_end);
    std::string_view tail = rest_.substr(authority_end);
    // A password with a bare '/' or '?' would otherwise be taken for a host and quoted as one.
    if (tail.contains('@'))
      return at(tail.find('@') + offset(tail),
                "a '@' after the host: in a user name or password write '/' as %2F, '?' as %3F, "
                "'#' as %23 and '@' as %40; in a path write '@' as %40");
    if (tail.contains('#'))
      return at(tail.find('#') + offset(tail), "nothing follows a '#' here; write it as %23");
    const std::size_t query_start = std::min(tail.find('?'), tail.size());
    const std::string_view path = tail.substr(0, query_start);
    const std::string_view query = tail.substr(std::min(query_start + 1, tail.size()));

    if (auto ok = users(authority); !ok) return std::unexpected(ok.error());
    const std::size_t users_end = authority.rfind('@');
    const std::string_view place =
        users_end == std::string_view::npos ? authority : authority.substr(users_end + 1);
    const auto ok = is_unix() ? socket_path(place, path) : host_and_db(place, path);
    if (!ok) return std::unexpected(ok.error());
    if (auto parsed = parameters(query); !parsed) return std::unexpected(parsed.error());
    if (url_.cert_file.empty() != url_.key_file.empty())
      return at(text_.size(), "cert and key belong together: give both or neither");
    if (url_.insecure && !url_.ca_file.empty())
      return at(text_.size(), "insecure=1 looks at no certificate, so leave out cafile");
    return url_;
  }

 private:
  [[nodiscard]] bool is_unix() const { return url_.transport == RedisUrl::Transport::kUnix; }
  [[nodiscard]] std::size_t offset(std::string_view piece) const {
    return static_cast<std::size_t>(piece.data() - text_.data());
  }
  [[nodiscard]] static std::unexpected<Error> at(std::size_t position, std::string_view what) {
    return invalid(fmt::format("Redis URL, character {}: {}", position + 1, what));
  }

  Result<void> scheme() {
    using Transport = RedisUrl::Transport;
    for (const auto& [name, transport] :
         {std::pair{"redis://", Transport::kTcp}, std::pair{"rediss://", Transport::kTls},
          std::pair{"unix://", Transport::kUnix}}) {
      if (!text_.starts_with(name)) continue;
      url_.transport = transport;
      rest_ = text_.substr(std::string_view(name).size());
      return {};
    }
    return at(0,
              "must begin with redis://, rediss:// (TLS) or unix://, "
              "for example redis://localhost:6379/0");
  }

  /// Undoes percent-encoding.
  Result<std::string> decoded(std::string_view piece) const {
    const auto digit = [](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      if (c >= 'A' && c <= 'F') return c - 'A' + 10;
      return -1;
    };
    std::string out;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      if (static_cast<unsigned char>(piece[i]) <= ' ' || piece[i] == 0x7f)
        return at(offset(piece) + i, "a space or control character; write it as %20 and so on");
      if (piece[i] != '%') {
        out += piece[i];
        continue;
      }
      const int high = i + 2 < piece.size() ? digit(piece[i + 1]) : -1;
      const int low = high >= 0 ? digit(piece[i + 2]) : -1;
      if (high < 0 || low < 0)
        return at(offset(piece) + i, "'%' needs two hexadecimal digits; write '%' itself as %25");
      if (high == 0 && low == 0) return at(offset(piece) + i, "%00 is not allowed");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
    return out;
  }
  Result<void> decode_into(std::string& target, std::string_view piece) const {
    auto text = decoded(piece);
    if (!text) return std::unexpected(text.error());
    target = std::move(*text);
    return {};
  }

  /// [user[:password]@]
  Result<void> users(std::string_view authority) {
    const std::size_t end = authority.rfind('@');
    if (end == std::string_view::npos) return {};
    const std::string_view both = authority.substr(0, end);
    if (both.contains('@'))
      return at(offset(both) + both.find('@'),
                "two '@': in a user name or password write it as %40");
    const std::size_t colon = std::min(both.find(':'), both.size());
    if (auto ok = decode_into(url_.user, both.substr(0, colon)); !ok) return ok;
    if (colon == both.size()) return {};
    return decode_into(url_.password, both.substr(colon + 1));
  }

  Result<void> socket_path(std::string_view place, std::string_view path) {
    if (!place.empty())
      return at(offset(place), "a socket has no host: write unix:///path with three slashes");
    if (path.size() < 2)
      return at(offset(path), "the socket's path is missing: write unix:///path");
    if (auto ok = decode_into(url_.path, path); !ok) return ok;
    if (url_.path.size() > kMaxSocketPath)
      return at(offset(path), fmt::format("a socket's path has at most {} bytes", kMaxSocketPath));
    return {};
  }

  Result<void> host_and_db(std::string_view place, std::string_view path) {
    std::string_view host = place, port;
    if (place.starts_with('[')) {
      const std::size_t close = place.find(']');
      if (close == std::string_view::npos)
        return at(offset(place), "the '[' of an IPv6 address lacks its ']'");
      host = place.substr(1, close - 1);
      port = place.substr(close + 1);
      if (!port.empty() && port.front() != ':')
        return at(offset(port), "after ']' comes ':' and the port, or '/'");
      if (auto ok = decode_into(url_.host, host); !ok) return ok;
      in6_addr address;  // %eth0, the interface of a link-local address, is getaddrinfo's business
      if (inet_pton(AF_INET6, url_.host.substr(0, url_.host.find('%')).c_str(), &address) != 1)
        return at(offset(host), "not an IPv6 address, such as [::1]");
    } else {
      const std::size_t colon = std::min(place.find(':'), place.size());
      host = place.substr(0, colon);
      port = place.substr(colon);
      if (port.find(':', 1) != std::string_view::npos)
        return at(offset(host), "more than one ':': write an IPv6 address in brackets, as [::1]");
      if (host.empty())
        return at(offset(place), "the host is missing: write for example redis://localhost:6379");
      if (auto ok = decode_into(url_.host, host); !ok) return ok;
      if (!std::ranges::all_of(url_.host, is_plain))
        return at(offset(host), "a host has letters, digits, '-', '.' and '_' only");
    }
    if (!port.empty()) {
      const auto value = port.size() > 1 ? number(port.substr(1), 1, 65535) : std::nullopt;
      if (!value) return at(offset(port) + 1, "the port must be a number from 1 to 65535");
      url_.port = *value;
    }
    return path.size() > 1 ? database(path.substr(1)) : Result<void>();
  }

  Result<void> database(std::string_view digits) {
    const auto value = digits.empty() ? std::nullopt : number(digits, 0, kMaxDb);
    if (!value) return at(offset(digits), "the database must be a number, 0 or more");
    url_.db = *value;
    return {};
  }

  Result<void> parameters(std::string_view query) {
    const bool tls = url_.transport == RedisUrl::Transport::kTls;
    while (!query.empty()) {
      const std::size_t end = std::min(query.find('&'), query.size());
      const std::string_view item = query.substr(0, end);
      const std::string_view name = item.substr(0, item.find('='));
      const std::string_view value = item.substr(std::min(name.size() + 1, item.size()));
      auto ok = parameter(name, value, tls);
      if (!ok) return ok;
      query.remove_prefix(std::min(end + 1, query.size()));
    }
    return {};
  }

  Result<void> parameter(std::string_view name, std::string_view value, bool tls) {
    if (is_unix() && name == "db") return database(value);
    if (tls && name == "insecure") {
      if (value != "0" && value != "1") return at(offset(name), "write insecure=0 or insecure=1");
      url_.insecure = value == "1";
      return {};
    }
    for (const auto& [known, target] :
         {std::pair{"cafile", &url_.ca_file}, std::pair{"cert", &url_.cert_file},
          std::pair{"key", &url_.key_file}}) {
      if (!tls || name != known) continue;
      if (value.empty()) return at(offset(name), "this parameter needs a path");
      return decode_into(*target, value);
    }
    return at(offset(name), is_unix() ? "the only parameter of unix:// is db"
                            : tls ? "the parameters of rediss:// are cafile, cert, key and insecure"
                                  : "redis:// takes no parameters; TLS is rediss://");
  }

  std::string_view text_;
  std::string_view rest_;
  RedisUrl url_;
};

}  // namespace

Result<RedisUrl> RedisUrl::parse(std::string_view text, const char* environment_password) {
  auto url = Parser(text).run();
  if (url && url->password.empty() && environment_password != nullptr)
    url->password = environment_password;
  return url;
}

std::string RedisUrl::display() const {
  std::string users = percent_encoded(user, "");
  if (!password.empty()) users += ":***";
  if (!users.empty()) users += '@';
  if (transport == Transport::kUnix) {
    return fmt::format("unix://{}{}{}", users, percent_encoded(path, "/"),
                       db == 0 ? "" : fmt::format("?db={}", db));
  }
  const bool tls = transport == Transport::kTls;
  const bool ipv6 = host.contains(':');
  return fmt::format("redis{}://{}{}{}{}:{}/{}{}", tls ? "s" : "", users, ipv6 ? "[" : "",
                     percent_encoded(host, ":"), ipv6 ? "]" : "", port, db,
                     insecure ? "?insecure=1" : "");
}

}  // namespace hone
