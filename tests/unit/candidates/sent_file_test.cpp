// Paths of what was sent to a service.
#include "candidates/sent_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "candidates/task_reader.h"

namespace hone {
namespace {

const std::string kHash(64, '0');

TEST(SentFile, IsReadAsItWasWritten) {
  const auto file = sent_file(to_path({kHash, "model.pt2"}));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->sha256, kHash);
  EXPECT_EQ(file->name, "model.pt2");
}

TEST(SentFile, IsNothingElse) {
  for (const std::string& path :
       {std::string(""), std::string("/etc/passwd"), "sha256:" + kHash, "sha256:" + kHash + "/",
        "sha256:" + kHash + "/..", "sha256:" + kHash + "/a/b", "sha256:" + kHash + "0/a",
        "sha256:" + kHash.substr(1) + "/a", "sha256:" + kHash.substr(1) + "G/a",
        "sha256:" + kHash.substr(1) + "A/a", "sha256:" + kHash + "/a\n", " sha256:" + kHash + "/a",
        "sha256:" + kHash + "/" + std::string(256, 'a')})
    EXPECT_FALSE(sent_file(path)) << path;
}

/// Of the file's name and offset: weights of another training, or not sent at all, are that task.
TEST(SentFile, ChangesNoTask) {
  const auto parsed = parse_task(R"(/* hone {"name": "t", "sizes": {"n": 4},
      "buffers": [{"name": "x", "type": "f32", "shape": ["n"]},
                  {"name": "y", "type": "f32", "shape": ["n"], "role": "out"}],
      "launches": [{"kernel": "k", "grid": ["n"], "block": [1], "args": ["x", "y"]}]} */
      __global__ void k(const float* x, float* y) { y[blockIdx.x] = x[blockIdx.x]; })",
                                 "t.cu");
  ASSERT_TRUE(parsed) << parsed.error().message;
  Task here = *parsed, sent = *parsed, other = *parsed;
  here.reference.buffers[0].fill = {Fill::Kind::kFile, 0, 0, "/home/x/m.pt2"};
  sent.reference.buffers[0].fill = {Fill::Kind::kFile, 0, 0, to_path({kHash, "m.pt2"})};
  other.reference.buffers[0].fill = {Fill::Kind::kFile, 0, 0,
                                     to_path({std::string(64, 'f'), "m.pt2"})};
  EXPECT_EQ(here.hash(), sent.hash());
  EXPECT_EQ(sent.hash(), other.hash());
  EXPECT_EQ(here.input_files().size(), 1U);
  EXPECT_TRUE(sent.input_files().empty());
  const auto again = task_from_json(nlohmann::json(sent));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->reference.buffers[0].fill, sent.reference.buffers[0].fill);
}

}  // namespace
}  // namespace hone
