// What stands around a candidate's source in the forms `cu` and `hpp`, so that `hone evaluate` can
// take the candidate out of the file again: a line where it begins, a comment with all that the
// source does not say, a line where it ends. Written by cpp.cpp, read by read_export.cpp. Private
// to candidates/export.
//
//   // hone program begins: 0123456789ab
//   // clang-format off
//   /* hone program {
//   "arch": "sm_90",           on which it was found; left out where that is no such name
//   "includes": ["<mma.h>"],   of the file's #include lines the program's own
//   "macros": ["BLOCK"],       the #define lines that follow this comment, as -D options
//   "buffers": […],            all of them, as a task has them, but without fills
//   "launches": […],           as a task has them
//   "recipe": […]              the steps that made the source; left out where there are none
//   } */
//   // clang-format on
//   …
//   // hone program ends: 0123456789ab
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidates/export/plan.h"

namespace hone::exporting {

inline constexpr std::string_view kProgramBegins = "hone program begins:";
inline constexpr std::string_view kProgramEnds = "hone program ends:";
inline constexpr std::string_view kProgramComment = "hone program";  ///< then the JSON object
inline constexpr std::string_view kFormatOff = "clang-format off";
inline constexpr std::string_view kFormatOn = "clang-format on";

/// The candidate's id, changed until no source of the file can hold a line that ends it.
[[nodiscard]] std::string tag_of(const Part& part, const Plan& plan);
/// Ends the directives of guard_bodies().
[[nodiscard]] std::string guard_mark(std::string_view tag);

/// From the first line to `clang-format on`.
[[nodiscard]] std::string begin_program(const Part& part, std::string_view tag);
[[nodiscard]] std::string end_program(std::string_view tag);

/// A program's source as it stands between the lines: its includes first, C++ linkage.
[[nodiscard]] std::string source_of(const std::vector<std::string>& includes,
                                    std::string_view body);

}  // namespace hone::exporting
