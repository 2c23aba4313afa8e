#include <fmt/format.h>
#include <fmt/ranges.h>

#include "candidates/export/forms.h"
#include "candidates/export/python.h"
#include "candidates/export/python_forms.h"
#include "candidates/export/python_runtime.h"

namespace hone::exporting {
namespace {

/// The operator, whose parameters have names of their own: a schema has words of its own, too.
std::string operator_text(const Plan& plan, const PythonWriter& writer) {
  std::vector<std::string> typed, tensors, ints, mutated;
  std::size_t input = 0;
  for (const Buffer* buffer : plan.buffers()) {
    if (buffer->role == Role::kOut) continue;
    const std::string name = fmt::format("t{}", input++);
    typed.push_back(name + ": torch.Tensor");
    tensors.push_back(name);
    if (buffer->role == Role::kInOut) mutated.push_back(fmt::format("'{}'", name));
  }
  for (std::size_t i = 0; i < writer.given().size(); ++i) {
    ints.push_back(fmt::format("n{}", i));
    typed.push_back(ints.back() + ": int");
  }
  std::string returned = "None";
  std::string value = "None";
  const std::size_t outputs = writer.outputs();
  if (outputs == 1) {
    returned = "torch.Tensor";
    value = "outputs[0]";
  } else if (outputs > 1) {
    returned = fmt::format("typing.Tuple[{}]",
                           fmt::join(std::vector<std::string>(outputs, "torch.Tensor"), ", "));
    value = "tuple(outputs)";
  }
  std::vector<std::string> passed = writer.inputs();
  for (const std::string& name : writer.given()) passed.push_back(name);

  const std::string both = fmt::format("{}, {}", python_tuple(tensors), python_tuple(ints));
  std::string text = fmt::format(
      "@torch.library.custom_op({}, mutates_args={})\ndef _operator({}) -> {}:\n"
      "    outputs = _run({})\n    return {}\n\n\n",
      python_string("hone::" + plan.unique), python_tuple(mutated), fmt::join(typed, ", "),
      returned, both, value);
  text += fmt::format(
      "@_operator.register_fake\ndef _fake({}):\n    outputs = _run_fake({})\n    return {}\n\n\n",
      fmt::join(typed, ", "), both, value);
  return text + fmt::format("{}def {}({}):\n    return _operator({})\n", writer.comment(),
                            writer.function(), writer.parameters(), fmt::join(passed, ", "));
}

}  // namespace

Result<std::string> export_torch(const Plan& plan) {
  const PythonWriter writer(plan);
  const auto tables = writer.tables(/*arch_features=*/true);
  if (!tables) return tables;
  return writer.header() +
         "\"\"\"A custom operator for PyTorch, also under torch.compile. Needs PyTorch with CUDA "
         "and its own\n"
         "NVRTC, no nvcc. Compiles at the first call on a device, or by compile_now(). It has no "
         "backward.\n"
         "At other sizes than those it was made for, or on an older device, the reference "
         "runs.\"\"\"\n\n"
         "import ctypes\nimport glob\nimport os\nimport struct\nimport threading\nimport typing\n\n"
         "import torch\n\n" +
         std::string(kPythonCommon) + "\n" + std::string(kTorchRuntime) + "\n\n" + *tables + "\n" +
         operator_text(plan, writer);
}

}  // namespace hone::exporting
