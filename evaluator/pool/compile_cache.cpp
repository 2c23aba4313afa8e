#include "evaluator/pool/compile_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "candidates/hash.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/messages.h"

namespace hone::pool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "HONC1\n";
constexpr int kPutsBetweenTrims = 256;
constexpr auto kAbandoned = std::chrono::hours(1);
constexpr std::size_t kMaxEntry = 64U << 20;  // [B]

/// The whole file; empty when it cannot be read.
std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool write_file(const fs::path& path, const std::array<std::string_view, 3>& parts) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool ok = true;
  for (std::string_view part : parts) {
    while (ok && !part.empty()) {
      const ssize_t n = write(fd, part.data(), part.size());
      ok = n > 0;
      if (ok) part.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  return close(fd) == 0 && ok;
}

}  // namespace

fs::path CompileCache::default_folder() {
  // The XDG specification: a relative $XDG_CACHE_HOME is to be ignored.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/')
    return fs::path(cache) / "hone" / "compile";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return fs::path(home) / ".cache" / "hone" / "compile";
}

nlohmann::json CompileCache::key(const CompileJob& job, const std::string& toolchain,
                                 const std::string& driver) {
  return {{"hone", HONE_VERSION},
          {"protocol", protocol::kVersion},
          {"job", protocol::to_message(job)},
          {"toolchain", toolchain},
          {"driver", driver}};
}

fs::path CompileCache::path_of(const nlohmann::json& key) const {
  const auto bytes = protocol::encode(key);
  const std::string name =
      content_hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return folder_ / name.substr(0, 2) / name;
}

std::optional<nlohmann::json> CompileCache::find(const nlohmann::json& key) {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = path_of(key);
  const std::string text = read_file(path);
  if (text.empty()) return std::nullopt;
  const std::size_t hash_size = content_hash("").size(), begin = kMagic.size() + hash_size;
  if (text.starts_with(kMagic) && text.size() > begin &&
      std::string_view(text).substr(kMagic.size(), hash_size) ==
          content_hash(std::string_view(text).substr(begin))) {
    auto entry = protocol::decode(reinterpret_cast<const std::uint8_t*>(text.data()) + begin,
                                  text.size() - begin);
    if (entry && entry->is_object() && entry->contains("reply") &&
        entry->value("key", nlohmann::json()) == key) {
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used just now
      return std::move((*entry)["reply"]);
    }
  }
  std::error_code code;
  fs::remove(path, code);
  return std::nullopt;
}

void CompileCache::put(const nlohmann::json& key, const nlohmann::json& reply) {
  if (folder_.empty()) return;
  static std::atomic<unsigned> number = 0;
  const auto body = protocol::encode({{"key", key}, {"reply", reply}});
  if (body.size() > std::min<std::uint64_t>(kMaxEntry, max_bytes_ / 4)) return;
  const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
  const fs::path path = path_of(key);
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  const fs::path unfinished =
      path.parent_path() / fmt::format("unfinished-{}-{}", getpid(), ++number);
  const std::string hash = content_hash(text);
  if (write_file(unfinished, {kMagic, hash, text})) {
    fs::rename(unfinished, path, code);
  } else {
    code = std::make_error_code(std::errc::io_error);
  }
  if (code) fs::remove(unfinished, code);
  if (puts_++ % kPutsBetweenTrims == 0) trim();
}

void CompileCache::trim() {
  const std::unique_lock lock(trimming_, std::try_to_lock);
  if (!lock.owns_lock() || folder_.empty()) return;
  struct Entry {
    fs::file_time_type used;
    std::uint64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code code;
  const auto now = fs::file_time_type::clock::now();
  for (auto it = fs::recursive_directory_iterator(folder_, code);
       !code && it != fs::recursive_directory_iterator(); it.increment(code)) {
    // Another process may remove it meanwhile: every call may fail, and none matters.
    std::error_code gone;
    if (!it->is_regular_file(gone) || gone) continue;
    const auto used = it->last_write_time(gone);
    const auto bytes = gone ? 0 : it->file_size(gone);
    if (gone) continue;
    if (it->path().filename().string().starts_with("unfinished-")) {
      if (now - used > kAbandoned) fs::remove(it->path(), gone);
      continue;
    }
    entries.push_back({used, bytes, it->path()});
    total += bytes;
  }
  if (total <= max_bytes_) return;
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= max_bytes_ / 10 * 9) break;
    // Another process may have removed it, which makes room as well, or have used it since.
    std::error_code gone;
    const auto used = fs::last_write_time(entry.path, gone);
    if (!gone && used != entry.used) continue;
    fs::remove(entry.path, gone);
    if (!gone) total -= entry.bytes;
  }
}

}  // namespace hone::pool
