// Values of a nest as CUDA expressions.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "rewriters/affine/node.h"

namespace hone::schedules {

using nest::Op;
using nest::Ref;
using nest::SymbolId;

/// What C calls a type in a kernel: "float", "__half", "long long".
[[nodiscard]] std::string type_name(ScalarType type);
/// Computation in f16, bf16 and 8-bit floats is done in float and rounded after each operation.
[[nodiscard]] ScalarType compute_type(ScalarType type);
/// "__half2float(x)": an element of that type, in the type that one computes with.
[[nodiscard]] std::string in_compute_type(ScalarType type, const std::string& element);
/// "__float2half(x)": an element of that type from a float; `value` itself where it is no narrow
/// type.
[[nodiscard]] std::string from_float(ScalarType type, const std::string& value);
/// "0.5f", "-INFINITY", "7"; a literal of that type.
[[nodiscard]] std::string literal(double value, ScalarType type);
/// "a + b", "fmaxf(a, b)": two values of a type folded by an operator of a reduction.
[[nodiscard]] std::string combined(Op op, ScalarType type, const std::string& a,
                                   const std::string& b);

class Printer {
 public:
  explicit Printer(nest::Nodes& nodes) : nodes_(&nodes) {}

  /// What an index is called: an int expression that binds as a name does ("row", "(4 * i)").
  std::map<SymbolId, std::string> indices;
  /// Values that stand in variables already, reductions above all.
  std::map<Ref, std::string> known;
  /// A load as text, where it is no "buffer[element]"; empty: as usual.
  std::function<std::string(Ref load)> on_load;

  /// Sums of what is read are as wide as those of indices: an element of a buffer beyond 2^31.
  bool wide_loads = false;

  /// An expression in parentheses where it needs some. A reduction must be known: else the text
  /// is "/* reduction */" and ok() is false.
  [[nodiscard]] std::string print(Ref value);
  /// An integer as an index: of type int, or long long where int could overflow.
  [[nodiscard]] std::string print_index(Ref value);
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  [[nodiscard]] std::string print_op(Ref value);
  [[nodiscard]] std::string print_sum(Ref value);
  [[nodiscard]] std::string print_unsigned_digit(Ref value);
  nest::Nodes* nodes_;
  bool ok_ = true;
};

/// The headers that a source with these types needs, each once: "cuda_fp16.h".
[[nodiscard]] std::vector<std::string> headers_for(const std::vector<ScalarType>& types);
/// The same as text, "#include <cuda_fp16.h>\n", or nothing.
[[nodiscard]] std::string includes_for(const std::vector<ScalarType>& types);

}  // namespace hone::schedules
