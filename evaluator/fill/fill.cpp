#include "evaluator/fill/fill.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <random>
#include <vector>

#include "candidates/sent_file.h"
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
  hone_contents fill_;
  std::size_t size_;
};

/// A few elements have other values, or change places: then a sum of them says nothing.
class ChangedSource : public Source {
 public:
  ChangedSource(std::shared_ptr<const Source> source, const ConcreteBuffer& buffer,
                std::uint64_t changes)
      : source_(std::move(source)), other_(buffer, changes), size_(size_of(buffer.type)) {
    std::mt19937_64 random(buffer_key(changes, buffer.name));
    for (std::uint64_t& place : places_)
      place = random() % static_cast<std::uint64_t>(std::max<std::int64_t>(1, buffer.elements()));
    moved_ = random() % 2 != 0;
  }

  void read(std::uint64_t offset, std::uint8_t* out, std::size_t size) const override {
    source_->read(offset, out, size);
    for (std::size_t i = 0; i < kChanged; ++i) {
      const std::uint64_t place = places_[i] * size_;
      const std::uint64_t begin = std::max(offset, place);
      const std::uint64_t end = std::min(offset + size, place + size_);
      if (begin >= end) continue;
      std::uint8_t* const to = out + (begin - offset);
      if (moved_)
        source_->read(places_[(i + 1) % kChanged] * size_ + (begin - place), to, end - begin);
      else
        other_.read(begin, to, end - begin);
    }
  }

 private:
  static constexpr std::size_t kChanged = 3;  // few enough that samples of an input miss them
  const std::shared_ptr<const Source> source_;
  const GeneratedSource other_;
  const std::size_t size_;
  std::array<std::uint64_t, kChanged> places_;
  bool moved_ = false;
};

/// Reads `size` bytes from `offset` on, where each element of `width` bytes becomes
/// `change(its bits, its index)`.
template <class Change>
void read_changed(const Source& source, std::size_t width, std::uint64_t offset, std::uint8_t* out,
                  std::size_t size, Change&& change) {
  const std::uint64_t begin = offset / width * width;
  const std::uint64_t end = (offset + size + width - 1) / width * width;
  std::vector<std::uint8_t> whole(end - begin);
  source.read(begin, whole.data(), whole.size());
  for (std::size_t i = 0; i < whole.size(); i += width) {
    hone_u64 bits = 0;
    std::memcpy(&bits, whole.data() + i, width);
    bits = change(bits, (begin + i) / width);
    std::memcpy(whole.data() + i, &bits, width);
  }
  std::memcpy(out, whole.data() + (offset - begin), size);
}

/// Random floats are off in their last bits, few or many from one piece to the next, and every
/// second integer by one. All stay in the range of the fill.
class NearbySource : public Source {
 public:
  NearbySource(std::shared_ptr<const Source> source, const ConcreteBuffer& buffer,
               std::uint64_t changes)
      : source_(std::move(source)),
        fill_(formula_of(buffer, changes)),
        size_(size_of(buffer.type)) {}

  void read(std::uint64_t offset, std::uint8_t* out, std::size_t size) const override {
    read_changed(*source_, size_, offset, out, size,
                 [&](hone_u64 bits, std::uint64_t index) { return near(bits, index); });
  }

 private:
  static constexpr std::uint64_t kPiece = 256;
  [[nodiscard]] static std::uint64_t most_bits(int type) {
    switch (type) {
      case HONE_F64:
        return 40;
      case HONE_F32:
        return 12;
      case HONE_F16:
        return 4;
      case HONE_BF16:
        return 3;
      default:
        return 1;
    }
  }

  [[nodiscard]] hone_u64 near(hone_u64 bits, std::uint64_t index) const {
    const hone_u64 choice = hone_bits(fill_.key, index);
    const double v = hone_decode(fill_.type, bits);
    if (hone_is_float(fill_.type) == 0) {
      const hone_u64 other = bits ^ (choice & 1U);
      const double n = hone_decode(fill_.type, other);
      if (size_ == 8) return other - fill_.low <= fill_.span - 1 ? other : bits;
      return n >= fill_.a && n <= fill_.b ? other : bits;
    }
    if (fill_.kind == HONE_INTEGERS) {
      const double n = v + static_cast<double>(choice & 1U);
      return n <= fill_.b ? hone_encode_float(fill_.type, n) : bits;
    }
    if (v == 0) return bits;
    const hone_u64 many = 1 + hone_bits(fill_.key ^ 1U, index / kPiece) % most_bits(fill_.type);
    const hone_u64 other = bits ^ (choice & ((hone_u64{1} << many) - 1));
    const double n = hone_decode(fill_.type, other);
    const bool normal = fill_.kind == HONE_NORMAL && !std::isnan(n);
    return normal || (n >= fill_.a && n <= fill_.b) ? other : bits;
  }

