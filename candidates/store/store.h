// The ranked database. The only place that speaks SQL. One Store per process and file: one writer,
// WAL; readers in other processes are welcome. Thread-safe (an internal mutex).
// On-disk format: candidates/store/FORMAT.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/ceilings.h"
#include "candidates/measurement.h"
#include "candidates/program.h"
#include "candidates/recipe.h"
#include "candidates/result.h"
#include "candidates/task.h"

namespace hone {

/// Where results came from; part of every result's key.
struct Provenance {
  std::string device;       ///< "cuda:0" or "emu:sm_90"
  std::string device_name;  ///< "NVIDIA H200": what a board is per
  std::string arch;
  std::string toolchain;  ///< "NVRTC 13.0"
  std::string driver;
  std::string hone_version;
  bool modelled = false;
  std::string sandbox;  ///< "strict", "best-effort", "off"
};

struct CandidateRecord {
  std::string id;  ///< short, unique in the database: first 12+ digits of the program hash
  std::string program_hash;
  std::string task_hash;
  std::string task_name;
  Program program;     ///< at the timed sizes
  Recipe recipe;       ///< empty for hand-written variants and for the reference itself
  std::string origin;  ///< "rules", "tunables", "model", "model+rules", "variant", "reference"
  std::string parent;  ///< id of the candidate it was derived from, may be empty
};

/// A final stage on one device, passed or not.
struct FinalResult {
  Evaluation evaluation;
  Provenance provenance;
  std::string found_at;  ///< ISO 8601, UTC
};

struct BoardRow {
  int rank = 0;
  CandidateRecord candidate;
  Evaluation evaluation;
  Provenance provenance;
  std::string found_at;  ///< ISO 8601, UTC
  /// On a board: the candidate's final stages on other devices, measured on a measured board and
  /// modelled on a modelled one. By device name, of each the best.
  std::vector<FinalResult> elsewhere;
};

/// What another implementation of a task takes on a GPU. Always measured, never modelled.
struct BaselineTime {
  std::string kind;                ///< "torch eager", "torch.compile", "cublas", "cublasLt"
  std::string device;              ///< "cuda:0"
  std::string device_name;         ///< "NVIDIA H200"
  double time_us = 0;              // median
  double ci95_low = 0;             // of the median [us]
  double ci95_high = 0;            // [us]
  std::vector<double> samples_us;  ///< one run each
  std::string precision;           ///< "f32", "tf32", "bf16"
  std::string versions;            ///< "torch 2.11.0, CUDA 13.0"
  std::string stored_at;           ///< ISO 8601, UTC; the store's to give
};

/// Rows of one task on one device name; modelled and measured are never mixed.
struct Board {
  std::string task_hash;
  std::string task_name;
  std::string device;
  std::string device_name;
  bool modelled = false;
  double reference_time_us = 0;
  std::vector<BoardRow> rows;           ///< fastest first: by final-stage speedup
  std::vector<BaselineTime> baselines;  ///< by kind; none on a modelled board
};

inline constexpr int kMostBoardRows = 10'000;

struct BoardFilter {
  std::string task;  ///< name or hash prefix; empty: all
  /// Device name, arch, "emu:sm_90", or GPUs: "cuda:0", "cuda:0,2", "cuda:all". GPUs stand for
  /// their models, as what is stored tells them: what "cuda:0,1" found is on the board of "cuda:1",
  /// too. Empty: all.
  std::string device;
  int limit = 10;                 ///< rows per board; at most kMostBoardRows
  std::string arch;               ///< "sm_90"; empty: all
  std::optional<bool> modelled;   ///< only these boards
  std::string origin;             ///< only rows of "rules", "variant", …; ranks stay those of all
  std::optional<MathLevel> math;  ///< only rows that were held to this or better
  /// False: rows without their programs, which are most of what there is to read.
  bool programs = true;
};

/// A board, without its rows: one for each device and architecture that it ever had a result of.
struct BoardName {
  std::string task_hash;
  std::string task_name;
  std::string device;  ///< "cuda:0"
  std::string device_name;
  std::string arch;
  bool modelled = false;
};

struct TaskRecord {
  std::string hash;
  std::string name;
  std::string stored_at;  ///< ISO 8601, UTC
};

/// A task and a device that it was searched on.
struct SearchedTask {
  std::string hash;
  std::string name;
  std::string device_name;
  std::string arch;
  bool modelled = false;
};

/// One search on one device, or one hand-written variant.
struct RunRecord {
  std::int64_t id = 0;
  std::string task_hash;
  std::string task_name;
  Provenance provenance;
  std::uint64_t seed = 0;
  std::string strategy;
  std::string started_at;  ///< ISO 8601, UTC, as the next
  std::string ended_at;    ///< empty until it ends
  std::string status;      ///< "running" until it ends
  std::string job;         ///< of a service; else empty
};

struct RunFilter {
  std::string task;         ///< name or hash; empty: all
  std::string job;          ///< empty: all
  std::int64_t before = 0;  ///< only runs with a smaller id; 0: all
  int limit = 50;
};

/// What a run got, in short: its own, whoever finds the same program before or later. A final stage
/// that was later shown to be wrong says so.
struct RunPoint {
  std::int64_t id = 0;  ///< grows in the order of storing, in one run; never given twice
  std::string candidate;
  std::string origin;
  Verdict verdict = Verdict::kOk;
  bool final_stage = false;
  double speedup = 0;  ///< 0 where there is none, as for the next
  double time_us = 0;
  double ci95_low = 0;   // of a final stage's speedup
  double ci95_high = 0;  // likewise
  std::string found_at;  ///< by this run; ISO 8601, UTC
};

/// A whole run, however long, in as much as can be looked at.
struct RunOutline {
  std::map<Verdict, std::int64_t> verdicts;  ///< of the search, without final stages
  std::vector<RunPoint> finals;              ///< all final stages, in the order of storing
  std::vector<RunPoint> fastest;  ///< that passed, the fastest first, final stages before the rest
  /// Of what the search timed, in the order of storing: all that raise the best, and of the others
  /// evenly as many as were asked for.
  std::vector<RunPoint> progress;
};

/// A recipe of rules that stands on the board of a task or of one of its family.
struct KnownRecipe {
  Recipe recipe;
  Bindings sizes;  ///< of that task
  double speedup = 0;
};

/// A program that a search timed, with what the compiler said of it.
struct TimedCandidate {
  std::string task_hash;
  std::string device_name;
  bool modelled = false;
  Program program;
  double time_us = 0;
  std::vector<KernelResources> resources;
};

/// What a language model was asked and what it said.
struct ReplyRecord {
  std::string id;              ///< a content hash of request and reply
  std::string mode;            ///< "whole", "diff", "steps"
  std::string prompt_version;  ///< of the templates
  std::string model;           ///< as the server names it
  std::string text;            ///< empty where none came
  std::string outcome;         ///< "program", "edits", "steps", or why it is none
  std::int64_t input_tokens = 0, output_tokens = 0, nano_dollars = 0;  ///< counted, all attempts
  bool exact = true;  ///< as the server stated; false: at most
  double seconds = 0;
  std::string stored_at;  ///< ISO 8601, UTC; the store's to give
};

/// How far a reply came, by the best of its candidates.
enum class ReplyFate {
  kNone,     ///< there was no reply
  kRefused,  ///< it was no program and no steps
  kUntried,  ///< known already, not legal at a check size, or the search ended
  kFailed,   ///< at a gate
  kPassed,   ///< its answers were right
  kBest,     ///< and it was the fastest of the run so far, the reference included
};
[[nodiscard]] std::string_view to_string(ReplyFate fate);  ///< "no reply", "refused", …

/// Before anything is known of candidates: kNone, kRefused or kUntried.
[[nodiscard]] ReplyFate first_fate(const ReplyRecord& reply);

/// A reply and what became of it in its run.
struct RunReply {
  ReplyRecord reply;
  ReplyFate fate = ReplyFate::kUntried;
  std::vector<std::string> candidates;  ///< that came of it; of rules on top of it, too
};

/// What a job has paid a language model for, or may have: requests whose end nobody heard count as
/// the most that they can have cost.
struct Spending {
  std::int64_t tokens = 0;  ///< input and output
  std::int64_t nano_dollars = 0;
  bool operator==(const Spending&) const = default;
};

/// A run that came to a candidate.
struct RunOfCandidate {
  RunRecord run;
  std::string found_at;  ///< by this run first; ISO 8601, UTC
};

struct StoreOptions {
  int busy_timeout_ms = 10'000;  ///< how long a call waits for another process's write
  std::int64_t max_bytes = 0;    // the file may not grow beyond this [B]; 0: no limit
  /// Writes nothing but what brings an older format up to date. Several of these may be open in
  /// one process, beside each other and a writer. A file or folder that this user cannot write is
  /// read as it is, also while others write it; its format must be the latest.
  bool read_only = false;
};

/// Why the file cannot be read or written for now: nothing is wrong with what was asked, and the
/// same call works once somebody has mended it. Calls then fail with kInfrastructure.
enum class StoreFault {
  kFull,      ///< no space is left, or a quota is used up
  kReadOnly,  ///< the file, its folder or its file system
  kLocked,    ///< by another process, for longer than the busy timeout
  kFailing,   ///< the system reports errors of reading, writing or opening
  kDamaged,   ///< what is in it makes no sense; a copy must be put back. Calls fail with kIo
};
[[nodiscard]] std::string_view to_string(StoreFault fault);  ///< "full", "read-only", …

/// Is told of faults, for a service that waits until they are mended instead of failing. Called by
/// whatever thread uses the Store, which holds no lock of it.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  /// A call met a fault, after `faults` earlier ones. True: try again, after a wait that this
  /// function makes; false: the call fails with `error`.
  [[nodiscard]] virtual bool try_again(StoreFault fault, const Error& error, int faults) = 0;
  /// A call that wrote, or met `faults`, has succeeded.
  virtual void succeeded(int faults) = 0;
  /// A call met `faults` and then failed for another reason.
  virtual void failed(int faults) = 0;
  /// A call that was to write was refused, as every later one will be: somebody has taken the fence
  /// with a larger token.
  virtual void fence_lost() = 0;
  /// True: something is wrong, and calls are tried again anyway. They then wait for another
  /// process's lock only shortly, so that nobody here waits long for them.
  [[nodiscard]] virtual bool in_trouble() const = 0;
};

