// First contents of buffers on the CPU: any byte range of any buffer, bit for bit what the GPU's
// fill kernel writes. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "candidates/program.h"
#include "candidates/result.h"
#include "evaluator/fill/formula_cpu.h"

namespace hone::fill {

/// The key of a buffer's contents; depends on its name, not its place, so that a candidate which
/// reorders or adds buffers sees the same inputs.
[[nodiscard]] std::uint64_t buffer_key(std::uint64_t seed, std::string_view buffer_name);

/// What the GPU's fill kernel takes. Not for a file.
[[nodiscard]] hone_contents formula_of(const ConcreteBuffer& buffer, std::uint64_t seed);

/// The name of one buffer that `changes` chooses for with_changes(), of those whose elements do not
/// depend on one another (as those of a permutation or a file do); empty: there is none. One at a
/// time: a program may see that another input has changed, too. Where `changes` has the bit
/// kLastBits, of those whose last bits with_changes() changes.
[[nodiscard]] std::string changed_buffer(const ConcreteProgram& program, std::uint64_t changes);

/// A bit of `changes`.
inline constexpr std::uint64_t kLastBits = std::uint64_t{1} << 63;

/// Source of one buffer's bytes. Random access; thread-safe.
class Source {
 public:
  /// Errors: kInvalidInput, a fill file that is missing or shorter than the buffer.
  [[nodiscard]] static Result<std::shared_ptr<const Source>> open(const ConcreteBuffer& buffer,
                                                                  std::uint64_t seed);
  /// For samples of large programs: random contents repeat after a megabyte or so, which saves
  /// making them. Others, and small buffers, are as open() has them.
  [[nodiscard]] static Result<std::shared_ptr<const Source>> open_repeating(
      const ConcreteBuffer& buffer, std::uint64_t seed);
  /// `source`, which is open()'s of this buffer and seed, but for a few elements that `changes`
  /// chooses, which have other contents. Where it has the bit kLastBits, but for the last bits of
  /// its floats, or for integers that are one more or less.
  [[nodiscard]] static std::shared_ptr<const Source> with_changes(
      std::shared_ptr<const Source> source, const ConcreteBuffer& buffer, std::uint64_t changes);
  virtual ~Source() = default;
  /// Bytes [offset, offset + size) of the buffer.
  virtual void read(std::uint64_t offset, std::uint8_t* out, std::size_t size) const = 0;
};

/// The text of formula.h, for NVRTC.
[[nodiscard]] std::string_view formula_text();
/// The text of device/cuda/kernels.cu, to follow it.
[[nodiscard]] std::string_view kernels_text();

}  // namespace hone::fill
