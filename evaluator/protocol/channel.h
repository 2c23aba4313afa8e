// Framed CBOR over a stream socket. A frame is the four bytes "HON2", the length of the body as a
// little-endian u32, eight bytes that name the request and that its reply repeats, and the body:
// one CBOR value. One thread at a time per direction.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"

namespace hone::protocol {

inline constexpr int kVersion = 13;
inline constexpr int kChildChannel = 3;  ///< the descriptor at which a child finds its end
inline constexpr std::uint32_t kMaxFrame = 64U << 20;  // [B]
inline constexpr int kMaxDepth = 24;
inline constexpr int kMaxValues = 1 << 19;  ///< in one message, keys included

enum class ReceiveStatus {
  kOk,
  kClosed,  ///< the other side is gone
  kTimeout,
  kMalformed,  ///< not our framing, too long, not CBOR, too deep
};

struct Received {
  ReceiveStatus status = ReceiveStatus::kClosed;
  nlohmann::json message;
  std::uint64_t request = 0;  ///< which one it is or answers; 0: none
  std::string detail;         ///< when malformed
};

/// A message's body as it travels.
struct Frame {
  std::vector<std::uint8_t> body;
};
/// Errors: kInfrastructure for a message over kMaxFrame.
[[nodiscard]] Result<Frame> frame(const nlohmann::json& message);

class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}  ///< does not own `fd`

  /// `timeout_s` < 0 waits for ever. Errors: kInfrastructure.
  [[nodiscard]] Result<void> send(const nlohmann::json& message, double timeout_s = -1,
                                  std::uint64_t request = 0);
  [[nodiscard]] Result<void> send(const Frame& frame, double timeout_s = -1,
                                  std::uint64_t request = 0);

  /// Waits for one whole frame.
  [[nodiscard]] Received receive(double timeout_s);

 private:
  [[nodiscard]] Result<void> send_bytes(const std::uint8_t* bytes, std::size_t size,
                                        double timeout_s);

  int fd_;
};

[[nodiscard]] std::vector<std::uint8_t> encode(const nlohmann::json& message);
/// Rejects trailing bytes, nesting beyond kMaxDepth and anything that is not CBOR.
[[nodiscard]] Result<nlohmann::json> decode(const std::uint8_t* data, std::size_t size);

/// A blob as CBOR's byte string.
[[nodiscard]] nlohmann::json blob(std::string_view bytes);

// Checked readers: a missing field, another type or an over-long value is an Error, never an
// exception.
[[nodiscard]] Result<std::string> get_string(const nlohmann::json& object, const char* key,
                                             std::size_t max_bytes = 1U << 20);
[[nodiscard]] Result<std::string> get_blob(const nlohmann::json& object, const char* key,
                                           std::size_t max_bytes = kMaxFrame);
[[nodiscard]] Result<std::int64_t> get_int(const nlohmann::json& object, const char* key);
[[nodiscard]] Result<double> get_double(const nlohmann::json& object, const char* key);
[[nodiscard]] Result<bool> get_bool(const nlohmann::json& object, const char* key);
[[nodiscard]] Result<const nlohmann::json*> get_array(const nlohmann::json& object, const char* key,
                                                      std::size_t max_size = 4096);
[[nodiscard]] Result<const nlohmann::json*> get_object(const nlohmann::json& object,
                                                       const char* key);

/// The text of {"error": text}, which a runner sends instead of a reply; cleaned.
[[nodiscard]] std::optional<std::string> error_of(const nlohmann::json& reply);
/// A time, a ratio or a count: finite and not negative.
[[nodiscard]] Result<double> get_positive(const nlohmann::json& object, const char* key);

/// Text from a compiler or a child, fit for a log, JSON and a terminal: valid UTF-8, no control
/// characters but newline and tab, at most `max_bytes`.
[[nodiscard]] std::string clean_text(std::string_view text, std::size_t max_bytes);

}  // namespace hone::protocol
