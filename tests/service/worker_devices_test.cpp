// Which devices a worker offers, on a driver without a GPU (tests/fakes/fake_cuda.cpp).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/e2e/process.h"
#include "tests/service/daemon.h"
#include "tests/unit/engine/redis_server.h"

namespace hone::testing {
namespace {

class WorkersDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string library = folder_.file("libcuda.so.1");
    std::filesystem::copy_file(HONE_BIN_DIR "/../fakes/libcuda.so.1", library);
    (void)folder_.write("libcuda.so.1.conf", "gpus 2\nmodel 1 Another GPU\n");
    setenv("HONE_LIBCUDA", library.c_str(), 1);
  }
  void TearDown() override { unsetenv("HONE_LIBCUDA"); }

  [[nodiscard]] std::vector<std::string> arguments(const std::string& device) const {
    // Its runners see the files beside the driver.
    return {"worker", "--device", device, "--sandbox", "off", "--redis", server_.url_text()};
  }
  /// The names of the devices of the one worker; empty where there is none within a minute.
  [[nodiscard]] std::vector<std::string> devices_of_worker() const {
    std::vector<std::string> names;
    for (int i = 0; i < 300 && names.empty(); ++i) {
      const auto listed = hone({"workers", "--redis", server_.url_text(), "--json", "-"}).json();
      for (const auto& worker : listed["workers"])
        for (const auto& device : worker["devices"]) names.push_back(device["name"]);
      if (names.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return names;
  }

  RedisServer server_;
  TemporaryFolder folder_;
};

// Each is a device of its own, so they need not be alike.
TEST_F(WorkersDevices, AreThoseOfAList) {
  const test::Daemon worker(arguments("cuda:1,0"));
  EXPECT_EQ(devices_of_worker(), (std::vector<std::string>{"Another GPU", "Fake GPU"}))
      << worker.log();
}

TEST_F(WorkersDevices, OfAListThatIsWrongAreAnError) {
  test::Daemon worker(arguments("cuda:0,3"));
  EXPECT_EQ(worker.wait(30), 3);
  EXPECT_NE(worker.log().find("there is no cuda:3: the GPUs are cuda:0 to cuda:1"),
            std::string::npos)
      << worker.log();
}

}  // namespace
}  // namespace hone::testing
