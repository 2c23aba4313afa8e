#include "evaluator/pool/gpu_client.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "evaluator/device/cuda/helper_kernels.h"
#include "evaluator/pool/compile_own.h"

namespace hone {
namespace {

constexpr double kOpenTimeout_s = 90;  // cuInit on a node with many GPUs is slow
constexpr double kSetupTimeout_s = 60;
constexpr double kBenchTimeout_s = 120;

/// The cubin. GPUs of one model that are opened at once wait for one compile.
Result<std::string> helpers_for(const protocol::DeviceFacts& facts,
                                const EvaluatorOptions& options) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::string> known;
  const std::lock_guard lock(mutex);
  const std::vector<std::string> key = {facts.arch, facts.driver, options.runner_path};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const CompileJob job{cuda::helper_source(), {}, cuda::helper_kernel_names(), facts.arch, true};
  auto helpers = pool::compile_own(job, "the helper kernels", options, facts.driver);
  if (!helpers) return std::unexpected(helpers.error());
  return known[key] = std::move(helpers->cubin);
}

Error environment(std::string message) { return {ErrorCode::kEnvironment, std::move(message)}; }

}  // namespace

Result<std::unique_ptr<GpuClient>> GpuClient::open(int ordinal, const EvaluatorOptions& options,
                                                   const std::string& mode) {
  std::unique_ptr<GpuClient> client(new GpuClient(ordinal, options, mode));
  auto runner = pool::RunnerProcess::start(mode, options, ordinal);
  if (!runner) return std::unexpected(runner.error());
  const auto opened =
      (*runner)->call({{"op", "open"}, {"ordinal", (*runner)->ordinal()}}, kOpenTimeout_s);
  if (!opened.ok()) {
    return std::unexpected(
        environment(fmt::format("the GPU's runner did not open cuda:{}: {}", ordinal,
                                opened.detail.empty() ? "no answer" : opened.detail)));
  }
  if (const auto error = protocol::error_of(opened.reply))
    return std::unexpected(environment(*error));
  auto facts = protocol::device_facts_from(opened.reply);
  if (!facts) return std::unexpected(facts.error());
  client->facts_ = *facts;

  auto helpers = helpers_for(client->facts_, options);
  if (!helpers) return std::unexpected(helpers.error());
  client->helpers_ = std::move(*helpers);

  const auto ready = (*runner)->call({{"op", "setup"}, {"cubin", protocol::blob(client->helpers_)}},
                                     kSetupTimeout_s);
  if (!ready.ok())
    return std::unexpected(environment("setting up the GPU failed: " + ready.detail));
  if (const auto error = protocol::error_of(ready.reply))
    return std::unexpected(environment(*error));
  if (const auto bandwidth = protocol::get_double(ready.reply, "dram_bytes_per_s"))
    client->facts_.dram_bytes_per_s = *bandwidth;
  client->runner_ = std::move(*runner);
  return client;
}

Result<void> GpuClient::start() {
  auto runner = pool::RunnerProcess::start(mode_, options_, ordinal_);
  if (!runner) return std::unexpected(runner.error());
  for (const nlohmann::json& request :
       {nlohmann::json{{"op", "open"}, {"ordinal", (*runner)->ordinal()}},
        nlohmann::json{{"op", "setup"}, {"cubin", protocol::blob(helpers_)}, {"quick", true}}}) {
    const auto outcome = (*runner)->call(request, kOpenTimeout_s);
    const auto error =
        outcome.ok() ? protocol::error_of(outcome.reply) : std::optional(outcome.detail);
    if (error) {
      return fail(ErrorCode::kInfrastructure,
                  fmt::format("the GPU's runner cannot be restarted: {}", *error));
    }
  }
  std::lock_guard lock(mutex_);
  if (cancelled_) return fail(ErrorCode::kInfrastructure, "cancelled");
  runner_ = std::move(*runner);
  served_ = false;
  return {};
}

void GpuClient::stop() {
  std::unique_ptr<pool::RunnerProcess> runner;
  std::lock_guard lock(mutex_);
  runner = std::move(runner_);
}

Result<protocol::MeasureReply> GpuClient::measure(const protocol::MeasureRequest& request,
                                                  bool fresh, double deadline_s, GateSeconds* gates,
                                                  const std::stop_token& stopping) {
  // Encoded before the wait: while one candidate is measured the next one's bytes are ready.
  const auto message = protocol::frame(protocol::to_message(request));
  if (!message) return std::unexpected(message.error());
  return measure(*message, fresh, deadline_s, gates, stopping);
}

void GpuClient::freshen() {
  const InOrder::Place turn(turns_);
  turn.wait();
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return;
  }
  stop();
  (void)start();  // whoever measures tries again
}

Result<void> GpuClient::restart() {
  const InOrder::Place turn(turns_);
  turn.wait();
  stop();
  return start();
}

