#include "engine/results/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/results/ends.h"
#include "rewriters/llm/client/endpoint.h"

namespace hone::results {
namespace {

nlohmann::json interval_json(const Measurement& m) {
  return nlohmann::json::array({m.ci95_low, m.ci95_high});
}

}  // namespace

nlohmann::json board_json(const Board& board) {
  nlohmann::json rows = nlohmann::json::array();
  for (const BoardRow& row : board.rows) {
    const Measurement& m = row.evaluation.measurement;
    int registers = 0, spill_bytes = 0;
    for (const KernelResources& r : row.evaluation.resources) {
      registers = std::max(registers, r.registers);
      spill_bytes += r.spill_bytes;
    }
    rows.push_back({{"rank", row.rank},
                    {"candidate", row.candidate.id},
                    {"time_us", m.time_us},
                    {"speedup", m.speedup},
                    {"ci95", interval_json(m)},
                    {"max_rel_error", row.evaluation.max_rel_error},
                    {"math", to_string(row.evaluation.math)},
                    {"roof_fraction", m.roof_fraction},
                    {"bound", m.bound},
                    {"note", row.evaluation.note},
                    {"registers", registers},
                    {"spill_bytes", spill_bytes},
                    {"code_hash", row.evaluation.code_hash},
                    {"origin", row.candidate.origin},
                    {"recipe", row.candidate.recipe},
                    {"sandbox", row.provenance.sandbox},
                    {"found_at", row.found_at},
                    {"elsewhere", nlohmann::json::array()}});
    for (const FinalResult& result : row.elsewhere)
      rows.back()["elsewhere"].push_back(final_json(result));
    if (!board.baselines.empty())
      rows.back()["speedup_against"] = against_json(board.baselines, m.time_us);
  }
  nlohmann::json baselines = nlohmann::json::array();
  for (const BaselineTime& b : board.baselines) baselines.push_back(baseline_json(b));
  return {{"task", board.task_name},    {"task_hash", board.task_hash},
          {"device", board.device},     {"device_name", board.device_name},
          {"modelled", board.modelled}, {"reference", {{"time_us", board.reference_time_us}}},
          {"baselines", baselines},     {"rows", rows}};
}

nlohmann::json against_json(const std::vector<BaselineTime>& baselines, double time_us) {
  nlohmann::json json = nlohmann::json::object();
  for (const BaselineTime& b : baselines) json[b.kind] = b.time_us / time_us;
  return json;
}

nlohmann::json final_json(const FinalResult& result) {
  const Evaluation& e = result.evaluation;
  const Provenance& p = result.provenance;
  const bool ok = e.verdict == Verdict::kOk;
  return {{"device", p.device},
          {"device_name", p.device_name},
          {"arch", p.arch},
          {"modelled", p.modelled},
          {"verdict", to_string(e.verdict)},
          {"detail", e.detail},
          {"time_us", ok ? nlohmann::json(e.measurement.time_us) : nullptr},
          {"speedup", ok ? nlohmann::json(e.measurement.speedup) : nullptr},
          {"ci95", ok ? interval_json(e.measurement) : nullptr},
          {"toolchain", p.toolchain},
          {"found_at", result.found_at}};
}

nlohmann::json baseline_json(const BaselineTime& b) {
  nlohmann::json json = {{"kind", b.kind},
                         {"device", b.device},
                         {"device_name", b.device_name},
                         {"time_us", b.time_us},
                         {"ci95_us", {b.ci95_low, b.ci95_high}},
                         {"samples", b.samples_us.size()},
                         {"precision", b.precision},
                         {"versions", b.versions}};
  if (!b.stored_at.empty()) json["stored_at"] = b.stored_at;
  return json;
}

nlohmann::json counts_json(const Counts& counts) {
  nlohmann::json json = {{"proposed", counts.proposed},
                         {"duplicate", counts.duplicate},
                         {"outpaced", counts.outpaced},
                         {"screened", counts.screened}};
  for (Verdict verdict : kAllVerdicts) {
    json[std::string(to_string(verdict))] = counts.verdicts[static_cast<std::size_t>(verdict)];
  }
  return json;
}

nlohmann::json pace_json(const Pace& pace) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const GpuUse& gpu : pace.gpus)
    gpus.push_back({{"device", fmt::format("cuda:{}", gpu.ordinal)},
                    {"measured", gpu.measured},
                    {"busy", pace.search_s > 0 ? gpu.busy_s / pace.search_s : 0},
                    {"lost", gpu.lost}});
  return {{"evaluations_per_s", pace.per_second()},
          {"gpu_busy", pace.gpu_busy()},
          {"search_s", pace.search_s},
          {"propose_s", pace.propose_s},
          {"compile_s", pace.gates.compile},
          {"check_s", pace.gates.check},
          {"gpu_wait_s", pace.gates.wait},
          {"gpu_s", pace.gates.measure},
          {"evaluated", pace.evaluated},
          {"gpus", std::move(gpus)}};
}

