#include "evaluator/protocol/survey_messages.h"

#include <cmath>

#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/take.h"

namespace hone::protocol {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxPrograms = 256;
constexpr std::size_t kMaxBuffers = 1024;

Result<double> amount(const Json& object, const char* key) {
  auto value = get_double(object, key);
  if (value && !(*value >= 0 && std::isfinite(*value))) return malformed(key);
  return value;
}

Json to_message(const Survey& survey) {
  Json touched = Json::object();
  for (const auto& [name, bytes] : survey.touched) touched[name] = bytes;
  return {{"known", survey.known},
          {"units", survey.units},
          {"seconds", survey.seconds},
          {"touched", std::move(touched)}};
}

Result<Survey> survey_from(const Json& m) {
  Survey survey;
  HONE_TAKE(survey.known, get_bool(m, "known"));
  HONE_TAKE(survey.units, amount(m, "units"));
  HONE_TAKE(survey.seconds, amount(m, "seconds"));
  const Json* touched = nullptr;
  HONE_TAKE(touched, get_object(m, "touched"));
  if (touched->size() > kMaxBuffers) return malformed("touched");
  for (const auto& [name, bytes] : touched->items())
    HONE_TAKE(survey.touched[name], amount(*touched, name.c_str()));
  return survey;
}

}  // namespace

Json to_message(const SurveyJob& job) {
  Json programs = Json::array();
  for (const Runnable& program : job.programs) programs.push_back(to_message(program));
  return {{"op", "survey"}, {"programs", std::move(programs)}, {"seed", job.seed}};
}

Result<SurveyJob> survey_job_from(const Json& m) {
  SurveyJob job;
  const Json* programs = nullptr;
  HONE_TAKE(programs, get_array(m, "programs", kMaxPrograms));
  for (const Json& item : *programs) {
    Runnable program;
    HONE_TAKE(program, runnable_from(item));
    job.programs.push_back(std::move(program));
  }
  if (!m.contains("seed") || !m["seed"].is_number_integer()) return malformed("seed");
  job.seed = m["seed"].get<std::uint64_t>();
  return job;
}

Json to_message(const std::vector<Survey>& surveys) {
  Json list = Json::array();
  for (const Survey& survey : surveys) list.push_back(to_message(survey));
  return {{"surveys", std::move(list)}};
}

Result<std::vector<Survey>> surveys_from(const Json& m) {
  std::vector<Survey> surveys;
  const Json* list = nullptr;
  HONE_TAKE(list, get_array(m, "surveys", kMaxPrograms));
  for (const Json& item : *list) {
    Survey survey;
    HONE_TAKE(survey, survey_from(item));
    surveys.push_back(std::move(survey));
  }
  return surveys;
}

}  // namespace hone::protocol