/// Which database this is.
struct StoreIdentity {
  std::string id;          ///< 16 hex digits, drawn at random when it was created
  std::string created_at;  ///< ISO 8601, UTC; or when a version that knows ids first opened it
  std::string queue;       ///< what remember_queue() was told last; empty: it led none
};

/// A job that has not ended, as it was submitted (engine/queue/messages_job.h, encoded).
struct KeptJob {
  std::string id;
  std::string message;
};

struct StoreCheck;
struct PruneOptions;
struct Pruned;
struct Merged;

class Store {
 public:
  /// Opens or creates. kIo: not a database, a newer version; kInfrastructure: a StoreFault, such
  /// as a file that is not writable; with what to do.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(const std::filesystem::path& path,
                                                           const StoreOptions& options = {});
  ~Store();

  /// $XDG_DATA_HOME/hone/hone.db, or ~/.local/share/hone/hone.db.
  [[nodiscard]] static std::filesystem::path default_path();
  /// The version of the files that this program writes; it migrates older ones (FORMAT.md).
  [[nodiscard]] static int format_version();

  [[nodiscard]] Result<void> put_task(const Task& task);
  /// A search run: groups evaluations. Returns its id.
  /// With a job's id: the job's run on that device, begun anew or left by a process that died.
  /// `task`: as the run reads it, for task_of().
  [[nodiscard]] Result<std::int64_t> begin_run(const std::string& task_hash,
                                               const Provenance& provenance, std::uint64_t seed,
                                               const std::string& strategy,
                                               const std::string& job = "",
                                               const Task* task = nullptr);
  [[nodiscard]] Result<void> end_run(std::int64_t run, const std::string& status);
  /// What put() was given for a job's run before the final stage, by program hash: the first of
  /// each. Kept until forget_jobs().
  [[nodiscard]] Result<std::map<std::string, Evaluation>> run_results(std::int64_t run) const;
  /// Ends the runs of all jobs but these, where they have not ended, and forgets their
  /// run_results().
  [[nodiscard]] Result<void> forget_jobs(const std::set<std::string>& but);
  [[nodiscard]] Result<void> forget_job(const std::string& job);
  /// From now on this Store writes only while nobody has taken the fence with a larger token:
  /// kEnvironment then, and for a token that is not above the last one.
  [[nodiscard]] Result<void> take_fence(std::int64_t token);
  /// The last token that was taken; 0: none.
  [[nodiscard]] Result<std::int64_t> fence() const;

  // Of the database as a whole; see maintenance.h.

  /// Writes a copy as things stand now, while others read and write, of whatever format the
  /// database has; the database stays as it is. The copy is complete or not there. It has an id of
  /// its own, so that no queue takes it for the original. kInvalidInput: `file` is there already,
  /// or `database` is none; kInfrastructure, kIo: of either file.
  [[nodiscard]] static Result<void> backup(const std::filesystem::path& database,
                                           const std::filesystem::path& file);
  /// Looks at pages, references, hashes and what rows hold. That something is wrong is no error.
  [[nodiscard]] Result<StoreCheck> check() const;
  /// Deletes candidates and what is known of them, and runs of which nothing is left; then makes
  /// the file smaller, which may fail where the disk is full. What stands on a board stays as far
  /// as `options` says, and so do references, baselines, tasks, and runs that have not ended.
  [[nodiscard]] Result<Pruned> prune(const PruneOptions& options);
  /// Takes over what another database knows: all of it or nothing. Where both know a result, this
  /// one's stays, unless the other has shown the program to be wrong. Jobs that have not ended,
  /// and what a coordinator keeps for them, are not taken over. The other file stays as it is: one
  /// of an older format is copied beside this database, and the copy migrated. kInfrastructure:
  /// somebody began to write to it meanwhile.
  [[nodiscard]] Result<Merged> merge(const std::filesystem::path& file);

  /// Has faults told to `observer`, which must outlive all calls until observe(nullptr).
  void observe(StoreObserver* observer);
  /// Writes a few pages for no other reason than to see whether it works. kInfrastructure: not.
  [[nodiscard]] Result<void> try_writing();
  [[nodiscard]] Result<StoreIdentity> identity() const;
  /// The name of the queue that this database leads from now on.
  [[nodiscard]] Result<void> remember_queue(const std::string& queue);
  /// Keeps jobs until forget_job() or forget_jobs(); one that is kept already stays as it is. A
  /// loss of power leaves them.
  [[nodiscard]] Result<void> keep_jobs(const std::vector<KeptJob>& jobs);
  /// Their ids, in the order of keeping.
  [[nodiscard]] Result<std::vector<std::string>> kept_jobs() const;
  /// As it was submitted; none: it is not kept.
  [[nodiscard]] Result<std::optional<std::string>> kept_job(const std::string& id) const;
  /// Jobs that have begun and not ended, kept or not.
  [[nodiscard]] Result<std::set<std::string>> begun_jobs() const;
  [[nodiscard]] const std::filesystem::path& path() const;
  /// Stores a candidate and its evaluation, idempotent by (program hash, device name, toolchain,
  /// stage). Only verdict ok with final_stage enters boards; fault, race, wrong_result or tampering
  /// at any stage takes the program off them. The id is the store's to give: candidate_id() tells
  /// it.
  [[nodiscard]] Result<void> put(std::int64_t run, const CandidateRecord& candidate,
                                 const Evaluation& evaluation, const Provenance& provenance);
  /// The id under which put() stored a candidate.
  [[nodiscard]] Result<std::optional<std::string>> candidate_id(const std::string& program_hash,
                                                                const std::string& task_hash) const;
  /// An earlier result of the same program on the same device and toolchain.
  [[nodiscard]] Result<std::optional<Evaluation>> find(const std::string& program_hash,
                                                       const std::string& task_hash,
                                                       const Provenance& provenance) const;

  /// Of each task of the family on that architecture up to `of_each` recipes of rules, the fastest
  /// first. As things stood when `for_run` began: one that goes on begins as it did.
  [[nodiscard]] Result<std::vector<KnownRecipe>> known_recipes(const Task& task,
                                                               const std::string& arch,
                                                               bool modelled, int of_each,
                                                               std::int64_t for_run = 0) const;

  /// Hands all that searches timed on an architecture to `take`, without final stages: task by
  /// task, of a task device by device. `take` must not ask the store.
  [[nodiscard]] Result<void> timed_candidates(
      const std::string& arch, const std::function<void(TimedCandidate)>& take) const;
  /// Of what searches timed, the architectures, measured or modelled: by name.
  [[nodiscard]] Result<std::vector<std::string>> timed_architectures() const;

  /// Once for each id and run.
  [[nodiscard]] Result<void> put_reply(std::int64_t run, const ReplyRecord& reply);
  /// A candidate that put() stored came of a reply that put_reply() stored for the run.
  [[nodiscard]] Result<void> link_reply(std::int64_t run, const std::string& reply,
                                        const std::string& candidate);
  /// Those that a candidate came of, the newest first.
  [[nodiscard]] Result<std::vector<ReplyRecord>> replies_of(const std::string& candidate) const;
  /// A run's, in the order of storing. `texts`: false leaves out what the model said.
  [[nodiscard]] Result<std::vector<RunReply>> replies(std::int64_t run, bool texts = true) const;
  /// Replaces what a job is known to have spent. Kept for good: the server may forget that a job
  /// has ended.
  [[nodiscard]] Result<void> put_spending(const std::string& job, const Spending& spending);
  [[nodiscard]] Result<Spending> spending(const std::string& job) const;  ///< unknown: none

  /// Replaces the task's earlier time of that kind on that device name. kInvalidInput: no kind or
  /// device name, times that are not positive, a device that is not cuda:N.
  [[nodiscard]] Result<void> put_baseline(const std::string& task_hash,
                                          const BaselineTime& baseline);
  /// By kind.
  [[nodiscard]] Result<std::vector<BaselineTime>> baselines(const std::string& task_hash,
                                                            const std::string& device_name) const;

  /// A row of a bench (engine/search/bench.h), as JSON: replaces the task's earlier one. The task
  /// is stored, too.
  [[nodiscard]] Result<void> put_bench_row(const std::string& bench, const Task& task,
                                           const nlohmann::json& row);
  [[nodiscard]] Result<std::optional<nlohmann::json>> bench_row(const std::string& bench,
                                                                const std::string& task_hash) const;

  /// What a device was measured to reach at most, under a driver; replaces what was known.
  [[nodiscard]] Result<void> put_ceilings(const std::string& device_name, const std::string& driver,
                                          const Ceilings& ceilings);
  [[nodiscard]] Result<std::optional<Ceilings>> ceilings(const std::string& device_name,
                                                         const std::string& driver) const;

  /// The newest first.
  [[nodiscard]] Result<std::vector<RunRecord>> runs(const RunFilter& filter) const;
  /// kInvalidInput: there is none.
  [[nodiscard]] Result<RunRecord> find_run(std::int64_t id) const;
  /// A run's results in the order of storing, from the first whose id is above `after` on.
  [[nodiscard]] Result<std::vector<RunPoint>> run_points(std::int64_t run, std::int64_t after = 0,
                                                         int limit = 100'000) const;
  /// `fastest`, `progress`: how many of them.
  [[nodiscard]] Result<RunOutline> run_outline(std::int64_t run, int fastest = 20,
                                               int progress = 1500) const;
  /// The newest first.
  [[nodiscard]] Result<std::vector<RunOfCandidate>> runs_of_candidate(const std::string& id,
                                                                      int limit = 20) const;
  /// By name; of one name the one stored last first.
  [[nodiscard]] Result<std::vector<TaskRecord>> tasks() const;
  /// By name; of one name the one stored last first. `task`, `device`, `arch` and `modelled` of the
  /// filter count.
  [[nodiscard]] Result<std::vector<SearchedTask>> searched(const BoardFilter& filter) const;

  [[nodiscard]] Result<std::vector<Board>> boards(const BoardFilter& filter) const;
  /// Which boards there are, by architecture, measured before modelled, then by task and device.
  /// Of the filter, what concerns rows is not looked at. A board that was emptied since is here
  /// still.
  [[nodiscard]] Result<std::vector<BoardName>> board_names(const BoardFilter& filter) const;
  /// A candidate's final stages, by its id: measured before modelled, then by device name, the
  /// best first.
  [[nodiscard]] Result<std::vector<FinalResult>> final_results(const std::string& id) const;
  /// By id or any unambiguous prefix; with the result of a device that was searched on, where there
  /// is one. `device`: with its result on this one, as BoardFilter names devices; empty: any.
  /// kInvalidInput: none or several, and which; or no result of this device, and of which ones.
  [[nodiscard]] Result<BoardRow> find_candidate(const std::string& id_prefix,
                                                const std::string& device = "") const;
  /// The task as it was stored (JSON of candidates/task.h): by hash, a prefix of one of at least
  /// four digits, or name (the one stored last).
  [[nodiscard]] Result<Task> find_task(const std::string& hash_or_name) const;
  /// The task that a result is of, with the files that the result's run read: weights of another
  /// training make no other task, and find_task() has those of the run that began last. These are
  /// taken, too, where the run's are not known.
  [[nodiscard]] Result<Task> task_of(const BoardRow& row) const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  [[nodiscard]] static std::unique_ptr<Impl> open_unwritable(const std::filesystem::path& path);
  /// Writes nothing to the file or beside it; its format must be the latest.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open_as_it_is(
      const std::filesystem::path& path);
  /// Of any format that this program knows.
  [[nodiscard]] static Result<int> format_of(const std::filesystem::path& path);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
