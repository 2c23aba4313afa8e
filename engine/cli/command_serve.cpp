#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "engine/cli/command.h"
#include "engine/cli/interrupt.h"
#include "engine/web/server.h"
#include "engine/web/token.h"

namespace hone::cli {
namespace serve_command {
namespace {

constexpr double kQueuePatience_s = 2;  // a page should not wait for it

struct Options {
  DatabaseOptions database;
  RedisOptions redis;
  std::string listen = "127.0.0.1:8080";
  int port = -1;  ///< instead of that of `listen`; -1: not given
  bool allow_submit = false;
  std::string token_file;
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
  DaemonOptions daemon{.log_format = "plain"};
};

int run(const Options& options) {
  const Log log = options.daemon.log("serve");
  const auto failed = [&](const Error& error) { return options.daemon.fail(log, error); };
  web::ServerOptions server_options;
  server_options.listen = options.listen;
  if (options.port >= 0) server_options.listen = fmt::format("127.0.0.1:{}", options.port);
  server_options.database = options.database.path.empty()
                                ? Store::default_path()
                                : std::filesystem::path(options.database.path);
  server_options.warn = [log](const std::string& line) {
    log({.level = LogLevel::kWarning, .event = "serve_warns", .message = line});
  };
  // No queue unless somebody names one: most have a database only.
  const char* environment = std::getenv("HONE_REDIS");
  std::unique_ptr<queue::Broker> broker;
  if (!options.redis.url.empty() || (environment != nullptr && *environment != '\0')) {
    auto opened = options.redis.open(kQueuePatience_s, log);
    if (!opened) return failed(opened.error());
    broker = std::move(*opened);
    server_options.broker = broker.get();
  }
  if (options.allow_submit) {
    if (broker == nullptr)
      return failed({ErrorCode::kInvalidInput, "--allow-submit needs a queue: --redis URL"});
    if (options.token_file.empty())
      return failed({ErrorCode::kInvalidInput,
                     "--allow-submit needs --token-file FILE: who has what is in it may submit"});
    auto token = web::read_token(options.token_file);
    if (!token) return failed(token.error());
    server_options.token = std::move(*token);
  } else if (!options.token_file.empty()) {
    return failed({ErrorCode::kInvalidInput, "--token-file is for --allow-submit"});
  }
  if (const auto there = options.database.open_existing(); !there) {
    Error error = there.error();
    // The coordinator beside it makes the database soon. Who starts this again until then must not
    // take it for wrong usage.
    if (error.code == ErrorCode::kInvalidInput) error.code = ErrorCode::kEnvironment;
    return failed(error);
  }
  const auto rewriting =
      open_rewriting(options.sandbox, options.database.missing_layers(), warn_in(log));
  server_options.rewriting = rewriting.get();
  const auto& stop = watch_interrupts();
  const auto server = web::Server::open(std::move(server_options));
  if (!server) return failed(server.error());
  const std::string& url = (*server)->url();
  log({.event = "serve_ready", .message = url + " (Ctrl-C ends it)", .fields = {{"url", url}}});
  if (!(*server)->on_loopback())
    log({.level = LogLevel::kWarning,
         .event = "serve_open",
         .message = url + " is open to other machines, without TLS: whoever is on the way reads "
                          "what is sent, the token too"});
  while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  rewriting->cancel();
  return kDone;
}

}  // namespace
}  // namespace serve_command

Registration add_serve(CLI::App& root) {
  using namespace serve_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "serve", "Serve a web page, and the same as JSON: boards, candidates, runs, jobs");
  options->database.add_to(*app);
  app->add_option("--listen", options->listen, "The address to serve at; port 0: any that is free")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app->add_option("--port", options->port, "Short for --listen 127.0.0.1:PORT; 0: any that is free")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535))
      ->excludes("--listen");
  options->redis.add_to(*app, "no queue, and so no jobs");
  app->add_flag("--allow-submit", options->allow_submit,
                "Take submissions from those who have the token");
  app->add_option("--token-file", options->token_file,
                  "A file that only you may read, with the token in its first line")
      ->type_name("FILE");
  add_sandbox_option(*app, options->sandbox);
  options->daemon.add_log_to(*app);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
