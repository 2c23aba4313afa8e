#include "engine/queue/messages_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "engine/queue/messages_detail.h"

namespace hone::queue {
namespace {

using namespace detail;

constexpr std::string_view kWorkType = "work";
constexpr double kLargestFlops = 1e25;
constexpr std::string_view kStages = "quick, final";
constexpr std::string_view kKinds = "admit, evaluate";

/// The distinct sources of a message, in the order of their first use.
class Sources {
 public:
  std::size_t index_of(const std::string& source) {
    const auto known =
        std::ranges::find_if(sources_, [&](const std::string* other) { return *other == source; });
    if (known != sources_.end()) return static_cast<std::size_t>(known - sources_.begin());
    sources_.push_back(&source);
    return sources_.size() - 1;
  }
  [[nodiscard]] Json json() const {
    auto list = Json::array();
    for (const std::string* source : sources_) list.push_back(*source);
    return list;
  }

 private:
  std::vector<const std::string*> sources_;
};

Json to_message(const ConcreteProgram& program, Sources& sources) {
  Json json = ConcreteProgram{"", program.defines, program.buffers, program.launches};
  json["source"] = sources.index_of(program.source);
  return json;
}

Json to_message(const CheckCase& check, Sources& sources) {
  Json json = {{"reference", to_message(check.reference, sources)},
               {"seed", check.seed},
               {"inputs", static_cast<int>(check.inputs)},
               {"hidden", check.hidden}};
  if (check.in_part) json["in_part"] = true;
  const ConcreteProgram& candidate = check.candidate;
  if (!candidate.source.empty() || !candidate.buffers.empty() || !candidate.launches.empty())
    json["candidate"] = to_message(candidate, sources);
  return json;
}

std::vector<std::string> read_sources(const JsonCursor& cursor) {
  std::vector<std::string> sources;
  std::size_t bytes = 0;
  for (const JsonCursor& element : cursor.elements_up_to(2 * kMaxCases + 2)) {
    sources.push_back(read_source(element));
    bytes += sources.back().size();
    if (bytes > kMaxSources) {
      cursor.fail(fmt::format("the sources have more than {} bytes in all", kMaxSources));
    }
    if (!cursor.ok()) break;
  }
  if (cursor.ok() && sources.empty()) cursor.fail("is empty; there must be a source");
  return sources;
}

void check_buffers(const JsonCursor& list, const std::vector<ConcreteBuffer>& buffers) {
  const auto elements = list.elements_up_to(kMaxBuffers);
  std::set<std::string_view> names;
  for (std::size_t i = 0; list.ok() && i < elements.size(); ++i) {
    const ConcreteBuffer& buffer = buffers[i];
    const JsonCursor name = elements[i].at("name");
    if (!is_c_identifier(buffer.name)) {
      name.fail(fmt::format("'{}' is not a name", printable(buffer.name)));
    } else if (!names.insert(buffer.name).second) {
      name.fail(fmt::format("there is already a buffer '{}'", buffer.name));
    }
    (void)elements[i].at("shape").elements_up_to(kMaxRank);
    check_fill(elements[i].at("fill"), buffer.fill);
  }
}

void check_dimensions(const JsonCursor& cursor, const Dim3& dimensions, const Dim3& most) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (dimensions[i] > most[i]) {
      cursor.fail(fmt::format("is {} in {}; CUDA allows {}", dimensions[i], "xyz"[i], most[i]));
    }
  }
}

void check_launches(const JsonCursor& list, const std::vector<ConcreteLaunch>& launches) {
  const auto elements = list.elements_up_to(kMaxLaunches);
  if (elements.empty() && list.ok()) list.fail("is empty; there must be a launch");
  for (std::size_t i = 0; list.ok() && i < elements.size(); ++i) {
    const ConcreteLaunch& launch = launches[i];
    if (!is_kernel_name(launch.kernel)) {
      elements[i].at("kernel").fail(
          fmt::format("'{}' is not a kernel name", printable(launch.kernel)));
    }
    check_dimensions(elements[i].at("grid"), launch.grid, kMaxGrid);
    const JsonCursor block = elements[i].at("block");
    check_dimensions(block, launch.block, kMaxBlock);
    if (block.ok() && launch.block[0] * launch.block[1] * launch.block[2] > kMaxBlockThreads)
      block.fail(fmt::format("has more than {} threads", kMaxBlockThreads));
    (void)elements[i].at("args").elements_up_to(kMaxArguments);
  }
}

ConcreteProgram read_program(const JsonCursor& cursor, const std::vector<std::string>& sources) {
  const std::int64_t source =
      cursor.at("source").integer_in(0, static_cast<std::int64_t>(sources.size()) - 1);
  if (!cursor.ok()) return {};
  Json bare = cursor.value();
  bare["source"] = "";
  ConcreteProgram program = nested(cursor, concrete_program_from_json(bare));
  if (!cursor.ok()) return program;
  check_defines(cursor.at("defines"), program.defines);
  check_buffers(cursor.at("buffers"), program.buffers);
  check_launches(cursor.at("launches"), program.launches);
  program.source = sources[static_cast<std::size_t>(source)];
  return program;
}

