#include "engine/queue/lead.h"

#include <algorithm>
#include <cstdlib>

#include "engine/queue/inputs.h"
#include "engine/queue/scripts.h"

namespace hone::queue {
namespace {

using Views = std::vector<std::string_view>;
constexpr std::size_t kGiveBytes = 4U << 20;  // of one script call [B]

std::string ttl_ms() { return std::to_string(static_cast<std::int64_t>(1000 * kLeadershipTtl_s)); }

}  // namespace

Result<RedisReply> Lead::as_leader(Result<RedisReply> reply, std::string_view what) {
  if (!reply) return reply;
  if (reply->is_error()) return std::unexpected(reply->as_error(what));
  const auto number = reply->is_integer() ? reply->as_integer() : Result<std::int64_t>(0);
  if (number && *number == -1) {
    depose();
    return fail(ErrorCode::kInfrastructure,
                forgotten_ ? "the server knows of no leader any more: it was started again without "
                             "what it held, or did not hear of this coordinator for too long"
                           : "another coordinator leads now");
  }
  return reply;
}

void Lead::depose() {
  if (deposed_.exchange(true)) return;
  const auto leader = broker_.redis().call({"GET", broker_.keys().leader()}, {.deadline_s = 1});
  forgotten_ = leader && leader->is_nil();
}

Result<bool> Lead::take(std::int64_t floor) {
  auto& redis = broker_.redis();
  const std::string leader = broker_.keys().leader(), fence = broker_.keys().fence();
  const std::string from = std::to_string(floor), ttl = ttl_ms();
  // Not repeatable: a second try would find the first one's lock, and wait for its end.
  auto reply = redis.script(scripts::kLead, Views{leader, fence}, Views{from, ttl});
  if (!reply) return std::unexpected(reply.error());
  const auto token = reply->as_integer();
  if (!token) return std::unexpected(reply->as_error("cannot take the lead"));
  token_ = *token;
  deposed_ = forgotten_ = false;
  return *token > 0;
}

Result<bool> Lead::keep() {
  const std::string leader = broker_.keys().leader(), token = std::to_string(token_),
                    ttl = ttl_ms();
  auto reply = broker_.redis().script(scripts::kKeepLeading, Views{leader}, Views{token, ttl},
                                      {.idempotent = true, .deadline_s = kLeadershipTtl_s / 2});
  if (!reply) return std::unexpected(reply.error());
  const auto kept = reply->as_integer();
  if (!kept) return std::unexpected(reply->as_error("cannot keep the lead"));
  if (*kept == 0) depose();
  return *kept == 1;
}

void Lead::resign() {
  const std::string leader = broker_.keys().leader(), token = std::to_string(token_);
  (void)broker_.redis().script(scripts::kResign, Views{leader}, Views{token},
                               {.idempotent = true, .deadline_s = 1});
}

Result<void> Lead::forget_evaluations() {
  auto pools = broker_.redis().call({"SMEMBERS", broker_.keys().pools()}, kRepeatable);
  if (!pools) return std::unexpected(pools.error());
  const auto list = pools->as_array();
  if (!list) return std::unexpected(list.error());
  std::vector<std::string> keys = {broker_.keys().leader(), broker_.keys().open(),
                                   broker_.keys().results()};
  for (const RedisReply& item : *list) {
    const auto pool = item.as_string();
    if (pool && is_id(*pool)) keys.push_back(broker_.keys().work(*pool));
  }
  const std::string token = std::to_string(token_);
  auto reply = as_leader(broker_.redis().script(scripts::kForget, Views(keys.begin(), keys.end()),
                                                Views{token}, kRepeatable),
                         "cannot forget old evaluations");
  if (!reply) return std::unexpected(reply.error());
  return {};
}

Result<std::vector<QueuedJob>> Lead::read_jobs(const std::string& from) {
  auto& redis = broker_.redis();
  const std::string leader = broker_.keys().leader(), jobs = broker_.keys().jobs();
  const std::string token = std::to_string(token_);
  // What one try was given and lost on its way, unfinished_jobs() gives again.
  const auto read = [&] {
    return redis.script(scripts::kReadJobs, Views{leader, jobs}, Views{token, from}, kRepeatable);
  };
  auto reply = read();
  if (reply && reply->is_error() && reply->error_text().find("NOGROUP") != std::string_view::npos) {
    auto made = redis.call({"XGROUP", "CREATE", jobs, kCoordinatorsGroup, "0", "MKSTREAM"});
    if (!made) return std::unexpected(made.error());
    if (made->is_error() && made->error_code() != "BUSYGROUP")
      return std::unexpected(made->as_error("cannot read jobs"));
    reply = read();
  }
  reply = as_leader(std::move(reply), "cannot read jobs");
  if (!reply) return std::unexpected(reply.error());
  const auto entries = entries_from(*reply);
  if (!entries) return std::unexpected(entries.error());
  std::vector<QueuedJob> queued;
  for (const StreamEntry& entry : *entries) {
    if (!is_id(entry.field("id"))) {  // nobody can ask what became of it
      (void)redis.pipeline(
          {{"XACK", jobs, kCoordinatorsGroup, entry.entry}, {"XDEL", jobs, entry.entry}},
          kRepeatable);
      continue;
    }
    queued.push_back({entry.entry, entry.field("id"),
                      std::clamp(std::atoi(entry.field("priority").c_str()), -100, 100)});
  }
  return queued;
}

Result<std::vector<QueuedJob>> Lead::unfinished_jobs() {
  std::vector<QueuedJob> all;
  std::string from = "0";
  while (true) {
    auto some = read_jobs(from);
    if (!some) return some;
    if (some->empty()) return all;
    from = some->back().entry;
    all.insert(all.end(), some->begin(), some->end());
  }
}

Result<std::vector<QueuedJob>> Lead::new_jobs() { return read_jobs(">"); }

Result<std::optional<std::string>> Lead::message_bytes(const std::string& job) {
  const std::string key = broker_.keys().job(job);
  auto length = broker_.redis().call({"HSTRLEN", key, "message"}, kRepeatable);
  if (!length) return std::unexpected(length.error());
  if (length->as_integer().value_or(0) > static_cast<std::int64_t>(kMaxMessage))
    return invalid("the job's message is too large");
  auto reply = broker_.redis().call({"HGET", key, "message"}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_nil()) return std::nullopt;
  const auto bytes = reply->as_string();
  if (!bytes) return std::unexpected(reply->as_error("cannot read the job"));
  return std::string(*bytes);
}

Result<std::optional<JobMessage>> Lead::message_of(const std::string& job) {
  const auto bytes = message_bytes(job);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes) return std::nullopt;
  auto message = job_from(**bytes);
  if (!message) return std::unexpected(message.error());
  if (message->id != job) return invalid("the job's message is that of another job");
  return std::move(*message);
}

