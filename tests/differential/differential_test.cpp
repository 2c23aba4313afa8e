// The emulator against a GPU's recorded outputs, without a GPU.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

#include "tests/differential/case.h"
#include "tests/differential/recording.h"

namespace hone::differential {
namespace {

const std::string kPath = std::string(HONE_SOURCE_DIR) + "/tests/differential/outputs.bin";

std::string family_of(const std::string& name) { return name.substr(0, name.find('/')); }

TEST(Differential, NamesAreUnique) {
  std::set<std::string> names;
  for (const Case& c : all_cases()) EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

// Every case runs, and every recorded one gives what the hardware gave.
TEST(Differential, EmulatorAgreesWithTheHardware) {
  const auto recording = read_recording(kPath);
  ASSERT_TRUE(recording) << recording.error().message;
  int compared = 0;
  int failed = 0;
  std::map<std::string, int> by_family;
  std::vector<std::string> missing;
  for (const Case& c : all_cases()) {
    const auto found = recording->records.find(c.name);
    if (found == recording->records.end()) {
      missing.push_back(c.name);
      continue;
    }
    if (found->second.fingerprint != fingerprint(c)) {
      ADD_FAILURE() << c.name << ": recorded from another text or other inputs: record it again";
      ++failed;
      continue;
    }
    const Emulated now = emulate(c);
    if (!now.ok) {
      ADD_FAILURE() << c.name << ": " << now.detail;
      ++failed;
      continue;
    }
    if (const std::string why = compare(c, found->second.outputs, now.outputs); !why.empty()) {
      ADD_FAILURE() << c.name << "\n" << why;
      ++failed;
    }
    ++compared;
    ++by_family[family_of(c.name)];
  }
  std::cout << compared << " kernels compared with " << recording->device << ", " << failed
            << " disagree\n";
  for (const auto& [family, n] : by_family) std::cout << "  " << family << ": " << n << "\n";
  if (!missing.empty()) {
    std::cout << missing.size() << " not recorded:";
    for (const std::string& name : missing) std::cout << " " << name;
    std::cout << "\n";
  }
  EXPECT_GE(compared, 700);
  EXPECT_GE(by_family["generated"], 150);
}

TEST(Differential, TheSameWithAnyNumberOfThreads) {
  int several = 0;
  for (const Case& c : all_cases()) {
    const Emulated one = emulate(c);
    for (const int threads : {2, 4}) {
      const Emulated more = emulate(c, threads);
      EXPECT_EQ(more.ok, one.ok) << c.name;
      EXPECT_EQ(more.detail, one.detail) << c.name;
      EXPECT_TRUE(more.outputs == one.outputs) << c.name << " with " << threads << " threads";
      several += more.threads > 1;
    }
  }
  std::cout << several << " runs on several threads\n";
  EXPECT_GE(several, 500);
}

// A single wrong bit is seen: the comparison itself can fail.
TEST(Differential, OneWrongBitIsSeen) {
  const auto recording = read_recording(kPath);
  ASSERT_TRUE(recording) << recording.error().message;
  for (const Case& c : all_cases()) {
    if (c.name != "integer/add_sub_mul_32") continue;
    const auto& want = recording->records.at(c.name).outputs;
    std::vector<std::uint8_t> got = want;
    EXPECT_EQ(compare(c, want, got), "");
    got[1234] ^= 4;
    EXPECT_NE(compare(c, want, got), "");
  }
}

}  // namespace
}  // namespace hone::differential