Result<protocol::MeasureReply> GpuClient::measure(const protocol::Frame& message, bool fresh,
                                                  double deadline_s, GateSeconds* gates,
                                                  const std::stop_token& stopping) {
  GateSeconds unused;
  GateSeconds& spent = gates != nullptr ? *gates : unused;
  StopWatch waiting(spent.wait);
  const InOrder::Place turn(turns_);
  turn.wait();
  waiting.stop();
  StopWatch measuring(spent.measure);
  const bool served = [&] {
    const std::lock_guard lock(mutex_);
    return served_;
  }();
  if (fresh && served) stop();
  pool::RunnerProcess* runner = nullptr;
  for (int attempt = 0; attempt < 2 && runner == nullptr; ++attempt) {
    {
      std::lock_guard lock(mutex_);
      if (cancelled_) return fail(ErrorCode::kInfrastructure, "cancelled");
      runner = runner_.get();
    }
    if (runner != nullptr && !runner->is_quiet()) {  // what an earlier candidate left behind
      stop();
      runner = nullptr;
    }
    if (runner != nullptr) break;
    if (auto started = start(); !started && attempt == 1) return std::unexpected(started.error());
    std::lock_guard lock(mutex_);
    runner = runner_.get();
  }
  if (runner == nullptr)
    return fail(ErrorCode::kInfrastructure, "the GPU's runner cannot be started");

  {
    const std::lock_guard lock(mutex_);
    served_ = true;
  }
  const auto outcome = [&] {
    const std::stop_callback killing(stopping, [&] { runner->kill(); });
    return runner->call(message, deadline_s);
  }();
  if (stopping.stop_requested()) {
    stop();
    return fail(ErrorCode::kInfrastructure, "cancelled");
  }
  protocol::MeasureReply reply;
  switch (outcome.status) {
    case pool::Outcome::Status::kReply:
      break;
    case pool::Outcome::Status::kTimeout:
      stop();
      reply.verdict = Verdict::kTimeout;
      reply.detail = fmt::format("the GPU did not finish within {:.0f} s", deadline_s);
      return reply;
    default: {
      stop();
      // Worth the caller's one retry: the answer may be an earlier candidate's.
      if (outcome.foreign) return fail(ErrorCode::kInfrastructure, outcome.detail);
      std::lock_guard lock(mutex_);
      if (cancelled_) return fail(ErrorCode::kInfrastructure, "cancelled");
      reply.verdict = Verdict::kCrash;
      reply.detail = "the GPU's runner died: " + outcome.detail;
      return reply;
    }
  }
  if (const auto error = protocol::error_of(outcome.reply)) {
    stop();
    return fail(ErrorCode::kInfrastructure, "the GPU's runner: " + *error);
  }
  auto decoded = protocol::measure_reply_from(outcome.reply);
  if (!decoded || decoded->context_lost) stop();
  return decoded;
}

Result<nlohmann::json> GpuClient::call(const nlohmann::json& message) {
  const InOrder::Place turn(turns_);
  turn.wait();
  pool::RunnerProcess* runner = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (cancelled_) return fail(ErrorCode::kInfrastructure, "cancelled");
    runner = runner_.get();
    served_ = true;
  }
  if (runner == nullptr) return fail(ErrorCode::kInfrastructure, "the GPU's runner has ended");
  auto outcome = runner->call(message, kBenchTimeout_s);
  if (!outcome.ok()) {
    stop();
    return fail(ErrorCode::kInfrastructure,
                outcome.status == pool::Outcome::Status::kTimeout
                    ? fmt::format("the GPU did not answer within {:.0f} s", kBenchTimeout_s)
                    : "the GPU's runner died: " + outcome.detail);
  }
  if (const auto error = protocol::error_of(outcome.reply)) {
    stop();
    return fail(ErrorCode::kEnvironment, "the GPU's runner: " + *error);
  }
  return std::move(outcome.reply);
}

Result<std::string> GpuClient::open_library() {
  auto reply = call({{"op", "library"}});
  if (!reply) return std::unexpected(reply.error());
  auto text = protocol::get_string(*reply, "text", 256);
  if (!text) return text;
  return protocol::clean_text(*text, 256);
}

Result<protocol::BenchDevice> GpuClient::bench_load(const std::string& cubin,
                                                    std::int64_t buffer_bytes) {
  auto reply =
      call({{"op", "bench_load"}, {"cubin", protocol::blob(cubin)}, {"bytes", buffer_bytes}});
  if (!reply) return std::unexpected(reply.error());
  return protocol::bench_device_from(*reply);
}

Result<protocol::BenchReply> GpuClient::bench(const protocol::BenchRequest& request) {
  auto reply = call(protocol::to_message(request));
  if (!reply) return std::unexpected(reply.error());
  return protocol::bench_reply_from(*reply, request.repeats);
}

void GpuClient::cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (runner_) runner_->kill();
}

void GpuClient::resume() {
  const InOrder::Place turn(turns_);  // a request that cancel() ended still holds the runner
  turn.wait();
  std::lock_guard lock(mutex_);
  cancelled_ = false;
  runner_.reset();  // killed by cancel(): the next measurement starts a fresh one
}

}  // namespace hone
