// What a language model said in a run, what came of it, and what jobs spent on that.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "candidates/store/impl.h"
#include "candidates/store/store.h"

namespace hone {

using store_detail::now;

namespace {

constexpr const char* kColumns =
    "p.id, p.mode, p.prompt_version, p.model, p.text, p.outcome, p.input_tokens, p.output_tokens, "
    "p.nano_dollars, p.exact, p.seconds, p.stored_at";

std::vector<ReplyRecord> read(SQLite::Statement& query) {
  std::vector<ReplyRecord> replies;
  while (query.executeStep()) {
    ReplyRecord& reply = replies.emplace_back();
    reply.id = query.getColumn(0).getString();
    reply.mode = query.getColumn(1).getString();
    reply.prompt_version = query.getColumn(2).getString();
    reply.model = query.getColumn(3).getString();
    reply.text = query.getColumn(4).getString();
    reply.outcome = query.getColumn(5).getString();
    reply.input_tokens = query.getColumn(6).getInt64();
    reply.output_tokens = query.getColumn(7).getInt64();
    reply.nano_dollars = query.getColumn(8).getInt64();
    reply.exact = query.getColumn(9).getInt() != 0;
    reply.seconds = query.getColumn(10).getDouble();
    reply.stored_at = query.getColumn(11).getString();
  }
  return replies;
}

/// What a run knows of a candidate.
struct Tried {
  bool passed = false;  ///< by the final stage, where it came so far
  bool best = false;    ///< the fastest so far, when the search timed it
};

/// Of those that came of a reply.
std::map<std::string, Tried> tried_in(SQLite::Database& database, std::int64_t run) {
  SQLite::Statement query(
      database,
      "SELECT p.candidate, p.final, p.verdict = 'ok', p.time_us, p.speedup, EXISTS (SELECT 1 FROM "
      "reply_candidates c WHERE c.candidate = p.candidate AND c.run = p.run) "
      "FROM run_points p WHERE p.run = ? ORDER BY p.id");
  query.bind(1, run);
  std::map<std::string, Tried> tried;
  std::set<std::string> final;
  double best_us = std::numeric_limits<double>::infinity();
  while (query.executeStep()) {
    const bool is_final = query.getColumn(1).getInt() != 0, ok = query.getColumn(2).getInt() != 0;
    const double time_us = query.getColumn(3).getDouble();
    const bool best =
        !is_final && ok && time_us > 0 && time_us < best_us && query.getColumn(4).getDouble() > 1;
    if (best) best_us = time_us;
    if (query.getColumn(5).getInt() == 0) continue;
    const std::string candidate = query.getColumn(0).getString();
    Tried& one = tried[candidate];
    one.best |= best;
    if (is_final || !final.contains(candidate)) one.passed = ok;
    if (is_final) final.insert(candidate);
  }
  return tried;
}

void add_candidates(SQLite::Database& database, std::int64_t run, std::vector<RunReply>& replies) {
  std::map<std::string, RunReply*> by_id;
  for (RunReply& reply : replies) by_id[reply.reply.id] = &reply;
  const auto tried = tried_in(database, run);
  SQLite::Statement query(database,
                          "SELECT reply, candidate FROM reply_candidates WHERE run = ? "
                          "ORDER BY reply, candidate");
  query.bind(1, run);
  while (query.executeStep()) {
    const auto known = by_id.find(query.getColumn(0).getString());
    if (known == by_id.end()) continue;
    RunReply& reply = *known->second;
    reply.candidates.push_back(query.getColumn(1).getString());
    const auto found = tried.find(reply.candidates.back());
    if (found == tried.end()) continue;
    const auto [passed, best] = found->second;
    const ReplyFate fate = !passed ? ReplyFate::kFailed
                           : best  ? ReplyFate::kBest
                                   : ReplyFate::kPassed;
    reply.fate = std::max(reply.fate, fate);
  }
}

}  // namespace

ReplyFate first_fate(const ReplyRecord& reply) {
  if (reply.outcome.starts_with("no reply: ")) return ReplyFate::kNone;
  return reply.outcome.starts_with("refused: ") ? ReplyFate::kRefused : ReplyFate::kUntried;
}

std::string_view to_string(ReplyFate fate) {
  constexpr std::string_view kNames[] = {"no reply", "refused", "untried",
                                         "failed",   "passed",  "best"};
  return kNames[static_cast<std::size_t>(fate)];
}

Result<void> Store::put_reply(std::int64_t run, const ReplyRecord& reply) {
  return impl_->writing([&] {
    SQLite::Statement insert(impl_->database,
                             "INSERT INTO replies (run, id, mode, prompt_version, model, text, "
                             "outcome, input_tokens, output_tokens, nano_dollars, exact, seconds, "
                             "stored_at, number) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
                             "?11, ?12, ?13, (SELECT COUNT(*) + 1 FROM replies WHERE run = ?1)) "
                             "ON CONFLICT DO NOTHING");
    insert.bind(1, run);
    insert.bind(2, reply.id);
    insert.bind(3, reply.mode);
    insert.bind(4, reply.prompt_version);
    insert.bind(5, reply.model);
    insert.bind(6, reply.text);
    insert.bind(7, reply.outcome);
    insert.bind(8, reply.input_tokens);
    insert.bind(9, reply.output_tokens);
    insert.bind(10, reply.nano_dollars);
    insert.bind(11, reply.exact ? 1 : 0);
    insert.bind(12, reply.seconds);
    insert.bind(13, now());
    insert.exec();
  });
}

Result<void> Store::link_reply(std::int64_t run, const std::string& reply,
                               const std::string& candidate) {
  return impl_->writing([&] {
    SQLite::Statement insert(impl_->database,
                             "INSERT INTO reply_candidates (candidate, run, reply) "
                             "VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
    insert.bind(1, candidate);
    insert.bind(2, run);
    insert.bind(3, reply);
    insert.exec();
  });
}

Result<std::vector<ReplyRecord>> Store::replies_of(const std::string& candidate) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        fmt::format("SELECT {} FROM reply_candidates c JOIN replies p ON p.run = c.run AND "
                    "p.id = c.reply WHERE c.candidate = ? ORDER BY c.run DESC, p.stored_at DESC",
                    kColumns));
    query.bind(1, candidate);
    return read(query);
  });
}

