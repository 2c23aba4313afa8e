#include "engine/queue/worker_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/queue/endure.h"
#include "engine/queue/messages_result.h"
#include "engine/queue/messages_work.h"
#include "engine/queue/scripts.h"

namespace hone::queue {
namespace {

using Views = std::vector<std::string_view>;
using std::chrono::milliseconds;
constexpr double kBlock_s = 0.5;
constexpr int kAtOnce = 8;  // so that no worker takes what another could begin
constexpr int kMostDead = 1000;
constexpr double kOwnKept_s = 3600;                       // its stream, after its end
constexpr auto kServerSilence = std::chrono::seconds(4);  // longer than renewing takes

std::string ms(double seconds) { return std::to_string(static_cast<std::int64_t>(1000 * seconds)); }

}  // namespace

WorkerLink::WorkerLink(Broker& broker, std::string worker, std::string pool, int capacity, Log log)
    : broker_(broker),
      worker_(std::move(worker)),
      pool_(std::move(pool)),
      shared_(broker.keys().work(pool_)),
      own_(broker.keys().work_of(pool_, worker_)),
      capacity_(capacity),
      log_(std::move(log)),
      reader_([this](const std::stop_token& stopping) {
        endure(stopping, log_, [&] { read(stopping); });
      }),
      renewer_([this](const std::stop_token& stopping) {
        endure(stopping, log_, [&] { renew(stopping); });
      }) {}

void WorkerLink::warn(const std::string& event, const std::string& what, const std::string& job,
                      const std::string& evaluation, LogLevel level) {
  log_({.level = level,
        .event = event,
        .message = what,
        .job = job,
        .evaluation = evaluation,
        .worker = worker_,
        .pool = pool_});
}

int WorkerLink::in_hand() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(pieces_.size());
}

std::optional<Work> WorkerLink::take(milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return closed_ || !ready_.empty(); });
  if (closed_ || ready_.empty()) return std::nullopt;
  Work work = std::move(ready_.front());
  ready_.pop_front();
  pieces_[work.id].begun = true;
  return work;
}

void WorkerLink::complete(Done done) {
  Piece piece;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pieces_.find(done.id);
    if (found == pieces_.end()) return;  // closed meanwhile
    piece = found->second;
  }
  const ResultMessage result{piece.job, piece.id, worker_, std::move(done.evaluation)};
  auto message = encode(result);
  if (!message) {
    warn("result_unsendable", "its result cannot be sent: " + message.error().message, piece.job,
         piece.id);
    message = encode(ResultMessage{piece.job, piece.id, worker_,
                                   fail(ErrorCode::kInfrastructure, message.error().message)});
  }
  const std::string open = broker_.keys().open(), results = broker_.keys().results();
  const auto reply =
      message ? broker_.redis().script(scripts::kComplete, Views{open, results, piece.stream},
                                       Views{piece.entry, piece.id, *message}, kRepeatable)
              : Result<RedisReply>(std::unexpected(message.error()));
  // Not sent, it stays pending, and another worker takes it in the end.
  if (!reply || reply->is_error())
    warn(
        "result_lost",
        "its result is lost: " + (reply ? std::string(reply->error_text()) : reply.error().message),
        piece.job, piece.id);
  const std::lock_guard lock(mutex_);
  pieces_.erase(done.id);
  changed_.notify_all();
}

Result<std::vector<WorkerLink::Taken>> WorkerLink::fresh(int count) {
  auto& redis = broker_.redis();
  auto reply =
      redis.call({"XREADGROUP", "GROUP", kWorkersGroup, worker_, "COUNT", std::to_string(count),
                  "BLOCK", ms(kBlock_s), "STREAMS", own_, shared_, ">", ">"},
                 {.block_s = kBlock_s});
  if (!reply) return std::unexpected(reply.error());
  std::vector<Taken> all;
  if (reply->error_code() == "NOGROUP" || reply->error_code() == "UNBLOCKED") {
    const auto made = redis.pipeline({{"XGROUP", "CREATE", shared_, kWorkersGroup, "0", "MKSTREAM"},
                                      {"XGROUP", "CREATE", own_, kWorkersGroup, "0", "MKSTREAM"},
                                      {"PEXPIRE", own_, ms(kOwnKept_s)},
                                      {"SADD", broker_.keys().pools(), pool_}});
    if (!made) return std::unexpected(made.error());
    for (const RedisReply& each : *made)
      if (each.is_error() && each.error_code() != "BUSYGROUP")
        return std::unexpected(each.as_error("cannot take work"));
    return all;
  }
  if (reply->is_error()) return std::unexpected(reply->as_error("cannot take work"));
  if (reply->is_nil()) return all;
  const auto streams = reply->as_array();
  if (!streams) return std::unexpected(streams.error());
  for (const RedisReply& stream : *streams) {
    const auto name = stream.at(0), list = stream.at(1);
    if (!name) return std::unexpected(name.error());
    if (!list) return std::unexpected(list.error());
    const auto text = (*name)->as_string();
    if (!text) return std::unexpected(text.error());
    auto entries = entries_from(**list);
    if (!entries) return std::unexpected(entries.error());
    all.push_back({*text == own_ ? own_ : shared_, std::move(*entries)});
  }
  return all;
}

