// Submitted jobs, as `hone jobs` and `hone watch` show them; and the button that ends one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/queue/messages.h"
#include "engine/results/text.h"
#include "engine/web/handlers.h"
#include "engine/web/jobs.h"
#include "engine/web/layout.h"
#include "engine/web/runs_table.h"
#include "engine/web/submit.h"

namespace hone::web {

using page::url_part;
using queue::JobState;
using results::time_text;

namespace {

constexpr int kJobs = 100, kJobRuns = 20;
constexpr std::array kStates = {JobState::kQueued,    JobState::kAdmitting, JobState::kSearching,
                                JobState::kFinishing, JobState::kDone,      JobState::kFailed,
                                JobState::kCancelled};

/// `held`: something that it needs is not there.
std::string state_badge(JobState state, bool held) {
  using page::Tone;
  const Tone tone = state == JobState::kDone     ? Tone::kGood
                    : state == JobState::kFailed ? Tone::kBad
                    : queue::has_ended(state)    ? Tone::kWarn
                    : held                       ? Tone::kWarn
                    : state == JobState::kQueued ? Tone::kPlain
                                                 : Tone::kBusy;
  return badge(to_string(state), tone);
}

constexpr Term kJobTerms[] = {
    {"queued", "It waits; what for stands below."},
    {"admitting",
     "The reference is compiled, checked and timed, before anything is tried. Where no worker "
     "serves "
     "the architecture, the job waits for one."},
    {"searching", "Candidates are proposed and evaluated."},
    {"finishing", "The fastest are checked and timed again in fresh processes."},
    {"done, failed, cancelled", "It has ended; of a job that failed the reason stands below."},
    {"several architectures", "The job's state is that of the search that is furthest behind."},
    {"Priority", "Of jobs that want the same workers, one of a higher priority gets more of them."},
    {"Budget", "How long each search may take, or how many candidates it may evaluate."},
    {"Best",
     "The time of the fastest candidate so far, and how many times as fast as the reference."}};

/// "60s", "200 evaluations"
std::string budget_words(const Budget& budget) {
  return budget.text() + (budget.seconds > 0 ? "" : " evaluations");
}

std::string best_text(const queue::ArchProgress& arch) {
  if (arch.best_time_us <= 0) return "";
  return fmt::format("{} ({:.2f}x)", time_text(arch.best_time_us),
                     arch.reference_time_us / arch.best_time_us);
}

std::string model_text(const queue::JobStatus& job) {
  if (!job.model) return "";
  std::string text = job.model->note;
  if (job.model->use.used)
    text += (text.empty() ? "" : "; ") + results::model_use_text(job.model->use);
  return text.empty() ? "is asked" : text;
}

/// How much of its budget a search has used; "" where nobody knows the budget.
std::string progress_html(const JobView& job, const queue::ArchProgress& arch) {
  if (!job.row.about) return "";
  const Budget& budget = job.row.about->budget;
  const bool timed = budget.seconds > 0;
  const double used = timed ? arch.elapsed_s : static_cast<double>(arch.counts.evaluated());
  const double all = timed ? budget.seconds : static_cast<double>(budget.evaluations);
  if (all <= 0) return "";
  const std::string label = timed
                                ? fmt::format("{:.0f} s of {}", std::min(used, all), budget.text())
                                : fmt::format("{:.0f} of {}", used, budget_words(budget));
  return bar_html(used / all, label) + " " + escape(label);
}

std::string job_link(const std::string& id) {
  return fmt::format(R"(<a class="mono" href="/jobs/{}">{}</a>)", url_part(id), escape(id));
}

std::string filters_html(const Request& request) {
  std::string states = R"(<option value="">all</option>)";
  for (const JobState state : kStates)
    states += fmt::format("<option{}>{}</option>",
                          request.param("state") == to_string(state) ? " selected" : "",
                          to_string(state));
  return fmt::format(
      R"(<form class="filters" method="get" action="/jobs" role="search" aria-label="Which jobs">
<label>Owner <input name="owner" value="{}" autocomplete="off"></label>
<label>Task <input name="task" value="{}" autocomplete="off"></label>
<label>State <select name="state">{}</select></label>
<button type="submit">Show</button></form>)",
      escape(request.param("owner")), escape(request.param("task")), states);
}

constexpr const char* kStatusLine =
    R"(<p id="live-status" class="soft" role="status" aria-live="polite"></p>)";

std::vector<Cell> job_cells(Context& context, const JobView& job) {
  const queue::JobStatus& status = job.row.status;
  const auto& about = job.row.about;
  std::string searches, best;
  for (const auto& arch : status.archs) {
    searches += fmt::format("{}{}: {} evaluated", searches.empty() ? "" : "<br>", escape(arch.arch),
                            arch.counts.evaluated());
    // Of several searches each says whose it is: one without a result has no line.
    if (const std::string text = best_text(arch); !text.empty())
      best += fmt::format("{}{}{}", best.empty() ? "" : "<br>",
                          status.archs.size() > 1 ? escape(arch.arch) + ": " : "", escape(text));
  }
  const std::string waits = job.waits.empty() ? status.error : job.waits;
  return {
      {job_link(status.id), status.id},
      {about ? task_link(about->task_hash, about->task) : "", about ? about->task : ""},
      {state_badge(status.state, !job.unserved.empty()) +
           (waits.empty() ? "" : fmt::format(R"(<br><span class="soft">{}</span>)", escape(waits))),
       std::string(to_string(status.state))},
      {about ? escape(about->owner) : ""},
      about ? number_cell(fmt::format("{}", about->priority), about->priority) : Cell{},
      {about ? escape(budget_words(about->budget)) : ""},
      {searches},
      {best},
      {ago_by_server(context, job.row.submitted_at), fmt::format("{}", job.row.submitted_at)}};
}

/// A form that ends the job, for whoever has the token.
std::string cancel_html(const Context& context, const std::string& id, const std::string& error) {
  if (!context.may_submit()) return "";
  return fmt::format(
      R"(<section><h2>Cancel this job</h2>{}<form class="filters" method="post" action="/jobs/{}/cancel" enctype="multipart/form-data" data-token="{}"><label>Token <input name="token" type="password" required autocomplete="off"></label><button type="submit">Cancel the job</button></form></section>)",
      error.empty() ? "" : fmt::format(R"(<p class="bad" role="alert">{}</p>)", escape(error)),
      url_part(id), error.empty() ? "" : "wrong");
}

/// The fastest candidate of the job's search for `arch` so far.
std::string candidate_of(const std::vector<RunRecord>& runs, const queue::ArchProgress& arch,
                         const Store& store) {
  if (!arch.best_candidate.empty()) return arch.best_candidate;
  for (const RunRecord& run : runs) {
    const std::string name = (run.provenance.modelled ? "emu:" : "") + run.provenance.arch;
    if (name != arch.arch) continue;
    const auto outline = store.run_outline(run.id, 1);
    if (outline && !outline->fastest.empty()) return outline->fastest.front().candidate;
  }
  return "";
}

/// Of a job that the queue has forgotten, what the database keeps; nothing: it keeps nothing
/// either.
std::optional<Answer> forgotten_job(Context& context, const std::string& id) {
  const auto runs = context.stores.with(
      [&](const Store& store) { return store.runs({.job = id, .limit = kJobRuns}); });
  if (!runs) return context.broken(runs.error());
  if (runs->empty()) return std::nullopt;
  return render(
      context,
      {.title = "Job " + id,
       .section = "/jobs",
       .html = "<p>The queue does not have this job any more. The database keeps "
               "its runs and their results.</p><section><h2>Runs</h2>" +
               runs_table(*runs, "The job's runs", {.caption_unseen = true}) + "</section>",
       .scripts = {"sort.js"}});
}

Answer job_answer(Context& context, const std::string& id, const std::string& error) {
  const auto job = read_job_view(context, id);
  if (!job && job.error().status == 404 && context.broker != nullptr)
    if (auto kept = forgotten_job(context, id)) return std::move(*kept);
  if (!job) return std::unexpected(job.error());
  const queue::JobStatus& status = job->row.status;
  const auto& about = job->row.about;
  const bool ended = queue::has_ended(status.state);
  std::vector<RunRecord> runs;
  std::vector<std::string> candidates;
  const auto read = context.stores.with([&](const Store& store) -> Result<void> {
    auto found = store.runs({.job = status.id, .limit = kJobRuns});
    if (!found) return std::unexpected(found.error());
    runs = std::move(*found);
    for (const auto& arch : status.archs) candidates.push_back(candidate_of(runs, arch, store));
    return {};
  });
  if (!read) return context.broken(read.error());
  std::string said(to_string(status.state));
  if (!job->waits.empty()) said += ", " + job->waits;
  std::string head =
      fmt::format(R"(<p class="facts">{})", state_badge(status.state, !job->unserved.empty()));
  if (about)
    head += fmt::format(
        " <span>of {}</span>{}", task_link(about->task_hash, about->task),
        about->owner.empty() ? "" : fmt::format(" <span>by {}</span>", escape(about->owner)));
  if (!job->waits.empty()) head += fmt::format(" <span>{}</span>", escape(job->waits));
  head += "</p>";
  Facts facts;
  facts.text("Error", status.error)
      .text("Language model", model_text(status))
      .text("Priority", about ? fmt::format("{}", about->priority) : "")
      .text("Budget", about ? budget_words(about->budget) : "")
      .html("Submitted", ago_by_server(context, job->row.submitted_at));
  const Column columns[] = {{"Architecture"},
                            {"Progress", false, false},
                            {"Evaluated", true},
                            {"Reference", true},
                            {"Best", true},
                            {"Recipe", false, false, true},
                            {"Candidate", false, false}};
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < status.archs.size(); ++i) {
    const auto& arch = status.archs[i];
    const std::string best = best_text(arch);
    said += fmt::format("; {}: {} evaluated{}{}", arch.arch, arch.counts.evaluated(),
                        best.empty() ? "" : ", best ", best);
    rows.push_back(
        {{escape(arch.arch) +
              (arch.best_time_us > 0 ? " " + origin_label(arch.arch.starts_with("emu:")) : ""),
          arch.arch},
         {ended ? fmt::format("took {:.0f} s", arch.elapsed_s) : progress_html(*job, arch)},
         number_cell(fmt::format("{}", arch.counts.evaluated()),
                     static_cast<double>(arch.counts.evaluated())),
         arch.reference_time_us > 0
             ? number_cell(time_text(arch.reference_time_us), arch.reference_time_us)
             : Cell{},
         number_cell(best, arch.best_time_us),
         {escape(arch.best_recipe)},
         {candidates[i].empty() ? "" : candidate_link(candidates[i])}});
  }
  std::string html = kStatusLine;
  html += fmt::format(R"(<div id="live" data-region data-say="{}">{}{})", escape(said), head,
                      facts.take());
  if (!rows.empty())
    html +=
        "<section><h2>Searches</h2>" +
        table("One for each architecture", columns, rows, {.caption_unseen = true, .cards = true}) +
        "</section>";
  if (!runs.empty())
    html += "<section><h2>Runs</h2>" +
            runs_table(runs, "The job's runs", {.caption_unseen = true}, RunsOf::kOneTask) +
            "</section>";
  html += "</div>" + legend("What the states and columns mean", kJobTerms);
  if (!ended) html += cancel_html(context, status.id, error);
  Response response =
      render(context, {.title = "Job " + status.id,
                       .section = "/jobs",
                       .html = html,
                       .scripts = {"sort.js", "live.js", "token.js"},
                       .live = ended ? "" : "/api/v1/jobs/" + url_part(status.id) + "/events"});
  return response;
}

}  // namespace

