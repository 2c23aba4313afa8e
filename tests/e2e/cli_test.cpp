// The main job through the command line, on the emulated GPU.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

const std::string kMatmul = std::string(HONE_SOURCE_DIR) + "/baselines/matmul/matmul.cu";

class Cli : public ::testing::Test {
 protected:
  void check_show(const std::string& id, const std::string& shown);
  void check_diffs(const std::string& id);

  TemporaryFolder folder_;
  std::string db_ = folder_.file("hone.db");
};

/// Which run, with which seed, and where it stands under the roof.
void Cli::check_show(const std::string& id, const std::string& shown) {
  EXPECT_NE(shown.find("run       1: evolve, seed 5, on emulated sm_90"), shown.npos) << shown;
  EXPECT_NE(shown.find("roofline  17.2 GFLOP and 50.3 MB, 341 FLOP/B: at most "), shown.npos)
      << shown;
  EXPECT_NE(shown.find(" by arithmetic; "), shown.npos) << shown;
  const auto document = hone({"show", id, "--db", db_, "--json", "-"}).json();
  ASSERT_EQ(document["runs"].size(), 1U) << document["runs"];
  EXPECT_EQ(document["runs"][0]["seed"], 5);
  EXPECT_EQ(document["runs"][0]["strategy"], "evolve");
  EXPECT_FALSE(document["runs"][0]["found_at"].get<std::string>().empty());
  const auto& roofline = document["roofline"];
  EXPECT_EQ(roofline["modelled"], true);
  EXPECT_EQ(roofline["bound_by"], "arithmetic");
  EXPECT_NEAR(roofline["fraction"].get<double>(),
              document["evaluation"]["measurement"]["roof_fraction"].get<double>(), 0.01);
  EXPECT_TRUE(document["clock_mhz"].is_null());
}

/// Beside each other where there is room for it, coloured on terminals.
void Cli::check_diffs(const std::string& id) {
  const auto beside = hone({"diff", id, "--side-by-side", "--db", db_});
  EXPECT_EQ(beside.status, 0) << beside.err;
  EXPECT_NE(beside.out.find(" | "), std::string::npos) << beside.out;
  EXPECT_EQ(beside.out.find("--- reference"), std::string::npos);
  EXPECT_EQ(beside.out.find('\033'), std::string::npos);
  EXPECT_NE(
      hone({"diff", id, "--side-by-side", "--color", "always", "--db", db_}).out.find("\033[32m"),
      std::string::npos);
  EXPECT_NE(hone({"diff", id, "--color", "always", "--db", db_}).out.find("\033[36m@@"),
            std::string::npos);
  EXPECT_EQ(hone({"diff", id, "--side-by-side", "--unified", "--db", db_}).status, 2);
  if (!std::filesystem::exists("/usr/bin/script")) return;
  const auto on_terminal = [&](const std::string& columns, const std::string& option,
                               const std::string& variable = "TERM=xterm") {
    const std::string command = "stty cols " + columns + " && " + "TERM=xterm " + variable + " " +
                                std::string(HONE_BIN_DIR) + "/hone diff " + id + " --db " + db_ +
                                " " + option;
    return run_process({"/usr/bin/script", "-qec", command, "/dev/null"}).out;
  };
  const std::string wide = on_terminal("150", "");
  EXPECT_EQ(wide.find("--- reference"), std::string::npos) << wide;
  EXPECT_NE(wide.find("\033[32m"), std::string::npos) << wide;
  EXPECT_NE(on_terminal("80", "").find("--- reference"), std::string::npos);
  EXPECT_NE(on_terminal("150", "--unified").find("--- reference"), std::string::npos);
  EXPECT_EQ(on_terminal("150", "--color never").find("\033["), std::string::npos);
  // no-color.org: set and not empty.
  for (const char* none : {"NO_COLOR=1", "TERM=dumb"}) {
    EXPECT_EQ(on_terminal("150", "", none).find("\033["), std::string::npos) << none;
    EXPECT_NE(on_terminal("150", "--color always", none).find("\033["), std::string::npos) << none;
  }
  EXPECT_NE(on_terminal("150", "", "NO_COLOR=").find("\033["), std::string::npos);
}

