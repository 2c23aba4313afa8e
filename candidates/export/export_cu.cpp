#include <fmt/format.h>

#include <algorithm>
#include <cctype>

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

std::string scope_of(const Plan& plan) { return "hone_" + plan.unique + "_cu"; }

/// Not what a source calls something, for whoever includes the file.
std::string launcher_name(const Plan& plan, const std::string& of) {
  std::string name = of + "_launch";
  const auto taken = [&](const Part& part) { return part.source.find(name) != part.source.npos; };
  while (std::ranges::any_of(plan.candidates, taken) || taken(plan.reference)) name += "_";
  return name;
}

/// The launchers that everybody calls; the rest is out of their way, and of other exports'. The
/// short name is weak: of several exports of a task in one program one has it.
std::string outer_launchers(const Plan& plan, const CppWriter& writer) {
  const std::string name = launcher_name(plan, plan.unique),
                    short_name = launcher_name(plan, plan.name);
  std::string guard = "HONE_LAUNCH_" + plan.name;
  for (char& c : guard) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(
      "cudaError_t {0}({1}) {{\n  return {2}::hone_launch({3});\n}}\n"
      "// The same by a short name, which only one export of a task in a program can have.\n"
      "#if defined(__GNUC__) && !defined({4})\n#define {4}\n"
      "__attribute__((weak)) cudaError_t {5}({1}) {{\n  return {0}({3});\n}}\n#endif\n",
      name, writer.parameters(), scope_of(plan), writer.arguments(), guard, short_name);
}

}  // namespace

Result<std::string> export_cu(const Plan& plan) {
  const CppWriter writer(plan);
  const bool all_sizes = plan.dispatches();  // and all devices: with the reference
  std::string text = writer.header() + compile_line(plan) + writer.includes(all_sizes);
  text += std::string(CppWriter::quiet(false)) + writer.hide_macros();
  text +=
      fmt::format("namespace {} {{\nnamespace {{\n", scope_of(plan)) + writer.support(all_sizes);
  for (const Part& part : plan.candidates) text += "\n" + writer.program(part, all_sizes);
  if (all_sizes)
    text += "\n// The reference, for other sizes and devices.\n" +
            writer.program(plan.reference, all_sizes);
  for (const Part& part : plan.candidates) {
    auto run = writer.run_candidate(part);
    if (!run) return run;
    text += *run;
  }
  if (all_sizes) {
    auto reference = writer.run_reference();
    if (!reference) return reference;
    text += *reference;
  }
  text += fmt::format("static inline cudaError_t hone_launch({}) {{\n{}}}\n", writer.parameters(),
                      all_sizes ? writer.dispatch()
                                : fmt::format("  if (!({} && {})) return cudaErrorInvalidValue;\n"
                                              "  return hone_run_sm_{}({});\n",
                                              writer.made_for(), writer.aligned(),
                                              plan.candidates[0].capability, writer.arguments()));
  text += fmt::format("}}  // namespace\n}}  // namespace {}\n", scope_of(plan));
  text += fmt::format(
      "\n// Pointers to device memory, row-major and dense; buffers must not overlap:\n{}",
      writer.shapes());
  text +=
      all_sizes
          ? "// The candidate that was made for the device and these sizes, else the reference.\n"
          : fmt::format(
                "// The candidate was checked where {} only, and its rewriting may\n"
                "// rest on that: other sizes, and pointers that are not aligned to 16 bytes, "
                "are\n"
                "// cudaErrorInvalidValue. `hone export --format hpp` runs the reference for "
                "them.\n",
                comment_text(writer.made_for()));
  return text + outer_launchers(plan, writer) + writer.restore_macros() +
         std::string(CppWriter::quiet(true));
}

}  // namespace hone::exporting
