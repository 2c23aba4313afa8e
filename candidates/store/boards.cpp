// Boards and the rows on them.
#include <algorithm>
#include <cmath>
#include <ranges>
#include <unordered_set>

#include "candidates/store/impl.h"

namespace hone {

using store_detail::BoardKey;
using store_detail::parse_stored;
using store_detail::value_or_throw;

namespace {

constexpr std::string_view kCandidateColumns =
    "c.id, c.program_hash, c.task_hash, t.name, c.program, c.recipe, c.origin, c.parent";
constexpr std::string_view kCandidateWithoutProgram =
    "c.id, c.program_hash, c.task_hash, t.name, '', c.recipe, c.origin, c.parent";
constexpr std::string_view kResultColumns =
    "r.evaluation, r.device, r.device_name, r.arch, r.toolchain, r.driver, r.hone_version, "
    "r.modelled, r.sandbox, r.found_at";
constexpr std::string_view kRowTables =
    "results r JOIN candidates c ON c.id = r.candidate JOIN tasks t ON t.hash = c.task_hash";

std::string boards_wanted() {
  return "FROM boards b JOIN tasks t ON t.hash = b.task_hash WHERE (:task = '' OR t.name = :task "
         "OR substr(t.hash, 1, length(:task)) = :task) AND " +
         store_detail::is_on_device("b") +
         " AND (:arch = '' OR :arch = b.arch) AND :modelled IN (-1, b.modelled)";
}

constexpr MathLevel kLoosestMath = kAllMathLevels.back();

FinalResult read_result(SQLite::Statement& query, int i) {
  FinalResult result;
  const auto text = [&] { return query.getColumn(i++).getString(); };
  result.evaluation = value_or_throw(evaluation_from_json(parse_stored(text())));
  result.provenance.device = text();
  result.provenance.device_name = text();
  result.provenance.arch = text();
  result.provenance.toolchain = text();
  result.provenance.driver = text();
  result.provenance.hone_version = text();
  result.provenance.modelled = query.getColumn(i++).getInt() != 0;
  result.provenance.sandbox = text();
  result.found_at = text();
  return result;
}

/// Without a program where the query has '' in its place.
BoardRow read_row(SQLite::Statement& query) {
  BoardRow row;
  int i = 0;
  const auto text = [&] { return query.getColumn(i++).getString(); };
  row.candidate.id = text();
  row.candidate.program_hash = text();
  row.candidate.task_hash = text();
  row.candidate.task_name = text();
  if (const std::string program = text(); !program.empty())
    row.candidate.program = value_or_throw(program_from_json(parse_stored(program)));
  row.candidate.recipe = value_or_throw(recipe_from_json(parse_stored(text())));
  row.candidate.origin = text();
  row.candidate.parent = text();
  auto [evaluation, provenance, found_at] = read_result(query, i);
  row.evaluation = std::move(evaluation);
  row.provenance = std::move(provenance);
  row.found_at = std::move(found_at);
  return row;
}

/// Of each other device the best. `query`: for candidate, modelled and device name.
std::vector<FinalResult> read_elsewhere(SQLite::Statement& query, const BoardRow& row) {
  query.reset();
  query.bind(1, row.candidate.id);
  query.bind(2, row.provenance.modelled ? 1 : 0);
  query.bind(3, row.provenance.device_name);
  std::vector<FinalResult> elsewhere;
  while (query.executeStep()) {
    FinalResult result = read_result(query, 0);
    const bool known = !elsewhere.empty() &&
                       elsewhere.back().provenance.device_name == result.provenance.device_name;
    if (!known) elsewhere.push_back(std::move(result));
  }
  return elsewhere;
}

}  // namespace

// GPUs that were used under one name are of one model: of what was measured on "cuda:0,1" a reader
// who asks for "cuda:0" or "cuda:1" wants the same board. Which models a number stands for, all
// boards and runs together tell; of files that several machines wrote it may be more than one.
std::string store_detail::is_on_device(std::string_view table) {
  return fmt::format(
      "(:device = '' OR :device IN ({0}.device_name, {0}.device, {0}.arch) "
      "OR ({0}.device_name, {0}.modelled) IN (SELECT used.device_name, used.modelled "
      "FROM json_each(:gpus) gpu JOIN (SELECT device, device_name, modelled FROM boards "
      "UNION SELECT device, device_name, modelled FROM runs) used "
      "WHERE used.device LIKE 'cuda:%' AND (gpu.value = 'all' "
      "OR instr(',' || substr(used.device, 6) || ',', ',' || gpu.value || ',') > 0)))",
      table);
}

void store_detail::bind_device(SQLite::Statement& query, const std::string& device) {
  query.bind(":device", device);
  const std::string_view text = device == "cuda" ? "cuda:0" : std::string_view(device);
  nlohmann::json gpus = nlohmann::json::array();  // "0" and "2" of "cuda:0,2"
  if (text.starts_with("cuda:")) {
    for (const auto number : std::views::split(text.substr(5), ','))
      gpus.push_back(std::string(number.begin(), number.end()));
  }
  query.bind(":gpus", dump(gpus));
}

void store_detail::bind_filter(SQLite::Statement& query, const BoardFilter& filter) {
  query.bind(":task", filter.task);
  bind_device(query, filter.device);
  query.bind(":arch", filter.arch);
  query.bind(":modelled", filter.modelled ? static_cast<int>(*filter.modelled) : -1);
}

Result<std::vector<KnownRecipe>> Store::known_recipes(const Task& task, const std::string& arch,
                                                      bool modelled, int of_each,
                                                      std::int64_t for_run) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        "SELECT recipe, sizes, speedup FROM (SELECT c.recipe AS recipe, "
        "json_extract(t.json, '$.sizes') AS sizes, r.speedup AS speedup, "
        "ROW_NUMBER() OVER (PARTITION BY t.hash ORDER BY r.speedup DESC, r.candidate) AS place "
        "FROM tasks t JOIN results r ON r.task_hash = t.hash "
        "JOIN candidates c ON c.id = r.candidate WHERE t.family = ? AND r.arch = ? "
        "AND r.modelled = ? AND r.verdict = 'ok' AND r.final = 1 AND r.speedup > 1 "
        "AND r.origin IN ('rules', 'tunables') AND r.found_at <= "
        "COALESCE((SELECT started_at FROM runs WHERE id = ?), r.found_at)) "
        "WHERE place <= ? ORDER BY speedup DESC");
    query.bind(1, task.family());
    query.bind(2, arch);
    query.bind(3, modelled ? 1 : 0);
    query.bind(4, for_run);
    query.bind(5, of_each);
    std::vector<KnownRecipe> known;
    while (query.executeStep())
      known.push_back(
          {value_or_throw(recipe_from_json(parse_stored(query.getColumn(0).getString()))),
           parse_stored(query.getColumn(1).getString()).get<Bindings>(),
           query.getColumn(2).getDouble()});
    return known;
  });
}

