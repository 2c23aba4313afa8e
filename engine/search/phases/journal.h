// What the database is told of one search. A store that fails ends a service's search, as nobody
// sees what is not stored; any other goes on, and says once that its results are not saved.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/search/search.h"

namespace hone::search {

class Journal {
 public:
  /// `store` may be null: then nothing is kept. `warnings` must outlive the journal.
  Journal(Store* store, Provenance provenance, const SearchOptions& options,
          std::vector<std::string>& warnings);

  /// Before the first candidate.
  void begin_run(const Task& task, const std::string& task_hash);
  /// What an earlier process of the same job was told in this run, by program hash.
  [[nodiscard]] Result<std::map<std::string, Evaluation>> earlier_results();
  /// What a language model said in this run to earlier processes.
  [[nodiscard]] std::vector<RunReply> earlier_replies();
  /// All replies of this run; none where nothing is kept.
  [[nodiscard]] std::optional<std::vector<RunReply>> all_replies();
  /// Of the task's family, as measured or modelled on this architecture: see Store.
  [[nodiscard]] std::vector<KnownRecipe> known_recipes(const Task& task, int of_each) const;
  void put(const CandidateRecord& candidate, const Evaluation& evaluation);
  void put_reply(const ReplyRecord& reply);
  void link_reply(const std::string& reply, const CandidateRecord& candidate);
  void end_run(StopReason reason);

  [[nodiscard]] std::string id_of(const CandidateRecord& candidate) const;
  /// A candidate of an earlier process, by its hash.
  [[nodiscard]] std::optional<CandidateRecord> find(const CandidateRecord& candidate) const;
  [[nodiscard]] bool keeps() const { return store_ != nullptr; }
  /// Why the search must end; none: it need not.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] const Provenance& provenance() const { return provenance_; }

 private:
  void take(const Result<void>& stored);

  Store* store_;
  const Provenance provenance_;
  const SearchOptions& options_;
  std::vector<std::string>& warnings_;
  std::int64_t run_ = 0;
  std::optional<Error> failure_;
};

}  // namespace hone::search
