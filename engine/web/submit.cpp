// Submitting by POST /api/v1/jobs, and ending a job. Nothing happens without the token, and nothing
// that another site's page has a browser send.
#include "engine/web/submit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "candidates/task_reader.h"
#include "engine/search/search_limits.h"
#include "engine/service/job_view.h"
#include "engine/web/handlers.h"
#include "engine/web/jobs.h"
#include "engine/web/layout.h"
#include "engine/web/search_fields.h"
#include "engine/web/token.h"
#include "engine/web/whole.h"
#include "rewriters/llm/client/endpoint.h"

namespace hone::web {

using page::url_part;

namespace {

constexpr std::size_t kMostTask = 512 << 10;  // of a task's text [B]
constexpr const char* kTaskFile = "task.cu";  // what messages about it say

std::expected<void, Failure> open_for_submissions(const Context& context) {
  if (context.may_submit()) return {};
  return not_found("This server takes no submissions: it was started without --allow-submit.");
}

/// Browsers say where a request comes from; what is no browser does not.
std::expected<void, Failure> check_origin(const Request& request) {
  const std::string& origin = request.header("origin");
  const auto foreign = failure(403, "foreign_origin", "This request comes from another site.");
  if (const std::string& site = request.header("sec-fetch-site");
      !site.empty() && site != "same-origin" && site != "none")
    return foreign;
  if (origin.empty()) return {};
  const auto slashes = origin.find("://");
  if (slashes == origin.npos || origin.substr(slashes + 3) != request.header("host"))
    return foreign;
  return {};
}

std::string_view bearer(const Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string& header = request.header("authorization");
  if (header.size() <= kScheme.size()) return {};
  const bool is_bearer =
      std::equal(kScheme.begin(), kScheme.end(), header.begin(),
                 [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
  return is_bearer ? std::string_view(header).substr(kScheme.size()) : std::string_view();
}

}  // namespace

std::string wrong_priority() {
  return fmt::format("priority is a whole number from {} to {}.", -kMostPriority, kMostPriority);
}

std::expected<void, Failure> check_token(const Context& context, std::string_view given) {
  if (!given.empty() && same_secret(given, context.token)) return {};
  return failure(401, "unauthorized", given.empty() ? "The token is missing." : "Wrong token.");
}

std::expected<void, Failure> may_change(const Context& context, const Request& request) {
  if (auto open = open_for_submissions(context); !open) return open;
  return check_origin(request);
}

std::expected<queue::JobMessage, Failure> submit_text(Context& context, const std::string& text,
                                                      const Submission& submission) {
  const auto refused = [](const Error& error) -> std::unexpected<Failure> {
    return failure(400, "refused", error.message);
  };
  constexpr std::string_view kZip = "PK\x03\x04";  // as a .pt2 begins
  if (text.starts_with(kZip))
    return failure(400, "refused", "This is no text. " + std::string(kTextOnly));
  if (text.size() > kMostTask) return failure(413, "too_large", "A task may have 512 KiB at most.");
  if (submission.priority < -kMostPriority || submission.priority > kMostPriority)
    return bad_request(wrong_priority());
  if (submission.archs.size() > kMostJobArchs)
    return bad_request(fmt::format("At most {} architectures.", kMostJobArchs));
  if (submission.owner.size() > 100) return bad_request("owner has 100 characters at most.");
  if (const auto good = check_submission(submission); !good) return refused(good.error());
  auto task = parse_task(text, kTaskFile, FillFiles::kNone);
  if (!task) return refused(task.error());
  // First whether there is a queue at all: a check may take a while.
  if (const auto there = context.broker->rows({}, 1); !there) {
    if (context.warn) context.warn(there.error().message);
    return failure(503, "unavailable",
                   "The queue cannot be reached now: nothing was submitted. Try again in a few "
                   "seconds.");
  }
  {
    const std::lock_guard lock(context.checking);
    if (const auto good = check_task(context.rewriting, *task); !good) {
      if (good.error().code == ErrorCode::kInvalidInput) return refused(good.error());
      return context.broken(good.error());
    }
  }
  auto job = submit(*context.broker, submission, std::move(*task));
  if (job) return std::move(*job);
  if (job.error().code == ErrorCode::kInvalidInput) return refused(job.error());
  if (context.warn) context.warn(job.error().message);
  if (job.error().code == ErrorCode::kEnvironment)
    return failure(
        503, "unavailable",
        "The queue is full or takes nothing now: nothing was submitted. Try again later.");
  return failure(503, "unavailable",
                 "The queue stopped answering. Look whether the job is there before you submit it "
                 "again.");
}

Answer submit_api(Context& context, const Request& request, const Parts&) {
  if (const auto may = may_change(context, request); !may) return std::unexpected(may.error());
  if (const auto known = check_token(context, bearer(request)); !known)
    return std::unexpected(known.error());
  if (!request.header("content-type").starts_with("application/json"))
    return failure(415, "unsupported_media_type", "The body is JSON: application/json.");
  const auto json = nlohmann::json::parse(request.body, nullptr, false);
  if (!json.is_object()) return bad_request("The body is no JSON object.");
  Submission submission;
  std::string task;
  for (const auto& [key, value] : json.items()) {
    try {
      if (const SearchOption* option = find_search_option(key); option != nullptr) {
        if (const auto set = set_from_json(*option, value, submission.search); !set)
          return std::unexpected(set.error());
      } else if (key == "task") {
        task = value.get<std::string>();
      } else if (key == "archs") {
        submission.archs = value.get<std::vector<std::string>>();
      } else if (key == "priority") {
        if (!whole(value, -kMostPriority, kMostPriority, submission.priority))
          return bad_request(wrong_priority());
      } else if (key == "llm") {
        submission.llm = value.get<bool>();
      } else if (key == "llm_tokens") {
        if (!whole(value, std::int64_t{1}, kMostLlmTokens, submission.llm_tokens))
          return bad_request("llm_tokens is a whole number from 1 to 2^50.");
      } else if (key == "llm_cost") {
        submission.llm_cost = value.get<std::string>();
      } else if (key == "llm_modes") {
        submission.llm_modes = value.get<std::vector<std::string>>();
      } else if (key == "owner") {
        submission.owner = value.get<std::string>();
      } else {
        return bad_request(fmt::format("There is no '{}' in a submission.", key));
      }
    } catch (const nlohmann::json::exception&) {
      return bad_request(fmt::format("'{}' is of another type.", key));
    }
  }
  if (task.empty()) return bad_request("'task' is missing: the text of a .cu file.");
  const auto job = submit_text(context, task, submission);
  if (!job) return std::unexpected(job.error());
  Response response;
  response.status = 201;
  response.type = "application/json";
  response.body = nlohmann::json{{"job", job->id},
                                 {"archs", job->archs},
                                 {"warnings", warnings_for(job->archs, *context.broker)}}
                      .dump();
  response.headers.emplace_back("Location", "/api/v1/jobs/" + url_part(job->id));
  return response;
}

std::expected<std::string, Failure> cancel_job(Context& context, const Request& request,
                                               std::string_view token,
                                               const std::string& id_or_prefix) {
  if (const auto may = may_change(context, request); !may) return std::unexpected(may.error());
  if (const auto known = check_token(context, token); !known) return std::unexpected(known.error());
  auto id = find_job(context, id_or_prefix);
  if (!id) return std::unexpected(id.error());
  const auto cancelled = context.broker->cancel(*id);
  if (!cancelled && cancelled.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such job, or not any more.");
  if (!cancelled) return context.queue_broken(cancelled.error());
  if (*cancelled) return std::move(*id);
  const auto status = context.broker->status(*id);
  return failure(409, "ended",
                 fmt::format("Job {} has ended already{}.", *id,
                             status ? ": " + std::string(to_string(status->state)) : ""));
}

Answer cancel_api(Context& context, const Request& request, const Parts& parts) {
  const auto id = cancel_job(context, request, bearer(request), parts[0]);
  if (!id) return std::unexpected(id.error());
  Response response;
  response.status = 202;
  response.type = "application/json";
  response.body = nlohmann::json{{"job", *id}, {"cancelled", true}}.dump();
  return response;
}

}  // namespace hone::web