std::vector<BoardKey> Store::Impl::board_keys(const BoardFilter& filter) {
  SQLite::Statement query(
      database, fmt::format("SELECT DISTINCT b.task_hash, b.device_name, b.modelled {} "
                            "ORDER BY t.name, t.stored_at DESC, b.modelled, b.device_name",
                            boards_wanted()));
  store_detail::bind_filter(query, filter);
  std::vector<BoardKey> keys;
  while (query.executeStep()) {
    keys.emplace_back(query.getColumn(0).getString(), query.getColumn(1).getString(),
                      query.getColumn(2).getInt() != 0);
  }
  return keys;
}

Board Store::Impl::read_board(const BoardKey& key, const BoardFilter& filter) {
  const auto& [task_hash, device_name, modelled] = key;
  Board board{task_hash, "", "", device_name, modelled, 0, {}, {}};
  // Ranks and filters come from the index alone: only rows that are shown are read.
  SQLite::Statement ranked(
      database,
      "SELECT id, candidate, origin, held_level, code FROM results WHERE task_hash = ? "
      "AND device_name = ? AND modelled = ? AND verdict = 'ok' AND final = 1 "
      "AND speedup IS NOT NULL "
      "ORDER BY speedup DESC, time_us, steps, registers, candidate, toolchain DESC");
  ranked.bind(1, task_hash);
  ranked.bind(2, device_name);
  ranked.bind(3, modelled ? 1 : 0);
  SQLite::Statement result(
      database, fmt::format("SELECT {}, {} FROM {} WHERE r.id = ?",
                            filter.programs ? kCandidateColumns : kCandidateWithoutProgram,
                            kResultColumns, kRowTables));
  SQLite::Statement others(
      database, fmt::format("SELECT {} FROM results r WHERE r.candidate = ? AND r.final = 1 "
                            "AND r.modelled = ? AND r.device_name <> ? "
                            "ORDER BY r.device_name, r.verdict = 'ok' DESC, r.speedup DESC, "
                            "r.id DESC",
                            kResultColumns));
  // A program measured with two toolchains ranks once; so do two that the compiler made one of.
  std::unordered_set<std::string> seen, seen_code;
  const int limit = std::clamp(filter.limit, 1, kMostBoardRows);
  const int math = static_cast<int>(filter.math.value_or(kLoosestMath));
  while (static_cast<int>(board.rows.size()) < limit && ranked.executeStep()) {
    const std::string code = ranked.getColumn(4).getString();
    if (seen.contains(ranked.getColumn(1).getString())) continue;
    if (!code.empty() && !seen_code.insert(code).second) continue;
    seen.insert(ranked.getColumn(1).getString());
    const int rank = static_cast<int>(seen.size());
    const bool wanted =
        (filter.origin.empty() || ranked.getColumn(2).getString() == filter.origin) &&
        ranked.getColumn(3).getInt() <= math;
    if (!wanted && rank > 1) continue;
    result.reset();
    result.bind(1, ranked.getColumn(0).getInt64());
    if (!result.executeStep()) throw std::runtime_error("a result without its candidate");
    BoardRow row = read_row(result);
    row.rank = rank;
    if (rank == 1) {
      board.task_name = row.candidate.task_name;
      board.device = row.provenance.device;
      board.reference_time_us = row.evaluation.measurement.reference_time_us;
    }
    if (!wanted) continue;
    row.elsewhere = read_elsewhere(others, row);
    board.rows.push_back(std::move(row));
  }
  if (!modelled) board.baselines = read_baselines(task_hash, device_name);
  return board;
}

