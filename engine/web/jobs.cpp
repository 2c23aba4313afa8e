#include "engine/web/jobs.h"

#include <fmt/chrono.h>

#include <ctime>

#include "engine/queue/keys.h"
#include "engine/web/search_fields.h"

namespace hone::web {

std::expected<void, Failure> with_queue(const Context& context) {
  if (context.broker != nullptr) return {};
  return not_found("This server knows no queue: it was started without --redis.");
}

std::expected<std::string, Failure> find_job(Context& context, const std::string& id_or_prefix) {
  if (const auto there = with_queue(context); !there) return std::unexpected(there.error());
  if (!queue::is_id(id_or_prefix)) return not_found("There is no such job.");
  auto id = context.broker->find_job(id_or_prefix);
  if (id) return std::move(*id);
  if (id.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such job, or not any more, or more than one begins so.");
  return context.queue_broken(id.error());
}

namespace job_reading {
namespace {

template <class T>
std::expected<T, Failure> found(const Context& context, Result<T> read) {
  if (read) return std::move(*read);
  if (read.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such job, or not any more.");
  return context.queue_broken(read.error());
}

}  // namespace
}  // namespace job_reading

std::expected<queue::JobStatus, Failure> read_job(Context& context, const std::string& id) {
  const auto whole = find_job(context, id);
  if (!whole) return std::unexpected(whole.error());
  return job_reading::found(context, context.broker->status(*whole));
}

std::expected<JobView, Failure> read_job_view(Context& context, const std::string& id) {
  const auto whole = find_job(context, id);
  if (!whole) return std::unexpected(whole.error());
  return job_reading::found(context, job_view(*context.broker, *whole));
}

std::expected<queue::JobFilter, Failure> job_filter(const Request& request) {
  queue::JobFilter filter{
      .owner = request.param("owner"), .states = {}, .task = request.param("task")};
  for (const std::string& name : split_names(request.param("state"))) {
    const auto state = queue::parse_job_state(name);
    if (!state)
      return bad_request(
          "state is one or more, separated by commas, of: queued, admitting, searching, "
          "finishing, done, failed, cancelled.");
    filter.states.push_back(*state);
  }
  return filter;
}

std::string iso_time(std::int64_t unix_ms) {
  if (unix_ms <= 0) return "";
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)), unix_ms % 1000);
}

std::string ago_by_server(Context& context, std::int64_t unix_ms) {
  return page::ago_html(iso_time(unix_ms), context.broker->now_ms() / 1000);
}

}  // namespace hone::web
