// Who evaluates: the workers that are there, and those of other versions, which take no work.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/service/job_view.h"
#include "engine/web/handlers.h"
#include "engine/web/jobs.h"
#include "engine/web/layout.h"

namespace hone::web {
namespace {

constexpr Term kWorkerTerms[] = {
    {"at work", "It takes evaluations when there are some."},
    {"draining", "It was told to stop: it ends what it has begun and takes nothing more."},
    {"another version", "Its hone differs from the coordinator's, so it is given no work."},
    {"modelled", "An emulated GPU: it checks candidates and predicts their times."},
    {"At once", "How many candidates a device evaluates at the same time."},
    {"In flight", "Candidates that it was given and has not answered yet."},
    {"Evaluated", "Candidates that it has answered since it started."}};

std::vector<Cell> cells_of(Context& context, const queue::WorkerMessage& worker) {
  std::string devices, slots;
  for (const queue::WorkerDevice& device : worker.devices) {
    devices += fmt::format("{}{} {}", devices.empty() ? "" : "<br>", escape(device.info.name),
                           origin_label(device.modelled));
    slots += fmt::format("{}{}", slots.empty() ? "" : "<br>", device.capacity);
  }
  return {{fmt::format(R"(<span class="mono">{}</span>)", escape(worker.id)), worker.id},
          {worker.draining ? badge("draining", page::Tone::kWarn)
                           : badge("at work", page::Tone::kGood)},
          {devices},
          {slots},
          number_cell(fmt::format("{}", worker.in_flight), static_cast<double>(worker.in_flight)),
          number_cell(fmt::format("{}", worker.evaluated), static_cast<double>(worker.evaluated)),
          {escape(worker.host)},
          {escape(worker.version)},
          {ago_by_server(context, worker.started_at), fmt::format("{}", worker.started_at)}};
}

std::vector<Cell> cells_of(const queue::ForeignWorker& worker) {
  std::string devices;
  for (const auto& device : worker.devices)
    devices += (devices.empty() ? "" : "<br>") + escape(device.pool);
  return {{fmt::format(R"(<span class="mono">{}</span>)", escape(worker.id)), worker.id},
          {badge("another version", page::Tone::kBad) +
           R"(<br><span class="soft">takes no work</span>)"},
          {devices},
          {},
          {},
          {},
          {escape(worker.host)},
          {escape(worker.version)},
          {}};
}

}  // namespace

Answer workers_page(Context& context, const Request&, const Parts&) {
  if (const auto there = with_queue(context); !there) return std::unexpected(there.error());
  const auto state = service_state(*context.broker, false);
  if (!state) return context.queue_broken(state.error());
  const Column columns[] = {{"Worker"},
                            {"State"},
                            {"Devices", false, false},
                            {"At once", true, false},
                            {"In flight", true},
                            {"Evaluated", true},
                            {"Host"},
                            {"hone version"},
                            {"Started"}};
  std::vector<std::vector<Cell>> rows;
  for (const auto& worker : state->workers.workers) rows.push_back(cells_of(context, worker));
  for (const auto& worker : state->workers.foreign) rows.push_back(cells_of(worker));
  std::string html =
      state->leads
          ? R"(<p>A coordinator leads. It hands the evaluations of all jobs to these workers.</p>)"
          : R"(<p role="alert" class="bad">No coordinator leads now: jobs wait until )"
            R"(<code>hone coordinator</code> runs.</p>)";
  if (!state->trouble.empty())
    html += fmt::format(R"(<p role="alert" class="bad">All jobs wait: {}.</p>)",
                        escape(state->trouble));
  html += rows.empty() ? "<p>No worker is there. <code>hone worker</code> on a machine with a GPU "
                         "starts one.</p>"
                       : table("Workers", columns, rows, {.caption_unseen = true, .cards = true}) +
                             legend("What the columns mean", kWorkerTerms);
  return render(context,
                {.title = "Workers", .section = "/workers", .html = html, .scripts = {"sort.js"}});
}

}  // namespace hone::web
