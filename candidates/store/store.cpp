// Tasks, runs, candidates and results.
#include "candidates/store/store.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "candidates/store/impl.h"

namespace hone {

using store_detail::dump;
using store_detail::now;
using store_detail::parse_stored;
using store_detail::value_or_throw;

namespace {

constexpr std::size_t kIdDigits = 12;

void bind_provenance(SQLite::Statement& statement, const Provenance& provenance) {
  statement.bind(":device", provenance.device);
  statement.bind(":device_name", provenance.device_name);
  statement.bind(":arch", provenance.arch);
  statement.bind(":toolchain", provenance.toolchain);
  statement.bind(":driver", provenance.driver);
  statement.bind(":hone_version", provenance.hone_version);
  statement.bind(":modelled", provenance.modelled ? 1 : 0);
  statement.bind(":sandbox", provenance.sandbox);
}

// NaN would be NULL and infinity would lead every board.
void bind_real(SQLite::Statement& statement, const char* name, double value) {
  if (std::isfinite(value)) {
    statement.bind(name, value);
  } else {
    statement.bind(name);
  }
}

// Verdicts that say the program is wrong, whatever an earlier look found.
bool disproves(Verdict verdict) {
  return verdict == Verdict::kFault || verdict == Verdict::kRace ||
         verdict == Verdict::kWrongResult || verdict == Verdict::kTampering;
}

}  // namespace

Result<void> Store::put_task(const Task& task) {
  return impl_->writing([&] {
    const std::string hash = task.hash();
    SQLite::Statement known(impl_->database, "SELECT name FROM tasks WHERE hash = ?");
    known.bind(1, hash);
    Task kept = task;
    if (known.executeStep()) kept.name = known.getColumn(0).getString();
    known.reset();
    SQLite::Statement insert(
        impl_->database,
        "INSERT INTO tasks (hash, name, json, stored_at, family) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (hash) DO UPDATE SET json = excluded.json, "
        "stored_at = excluded.stored_at, family = excluded.family");
    insert.bind(1, hash);
    insert.bind(2, kept.name);
    insert.bind(3, dump(kept));
    insert.bind(4, now());
    insert.bind(5, task.family());
    insert.exec();
  });
}

Result<std::int64_t> Store::begin_run(const std::string& task_hash, const Provenance& provenance,
                                      std::uint64_t seed, const std::string& strategy,
                                      const std::string& job, const Task* task) {
  return impl_->writing([&] {
    SQLite::Statement known(impl_->database,
                            "SELECT id FROM runs WHERE job = ? AND job <> '' AND device_name = ? "
                            "AND modelled = ?");
    known.bind(1, job);
    known.bind(2, provenance.device_name);
    known.bind(3, provenance.modelled ? 1 : 0);
    nlohmann::json inputs = nlohmann::json::object();
    if (task != nullptr) {
      for (const Buffer& buffer : task->reference.buffers)
        if (buffer.fill.kind == Fill::Kind::kFile) inputs[buffer.name] = buffer.fill.path;
    }
    if (known.executeStep()) {
      // A run that an older hone began says nothing of them.
      const std::int64_t run = known.getColumn(0).getInt64();
      SQLite::Statement update(impl_->database,
                               "UPDATE runs SET inputs = ? WHERE id = ? AND inputs = '{}'");
      update.bind(1, dump(inputs));
      update.bind(2, run);
      update.exec();
      return run;
    }
    SQLite::Statement insert(
        impl_->database,
        "INSERT INTO runs (task_hash, device, device_name, arch, toolchain, driver, hone_version, "
        "modelled, sandbox, seed, strategy, job, started_at, inputs) VALUES (:task, :device, "
        ":device_name, :arch, :toolchain, :driver, :hone_version, :modelled, :sandbox, :seed, "
        ":strategy, :job, :now, :inputs)");
    insert.bind(":task", task_hash);
    bind_provenance(insert, provenance);
    insert.bind(":seed", static_cast<std::int64_t>(seed));
    insert.bind(":strategy", strategy);
    insert.bind(":job", job);
    insert.bind(":inputs", dump(inputs));
    insert.bind(":now", now());
    insert.exec();
    return static_cast<std::int64_t>(impl_->database.getLastInsertRowid());
  });
}

Result<void> Store::end_run(std::int64_t run, const std::string& status) {
  return impl_->writing([&] {
    SQLite::Statement update(impl_->database,
                             "UPDATE runs SET ended_at = ?, status = ? WHERE id = ?");
    update.bind(1, now());
    update.bind(2, status);
    update.bind(3, run);
    update.exec();
  });
}

// The id it has, or the shortest free one: digits of its hash, more of them where another candidate
// (the same program in another task, say) took the shorter.
std::string Store::Impl::candidate_id(const CandidateRecord& candidate) {
  SQLite::Statement known(database,
                          "SELECT id FROM candidates WHERE program_hash = ? AND task_hash = ?");
  known.bind(1, candidate.program_hash);
  known.bind(2, candidate.task_hash);
  if (known.executeStep()) return known.getColumn(0).getString();
  SQLite::Statement taken(database, "SELECT 1 FROM candidates WHERE id = ?");
  std::string id;
  for (std::size_t digits = kIdDigits;; ++digits) {
    id = candidate.program_hash.substr(0, digits);
    if (digits > candidate.program_hash.size()) {
      id += fmt::format("-{}", digits - candidate.program_hash.size() + 1);
    }
    taken.reset();
    taken.bind(1, id);
    if (!taken.executeStep()) return id;
  }
}

void Store::Impl::put_candidate(const std::string& id, const CandidateRecord& candidate) {
  // A second way to the same program adds nothing, unless it is shorter.
  SQLite::Statement insert(
      database,
      "INSERT INTO candidates (id, program_hash, task_hash, program, recipe, origin, parent) "
      "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (program_hash, task_hash) DO UPDATE SET "
      "recipe = excluded.recipe, parent = excluded.parent WHERE origin = excluded.origin "
      "AND json_array_length(excluded.recipe) < json_array_length(recipe)");
  insert.bind(1, id);
  insert.bind(2, candidate.program_hash);
  insert.bind(3, candidate.task_hash);
  insert.bind(4, dump(candidate.program));
  insert.bind(5, dump(candidate.recipe));
  insert.bind(6, candidate.origin);
  insert.bind(7, candidate.parent);
  insert.exec();
}

void Store::Impl::put_result(const std::string& id, std::int64_t run,
                             const CandidateRecord& candidate, const Evaluation& evaluation,
                             const Provenance& provenance) {
  SQLite::Statement insert(
      database,
      "INSERT INTO results (candidate, run, task_hash, device, device_name, arch, toolchain, "
      "driver, hone_version, modelled, sandbox, final, verdict, speedup, time_us, evaluation, "
      "found_at, origin, held_level, steps, registers, code) "
      "VALUES (:candidate, :run, :task, :device, :device_name, :arch, :toolchain, :driver, "
      ":hone_version, :modelled, :sandbox, :final, :verdict, :speedup, :time_us, :evaluation, "
      ":now, :origin, :math, :steps, :registers, :code) "
      "ON CONFLICT (candidate, device_name, toolchain, modelled, final) DO UPDATE SET "
      "run = COALESCE(excluded.run, run), device = excluded.device, arch = excluded.arch, "
      "driver = excluded.driver, hone_version = excluded.hone_version, "
      "sandbox = excluded.sandbox, "
      "verdict = excluded.verdict, speedup = excluded.speedup, time_us = excluded.time_us, "
      "evaluation = excluded.evaluation, held_level = excluded.held_level, "
      "steps = excluded.steps, registers = excluded.registers, code = excluded.code "
      // It says neither that a program is right nor that it is wrong.
      "WHERE excluded.verdict <> 'slower' "
      "OR verdict NOT IN ('ok', 'fault', 'race', 'wrong_result', 'tampering')");
  insert.bind(":candidate", id);
  if (run > 0) {
    insert.bind(":run", run);
  } else {
    insert.bind(":run");
  }
  insert.bind(":task", candidate.task_hash);
  bind_provenance(insert, provenance);
  insert.bind(":final", evaluation.final_stage ? 1 : 0);
  insert.bind(":verdict", std::string(to_string(evaluation.verdict)));
  bind_real(insert, ":speedup", evaluation.measurement.speedup);
  bind_real(insert, ":time_us", evaluation.measurement.time_us);
  insert.bind(":evaluation", dump(evaluation));
  insert.bind(":now", now());
  if (evaluation.final_stage) {
    bind_filtered_by(insert, id);
    insert.bind(":math", static_cast<int>(evaluation.math));
    int registers = 0;
    for (const KernelResources& r : evaluation.resources)
      registers = std::max(registers, r.registers);
    insert.bind(":registers", registers);
    insert.bind(":code", evaluation.code_hash);
  } else {
    for (const char* name : {":origin", ":math", ":steps", ":registers", ":code"})
      insert.bind(name);
  }
  insert.exec();

  if (disproves(evaluation.verdict)) withdraw(id, evaluation, provenance);
  if (evaluation.verdict == Verdict::kOk && evaluation.final_stage) {
    SQLite::Statement board(database,
                            "INSERT INTO boards (task_hash, device_name, modelled, device, arch) "
                            "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
    board.bind(1, candidate.task_hash);
    board.bind(2, provenance.device_name);
    board.bind(3, provenance.modelled ? 1 : 0);
    board.bind(4, provenance.device);
    board.bind(5, provenance.arch);
    board.exec();
  }
}

// Of the stored candidate: the first way to a program is the one that is kept.
void Store::Impl::bind_filtered_by(SQLite::Statement& insert, const std::string& id) {
  SQLite::Statement query(database, "SELECT origin, recipe FROM candidates WHERE id = ?");
  query.bind(1, id);
  if (!query.executeStep()) throw std::runtime_error("a result without its candidate");
  insert.bind(":origin", query.getColumn(0).getString());
  const Recipe recipe =
      value_or_throw(recipe_from_json(parse_stored(query.getColumn(1).getString())));
  insert.bind(":steps", static_cast<int>(recipe.size()));
}

// What final stages said of a program that is wrong, on its board and in every run.
void Store::Impl::withdraw(const std::string& id, const Evaluation& evaluation,
                           const Provenance& provenance) {
  const auto bind = [&](SQLite::Statement& statement) {
    statement.bind(":candidate", id);
    statement.bind(":device_name", provenance.device_name);
    statement.bind(":toolchain", provenance.toolchain);
    statement.bind(":modelled", provenance.modelled ? 1 : 0);
  };
  if (!evaluation.final_stage) {
    SQLite::Statement from_board(
        database,
        "DELETE FROM results WHERE candidate = :candidate AND device_name = :device_name "
        "AND toolchain = :toolchain AND modelled = :modelled AND final = 1");
    bind(from_board);
    from_board.exec();
  }
  SQLite::Statement in_runs(
      database,
      "UPDATE run_points SET verdict = :verdict, speedup = NULL, time_us = NULL, ci95_low = NULL, "
      "ci95_high = NULL "
      "WHERE candidate = :candidate AND final = 1 AND verdict = 'ok' AND EXISTS (SELECT 1 FROM "
      "runs u WHERE u.id = run AND u.device_name = :device_name AND u.toolchain = :toolchain "
      "AND u.modelled = :modelled)");
  bind(in_runs);
  in_runs.bind(":verdict", std::string(to_string(evaluation.verdict)));
  in_runs.exec();
}

void Store::Impl::put_point(std::int64_t run, const std::string& id, const Evaluation& evaluation) {
  if (run <= 0) return;
  // One that changed gets a new number, so that who reads on from the last one sees it. No number
  // is used twice: the largest is never deleted.
  SQLite::Statement insert(
      database,
      "INSERT INTO run_points (run, id, candidate, final, verdict, speedup, time_us, ci95_low, "
      "ci95_high, found_at) "
      "VALUES (:run, (SELECT COALESCE(MAX(id), 0) + 1 FROM run_points WHERE run = :run), "
      ":candidate, :final, :verdict, :speedup, :time_us, :low, :high, :now) "
      "ON CONFLICT (candidate, run, final) DO UPDATE SET id = excluded.id, "
      "verdict = excluded.verdict, speedup = excluded.speedup, time_us = excluded.time_us, "
      "ci95_low = excluded.ci95_low, ci95_high = excluded.ci95_high, "
      "found_at = excluded.found_at WHERE verdict <> excluded.verdict "
      "OR speedup IS NOT excluded.speedup OR time_us IS NOT excluded.time_us");
  insert.bind(":run", run);
  insert.bind(":candidate", id);
  insert.bind(":final", evaluation.final_stage ? 1 : 0);
  insert.bind(":verdict", std::string(to_string(evaluation.verdict)));
  bind_real(insert, ":speedup", evaluation.measurement.speedup);
  bind_real(insert, ":time_us", evaluation.measurement.time_us);
  if (evaluation.final_stage) {
    bind_real(insert, ":low", evaluation.measurement.ci95_low);
    bind_real(insert, ":high", evaluation.measurement.ci95_high);
  } else {
    insert.bind(":low");
    insert.bind(":high");
  }
  insert.bind(":now", now());
  insert.exec();
}

Result<void> Store::put(std::int64_t run, const CandidateRecord& candidate,
                        const Evaluation& evaluation, const Provenance& provenance) {
  if (candidate.program_hash.empty()) {
    return fail(ErrorCode::kInternal, "a candidate without a program hash was to be stored");
  }
  return impl_->writing([&] {
    const std::string id = impl_->candidate_id(candidate);
    impl_->put_candidate(id, candidate);
    impl_->put_result(id, run, candidate, evaluation, provenance);
    impl_->put_point(run, id, evaluation);
    if (evaluation.final_stage) return;
    SQLite::Statement remember(impl_->database,
                               "INSERT INTO run_results (run, program_hash, evaluation) "
                               "SELECT id, ?, ? FROM runs WHERE id = ? AND job <> '' "
                               "ON CONFLICT DO NOTHING");
    remember.bind(1, candidate.program_hash);
    remember.bind(2, dump(evaluation));
    remember.bind(3, run);
    remember.exec();
  });
}

Result<std::map<std::string, Evaluation>> Store::run_results(std::int64_t run) const {
  return impl_->guarded([&] {
    std::map<std::string, Evaluation> results;
    SQLite::Statement query(impl_->database,
                            "SELECT program_hash, evaluation FROM run_results WHERE run = ?");
    query.bind(1, run);
    while (query.executeStep()) {
      results.emplace(
          query.getColumn(0).getString(),
          value_or_throw(evaluation_from_json(parse_stored(query.getColumn(1).getString()))));
    }
    return results;
  });
}

Result<std::int64_t> Store::fence() const {
  return impl_->guarded(
      [&] { return impl_->database.execAndGet("SELECT token FROM fence").getInt64(); });
}

Result<void> Store::forget_job(const std::string& job) {
  return impl_->writing([&] { impl_->forget_job(job); });
}

Result<void> Store::forget_jobs(const std::set<std::string>& but) {
  return impl_->writing([&] {
    std::set<std::string> jobs;
    SQLite::Statement query(impl_->database,
                            "SELECT DISTINCT job FROM runs WHERE job <> '' AND (ended_at IS NULL "
                            "OR id IN (SELECT run FROM run_results))");
    while (query.executeStep()) jobs.insert(query.getColumn(0).getString());
    SQLite::Statement kept(impl_->database, "SELECT id FROM jobs");
    while (kept.executeStep()) jobs.insert(kept.getColumn(0).getString());
    for (const auto& job : jobs)
      if (!but.contains(job)) impl_->forget_job(job);
  });
}

void Store::Impl::forget_job(const std::string& job) {
  SQLite::Statement let_go(database, "DELETE FROM jobs WHERE id = ?");
  let_go.bind(1, job);
  let_go.exec();
  SQLite::Statement forget(
      database, "DELETE FROM run_results WHERE run IN (SELECT id FROM runs WHERE job = ?)");
  forget.bind(1, job);
  forget.exec();
  SQLite::Statement end(database,
                        "UPDATE runs SET ended_at = ?, status = 'abandoned' WHERE job = ? AND "
                        "ended_at IS NULL");
  end.bind(1, now());
  end.bind(2, job);
  end.exec();
}

Result<void> Store::take_fence(std::int64_t token) {
  auto taken = impl_->guarded(
      [&] {
        // On the disk: the server remembers the token, too, and compares.
        const Impl::OnDisk on_disk(impl_->database);
        SQLite::Statement update(impl_->database, "UPDATE fence SET token = ?1 WHERE token < ?1");
        update.bind(1, token);
        if (update.exec() == 0) return false;
        impl_->fence = token;
        return true;
      },
      true);
  if (!taken) return std::unexpected(taken.error());
  if (!*taken) {
    return fail(
        ErrorCode::kEnvironment,
        fmt::format("{}: another process has taken over the writing", impl_->path.string()));
  }
  return {};
}

Result<std::optional<std::string>> Store::candidate_id(const std::string& program_hash,
                                                       const std::string& task_hash) const {
  return impl_->guarded([&]() -> std::optional<std::string> {
    SQLite::Statement query(impl_->database,
                            "SELECT id FROM candidates WHERE program_hash = ? AND task_hash = ?");
    query.bind(1, program_hash);
    query.bind(2, task_hash);
    if (!query.executeStep()) return std::nullopt;
    return query.getColumn(0).getString();
  });
}

Result<std::optional<Evaluation>> Store::find(const std::string& program_hash,
                                              const std::string& task_hash,
                                              const Provenance& provenance) const {
  return impl_->guarded([&]() -> std::optional<Evaluation> {
    SQLite::Statement query(impl_->database,
                            "SELECT r.evaluation FROM results r JOIN candidates c "
                            "ON c.id = r.candidate WHERE c.program_hash = ? AND c.task_hash = ? "
                            "AND r.device_name = ? AND r.toolchain = ? AND r.modelled = ? "
                            "ORDER BY r.final DESC LIMIT 1");
    query.bind(1, program_hash);
    query.bind(2, task_hash);
    query.bind(3, provenance.device_name);
    query.bind(4, provenance.toolchain);
    query.bind(5, provenance.modelled ? 1 : 0);
    if (!query.executeStep()) return std::nullopt;
    return value_or_throw(evaluation_from_json(parse_stored(query.getColumn(0).getString())));
  });
}

Result<Task> Store::find_task(const std::string& hash_or_name) const {
  struct Found {
    std::vector<std::string> hashes;
    std::string json;
  };
  auto found = impl_->guarded([&] {
    Found found;
    // The newest of a name; a hash, or a prefix of one, of four digits or more.
    SQLite::Statement by_name(impl_->database,
                              "SELECT hash, json FROM tasks WHERE name = ?1 OR hash = ?1 "
                              "ORDER BY hash = ?1 DESC, stored_at DESC LIMIT 1");
    by_name.bind(1, hash_or_name);
    if (by_name.executeStep()) {
      found.hashes = {by_name.getColumn(0).getString()};
      found.json = by_name.getColumn(1).getString();
      return found;
    }
    if (hash_or_name.size() < 4) return found;
    SQLite::Statement by_prefix(impl_->database,
                                "SELECT hash, json FROM tasks WHERE hash > ?1 "
                                "AND hash < ?1 || 'g' LIMIT 5");
    by_prefix.bind(1, hash_or_name);
    while (by_prefix.executeStep()) {
      found.hashes.push_back(by_prefix.getColumn(0).getString());
      found.json = by_prefix.getColumn(1).getString();
    }
    return found;
  });
  if (!found) return std::unexpected(found.error());
  if (found->hashes.empty()) {
    return invalid(fmt::format("there is no task '{}' in {}", hash_or_name, impl_->path.string()));
  }
  if (found->hashes.size() > 1) {
    return invalid(
        fmt::format("'{}' fits several tasks: {}", hash_or_name, fmt::join(found->hashes, ", ")));
  }
  const auto json = nlohmann::json::parse(found->json, nullptr, false);
  auto task = task_from_json(json);
  if (task) return task;
  return fail(ErrorCode::kIo,
              fmt::format("{}: the database is damaged: task {}: {}", impl_->path.string(),
                          found->hashes.front(), task.error().message));
}

Result<Task> Store::task_of(const BoardRow& row) const {
  auto task = find_task(row.candidate.task_hash);
  if (!task) return task;
  const auto inputs = impl_->guarded([&] {
    // What was only tried on a device is of the search that had found it elsewhere by then.
    SQLite::Statement query(
        impl_->database,
        "SELECT u.inputs FROM results r JOIN runs u ON u.id = COALESCE(r.run, "
        "(SELECT p.run FROM run_points p WHERE p.candidate = r.candidate "
        "AND p.found_at <= r.found_at ORDER BY p.found_at DESC, p.run LIMIT 1), "
        "(SELECT p.run FROM run_points p WHERE p.candidate = r.candidate "
        "ORDER BY p.found_at, p.run LIMIT 1)) "
        "WHERE r.candidate = :id AND r.device_name = :device_name AND r.toolchain = :toolchain "
        "AND r.modelled = :modelled AND r.final = :final");
    query.bind(":id", row.candidate.id);
    query.bind(":device_name", row.provenance.device_name);
    query.bind(":toolchain", row.provenance.toolchain);
    query.bind(":modelled", row.provenance.modelled ? 1 : 0);
    query.bind(":final", row.evaluation.final_stage ? 1 : 0);
    if (!query.executeStep()) return nlohmann::json::object();
    return parse_stored(query.getColumn(0).getString());
  });
  if (!inputs) return std::unexpected(inputs.error());
  for (Buffer& buffer : task->reference.buffers) {
    const auto input = inputs->find(buffer.name);
    if (buffer.fill.kind == Fill::Kind::kFile && input != inputs->end() && input->is_string())
      buffer.fill.path = input->get<std::string>();
  }
  return task;
}

}  // namespace hone
