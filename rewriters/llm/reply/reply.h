// What a language model answered, taken for hostile: a program or steps, or one reason why not. The
// reason is one line that may go into a repair turn (as data). Nothing of a reply but
// what is returned here reaches anything, and a source that is accepted still goes through
// every gate. Nothing here has state; any thread may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/program.h"
#include "candidates/recipe.h"
#include "candidates/result.h"
#include "candidates/task.h"

namespace hone::llm {

inline constexpr std::size_t kMaxReplyBytes = 2 << 20;
inline constexpr std::size_t kMaxSourceBytes = 256 << 10;
inline constexpr std::size_t kMaxWhyCharacters = 2000;
inline constexpr std::size_t kMaxSteps = 8;
inline constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 32;  // of all, at any size

struct ModelProgram {
  std::string source;
  std::map<std::string, std::string> defines;  ///< tunables: the task's first values, or the base's
  std::vector<Launch> launches;
  std::vector<Buffer> scratch;  ///< all that the task does not have; role kScratch
  std::string
      why;  ///< one line, printable, at most kMaxWhyCharacters; to be escaped, never believed
};

/// kWhole: one block of device code, one of launches and scratch buffers. Errors: kRefused.
[[nodiscard]] Result<ModelProgram> read_program(std::string_view reply, const Task& task);

/// Whole lines of a program as it was shown, and those in their place.
struct Edit {
  std::string search, replace;
};

struct ModelDiff {
  ModelProgram program;     ///< what the base becomes
  std::vector<Edit> edits;  ///< none: launches and buffers alone change
  std::string plan;         ///< JSON text of launches and scratch buffers; empty: they stay
  bool whole = false;       ///< a whole program was given instead; no edits, no plan
};

/// kDiff: search/replace blocks onto shown_source(base.source), each found exactly once. Launches
/// and scratch buffers that are not given stay the base's. A
/// whole program without an edit is taken as in read_program(). Errors: kRefused.
[[nodiscard]] Result<ModelDiff> read_diff(std::string_view reply, const Program& base,
                                          const Task& task);
/// The same edits and plan on another base, such as the same steps at another size. Errors:
/// kRefused, as above.
[[nodiscard]] Result<ModelProgram> edited_program(const Program& base,
                                                  const std::vector<Edit>& edits,
                                                  std::string_view plan, const Task& task);

/// kSteps: each step one of what was proposed, with a value of each domain. Errors: kRefused.
[[nodiscard]] Result<std::vector<Step>> read_steps(std::string_view reply,
                                                   const std::vector<Proposal>& proposals);

/// The task's program with the model's source, launches and added scratch buffers in place of its
/// own.
[[nodiscard]] Program program_of(const ModelProgram& model, const Task& task);

}  // namespace hone::llm
