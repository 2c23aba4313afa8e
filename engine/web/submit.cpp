// Submitting: the form, and POST /api/v1/jobs; and ending a job. Nothing happens without the token,
// and nothing that another site's page has a browser send.
#include "engine/service/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
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
constexpr auto kStateAge = std::chrono::seconds(2);
constexpr const char* kTaskFile = "task.cu";  // what messages about it say

std::string wrong_priority() {
  return fmt::format("priority is a whole number from {} to {}.", -kMostPriority, kMostPriority);
}

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

std::expected<void, Failure> check_token(const Context& context, std::string_view given) {
  if (!given.empty() && same_secret(given, context.token)) return {};
  return failure(401, "unauthorized", given.empty() ? "The token is missing." : "Wrong token.");
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

std::expected<queue::JobMessage, Failure> submit_text(Context& context, const std::string& text,
                                                      const Submission& submission) {
  const auto refused = [](const Error& error) -> std::unexpected<Failure> {
    return failure(400, "refused", error.message);
  };
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
  if (const auto there = context.broker->jobs(1); !there) {
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

/// A form's lines end in CR LF, whatever was pasted: the task would be another one.
std::string with_newlines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

std::string form_html(const Request& request, const std::string& error) {
  const auto value = [&](std::string_view name, std::string_view fallback) {
    const std::string& given = request.field(name);
    return escape(given.empty() ? fallback : std::string_view(given));
  };
  return fmt::format(
      R"({}<form class="submit" method="post" action="/submit" enctype="multipart/form-data">
<p><label for="task">Task: a .cu file with a task comment</label>
<textarea id="task" name="task" rows="20" required spellcheck="false" class="mono" aria-describedby="task-help">{}</textarea>
<span id="task-help" class="soft">Inputs from files cannot be submitted.</span></p>
<p><label for="archs">Architectures</label>
<input id="archs" name="archs" value="{}" class="mono" autocomplete="off" aria-describedby="archs-help">
<span id="archs-help" class="soft">sm_90, sm_80; emu:sm_90 is the emulated one. Empty: the GPUs of the workers that are there.</span></p>
{}<p><label for="priority">Priority</label>
<input id="priority" name="priority" type="number" min="{}" max="{}" value="{}"></p>
<p><label><input id="llm" name="llm" type="checkbox" value="1"{}> Ask the coordinator's language model, too</label></p>
<p><label for="llm_tokens">Its tokens, at most</label>
<input id="llm_tokens" name="llm_tokens" type="number" min="1" value="{}" aria-describedby="llm-help"></p>
<p><label for="llm_cost">Its cost in dollars, at most</label>
<input id="llm_cost" name="llm_cost" inputmode="decimal" autocomplete="off" value="{}" aria-describedby="llm-help">
<span id="llm-help" class="soft">Empty, and at most: what the coordinator allows.</span></p>
<p><label for="token">Token</label>
<input id="token" name="token" type="password" required autocomplete="off"></p>
<p><button type="submit">Submit</button></p></form>)",
      error.empty() ? "" : fmt::format(R"(<p class="bad" role="alert">{}</p>)", escape(error)),
      escape(request.field("task")), value("archs", ""), search_fields_html(request),
      -kMostPriority, kMostPriority, value("priority", "0"),
      request.field("llm").empty() ? "" : " checked", value("llm_tokens", ""),
      value("llm_cost", ""));
}

/// That a job submitted now would wait, and for what; "" where it would not.
std::string waiting_html(Context& context) {
  const auto text = context.polls.get("service", kStateAge, [&]() -> TextCache::Text {
    const auto state = service_state(*context.broker, false);
    if (!state) return nullptr;
    std::string html;
    const auto add = [&](const std::string& line) {
      html += "<p class=\"bad\" role=\"status\">" + escape(line) + "</p>";
    };
    if (!state->leads) add("No coordinator leads now: a job waits until one does.");
    std::string archs;
    for (const std::string& arch : served_archs(*state))
      archs += (archs.empty() ? "" : ", ") + arch;
    if (archs.empty() && state->workers.foreign.empty()) {
      add("No worker is there now: a job waits for one.");
    } else if (archs.empty()) {
      add("Only workers of another version are there now: a job waits for others.");
    } else {
      html += "<p class=\"soft\">Workers are there for " + escape(archs) + ".</p>";
    }
    return std::make_shared<const std::string>(html);
  });
  return text == nullptr ? "" : *text;
}

Response form_page(Context& context, const Request& request, const std::string& error) {
  Response response = render(context, {.title = "Submit a task",
                                       .section = "/submit",
                                       .html = waiting_html(context) + form_html(request, error)});
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace

Answer submit_page(Context& context, const Request& request, const Parts&) {
  if (const auto open = open_for_submissions(context); !open) return std::unexpected(open.error());
  return form_page(context, request, "");
}

Answer submit_form(Context& context, const Request& request, const Parts&) {
  if (const auto open = open_for_submissions(context); !open) return std::unexpected(open.error());
  if (const auto ours = check_origin(request); !ours) return std::unexpected(ours.error());
  const auto again = [&](const Failure& failure) {
    Response response = form_page(context, request, failure.message);
    response.status = failure.status;
    if (failure.status == 503) response.headers.emplace_back("Retry-After", "5");
    return response;
  };
  if (const auto known = check_token(context, request.field("token")); !known)
    return again(known.error());
  Submission submission;
  submission.owner = "web";
  submission.archs = split_names(request.field("archs"));
  if (const auto set = set_from_form(request, submission.search); !set) return again(set.error());
  if (const std::string& text = request.field("priority"); !text.empty())
    if (!whole_of_text(text, -kMostPriority, kMostPriority, submission.priority))
      return again({400, "bad_request", wrong_priority()});
  submission.llm = !request.field("llm").empty();
  submission.llm_cost = request.field("llm_cost");
  if (const std::string& text = request.field("llm_tokens"); !text.empty())
    if (!whole_of_text(text, std::int64_t{1}, kMostLlmTokens, submission.llm_tokens))
      return again({400, "bad_request", "Tokens are a whole number from 1 to 2^50."});
  if (!submission.llm && (submission.llm_tokens > 0 || !submission.llm_cost.empty()))
    return again({400, "bad_request",
                  "Tokens and cost limit a language model: tick its box, or leave them empty."});
  if (!submission.llm_cost.empty() && !llm::parse_dollars(submission.llm_cost))
    return again({400, "bad_request", "The cost is in dollars, such as 0.50."});
  const auto job = submit_text(context, with_newlines(request.field("task")), submission);
  if (!job) return again(job.error());
  Response response;
  response.status = 303;
  response.headers.emplace_back("Location", "/jobs/" + url_part(job->id));
  return response;
}

Answer submit_api(Context& context, const Request& request, const Parts&) {
  if (const auto open = open_for_submissions(context); !open) return std::unexpected(open.error());
  if (const auto ours = check_origin(request); !ours) return std::unexpected(ours.error());
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

/// With the right of who submits: the token.
Answer cancel_api(Context& context, const Request& request, const Parts& parts) {
  if (const auto open = open_for_submissions(context); !open) return std::unexpected(open.error());
  if (const auto ours = check_origin(request); !ours) return std::unexpected(ours.error());
  if (const auto known = check_token(context, bearer(request)); !known)
    return std::unexpected(known.error());
  const auto id = find_job(context, parts[0]);
  if (!id) return std::unexpected(id.error());
  const auto cancelled = context.broker->cancel(*id);
  if (!cancelled && cancelled.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such job, or not any more.");
  if (!cancelled) return context.broken(cancelled.error());
  if (!*cancelled) {
    const auto status = context.broker->status(*id);
    return failure(409, "ended",
                   fmt::format("Job {} has ended already{}.", *id,
                               status ? ": " + std::string(to_string(status->state)) : ""));
  }
  Response response;
  response.status = 202;
  response.type = "application/json";
  response.body = nlohmann::json{{"job", *id}, {"cancelled", true}}.dump();
  return response;
}

}  // namespace hone::web
