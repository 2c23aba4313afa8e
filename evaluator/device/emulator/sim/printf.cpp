// What a kernel says by itself: printf's text, and the message of a failed assert.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {

constexpr std::size_t kMaxOutput = 1 << 20;  // [B] a launch; CUDA's FIFO is as large
constexpr std::size_t kMaxString = 4096;     // [B]
constexpr int kMaxField = 1024;              ///< characters one conversion may take

/// Reads the packed arguments of one call: each at its natural alignment.
class Arguments {
 public:
  explicit Arguments(std::function<bool(std::uint64_t, void*, std::size_t)> read)
      : read_(std::move(read)) {}
  template <class T>
  T next() {
    T value{};
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    ok_ = read_(at_, &value, sizeof value) && ok_;
    at_ += sizeof(T);
    ++count_;
    return value;
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::function<bool(std::uint64_t, void*, std::size_t)> read_;
  std::uint64_t at_ = 0;
  int count_ = 0;
  bool ok_ = true;
};

template <class T>
std::string formatted(const std::string& spec, T value) {
  char text[kMaxField + 1];
  const int n = std::snprintf(text, sizeof text, spec.c_str(), value);
  return n < 0 ? std::string() : std::string(text, std::min(n, kMaxField));
}

/// Formats as CUDA's printf does: %[flags][width][.precision][h|l|ll]type, any other text as it is.
std::string format(const std::string& text, Arguments& arguments,
                   const std::function<std::string(std::uint64_t)>& string_at) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const std::size_t begin = i++;
    std::string spec = "%";
    const auto number = [&] {
      if (i < text.size() && text[i] == '*') {
        const int value = std::clamp(arguments.next<std::int32_t>(), -kMaxField, kMaxField);
        spec += std::to_string(value);
        ++i;
        return;
      }
      int value = 0;
      const std::size_t first = i;
      for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
        value = std::min(kMaxField, value * 10 + (text[i] - '0'));
      if (i > first) spec += std::to_string(value);
    };
    while (i < text.size() && std::strchr("-+ #0", text[i])) spec += text[i++];
    number();
    if (i < text.size() && text[i] == '.') {
      spec += text[i++];
      number();
    }
    int longs = 0;
    while (i < text.size() && std::strchr("hlzjt", text[i])) {
      if (text[i] != 'h') longs += 1;
      ++i;
    }
    const char type = i < text.size() ? text[i] : '\0';
    switch (type) {
      case 'd':
      case 'i':
        // `long` has 8 bytes in device code.
        out += longs ? formatted(spec + "ll" + type, arguments.next<long long>())
                     : formatted(spec + type, arguments.next<int>());
        break;
      case 'o':
      case 'u':
      case 'x':
      case 'X':
        out += longs ? formatted(spec + "ll" + type, arguments.next<unsigned long long>())
                     : formatted(spec + type, arguments.next<unsigned>());
        break;
      case 'c':
        out += formatted(spec + type, arguments.next<int>());
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        out += formatted(spec + type, arguments.next<double>());
        break;
      case 's':
        out += formatted(spec + type, string_at(arguments.next<std::uint64_t>()).c_str());
        break;
      case 'p':
        out += formatted(spec + type, reinterpret_cast<void*>(arguments.next<std::uint64_t>()));
        break;
      case '%':
        out += '%';
        break;
      default:  // unknown: as it is written
        out += text.substr(begin, i < text.size() ? i - begin + 1 : std::string::npos);
        break;
    }
  }
  return out;
}

}  // namespace

bool Block::read_generic(const Warp& w, int lane, std::uint64_t address, void* out,
                         std::size_t bytes) const {
  const std::uint8_t* from = nullptr;
  const auto inside = [&](std::uint64_t base, std::uint64_t size) {
    return address - base < size && size - (address - base) >= bytes;
  };
  switch (window(address)) {
    case Space::kShared:
      if (inside(kSharedBase, run_.shared_bytes)) from = shared_.data() + (address - kSharedBase);
      break;
    case Space::kLocal:
      if (!inside(kLocalBase, w.local_stride)) return false;
      for (std::size_t b = 0; b < bytes; ++b)
        static_cast<std::uint8_t*>(out)[b] = w.local[local_place(address - kLocalBase + b, lane)];
      return true;
    case Space::kConst:
      if (inside(kConstBase, module_.const_bank.size()))
        from = module_.const_bank.data() + (address - kConstBase);
      break;
    case Space::kParam:
      if (inside(kParamBase, run_.launch->parameters.size()))
        from = run_.launch->parameters.data() + (address - kParamBase);
      break;
    default: {
      auto* to = static_cast<std::uint8_t*>(out);
      for (std::size_t done = 0; done < bytes;) {
        Span span;
        if (!run_.memory->span(address + done, 1, span)) return false;
        const std::uint64_t at = address + done - span.lo;
        const std::size_t n = std::min<std::size_t>(bytes - done, span.bytes - at);
        std::memcpy(to + done, span.data + at, n);
        done += n;
      }
      return true;
    }
  }
  if (!from) return false;
  std::memcpy(out, from, bytes);
  return true;
}

std::string Block::read_string(const Warp& w, int lane, std::uint64_t address) const {
  std::string text;
  if (address == 0) return "(null)";
  for (char c = 0; text.size() < kMaxString; text += c) {
    if (!read_generic(w, lane, address + text.size(), &c, 1))
      return text.empty() ? "(unreadable)" : text;
    if (c == 0) break;
  }
  return text;
}

std::uint64_t Block::call_argument(const Inst& in, int lane, std::size_t index) const {
  const auto& arguments = function_->calls[in.extra].arguments;
  if (index >= arguments.size()) return 0;
  std::uint64_t value = 0;
  std::memcpy(
      &value,
      frame_ + function_->formal_offset + lane * function_->formal_bytes + arguments[index].from,
      std::min<std::size_t>(sizeof value, arguments[index].bytes));
  return value;
}

void Block::print(const Warp& w, const Inst& in, std::uint32_t mask) {
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::string text = read_string(w, lane, call_argument(in, lane, 0));
    const std::uint64_t values = call_argument(in, lane, 1);
    Arguments arguments([&](std::uint64_t at, void* out, std::size_t bytes) {
      return read_generic(w, lane, values + at, out, bytes);
    });
    const std::string line = format(
        text, arguments, [&](std::uint64_t address) { return read_string(w, lane, address); });
    const auto& results = function_->calls[in.extra].results;
    if (!results.empty()) {
      const std::int32_t count = arguments.count();
      std::memcpy(
          frame_ + function_->formal_offset + lane * function_->formal_bytes + results[0].to,
          &count, std::min<std::size_t>(sizeof count, results[0].bytes));
    }
    if (run_.output.size() + line.size() <= kMaxOutput)
      run_.output += line;
    else
      run_.output_cut = true;
  }
}

bool Block::fail_assert(const Warp& w, const Inst& in, int lane) {
  return fail(FindingKind::kAssert,
              fmt::format("assertion `{}` failed at {}:{} in {}",
                          read_string(w, lane, call_argument(in, lane, 0)),
                          read_string(w, lane, call_argument(in, lane, 1)),
                          static_cast<std::uint32_t>(call_argument(in, lane, 2)),
                          read_string(w, lane, call_argument(in, lane, 3))),
              w, lane, in);
}

}  // namespace hone::emulator
