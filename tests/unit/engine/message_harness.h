// Every type of the queue's messages at once, and ways to break one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/engine/random_messages.h"

namespace hone::queue {

using Json = nlohmann::json;

inline Json parsed(const std::string& bytes) { return Json::from_cbor(bytes); }

inline std::string packed(const Json& json) {
  const auto bytes = Json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

/// What decoding `bytes` as `type` and encoding that again gives; the error's message otherwise.
struct Outcome {
  bool ok = false;
  std::string text;
};

template <class Decode>
Outcome again(const Decode& decode, const std::string& bytes) {
  const auto message = decode(bytes);
  if (!message) {
    EXPECT_EQ(message.error().code, ErrorCode::kInvalidInput);
    EXPECT_FALSE(message.error().message.empty());
    EXPECT_NO_THROW((void)Json(message.error().message).dump()) << "no UTF-8";
    return {false, message.error().message};
  }
  const auto encoded = encode(*message);
  EXPECT_TRUE(encoded) << encoded.error().message;
  return {true, encoded.value_or("")};
}

struct Type {
  std::string name;
  std::function<Outcome(const std::string&)> again;
  std::function<std::string(Maker&)> make;
};

inline const std::vector<Type>& types() {
  const auto sealed = [](const auto& message) {
    const auto bytes = encode(message);
    EXPECT_TRUE(bytes) << bytes.error().message;
    return bytes.value_or("");
  };
  static const std::vector<Type> kTypes = {
      {"work", [](const std::string& b) { return again(work_from, b); },
       [=](Maker& make) { return sealed(make.work()); }},
      {"result", [](const std::string& b) { return again(result_from, b); },
       [=](Maker& make) { return sealed(make.result()); }},
      {"job", [](const std::string& b) { return again(job_from, b); },
       [=](Maker& make) { return sealed(make.job()); }},
      {"status", [](const std::string& b) { return again(status_from, b); },
       [=](Maker& make) { return sealed(make.status()); }},
      {"about", [](const std::string& b) { return again(about_from, b); },
       [=](Maker& make) { return sealed(about(make.job())); }},
      {"places", [](const std::string& b) { return again(places_from, b); },
       [=](Maker& make) { return sealed(make.places()); }},
      {"worker", [](const std::string& b) { return again(worker_from, b); },
       [=](Maker& make) { return sealed(make.worker()); }}};
  return kTypes;
}

inline const Type& type(std::string_view name) {
  return *std::ranges::find(types(), name, [](const Type& type) { return type.name; });
}

inline std::string made(std::string_view name, std::uint64_t seed = 7) {
  Maker make(seed);
  return type(name).make(make);
}

/// The message with one value replaced (or added); null removes it.
inline Outcome spoilt(std::string_view name, const std::string& pointer, Json value,
                      std::uint64_t seed = 7) {
  Json json = parsed(made(name, seed));
  const Json::json_pointer at(pointer);
  if (value.is_null()) {
    json[at.parent_pointer()].erase(at.back());
  } else {
    json[at] = std::move(value);
  }
  return type(name).again(packed(json));
}

#define EXPECT_REFUSED(outcome, why)                                      \
  do {                                                                    \
    const Outcome refused = (outcome);                                    \
    EXPECT_FALSE(refused.ok);                                             \
    EXPECT_NE(refused.text.find(why), std::string::npos) << refused.text; \
  } while (false)

}  // namespace hone::queue
