// What every form promises, whatever the candidate.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "candidates/export/export.h"
#include "candidates/export/launched.h"
#include "candidates/expr_spelling.h"
#include "candidates/task_reader.h"

namespace hone {
namespace {

constexpr ExportFormat kAll[] = {ExportFormat::kCu, ExportFormat::kHpp, ExportFormat::kTorch,
                                 ExportFormat::kCupy, ExportFormat::kJson};

constexpr const char* kTask = R"CU(/* hone {
  "name": "scale", "sizes": {"N": 4096, "K": 3}, "check_sizes": [{"N": 100}],
  "tunables": {"BLOCK": [128, 256]}, "constraints": ["N % 4 == 0 || BLOCK > K"],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"constant": 1}},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"},
              {"name": "t", "type": "f32", "shape": ["N*2"], "role": "scratch"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"],
                "args": ["x", "t", "y", "min(N, 2*N-1)", "K", 0.5]}] }
*/
extern "C" __global__ void scale(float* x, float* t, float* y, int n, int k, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { t[i] = x[i]; y[i] = f * k * t[i]; }
}
)CU";

struct Sample {
  Task task;
  std::vector<BoardRow> rows;
};

Sample sample(const std::string& text = kTask) {
  auto task = parse_task(text, "/home/someone/secret/scale.cu");
  EXPECT_TRUE(task) << task.error().message;
  BoardRow row;
  row.candidate.id = "0123456789ab";
  row.candidate.task_hash = task->hash();
  row.candidate.task_name = task->name;
  row.candidate.program = task->reference;
  row.candidate.origin = "rules";
  row.evaluation.verdict = Verdict::kOk;
  row.evaluation.measurement.samples_us = {1.0, 2.0};
  row.provenance.arch = "sm_90";
  row.provenance.device = "cuda:0";
  row.provenance.device_name = "NVIDIA H200";
  row.provenance.hone_version = "0.1.0";
  return {std::move(*task), {row}};
}

std::string exported(ExportFormat format, const Sample& sample) {
  auto text = export_candidates(format, sample.rows, sample.task);
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

std::string why(ExportFormat format, const Sample& sample) {
  const auto text = export_candidates(format, sample.rows, sample.task);
  EXPECT_FALSE(text);
  if (text) return "";
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidInput);
  return text.error().message;
}

TEST(ExportForms, AreTheSameEveryTimeAndOfNoMachine) {
  for (const ExportFormat format : kAll) {
    const std::string text = exported(format, sample());
    EXPECT_EQ(text, exported(format, sample()));
    EXPECT_EQ(text.find("/home/"), std::string::npos);
    EXPECT_EQ(text.find("secret"), std::string::npos);
    EXPECT_NE(text.find("0123456789ab"), std::string::npos);
  }
}

/// 8-bit floats are PyTorch's own, and bytes for CuPy, which has none.
TEST(ExportForms, EightBitFloats) {
  std::string task(kTask);
  for (std::size_t at; (at = task.find("\"f32\"")) != std::string::npos;)
    task.replace(at, 5, "\"e4m3\"");
  for (std::size_t at; (at = task.find("float*")) != std::string::npos;)
    task.replace(at, 6, "__nv_fp8_e4m3*");
  task.replace(task.find("y[i] = f * k * t[i]"), 19, "y[i] = __nv_fp8_e4m3(f * k * float(t[i]))");
  task.replace(task.find("*/\n"), 3, "*/\n#include <cuda_fp8.h>\n");
  const Sample fp8 = sample(task);
  for (const ExportFormat format : {ExportFormat::kCu, ExportFormat::kHpp})
    EXPECT_NE(exported(format, fp8).find("#include <cuda_fp8.h>"), std::string::npos);
  const std::string torch = exported(ExportFormat::kTorch, fp8);
  EXPECT_NE(torch.find("\"e4m3\": torch.float8_e4m3fn"), std::string::npos);
  EXPECT_NE(torch.find("'e4m3'"), std::string::npos);
  const std::string cupy = exported(ExportFormat::kCupy, fp8);
  EXPECT_NE(cupy.find("\"e4m3\": numpy.dtype(numpy.uint8),  # its bits"), std::string::npos);
  EXPECT_NE(exported(ExportFormat::kHpp, fp8).find("__nv_fp8_e4m3*"), std::string::npos);
}

