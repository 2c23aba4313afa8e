// Streams of server-sent events: a run's results, and jobs.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/results/json.h"
#include "engine/web/handlers.h"
#include "engine/web/jobs.h"
#include "engine/web/layout.h"

namespace hone::web {
namespace {

// All streams of one thing together ask for it this often.
constexpr auto kAge = std::chrono::milliseconds(450);
constexpr int kBatch = 500;

std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// JSON has no newlines here.
std::string event(std::string_view type, const std::string& id, const std::string& data) {
  return fmt::format("{}event: {}\ndata: {}\n\n", id.empty() ? "" : fmt::format("id: {}\n", id),
                     type, data);
}

class RunEvents final : public EventSource {
 public:
  RunEvents(Context& context, std::int64_t run, std::int64_t after)
      : context_(context), run_(run), after_(after) {}

  std::string next() override {
    const auto key = fmt::format("{} {}", run_, after_);
    const auto text = context_.polls.get(key, kAge, [&]() -> TextCache::Text {
      const auto made = poll();
      return made ? std::make_shared<const std::string>(*made) : nullptr;
    });
    if (text == nullptr) return "";
    // Last id, whether that was all, a newline, events.
    const auto colon = text->find('\n');
    std::int64_t last = 0;
    std::from_chars(text->data() + 1, text->data() + colon, last);
    after_ = last;
    ended_ = text->front() == 'e';
    return text->substr(colon + 1);
  }
  bool ended() const override { return ended_; }

 private:
  Result<std::string> poll() {
    return context_.stores.with([&](const Store& store) -> Result<std::string> {
      // First whether it has ended: what is stored then is all.
      const auto run = store.find_run(run_);
      if (!run) return std::unexpected(run.error());
      const auto points = store.run_points(run_, after_, kBatch);
      if (!points) return std::unexpected(points.error());
      const std::int64_t last = points->empty() ? after_ : points->back().id;
      std::string events;
      if (!points->empty()) {
        nlohmann::json list = nlohmann::json::array();
        for (const RunPoint& point : *points) list.push_back(results::point_json(point));
        events += event("points", fmt::format("{}", last), dump({{"points", list}}));
      }
      const bool all = !run->ended_at.empty() && std::ssize(*points) < kBatch;
      if (all) events += event("end", fmt::format("{}", last), dump(results::run_json(*run)));
      return fmt::format("{}{}\n{}", all ? 'e' : 'g', last, events);
    });
  }

  Context& context_;
  const std::int64_t run_;
  std::int64_t after_;
  bool ended_ = false;
};

class JobEvents final : public EventSource {
 public:
  JobEvents(Context& context, std::string id) : context_(context), id_(std::move(id)) {}

  std::string next() override {
    const auto text = context_.polls.get("job " + id_, kAge, [&]() -> TextCache::Text {
      const auto job = job_view(*context_.broker, id_);
      if (!job) return nullptr;
      return std::make_shared<const std::string>(
          (queue::has_ended(job->row.status.state) ? "e" : "g") + dump(results::job_json(*job)));
    });
    if (text == nullptr || *text == last_) return "";
    last_ = *text;
    ended_ = text->front() == 'e';
    const std::string json = text->substr(1);
    return event("status", "", json) + (ended_ ? event("end", "", json) : "");
  }
  bool ended() const override { return ended_; }

 private:
  Context& context_;
  const std::string id_;
  std::string last_;
  bool ended_ = false;
};

class JobsEvents final : public EventSource {
 public:
  explicit JobsEvents(Context& context) : context_(context) {}

  std::string next() override {
    constexpr int kJobs = 100;
    const auto text = context_.polls.get("jobs", kAge, [&]() -> TextCache::Text {
      const auto jobs = job_views(*context_.broker, {}, kJobs);
      if (!jobs) return nullptr;
      nlohmann::json list = nlohmann::json::array();
      for (const auto& job : *jobs) list.push_back(results::job_json(job));
      return std::make_shared<const std::string>(dump({{"jobs", list}}));
    });
    if (text == nullptr || *text == last_) return "";
    last_ = *text;
    return event("jobs", "", last_);
  }
  bool ended() const override { return false; }

 private:
  Context& context_;
  std::string last_;
};

Answer stream(std::shared_ptr<EventSource> events) {
  Response response;
  response.type = "text/event-stream";
  response.events = std::move(events);
  return response;
}

}  // namespace

Answer run_events(Context& context, const Request& request, const Parts& parts) {
  const auto id = run_id(parts[0]);
  if (!id) return std::unexpected(id.error());
  // The header wins: a browser that comes back repeats the address of its first visit.
  const std::string& given = request.header("last-event-id").empty()
                                 ? request.param("after")
                                 : request.header("last-event-id");
  std::int64_t after = 0;
  if (!given.empty()) {
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), after);
    if (error != std::errc() || end != given.data() + given.size() || after < 0)
      return bad_request("Last-Event-ID is the id of a result.");
  }
  const auto run = context.stores.with([&](const Store& store) { return store.find_run(*id); });
  if (!run && run.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such run.");
  if (!run) return context.broken(run.error());
  return stream(std::make_shared<RunEvents>(context, *id, after));
}

Answer job_events(Context& context, const Request&, const Parts& parts) {
  const auto job = read_job(context, parts[0]);
  if (!job) return std::unexpected(job.error());
  return stream(std::make_shared<JobEvents>(context, job->id));
}

Answer jobs_events(Context& context, const Request&, const Parts&) {
  if (const auto there = with_queue(context); !there) return std::unexpected(there.error());
  return stream(std::make_shared<JobsEvents>(context));
}

}  // namespace hone::web
