#include <cstdio>
#include <memory>
#include <mutex>

#include "engine/cli/command.h"

namespace hone::cli {

std::function<void(const std::string&)> warn_in(const Log& log) {
  return [log](const std::string& line) { log({.level = LogLevel::kWarning, .message = line}); };
}

void DaemonOptions::add_to(CLI::App& app) {
  app.add_option(
         "--metrics", metrics_address,
         "Serve metrics for Prometheus at http://HOST:PORT/metrics, and /healthz; default: nowhere")
      ->type_name("HOST:PORT");
  app.add_option("--log-format", log_format,
                 "How the log is written: text, or json with one object per line")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

Log DaemonOptions::log(const std::string& component) const {
  return [component, json = log_format == "json",
          mutex = std::make_shared<std::mutex>()](const LogEvent& event) {
    LogEvent complete = event;
    complete.component = component;
    const std::string line = (json ? json_line(complete) : text_line(complete)) + '\n';
    const std::lock_guard lock(*mutex);
    (void)std::fwrite(line.data(), 1, line.size(), stderr);  // a full disk ends no daemon
  };
}

Result<std::unique_ptr<MetricsServer>> DaemonOptions::serve(Metrics& metrics,
                                                            const Log& log) const {
  if (metrics_address.empty()) return nullptr;
  auto server = MetricsServer::open(metrics_address, metrics);
  if (server) log({.message = "metrics are at " + (*server)->url()});
  return server;
}

int DaemonOptions::fail(const Log& log, const Error& error) const {
  if (log_format != "json") return Common().fail(error);
  log({.level = LogLevel::kError, .message = error.message});
  return exit_status(error);
}

}  // namespace hone::cli
