#include "engine/queue/redis_parser.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <charconv>
#include <new>
#include <string_view>

namespace hone {

struct RedisParser::State {
  RedisLimits limits;
  std::size_t bytes = 0, values = 0;  ///< so far
  std::string over;                   ///< which limit was passed
};

namespace {

constexpr std::size_t kMaxLine = 64U << 10;  // [B] a status, an error, a length

/// Puts `reply` where it belongs. The pointer stays good while its elements come: its array grows
/// only when it is whole. Null stops hiredis.
void* place(const redisReadTask* task, std::size_t bytes, RedisReply reply) noexcept {
  auto& state = *static_cast<RedisParser::State*>(task->privdata);
  const RedisLimits& limits = state.limits;
  state.bytes += bytes;
  if (++state.values > limits.values) {
    state.over = fmt::format("more than {} values", limits.values);
  } else if (bytes > limits.string_bytes) {
    state.over = fmt::format("a string over {} bytes", limits.string_bytes);
  } else if (state.bytes > limits.total_bytes) {
    state.over = fmt::format("more than {} bytes", limits.total_bytes);
  }
  if (!state.over.empty()) return nullptr;
  try {
    if (task->parent == nullptr) return new RedisReply(std::move(reply));
    auto& siblings = static_cast<RedisReply*>(task->parent->obj)->elements();
    siblings.push_back(std::move(reply));
    return &siblings.back();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* create_string(const redisReadTask* task, char* data, std::size_t size) noexcept {
  const auto& state = *static_cast<const RedisParser::State*>(task->privdata);
  if (size > state.limits.string_bytes) return place(task, size, {});
  try {
    std::string text(data, size);
    RedisReply reply = task->type == REDIS_REPLY_ERROR    ? RedisReply::error(std::move(text))
                       : task->type == REDIS_REPLY_STATUS ? RedisReply::status(std::move(text))
                                                          : RedisReply::string(std::move(text));
    return place(task, size, std::move(reply));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* create_array(const redisReadTask* task, int elements) noexcept {
  auto& state = *static_cast<RedisParser::State*>(task->privdata);
  if (elements > 0 && state.values + static_cast<std::size_t>(elements) > state.limits.values)
    state.over = fmt::format("more than {} values", state.limits.values);
  return place(task, 0, RedisReply::array({}));
}
void* create_integer(const redisReadTask* task, long long value) noexcept {
  return place(task, 0, RedisReply::integer(value));
}
void* create_nil(const redisReadTask* task) noexcept { return place(task, 0, {}); }
void free_reply(void* reply) noexcept { delete static_cast<RedisReply*>(reply); }

redisReplyObjectFunctions functions = {create_string, create_array, create_integer, create_nil,
                                       free_reply};

std::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorCode::kInfrastructure, fmt::format("what came is not a Redis reply, or too "
                                                      "large a one: {}",
                                                      what));
}

}  // namespace

RedisParser::RedisParser(const RedisLimits& limits)
    : state_(std::make_unique<State>()), reader_(redisReaderCreateWithFunctions(&functions)) {
  if (reader_ == nullptr) throw std::bad_alloc();
  state_->limits = limits;
  reader_->privdata = state_.get();
}

RedisParser::~RedisParser() { redisReaderFree(reader_); }

void RedisParser::start() { state_->bytes = state_->values = 0; }

Result<void> RedisParser::feed(std::span<const char> bytes) {
  if (bytes.size() > kChunk) return fail(ErrorCode::kInternal, "a chunk over RedisParser::kChunk");
  if (redisReaderFeed(reader_, bytes.data(), bytes.size()) != REDIS_OK)
    return broken(reader_->errstr);
  return {};
}

Result<std::optional<RedisReply>> RedisParser::next() {
  if (reader_->err == 0 && reader_->pos == reader_->len) return std::nullopt;
  void* raw = nullptr;
  if (redisReaderGetReply(reader_, &raw) != REDIS_OK)
    return broken(state_->over.empty() ? reader_->errstr : state_->over);
  if (raw == nullptr) {
    if (auto ok = check_unfinished(); !ok) return std::unexpected(ok.error());
    return std::nullopt;
  }
  const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(raw));
  return std::move(*reply);
}

/// hiredis collects an unfinished string or line however long it gets, so it is stopped early.
Result<void> RedisParser::check_unfinished() const {
  const std::string_view rest(reader_->buf + reader_->pos, reader_->len - reader_->pos);
  const bool in_string =
      reader_->ridx >= 0 && reader_->rstack[reader_->ridx].type == REDIS_REPLY_STRING;
  const std::size_t line_end = rest.find("\r\n");
  if (line_end == std::string_view::npos || !in_string) {
    if (rest.size() > kMaxLine) return broken(fmt::format("a line over {} bytes", kMaxLine));
    return {};
  }
  long long size = 0;
  std::from_chars(rest.data(), rest.data() + line_end, size);
  if (size > 0 && static_cast<unsigned long long>(size) > state_->limits.string_bytes)
    return broken(fmt::format("a string of {} bytes, over {}", size, state_->limits.string_bytes));
  return {};
}

bool RedisParser::idle() const {
  // hiredis' stack: ridx is -1 before the first reply and after each.
  const bool between = reader_->ridx < 0 || (reader_->ridx == 0 && reader_->rstack[0].type < 0);
  return reader_->pos == reader_->len && between;
}

}  // namespace hone