TEST_F(Cli, OptimizeFindsShowsDiffsAndExportsAFasterMatmul) {
  const auto run = hone({"optimize", kMatmul, "--device", "emu:sm_90", "--budget", "60", "--seed",
                         "5", "--db", db_, "--json", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto result = run.json();
  ASSERT_TRUE(result.is_object()) << run.out;
  EXPECT_EQ(result["task"], "matmul");
  EXPECT_EQ(result["device"], "emu:sm_90");
  EXPECT_EQ(result["modelled"], true);
  EXPECT_GT(result["reference"]["time_us"].get<double>(), 0);
  const auto& best = result["best"];
  EXPECT_GT(best["speedup"].get<double>(), 1.2);
  // Each finalist's reference is modelled from the blocks that stand for the finalist.
  EXPECT_NEAR(best["speedup"].get<double>(),
              result["reference"]["time_us"].get<double>() / best["time_us"].get<double>(),
              0.02 * best["speedup"].get<double>());
  EXPECT_FALSE(best["recipe"].empty());
  EXPECT_LE(best["roof_fraction"].get<double>(), 1.0);
  EXPECT_LT(best["max_rel_error"].get<double>(), 1e-4);
  const auto& counts = result["counts"];
  std::int64_t total = 0;
  for (const char* name :
       {"duplicate", "refused", "compile_error", "launch_error", "fault", "race", "wrong_result",
        "tampering", "timeout", "crash", "unsupported", "slower", "ok"}) {
    ASSERT_TRUE(counts.contains(name)) << name;
    total += counts[name].get<std::int64_t>();
  }
  EXPECT_EQ(total, counts["proposed"]);
  // The rules prove what they do: no candidate may be wrong.
  for (const char* name :
       {"compile_error", "fault", "race", "wrong_result", "tampering", "crash"}) {
    EXPECT_EQ(counts[name], 0) << name;
  }

  const std::string id = best["candidate"];
  const auto board = hone({"leaderboard", "--db", db_, "--json", "-"}).json();
  ASSERT_EQ(board["boards"].size(), 1U);
  EXPECT_EQ(board["boards"][0]["modelled"], true);
  EXPECT_EQ(board["boards"][0]["rows"][0]["candidate"], id);
  EXPECT_EQ(board["boards"][0]["rows"][0]["rank"], 1);

  const auto show = hone({"show", id.substr(0, 6), "--db", db_});
  EXPECT_EQ(show.status, 0) << show.err;
  EXPECT_NE(show.out.find("modelled"), std::string::npos);
  EXPECT_NE(show.out.find("__global__"), std::string::npos);
  const auto diff = hone({"diff", id, "--db", db_});
  EXPECT_EQ(diff.status, 0);
  EXPECT_NE(diff.out.find("--- reference"), std::string::npos);
  EXPECT_EQ(diff.out.find('\033'), std::string::npos);
  check_show(id, show.out);
  check_diffs(id);

  const std::string exported = folder_.file("best.cu");
  ASSERT_EQ(hone({"export", id, "--format", "cu", "--db", db_, "-o", exported}).status, 0);
  const char* nvcc = "/usr/local/cuda/bin/nvcc";
  if (!std::filesystem::exists(nvcc)) GTEST_SKIP() << "no nvcc: the export was not compiled";
  const auto compiled = run_process(
      {nvcc, "-arch=sm_90", "-std=c++17", "-cubin", "-o", folder_.file("best.cubin"), exported});
  EXPECT_EQ(compiled.status, 0) << compiled.err;
}

TEST_F(Cli, TheSameSeedGivesTheSameBestAndCountsTwice) {
  nlohmann::json results[2];
  for (int i = 0; i < 2; ++i) {
    const auto run = hone({"optimize", std::string(HONE_SOURCE_DIR) + "/baselines/gelu/gelu.cu",
                           "--device", "emu:sm_90", "--budget", "40", "--seed", "11", "--db",
                           folder_.file("seed" + std::to_string(i) + ".db"), "--json", "-"});
    ASSERT_EQ(run.status, 0) << run.err;
    results[i] = run.json();
    // Of the final stage, whose inputs and sampled blocks nobody can know before.
    for (const char* key : {"max_rel_error", "ci95", "bound"}) {
      EXPECT_EQ(results[i]["best"].erase(key), 1U) << key;
    }
  }
  for (const char* key : {"time_us", "speedup", "roof_fraction"}) {
    const double first = results[0]["best"][key];
    EXPECT_NEAR(results[1]["best"][key], first, 1e-3 * first) << key;
    for (auto& result : results) result["best"].erase(key);
  }
  EXPECT_EQ(results[0]["best"], results[1]["best"]);
  EXPECT_EQ(results[0]["counts"], results[1]["counts"]);
}

constexpr const char* kScale = R"CU(/* hone {
  "name": "scale", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}, {"N": 37}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]
}]
}
*/ __global__ void scale(float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 2.0f * x[i];
}
)CU";

