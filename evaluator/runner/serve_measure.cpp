#include <fmt/format.h>
#include <sys/prctl.h>

#include <memory>

#include "candidates/stop_watch.h"
#include "evaluator/device/cuda/gpu.h"
#include "evaluator/protocol/calibrate_messages.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/measure_messages.h"
#include "evaluator/runner/measure.h"
#include "evaluator/runner/microbench.h"
#include "evaluator/runner/serve.h"
#include "evaluator/runner/serve_loop.h"
#include "evaluator/trace.h"

namespace hone::runner {
namespace {

using Json = nlohmann::json;

class MeasureServer {
 public:
  Result<Json> handle(const Json& message) {
    std::string op;
    if (auto text = protocol::get_string(message, "op", 32)) op = *text;
    if (op == "open") return open(message);
    if (op == "setup") return setup(message);
    if (op == "measure") return measure(message);
    if (op == "library") return library();
    if (op == "bench_load") return bench_load(message);
    if (op == "bench") return bench(message);
    return fail(ErrorCode::kInfrastructure, "unknown request");
  }

 private:
  Result<Json> open(const Json& message) {
    const auto ordinal = protocol::get_int(message, "ordinal");
    if (!ordinal) return std::unexpected(ordinal.error());
    const StopWatch opening(opened_s_);
    auto gpu = cuda::Gpu::open(static_cast<int>(*ordinal));
    if (!gpu) return std::unexpected(gpu.error());
    gpu_ = std::move(*gpu);
    return protocol::to_message(gpu_->facts());
  }

  Result<Json> setup(const Json& message) {
    if (!gpu_) return fail(ErrorCode::kInfrastructure, "setup before open");
    const auto cubin = protocol::get_blob(message, "cubin");
    if (!cubin) return std::unexpected(cubin.error());
    const bool quick = message.contains("quick");
    StopWatch opening(opened_s_);
    auto ready = gpu_->setup(*cubin);
    opening.stop();
    if (ready && !quick) ready = gpu_->measure_bandwidth();
    if (!ready) return fail(ErrorCode::kEnvironment, "setting up the GPU: " + ready.error().detail);
    measure_ = std::make_unique<Measure>(*gpu_, opened_s_);
    return Json{{"ready", true}, {"dram_bytes_per_s", gpu_->facts().dram_bytes_per_s}};
  }

  Result<Json> measure(const Json& message) {
    if (!measure_) return fail(ErrorCode::kInfrastructure, "measure before setup");
    const auto request = protocol::measure_request_from(message);
    if (!request) return std::unexpected(request.error());
    const auto reply = measure_->handle(*request);
    trace(fmt::format("{} {:.3f} us (reference {:.3f} us) {}", to_string(reply.verdict),
                      reply.time_us, reply.reference_time_us, reply.detail));
    return protocol::to_message(reply);
  }

  Result<Json> library() {
    if (!measure_) return fail(ErrorCode::kInfrastructure, "library before setup");
    const auto text = cuda::open_libraries(*gpu_);
    if (!text) return std::unexpected(text.error());
    return Json{{"text", *text}};
  }

  Result<Json> bench_load(const Json& message) {
    if (!measure_) return fail(ErrorCode::kInfrastructure, "bench_load before setup");
    const auto cubin = protocol::get_blob(message, "cubin");
    if (!cubin) return std::unexpected(cubin.error());
    const auto bytes = protocol::get_int(message, "bytes");
    if (!bytes) return std::unexpected(bytes.error());
    if (*bytes < 0 || *bytes > std::int64_t{1} << 40)
      return fail(ErrorCode::kInfrastructure, "bench_load: so much memory is not given");
    bench_ = std::make_unique<Microbench>(*gpu_);
    auto device = bench_->load(*cubin, *bytes);
    if (!device) {
      bench_.reset();
      return std::unexpected(device.error());
    }
    return protocol::to_message(*device);
  }

  Result<Json> bench(const Json& message) {
    if (!bench_) return fail(ErrorCode::kInfrastructure, "bench before bench_load");
    const auto request = protocol::bench_request_from(message);
    if (!request) return std::unexpected(request.error());
    return protocol::to_message(bench_->run(*request));
  }

  double opened_s_ = 0;  ///< what opening the GPU and setting it up took
  std::unique_ptr<cuda::Gpu> gpu_;
  std::unique_ptr<Measure> measure_;
  std::unique_ptr<Microbench> bench_;
};

}  // namespace

int serve_measure(const char* mode) {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // [ns]; by default sleeps end 50 us late
  MeasureServer server;
  return serve(mode, [&](const Json& m) { return server.handle(m); });
}

}  // namespace hone::runner
