// `hone check`: one program on the emulated GPU with every checker on, all findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "candidates/program.h"
#include "candidates/task.h"
#include "candidates/verdict.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/fill/input_sets.h"

namespace hone {

struct SanitizeRequest {
  ConcreteProgram program;
  std::uint64_t seed = 1;                           ///< of the fills
  std::vector<std::uint64_t> schedule_seeds = {0};  ///< the whole program once for each
  int max_findings = 50;                            ///< of one launch
  InputSet inputs = InputSet::kOwn;  ///< for what is said: the program's fills are changed already
  NonFinite non_finite = NonFinite::kNever;  ///< as of a task's tolerance
  double seconds = 60;                       ///< then it ends with what it has found
  int threads = 0;  ///< that run the blocks of a launch; 0: one per core, at most 16
};

struct SanitizeFinding {
  emulator::Finding finding;
  int launch = 0;
  std::string kernel;               ///< as the task names it
  std::uint64_t schedule_seed = 0;  ///< of the first schedule that shows it
};

struct SanitizeResult {
  Verdict verdict = Verdict::kOk;  ///< when it is no finding: compile_error, launch_error, ...
  std::string detail;              ///< likewise
  std::vector<SanitizeFinding> findings;
  std::vector<std::string> said;  ///< of outputs that are not finite everywhere, where it is clean
  std::string stopped;            ///< "after 60 s, in launch 2 of 3"; empty: all was run
  std::string output;             ///< printf, of the first schedule
  bool output_cut = false;
  std::uint64_t warp_instructions = 0;
};

}  // namespace hone
