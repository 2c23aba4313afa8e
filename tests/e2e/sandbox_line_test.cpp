// What is said of layers of the sandbox that this machine does not grant.
#include <gtest/gtest.h>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

/// What `hone doctor` lists as missing is said once per database.
TEST(SandboxLine, MissingLayersAreToldOncePerDatabase) {
  const TemporaryFolder folder;
  const std::string db = folder.file("hone.db");
  const std::string task = std::string(HONE_SOURCE_DIR) + "/baselines/vector_add/vector_add.cu";
  const auto doctor = hone({"doctor", "--json", "-"}).json();
  bool missing = false;
  for (const auto& item : doctor["items"])
    missing |= item["name"].get<std::string>().starts_with("sandbox: ") && !item["present"];
  const std::string line = "hone: the sandbox does without";
  const auto evaluate = [&] {
    return hone({"evaluate", task, task, "--device", "emu:sm_90", "--db", db, "--json", "-"});
  };
  const auto first = evaluate();
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.err.find(line) != first.err.npos, missing) << first.err;
  EXPECT_FALSE(first.json()["sandbox"].get<std::string>().empty());
  const auto second = evaluate();
  EXPECT_EQ(second.err.find(line), second.err.npos) << second.err;
  const auto check = hone({"check", task, "--size", "N=64", "--quiet"});
  EXPECT_EQ(check.status, 0) << check.out << check.err;
  EXPECT_EQ(check.err.find(line), check.err.npos) << check.err;
  // Whoever switches it off is told every time.
  const auto off =
      hone({"evaluate", task, task, "--device", "emu:sm_90", "--db", db, "--sandbox", "off"});
  EXPECT_NE(off.err.find("the sandbox is off"), std::string::npos) << off.err;
}

}  // namespace
}  // namespace hone::testing