struct Variant {
  const char* name;
  const char* body;
  const char* verdict;
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class Evaluate : public Cli, public ::testing::WithParamInterface<Variant> {};

TEST_P(Evaluate, EndsInItsVerdict) {
  const Variant& variant = GetParam();
  const std::string task = folder_.write("scale.cu", kScale);
  const std::string file = folder_.write(
      "variant.cu",
      std::string("__device__ int sink;\n__global__ void scale(float* x, float* y, int N) {\n"
                  "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n") +
          variant.body + "}\n");
  const auto run =
      hone({"evaluate", task, file, "--device", "emu:sm_90", "--db", db_, "--json", "-"});
  const auto result = run.json();
  ASSERT_TRUE(result.is_object()) << run.out << run.err;
  ASSERT_TRUE(result.contains("verdict")) << run.out;
  EXPECT_EQ(result["verdict"], variant.verdict) << result["detail"];
  const bool ok = std::string(variant.verdict) == "ok";
  EXPECT_EQ(run.status, ok ? 0 : 1);
  const auto board = hone({"leaderboard", "--db", db_, "--json", "-"}).json();
  EXPECT_EQ(board["boards"].size(), ok ? 1U : 0U);
  if (!ok) {
    EXPECT_FALSE(result["detail"].get<std::string>().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Verdicts, Evaluate,
    ::testing::Values(
        Variant{"Ok", "if (i < N) y[i] = x[i] + x[i];", "ok"},
        Variant{"WrongValue", "if (i < N) y[i] = 2.01f * x[i];", "wrong_result"},
        Variant{"WritesNothing", "", "wrong_result"},
        Variant{"WritesHalf", "if (i < N / 2) y[i] = 2.0f * x[i];", "wrong_result"},
        Variant{"Constant", "if (i < N) y[i] = 0.0f;", "wrong_result"},
        Variant{"NotANumber", "if (i < N) y[i] = __int_as_float(0x7fc00000);", "wrong_result"},
        Variant{"OutOfBounds", "y[i] = 2.0f * x[i];", "fault"},
        Variant{"WritesItsInput", "if (i < N) { y[i] = 2.0f * x[i]; x[i] = 0.0f; }", "tampering"},
        Variant{"Hangs", "while (x[0] == x[0]) { if (sink == 1) return; }", "timeout"},
        Variant{"Traps", "__trap();", "fault"},
        Variant{"Race",
                "__shared__ float s[128]; if (i < N) s[threadIdx.x] = x[i];"
                " if (i < N) { float v = s[threadIdx.x ^ 1]; y[i] = 2.0f * x[i] + 0.0f * v; }",
                "race"},
        Variant{"Uninitialised",
                // The write keeps the compiler from dropping a variable that nobody writes.
                "__shared__ float s[128]; if (N < 0) s[threadIdx.x] = 1; __syncthreads();"
                " if (i < N) y[i] = s[threadIdx.x ^ 1] == 1.5f ? x[i] : 2.0f * x[i];",
                "fault"},
        Variant{"DoesNotCompile", "if (i < N) y[i] = undeclared;", "compile_error"},
        Variant{"IncludesAHostFile", "}\n#include \"/etc/hostname\"\n__global__ void other() {",
                "compile_error"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(Cli, AVariantMayBringItsOwnLaunches) {
  const std::string task = folder_.write("scale.cu", kScale);
  const std::string variant = folder_.write("variant.cu", R"CU(/* hone {
    "launches": [{"kernel": "twice", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["y", "x", "N"]
}]
}
*/ __global__ void twice(float* out, const float* in, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = in[i] + in[i];
})CU");
  const auto run =
      hone({"evaluate", task, variant, "--device", "emu:sm_90", "--db", db_, "--json", "-"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_EQ(run.json()["verdict"], "ok");
}

// In the sandbox, which shows what runs kernels the task's files, and nothing that compiles them.
TEST_F(Cli, InputsMayComeFromAFile) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) {
    const float value = 0.25F * static_cast<float>(i % 97) - 7;
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const std::string file = folder_.write("weights.bin", bytes);
  const std::string task = folder_.write("scale.cu", R"CU(/* hone
{ "name": "scale", "sizes": {"N": 5000}, "check_sizes": [{"N": 100}, {"N": 257}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"file": "weights.bin"}},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}] }
*/
__global__ void scale(const float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 2.0f * x[i];
}
)CU");
  const auto search = hone(
      {"optimize", task, "--device", "emu:sm_90", "--budget", "6", "--db", db_, "--json", "-"});
  ASSERT_EQ(search.status, 0) << search.out << search.err;
  const auto verify = hone({"verify", search.json()["best"]["candidate"].get<std::string>(), "--db",
                            db_, "--json", "-"});
  EXPECT_EQ(verify.json()["verdict"], "ok") << verify.out << verify.err;
  const auto evaluate = [&](const std::string& source) {
    return hone({"evaluate", task, folder_.write("variant.cu", source), "--device", "emu:sm_90",
                 "--db", db_, "--json", "-"})
        .json()["verdict"];
  };
  const std::string whole = R"CU(__global__ void scale(const float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = FACTOR * x[i];
}
)CU";
  EXPECT_EQ(evaluate("#define FACTOR 2.0f\n" + whole), "ok");
  EXPECT_EQ(evaluate("#define FACTOR 2.5f\n" + whole), "wrong_result");
  EXPECT_EQ(evaluate("#if __has_include(\"" + file + "\")\n#define FACTOR 2.0f\n#endif\n" + whole),
            "compile_error");
}

TEST_F(Cli, InitWritesATaskThatOptimizeTakes) {
  const std::string kernel = folder_.write("saxpy.cu", R"CU(
__global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
})CU");
  const std::string task = folder_.file("saxpy.task.cu");
  const auto init = hone({"init", kernel, "-o", task});
  ASSERT_EQ(init.status, 0) << init.err;
  EXPECT_EQ(hone({"init", kernel, "-o", task}).status, 2) << "overwrote a file";
  const auto run = hone(
      {"optimize", task, "--device", "emu:sm_90", "--budget", "3", "--db", db_, "--json", "-"});
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(Cli, InitReadsAWholeFileAndCheckFindsNothing) {
  folder_.write("scale.h", "#pragma once\n#define SCALE 3\n");
  const std::string file = folder_.write("whole.cu", R"CU(
#include <chrono>
#include "scale.h"
#include "missing.h"
__global__ void blur(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) y[i] = SCALE * x[i] + x[i - 1] - x[i + 1];
}
int main(int argc, char** argv) {
  if (argc < 2) { printf("usage\n"); return 1; }
  int n = atoi(argv[1]);
  float *x, *y;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&y, n * sizeof(float)));
  auto begin = std::chrono::steady_clock::now();
  blur<<<(n + 255) / 256, 256>>>(x, y, n);
})CU");
  const std::string task = folder_.file("whole.task.cu");
  const auto init = hone({"init", file, "-o", task});
  ASSERT_EQ(init.status, 0) << init.err;
  EXPECT_NE(init.err.find("look at: header missing.h"), std::string::npos) << init.err;
  EXPECT_NE(init.err.find("buffer y: inout"), std::string::npos) << init.err;
  const auto check = hone({"check", task});
  EXPECT_EQ(check.status, 0) << check.out << check.err;
  const auto none = hone({"init", file, "--kernel", "sharpen", "-o", folder_.file("none.cu")});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("no kernel 'sharpen'; there are blur"), std::string::npos) << none.err;
}

