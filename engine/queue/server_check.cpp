#include "engine/queue/server_check.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <string_view>

namespace hone::queue {
namespace server_check {
namespace {

constexpr int kOldestMajor = 7;

/// Lines `name:value`; others are titles.
std::map<std::string, std::string, std::less<>> lines_of(std::string_view text) {
  std::map<std::string, std::string, std::less<>> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (!line.starts_with('#') && colon != std::string_view::npos)
      lines.emplace(line.substr(0, colon), line.substr(colon + 1, 100));
  }
  return lines;
}

}  // namespace
}  // namespace server_check

Result<ServerFacts> look_at_server(RedisClient& redis) {
  auto reply = redis.call({"INFO"}, kRepeatable);
  if (!reply) return std::unexpected(reply.error());
  ServerFacts facts;
  const auto text = reply->as_string();
  if (!text) {
    facts.refusal = reply->as_error("INFO").message;
    return facts;
  }
  const auto lines = server_check::lines_of(*text);
  const auto of = [&](std::string_view name) {
    const auto found = lines.find(name);
    return found == lines.end() ? std::string() : found->second;
  };
  facts.version = of("redis_version");
  facts.run_id = of("run_id");
  facts.eviction = of("maxmemory_policy");
  if (const auto aof = of("aof_enabled"); !aof.empty()) facts.appends = aof == "1";
  if (const auto last = of("aof_last_write_status"); !last.empty())
    facts.appending_works = last == "ok";
  return facts;
}

std::vector<std::string> concerns(const ServerFacts& facts) {
  std::vector<std::string> found;
  if (!facts.refusal.empty()) {
    found.push_back(
        fmt::format("cannot tell whether the Redis server keeps what it is told (appendonly, "
                    "maxmemory-policy, its version): {}; allow this user +info",
                    facts.refusal));
    return found;
  }
  const int major = std::atoi(facts.version.c_str());
  if (major < server_check::kOldestMajor) {
    found.push_back(facts.version.empty()
                        ? "cannot tell the Redis server's version: hone needs 7 or later"
                        : fmt::format("the Redis server is version {}; hone needs 7 or later: "
                                      "install a newer one",
                                      facts.version));
  }
  if (!facts.appends) {
    found.emplace_back(
        "cannot tell whether the Redis server has an append-only file; without one its restart "
        "loses jobs");
  } else if (!*facts.appends) {
    found.emplace_back(
        "the Redis server has no append-only file (appendonly no): its restart loses jobs that "
        "wait and the list of those that ended. Put `appendonly yes` into redis.conf, or say "
        "CONFIG SET appendonly yes");
  } else if (!facts.appending_works.value_or(true)) {
    found.emplace_back(
        "the Redis server cannot write its append-only file (aof_last_write_status): see its log, "
        "and whether its disk is full");
  }
  if (facts.eviction.empty()) {
    found.emplace_back("cannot tell the Redis server's maxmemory-policy: it must be noeviction");
  } else if (facts.eviction != "noeviction") {
    found.push_back(fmt::format(
        "the Redis server may drop jobs when its memory is full (maxmemory-policy {}). Put "
        "`maxmemory-policy noeviction` into redis.conf, or say CONFIG SET maxmemory-policy "
        "noeviction",
        facts.eviction));
  }
  return found;
}

}  // namespace hone::queue
