// A PyTorch module goes to the workers as a task, and its weights by the hash of their bytes.
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/process.h"
#include "tests/service/daemon.h"
#include "tests/unit/engine/redis_server.h"

namespace hone {
namespace {

using hone::testing::hone;
using hone::testing::RedisServer;
using hone::testing::TemporaryFolder;

const std::string kProducts = std::string(HONE_SOURCE_DIR) + "/tests/pytorch/fixtures/products.pt2";

TEST(ModuleJobs, AreSearchedElsewhere) {
  const RedisServer server;
  const TemporaryFolder folder;
  const test::Daemon worker({"worker", "--device", "emu:sm_90", "--redis", server.url_text()});
  const test::Daemon coordinator(
      {"coordinator", "--db", folder.file("hone.db"), "--redis", server.url_text()});
  const auto job =
      hone({"submit", HONE_SOURCE_DIR "/tests/pytorch/fixtures/softmaxes.pt2", "--arch",
            "emu:sm_90", "--budget", "3", "--wait", "--redis", server.url_text(), "--json", "-"});
  EXPECT_EQ(job.status, 0) << job.out << job.err << worker.log() << coordinator.log();
  EXPECT_EQ(job.json()["state"], "done");
  const auto with_weights = hone({"submit", kProducts, "--arch", "emu:sm_90", "--budget", "3",
                                  "--wait", "--redis", server.url_text(), "--json", "-"});
  EXPECT_EQ(with_weights.status, 0) << with_weights.err << worker.log() << coordinator.log();
  EXPECT_TRUE(with_weights.err.contains("inputs from files")) << with_weights.err;
  EXPECT_TRUE(with_weights.err.contains("sent ")) << with_weights.err;
  EXPECT_TRUE(worker.log().contains("event=input_fetched")) << worker.log();
  const auto made_up = hone({"submit", kProducts, "--arch", "emu:sm_90", "--budget", "3",
                             "--describe-files", "--redis", server.url_text()});
  EXPECT_EQ(made_up.status, 0) << made_up.err;
  EXPECT_TRUE(made_up.err.contains("inputs of like mean and deviation")) << made_up.err;
}

}  // namespace
}  // namespace hone
