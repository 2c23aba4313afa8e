// What `cu` and `hpp` share: programs in namespaces of their own, and functions that launch them.
// Private to candidates/export.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "candidates/export/plan.h"

namespace hone::exporting {

/// A tensor map whose extents are C++ expressions, outermost first, strides in elements.
struct TensorMapText {
  std::vector<std::string> shape, strides, box;
  int swizzle = 0;  // [B]
  bool as_tf32 = false;
};

/// Declares and encodes a hone_tensor_map `name` (kCppTensorMaps), in a function that returns an
/// error or an int, for a buffer of this type at this address.
[[nodiscard]] std::string tensor_map_text(const std::string& name, const std::string& address,
                                          ScalarType type, const TensorMapText& map);

class CppWriter {
 public:
  explicit CppWriter(const Plan& plan);

  /// "// …" lines on all candidates.
  [[nodiscard]] std::string header() const;
  /// #include lines: CUDA's runtime, half types where buffers have them, what sources include.
  [[nodiscard]] std::string includes(bool with_reference) const;

  /// Types that the launchers of these programs use. Stands once in a file.
  [[nodiscard]] std::string support(bool with_reference) const;
  /// Around all: no warnings of what a program has and does not use. Before `restore`, after it.
  [[nodiscard]] static std::string_view quiet(bool restore);

  /// A program and, for each launch, `hone_launch_<n>(grid, block, shared, stream, arguments…)`, in
  /// a namespace and with internal linkage; Part::prefix stands for `hone`. `with_reference`: there
  /// is something to run where its kernels are not compiled for the device.
  [[nodiscard]] std::string program(const Part& part, bool with_reference) const;

  /// `static inline cudaError_t hone_run_…(buffers…, sizes…, stream)`: a candidate at its
  /// sizes, or the reference at any.
  [[nodiscard]] Result<std::string> run_candidate(const Part& part) const;
  [[nodiscard]] Result<std::string> run_reference() const;

  /// "const float* x, float* y, long long N, cudaStream_t stream"
  [[nodiscard]] std::string parameters() const;
  [[nodiscard]] std::string arguments() const;  ///< "x, y, N, stream"
  /// Dispatches: a candidate where sizes, device and alignment fit, else the reference.
  [[nodiscard]] std::string dispatch() const;
  [[nodiscard]] std::string made_for() const;  ///< "M == 64 && N == 32"
  [[nodiscard]] std::string aligned() const;   ///< "hone_aligned(x) && hone_aligned(y)"
  [[nodiscard]] std::string shapes() const;    ///< comment lines: every parameter's shape
  /// The names of sizes and buffers are no macros between these.
  [[nodiscard]] std::string hide_macros() const;
  [[nodiscard]] std::string restore_macros() const;

 private:
  [[nodiscard]] Result<std::string> spell(const Expr& expr, const Bindings& tunables) const;

  const Plan& plan_;
  std::map<std::string, std::string> names_;  ///< of buffers and sizes, as parameters
};

}  // namespace hone::exporting