TEST(ExportForms, SizesAreParametersAndChecked) {
  const std::string cu = exported(ExportFormat::kCu, sample());
  EXPECT_NE(cu.find("scale_launch(const float* x, float* y, long long K, long long N, "
                    "cudaStream_t stream)"),
            std::string::npos)
      << cu;
  EXPECT_NE(cu.find("if (!(K == 3LL && N == 4096LL && hone_aligned(x) && hone_aligned(y))) return "
                    "cudaErrorInvalidValue;"),
            std::string::npos);
  EXPECT_EQ(cu.find("hone_reference"), std::string::npos);
  EXPECT_NE(cu.find("extern \"C++\" __global__ void scale"), std::string::npos);
  const std::string hpp = exported(ExportFormat::kHpp, sample());
  EXPECT_EQ(hpp.find("extern \"C\" "), std::string::npos);
  EXPECT_NE(hpp.find("hone_n.grid(hone_n.ceildiv(N, 128LL), 1, 1)"), std::string::npos) << hpp;
  EXPECT_NE(hpp.find("hone_n.min(N, hone_n.sub(hone_n.mul(2LL, N), 1LL))"), std::string::npos);
  EXPECT_NE(hpp.find("hone_n.rem(N, 4LL) == 0LL"), std::string::npos);
}

TEST(ExportForms, PythonInfersSizesFromShapesAndTakesTheRest) {
  for (const ExportFormat format : {ExportFormat::kTorch, ExportFormat::kCupy}) {
    const std::string text = exported(format, sample());
    EXPECT_NE(text.find("def scale(x, *, K=3):"), std::string::npos);
    EXPECT_NE(text.find("_INFERRED = {'N': (0, 0)}"), std::string::npos);
    EXPECT_NE(text.find("_ceildiv(n_N, 128)"), std::string::npos);
    EXPECT_NE(text.find("min(n_N, ((2 * n_N) - 1))"), std::string::npos);
    EXPECT_NE(text.find("('f32', ((n_N * 2),))"), std::string::npos);
  }
}

TEST(ExportForms, JsonHoldsEverything) {
  const auto json = nlohmann::json::parse(exported(ExportFormat::kJson, sample()));
  EXPECT_EQ(json["task"]["name"], "scale");
  EXPECT_EQ(json["task"]["source_path"], "scale.cu");
  EXPECT_EQ(json["candidates"][0]["evaluation"]["measurement"]["samples_us"].size(), 2U);
  EXPECT_EQ(json["candidates"][0]["provenance"]["arch"], "sm_90");
  EXPECT_EQ(json["candidates"][0]["program"], nlohmann::json(sample().task.reference));
  EXPECT_TRUE(task_from_json(json["task"]));
}

TEST(ExportForms, NamesAreOfOneExport) {
  Sample other = sample();
  other.rows[0].candidate.id = "ba9876543210";
  const auto holds = [](const std::string& text, const char* name) {
    return text.find(name) != text.npos;
  };
  for (const auto& [format, mine, its] :
       {std::tuple{ExportFormat::kHpp, "namespace hone_scale_0123456789ab {",
                   "namespace hone_scale_ba9876543210 {"},
        std::tuple{ExportFormat::kCu, "cudaError_t scale_0123456789ab_launch(",
                   "cudaError_t scale_ba9876543210_launch("},
        std::tuple{ExportFormat::kCu, "namespace hone_scale_0123456789ab_cu {",
                   "namespace hone_scale_ba9876543210_cu {"},
        std::tuple{ExportFormat::kTorch, "'hone::scale_0123456789ab'",
                   "'hone::scale_ba9876543210'"}}) {
    EXPECT_TRUE(holds(exported(format, sample()), mine)) << mine;
    EXPECT_TRUE(holds(exported(format, other), its)) << its;
  }
  // No kernel with a name that the linker sees.
  EXPECT_FALSE(holds(exported(ExportFormat::kCu, sample()), "extern \"C\" __global__"));
  // Short names, but of one only.
  EXPECT_TRUE(holds(exported(ExportFormat::kHpp, other),
                    "namespace hone_scale = hone_scale_ba9876543210;"));
  EXPECT_TRUE(
      holds(exported(ExportFormat::kCu, other), "__attribute__((weak)) cudaError_t scale_launch("));
}

