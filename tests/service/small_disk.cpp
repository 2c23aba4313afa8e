#include "tests/service/small_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace hone::test {

std::unique_ptr<SmallDisk> SmallDisk::make(std::int64_t bytes, std::string& why_not) {
  const auto failed = [&](const char* what) {
    why_not = fmt::format("{}: {}", what, std::strerror(errno));
    return nullptr;
  };
  std::unique_ptr<SmallDisk> disk(new SmallDisk);
  const std::string path = disk->folder_.file("disk");
  std::filesystem::create_directories(path);
  if (unshare(CLONE_NEWNS) != 0) return failed("a mount namespace of its own");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return failed("private mounts");
  if (mount("hone-test", path.c_str(), "tmpfs", 0, fmt::format("size={}", bytes).c_str()) != 0)
    return failed("a tmpfs");
  disk->path_ = path;
  return disk;
}

SmallDisk::~SmallDisk() {
  if (!path_.empty()) (void)umount2(path_.c_str(), MNT_DETACH);
}

void SmallDisk::fill() const {
  const int file = open((path_ / "filler").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0) throw std::runtime_error("the disk cannot be filled");
  for (std::size_t block : {std::size_t{1} << 16, std::size_t{1}}) {
    const std::vector<char> bytes(block, 'x');
    while (write(file, bytes.data(), bytes.size()) > 0) {
    }
  }
  const bool full = errno == ENOSPC;
  close(file);
  if (!full) throw std::runtime_error("the disk did not get full");
}

void SmallDisk::free() const { std::filesystem::remove(path_ / "filler"); }

}  // namespace hone::test
