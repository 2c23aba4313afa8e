// Exchanges as JSON lines, for audits and for tests without a network or a key:
//   {"format": 1, "hash": "…", "request": {…}, "reply": {…} or "failure": {…},
//    "charge": {…}, "attempts": 1, "status": 200, "seconds": 1.5, "time": "2026-01-31T12:00:00Z"}
// A request is what a reply depends on: messages, model, temperature, output tokens asked for,
// response_format. Equal requests get their replies in the order of recording.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "candidates/result.h"
#include "rewriters/llm/client/clock.h"
#include "rewriters/llm/client/endpoint.h"
#include "rewriters/llm/client/message.h"

namespace hone::llm {

/// A request's canonical JSON: equal text, equal request. Errors: kInvalidInput, where a message is
/// not UTF-8 or response_format not JSON.
[[nodiscard]] Result<std::string> canonical_request(const Request& request,
                                                    const Settings& settings);
/// XXH3-128 of a canonical request, in hex: its name in records and messages.
[[nodiscard]] std::string request_hash(std::string_view canonical);

/// Thread-safe.
class Recorder {
 public:
  /// A new file, or an empty one of this user's, of mode 0600. Errors: kIo.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>> open(const std::string& path);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// One line, written whole. Errors: kIo.
  [[nodiscard]] Result<void> write(std::string_view canonical, const Exchange& exchange,
                                   Clock::Date date);

 private:
  Recorder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  const std::string path_;
  const int fd_;
  std::mutex mutex_;
};

/// Thread-safe.
class Replay {
 public:
  /// Errors: kIo; kInvalidInput with the line.
  [[nodiscard]] static Result<std::unique_ptr<Replay>> open(const std::string& path);

  /// The next exchange recorded for this request; none is kNoRecord, saying which.
  [[nodiscard]] Exchange next(const std::string& canonical);
  [[nodiscard]] std::size_t unused() const;  ///< exchanges not asked for yet

 private:
  explicit Replay(std::string path) : path_(std::move(path)) {}

  struct Known {
    std::size_t recorded = 0;
    std::deque<Exchange> left;
  };
  const std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;
};

}  // namespace hone::llm
