// A PyTorch module goes to the workers as a task, its weights as made-up ones of the same kind.
#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/service/daemon.h"
#include "tests/unit/engine/redis_server.h"

namespace hone {
namespace {

using hone::testing::hone;
using hone::testing::RedisServer;
using hone::testing::TemporaryFolder;

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
  const auto with_weights =
      hone({"submit", HONE_SOURCE_DIR "/tests/pytorch/fixtures/products.pt2", "--arch", "emu:sm_90",
            "--budget", "3", "--wait", "--redis", server.url_text(), "--json", "-"});
  EXPECT_EQ(with_weights.status, 0) << with_weights.err << worker.log() << coordinator.log();
  EXPECT_TRUE(with_weights.err.contains("inputs of like mean and deviation")) << with_weights.err;
}

}  // namespace
}  // namespace hone
