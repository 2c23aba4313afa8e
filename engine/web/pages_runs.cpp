// The runs, and one of them: live while it searches.
#include <fmt/format.h>

#include <algorithm>

#include "engine/page/replies.h"
#include "engine/page/run_charts.h"
#include "engine/results/text.h"
#include "engine/results/words.h"
#include "engine/web/handlers.h"
#include "engine/web/layout.h"
#include "engine/web/run_data.h"
#include "engine/web/runs_table.h"

namespace hone::web {

using page::url_part;
using results::time_text;

namespace {

constexpr Term kRunTerms[] = {
    {"Status",
     "running; or ended, with the reason: its budget is used, the best is as fast as the memory "
     "allows, nothing is left to try, or nothing faster came for long."},
    {"Times", "modelled: predicted by the emulator. measured: taken on a GPU."},
    {"Strategy", "How the search chooses what to try next."},
    {"Seed", "Begins the search's random numbers."}};

/// What the verdicts in this run's chart mean.
std::string verdict_legend(const RunOutline& outline) {
  std::vector<Term> terms;
  for (const auto& [verdict, count] : outline.verdicts)
    if (count > 0) terms.push_back({to_string(verdict), results::in_words(verdict)});
  return legend("What the verdicts mean", terms);
}

std::string live_html(const RunData& data) {
  std::int64_t evaluated = 0;
  for (const auto& [verdict, count] : data.outline.verdicts) evaluated += count;
  const RunPoint* fastest = data.best();
  const std::string best =
      fastest == nullptr
          ? "nothing yet"
          : fmt::format("{:.2f}x, {}{}", fastest->speedup, time_text(fastest->time_us),
                        fastest->final_stage ? ", final stage" : ", quick timing");
  Facts facts;
  facts.html("Status", page::run_status_html(data.run.status))
      .html("Ended", time_html(data.run.ended_at))
      .text("Evaluated", fmt::format("{} candidates in the quick stage, {} in the final stage",
                                     evaluated, data.outline.finals.size()))
      .html(data.ended() ? "Best" : "Best so far",
            fastest == nullptr ? escape(best)
                               : candidate_link(fastest->candidate) + " " + escape(best));
  std::string html = fmt::format(
      R"(<div id="live" data-region data-say="{}: {} candidates evaluated, best {}">{}<div class="charts">)",
      escape(data.run.status), evaluated, escape(best), facts.take());
  if (const std::string svg = page::progress_of(data.run, data.outline); !svg.empty())
    html += fmt::format(
        "<section><h2>Progress {}</h2><figure>{}<figcaption class=\"soft\">A grey point is a "
        "candidate of the quick stage, the line the best of them so far; a green point went "
        "through the final stage.</figcaption></figure></section>",
        origin_label(data.run.provenance.modelled), svg);
  if (const std::string svg = page::population_of(data.outline); !svg.empty())
    html += "<section><h2>What became of the candidates</h2><figure>" + svg + "</figure>" +
            verdict_legend(data.outline) + "</section>";
  html += "</div>";
  std::vector<std::vector<Cell>> rows;
  for (const RunPoint& point : data.outline.fastest)
    rows.push_back({{candidate_link(point.candidate)},
                    number_cell(fmt::format("{:.2f}x", point.speedup), point.speedup),
                    number_cell(time_text(point.time_us), point.time_us),
                    {point.final_stage ? "final" : "quick"},
                    {escape(point.origin)},
                    {ago_html(point.found_at), point.found_at}});
  const Column columns[] = {{"Candidate"},
                            {"Speedup", true},
                            {"Time", true},
                            {"Stage"},
                            {"By", false, true, false, true},
                            {"Found", false, true, false, true}};
  if (!rows.empty())
    html +=
        "<section><h2>The fastest</h2>" +
        table("The fastest of this run", columns, rows, {.caption_unseen = true}) +
        "<p class=\"soft\">quick: checked and timed while the search went on. final: checked and "
        "timed "
        "again in a fresh process, on further inputs; only these are on a board. What went through "
        "both stages is listed twice.</p></section>";
  if (const std::string said = page::replies_html(data.replies, candidate_link); !said.empty())
    html += "<section><h2>The language model</h2>" + said + "</section>";
  return html + "</div>";
}

}  // namespace

std::string runs_table(const std::vector<RunRecord>& runs, std::string_view caption,
                       page::TableStyle style, RunsOf of) {
  style.cards = true;
  std::vector<Column> columns = {{"Run", true},
                                 {"Status"},
                                 {"Device"},
                                 {"Times"},
                                 {"Began"},
                                 {"Strategy", false, true, false, true},
                                 {"Seed", true, false, false, true}};
  if (of == RunsOf::kAnyTask) columns.insert(columns.begin() + 1, {"Task"});
  std::vector<std::vector<Cell>> rows;
  for (const RunRecord& run : runs) {
    auto& cells = rows.emplace_back();
    cells.push_back({link(fmt::format("/runs/{}", run.id), fmt::format("{}", run.id)),
                     fmt::format("{}", run.id)});
    if (of == RunsOf::kAnyTask)
      cells.push_back({task_link(run.task_hash, run.task_name), run.task_name});
    cells.push_back({page::run_status_html(run.status), run.status});
    cells.push_back({escape(run.provenance.device_name)});
    cells.push_back({origin_label(run.provenance.modelled)});
    cells.push_back({ago_html(run.started_at), run.started_at});
    cells.push_back({escape(run.strategy)});
    cells.push_back({fmt::format("{}", run.seed)});
  }
  return table(caption, columns, rows, style);
}

Answer runs_page(Context& context, const Request& request, const Parts&) {
  constexpr int kRuns = 50;
  RunFilter filter{.task = request.param("task"), .job = request.param("job"), .limit = kRuns};
  const auto before = number_param(request, "before", 0, 0, INT64_MAX);
  if (!before) return std::unexpected(before.error());
  filter.before = *before;
  const auto runs = context.stores.with([&](const Store& store) { return store.runs(filter); });
  if (!runs) return context.broken(runs.error());
  std::string html =
      "<p>A run is one search for one task on one device. A job has a run for each architecture "
      "that "
      "it asks for.</p>" +
      legend("What the columns mean", kRunTerms) +
      (runs->empty() ? "<p>There are no runs here.</p>"
                     : runs_table(*runs, "Runs, the newest first", {.caption_unseen = true}));
  if (std::ssize(*runs) == kRuns) {
    std::string older = fmt::format("/runs?before={}", runs->back().id);
    if (!filter.task.empty()) older += "&task=" + url_part(filter.task);
    if (!filter.job.empty()) older += "&job=" + url_part(filter.job);
    html += fmt::format(R"(<nav class="pages" aria-label="Pages"><p>{}</p></nav>)",
                        link(older, "older runs"));
  }
  return render(context,
                {.title = "Runs", .section = "/runs", .html = html, .scripts = {"sort.js"}});
}

Answer run_page(Context& context, const Request&, const Parts& parts) {
  const auto data = read_run(context, parts[0]);
  if (!data) return std::unexpected(data.error());
  const RunRecord& run = data->run;
  Facts facts;
  facts.html("Task", task_link(run.task_hash, run.task_name))
      .html("Device", fmt::format("{} ({}, {}), {}", escape(run.provenance.device_name),
                                  escape(run.provenance.device), escape(run.provenance.arch),
                                  origin_label(run.provenance.modelled)))
      .html("Began", time_html(run.started_at))
      .text("Strategy", fmt::format("{}, seed {}", run.strategy, run.seed))
      .html("Job", run.job.empty()             ? ""
                   : context.broker == nullptr ? escape(run.job)
                                               : link("/jobs/" + url_part(run.job), run.job))
      .text("Built by",
            fmt::format("{}{}{}, hone {}, sandbox {}", run.provenance.toolchain,
                        run.provenance.driver.empty() ? "" : ", driver ", run.provenance.driver,
                        run.provenance.hone_version, run.provenance.sandbox));
  const std::string html =
      facts.take() + R"(<p id="live-status" class="soft" role="status" aria-live="polite"></p>)" +
      live_html(*data);
  return render(context,
                {.title = fmt::format("Run {} of {}", run.id, run.task_name),
                 .section = "/runs",
                 .html = html,
                 .scripts = {"sort.js", "live.js"},
                 .live = data->ended() ? "" : fmt::format("/api/v1/runs/{}/events", run.id)});
}

}  // namespace hone::web
