// Streams of events: from where they go on, how they end, how many there may be.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "tests/unit/engine/web_fixture.h"

namespace hone::test {
namespace {

class Events : public WebTest {
 protected:
  /// Reads until `enough` or the end.
  std::string read(const std::string& path, const std::function<bool(const std::string&)>& enough,
                   const httplib::Headers& headers = {}) {
    std::string text;
    auto one = client();
    (void)one.Get(path, headers, [&](const char* data, std::size_t size) {
      text.append(data, size);
      return !enough(text);
    });
    return text;
  }
  std::string read_all(const std::string& path, const httplib::Headers& headers = {}) {
    return read(path, [](const std::string&) { return false; }, headers);
  }
  static int count(const std::string& text, const std::string& what) {
    int n = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; ++at) ++n;
    return n;
  }
};

TEST_F(Events, SaysWhatIsStoredAndEnds) {
  const auto run = begin(gpu());
  put(run, hash_of('a'), timed(2));
  start();
  const std::string path = "/api/v1/runs/" + std::to_string(run) + "/events";
  std::string text;
  std::atomic<bool> first = false;
  std::jthread reader([&] {
    text = read(path, [&](const std::string& so_far) {
      first = so_far.find("aaaaaaaaaaaa") != so_far.npos;
      return false;
    });
  });
  for (int i = 0; i < 100 && !first; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(first);
  put(run, hash_of('b'), failed(Verdict::kRace));
  ASSERT_TRUE(store_->end_run(run, "budget"));
  reader.join();
  EXPECT_EQ(count(text, "event: points\n"), 2) << text;
  EXPECT_EQ(count(text, "event: end\n"), 1) << text;
  EXPECT_NE(text.find("\"status\":\"budget\""), text.npos);
  EXPECT_LT(text.find("bbbbbbbbbbbb"), text.find("event: end"));
}

TEST_F(Events, GoesOnAfterTheLastThatWasSeen) {
  const auto run = begin(gpu());
  for (const char digit : {'a', 'b', 'c'}) put(run, hash_of(digit), timed(2));
  ASSERT_TRUE(store_->end_run(run, "budget"));
  start();
  const std::string path = "/api/v1/runs/" + std::to_string(run) + "/events";
  const auto points = store_->run_points(run);
  ASSERT_TRUE(points);
  const std::string last = std::to_string((*points)[1].id);
  for (const std::string& text :
       {read_all(path, {{"Last-Event-ID", last}}), read_all(path + "?after=" + last),
        read_all(path + "?after=1", {{"Last-Event-ID", last}})}) {
    EXPECT_EQ(text.find("bbbbbbbbbbbb"), text.npos) << text;
    EXPECT_NE(text.find("cccccccccccc"), text.npos) << text;
    EXPECT_NE(text.find("id: " + std::to_string((*points)[2].id) + "\n"), text.npos) << text;
  }
  const std::string nothing = read_all(path, {{"Last-Event-ID", std::to_string((*points)[2].id)}});
  EXPECT_EQ(count(nothing, "event: points"), 0);
  EXPECT_EQ(count(nothing, "event: end"), 1);
  for (const char* wrong : {"x", "-1", "1 2", "99999999999999999999"})
    EXPECT_EQ(get(path, {{"Last-Event-ID", wrong}}).status, 400) << wrong;
}

TEST_F(Events, ManyIdleStreamsDelayNobodyAndTooManyAreTold) {
  const auto run = begin(gpu());
  options_.limits.streams = 200;
  start();
  const std::string path = "/api/v1/runs/" + std::to_string(run) + "/events";
  std::atomic<int> open = 0;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 200; ++i)
    readers.emplace_back([&] {
      bool counted = false;
      auto one = client();
      one.set_read_timeout(30);
      (void)one.Get(path, [&](const char*, std::size_t) {
        if (!counted) ++open;
        counted = true;
        return !stop;
      });
    });
  for (int i = 0; i < 400 && open < 200; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  EXPECT_EQ(open, 200);
  const auto refused = get(path);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(code(refused), "too_many_streams");
  EXPECT_TRUE(refused.has_header("Retry-After"));
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get("/").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  stop = true;
  ASSERT_TRUE(store_->end_run(run, "budget"));  // which all of them hear of
}

}  // namespace
}  // namespace hone::test