TEST_F(Cli, InitEndsWithOneWhereCheckStillFindsSomething) {
  const std::string file = folder_.write("race.cu", R"CU(
#include "missing.h"
__global__ void last(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[0] = x[i];
}
int main() {
  int n = 1 << 20;
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, sizeof(float));
  last<<<(n + 255) / 256, 256>>>(x, y, n);
})CU");
  const std::string task = folder_.file("race.task.cu");
  const auto init = hone({"init", file, "-o", task});
  EXPECT_EQ(init.status, 1) << init.err;
  EXPECT_EQ(init.err.find("next: hone optimize"), std::string::npos) << init.err;
  // The line that it names is the written file's.
  const auto at = init.err.find(", line ", init.err.find("`hone check` finds something"));
  ASSERT_NE(at, std::string::npos) << init.err;
  std::ifstream written(task);
  std::string line;
  for (int i = std::stoi(init.err.substr(at + 7)); i > 0; --i) std::getline(written, line);
  EXPECT_NE(line.find("y[0] = x[i]"), std::string::npos) << line << init.err;
  EXPECT_EQ(hone({"check", task}).status, 1);
}

TEST_F(Cli, DoctorSaysWhatIsThere) {
  const auto run = hone({"doctor", "--json", "-"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const auto result = run.json();
  EXPECT_EQ(result["ok"], true);
  EXPECT_GE(result["items"].size(), 4U);
}

TEST_F(Cli, RulesAreListed) {
  const auto result = hone({"rules", "--json", "-"}).json();
  std::set<std::string> names;
  for (const auto& rule : result["rewriters"]) names.insert(rule["name"]);
  for (const char* name :
       {"launch-shape", "restrict-const", "bake-sizes", "unroll", "coarsen-threads",
        "vectorize-access", "launch-bounds", "fast-intrinsics", "shared-tile", "shared-pad",
        "warp-reduce", "cache-hints"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(Cli, AFileIsNotLostToACommandThatFails) {
  for (const auto& arguments :
       {std::vector<std::string>{"calibrate", "--device", "cuda:99", "-o"},
        std::vector<std::string>{"optimize", kMatmul, "--device", "cuda:99", "--db", db_, "--json"},
        std::vector<std::string>{"calibrate", "--device", "nonsense", "-o"}}) {
    const std::string file = folder_.write("keep.json", "keep me");
    auto command = arguments;
    command.push_back(file);
    const auto run = hone(command);
    EXPECT_NE(run.status, 0);
    std::ifstream kept(file);
    const std::string text((std::istreambuf_iterator<char>(kept)), {});
    // --json answers with the error; -o has nothing to say.
    EXPECT_FALSE(text.empty()) << arguments[0];
    if (arguments[0] == "calibrate") {
      EXPECT_EQ(text, "keep me");
    }
  }
}

TEST_F(Cli, ProfilesThatAreNone) {
  const std::string binary = folder_.write("binary.json", std::string("\x01\xff\x1b[31m{", 8));
  for (const auto& [path, says] :
       {std::pair<std::string, std::string>{folder_.file(""), "is a folder"},
        {folder_.file("none.json"), "cannot be read"},
        {binary, "is not JSON"}}) {
    const auto run = hone({"optimize", kMatmul, "--profile", path, "--db", db_});
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_NE(run.err.find(says), std::string::npos) << run.err;
    for (const char c : run.err) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F)) << int{c};
  }
}

}  // namespace
}  // namespace hone::testing
