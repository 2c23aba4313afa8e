// What compiling one program yields; shared by the compile runner, the emulator and the GPU device.
#pragma once

#include <string>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/verdict.h"

namespace hone {

struct CompiledKernel {
  std::string name;          ///< as in the launch: "scale<float>"
  std::string lowered_name;  ///< in PTX and cubin: "_Z5scaleIfEvPKfPf"
  KernelResources resources;
};

struct CompiledProgram {
  Verdict verdict = Verdict::kCompileError;
  std::string log;      ///< the compiler's words, capped
  std::string ptx;
  std::string cubin;    ///< empty when only PTX was asked for
  std::vector<CompiledKernel> kernels;  ///< one per distinct kernel of the launches
};

}  // namespace hone
