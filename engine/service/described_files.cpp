#include "engine/service/described_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "evaluator/fill/fill.h"

namespace hone {
namespace described_files {
namespace {

/// Of the elements that are finite.
struct Numbers {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double count = 0, mean = 0, squares = 0;  // squares: of the distances from the mean

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
    count += 1;
    const double distance = value - mean;
    mean += distance / count;
    squares += distance * (value - mean);
  }
};

/// Like weights of another training give the same task. The last digit is cut where the type holds
/// no more.
double three_digits(double value, ScalarType type) {
  const double rounded = std::strtod(fmt::format("{:.3g}", value).c_str(), nullptr);
  const double most = type == ScalarType::kF64   ? std::numeric_limits<double>::max()
                      : type == ScalarType::kF16 ? 65504.0
                      : is_fp8(type)             ? (type == ScalarType::kE4m3 ? 448.0 : 57344.0)
                                                 : std::numeric_limits<float>::max();
  return std::abs(rounded) <= most ? rounded : value;
}

Numbers numbers_of(const fill::Source& source, const ConcreteBuffer& buffer) {
  constexpr std::size_t kElements = 1 << 16;  // at a time
  const std::size_t size = size_of(buffer.type);
  const auto all = static_cast<std::uint64_t>(buffer.elements());
  std::vector<std::uint8_t> bytes(kElements * size);
  Numbers numbers;
  for (std::uint64_t first = 0; first < all; first += kElements) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kElements, all - first));
    source.read(first * size, bytes.data(), count * size);
    for (std::size_t i = 0; i < count; ++i) {
      hone_u64 bits = 0;
      std::memcpy(&bits, bytes.data() + i * size, size);
      numbers.add(hone_decode(static_cast<int>(buffer.type), bits));
    }
  }
  return numbers;
}

Fill fill_like(const Numbers& numbers, ScalarType type) {
  if (numbers.count == 0) return Fill{Fill::Kind::kConstant, 0, 0, ""};
  if (!is_float(type)) {
    if (numbers.low == numbers.high) return Fill{Fill::Kind::kConstant, numbers.low, 0, ""};
    return Fill{Fill::Kind::kIntegers, numbers.low, numbers.high, ""};
  }
  const double low = three_digits(numbers.low, type), high = three_digits(numbers.high, type);
  if (low == high) return Fill{Fill::Kind::kConstant, low, 0, ""};
  if (low >= 0) return Fill{Fill::Kind::kUniform, low, high, ""};
  const double deviation = std::sqrt(numbers.squares / numbers.count);
  // Squares of very large numbers are infinite.
  if (!std::isfinite(deviation)) return Fill{Fill::Kind::kUniform, low, high, ""};
  return Fill{Fill::Kind::kNormal, three_digits(numbers.mean, type), three_digits(deviation, type),
              ""};
}

}  // namespace
}  // namespace described_files

Result<Task> with_described_files(Task task, std::vector<std::string>& described) {
  const auto program = instantiate(task.reference, task.sizes);
  if (!program) return std::unexpected(program.error());
  for (std::size_t i = 0; i < task.reference.buffers.size(); ++i) {
    Buffer& buffer = task.reference.buffers[i];
    if (buffer.fill.kind != Fill::Kind::kFile) continue;
    const ConcreteBuffer& concrete = program->buffers[i];
    const auto source = fill::Source::open(concrete, 0);
    if (!source) return std::unexpected(source.error());
    buffer.fill =
        described_files::fill_like(described_files::numbers_of(**source, concrete), buffer.type);
    described.push_back(buffer.name);
  }
  return task;
}

}  // namespace hone
