#include "engine/queue/broker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "engine/queue/inputs.h"
#include "engine/queue/scripts.h"
#include "evaluator/protocol/channel.h"

namespace hone::queue {
namespace {

constexpr std::int64_t kJobsListed_ms = 30LL * 24 * 3600 * 1000;

Result<RedisReply> checked(Result<RedisReply> reply, std::string_view what) {
  if (reply && reply->is_error()) return std::unexpected(reply->as_error(what));
  return reply;
}

/// The ids in a list of them; what is none is left out.
Result<std::vector<std::string>> ids_in(Result<RedisReply> reply, std::string_view what) {
  reply = checked(std::move(reply), what);
  if (!reply) return std::unexpected(reply.error());
  const auto list = reply->as_array();
  if (!list) return std::unexpected(list.error());
  std::vector<std::string> ids;
  for (const RedisReply& item : *list)
    if (const auto id = item.as_string(); id && is_id(*id)) ids.emplace_back(*id);
  return ids;
}

/// Who may not read it is told nothing.
std::string said_in(const RedisReply& reply) {
  const auto text = reply.as_string();
  return text ? protocol::clean_text(*text, 200) : "";
}

}  // namespace

std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

const std::string& StreamEntry::field(std::string_view name) const {
  static const std::string none;
  const auto found = std::ranges::find(fields, name, &std::pair<std::string, std::string>::first);
  return found == fields.end() ? none : found->second;
}

Result<std::vector<StreamEntry>> entries_from(const RedisReply& reply) {
  std::vector<StreamEntry> entries;
  const auto list = reply.as_array();
  if (!list) return std::unexpected(list.error());
  for (const RedisReply& item : *list) {
    if (item.is_nil()) continue;
    const auto pair = item.as_array();
    if (!pair) return std::unexpected(pair.error());
    if (pair->size() != 2) return fail(ErrorCode::kInternal, "a stream's entry has two parts");
    const auto id = (*pair)[0].as_string();
    if (!id) return std::unexpected(id.error());
    if ((*pair)[1].is_nil()) continue;
    const auto words = (*pair)[1].as_array();
    if (!words) return std::unexpected(words.error());
    StreamEntry entry{std::string(*id), {}};
    for (std::size_t i = 0; i + 1 < words->size(); i += 2) {
      const auto name = (*words)[i].as_string(), value = (*words)[i + 1].as_string();
      if (!name) return std::unexpected(name.error());
      if (!value) return std::unexpected(value.error());
      entry.fields.emplace_back(*name, *value);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<void> Broker::submit(const JobMessage& job) {
  const auto message = encode(job);
  if (!message) return std::unexpected(message.error());
  JobStatus queued{.id = job.id, .updated_at = now_ms()};
  const auto status = encode(queued);
  if (!status) return std::unexpected(status.error());
  const std::string jobs = keys_.jobs(), own = keys_.job(job.id), ids = keys_.job_ids();
  const auto about_it = encode(about(job));
  if (!about_it) return std::unexpected(about_it.error());
  const std::string owner = about_from(*about_it).value_or(JobAbout{}).owner;  // cleaned
  const std::string priority = std::to_string(job.priority), most = std::to_string(kMostJobs),
                    listed = std::to_string(kJobsListed_ms),
                    inputs = fmt::format("{}", fmt::join(inputs_of(job.task), " "));
  auto reply = redis_->script(scripts::kSubmit, std::vector<std::string_view>{jobs, own, ids},
                              std::vector<std::string_view>{job.id, *message, *status, priority,
                                                            most, listed, *about_it, owner, inputs},
                              kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  const auto answer = reply->as_string();
  if (!answer) return std::unexpected(reply->as_error("cannot submit the job"));
  if (*answer == "full") {
    return fail(
        ErrorCode::kEnvironment,
        fmt::format("there are {} jobs already; submit again when some have ended", kMostJobs));
  }
  return {};
}

Result<JobStatus> Broker::status(const std::string& id) {
  const auto unknown = [&] { return invalid(fmt::format("there is no job '{}'", id)); };
  if (!is_id(id)) return unknown();
  const auto reply = redis_->call({"HGET", keys_.job(id), "status"}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_nil()) return unknown();
  const auto bytes = reply->as_string();
  if (!bytes) return std::unexpected(reply->as_error("cannot read the job"));
  return status_from(*bytes);
}

Result<bool> Broker::cancel(const std::string& id) {
  const auto unknown = [&] { return invalid(fmt::format("there is no job '{}'", id)); };
  if (!is_id(id)) return unknown();
  const std::string job = keys_.job(id), cancelled = keys_.cancelled();
  const auto reply = redis_->script(scripts::kCancel, std::vector<std::string_view>{job, cancelled},
                                    std::vector<std::string_view>{id}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  const auto answer = reply->as_integer();
  if (!answer) return std::unexpected(reply->as_error("cannot cancel the job"));
  if (*answer == -1) return unknown();
  return *answer == 1;
}

Result<void> Broker::report(const WorkerMessage& worker, double ttl_s) {
  const auto message = encode(worker);
  if (!message) return std::unexpected(message.error());
  const auto ttl = std::to_string(static_cast<std::int64_t>(1000 * ttl_s));
  const auto replies =
      redis_->pipeline({{"SET", keys_.worker(worker.id), *message, "PX", ttl},
                        {"ZADD", keys_.workers(), std::to_string(now_ms()), worker.id}},
                       kRepeatable);
  if (!replies) return std::unexpected(replies.error());
  for (const RedisReply& reply : *replies)
    if (reply.is_error()) return std::unexpected(reply.as_error("cannot register the worker"));
  return {};
}

Result<void> Broker::leave(const std::string& worker) {
  const auto replies = redis_->pipeline(
      {{"DEL", keys_.worker(worker)}, {"ZREM", keys_.workers(), worker}}, kRepeatable);
  if (!replies) return std::unexpected(replies.error());
  return {};
}

Result<std::vector<WorkerMessage>> Broker::workers() {
  auto all = registered();
  if (!all) return std::unexpected(all.error());
  return std::move(all->workers);
}

Result<Registered> Broker::registered() {
  const auto ids = ids_in(redis_->call({"ZRANGE", keys_.workers(), "0", "-1"}, kRepeatable),
                          "cannot list the workers");
  if (!ids) return std::unexpected(ids.error());
  std::vector<std::vector<std::string>> commands;
  for (const auto& id : *ids) commands.push_back({"GET", keys_.worker(id)});
  Registered all;
  if (commands.empty()) return all;
  const auto replies = redis_->pipeline(commands, kRepeatable);
  if (!replies) return std::unexpected(replies.error());
  for (std::size_t i = 0; i < replies->size(); ++i) {
    const auto bytes = (*replies)[i].as_string();
    if (!bytes) {  // it said nothing for a while
      if ((*replies)[i].is_nil())
        (void)redis_->call({"ZREM", keys_.workers(), (*ids)[i]}, kRepeatable);
      continue;
    }
    if (auto worker = worker_from(*bytes)) {
      if (worker->id == (*ids)[i]) all.workers.push_back(std::move(*worker));
    } else if (auto foreign = foreign_worker_from(*bytes)) {
      if (foreign->id == (*ids)[i]) all.foreign.push_back(std::move(*foreign));
    }
  }
  return all;
}

Result<std::optional<QueueOwner>> Broker::owner() {
  const auto reply =
      checked(redis_->call({"HMGET", keys_.database(), "id", "place", "life", "term"}, kRepeatable),
              "cannot read whose the queue is");
  if (!reply) return std::unexpected(reply.error());
  const auto fields = reply->as_array();
  if (!fields) return std::unexpected(fields.error());
  const auto text = [&](std::size_t i) {
    const auto value = i < fields->size() ? (*fields)[i].as_string() : Result<std::string_view>("");
    return protocol::clean_text(std::string(value.value_or("")), 1024);
  };
  if (text(0).empty()) return std::nullopt;
  return QueueOwner{text(0), text(1), text(2), std::atoll(text(3).c_str())};
}

Result<std::string> Broker::trouble() {
  const auto reply = redis_->call({"GET", keys_.trouble()}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  return said_in(*reply);
}

Result<bool> Broker::has_language_model() {
  const auto reply = redis_->call({"GET", keys_.language_model()}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  return !said_in(*reply).empty();
}

Result<std::vector<DeadLetter>> Broker::dead(int limit) {
  auto reply =
      checked(redis_->call({"XREVRANGE", keys_.dead(), "+", "-", "COUNT", std::to_string(limit)},
                           kRepeatable),
              "cannot list the dead letters");
  if (!reply) return std::unexpected(reply.error());
  const auto entries = entries_from(*reply);
  if (!entries) return std::unexpected(entries.error());
  std::vector<DeadLetter> letters;
  for (const StreamEntry& entry : *entries) {
    const auto clean = [&](const char* name) {
      return protocol::clean_text(entry.field(name), 256);  // any worker may have written it
    };
    letters.push_back({entry.entry, clean("id"), clean("pool"), clean("why"),
                       std::atoll(entry.entry.c_str())});  // an entry's id begins with its time
  }
  return letters;
}

Result<Broker::PutBack> Broker::put_back(const std::string& entry, const std::string& id) {
  // JOB.TOKEN.SEARCH.NUMBER; a job's id may have dots, too.
  std::string job = id, token;
  for (int part = 0; part < 3; ++part) {
    const std::size_t dot = job.rfind('.');
    if (dot == std::string::npos) return PutBack::kEnded;
    token = job.substr(dot + 1);
    job.resize(dot);
  }
  if (!is_id(job)) return PutBack::kEnded;
  // Not in one step: the leader looks again at all of it.
  const auto dead = is_dead(entry);
  if (!dead) return std::unexpected(dead.error());
  if (!*dead) return PutBack::kGone;
  const auto replies =
      redis_->pipeline({{"HGET", keys_.job(job), "state"}, {"GET", keys_.leader()}}, kRepeatable);
  if (!replies) return std::unexpected(replies.error());
  for (const RedisReply& reply : *replies)
    if (reply.is_error()) return std::unexpected(reply.as_error("cannot put it back"));
  const auto is = [](const RedisReply& reply, std::string_view text) {
    const auto value = reply.as_string();
    return value && *value == text;
  };
  if (!is((*replies)[0], "searching") && !is((*replies)[0], "admitting")) return PutBack::kEnded;
  if (!is((*replies)[1], token)) return PutBack::kRestarted;
  const auto added =
      checked(redis_->call({"SADD", keys_.put_back(), entry}, kRepeatable), "cannot put it back");
  if (!added) return std::unexpected(added.error());
  return PutBack::kAsked;
}

Result<bool> Broker::is_dead(const std::string& entry) {
  const auto reply = checked(redis_->call({"XREVRANGE", keys_.dead(), entry, entry}, kRepeatable),
                             "cannot read the dead letters");
  if (!reply) return std::unexpected(reply.error());
  const auto list = reply->as_array();
  if (!list) return std::unexpected(list.error());
  return !list->empty();
}

}  // namespace hone::queue
