// What a language model's server may send: a stream of events, a whole object, an error's body. The
// first byte says how long the pieces are that it comes in, which must not matter; and the key is
// in nothing that comes out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "rewriters/llm/client/key.h"
#include "rewriters/llm/client/scrubber.h"
#include "rewriters/llm/client/sse.h"
#include "rewriters/llm/client/wire.h"

namespace {

using namespace hone::llm;

constexpr std::size_t kMost = 4096;
constexpr std::string_view kSecret = "sk-fuzz-key";

void check(std::string_view text) {
  if (text.contains(kSecret)) abort();
}

void check(const ReplyBuilder& builder) {
  const auto reply = builder.reply();
  if (!reply) {
    if (reply.error().message.empty() || reply.error().message.contains('\n')) abort();
    return check(reply.error().message);
  }
  if (reply->text.empty() || reply->text.size() > kMost || reply->text.contains('\0')) abort();
  check(reply->text);
  check(reply->model);
  check(reply->finish_reason);
}

std::vector<std::string> events_of(const Key& key, std::string_view bytes, std::size_t piece,
                                   bool& fits) {
  Scrubber scrubber(key);
  SseParser parser(kMost);
  std::vector<std::string> events;
  fits = true;
  for (std::size_t at = 0; at < bytes.size() && fits; at += piece)
    fits = parser.add(scrubber.add(bytes.substr(at, piece)), events);
  if (fits) fits = parser.add(scrubber.finish(), events);
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Key key = *Key::from_text(kSecret, "the fuzzer");
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);

  bool fits = false, fits_in_pieces = false;
  const auto events = events_of(key, bytes, std::max<std::size_t>(bytes.size(), 1), fits);
  const auto in_pieces = events_of(key, bytes, 1 + data[0] % 16, fits_in_pieces);
  if (fits != fits_in_pieces || (fits && events != in_pieces)) abort();
  ReplyBuilder stream(key, kMost);
  for (const std::string& event : events)
    if (!stream.add_event(event)) break;
  check(stream);

  ReplyBuilder whole(key, kMost);
  (void)whole.add_whole(bytes);
  check(whole);
  check(error_text(key, bytes));
  return 0;
}
