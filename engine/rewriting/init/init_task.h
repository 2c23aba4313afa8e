// `hone init`: a first version of a task from a CUDA file as people have it. In the rewrite runner:
// hone itself only gathers the text (gather.h) and tries what comes back.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "candidates/result.h"

namespace hone {

struct InitRequest {
  std::string source;                          ///< with its headers' text in it, see gather.h
  std::string path;                            ///< of the file, for messages and the task's name
  std::map<std::string, std::string> defines;  ///< -D
  std::string kernel;                          ///< --kernel; empty: what the host launches
};

struct InitResult {
  /// The same task with bolder guesses first: odd check sizes, buffers that start undefined. The
  /// first that `hone check` finds nothing in is right; without a check, the first.
  struct Attempt {
    nlohmann::ordered_json task;     ///< in the order a person would write it
    std::vector<std::string> notes;  ///< what was guessed and wants a look
  };
  std::string source;             ///< device code alone, what the task file holds
  std::vector<Attempt> attempts;  ///< at least one
};

/// Launches, lengths, scalars and sizes come from the host code where it says them, else from the
/// kernels' index expressions and guards. Launches that hand buffers on are a pipeline; of
/// alternatives the first is taken. Errors: kInvalidInput with "file.cu:12: …", what cannot be in a
/// task and what to cut.
[[nodiscard]] Result<InitResult> init_task(const InitRequest& request);

}  // namespace hone
