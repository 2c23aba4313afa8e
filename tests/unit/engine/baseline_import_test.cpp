#include "engine/baselines/baseline_import.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

const std::string kGood = R"({"format": "hone baselines 1", "device": "cuda:0",
  "device_name": "NVIDIA H200", "versions": "torch 2.11.0, CUDA 13.0", "method": "for people",
  "results": [
    {"task": "matmul", "task_hash": "0123", "kind": "torch eager", "precision": "f32",
     "samples_us": [30, 10.5, 20], "note": ""},
    {"task": "matmul", "task_hash": "0123", "kind": "torch.compile", "error": "no compiler"}]})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(BaselineImport, MakesTimesFromSamples) {
  const auto baselines = parse_baselines(kGood, "x.json");
  ASSERT_TRUE(baselines) << baselines.error().message;
  ASSERT_EQ(baselines->size(), 1U);  // what did not run is left out
  const ImportedBaseline& one = baselines->front();
  EXPECT_EQ(one.task, "matmul");
  EXPECT_EQ(one.task_hash, "0123");
  EXPECT_EQ(one.time.kind, "torch eager");
  EXPECT_EQ(one.time.device, "cuda:0");
  EXPECT_EQ(one.time.device_name, "NVIDIA H200");
  EXPECT_EQ(one.time.versions, "torch 2.11.0, CUDA 13.0");
  EXPECT_EQ(one.time.precision, "f32");
  EXPECT_EQ(one.time.time_us, 20);
  EXPECT_EQ(one.time.ci95_low, 10.5);
  EXPECT_EQ(one.time.ci95_high, 30);
  EXPECT_EQ(one.time.samples_us.size(), 3U);
}

TEST(BaselineImport, ABadFileIsOneClearError) {
  const auto refuses = [](const std::string& text, const std::string& why) {
    const auto baselines = parse_baselines(text, "x.json");
    ASSERT_FALSE(baselines) << why;
    EXPECT_EQ(baselines.error().code, ErrorCode::kInvalidInput);
    const std::string& message = baselines.error().message;
    EXPECT_TRUE(message.starts_with("x.json: $")) << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  };
  refuses("", "is no JSON object");
  refuses("[1, 2", "is no JSON object");
  refuses("[]", "is no JSON object");
  refuses("{}", "\"format\" is not \"hone baselines 1\"");
  refuses(with("baselines 1", "baselines 2"), "\"format\"");
  refuses(with("\"cuda:0\"", "\"emu:sm_90\""), "only a GPU's times are measured");
  refuses(with("\"NVIDIA H200\"", "17"), "$: \"device_name\" is no text");
  refuses(with("\"results\"", "\"result\""), "\"results\" is no list");
  refuses(with("\"task_hash\"", "\"hash\""), "$.results[0]: \"task_hash\" is no text");
  refuses(with("\"torch eager\"", "\"\""), "\"kind\" is no text");
  refuses(with("[30, 10.5, 20]", "[30, 10.5]"), "no list of 3 times");
  refuses(with("[30, 10.5, 20]", "12"), "no list of 3 times");
  refuses(with("10.5", "-10.5"), "no positive number");
  refuses(with("10.5", "\"10.5\""), "no positive number");
  refuses(with("10.5", "null"), "no positive number");
  refuses(with("10.5", "1e999"), "is no JSON object");
  const auto none = read_baselines("/nowhere/x.json");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("there is no such file"), std::string::npos);
}

TEST(BaselineImport, EveryTruncationIsRefused) {
  for (std::size_t size = 0; size < kGood.size(); ++size)
    EXPECT_FALSE(parse_baselines(kGood.substr(0, size), "x.json")) << size;
}

}  // namespace
}  // namespace hone
