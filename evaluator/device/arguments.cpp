#include "evaluator/device/arguments.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "evaluator/fill/formula_cpu.h"

namespace hone {
namespace {

std::string strip(std::string type, std::string_view word) {
  for (std::size_t at; (at = type.find(word)) != type.npos;) type.erase(at, word.size());
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type;
}

bool is_pointer_type(const std::string& type) {
  return strip(strip(type, " __restrict"), " const").ends_with("*");
}

/// Size and kind of what a pointer parameter points to, when it is a plain arithmetic type.
struct Pointee {
  std::size_t size = 0;
  bool floating = false;
};
std::optional<Pointee> plain_pointee(const std::string& type) {
  std::string t = strip(strip(strip(type, " __restrict"), " const"), "*");
  t = strip(t, " const");
  t = strip(t, " volatile");
  if (t == "float") return Pointee{4, true};
  if (t == "double") return Pointee{8, true};
  if (t == "__half" || t == "__nv_bfloat16") return Pointee{2, true};
  if (t == "__nv_fp8_e4m3" || t == "__nv_fp8_e5m2") return Pointee{1, true};
  if (t == "int" || t == "unsigned int") return Pointee{4, false};
  if (t == "long" || t == "unsigned long" || t == "long long" || t == "unsigned long long")
    return Pointee{8, false};
  if (t == "bool" || t == "char" || t == "signed char" || t == "unsigned char")
    return Pointee{1, false};
  return std::nullopt;
}

std::string parameter_text(const KernelParameter& p) {
  if (!p.type.empty()) return p.type;
  if (p.pointer) return "a pointer";
  const char* kind = p.kind == KernelParameter::Kind::kFloat  ? "floating-point"
                     : p.kind == KernelParameter::Kind::kBits ? "struct"
                                                              : "integer";
  return fmt::format("a {}-byte {}", p.bytes, kind);
}

class Packer {
 public:
  Packer(const ConcreteProgram& program, const CompiledKernel& kernel,
         std::span<const std::uint64_t> addresses, const TensorMapEncoder& encode,
         std::vector<std::uint8_t>& block)
      : program_(program), kernel_(kernel), addresses_(addresses), encode_(encode), block_(block) {}

  /// Empty when packed, else what is wrong.
  std::string pack(const KernelParameter& p, const ConcreteArgument& argument) {
    if (const auto* buffer = std::get_if<BufferIndex>(&argument)) return pack_buffer(p, *buffer);
    if (const auto* map = std::get_if<ConcreteTensorMap>(&argument))
      return pack_tensor_map(p, *map);
    const bool is_int = std::holds_alternative<std::int64_t>(argument);
    const double number =
        is_int ? static_cast<double>(std::get<std::int64_t>(argument)) : std::get<double>(argument);
    if (p.pointer || (!p.type.empty() && is_pointer_type(p.type)))
      return fmt::format("the number {} is given for {}, a pointer; name a buffer", number,
                         parameter_text(p));
    switch (p.kind) {
      case KernelParameter::Kind::kFloat:
        return pack_float(p, number);
      case KernelParameter::Kind::kInteger:
        if (is_int) return pack_integer(p, std::get<std::int64_t>(argument));
        if (number == std::floor(number) && std::abs(number) < 9e15)
          return pack_integer(p, static_cast<std::int64_t>(number));
        return fmt::format("the number {} is given for {}; an integer is needed", number,
                           parameter_text(p));
      case KernelParameter::Kind::kBits:
        return pack_bits(p, number);
    }
    return "unknown kind of parameter";
  }

 private:
  std::string pack_buffer(const KernelParameter& p, BufferIndex argument) {
    if (argument.index < 0 || static_cast<std::size_t>(argument.index) >= program_.buffers.size())
      return "no such buffer";
    const auto& buffer = program_.buffers[static_cast<std::size_t>(argument.index)];
    bool pointer = p.bytes == 8 && p.kind != KernelParameter::Kind::kFloat;
    if (!p.type.empty()) {
      pointer = pointer && is_pointer_type(p.type);
    } else if (kernel_.marks_pointers) {
      pointer = pointer && p.pointer;
    }
    if (!pointer)
      return fmt::format("buffer '{}' is given for {}, which is no pointer", buffer.name,
                         parameter_text(p));
    if (const auto pointee = plain_pointee(p.type)) {
      if (pointee->size != size_of(buffer.type) || pointee->floating != is_float(buffer.type))
        return fmt::format("buffer '{}' holds {}, but the kernel takes {}", buffer.name,
                           to_string(buffer.type), p.type);
    }
    if (!addresses_.empty()) put(p, addresses_[static_cast<std::size_t>(argument.index)]);
    return {};
  }

  std::string pack_tensor_map(const KernelParameter& p, const ConcreteTensorMap& map) {
    const auto index = static_cast<std::size_t>(map.buffer);
    if (index >= program_.buffers.size()) return "no such buffer";
    const ConcreteBuffer& buffer = program_.buffers[index];
    if (p.kind != KernelParameter::Kind::kBits || p.bytes != kTensorMapBytes ||
        p.offset % kTensorMapAlignment != 0)
      return fmt::format(
          "a tensor map of buffer '{}' is given for {}; the kernel must take a "
          "const __grid_constant__ CUtensorMap",
          buffer.name, parameter_text(p));
    if (addresses_.empty()) return {};
    const auto bytes = encode_(spec_of(map, buffer.type, addresses_[index]));
    if (!bytes) return bytes.error().message;
    std::memcpy(block_.data() + p.offset, bytes->data(), bytes->size());
    return {};
  }

