// `hone export`: every form of candidates of many kinds, compiled and imported where that is
// possible.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "candidates/program.h"
#include "candidates/task_reader.h"
#include "tests/e2e/process.h"
#include "tests/e2e/small_baseline.h"

namespace hone::testing {
namespace {

const std::string kSource = HONE_SOURCE_DIR;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Empty where there is none.
std::string find_program(const std::string& name) {
  std::vector<std::string> folders;
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  std::istringstream path(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) folders.push_back(folder);
  for (const std::string& folder : folders) {
    std::error_code error;
    if (std::filesystem::is_regular_file(folder + "/" + name, error)) return folder + "/" + name;
  }
  return "";
}

/// One file for two architectures, no warnings allowed.
ProcessResult nvcc(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {program, "-std=c++20", "--expt-relaxed-constexpr", "-Xcompiler", "-Wall",
                    "-Werror", "all-warnings", "-gencode", "arch=compute_80,code=sm_80", "-gencode",
                    "arch=compute_90,code=sm_90"});
  return run_process(arguments);
}

/// Two launches, a template, a kernel with C linkage, half types, tunables, scratch, macros that
/// are called as sizes and buffers are, a function that overloads one of CUDA's, words of C++ and
/// Python.
constexpr const char* kMixed = R"CU(/* hone {
  "name": "mixed: *x, \"\"\" ''' \\ } \u2028", "sizes": {"N": 4096, "lambda": 3},
  "check_sizes": [{"N": 512}, {"N": 251}], "tunables": {"BLOCK": [64, 128]},
  "constraints": ["N % 1 == 0 && (BLOCK <= 1024 || N > 5)"],
  "buffers": [
    {"name": "in", "type": "f32", "shape": ["N"]},
    {"name": "stream", "type": "f16", "shape": ["max(N, 4, lambda)"]},
    {"name": "is", "type": "f32", "shape": ["N"], "role": "out"},
    {"name": "tmp", "type": "f32", "shape": ["N", "BLOCK/BLOCK"], "role": "scratch"}],
  "launches": [
    {"kernel": "ns::scale<float, BLOCK>", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"],
     "args": ["in", "tmp", "N", 2.5, 3]},
    {"kernel": "add", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"],
     "args": ["tmp", "stream", "is", "N", "lambda"]}] }
*/
#include <cuda_fp16.h>
#include <cstdint>
#define N 17
#define P 32
#define T 3
// ''' """ )TEXT"
__device__ float atomicMax(float* a, float b) { *a = *a > b ? *a : b; return b; }
__device__ float max(float a, int b, int c) { return a + b + c; }
namespace ns {
template <class V, int B>
__global__ void __launch_bounds__(B) scale(const V* x, V* y, int n, float a, float b) {
  int i = blockIdx.x * B + threadIdx.x;
  if (i < n) y[i] = x[i] * a + b + max(0.0f, 1, 2) - max(P, T) * 0;
}
}
extern "C" {
__global__ void add(const float* x, const __half* h, float* y, int n, int64_t k) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * k + __half2float(h[i]);
}
}
)CU";

/// A source that calls things of its own as the exported file calls CUDA's and its own.
constexpr const char* kTakenNames = R"CU(/* hone {
  "name": "names", "sizes": {"N": 4096}, "check_sizes": [{"N": 251}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "hone_launch_0<inner::cudaStream_t>", "grid": ["ceildiv(N,64)"],
                "block": [64], "shared_bytes": 256, "args": ["x", "y", "N"]}] }
*/
typedef struct CUstream_st* cudaStream_t;  // in a namespace another type than CUDA's
namespace inner {
struct cudaStream_t { float factor; };
struct dim3 { int a; };
}
struct hone_pointer { float value; };
#define cudaError_t int
#define cudaSuccess 7
#define cudaFuncAttributes int
#define cudaFuncSetAttribute(a, b, c) (a + b + c)
#define cudaGetLastError() 0
#define size_t unsigned
#define hone_grid -1
#define hone_any(a) a
__device__ bool hone_has_code() { return true; }
__device__ float hone_last_error(hone_pointer p) { return p.value; }
template <class T>
__global__ void hone_launch_0(const float* x, float* y, int n) {
  extern __shared__ float tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  T t{2.0f};
  tile[threadIdx.x] = hone_last_error(hone_pointer{t.factor}) + cudaGetLastError() * cudaSuccess;
  if (i < n && hone_has_code()) y[i] = x[i] * tile[threadIdx.x] + hone_any(1);
}
)CU";

