#include "engine/rewriting/run_nests.h"

#include <cstring>

#include "evaluator/fill/fill.h"
#include "rewriters/lift/lift.h"
#include "rewriters/nest/nest.h"

namespace hone {
namespace {

constexpr std::int64_t kMostOperations = 20'000'000;  // about half a second
constexpr std::int64_t kMostBytes = 16 << 20;         // of all buffers [B]

std::vector<double> numbers(const ConcreteBuffer& buffer, const std::vector<std::uint8_t>& bytes) {
  std::vector<double> values(static_cast<std::size_t>(buffer.elements()));
  const std::size_t size = size_of(buffer.type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * size], size);
    values[i] = hone_decode(static_cast<int>(buffer.type), bits);
  }
  return values;
}

std::string bytes_of(const ConcreteBuffer& buffer, const std::vector<double>& values) {
  const std::size_t size = size_of(buffer.type);
  std::string bytes(values.size() * size, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits =
        is_float(buffer.type) ? hone_encode_float(static_cast<int>(buffer.type), values[i])
                              : static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i]));
    std::memcpy(&bytes[i * size], &bits, size);
  }
  return bytes;
}

Result<nest::Contents> first_contents(const ConcreteProgram& program, std::uint64_t seed) {
  nest::Contents contents;
  for (const ConcreteBuffer& buffer : program.buffers) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(buffer.bytes()), 0xFF);
    if (buffer.role == Role::kIn || buffer.role == Role::kInOut) {
      if (buffer.fill.kind == Fill::Kind::kFile) {
        return refused("'" + buffer.name + "' is filled from a file");
      }
      const auto source = fill::Source::open(buffer, seed);
      if (!source) return std::unexpected(source.error());
      (*source)->read(0, bytes.data(), bytes.size());
    }
    contents[buffer.name] = numbers(buffer, bytes);
  }
  return contents;
}

}  // namespace

Result<NestOutputs> run_nests(const Program& program, const Bindings& sizes, std::uint64_t seed) {
  const auto lifted = nest::lift(program, sizes);
  if (!lifted) return std::unexpected(lifted.error());
  NestOutputs outputs;
  for (const nest::LiftedLaunch& launch : lifted->launches) {
    if (launch.refusal.empty()) continue;
    outputs.unchecked = "not lifted: " + launch.refusal;
    return outputs;
  }
  outputs.lifted = true;
  std::int64_t bytes = 0;
  for (const ConcreteBuffer& buffer : lifted->concrete.buffers) bytes += buffer.bytes();
  if (bytes > kMostBytes) {
    outputs.unchecked = "its buffers are too large";
    return outputs;
  }
  auto contents = first_contents(lifted->concrete, seed);
  if (!contents) {
    outputs.unchecked = contents.error().message;
    return outputs;
  }
  if (const auto done = nest::execute(*lifted, *contents, kMostOperations); !done) {
    outputs.unchecked = done.error().message;
    return outputs;
  }
  for (const ConcreteBuffer& buffer : lifted->concrete.buffers) {
    if (buffer.role != Role::kOut && buffer.role != Role::kInOut) continue;
    outputs.after[buffer.name] = bytes_of(buffer, contents->at(buffer.name));
  }
  return outputs;
}

}  // namespace hone
