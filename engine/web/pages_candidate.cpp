// One candidate: numbers, the way to it, where it came from, and what it changed.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "candidates/export/export.h"
#include "candidates/task_reader.h"
#include "engine/page/charts.h"
#include "engine/results/roofline.h"
#include "engine/results/side_by_side.h"
#include "engine/results/text.h"
#include "engine/results/words.h"
#include "engine/web/candidate_data.h"
#include "engine/web/handlers.h"
#include "engine/web/layout.h"

namespace hone::web {

using page::url_part;
using results::time_text;

namespace {

/// The device's name, and its architecture where the name does not say it.
std::string device_in_words(const Provenance& p) {
  return p.device_name.contains(p.arch) ? p.device_name
                                        : fmt::format("{} ({})", p.device_name, p.arch);
}

/// The sentence under the title: what came of it, and on what.
std::string headline_html(const CandidateData& data) {
  const BoardRow& row = data.row;
  const Evaluation& e = row.evaluation;
  const Measurement& m = e.measurement;
  const bool ok = e.verdict == Verdict::kOk;
  std::string out =
      fmt::format(R"(<p class="facts">{} {} <span>of {}</span> <span>on {}</span></p>)",
                  badge(status_of(e), !ok          ? page::Tone::kBad
                                      : e.outpaced ? page::Tone::kWarn
                                                   : page::Tone::kGood),
                  origin_label(row.provenance.modelled),
                  task_link(row.candidate.task_hash, row.candidate.task_name),
                  escape(device_in_words(row.provenance)));
  if (!ok)
    return out + fmt::format("<p>{}</p>", results::in_words(e.verdict)) +
           (e.detail.empty() ? "" : fmt::format("<p>{}</p>", escape(e.detail)));
  const results::Doubt doubt = results::doubt_of(e);
  return out +
         fmt::format(R"(<p class="headline"><strong>{}</strong>, <strong>{:.2f} times</strong> )"
                     R"(as fast as the reference ({})</p>)",
                     time_text(m.time_us), m.speedup, time_text(m.reference_time_us)) +
         (doubt.badge.empty() ? ""
                              : fmt::format("<p>{} {}</p>", badge(doubt.badge, page::Tone::kWarn),
                                            escape(doubt.sentence)));
}

std::string interval_text(const Evaluation& e) {
  const Measurement& m = e.measurement;
  const std::string_view stage = e.final_stage ? "final stage" : "quick timing only";
  if (m.modelled) return fmt::format("{:.3f}x, {}", m.speedup, stage);
  return fmt::format("{:.3f}x, {} {:.3f} to {:.3f}; {}", m.speedup,
                     results::interval_title(m.modelled), m.ci95_low, m.ci95_high, stage);
}

/// Where it was found: runs, and the jobs that they were of.
std::string runs_html(const Context& context, const std::vector<RunOfCandidate>& runs) {
  std::string out;
  for (const RunOfCandidate& found : runs) {
    const std::string& job = found.run.job;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", run_link(found.run.id));
    if (!job.empty())
      out += context.broker == nullptr ? " of job " + escape(job)
                                       : " of " + link("/jobs/" + url_part(job), "job " + job);
  }
  return out;
}

constexpr Term kNumberTerms[] = {
    {"final stage, quick timing",
     "The quick stage checks and times a candidate once while the search goes on. The final stage "
     "repeats every check in a fresh process, on further inputs and sizes, and times it again."},
    {"Of the roof",
     "How near the time is to the shortest one that the device's memory and arithmetic allow."},
    {"bound by", results::kBoundWords},
    {"Largest error",
     "The largest relative difference from the reference's outputs in all checks."},
    {"Reference's own error",
     "The same for the reference, compared with itself computed in double precision."},
    {"between blocks",
     "Only some blocks of a launch are modelled. The interval says how unlike they are, and "
     "nothing "
     "of how far off the model is."},
    {"With a warm L2", "Timed again while the inputs that fit into the L2 cache were there."},
    {"Samples",
     "How many runs were timed. Pairs taken while the GPU's clocks were down are discarded."}};

std::string numbers_html(const Context& context, const CandidateData& data) {
  const BoardRow& row = data.row;
  const Evaluation& e = row.evaluation;
  const Measurement& m = e.measurement;
  Facts facts;
  facts.html("Found in", runs_html(context, data.runs)).text("Note", e.note);
  if (e.verdict != Verdict::kOk) return facts.take();
  facts.text("Rank", row.rank > 0 ? fmt::format("{} on its board", row.rank) : "")
      .text("Speedup", interval_text(e))
      .text("Of the roof", m.roof_fraction > 0
                               ? fmt::format("{:.1f} %, bound by {}", 100 * m.roof_fraction,
                                             m.bound.empty() ? "nothing known" : m.bound)
                               : "")
      .text("Largest error", e.max_rel_error == 0 ? "0" : fmt::format("{:.2e}", e.max_rel_error))
      .text("Reference's own error",
            e.reference_error > 0
                ? fmt::format("{:.2e} against itself in double", e.reference_error)
                : "")
      .text("Arithmetic", fmt::format("{}: {}", to_string(e.math), results::in_words(e.math)));
  if (m.warm_time_us > 0)
    facts.text("With a warm L2",
               fmt::format("{}; the reference takes {}", time_text(m.warm_time_us),
                           time_text(m.reference_warm_time_us)));
  if (!m.modelled)
    facts.text(
        "Samples",
        fmt::format("{} and {} of the reference, {} outliers, {} pairs discarded{}",
                    m.samples_us.size(), m.reference_samples_us.size(), m.outliers, m.discarded,
                    m.clock_mhz > 0 ? fmt::format(", {:.0f} MHz", m.clock_mhz) : ""));
  return facts.take() + legend("What these numbers mean", kNumberTerms);
}

/// What the formats of a download are for.
std::string_view meaning_of(ExportFormat format) {
  switch (format) {
    case ExportFormat::kCu:
      return "kernels and a launcher in CUDA C++";
    case ExportFormat::kHpp:
      return "the same as a header";
    case ExportFormat::kTorch:
      return "a Python module for PyTorch";
    case ExportFormat::kCupy:
      return "a Python module for CuPy";
    case ExportFormat::kJson:
      return "all that is known";
  }
  return "";
}

/// The kernel, and what it can be taken away as.
std::string source_section(const CandidateData& data, const std::string& source) {
  std::string exports;
  for (const ExportFormatName& format : export_formats())
    if (data.row.evaluation.verdict == Verdict::kOk || format.format == ExportFormat::kJson)
      exports += fmt::format(
          R"({}<span><a href="/api/v1/candidates/{}/export?format={}">{}</a> ({})</span>)",
          exports.empty() ? "" : " ", url_part(data.row.candidate.id), format.name, format.name,
          meaning_of(format.format));
  return fmt::format(
      R"(<section id="source" data-copy><h2>Source</h2>{}{}</section>)",
      exports.empty() ? "" : fmt::format(R"(<p class="facts">Download as {}</p>)", exports),
      source_html(source, "Source"));
}

std::string recipe_html(const Recipe& recipe) {
  if (recipe.empty()) return "<p>No steps: it was not made by rules.</p>";
  std::string out =
      R"(<p class="soft">The steps from the reference to this candidate, in their order: what each does, and where in the program.</p><ol class="recipe">)";
  for (const Step& step : recipe) {
    std::string params;
    for (const auto& [name, value] : step.params)
      params += fmt::format("{}{} = {}", params.empty() ? "" : ", ", name, to_string(value));
    const std::string words = results::in_words(step);
    out += fmt::format(
        R"(<li><strong>{}</strong> <span class="soft">version {}, needs {} arithmetic</span>{}<br>at <span class="mono">{}</span>{}{}</li>)",
        escape(step.rewriter), step.version, escape(to_string(step.math)),
        words.empty() ? "" : "<br>" + escape(words), escape(step.site), params.empty() ? "" : ": ",
        escape(params));
  }
  return out + "</ol>";
}

std::string resources_html(const std::vector<KernelResources>& resources) {
  if (resources.empty()) return "";
  const Column columns[] = {
      {"Kernel"},      {"Registers", true},       {"Spilled", true},  {"Static shared", true},
      {"Stack", true}, {"Threads at most", true}, {"Occupancy", true}};
  std::vector<std::vector<Cell>> rows;
  for (const KernelResources& r : resources)
    rows.push_back({{fmt::format(R"(<span class="mono">{}</span>)", escape(r.kernel))},
                    number_cell(fmt::format("{}", r.registers), r.registers),
                    number_cell(fmt::format("{} B", r.spill_bytes), r.spill_bytes),
                    number_cell(fmt::format("{} B", r.static_shared_bytes), r.static_shared_bytes),
                    number_cell(fmt::format("{} B", r.stack_bytes), r.stack_bytes),
                    number_cell(fmt::format("{}", r.max_threads), r.max_threads),
                    number_cell(fmt::format("{:.0f} %", 100 * r.occupancy), r.occupancy)});
  return "<section><h2>Resources</h2>" +
         table("What the compiler says", columns, rows, {.caption_unseen = true, .cards = true}) +
         "<p class=\"soft\">Of each kernel, by the compiler. Registers are a thread's. Spilled: "
         "what did "
         "not fit into them. Static shared: shared memory of a block that the source declares; a "
         "launch may add more. Occupancy: the share of the "
         "threads that a multiprocessor can hold.</p></section>";
}

std::string roofline_html(const CandidateData& data) {
  const Measurement& m = data.row.evaluation.measurement;
  if (!data.roofline || data.row.evaluation.verdict != Verdict::kOk) return "";
  const auto& line = *data.roofline;
  const auto point = [&](double time_us, std::string name, bool highlight) {
    const std::string label = fmt::format("{}: {}", name, time_text(time_us));
    return page::RooflinePoint{line.flops, line.bytes, time_us, label, highlight};
  };
  const std::string svg = page::roofline_svg({point(m.reference_time_us, "reference", false),
                                              point(m.time_us, data.row.candidate.id, true)},
                                             line.bytes_per_s, line.flops_per_s);
  if (svg.empty()) return "";
  return fmt::format(
      "<section><h2>Roofline</h2><figure>{}<figcaption class=\"soft\">{}: this "
      "candidate in red, the reference in grey. The line is the most that the device allows: its "
      "slope is the memory's bandwidth, its flat part the "
      "arithmetic.</figcaption></figure></section>",
      svg, origin_label(m.modelled));
}

/// "NVRTC 13.0, driver 580.65, hone 0.1.0, sandbox strict"
std::string built_by(const Provenance& p) {
  return fmt::format("{}{}{}, hone {}{}{}", p.toolchain, p.driver.empty() ? "" : ", driver ",
                     p.driver, p.hone_version, p.sandbox.empty() ? "" : ", sandbox ", p.sandbox);
}

std::string finals_html(const std::vector<FinalResult>& finals) {
  if (finals.empty()) return "";
  const bool details = std::ranges::any_of(
      finals, [](const FinalResult& final) { return !final.evaluation.detail.empty(); });
  std::string out =
      R"(<section><h2>Final results</h2><p class="soft">What the final stage found on each device.</p>)";
  for (const bool modelled : {false, true}) {
    const Column columns[] = {{"Device"},
                              {"Verdict", false, true, details},
                              {"Time", true},
                              {"Speedup", true},
                              {results::interval_title(modelled), true, false},
                              {"Built by", false, true, true},
                              {"Found"}};
    std::vector<std::vector<Cell>> rows;
    for (const FinalResult& final : finals) {
      const Evaluation& e = final.evaluation;
      const Measurement& m = e.measurement;
      const Provenance& p = final.provenance;
      if (p.modelled != modelled) continue;
      const bool ok = e.verdict == Verdict::kOk;
      rows.push_back(
          {{escape(device_in_words(p))},
           {escape(to_string(e.verdict)) + (e.detail.empty() ? "" : ": " + escape(e.detail))},
           ok ? number_cell(time_text(m.time_us), m.time_us) : Cell{},
           ok ? number_cell(fmt::format("{:.3f}x", m.speedup), m.speedup) : Cell{},
           ok ? Cell{fmt::format("{:.3f} to {:.3f}", m.ci95_low, m.ci95_high)} : Cell{},
           {escape(built_by(p))},
           {time_html(final.found_at), final.found_at}});
    }
    if (!rows.empty())
      out += table(modelled ? "Modelled, on emulated devices" : "Measured", columns, rows,
                   {.cards = true});
  }
  return out + "</section>";
}

std::string provenance_html(const CandidateData& data) {
  const BoardRow& row = data.row;
  const Provenance& p = row.provenance;
  Facts facts;
  facts
      .html("Program hash",
            fmt::format(R"(<span class="mono">{}</span>)", escape(row.candidate.program_hash)))
      .text("Made by", row.candidate.origin)
      .html("Derived from", row.candidate.parent.empty() ? ""
                            : data.parent_is_here        ? candidate_link(row.candidate.parent)
                                                  : fmt::format(R"(<span class="mono">{}</span>)",
                                                                escape(row.candidate.parent)))
      .html("Found", time_html(row.found_at))
      .text("Device", fmt::format("{} ({}, {})", p.device, p.device_name, p.arch))
      .text("Toolchain", p.toolchain)
      .text("Driver", p.driver)
      .text("Sandbox", p.sandbox)
      .text("hone", p.hone_version);
  std::string launches;
  const nlohmann::json program = row.candidate.program;
  for (const auto& launch : program.value("launches", nlohmann::json::array()))
    launches += launch.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return "<section><h2>Provenance</h2>" + facts.take() + "</section><section><h2>Launches</h2>" +
         R"(<p class="soft">The kernels in the order in which they run, with grid, block and arguments.</p>)" +
         source_html(launches, "Launches") + "</section>";
}

}  // namespace

Answer candidate_page(Context& context, const Request& request, const Parts& parts) {
  const auto data =
      read_candidate(context, parts[0], request.param("against"), request.param("device"));
  if (!data) return std::unexpected(data.error());
  const CandidateRecord& candidate = data->row.candidate;
  const std::string source = context.formatted(without_task_comment(candidate.program.source));
  const std::string before = context.formatted(data->before);
  std::string html = headline_html(*data) + numbers_html(context, *data);
  html += source_section(*data, source);
  html += fmt::format(
      R"(<section id="diff"><h2>What changed</h2><form class="filters" method="get" action="/candidates/{}#diff"><label>Against <input name="against" value="{}" placeholder="the reference" autocomplete="off" spellcheck="false" class="mono"></label>{}<button type="submit">Compare</button></form>{}</section>)",
      url_part(candidate.id), escape(request.param("against")),
      request.param("device").empty()
          ? ""
          : fmt::format(R"(<input type="hidden" name="device" value="{}">)",
                        escape(request.param("device"))),
      diff_html(results::side_by_side(before, source), data->before_name, candidate.id,
                results::why_unlike(candidate.recipe)));
  html += "<section><h2>Recipe</h2>" + recipe_html(candidate.recipe) + "</section>";
  html += R"(<div class="charts">)" + roofline_html(*data) + "</div>";
  html += resources_html(data->row.evaluation.resources);
  html += finals_html(data->finals);
  html += provenance_html(*data);
  return render(context, {.title = "Candidate " + candidate.id,
                          .section = "/",
                          .html = html,
                          .scripts = {"sort.js", "copy.js"}});
}

Answer export_api(Context& context, const Request& request, const Parts& parts) {
  const auto formats = export_formats();
  const std::string& wanted = request.param("format");
  const auto format = std::ranges::find(formats, wanted.empty() ? "cu" : std::string_view(wanted),
                                        &ExportFormatName::name);
  if (format == formats.end()) {
    std::string names;
    for (const ExportFormatName& one : formats)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    return bad_request(fmt::format("format is one of {}.", names));
  }
  const auto data = read_candidate(context, parts[0], "");
  if (!data) return std::unexpected(data.error());
  const Evaluation& e = data->row.evaluation;
  if (e.verdict != Verdict::kOk && format->format != ExportFormat::kJson)
    return failure(
        409, "not_for_use",
        fmt::format("This candidate ended as {}: only format=json has it.", to_string(e.verdict)));
  auto text =
      export_formatted(format->format, {data->row}, data->task,
                       [&](const std::string& source) { return context.formatted(source); });
  if (!text) return failure(409, "not_for_use", text.error().message);
  Response response;
  response.type =
      format->format == ExportFormat::kJson ? "application/json" : "text/plain; charset=utf-8";
  response.headers.emplace_back("Content-Disposition",
                                fmt::format(R"(attachment; filename="{}_{}{}")", "hone",
                                            data->row.candidate.id, format->suffix));
  response.body = std::move(*text);
  return response;
}

}  // namespace hone::web
