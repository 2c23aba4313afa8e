#include "rewriters/llm/client/record.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "rewriters/llm/client/key.h"
#include "rewriters/llm/client/scrubber.h"
#include "rewriters/llm/client/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hone::llm {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr std::size_t kLongestLine = 1 << 30;

std::unexpected<Error> io_error(const std::string& path, std::string_view what) {
  return fail(ErrorCode::kIo, fmt::format("record file '{}': {}", path, what));
}

Json json_of(const Reply& reply) {
  return {{"text", reply.text},
          {"finish_reason", reply.finish_reason},
          {"model", reply.model},
          {"usage",
           {{"input_tokens", reply.usage.input_tokens},
            {"output_tokens", reply.usage.output_tokens},
            {"exact", reply.usage.exact}}},
          {"without_format", reply.without_format},
          {"notes", reply.notes}};
}

Reply reply_from(const Json& json) {
  Reply reply;
  json.at("text").get_to(reply.text);
  json.at("finish_reason").get_to(reply.finish_reason);
  json.at("model").get_to(reply.model);
  const Json& usage = json.at("usage");
  usage.at("input_tokens").get_to(reply.usage.input_tokens);
  usage.at("output_tokens").get_to(reply.usage.output_tokens);
  usage.at("exact").get_to(reply.usage.exact);
  json.at("without_format").get_to(reply.without_format);
  json.at("notes").get_to(reply.notes);
  return reply;
}

Json json_of(const Exchange& exchange) {
  Json json = {{"charge",
                {{"input_tokens", exchange.charge.input_tokens},
                 {"output_tokens", exchange.charge.output_tokens},
                 {"nano_dollars", exchange.charge.nano_dollars}}},
               {"attempts", exchange.attempts},
               {"status", exchange.http_status},
               {"seconds", exchange.seconds}};
  if (exchange.reply) {
    json["reply"] = json_of(*exchange.reply);
  } else {
    const Failure& failure = exchange.reply.error();
    json["failure"] = {{"kind", kind_name(failure.kind)}, {"message", failure.message}};
  }
  return json;
}

/// Throws what nlohmann's json throws; nothing: a value is out of range.
std::optional<Exchange> exchange_from(const Json& json) {
  Exchange exchange;
  const Json& charge = json.at("charge");
  charge.at("input_tokens").get_to(exchange.charge.input_tokens);
  charge.at("output_tokens").get_to(exchange.charge.output_tokens);
  charge.at("nano_dollars").get_to(exchange.charge.nano_dollars);
  json.at("attempts").get_to(exchange.attempts);
  json.at("status").get_to(exchange.http_status);
  json.at("seconds").get_to(exchange.seconds);
  if (exchange.charge.input_tokens < 0 || exchange.charge.output_tokens < 0 ||
      exchange.charge.nano_dollars < 0)
    return std::nullopt;
  if (json.contains("reply")) {
    exchange.reply = reply_from(json.at("reply"));
  } else {
    const Json& failure = json.at("failure");
    const auto kind = kind_from(failure.at("kind").get<std::string>());
    if (!kind) return std::nullopt;
    exchange.reply = std::unexpected(Failure{*kind, failure.at("message").get<std::string>()});
  }
  return exchange;
}

struct Line {
  std::string canonical;
  Exchange exchange;
};

std::optional<Line> read_line(const std::string& text) {
  const auto json = parse_json(text);
  if (!json || !json->is_object()) return std::nullopt;
  try {
    if (json->at("format").get<int>() != kFormat) return std::nullopt;
    std::string canonical = json->at("request").dump();
    auto exchange = exchange_from(*json);
    if (!exchange) return std::nullopt;
    return Line{std::move(canonical), std::move(*exchange)};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

/// How the last message of a canonical request begins.
std::string beginning(const std::string& canonical) {
  const Json json = Json::parse(canonical, nullptr, false);
  if (!json.is_object() || !json.contains("messages") || json["messages"].empty()) return "";
  return one_line(Key(), json["messages"].back().value("text", ""), 60);
}

}  // namespace

Result<std::string> canonical_request(const Request& request, const Settings& settings) {
  Json json;
  json["messages"] = Json::array();
  for (const Message& message : request.messages)
    json["messages"].push_back({{"role", role_name(message.role)}, {"text", message.text}});
  json["model"] = settings.model;
  json["temperature"] = settings.temperature ? Json(*settings.temperature) : Json();
  json["max_output_tokens"] =
      request.max_output_tokens > 0 ? request.max_output_tokens : settings.max_output_tokens;
  if (!request.response_format.empty()) {
    auto format = parse_json(request.response_format);
    if (!format || !format->is_object())
      return invalid("the request's response_format is not a JSON object");
    json["response_format"] = std::move(*format);
  }
  try {
    return json.dump();
  } catch (const Json::exception&) {
    return invalid("a message of the request is not UTF-8");
  }
}

std::string request_hash(std::string_view canonical) {
  const XXH128_hash_t hash = XXH3_128bits(canonical.data(), canonical.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& path) {
  const int fd = ::open(path.c_str(),
                        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) return io_error(path, errno == ELOOP ? "a symbolic link" : std::strerror(errno));
  std::unique_ptr<Recorder> made(new Recorder(path, fd));
  struct stat status{};
  if (fstat(fd, &status) != 0) return io_error(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
    return io_error(path, "not a regular file of yours");
  if (status.st_size != 0) return io_error(path, "there already, and not empty; name a new one");
  if (fchmod(fd, 0600) != 0) return io_error(path, std::strerror(errno));
  return made;
}

Recorder::~Recorder() { close(fd_); }

Result<void> Recorder::write(std::string_view canonical, const Exchange& exchange,
                             Clock::Date date) {
  Json json = json_of(exchange);
  json["format"] = kFormat;
  json["hash"] = request_hash(canonical);
  json["request"] = Json::parse(canonical);
  json["time"] = fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(date)));
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  std::lock_guard lock(mutex_);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t count = ::write(fd_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return io_error(path_, std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::unique_ptr<Replay>> Replay::open(const std::string& path) {
  std::ifstream file(path);
  if (!file) return io_error(path, "cannot be read");
  std::unique_ptr<Replay> made(new Replay(path));
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    if (text.empty()) continue;
    auto line = text.size() > kLongestLine ? std::nullopt : read_line(text);
    if (!line)
      return invalid(
          fmt::format("record file '{}', line {}: not an exchange as --llm-record "
                      "writes it (format {})",
                      path, number, kFormat));
    Known& known = made->known_[std::move(line->canonical)];
    ++known.recorded;
    known.left.push_back(std::move(line->exchange));
  }
  if (file.bad()) return io_error(path, "cannot be read to its end");
  return made;
}

Exchange Replay::next(const std::string& canonical) {
  std::lock_guard lock(mutex_);
  const auto found = known_.find(canonical);
  if (found == known_.end() || found->second.left.empty()) {
    const std::size_t recorded = found == known_.end() ? 0 : found->second.recorded;
    return {.reply = std::unexpected(Failure{
                FailureKind::kNoRecord,
                fmt::format("record file '{}' has {} of request {}, whose last message begins "
                            "\"{}\"; record it anew with the same task, seed and settings",
                            path_, recorded == 0 ? "no reply" : fmt::format("only {}", recorded),
                            request_hash(canonical), beginning(canonical))})};
  }
  Exchange exchange = std::move(found->second.left.front());
  found->second.left.pop_front();
  return exchange;
}

std::size_t Replay::unused() const {
  std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [canonical, known] : known_) count += known.left.size();
  return count;
}

}  // namespace hone::llm
