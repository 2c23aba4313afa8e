#include <fmt/chrono.h>
#include <fmt/core.h>

#include <chrono>

#include "candidates/store/maintenance.h"
#include "engine/cli/command.h"

namespace hone::cli {
namespace db_command {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  std::string file;  ///< of backup and merge
  int keep = 0;
  double older_than_days = 0;  ///< 0: of any age
  bool dry_run = false;
};

/// Where people read: not in a JSON document.
std::FILE* out_of(const Common& common) { return common.json_on_stdout() ? stderr : stdout; }

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) * 1e-6);
}

int backup(const Options& options) {
  const auto& path = options.database.path;
  const auto file = path.empty() ? Store::default_path() : std::filesystem::path(path);
  if (const auto done = Store::backup(file, options.file); !done)
    return options.common.fail(done.error());
  fmt::print(out_of(options.common), "{}: a copy of {}\n", options.file, file.string());
  return options.common.write_json({{"database", file.string()}, {"copy", options.file}})
             ? kDone
             : kEnvironmentLacks;
}

int merge(const Options& options) {
  const auto store = options.database.open_existing_to_write();
  if (!store) return options.common.fail(store.error());
  const auto merged = (*store)->merge(options.file);
  if (!merged) return options.common.fail(merged.error());
  fmt::print(out_of(options.common),
             "{}: took over {} tasks, {} runs, {} candidates, {} results, {} baselines from {}\n",
             (*store)->path().string(), merged->tasks, merged->runs, merged->candidates,
             merged->results, merged->baselines, options.file);
  if (merged->withdrawn > 0) {
    fmt::print(out_of(options.common),
               "  {} results left their boards: {} has shown their programs to be wrong\n",
               merged->withdrawn, options.file);
  }
  return options.common.write_json({{"tasks", merged->tasks},
                                    {"runs", merged->runs},
                                    {"candidates", merged->candidates},
                                    {"results", merged->results},
                                    {"baselines", merged->baselines},
                                    {"withdrawn", merged->withdrawn}})
             ? kDone
             : kEnvironmentLacks;
}

/// ISO 8601, UTC, so many days ago.
std::string days_ago(double days) {
  const auto then = std::chrono::system_clock::now() -
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(
                        std::chrono::duration<double, std::ratio<86'400>>(days));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.000Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(then)));
}

int prune(const Options& options) {
  if (options.keep == 0 && options.older_than_days == 0) {
    return options.common.fail(
        {ErrorCode::kInvalidInput,
         "say what may go: --keep N, all but the best N of each board; --older-than DAYS, what "
         "nobody found since; or both, what is both"});
  }
  const auto store = options.database.open_existing_to_write();
  if (!store) return options.common.fail(store.error());
  PruneOptions prune;
  prune.keep = options.keep;
  if (options.older_than_days > 0) prune.before = days_ago(options.older_than_days);
  prune.dry_run = options.dry_run;
  const auto pruned = (*store)->prune(prune);
  if (!pruned) return options.common.fail(pruned.error());
  fmt::print(out_of(options.common), "{} {} candidates with {} results, {} runs, {} replies\n",
             options.dry_run ? "would delete" : "deleted", pruned->candidates, pruned->results,
             pruned->runs, pruned->replies);
  if (!options.dry_run) {
    fmt::print(out_of(options.common), "the file had {} and has {}\n",
               megabytes(pruned->bytes_before), megabytes(pruned->bytes_after));
  }
  if (!pruned->not_shrunk.empty()) {
    fmt::print(stderr, "hone: the file was not made smaller, its space is used again: {}\n",
               pruned->not_shrunk);
  }
  return options.common.write_json({{"dry_run", options.dry_run},
                                    {"candidates", pruned->candidates},
                                    {"results", pruned->results},
                                    {"points", pruned->points},
                                    {"runs", pruned->runs},
                                    {"replies", pruned->replies},
                                    {"bytes_before", pruned->bytes_before},
                                    {"bytes_after", pruned->bytes_after}})
             ? kDone
             : kEnvironmentLacks;
}

int check(const Options& options) {
  const auto store = options.database.open_existing();
  if (!store) return options.common.fail(store.error());
  const auto found = (*store)->check();
  if (!found) return options.common.fail(found.error());
  std::FILE* out = out_of(options.common);
  fmt::print(out, "{}: format {}, id {}, created {}, {}\n", (*store)->path().string(),
             found->format, found->identity.id, found->identity.created_at,
             megabytes(found->bytes));
  nlohmann::json rows = nlohmann::json::object();
  for (const auto& [table, count] : found->rows) {
    fmt::print(out, "  {:<12}{:>10}\n", table, count);
    rows[table] = count;
  }
  for (const std::string& problem : found->problems) fmt::print(out, "PROBLEM: {}\n", problem);
  if (found->problems.empty()) fmt::print(out, "no problems\n");
  const nlohmann::json document = {{"database", (*store)->path().string()},
                                   {"format", found->format},
                                   {"id", found->identity.id},
                                   {"created_at", found->identity.created_at},
                                   {"bytes", found->bytes},
                                   {"rows", rows},
                                   {"problems", found->problems}};
  if (!options.common.write_json(document)) return kEnvironmentLacks;
  return found->problems.empty() ? kDone : kCheckFailed;
}

struct Part {
  CLI::App* app = nullptr;
  int (*run)(const Options&) = nullptr;
};

int run(const Options& options, const std::vector<Part>& parts) {
  if (auto json = options.common.check_json(); !json) return options.common.fail(json.error());
  for (const Part& part : parts)
    if (part.app->parsed()) return part.run(options);
  return kUsage;
}

}  // namespace
}  // namespace db_command

Registration add_db(CLI::App& root) {
  using namespace db_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("db", "Copy, merge, thin or check a results database");
  app->require_subcommand(1);
  std::vector<Part> parts;
  const auto part = [&](const char* name, const char* help, int (*run)(const Options&)) {
    CLI::App* made = app->add_subcommand(name, help);
    options->database.add_to(*made);
    add_json_option(*made, options->common);
    parts.push_back({made, run});
    return made;
  };
  part("backup",
       "Copy the database to a new file, also while others write to it. The copy has an id of its "
       "own: a coordinator takes it with --adopt-queue only",
       backup)
      ->add_option("FILE", options->file, "The copy, which must not be there yet")
      ->required();
  part("merge", "Take over what another database knows: tasks, runs, candidates, results", merge)
      ->add_option("FILE", options->file, "The other database, which keeps what is in it")
      ->required();
  CLI::App* thinned = part("prune",
                           "Delete candidates that are on no board, or not among its best, and "
                           "make the file smaller",
                           prune);
  thinned
      ->add_option("--keep", options->keep,
                   "Keep the best N of each board; default: all that stand on one")
      ->type_name("N")
      ->check(CLI::Range(1, kMostBoardRows));
  thinned
      ->add_option("--older-than", options->older_than_days,
                   "Delete only what no search found in the last DAYS days; default: of any age")
      ->type_name("DAYS")
      ->check(CLI::Range(0.0, 36'500.0));
  thinned->add_flag("--dry-run", options->dry_run, "Only say how much would go");
  part("check",
       "Look whether the database is whole: pages, references, hashes, what rows hold; says its "
       "format",
       check);
  return {app, [options, parts] { return run(*options, parts); }};
}

}  // namespace hone::cli