/// Tiles come and go by bulk copies through tensor maps: of a buffer as it is, and of one whose
/// rows are taken two at a time, and whose elements are rounded.
constexpr const char* kTensorMap = R"CU(/* hone {
  "name": "by tensor maps", "sizes": {"M": 64, "N": 128}, "check_sizes": [{"M": 20, "N": 36}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["2*M", "N"]},
              {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "evens", "grid": ["ceildiv(N,32)", "ceildiv(M,16)"], "block": [128],
    "args": [{"tensor_map": "x", "shape": ["M", "N"], "strides": ["2*N"], "box": [16, 32],
              "swizzle": 128, "as_tf32": true},
             {"tensor_map": "y", "box": [16, 32]}, 2.0]}] }
*/
#include <cuda.h>
__global__ void __launch_bounds__(128) evens(const __grid_constant__ CUtensorMap x,
                                             const __grid_constant__ CUtensorMap y, float factor) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ alignas(1024) float from[16 * 32];
  __shared__ alignas(128) float to[16 * 32];
  __shared__ alignas(8) unsigned long long full;
  const unsigned from_at = static_cast<unsigned>(__cvta_generic_to_shared(from)),
                 to_at = static_cast<unsigned>(__cvta_generic_to_shared(to)),
                 full_at = static_cast<unsigned>(__cvta_generic_to_shared(&full));
  const int column = blockIdx.x * 32, row = blockIdx.y * 16;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full_at));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 2048;" ::"r"(full_at));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(from_at), "l"(&x), "r"(column), "r"(row), "r"(full_at)
        : "memory");
  }
  __syncthreads();
  for (unsigned done = 0; !done;) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(full_at)
        : "memory");
  }
  for (int i = threadIdx.x; i < 16 * 32; i += 128) {
    const int swizzled = i ^ (i / 32 % 8 * 4);  // pieces of 16 bytes within lines of 128
    to[i] = from[swizzled] * factor + 1.0f;
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
                     &y),
                 "r"(column), "r"(row), "r"(to_at)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
#endif
}
)CU";

struct Exported {
  std::string name, task_file, database, id;
};

class Export : public ::testing::Test {
 protected:
  Exported search(const std::string& task_file, const std::string& device = "emu:sm_90",
                  int evaluations = 10) {
    const auto run =
        hone({"optimize", task_file, "--device", device, "--budget", std::to_string(evaluations),
              "--seed", "3", "--finalists", "1", "--db", db_, "--json", "-"});
    const auto result = run.json();
    if (run.status != 0 || !result.contains("best")) {
      ADD_FAILURE() << run.out << run.err;
      return {};
    }
    return {result["task"], task_file, db_, result["best"]["candidate"]};
  }

  std::string form(const std::vector<std::string>& ids, const std::string& format,
                   const std::string& file) {
    std::vector<std::string> command = {"export"};
    command.insert(command.end(), ids.begin(), ids.end());
    const std::string path = folder_.file(file);
    command.insert(command.end(), {"--format", format, "--db", db_, "-o", path});
    const auto run = hone(command);
    EXPECT_EQ(run.status, 0) << run.err;
    return path;
  }

  TemporaryFolder folder_;
  std::string db_ = folder_.file("hone.db");
};

/// "namespace hone_softmax {" -> "hone_softmax"
std::string scope_of(const std::string& header) {
  const std::string text = read(header);
  const std::size_t begin = text.find("namespace hone_") + 10;
  return text.substr(begin, text.find_first_of(" {", begin) - begin);
}

class ExportForms : public Export, public ::testing::WithParamInterface<const char*> {
 protected:
  std::string task_file() {
    const std::string name = GetParam();
    if (name == "half") return kSource + "/tests/golden/vectorize-access/half.cu";
    if (name == "mixed") return folder_.write("mixed.cu", kMixed);
    if (name == "tensor_map") return folder_.write("tensor_map.cu", kTensorMap);
    if (name == "names") return folder_.write("names.cu", kTakenNames);
    return small_baseline(folder_, name);
  }

