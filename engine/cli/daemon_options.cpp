#include <cstdio>
#include <memory>
#include <mutex>
#include <set>

#include "engine/cli/command.h"

namespace hone::cli {
namespace {

constexpr std::size_t kMostTold = 1000;  // lines that are remembered
constexpr const char* kPlain = "plain";

std::string line_of(const LogEvent& event, const std::string& format) {
  if (format == kPlain) return "hone: " + event.message;
  return format == "json" ? json_line(event) : text_line(event);
}

}  // namespace

std::function<void(const std::string&)> warn_in(const Log& log) {
  struct Told {
    std::mutex mutex;
    std::set<std::string> lines;
  };
  return [log, told = std::make_shared<Told>()](const std::string& line) {
    const std::lock_guard lock(told->mutex);
    const bool fresh = told->lines.size() >= kMostTold || told->lines.insert(line).second;
    log({.level = fresh ? LogLevel::kWarning : LogLevel::kDebug,
         .event = "processes_warn",
         .message = line});
  };
}

void DaemonOptions::add_to(CLI::App& app) {
  app.add_option(
         "--metrics", metrics_address,
         "Serve metrics for Prometheus at http://HOST:PORT/metrics, and /healthz; default: nowhere")
      ->type_name("HOST:PORT");
  add_log_to(app);
}

void DaemonOptions::add_log_to(CLI::App& app) {
  std::vector<std::string> formats = {"text", "json"};
  std::string help = "How the log is written: text, or json with one object per line";
  if (log_format == kPlain) {
    formats.insert(formats.begin(), kPlain);
    help =
        "How the log is written: plain, for people; text, with time and event; or json with one "
        "object per line";
  }
  app.add_option("--log-format", log_format, help)
      ->type_name("FORMAT")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  app.add_option(
         "--log-level", log_level,
         "The least that is logged: debug (a line for each finalist, too), info, warning or "
         "error")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
}

Log DaemonOptions::log(const std::string& component) const {
  return
      [component, format = log_format, least = parse_log_level(log_level).value_or(LogLevel::kInfo),
       mutex = std::make_shared<std::mutex>()](const LogEvent& event) {
        if (event.level < least) return;
        LogEvent complete = event;
        complete.component = component;
        const std::string line = line_of(complete, format) + '\n';
        const std::lock_guard lock(*mutex);
        (void)std::fwrite(line.data(), 1, line.size(), stderr);  // a full disk ends no daemon
      };
}

Result<std::unique_ptr<MetricsServer>> DaemonOptions::serve(Metrics& metrics,
                                                            const Log& log) const {
  if (metrics_address.empty()) return nullptr;
  auto server = MetricsServer::open(metrics_address, metrics);
  if (server)
    log({.event = "metrics_served",
         .message = "metrics are at " + (*server)->url(),
         .fields = {{"url", (*server)->url()}}});
  return server;
}

int DaemonOptions::fail(const Log& log, const Error& error) const {
  if (log_format != "json") return Common().fail(error);
  log({.level = LogLevel::kError, .event = "ended_by_error", .message = error.message});
  return exit_status(error);
}

}  // namespace hone::cli
