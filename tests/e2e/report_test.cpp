// `hone report`: a search as one file, whatever a stranger's task holds.
#include <gtest/gtest.h>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

constexpr const char* kTask = R"CU(/* hone {
  "name": "rows", "sizes": {"M": 256, "N": 64}, "check_sizes": [{"M": 3, "N": 40}], "flops": "M*N",
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"]},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "rows", "grid": ["ceildiv(M,128)"], "block": [128],
                "args": ["x", "y", "M", "N"]}]
}
*/
// <script>alert(1)</script></style><img src=x onerror=alert(2)>
__global__ void rows(const float* x, float* y, int M, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < M) {
    float sum = 0.0f;
    for (int k = 0; k < N; ++k) sum += x[i * N + k];
    y[i] = sum;
  }
}
)CU";

TEST(Report, IsOneFileThatNeedsNothing) {
  TemporaryFolder folder;
  const std::string database = folder.file("hone.db");
  const std::string task = folder.write("rows.cu", kTask);
  const ProcessResult search = hone({"optimize", task, "--device", "emu:sm_90", "--budget", "12",
                                     "--quiet", "--db", database, "--json", "-"});
  ASSERT_EQ(search.status, 0) << search.err;
  const std::string best = search.json()["best"]["candidate"];

  const ProcessResult list = hone({"report", "--db", database, "--json", "-"});
  ASSERT_EQ(list.json()["runs"].size(), 1U) << list.out;
  const ProcessResult report = hone({"report", "1", "--db", database});
  ASSERT_EQ(report.status, 0) << report.err;
  const std::string& html = report.out;
  const auto holds = [&](const std::string& text) { return html.find(text) != html.npos; };
  for (const char* title :
       {"Speedup over time", "Roofline", "Candidates by verdict", "Finalists",
        "The family of the best", "step by step", "What it changed", "The reference"})
    EXPECT_TRUE(holds(title)) << title;
  EXPECT_TRUE(holds("modelled"));
  EXPECT_TRUE(holds(best));
  EXPECT_TRUE(holds("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_FALSE(holds("<script"));
  EXPECT_FALSE(holds("<img"));
  EXPECT_FALSE(holds("<link"));
  // The name of SVG's language is all that looks like an address.
  for (auto at = html.find("http"); at != html.npos; at = html.find("http", at + 1))
    EXPECT_TRUE(html.compare(at, 26, "http://www.w3.org/2000/svg") == 0 ||
                html.compare(at, 10, "http-equiv") == 0)
        << html.substr(at, 40);
  EXPECT_EQ(html.find("</style>"), html.rfind("</style>"));
}

TEST(Report, SaysWhichRunsThereAre) {
  TemporaryFolder folder;
  const std::string database = folder.file("hone.db");
  const std::string task = folder.write("rows.cu", kTask);
  ASSERT_EQ(hone({"optimize", task, "--device", "emu:sm_90", "--budget", "2", "--quiet", "--db",
                  database})
                .status,
            0);
  for (const char* name : {"7", "no-such-job"}) {
    const ProcessResult none = hone({"report", name, "--db", database});
    EXPECT_EQ(none.status, 2);
    EXPECT_NE(none.err.find(name), std::string::npos) << none.err;
  }
}

}  // namespace
}  // namespace hone::testing
