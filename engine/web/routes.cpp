#include "engine/web/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/web/handlers.h"
#include "engine/web/layout.h"

namespace hone::web {
namespace {

constexpr auto kKept = std::chrono::milliseconds(1000);
const std::string kGood = "+";  // begins a kept text that is no failure

constexpr Param kOfBoards[] = {{"task"},   {"device"}, {"arch"},           {"modelled"},
                               {"origin"}, {"math"},   {"rows", "", true}, {"offset", "0", true}};
constexpr Param kOfTask[] = {{"device"}, {"arch"}, {"modelled"},
                             {"origin"}, {"math"}, {"rows", "", true}};
constexpr Param kOfCandidate[] = {{"against"}, {"device"}};
constexpr Param kAgainst[] = {{"against"}};
constexpr Param kExport[] = {{"format", "cu"}};
constexpr Param kOfRuns[] = {{"task"}, {"job"}, {"before", "0", true}};
constexpr Param kOfJobs[] = {{"owner"}, {"state"}, {"task"}};
constexpr Param kBoardsApi[] = {{"task"},
                                {"device"},
                                {"arch"},
                                {"modelled"},
                                {"origin"},
                                {"math"},
                                {"rows", "10", true},
                                {"limit", "20", true},
                                {"offset", "0", true}};
constexpr Param kTasksApi[] = {{"limit", "100", true}, {"offset", "0", true}};
constexpr Param kRunsApi[] = {{"task"}, {"job"}, {"limit", "50", true}, {"before", "0", true}};
constexpr Param kPointsApi[] = {{"limit", "1000", true}, {"after", "0", true}};
constexpr Param kEvents[] = {{"after", "0", true}};
constexpr Param kJobsApi[] = {{"limit", "50", true}, {"owner"}, {"state"}, {"task"}};

// Of two that fit, the first.
constexpr std::array kRoutes = {
    Route{"GET", "/", boards_page, true, kOfBoards},
    Route{"GET", "/tasks/{hash}", task_page, true, kOfTask},
    Route{"GET", "/candidates/{id}", candidate_page, true, kOfCandidate},
    Route{"GET", "/runs", runs_page, true, kOfRuns},
    Route{"GET", "/runs/{id}", run_page, true},
    Route{"GET", "/jobs", jobs_page, true, kOfJobs},
    Route{"GET", "/jobs/{id}", job_page, true},
    Route{"POST", "/jobs/{id}/cancel", cancel_form},
    Route{"GET", "/workers", workers_page, true},
    Route{"GET", "/submit", submit_page},
    Route{"POST", "/submit", submit_form},
    Route{"GET", "/assets/{name}", asset},
    Route{"GET", "/metrics", metrics_text},
    Route{"GET", "/healthz", healthz},
    Route{"GET", "/api/v1/boards", boards_api, true, kBoardsApi},
    Route{"GET", "/api/v1/tasks", tasks_api, true, kTasksApi},
    Route{"GET", "/api/v1/tasks/{hash}", task_api, true},
    Route{"GET", "/api/v1/candidates/{id}", candidate_api, true},
    Route{"GET", "/api/v1/candidates/{id}/diff", diff_api, true, kAgainst},
    Route{"GET", "/api/v1/candidates/{id}/export", export_api, false, kExport},
    Route{"GET", "/api/v1/runs", runs_api, true, kRunsApi},
    Route{"GET", "/api/v1/runs/{id}", run_api, true},
    Route{"GET", "/api/v1/runs/{id}/points", points_api, true, kPointsApi},
    Route{"GET", "/api/v1/runs/{id}/events", run_events, false, kEvents},
    Route{"GET", "/api/v1/jobs", jobs_api, false, kJobsApi},
    Route{"POST", "/api/v1/jobs", submit_api},
    Route{"GET", "/api/v1/jobs/{id}", job_api},
    Route{"POST", "/api/v1/jobs/{id}/cancel", cancel_api},
    Route{"GET", "/api/v1/jobs/{id}/events", job_events},
    Route{"GET", "/api/v1/workers", workers_api},
    Route{"GET", "/api/v1/events/jobs", jobs_events},
    Route{"GET", "/api/v1/openapi.json", openapi},
};

std::string_view take_segment(std::string_view& path) {
  const auto end = path.find('/', 1);
  const std::string_view segment = path.substr(1, end == path.npos ? end : end - 1);
  path.remove_prefix(end == path.npos ? path.size() : end);
  return segment;
}

std::optional<Parts> match(std::string_view pattern, std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  Parts parts;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view want = take_segment(pattern), have = take_segment(path);
    if (want.starts_with('{')) {
      if (have.empty()) return std::nullopt;
      parts.emplace_back(have);
    } else if (want != have) {
      return std::nullopt;
    }
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return parts;
}

bool is_api(std::string_view path) { return path.starts_with("/api/"); }

Answer guarded(Context& context, const Route& route, const Request& request, const Parts& parts) {
  try {
    return route.handler(context, request, parts);
  } catch (const std::exception& exception) {
    if (context.warn) context.warn(fmt::format("{}: {}", route.pattern, exception.what()));
    return failure(500, "internal", "Something went wrong here. The server's log says what.");
  }
}

/// A misspelt filter must not pass for one that was applied. Of pages it is only left out: whoever
/// passes a link on may have decorated it.
std::expected<void, Failure> check_params(const Route& route, const Request& request) {
  if (!is_api(request.path) || request.method != "GET") return {};
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(route.params, name, &Param::name) != route.params.end()) continue;
    std::string known;
    for (const Param& param : route.params)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", param.name);
    return bad_request(fmt::format("There is no parameter '{}' here; there {}.",
                                   name.substr(0, 100),
                                   known.empty() ? "are none" : "are: " + known));
  }
  return {};
}

