#include "rewriters/llm/reply/device_names.h"

#include <algorithm>
#include <span>

#include "candidates/std_headers.h"

namespace hone::llm {
namespace {

using Names = std::span<const std::string_view>;

bool is_in(Names names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Functions of the host that could do something; device code has no use for the names.
constexpr std::string_view kHostFunctions[] = {
    "fopen",  "freopen",    "fread",  "fwrite",  "fgets",  "fputs",  "fprintf",
    "fscanf", "scanf",      "system", "popen",   "getenv", "setenv", "fork",
    "vfork",  "execl",      "execv",  "execve",  "execvp", "mmap",   "mprotect",
    "dlopen", "dlsym",      "socket", "connect", "kill",   "signal", "exit",
    "_exit",  "quick_exit", "atexit", "syscall", "ptrace", "usleep", "pthread_create"};

// Namespaces and macros of libraries of the host.
constexpr std::string_view kHostLibraries[] = {"torch", "at",    "c10",     "thrust",
                                               "cub",   "boost", "cutlass", "pybind11"};
constexpr std::string_view kHostMacros[] = {"PYBIND11_MODULE", "TORCH_LIBRARY",
                                            "TORCH_LIBRARY_IMPL", "TORCH_CHECK",
                                            "AT_DISPATCH_FLOATING_TYPES"};

// Of the namespace std what candidates/std_headers.h gives to device code.
constexpr std::string_view kStdNames[] = {"min",
                                          "max",
                                          "swap",
                                          "move",
                                          "forward",
                                          "numeric_limits",
                                          "size_t",
                                          "ptrdiff_t",
                                          "nullptr_t",
                                          "int8_t",
                                          "int16_t",
                                          "int32_t",
                                          "int64_t",
                                          "uint8_t",
                                          "uint16_t",
                                          "uint32_t",
                                          "uint64_t",
                                          "uintptr_t",
                                          "intptr_t",
                                          "is_same",
                                          "is_same_v",
                                          "conditional",
                                          "conditional_t",
                                          "enable_if",
                                          "enable_if_t",
                                          "integral_constant",
                                          "true_type",
                                          "false_type",
                                          "remove_reference_t",
                                          "remove_cv_t",
                                          "remove_const_t",
                                          "decay_t",
                                          "is_integral",
                                          "is_integral_v",
                                          "is_floating_point",
                                          "is_floating_point_v",
                                          "integer_sequence",
                                          "index_sequence",
                                          "make_index_sequence",
                                          "array",
                                          "pair",
                                          "tuple",
                                          "get",
                                          "declval"};

// Beside those of candidates/std_headers.h and <cuda/...>.
constexpr std::string_view kHeaders[] = {"cuda_runtime.h",
                                         "device_launch_parameters.h",
                                         "cuda_fp16.h",
                                         "cuda_bf16.h",
                                         "cuda_fp8.h",
                                         "cuda_fp6.h",
                                         "cuda_fp4.h",
                                         "mma.h",
                                         "cooperative_groups.h",
                                         "cooperative_groups/memcpy_async.h",
                                         "cooperative_groups/reduce.h",
                                         "cooperative_groups/scan.h",
                                         "cuda_pipeline.h",
                                         "cuda_pipeline_primitives.h",
                                         "cuda_awbarrier.h",
                                         "cuda_awbarrier_primitives.h",
                                         "math_constants.h",
                                         "vector_types.h",
                                         "vector_functions.h",
                                         "cuComplex.h"};

constexpr std::string_view kDirectives[] = {"define",  "undef",   "if",       "ifdef",  "ifndef",
                                            "elif",    "elifdef", "elifndef", "else",   "endif",
                                            "include", "pragma",  "error",    "warning"};
constexpr std::string_view kPragmas[] = {"unroll",           "nounroll",        "once",
                                         "nv_diag_suppress", "nv_diag_default", "nv_diagnostic",
                                         "nv_diag_warning"};
constexpr std::string_view kAttributes[] = {
    "aligned",  "__aligned__",  "packed",    "__packed__",    "always_inline", "__always_inline__",
    "noinline", "__noinline__", "unused",    "__unused__",    "const",         "__const__",
    "pure",     "__pure__",     "may_alias", "__may_alias__", "flatten",       "forceinline"};

// Directives of a module or of an object file; a function may have .reg, .shared, .param, .pragma.
constexpr std::string_view kModuleDirectives[] = {
    "section", "file",  "loc",  "version",    "target",      "address_size", "visible", "extern",
    "weak",    "entry", "func", "include",    "incbin",      "alias",        "global",  "const",
    "common",  "text",  "data", "popsection", "pushsection", "previous",     "org",     "macro"};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || is_upper(c) || (c >= '0' && c <= '9') || c == '_';
}

// cudaMalloc, cudaStream_t; cuMemAlloc( and the like of the driver and the libraries.
bool is_runtime_call(std::string_view word, bool called) {
  if (word.size() > 4 && word.starts_with("cuda") && is_upper(word[4])) {
    // Programmatic launches are the device's side of the runtime.
    return word != "cudaGridDependencySynchronize" &&
           word != "cudaTriggerProgrammaticLaunchCompletion";
  }
  if (!called) return false;
  if (word.size() > 2 && word.starts_with("cu") && is_upper(word[2])) {
    // cuComplex.h is arithmetic.
    return !word.starts_with("cuC");
  }
  for (const std::string_view library :
       {"cublas", "cudnn", "cufft", "cusparse", "cusolver", "nvrtc", "nccl", "curand"}) {
    if (word.starts_with(library) && word.size() > library.size()) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string_view> reason_against(std::string_view word, bool called,
                                               bool scope_follows) {
  if (word == "__host__") return "is host code; write __device__ alone";
  if (word == "__managed__") return "is host code; buffers are in the JSON block";
  if (word == "main" && called) return "is host code; only device code is accepted";
  if (is_runtime_call(word, called)) {
    return "is host code; the launches and buffers of the JSON block are all there is of a host";
  }
  if (called && is_in(kHostFunctions, word)) return "is a function of the host";
  if (scope_follows && is_in(kHostLibraries, word)) return "is a library that is not here";
  if (is_in(kHostMacros, word)) return "is host code; only device code is accepted";
  if (word == "_Pragma" || word == "__pragma") return "is not accepted; write #pragma unroll";
  if (word == "__has_include" || word == "__has_include_next" || word == "__has_embed" ||
      word == "__has_cpp_attribute" || word == "__has_c_attribute") {
    return "is not accepted";
  }
  if (word == "__declspec") return "is not accepted; write __align__ or alignas";
  return std::nullopt;
}

bool is_device_std_name(std::string_view name) { return is_in(kStdNames, name); }

bool is_device_header(std::string_view header) {
  if (is_std_header(header) || is_in(kHeaders, header)) return true;
  // <cuda/barrier>, <cuda/std/type_traits>: names without an ending.
  if (!header.starts_with("cuda/")) return false;
  header.remove_prefix(header.starts_with("cuda/std/") ? 9 : 5);
  return !header.empty() && std::ranges::all_of(header, is_name);
}

std::string_view device_headers_in_words() {
  return "cuda_fp16.h, cuda_bf16.h, cuda_fp8.h, mma.h, cooperative_groups.h, cuda_pipeline.h, "
         "<cuda/...>, stdint.h, math.h and their like, and no others";
}

bool is_plain_directive(std::string_view name) { return is_in(kDirectives, name); }
bool is_plain_pragma(std::string_view name) { return is_in(kPragmas, name); }
bool is_plain_attribute(std::string_view name) { return is_in(kAttributes, name); }

std::optional<std::string> assembler_directive(std::string_view code) {
  for (std::size_t at = code.find('.'); at != std::string_view::npos; at = code.find('.', at + 1)) {
    // A directive begins a statement; "ld.global" has a name before its dot.
    const std::size_t last =
        at == 0 ? std::string_view::npos : code.find_last_not_of(" \t", at - 1);
    const char before = last == std::string_view::npos ? ';' : code[last];
    const bool escape = last != std::string_view::npos && last > 0 && code[last - 1] == '\\' &&
                        (before == 'n' || before == 't' || before == 'r');
    const bool begins = before == ';' || before == '{' || before == '}' || before == '\n' ||
                        before == ':' || before == '/' || escape;
    if (!begins) continue;
    std::size_t end = at + 1;
    while (end < code.size() && is_name(code[end])) ++end;
    const std::string_view name = code.substr(at + 1, end - at - 1);
    if (is_in(kModuleDirectives, name)) return std::string(code.substr(at, end - at));
  }
  return std::nullopt;
}

}  // namespace hone::llm
