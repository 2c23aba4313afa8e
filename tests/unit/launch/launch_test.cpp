// The launch library on the driver without a GPU, whose kernels are C++ functions chosen by name:
// all compute y = 2 x of (x, y, n), but for "refuse".
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "candidates/launch/hone_launch.h"
#include "evaluator/plan_file.h"

namespace hone {
namespace {

const std::string kFake = std::string(HONE_BIN_DIR) + "/../fakes/libcuda.so.1";
constexpr std::string_view kImage =
    "\x7f"
    "ELF that the fake takes";

/// As fake_cuda.cpp has it.
struct LastLaunch {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  void* context;
};

template <class Function>
Function* fake(const char* name) {
  void* library = dlopen(kFake.c_str(), RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

LastLaunch last_launch() { return fake<LastLaunch()>("hone_fake_last_launch")(); }
int contexts_kept() { return fake<int()>("hone_fake_kept")(); }

/// y = 2 x of `elements`, from and to buffers or scratch.
PlanLaunch doubles(std::uint32_t kernel, PlanPointer x, PlanPointer y, std::uint32_t elements) {
  PlanLaunch launch{.kernel = kernel, .grid = {7, 2, 3}, .block = {32, 4, 2}};
  launch.parameters.resize(20);
  for (std::size_t i = 0; i < 4; ++i) {
    launch.parameters[16 + i] = static_cast<std::uint8_t>(elements >> (8 * i));
  }
  x.offset = 0;
  y.offset = 8;
  launch.offsets = {0, 8, 16};
  launch.pointers = {x, y};
  return launch;
}

/// y = 4 x of 8 elements, by way of the second half of 512 bytes of scratch.
Plan fourfold() {
  Plan plan{.buffers = 2,
            .scratch_bytes = 512,
            .kernels = {"naive", "other"},
            .launches = {},
            .image = std::string(kImage)};
  const PlanPointer scratch{.buffer = kPlanScratch, .scratch_offset = 256};
  plan.launches.push_back(doubles(0, {.buffer = 0}, scratch, 8));
  plan.launches.push_back(doubles(1, scratch, {.buffer = 1}, 8));
  plan.launches.back().shared_bytes = 1024;
  return plan;
}

struct Memory {
  alignas(256) std::array<float, 8> x{1, 2, 3, 4, 5, 6, 7, 8};
  alignas(256) std::array<float, 8> y{};
  alignas(256) std::array<unsigned char, 512> scratch{};

  [[nodiscard]] std::array<std::uint64_t, 2> buffers() const {
    return {reinterpret_cast<std::uint64_t>(x.data()), reinterpret_cast<std::uint64_t>(y.data())};
  }
  [[nodiscard]] std::uint64_t scratch_address() const {
    return reinterpret_cast<std::uint64_t>(scratch.data());
  }
};

class Launch : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("HONE_LIBCUDA", kFake.c_str(), 1); }
  void TearDown() override { hone_plan_free(plan_); }

  int load(const std::string& bytes, int device = 0) {
    return hone_plan_load(bytes.data(), bytes.size(), device, &plan_);
  }
  int launch(const Memory& memory, void* stream = nullptr) {
    const auto buffers = memory.buffers();
    return hone_plan_launch(plan_, buffers.data(), 2, memory.scratch_address(), stream);
  }

  hone_plan* plan_ = nullptr;
};

TEST_F(Launch, OneCallLaunchesAllInOrder) {
  ASSERT_EQ(load(to_bytes(fourfold())), 0) << hone_launch_error();
  EXPECT_EQ(hone_plan_buffers(plan_), 2U);
  EXPECT_EQ(hone_plan_scratch_bytes(plan_), 512U);
  Memory memory;
  int stream = 0;
  ASSERT_EQ(launch(memory, &stream), 0) << hone_launch_error();
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(memory.y[i], 4 * memory.x[i]);
  EXPECT_EQ(memory.scratch[0], 0);
  const LastLaunch last = last_launch();
  EXPECT_EQ(std::vector(last.grid, last.grid + 3), (std::vector<unsigned>{7, 2, 3}));
  EXPECT_EQ(std::vector(last.block, last.block + 3), (std::vector<unsigned>{32, 4, 2}));
  EXPECT_EQ(last.shared_bytes, 1024U);
  EXPECT_EQ(last.stream, &stream);
}

TEST_F(Launch, TensorMapsAreEncodedForTheCallsBuffers) {
  Plan plan = fourfold();
  plan.launches.pop_back();
  PlanLaunch& launch = plan.launches.front();
  launch.pointers[1] = {.offset = 8, .buffer = 1};
  launch.parameters.resize(320);
  launch.offsets = {0, 8, 16, 64, 192};
  TensorMapSpec spec;
  spec.type = TensorMapSpec::Type::kF16;
  spec.rank = 2;
  spec.sizes = {100, 7};
  spec.strides = {208};
  spec.box = {64, 4};
  spec.swizzle = TensorMapSpec::Swizzle::k128B;
  launch.tensor_maps.push_back({{.offset = 64, .buffer = 1}, spec});
  launch.tensor_maps.push_back(
      {{.offset = 192, .buffer = kPlanScratch, .scratch_offset = 128}, spec});
  ASSERT_EQ(load(to_bytes(plan)), 0) << hone_launch_error();
  Memory memory;
  ASSERT_EQ(this->launch(memory), 0) << hone_launch_error();
  EXPECT_EQ(memory.y[3], 8);
  const auto* block = fake<const unsigned char*()>("hone_fake_last_parameters")();
  const auto word = [&](std::size_t offset, std::size_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, block + offset + 8 * index, 8);
    return value;
  };
  EXPECT_EQ(word(64, 0), memory.buffers()[1]);
  EXPECT_EQ(word(192, 0), memory.scratch_address() + 128);
  for (const std::size_t offset : {64, 192}) {
    EXPECT_EQ(word(offset, 1), 6ULL << 32 | 3);
    EXPECT_EQ(word(offset, 2), 2U);
    EXPECT_EQ(word(offset, 3), 100ULL << 32 | 64);
    EXPECT_EQ(word(offset, 4), 7ULL << 32 | 4);
    EXPECT_EQ(word(offset, 9), 208U);
  }
  // A map that would lie beyond the parameters is no plan.
  launch.tensor_maps[0].place.offset = 256;
  hone_plan* none = nullptr;
  const std::string bytes = to_bytes(plan);
  EXPECT_EQ(hone_plan_load(bytes.data(), bytes.size(), 0, &none), HONE_LAUNCH_BAD_PLAN);
}

TEST_F(Launch, TheThreadsContextStays) {
  auto* get = fake<int(void**)>("cuCtxGetCurrent");
  auto* set = fake<int(void*)>("cuCtxSetCurrent");
  int other = 0;
  for (void* mine : {static_cast<void*>(nullptr), static_cast<void*>(&other)}) {
    set(mine);
    ASSERT_EQ(load(to_bytes(fourfold())), 0) << hone_launch_error();
    void* now = nullptr;
    get(&now);
    EXPECT_EQ(now, mine);
    ASSERT_EQ(launch(Memory()), 0);
    EXPECT_NE(last_launch().context, mine) << "launched outside of the plan's context";
    get(&now);
    EXPECT_EQ(now, mine);
    hone_plan_free(plan_);
    plan_ = nullptr;
  }
  ASSERT_EQ(load(to_bytes(fourfold()), -1), 0) << hone_launch_error();
  ASSERT_EQ(launch(Memory()), 0);
  EXPECT_EQ(last_launch().context, &other);
  hone_plan_free(plan_);
  plan_ = nullptr;
  set(nullptr);
  EXPECT_EQ(load(to_bytes(fourfold()), -1), HONE_LAUNCH_BAD_CALL);
  EXPECT_STREQ(hone_launch_error(), "no CUDA context is current in this thread");
  EXPECT_EQ(contexts_kept(), 0);
}

TEST_F(Launch, TheThreadsCaptureModeStays) {
  auto* exchange = fake<int(int*)>("cuThreadExchangeStreamCaptureMode");
  int mode = 1;
  exchange(&mode);
  ASSERT_EQ(load(to_bytes(fourfold())), 0) << hone_launch_error();
  Plan broken = fourfold();
  broken.image = "no machine code";
  hone_plan* none = nullptr;
  const std::string bytes = to_bytes(broken);
  EXPECT_GT(hone_plan_load(bytes.data(), bytes.size(), 0, &none), 0);
  exchange(&mode);
  EXPECT_EQ(mode, 1);
}

TEST_F(Launch, ACallThatDoesNotFitIsRefused) {
  ASSERT_EQ(load(to_bytes(fourfold())), 0) << hone_launch_error();
  const Memory memory;
  auto buffers = memory.buffers();
  const auto refused = [&](std::size_t count, std::uint64_t scratch) {
    EXPECT_EQ(hone_plan_launch(plan_, buffers.data(), count, scratch, nullptr),
              HONE_LAUNCH_BAD_CALL);
    return std::string(hone_launch_error());
  };
  const std::uint64_t scratch = memory.scratch_address();
  EXPECT_EQ(refused(1, scratch), "the plan has 2 buffers, 1 are given");
  EXPECT_EQ(refused(2, 0), "the scratch memory is null");
  EXPECT_EQ(refused(2, scratch + 8), "the scratch memory is not aligned to 16 bytes");
  buffers[1] += 4;
  EXPECT_EQ(refused(2, scratch), "buffer 1 is not aligned to 16 bytes");
  buffers[0] = 0;
  EXPECT_EQ(refused(2, scratch), "buffer 0 is null");
  EXPECT_EQ(memory.y[0], 0);
}

TEST_F(Launch, TheDriversErrorsHaveTheirText) {
  Plan plan = fourfold();
  plan.kernels[1] = "refuse";
  ASSERT_EQ(load(to_bytes(plan)), 0) << hone_launch_error();
  EXPECT_EQ(launch(Memory()), 701);
  EXPECT_STREQ(
      hone_launch_error(),
      "launch 1, kernel refuse: cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (as the "
      "fake says)");
  hone_plan_free(plan_);
  EXPECT_GT(load(to_bytes(fourfold()), 5), 0);
  EXPECT_EQ(plan_, nullptr);
  EXPECT_EQ(std::string(hone_launch_error()).substr(0, 13), "cuDeviceGet: ");
  plan.image = "no machine code";
  EXPECT_GT(load(to_bytes(plan)), 0);
  EXPECT_EQ(std::string(hone_launch_error()).substr(0, 18), "cuModuleLoadData: ");
  EXPECT_EQ(contexts_kept(), 0);
}

TEST_F(Launch, APlanThatIsCutOffIsRefused) {
  const std::string whole = to_bytes(fourfold());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // As long as the memory is: what is read beyond it is seen by the sanitizers.
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(hone_plan_load(part.data(), part.size(), 0, &plan_), HONE_LAUNCH_BAD_PLAN) << size;
    EXPECT_EQ(plan_, nullptr);
  }
  EXPECT_EQ(load(whole + "x"), HONE_LAUNCH_BAD_PLAN);
  std::string other = whole;
  for (const char version : {2, 4}) {
    other[8] = version;
    EXPECT_EQ(load(other), HONE_LAUNCH_BAD_PLAN);
    EXPECT_STREQ(hone_launch_error(),
                 "this plan cannot be read: it is of another version of the format");
  }
}

