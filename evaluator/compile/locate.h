// Where CUDA's libraries and headers are on this machine. Order: CUDA_HOME, CUDA_PATH,
// /usr/local/cuda, the build tree's own copy (scripts/setup puts NVIDIA's wheels there), the
// folders beside this binary, the loader's own path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hone::compile {

/// Folders that may hold `libnvrtc.so.*`; existing ones only.
[[nodiscard]] std::vector<std::filesystem::path> library_folders();

/// The folder that holds cuda_fp16.h and its kin; empty when there is none.
[[nodiscard]] std::filesystem::path include_folder();

/// Include search path for a compile: the include folder and, where present, CCCL's.
[[nodiscard]] std::vector<std::filesystem::path> include_path();

/// Changes whenever what compiles changes: NVRTC's files and the headers, by name, size and time.
/// `nvrtc`: the library that was opened.
[[nodiscard]] std::string toolchain_identity(const std::filesystem::path& nvrtc);

}  // namespace hone::compile
