#include "evaluator/fill/fill.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "evaluator/fill/formula_cpu.h"

namespace hone::fill {
namespace {

class GeneratedSource : public Source {
 public:
  GeneratedSource(const ConcreteBuffer& buffer, std::uint64_t seed)
      : fill_(formula_of(buffer, seed)), size_(size_of(buffer.type)) {}

  void read(std::uint64_t offset, std::uint8_t* out, std::size_t size) const override {
    while (size > 0) {
      const std::uint64_t index = offset / size_;
      const std::size_t skip = offset % size_;
      const std::size_t n = std::min(size, size_ - skip);
      const hone_u64 bits = hone_element(fill_, index);
      std::memcpy(out, reinterpret_cast<const std::uint8_t*>(&bits) + skip, n);
      out += n;
      offset += n;
      size -= n;
    }
  }

 private:
  hone_fill fill_;
  std::size_t size_;
};

class RepeatingSource : public Source {
 public:
  RepeatingSource(std::shared_ptr<const Source> source, std::uint64_t period)
      : source_(std::move(source)), contents_(period) {}

  void read(std::uint64_t offset, std::uint8_t* out, std::size_t size) const override {
    std::call_once(once_, [&] { source_->read(0, contents_.data(), contents_.size()); });
    while (size > 0) {
      const std::size_t at = offset % contents_.size();
      const std::size_t n = std::min(size, contents_.size() - at);
      std::memcpy(out, contents_.data() + at, n);
      out += n;
      offset += n;
      size -= n;
    }
  }

 private:
  const std::shared_ptr<const Source> source_;
  mutable std::once_flag once_;
  mutable std::vector<std::uint8_t> contents_;
};

class FileSource : public Source {
 public:
  FileSource(const std::uint8_t* data, std::uint64_t size) : data_(data), size_(size) {}
  ~FileSource() override { munmap(const_cast<std::uint8_t*>(data_), size_); }
  void read(std::uint64_t offset, std::uint8_t* out, std::size_t size) const override {
    if (offset + size <= size_) std::memcpy(out, data_ + offset, size);
  }

 private:
  const std::uint8_t* data_;
  std::uint64_t size_;
};

}  // namespace

std::uint64_t buffer_key(std::uint64_t seed, std::string_view buffer_name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : buffer_name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hone_key(seed, hash);
}

hone_fill formula_of(const ConcreteBuffer& buffer, std::uint64_t seed) {
  return {static_cast<int>(buffer.fill.kind),
          static_cast<int>(buffer.type),
          buffer.fill.through ? static_cast<int>(*buffer.fill.through) : -1,
          buffer_key(seed, buffer.name),
          buffer.fill.a,
          buffer.fill.b,
          buffer.fill.step};
}

Result<std::shared_ptr<const Source>> Source::open(const ConcreteBuffer& buffer,
                                                   std::uint64_t seed) {
  if (buffer.fill.kind != Fill::Kind::kFile) return std::make_shared<GeneratedSource>(buffer, seed);
  const auto where = fmt::format("buffer '{}': fill file '{}'", buffer.name, buffer.fill.path);
  const int fd = ::open(buffer.fill.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return invalid(fmt::format("{}: {}", where, std::strerror(errno)));
  struct stat info{};
  const auto bytes = static_cast<std::uint64_t>(buffer.bytes());
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<std::uint64_t>(info.st_size) < bytes) {
    close(fd);
    return invalid(fmt::format("{} has {} bytes; the buffer needs {}", where,
                               static_cast<long long>(info.st_size), bytes));
  }
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (data == MAP_FAILED) return invalid(fmt::format("{}: {}", where, std::strerror(errno)));
  return std::make_shared<FileSource>(static_cast<const std::uint8_t*>(data), bytes);
}

Result<std::shared_ptr<const Source>> Source::open_repeating(const ConcreteBuffer& buffer,
                                                             std::uint64_t seed) {
  constexpr std::uint64_t kElements = 262147;  // a prime: rows of a matrix differ
  auto source = open(buffer, seed);
  const bool random = buffer.fill.kind == Fill::Kind::kUniform ||
                      buffer.fill.kind == Fill::Kind::kNormal ||
                      buffer.fill.kind == Fill::Kind::kIntegers;
  const std::uint64_t period = kElements * size_of(buffer.type);
  if (!source || !random || static_cast<std::uint64_t>(buffer.bytes()) <= 4 * period) return source;
  return std::make_shared<RepeatingSource>(std::move(*source), period);
}

}  // namespace hone::fill
