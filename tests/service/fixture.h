// A Redis server, a task and a place for what is logged.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "candidates/task_reader.h"
#include "engine/queue/broker.h"
#include "engine/queue/log_event.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"
#include "tests/unit/engine/fake_evaluator.h"
#include "tests/unit/engine/redis_server.h"

namespace hone::test {

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto task = parse_task(kScaleTask, "scale.cu");
    ASSERT_TRUE(task) << task.error().message;
    task_ = *task;
    broker_ = broker();
    ASSERT_TRUE(broker_);
    auto builder = RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {}, {});
    ASSERT_TRUE(builder) << builder.error().message;
    auto made = (*builder)->for_program(task_.reference, 1);
    ASSERT_TRUE(made) << made.error().message;
    request_ = *made;
  }
  /// Another client of the same server.
  std::unique_ptr<queue::Broker> broker(const std::string& prefix = "test") {
    auto client = RedisClient::open(server_.url(), {});
    EXPECT_TRUE(client) << client.error().message;
    return client ? std::make_unique<queue::Broker>(
                        std::shared_ptr<RedisClient>(std::move(*client)), prefix)
                  : nullptr;
  }
  /// Of the reference; the seed tells them apart.
  [[nodiscard]] EvaluationRequest request(int seed) const {
    EvaluationRequest request = request_;
    request.seed = static_cast<std::uint64_t>(seed);
    return request;
  }
  Log log() {
    return [this](const LogEvent& event) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(text_line(event));
    };
  }
  bool logged(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(lines_, [&](const auto& l) { return l.find(text) != l.npos; });
  }

  ::hone::testing::RedisServer server_;
  Task task_;
  LocalRewriting rewriting_;
  EvaluationRequest request_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::unique_ptr<queue::Broker> broker_;
};

}  // namespace hone::test
