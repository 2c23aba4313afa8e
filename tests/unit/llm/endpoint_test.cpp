#include "rewriters/llm/client/endpoint.h"

#include <gtest/gtest.h>

#include <functional>

namespace hone::llm {
namespace {

Settings with_url(std::string url) {
  Settings settings;
  settings.url = std::move(url);
  settings.model = "m";
  return settings;
}

void expect_error(const Settings& settings, std::string_view words, bool has_key = true) {
  const auto made = Endpoint::make(settings, has_key);
  ASSERT_FALSE(made) << settings.url;
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidInput);
  EXPECT_TRUE(made.error().message.contains(words)) << made.error().message;
  EXPECT_FALSE(made.error().message.contains("hunter2")) << made.error().message;
}

TEST(Endpoint, Urls) {
  const std::pair<const char*, const char*> urls[] = {
      {"http://localhost:8000/v1", "http://localhost:8000/v1/chat/completions"},
      {"http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"},
      {"https://api.example.com/v1/chat/completions",
       "https://api.example.com/v1/chat/completions"},
      {"http://[::1]:8000", "http://[::1]:8000/chat/completions"},
      {"https://h.example/o?api-version=1", "https://h.example/o/chat/completions?api-version=1"}};
  for (const auto& [url, expected] : urls) {
    const auto made = Endpoint::make(with_url(url), true);
    ASSERT_TRUE(made) << url << made.error().message;
    EXPECT_EQ(made->completions_url, expected);
  }
  EXPECT_EQ(Endpoint::make(with_url("https://h.example/v1"), true)->name, "h.example:443");
}

TEST(Endpoint, UrlsThatCannotBe) {
  for (const char* url :
       {"", "ftp://h/v1", "file:///etc/passwd", "localhost:8000/v1", "gopher://h", "http://",
        "http://h:99999/", "http://h/v1\r\nX: y", "http://h/a b", "http://h/\xC3\xA9", "-o/tmp/x"})
    EXPECT_FALSE(Endpoint::make(with_url(url), false)) << url;
  expect_error(with_url("http://localhost/v1#x"), "'#'");
}

TEST(Endpoint, NoPasswordsInUrls) {
  for (const char* url : {"https://user:hunter2@h.example/v1", "https://hunter2@h.example/v1",
                          "https://:hunter2@h.example/v1", "http://127.0.0.1@hunter2/v1"})
    expect_error(with_url(url), "user name or password");
  Settings settings = with_url("https://h.example/v1");
  settings.proxy = "http://me:hunter2@proxy:3128";
  expect_error(settings, "https_proxy");
}

TEST(Endpoint, AKeyIsNotSentInTheClear) {
  for (const char* url :
       {"http://h.example/v1", "http://10.0.0.1/v1", "http://0.0.0.0/v1",
        "http://127.0.0.1.example.com/v1", "http://localhost.example.com/v1",
        "http://xlocalhost/v1", "http://[::2]/v1", "http://[::ffff:10.0.0.1]/v1"}) {
    expect_error(with_url(url), "unencrypted");
    EXPECT_TRUE(Endpoint::make(with_url(url), false)) << "without a key: " << url;
    Settings allowed = with_url(url);
    allowed.allow_plain_key = true;
    EXPECT_TRUE(Endpoint::make(allowed, true)) << url;
  }
  for (const char* url :
       {"http://localhost/v1", "http://LOCALHOST:1/v1", "http://127.0.0.1/v1",
        "http://127.1.2.3/v1", "http://127.1/v1", "http://[::1]/v1", "https://h.example/v1"})
    EXPECT_TRUE(Endpoint::make(with_url(url), true)) << url;
  Settings proxied = with_url("http://localhost/v1");
  proxied.proxy = "http://proxy:3128";
  expect_error(proxied, "through a proxy");
  proxied.url = "https://h.example/v1";
  EXPECT_TRUE(Endpoint::make(proxied, true));
}

TEST(Endpoint, SettingsThatCannotBe) {
  const std::pair<const char*, std::function<void(Settings&)>> wrong[] = {
      {"model's name", [](Settings& s) { s.model = ""; }},
      {"model's name", [](Settings& s) { s.model = "a\nb"; }},
      {"temperature", [](Settings& s) { s.temperature = -0.1; }},
      {"temperature", [](Settings& s) { s.temperature = std::stod("nan"); }},
      {"output tokens", [](Settings& s) { s.max_output_tokens = 0; }},
      {"least output", [](Settings& s) { s.least_output_tokens = s.max_output_tokens + 1; }},
      {"connect timeout", [](Settings& s) { s.connect_timeout = std::chrono::seconds(0); }},
      {"idle timeout", [](Settings& s) { s.idle_timeout = std::chrono::milliseconds(-1); }},
      {"total timeout", [](Settings& s) { s.total_timeout = std::chrono::hours(25); }},
      {"retries", [](Settings& s) { s.retries = -1; }},
      {"byte limit", [](Settings& s) { s.max_reply_bytes = 0; }},
      {"in flight", [](Settings& s) { s.concurrency = 0; }},
      {"token budget", [](Settings& s) { s.token_budget = -1; }},
      {"needs the prices", [](Settings& s) { s.cost_budget = 1; }},
      {"price", [](Settings& s) { s.prices = {-1, 0}; }},
      {"proxy", [](Settings& s) { s.proxy = "ftp://proxy"; }},
      {"CA file", [](Settings& s) { s.ca_file = "/no/such/file"; }}};
  for (const auto& [words, change] : wrong) {
    Settings settings = with_url("http://localhost/v1");
    change(settings);
    expect_error(settings, words);
  }
}

TEST(Dollars, AreExact) {
  EXPECT_EQ(parse_dollars("2.50").value(), 2'500'000'000);
  EXPECT_EQ(parse_dollars("0").value(), 0);
  EXPECT_EQ(parse_dollars("0.000000001").value(), 1);
  EXPECT_EQ(parse_dollars("1000000").value(), 1'000'000'000'000'000);
  for (const char* text : {"", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0.0000000001", "1000001",
                           "99999999", "1000000.000000001", " 1", "$1", "nan"})
    EXPECT_FALSE(parse_dollars(text)) << text;
  EXPECT_EQ(format_dollars(2'500'000'000), "$2.5");
  EXPECT_EQ(format_dollars(1), "$0.000000001");
  EXPECT_EQ(format_dollars(100'000'000'000), "$100");
}

}  // namespace
}  // namespace hone::llm
