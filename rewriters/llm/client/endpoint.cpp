#include "rewriters/llm/client/endpoint.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <utility>

#include "rewriters/llm/client/key.h"
#include "rewriters/llm/client/scrubber.h"

namespace hone::llm {
namespace {

constexpr std::int64_t kNano = 1'000'000'000;
constexpr std::int64_t kMaxDollars = 1'000'000;
constexpr std::int64_t kMaxTokens = 1'000'000'000'000;
constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(24);

struct UrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlCleanup>;

/// libcurl itself takes the URL apart, so that what is checked here is where it will go.
Result<Url> take_apart(const std::string& text, const char* setting, unsigned flags) {
  Url url(curl_url());
  if (!url) return fail(ErrorCode::kInternal, "no memory for a URL");
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), flags);
  if (code == CURLUE_OK) return url;
  // Its text is not repeated: it may hold a password.
  return invalid(fmt::format("{}: not a URL ({}); it looks like http://localhost:8000/v1", setting,
                             curl_url_strerror(code)));
}

std::string part(const Url& url, CURLUPart what, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), what, &text, flags) != CURLUE_OK) return "";
  std::string out = text == nullptr ? "" : text;
  curl_free(text);
  return out;
}

bool has_user_info(const Url& url) {
  char* text = nullptr;
  const bool user = curl_url_get(url.get(), CURLUPART_USER, &text, 0) == CURLUE_OK;
  curl_free(text);
  text = nullptr;
  const bool password = curl_url_get(url.get(), CURLUPART_PASSWORD, &text, 0) == CURLUE_OK;
  curl_free(text);
  return user || password;
}

