#include "engine/service/input_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "candidates/sent_file.h"
#include "engine/queue/sha256.h"

namespace hone {
namespace input_cache {
namespace {

namespace fs = std::filesystem;

/// Times what a fetch took that brought other bytes: so long nobody tries again.
constexpr int kPauses = 5;
constexpr auto kLeftBehind = std::chrono::hours(1);  // by a worker that died while it fetched
constexpr std::string_view kUnfinished = "unfinished-";

constexpr gid_t kNobody = 65534;  // the group of root's children, see sandbox/README.md

using Uses = std::map<std::string, std::shared_ptr<const InputCache::Use>>;  // by hash

Result<void> write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return fail(ErrorCode::kEnvironment,
                  fmt::format("an input cannot be kept on this worker: {}", std::strerror(errno)));
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

bool has_hash(int file, const std::string& sha256) {
  Sha256 hash;
  std::vector<char> buffer(static_cast<std::size_t>(queue::kInputPiece));
  for (off_t done = 0;;) {
    const ssize_t n = pread(file, buffer.data(), buffer.size(), done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) return hash.hex() == sha256;
    hash.add({buffer.data(), static_cast<std::size_t>(n)});
    done += n;
  }
}

/// Nobody uses it. Whoever opened it and has no lock yet finds out that it has no name any more.
bool remove_unused(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  const bool gone = flock(file, LOCK_EX | LOCK_NB) == 0 && unlink(path.c_str()) == 0;
  close(file);
  return gone;
}

template <class Function>
void for_each_program(EvaluationRequest& request, const Function& function) {
  for (CheckCase& check : request.checks) {
    function(check.reference);
    function(check.candidate);
  }
  function(request.timed.reference);
  function(request.timed.candidate);
}

bool names_inputs(const EvaluationRequest& request) {
  const auto in = [](const ConcreteProgram& program) {
    return std::ranges::any_of(program.buffers, [](const ConcreteBuffer& buffer) {
      return sent_file(buffer.fill.path).has_value();
    });
  };
  return in(request.timed.reference) || in(request.timed.candidate) ||
         std::ranges::any_of(request.checks, [&](const CheckCase& check) {
           return in(check.reference) || in(check.candidate);
         });
}

/// The request with paths of this machine. What it names is there as long as `uses` lives.
Result<EvaluationRequest> with_local_inputs(EvaluationRequest request, InputCache& cache,
                                            Uses& uses) {
  Result<void> done;
  for_each_program(request, [&](ConcreteProgram& program) {
    for (ConcreteBuffer& buffer : program.buffers) {
      const auto sent = sent_file(buffer.fill.path);
      if (!done || !sent) continue;
      auto& use = uses[sent->sha256];
      if (use == nullptr) {
        auto got = cache.use(sent->sha256);
        if (!got) {
          done = fail(got.error().code,
                      fmt::format("'{}' of {}: {}", buffer.name, sent->name, got.error().message));
          continue;
        }
        use = std::move(*got);
      }
      buffer.fill.path = use->path();
      buffer.fill.offset = 0;
    }
  });
  if (!done) return std::unexpected(done.error());
  return request;
}

}  // namespace
}  // namespace input_cache

InputCache::Use::~Use() { close(file_); }

std::filesystem::path InputCache::default_folder() {
  const std::filesystem::path compiled = default_compile_cache();
  return compiled.empty() ? compiled : compiled.parent_path() / "inputs";
}

bool InputCache::make_folder(const std::filesystem::path& folder) {
  std::error_code code;
  const bool made = std::filesystem::create_directories(folder, code);
  if (code) return false;
  if (!made) return true;
  if (chmod(folder.c_str(), 0700) != 0) return false;
  if (geteuid() != 0) return true;
  return chown(folder.c_str(), 0, input_cache::kNobody) == 0 && chmod(folder.c_str(), 0750) == 0;
}

Result<std::shared_ptr<const InputCache::Use>> InputCache::use(const std::string& sha256) {
  if (options_.folder.empty()) {
    return fail(ErrorCode::kEnvironment,
                "this worker has no folder for inputs: set HOME or XDG_CACHE_HOME for it");
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !at_work_.contains(sha256); });
  if (auto known = in_use_[sha256].lock()) return known;
  const auto begin = Clock::now();
  if (const auto known = damaged_.find(sha256); known != damaged_.end()) {
    if (begin < known->second.second) return std::unexpected(known->second.first);
    damaged_.erase(known);
  }
  at_work_.insert(sha256);
  lock.unlock();
  Result<std::shared_ptr<const Use>> result = fail(ErrorCode::kInfrastructure, "no memory left");
  try {
    auto there = open(sha256);
    Result<void> fetched;
    if (there == nullptr) fetched = fetch(sha256);
    if (there == nullptr && fetched) there = open(sha256);
    if (there != nullptr) {
      result = std::move(there);
    } else {
      result = fetched ? fail(ErrorCode::kInfrastructure, "an input went while it was fetched")
                       : std::unexpected(fetched.error());
    }
  } catch (const std::exception& e) {
    result = fail(ErrorCode::kInfrastructure, e.what());
  }
  lock.lock();
  at_work_.erase(sha256);
  std::erase_if(in_use_, [](const auto& item) { return item.second.expired(); });
  if (result) in_use_[sha256] = *result;
  // Whoever needs it next would load all of it again, to find the same.
  if (!result && result.error().code == ErrorCode::kInvalidInput) {
    const auto now = Clock::now();
    std::erase_if(damaged_, [&](const auto& item) { return item.second.second < now; });
    damaged_.insert_or_assign(
        sha256, std::pair(result.error(), now + input_cache::kPauses * (now - begin)));
  }
  changed_.notify_all();
  return result;
}

