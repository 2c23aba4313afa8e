#include "sandbox/kept_programs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>

namespace hone::sandbox {
namespace {

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // Linux 6.3
#endif

struct KeptFile {
  int fd = -1;
  bool copied = false;
};

struct KeptFiles {
  std::mutex mutex;
  std::map<std::string, KeptFile> by_path;
};

KeptFiles& kept_files() {
  static KeptFiles files;
  return files;
}

void keep(const std::string& path, const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  auto& files = kept_files();
  const std::lock_guard lock(files.mutex);
  if (fd >= 0 && !files.by_path.try_emplace(path, KeptFile{fd}).second) close(fd);
}

bool is_there(const std::string& path, int fd) {
  struct stat there{}, kept{};
  return stat(path.c_str(), &there) == 0 && fstat(fd, &kept) == 0 && there.st_dev == kept.st_dev &&
         there.st_ino == kept.st_ino;
}

bool copy_all(int from, int to) {
  struct stat status{};
  if (fstat(from, &status) != 0) return false;
  off_t at = 0;
  while (at < status.st_size) {
    const ssize_t n = sendfile(to, from, &at, static_cast<std::size_t>(status.st_size - at));
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
  }
  return true;
}

/// In memory, and nobody can write to it; -1 where the system refuses that.
int sealed_copy(int from) {
  int writable = memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (writable < 0) writable = memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (writable < 0) return -1;
  const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  int copy = -1;
  if (copy_all(from, writable) && fcntl(writable, F_ADD_SEALS, seals) == 0) {
    // What is open for writing cannot be executed.
    copy = open(("/proc/self/fd/" + std::to_string(writable)).c_str(), O_RDONLY | O_CLOEXEC);
  }
  close(writable);
  return copy;
}

}  // namespace

void keep_programs(const std::vector<std::string>& names_beside) {
  keep(executable(), "/proc/self/exe");
  for (const auto& name : names_beside) {
    const std::string path = executable_folder() + "/" + name;
    keep(path, path);
  }
}

int kept_program(const std::string& path) {
  auto& files = kept_files();
  const std::lock_guard lock(files.mutex);
  const auto found = files.by_path.find(path);
  if (found == files.by_path.end()) return -1;
  KeptFile& kept = found->second;
  if (kept.copied || is_there(path, kept.fd)) return kept.fd;
  kept.copied = true;  // or refused, once and for all
  // The other descriptor stays open: a thread may be starting a child from it.
  if (const int copy = sealed_copy(kept.fd); copy >= 0) kept.fd = copy;
  return kept.fd;
}

const std::string& executable() {
  static const std::string path = [] {
    std::error_code code;
    const auto now = std::filesystem::read_symlink("/proc/self/exe", code);
    const std::string started_as = program_invocation_name;
    // "/opt/hone/bin/hone (deleted)"
    const bool replaced = code || !std::filesystem::exists(now, code);
    return replaced && started_as.starts_with("/") ? started_as : now.string();
  }();
  return path;
}

std::string executable_folder() { return std::filesystem::path(executable()).parent_path(); }

std::string library_folder() {
  return (std::filesystem::path(executable_folder()).parent_path() / "lib").string();
}

}  // namespace hone::sandbox