Result<void> Lead::own(const QueueOwner& owner) {
  const std::string leader = broker_.keys().leader(), database = broker_.keys().database(),
                    token = std::to_string(token_), term = std::to_string(owner.term);
  auto reply =
      as_leader(broker_.redis().script(scripts::kOwn, Views{leader, database},
                                       Views{token, owner.database, owner.place, owner.life, term},
                                       kRepeatable),
                "cannot say whose the queue is");
  if (!reply) return std::unexpected(reply.error());
  return {};
}

Result<void> Lead::say(const std::string& key, const std::string& text) {
  const std::string leader = broker_.keys().leader(), token = std::to_string(token_),
                    ttl = std::to_string(static_cast<std::int64_t>(1000 * kSaidTtl_s));
  auto reply = as_leader(broker_.redis().script(scripts::kSay, Views{leader, key},
                                                Views{token, text, ttl}, kRepeatable),
                         "cannot say how the service stands");
  if (!reply) return std::unexpected(reply.error());
  return {};
}

Result<void> Lead::set_trouble(const std::string& text) {
  return say(broker_.keys().trouble(), text);
}

Result<void> Lead::check_input(const std::string& sha256) { return Inputs(broker_).check(sha256); }

Result<void> Lead::set_language_model(bool there) {
  return say(broker_.keys().language_model(), there ? "1" : "");
}

