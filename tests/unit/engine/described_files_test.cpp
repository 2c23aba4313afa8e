// Inputs from files, described for machines that do not have the files.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "candidates/task_reader.h"
#include "engine/service/described_files.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

class DescribedFiles : public testing::Test {
 protected:
  DescribedFiles() { fs::create_directories(folder_); }
  ~DescribedFiles() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  template <class T>
  Fill described(const std::vector<T>& values, const std::string& type) {
    std::ofstream(folder_ / "values.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
    std::vector<std::string> names;
    const auto task = with_described_files(task_of(type, values.size()), names);
    EXPECT_TRUE(task) << task.error().message;
    EXPECT_EQ(names, std::vector<std::string>{"x"});
    return task ? task->reference.buffers[0].fill : Fill{};
  }

  Task task_of(const std::string& type, std::size_t count) {
    const std::string text = R"(/* hone {"name": "t", "sizes": {"n": )" + std::to_string(count) +
                             R"(}, "buffers": [{"name": "x", "type": ")" + type +
                             R"(", "shape": ["n"], "fill": {"file": "values.bin"}},
           {"name": "y", "type": "f32", "shape": ["n"], "role": "out"}],
           "launches": [{"kernel": "k", "grid": ["n"], "block": [1], "args": ["x", "y"]}]} */
           __global__ void k(const void* x, float* y) { y[blockIdx.x] = 1; })";
    const auto task = parse_task(text, folder_ / "t.cu");
    EXPECT_TRUE(task) << task.error().message;
    return *task;
  }

  fs::path folder_ = fs::temp_directory_path() / ("hone_described_" + std::to_string(::getpid()));
};

TEST_F(DescribedFiles, FloatsHaveTheirMeanAndDeviation) {
  std::vector<float> values;
  for (int i = 0; i < 70'000; ++i) values.push_back(i % 2 == 0 ? 1.0F : -3.0F);
  values.push_back(std::nanf(""));
  values.push_back(INFINITY);
  const Fill fill = described(values, "f32");
  EXPECT_EQ(fill.kind, Fill::Kind::kNormal);
  EXPECT_DOUBLE_EQ(fill.a, -1);
  EXPECT_DOUBLE_EQ(fill.b, 2);
  EXPECT_EQ(fill.path, "");
}

/// A variance stays one.
TEST_F(DescribedFiles, WhatIsNeverNegativeStaysSo) {
  const Fill fill = described<double>({0.25, 0.5, 7.0006}, "f64");
  EXPECT_EQ(fill.kind, Fill::Kind::kUniform);
  EXPECT_DOUBLE_EQ(fill.a, 0.25);
  EXPECT_DOUBLE_EQ(fill.b, 7);
}

TEST_F(DescribedFiles, TheEndsOfATypeAreTaken) {
  const float most = std::numeric_limits<float>::max();
  const Fill floats = described<float>({-most, -most}, "f32");
  EXPECT_EQ(floats.kind, Fill::Kind::kConstant);
  EXPECT_GE(floats.a, -most);
  const double huge = std::numeric_limits<double>::max();
  const Fill doubles = described<double>({-huge, huge}, "f64");
  EXPECT_EQ(doubles.kind, Fill::Kind::kUniform);
  const Fill tiny = described<double>({1e-310, 1e-310}, "f64");
  EXPECT_EQ(tiny.kind, Fill::Kind::kConstant);
  EXPECT_NEAR(tiny.a, 1e-310, 1e-312);
}

TEST_F(DescribedFiles, IntegersHaveTheirEnds) {
  const Fill fill = described<std::int64_t>({5, -2, 900}, "i64");
  EXPECT_EQ(fill.kind, Fill::Kind::kIntegers);
  EXPECT_EQ(fill.a, -2);
  EXPECT_EQ(fill.b, 900);
}

TEST_F(DescribedFiles, AConstantStaysOne) {
  const Fill fill = described<float>({2.5F, 2.5F}, "f32");
  EXPECT_EQ(fill.kind, Fill::Kind::kConstant);
  EXPECT_EQ(fill.a, 2.5);
}

TEST_F(DescribedFiles, AFileThatGoesIsAnError) {
  described<float>({1, 2, 3}, "f32");
  const Task task = task_of("f32", 3);
  fs::remove(folder_ / "values.bin");
  std::vector<std::string> names;
  const auto result = with_described_files(task, names);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().message.contains("'x'")) << result.error().message;
}

}  // namespace
}  // namespace hone
