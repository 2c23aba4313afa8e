// Submitted jobs, as `hone jobs` and `hone watch` show them.
#include <fmt/format.h>

#include <algorithm>

#include "engine/queue/messages.h"
#include "engine/results/text.h"
#include "engine/web/handlers.h"
#include "engine/web/jobs.h"
#include "engine/web/layout.h"
#include "engine/web/runs_table.h"

namespace hone::web {

using page::url_part;
using results::time_text;

namespace {

constexpr int kJobs = 100;

std::string best_text(const queue::ArchProgress& arch) {
  if (arch.best_time_us <= 0) return "";
  return fmt::format("{} ({:.2f}x)", time_text(arch.best_time_us),
                     arch.reference_time_us / arch.best_time_us);
}

std::string state_text(const queue::JobStatus& job) {
  const std::string state(to_string(job.state));
  return job.waits.empty() ? state : fmt::format("{}, waits: {}", state, job.waits);
}

std::string model_text(const queue::JobStatus& job) {
  if (!job.model) return "";
  std::string text = job.model->note;
  if (job.model->use.used)
    text += (text.empty() ? "" : "; ") + results::model_use_text(job.model->use);
  return text.empty() ? "is asked" : text;
}

std::string job_link(const std::string& id) {
  return fmt::format(R"(<a class="mono" href="/jobs/{}">{}</a>)", url_part(id), escape(id));
}

constexpr const char* kStatusLine =
    R"(<p id="live-status" class="soft" role="status" aria-live="polite"></p>)";

}  // namespace

Answer jobs_page(Context& context, const Request&, const Parts&) {
  if (const auto there = with_queue(context); !there) return std::unexpected(there.error());
  const auto jobs = context.broker->jobs(kJobs);
  if (!jobs) return context.broken(jobs.error());
  const bool errors =
      std::ranges::any_of(*jobs, [](const queue::JobStatus& job) { return !job.error.empty(); });
  const Column columns[] = {
      {"Job"}, {"State"}, {"Searches", false, false}, {"Error", false, true, errors}, {"Updated"}};
  std::vector<std::vector<Cell>> rows;
  int running = 0;
  for (const queue::JobStatus& job : *jobs) {
    if (job.state < queue::JobState::kDone) ++running;
    std::string archs;
    for (const auto& arch : job.archs) {
      const std::string best = best_text(arch);
      archs += fmt::format("{}{}: {} evaluated{}{}", archs.empty() ? "" : "<br>", escape(arch.arch),
                           arch.counts.evaluated(), best.empty() ? "" : ", best ", escape(best));
    }
    rows.push_back({{job_link(job.id), job.id},
                    {escape(state_text(job))},
                    {archs},
                    {escape(job.error)},
                    {time_html(iso_time(job.updated_at)), fmt::format("{}", job.updated_at)}});
  }
  std::string html = kStatusLine;
  html += fmt::format(R"(<div id="live" data-region data-say="{} jobs have not ended">)", running);
  html += rows.empty() ? "<p>There are no jobs. <code>hone submit TASK</code> makes one.</p>"
                       : table("The newest first", columns, rows);
  html += "</div>";
  return render(context, {.title = "Jobs",
                          .section = "/jobs",
                          .html = html,
                          .scripts = {"sort.js", "live.js"},
                          .live = "/api/v1/events/jobs"});
}

Answer job_page(Context& context, const Request&, const Parts& parts) {
  const auto job = read_job(context, parts[0]);
  if (!job) return std::unexpected(job.error());
  const bool ended = job->state >= queue::JobState::kDone;
  std::string said(to_string(job->state));
  Facts facts;
  facts.text("State", state_text(*job))
      .text("Error", job->error)
      .text("Language model", model_text(*job))
      .html("Updated", time_html(iso_time(job->updated_at)));
  const Column columns[] = {{"Architecture"},
                            {"Seconds", true},
                            {"Proposed", true},
                            {"Evaluated", true},
                            {"Reference", true},
                            {"Best", true},
                            {"Recipe", false, false, true},
                            {"Candidate", false, false}};
  std::vector<std::vector<Cell>> rows;
  for (const auto& arch : job->archs) {
    const std::string best = best_text(arch);
    said += fmt::format("; {}: {} evaluated{}{}", arch.arch, arch.counts.evaluated(),
                        best.empty() ? "" : ", best ", best);
    rows.push_back(
        {{escape(arch.arch) + " " + origin_label(arch.arch.starts_with("emu:")), arch.arch},
         number_cell(fmt::format("{:.0f}", arch.elapsed_s), arch.elapsed_s),
         number_cell(fmt::format("{}", arch.counts.proposed),
                     static_cast<double>(arch.counts.proposed)),
         number_cell(fmt::format("{}", arch.counts.evaluated()),
                     static_cast<double>(arch.counts.evaluated())),
         arch.reference_time_us > 0
             ? number_cell(time_text(arch.reference_time_us), arch.reference_time_us)
             : Cell{},
         number_cell(best, arch.best_time_us),
         {escape(arch.best_recipe)},
         {arch.best_candidate.empty() ? "" : candidate_link(arch.best_candidate)}});
  }
  const auto runs = context.stores.with(
      [&](const Store& store) { return store.runs({.job = job->id, .limit = 20}); });
  if (!runs) return context.broken(runs.error());
  std::string html = kStatusLine;
  html += fmt::format(R"(<div id="live" data-region data-say="{}">{})", escape(said), facts.take());
  html += "<section><h2>Searches</h2>" + table("One for each architecture", columns, rows) +
          "</section>";
  if (!runs->empty())
    html += "<section><h2>Runs</h2>" + runs_table(*runs, "In this database") + "</section>";
  html += "</div>";
  return render(context, {.title = "Job " + job->id,
                          .section = "/jobs",
                          .html = html,
                          .scripts = {"sort.js", "live.js"},
                          .live = ended ? "" : "/api/v1/jobs/" + url_part(job->id) + "/events"});
}

}  // namespace hone::web