nlohmann::json model_use_json(const ModelUse& use) {
  if (!use.used) return nullptr;
  nlohmann::json refusals = nlohmann::json::array();
  for (const auto& [reason, count] : use.refusals)
    refusals.push_back({{"reason", reason}, {"count", count}});
  return {{"asked", use.asked},
          {"replies", use.replies()},
          {"recipes", use.accepted()},
          {"no_reply", use.no_reply},
          {"refused", use.refused},
          {"untried", use.untried},
          {"failed", use.failed},
          {"passed", use.passed + use.best},
          {"best", use.best},
          {"refusals", refusals},
          {"input_tokens", use.input_tokens},
          {"output_tokens", use.output_tokens},
          {"dollars", llm::format_dollars(use.nano_dollars)}};
}

ModelUse model_use_from_json(const nlohmann::json& json) {
  ModelUse use;
  if (json.is_null()) return use;
  use.used = true;
  json.at("asked").get_to(use.asked);
  json.at("no_reply").get_to(use.no_reply);
  json.at("refused").get_to(use.refused);
  json.at("untried").get_to(use.untried);
  json.at("failed").get_to(use.failed);
  json.at("best").get_to(use.best);
  use.passed = json.at("passed").get<std::int64_t>() - use.best;
  for (const auto& refusal : json.at("refusals"))
    use.refusals.emplace_back(refusal.at("reason"), refusal.at("count"));
  json.at("input_tokens").get_to(use.input_tokens);
  json.at("output_tokens").get_to(use.output_tokens);
  const auto dollars = json.at("dollars").get<std::string>();
  if (const auto parsed = llm::parse_dollars(dollars.empty() ? dollars : dollars.substr(1)))
    use.nano_dollars = *parsed;
  return use;
}

nlohmann::json reply_json(const ReplyRecord& reply) {
  return {{"id", reply.id},
          {"mode", reply.mode},
          {"prompt_version", reply.prompt_version},
          {"model", reply.model},
          {"text", reply.text},
          {"outcome", reply.outcome},
          {"input_tokens", reply.input_tokens},
          {"output_tokens", reply.output_tokens},
          {"dollars", llm::format_dollars(reply.nano_dollars)},
          {"exact", reply.exact},
          {"seconds", reply.seconds},
          {"stored_at", reply.stored_at}};
}

nlohmann::json reply_json(const RunReply& reply) {
  nlohmann::json json = reply_json(reply.reply);
  json["fate"] = to_string(reply.fate);
  json["candidates"] = reply.candidates;
  return json;
}

nlohmann::json candidate_json(const BoardRow& row, const std::vector<FinalResult>& finals,
                              const std::string& source) {
  nlohmann::json document = {{"candidate", row.candidate.id},
                             {"task", row.candidate.task_name},
                             {"task_hash", row.candidate.task_hash},
                             {"device", row.provenance.device},
                             {"device_name", row.provenance.device_name},
                             {"modelled", row.provenance.modelled},
                             {"toolchain", row.provenance.toolchain},
                             {"sandbox", row.provenance.sandbox},
                             {"driver", row.provenance.driver},
                             {"hone_version", row.provenance.hone_version},
                             {"origin", row.candidate.origin},
                             {"found_at", row.found_at},
                             {"recipe", row.candidate.recipe},
                             {"evaluation", row.evaluation},
                             {"program", row.candidate.program},
                             {"finals", nlohmann::json::array()},
                             {"source", source}};
  for (const FinalResult& result : finals) document["finals"].push_back(final_json(result));
  return document;
}

nlohmann::json run_json(const RunRecord& run) {
  const Provenance& p = run.provenance;
  return {{"run", run.id},
          {"task", run.task_name},
          {"task_hash", run.task_hash},
          {"device", p.device},
          {"device_name", p.device_name},
          {"arch", p.arch},
          {"modelled", p.modelled},
          {"toolchain", p.toolchain},
          {"driver", p.driver},
          {"sandbox", p.sandbox},
          {"hone_version", p.hone_version},
          {"seed", run.seed},
          {"strategy", run.strategy},
          {"job", run.job},
          {"status", run.status},
          {"started_at", run.started_at},
          {"ended_at", run.ended_at.empty() ? nlohmann::json() : nlohmann::json(run.ended_at)}};
}

nlohmann::json point_json(const RunPoint& point) {
  const bool timed = point.speedup > 0;
  return {{"id", point.id},
          {"candidate", point.candidate},
          {"origin", point.origin},
          {"verdict", to_string(point.verdict)},
          {"final", point.final_stage},
          {"speedup", timed ? nlohmann::json(point.speedup) : nlohmann::json()},
          {"time_us", timed ? nlohmann::json(point.time_us) : nlohmann::json()},
          {"found_at", point.found_at}};
}

