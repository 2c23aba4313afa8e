// A worker whose GPUs answer at once, with times by a hash of the program: what is left is what a
// search, the coordinator and Redis cost. By hand:
//   instant_worker --redis unix:///tmp/redis.sock [GPUS [AT_ONCE]]
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "candidates/hash.h"
#include "engine/queue/broker.h"
#include "engine/queue/redis_client.h"
#include "engine/queue/redis_url.h"
#include "engine/service/worker.h"

namespace {

using namespace hone;

class InstantEvaluator final : public Evaluator {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<Evaluation> admit(const EvaluationRequest&) override { return answer(1000); }
  Result<Evaluation> evaluate(const EvaluationRequest& request) override {
    const std::string hash = content_hash(request.timed.candidate.source);
    const int digits = std::stoi(hash.substr(0, 4), nullptr, 16);
    return answer(request.timed.candidate.source == request.timed.reference.source
                      ? 1000
                      : 500 + 0.01 * digits);
  }
  Result<Ceilings> measure_ceilings() override { return Ceilings{}; }
  void use_ceilings(const Ceilings&) override {}
  void cancel() override {}
  void resume() override {}

 private:
  static Evaluation answer(double time_us) {
    Evaluation evaluation;
    evaluation.verdict = Verdict::kOk;
    Measurement& m = evaluation.measurement;
    m.time_us = time_us;
    m.reference_time_us = 1000;
    m.speedup = m.ci95_low = m.ci95_high = 1000 / time_us;
    return evaluation;
  }
  const DeviceInfo info_ = {.name = "Instant GPU",
                            .arch = "sm_90",
                            .toolchain = "none",
                            .sm_count = 132,
                            .memory_bytes = 1LL << 36};
};

std::atomic<bool> g_stop = false;

}  // namespace

int main(int argc, char** argv) {
  const auto usage = [] {
    fmt::print(stderr, "usage: instant_worker --redis URL [GPUS [AT_ONCE]]\n");
    return 2;
  };
  if (argc < 3 || std::string(argv[1]) != "--redis") return usage();
  std::signal(SIGTERM, [](int) { g_stop = true; });
  auto url = RedisUrl::parse(argv[2]);
  if (!url) return usage();
  auto client = RedisClient::open(std::move(*url), {});
  if (!client) {
    fmt::print(stderr, "instant_worker: {}\n", client.error().message);
    return 1;
  }
  queue::Broker broker(std::shared_ptr<RedisClient>(std::move(*client)), "hone");
  InstantEvaluator evaluator;
  WorkerOptions options;
  options.id = fmt::format("instant-{}", getpid());
  options.log = [](const LogEvent&) {};
  options.drain = options.stop = &g_stop;
  const int gpus = argc > 3 ? std::atoi(argv[3]) : 1;
  const int at_once = argc > 4 ? std::atoi(argv[4]) : 80;
  for (int i = 0; i < gpus; ++i)
    options.devices.push_back({*DeviceSpec::parse(fmt::format("cuda:{}", i)), &evaluator, at_once});
  return run_worker(broker, options) ? 0 : 1;
}
