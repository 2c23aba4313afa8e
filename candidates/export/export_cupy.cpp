#include <fmt/format.h>
#include <fmt/ranges.h>

#include "candidates/export/forms.h"
#include "candidates/export/python.h"
#include "candidates/export/python_forms.h"
#include "candidates/export/python_runtime.h"

namespace hone::exporting {

Result<std::string> export_cupy(const Plan& plan) {
  const PythonWriter writer(plan);
  const auto tables = writer.tables(/*arch_features=*/false);
  if (!tables) return tables;
  const std::size_t outputs = writer.outputs();
  return writer.header() +
         "\"\"\"A function on CuPy arrays, on the current stream. Compiles at the first call on a "
         "device, or by\n"
         "compile_now(). At other sizes than those it was made for, or on an older device, the "
         "reference\n"
         "runs.\"\"\"\n\nimport ctypes\nimport struct\nimport threading\n\nimport cupy\nimport "
         "numpy\n\n" +
         std::string(kPythonCommon) + "\n" + std::string(kCupyRuntime) + "\n\n" + *tables + "\n" +
         fmt::format("{}def {}({}):\n    outputs = _run({}, {})\n    return {}\n", writer.comment(),
                     writer.function(), writer.parameters(), python_tuple(writer.inputs()),
                     python_tuple(writer.given()),
                     outputs == 0   ? "None"
                     : outputs == 1 ? "outputs[0]"
                                    : "tuple(outputs)");
}

}  // namespace hone::exporting
