// Bytes that a runner, or hone, might be sent: framing, CBOR, and every message decoder.
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "evaluator/protocol/calibrate_messages.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/measure_messages.h"
#include "evaluator/protocol/messages.h"
#include "evaluator/protocol/sanitize_messages.h"

namespace {

using hone::protocol::Channel;
using hone::protocol::ReceiveStatus;

void decode_all(const nlohmann::json& m) {
  using namespace hone::protocol;
  (void)compile_job_from(m);
  (void)compiled_program_from(m);
  (void)runnable_from(m);
  (void)case_from(m);
  (void)emulate_request_from(m);
  (void)emulate_reply_from(m);
  (void)sanitize_job_from(m);
  (void)sanitize_result_from(m);
  (void)device_facts_from(m);
  (void)measure_request_from(m);
  (void)measure_reply_from(m);
  (void)bench_device_from(m);
  (void)bench_request_from(m);
  (void)bench_reply_from(m, 3);
}

/// The bytes as a stream that ends: whole frames come out, then the end or an error.
void receive_all(const std::uint8_t* data, std::size_t size) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) abort();
  // More than fits the socket would block; the interesting inputs are small.
  const auto n = static_cast<ssize_t>(size < 65536 ? size : 65536);
  if (write(pair[0], data, static_cast<std::size_t>(n)) != n) abort();
  close(pair[0]);
  Channel channel(pair[1]);
  for (;;) {
    const auto received = channel.receive(1);
    if (received.status == ReceiveStatus::kTimeout) abort();  // the other side is closed
    if (received.status != ReceiveStatus::kOk) break;
    decode_all(received.message);
  }
  close(pair[1]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  receive_all(data, size);
  if (const auto message = hone::protocol::decode(data, size)) {
    decode_all(*message);
    // What was read can be sent again and means the same.
    const auto again = hone::protocol::encode(*message);
    const auto twice = hone::protocol::decode(again.data(), again.size());
    if (!twice || twice->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) !=
                      message->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      abort();
  }
  return 0;
}
