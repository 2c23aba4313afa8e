// Results as the JSON objects that commands print, reports hold and the web page serves. Times in
// microseconds, intervals [low, high] at 95 %.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "candidates/store/store.h"
#include "engine/queue/messages_job.h"
#include "engine/search/search.h"
#include "engine/service/job_view.h"

namespace hone::results {

[[nodiscard]] nlohmann::json board_json(const Board& board);
/// {"torch eager": 1.31, …}: a program of `time_us` against each.
[[nodiscard]] nlohmann::json against_json(const std::vector<BaselineTime>& baselines,
                                          double time_us);
/// How a candidate fares on one device; no times where it failed.
[[nodiscard]] nlohmann::json final_json(const FinalResult& result);
[[nodiscard]] nlohmann::json baseline_json(const BaselineTime& baseline);
[[nodiscard]] nlohmann::json counts_json(const Counts& counts);
/// Sums over all evaluations [s], which overlap.
[[nodiscard]] nlohmann::json pace_json(const Pace& pace);
/// Of a language model; null where none was asked.
[[nodiscard]] nlohmann::json model_use_json(const ModelUse& use);
/// What model_use_json() wrote. Throws nlohmann's exceptions where it is damaged.
[[nodiscard]] ModelUse model_use_from_json(const nlohmann::json& json);
/// One candidate with its final stages; `source` is its program's, formatted for reading.
[[nodiscard]] nlohmann::json candidate_json(const BoardRow& row,
                                            const std::vector<FinalResult>& finals,
                                            const std::string& source);
/// What a language model said, whole.
[[nodiscard]] nlohmann::json reply_json(const ReplyRecord& reply);
/// Likewise, with what became of it in its run.
[[nodiscard]] nlohmann::json reply_json(const RunReply& reply);
[[nodiscard]] nlohmann::json run_json(const RunRecord& run);
[[nodiscard]] nlohmann::json point_json(const RunPoint& point);
/// A submitted job.
[[nodiscard]] nlohmann::json job_json(const JobView& job);
/// The workers that are there; those of other versions are not "usable".
[[nodiscard]] nlohmann::json workers_json(const queue::Registered& there);
/// What seemed faster than the reference, and how that ended; "said": ends_text(), or null.
[[nodiscard]] nlohmann::json seemed_faster_json(const SearchOutcome& outcome);
/// The "best" object of the machine form.
[[nodiscard]] nlohmann::json finalist_json(const Finalist& finalist);

}  // namespace hone::results
