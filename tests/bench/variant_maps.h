// What the programs that time one variant have in common.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "candidates/export/cpp.h"
#include "rewriters/schedules/generator.h"

namespace hone::schedules {

/// Of a launch's tensor maps: what encodes them in main(), and their names as arguments, "a, b".
/// `type_of` says what a buffer holds.
struct MapTexts {
  std::string encoded, arguments;
};

inline MapTexts map_texts(const GeneratedLaunch& launch,
                          const std::function<ScalarType(const std::string&)>& type_of) {
  const auto texts = [](const std::vector<std::int64_t>& numbers) {
    std::vector<std::string> out;
    for (const std::int64_t value : numbers) out.push_back(std::to_string(value));
    return out;
  };
  MapTexts result;
  for (const GeneratedTensorMap& map : launch.tensor_maps) {
    const std::string name = fmt::format("map_{}", map.buffer);
    result.encoded +=
        exporting::tensor_map_text(name, map.buffer, type_of(map.buffer),
                                   {texts(map.map.shape), texts(map.map.strides),
                                    texts(map.map.box), map.map.swizzle, map.map.as_tf32});
    result.arguments += (result.arguments.empty() ? "" : ", ") + name;
  }
  return result;
}

}  // namespace hone::schedules
