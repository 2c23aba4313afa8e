#include "candidates/measurement.h"

#include <cmath>

#include "candidates/json_cursor.h"

namespace hone {
namespace {

constexpr std::string_view kVerdictList =
    "ok, refused, compile_error, launch_error, fault, race, wrong_result, tampering, timeout, "
    "crash, unsupported, slower";

// JSON has no NaN and no infinity. A wrong result may well be infinitely far off, so those travel
// as strings rather than as null.
nlohmann::json real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double decode_real(const JsonCursor& cursor) {
  if (cursor.value().is_string()) {
    const std::string text = cursor.string();
    if (text == "nan") return std::nan("");
    if (text == "inf") return INFINITY;
    if (text == "-inf") return -INFINITY;
  }
  return cursor.number();
}

nlohmann::json reals(const std::vector<double>& values) {
  auto json = nlohmann::json::array();
  for (const double value : values) json.push_back(real(value));
  return json;
}

std::vector<double> decode_reals(const JsonCursor& cursor) {
  std::vector<double> values;
  for (const JsonCursor& element : cursor.elements()) values.push_back(decode_real(element));
  return values;
}

int decode_int(const JsonCursor& cursor) {
  return static_cast<int>(cursor.integer_in(INT32_MIN, INT32_MAX));
}

KernelResources decode_resources(const JsonCursor& cursor) {
  KernelResources resources;
  if (!cursor.expect_keys({"kernel", "registers", "spill_bytes", "stack_bytes",
                           "static_shared_bytes", "max_threads", "occupancy"})) {
    return resources;
  }
  resources.kernel = cursor.at("kernel").string();
  resources.registers = decode_int(cursor.at("registers"));
  resources.spill_bytes = decode_int(cursor.at("spill_bytes"));
  resources.stack_bytes = decode_int(cursor.at("stack_bytes"));
  resources.static_shared_bytes = decode_int(cursor.at("static_shared_bytes"));
  resources.max_threads = decode_int(cursor.at("max_threads"));
  resources.occupancy = decode_real(cursor.at("occupancy"));
  return resources;
}

Measurement decode_measurement(const JsonCursor& cursor) {
  Measurement m;
  if (!cursor.expect_keys({"modelled", "time_us", "reference_time_us", "speedup", "ci95",
                           "roof_fraction", "bound", "samples_us", "reference_samples_us",
                           "warm_time_us", "reference_warm_time_us", "outliers", "discarded",
                           "clock_mhz", "counters"})) {
    return m;
  }
  m.modelled = cursor.at("modelled").boolean();
  m.time_us = decode_real(cursor.at("time_us"));
  m.reference_time_us = decode_real(cursor.at("reference_time_us"));
  m.speedup = decode_real(cursor.at("speedup"));
  const std::vector<double> ci95 = decode_reals(cursor.at("ci95"));
  if (ci95.size() == 2) {
    m.ci95_low = ci95[0];
    m.ci95_high = ci95[1];
  } else if (cursor.ok()) {
    cursor.at("ci95").fail("must be [low, high]");
  }
  m.roof_fraction = decode_real(cursor.at("roof_fraction"));
  m.bound = cursor.at("bound").string();
  m.samples_us = decode_reals(cursor.at("samples_us"));
  m.reference_samples_us = decode_reals(cursor.at("reference_samples_us"));
  if (const auto warm = cursor.find("warm_time_us")) {
    m.warm_time_us = decode_real(*warm);
    m.reference_warm_time_us = decode_real(cursor.at("reference_warm_time_us"));
    m.outliers = static_cast<int>(cursor.at("outliers").integer_in(0, 1'000'000));
    m.discarded = static_cast<int>(cursor.at("discarded").integer_in(0, 1'000'000));
    m.clock_mhz = decode_real(cursor.at("clock_mhz"));
  }
  for (const auto& [name, value] : cursor.at("counters").members()) {
    m.counters[name] = decode_real(value);
  }
  return m;
}

}  // namespace

GateSeconds& GateSeconds::operator+=(const GateSeconds& other) {
  compile += other.compile;
  check += other.check;
  wait += other.wait;
  measure += other.measure;
  return *this;
}

std::string_view status_of(const Evaluation& evaluation) {
  const bool unchecked = evaluation.verdict == Verdict::kOk && evaluation.outpaced;
  return unchecked ? "unchecked" : to_string(evaluation.verdict);
}

void to_json(nlohmann::json& json, const KernelResources& resources) {
  json = nlohmann::json{{"kernel", resources.kernel},
                        {"registers", resources.registers},
                        {"spill_bytes", resources.spill_bytes},
                        {"stack_bytes", resources.stack_bytes},
                        {"static_shared_bytes", resources.static_shared_bytes},
                        {"max_threads", resources.max_threads},
                        {"occupancy", real(resources.occupancy)}};
}

void to_json(nlohmann::json& json, const Measurement& m) {
  auto counters = nlohmann::json::object();
  for (const auto& [name, value] : m.counters) counters[name] = real(value);
  json = nlohmann::json{{"modelled", m.modelled},
                        {"time_us", real(m.time_us)},
                        {"reference_time_us", real(m.reference_time_us)},
                        {"speedup", real(m.speedup)},
                        {"ci95", nlohmann::json::array({real(m.ci95_low), real(m.ci95_high)})},
                        {"roof_fraction", real(m.roof_fraction)},
                        {"bound", m.bound},
                        {"samples_us", reals(m.samples_us)},
                        {"reference_samples_us", reals(m.reference_samples_us)},
                        {"counters", std::move(counters)}};
  if (m.warm_time_us > 0 || m.outliers > 0 || m.discarded > 0 || m.clock_mhz > 0) {
    json["warm_time_us"] = real(m.warm_time_us);
    json["reference_warm_time_us"] = real(m.reference_warm_time_us);
    json["outliers"] = m.outliers;
    json["discarded"] = m.discarded;
    json["clock_mhz"] = real(m.clock_mhz);
  }
}

void to_json(nlohmann::json& json, const Evaluation& evaluation) {
  json = nlohmann::json{{"verdict", to_string(evaluation.verdict)},
                        {"detail", evaluation.detail},
                        {"note", evaluation.note},
                        {"max_rel_error", real(evaluation.max_rel_error)},
                        {"reference_error", real(evaluation.reference_error)},
                        {"math", to_string(evaluation.math)},
                        {"final_stage", evaluation.final_stage},
                        {"faster_than_roof", evaluation.faster_than_roof},
                        {"measurement", evaluation.measurement},
                        {"resources", evaluation.resources},
                        {"elapsed_s", real(evaluation.elapsed_s)}};
  if (!evaluation.code_hash.empty()) json["code_hash"] = evaluation.code_hash;
}

Result<Evaluation> evaluation_from_json(const nlohmann::json& json) {
  return decode<Evaluation>(json, [](const JsonCursor& cursor) {
    Evaluation evaluation;
    if (!cursor.expect_keys({"verdict", "detail", "note", "max_rel_error", "reference_error",
                             "math", "final_stage", "faster_than_roof", "measurement", "resources",
                             "code_hash", "elapsed_s"})) {
      return evaluation;
    }
    evaluation.verdict = cursor.at("verdict").choice<Verdict>(parse_verdict, kVerdictList);
    evaluation.detail = cursor.at("detail").string();
    if (const auto note = cursor.find("note")) evaluation.note = note->string();
    evaluation.max_rel_error = decode_real(cursor.at("max_rel_error"));
    if (const auto error = cursor.find("reference_error"))
      evaluation.reference_error = decode_real(*error);
    if (const auto math = cursor.find("math"))
      evaluation.math = math->choice<MathLevel>(parse_math_level, kMathLevelNames);
    evaluation.final_stage = cursor.at("final_stage").boolean();
    evaluation.outpaced = evaluation.verdict == Verdict::kOk && !evaluation.final_stage &&
                          (evaluation.detail == kMuchSlower || evaluation.detail == kSearchEnded);
    if (const auto alarm = cursor.find("faster_than_roof"))
      evaluation.faster_than_roof = alarm->boolean();
    evaluation.measurement = decode_measurement(cursor.at("measurement"));
    for (const JsonCursor& element : cursor.at("resources").elements()) {
      evaluation.resources.push_back(decode_resources(element));
    }
    if (const auto hash = cursor.find("code_hash")) evaluation.code_hash = hash->string();
    evaluation.elapsed_s = decode_real(cursor.at("elapsed_s"));
    return evaluation;
  });
}

}  // namespace hone