Result<std::vector<BoardName>> Store::board_names(const BoardFilter& filter) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        fmt::format("SELECT b.task_hash, t.name, b.device, b.device_name, b.arch, b.modelled {} "
                    "ORDER BY b.arch, b.modelled, t.name, t.stored_at DESC, b.device_name, "
                    "b.device",
                    boards_wanted()));
    store_detail::bind_filter(query, filter);
    std::vector<BoardName> names;
    while (query.executeStep()) {
      int i = 0;
      const auto text = [&] { return query.getColumn(i++).getString(); };
      BoardName& name = names.emplace_back();
      name.task_hash = text();
      name.task_name = text();
      name.device = text();
      name.device_name = text();
      name.arch = text();
      name.modelled = query.getColumn(i).getInt() != 0;
    }
    return names;
  });
}

Result<std::vector<Board>> Store::boards(const BoardFilter& filter) const {
  return impl_->guarded([&] {
    std::vector<Board> boards;
    SQLite::Transaction snapshot(impl_->database);  // one state for all the reads
    for (const BoardKey& key : impl_->board_keys(filter)) {
      Board board = impl_->read_board(key, filter);
      if (!board.rows.empty()) boards.push_back(std::move(board));
    }
    return boards;
  });
}

std::vector<FinalResult> Store::Impl::read_finals(const std::string& id) {
  SQLite::Statement query(
      database, fmt::format("SELECT {} FROM results r WHERE r.candidate = ? AND r.final = 1 "
                            "ORDER BY r.modelled, r.device_name, r.verdict = 'ok' DESC, "
                            "r.speedup DESC, r.id DESC",
                            kResultColumns));
  query.bind(1, id);
  std::vector<FinalResult> results;
  while (query.executeStep()) results.push_back(read_result(query, 0));
  return results;
}

Result<std::vector<FinalResult>> Store::final_results(const std::string& id) const {
  return impl_->guarded([&] { return impl_->read_finals(id); });
}