TEST_F(Launch, WhatAPlanNamesLiesInIt) {
  const auto refused = [&](auto change) {
    Plan plan = fourfold();
    change(plan.launches[1]);
    EXPECT_EQ(load(to_bytes(plan)), HONE_LAUNCH_BAD_PLAN);
    hone_plan_free(plan_);
    plan_ = nullptr;
  };
  refused([](PlanLaunch& l) { l.kernel = 2; });
  refused([](PlanLaunch& l) { l.grid[1] = 65536; });
  refused([](PlanLaunch& l) { l.block[2] = 0; });
  refused([](PlanLaunch& l) { l.pointers[0].offset = 13; });
  refused([](PlanLaunch& l) { l.pointers[0].scratch_offset = 512; });
  refused([](PlanLaunch& l) { l.pointers[1].buffer = 2; });
  const auto with_map = [&](auto change) {
    refused([&](PlanLaunch& l) {
      l.parameters.resize(192);
      PlanTensorMap map{{.offset = 64, .buffer = 1}, {}};
      map.spec.rank = 1;
      change(map);
      l.tensor_maps.push_back(map);
    });
  };
  with_map([](PlanTensorMap& map) { map.spec.rank = 0; });
  with_map([](PlanTensorMap& map) { map.spec.rank = 6; });
  with_map([](PlanTensorMap& map) { map.place.buffer = 2; });
  with_map([](PlanTensorMap& map) { map.place.offset = 65; });
  with_map([](PlanTensorMap& map) { map.place = {64, kPlanScratch, 512}; });
  refused([](PlanLaunch& l) { l.parameters.resize(4097); });
  refused([](PlanLaunch& l) { l.parameters.resize(7); });
  refused([](PlanLaunch& l) { l.offsets[2] = 20; });
  refused([](PlanLaunch& l) { l.offsets.resize(1025); });
}

