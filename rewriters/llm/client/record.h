// Exchanges as JSON lines, for audits and for tests without a network or a key:
//   {"format": 2, "kind": "…", "hash": "…", "request": {…}, "reply": {…} or "failure": {…},
//    "charge": {…}, "attempts": 1, "status": 200, "seconds": 1.5, "time": "2026-01-31T12:00:00Z"}
// A request is what a reply depends on: messages, model, temperature, output tokens asked for,
// response_format. Equal requests get their replies in the order of recording; where there is none,
// so do requests of one kind. Format 1 has no kinds: it answers equal requests only.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  [[nodiscard]] Result<void> write(std::string_view canonical, std::string_view kind,
                                   const Exchange& exchange, Clock::Date date);

 private:
  Recorder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  const std::string path_;
  const int fd_;
  std::mutex mutex_;
};

/// A record may be a stranger's: what comes out of it is as clean as what a server sends.
/// Thread-safe.
class Replay {
 public:
  /// Errors: kIo; kInvalidInput with the line.
  [[nodiscard]] static Result<std::unique_ptr<Replay>> open(const std::string& path);
  /// `path` is for messages. Errors: as open().
  [[nodiscard]] static Result<std::unique_ptr<Replay>> read(std::istream& lines, std::string path);

  /// The next exchange recorded for this request, else the next one of this kind (if it has one).
  /// Failures: kNoRecord, kRecordEnd.
  [[nodiscard]] Exchange next(const std::string& canonical, const std::string& kind = "");
  [[nodiscard]] std::size_t unused() const;  ///< exchanges not asked for yet
  /// Of those given: to requests that are not the recorded ones.
  [[nodiscard]] std::size_t taken_by_kind() const;

  /// Of the first request; one line.
  [[nodiscard]] const std::string& model() const { return model_; }
  /// In the order in which they first appear, one line each; of format 1 none.
  [[nodiscard]] const std::vector<std::string>& kinds() const { return kinds_; }

 private:
  explicit Replay(std::string path) : path_(std::move(path)) {}

  /// Exchanges that one request may get.
  struct Choice {
    std::vector<std::size_t> exchanges;
    std::size_t next = 0;  ///< those before are used
  };
  using Choices = std::map<std::string, Choice, std::less<>>;
  void add(std::string canonical, std::string kind, Exchange exchange);
  [[nodiscard]] std::optional<std::size_t> first_unused(Choices& choices, const std::string& key);
  [[nodiscard]] Failure nothing_for(const std::string& canonical, const std::string& kind) const;

  const std::string path_;
  std::string model_;
  std::vector<std::string> kinds_;
  mutable std::mutex mutex_;         ///< of what follows
  std::vector<Exchange> exchanges_;  ///< as recorded
  std::vector<bool> used_;           ///< of these
  std::size_t given_ = 0, by_kind_ = 0;
  Choices of_request_, of_kind_;
};

}  // namespace hone::llm
