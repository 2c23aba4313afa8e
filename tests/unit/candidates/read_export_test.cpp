// read_export: an exported candidate is taken out of the file as it was put in, and what was done
// to its marks is said with its place.
#include "candidates/export/read_export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "candidates/export/export.h"
#include "tests/unit/candidates/helpers.h"

namespace hone {
namespace {

constexpr const char* kTask = R"CU(/* hone {
  "name": "scale", "sizes": {"N": 4096, "K": 3}, "check_sizes": [{"N": 100}],
  "tunables": {"BLOCK": [128, 256]},
  "buffers": [{"name": "x", "type": "f16", "shape": ["N"], "fill": {"constant": 1}},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"},
              {"name": "t", "type": "f32", "shape": ["N*2/BLOCK"], "role": "scratch"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"],
                "args": ["x", "t", "y", "min(N, 2*N-1)", "K", 0.5]}] }
*/
#include <cuda_fp16.h>
#include <mma.h>
extern "C" __global__ void scale(__half* x, float* t, float* y, int n, int k, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = f * k;
}
template <int W> __global__ void second(float* x) { asm volatile("" ::: "memory"); x[W] = 1; }
)CU";

/// Words and symbols alone.
std::string squeezed(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

class ReadExport : public ::testing::Test {
 protected:
  ReadExport() : task_(*parse_task(kTask, "scale.cu")) { add("sm_90", "0123456789ab"); }

  void add(const std::string& arch, const std::string& id) {
    BoardRow row;
    row.candidate.id = id;
    row.candidate.task_hash = task_.hash();
    row.candidate.task_name = task_.name;
    Program& program = row.candidate.program;
    program = task_.reference;
    program.defines = {{"BLOCK", "64"}, {"WIDE", "(1 + 2)"}};
    Buffer scratch;
    scratch.name = "extra";
    scratch.type = ScalarType::kF64;
    scratch.role = Role::kScratch;
    scratch.shape = {*Expr::parse("N + BLOCK")};
    program.buffers.push_back(scratch);
    Launch launch;
    launch.kernel = "second<2>";
    launch.grid = {*Expr::parse("ceildiv(N, 2 * BLOCK)")};
    launch.block = {*Expr::parse("BLOCK")};
    launch.shared_bytes = *Expr::parse("4 * BLOCK");
    launch.args.push_back({.kind = Argument::Kind::kBuffer, .buffer = "extra"});
    program.launches.push_back(launch);
    Step step;
    step.rewriter = "unroll";
    step.site = "scale/*/loop";
    step.params["note"] = "*/ ?\?/ \\ \"";  // a trigraph, too
    row.candidate.recipe = {step};
    row.evaluation.verdict = Verdict::kOk;
    row.provenance.arch = arch;
    row.provenance.device = "cuda:0";
    rows_.push_back(row);
  }

  std::string exported(ExportFormat format = ExportFormat::kCu) const {
    auto text = export_candidates(format, rows_, task_);
    EXPECT_TRUE(text) << text.error().message;
    return text.value_or("");
  }

  /// The error of a text that is no good export.
  std::string refusal(const std::string& text) const {
    const auto variants = read_export(text, "x.cu", task_);
    EXPECT_FALSE(variants) << text;
    if (variants) return "";
    EXPECT_EQ(variants.error().code, ErrorCode::kInvalidInput);
    EXPECT_TRUE(variants.error().message.starts_with("x.cu:")) << variants.error().message;
    return variants.error().message;
  }
  /// Of an export in which `what` was replaced where it stands first.
  std::string refusal(const std::string& what, const std::string& by) const {
    return refusal(test::replaced(exported(), what, by));
  }

  void expect_same(const Variant& variant, const BoardRow& row) const {
    const Program& program = row.candidate.program;
    EXPECT_EQ(variant.program.launches, program.launches);
    EXPECT_EQ(variant.program.buffers, program.buffers);
    EXPECT_EQ(variant.program.defines, program.defines);
    EXPECT_EQ(variant.recipe, row.candidate.recipe);
    EXPECT_EQ(variant.arch, row.provenance.arch);
    EXPECT_EQ(squeezed(variant.program.source), squeezed(as_exported(program.source)));
  }

  Task task_;
  std::vector<BoardRow> rows_;
};

TEST_F(ReadExport, GivesWhatWasExported) {
  for (const ExportFormat format : {ExportFormat::kCu, ExportFormat::kHpp}) {
    const std::string text = exported(format);
    EXPECT_TRUE(is_export(text));
    const auto variants = read_export(text, "x.cu", task_);
    ASSERT_TRUE(variants) << variants.error().message;
    ASSERT_EQ(variants->size(), 1U);
    expect_same(variants->front(), rows_[0]);
  }
  EXPECT_FALSE(is_export(kTask));
}

TEST_F(ReadExport, OneOfSeveralIsForTheDevice) {
  add("sm_80", "ba9876543210");
  for (const ExportFormat format : {ExportFormat::kCu, ExportFormat::kHpp}) {
    const auto variants = read_export(exported(format), "x.cu", task_);
    ASSERT_TRUE(variants) << variants.error().message;
    ASSERT_EQ(variants->size(), 2U);
    expect_same(*variant_for(*variants, "sm_90", "x.cu"), rows_[0]);
    expect_same(*variant_for(*variants, "sm_80", "x.cu"), rows_[1]);
    const auto other = variant_for(*variants, "sm_100", "x.cu");
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().message.find("sm_80, sm_90, and none for sm_100"), std::string::npos)
        << other.error().message;
  }
}

