// Below the pages: methods, headers, hosts, limits, connections that misbehave.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/unit/engine/web_fixture.h"

namespace hone::test {
namespace {

/// Bytes as they come.
class Raw {
 public:
  /// `window`: what it takes unread [B]; 0: what the system gives.
  /// `from`: the address that it comes from.
  explicit Raw(const std::string& host, int window = 0, const char* from = "127.0.0.1") {
    const auto colon = host.rfind(':');
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from, &own.sin_addr);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    if (window > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(host.substr(colon + 1))));
    inet_pton(AF_INET, host.substr(0, colon).c_str(), &address.sin_addr);
    const timeval patience{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Raw() { close(socket_); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void send(const std::string& text) const {
    EXPECT_TRUE(connected_);
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// What comes until `until` is in it, or the end.
  [[nodiscard]] std::string receive(const std::string& until = "\xff\xff") const {
    std::string text;
    char buffer[4096];
    while (text.find(until) == text.npos) {
      const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  /// At most so much, once; 0 at the end.
  [[nodiscard]] std::size_t receive_some(std::size_t most) const {
    std::string buffer(most, '\0');
    const ssize_t got = recv(socket_, buffer.data(), buffer.size(), 0);
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }

 private:
  int socket_ = -1;
  bool connected_ = false;
};

TEST_F(FilledWebTest, EveryAnswerHasTheHeadersThatKeepItSafe) {
  for (const char* path : {"/", "/nothing", "/api/v1/tasks", "/api/v1/nothing", "/runs/1"}) {
    const auto response = get(path);
    const std::string policy = response.get_header_value("Content-Security-Policy");
    EXPECT_EQ(policy,
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
              "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    EXPECT_EQ(response.get_header_value("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(response.get_header_value("Referrer-Policy"), "same-origin") << path;
    EXPECT_FALSE(response.get_header_value("Cache-Control").empty()) << path;
    EXPECT_FALSE(response.has_header("EXCEPTION_WHAT")) << path;
  }
}

TEST_F(FilledWebTest, OtherMethodsAreNotTaken) {
  auto one = client();
  EXPECT_EQ(one.Head("/")->status, 200);
  EXPECT_EQ(one.Head("/")->body, "");
  const auto post = one.Post("/", "x", "text/plain");
  ASSERT_TRUE(post);
  EXPECT_EQ(post->status, 405);
  EXPECT_EQ(post->get_header_value("Allow"), "GET, HEAD");
  EXPECT_EQ(one.Delete("/runs/1")->status, 405);
  const auto api = one.Put("/api/v1/tasks", "{}", "application/json");
  EXPECT_EQ(api->status, 405);
  EXPECT_EQ(code(*api), "method_not_allowed");
  EXPECT_EQ(one.Patch("/nothing", "", "text/plain")->status, 404);
  EXPECT_EQ(one.Options("/api/v1/jobs")->get_header_value("Allow"), "GET, HEAD, POST");
}

TEST_F(FilledWebTest, OnlyItsOwnNamesAreAnswered) {
  for (const char* host : {"evil.example", "evil.example:80", "127.0.0.1.evil.example", "",
                           "0.0.0.0", "localhost.evil:1"})
    EXPECT_EQ(get("/", {{"Host", host}}).status, 421) << host;
  for (const char* host : {"localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8080", "127.1.2.3"})
    EXPECT_EQ(get("/", {{"Host", host}}).status, 200) << host;
  const Raw none(host());
  none.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(none.receive().starts_with("HTTP/1.1 421"));
  const Raw two(host());
  two.send("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(two.receive().starts_with("HTTP/1.1 421"));
}

TEST_F(FilledWebTest, WhatIsNoRequestIsRefused) {
  for (const std::string& text :
       {std::string("nonsense\r\n\r\n"), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"),
        "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
        std::string("\0\0\0\r\n\r\n", 7)}) {
    const Raw raw(host());
    raw.send(text);
    const std::string answer = raw.receive();
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 4")) << answer.substr(0, 60);
  }
  EXPECT_EQ(get("/").status, 200);
}

TEST_F(FilledWebTest, ABodyIsNeverTheNextRequest) {
  const Raw raw(host());
  raw.send(
      "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 44\r\n\r\n"
      "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n  ");
  const std::string answer = raw.receive();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200"));
  EXPECT_EQ(answer.find("HTTP/1.1 404"), answer.npos);
}

TEST_F(WebTest, AConnectionServesManyRequests) {
  start();
  auto one = client();
  one.set_keep_alive(true);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(one.Get("/")->status, 200);
}

TEST_F(WebTest, SlowOnesAreLeftBehindAndDelayNobody) {
  options_.limits.request_s = 1;
  options_.limits.keep_alive_s = 1;
  start();
  std::vector<std::unique_ptr<Raw>> slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(std::make_unique<Raw>(host()));
    slow.back()->send("GET / HTTP/1.1\r\nHo");
  }
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(get("/").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  for (int i = 0; i < 3; ++i) {  // a byte now and then buys nothing
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    if (i < 2) slow[0]->send("s");
  }
  EXPECT_FALSE(slow[0]->receive().starts_with("HTTP/1.1 200"));
}

TEST_F(WebTest, WhoLeavesRequestsHalfOpenKeepsNobodyOut) {
  options_.limits.connections = 64;
  options_.limits.half_open = 6;
  options_.limits.keep_alive_s = 30;
  options_.limits.head_s = 30;
  start();
  std::vector<std::unique_ptr<Raw>> half;
  const auto open = [&](int count) {
    for (int i = 0; i < count; ++i) {
      half.push_back(std::make_unique<Raw>(host(), 0, "127.0.0.66"));
      half.back()->send("GET / HTTP/1.1\r\nHo");
    }
  };
  open(6);
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));  // longer than the grace
  // The oldest make room, one for each that comes, and there are twice as many at most. Far more
  // come than there are connections; others are served all the time.
  for (int i = 0; i < 100; ++i) {
    open(1);
    EXPECT_EQ(get("/").status, 200) << i;
  }
  EXPECT_EQ(half.front()->receive(), "");
}

TEST_F(WebTest, AHeadHasADeadlineOfItsOwn) {
  options_.limits.head_s = 0.5;
  options_.limits.request_s = 30;
  start();
  const Raw slow(host());
  slow.send("GET / HTTP/1.1\r\nHo");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(slow.receive().starts_with("HTTP/1.1 200"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

/// A page of megabytes.
class LargePage : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    options_.limits.keep_alive_s = 1;
    options_.limits.write_s = 1;
    task_.reference.source += "\n" + std::string(kBytes, 'x') + "\n";
    (void)begin(gpu());
  }
  /// How much of the page comes to one who reads so much at a time, waiting before.
  [[nodiscard]] std::size_t read(std::size_t most, std::chrono::milliseconds wait) {
    const Raw raw(host(), 16 << 10);
    raw.send("GET /api/v1/tasks/" + task_.hash() +
             " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    std::size_t all = 0;
    while (true) {
      std::this_thread::sleep_for(wait);
      const std::size_t some = raw.receive_some(most);
      if (some == 0) return all;
      all += some;
    }
  }
  // More than the system keeps for a connection.
  static constexpr std::size_t kBytes = 8 << 20;
};

TEST_F(LargePage, WhoReadsSlowlyButSteadilyGetsAll) {
  start();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_GT(read(32 << 10, std::chrono::milliseconds(8)), kBytes);
  EXPECT_GT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));  // twice write_s
}

TEST_F(LargePage, WhoReadsNothingIsCut) {
  start();
  const Raw raw(host(), 16 << 10);
  raw.send("GET /api/v1/tasks/" + task_.hash() + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  std::size_t all = 0;
  for (std::size_t some = 1; some > 0; all += some) some = raw.receive_some(1 << 20);
  EXPECT_LT(all, kBytes);
}

TEST_F(LargePage, NobodyReadsForEver) {
  options_.limits.write_all_s = 1;
  start();
  EXPECT_LT(read(32 << 10, std::chrono::milliseconds(4)), kBytes);
}

TEST_F(WebTest, TooManyConnectionsAreTold) {
  options_.limits.connections = 4;
  options_.limits.keep_alive_s = 30;
  start();
  std::vector<std::unique_ptr<Raw>> idle;
  for (int i = 0; i < 4; ++i) {
    idle.push_back(std::make_unique<Raw>(host()));
    idle.back()->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_TRUE(idle.back()->receive("</html>").starts_with("HTTP/1.1 200"));
  }
  const Raw more(host());
  EXPECT_TRUE(more.receive().starts_with("HTTP/1.1 503"));
  idle.pop_back();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_EQ(get("/").status, 200);
}

TEST_F(WebTest, EndsWhateverIsOpen) {
  const auto run = begin(gpu());
  start();
  std::vector<std::unique_ptr<Raw>> open;
  for (int i = 0; i < 20; ++i) {
    open.push_back(std::make_unique<Raw>(host()));
    open.back()->send("GET /api/v1/runs/" + std::to_string(run) +
                      "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_TRUE(open.back()->receive("retry").starts_with("HTTP/1.1 200"));
    open.push_back(std::make_unique<Raw>(host()));
    open.back()->send("GET / HT");
  }
  const auto began = std::chrono::steady_clock::now();
  server_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST_F(WebTest, NamesWhatItCannotListenOn) {
  for (const char* listen : {"", "8080", "127.0.0.1", "127.0.0.1:x", "::1:80", "127.0.0.1:99999"}) {
    options_.listen = listen;
    const auto server = web::Server::open(options_);
    ASSERT_FALSE(server) << listen;
    EXPECT_EQ(server.error().code, ErrorCode::kInvalidInput);
  }
  options_.listen = "127.0.0.1:0";
  start();
  options_.listen = host();
  const auto second = web::Server::open(options_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kEnvironment);
}

}  // namespace
}  // namespace hone::test
