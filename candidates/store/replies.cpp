// What a language model said in a run.
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

}  // namespace

Result<void> Store::put_reply(std::int64_t run, const ReplyRecord& reply) {
  return impl_->writing([&] {
    SQLite::Statement insert(impl_->database,
                             "INSERT INTO replies (run, id, mode, prompt_version, model, text, "
                             "outcome, input_tokens, output_tokens, nano_dollars, exact, seconds, "
                             "stored_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
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

Result<std::vector<ReplyRecord>> Store::replies(std::int64_t run) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        fmt::format("SELECT {} FROM replies p WHERE p.run = ? ORDER BY p.stored_at, p.id",
                    kColumns));
    query.bind(1, run);
    return read(query);
  });
}

Result<ReplyTotals> Store::reply_totals(std::int64_t run) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        "SELECT COUNT(*), COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0), "
        "COALESCE(SUM(nano_dollars), 0), (SELECT COUNT(DISTINCT candidate) FROM reply_candidates "
        "WHERE run = ?1) FROM replies WHERE run = ?1");
    query.bind(1, run);
    ReplyTotals totals;
    if (query.executeStep()) {
      totals.replies = query.getColumn(0).getInt64();
      totals.input_tokens = query.getColumn(1).getInt64();
      totals.output_tokens = query.getColumn(2).getInt64();
      totals.nano_dollars = query.getColumn(3).getInt64();
      totals.candidates = query.getColumn(4).getInt64();
    }
    return totals;
  });
}

}  // namespace hone
