// Inputs that tasks read from files, such as a module's weights, on the Redis server: each under
// the SHA-256 of its bytes, in pieces. PROTOCOL.md has the keys. Whoever reaches Redis may have
// written them, so who reads compares the hash. Thread-safe, as Broker is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"
#include "engine/queue/broker.h"

namespace hone::queue {

inline constexpr std::int64_t kMostInput = std::int64_t{1} << 30;       // one [B]
inline constexpr std::int64_t kMostInputs = std::int64_t{4} << 30;      // all on one server [B]
inline constexpr std::int64_t kMostInputCount = 10'000;                 ///< on one server
inline constexpr std::int64_t kInputPiece = std::int64_t{1} << 20;      // of one message [B]
inline constexpr std::int64_t kInputKept_s = std::int64_t{3} * 86'400;  // after the last renewal

struct Input {
  std::string sha256;
  std::int64_t bytes = 0;
};

class Inputs {
 public:
  /// `broker` must outlive it.
  explicit Inputs(Broker& broker) : broker_(broker) {}

  /// Those that the server lacks; room is taken for them. All are kept for kInputKept_s from now.
  /// Errors: kInvalidInput, one is larger than kMostInput, or there is no room: the message says
  /// both sizes.
  [[nodiscard]] Result<std::vector<std::string>> offer(std::span<const Input> inputs);
  /// After offer(). `read(offset, bytes)` is asked for each piece in turn.
  using Read = std::function<Result<std::string>(std::int64_t offset, std::int64_t bytes)>;
  [[nodiscard]] Result<void> put(const Input& input, const Read& read);
  /// Gives each piece in turn to `write`, with the bytes of all pieces, and compares the hash at
  /// the end: only then may what was written be used. Errors: kInvalidInput, the server does not
  /// have it or has other bytes; those of `write`.
  using Write = std::function<Result<void>(std::string_view piece, std::int64_t all)>;
  [[nodiscard]] Result<void> get(const std::string& sha256, const Write& write);
  /// Whether get() would give it; one that is there with other bytes is deleted, so that the next
  /// submit sends it again. One that is being sent stays.
  [[nodiscard]] Result<void> check(const std::string& sha256);
  /// Keeps what these jobs need for kInputKept_s from now.
  [[nodiscard]] Result<void> renew(std::span<const std::string> jobs);

 private:
  enum class State { kGood, kMissing, kDamaged };
  [[nodiscard]] Result<State> read(const std::string& sha256, const Write& write);

  Broker& broker_;
};

/// "1.5 MiB"; below one, "16384 bytes".
[[nodiscard]] std::string size_text(std::int64_t bytes);
/// The hashes of what a task reads of the server, each once.
[[nodiscard]] std::vector<std::string> inputs_of(const Task& task);

}  // namespace hone::queue
