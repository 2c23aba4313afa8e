// What a file of recorded exchanges may hold. Names and messages in it become lines on a terminal
// and in the database: whatever was in the file, they are lines. All exchanges come out once.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "rewriters/llm/client/record.h"

namespace {

using namespace hone::llm;

void check_line(std::string_view line, std::size_t most) {
  if (line.size() > most + 3) abort();
  for (const char c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) abort();
}

void check(const Exchange& exchange) {
  const Charge& charge = exchange.charge;
  if (charge.input_tokens < 0 || charge.output_tokens < 0 || charge.nano_dollars < 0) abort();
  if (exchange.attempts < 0 || exchange.http_status < 0 || !(exchange.seconds >= 0)) abort();
  if (!exchange.reply) return check_line(exchange.reply.error().message, 2000);
  const Reply& reply = *exchange.reply;
  if (reply.text.empty() || reply.text.contains('\0')) abort();
  if (reply.usage.input_tokens < 0 || reply.usage.output_tokens < 0) abort();
  check_line(reply.model, 256);
  check_line(reply.finish_reason, 40);
  for (const std::string& note : reply.notes) check_line(note, 1000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  const auto replay = Replay::read(lines, "fuzz");
  if (!replay) {
    check_line(replay.error().message, 2000);
    return 0;
  }
  check_line((*replay)->model(), 256);
  const std::size_t recorded = (*replay)->unused();
  std::size_t given = 0;
  for (const std::string& kind : (*replay)->kinds()) {
    check_line(kind, 40);
    while (true) {
      const Exchange exchange = (*replay)->next("", kind);
      check(exchange);
      if (given + (*replay)->unused() == recorded) break;
      ++given;
    }
  }
  if (given != (*replay)->taken_by_kind()) abort();
  return 0;
}
