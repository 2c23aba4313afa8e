// What a service keeps beside results: whose queue the database leads, which jobs it took, and
// whether the file can be written.
#include "candidates/store/impl.h"

namespace hone {
namespace {

constexpr int kProbe = 64 << 10;  // more than what small writes find room for [B]

}  // namespace

void Store::observe(StoreObserver* observer) { impl_->observer = observer; }

const std::filesystem::path& Store::path() const { return impl_->path; }

Result<void> Store::try_writing() {
  // Two commits: what a transaction frees again is not written.
  auto filled = impl_->writing([&] {
    SQLite::Statement fill(impl_->database,
                           "INSERT OR REPLACE INTO probe (only, bytes) VALUES (1, zeroblob(?))");
    fill.bind(1, kProbe);
    fill.exec();
  });
  if (!filled) return filled;
  return impl_->writing([&] { impl_->database.exec("DELETE FROM probe"); });
}

Result<StoreIdentity> Store::identity() const {
  return impl_->guarded([&] {
    SQLite::Statement query(impl_->database, "SELECT id, created_at, queue FROM identity");
    if (!query.executeStep()) throw std::runtime_error("the database is damaged: it has no id");
    return StoreIdentity{query.getColumn(0).getString(), query.getColumn(1).getString(),
                         query.getColumn(2).getString()};
  });
}

Result<void> Store::remember_queue(const std::string& queue) {
  return impl_->writing(
      [&] {
        SQLite::Statement update(impl_->database, "UPDATE identity SET queue = ?");
        update.bind(1, queue);
        update.exec();
      },
      true);
}

Result<void> Store::keep_jobs(const std::vector<KeptJob>& jobs) {
  return impl_->writing(
      [&] {
        for (const KeptJob& job : jobs) {
          SQLite::Statement insert(impl_->database,
                                   "INSERT INTO jobs (id, message, kept_at) VALUES (?, ?, ?) "
                                   "ON CONFLICT DO NOTHING");
          insert.bind(1, job.id);
          insert.bind(2, job.message.data(), static_cast<int>(job.message.size()));
          insert.bind(3, store_detail::now());
          insert.exec();
        }
      },
      true);
}

Result<std::vector<std::string>> Store::kept_jobs() const {
  return impl_->guarded([&] {
    std::vector<std::string> ids;
    SQLite::Statement query(impl_->database, "SELECT id FROM jobs ORDER BY rowid");
    while (query.executeStep()) ids.push_back(query.getColumn(0).getString());
    return ids;
  });
}

Result<std::optional<std::string>> Store::kept_job(const std::string& id) const {
  return impl_->guarded([&]() -> std::optional<std::string> {
    SQLite::Statement query(impl_->database, "SELECT message FROM jobs WHERE id = ?");
    query.bind(1, id);
    if (!query.executeStep()) return std::nullopt;
    return query.getColumn(0).getString();
  });
}

Result<std::set<std::string>> Store::begun_jobs() const {
  return impl_->guarded([&] {
    std::set<std::string> jobs;
    SQLite::Statement query(impl_->database,
                            "SELECT DISTINCT job FROM runs WHERE job <> '' AND ended_at IS NULL");
    while (query.executeStep()) jobs.insert(query.getColumn(0).getString());
    return jobs;
  });
}

}  // namespace hone