/// Of workers that have fallen silent.
Result<WorkerLink::Taken> WorkerLink::abandoned(const std::string& stream, int count) {
  auto reply = broker_.redis().call({"XAUTOCLAIM", stream, kWorkersGroup, worker_, ms(kSilence_s),
                                     "0", "COUNT", std::to_string(count)});
  if (!reply) return std::unexpected(reply.error());
  if (reply->error_code() == "NOGROUP") return Taken{};
  if (reply->is_error()) return std::unexpected(reply->as_error("cannot take over work"));
  const auto list = reply->at(1);
  if (!list) return std::unexpected(list.error());
  auto entries = entries_from(**list);
  if (!entries) return std::unexpected(entries.error());
  return Taken{stream, std::move(*entries)};
}

void WorkerLink::bury(const std::string& stream, const StreamEntry& entry, const std::string& why) {
  const std::string& id = entry.field("id");
  Evaluation evaluation;
  evaluation.verdict = Verdict::kCrash;
  evaluation.detail = why;
  const auto work = work_from(entry.field("m"));
  const std::string job = work ? work->job : id.substr(0, id.find('.'));
  warn("dead_letter", "goes to the dead letters: " + why, job, id, LogLevel::kError);
  const auto result = encode(ResultMessage{job, id, worker_, evaluation});
  if (!result) return;
  const auto& keys = broker_.keys();
  const std::string open = keys.open(), results = keys.results(), dead = keys.dead();
  const std::string most = std::to_string(kMostDead);
  const auto reply =
      broker_.redis().script(scripts::kBury, Views{open, results, stream, dead},
                             Views{entry.entry, id, pool_, *result, why, most}, kRepeatable);
  if (!reply) warn("dead_letter_unwritten", "was not buried: " + reply.error().message, job, id);
}

bool WorkerLink::has(const std::string& stream, const std::string& entry) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(pieces_, [&](const auto& item) {
    return item.second.stream == stream && item.second.entry == entry;
  });
}

void WorkerLink::accept(const Taken& taken, bool claimed) {
  const auto& [stream, entries] = taken;
  if (entries.empty()) return;
  // Is it still wanted, and how often was it tried?
  std::vector<std::vector<std::string>> questions;
  for (const StreamEntry& entry : entries) {
    questions.push_back({"HEXISTS", broker_.keys().open(), entry.field("id")});
    questions.push_back({"XPENDING", stream, kWorkersGroup, entry.entry, entry.entry, "1"});
  }
  const auto answers = broker_.redis().pipeline(questions, kRepeatable);
  if (!answers) {
    warn("work_not_taken", "work was not taken: " + answers.error().message);
    return;  // it stays pending, and comes again
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const StreamEntry& entry = entries[i];
    if (has(stream, entry.entry)) continue;  // we were silent ourselves
    const auto wanted = (*answers)[2 * i].as_integer();
    if (wanted && *wanted == 0) {
      (void)broker_.redis().pipeline(
          {{"XACK", stream, kWorkersGroup, entry.entry}, {"XDEL", stream, entry.entry}},
          kRepeatable);
      continue;
    }
    std::int64_t deliveries = 1;
    if (const auto row = (*answers)[2 * i + 1].at(0); claimed && row) {
      if (const auto count = (*row)->at(3); count && (*count)->is_integer())
        deliveries = (*count)->as_integer().value_or(1);
    }
    if (deliveries > kMostDeliveries) {
      bury(stream, entry, fmt::format("{} workers took it and fell silent", kMostDeliveries));
      continue;
    }
    auto message = work_from(entry.field("m"));
    if (message && message->id != entry.field("id"))
      message = invalid("work message: id: is not that of its entry");
    if (!message) {
      bury(stream, entry, message.error().message);
      continue;
    }
    std::unique_lock lock(mutex_);
    if (draining_) {
      lock.unlock();
      hand_back({{stream, entry.entry, message->id, message->job}});
      continue;
    }
    const std::uint64_t number = next_++;
    pieces_[number] = {stream, entry.entry, message->id, message->job};
    ready_.push_back(
        {number, std::move(message->request),
         message->kind == WorkMessage::Kind::kAdmit ? Work::Kind::kAdmit : Work::Kind::kEvaluate});
    changed_.notify_all();
  }
}