bool is_loopback(std::string host) {
  if (host.ends_with('.')) host.pop_back();
  for (char& c : host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (host == "localhost" || host == "[::1]") return true;
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return false;
  return (ntohl(address.s_addr) >> 24) == 127;
}

bool printable(std::string_view text) {
  for (const char c : text)
    if (c <= ' ' || c > '~') return false;
  return true;
}

Result<void> read_url(Endpoint& endpoint) {
  const std::string& text = endpoint.settings.url;
  if (!printable(text))
    return invalid(
        "the model's URL has spaces, line breaks or other characters that need to be "
        "written as %XX");
  auto url = take_apart(text, "the model's URL", 0);
  if (!url) return std::unexpected(url.error());
  const std::string scheme = part(*url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https")
    return invalid("the model's URL must begin with http:// or https://");
  if (has_user_info(*url))
    return invalid(
        fmt::format("the model's URL has a user name or password in it, which would reach logs and "
                    "process lists; leave them out and give the key in {} or a file",
                    kKeyVariable));
  if (!part(*url, CURLUPART_FRAGMENT).empty())
    return invalid("the model's URL has a '#': nothing of what follows it is ever sent");
  // Some hosts want "?api-version=…"; secrets do not belong there either, but that is theirs to
  // say.
  const std::string host = part(*url, CURLUPART_HOST);
  endpoint.tls = scheme == "https";
  endpoint.loopback = is_loopback(host);
  endpoint.name = fmt::format("{}:{}", host, part(*url, CURLUPART_PORT, CURLU_DEFAULT_PORT));
  std::string path = part(*url, CURLUPART_PATH);
  while (path.ends_with('/')) path.pop_back();
  if (!path.ends_with("/chat/completions")) path += "/chat/completions";
  if (curl_url_set(url->get(), CURLUPART_PATH, path.c_str(), 0) != CURLUE_OK)
    return invalid("the model's URL has a path that cannot be");
  endpoint.completions_url = part(*url, CURLUPART_URL);
  return {};
}

Result<void> check_proxy(const Settings& settings) {
  if (settings.proxy.empty() || settings.proxy == "none") return {};
  if (!printable(settings.proxy)) return invalid("the proxy has spaces or line breaks in it");
  auto url =
      take_apart(settings.proxy, "the proxy", CURLU_NON_SUPPORT_SCHEME | CURLU_DEFAULT_SCHEME);
  if (!url) return std::unexpected(url.error());
  if (has_user_info(*url))
    return invalid(
        "the proxy has a user name or password in it, which would reach process lists; "
        "give it in the environment instead (https_proxy or http_proxy)");
  const std::string scheme = part(*url, CURLUPART_SCHEME);
  for (const char* known : {"http", "https", "socks4", "socks4a", "socks5", "socks5h"})
    if (scheme == known) return {};
  return invalid("the proxy must begin with http://, https:// or socks5h://");
}

Result<void> check_secrecy(const Endpoint& endpoint, bool has_key) {
  if (!has_key || endpoint.tls || endpoint.settings.allow_plain_key) return {};
  const bool proxied = !endpoint.settings.proxy.empty() && endpoint.settings.proxy != "none";
  if (endpoint.loopback && !proxied) return {};
  return invalid(fmt::format(
      "the key would be sent to {} {}unencrypted; use https://, or allow it explicitly for a "
      "network that you trust",
      endpoint.name, proxied ? "through a proxy, " : ""));
}

template <class Number>
Result<void> in_range(const char* name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return {};
  return invalid(fmt::format("{} is {}; it must be {} to {}", name, value, least, most));
}

Result<void> check_numbers(const Settings& s) {
  using std::chrono::milliseconds;
  const auto time = [](const char* name, milliseconds value) {
    return in_range<std::int64_t>(name, value.count(), 1, kLongestWait.count());
  };
  const std::int64_t none = 0;
  for (const Result<void>& result : {
           in_range("the temperature", s.temperature.value_or(0.0), 0.0, 2.0),
           in_range<std::int64_t>("the output tokens", s.max_output_tokens, 1, 10'000'000),
           in_range("the least output tokens", s.least_output_tokens, std::int64_t{1},
                    s.max_output_tokens),
           time("the connect timeout [ms]", s.connect_timeout),
           time("the idle timeout [ms]", s.idle_timeout),
           time("the total timeout [ms]", s.total_timeout),
           in_range("the retries", s.retries, 0, 100),
           in_range<std::int64_t>("the reply's byte limit", s.max_reply_bytes, 1024, 1 << 28),
           in_range("the requests in flight", s.concurrency, 1, 1024),
           in_range("the token budget", s.token_budget.value_or(0), none, kMaxTokens),
           in_range("the cost budget [n$]", s.cost_budget.value_or(0), none, kMaxDollars * kNano),
           in_range("the price of a million input tokens [n$]",
                    s.prices.value_or(Prices{}).input_per_million, none, kMaxDollars * kNano),
           in_range("the price of a million output tokens [n$]",
                    s.prices.value_or(Prices{}).output_per_million, none, kMaxDollars * kNano),
       })
    if (!result) return result;
  if (s.cost_budget && !s.prices)
    return invalid("a cost budget needs the prices of a million input and output tokens");
  return {};
}

}  // namespace

Result<Endpoint> Endpoint::make(Settings settings, bool has_key) {
  Endpoint endpoint;
  endpoint.settings = std::move(settings);
  const Settings& s = endpoint.settings;
  if (s.model.empty() || s.model.size() > 256 || one_line(Key(), s.model, 256) != s.model)
    return invalid("the model's name must be 1 to 256 bytes of one line");
  if (auto ok = read_url(endpoint); !ok) return std::unexpected(ok.error());
  if (auto ok = check_proxy(s); !ok) return std::unexpected(ok.error());
  if (auto ok = check_secrecy(endpoint, has_key); !ok) return std::unexpected(ok.error());
  if (auto ok = check_numbers(s); !ok) return std::unexpected(ok.error());
  if (!s.ca_file.empty() && access(s.ca_file.c_str(), R_OK) != 0)
    return invalid(fmt::format("the CA file '{}' cannot be read; it must be PEM", s.ca_file));
  return endpoint;
}

Result<std::int64_t> parse_dollars(std::string_view text) {
  const auto wrong = [&] {
    return invalid(
        fmt::format("'{}' is no amount of dollars; it looks like 2.50, with at most "
                    "nine decimals, up to {}",
                    one_line(Key(), text, 40), kMaxDollars));
  };
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view decimals = dot == text.npos ? "" : text.substr(dot + 1);
  if (whole.empty() || whole.size() > 7 || decimals.size() > 9) return wrong();
  if (dot != text.npos && decimals.empty()) return wrong();
  std::int64_t nano = 0;
  for (const char c : whole) {
    if (c < '0' || c > '9') return wrong();
    nano = nano * 10 + (c - '0');
  }
  for (std::size_t i = 0; i < 9; ++i) {
    const char c = i < decimals.size() ? decimals[i] : '0';
    if (c < '0' || c > '9') return wrong();
    nano = nano * 10 + (c - '0');
  }
  if (nano > kMaxDollars * kNano) return wrong();
  return nano;
}

std::string format_dollars(std::int64_t nano_dollars) {
  std::string text = fmt::format("${}.{:09}", nano_dollars / kNano, nano_dollars % kNano);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace hone::llm
