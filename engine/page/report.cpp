#include "engine/page/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/page/charts.h"
#include "engine/page/html.h"
#include "engine/page/pieces.h"
#include "engine/page/replies.h"
#include "engine/page/run_charts.h"
#include "engine/results/json.h"
#include "engine/results/roofline.h"
#include "engine/results/text.h"
#include "engine/results/words.h"

namespace hone::page {

using results::time_text;

namespace {

constexpr int kLookedAt = 3000;      // results of the search in which ancestors are looked for
constexpr std::size_t kFamily = 12;  // of the best in the tree

struct Found {
  BoardRow row;
  RunPoint point;
};

/// One run and what the report needs of it.
struct Section {
  RunRecord run;
  RunOutline outline;
  std::vector<Found> ranked;            ///< what passed the final stage, the fastest first
  std::map<std::string, double> known;  ///< speedup by recipe, of what was timed
  std::vector<RunReply> replies;        ///< of a language model, without texts
};

std::string key_of(const Recipe& recipe, std::size_t steps) {
  std::string key;
  for (std::size_t i = 0; i < steps; ++i) key += to_string(recipe[i]) + ";";
  return key;
}

/// What this run got of it: another may have timed it again since.
void take(const RunPoint& point, Measurement& m) {
  if (m.time_us > 0) m.roof_fraction *= m.time_us / point.time_us;
  m.time_us = point.time_us;
  m.speedup = point.speedup;
  m.reference_time_us = point.speedup * point.time_us;
  m.ci95_low = point.ci95_low;
  m.ci95_high = point.ci95_high;
}

Result<Section> read(const Store& store, const RunRecord& run) {
  Section section{run, {}, {}, {}, {}};
  auto outline = store.run_outline(run.id);
  if (!outline) return std::unexpected(outline.error());
  section.outline = std::move(*outline);
  auto replies = store.replies(run.id, false);
  if (!replies) return std::unexpected(replies.error());
  section.replies = std::move(*replies);
  const auto learn = [&](const Recipe& recipe, const RunPoint& point) {
    double& known = section.known[key_of(recipe, recipe.size())];
    known = std::max(known, point.speedup);
  };
  const auto points = store.run_points(run.id, 0, kLookedAt);
  if (!points) return std::unexpected(points.error());
  for (const RunPoint& point : *points) {
    if (point.final_stage || point.verdict != Verdict::kOk || point.speedup <= 0) continue;
    const auto row = store.find_candidate(point.candidate);
    if (!row) return std::unexpected(row.error());
    learn(row->candidate.recipe, point);
  }
  for (const RunPoint& point : section.outline.finals) {
    if (point.verdict != Verdict::kOk || point.speedup <= 0 || point.time_us <= 0) continue;
    auto row = store.find_candidate(point.candidate);
    if (!row) return std::unexpected(row.error());
    learn(row->candidate.recipe, point);
    // Its latest result may be another device's: the one of here counts.
    const auto finals = store.final_results(point.candidate);
    if (!finals) return std::unexpected(finals.error());
    const Provenance& here = run.provenance;
    const auto result = std::ranges::find_if(*finals, [&](const FinalResult& final) {
      const Provenance& p = final.provenance;
      return p.device_name == here.device_name && p.modelled == here.modelled &&
             p.toolchain == here.toolchain && final.evaluation.verdict == Verdict::kOk;
    });
    if (result == finals->end()) continue;
    row->evaluation = result->evaluation;
    row->provenance = result->provenance;
    take(point, row->evaluation.measurement);
    section.ranked.push_back({std::move(*row), point});
  }
  std::ranges::stable_sort(section.ranked, std::greater<>(),
                           [](const Found& f) { return f.row.evaluation.measurement.speedup; });
  return section;
}

std::string roofline(const Store& store, const Task& task, const Section& section) {
  if (section.ranked.empty()) return "";
  const Measurement& best = section.ranked.front().row.evaluation.measurement;
  const auto line =
      results::roofline_of(task, results::ceilings_of(store, section.run.provenance), best);
  if (!line) return "";
  std::vector<RooflinePoint> points;
  const auto add = [&](double time_us, const std::string& name, bool highlight) {
    points.push_back({line->flops, line->bytes, time_us,
                      fmt::format("{}: {}", name, time_text(time_us)), highlight});
  };
  add(best.reference_time_us, "reference", false);
  for (const Found& found : section.ranked)
    if (&found != &section.ranked.front())
      add(found.row.evaluation.measurement.time_us, found.row.candidate.id, false);
  add(best.time_us, section.ranked.front().row.candidate.id, true);
  return roofline_svg(points, line->bytes_per_s, line->flops_per_s);
}

/// The recipes of the best as one tree: a step is a branch, what they share is written once.
struct Branch {
  std::string step;
  std::string key;               ///< of the recipe that ends here
  const Found* found = nullptr;  ///< passed the final stage with that recipe
  std::vector<Branch> branches;
};

void grow(Branch& root, const Found& found) {
  const Recipe& recipe = found.row.candidate.recipe;
  Branch* at = &root;
  for (std::size_t i = 0; i < recipe.size(); ++i) {
    const std::string step = to_string(recipe[i]);
    auto next = std::ranges::find(at->branches, step, &Branch::step);
    if (next == at->branches.end())
      next = at->branches.insert(at->branches.end(), {step, key_of(recipe, i + 1), nullptr, {}});
    at = &*next;
  }
  if (at->found == nullptr) at->found = &found;
}

std::string tree(const Section& section, const Branch& branch) {
  if (branch.branches.empty()) return "";
  std::string out = "<ul>";
  for (const Branch& child : branch.branches) {
    const auto known = section.known.find(child.key);
    out += fmt::format("<li>{}", escape(child.step));
    if (child.found != nullptr) {
      const Found& f = *child.found;
      out += fmt::format(" <strong>{:.2f}x</strong> <span class=\"mono\">{}</span>",
                         f.row.evaluation.measurement.speedup, escape(f.row.candidate.id));
    } else if (known != section.known.end()) {
      out += fmt::format(" <span class=\"soft\">{:.2f}x, quick timing</span>", known->second);
    }
    out += tree(section, child) + "</li>";
  }
  return out + "</ul>";
}

std::string family(const Section& section) {
  Branch root;
  for (std::size_t i = 0; i < std::min(kFamily, section.ranked.size()); ++i)
    grow(root, section.ranked[i]);
  const std::string html = tree(section, root);
  return html.empty() ? "" : "<div class=\"region\"><p>reference</p>" + html + "</div>";
}

std::string candidate_html(const std::string& id) {
  return fmt::format("<span class=\"mono\">{}</span>", escape(id));
}

/// " not compared at the timed size", beside a candidate's id.
std::string doubt_html(const Evaluation& evaluation) {
  const std::string_view words = results::doubt_of(evaluation).badge;
  return words.empty() ? "" : "<br>" + badge(words, Tone::kWarn);
}

std::string finalists(const Section& section) {
  const Column columns[] = {{"Rank", true},
                            {"Candidate"},
                            {"Time", true},
                            {"Speedup", true},
                            {results::interval_title(section.run.provenance.modelled), true},
                            {"Roof", true},
                            {"Bound by"},
                            {"Max error", true},
                            {"Math"},
                            {"By"},
                            {"Recipe"}};
  std::vector<std::vector<Cell>> rows;
  for (const Found& found : section.ranked) {
    const Evaluation& e = found.row.evaluation;
    const Measurement& m = e.measurement;
    const CandidateRecord& c = found.row.candidate;
    rows.push_back({number_cell(fmt::format("{}", rows.size() + 1), 0),
                    {candidate_html(c.id) + doubt_html(e)},
                    number_cell(time_text(m.time_us), m.time_us),
                    number_cell(fmt::format("{:.3f}x", m.speedup), m.speedup),
                    number_cell(fmt::format("{:.3f} to {:.3f}", m.ci95_low, m.ci95_high), 0),
                    number_cell(fmt::format("{:.1f} %", 100 * m.roof_fraction), m.roof_fraction),
                    {escape(m.bound)},
                    number_cell(fmt::format("{:.1e}", e.max_rel_error), e.max_rel_error),
                    {escape(to_string(e.math))},
                    {escape(c.origin)},
                    {escape(results::recipe_names(c.recipe))}});
  }
  return rows.empty() ? "<p>Nothing passed the final stage.</p>"
                      : table("What passed the final stage", columns, rows,
                              {.row_header = 1, .cards = true});
}

std::string steps(const Recipe& recipe) {
  if (recipe.empty()) return "<p>The reference itself.</p>";
  std::string out = "<ol>";
  for (const Step& step : recipe)
    out += fmt::format("<li><code>{}</code><br><span class=\"soft\">{}</span></li>",
                       escape(to_string(step)), escape(results::in_words(step)));
  return out + "</ol>";
}

std::string part(std::string_view title, const std::string& html) {
  return html.empty() ? "" : fmt::format("<h3>{}</h3>{}", title, html);
}
std::string figure(std::string_view title, const std::string& svg, std::string_view caption) {
  return svg.empty() ? ""
                     : fmt::format(
                           "<h3>{}</h3><figure>{}<figcaption class=\"soft\">{}</figcaption>"
                           "</figure>",
                           title, svg, caption);
}

std::string section_html(const Store& store, Rewriting& rewriting, const Task& task,
                         const Section& section) {
  const RunRecord& run = section.run;
  const Provenance& p = run.provenance;
  const bool modelled = p.modelled;
  std::string html =
      fmt::format("<section><h2>{}, {}</h2>", escape(p.device_name), origin_label(modelled));
  Facts facts;
  facts.text("Device", fmt::format("{} ({})", p.device, p.arch))
      .text("Strategy", fmt::format("{}, seed {}", run.strategy, run.seed))
      .html("Began", time_html(run.started_at))
      .html("Ended", run.ended_at.empty() ? "it is still running" : time_html(run.ended_at))
      .html("Status", run_status_html(run.status))
      .text("Built by",
            fmt::format("{}{}{}, hone {}, sandbox {}", p.toolchain,
                        p.driver.empty() ? "" : ", driver ", p.driver, p.hone_version, p.sandbox));
  if (!section.ranked.empty()) {
    const Measurement& m = section.ranked.front().row.evaluation.measurement;
    facts.text("Reference", time_text(m.reference_time_us))
        .text("Best", fmt::format("{}, {:.2f}x [{:.2f}, {:.2f}], {:.1f} % of the roof",
                                  time_text(m.time_us), m.speedup, m.ci95_low, m.ci95_high,
                                  100 * m.roof_fraction));
  }
  html += facts.take();
  html += figure("Progress", progress_of(section.run, section.outline),
                 "What the search timed, thinned where it is much; the line is the best so far, "
                 "the larger green points went "
                 "through the final stage.");
  html += figure("Roofline", roofline(store, task, section),
                 "The best in red; the reference and the other finalists in grey.");
  html += figure("What became of the candidates", population_of(section.outline),
                 "Without final stages.");
  html += part("Finalists", finalists(section));
  html += part("The language model", replies_html(section.replies, candidate_html));
  html += part("The family of the best", family(section));
  if (section.ranked.empty()) return html + "</section>";
  const CandidateRecord& best = section.ranked.front().row.candidate;
  html += part(fmt::format("The best, {}, step by step", escape(best.id)), steps(best.recipe));
  const std::string source = rewriting.formatted(best.program.source);
  html += part("What it changed",
               diff_html(results::side_by_side(rewriting.formatted(task.reference.source), source),
                         "reference", best.id, results::why_unlike(best.recipe)));
  html += part("Its source", source_html(source, "Best"));
  return html + "</section>";
}

std::string baselines_html(const Store& store, const Task& task,
                           const std::vector<RunRecord>& runs) {
  std::vector<std::vector<Cell>> rows;
  for (const RunRecord& run : runs) {
    if (run.provenance.modelled) continue;
    const auto times = store.baselines(task.hash(), run.provenance.device_name);
    if (!times) continue;
    for (const BaselineTime& b : *times)
      rows.push_back({{escape(b.kind)},
                      {escape(b.device_name)},
                      number_cell(time_text(b.time_us), b.time_us),
                      {escape(b.precision)},
                      {escape(b.versions)}});
  }
  const Column columns[] = {{"Baseline"}, {"Device"}, {"Time", true}, {"Precision"}, {"Versions"}};
  return rows.empty() ? ""
                      : "<section><h2>Baselines</h2>" +
                            table("Measured", columns, rows, {.cards = true}) + "</section>";
}

}  // namespace

Result<std::string> report_html(const Store& store, Rewriting& rewriting,
                                const std::vector<RunRecord>& runs) {
  if (runs.empty()) return fail(ErrorCode::kInternal, "a report of no runs");
  const auto task = store.find_task(runs.front().task_hash);
  if (!task) return std::unexpected(task.error());
  std::string sections;
  for (const RunRecord& run : runs) {
    const auto section = read(store, run);
    if (!section) return std::unexpected(section.error());
    sections += section_html(store, rewriting, *task, *section);
  }
  const std::string title = "hone: " + task->name;
  Facts facts;
  std::string sizes;
  for (const auto& [name, value] : task->sizes)
    sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", name, value);
  facts.text("Task", task->name)
      .text("Sizes", sizes)
      .text("Math", to_string(task->math))
      .text("Job", runs.front().job)
      .text("hone", HONE_VERSION);
  return fmt::format(
      R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{0}</title>
<style>{1}</style></head>
<body><main>
<h1>{0}</h1>
{2}
{3}
{4}
<section><h2>The reference</h2>{5}</section>
</main></body></html>
)",
      escape(title), stylesheet(), facts.take(), sections, baselines_html(store, *task, runs),
      source_html(rewriting.formatted(task->reference.source), "Reference"));
}

}  // namespace hone::page