void WorkerLink::read(const std::stop_token& stopping) {
  using Clock = std::chrono::steady_clock;
  auto looked = Clock::now(), heard = Clock::now();
  while (!stopping.stop_requested()) {
    int room = 0;
    {
      std::unique_lock lock(mutex_);
      const auto free = [&] { return capacity_ - static_cast<int>(pieces_.size()); };
      if (!changed_.wait(lock, stopping, [&] { return !draining_ && free() > 0; })) return;
      room = std::min(free(), kAtOnce);
    }
    // After a silence of the server all have been silent: who lives says so first.
    if (Clock::now() - heard > kServerSilence) looked = Clock::now() + kServerSilence;
    heard = Clock::now();
    const auto failed = [&](const Error& error) {
      if (stopping.stop_requested()) return;
      warn("work_unread", error.message);
      std::this_thread::sleep_for(milliseconds(200));
      heard = {};
    };
    if (Clock::now() - looked > std::chrono::seconds(1)) {
      looked = Clock::now();
      bool well = true;
      for (const auto* stream : {&own_, &shared_}) {  // of our own: what we had before we died
        if (room <= 0) break;
        const auto taken_over = abandoned(*stream, room);
        well = taken_over.has_value();
        if (!well) failed(taken_over.error());
        if (!well) break;
        accept(*taken_over, true);
        room -= static_cast<int>(taken_over->entries.size());
      }
      if (!well || room <= 0) continue;
    }
    const auto taken = fresh(room);
    if (!taken) {
      failed(taken.error());
      continue;
    }
    for (const Taken& some : *taken) accept(some, false);
  }
}

/// What is in hand stays ours while we live.
void WorkerLink::renew(const std::stop_token& stopping) {
  while (!stopping.stop_requested()) {
    std::map<std::string, std::vector<std::string>> words;  // by stream
    {
      std::unique_lock lock(mutex_);
      (void)changed_.wait_for(lock, stopping, milliseconds(static_cast<int>(1000 * kSilence_s / 4)),
                              [] { return false; });
      for (const auto& [number, piece] : pieces_) words[piece.stream].push_back(piece.entry);
    }
    if (stopping.stop_requested()) continue;
    std::vector<std::vector<std::string>> commands = {{"PEXPIRE", own_, ms(kOwnKept_s)}};
    for (const auto& [stream, entries] : words) {
      auto& command = commands.emplace_back(
          std::vector<std::string>{"XCLAIM", stream, kWorkersGroup, worker_, "0"});
      command.insert(command.end(), entries.begin(), entries.end());
      command.emplace_back("JUSTID");
    }
    const auto reply = broker_.redis().pipeline(commands, kRepeatable);
    if (!reply && !words.empty())
      warn("work_not_renewed", "what is at work was not renewed: " + reply.error().message);
  }
}

void WorkerLink::hand_back(const std::vector<Piece>& pieces) {
  if (pieces.empty()) return;
  // Idle for so long that the next who looks takes them, and for no fault of theirs.
  std::vector<std::vector<std::string>> commands;
  for (const Piece& piece : pieces)
    commands.push_back({"XCLAIM", piece.stream, kWorkersGroup, worker_, "0", piece.entry, "IDLE",
                        ms(1000 * kSilence_s), "RETRYCOUNT", "0", "JUSTID"});
  const auto reply = broker_.redis().pipeline(commands, kRepeatable);
  if (!reply) warn("work_not_handed_back", "work was not handed back: " + reply.error().message);
}

void WorkerLink::drain() {
  std::vector<Piece> back;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    ready_.clear();
    std::erase_if(pieces_, [&](const auto& item) {
      if (!item.second.begun) back.push_back(item.second);
      return !item.second.begun;
    });
    changed_.notify_all();
  }
  hand_back(back);
}

void WorkerLink::close() {
  drain();
  std::vector<Piece> back;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    for (const auto& [number, piece] : pieces_) back.push_back(piece);
    pieces_.clear();
    changed_.notify_all();
  }
  for (auto* thread : {&reader_, &renewer_}) {
    thread->request_stop();
    if (thread->joinable()) thread->join();
  }
  hand_back(back);
  (void)broker_.redis().script(scripts::kLeaveGroup, Views{shared_}, Views{worker_}, kRepeatable);
}

}  // namespace hone::queue
