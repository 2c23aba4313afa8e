// Requests and responses as the handlers see them: plain values, no socket, no library.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candidates/result.h"

namespace hone::web {

using Fields = std::map<std::string, std::string, std::less<>>;

struct Request {
  std::string method;  ///< "GET" also for HEAD
  std::string path;    ///< decoded
  Fields query;        ///< decoded; of a name given twice, the first
  Fields headers;      ///< names in lower case; likewise
  Fields form;         ///< of a multipart form; of a file, what is in it
  std::string body;    ///< of anything else

  /// "" where there is none.
  [[nodiscard]] const std::string& param(std::string_view name) const { return find(query, name); }
  [[nodiscard]] const std::string& header(std::string_view name) const {
    return find(headers, name);
  }
  [[nodiscard]] const std::string& field(std::string_view name) const { return find(form, name); }

 private:
  static const std::string& find(const Fields& fields, std::string_view name) {
    static const std::string kNone;
    const auto found = fields.find(name);
    return found == fields.end() ? kNone : found->second;
  }
};

/// What a stream of server-sent events says next. Asked twice a second, by one thread.
class EventSource {
 public:
  virtual ~EventSource() = default;
  /// Whole events, or "" for nothing new. Once `ended()`, no more is asked.
  [[nodiscard]] virtual std::string next() = 0;
  [[nodiscard]] virtual bool ended() const = 0;
};

struct Response {
  int status = 200;
  std::string type = "text/html; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::shared_ptr<EventSource> events;  ///< instead of a body
};

/// What went wrong, for the one who asked. How it looks is up to who answers: a page or JSON.
struct Failure {
  int status = 500;
  std::string code = "internal";  ///< for programs: "not_found", …
  std::string message;            ///< for people
};
using Answer = std::expected<Response, Failure>;

inline std::unexpected<Failure> failure(int status, std::string code, std::string message) {
  return std::unexpected(Failure{status, std::move(code), std::move(message)});
}
inline std::unexpected<Failure> not_found(std::string message) {
  return failure(404, "not_found", std::move(message));
}
inline std::unexpected<Failure> bad_request(std::string message) {
  return failure(400, "bad_request", std::move(message));
}

}  // namespace hone::web
