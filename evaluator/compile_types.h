// What compiling one program yields; shared by the compile runner, the emulator and the GPU device.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/verdict.h"

namespace hone {

/// One kernel parameter as PTX declares it.
struct KernelParameter {
  enum class Kind { kInteger, kFloat, kBits };  ///< kBits: structs and half types (.b8[n], .b16)
  Kind kind = Kind::kInteger;
  int offset = 0;        // in the parameter block [B]
  int bytes = 0;         // [B]
  bool pointer = false;  ///< known to be one
  std::string type;      ///< "float*", "int", … from the mangled name; empty for extern "C"
};

struct CompiledKernel {
  std::string name;          ///< as in the launch: "scale<float>"
  std::string lowered_name;  ///< in PTX and cubin: "_Z5scaleIfEvPKfPf"
  KernelResources resources;
  std::vector<KernelParameter> parameters;
  int parameter_bytes = 0;      // [B]
  bool marks_pointers = false;  ///< PTX says which parameters are pointers (.ptr)
  std::string code_hash;        ///< of its machine code, see sass/code_hash.h; empty: not known
};

struct CompiledProgram {
  Verdict verdict = Verdict::kCompileError;
  bool missing_kernel = false;  ///< the source compiles, but a launch names no kernel of it
  std::string log;              ///< the compiler's words, capped
  std::string ptx;
  std::string cubin;                    ///< empty when only PTX was asked for
  std::vector<CompiledKernel> kernels;  ///< one per distinct kernel of the launches

  [[nodiscard]] const CompiledKernel* find(std::string_view name) const {
    for (const auto& kernel : kernels) {
      if (kernel.name == name) return &kernel;
    }
    return nullptr;
  }
};

/// What the code of a compile is for; it always means the same.
enum class CodeFor {
  kTiming,    ///< machine code, compiled well
  kChecking,  ///< machine code, compiled fast where this NVRTC can
  kEmulator,  ///< PTX alone, compiled fast: no machine code and no resources
};

/// One compile: what goes to a compile runner.
struct CompileJob {
  std::string source;
  std::map<std::string, std::string> defines;
  std::vector<std::string> kernels;  ///< distinct, as named in the launches
  std::string arch;                  ///< "sm_90"
  bool exact_math = false;           ///< no contraction: for the evaluator's own kernels
  CodeFor code_for = CodeFor::kTiming;
};

}  // namespace hone
