// A server in this process over a database of its own, and a client.
#pragma once

#ifndef CPPHTTPLIB_OPENSSL_SUPPORT  // as Debian's library was made
#define CPPHTTPLIB_OPENSSL_SUPPORT
#endif
#include <gtest/gtest.h>
#include <httplib.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/rewriting/local_rewriting.h"
#include "engine/web/server.h"
#include "tests/unit/candidates/store_fixture.h"

namespace hone::test {

/// What somebody would write who wants a page to run it.
inline const std::string kHostile =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;";

class WebTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_.database = file();
    options_.listen = "127.0.0.1:0";
    options_.rewriting = &rewriting_;
    options_.readers = 2;
    options_.warn = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      warnings_.push_back(line);
    };
  }
  void TearDown() override { server_.reset(); }

  void start() {
    auto server = web::Server::open(options_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  [[nodiscard]] std::string host() const {
    return server_->url().substr(7, server_->url().size() - 8);
  }
  [[nodiscard]] httplib::Client client() const {
    httplib::Client client("http://" + host());
    client.set_read_timeout(10);
    return client;
  }
  httplib::Response get(const std::string& path, const httplib::Headers& headers = {}) {
    auto result = client().Get(path, headers);
    EXPECT_TRUE(result) << path;
    return result ? *result : httplib::Response();
  }
  nlohmann::json get_json(const std::string& path) {
    const auto response = get(path);
    EXPECT_EQ(response.status, 200) << path << "\n" << response.body;
    return nlohmann::json::parse(response.body, nullptr, false);
  }
  /// "not_found", of an answer that failed.
  static std::string code(const httplib::Response& response) {
    const auto json = nlohmann::json::parse(response.body, nullptr, false);
    if (!json.is_object() || !json.contains("error")) return "no error: " + response.body;
    EXPECT_TRUE(json["error"]["message"].is_string());
    return json["error"].value("code", "");
  }

  LocalRewriting rewriting_;
  web::ServerOptions options_;
  std::unique_ptr<web::Server> server_;
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

/// A measured and a modelled board of one task, each with a run.
class FilledWebTest : public WebTest {
 protected:
  void SetUp() override {
    WebTest::SetUp();
    fill();
    start();
  }
  void fill() {
    run_ = begin(gpu());
    put(run_, hash_of('a'), timed(2, 50));
    put(run_, hash_of('b'), timed(3, 30));
    put(run_, hash_of('c'), failed(Verdict::kRace));
    emulated_run_ = begin(emulated());
    Evaluation modelled = timed(4, 20);
    modelled.measurement.modelled = true;
    put(emulated_run_, hash_of('a'), modelled, emulated());
    ASSERT_TRUE(store_->end_run(emulated_run_, "budget"));
    BaselineTime baseline;
    baseline.kind = "torch eager";
    baseline.device = "cuda:0";
    baseline.device_name = gpu().device_name;
    baseline.time_us = 60;
    baseline.ci95_low = 59;
    baseline.ci95_high = 61;
    baseline.samples_us = {60};
    ASSERT_TRUE(store_->put_baseline(task_.hash(), baseline));
  }
  [[nodiscard]] static std::string id(char digit) { return std::string(12, digit); }

  std::int64_t run_ = 0, emulated_run_ = 0;
};

}  // namespace hone::test
