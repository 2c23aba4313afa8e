// NVRTC, opened at run time: CUDA 12 and 13 alike. Process-wide, loaded once; NVRTC itself
// serialises compiles inside a process, so there is nothing to gain from threads here.
#pragma once

#include <nvrtc.h>

#include <string>
#include <vector>

#include "candidates/result.h"

namespace hone::compile {

/// The entry points that are used, typed as nvrtc.h declares them.
struct Nvrtc {
  decltype(&::nvrtcGetErrorString) get_error_string = nullptr;
  decltype(&::nvrtcVersion) version = nullptr;
  decltype(&::nvrtcGetNumSupportedArchs) get_num_supported_archs = nullptr;
  decltype(&::nvrtcGetSupportedArchs) get_supported_archs = nullptr;
  decltype(&::nvrtcCreateProgram) create_program = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy_program = nullptr;
  decltype(&::nvrtcCompileProgram) compile_program = nullptr;
  decltype(&::nvrtcGetPTXSize) get_ptx_size = nullptr;
  decltype(&::nvrtcGetPTX) get_ptx = nullptr;
  decltype(&::nvrtcGetCUBINSize) get_cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) get_cubin = nullptr;
  decltype(&::nvrtcGetProgramLogSize) get_program_log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) get_program_log = nullptr;
  decltype(&::nvrtcAddNameExpression) add_name_expression = nullptr;
  decltype(&::nvrtcGetLoweredName) get_lowered_name = nullptr;

  std::string path;  ///< of the library that was opened
  int major = 0, minor = 0;
  std::vector<int> archs;                  ///< 75, 80, …: what it compiles to machine code for
  [[nodiscard]] std::string text() const;  ///< "NVRTC 13.0"
  [[nodiscard]] bool supports(int arch) const;

  /// Opens it on the first call. kEnvironment says where it was looked for and what to install.
  [[nodiscard]] static const Result<Nvrtc>& get();
};

}  // namespace hone::compile
