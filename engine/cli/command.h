// What all commands share: where JSON and messages go, devices and databases.
// A command is one file, command_<name>.cpp, with one function add_<name>(); commands.cpp lists
// them.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "candidates/store/store.h"
#include "engine/cli/run.h"
#include "engine/queue/broker.h"
#include "engine/queue/log_event.h"
#include "engine/rewriting/rewriting.h"
#include "engine/search/settings.h"
#include "engine/service/metrics_server.h"
#include "evaluator/evaluator.h"

namespace hone::cli {

[[nodiscard]] int exit_status(const Error& error);

/// Options that every command has.
struct Common {
  std::string json;  ///< "", "-" or a file

  /// True when stdout belongs to the JSON document.
  [[nodiscard]] bool json_on_stdout() const { return json == "-"; }
  /// Writes the document where `--json` says; nothing without it. Prints an error itself.
  [[nodiscard]] bool write_json(const nlohmann::json& document) const;
  /// Can `--json` be written? Asked before a long search, not after it. Empties the file.
  [[nodiscard]] Result<void> check_json() const;
  /// Prints "hone: message" to stderr and {"error": …} to the JSON output.
  int fail(const Error& error) const;
};

/// Registers a command: its options, and the function that runs it and returns the exit status.
using Run = std::function<int()>;
struct Registration {
  CLI::App* app = nullptr;
  Run run;
};
[[nodiscard]] Registration add_optimize(CLI::App& root);
[[nodiscard]] Registration add_bench(CLI::App& root);
[[nodiscard]] Registration add_evaluate(CLI::App& root);
[[nodiscard]] Registration add_check(CLI::App& root);
[[nodiscard]] Registration add_init(CLI::App& root);
Registration add_import(CLI::App& root);
[[nodiscard]] Registration add_leaderboard(CLI::App& root);
[[nodiscard]] Registration add_report(CLI::App& root);
[[nodiscard]] Registration add_show(CLI::App& root);
[[nodiscard]] Registration add_diff(CLI::App& root);
[[nodiscard]] Registration add_export(CLI::App& root);
[[nodiscard]] Registration add_rules(CLI::App& root);
[[nodiscard]] Registration add_verify(CLI::App& root);
[[nodiscard]] Registration add_baseline(CLI::App& root);
[[nodiscard]] Registration add_db(CLI::App& root);
[[nodiscard]] Registration add_describe(CLI::App& root);
[[nodiscard]] Registration add_prompt(CLI::App& root);
[[nodiscard]] Registration add_calibrate(CLI::App& root);
[[nodiscard]] Registration add_doctor(CLI::App& root);
[[nodiscard]] Registration add_submit(CLI::App& root);
[[nodiscard]] Registration add_jobs(CLI::App& root);
[[nodiscard]] Registration add_watch(CLI::App& root);
[[nodiscard]] Registration add_cancel(CLI::App& root);
[[nodiscard]] Registration add_coordinator(CLI::App& root);
[[nodiscard]] Registration add_worker(CLI::App& root);
[[nodiscard]] Registration add_workers(CLI::App& root);
[[nodiscard]] Registration add_serve(CLI::App& root);
[[nodiscard]] Registration add_completion(CLI::App& root);
[[nodiscard]] Registration add_man(CLI::App& root);
[[nodiscard]] Registration add_version(CLI::App& root);
[[nodiscard]] Registration add_help(CLI::App& root);

/// Options for commands that evaluate.
struct DeviceOptions {
  std::string device;   ///< empty: cuda:0 where there is one, else emu:sm_90
  std::string profile;  ///< a file; empty: the built-in one
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
  int compile_processes = 0;  ///< 0: one per core, at most 16
  int check_processes = 0;    ///< likewise
  /// Of one program's emulated checks [s].
  double check_timeout_s = EvaluatorOptions{}.check_timeout_s;
  /// `otherwise`: what an empty device is taken for, as the help says it.
  void add_to(CLI::App& app,
              const std::string& otherwise = "cuda:0 where there is a GPU, else emu:sm_90");
};
/// For EvaluatorOptions::warn.
void warn_on_stderr(const std::string& line);
/// Whether a command tells which layers of the sandbox this machine does not grant. `hone doctor`
/// always does; results record it; a command tells it once per database, while that has no runs.
enum class MissingLayers { kTold, kUntold };
/// `--sandbox MODE`.
void add_sandbox_option(CLI::App& app, sandbox::Mode& mode);
struct OpenDevice {
  DeviceSpec spec;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<Rewriting> rewriting;  ///< confined as the evaluator's children are
};
/// What reads sources for this program, in children.
[[nodiscard]] std::unique_ptr<Rewriting> open_rewriting(
    sandbox::Mode sandbox = sandbox::Mode::kBestEffort,
    MissingLayers layers = MissingLayers::kUntold,
    std::function<void(const std::string&)> warn = warn_on_stderr, const Placement& placement = {});
/// For evaluations of `task`: its children see the files that it names, and `more_files`.
[[nodiscard]] Result<OpenDevice> open_device(const DeviceOptions& options, const Task& task,
                                             MissingLayers layers,
                                             const std::vector<std::string>& more_files = {});

struct DatabaseOptions {
  std::string path;  ///< empty: Store::default_path()
  void add_to(CLI::App& app);
  [[nodiscard]] Result<std::unique_ptr<Store>> open() const;
  /// For commands that only read: a missing file is an error, not an empty database.
  /// One that this user cannot write is read as it is.
  [[nodiscard]] Result<std::unique_ptr<Store>> open_existing() const;
  /// What was given, to be repeated in a command that is printed for pasting: "" or " --db FILE".
  [[nodiscard]] std::string as_typed() const;
  /// Likewise, for commands that write and do not make a new one.
  [[nodiscard]] Result<std::unique_ptr<Store>> open_existing_to_write() const;
  /// kTold while the database has no runs, or is not there.
  [[nodiscard]] MissingLayers missing_layers() const;
};

void add_json_option(CLI::App& app, Common& common);
void add_task_argument(CLI::App& app, std::string& path);
void add_candidate_argument(CLI::App& app, std::string& id);
void add_quiet_option(CLI::App& app, bool& quiet);
/// For an option that is a time: 90, 90s, 1.5m, 1h; what arrives is in seconds.
[[nodiscard]] CLI::Validator a_time();
/// A flag that switches off what is on by default.
CLI::Option* add_off_flag(CLI::App& app, const std::string& name, bool& on,
                          const std::string& help);

/// The options of a search (engine/search/settings.h) on a command line.
class SearchArguments {
 public:
  /// `each` stands before what the budget is for: "For each task. ".
  void add_to(CLI::App& app, const std::string& each = "");
  /// What was given, checked. Errors: kInvalidInput.
  [[nodiscard]] Result<SearchSettings> settings() const;

