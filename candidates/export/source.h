// What has to be done to a stranger's CUDA source before it can stand beside another in one file.
// By its tokens, without a parser. Private to candidates/export.
#pragma once

#include <expected>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hone::exporting {

struct SplitSource {
  std::vector<std::string> includes;  ///< "<cuda_fp16.h>", "\"mma.h\"", in order
  std::string body;                   ///< the rest
};
/// Takes the #include lines out: they cannot stand in a namespace.
[[nodiscard]] SplitSource split_includes(std::string_view source);

/// Of all macros that the source defines.
[[nodiscard]] std::set<std::string> macros_of(std::string_view source);

/// `extern "C"` made `extern "C++"`: two functions with C linkage are one, whatever namespaces they
/// stand in.
[[nodiscard]] std::string with_cpp_linkage(std::string_view source);

/// Functions of CUDA that the source overloads (its own atomicMax for float): in a namespace they
/// would hide CUDA's unless those are named there.
[[nodiscard]] std::vector<std::string> overloaded_builtins(std::string_view source);

/// Something that not every architecture has: inline PTX, clusters, asynchronous copies, ….
[[nodiscard]] bool is_arch_specific(std::string_view source);
/// Of that what needs the target sm_90a rather than sm_90.
[[nodiscard]] bool needs_arch_features(std::string_view source);

/// Every kernel's body, and every device function's body that is_arch_specific(), within `#if
/// condition`. Kernels are still declared everywhere, as nvcc wants it. Each directive ends with
/// the line comment `mark`, by which without_guards() finds it again.
[[nodiscard]] std::string guard_bodies(std::string_view source, std::string_view condition,
                                       std::string_view mark);
/// Unexpected: the offset of a marked directive that has lost its partner.
[[nodiscard]] std::expected<std::string, std::size_t> without_guards(std::string_view source,
                                                                     std::string_view mark);

/// For NVRTC, which has no standard headers: includes of those that candidates/std_headers.h has
/// replaced by their text, and math.h's macros, which nvcc gives to every file, where it uses them.
[[nodiscard]] std::string with_std_headers(std::string_view source);

}  // namespace hone::exporting