CheckCase read_case(const JsonCursor& cursor, const std::vector<std::string>& sources,
                    WorkMessage::Kind kind) {
  CheckCase check;
  if (!cursor.expect_keys({"reference", "candidate", "seed", "inputs", "hidden", "in_part"}))
    return check;
  check.reference = read_program(cursor.at("reference"), sources);
  const auto candidate = cursor.find("candidate");
  if (candidate || kind == WorkMessage::Kind::kEvaluate)
    check.candidate = read_program(cursor.at("candidate"), sources);
  check.seed = cursor.at("seed").unsigned_integer();
  check.inputs = static_cast<InputSet>(
      cursor.at("inputs").integer_in(0, static_cast<std::int64_t>(std::size(kAllInputSets)) - 1));
  check.hidden = cursor.at("hidden").boolean();
  if (const auto in_part = cursor.find("in_part")) check.in_part = in_part->boolean();
  return check;
}

std::optional<Stage> parse_stage(std::string_view text) {
  if (text == "quick") return Stage::kQuick;
  if (text == "final") return Stage::kFinal;
  return std::nullopt;
}

std::optional<WorkMessage::Kind> parse_kind(std::string_view text) {
  if (text == "admit") return WorkMessage::Kind::kAdmit;
  if (text == "evaluate") return WorkMessage::Kind::kEvaluate;
  return std::nullopt;
}

/// A number that may be infinite travels as "inf" then, as in a stored measurement.
Json maybe_infinite(double value) {
  return std::isinf(value) && value > 0 ? Json("inf") : Json(value);
}

double read_maybe_infinite(const JsonCursor& cursor) {
  if (cursor.value() == "inf") return std::numeric_limits<double>::infinity();
  return read_duration(cursor);
}

WorkMessage read_work(const JsonCursor& root) {
  WorkMessage message;
  EvaluationRequest& request = message.request;
  expect_fields(root, {"job", "id", "kind", "sources", "checks", "timed", "tolerance", "math",
                       "claims", "stage", "best_time_us", "screen_above_us", "measure_first",
                       "by_rules", "flops", "seed", "places"});
  if (!root.ok()) return message;
  message.job = read_id(root.at("job"));
  message.id = read_id(root.at("id"));
  message.kind = root.at("kind").choice<WorkMessage::Kind>(parse_kind, kKinds);
  const auto sources = read_sources(root.at("sources"));
  for (const JsonCursor& check : root.at("checks").elements_up_to(kMaxCases)) {
    if (!root.ok()) return message;
    request.checks.push_back(read_case(check, sources, message.kind));
  }
  request.timed = read_case(root.at("timed"), sources, message.kind);
  const JsonCursor tolerance = root.at("tolerance");
  if (tolerance.expect_keys({"rtol", "atol", "same"})) {
    request.tolerance.rtol = tolerance.at("rtol").number_in(0, kLargestTolerance);
    request.tolerance.atol = tolerance.at("atol").number_in(0, kLargestTolerance);
    if (tolerance.at("same").boolean()) request.tolerance.non_finite = NonFinite::kSame;
  }
  request.math = root.at("math").choice<MathLevel>(parse_math_level, kMathLevelNames);
  request.claims = root.at("claims").choice<MathLevel>(parse_math_level, kMathLevelNames);
  request.stage = root.at("stage").choice<Stage>(parse_stage, kStages);
  request.best_time_us = read_duration(root.at("best_time_us"));
  request.screen_above_us = read_maybe_infinite(root.at("screen_above_us"));
  request.measure_first = root.at("measure_first").boolean();
  request.by_rules = root.at("by_rules").boolean();
  request.flops = root.at("flops").number_in(0, kLargestFlops);
  request.seed = root.at("seed").unsigned_integer();
  request.places = root.at("places").unsigned_integer();
  return message;
}

}  // namespace

Result<std::string> encode(const WorkMessage& message) {
  const EvaluationRequest& request = message.request;
  Sources sources;
  auto checks = Json::array();
  for (const CheckCase& check : request.checks) checks.push_back(to_message(check, sources));
  Json json = {{"job", message.job},
               {"id", message.id},
               {"kind", message.kind == WorkMessage::Kind::kAdmit ? "admit" : "evaluate"},
               {"checks", std::move(checks)},
               {"timed", to_message(request.timed, sources)},
               {"tolerance",
                {{"rtol", request.tolerance.rtol},
                 {"atol", request.tolerance.atol},
                 {"same", request.tolerance.non_finite == NonFinite::kSame}}},
               {"math", to_string(request.math)},
               {"claims", to_string(request.claims)},
               {"stage", request.stage == Stage::kFinal ? "final" : "quick"},
               {"best_time_us", request.best_time_us},
               {"screen_above_us", maybe_infinite(request.screen_above_us)},
               {"measure_first", request.measure_first},
               {"by_rules", request.by_rules},
               {"flops", request.flops},
               {"seed", request.seed},
               {"places", request.places}};
  json["sources"] = sources.json();
  return encode_as(kWorkType, std::move(json), read_work);
}

Result<WorkMessage> work_from(std::string_view bytes) {
  return decode_as(kWorkType, bytes, read_work);
}

}  // namespace hone::queue