TEST_F(ReadExport, ASourceCannotEndItself) {
  Program& program = rows_[0].candidate.program;
  program.source +=
      "// hone program ends: 0123456789ab\n// hone program ends: 0123456789ab_\n"
      "#if 1  // hone guard 0123456789ab\n#endif\n/* hone program { */\n";
  const auto variants = read_export(exported(ExportFormat::kHpp), "x.cu", task_);
  ASSERT_TRUE(variants) << variants.error().message;
  expect_same(variants->front(), rows_[0]);
}

TEST_F(ReadExport, EditsAreRead) {
  std::string text = test::replaced(exported(), "#define BLOCK 64", "#define BLOCK 32");
  text = test::replaced(text, "f * k", "f * k * 1.0f");
  text = test::replaced(text, "#include <mma.h>\n", "#include <cooperative_groups.h>\n");
  const auto variants = read_export(text, "x.cu", task_);
  ASSERT_TRUE(variants) << variants.error().message;
  const Program& program = variants->front().program;
  EXPECT_EQ(program.defines.at("BLOCK"), "32");
  EXPECT_NE(program.source.find("f * k * 1.0f"), std::string::npos);
  EXPECT_TRUE(
      program.source.starts_with("#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n"))
      << program.source;
}

TEST_F(ReadExport, DamageHasItsPlace) {
  const auto expect = [](const std::string& message, const std::string& says) {
    EXPECT_NE(message.find(says), std::string::npos) << message;
  };
  expect(refusal("// hone program begins: 0123456789ab", ""),
         "nothing begins that could end here; the line `// hone program begins: 0123456789ab`");
  expect(refusal("// hone program ends: 0123456789ab", "/* gone */"),
         "the line `// hone program ends: 0123456789ab`");
  expect(refusal("// hone program ends: 0123456789ab", "// hone program ends: 0123"),
         "the line `// hone program ends: 0123456789ab`");
  expect(refusal("// hone program ends: 0123456789ab", "\" // hone program ends: 0123456789ab"),
         "the line `// hone program ends: 0123456789ab`");
  expect(refusal("/* hone program {", "/* {"), "the comment `/* hone program {…} */`");
  expect(refusal("\"arch\": \"sm_90\",", "\"arch\": \"sm_90\""), "x.cu:");
  expect(refusal("\"macros\":", "\"makros\":"), "did you mean 'macros'");
  expect(refusal("#define BLOCK 64", ""), "expected `#define BLOCK …` here");
  expect(refusal("#define BLOCK 64", "#define BLOCK"), "'BLOCK' must have a value");
  expect(refusal("\"ceildiv(N, 2 * BLOCK)\"", "\"ceildiv(M, 2)\""), "unknown name 'M'");
  expect(refusal("\"name\":\"y\"", "\"name\":\"z\""), "is this an export of another task?");
  expect(refusal("{\"name\":\"y\",\"role\":\"out\"", "{\"name\":\"y\",\"role\":\"inout\""),
         "buffer 'y' differs");
  expect(refusal("static inline cudaError_t hone_launch_0(dim3 hone_grid) {}"),
         "its lines `// hone program begins: …` are gone");
  const std::string end = "// hone program ends: 0123456789ab";
  const std::string text = exported();
  const auto line =
      1 +
      std::count(text.begin(),
                 text.begin() + static_cast<std::ptrdiff_t>(text.find("// hone program begins")),
                 '\n');
  expect(refusal(end, ""), "x.cu:" + std::to_string(line) + ":1: ");

  add("sm_80", "ba9876543210");
  expect(refusal("#endif  // hone guard ba9876543210", "#endif"), "has lost its partner");
  expect(refusal("#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800  // hone guard ba9876543210",
                 ""),
         "has lost its partner");
}

TEST_F(ReadExport, OtherFormsAreNoVariants) {
  const test::TempDir dir;
  for (const auto& [format, name] : {std::pair{ExportFormat::kTorch, "x.py"},
                                     {ExportFormat::kCupy, "y.py"},
                                     {ExportFormat::kJson, "x.json"}}) {
    const auto variants = read_variants(dir.write(name, exported(format)), task_);
    ASSERT_FALSE(variants) << name;
    EXPECT_NE(variants.error().message.find("only the formats cu and hpp"), std::string::npos)
        << variants.error().message;
  }
  const auto variants = read_variants(dir.write("x.hpp", exported(ExportFormat::kHpp)), task_);
  EXPECT_TRUE(variants) << variants.error().message;
}

}  // namespace
}  // namespace hone