/// Null: it is not there, or has other bytes and is removed.
std::shared_ptr<const InputCache::Use> InputCache::open(const std::string& sha256) {
  const auto path = options_.folder / sha256;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return nullptr;
  auto use = std::make_shared<const Use>(path, file);
  struct stat status{};
  if (flock(file, LOCK_SH) != 0 || fstat(file, &status) != 0 || status.st_nlink == 0)
    return nullptr;
  bool good = false;
  {
    const std::lock_guard lock(mutex_);
    good = good_.contains(sha256);
  }
  if (!good && !input_cache::has_hash(file, sha256)) {
    unlink(path.c_str());
    return nullptr;
  }
  {
    const std::lock_guard lock(mutex_);
    good_.insert(sha256);
  }
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used just now
  return use;
}

Result<void> InputCache::fetch(const std::string& sha256) {
  using namespace input_cache;
  static std::atomic<unsigned> number = 0;
  const auto unfinished = options_.folder / fmt::format("{}{}-{}", kUnfinished, getpid(), ++number);
  const int file =
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    return fail(ErrorCode::kEnvironment,
                fmt::format("an input cannot be kept on this worker: {}", std::strerror(errno)));
  }
  if (geteuid() == 0 && fchown(file, 0, kNobody) == 0) (void)fchmod(file, 0640);
  std::int64_t bytes = 0, reserved = 0;
  auto done = inputs_.get(sha256, [&](std::string_view piece, std::int64_t all) -> Result<void> {
    if (bytes == 0) {
      if (auto room = make_room(all); !room) return room;
      reserved = all;
    }
    bytes += std::ssize(piece);
    return write_all(file, piece);
  });
  if (close(file) != 0 && done) {
    done = fail(ErrorCode::kEnvironment,
                fmt::format("an input cannot be kept on this worker: {}", std::strerror(errno)));
  }
  std::error_code code;
  if (done) fs::rename(unfinished, options_.folder / sha256, code);
  {
    const std::lock_guard lock(room_);
    reserved_ -= reserved;
  }
  if (done && code) {
    done = fail(ErrorCode::kEnvironment,
                fmt::format("an input cannot be kept on this worker: {}", code.message()));
  }
  if (!done) {
    fs::remove(unfinished, code);
    return done;
  }
  {
    const std::lock_guard lock(mutex_);
    good_.insert(sha256);
  }
  if (options_.on_fetched) options_.on_fetched(bytes);
  log_({.level = LogLevel::kInfo,
        .event = "input_fetched",
        .message = fmt::format("fetched an input of {} ({})", queue::size_text(bytes), sha256),
        .fields = {{"bytes", bytes}}});
  return {};
}

/// Removes what was used longest ago and is in use no more.
Result<void> InputCache::make_room(std::int64_t bytes) {
  using namespace input_cache;
  const std::lock_guard lock(room_);
  struct Entry {
    fs::file_time_type used;
    std::int64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::int64_t total = reserved_;
  std::error_code code;
  const auto now = fs::file_time_type::clock::now();
  for (auto it = fs::directory_iterator(options_.folder, code);
       !code && it != fs::directory_iterator(); it.increment(code)) {
    // Another worker may remove it meanwhile: every call may fail, and none matters.
    std::error_code gone;
    const auto used = it->last_write_time(gone);
    const auto size = gone ? 0 : it->file_size(gone);
    if (gone) continue;
    if (it->path().filename().string().starts_with(kUnfinished)) {
      const bool own =
          it->path().filename().string().starts_with(fmt::format("{}{}-", kUnfinished, getpid()));
      if (now - used > kLeftBehind) {
        fs::remove(it->path(), gone);
      } else if (!own) {
        total += static_cast<std::int64_t>(size);
      }
      continue;
    }
    entries.push_back({used, static_cast<std::int64_t>(size), it->path()});
    total += static_cast<std::int64_t>(size);
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total + bytes <= options_.most_bytes) break;
    if (remove_unused(entry.path)) total -= entry.bytes;
  }
  if (total + bytes <= options_.most_bytes) {
    reserved_ += bytes;
    return {};
  }
  return fail(ErrorCode::kEnvironment,
              fmt::format("an input of {} does not fit beside {} in use: this worker keeps {} at "
                          "most, see its --input-cache",
                          queue::size_text(bytes), queue::size_text(total),
                          queue::size_text(options_.most_bytes)));
}

Result<Evaluation> LocalInputs::admit(const EvaluationRequest& request) {
  if (!input_cache::names_inputs(request)) return evaluator_.admit(request);
  input_cache::Uses uses;
  const auto local = input_cache::with_local_inputs(request, cache_, uses);
  if (!local) return std::unexpected(local.error());
  return evaluator_.admit(*local);
}

Result<Evaluation> LocalInputs::evaluate(const EvaluationRequest& request) {
  if (!input_cache::names_inputs(request)) return evaluator_.evaluate(request);
  input_cache::Uses uses;
  const auto local = input_cache::with_local_inputs(request, cache_, uses);
  // The task was admitted, so somebody had it: another worker may.
  if (!local) return fail(ErrorCode::kInfrastructure, local.error().message);
  return evaluator_.evaluate(*local);
}

}  // namespace hone
