// What a program of a model must be before it is worth a compile. Private to reply/.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "rewriters/llm/reply/reply.h"
#include "rewriters/llm/text/shown_text.h"

namespace hone::llm {

/// Fills in launches and scratch buffers from {"launches", "scratch"}; what is not given stays.
/// Errors: kRefused.
[[nodiscard]] Result<void> read_plan(nlohmann::json json, const Task& task, ModelProgram& model);

/// Source, launches and buffers together, at the timed and at the check sizes. What `base` has is
/// not held against the source. Errors: kRefused.
[[nodiscard]] Result<void> check_program(const ModelProgram& model, const Task& task,
                                         std::string_view base);

/// A reason that quotes a reply is one visible line like any other text of others.
template <class T>
[[nodiscard]] Result<T> in_one_line(Result<T> result) {
  constexpr std::size_t kMostBytes = 1000;
  if (!result) result.error().message = visible_line(result.error().message, kMostBytes);
  return result;
}

}  // namespace hone::llm
