#include "evaluator/device/cuda/cublas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "evaluator/compile/locate.h"
#include "evaluator/device/cuda/resolve.h"

namespace hone::cuda {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInstall =
    "install the CUDA toolkit or its cuBLAS package, or name the file: "
    "HONE_LIBCUBLAS=/path/to/libcublas.so.13";

/// libcublas needs the libcublasLt beside it, which the loader may not know of.
void* open_file(const fs::path& file, std::string& error) {
  std::string name = file.filename().string();
  if (const auto at = name.find("libcublas.so"); at != name.npos) {
    name.insert(at + std::string("libcublas").size(), "Lt");
    dlopen((file.parent_path() / name).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr && error.empty()) error = dlerror();
  return handle;
}

void* open_library(std::string& path, std::string& error) {
  constexpr const char* kNames[] = {"libcublas.so.13", "libcublas.so.12"};
  if (const char* named = std::getenv("HONE_LIBCUBLAS"); named != nullptr && *named != '\0') {
    path = named;
    return open_file(named, error);
  }
  for (const auto& folder : compile::library_folders()) {
    for (const char* name : kNames) {
      std::error_code code;
      if (!fs::exists(folder / name, code)) continue;
      path = (folder / name).string();
      if (void* handle = open_file(folder / name, error)) return handle;
    }
  }
  for (const char* name : kNames) {
    path = name;
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

Result<Cublas> load_cublas() {
  Cublas c;
  std::string error;
  void* handle = open_library(c.path, error);
  if (handle == nullptr) {
    return fail(ErrorCode::kEnvironment,
                fmt::format("cuBLAS (libcublas.so.13 or .12) was not found{}; {}",
                            error.empty() ? "" : ": " + error, kInstall));
  }
  std::string missing;
  resolve(handle, "cublasCreate_v2", c.create, missing);
  resolve(handle, "cublasSetStream_v2", c.set_stream, missing);
  resolve(handle, "cublasSetWorkspace_v2", c.set_workspace, missing);
  resolve(handle, "cublasGetVersion_v2", c.get_version, missing);
  resolve(handle, "cublasGetStatusString", c.get_status_string, missing);
  resolve(handle, "cublasSgemv_v2", c.sgemv, missing);
  resolve(handle, "cublasDgemv_v2", c.dgemv, missing);
  resolve(handle, "cublasGemmEx", c.gemm, missing);
  resolve(handle, "cublasGemmStridedBatchedEx", c.gemm_batched, missing);
  // libcublas depends on libcublasLt, so the same handle finds its symbols.
  resolve(handle, "cublasLtCreate", c.lt_create, missing);
  resolve(handle, "cublasLtMatmulDescCreate", c.lt_desc_create, missing);
  resolve(handle, "cublasLtMatmulDescSetAttribute", c.lt_desc_set, missing);
  resolve(handle, "cublasLtMatmulDescDestroy", c.lt_desc_destroy, missing);
  resolve(handle, "cublasLtMatrixLayoutCreate", c.lt_layout_create, missing);
  resolve(handle, "cublasLtMatrixLayoutSetAttribute", c.lt_layout_set, missing);
  resolve(handle, "cublasLtMatrixLayoutDestroy", c.lt_layout_destroy, missing);
  resolve(handle, "cublasLtMatmulPreferenceCreate", c.lt_preference_create, missing);
  resolve(handle, "cublasLtMatmulPreferenceSetAttribute", c.lt_preference_set, missing);
  resolve(handle, "cublasLtMatmulPreferenceDestroy", c.lt_preference_destroy, missing);
  resolve(handle, "cublasLtMatmulAlgoGetHeuristic", c.lt_heuristic, missing);
  resolve(handle, "cublasLtMatmul", c.lt_matmul, missing);
  if (!missing.empty()) {
    return fail(
        ErrorCode::kEnvironment,
        fmt::format("{} is too old: it has no {}; CUDA 12 or newer is needed", c.path, missing));
  }
  return c;
}

}  // namespace

std::string Cublas::describe(CublasStatus status) const {
  const char* text = get_status_string(status);
  return text != nullptr ? text : fmt::format("status {}", status);
}

const Result<Cublas>& Cublas::get() {
  static const Result<Cublas> instance = load_cublas();
  return instance;
}

}  // namespace hone::cuda