TEST(ExportForms, JsonForgetsWhereFilesLay) {
  Sample one = sample();
  Buffer& input = one.task.reference.buffers[0];
  input.fill.kind = Fill::Kind::kFile;
  input.fill.path = "/home/someone/secret/x.bin";
  one.rows[0].candidate.program = one.task.reference;
  one.rows[0].candidate.task_hash = one.task.hash();
  const std::string json = exported(ExportFormat::kJson, one);
  EXPECT_EQ(json.find("/home"), json.npos);
  EXPECT_NE(json.find("x.bin"), json.npos);
}

TEST(ExportForms, SeveralAreDispatchedOn) {
  Sample two = sample();
  two.rows.push_back(two.rows[0]);
  two.rows[1].candidate.id = "ba9876543210";
  EXPECT_NE(why(ExportFormat::kHpp, two).find("were both found on sm_90"), std::string::npos);
  two.rows[1].provenance.arch = "sm_80";
  for (const ExportFormat format : {ExportFormat::kCu, ExportFormat::kHpp}) {
    const std::string text = exported(format, two);
    EXPECT_NE(text.find("__CUDA_ARCH__ == 900"), std::string::npos);
    EXPECT_LT(text.find("hone_capability == 80 && hone_sm_80::hone_has_code()"),
              text.find("hone_capability == 90 && hone_sm_90::hone_has_code()"));
    EXPECT_NE(text.find("return hone_run_reference("), std::string::npos);
  }
  for (const ExportFormat format : {ExportFormat::kTorch, ExportFormat::kCupy}) {
    const std::string text = exported(format, two);
    EXPECT_NE(text.find("capability=80,\n    exactly=True"), std::string::npos);
    EXPECT_NE(text.find("capability=90,\n    exactly=True"), std::string::npos);
  }
  two.rows[1].provenance.arch = "gfx90a";
  EXPECT_NE(why(ExportFormat::kCu, two).find("no architecture"), std::string::npos);
  two.rows[1].candidate.task_hash = std::string(32, 'f');
  for (const ExportFormat format : kAll) {
    EXPECT_NE(why(format, two).find("candidates of one task"), std::string::npos);
  }
  two.rows.clear();
  for (const ExportFormat format : kAll) EXPECT_FALSE(why(format, two).empty());
}

TEST(ExportForms, ScratchThatWasFusedAwayIsNotAllocated) {
  Sample one = sample();
  for (const char* name : {"fused_away", "t2"}) {
    Buffer scratch = *one.task.reference.find_buffer("t");
    scratch.name = name;
    one.rows[0].candidate.program.buffers.push_back(scratch);
  }
  one.rows[0].candidate.program.launches[0].args[1].buffer = "t2";
  for (const ExportFormat format :
       {ExportFormat::kCu, ExportFormat::kHpp, ExportFormat::kTorch, ExportFormat::kCupy}) {
    const std::string text = exported(format, one);
    // The JSON comment of the program has it still: that is what `hone evaluate` reads.
    EXPECT_EQ(text.find("// fused_away"), std::string::npos) << text;
    EXPECT_EQ(text.find("hone_scratch_1"), std::string::npos) << text;
  }
  const auto launched = launched_candidate(one.rows[0], one.task, "");
  ASSERT_TRUE(launched) << launched.error().message;
  std::map<std::string, std::int64_t> bytes;
  for (const auto& buffer : launched->program.buffers) bytes[buffer.name] = buffer.bytes();
  EXPECT_EQ(bytes, (std::map<std::string, std::int64_t>{
                       {"x", 16384}, {"y", 16384}, {"t", 4}, {"fused_away", 4}, {"t2", 32768}}));
}

