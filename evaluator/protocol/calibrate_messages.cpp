#include "evaluator/protocol/calibrate_messages.h"

#include <fmt/format.h>

#include <cmath>

#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/take.h"

namespace hone::protocol {
namespace {

using Json = nlohmann::json;

Result<std::int64_t> get_between(const Json& m, const char* key, std::int64_t low,
                                 std::int64_t high) {
  std::int64_t value = 0;
  HONE_TAKE(value, get_int(m, key));
  if (value < low || value > high) return malformed(key);
  return value;
}

/// Takes an integer of a range into a field of whatever integer type.
#define TAKE_BETWEEN(target, key, low, high)                                 \
  do {                                                                       \
    std::int64_t number = 0;                                                 \
    HONE_TAKE(number, get_between(m, key, low, high));                       \
    target = static_cast<std::remove_reference_t<decltype(target)>>(number); \
  } while (false)

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 48;

}  // namespace

Json to_message(const BenchDevice& d) {
  return {{"buffer_bytes", d.buffer_bytes},   {"threads_per_sm", d.threads_per_sm},
          {"blocks_per_sm", d.blocks_per_sm}, {"registers_per_sm", d.registers_per_sm},
          {"shared_per_sm", d.shared_per_sm}, {"shared_reserved", d.shared_reserved}};
}

Result<BenchDevice> bench_device_from(const Json& m) {
  BenchDevice d;
  TAKE_BETWEEN(d.buffer_bytes, "buffer_bytes", 0, kMaxBytes);
  TAKE_BETWEEN(d.threads_per_sm, "threads_per_sm", 0, 1 << 20);
  TAKE_BETWEEN(d.blocks_per_sm, "blocks_per_sm", 0, 1 << 20);
  TAKE_BETWEEN(d.registers_per_sm, "registers_per_sm", 0, 1 << 30);
  TAKE_BETWEEN(d.shared_per_sm, "shared_per_sm", 0, 1 << 30);
  TAKE_BETWEEN(d.shared_reserved, "shared_reserved", 0, 1 << 30);
  return d;
}

Json to_message(const BenchRequest& r) {
  return {{"op", "bench"},
          {"kernel", r.kernel},
          {"blocks", r.blocks},
          {"threads", r.threads},
          {"shared_bytes", r.shared_bytes},
          {"numbers", r.numbers},
          {"launches", r.launches},
          {"warmups", r.warmups},
          {"repeats", r.repeats},
          {"hold_us", r.hold_us}};
}

Result<BenchRequest> bench_request_from(const Json& m) {
  BenchRequest r;
  HONE_TAKE(r.kernel, get_string(m, "kernel", 64));
  TAKE_BETWEEN(r.blocks, "blocks", 1, 1 << 30);
  TAKE_BETWEEN(r.threads, "threads", 1, 1024);
  TAKE_BETWEEN(r.shared_bytes, "shared_bytes", 0, 1 << 24);
  const Json* array = nullptr;
  HONE_TAKE(array, get_array(m, "numbers", r.numbers.size()));
  if (array->size() != r.numbers.size()) return malformed("numbers");
  for (std::size_t i = 0; i < r.numbers.size(); ++i) {
    if (!(*array)[i].is_number_integer()) return malformed("numbers");
    r.numbers[i] = (*array)[i].get<std::int64_t>();
  }
  TAKE_BETWEEN(r.launches, "launches", 1, 1000);
  TAKE_BETWEEN(r.warmups, "warmups", 0, 100);
  TAKE_BETWEEN(r.repeats, "repeats", 1, 100);
  HONE_TAKE(r.hold_us, get_double(m, "hold_us"));
  if (!(r.hold_us >= 0 && r.hold_us <= 1e6)) return malformed("hold_us");
  return r;
}

Json to_message(const BenchReply& r) {
  return {{"times_us", r.times_us}, {"words", r.words}, {"failure", r.error}};
}

Result<BenchReply> bench_reply_from(const Json& m, int repeats) {
  BenchReply r;
  HONE_TAKE(r.error, get_string(m, "failure", 4096));
  r.error = clean_text(r.error, 1024);
  if (!r.error.empty()) return r;
  const Json* array = nullptr;
  HONE_TAKE(array, get_array(m, "times_us", 100));
  if (static_cast<int>(array->size()) != repeats) return malformed("times_us");
  for (const Json& value : *array) {
    if (!value.is_number()) return malformed("times_us");
    const auto time_us = value.get<double>();
    if (!std::isfinite(time_us) || time_us < 0) return malformed("times_us");
    r.times_us.push_back(time_us);
  }
  HONE_TAKE(array, get_array(m, "words", kBenchWords));
  if (array->size() != kBenchWords) return malformed("words");
  for (const Json& value : *array) {
    if (!value.is_number_integer()) return malformed("words");
    r.words.push_back(value.get<std::int64_t>());
  }
  return r;
}

}  // namespace hone::protocol
