// What may lie in Redis: every message of the queue. What is accepted can be sent again, and is
// the same from then on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/queue/messages_about.h"
#include "engine/queue/messages_job.h"
#include "engine/queue/messages_places.h"
#include "engine/queue/messages_result.h"
#include "engine/queue/messages_work.h"
#include "engine/queue/messages_worker.h"

namespace {

using namespace hone::queue;

template <class Decode>
void read_and_send(const Decode& decode, std::string_view bytes) {
  const auto message = decode(bytes);
  if (!message) {
    if (message.error().code != hone::ErrorCode::kInvalidInput || message.error().message.empty())
      abort();
    return;
  }
  const auto sent = encode(*message);
  if (!sent) abort();
  const auto again = decode(*sent);
  if (!again) abort();
  const auto twice = encode(*again);
  if (!twice || *twice != *sent) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_and_send(work_from, bytes);
  read_and_send(result_from, bytes);
  read_and_send(job_from, bytes);
  read_and_send(status_from, bytes);
  read_and_send(about_from, bytes);
  read_and_send(places_from, bytes);
  read_and_send(worker_from, bytes);
  (void)foreign_worker_from(bytes);
  if (const auto result = result_from(bytes); result && result->evaluation) {
    (void)implausible(*result->evaluation, true);
    (void)implausible(*result->evaluation, false);
  }
  return 0;
}
