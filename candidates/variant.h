// A program that somebody wrote for a task, or edited: what `hone evaluate` and `hone check` are
// given beside the task. Sizes, checks and tolerance are always the task's.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/program.h"
#include "candidates/recipe.h"
#include "candidates/result.h"
#include "candidates/task.h"

namespace hone {

struct Variant {
  Program program;
  /// Of an export: the steps that made the program, but for what was edited since. They give the
  /// program at other sizes, for which its text need not hold. Empty: the text is for all sizes.
  Recipe recipe = {};
  bool exported = false;  ///< `hone export` wrote it
  std::string arch = {};  ///< of an export: "sm_90"
};

/// Plain source, which keeps the task's buffers and launches; source with its own task comment,
/// whose "launches" (and extra "scratch" buffers) replace the task's; or an export. Several: an
/// export that holds candidates for several architectures. Never empty.
[[nodiscard]] Result<std::vector<Variant>> read_variants(const std::filesystem::path& path,
                                                         const Task& task);

/// The one for a device of `arch`; the only one, whatever its architecture.
[[nodiscard]] Result<Variant> variant_for(const std::vector<Variant>& variants,
                                          std::string_view arch, const std::filesystem::path& path);

}  // namespace hone
