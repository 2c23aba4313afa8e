// Which of the attempts `hone init` writes, and the text of it. Runs in hone itself.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/rewriting/init/init_task.h"

namespace hone::init {

/// Checks a task's text: the first finding; empty: nothing. Errors: it could not be tried.
using FirstFinding = std::function<Result<std::string>(const std::string& text)>;

struct Chosen {
  InitResult::Attempt attempt;  ///< with every note
  std::string text;             ///< of the task file
  bool clean = true;            ///< nothing was found, or nothing was checked
};

/// The first attempt in which nothing is found within `most`; where there is none, the first of all
/// with a note of its finding, whose lines are those of `text`. `notes` stand before the attempt's
/// own. An empty `check`: the first, unchecked.
[[nodiscard]] Chosen choose_attempt(const InitResult& made, const std::vector<std::string>& notes,
                                    const FirstFinding& check, std::chrono::seconds most);

}  // namespace hone::init
