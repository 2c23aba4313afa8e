#include "evaluator/runner/serve.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "candidates/stop_watch.h"
#include "evaluator/compile/compile.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/messages.h"
#include "evaluator/protocol/survey_messages.h"
#include "evaluator/runner/emulate.h"
#include "evaluator/runner/sanitize.h"
#include "evaluator/runner/serve_loop.h"
#include "evaluator/runner/survey.h"
#include "evaluator/trace.h"

namespace hone::runner {
namespace {

using Json = nlohmann::json;
/// Ends this process as soon as the other side is gone, even in the middle of a request.
void watch_parent() {
  std::thread([] {
    for (;;) {
      pollfd p{protocol::kChildChannel, POLLRDHUP, 0};
      if (poll(&p, 1, -1) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0)
        _exit(0);
    }
  }).detach();
}

}  // namespace

int serve(const char* mode, const std::function<Result<Json>(const Json&)>& handle) {
  watch_parent();
  protocol::Channel channel(protocol::kChildChannel);
  if (!channel.send({{"hello", protocol::kVersion}, {"mode", mode}, {"pid", getpid()}})) return 1;
  for (;;) {
    const auto received = channel.receive(-1);
    if (received.status == protocol::ReceiveStatus::kClosed) return 0;
    if (received.status != protocol::ReceiveStatus::kOk) return 2;
    Result<Json> reply = fail(ErrorCode::kInternal, "no reply");
    try {
      reply = handle(received.message);
    } catch (const std::exception& e) {
      reply = fail(ErrorCode::kInfrastructure, protocol::clean_text(e.what(), 512));
    }
    const Json message = reply ? *reply : Json{{"error", reply.error().message}};
    if (!channel.send(message, -1, received.request)) return 1;
  }
}

int serve_compile() {
  // Every compile needs what the last one had; giving it back costs a tenth of a small one's time.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  return serve("compile", [](const Json& m) -> Result<Json> {
    auto job = protocol::compile_job_from(m);
    if (!job) return std::unexpected(job.error());
    double seconds = 0;
    StopWatch watch(seconds);
    const auto program = compile::compile_program(*job);
    watch.stop();
    trace(fmt::format("compiled {} bytes to {} in {:.3f} s: {}", job->source.size(),
                      program.cubin.size(), seconds, to_string(program.verdict)));
    return protocol::to_message(program);
  });
}

int serve_emulate() {
  Emulate emulate;
  ReferenceRuns runs;  ///< for surveys
  return serve("emulate", [&](const Json& m) -> Result<Json> {
    if (m.is_object() && m.contains("op") && m["op"] == "sanitize") {
      const auto job = protocol::sanitize_job_from(m);
      if (!job) return std::unexpected(job.error());
      return protocol::to_message(sanitize(*job));
    }
    if (m.is_object() && m.contains("op") && m["op"] == "survey") {
      const auto job = protocol::survey_job_from(m);
      if (!job) return std::unexpected(job.error());
      return protocol::to_message(survey(*job, runs));
    }
    auto request = protocol::emulate_request_from(m);
    if (!request) return std::unexpected(request.error());
    return protocol::to_message(emulate.handle(*request));
  });
}

}  // namespace hone::runner
