// What searches with a scripted language model have in common.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "tests/e2e/process.h"
#include "tests/unit/llm/scripted_server.h"

namespace hone::testing {

inline std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::filesystem::path tasks() {
  return std::filesystem::path(HONE_SOURCE_DIR) / "tests/llm_search/tasks";
}
inline std::string task(const std::string& name) { return (tasks() / (name + ".cu")).string(); }
/// What a model that knows the task's trick says.
inline std::string trick(const std::string& name) { return read(tasks() / (name + ".reply.md")); }

inline double best_us(const ProcessResult& run) {
  if (run.status != 0) return 0;
  return run.json()["best"]["time_us"].get<double>();
}

/// Lines of stderr that are warnings of a language model or a replay.
inline std::vector<std::string> model_warnings(const std::string& err) {
  std::vector<std::string> lines;
  std::istringstream all(err);
  for (std::string line; std::getline(all, line);)
    if (line.starts_with("hone: the language model") || line.starts_with("hone: the replay"))
      lines.push_back(line);
  return lines;
}

class LlmSearch : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> optimize(const std::string& name,
                                                  const std::string& budget) const {
    return {"optimize", task(name), "--device",    "emu:sm_90", "--budget", budget,   "--seed", "7",
            "--db",     db_,        "--finalists", "2",         "--quiet",  "--json", "-"};
  }
  static void with_model(std::vector<std::string>& command, const std::string& url) {
    for (const char* word : {"--llm", "", "--llm-model", "scripted", "--llm-modes", "whole",
                             "--llm-wait", "--llm-retries", "0"})
      command.emplace_back(*word == '\0' ? url : word);
  }

  /// A search has begun, and a candidate of it is stored.
  [[nodiscard]] bool has_run() const {
    if (!std::filesystem::exists(db_)) return false;
    const auto store = Store::open(db_);
    const auto runs = store ? (*store)->runs({}) : std::unexpected(store.error());
    if (!runs || runs->empty()) return false;
    const auto boards = (*store)->boards({});
    return boards && !boards->empty();
  }
  /// Of the newest run in the database; none where there is no run.
  [[nodiscard]] std::vector<ReplyRecord> stored_replies() const {
    const auto store = Store::open(db_).value();
    const auto runs = store->runs({}).value();
    std::vector<ReplyRecord> replies;
    if (runs.empty()) return replies;
    const auto kept = store->replies(runs[0].id).value();
    for (const RunReply& one : kept) replies.push_back(one.reply);
    return replies;
  }

  TemporaryFolder folder_;
  std::string db_ = folder_.file("hone.db");
};

}  // namespace hone::testing
