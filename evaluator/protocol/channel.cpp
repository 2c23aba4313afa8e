#include "evaluator/protocol/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

namespace hone::protocol {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

using Header = std::array<std::uint8_t, 16>;
constexpr char kMagic[4] = {'H', 'O', 'N', '2'};

void put_little_endian(std::uint8_t* out, int bytes, std::uint64_t value) {
  for (int i = 0; i < bytes; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint64_t get_little_endian(const std::uint8_t* in, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(in[i]) << (8 * i);
  return value;
}

/// Builds the DOM but bounds nesting, which the library's recursive reader does not.
class BoundedBuilder : public nlohmann::detail::json_sax_dom_parser<Json> {
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;

 public:
  explicit BoundedBuilder(Json& root) : Base(root, false) {}
  // Every value costs 16 bytes and more here and may be one byte there.
  bool null() { return ++values_ <= kMaxValues && Base::null(); }
  bool boolean(bool v) { return ++values_ <= kMaxValues && Base::boolean(v); }
  bool number_integer(std::int64_t v) { return ++values_ <= kMaxValues && Base::number_integer(v); }
  bool number_unsigned(std::uint64_t v) {
    return ++values_ <= kMaxValues && Base::number_unsigned(v);
  }
  bool number_float(double v, const std::string& text) {
    return ++values_ <= kMaxValues && Base::number_float(v, text);
  }
  bool string(std::string& v) { return ++values_ <= kMaxValues && Base::string(v); }
  bool binary(Json::binary_t& v) { return ++values_ <= kMaxValues && Base::binary(v); }
  bool key(std::string& v) { return ++values_ <= kMaxValues && Base::key(v); }
  bool start_object(std::size_t n) {
    return ++depth_ <= kMaxDepth && ++values_ <= kMaxValues && Base::start_object(n);
  }
  bool end_object() { return --depth_, Base::end_object(); }
  bool start_array(std::size_t n) {
    return ++depth_ <= kMaxDepth && ++values_ <= kMaxValues && Base::start_array(n);
  }
  bool end_array() { return --depth_, Base::end_array(); }

 private:
  int depth_ = 0, values_ = 0;
};

/// Milliseconds for poll(); -1 for ever.
int remaining_ms(double timeout_s, Clock::time_point deadline) {
  if (timeout_s < 0) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000'000));
}

Clock::time_point deadline_after(double timeout_s) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::max(0.0, timeout_s)));
}