nlohmann::json job_json(const JobView& job) {
  const queue::JobStatus& status = job.row.status;
  nlohmann::json archs = nlohmann::json::array();
  for (const auto& arch : status.archs) {
    const auto place = std::ranges::find(job.row.places, arch.arch, &queue::JobPlace::arch);
    const bool placed = place != job.row.places.end();
    archs.push_back(
        {{"arch", arch.arch},
         {"device_name", placed ? nlohmann::json(place->device_name) : nlohmann::json()},
         {"rank", placed ? nlohmann::json(place->rank) : nlohmann::json()},
         {"counts", counts_json(arch.counts)},
         {"elapsed_s", arch.elapsed_s},
         {"reference_time_us", arch.reference_time_us},
         {"best_time_us", arch.best_time_us},
         {"best_recipe", arch.best_recipe},
         {"best_candidate", arch.best_candidate}});
  }
  nlohmann::json model;
  if (status.model)
    model = {{"note", status.model->note}, {"use", model_use_json(status.model->use)}};
  nlohmann::json json = {
      {"job", status.id},   {"state", to_string(status.state)},
      {"waits", job.waits}, {"place", job.place > 0 ? nlohmann::json(job.place) : nlohmann::json()},
      {"archs", archs},     {"error", status.error},
      {"model", model},     {"updated_at_ms", status.updated_at}};
  const std::int64_t submitted = job.row.submitted_at;
  json["submitted_at_ms"] = submitted > 0 ? nlohmann::json(submitted) : nlohmann::json();
  const auto& about = job.row.about;
  json["task"] = about ? nlohmann::json(about->task) : nlohmann::json();
  json["task_hash"] = about ? nlohmann::json(about->task_hash) : nlohmann::json();
  json["owner"] = about ? nlohmann::json(about->owner) : nlohmann::json();
  json["priority"] = about ? nlohmann::json(about->priority) : nlohmann::json();
  json["budget"] = about ? nlohmann::json(about->budget.text()) : nlohmann::json();
  json["wanted_archs"] = about ? nlohmann::json(about->archs) : nlohmann::json();
  return json;
}

nlohmann::json workers_json(const queue::Registered& there) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& worker : there.workers) {
    nlohmann::json devices = nlohmann::json::array();
    for (const auto& device : worker.devices)
      devices.push_back({{"pool", device.pool},
                         {"name", device.info.name},
                         {"arch", device.info.arch},
                         {"driver", device.info.driver},
                         {"toolchain", device.info.toolchain},
                         {"modelled", device.modelled},
                         {"capacity", device.capacity}});
    rows.push_back({{"worker", worker.id},
                    {"host", worker.host},
                    {"version", worker.version},
                    {"usable", true},
                    {"draining", worker.draining},
                    {"evaluated", worker.evaluated},
                    {"in_flight", worker.in_flight},
                    {"started_at_ms", worker.started_at},
                    {"devices", devices}});
  }
  for (const auto& worker : there.foreign) {
    nlohmann::json devices = nlohmann::json::array();
    for (const auto& device : worker.devices)
      devices.push_back(
          {{"pool", device.pool}, {"arch", device.arch}, {"modelled", device.modelled}});
    rows.push_back({{"worker", worker.id},
                    {"host", worker.host},
                    {"version", worker.version},
                    {"usable", false},
                    {"queue_version", worker.queue_version},
                    {"devices", devices}});
  }
  return rows;
}

nlohmann::json seemed_faster_json(const SearchOutcome& outcome) {
  const FinalEnds& ends = outcome.ends;
  const auto or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
  };
  return {{"programs", outcome.seemed_faster},
          {"speedup", outcome.seemed_speedup},
          {"faster", ends.faster},
          {"no_faster", ends.no_faster},
          {"failed", ends.failed},
          {"why_failed", or_null(ends.why_failed)},
          {"unchecked", ends.unchecked},
          {"why_unchecked", or_null(ends.why_unchecked)},
          {"late", ends.late},
          {"said", or_null(ends_text(outcome))}};
}

nlohmann::json finalist_json(const Finalist& finalist) {
  const Measurement& m = finalist.evaluation.measurement;
  return {{"candidate", finalist.candidate.id},
          {"time_us", m.time_us},
          {"reference_time_us", m.reference_time_us},
          {"speedup", m.speedup},
          {"ci95", interval_json(m)},
          {"max_rel_error", finalist.evaluation.max_rel_error},
          {"math", to_string(finalist.evaluation.math)},
          {"roof_fraction", m.roof_fraction},
          {"bound", m.bound},
          {"origin", finalist.candidate.origin},
          {"recipe", finalist.candidate.recipe}};
}

}  // namespace hone::results
