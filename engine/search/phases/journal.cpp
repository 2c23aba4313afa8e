#include "engine/search/phases/journal.h"

#include <fmt/format.h>

#include <utility>

#include "engine/search/records.h"

namespace hone::search {

Journal::Journal(Store* store, Provenance provenance, const SearchOptions& options,
                 std::vector<std::string>& warnings)
    : store_(store), provenance_(std::move(provenance)), options_(options), warnings_(warnings) {}

void Journal::take(const Result<void>& stored) {
  if (stored) return;
  if (!options_.job.empty()) {
    failure_ = stored.error();
    return;
  }
  warnings_.push_back("results are no longer stored: " + stored.error().message);
  store_ = nullptr;
}

void Journal::begin_run(const Task& task, const std::string& task_hash) {
  if (store_ == nullptr) return;
  take(store_->put_task(task));
  if (store_ == nullptr) return;
  if (const auto kept = store_->find_task(task_hash); kept && kept->name != task.name)
    warnings_.push_back(
        fmt::format("the same task is known as '{}' here: its board keeps that "
                    "name, not '{}'",
                    kept->name, task.name));
  const SearchSettings& settings = options_.settings;
  auto run = store_->begin_run(task_hash, provenance_, settings.seed, settings.strategy,
                               options_.job, &task);
  if (run) run_ = *run;
  take(run ? Result<void>{} : std::unexpected(run.error()));
}

Result<std::map<std::string, Evaluation>> Journal::earlier_results() {
  if (store_ == nullptr || options_.job.empty()) return {};
  return store_->run_results(run_);
}

std::vector<RunReply> Journal::earlier_replies() {
  if (options_.job.empty()) return {};
  return all_replies().value_or(std::vector<RunReply>());
}

std::optional<std::vector<RunReply>> Journal::all_replies() {
  if (store_ == nullptr) return std::nullopt;
  auto replies = store_->replies(run_, false);
  if (!replies) return std::nullopt;
  return std::move(*replies);
}

std::vector<KnownRecipe> Journal::known_recipes(const Task& task, int of_each) const {
  if (store_ == nullptr) return {};
  return store_->known_recipes(task, provenance_.arch, provenance_.modelled, of_each, run_)
      .value_or(std::vector<KnownRecipe>());
}

void Journal::put(const CandidateRecord& candidate, const Evaluation& evaluation) {
  if (store_ != nullptr) take(store_->put(run_, candidate, evaluation, provenance_));
}

void Journal::put_reply(const ReplyRecord& reply) {
  if (store_ != nullptr) take(store_->put_reply(run_, reply));
}

void Journal::link_reply(const std::string& reply, const CandidateRecord& candidate) {
  if (store_ != nullptr) take(store_->link_reply(run_, reply, id_of(candidate)));
}

void Journal::end_run(StopReason reason) {
  if (store_ != nullptr) take(store_->end_run(run_, std::string(to_string(reason))));
}

std::string Journal::id_of(const CandidateRecord& candidate) const {
  return hone::id_of(store_, candidate);
}

std::optional<CandidateRecord> Journal::find(const CandidateRecord& candidate) const {
  if (store_ == nullptr) return std::nullopt;
  auto row = store_->find_candidate(id_of(candidate));
  if (!row || row->candidate.task_hash != candidate.task_hash) return std::nullopt;
  return std::move(row->candidate);
}

}  // namespace hone::search