/// Fills `out` or says why not.
ReceiveStatus read_exactly(int fd, std::uint8_t* out, std::size_t size, double timeout_s,
                           Clock::time_point deadline) {
  while (size > 0) {
    pollfd p{fd, POLLIN, 0};
    const int ready = poll(&p, 1, remaining_ms(timeout_s, deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return ReceiveStatus::kClosed;
    if (ready == 0) return ReceiveStatus::kTimeout;
    const ssize_t n = recv(fd, out, size, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return ReceiveStatus::kClosed;
    out += n;
    size -= static_cast<std::size_t>(n);
  }
  return ReceiveStatus::kOk;
}

std::unexpected<Error> bad_field(const char* key, std::string_view expected) {
  return fail(ErrorCode::kInfrastructure,
              fmt::format("runner protocol: field '{}' is not {}", key, expected));
}

const Json* field(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

/// Is a string in pieces among the values? The library reads pieces of pieces by recursion, without
/// bound; encode() makes none. Headers follow each other, however deep their values are.
bool has_string_in_pieces(const std::uint8_t* data, std::size_t size) {
  constexpr int kBytes = 2, kText = 3, kNoLength = 31;
  for (std::size_t at = 0; at < size;) {
    const int major = data[at] >> 5, info = data[at] & 31;
    const bool is_string = major == kBytes || major == kText;
    if (is_string && info == kNoLength) return true;
    const std::size_t more = info >= 24 && info <= 27 ? std::size_t{1} << (info - 24) : 0;
    ++at;
    if (more > size - at) return false;  // cut
    std::uint64_t value = more == 0 ? static_cast<std::uint64_t>(info) : 0;
    for (std::size_t i = 0; i < more; ++i) value = value << 8 | data[at + i];
    at += more;
    if (!is_string) continue;
    if (value > size - at) return false;
    at += static_cast<std::size_t>(value);
  }
  return false;
}

}  // namespace

std::vector<std::uint8_t> encode(const Json& message) { return Json::to_cbor(message); }

Result<Json> decode(const std::uint8_t* data, std::size_t size) {
  Json root;
  if (has_string_in_pieces(data, size))
    return fail(ErrorCode::kInfrastructure, "runner protocol: a string in pieces");
  try {
    BoundedBuilder builder(root);
    if (!Json::sax_parse(data, data + size, &builder, Json::input_format_t::cbor, true) ||
        builder.is_errored()) {
      return fail(ErrorCode::kInfrastructure, "runner protocol: not a CBOR value");
    }
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInfrastructure,
                fmt::format("runner protocol: not a CBOR value: {}", e.what()));
  }
  return root;
}

Result<Frame> frame(const Json& message) {
  auto body = encode(message);
  if (body.size() > kMaxFrame) {
    return fail(ErrorCode::kInfrastructure,
                fmt::format("runner protocol: message of {} bytes is over the limit", body.size()));
  }
  return Frame{std::move(body)};
}

Result<void> Channel::send(const Json& message, double timeout_s, std::uint64_t request) {
  const auto whole = frame(message);
  if (!whole) return std::unexpected(whole.error());
  return send(*whole, timeout_s, request);
}

Result<void> Channel::send(const Frame& whole, double timeout_s, std::uint64_t request) {
  Header header;
  std::memcpy(header.data(), kMagic, sizeof kMagic);
  put_little_endian(header.data() + 4, 4, whole.body.size());
  put_little_endian(header.data() + 8, 8, request);
  if (auto sent = send_bytes(header.data(), header.size(), timeout_s); !sent) return sent;
  return send_bytes(whole.body.data(), whole.body.size(), timeout_s);
}

Result<void> Channel::send_bytes(const std::uint8_t* bytes, std::size_t size, double timeout_s) {
  const auto deadline = deadline_after(timeout_s);
  std::size_t sent = 0;
  while (sent < size) {
    const ssize_t n = ::send(fd_, bytes + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd p{fd_, POLLOUT, 0};
      if (poll(&p, 1, remaining_ms(timeout_s, deadline)) == 0)
        return fail(ErrorCode::kInfrastructure, "runner does not read its messages");
      continue;
    }
    return fail(ErrorCode::kInfrastructure, "runner closed its channel");
  }
  return {};
}

Received Channel::receive(double timeout_s) {
  const auto deadline = deadline_after(timeout_s);
  Received result;
  Header header;
  result.status = read_exactly(fd_, header.data(), header.size(), timeout_s, deadline);
  if (result.status != ReceiveStatus::kOk) return result;
  const auto length = get_little_endian(header.data() + 4, 4);
  result.request = get_little_endian(header.data() + 8, 8);
  if (std::memcmp(header.data(), kMagic, 4) != 0 || length == 0 || length > kMaxFrame) {
    result.status = ReceiveStatus::kMalformed;
    result.detail = "bad frame header";
    return result;
  }
  // Grow with what really arrives: a lying length must not cost memory.
  std::vector<std::uint8_t> body;
  while (body.size() < length) {
    const std::size_t have = body.size();
    const std::size_t chunk = std::min<std::size_t>(length - have, 1U << 20);
    body.resize(have + chunk);
    result.status = read_exactly(fd_, body.data() + have, chunk, timeout_s, deadline);
    if (result.status != ReceiveStatus::kOk) return result;
  }
  auto message = decode(body.data(), body.size());
  if (!message) {
    result.status = ReceiveStatus::kMalformed;
    result.detail = message.error().message;
    return result;
  }
  result.message = std::move(*message);
  return result;
}

Json blob(std::string_view bytes) {
  return Json::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

Result<std::string> get_string(const Json& object, const char* key, std::size_t max_bytes) {
  const Json* value = field(object, key);
  if (value == nullptr || !value->is_string()) return bad_field(key, "a string");
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > max_bytes) return bad_field(key, "short enough");
  return text;
}

Result<std::string> get_blob(const Json& object, const char* key, std::size_t max_bytes) {
  const Json* value = field(object, key);
  if (value == nullptr || !value->is_binary()) return bad_field(key, "a byte string");
  const auto& bytes = value->get_binary();
  if (bytes.size() > max_bytes) return bad_field(key, "short enough");
  return std::string(bytes.begin(), bytes.end());
}

Result<std::int64_t> get_int(const Json& object, const char* key) {
  const Json* value = field(object, key);
  if (value == nullptr || !value->is_number_integer()) return bad_field(key, "an integer");
  return value->get<std::int64_t>();
}

Result<double> get_double(const Json& object, const char* key) {
  const Json* value = field(object, key);
  if (value == nullptr || !value->is_number()) return bad_field(key, "a number");
  return value->get<double>();
}

std::optional<std::string> error_of(const Json& reply) {
  if (!reply.is_object() || !reply.contains("error")) return std::nullopt;
  const auto text = get_string(reply, "error");
  return text ? clean_text(*text, 1024) : "unreadable error";
}

Result<double> get_positive(const Json& object, const char* key) {
  const auto value = get_double(object, key);
  if (value && (!std::isfinite(*value) || *value < 0))
    return bad_field(key, "finite and at least 0");
  return value;
}

Result<bool> get_bool(const Json& object, const char* key) {
  const Json* value = field(object, key);
  if (value == nullptr || !value->is_boolean()) return bad_field(key, "a boolean");
  return value->get<bool>();
}

Result<const Json*> get_array(const Json& object, const char* key, std::size_t max_size) {
  const Json* value = field(object, key);
  if (value == nullptr || !value->is_array()) return bad_field(key, "an array");
  if (value->size() > max_size) return bad_field(key, "short enough");
  return value;
}

Result<const Json*> get_object(const Json& object, const char* key) {
  const Json* value = field(object, key);
  if (value == nullptr || !value->is_object()) return bad_field(key, "an object");
  return value;
}

std::string clean_text(std::string_view text, std::size_t max_bytes) {
  std::string out;
  out.reserve(std::min(text.size(), max_bytes));
  for (std::size_t i = 0; i < text.size() && out.size() < max_bytes;) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    if (c >= 0xC2 && c <= 0xDF) length = 2;
    if (c >= 0xE0 && c <= 0xEF) length = 3;
    if (c >= 0xF0 && c <= 0xF4) length = 4;
    bool valid = c < 0x80 ? (c >= 0x20 && c != 0x7F) || c == '\n' || c == '\t' : length > 1;
    for (std::size_t k = 1; k < length && valid; ++k) {
      valid = i + k < text.size() && (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    }
    // Overlong forms, surrogates and values past U+10FFFF.
    if (valid && length >= 3) {
      const auto d = static_cast<unsigned char>(text[i + 1]);
      if ((c == 0xE0 && d < 0xA0) || (c == 0xED && d > 0x9F) || (c == 0xF0 && d < 0x90) ||
          (c == 0xF4 && d > 0x8F)) {
        valid = false;
      }
    }
    if (valid) {
      if (out.size() + length > max_bytes) break;
      out.append(text.substr(i, length));
      i += length;
    } else {
      if (c != '\0' && c != '\r') out += '?';
      ++i;
    }
  }
  return out;
}

}  // namespace hone::protocol
