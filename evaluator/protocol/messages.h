// The messages between hone and hone-runner, typed. Every `from_message` checks types and lengths:
// the other side may lie. One request, one reply; `op` names the request.
//
//   hello    runner -> hone   {"hello": kVersion, "mode", "pid"} once, at its start
//   compile  {"op", "job"} -> {"program"}
//   emulate  {"op", …EmulateRequest} -> {…EmulateReply}
//   sanitize see evaluator/protocol/sanitize_messages.h
//   measure  see evaluator/protocol/measure_messages.h
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/program.h"
#include "candidates/task.h"
#include "evaluator/check/fakes.h"
#include "evaluator/compile_types.h"
#include "evaluator/fill/input_sets.h"
#include "evaluator/library_call.h"

namespace hone::protocol {

[[nodiscard]] nlohmann::json to_message(const CompileJob& job);
[[nodiscard]] Result<CompileJob> compile_job_from(const nlohmann::json& message);

[[nodiscard]] nlohmann::json to_message(const CompiledProgram& program);
[[nodiscard]] Result<CompiledProgram> compiled_program_from(const nlohmann::json& message);

/// A program ready to run: what the emulator and the GPU get. The source stays behind.
struct Runnable {
  ConcreteProgram program;
  CompiledProgram compiled;
  std::string key;  ///< content hash of both: what runners cache by
  std::optional<MatmulCall> library = std::nullopt;  ///< runs instead of the launches
};
[[nodiscard]] nlohmann::json to_message(const Runnable& runnable);
[[nodiscard]] Result<Runnable> runnable_from(const nlohmann::json& message);

[[nodiscard]] nlohmann::json to_message(const Tolerance& tolerance);
[[nodiscard]] Result<Tolerance> tolerance_from(const nlohmann::json& message);
/// "non_finite" of a message.
[[nodiscard]] Result<NonFinite> non_finite_from(const nlohmann::json& message);
/// "inputs" of a message.
[[nodiscard]] Result<InputSet> input_set_from(const nlohmann::json& message);
/// A list of texts for people.
[[nodiscard]] Result<std::vector<std::string>> lines_from(const nlohmann::json& message,
                                                          const char* key);

/// One size: the reference and, unless this is an admission, the candidate.
struct Case {
  Runnable reference;
  std::optional<Runnable> candidate;
  std::optional<Runnable> precise;  ///< the reference in double, where it has such a form
  std::uint64_t seed = 0;
  std::uint64_t changes = 0;         ///< not sent; see fill::Source::with_changes; 0: none
  InputSet inputs = InputSet::kOwn;  ///< for messages: the programs' fills are changed already
  /// A size or inputs that the task does not list: where the reference itself fails, or less than
  /// half of an answer is finite, the case says nothing.
  bool made_up = false;
  bool in_part = false;     ///< too large to emulate in full; see CheckCase
  bool repeatable = false;  ///< two runs of the candidate must agree to the bit
  std::map<std::string, std::string> expected = {};  ///< see CheckCase
};
[[nodiscard]] nlohmann::json to_message(const Case& one);
[[nodiscard]] Result<Case> case_from(const nlohmann::json& message);

/// What is asked of a candidate's bits beside the tolerance.
enum class SameBits {
  kFree,      ///< nothing
  kNoted,     ///< the reply says whether all answers had the reference's
  kRequired,  ///< all must have: the task's math is exact
};

/// What one of several runners does of a request whose checks are divided among them: of a final
/// stage, or of an admission, whose checks have no candidate.
struct Part {
  enum class Does {
    kReference,  ///< runs the reference of the one check, which that runner keeps
    kCheck,      ///< the one check, of the candidate
    kRest,       ///< what follows the checks, which are all there
    kReorder,    ///< the one check, or of an admission its reference, in another order as well
    // Of an admission, with the one check's reference:
    kAdmit,   ///< in grid order: what is wrong with it
    kNeed,    ///< does each element of an input count? Then read_whole of the reply holds it
    kLook,    ///< on made-up inputs: what is not finite
    kExpect,  ///< compares what it leaves with Case::expected
  };
  Does does = Does::kCheck;
  /// The most that references of the check's PTX took on their task's own inputs, in the checks
  /// before it; of kRest, those of the timed PTX in all checks. 0: not known. [warp instructions]
  std::uint64_t own_work = 0;
  int schedules = 0;           ///< of kCheck: other orders of blocks and warps; of kReorder: which
  bool often = false;          ///< of kCheck: called until what it keeps repeats
  bool timed_follows = false;  ///< the whole request has a timed case
  bool wrote_variables = false;    ///< of kRest: the candidate did, in a check
  std::vector<int> unusable = {};  ///< of kRest: made-up checks that said nothing, by index
  std::string input;               ///< of kNeed
  int inputs = 0;                  ///< likewise: of which that is asked, each in a part
};

struct EmulateRequest {
  std::string arch;
  std::string profile;        ///< JSON of the model's numbers; empty: the default one of `arch`
  std::vector<Case> checks;   ///< run in full and compared
  std::optional<Case> timed;  ///< sampled for the model; the candidate, or the reference alone
  Tolerance tolerance;
  bool exact = true;  ///< what is exact in f32 must be exact; see check::can_be_exact
  /// What answers are held to. Up to kTf32x3, fewer bits than f32 has are wrong (see
  /// check::Question::coarse); at kTf32, fewer than TF32 has (check::Question::rounded).
  MathLevel math = MathLevel::kReduced;
  SameBits bits = SameBits::kFree;
  int threads = 1;              ///< that run the blocks of a launch
  bool is_final = false;        ///< of a final stage: more is asked of the candidate
  bool by_rules = false;        ///< see EvaluationRequest
  std::uint64_t allowance = 0;  ///< likewise
  /// Chooses the blocks that are sampled for the model and, in a final stage, the places at which
  /// outputs are compared at the timed size. Whoever writes candidates must not know it.
  std::uint64_t places = 0;
  /// What the model may spend on one block of each launch of the timed case, together (see
  /// runner::units_of); 0: as much as it takes to judge a candidate.
  double most_units = 0;
  std::optional<Part> part;  ///< none: all of it
};
struct EmulateReply {
  Verdict verdict = Verdict::kCrash;
  bool reference_failed = false;  ///< the verdict is the reference's, not the candidate's
  std::string detail;
  double max_rel_error = 0;
  bool same_bits = true;          ///< of all answers, where SameBits were to be noted or required
  double reference_error = 0;     ///< of the reference against itself in double; 0: not known
  std::vector<int> unusable;      ///< made-up checks that said nothing, by index
  std::vector<std::string> said;  ///< of an admission: what the user should know, line by line
  /// Of an admission: inputs that the reference read to the last byte at every check size, and of
  /// which every element counts for the answer (of kAdmit: which it read so at this size); of the
  /// model of a reference: those that it reads
  /// whole at the timed size.
  std::set<std::string> read_whole;
  int expected_checked = 0;      ///< of an admission: sizes at which there was something expected
  std::string expected_differs;  ///< where the first of it is not what came out; else empty
  std::string not_compared;      ///< why an output was not compared at the timed size; else empty
  std::string compared;          ///< how much was compared at the timed size; empty: nothing
  double time_us = 0;            ///< of the timed program
  double time_error = 0;         ///< of it, as its blocks differ: one standard deviation, relative
  std::string bound;
  std::map<std::string, double> counters;
  // Of a part alone: a KnownReference, and whether the candidate wrote a `__device__` variable.
  bool reference_usable = false, exchanges = false, wrote_variables = false;
  std::uint64_t reference_work = 0;     // [warp instructions]
  std::vector<check::TriedFake> fakes;  ///< of kAdmit
};
/// "bits" of a message.
[[nodiscard]] Result<MathLevel> math_from(const nlohmann::json& message);
[[nodiscard]] Result<SameBits> same_bits_from(const nlohmann::json& message);
/// "threads"; 1 where it is missing.
[[nodiscard]] Result<int> threads_from(const nlohmann::json& message);
[[nodiscard]] nlohmann::json to_message(const EmulateRequest& request);
[[nodiscard]] Result<EmulateRequest> emulate_request_from(const nlohmann::json& message);
[[nodiscard]] nlohmann::json to_message(const EmulateReply& reply);
[[nodiscard]] Result<EmulateReply> emulate_reply_from(const nlohmann::json& message);

}  // namespace hone::protocol