  std::string pack_integer(const KernelParameter& p, std::int64_t value) {
    if (p.bytes < 8) {
      const std::int64_t low = -(std::int64_t{1} << (8 * p.bytes - 1));
      const std::int64_t high = (std::int64_t{1} << (8 * p.bytes)) - 1;
      const bool is_signed = p.type == "int" || p.type == "short" || p.type == "signed char";
      if (value < low || value > (is_signed ? high / 2 : high))
        return fmt::format("{} does not fit {}", value, parameter_text(p));
    }
    put(p, static_cast<std::uint64_t>(value));
    return {};
  }

  std::string pack_float(const KernelParameter& p, double number) {
    put(p,
        p.bytes == 4 ? hone_encode_float(HONE_F32, number) : hone_encode_float(HONE_F64, number));
    return {};
  }

  std::string pack_bits(const KernelParameter& p, double number) {
    if (p.bytes == 2 && p.type == "__half") {
      put(p, hone_encode_float(HONE_F16, number));
      return {};
    }
    if (p.bytes == 2 && p.type == "__nv_bfloat16") {
      put(p, hone_encode_float(HONE_BF16, number));
      return {};
    }
    return fmt::format("the number {} cannot be passed as {}", number, parameter_text(p));
  }

  void put(const KernelParameter& p, std::uint64_t bits) {
    std::memcpy(block_.data() + p.offset, &bits, static_cast<std::size_t>(std::min(p.bytes, 8)));
  }

  const ConcreteProgram& program_;
  const CompiledKernel& kernel_;
  std::span<const std::uint64_t> addresses_;
  const TensorMapEncoder& encode_;
  std::vector<std::uint8_t>& block_;
};

}  // namespace

Result<std::vector<std::uint8_t>> pack_arguments(const ConcreteProgram& program,
                                                 std::size_t launch_index,
                                                 const CompiledKernel& kernel,
                                                 std::span<const std::uint64_t> addresses,
                                                 const TensorMapEncoder& encode) {
  const auto& launch = program.launches.at(launch_index);
  if (launch.args.size() != kernel.parameters.size()) {
    return invalid(fmt::format("launches[{}].args: kernel '{}' takes {} arguments, {} are given",
                               launch_index, launch.kernel, kernel.parameters.size(),
                               launch.args.size()));
  }
  std::vector<std::uint8_t> block(static_cast<std::size_t>(kernel.parameter_bytes));
  Packer packer(program, kernel, addresses, encode, block);
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    const auto& p = kernel.parameters[i];
    if (p.offset < 0 || p.bytes < 0 || p.offset + p.bytes > kernel.parameter_bytes)
      return fail(ErrorCode::kInternal, "parameter outside its block");
    if (const std::string wrong = packer.pack(p, launch.args[i]); !wrong.empty())
      return invalid(fmt::format("launches[{}].args[{}] of kernel '{}': {}", launch_index, i,
                                 launch.kernel, wrong));
  }
  return block;
}

Result<void> check_launches(const ConcreteProgram& program, const CompiledProgram& compiled,
                            const LaunchLimits& limits) {
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    const auto& launch = program.launches[i];
    const auto where = fmt::format("launches[{}] of kernel '{}'", i, launch.kernel);
    const CompiledKernel* kernel = compiled.find(launch.kernel);
    if (kernel == nullptr) return invalid(where + ": the kernel was not compiled");
    const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
    if (threads > limits.threads_per_block)
      return invalid(fmt::format("{}: {} threads per block, the device allows {}", where, threads,
                                 limits.threads_per_block));
    if (threads > kernel->resources.max_threads)
      return invalid(fmt::format("{}: {} threads per block, its __launch_bounds__ allow {}", where,
                                 threads, kernel->resources.max_threads));
    const std::int64_t shared = launch.shared_bytes + kernel->resources.static_shared_bytes;
    if (limits.shared_per_block > 0 && shared > limits.shared_per_block)
      return invalid(
          fmt::format("{}: {} bytes of shared memory per block ({} dynamic), the device "
                      "allows {}",
                      where, shared, launch.shared_bytes, limits.shared_per_block));
    // Registers are given out per warp, in units of 8 per thread.
    const std::int64_t warps = (threads + 31) / 32;
    const std::int64_t registers = warps * 32 * ((kernel->resources.registers + 7) / 8 * 8);
    if (registers > limits.registers_per_block)
      return invalid(
          fmt::format("{}: {} threads of {} registers each, the device allows {} "
                      "registers per block",
                      where, threads, kernel->resources.registers, limits.registers_per_block));
    if (auto packed = pack_arguments(program, i, *kernel); !packed)
      return std::unexpected(packed.error());
  }
  return {};
}

}  // namespace hone
