#include "evaluator/runner/needed_inputs.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "evaluator/fill/formula_cpu.h"
#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/other_values.h"

namespace hone::runner {
namespace {

constexpr int kPlaces = 16;       // of a buffer, at which an element is changed
constexpr int kFewestPlaces = 6;  // that say anything
/// Places at which nothing may change: a border that the task's formula leaves out, a tie.
constexpr int kMayStay = 1;
constexpr std::uint64_t kMostOfAllRuns = 20'000'000;  // warp instructions of all runs; about 0.3 s
constexpr std::uint64_t kKey = 0x6E65656465640001ULL;

bool is_read(Role role) { return role == Role::kIn || role == Role::kInOut; }

/// Fills that are zero in most places: a program may leave out what is multiplied with those, of
/// this buffer or of another.
bool has_known_zeros(Fill::Kind kind) {
  return kind == Fill::Kind::kOneHot || kind == Fill::Kind::kLowerTriangle ||
         kind == Fill::Kind::kUpperTriangle;
}

}  // namespace

bool is_needed(const protocol::Runnable& reference, const emulator::Module& module,
               std::uint64_t seed, const std::string& name, int asked, const ReferenceRun& run,
               int threads) {
  const auto& buffers = reference.program.buffers;
  const auto found = std::ranges::find(buffers, name, &ConcreteBuffer::name);
  if (found == buffers.end() || !is_read(found->role)) return false;
  bool integers = false;
  for (const auto& buffer : buffers) {
    if (!is_read(buffer.role)) continue;
    if (has_known_zeros(buffer.fill.kind)) return false;
    integers = integers || !is_float(buffer.type);
  }
  const std::uint64_t instructions = run.warp_instructions;
  const std::uint64_t each =
      std::max<std::uint64_t>(1, instructions * static_cast<std::uint64_t>(std::max(1, asked)));
  const int places = static_cast<int>(std::min<std::uint64_t>(kPlaces, kMostOfAllRuns / each));
  if (places < kFewestPlaces) return !integers;
  const ConcreteBuffer& buffer = *found;
  const int index = static_cast<int>(found - buffers.begin());
  const std::size_t size = size_of(buffer.type);
  const auto load = [&] {
    return EmulatedProgram::load(reference, seed, EmulatedProgram::Outputs::kUninitialised);
  };
  auto first = load();
  if (!first || buffer.elements() == 0) return false;
  const auto bytes_of_buffer = (*first)->read(index);
  const auto own = [&](std::uint64_t at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes_of_buffer.data() + at * size, size);
    return bits;
  };
  const auto elements = static_cast<std::uint64_t>(buffer.elements());
  const OtherValues values(buffer, own, elements);
  /// Does an output change with the element?
  const auto counts = [&](std::size_t at) {
    for (const std::uint64_t bits : values.of(at, at)) {
      auto program = load();
      std::array<std::uint8_t, sizeof bits> bytes{};
      std::memcpy(bytes.data(), &bits, sizeof bits);
      if (!program || !(*program)->write(index, at * size, {bytes.data(), size})) return false;
      (*program)->set_threads(threads);
      // A run that does not end well shows that the element was used.
      const auto report = (*program)->run_all(module, 4 * instructions + 1'000'000, false);
      if (report.verdict != Verdict::kOk) return true;
      for (const auto& [output, want] : run.outputs)
        if ((*program)->read((*program)->index_of(output)) != want) return true;
    }
    return false;
  };
  const auto number = static_cast<std::uint64_t>(index);
  int stayed = 0;
  for (int i = 0; i < places && stayed <= kMayStay; ++i) {
    const auto place = hone_bits(kKey ^ number, static_cast<std::uint64_t>(i)) % elements;
    if (!counts(static_cast<std::size_t>(place))) ++stayed;
  }
  return stayed <= kMayStay;
}

}  // namespace hone::runner