Result<std::vector<std::string>> Lead::unknown_jobs(const std::vector<std::string>& ids) {
  std::vector<std::string> unknown;
  constexpr std::size_t kAtOnce = 1000;
  for (std::size_t begin = 0; begin < ids.size(); begin += kAtOnce) {
    const std::size_t end = std::min(ids.size(), begin + kAtOnce);
    std::vector<std::vector<std::string>> commands;
    for (std::size_t i = begin; i < end; ++i)
      commands.push_back({"EXISTS", broker_.keys().job(ids[i])});
    const auto replies = broker_.redis().pipeline(commands, kRepeatable);
    if (!replies) return std::unexpected(replies.error());
    for (std::size_t i = 0; i < replies->size(); ++i) {
      const auto there = (*replies)[i].as_integer();
      if (!there) return std::unexpected((*replies)[i].as_error("cannot look for jobs"));
      if (*there == 0) unknown.push_back(ids[begin + i]);
    }
  }
  return unknown;
}

Result<std::set<std::string>> Lead::cancelled() {
  auto reply = broker_.redis().call({"SMEMBERS", broker_.keys().cancelled()}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  const auto list = reply->as_array();
  if (!list) return std::unexpected(list.error());
  std::set<std::string> ids;
  for (const RedisReply& item : *list) {
    if (const auto id = item.as_string(); id) ids.emplace(*id);
  }
  return ids;
}

Result<std::map<std::string, std::string>> Lead::put_back() {
  auto& redis = broker_.redis();
  auto reply = redis.call({"SMEMBERS", broker_.keys().put_back()}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  const auto list = reply->as_array();
  if (!list) return std::unexpected(list.error());
  std::map<std::string, std::string> wanted;
  for (const RedisReply& item : *list) {
    const auto name = item.as_string();
    if (!name) continue;
    const std::string entry(*name);
    auto letter = redis.call({"XRANGE", broker_.keys().dead(), entry, entry}, kRepeatable);
    if (!letter) return std::unexpected(letter.error());
    const auto entries = entries_from(*letter);
    wanted[entry] = entries && !entries->empty() ? entries->front().field("id") : "";
  }
  return wanted;
}

Result<void> Lead::put_back_done(const std::string& entry, bool handed_out) {
  const std::string leader = broker_.keys().leader(), back = broker_.keys().put_back(),
                    dead = broker_.keys().dead();
  const std::string token = std::to_string(token_);
  auto reply =
      as_leader(broker_.redis().script(scripts::kPutBackDone, Views{leader, back, dead},
                                       Views{token, entry, handed_out ? "1" : "0"}, kRepeatable),
                "cannot delete a dead letter");
  if (!reply) return std::unexpected(reply.error());
  return {};
}

Result<void> Lead::set_status(const JobStatus& status) {
  const auto message = encode(status);
  if (!message) return std::unexpected(message.error());
  const std::string leader = broker_.keys().leader(), job = broker_.keys().job(status.id);
  const std::string token = std::to_string(token_);
  auto reply = as_leader(
      broker_.redis().script(scripts::kSetStatus, Views{leader, job},
                             Views{token, *message, to_string(status.state)}, kRepeatable),
      "cannot write the job's state");
  if (!reply) return std::unexpected(reply.error());
  return {};
}

Result<void> Lead::end_job(const QueuedJob& job, const JobStatus& status,
                           const std::vector<JobPlace>& places) {
  const auto message = encode(status);
  if (!message) return std::unexpected(message.error());
  const auto stands = encode(JobPlaces{job.id, places});
  if (!stands) return std::unexpected(stands.error());
  const auto& keys = broker_.keys();
  const std::string leader = keys.leader(), own = keys.job(job.id), jobs = keys.jobs(),
                    cancelled = keys.cancelled();
  const std::string token = std::to_string(token_),
                    kept = std::to_string(static_cast<std::int64_t>(kJobKept_s));
  auto reply = as_leader(
      broker_.redis().script(
          scripts::kEndJob, Views{leader, own, jobs, cancelled},
          Views{token, *message, to_string(status.state), job.entry, job.id, kept, *stands},
          kRepeatable),
      "cannot end the job");
  if (!reply) return std::unexpected(reply.error());
  return {};
}

Result<void> Lead::give(const std::string& pool,
                        const std::vector<std::pair<std::string, std::string>>& messages,
                        const std::string& worker) {
  const auto& keys = broker_.keys();
  const std::string leader = keys.leader(), open = keys.open(),
                    work = worker.empty() ? keys.work(pool) : keys.work_of(pool, worker);
  const std::string token = std::to_string(token_);
  for (std::size_t next = 0; next < messages.size();) {
    Views arguments = {token, pool};
    for (std::size_t bytes = 0; next < messages.size() &&
                                (bytes == 0 || bytes + messages[next].second.size() < kGiveBytes);
         ++next) {
      bytes += messages[next].second.size();
      arguments.push_back(messages[next].first);
      arguments.push_back(messages[next].second);
    }
    auto reply = as_leader(
        broker_.redis().script(scripts::kGive, Views{leader, open, work}, arguments, kRepeatable),
        "cannot hand out work");
    if (!reply) return std::unexpected(reply.error());
  }
  return {};
}

Result<void> Lead::drop(const std::vector<std::string>& ids) {
  if (ids.empty()) return {};
  const std::string leader = broker_.keys().leader(), open = broker_.keys().open();
  const std::string token = std::to_string(token_);
  Views arguments = {token};
  arguments.insert(arguments.end(), ids.begin(), ids.end());
  auto reply =
      as_leader(broker_.redis().script(scripts::kDrop, Views{leader, open}, arguments, kRepeatable),
                "cannot drop work");
  if (!reply) return std::unexpected(reply.error());
  return {};
}

Result<std::set<std::string>> Lead::open(const std::vector<std::string>& ids) {
  std::set<std::string> open;
  if (ids.empty()) return open;
  const std::string key = broker_.keys().open();
  Views words = {"HMGET", key};
  words.insert(words.end(), ids.begin(), ids.end());
  auto reply = broker_.redis().call(std::span<const std::string_view>(words), kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  const auto list = reply->as_array();
  if (!list) return std::unexpected(list.error());
  for (std::size_t i = 0; i < list->size() && i < ids.size(); ++i)
    if (!(*list)[i].is_nil()) open.insert(ids[i]);
  return open;
}

Result<std::vector<Lead::Answer>> Lead::answers(double block_s) {
  const std::string leader = broker_.keys().leader(), results = broker_.keys().results();
  const std::string token = std::to_string(token_), most = std::to_string(kMostAnswers),
                    bytes = std::to_string(kMaxMessage);
  const auto read = [&]() -> Result<std::vector<StreamEntry>> {
    auto reply = as_leader(broker_.redis().script(scripts::kReadResults, Views{leader, results},
                                                  Views{token, most, bytes}, kRepeatable),
                           "cannot read results");
    if (!reply) return std::unexpected(reply.error());
    return entries_from(*reply);
  };
  auto entries = read();
  if (entries && entries->empty() && block_s > 0) {
    // Only wakes us: what it says may be of any size.
    (void)broker_.redis().call(
        {"XREAD", "COUNT", "1", "BLOCK",
         std::to_string(static_cast<std::int64_t>(1000 * block_s) + 1), "STREAMS", results, "0"},
        {.block_s = block_s, .deadline_s = 1});
    entries = read();
  }
  if (!entries) return std::unexpected(entries.error());
  std::vector<Answer> answers;
  for (StreamEntry& entry : *entries)
    answers.push_back({entry.entry, entry.field("id"), entry.field("m")});
  return answers;
}

Result<void> Lead::taken(const std::vector<Answer>& answers) {
  if (answers.empty()) return {};
  const std::string leader = broker_.keys().leader(), results = broker_.keys().results();
  const std::string token = std::to_string(token_);
  Views arguments = {token};
  for (const Answer& answer : answers) arguments.push_back(answer.entry);
  auto reply = as_leader(
      broker_.redis().script(scripts::kTaken, Views{leader, results}, arguments, kRepeatable),
      "cannot delete results");
  if (!reply) return std::unexpected(reply.error());
  return {};
}

}  // namespace hone::queue