int Store::Impl::rank_of(const BoardRow& row) {
  const Measurement& m = row.evaluation.measurement;
  if (row.evaluation.verdict != Verdict::kOk || !row.evaluation.final_stage ||
      !std::isfinite(m.speedup)) {
    return 0;
  }
  SQLite::Statement query(
      database,
      "SELECT COUNT(DISTINCT CASE WHEN code <> '' THEN code ELSE candidate END) FROM results "
      "WHERE task_hash = :task "
      "AND device_name = :device_name AND modelled = :modelled AND verdict = 'ok' AND final = 1 "
      "AND candidate <> :candidate AND (code IS NULL OR code = '' OR code <> :code) "
      "AND speedup >= :speedup AND (speedup > :speedup "
      "OR (time_us, steps, registers, candidate) < (:time_us, :steps, :registers, :candidate))");
  query.bind(":task", row.candidate.task_hash);
  query.bind(":device_name", row.provenance.device_name);
  query.bind(":modelled", row.provenance.modelled ? 1 : 0);
  query.bind(":candidate", row.candidate.id);
  query.bind(":speedup", m.speedup);
  query.bind(":time_us", m.time_us);
  query.bind(":steps", static_cast<int>(row.candidate.recipe.size()));
  int registers = 0;
  for (const KernelResources& r : row.evaluation.resources)
    registers = std::max(registers, r.registers);
  query.bind(":registers", registers);
  query.bind(":code", row.evaluation.code_hash);
  return query.executeStep() ? query.getColumn(0).getInt() + 1 : 0;
}

Result<BoardRow> Store::find_candidate(const std::string& id_prefix,
                                       const std::string& device) const {
  auto ids = impl_->guarded([&] {
    std::vector<std::string> ids;
    // An id is the beginning of its program's hash, so that the whole hash finds it too.
    SQLite::Statement query(impl_->database,
                            "SELECT id FROM candidates WHERE id = ?1 UNION "
                            "SELECT id FROM candidates WHERE program_hash >= ?1 "
                            "AND program_hash < ?1 || 'g' LIMIT 100");
    query.bind(1, id_prefix);
    while (query.executeStep()) ids.push_back(query.getColumn(0).getString());
    return ids;
  });
  if (!ids) return std::unexpected(ids.error());
  const bool exact = std::ranges::find(*ids, id_prefix) != ids->end();
  if (exact) ids = std::vector<std::string>{id_prefix};
  if (ids->empty() || id_prefix.empty()) {
    return invalid(fmt::format("there is no candidate '{}' in {}; `hone leaderboard` lists them",
                               id_prefix, impl_->path.string()));
  }
  if (ids->size() > 1) {
    std::string list;
    for (std::size_t i = 0; i < ids->size() && i < 5; ++i) {
      list += (i == 0 ? "" : ", ") + (*ids)[i];
    }
    return invalid(fmt::format("'{}' fits several candidates: {}{}", id_prefix, list,
                               ids->size() > 5 ? ", ..." : ""));
  }
  auto row = impl_->guarded([&]() -> std::optional<BoardRow> {
    SQLite::Transaction snapshot(impl_->database);
    // The device first; of several toolchains there the one that its board shows.
    SQLite::Statement query(
        impl_->database,
        fmt::format(
            "SELECT {}, {} FROM {} JOIN (SELECT device_name AS d, modelled AS m, final AS "
            "f, verdict AS v FROM results WHERE candidate = :id AND {} "
            "ORDER BY final DESC, verdict = 'ok' DESC, modelled, run IS NULL, id DESC LIMIT 1) "
            "ON r.device_name = d AND r.modelled = m AND r.final = f AND r.verdict = v "
            "WHERE c.id = :id ORDER BY r.speedup DESC, r.time_us, r.toolchain DESC LIMIT 1",
            kCandidateColumns, kResultColumns, kRowTables, store_detail::is_on_device("results")));
    query.bind(":id", ids->front());
    store_detail::bind_device(query, device);
    if (!query.executeStep()) {
      if (!device.empty()) return std::nullopt;
      throw std::runtime_error(fmt::format("candidate {} has no result", ids->front()));
    }
    BoardRow row = read_row(query);
    row.rank = impl_->rank_of(row);
    return row;
  });
  if (!row) return std::unexpected(row.error());
  if (*row) return std::move(**row);
  const auto devices = impl_->guarded([&] {
    SQLite::Statement query(impl_->database,
                            "SELECT DISTINCT device FROM results WHERE candidate = ? LIMIT 10");
    query.bind(1, ids->front());
    std::string list;
    while (query.executeStep()) list += (list.empty() ? "" : ", ") + query.getColumn(0).getString();
    return list;
  });
  if (!devices) return std::unexpected(devices.error());
  return invalid(fmt::format("candidate {} has no result of '{}'; it has of {}", ids->front(),
                             device, *devices));
}

}  // namespace hone