TEST(ExportForms, WhatIsLaunchedIsForItsArchitectureOrALaterOne) {
  Sample one = sample();
  const auto launched = launched_candidate(one.rows[0], one.task, "");
  ASSERT_TRUE(launched) << launched.error().message;
  EXPECT_EQ(launched->name, "scale");
  EXPECT_EQ(launched->arch, "sm_90");
  EXPECT_EQ(launched->callers, (std::vector<std::size_t>{0, 1}));  // x, y; t is scratch
  EXPECT_EQ(launched->given, std::vector<std::string>{"K"});
  EXPECT_EQ(launched->program.launches[0].grid[0], 32);  // 4096 elements, 128 threads a block
  const auto later = launched_candidate(one.rows[0], one.task, "sm_100");
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->arch, "sm_100");
  const auto why_not = [&](std::string_view arch) {
    const auto found = launched_candidate(one.rows[0], one.task, arch);
    EXPECT_FALSE(found);
    return found ? "" : found.error().message;
  };
  EXPECT_EQ(why_not("sm_80"),
            "candidate 0123456789ab was made for sm_90 and does not run on sm_80");
  EXPECT_EQ(why_not("90"), "'90' is no architecture such as sm_90");
  // What needs the "a" target of its architecture runs nowhere else.
  one.rows[0].candidate.program.source += "\n__device__ void wgmma_fence() {}\n";
  EXPECT_EQ(why_not("sm_100"),
            "candidate 0123456789ab was made for sm_90 alone and does not run on sm_100");
}

TEST(ExportForms, ArchitectureSpecificCodeIsGuarded) {
  Sample special = sample();
  std::string& source = special.rows[0].candidate.program.source;
  source.insert(source.rfind("int i"), "asm volatile(\"wgmma.fence.sync.aligned;\");\n");
  EXPECT_NE(exported(ExportFormat::kHpp, special).find("defined(__CUDA_ARCH_FEAT_SM90_ALL)"),
            std::string::npos);
  EXPECT_NE(exported(ExportFormat::kCu, special).find("-arch=sm_90a"), std::string::npos);
  EXPECT_NE(exported(ExportFormat::kTorch, special).find("_CANDIDATES.append(_hone_sm_90)"),
            std::string::npos);
  // CuPy compiles for sm_90 only.
  EXPECT_EQ(exported(ExportFormat::kCupy, special).find("_CANDIDATES.append(_hone_sm_90)"),
            std::string::npos);
}

// Such text comes from a database that somebody else wrote.
TEST(ExportForms, HostileTextEndsNothing) {
  Sample hostile = sample();
  const std::string evil = "x */ \n#error pwned\nimport pwned \\";
  hostile.task.name = evil;
  hostile.rows[0].candidate.task_name = evil;
  hostile.rows[0].provenance.device_name = evil;
  hostile.rows[0].provenance.hone_version = evil;
  Step step;
  step.rewriter = evil;
  step.site = "\"\"\"\nimport pwned\n\xE2\x80\xA8 ''' \xFF";
  hostile.rows[0].candidate.recipe = {step};
  hostile.rows[0].candidate.program.source += "// ''' \"\"\" )TEXT\" \xFF\xE2\x80\xA8\nint x;\n";
  for (const ExportFormat format : kAll) {
    const std::string text = exported(format, hostile);
    EXPECT_EQ(text.find("\n#error p"), std::string::npos) << text;
    EXPECT_EQ(text.find("\nimport pwned"), std::string::npos);
    EXPECT_EQ(text.find('\0'), std::string::npos);
  }
  for (const ExportFormat format : {ExportFormat::kTorch, ExportFormat::kCupy}) {
    for (const char c : exported(format, hostile)) {
      ASSERT_TRUE(c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7F)) << int{c};
    }
  }
}

