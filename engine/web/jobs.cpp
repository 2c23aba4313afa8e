#include "engine/web/jobs.h"

#include <fmt/chrono.h>

#include <ctime>

#include "engine/queue/keys.h"

namespace hone::web {

std::expected<void, Failure> with_queue(const Context& context) {
  if (context.broker != nullptr) return {};
  return not_found("This server knows no queue: it was started without --redis.");
}

std::expected<queue::JobStatus, Failure> read_job(Context& context, const std::string& id) {
  if (const auto there = with_queue(context); !there) return std::unexpected(there.error());
  if (!queue::is_id(id)) return not_found("There is no such job.");
  auto status = context.broker->status(id);
  if (status) return std::move(*status);
  if (status.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such job, or not any more.");
  return context.broken(status.error());
}

std::string iso_time(std::int64_t unix_ms) {
  if (unix_ms <= 0) return "";
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)), unix_ms % 1000);
}

}  // namespace hone::web