/// Of those whose answer may be a second old. What could not be reached is not asked again by all
/// who waited for it either.
Answer kept(Context& context, const Route& route, const Request& request, const Parts& parts) {
  std::optional<Answer> fresh;
  const auto text = context.pages.get(cache_key(route, request), kKept, [&]() -> TextCache::Text {
    fresh = guarded(context, route, request, parts);
    if (!*fresh && fresh->error().status >= 500)
      return std::make_shared<const std::string>(fmt::format(
          "{}{} {}", fresh->error().status, fresh->error().code, fresh->error().message));
    // A redirection has no text worth keeping.
    if (!*fresh || (*fresh)->status != 200) return nullptr;
    return std::make_shared<const std::string>(kGood + (*fresh)->body);
  });
  if (fresh) return std::move(*fresh);
  if (!text->starts_with(kGood)) {
    const auto space = text->find(' ');
    return failure(std::stoi(text->substr(0, 3)), text->substr(3, space - 3),
                   text->substr(space + 1));
  }
  Response response;
  response.type = is_api(request.path) ? "application/json" : response.type;
  response.body = text->substr(kGood.size());
  return response;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::string cache_key(const Route& route, const Request& request) {
  std::string key = page::url_part(request.path);
  for (const Param& param : route.params) {
    std::string_view value = request.param(param.name);
    if (param.number)
      while (value.size() > 1 && value.front() == '0') value.remove_prefix(1);
    if (value.empty() || value == param.usual) continue;
    key += fmt::format("&{}={}", param.name, page::url_part(value));
  }
  return key;
}

std::vector<std::string_view> methods_of(std::string_view path) {
  std::vector<std::string_view> methods;
  for (const Route& route : kRoutes)
    if (match(route.pattern, path)) methods.push_back(route.method);
  return methods;
}

std::string_view pattern_of(std::string_view path) {
  for (const Route& route : kRoutes)
    if (match(route.pattern, path)) return route.pattern;
  return "";
}

Response failed(const Context& context, std::string_view path, const Failure& failure) {
  Response response;
  if (is_api(path)) {
    response.type = "application/json";
    response.body =
        nlohmann::json{{"error", {{"code", failure.code}, {"message", failure.message}}}}.dump(
            -1, ' ', false, nlohmann::json::error_handler_t::replace);
  } else {
    response.body = failure_page(context, failure);
  }
  response.status = failure.status;
  if (failure.status == 503) response.headers.emplace_back("Retry-After", "5");
  if (failure.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (failure.status == 405) {
    std::string allow;
    for (const auto method : methods_of(path))
      allow +=
          fmt::format("{}{}{}", allow.empty() ? "" : ", ", method, method == "GET" ? ", HEAD" : "");
    response.headers.emplace_back("Allow", allow);
  }
  return response;
}

Response answer(Context& context, const Request& request) {
  bool known = false;
  for (const Route& route : kRoutes) {
    const auto parts = match(route.pattern, request.path);
    if (!parts) continue;
    known = true;
    if (route.method != request.method) continue;
    if (const auto fit = check_params(route, request); !fit)
      return failed(context, request.path, fit.error());
    Answer answer = route.kept ? kept(context, route, request, *parts)
                               : guarded(context, route, request, *parts);
    return answer ? std::move(*answer) : failed(context, request.path, answer.error());
  }
  if (known)
    return failed(context, request.path,
                  {405, "method_not_allowed", "This address does not take that method."});
  return failed(context, request.path, {404, "not_found", "There is no such page."});
}

}  // namespace hone::web
