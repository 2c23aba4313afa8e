// Jobs of the queue, for pages, API and streams.
#pragma once

#include <cstdint>
#include <string>

#include "engine/queue/messages_job.h"
#include "engine/service/job_view.h"
#include "engine/web/context.h"

namespace hone::web {

/// 404 where the server was started without a queue.
[[nodiscard]] std::expected<void, Failure> with_queue(const Context& context);
/// The whole id of the one that is called so or begins so. 404 where none does, or several do.
[[nodiscard]] std::expected<std::string, Failure> find_job(Context& context,
                                                           const std::string& id_or_prefix);
/// By an id, or the beginning of one, as find_job() takes it.
[[nodiscard]] std::expected<queue::JobStatus, Failure> read_job(Context& context,
                                                                const std::string& id);
/// Likewise, with all that is said of a job.
[[nodiscard]] std::expected<JobView, Failure> read_job_view(Context& context,
                                                            const std::string& id);
/// Of the query: owner, task, state.
[[nodiscard]] std::expected<queue::JobFilter, Failure> job_filter(const Request& request);
/// ISO 8601 of Unix milliseconds.
[[nodiscard]] std::string iso_time(std::int64_t unix_ms);
/// "5 min ago" of a time by the queue server's clock [ms].
[[nodiscard]] std::string ago_by_server(Context& context, std::int64_t unix_ms);

}  // namespace hone::web