  const std::shared_ptr<const Source> source_;
  const hone_fill fill_;
  const std::size_t size_;
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
  /// The elements begin `skipped` bytes behind the mapped ones.
  FileSource(const std::uint8_t* data, std::uint64_t size, std::uint64_t skipped)
      : data_(data), size_(size), skipped_(skipped) {}
  ~FileSource() override { munmap(const_cast<std::uint8_t*>(data_), size_); }
  void read(std::uint64_t offset, std::uint8_t* out, std::size_t size) const override {
    if (skipped_ + offset + size <= size_) std::memcpy(out, data_ + skipped_ + offset, size);
  }

 private:
  const std::uint8_t* data_;
  std::uint64_t size_, skipped_;
};

/// The elements of a file, of f32 or f64, rounded to TF32.
class RoundedSource : public Source {
 public:
  RoundedSource(std::shared_ptr<const Source> source, ScalarType type)
      : source_(std::move(source)), type_(static_cast<int>(type)), size_(size_of(type)) {}

  void read(std::uint64_t offset, std::uint8_t* out, std::size_t size) const override {
    read_changed(*source_, size_, offset, out, size, [&](hone_u64 bits, std::uint64_t /*index*/) {
      return hone_rounded_to_tf32(type_, bits);
    });
  }

 private:
  const std::shared_ptr<const Source> source_;
  const int type_;
  const std::size_t size_;
};

/// `value`, which is whole, as the bits of an integer of this type; the nearest one that it has.
std::uint64_t to_bits(ScalarType type, double value) {
  if (type == ScalarType::kU64)
    return value <= 0 ? 0 : value >= 0x1p64 ? ~0ULL : static_cast<std::uint64_t>(value);
  if (type == ScalarType::kI64 && value >= 0x1p63) return ~0ULL >> 1;
  if (type == ScalarType::kI64 && value <= -0x1p63) return 1ULL << 63;
  return static_cast<std::uint64_t>(hone_to_i64(value));
}

/// The numbers of a fill of integers.
void set_whole(hone_fill& formula, const Fill& fill, ScalarType type) {
  if (fill.kind == Fill::Kind::kIota) {
    const auto whole = [](double v) { return v == std::trunc(v) && std::abs(v) < 0x1p63; };
    formula.whole = fill.exact || (whole(fill.a) && whole(fill.b)) ? 1 : 0;
    if (formula.whole == 0) return;
    formula.low = fill.exact ? (*fill.exact)[0] : to_bits(ScalarType::kI64, fill.a);
    formula.span = fill.exact ? (*fill.exact)[1] : to_bits(ScalarType::kI64, fill.b);
    return;
  }
  if (fill.kind == Fill::Kind::kConstant) {
    formula.low = fill.exact ? (*fill.exact)[0] : to_bits(type, std::floor(fill.a));
    return;
  }
  std::uint64_t low = to_bits(type, std::ceil(fill.a)), high = to_bits(type, std::floor(fill.b));
  if (fill.exact) {
    low = (*fill.exact)[0];
    high = (*fill.exact)[1];
  } else if (size_of(type) < 8) {
    const std::int64_t least = hone_type_min(static_cast<int>(type)),
                       most = hone_type_max(static_cast<int>(type));
    low = static_cast<std::uint64_t>(std::clamp(static_cast<std::int64_t>(low), least, most));
    high = static_cast<std::uint64_t>(std::min(static_cast<std::int64_t>(high), most));
  }
  const bool empty = type == ScalarType::kU64
                         ? high < low
                         : static_cast<std::int64_t>(high) < static_cast<std::int64_t>(low);
  formula.low = low;
  formula.span = empty ? 1 : high - low + 1;
}

/// Of a normal fill of integers, and of what is rounded, neighbours would be other numbers.
bool has_last_bits(const ConcreteBuffer& buffer) {
  const Fill& fill = buffer.fill;
  const bool random = fill.kind == Fill::Kind::kUniform || fill.kind == Fill::Kind::kIntegers ||
                      (fill.kind == Fill::Kind::kNormal && is_float(buffer.type));
  return random && !fill.through && !fill.tf32 && buffer.type != ScalarType::kBool;
}

}  // namespace

std::uint64_t buffer_key(std::uint64_t seed, std::string_view buffer_name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : buffer_name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hone_key(seed, hash);
}

std::string changed_buffer(const ConcreteProgram& program, std::uint64_t changes) {
  std::vector<std::string> names;
  for (const ConcreteBuffer& buffer : program.buffers) {
    if (buffer.role != Role::kIn && buffer.role != Role::kInOut) continue;
    if ((changes & kLastBits) != 0) {
      if (has_last_bits(buffer)) names.push_back(buffer.name);
      continue;
    }
    switch (buffer.fill.kind) {
      case Fill::Kind::kUniform:
      case Fill::Kind::kNormal:
      case Fill::Kind::kIntegers:
      case Fill::Kind::kTails:
      case Fill::Kind::kEither:
      case Fill::Kind::kMultiples:
        names.push_back(buffer.name);
        break;
      default:
        break;
    }
  }
  std::ranges::sort(names);
  return names.empty() ? "" : names[changes % names.size()];
}

