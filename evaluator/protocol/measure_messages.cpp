#include "evaluator/protocol/measure_messages.h"

#include <algorithm>

#include <cmath>

#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/take.h"

namespace hone::protocol {
namespace {

using Json = nlohmann::json;

Result<std::vector<double>> get_doubles(const Json& m, const char* key) {
  const Json* array = nullptr;
  HONE_TAKE(array, get_array(m, key, 100000));
  std::vector<double> out;
  for (const auto& value : *array) {
    if (!value.is_number()) return malformed(key);
    out.push_back(value.get<double>());
  }
  return out;
}

}  // namespace

Json to_message(const DeviceFacts& f) {
  return {{"name", f.name},
          {"arch", f.arch},
          {"driver", f.driver},
          {"sm_count", f.sm_count},
          {"clock_khz", f.clock_khz},
          {"memory_bytes", f.memory_bytes},
          {"l2_bytes", f.l2_bytes},
          {"dram_bytes_per_s", f.dram_bytes_per_s},
          {"threads_per_block", f.threads_per_block},
          {"shared_per_block", f.shared_per_block},
          {"registers_per_block", f.registers_per_block}};
}

Result<DeviceFacts> device_facts_from(const Json& m) {
  DeviceFacts f;
  HONE_TAKE(f.name, get_string(m, "name", 256));
  f.name = clean_text(f.name, 256);
  HONE_TAKE(f.arch, get_string(m, "arch", 64));
  HONE_TAKE(f.driver, get_string(m, "driver", 64));
  std::int64_t n = 0;
  HONE_TAKE(n, get_int(m, "sm_count"));
  f.sm_count = static_cast<int>(n);
  HONE_TAKE(n, get_int(m, "clock_khz"));
  f.clock_khz = static_cast<int>(n);
  HONE_TAKE(f.memory_bytes, get_int(m, "memory_bytes"));
  HONE_TAKE(f.l2_bytes, get_int(m, "l2_bytes"));
  HONE_TAKE(f.dram_bytes_per_s, get_positive(m, "dram_bytes_per_s"));
  HONE_TAKE(n, get_int(m, "threads_per_block"));
  f.threads_per_block = static_cast<int>(n);
  HONE_TAKE(f.shared_per_block, get_int(m, "shared_per_block"));
  HONE_TAKE(f.registers_per_block, get_int(m, "registers_per_block"));
  return f;
}

Json to_message(const MeasureRequest& r) {
  Json checks = Json::array();
  for (const auto& c : r.checks) checks.push_back(to_message(c));
  Json other_inputs = Json::array();
  for (const InputSet set : r.other_inputs) other_inputs.push_back(static_cast<int>(set));
  return {{"op", "measure"},
          {"checks", std::move(checks)},
          {"timed", to_message(r.timed)},
          {"tolerance", to_message(r.tolerance)},
          {"final", r.final_stage},
          {"exact", r.exact},
          {"math", to_string(r.math)},
          {"bits", static_cast<int>(r.bits)},
          {"other_inputs", std::move(other_inputs)},
          {"best_time_us", r.best_time_us},
          {"seed", r.seed},
          {"timeout_s", r.timeout_s},
          {"timing_s", r.timing_s},
          {"reference_samples_us", r.reference_samples_us}};
}

Result<MeasureRequest> measure_request_from(const Json& m) {
  MeasureRequest r;
  const Json* part = nullptr;
  HONE_TAKE(part, get_array(m, "checks", 192));
  for (const auto& item : *part) {
    Case one;
    HONE_TAKE(one, case_from(item));
    r.checks.push_back(std::move(one));
  }
  HONE_TAKE(part, get_object(m, "timed"));
  HONE_TAKE(r.timed, case_from(*part));
  HONE_TAKE(part, get_object(m, "tolerance"));
  HONE_TAKE(r.tolerance, tolerance_from(*part));
  HONE_TAKE(r.final_stage, get_bool(m, "final"));
  HONE_TAKE(r.exact, get_bool(m, "exact"));
  HONE_TAKE(r.math, math_from(m));
  HONE_TAKE(r.bits, same_bits_from(m));
  HONE_TAKE(part, get_array(m, "other_inputs", std::size(kAllInputSets)));
  for (const auto& item : *part) {
    if (!item.is_number_integer() || item < 0 || item >= std::ssize(kAllInputSets))
      return malformed("other_inputs");
    r.other_inputs.push_back(static_cast<InputSet>(item.get<int>()));
  }
  HONE_TAKE(r.best_time_us, get_positive(m, "best_time_us"));
  HONE_TAKE(r.timeout_s, get_positive(m, "timeout_s"));
  HONE_TAKE(r.timing_s, get_positive(m, "timing_s"));
  HONE_TAKE(r.reference_samples_us, get_doubles(m, "reference_samples_us"));
  if (!m.contains("seed") || !m["seed"].is_number_integer()) return malformed("seed");
  r.seed = m["seed"].get<std::uint64_t>();
  return r;
}

Json to_message(const MeasureReply& r) {
  return {{"verdict", to_string(r.verdict)},
          {"reference_failed", r.reference_failed},
          {"context_lost", r.context_lost},
          {"detail", r.detail},
          {"said", r.said},
          {"max_rel_error", r.max_rel_error},
          {"same_bits", r.same_bits},
          {"time_us", r.time_us},
          {"reference_time_us", r.reference_time_us},
          {"ci95_low", r.ci95_low},
          {"ci95_high", r.ci95_high},
          {"samples_us", r.samples_us},
          {"reference_samples_us", r.reference_samples_us},
          {"warm_time_us", r.warm_time_us},
          {"reference_warm_time_us", r.reference_warm_time_us},
          {"outliers", r.outliers},
          {"discarded", r.discarded},
          {"clock_mhz", r.clock_mhz}};
}

Result<MeasureReply> measure_reply_from(const Json& m) {
  MeasureReply r;
  std::string text;
  HONE_TAKE(text, get_string(m, "verdict", 64));
  const auto verdict = parse_verdict(text);
  if (!verdict) return malformed("verdict");
  r.verdict = *verdict;
  HONE_TAKE(r.reference_failed, get_bool(m, "reference_failed"));
  HONE_TAKE(r.context_lost, get_bool(m, "context_lost"));
  HONE_TAKE(r.detail, get_string(m, "detail"));
  r.detail = clean_text(r.detail, 2048);
  HONE_TAKE(r.said, lines_from(m, "said"));
  HONE_TAKE(r.max_rel_error, get_double(m, "max_rel_error"));
  HONE_TAKE(r.same_bits, get_bool(m, "same_bits"));
  HONE_TAKE(r.time_us, get_positive(m, "time_us"));
  HONE_TAKE(r.reference_time_us, get_positive(m, "reference_time_us"));
  HONE_TAKE(r.ci95_low, get_positive(m, "ci95_low"));
  HONE_TAKE(r.ci95_high, get_positive(m, "ci95_high"));
  HONE_TAKE(r.samples_us, get_doubles(m, "samples_us"));
  HONE_TAKE(r.reference_samples_us, get_doubles(m, "reference_samples_us"));
  HONE_TAKE(r.warm_time_us, get_positive(m, "warm_time_us"));
  HONE_TAKE(r.reference_warm_time_us, get_positive(m, "reference_warm_time_us"));
  double count = 0;
  HONE_TAKE(count, get_positive(m, "outliers"));
  r.outliers = static_cast<int>(std::min(count, 1e6));
  HONE_TAKE(count, get_positive(m, "discarded"));
  r.discarded = static_cast<int>(std::min(count, 1e6));
  HONE_TAKE(r.clock_mhz, get_positive(m, "clock_mhz"));
  return r;
}

}  // namespace hone::protocol
