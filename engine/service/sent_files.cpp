#include "engine/service/sent_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "candidates/sent_file.h"
#include "engine/queue/sha256.h"

namespace hone {
namespace sent_files {
namespace {

constexpr const char* kInstead =
    "--describe-files sends made-up inputs of like mean and deviation instead";
constexpr const char* kParts = "`hone import --parts` cuts a module into tasks that read no files";

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// -1: there is no such file. [B]
  [[nodiscard]] std::int64_t size() const {
    struct stat status{};
    return file_ >= 0 && fstat(file_, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size
                                                                               : -1;
  }
  /// Empty: it cannot be read, or ends before.
  [[nodiscard]] std::string read(std::int64_t offset, std::int64_t bytes) const {
    std::string piece(static_cast<std::size_t>(bytes), '\0');
    for (std::size_t done = 0; done < piece.size();) {
      const ssize_t n = pread(file_, piece.data() + done, piece.size() - done,
                              offset + static_cast<std::int64_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return "";
      done += static_cast<std::size_t>(n);
    }
    return piece;
  }

 private:
  int file_;
};

std::unexpected<Error> unreadable(const std::string& path) {
  return invalid(fmt::format("{} cannot be read, or ends before what the task reads of it", path));
}

/// The most bytes that each buffer of the reference has, at any size of the task.
Result<std::vector<std::int64_t>> most_bytes(const Task& task) {
  std::vector<std::int64_t> most(task.reference.buffers.size(), 0);
  std::vector<Bindings> all = {task.sizes};
  all.insert(all.end(), task.check_sizes.begin(), task.check_sizes.end());
  for (const Bindings& sizes : all) {
    const auto program = instantiate(task.reference, sizes);
    if (!program) return std::unexpected(program.error());
    for (std::size_t i = 0; i < most.size(); ++i)
      most[i] = std::max<std::int64_t>(most[i], program->buffers[i].bytes());
  }
  return most;
}

Result<std::string> hash_of(const OpenFile& file, const FileRange& range) {
  Sha256 hash;
  for (std::int64_t done = 0; done < range.input.bytes;) {
    const auto piece =
        file.read(range.offset + done, std::min(queue::kInputPiece, range.input.bytes - done));
    if (piece.empty()) return unreadable(range.path);
    hash.add(piece);
    done += std::ssize(piece);
  }
  return hash.hex();
}

}  // namespace
}  // namespace sent_files

Result<HashedTask> with_hashed_files(Task task) {
  using namespace sent_files;
  const auto bytes = most_bytes(task);
  if (!bytes) return std::unexpected(bytes.error());
  const auto is_from_file = [](const Buffer& buffer) {
    return buffer.fill.kind == Fill::Kind::kFile && !sent_file(buffer.fill.path);
  };
  auto& buffers = task.reference.buffers;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!is_from_file(buffers[i])) continue;
    all += (*bytes)[i];
    if ((*bytes)[i] > queue::kMostInput) {
      return invalid(
          fmt::format("'{}' has {} of {}, and an input of at most {} can be sent: {}, "
                      "and {}",
                      buffers[i].name, queue::size_text((*bytes)[i]), buffers[i].fill.path,
                      queue::size_text(queue::kMostInput), kInstead, kParts));
    }
  }
  if (all > queue::kMostInputs) {
    return invalid(
        fmt::format("the inputs from files have {} in all, and a server takes at most "
                    "{}: {}, and {}",
                    queue::size_text(all), queue::size_text(queue::kMostInputs), kInstead, kParts));
  }
  HashedTask hashed;
  std::set<std::string> known;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!is_from_file(buffers[i])) continue;
    Fill& fill = buffers[i].fill;
    FileRange range{{"", (*bytes)[i]}, fill.path, fill.offset};
    const OpenFile file(range.path);
    if (file.size() < range.offset + range.input.bytes) return unreadable(range.path);
    auto hash = hash_of(file, range);
    if (!hash) return std::unexpected(hash.error());
    range.input.sha256 = std::move(*hash);
    fill.path =
        to_path({range.input.sha256, std::filesystem::path(range.path).filename().string()});
    if (!sent_file(fill.path))
      return invalid(fmt::format("{} has a name that cannot be sent", range.path));
    if (known.insert(range.input.sha256).second) hashed.ranges.push_back(std::move(range));
  }
  hashed.task = std::move(task);
  return hashed;
}

Result<SentFiles> send_files(queue::Broker& broker, const std::vector<FileRange>& ranges) {
  using namespace sent_files;
  queue::Inputs inputs(broker);
  std::vector<queue::Input> all;
  for (const FileRange& range : ranges) all.push_back(range.input);
  // A server that does not answer would not take the job either.
  const auto refused = [](const Error& error) -> std::unexpected<Error> {
    if (error.code == ErrorCode::kInfrastructure) return std::unexpected(error);
    return fail(error.code, fmt::format("{}; {}", error.message, kInstead));
  };
  const auto missing = inputs.offer(all);
  if (!missing) return refused(missing.error());
  SentFiles sent;
  for (const FileRange& range : ranges) {
    if (std::ranges::find(*missing, range.input.sha256) == missing->end()) {
      ++sent.there;
      continue;
    }
    const OpenFile file(range.path);
    Sha256 hash;
    const auto read = [&](std::int64_t offset, std::int64_t bytes) -> Result<std::string> {
      auto piece = file.read(range.offset + offset, bytes);
      if (piece.empty()) return unreadable(range.path);
      hash.add(piece);
      // Other bytes under this hash would fail this job and all later ones that need it.
      const bool last = offset + bytes == range.input.bytes;
      if (last && hash.hex() != range.input.sha256)
        return invalid(fmt::format("{} changed while it was sent", range.path));
      return piece;
    };
    if (const auto put = inputs.put(range.input, read); !put) return refused(put.error());
    ++sent.sent;
    sent.bytes += range.input.bytes;
  }
  return sent;
}

}  // namespace hone