  /// The module's launches at a check size are those of the reference there; at the timed sizes
  /// those of the candidate.
  void expect_plans(const nlohmann::json& said, const Task& task, const Bindings& sizes,
                    const nlohmann::json& candidate) {
    const auto same = [&](const nlohmann::json& plan, const Program& program, const Bindings& at) {
      const auto concrete = instantiate(program, at);
      ASSERT_TRUE(concrete) << concrete.error().message;
      ASSERT_EQ(plan["launches"].size(), concrete->launches.size());
      for (std::size_t i = 0; i < concrete->launches.size(); ++i) {
        const auto& launch = plan["launches"][i];
        EXPECT_EQ(launch["kernel"], concrete->launches[i].kernel);
        EXPECT_EQ(launch["grid"], nlohmann::json(concrete->launches[i].grid));
        EXPECT_EQ(launch["block"], nlohmann::json(concrete->launches[i].block));
        EXPECT_EQ(launch["shared"], concrete->launches[i].shared_bytes);
        ASSERT_EQ(launch["args"].size(), concrete->launches[i].args.size());
        for (std::size_t a = 0; a < launch["args"].size(); ++a) {
          const ConcreteArgument& argument = concrete->launches[i].args[a];
          if (const auto* value = std::get_if<std::int64_t>(&argument)) {
            EXPECT_EQ(launch["args"][a], *value);
          } else if (const auto* number = std::get_if<double>(&argument)) {
            EXPECT_EQ(launch["args"][a], *number);
          } else if (const auto* map = std::get_if<ConcreteTensorMap>(&argument)) {
            const auto spec = spec_of(*map, concrete->buffers[map->buffer].type, 0);
            const auto first = [](const auto& values, int count) {
              return nlohmann::json(std::vector(values.begin(), values.begin() + count));
            };
            // As the driver without a GPU writes them.
            const auto& encoded = launch["args"][a]["encoded"];
            EXPECT_EQ(encoded[0], 0x7000);
            EXPECT_EQ(encoded[1], static_cast<std::uint64_t>(spec.type) << 32 |
                                      static_cast<std::uint64_t>(spec.swizzle));
            EXPECT_EQ(encoded[2], spec.rank);
            for (std::size_t d = 0; d < static_cast<std::size_t>(spec.rank); ++d) {
              EXPECT_EQ(encoded[3 + d], spec.sizes[d] << 32 | spec.box[d]);
              if (d > 0) EXPECT_EQ(encoded[8 + d], spec.strides[d - 1]);
            }
            EXPECT_EQ(launch["args"][a]["tensor_map"], map->buffer);
            EXPECT_EQ(launch["args"][a]["numbers"],
                      nlohmann::json({static_cast<int>(spec.type), first(spec.sizes, spec.rank),
                                      first(spec.strides, spec.rank - 1),
                                      first(spec.box, spec.rank), static_cast<int>(spec.swizzle)}));
          } else {
            EXPECT_TRUE(launch["args"][a].contains("buffer"));
          }
        }
      }
      std::size_t scratch = 0;
      for (const ConcreteBuffer& buffer : concrete->buffers) {
        // What fusion has left without a launch is not allocated.
        if (buffer.role != Role::kScratch || !program.uses(buffer.name)) continue;
        ASSERT_LT(scratch, plan["scratch"].size());
        EXPECT_EQ(plan["scratch"][scratch][0], to_string(buffer.type));
        EXPECT_EQ(plan["scratch"][scratch++][1], nlohmann::json(buffer.shape));
      }
      EXPECT_EQ(scratch, plan["scratch"].size());
    };
    same(said["reference"], task.reference, sizes);
    const auto program = program_from_json(candidate);
    ASSERT_TRUE(program) << program.error().message;
    same(said["candidate"], *program, task.sizes);
  }

