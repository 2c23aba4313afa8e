// `hone check` inside hone-runner: every launch with every checker on, under each schedule.
#pragma once

#include "evaluator/protocol/sanitize_messages.h"

namespace hone::runner {

[[nodiscard]] SanitizeResult sanitize(const protocol::SanitizeJob& job);

}  // namespace hone::runner
