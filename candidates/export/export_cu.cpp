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

std::string scope_of(const Plan& plan) { return "hone_" + plan.name + "_cu"; }

/// Not what the source calls something.
std::string launcher_name(const Plan& plan) {
  std::string name = plan.name + "_launch";
  const auto taken = [&](const Part& part) { return part.source.find(name) != part.source.npos; };
  while (taken(plan.candidates[0])) name += "_";
  return name;
}

/// The launcher that everybody calls; the rest is out of their way, and of other exports'.
std::string outer_launcher(const Plan& plan, const CppWriter& writer) {
  return fmt::format("cudaError_t {}({}) {{\n  return {}::hone_launch({});\n}}\n",
                     launcher_name(plan), writer.parameters(), scope_of(plan), writer.arguments());
}

Result<std::string> dispatched(const Plan& plan, const CppWriter& writer) {
  std::string text = writer.header() + compile_line(plan) + writer.includes(true);
  text += std::string(CppWriter::quiet(false)) + writer.hide_macros();
  text += fmt::format("namespace {} {{\nnamespace {{\n", scope_of(plan)) + writer.support(true);
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
  text += *reference;
  text += fmt::format("static inline cudaError_t hone_launch({}) {{\n{}}}\n", writer.parameters(),
                      writer.dispatch());
  text += fmt::format("}}  // namespace\n}}  // namespace {}\n", scope_of(plan));
  text += fmt::format(
      "\n// Pointers to device memory, row-major and dense; buffers must not overlap:\n{}"
      "// The candidate that was made for the device and these sizes, else the reference.\n",
      writer.shapes());
  return text + outer_launcher(plan, writer) + writer.restore_macros() +
         std::string(CppWriter::quiet(true));
}

}  // namespace

Result<std::string> export_cu(const Plan& plan) {
  const CppWriter writer(plan);
  if (plan.dispatches()) return dispatched(plan, writer);
  const Part& part = plan.candidates[0];
  auto run = writer.run_candidate(part, false);
  if (!run) return run;
  const std::string open = fmt::format("namespace {} {{\nnamespace {{\n", scope_of(plan));
  const std::string close = fmt::format("}}  // namespace\n}}  // namespace {}\n", scope_of(plan));
  // The program as it was, and its launches while its macros are defined.
  std::string text = writer.header() + compile_line(plan) + writer.includes(false);
  text +=
      "\n" + open + writer.support(false) + close + "\n" + writer.program(part, false, open, close);
  text += fmt::format(
      "\n{}{}static inline cudaError_t hone_launch({}) {{\n  if (!({} && {})) return "
      "cudaErrorInvalidValue;\n  return hone_run_sm_{}({});\n}}\n{}",
      open, *run, writer.parameters(), writer.made_for(), writer.aligned(), part.capability,
      writer.arguments(), close);
  text += fmt::format(
      "\n// Pointers to device memory, row-major and dense; buffers must not overlap:\n{}"
      "// The candidate was checked where {} only, and its rewriting may\n"
      "// rest on that: other sizes, and pointers that are not aligned to 16 bytes, are\n"
      "// cudaErrorInvalidValue. `hone export --format hpp` runs the reference for them.\n",
      writer.shapes(), comment_text(writer.made_for()));
  return text + outer_launcher(plan, writer);
}

}  // namespace hone::exporting
