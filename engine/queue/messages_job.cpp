#include "engine/queue/messages_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <utility>

#include "candidates/sent_file.h"
#include "engine/queue/messages_detail.h"
#include "engine/search/search_limits.h"
#include "evaluator/protocol/channel.h"

namespace hone::queue {
namespace {

using namespace detail;
using protocol::clean_text;

constexpr std::string_view kJob = "job";
constexpr std::string_view kStatus = "status";
// Of a task; as candidates/task_reader has them, but for the check sizes, of which a final stage
// makes several checks each.
constexpr std::size_t kMaxNames = 256, kMaxValues = 1024, kMaxConstraints = 256;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;
constexpr std::size_t kMaxTorch = 4096;                          // [B]
constexpr std::int64_t kMaxNanoDollars = 1'000'000'000'000'000;  // a million dollars
constexpr std::array<std::string_view, 3> kModes = {"whole", "diff", "steps"};
constexpr std::size_t kMaxRefusals = 8;

// In the order of JobState.
constexpr std::array<std::string_view, 7> kStates = {
    "queued", "admitting", "searching", "finishing", "done", "failed", "cancelled"};
constexpr std::string_view kStateList =
    "queued, admitting, searching, finishing, done, failed, cancelled";

std::string file_name(const std::string& path) {
  return clean_text(std::filesystem::path(path).filename().string(), kMaxLine);
}

void check_sizes(const JsonCursor& cursor, const Bindings& sizes) {
  if (sizes.size() > kMaxNames) cursor.fail("has too many entries");
  for (const auto& [name, value] : sizes) {
    if (!cursor.ok()) return;
    const JsonCursor at = cursor.at(name);
    if (!is_c_identifier(name)) at.fail_at_key("is no name for a size");
    if (value < 1 || value > kMaxSize) at.fail(fmt::format("is {}; must be 1 to 2^40", value));
  }
}

void check_tunables(const JsonCursor& cursor, const Task& task) {
  if (cursor.value().size() > kMaxNames) cursor.fail("has too many entries");
  for (const auto& [name, list] : cursor.members()) {
    if (!cursor.ok()) return;
    if (!is_c_identifier(name)) list.fail_at_key("is no name for a tunable");
    const auto values = task.tunables.find(name);
    if (values == task.tunables.end() || values->second.size() > kMaxValues) {
      list.fail(fmt::format("must have 1 to {} values", kMaxValues));
      return;
    }
    const auto define = task.reference.defines.find(name);
    if (define == task.reference.defines.end() ||
        define->second != std::to_string(values->second.front()))
      list.fail("begins with another value than the reference is defined with");
  }
}

void check_program(const JsonCursor& cursor, const Program& program) {
  (void)read_source(cursor.at("source"));
  check_defines(cursor.at("defines"), program.defines);
  const auto buffers = cursor.at("buffers").elements_up_to(kMaxBuffers);
  for (std::size_t i = 0; cursor.ok() && i < buffers.size(); ++i) {
    if (const auto fill = buffers[i].find("fill")) check_fill(*fill, program.buffers[i].fill);
  }
  const JsonCursor list = cursor.at("launches");
  const auto launches = list.elements_up_to(kMaxLaunches);
  if (list.ok() && launches.empty()) list.fail("is empty; there must be a launch");
  for (const JsonCursor& launch : launches) {
    if (cursor.ok()) (void)launch.at("args").elements_up_to(kMaxArguments);
  }
}

/// The rules of candidates/task_reader that a stored task is not asked for again.
void check_task(const JsonCursor& cursor, const Task& task) {
  const auto is_line = [&](const char* key, const std::string& text, std::size_t most) {
    if (!text.empty() && clean_text(text, most) == text && text.find('\n') == std::string::npos)
      return;
    cursor.at(key).fail(fmt::format("must be one line of at most {} bytes", most));
  };
  is_line("name", task.name, kMaxLine);
  const std::string& file = task.source_path;
  if (file != file_name(file) || file == "." || file == "..")
    cursor.at("source_path").fail("must be the name of a file, and no path");
  if (task.torch) is_line("torch", *task.torch, kMaxTorch);
  check_program(cursor.at("reference"), task.reference);
  check_sizes(cursor.at("sizes"), task.sizes);
  if (!cursor.ok()) return;
  check_tunables(cursor.at("tunables"), task);
  const auto checks = cursor.at("check_sizes").elements_up_to(kMaxChecks);
  for (std::size_t i = 0; cursor.ok() && i < checks.size(); ++i) {
    check_sizes(checks[i], task.check_sizes[i]);
    const auto name = [](const auto& binding) { return binding.first; };
    if (!std::ranges::equal(task.check_sizes[i], task.sizes, {}, name, name))
      checks[i].fail("binds other names than \"sizes\"");
  }
  const auto constraints = cursor.at("constraints").elements_up_to(kMaxConstraints);
  for (std::size_t i = 0; cursor.ok() && i < constraints.size(); ++i) {
    if (!task.constraints[i].is_condition()) constraints[i].fail("is no condition");
  }
  const JsonCursor tolerance = cursor.at("tolerance");
  (void)tolerance.at("rtol").number_in(0, kLargestTolerance);
  (void)tolerance.at("atol").number_in(0, kLargestTolerance);
  if (!cursor.ok()) return;
  if (const auto timed = instantiate(task.reference, task.sizes); !timed)
    cursor.at("reference").fail(timed.error().message);
}

Task read_task(const JsonCursor& cursor) {
  Task task = nested(cursor, task_from_json(cursor.value()));
  if (cursor.ok()) check_task(cursor, task);
  return task;
}

/// What is left out is the coordinator's to say.
ModelWish read_wish(const JsonCursor& cursor) {
  ModelWish wish;
  if (!cursor.expect_keys({"tokens", "nano_dollars", "modes"})) return wish;
  if (const auto tokens = cursor.find("tokens"))
    wish.tokens = tokens->integer_in(1, kMostLlmTokens);
  if (const auto cost = cursor.find("nano_dollars"))
    wish.nano_dollars = cost->integer_in(0, kMaxNanoDollars);
  if (const auto modes = cursor.find("modes")) {
    wish.modes = read_ids(*modes, kModes.size());
    for (const std::string& mode : wish.modes)
      if (std::ranges::find(kModes, mode) == kModes.end())
        modes->fail(fmt::format("has '{}'; there are whole, diff and steps", mode));
  }
  return wish;
}

Json to_message(const ModelWish& wish) {
  Json json = Json::object();
  if (wish.tokens) json["tokens"] = *wish.tokens;
  if (wish.nano_dollars) json["nano_dollars"] = *wish.nano_dollars;
  if (!wish.modes.empty()) json["modes"] = wish.modes;
  return json;
}

JobMessage read_job(const JsonCursor& root) {
  JobMessage message;
  std::vector<std::string_view> fields = {"id",       "task",         "model", "archs",
                                          "priority", "submitted_at", "owner"};
  for (const SearchOption& option : search_options()) fields.push_back(option.message_key());
  expect_fields(root, fields);
  if (!root.ok()) return message;
  message.id = read_id(root.at("id"));
  message.task = read_task(root.at("task"));
  message.search = read_settings(root);
  if (const auto model = root.find("model")) message.model = read_wish(*model);
  const JsonCursor archs = root.at("archs");
  message.archs = read_ids(archs, kMostJobArchs);
  if (root.ok() && message.archs.empty()) archs.fail("is empty; there must be an architecture");
  message.priority =
      static_cast<int>(root.at("priority").integer_in(-kMostPriority, kMostPriority));
  message.submitted_at = read_count(root.at("submitted_at"));
  message.owner = read_text(root.at("owner"), kMaxLine);
  return message;
}

Json to_message(const Counts& counts) {
  Json verdicts = Json::object();
  for (const Verdict verdict : kAllVerdicts)
    verdicts[std::string(to_string(verdict))] = counts.verdicts[static_cast<std::size_t>(verdict)];
  return {{"proposed", counts.proposed},
          {"duplicate", counts.duplicate},
          {"outpaced", counts.outpaced},
          {"screened", counts.screened},
          {"verdicts", std::move(verdicts)}};
}

Counts read_counts(const JsonCursor& cursor) {
  Counts counts;
  if (!cursor.expect_keys({"proposed", "duplicate", "outpaced", "screened", "verdicts"}))
    return counts;
  counts.proposed = read_count(cursor.at("proposed"));
  counts.duplicate = read_count(cursor.at("duplicate"));
  counts.outpaced = read_count(cursor.at("outpaced"));
  counts.screened = read_count(cursor.at("screened"));
  std::vector<std::string_view> names;
  for (const Verdict verdict : kAllVerdicts) names.push_back(to_string(verdict));
  const JsonCursor verdicts = cursor.at("verdicts");
  if (!verdicts.expect_keys(names)) return counts;
  for (std::size_t i = 0; i < names.size(); ++i)
    counts.verdicts[i] = read_count(verdicts.at(names[i]));
  return counts;
}

ArchProgress read_progress(const JsonCursor& cursor) {
  ArchProgress progress;
  if (!cursor.expect_keys({"arch", "counts", "elapsed_s", "reference_time_us", "best_time_us",
                           "best_recipe", "best_candidate"})) {
    return progress;
  }
  progress.arch = read_id(cursor.at("arch"));
  progress.counts = read_counts(cursor.at("counts"));
  progress.elapsed_s = read_duration(cursor.at("elapsed_s"));
  progress.reference_time_us = read_duration(cursor.at("reference_time_us"));
  progress.best_time_us = read_duration(cursor.at("best_time_us"));
  progress.best_recipe = read_text(cursor.at("best_recipe"), kMaxText);
  const JsonCursor best = cursor.at("best_candidate");
  if (best.value() != "") progress.best_candidate = read_id(best);
  return progress;
}

constexpr std::pair<std::string_view, std::int64_t results::ModelUse::*> kModelCounts[] = {
    {"asked", &results::ModelUse::asked},
    {"no_reply", &results::ModelUse::no_reply},
    {"refused", &results::ModelUse::refused},
    {"untried", &results::ModelUse::untried},
    {"failed", &results::ModelUse::failed},
    {"passed", &results::ModelUse::passed},
    {"best", &results::ModelUse::best},
    {"input_tokens", &results::ModelUse::input_tokens},
    {"output_tokens", &results::ModelUse::output_tokens},
    {"nano_dollars", &results::ModelUse::nano_dollars}};

JobModel read_model(const JsonCursor& cursor) {
  JobModel model;
  model.note = read_text(cursor.at("note"), kMaxText);
  model.use.used = cursor.at("used").boolean();
  for (const auto& [name, count] : kModelCounts)
    model.use.*count = cursor.at(name).integer_in(0, std::numeric_limits<std::int64_t>::max());
  for (const JsonCursor& refusal : cursor.at("refusals").elements_up_to(kMaxRefusals)) {
    if (!refusal.expect_keys({"reason", "count"})) break;
    model.use.refusals.emplace_back(read_text(refusal.at("reason"), kMaxText),
                                    read_count(refusal.at("count")));
  }
  std::vector<std::string_view> known{"note", "used", "refusals"};
  for (const auto& [name, count] : kModelCounts) known.push_back(name);
  cursor.expect_keys(known);
  return model;
}

Json to_message(const JobModel& model) {
  Json refusals = Json::array();
  for (const auto& [reason, count] : model.use.refusals)
    refusals.push_back({{"reason", clean_text(reason, kMaxText)}, {"count", count}});
  Json json = {{"note", clean_text(model.note, kMaxText)},
               {"used", model.use.used},
               {"refusals", std::move(refusals)}};
  for (const auto& [name, count] : kModelCounts) json[std::string(name)] = model.use.*count;
  return json;
}

JobStatus read_status(const JsonCursor& root) {
  JobStatus status;
  expect_fields(root, {"id", "state", "archs", "error", "model", "updated_at"});
  if (!root.ok()) return status;
  status.id = read_id(root.at("id"));
  status.state = root.at("state").choice<JobState>(parse_job_state, kStateList);
  for (const JsonCursor& element : root.at("archs").elements_up_to(kMostJobArchs))
    status.archs.push_back(read_progress(element));
  status.error = read_text(root.at("error"), kMaxText);
  if (const auto model = root.find("model")) status.model = read_model(*model);
  status.updated_at = read_count(root.at("updated_at"));
  return status;
}

}  // namespace

std::optional<JobState> parse_job_state(std::string_view text) {
  const auto found = std::ranges::find(kStates, text);
  if (found == kStates.end()) return std::nullopt;
  return static_cast<JobState>(found - kStates.begin());
}

std::string_view to_string(JobState state) { return kStates[static_cast<std::size_t>(state)]; }

Result<std::string> encode(const JobMessage& message) {
  // What has no JSON form would be read as something else.
  for (const Buffer& buffer : message.task.reference.buffers) {
    if (buffer.fill.kind == Fill::Kind::kFile && !sent_file(buffer.fill.path))
      return refuse(kJob, fmt::format("task: buffer '{}': its file was not sent", buffer.name));
  }
  Json task = message.task;
  task["source_path"] = file_name(message.task.source_path);
  Json json = {{"id", message.id},
               {"task", std::move(task)},
               {"archs", message.archs},
               {"priority", message.priority},
               {"submitted_at", message.submitted_at},
               {"owner", clean_text(message.owner, kMaxLine)}};
  write_settings(message.search, json);
  if (message.model) json["model"] = to_message(*message.model);
  return encode_as(kJob, std::move(json), read_job);
}

Result<JobMessage> job_from(std::string_view bytes) { return decode_as(kJob, bytes, read_job); }

Result<std::string> encode(const JobStatus& status) {
  auto archs = Json::array();
  for (const ArchProgress& progress : status.archs) {
    archs.push_back({{"arch", progress.arch},
                     {"counts", to_message(progress.counts)},
                     {"elapsed_s", progress.elapsed_s},
                     {"reference_time_us", progress.reference_time_us},
                     {"best_time_us", progress.best_time_us},
                     {"best_recipe", clean_text(progress.best_recipe, kMaxText)},
                     {"best_candidate", progress.best_candidate}});
  }
  Json json = {{"id", status.id},
               {"state", to_string(status.state)},
               {"archs", std::move(archs)},
               {"error", clean_text(status.error, kMaxText)},
               {"updated_at", status.updated_at}};
  if (status.model) json["model"] = to_message(*status.model);
  return encode_as(kStatus, std::move(json), read_status);
}

Result<JobStatus> status_from(std::string_view bytes) {
  return decode_as(kStatus, bytes, read_status);
}

}  // namespace hone::queue
