// What tests of `hone init` share: a file as hone itself reads it, and what became of it.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "candidates/task_reader.h"
#include "engine/rewriting/init/choose.h"
#include "engine/rewriting/init/gather.h"
#include "engine/rewriting/init/init_task.h"

namespace hone::init_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// As hone itself hands a file over: headers that are not there are left out.
inline std::string gathered(const std::string& source) {
  std::string name = (fs::temp_directory_path() / "hone-init-XXXXXX").string();
  const fs::path folder = mkdtemp(name.data());
  std::ofstream(folder / "file.cu") << source;
  const auto result = init::gather(folder / "file.cu", {});
  fs::remove_all(folder);
  return result.value().text;
}

inline InitResult made(const std::string& source, const std::string& kernel = "",
                       const std::map<std::string, std::string>& defines = {}) {
  const auto result = init_task({gathered(source), "file.cu", defines, kernel});
  if (!result) throw std::runtime_error(result.error().message);
  for (const InitResult::Attempt& one : result->attempts) {
    const auto task =
        parse_task("/* hone " + one.task.dump() + " */\n" + result->source, "file.cu");
    EXPECT_TRUE(task) << task.error().message << "\n" << result->source;
  }
  return *result;
}

inline std::string refusal(const std::string& source, const std::string& kernel = "") {
  const auto result = init_task({gathered(source), "file.cu", {}, kernel});
  EXPECT_FALSE(result);
  return result ? "" : result.error().message;
}

inline const Json& task(const InitResult& result) { return result.attempts.front().task; }

inline Json buffer(const InitResult& result, const std::string& name) {
  for (const Json& one : task(result)["buffers"])
    if (one["name"] == name) return one;
  throw std::runtime_error("no buffer " + name + " in " + task(result).dump());
}

inline bool notes(const InitResult& result, const std::string& text) {
  for (const std::string& note : result.attempts.front().notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace hone::init_test