 private:
  SearchSettings settings_ = default_settings();
  std::string budget_ = default_settings().budget.text();
};

/// Options for commands that speak to a Redis server.
struct RedisOptions {
  std::string url;  ///< empty: $HONE_REDIS, or redis://127.0.0.1:6379
  std::string prefix = "hone";
  /// `otherwise`: what holds without $HONE_REDIS, as the help says it.
  void add_to(CLI::App& app, const std::string& otherwise = "redis://127.0.0.1:6379");
  /// What was given of them, to be repeated in a command that is printed for pasting: "" or
  /// " --redis redis://host --prefix x", without a password.
  [[nodiscard]] std::string as_typed() const;
  /// `patience_s`: how long a call tries to reach a server that is away. `log`: is told, where
  /// there is one, when the server is lost and when it is back.
  [[nodiscard]] Result<std::unique_ptr<queue::Broker>> open(double patience_s = 30,
                                                            const Log& log = {}) const;
};
/// Instead of warn_on_stderr, where there is a log. The same line again is for debugging only: each
/// search says anew what the sandbox does without.
[[nodiscard]] std::function<void(const std::string&)> warn_in(const Log& log);
/// Options of coordinator and worker: how they log, to stderr, and where their metrics are.
struct DaemonOptions {
  std::string metrics_address;  ///< "127.0.0.1:9400"; empty: nowhere
  std::string log_format = "text", log_level = "info";
  void add_to(CLI::App& app);
  /// Those of the log alone. Where log_format is "plain" before, that is the default and a choice:
  /// messages as other commands write them.
  void add_log_to(CLI::App& app);
  /// Fills in the component. Thread-safe.
  [[nodiscard]] Log log(const std::string& component) const;
  /// Null where no address was given.
  [[nodiscard]] Result<std::unique_ptr<MetricsServer>> serve(Metrics& metrics,
                                                             const Log& log) const;
  /// In the log where that is JSON, else as every command does; the exit status.
  [[nodiscard]] int fail(const Log& log, const Error& error) const;
};

/// Whether `path` could be written; leaves it, and what is in it, as it was.
[[nodiscard]] Result<void> check_writable(const std::string& path);
/// Writes text to a file, or to stdout for "-". kIo with the reason.
[[nodiscard]] Result<void> write_text(const std::string& path, const std::string& text);

/// As a shell takes it for one word: in quotes where it needs some.
[[nodiscard]] std::string shell_word(const std::string& text);
/// Whether stdout is to be coloured unless somebody says otherwise: a terminal that is not dumb,
/// and no $NO_COLOR (no-color.org).
[[nodiscard]] bool colours_by_default();

/// "12.3 us", "4.56 ms"
[[nodiscard]] std::string format_time(double time_us);

}  // namespace hone::cli
