
#include <fmt/format.h>

#include <cstdlib>

#include "engine/cli/command.h"

namespace hone::cli {

void RedisOptions::add_to(CLI::App& app, const std::string& otherwise) {
  app.add_option(
         "--redis", url,
         "The Redis server: redis://[user[:password]@]host[:port][/db], rediss://…?cafile=FILE or "
         "unix:///path; a password is safer in $HONE_REDIS_PASSWORD; default: $HONE_REDIS, else " +
             otherwise)
      ->type_name("URL");
  app.add_option("--prefix", prefix,
                 "What all keys on the server begin with, so that several services may share it")
      ->type_name("NAME")
      ->capture_default_str();
}

std::string RedisOptions::as_typed() const {
  std::string out;
  if (!url.empty()) {
    std::string shown = url;  // redis://user:password@host
    const auto slashes = shown.find("://"), at = shown.rfind('@');
    if (slashes != shown.npos && at != shown.npos && at > slashes) {
      const auto colon = shown.find(':', slashes + 3);
      // It comes from $HONE_REDIS_PASSWORD then.
      if (colon < at) shown.erase(colon, at - colon + (colon == slashes + 3 ? 1 : 0));
    }
    out += " --redis " + shell_word(shown);
  }
  if (prefix != RedisOptions().prefix) out += " --prefix " + shell_word(prefix);
  return out;
}

Result<std::unique_ptr<queue::Broker>> RedisOptions::open(double patience_s, const Log& log) const {
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
  if (log) {
    options.on_change = [log](const RedisChange& change) {
      if (!change.reachable)
        return log({.level = LogLevel::kWarning,
                    .event = "redis_lost",
                    .message = "Redis is lost, and tried again: " + change.why});
      log({.event = "redis_back",
           .message = fmt::format("Redis answers again, after {:.1f} s", change.away_s),
           .fields = {{"away_s", change.away_s}}});
    };
  }
  auto client = RedisClient::open(std::move(*parsed), options);
  if (!client) return std::unexpected(client.error());
  return std::make_unique<queue::Broker>(std::shared_ptr<RedisClient>(std::move(*client)), prefix);
}

}  // namespace hone::cli
