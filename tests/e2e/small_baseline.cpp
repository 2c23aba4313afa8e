#include "tests/e2e/small_baseline.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

namespace hone::testing {
namespace {

const std::map<std::string, std::string> kSmallSizes = {
    {"attention", R"({"HEADS": 2, "SEQ": 64, "DIM": 64})"},
    {"column_sum", R"({"H": 512, "W": 512})"},
    {"conv3x3", R"({"N": 2, "C": 8, "K": 16, "H": 28, "W": 28})"},
    {"global_sum", R"({"N": 2097152})"},
    {"histogram", R"({"N": 65536, "BINS": 256})"},
    {"matmul", R"({"M": 256, "N": 256, "K": 128})"},
    {"row_sum", R"({"R": 512, "C": 512})"},
    {"softmax", R"({"ROWS": 256, "COLS": 512})"},
    {"transpose", R"({"WIDTH": 512, "HEIGHT": 256})"},
    {"variance", R"({"ROWS": 256, "COLS": 512})"},
    {"vector_add", R"({"N": 131072})"},
};

}  // namespace

std::string small_baseline(const TemporaryFolder& folder, const std::string& name) {
  std::ostringstream read;
  read << std::ifstream(std::string(HONE_SOURCE_DIR) + "/baselines/" + name + "/" + name + ".cu",
                        std::ios::binary)
              .rdbuf();
  std::string text = read.str();
  const std::string key = "\"sizes\": ";
  const std::size_t begin = text.find(key);
  if (begin == text.npos || !kSmallSizes.contains(name)) {
    ADD_FAILURE() << "no baseline " << name << " with sizes of its own";
    return "";
  }
  const std::size_t open = begin + key.size();
  text.replace(open, text.find('}', open) + 1 - open, kSmallSizes.at(name));
  return folder.write(name + ".cu", text);
}

}  // namespace hone::testing
