// Shared by the tests of candidates/.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "candidates/task_reader.h"

namespace hone::test {

/// A folder of its own for one test, removed with it.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hone_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

inline constexpr std::string_view kScaleSource = R"(
__global__ void scale(const float* A, float* C, int N, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) C[i] = A[i] * f;
}
)";

inline constexpr std::string_view kScaleJson = R"x({
  "name": "scale",
  "sizes": {"N": 4096},
  "check_sizes": [{"N": 64}, {"N": 33}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["N"]},
    {"name": "C", "type": "f32", "shape": ["N"], "role": "out"}
  ],
  "launches": [
    {"kernel": "scale", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"], "args": ["A", "C", "N", 2.5]}
  ],
  "tunables": {"BLOCK": [64, 128, 256]},
  "constraints": ["BLOCK <= 1024"]
})x";

inline std::string as_comment(std::string_view json, std::string_view source = kScaleSource) {
  return "/* hone " + std::string(json) + " */\n" + std::string(source);
}

/// `text` with its one occurrence of `from` replaced.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const std::size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << "the test's own text lacks: " << from;
  if (at != std::string::npos) out.replace(at, from.size(), to);
  return out;
}

inline Task scale_task() {
  auto task = parse_task(as_comment(kScaleJson), "scale.cu");
  EXPECT_TRUE(task.has_value()) << task.error().message;
  return task.value_or(Task{});
}

}  // namespace hone::test
