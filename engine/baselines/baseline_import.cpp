#include "engine/baselines/baseline_import.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "candidates/task_file.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/timing/statistics.h"

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "hone baselines 1";
constexpr const char* kMakeOne = "baselines/torch_baseline.py writes such files";
constexpr std::size_t kMostText = 512;
constexpr std::size_t kMostSamples = 100'000;

/// Where in the file; keeps the first mistake.
class Place {
 public:
  Place(const std::string& file, std::string path) : file_(file), path_(std::move(path)) {}

  [[nodiscard]] std::unexpected<Error> error(const std::string& what) const {
    return invalid(fmt::format("{}: {}: {}; {}", file_, path_, what, kMakeOne));
  }
  [[nodiscard]] Result<std::string> text(const Json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string() ||
        found->get_ref<const std::string&>().empty())
      return error(fmt::format("\"{}\" is no text", key));
    // It will be printed: no escape sequences.
    return protocol::clean_text(found->get_ref<const std::string&>(), kMostText);
  }

 private:
  const std::string& file_;
  std::string path_;
};

Result<std::vector<double>> samples_of(const Json& result, const Place& place) {
  const auto found = result.find("samples_us");
  if (found == result.end() || !found->is_array() || found->size() < kFewestBaselineSamples ||
      found->size() > kMostSamples) {
    return place.error(
        fmt::format("\"samples_us\" is no list of {} times or more", kFewestBaselineSamples));
  }
  std::vector<double> samples;
  for (const Json& sample : *found) {
    const double us = sample.is_number() ? sample.get<double>() : NAN;
    if (!std::isfinite(us) || us <= 0)
      return place.error("\"samples_us\" holds what is no positive number");
    samples.push_back(us);
  }
  return samples;
}

#define HONE_FIELD(target, expression)                            \
  do {                                                            \
    auto field = (expression);                                    \
    if (!field) return std::unexpected(std::move(field.error())); \
    target = std::move(*field);                                   \
  } while (false)

}  // namespace

Result<std::vector<ImportedBaseline>> parse_baselines(std::string_view text,
                                                      const std::string& file) {
  const Place top(file, "$");
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return top.error("is no JSON object");
  if (document.value("format", Json()) != kFormat)
    return top.error(fmt::format("\"format\" is not \"{}\"", kFormat));
  BaselineTime common;
  HONE_FIELD(common.device, top.text(document, "device"));
  HONE_FIELD(common.device_name, top.text(document, "device_name"));
  HONE_FIELD(common.versions, top.text(document, "versions"));
  if (!common.device.starts_with("cuda:"))
    return top.error(
        fmt::format("\"device\" is {}: only a GPU's times are measured", common.device));
  const auto results = document.find("results");
  if (results == document.end() || !results->is_array()) return top.error("\"results\" is no list");
  std::vector<ImportedBaseline> baselines;
  for (std::size_t i = 0; i < results->size(); ++i) {
    const Json& result = (*results)[i];
    const Place place(file, fmt::format("$.results[{}]", i));
    if (!result.is_object()) return place.error("is no object");
    if (result.contains("error") && !result.contains("samples_us")) continue;
    ImportedBaseline one{"", "", common};
    HONE_FIELD(one.task, place.text(result, "task"));
    HONE_FIELD(one.task_hash, place.text(result, "task_hash"));
    HONE_FIELD(one.time.kind, place.text(result, "kind"));
    HONE_FIELD(one.time.precision, place.text(result, "precision"));
    HONE_FIELD(one.time.samples_us, samples_of(result, place));
    one.time.time_us = timing::median(one.time.samples_us);
    const auto interval = timing::median_interval(one.time.samples_us);
    one.time.ci95_low = interval.low;
    one.time.ci95_high = interval.high;
    baselines.push_back(std::move(one));
  }
  return baselines;
}

Result<std::vector<ImportedBaseline>> read_baselines(const std::string& file) {
  const auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  return parse_baselines(*text, file);
}

}  // namespace hone