TEST(ExportForms, WhatCannotBeWrittenIsRefused) {
  for (const char* kernel : {"k<1/*>", "k<//>", "k<'>", "k<\\>", "k<1>#>"}) {
    Sample bad = sample();
    bad.rows[0].candidate.program.launches[0].kernel = kernel;
    for (const ExportFormat format : {ExportFormat::kCu, ExportFormat::kTorch}) {
      EXPECT_NE(why(format, bad).find("cannot be exported"), std::string::npos) << kernel;
    }
  }
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"A", "1\n#include \"/etc/passwd\""}, {"B", "1 \\"}, {"C(x)", "1"}, {"D", "/* 1"}}) {
    Sample bad = sample();
    bad.rows[0].candidate.program.defines[name] = value;
    EXPECT_NE(why(ExportFormat::kHpp, bad).find("cannot be exported"), std::string::npos) << name;
  }
  Sample nul = sample();
  nul.rows[0].candidate.program.source += std::string("\0", 1);
  EXPECT_NE(why(ExportFormat::kCupy, nul).find("NUL"), std::string::npos);
  Sample deep = sample();
  std::string sum = "N";
  for (int i = 0; i < 300; ++i) sum += "-1+1";
  deep.task.reference.launches[0].args[3].expr = *Expr::parse(sum);
  EXPECT_NE(why(ExportFormat::kHpp, deep).find("nests"), std::string::npos);
  EXPECT_NE(why(ExportFormat::kTorch, deep).find("nests"), std::string::npos);
  Sample size = sample();
  size.task.sizes["a b"] = 1;
  for (const ExportFormat format : kAll) EXPECT_FALSE(why(format, size).empty());
}

TEST(ExportForms, KeywordsAsNames) {
  Sample words = sample(R"CU(/* hone {
    "name": "global", "sizes": {"None": 64, "stream": 2}, "check_sizes": [{"None": 10}],
    "buffers": [{"name": "lambda", "type": "f16", "shape": ["None"]},
                {"name": "in", "type": "f16", "shape": ["None"], "role": "inout"}],
    "launches": [{"kernel": "k", "grid": [1], "block": ["None"], "args": ["lambda", "in", "stream"]}] }
*/ __global__ void k(void* a, void* b, int c) {})CU");
  const std::string torch = exported(ExportFormat::kTorch, words);
  EXPECT_NE(torch.find("def global_(lambda_, in_, *, stream=2):"), std::string::npos) << torch;
  EXPECT_NE(torch.find("mutates_args=('t1',)"), std::string::npos);
  const std::string hpp = exported(ExportFormat::kHpp, words);
  EXPECT_NE(hpp.find("const __half* lambda, __half* in, long long None, long long stream_, "
                     "cudaStream_t stream)"),
            std::string::npos)
      << hpp;
}

TEST(ExprSpelling, FollowsTheGrammar) {
  ExprSpelling spelling;
  spelling.literal = [](std::int64_t value) { return std::to_string(value); };
  spelling.name = [](const std::string& name) { return name; };
  spelling.operation = [](std::string_view op, const std::vector<std::string>& operands) {
    std::string text = "(" + std::string(op);
    for (const std::string& operand : operands) text += " " + operand;
    return text + ")";
  };
  const auto spelt = [&](const char* text) { return *spell(*Expr::parse(text), spelling); };
  EXPECT_EQ(spelt("2*M*N - K%3"), "(- (* (* 2 M) N) (% K 3))");
  EXPECT_EQ(spelt("-(M) <= -4 && max(M, N, 1) / 2 != ceildiv(M, 2) || 0 == 1"),
            "(|| (&& (<= (neg M) -4) (!= (/ (max M N 1) 2) (ceildiv M 2))) (== 0 1))");
  EXPECT_EQ(*spell(Expr(), spelling), "0");
  EXPECT_FALSE(spell(*Expr::parse("((1+2)+3)+4"), spelling, 2));
}

}  // namespace
}  // namespace hone
