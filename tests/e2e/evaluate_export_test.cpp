// `hone evaluate` and `hone check` of what `hone export` wrote, as it was and edited.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/e2e/process.h"
#include "tests/e2e/small_baseline.h"

namespace hone::testing {
namespace {

const std::string kSource = HONE_SOURCE_DIR;

/// Two launches, scratch, a tunable, a kernel with C linkage, includes, a macro.
constexpr const char* kTwoKernels = R"CU(/* hone {
  "name": "two kernels", "sizes": {"N": 65536}, "check_sizes": [{"N": 512}, {"N": 251}],
  "tunables": {"BLOCK": [64, 128]},
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "h", "type": "f16", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"},
    {"name": "tmp", "type": "f32", "shape": ["N", "BLOCK/BLOCK"], "role": "scratch"}],
  "launches": [
    {"kernel": "scale", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"],
     "args": ["x", "tmp", "N", 2.5]},
    {"kernel": "add", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"],
     "args": ["tmp", "h", "y", "N"]}] }
*/
#include <cuda_fp16.h>
#include <cstdint>
#define TWICE(v) ((v)+(v))
__global__ void scale(const float* x, float* y, int n, float a) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = TWICE(x[i] * a) + 3.0f;
}
extern "C" {
__global__ void add(const float* x, const __half* h, float* y, int n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + __half2float(h[i]);
}
}
)CU";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class EvaluateExport : public ::testing::Test {
 protected:
  /// The best candidate's id.
  std::string search(const std::string& task, const std::string& device = "emu:sm_90",
                     int evaluations = 12) {
    const auto run =
        hone({"optimize", task, "--device", device, "--budget", std::to_string(evaluations),
              "--seed", "3", "--finalists", "1", "--db", db_, "--json", "-", "--without",
              "generate-map"});  // it would make one kernel of two
    const auto result = run.json();
    if (run.status != 0 || !result.contains("best")) {
      ADD_FAILURE() << run.out << run.err;
      return "";
    }
    time_us_ = result["best"]["time_us"];
    return result["best"]["candidate"];
  }
  std::string exported(const std::vector<std::string>& ids, const std::string& format,
                       const std::string& file) {
    std::vector<std::string> command = {"export"};
    command.insert(command.end(), ids.begin(), ids.end());
    const std::string path = folder_.file(file);
    command.insert(command.end(), {"--format", format, "--db", db_, "-o", path});
    const auto run = hone(command);
    EXPECT_EQ(run.status, 0) << run.err;
    return path;
  }
  ProcessResult evaluate(const std::string& task, const std::string& variant,
                         const std::string& device = "emu:sm_90") {
    return hone(
        {"evaluate", task, variant, "--device", device, "--db", db_, "--json", "-", "--seed", "3"});
  }
  nlohmann::json candidate(const std::string& id) {
    const auto run = hone({"show", id, "--db", db_, "--json", "-"});
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json();
  }
  /// The file with one piece of text replaced.
  std::string edited(const std::string& path, const std::string& from, const std::string& to,
                     const std::string& name) {
    std::string text = read(path);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from << " in\n" << text;
    if (at != text.npos) text.replace(at, from.size(), to);
    return folder_.write(name, text);
  }

  TemporaryFolder folder_;
  std::string db_ = folder_.file("hone.db");
  double time_us_ = 0;
};

class RoundTrip : public EvaluateExport, public ::testing::WithParamInterface<const char*> {};

