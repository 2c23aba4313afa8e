#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "candidates/export/cpp.h"
#include "candidates/export/forms.h"

namespace hone::exporting {
namespace {

std::string devices(const Plan& plan) {
  std::vector<std::string> names;
  for (const Part& part : plan.candidates) names.push_back(fmt::format("sm_{}", part.capability));
  const bool exactly = plan.dispatches() || plan.candidates[0].arch_features;
  return fmt::format("{}{}", fmt::join(names, " or "), exactly ? "" : " or later");
}

}  // namespace

Result<std::string> export_hpp(const Plan& plan) {
  const CppWriter writer(plan);
  const auto upper = [](std::string name) {
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
  };
  const std::string guard = upper("HONE_" + plan.unique),
                    short_guard = upper("HONE_SHORT_" + plan.name);
  // Not the bare name: ::exp would hide a function, and be hidden by it.
  const std::string scope = "hone_" + plan.unique, short_scope = "hone_" + plan.name;

  std::string text = writer.header();
  text += fmt::format(
      "// Include it in files that nvcc compiles (-std=c++20 --expt-relaxed-constexpr), and call\n"
      "//   {0}::launch(...)\n"
      "// or, where it is the first export of this task that the file includes, {2}::launch(...).\n"
      "// It has internal linkage: every file that includes it has code of its own.\n"
      "#ifndef {1}\n#define {1}\n#ifndef __CUDACC__\n#error \"This header has kernels: compile "
      "with nvcc.\"\n#endif\n",
      scope, guard, short_scope);
  text += writer.includes(true);
  text += std::string(CppWriter::quiet(false)) + writer.hide_macros();
  text += fmt::format("namespace {} {{\n{}", scope, writer.support(true));
  for (const Part& part : plan.candidates) text += "\n" + writer.program(part, true);
  text +=
      "\n// The reference, for other sizes and devices.\n" + writer.program(plan.reference, true);
  for (const Part& part : plan.candidates) {
    auto run = writer.run_candidate(part);
    if (!run) return run;
    text += *run;
  }
  auto reference = writer.run_reference();
  if (!reference) return reference;
  text += *reference;
  text += fmt::format(
      "\n// Pointers to device memory, row-major and dense; buffers must not overlap:\n{}"
      "// A candidate where {},\n// pointers are aligned to 16 bytes and the device is {}; else "
      "the "
      "reference.\n"
      "// cudaErrorInvalidValue: sizes that the reference cannot have.\n"
      "static inline cudaError_t launch({}) {{\n{}}}\n{}}}  // namespace {}\n",
      writer.shapes(), comment_text(writer.made_for()), devices(plan), writer.parameters(),
      writer.dispatch(), writer.restore_macros(), scope);
  text += fmt::format("#ifndef {0}\n#define {0}\nnamespace {1} = {2};\n#endif\n", short_guard,
                      short_scope, scope);
  return text + std::string(CppWriter::quiet(true)) + "#endif\n";
}

}  // namespace hone::exporting
