// Profiles as JSON: {"format": 1, "arch", "name", and each field of Profile as
// {"value", "unit", "source"}}. The built-in ones are profiles/*.json, embedded at build time.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"
#include "evaluator/device/emulator/emulator.h"

namespace hone::emulator {

/// One number of a Profile. The range is what any GPU of the next years could have: beyond it a
/// number is a slip of the pen or a failed measurement.
struct ProfileField {
  const char* name;
  const char* unit;
  double low, high;
  bool integer;
  double (*get)(const Profile&);
  void (*set)(Profile&, double);
};
[[nodiscard]] const std::vector<ProfileField>& profile_fields();
[[nodiscard]] const ProfileField* find_field(std::string_view name);

struct ProfileFile {
  Profile profile;
  std::map<std::string, std::string> sources;  ///< by field name
};

/// kInvalidInput: "FILE: field: what is wrong; what is right". `file` is for that message.
[[nodiscard]] Result<ProfileFile> parse_profile(std::string_view text, std::string_view file);
[[nodiscard]] std::string to_text(const ProfileFile& profile);

/// The built-in ones; the first of an architecture is its default.
[[nodiscard]] const std::vector<ProfileFile>& builtin_profiles();
/// "sm_90" (or "sm_90a"), "sm_90/H100"; null: unknown.
[[nodiscard]] const ProfileFile* find_profile_file(std::string_view name);

/// The embedded texts with their file names, in the order of builtin_profiles(). Generated.
struct EmbeddedProfile {
  std::string_view file, text;
};
[[nodiscard]] std::vector<EmbeddedProfile> embedded_profiles();

}  // namespace hone::emulator