hone_contents formula_of(const ConcreteBuffer& buffer, std::uint64_t seed) {
  const Fill& fill = buffer.fill;
  hone_contents formula{};
  formula.kind = static_cast<int>(fill.kind);
  formula.type = static_cast<int>(buffer.type);
  formula.through = fill.through ? static_cast<int>(*fill.through) : -1;
  formula.tf32 = fill.tf32 ? 1 : 0;
  formula.key = buffer_key(seed, buffer.name);
  formula.a = fill.a;
  formula.b = fill.b;
  formula.step = fill.step;
  formula.form = fill.form;
  const std::size_t rank = buffer.shape.size();
  formula.width = rank > 0 ? static_cast<hone_u64>(buffer.shape[rank - 1]) : 1;
  formula.height = rank > 1 ? static_cast<hone_u64>(buffer.shape[rank - 2]) : 1;
  formula.count = static_cast<hone_u64>(std::max<std::int64_t>(1, buffer.elements()));
  formula.pattern = fill.pattern;
  formula.other = buffer_key(seed, fill.like.empty() ? buffer.name : fill.like);
  formula.group = buffer_key(seed, "");
  formula.other_a = fill.like_a;
  formula.other_b = fill.like_b;
  formula.other_count = static_cast<hone_u64>(fill.like_count);
  if (is_float(buffer.type)) return formula;
  set_whole(formula, fill, buffer.type);
  if (fill.like_count > 0) {
    hone_fill other{};
    set_whole(other, {.kind = Fill::Kind::kIntegers, .a = fill.like_a, .b = fill.like_b},
              buffer.type);
    formula.other_low = other.low;
    formula.other_span = other.span;
  }
  return formula;
}

namespace {

/// Why a file cannot be opened. `error`: an errno.
std::string why_not_open(int error) {
  std::string why = std::strerror(error);
  constexpr uid_t kNobody = 65534;  // sandbox/README.md
  if (error == EACCES && geteuid() == kNobody) {
    why +=
        "; the sandbox's processes are 'nobody' where root runs hone: let others read it (chmod "
        "o+r)";
  }
  return why;
}

}  // namespace

Result<std::shared_ptr<const Source>> Source::open(const ConcreteBuffer& buffer,
                                                   std::uint64_t seed) {
  if (buffer.fill.kind != Fill::Kind::kFile) return std::make_shared<GeneratedSource>(buffer, seed);
  if (const auto sent = sent_file(buffer.fill.path)) {
    return invalid(
        fmt::format("buffer '{}' holds what was sent to a service as '{}', and that is "
                    "not on this machine (SHA-256 {})",
                    buffer.name, sent->name, sent->sha256));
  }
  const auto where = fmt::format("buffer '{}': fill file '{}'", buffer.name, buffer.fill.path);
  const int fd = ::open(buffer.fill.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return invalid(fmt::format("{}: {}", where, why_not_open(errno)));
  struct stat info{};
  const auto from = static_cast<std::uint64_t>(buffer.fill.offset);
  const auto bytes = static_cast<std::uint64_t>(buffer.bytes());
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<std::uint64_t>(info.st_size) < from + bytes) {
    close(fd);
    return invalid(fmt::format("{} has {} bytes; the buffer needs {}", where,
                               static_cast<long long>(info.st_size), from + bytes));
  }
  // A file is mapped from the beginning of a page.
  const std::uint64_t skipped = from % static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  void* data = mmap(nullptr, skipped + bytes, PROT_READ, MAP_PRIVATE, fd,
                    static_cast<off_t>(from - skipped));
  close(fd);
  if (data == MAP_FAILED) return invalid(fmt::format("{}: {}", where, std::strerror(errno)));
  auto source = std::make_shared<FileSource>(static_cast<const std::uint8_t*>(data),
                                             skipped + bytes, skipped);
  if (buffer.fill.tf32) return std::make_shared<RoundedSource>(std::move(source), buffer.type);
  return source;
}

std::shared_ptr<const Source> Source::with_changes(std::shared_ptr<const Source> source,
                                                   const ConcreteBuffer& buffer,
                                                   std::uint64_t changes) {
  if ((changes & kLastBits) != 0) {
    if (!has_last_bits(buffer)) return source;
    return std::make_shared<NearbySource>(std::move(source), buffer, changes);
  }
  return std::make_shared<ChangedSource>(std::move(source), buffer, changes);
}

Result<std::shared_ptr<const Source>> Source::open_repeating(const ConcreteBuffer& buffer,
                                                             std::uint64_t seed) {
  constexpr std::uint64_t kElements = 262147;  // a prime: rows of a matrix differ
  auto source = open(buffer, seed);
  const bool random = buffer.fill.pattern == 0 && (buffer.fill.kind == Fill::Kind::kUniform ||
                                                   buffer.fill.kind == Fill::Kind::kNormal ||
                                                   buffer.fill.kind == Fill::Kind::kIntegers);
  const std::uint64_t period = kElements * size_of(buffer.type);
  if (!source || !random || static_cast<std::uint64_t>(buffer.bytes()) <= 4 * period) return source;
  return std::make_shared<RepeatingSource>(std::move(*source), period);
}

}  // namespace hone::fill
