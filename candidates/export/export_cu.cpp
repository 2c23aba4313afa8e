#include <fmt/format.h>

#include "candidates/export/cpp.h"
#include "candidates/export/forms.h"
#include "candidates/export/source.h"

namespace hone::exporting {
namespace {

std::string compile_line(const Plan& plan) {
  std::string arch = "native";
  if (plan.candidates.size() == 1 && plan.candidates[0].arch_features) {
    arch = fmt::format("sm_{}a", plan.candidates[0].capability);
  }
  return fmt::format(
      "// Compile: nvcc -std=c++20 -O3 -arch={} --expt-relaxed-constexpr -c FILE.cu\n", arch);
}

/// Not what the source calls something.
std::string launcher_name(const Plan& plan) {
  std::string name = plan.name + "_launch";
  const auto taken = [&](const Part& part) { return part.source.find(name) != part.source.npos; };
  while (taken(plan.candidates[0])) name += "_";
  return name;
}

Result<std::string> dispatched(const Plan& plan, const CppWriter& writer) {
  std::string text = writer.header() + compile_line(plan) + writer.includes(true);
  text += std::string(CppWriter::quiet(false)) + writer.hide_macros();
  text += "namespace {\n" + writer.support(true);
  for (const Part& part : plan.candidates) text += "\n" + writer.program(part, true);
  text +=
      "\n// The reference, for other sizes and devices.\n" + writer.program(plan.reference, true);
  for (const Part& part : plan.candidates) {
    auto run = writer.run_candidate(part, true);
    if (!run) return run;
    text += *run;
  }
  auto reference = writer.run_reference();
  if (!reference) return reference;
  text += *reference + "}  // namespace\n";
  text += fmt::format(
      "\n// Pointers to device memory, row-major and dense; buffers must not overlap:\n{}"
      "// The candidate that was made for the device and these sizes, else the reference.\n"
      "cudaError_t {}({}) {{\n{}}}\n",
      writer.shapes(), launcher_name(plan), writer.parameters(), writer.dispatch());
  return text + writer.restore_macros() + std::string(CppWriter::quiet(true));
}

}  // namespace

Result<std::string> export_cu(const Plan& plan) {
  const CppWriter writer(plan);
  if (plan.dispatches()) return dispatched(plan, writer);
  const Part& part = plan.candidates[0];
  auto run = writer.run_candidate(part, false);
  if (!run) return run;
  return writer.header() + compile_line(plan) + writer.includes(false) + "\nnamespace {\n" +
         writer.support(false) + "}  // namespace\n\n" + writer.program(part, false) + "\n" + *run +
         fmt::format(
             "\n// Pointers to device memory, row-major and dense; buffers must not overlap:\n{}"
             "// The candidate was checked at the sizes below only, and its rewriting may rest on "
             "them: others, and\n// pointers that are not aligned to 16 bytes, are "
             "cudaErrorInvalidValue. `hone export --format hpp` runs the\n// reference for them.\n"
             "cudaError_t {}({}) {{\n  if (!({} && {})) return cudaErrorInvalidValue;\n  return "
             "hone_run_sm_{}({});\n}}\n",
             writer.shapes(), launcher_name(plan), writer.parameters(), writer.made_for(),
             writer.aligned(), part.capability, writer.arguments());
}

}  // namespace hone::exporting
