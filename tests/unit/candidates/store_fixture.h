// A store in a folder of its own, and records to put into it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "candidates/store/store.h"
#include "tests/unit/candidates/helpers.h"

namespace hone::test {

inline Provenance gpu() {
  return {"cuda:0", "NVIDIA H200", "sm_90", "NVRTC 13.0", "580.65", "0.1.0", false};
}
inline Provenance emulated() {
  return {"emu:sm_90", "emulated sm_90", "sm_90", "NVRTC 13.0", "", "0.1.0", true};
}

inline std::string hash_of(char digit) { return std::string(32, digit); }

inline CandidateRecord candidate(const Task& task, const std::string& program_hash) {
  CandidateRecord record;
  record.program_hash = program_hash;
  record.task_hash = task.hash();
  record.task_name = task.name;
  record.program = task.reference;
  record.program.source = "// " + program_hash;
  record.recipe = {{"unroll", 1, "k", {{"by", 4}}, MathLevel::kReassociate}};
  record.origin = "rules";
  record.parent = "0123";
  return record;
}

inline Evaluation timed(double speedup, double time_us = 10) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kOk;
  evaluation.final_stage = true;
  evaluation.measurement.time_us = time_us;
  evaluation.measurement.reference_time_us = time_us * speedup;
  evaluation.measurement.speedup = speedup;
  evaluation.measurement.samples_us = {time_us, time_us + 1};
  return evaluation;
}

inline Evaluation failed(Verdict verdict) {
  Evaluation evaluation;
  evaluation.verdict = verdict;
  evaluation.detail = "C[3]";
  return evaluation;
}

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override { reopen(); }
  void reopen(const StoreOptions& options = {}) {
    store_.reset();
    auto store = Store::open(file(), options);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }
  [[nodiscard]] std::filesystem::path file() const { return dir_.path() / "deep/er/hone.db"; }

  std::int64_t begin(const Provenance& provenance) {
    EXPECT_TRUE(store_->put_task(task_));
    const auto run = store_->begin_run(task_.hash(), provenance, 18446744073709551615ULL, "evolve");
    EXPECT_TRUE(run) << run.error().message;
    return run.value_or(0);
  }
  void put(std::int64_t run, const std::string& hash, const Evaluation& evaluation,
           const Provenance& provenance = gpu()) {
    const auto done = store_->put(run, candidate(task_, hash), evaluation, provenance);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<std::string> order(const Board& board) {
    std::vector<std::string> hashes;
    for (const BoardRow& row : board.rows)
      hashes.push_back(row.candidate.program_hash.substr(0, 1));
    return hashes;
  }

  TempDir dir_;
  Task task_ = scale_task();
  std::unique_ptr<Store> store_;
};

}  // namespace hone::test
