// `hone import` as a user calls it: what it says, and that nothing is written where the input is
// wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/process.h"
#include "tests/pytorch/fixture.h"
#include "tests/pytorch/zip_writer.h"

namespace hone::testing {
namespace {

std::string fixture(const std::string& name) { return pytorch::fixture_file(name).string(); }

/// A recorded module with another operator in the place of one.
std::string renamed(const std::string& name, const std::string& from, const std::string& to) {
  const auto archive = pytorch::open_fixture(name);
  std::vector<pytorch::ZipMember> members;
  for (const auto& [member, place] : archive.members()) {
    if (member.starts_with("recorded/")) continue;
    std::string bytes = *archive.read(place, 1 << 20);
    if (member == "models/model.json") {
      for (std::size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at)) {
        bytes.replace(at, from.size(), to);
      }
    }
    members.push_back({"m/" + member, bytes});
  }
  return pytorch::zip_of(members);
}

TEST(Import, ABadFileIsOneLineAndNothingIsWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "m.pt2", renamed("transformer", "aten.layer_norm.default", "aten.unheard_of.default"));
  const auto run = hone({"import", file, "-o", folder.file("m.task.cu")});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  EXPECT_TRUE(run.err.contains("aten.unheard_of.default")) << run.err;
  EXPECT_TRUE(run.err.contains("it needs a rule in candidates/pytorch/operations")) << run.err;
  EXPECT_FALSE(std::filesystem::exists(folder.file("m.task.cu")));
}

TEST(Import, PartsNameWhatStaysPyTorchsAndWhy) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "m.pt2", renamed("transformer", "aten.layer_norm.default", "aten.unheard_of.default"));
  const auto run = hone({"import", file, "--parts", folder.file("parts")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(run.err.contains("(aten.unheard_of.default)")) << run.err;
  EXPECT_TRUE(run.err.contains(": hone does not have this operation;")) << run.err;
  EXPECT_TRUE(std::filesystem::exists(folder.file("parts/part_000.task.cu")));
}

TEST(Import, ForceLeavesNoPartsOfBefore) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("parts"));
  for (const char* old : {"part_000.task.cu", "part_077.task.cu", "part_mine.task.cu", "notes.txt"})
    folder.write(std::string("parts/") + old, "before");
  const std::vector<std::string> command = {"import", fixture("products"), "--parts",
                                            folder.file("parts")};
  EXPECT_EQ(hone(command).status, 2);
  EXPECT_TRUE(std::filesystem::exists(folder.file("parts/part_077.task.cu")));
  std::vector<std::string> forced = command;
  forced.emplace_back("--force");
  const auto run = hone(forced);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(std::filesystem::exists(folder.file("parts/part_000.task.cu")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("parts/part_077.task.cu")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("parts/part_mine.task.cu")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("parts/notes.txt")));
}

TEST(Import, WithoutPartsThereIsNoFolder) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("m.pt2", renamed("scans", "torch.ops.aten.", "torch.ops.unheard_of."));
  const auto run = hone({"import", file, "--parts", folder.file("parts")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(run.err.starts_with("wrote nothing: ")) << run.err;
  EXPECT_TRUE(run.err.contains("unheard_of.cumsum.default")) << run.err;
  EXPECT_FALSE(std::filesystem::exists(folder.file("parts")));
}

TEST(Import, RecordedAnswersThatAreMissingLeaveNoTask) {
  const TemporaryFolder folder;
  const auto run = hone({"import", fixture("products"), "-o", folder.file("m.task.cu"), "--verify",
                         folder.file("none"), "--device", "emu:sm_90"});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  EXPECT_TRUE(run.err.contains("none/inputs/0.bin")) << run.err;
  EXPECT_FALSE(std::filesystem::exists(folder.file("m.task.cu")));
}

/// Where root runs it, and the sandbox has all its layers, the children that read the weights are
/// nobody.
TEST(Import, WeightsThatOnlyRootMayReadAreSaidPlainly) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.pt2", pytorch::bytes_of(fixture("products")));
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const auto run = hone({"check", file, "--device", "emu:sm_90"});
  const std::string said = run.out + run.err;
  EXPECT_TRUE(run.status == 0 || said.contains("let others read it (chmod o+r)")) << said;
}

}  // namespace
}  // namespace hone::testing
