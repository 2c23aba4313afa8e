#include "engine/web/token.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace hone::web {
namespace {

constexpr std::size_t kLeast = 16, kMost = 1024;

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digest(std::string_view text) {
  Digest out{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
  return out;
}

}  // namespace

Result<std::string> read_token(const std::filesystem::path& path) {
  const auto wrong = [&](const std::string& what) {
    return invalid(fmt::format("--token-file {}: {}", path.string(), what));
  };
  // Not to hang where it is a pipe.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return wrong(std::strerror(errno));
  struct stat status{};
  const bool known = fstat(file, &status) == 0;
  std::array<char, kMost + 2> buffer{};
  const ssize_t size =
      known && S_ISREG(status.st_mode) ? read(file, buffer.data(), buffer.size()) : -1;
  close(file);
  if (!known || !S_ISREG(status.st_mode)) return wrong("is not a regular file");
  if ((status.st_mode & 077) != 0)
    return wrong(fmt::format("others than its owner may use it (mode {:o}); run chmod 600",
                             status.st_mode & 0777));
  if (status.st_uid != geteuid() && status.st_uid != 0) return wrong("belongs to somebody else");
  if (size < 0) return wrong(std::strerror(errno));
  std::string token(buffer.data(), static_cast<std::size_t>(size));
  token.resize(std::min(token.size(), token.find_first_of("\r\n")));
  const bool printable =
      std::ranges::all_of(token, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (token.size() < kLeast || token.size() > kMost || !printable)
    return wrong(fmt::format(
        "its first line must be {} to {} printable characters without spaces, such as `openssl "
        "rand -hex 32` gives",
        kLeast, kMost));
  return token;
}

bool same_secret(std::string_view given, std::string_view secret) {
  const Digest a = digest(given), b = digest(secret);
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace hone::web