TEST_P(RoundTrip, IsTheSameCandidate) {
  const std::string name = GetParam();
  const std::string task =
      name == "two" ? folder_.write("two.cu", kTwoKernels) : small_baseline(folder_, name);
  const std::string id = search(task);
  ASSERT_FALSE(id.empty());
  for (const char* format : {"cu", "hpp"}) {
    const auto run = evaluate(task, exported({id}, format, std::string("best.") + format));
    ASSERT_EQ(run.status, 0) << run.out << run.err;
    const auto json = run.json();
    EXPECT_EQ(json["verdict"], "ok");
    EXPECT_EQ(json["candidate"], id);  // the same program by its hash
    constexpr double kDrawn = 0.01;    // what it matters which blocks are drawn
    EXPECT_NEAR(json["time_us"].get<double>(), time_us_, kDrawn * time_us_);
    for (const std::string note : json["notes"])
      EXPECT_EQ(note.find("as it stands"), note.npos) << note;
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, RoundTrip,
                         ::testing::Values("two", "matmul", "softmax", "attention", "global_sum",
                                           "transpose", "histogram"),
                         [](const auto& info) { return std::string(info.param); });

/// The lines that are edited exist at the timed sizes alone: at the check sizes the kernel has
/// another form. That is no fault of the text.
TEST_F(EvaluateExport, AnEditOfWhatTheOtherSizesLackIsRefusedAndNotBlamed) {
  const std::string task = kSource + "/baselines/vector_add/vector_add.cu";
  const auto search = hone({"optimize", task, "--device", "emu:sm_90", "--budget", "12", "--seed",
                            "3", "--db", db_, "--json", "-"});
  ASSERT_EQ(search.status, 0) << search.err;
  const std::string file = exported({search.json()["best"]["candidate"]}, "cu", "best.cu");
  const auto run = evaluate(task, edited(file, "// hone program ends",
                                         "__device__ int mine;\n// hone program ends", "a.cu"));
  const std::string verdict = run.json()["verdict"];
  EXPECT_TRUE(verdict == "ok" || verdict == "refused") << run.out << run.err;
}

TEST_F(EvaluateExport, EditsAreMadeAtEverySize) {
  const std::string task = folder_.write("two.cu", kTwoKernels);
  const std::string id = search(task);
  ASSERT_FALSE(id.empty());
  const std::string file = exported({id}, "cu", "best.cu");
  // Another spelling and a comment are no edit.
  auto run = evaluate(task, edited(file, "i] * a) + 3.0f", "i]*a)  +3.0f /* mine */", "a.cu"));
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_EQ(run.json()["candidate"], id);
  // Right, and another program.
  run = evaluate(task, edited(file, "3.0f", "4.0f - 1.0f", "b.cu"));
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const std::string other = run.json()["candidate"];
  EXPECT_NE(other, id);
  const auto shown = candidate(other);
  EXPECT_EQ(shown["origin"], "variant");
  EXPECT_NE(shown.dump().find("4.0f - 1.0f"), std::string::npos);
  const auto verified = hone({"verify", other, "--db", db_});
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
  // Its export is good for the same.
  run = evaluate(task, exported({other}, "cu", "other.cu"));
  EXPECT_EQ(run.json()["candidate"], other) << run.out << run.err;
  // Wrong.
  run = evaluate(task, edited(file, "3.0f", "3.5f", "c.cu"));
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_EQ(run.json()["verdict"], "wrong_result") << run.out;
  // More than the kernels' text.
  run = evaluate(task, edited(file, "\"shared_bytes\":0", "\"shared_bytes\":64", "d.cu"));
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("more than the kernels' text was edited"), std::string::npos) << run.out;
  // Damaged.
  run = evaluate(task, edited(file, "// hone program ends", "// program ends", "e.cu"));
  EXPECT_EQ(run.status, 2) << run.out;
  EXPECT_NE(run.err.find("has no end"), std::string::npos) << run.err;
}

TEST_F(EvaluateExport, OfABakedCandidateTheStepsGiveTheOtherSizes) {
  const std::string task = small_baseline(folder_, "matmul");
  const std::string id = search(task, "emu:sm_90", 20);
  ASSERT_FALSE(id.empty());
  const std::string file = exported({id}, "cu", "best.cu");
  const auto checked = hone({"check", task, "--variant", file, "--quiet", "--json", "-"});
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  const auto run = evaluate(
      task, edited(file, "__syncthreads();", "__syncthreads();\n__syncthreads();", "twice.cu"));
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_EQ(run.json()["verdict"], "ok") << run.out;
}

TEST_F(EvaluateExport, OneOfSeveralIsChosenByTheDevice) {
  const std::string task = small_baseline(folder_, "softmax");
  const std::string hopper = search(task), ampere = search(task, "emu:sm_80");
  ASSERT_FALSE(hopper.empty() || ampere.empty());
  for (const char* format : {"cu", "hpp"}) {
    const std::string file = exported({hopper, ampere}, format, std::string("both.") + format);
    for (const auto& [device, id] : {std::pair("emu:sm_90", hopper), {"emu:sm_80", ampere}}) {
      const auto run = evaluate(task, file, device);
      EXPECT_EQ(run.status, 0) << run.out << run.err;
      EXPECT_EQ(run.json()["candidate"], id) << run.out;
    }
    const auto run = evaluate(task, file, "emu:sm_100");
    EXPECT_EQ(run.status, 2) << run.out << run.err;
    EXPECT_NE(run.err.find("sm_80, sm_90, and none for sm_100"), std::string::npos) << run.err;
  }
}

}  // namespace
}  // namespace hone::testing
