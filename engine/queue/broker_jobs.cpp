// Lists of jobs, read in bounded pieces: a server may hold tens of thousands that have ended. And
// its clock.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ranges>

#include "engine/queue/broker.h"

namespace hone::queue {
namespace job_lists {
namespace {

constexpr auto kClockLooks = std::chrono::seconds(10);
constexpr double kClockPatience_s = 2;
constexpr std::int64_t kPiece = 500;        // ids in one read
constexpr std::int64_t kMostRead = 50'000;  // ids for one list: what is older is left out
constexpr std::size_t kMostNamed = 5;       // in "fits several jobs"
constexpr std::size_t kLeastHash = 4;       // digits

using Listed = std::pair<std::string, std::int64_t>;  // an id, and when it was submitted [ms]

/// A piece of the list, the newest first.
Result<std::vector<Listed>> listed(RedisClient& redis, const std::string& key, std::int64_t from,
                                   std::int64_t count) {
  const auto reply = redis.call(
      {"ZREVRANGE", key, std::to_string(from), std::to_string(from + count - 1), "WITHSCORES"},
      kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return std::unexpected(reply->as_error("cannot list the jobs"));
  const auto list = reply->as_array();
  if (!list) return std::unexpected(list.error());
  std::vector<Listed> ids;
  for (std::size_t i = 0; i + 1 < list->size(); i += 2) {
    const auto id = (*list)[i].as_string(), score = (*list)[i + 1].as_string();
    // What is no id counts as one, so that the next piece begins where this one ends.
    ids.emplace_back(id && is_id(*id) ? std::string(*id) : "",
                     score ? static_cast<std::int64_t>(std::atof(std::string(*score).c_str())) : 0);
  }
  return ids;
}

bool has_state(const RedisReply& reply, const std::vector<JobState>& states) {
  const auto text = reply.as_string();
  const auto state = text ? parse_job_state(*text) : std::nullopt;
  return state && std::ranges::find(states, *state) != states.end();
}

bool is_of_task(const RedisReply& reply, const std::string& task) {
  const auto bytes = reply.as_string();
  const auto about = bytes ? about_from(*bytes) : Result<JobAbout>(invalid("gone"));
  return about &&
         (about->task == task || (task.size() >= kLeastHash && about->task_hash.starts_with(task)));
}

/// Those of a piece that are wanted: reads of each job only what the filter is about.
Result<std::vector<Listed>> wanted(RedisClient& redis, const Keys& keys, std::vector<Listed> piece,
                                   const JobFilter& filter) {
  const auto keep = [&](const char* field, const auto& fits) -> Result<void> {
    std::vector<std::vector<std::string>> commands;
    for (const auto& [id, when] : piece) commands.push_back({"HGET", keys.job(id), field});
    if (commands.empty()) return {};
    const auto replies = redis.pipeline(commands, kRepeatable);
    if (!replies) return std::unexpected(replies.error());
    std::vector<Listed> kept;
    for (std::size_t i = 0; i < piece.size(); ++i)
      if (fits((*replies)[i])) kept.push_back(std::move(piece[i]));
    piece = std::move(kept);
    return {};
  };
  Result<void> read;
  if (!filter.states.empty())
    read = keep("state", [&](const RedisReply& r) { return has_state(r, filter.states); });
  if (read && !filter.owner.empty())
    read = keep("owner", [&](const RedisReply& r) {
      const auto owner = r.as_string();
      return owner && *owner == filter.owner;
    });
  if (read && !filter.task.empty())
    read = keep("about", [&](const RedisReply& r) { return is_of_task(r, filter.task); });
  if (!read) return std::unexpected(read.error());
  return piece;
}

void add_about(JobRow& row, const RedisReply& reply) {
  if (const auto bytes = reply.as_string())
    if (auto told = about_from(*bytes); told && told->id == row.status.id)
      row.about = std::move(*told);
}

void add_places(JobRow& row, const RedisReply& reply) {
  if (const auto bytes = reply.as_string())
    if (auto told = places_from(*bytes); told && told->id == row.status.id)
      row.places = std::move(told->places);
}

/// Empty: it is gone, or no status of this version.
std::optional<JobRow> row_from(const RedisReply& status, const RedisReply& about,
                               const RedisReply& places, std::int64_t submitted_at) {
  const auto bytes = status.as_string();
  if (!bytes) return std::nullopt;
  auto read = status_from(*bytes);
  if (!read) return std::nullopt;
  JobRow row{std::move(*read), std::nullopt, submitted_at, {}};
  add_about(row, about);
  add_places(row, places);
  return row;
}

}  // namespace
}  // namespace job_lists

Result<std::vector<JobRow>> Broker::rows(const JobFilter& filter, int limit) {
  using namespace job_lists;
  std::vector<JobRow> rows;
  const auto most = static_cast<std::size_t>(std::max(limit, 0));
  const std::int64_t piece = filter.empty() ? std::min<std::int64_t>(limit, kPiece) : kPiece;
  for (std::int64_t from = 0; rows.size() < most && from < kMostRead; from += piece) {
    auto all = listed(*redis_, keys_.job_ids(), from, piece);
    if (!all) return std::unexpected(all.error());
    const bool last = std::ssize(*all) < piece;
    const auto ids = wanted(*redis_, keys_, std::move(*all), filter);
    if (!ids) return std::unexpected(ids.error());
    std::vector<std::vector<std::string>> commands;
    for (const auto& [id, when] : *ids)
      for (const char* field : {"status", "about", "places"})
        commands.push_back({"HGET", keys_.job(id), field});
    if (!commands.empty()) {
      const auto replies = redis_->pipeline(commands, kRepeatable);
      if (!replies) return std::unexpected(replies.error());
      for (std::size_t i = 0; i < ids->size() && rows.size() < most; ++i)
        if (auto row = row_from((*replies)[3 * i], (*replies)[3 * i + 1], (*replies)[3 * i + 2],
                                (*ids)[i].second))
          rows.push_back(std::move(*row));
    }
    if (last) break;
  }
  return rows;
}

Result<JobRow> Broker::row(const std::string& id) {
  auto read = status(id);
  if (!read) return std::unexpected(read.error());
  JobRow row{std::move(*read), std::nullopt, 0, {}};
  // Not in one step with the status: a job's name and time do not change, nor does its end.
  const auto replies = redis_->pipeline({{"HGET", keys_.job(id), "about"},
                                         {"HGET", keys_.job(id), "submitted"},
                                         {"HGET", keys_.job(id), "places"}},
                                        kRepeatable);
  if (!replies) return std::unexpected(replies.error());
  job_lists::add_about(row, (*replies)[0]);
  if (has_ended(row.status.state)) job_lists::add_places(row, (*replies)[2]);
  if (const auto text = (*replies)[1].as_string())
    row.submitted_at = std::atoll(std::string(*text).c_str());
  return row;
}

Result<std::string> Broker::find_job(const std::string& id_or_prefix) {
  using namespace job_lists;
  const auto unknown = [&] {
    return invalid(fmt::format("there is no job '{}'", is_id(id_or_prefix) ? id_or_prefix : "?"));
  };
  if (!is_id(id_or_prefix)) return unknown();
  const auto exact = redis_->call({"HGET", keys_.job(id_or_prefix), "state"}, kRepeatable);
  if (!exact) return std::unexpected(exact.error());
  if (exact->is_error()) return std::unexpected(exact->as_error("cannot read the job"));
  if (!exact->is_nil()) return id_or_prefix;
  std::vector<std::string> fitting;
  for (std::int64_t from = 0; from < kMostRead; from += 10 * kPiece) {
    const auto ids = listed(*redis_, keys_.job_ids(), from, 10 * kPiece);
    if (!ids) return std::unexpected(ids.error());
    for (const auto& [id, when] : *ids)
      if (id.starts_with(id_or_prefix)) fitting.push_back(id);
    if (std::ssize(*ids) < 10 * kPiece) break;
  }
  // Of those that are only in the list, nothing is known any more.
  std::vector<std::vector<std::string>> commands;
  for (const auto& id : fitting) commands.push_back({"HGET", keys_.job(id), "state"});
  if (commands.empty()) return unknown();
  const auto states = redis_->pipeline(commands, kRepeatable);
  if (!states) return std::unexpected(states.error());
  std::vector<std::string> there;
  for (std::size_t i = 0; i < fitting.size(); ++i)
    if ((*states)[i].as_string()) there.push_back(fitting[i]);
  if (there.empty()) return unknown();
  if (there.size() == 1) return there.front();
  std::string names;
  for (const auto& id : there | std::views::take(kMostNamed))
    names += (names.empty() ? "" : ", ") + id;
  return invalid(fmt::format("'{}' fits several jobs: {}{}", id_or_prefix, names,
                             there.size() > kMostNamed ? ", ..." : ""));
}

Result<std::vector<std::string>> Broker::line() {
  const auto reply = redis_->call(
      {"XREVRANGE", keys_.jobs(), "+", "-", "COUNT", std::to_string(kMostJobs)}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return std::unexpected(reply->as_error("cannot read the line of jobs"));
  auto entries = entries_from(*reply);
  if (!entries) return std::unexpected(entries.error());
  std::ranges::reverse(*entries);
  std::vector<std::pair<int, std::string>> open;  // priority and id, the oldest first
  std::vector<std::vector<std::string>> commands;
  for (const StreamEntry& entry : *entries) {
    if (!is_id(entry.field("id"))) continue;
    open.emplace_back(std::atoi(entry.field("priority").c_str()), entry.field("id"));
    commands.push_back({"HGET", keys_.job(open.back().second), "state"});
  }
  std::vector<std::string> line;
  if (commands.empty()) return line;
  const auto states = redis_->pipeline(commands, kRepeatable);
  if (!states) return std::unexpected(states.error());
  std::vector<std::pair<int, std::string>> queued;
  for (std::size_t i = 0; i < open.size(); ++i)
    if (const auto state = (*states)[i].as_string();
        state && *state == to_string(JobState::kQueued))
      queued.push_back(std::move(open[i]));
  std::ranges::stable_sort(queued, std::ranges::greater(), &std::pair<int, std::string>::first);
  for (auto& [priority, id] : queued) line.push_back(std::move(id));
  return line;
}

Result<std::int64_t> Broker::server_time() {
  const auto reply =
      redis_->call({"TIME"}, {.idempotent = true, .deadline_s = job_lists::kClockPatience_s});
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return std::unexpected(reply->as_error("cannot ask for the time"));
  std::int64_t parts[2] = {};  // seconds and microseconds
  for (std::size_t i = 0; i < 2; ++i) {
    const auto part = reply->at(i);
    if (!part) return std::unexpected(part.error());
    const auto text = (*part)->as_string();
    if (!text) return std::unexpected(text.error());
    parts[i] = std::atoll(std::string(*text).c_str());
  }
  return 1'000'000 * parts[0] + parts[1];
}

Result<bool> Broker::has_leader() {
  const auto reply = redis_->call({"GET", keys_.leader()}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return std::unexpected(reply->as_error("cannot read who leads"));
  return !reply->is_nil();
}

std::int64_t Broker::now_ms() {
  const std::lock_guard lock(clock_);
  if (Clock::now() >= ask_time_) {
    const auto asked = Clock::now();
    if (const auto time_us = server_time()) told_ = {*time_us, asked + (Clock::now() - asked) / 2};
    ask_time_ = Clock::now() + job_lists::kClockLooks;
  }
  if (!told_) return unix_ms();
  const auto since = std::chrono::floor<std::chrono::microseconds>(Clock::now() - told_->second);
  return (told_->first + since.count()) / 1000;
}

}  // namespace hone::queue
