// Jobs of the queue, for pages, API and streams.
#pragma once

#include <cstdint>
#include <string>

#include "engine/queue/messages_job.h"
#include "engine/web/context.h"

namespace hone::web {

/// 404 where the server was started without a queue.
[[nodiscard]] std::expected<void, Failure> with_queue(const Context& context);
[[nodiscard]] std::expected<queue::JobStatus, Failure> read_job(Context& context,
                                                                const std::string& id);
/// ISO 8601 of Unix milliseconds.
[[nodiscard]] std::string iso_time(std::int64_t unix_ms);

}  // namespace hone::web
