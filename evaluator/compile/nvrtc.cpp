#include "evaluator/compile/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "evaluator/compile/locate.h"

namespace hone::compile {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInstall =
    "install the CUDA toolkit (or the NVRTC package alone), set CUDA_HOME, or run "
    "scripts/setup.sh, which fetches NVRTC";

/// NVRTC opens its builtins by bare name; having them loaded already makes that work wherever the
/// library lies.
void preload_builtins(const fs::path& folder) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("libnvrtc-builtins.so.")) {
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
  }
}

void* open_library(std::string* path) {
  for (const auto& folder : library_folders()) {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
      const fs::path file = folder / name;
      std::error_code ec;
      if (!fs::exists(file, ec)) continue;
      preload_builtins(folder);
      if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        *path = file.string();
        return handle;
      }
    }
  }
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      *path = name;
      return handle;
    }
  }
  return nullptr;
}

template <class Function>
bool resolve(void* handle, const char* name, Function& out, std::string& missing) {
  out = reinterpret_cast<Function>(dlsym(handle, name));
  if (out == nullptr && missing.empty()) missing = name;
  return out != nullptr;
}

Result<Nvrtc> load() {
  Nvrtc n;
  void* handle = open_library(&n.path);
  if (handle == nullptr) {
    std::string looked;
    for (const auto& folder : library_folders())
      looked += (looked.empty() ? "" : ", ") + folder.string();
    return fail(
        ErrorCode::kEnvironment,
        fmt::format("NVRTC (libnvrtc.so.13 or .12) was not found in {} or the loader's path; {}",
                    looked.empty() ? "/usr/local/cuda" : looked, kInstall));
  }
  std::string missing;
  resolve(handle, "nvrtcGetErrorString", n.get_error_string, missing);
  resolve(handle, "nvrtcVersion", n.version, missing);
  resolve(handle, "nvrtcGetNumSupportedArchs", n.get_num_supported_archs, missing);
  resolve(handle, "nvrtcGetSupportedArchs", n.get_supported_archs, missing);
  resolve(handle, "nvrtcCreateProgram", n.create_program, missing);
  resolve(handle, "nvrtcDestroyProgram", n.destroy_program, missing);
  resolve(handle, "nvrtcCompileProgram", n.compile_program, missing);
  resolve(handle, "nvrtcGetPTXSize", n.get_ptx_size, missing);
  resolve(handle, "nvrtcGetPTX", n.get_ptx, missing);
  resolve(handle, "nvrtcGetCUBINSize", n.get_cubin_size, missing);
  resolve(handle, "nvrtcGetCUBIN", n.get_cubin, missing);
  resolve(handle, "nvrtcGetProgramLogSize", n.get_program_log_size, missing);
  resolve(handle, "nvrtcGetProgramLog", n.get_program_log, missing);
  resolve(handle, "nvrtcAddNameExpression", n.add_name_expression, missing);
  resolve(handle, "nvrtcGetLoweredName", n.get_lowered_name, missing);
  if (!missing.empty()) {
    return fail(
        ErrorCode::kEnvironment,
        fmt::format("{} is too old: it has no {}; CUDA 12 or newer is needed", n.path, missing));
  }
  n.version(&n.major, &n.minor);
  Dl_info where{};  // the loader found it by its bare name
  if (n.path.find('/') == n.path.npos && dladdr(reinterpret_cast<void*>(n.version), &where) != 0 &&
      where.dli_fname != nullptr)
    n.path = where.dli_fname;
  int count = 0;
  if (n.get_num_supported_archs(&count) == NVRTC_SUCCESS && count > 0 && count < 1000) {
    n.archs.resize(static_cast<std::size_t>(count));
    if (n.get_supported_archs(n.archs.data()) != NVRTC_SUCCESS) n.archs.clear();
  }
  return n;
}

}  // namespace

std::string Nvrtc::text() const { return fmt::format("NVRTC {}.{}", major, minor); }

bool Nvrtc::supports(int arch) const {
  return std::find(archs.begin(), archs.end(), arch) != archs.end();
}

const Result<Nvrtc>& Nvrtc::get() {
  static const Result<Nvrtc> instance = load();
  return instance;
}

}  // namespace hone::compile
