#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>

#include "engine/cli/command.h"

namespace hone::cli {

void RedisOptions::add_to(CLI::App& app) {
  app.add_option(
         "--redis", url,
         "The server: redis://[user[:password]@]host[:port][/db], rediss://…?cafile=FILE or "
         "unix:///path; default $HONE_REDIS, or redis://127.0.0.1:6379. A password is "
         "safer in $HONE_REDIS_PASSWORD")
      ->type_name("URL");
  app.add_option("--prefix", prefix, "Of all keys there: several hones may share a server")
      ->capture_default_str();
}

Result<std::unique_ptr<queue::Broker>> RedisOptions::open(double patience_s) const {
  const char* environment = std::getenv("HONE_REDIS");
  const std::string text = !url.empty() ? url
                           : environment != nullptr && *environment != '\0'
                               ? environment
                               : "redis://127.0.0.1:6379";
  auto parsed = RedisUrl::parse(text);
  if (!parsed) return std::unexpected(parsed.error());
  if (!queue::is_id(prefix))
    return invalid("--prefix: letters, digits and . _ : - only, 80 at most");
  RedisClientOptions options;
  options.deadline_s = patience_s;
  auto client = RedisClient::open(std::move(*parsed), options);
  if (!client) return std::unexpected(client.error());
  return std::make_unique<queue::Broker>(std::shared_ptr<RedisClient>(std::move(*client)), prefix);
}

void log_line(const std::string& line) {
  static std::mutex mutex;
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::lock_guard lock(mutex);
  fmt::print(stderr, "{:%Y-%m-%dT%H:%M:%S}Z {}\n", now, line);
}

}  // namespace hone::cli
