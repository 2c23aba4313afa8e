// Program: CUDA source + buffers + an ordered list of launches, with symbolic sizes; and
// ConcreteProgram: the same at given sizes, which is all that the evaluator ever sees.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "candidates/expr.h"
#include "candidates/result.h"
#include "candidates/scalar_type.h"
#include "candidates/tensor_map.h"

namespace hone {

struct Buffer {
  std::string name;
  ScalarType type = ScalarType::kF32;
  std::vector<Expr> shape;  ///< row-major; the buffer is dense
  Role role = Role::kIn;
  Fill fill;
  /// Expressions over sizes in place of the fill's a and b; empty: they are numbers.
  std::vector<Expr> fill_ends = {};

  bool operator==(const Buffer&) const = default;
};

/// ConcreteTensorMap before the sizes are known.
struct TensorMap {
  std::vector<Expr> shape;    ///< empty: the buffer's
  std::vector<Expr> strides;  ///< empty: dense
  std::vector<Expr> box;
  int swizzle = 0;  // [B]
  bool as_tf32 = false;

  bool operator==(const TensorMap&) const = default;
};

/// One kernel argument: a buffer by name, an integer size expression, a number such as 1e-5, or a
/// tensor map of a buffer.
struct Argument {
  enum class Kind { kBuffer, kExpr, kNumber, kTensorMap };
  Kind kind = Kind::kBuffer;
  std::string buffer;  ///< kBuffer, kTensorMap
  Expr expr = {};      ///< kExpr; converted to the parameter's type
  double number = 0;   ///< kNumber
  TensorMap tensor_map = {};

  /// Does the kernel get at this buffer through it?
  [[nodiscard]] bool gives(std::string_view name) const {
    return (kind == Kind::kBuffer || kind == Kind::kTensorMap) && buffer == name;
  }
  bool operator==(const Argument&) const = default;
};

/// Its shape and strides, where the map leaves them to the buffer.
[[nodiscard]] TensorMap spelled_out(const TensorMap& map, const Buffer& buffer);

struct Launch {
  std::string kernel;       ///< name as in the source; "scale<float>" for a template instance
  std::vector<Expr> grid;   ///< 1 to 3 entries, x first
  std::vector<Expr> block;  ///< 1 to 3 entries, x first
  Expr shared_bytes;        // dynamic shared memory [B]
  std::vector<Argument> args;

  bool operator==(const Launch&) const = default;
};

/// Reference or candidate. Launches run in order on one stream; buffers start with their fills.
struct Program {
  std::string source;                          ///< one translation unit
  std::map<std::string, std::string> defines;  ///< -D macros: the tunables' values
  std::vector<Buffer> buffers;                 ///< the task's, then any scratch a rewriter added
  std::vector<Launch> launches;

  [[nodiscard]] const Buffer* find_buffer(std::string_view name) const;
  /// Does a launch take this buffer?
  [[nodiscard]] bool uses(std::string_view name) const;
  bool operator==(const Program&) const = default;
};

struct ConcreteBuffer {
  std::string name;
  ScalarType type = ScalarType::kF32;
  std::vector<std::int64_t> shape;
  Role role = Role::kIn;
  Fill fill;

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t bytes() const;  // [B]
};

/// Are products of 8-bit floats what a program with these buffers computes: are two of its inputs
/// of them and the other floats vectors (scales, a bias), or are they all that it has? Tensor cores
/// add such products with fewer places than f32 has. Where another operand is wider, nothing is
/// loosened.
[[nodiscard]] bool multiplies_fp8(const std::vector<Buffer>& buffers);
[[nodiscard]] bool multiplies_fp8(const std::vector<ConcreteBuffer>& buffers);

/// Buffer index, integer or floating value (the evaluator converts to the PTX parameter's type), or
/// tensor map.
struct BufferIndex {
  int index = 0;
};
using ConcreteArgument = std::variant<BufferIndex, std::int64_t, double, ConcreteTensorMap>;

using Dim3 = std::array<std::int64_t, 3>;

// What CUDA allows. Source: CUDA C++ programming guide, "Technical Specifications per Compute
// Capability".
inline constexpr Dim3 kMaxGrid{(std::int64_t{1} << 31) - 1, 65535, 65535};
inline constexpr Dim3 kMaxBlock{1024, 1024, 64};
inline constexpr std::int64_t kMaxBlockThreads = 1024;

struct ConcreteLaunch {
  std::string kernel;
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  std::int64_t shared_bytes = 0;  // [B]
  std::vector<ConcreteArgument> args;
};

struct ConcreteProgram {
  std::string source;
  std::map<std::string, std::string> defines;
  std::vector<ConcreteBuffer> buffers;
  std::vector<ConcreteLaunch> launches;
};

/// Evaluates every expression. `sizes` holds the task's sizes; integer `defines` (tunables) are
/// visible to the expressions too. Scratch that no launch takes, as what was fused needs it no
/// more, keeps its place and has one element. Errors name the JSON path ("launches[1].grid[0]"): an
/// expression that fails, a zero or negative size, an element count beyond 2^40, a fill that the
/// buffer cannot have at these sizes, a launch dimension outside what CUDA allows (grid x < 2^31, y
/// and z < 65536, block product <= 1024, block z <= 64), a tensor map that the driver would refuse
/// or that reaches beyond its buffer.
[[nodiscard]] Result<ConcreteProgram> instantiate(const Program& program, const Bindings& sizes);

/// Of a buffer, a size, a tunable or a macro.
[[nodiscard]] bool is_c_identifier(std::string_view text);
/// "matmul", "ns::matmul", "scale<float>", "reduce<Op<float>, 128>".
[[nodiscard]] bool is_kernel_name(std::string_view text);

void to_json(nlohmann::json& json, const Program& program);
void to_json(nlohmann::json& json, const ConcreteProgram& program);
[[nodiscard]] Result<Program> program_from_json(const nlohmann::json& json);
[[nodiscard]] Result<ConcreteProgram> concrete_program_from_json(const nlohmann::json& json);

}  // namespace hone