TEST_F(Launch, BytesThatChangedAreReadOrRefused) {
  const std::string whole = to_bytes(fourfold());
  std::mt19937 random(7);
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<char> bytes(whole.begin(), whole.end());
    for (int i = 0; i <= round % 3; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (hone_plan_load(bytes.data(), bytes.size(), 0, &plan_) == 0) ++taken;
    hone_plan_free(plan_);
    plan_ = nullptr;
  }
  EXPECT_GT(taken, 100);  // a parameter's value, a kernel's name
  EXPECT_LT(taken, 15'000);
}

TEST_F(Launch, ManyThreadsLaunchOnePlan) {
  ASSERT_EQ(load(to_bytes(fourfold())), 0) << hone_launch_error();
  std::vector<Memory> memories(8);
  std::vector<int> failed(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < memories.size(); ++t) {
      threads.emplace_back([&, t] {
        memories[t].x.fill(static_cast<float>(t));
        for (int i = 0; i < 500; ++i) failed[t] |= launch(memories[t]);
      });
    }
  }
  for (std::size_t t = 0; t < memories.size(); ++t) {
    EXPECT_EQ(failed[t], 0);
    EXPECT_EQ(memories[t].y[7], 4 * static_cast<float>(t));
  }
}

TEST_F(Launch, AProgramIsCompiledToAPlan) {
  ConcreteProgram program;
  program.source =
      "template <class T> __global__ void naive(const T* x, T* y, int n) { if (n > 0) y[0] = 2 * "
      "x[0]; }";
  const auto buffer = [](const char* name, Role role) {
    return ConcreteBuffer{name, ScalarType::kF32, {8}, role, {}};
  };
  program.buffers = {buffer("y", Role::kOut), buffer("t", Role::kScratch),
                     buffer("u", Role::kScratch), buffer("x", Role::kIn)};
  const auto launches = [&](int from, int to) {
    program.launches.push_back({"naive<float>",
                                {1, 1, 1},
                                {32, 1, 1},
                                0,
                                {BufferIndex{from}, BufferIndex{to}, std::int64_t{8}}});
  };
  launches(3, 2);
  launches(2, 0);
  const auto plan = compile_plan(program, {3, 0}, "sm_90", {});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->kernels, std::vector<std::string>{"_Z5naiveIfEvPKT_PS0_i"});
  EXPECT_EQ(plan->scratch_bytes, 512U);
  ASSERT_EQ(load(to_bytes(*plan)), 0) << hone_launch_error();
  Memory memory;
  ASSERT_EQ(launch(memory), 0) << hone_launch_error();
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(memory.y[i], 4 * memory.x[i]);

  program.launches[0].args.pop_back();
  const auto few = compile_plan(program, {3, 0}, "sm_90", {});
  ASSERT_FALSE(few);
  EXPECT_NE(few.error().message.find("takes 3 arguments, 2 are given"), std::string::npos);
  program.source = "__global__ void naive(;";
  const auto broken = compile_plan(program, {3, 0}, "sm_90", {});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kInvalidInput);
}

TEST(LaunchLibrary, HasItsFunctionsAndNoOthers) {
  const std::string path = std::string(HONE_BIN_DIR) + "/../lib/libhone_launch.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* name : {"hone_plan_load", "hone_plan_launch", "hone_plan_buffers",
                           "hone_plan_scratch_bytes", "hone_plan_free", "hone_launch_error"})
    EXPECT_NE(dlsym(library, name), nullptr) << name;
  for (const char* name : {"hone_parse_plan", "hone_open_driver"})
    EXPECT_EQ(dlsym(library, name), nullptr) << name;
  auto* version = reinterpret_cast<int (*)()>(dlsym(library, "hone_launch_version"));
  ASSERT_NE(version, nullptr);
  EXPECT_EQ(version(), 3);
}

}  // namespace
}  // namespace hone