  /// Machine code, and every launch.
  void expect_a_plan(const Exported& best) {
    const auto said = hone({"export", best.id, "--format", "plan", "--db", db_, "--json", "-"});
    ASSERT_EQ(said.status, 0) << said.err;
    const auto document = said.json();
    EXPECT_EQ(document["arch"], "sm_90");
    const auto task = read_task(best.task_file);
    ASSERT_TRUE(task) << task.error().message;
    std::vector<std::string> names;
    for (const Buffer& buffer : task->reference.buffers) {
      if (buffer.role != Role::kScratch) names.push_back(buffer.name);
    }
    ASSERT_EQ(document["buffers"].size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
      EXPECT_EQ(document["buffers"][i]["name"], names[i]);
    const auto json = nlohmann::json::parse(read(form({best.id}, "json", "best.json")));
    EXPECT_EQ(document["launches"], json["candidates"][0]["program"]["launches"].size());
    const std::string bytes = read(form({best.id}, "plan", "best.plan"));
    EXPECT_TRUE(bytes.starts_with("HONEPLAN"));
    EXPECT_NE(bytes.find("\x7f"
                         "ELF"),
              std::string::npos);
    EXPECT_EQ(document["plan"].get<std::string>().size(), 2 * bytes.size());

    const auto older =
        hone({"export", best.id, "--format", "plan", "--arch", "sm_80", "--db", db_});
    EXPECT_EQ(older.status, 2);
    EXPECT_NE(older.err.find("does not run on sm_80"), std::string::npos) << older.err;
    EXPECT_EQ(hone({"export", best.id, "--arch", "sm_90", "--db", db_}).status, 2);
  }
};

TEST_P(ExportForms, JsonPlanAndPythonSayWhatRuns) {
  const Exported best = search(task_file());
  ASSERT_FALSE(best.id.empty());
  const auto json = nlohmann::json::parse(read(form({best.id}, "json", "best.json")));
  EXPECT_EQ(json["candidates"][0]["id"], best.id);
  EXPECT_FALSE(json["candidates"][0]["evaluation"]["measurement"].empty());
  EXPECT_EQ(json.dump().find(folder_.file("")), std::string::npos) << "a path of this machine";
  expect_a_plan(best);

  const std::string python = find_program("python3");
  if (python.empty()) GTEST_SKIP() << "no python3: the Python forms were not imported";
  const auto task = read_task(best.task_file);
  ASSERT_TRUE(task) << task.error().message;
  const Bindings& sizes = task->check_sizes.at(0);
  const std::string sizes_file = folder_.write("sizes.json", nlohmann::json(sizes).dump());
  for (const char* format : {"torch", "cupy"}) {
    const std::string module = form({best.id}, format, std::string("best_") + format + ".py");
    const auto compiled = run_process({python, "-W", "error", "-m", "py_compile", module});
    EXPECT_EQ(compiled.status, 0) << compiled.err;
    const auto run =
        run_process({python, kSource + "/tests/e2e/fake_frameworks.py", module, sizes_file,
                     std::string(HONE_BIN_DIR) + "/../fakes/libcuda.so.1"});
    ASSERT_EQ(run.status, 0) << run.err;
    expect_plans(run.json(), *task, sizes, json["candidates"][0]["program"]);
  }
}

TEST_P(ExportForms, CuAndHppCompileTogether) {
  const std::string compiler = find_program("nvcc");
  if (compiler.empty()) GTEST_SKIP() << "no nvcc: the exports were not compiled";
  const Exported best = search(task_file());
  ASSERT_FALSE(best.id.empty());
  const std::string cu = form({best.id}, "cu", "best.cu");
  const std::string hpp = form({best.id}, "hpp", "best.hpp");
  if (GetParam() == std::string("tensor_map")) {
    for (const std::string& file : {cu, hpp}) {
      const std::string text = read(file);
      EXPECT_TRUE(text.contains("CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,")) << file;
      EXPECT_TRUE(text.contains("CU_TENSOR_MAP_DATA_TYPE_FLOAT32,")) << file;
    }
  }
  // Macros of whoever includes the header do not matter, and are left alone.
  const std::string both = folder_.write(
      "both.cu",
      "#define N 5\n#define BLOCK -1\n#define ROWS (\n"
      "#include \"best.hpp\"\n#include \"best.hpp\"\n"
      "static_assert(N == 5 && BLOCK == -1, \"\");\n#undef N\n#undef BLOCK\n#undef ROWS\n"
      "#include \"best.cu\"\nauto* used = &" +
          scope_of(hpp) + "::launch;\n");
  const auto compiled = nvcc(compiler, {"-c", "-o", folder_.file("both.o"), both});
  EXPECT_EQ(compiled.status, 0) << compiled.out << compiled.err;
}

TEST_F(Export, MapsThatRoundNeedATaskWhoseMathAllowsIt) {
  std::string plain = kTensorMap;
  const std::string rounds = R"(, "as_tf32": true)";
  ASSERT_TRUE(plain.contains(rounds));
  plain.erase(plain.find(rounds), rounds.size());
  const std::string file = folder_.write("rounds.cu", kTensorMap);
  const auto verdict = [&](const std::string& task) {
    const auto said = hone({"evaluate", folder_.write("task.cu", task), file, "--device",
                            "emu:sm_90", "--db", db_, "--json", "-"});
    EXPECT_FALSE(said.out.empty()) << said.err;
    return said.out;
  };
  EXPECT_TRUE(verdict(plain).contains("its tensor maps round f32 to tf32")) << verdict(plain);
  EXPECT_TRUE(verdict(kTensorMap).contains("\"ok\"")) << verdict(kTensorMap);
  // Three products are as precise as f32; what copies have rounded is not.
  const auto with_math = [&](const std::string& math) {
    std::string task = plain;
    return task.replace(task.find("\"buffers\""), 0, "\"math\": \"" + math + "\", ");
  };
  EXPECT_TRUE(verdict(with_math("tf32x3")).contains("needs a task whose math is tf32 or reduced"));
  EXPECT_TRUE(verdict(with_math("tf32")).contains("\"ok\"")) << verdict(with_math("tf32"));
}

INSTANTIATE_TEST_SUITE_P(Tasks, ExportForms,
                         ::testing::Values("matmul", "softmax", "attention", "histogram",
                                           "variance", "global_sum", "transpose", "conv3x3", "half",
                                           "mixed", "names", "tensor_map"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Export, TwoFilesMayIncludeTheHeader) {
  const std::string compiler = find_program("nvcc");
  if (compiler.empty()) GTEST_SKIP() << "no nvcc: the export was not compiled";
  const Exported best = search(folder_.write("mixed.cu", kMixed), "emu:sm_90", 4);
  ASSERT_FALSE(best.id.empty());
  const std::string scope = scope_of(form({best.id}, "hpp", "best.hpp"));
  const std::string use = "#include \"best.hpp\"\nvoid* ";
  const std::string end = "() { return reinterpret_cast<void*>(&" + scope + "::launch); }\n";
  const std::string a = folder_.write("a.cu", use + "a" + end);
  const std::string b =
      folder_.write("b.cu", use + "b" + end + "void* a();\nint main() { return a() == b(); }\n");
  const auto linked = nvcc(compiler, {"-o", folder_.file("program"), a, b});
  EXPECT_EQ(linked.status, 0) << linked.out << linked.err;
}

TEST_F(Export, TwoOfOneTaskAreInOneProgram) {
  const std::string compiler = find_program("nvcc");
  if (compiler.empty()) GTEST_SKIP() << "no nvcc: the exports were not compiled";
  const std::string task = folder_.write("mixed.cu", kMixed);
  const std::string a = search(task, "emu:sm_90", 6).id;
  std::string source = kMixed;
  source.replace(source.find("x[i] * k"), 8, "k * x[i]");
  const auto by_hand = hone({"evaluate", task, folder_.write("other.cu", source), "--device",
                             "emu:sm_90", "--db", db_, "--json", "-"});
  ASSERT_EQ(by_hand.status, 0) << by_hand.out << by_hand.err;
  const std::string b = by_hand.json()["candidate"];
  ASSERT_NE(a, b);
  const std::string hpp_a = form({a}, "hpp", "a.hpp"), hpp_b = form({b}, "hpp", "b.hpp"),
                    cu_a = form({a}, "cu", "a.cu"), cu_b = form({b}, "cu", "b.cu");
  const auto launcher = [](const std::string& file) {
    const std::string text = read(file);
    const std::size_t begin = text.find("\ncudaError_t ") + 13, open = text.find('(', begin);
    return std::pair(text.substr(begin, open - begin),
                     text.substr(open, text.find('{', open) - open));
  };
  const auto [name_a, parameters] = launcher(cu_a);
  const std::string name_b = launcher(cu_b).first;
  ASSERT_NE(name_a, name_b);
  ASSERT_TRUE(name_a.ends_with(a + "_launch")) << name_a;
  const std::string short_name = name_a.substr(0, name_a.size() - a.size() - 8) + "_launch";
  const auto declared = [&, parameters = parameters](const std::string& name) {
    return "cudaError_t " + name + parameters + ";\n";
  };
  const std::string program = folder_.write(
      "main.cu", "#include \"a.hpp\"\n#include \"b.hpp\"\n" + declared(name_a) + declared(name_b) +
                     declared(short_name) + "int main() {\n  auto* volatile used = &" + short_name +
                     ";\n  return used == nullptr || &" + scope_of(hpp_a) + "::launch == &" +
                     scope_of(hpp_b) + "::launch || &" + name_a + " == &" + name_b + ";\n}\n");
  const auto linked = nvcc(compiler, {"-o", folder_.file("program"), program, cu_a, cu_b});
  ASSERT_EQ(linked.status, 0) << linked.out << linked.err;
  EXPECT_EQ(run_process({folder_.file("program")}).status, 0);
  // All in one file, too.
  const auto one = nvcc(compiler, {"-c", "-o", folder_.file("one.o"),
                                   folder_.write("one.cu",
                                                 "#include \"a.cu\"\n#include \"b.cu\"\n"
                                                 "#include \"b.hpp\"\n#include \"a.hpp\"\n"
                                                 "auto* used = &" +
                                                     scope_of(hpp_b) + "::launch;\n")});
  EXPECT_EQ(one.status, 0) << one.out << one.err;
}

TEST_F(Export, SeveralAreDispatchedOn) {
  const std::string softmax = small_baseline(folder_, "softmax");
  // By hand, with what sm_80 does not have: nothing of it may be compiled for that.
  std::string source = read(softmax);
  source.insert(source.find("// Subtract"),
                "asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n");
  const auto by_hand = hone({"evaluate", softmax, folder_.write("variant.cu", source), "--device",
                             "emu:sm_90", "--db", db_, "--json", "-"});
  ASSERT_EQ(by_hand.status, 0) << by_hand.out << by_hand.err;
  const std::string hopper = by_hand.json()["candidate"];
  const std::string ampere = search(softmax, "emu:sm_80").id;
  ASSERT_FALSE(ampere.empty());
  form({hopper, ampere}, "cu", "two.cu");
  EXPECT_NE(read(form({ampere, hopper}, "hpp", "two.hpp")).find("hone_capability == 80"),
            std::string::npos);
  form({hopper}, "hpp", "one.hpp");
  for (const char* format : {"torch", "cupy"}) {
    const std::string text = read(form({ampere, hopper}, format, "two.py"));
    EXPECT_NE(text.find("_CANDIDATES.append(_hone_sm_80)"), std::string::npos);
    EXPECT_NE(text.find("_CANDIDATES.append(_hone_sm_90)"), std::string::npos);
  }
  const std::string compiler = find_program("nvcc");
  // Of one candidate and of two: both compile for sm_80.
  for (const char* header : {"two.hpp", "one.hpp"}) {
    if (compiler.empty()) continue;
    const auto compiled =
        nvcc(compiler, {"-c", "-o", folder_.file("two.o"),
                        folder_.write("both.cu", std::string("#include \"two.cu\"\n#include \"") +
                                                     header + "\"\n")});
    EXPECT_EQ(compiled.status, 0) << compiled.out << compiled.err;
  }

  const Exported other = search(kSource + "/baselines/gelu/gelu.cu", "emu:sm_80", 4);
  const auto of_two_tasks = hone({"export", hopper, other.id, "--format", "hpp", "--db", db_});
  EXPECT_EQ(of_two_tasks.status, 2);
  EXPECT_NE(of_two_tasks.err.find("one task"), std::string::npos) << of_two_tasks.err;
  const auto of_one_arch = hone({"export", hopper, hopper, "--format", "torch", "--db", db_});
  EXPECT_EQ(of_one_arch.status, 2);
  EXPECT_NE(of_one_arch.err.find("sm_90"), std::string::npos) << of_one_arch.err;
  EXPECT_EQ(hone({"export", hopper, "--format", "exe", "--db", db_}).status, 2);
  if (compiler.empty()) GTEST_SKIP() << "no nvcc: the exports were not compiled";
}

}  // namespace
}  // namespace hone::testing