Answer jobs_page(Context& context, const Request& request, const Parts&) {
  if (const auto there = with_queue(context); !there) return std::unexpected(there.error());
  const auto filter = job_filter(request);
  if (!filter) return std::unexpected(filter.error());
  const auto jobs = job_views(*context.broker, *filter, kJobs);
  if (!jobs) return context.queue_broken(jobs.error());
  const Column columns[] = {{"Job"},
                            {"Task"},
                            {"State", false, true, true},
                            {"Owner"},
                            {"Priority", true, true, false, true},
                            {"Budget", false, false, false, true},
                            {"Searches", false, false},
                            {"Best", false, false},
                            {"Submitted"}};
  std::vector<std::vector<Cell>> rows;
  int running = 0;
  for (const JobView& job : *jobs) {
    if (!queue::has_ended(job.row.status.state)) ++running;
    rows.push_back(job_cells(context, job));
  }
  std::string html =
      "<p>A job is a task that somebody submitted. The coordinator searches for a faster program "
      "for "
      "each architecture that it asks for, and workers evaluate what it tries.</p>" +
      legend("What the states and columns mean", kJobTerms) + filters_html(request) + kStatusLine;
  html += fmt::format(R"(<div id="live" data-region data-say="{} jobs have not ended">)", running);
  html += !rows.empty()     ? table("Jobs, the newest first", columns, rows,
                                    {.caption_unseen = true, .cards = true})
          : filter->empty() ? "<p>There are no jobs. <code>hone submit TASK</code> makes one.</p>"
                            : "<p>No job is like that.</p>";
  html += "</div>";
  return render(context, {.title = "Jobs",
                          .section = "/jobs",
                          .html = html,
                          .scripts = {"sort.js", "live.js"},
                          .live = "/api/v1/events/jobs"});
}

Answer job_page(Context& context, const Request&, const Parts& parts) {
  return job_answer(context, parts[0], "");
}

Answer cancel_form(Context& context, const Request& request, const Parts& parts) {
  const auto cancelled = cancel_job(context, request, request.field("token"), parts[0]);
  if (!cancelled && cancelled.error().status == 401) {
    auto again = job_answer(context, parts[0], cancelled.error().message);
    if (again) again->status = 401;
    return again;
  }
  if (!cancelled) return std::unexpected(cancelled.error());
  Response response;
  response.status = 303;
  response.headers.emplace_back("Location", "/jobs/" + url_part(*cancelled));
  return response;
}

}  // namespace hone::web
