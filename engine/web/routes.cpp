#include "engine/web/routes.h"

#include <fmt/format.h>

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

// Of two that fit, the first.
constexpr std::array kRoutes = {
    Route{"GET", "/", boards_page, true},
    Route{"GET", "/tasks/{hash}", task_page, true},
    Route{"GET", "/candidates/{id}", candidate_page, true},
    Route{"GET", "/runs", runs_page, true},
    Route{"GET", "/runs/{id}", run_page, true},
    Route{"GET", "/jobs", jobs_page, true},
    Route{"GET", "/jobs/{id}", job_page, true},
    Route{"GET", "/submit", submit_page},
    Route{"POST", "/submit", submit_form},
    Route{"GET", "/assets/{name}", asset},
    Route{"GET", "/api/v1/boards", boards_api, true},
    Route{"GET", "/api/v1/tasks", tasks_api, true},
    Route{"GET", "/api/v1/tasks/{hash}", task_api, true},
    Route{"GET", "/api/v1/candidates/{id}", candidate_api, true},
    Route{"GET", "/api/v1/candidates/{id}/diff", diff_api, true},
    Route{"GET", "/api/v1/runs", runs_api, true},
    Route{"GET", "/api/v1/runs/{id}", run_api, true},
    Route{"GET", "/api/v1/runs/{id}/points", points_api, true},
    Route{"GET", "/api/v1/runs/{id}/events", run_events},
    Route{"GET", "/api/v1/jobs", jobs_api},
    Route{"POST", "/api/v1/jobs", submit_api},
    Route{"GET", "/api/v1/jobs/{id}", job_api},
    Route{"GET", "/api/v1/jobs/{id}/events", job_events},
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

/// Of those whose answer may be a second old, and went well.
Answer kept(Context& context, const Route& route, const Request& request, const Parts& parts) {
  std::optional<Answer> fresh;
  const auto text = context.pages.get(request.target, kKept, [&]() -> TextCache::Text {
    fresh = guarded(context, route, request, parts);
    // A redirection has no text worth keeping.
    if (!*fresh || (*fresh)->status != 200) return nullptr;
    return std::make_shared<const std::string>((*fresh)->body);
  });
  if (fresh) return std::move(*fresh);
  Response response;
  response.type = is_api(request.path) ? "application/json" : response.type;
  response.body = *text;
  return response;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::vector<std::string_view> methods_of(std::string_view path) {
  std::vector<std::string_view> methods;
  for (const Route& route : kRoutes)
    if (match(route.pattern, path)) methods.push_back(route.method);
  return methods;
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
