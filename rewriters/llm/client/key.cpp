#include "rewriters/llm/client/key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace hone::llm {
namespace {

constexpr std::size_t kShortest = 8, kLongest = 4096;

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<Error> bad_file(const std::string& path, std::string_view what) {
  return invalid(
      fmt::format("key file '{}': {}; it must be a regular file of yours that nobody else may read "
                  "or write (chmod 600), with the key and nothing else",
                  path, what));
}

/// What is wrong with who may read it, or nothing.
std::optional<std::string> complaint(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "not a regular file";
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return fmt::format("it belongs to user {}", status.st_uid);
  if ((status.st_mode & 077) != 0)
    return fmt::format("others may use it (mode {:03o})", status.st_mode & 0777);
  return std::nullopt;
}

}  // namespace

Key::Key(Key&& other) noexcept
    : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}

Key& Key::operator=(Key&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  bytes_ = std::move(other.bytes_);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

Key::~Key() { wipe(); }

void Key::wipe() noexcept {
  if (bytes_) explicit_bzero(bytes_.get(), size_);
}

Result<Key> Key::from_text(std::string_view text, std::string_view source) {
  if (text.size() < kShortest)
    return invalid(
        fmt::format("the key in {} has {} characters; a key has at least {}. Where the "
                    "server asks for none, give none",
                    source, text.size(), kShortest));
  if (text.size() > kLongest)
    return invalid(
        fmt::format("the key in {} has more than {} characters: not a key", source, kLongest));
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] <= ' ' || text[i] > '~')
      return invalid(
          fmt::format("the key in {}: character {} is a space, a line break or not "
                      "ASCII; a key has none",
                      source, i + 1));
  Key key;
  key.bytes_ = std::make_unique<char[]>(text.size());
  key.size_ = text.size();
  std::memcpy(key.bytes_.get(), text.data(), text.size());
  return key;
}

Result<Key> Key::from_environment(const char* variable) {
  char* const value = std::getenv(variable);
  if (value == nullptr) return Key();
  const std::string_view text(value);
  Result<Key> key = text.empty() ? Key() : from_text(text, variable);
  explicit_bzero(value, text.size());  // unsetenv() alone leaves it in /proc/PID/environ
  unsetenv(variable);
  return key;
}

Result<Key> Key::from_file(const std::string& path) {
  const OpenFile file(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.fd() < 0)
    return bad_file(path, errno == ELOOP ? "a symbolic link" : std::strerror(errno));
  struct stat status{};
  if (fstat(file.fd(), &status) != 0) return bad_file(path, std::strerror(errno));
  if (const auto what = complaint(status)) return bad_file(path, *what);

  std::array<char, kLongest + 8> bytes;
  std::size_t size = 0;
  Result<Key> key;
  while (true) {
    const ssize_t count = read(file.fd(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) key = bad_file(path, std::strerror(errno));
    if (count > 0) size += static_cast<std::size_t>(count);
    if (count <= 0 || size == bytes.size()) break;
  }
  std::string_view text(bytes.data(), size);
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (key) key = from_text(text, fmt::format("key file '{}'", path));
  explicit_bzero(bytes.data(), bytes.size());
  return key;
}

void hide_memory() { prctl(PR_SET_DUMPABLE, 0); }

}  // namespace hone::llm
