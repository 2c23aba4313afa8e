// Profiles as files: what is read back, what is refused and how it is said.
#include "evaluator/device/emulator/profile_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hone::emulator {
namespace {

using Json = nlohmann::ordered_json;

Json h200() { return Json::parse(to_text(*find_profile_file("sm_90"))); }

std::string refusal(const Json& document) {
  const auto parsed = parse_profile(document.dump(), "mine.json");
  EXPECT_FALSE(parsed);
  return parsed ? "" : parsed.error().message;
}

/// Parses with `field` changed by `change`, and looks for both texts in the refusal.
template <class Change>
void refused(const char* field, const char* text, Change change) {
  Json document = h200();
  change(document);
  const std::string message = refusal(document);
  EXPECT_EQ(message.find("mine.json: " + std::string(field) + ": "), 0U) << message;
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

TEST(ProfileFiles, EveryBuiltInOneIsReadAndNamed) {
  for (const EmbeddedProfile& one : embedded_profiles()) {
    const auto parsed = parse_profile(one.text, one.file);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(find_profile_file(parsed->profile.arch + "/" + parsed->profile.name)->profile.name,
              parsed->profile.name);
  }
  EXPECT_EQ(builtin_profiles().size(), 7U);
}

TEST(ProfileFiles, AreFoundByArchitectureAndName) {
  EXPECT_EQ(find_profile("sm_90")->name, "H200");
  EXPECT_EQ(find_profile("sm_90a")->name, "H200");
  EXPECT_EQ(find_profile("sm_89")->name, "L40S");
  EXPECT_EQ(find_profile("sm_90/H100")->name, "H100");
  EXPECT_EQ(find_profile("sm_90a/h100")->name, "H100");
  EXPECT_EQ(find_profile("sm_89/RTX-4090")->name, "RTX 4090");
  EXPECT_EQ(find_profile("sm_90/L40S"), nullptr);
  EXPECT_EQ(find_profile("sm_90/"), nullptr);
  EXPECT_EQ(find_profile("/H200"), nullptr);
  EXPECT_EQ(find_profile(""), nullptr);
}

TEST(ProfileFiles, AreWrittenAsTheyWereRead) {
  for (const ProfileFile& one : builtin_profiles()) {
    const std::string text = to_text(one);
    const auto again = parse_profile(text, "again");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(to_text(*again), text);
    for (const ProfileField& f : profile_fields())
      EXPECT_EQ(f.get(again->profile), f.get(one.profile)) << f.name;
  }
}

TEST(ProfileFiles, EachFieldIsItsOwn) {
  // A field written to the wrong member would show as a change of another.
  Profile p;
  double value = 2;
  for (const ProfileField& f : profile_fields()) f.set(p, value++);
  value = 2;
  for (const ProfileField& f : profile_fields()) EXPECT_EQ(f.get(p), value++) << f.name;
}

TEST(ProfileFiles, WhatIsWrongIsSaidOnce) {
  const auto text_of = [](const char* text) {
    const auto parsed = parse_profile(text, "mine.json");
    EXPECT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos) << parsed.error().message;
    return parsed.error().message;
  };
  EXPECT_NE(text_of("").find("is not JSON"), std::string::npos);
  EXPECT_NE(text_of("{\"format\": 1,").find("is not JSON"), std::string::npos);
  EXPECT_NE(text_of("[]").find("must be a JSON object"), std::string::npos);
  EXPECT_NE(text_of("{}").find("format: must be 1"), std::string::npos);
  refused("format", "must be 1", [](Json& d) { d["format"] = 2; });
  refused("arch", "sm_90", [](Json& d) { d["arch"] = "hopper"; });
  refused("arch", "sm_90", [](Json& d) { d["arch"] = 90; });
  refused("name", "text", [](Json& d) { d["name"] = ""; });
  refused("launch_us", "is missing", [](Json& d) { d.erase("launch_us"); });
  refused("clocks", "is no field", [](Json& d) { d["clocks"] = 1; });
  refused("launch_us", "must be {", [](Json& d) { d["launch_us"] = 2.0; });
  refused("launch_us", "a number from 0.1 to 1000 us",
          [](Json& d) { d["launch_us"]["value"] = "2"; });
  refused("launch_us", "a number from 0.1 to 1000 us",
          [](Json& d) { d["launch_us"]["value"] = -2; });
  refused("launch_us", "a number from", [](Json& d) { d["launch_us"].erase("value"); });
  refused("sm_count", "an integer from 1", [](Json& d) { d["sm_count"]["value"] = 13.5; });
  refused("sm_count", "an integer from 1", [](Json& d) { d["sm_count"]["value"] = 1e300; });
  refused("launch_us", "\"unit\" must be \"us\"", [](Json& d) { d["launch_us"]["unit"] = "ms"; });
  refused("launch_us", "\"source\"", [](Json& d) { d["launch_us"].erase("source"); });
  refused("launch_us", "\"source\"", [](Json& d) { d["launch_us"]["source"] = ""; });
  refused("launch_us", "unknown entry 'note'", [](Json& d) { d["launch_us"]["note"] = "x"; });
  refused("shared_per_block", "at most shared_per_sm",
          [](Json& d) { d["shared_per_block"]["value"] = 1 << 20; });
  refused("l2_latency", "between", [](Json& d) { d["l2_latency"]["value"] = 2000; });
  refused("dram_saturating_sms", "at most sm_count",
          [](Json& d) { d["dram_saturating_sms"]["value"] = 133; });
}

}  // namespace
}  // namespace hone::emulator
