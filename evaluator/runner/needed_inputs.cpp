#include "evaluator/runner/needed_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "evaluator/fill/formula_cpu.h"
#include "evaluator/runner/emulated_program.h"

namespace hone::runner {
namespace {

constexpr int kPlaces = 16;       // of a buffer, at which an element is changed
constexpr int kFewestPlaces = 6;  // that say anything
/// Places at which nothing may change: a border that the task's formula leaves out, a tie.
constexpr int kMayStay = 1;
constexpr std::uint64_t kMostOfAllRuns = 20'000'000;  // warp instructions of all runs; about 0.3 s
constexpr double kFar = 4;  // times the largest magnitude that a buffer holds
constexpr std::uint64_t kKey = 0x6E65656465640001ULL;

bool is_read(Role role) { return role == Role::kIn || role == Role::kInOut; }

/// Fills that are zero in most places: a program may leave out what is multiplied with those, of
/// this buffer or of another.
bool has_known_zeros(Fill::Kind kind) {
  return kind == Fill::Kind::kOneHot || kind == Fill::Kind::kLowerTriangle ||
         kind == Fill::Kind::kUpperTriangle;
}

/// What a buffer's elements are replaced with.
class OtherValues {
 public:
  OtherValues(const ConcreteBuffer& buffer, std::vector<std::uint8_t> bytes)
      : type_(buffer.type), bytes_(std::move(bytes)), least_(element(0)), most_(least_) {
    const int type = static_cast<int>(type_);
    double magnitude = 0;
    for (std::size_t i = 0; i < bytes_.size() / size_of(type_); ++i) {
      const std::uint64_t bits = element(i);
      const double value = hone_decode(type, bits);
      if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(value));
      if (value < hone_decode(type, least_)) least_ = bits;
      if (value > hone_decode(type, most_)) most_ = bits;
    }
    if (!is_float(type_)) return;
    const double far = kFar * (magnitude > 0 ? magnitude : 1);
    least_ = hone_encode_float(type, -far);
    most_ = hone_encode_float(type, far);
  }

  /// Of one element, to be tried one after the other until an output changes. Floats: far above and
  /// far below all others, so that maxima and minima change. Integers: the ends of what the buffer
  /// holds, so that an index stays one.
  [[nodiscard]] std::vector<std::uint64_t> of(std::size_t at) const {
    const std::uint64_t own = element(at);
    if (type_ == ScalarType::kBool) return {own == 0 ? std::uint64_t{1} : std::uint64_t{0}};
    std::vector<std::uint64_t> values;
    for (const std::uint64_t bits : {most_, least_})
      if (bits != own) values.push_back(bits);
    return values;
  }

 private:
  [[nodiscard]] std::uint64_t element(std::size_t i) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes_.data() + i * size_of(type_), size_of(type_));
    return bits;
  }

  ScalarType type_;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t least_, most_;
};

}  // namespace

std::set<std::string> needed_inputs(const protocol::Runnable& reference,
                                    const emulator::Module& module, std::uint64_t seed,
                                    const std::set<std::string>& read_whole,
                                    const std::map<int, std::vector<std::uint8_t>>& outputs,
                                    std::uint64_t instructions, int threads) {
  const auto& buffers = reference.program.buffers;
  std::set<std::string> needed;
  const bool zeros = std::ranges::any_of(buffers, [](const ConcreteBuffer& buffer) {
    return is_read(buffer.role) && has_known_zeros(buffer.fill.kind);
  });
  if (zeros) return needed;
  std::uint64_t candidates = 0;
  bool integers = false;
  for (const auto& buffer : buffers) {
    if (!is_read(buffer.role)) continue;
    integers = integers || !is_float(buffer.type);
    candidates += read_whole.contains(buffer.name) ? 1 : 0;
  }
  const std::uint64_t each = std::max<std::uint64_t>(1, instructions * candidates);
  const int places = static_cast<int>(std::min<std::uint64_t>(kPlaces, kMostOfAllRuns / each));
  for (std::size_t k = 0; k < buffers.size(); ++k) {
    const auto& buffer = buffers[k];
    if (!is_read(buffer.role) || !read_whole.contains(buffer.name)) continue;
    if (places < kFewestPlaces) {
      if (!integers) needed.insert(buffer.name);
      continue;
    }
    const int index = static_cast<int>(k);
    const std::size_t size = size_of(buffer.type);
    const auto load = [&] {
      return EmulatedProgram::load(reference, seed, EmulatedProgram::Outputs::kUninitialised);
    };
    auto first = load();
    if (!first || buffer.elements() == 0) continue;
    const OtherValues values(buffer, (*first)->read(index));
    /// Does an output change with the element?
    const auto counts = [&](std::size_t at) {
      for (const std::uint64_t bits : values.of(at)) {
        auto program = load();
        std::array<std::uint8_t, sizeof bits> bytes{};
        std::memcpy(bytes.data(), &bits, sizeof bits);
        if (!program || !(*program)->write(index, at * size, {bytes.data(), size})) return false;
        (*program)->set_threads(threads);
        // A run that does not end well shows that the element was used.
        const auto report = (*program)->run_all(module, 4 * instructions + 1'000'000, false);
        if (report.verdict != Verdict::kOk) return true;
        for (const auto& [output, want] : outputs)
          if ((*program)->read(output) != want) return true;
      }
      return false;
    };
    const auto elements = static_cast<std::uint64_t>(buffer.elements());
    int stayed = 0;
    for (int i = 0; i < places && stayed <= kMayStay; ++i) {
      const auto place = hone_bits(kKey ^ k, static_cast<std::uint64_t>(i)) % elements;
      if (!counts(static_cast<std::size_t>(place))) ++stayed;
    }
    if (stayed <= kMayStay) needed.insert(buffer.name);
  }
  return needed;
}

}  // namespace hone::runner