Result<std::vector<RunReply>> Store::replies(std::int64_t run, bool texts) const {
  return impl_->guarded([&] {
    SQLite::Transaction snapshot(impl_->database);  // one state for all the reads
    std::string columns = kColumns;
    if (!texts) columns.replace(columns.find("p.text"), 6, "''");
    SQLite::Statement query(
        impl_->database,
        fmt::format("SELECT {} FROM replies p WHERE p.run = ? ORDER BY p.number, p.stored_at, p.id",
                    columns));
    query.bind(1, run);
    std::vector<RunReply> replies;
    for (ReplyRecord& reply : read(query)) {
      const ReplyFate fate = first_fate(reply);
      replies.push_back({std::move(reply), fate, {}});
    }
    if (!replies.empty()) add_candidates(impl_->database, run, replies);
    return replies;
  });
}

Result<void> Store::put_spending(const std::string& job, const Spending& spending) {
  return impl_->writing(
      [&] {
        SQLite::Statement upsert(
            impl_->database,
            "INSERT INTO job_spending (job, tokens, nano_dollars) VALUES (?, ?, ?)"
            " ON CONFLICT (job) DO UPDATE SET tokens = excluded.tokens, "
            "nano_dollars = excluded.nano_dollars");
        upsert.bind(1, job);
        upsert.bind(2, spending.tokens);
        upsert.bind(3, spending.nano_dollars);
        upsert.exec();
      },
      /*lasting=*/true);
}

Result<Spending> Store::spending(const std::string& job) const {
  return impl_->guarded([&] {
    SQLite::Statement query(impl_->database,
                            "SELECT tokens, nano_dollars FROM job_spending WHERE job = ?");
    query.bind(1, job);
    if (!query.executeStep()) return Spending{};
    return Spending{query.getColumn(0).getInt64(), query.getColumn(1).getInt64()};
  });
}

}  // namespace hone
