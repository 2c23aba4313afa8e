#include "rewriters/llm/client/record.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
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

constexpr int kFormat = 2;
constexpr int kWithoutKinds = 1;                // the format before
constexpr std::int64_t kLargestFile = 1 << 30;  // [B]
constexpr std::size_t kMostNotes = 16;
// Longest lines [B]; a server's name of a model and its finish reason are as long at most.
constexpr std::size_t kModel = 256, kFinishReason = 40, kKind = 40, kMessage = 1000;
constexpr double kMostSeconds = 1e9;

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

// What follows throws Json's exceptions where a value is missing or of another type.

const std::string& text_at(const Json& json, const char* key) {
  return json.at(key).get_ref<const std::string&>();
}

std::string line_at(const Json& json, const char* key, std::size_t most) {
  return one_line(Key(), text_at(json, key), most);
}

/// Not negative; larger ones count as the largest.
std::int64_t required_count_at(const Json& json, const char* key,
                               std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  const auto value = json.at(key).get_ref<const Json::number_unsigned_t&>();
  return static_cast<std::int64_t>(std::min(value, static_cast<std::uint64_t>(most)));
}

bool flag_at(const Json& json, const char* key) {
  return json.at(key).get_ref<const Json::boolean_t&>();
}

/// Nothing: its text cannot have been a reply's.
std::optional<Reply> reply_from(const Json& json) {
  Reply reply;
  reply.text = text_at(json, "text");
  if (reply.text.empty() || reply.text.contains('\0')) return std::nullopt;
  reply.finish_reason = line_at(json, "finish_reason", kFinishReason);
  reply.model = line_at(json, "model", kModel);
  const Json& usage = json.at("usage");
  reply.usage.input_tokens = required_count_at(usage, "input_tokens");
  reply.usage.output_tokens = required_count_at(usage, "output_tokens");
  reply.usage.exact = flag_at(usage, "exact");
  reply.without_format = flag_at(json, "without_format");
  for (const Json& note : json.at("notes").get_ref<const Json::array_t&>()) {
    if (reply.notes.size() >= kMostNotes) break;
    reply.notes.push_back(one_line(Key(), note.get_ref<const std::string&>(), kMessage));
  }
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

std::optional<Exchange> exchange_from(const Json& json) {
  Exchange exchange;
  const Json& charge = json.at("charge");
  exchange.charge.input_tokens = required_count_at(charge, "input_tokens");
  exchange.charge.output_tokens = required_count_at(charge, "output_tokens");
  exchange.charge.nano_dollars = required_count_at(charge, "nano_dollars");
  exchange.attempts = static_cast<int>(required_count_at(json, "attempts", 1'000'000));
  exchange.http_status = static_cast<int>(required_count_at(json, "status", 999));
  exchange.seconds = std::clamp(json.at("seconds").get<double>(), 0.0, kMostSeconds);
  if (json.contains("reply")) {
    auto reply = reply_from(json.at("reply"));
    if (!reply) return std::nullopt;
    exchange.reply = std::move(*reply);
  } else {
    const Json& failure = json.at("failure");
    const auto kind = kind_from(text_at(failure, "kind"));
    if (!kind) return std::nullopt;
    exchange.reply = std::unexpected(Failure{*kind, line_at(failure, "message", kMessage)});
  }
  return exchange;
}

struct Line {
  std::string canonical, kind, model;
  Exchange exchange;
};

std::optional<Line> read_line(const std::string& text) {
  const auto json = parse_json(text);
  if (!json || !json->is_object()) return std::nullopt;
  try {
    const std::int64_t format = required_count_at(*json, "format");
    if (format != kFormat && format != kWithoutKinds) return std::nullopt;
    Line line;
    line.canonical = json->at("request").dump();
    line.model = line_at(json->at("request"), "model", kModel);
    if (format == kFormat) line.kind = line_at(*json, "kind", kKind);
    auto exchange = exchange_from(*json);
    if (!exchange) return std::nullopt;
    line.exchange = std::move(*exchange);
    return line;
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

Result<void> Recorder::write(std::string_view canonical, std::string_view kind,
                             const Exchange& exchange, Clock::Date date) {
  Json json = json_of(exchange);
  json["format"] = kFormat;
  json["kind"] = kind;
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
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return io_error(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return io_error(path, "not a regular file");
  if (status.st_size > kLargestFile)
    return io_error(path, fmt::format("larger than {} bytes", kLargestFile));
  std::ifstream file(path);
  if (!file) return io_error(path, "cannot be read");
  return read(file, path);
}

Result<std::unique_ptr<Replay>> Replay::read(std::istream& lines, std::string path) {
  std::unique_ptr<Replay> made(new Replay(std::move(path)));
  std::string text;
  for (int number = 1; std::getline(lines, text); ++number) {
    if (text.empty()) continue;
    auto line = read_line(text);
    if (!line)
      return invalid(
          fmt::format("record file '{}', line {}: not an exchange as --llm-record "
                      "writes it (format {})",
                      made->path_, number, kFormat));
    if (made->exchanges_.empty()) made->model_ = std::move(line->model);
    made->add(std::move(line->canonical), std::move(line->kind), std::move(line->exchange));
  }
  if (lines.bad()) return io_error(made->path_, "cannot be read to its end");
  if (made->exchanges_.empty())
    return invalid(fmt::format("record file '{}' holds no exchange", made->path_));
  made->used_.resize(made->exchanges_.size(), false);
  return made;
}

void Replay::add(std::string canonical, std::string kind, Exchange exchange) {
  const std::size_t number = exchanges_.size();
  exchanges_.push_back(std::move(exchange));
  of_request_[std::move(canonical)].exchanges.push_back(number);
  if (kind.empty()) return;
  const auto [choice, is_new] = of_kind_.try_emplace(std::move(kind));
  choice->second.exchanges.push_back(number);
  if (is_new) kinds_.push_back(choice->first);
}

std::optional<std::size_t> Replay::first_unused(Choices& choices, const std::string& key) {
  const auto found = choices.find(key);
  if (found == choices.end()) return std::nullopt;
  auto& [exchanges, next] = found->second;
  while (next < exchanges.size() && used_[exchanges[next]]) ++next;
  if (next == exchanges.size()) return std::nullopt;
  return exchanges[next];
}

Failure Replay::nothing_for(const std::string& canonical, const std::string& kind) const {
  if (given_ == exchanges_.size())
    return {FailureKind::kRecordEnd,
            fmt::format("record file '{}' has no more than its {} replies", path_, given_)};
  if (!kind.empty() && !kinds_.empty()) {
    const auto found = of_kind_.find(kind);
    const std::size_t recorded = found == of_kind_.end() ? 0 : found->second.exchanges.size();
    return {FailureKind::kNoRecord,
            fmt::format("record file '{}' has {} of kind '{}'", path_,
                        recorded == 0 ? "no reply" : fmt::format("only {}", recorded), kind)};
  }
  const auto found = of_request_.find(canonical);
  const std::size_t recorded = found == of_request_.end() ? 0 : found->second.exchanges.size();
  return {FailureKind::kNoRecord,
          fmt::format("record file '{}' has {} of request {}, whose last message begins \"{}\"; "
                      "record it anew with the same task, seed and settings",
                      path_, recorded == 0 ? "no reply" : fmt::format("only {}", recorded),
                      request_hash(canonical), beginning(canonical))};
}

Exchange Replay::next(const std::string& canonical, const std::string& kind) {
  std::lock_guard lock(mutex_);
  auto number = first_unused(of_request_, canonical);
  if (!number && !kind.empty()) {
    number = first_unused(of_kind_, kind);
    if (number) ++by_kind_;
  }
  if (!number) return {.reply = std::unexpected(nothing_for(canonical, kind))};
  used_[*number] = true;
  ++given_;
  return std::move(exchanges_[*number]);
}

std::size_t Replay::unused() const {
  std::lock_guard lock(mutex_);
  return exchanges_.size() - given_;
}

std::size_t Replay::taken_by_kind() const {
  std::lock_guard lock(mutex_);
  return by_kind_;
}

}  // namespace hone::llm
