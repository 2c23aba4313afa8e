// hone calibrate without a GPU: the microbenchmarks compile and run on the emulator, numbers find
// their fields, what cannot be is not believed, and a lying runner is noticed.
#include "evaluator/calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "evaluator/compile/compile.h"
#include "evaluator/device/emulator/emulator.h"

namespace hone::calibrate {
namespace {

using protocol::BenchDevice;
using protocol::BenchReply;
using protocol::BenchRequest;
using Json = nlohmann::json;

const CompiledProgram& compiled(const std::string& arch) {
  static std::map<std::string, CompiledProgram> programs;
  auto& slot = programs[arch];
  if (slot.kernels.empty())
    slot = compile::compile_program(
        CompileJob{std::string(kernels_text()), {}, kernel_names(), arch, false});
  return slot;
}

TEST(Microbenchmarks, CompileForEveryArchitecture) {
  EXPECT_GT(kernel_names().size(), 50U);
  for (const char* arch : {"sm_80", "sm_90"}) {
    const auto& program = compiled(arch);
    ASSERT_EQ(program.verdict, Verdict::kOk) << arch << ": " << program.log;
    EXPECT_FALSE(program.cubin.empty());
    for (const auto& kernel : program.kernels) {
      EXPECT_EQ(kernel.resources.spill_bytes, 0) << arch << " " << kernel.name;
      EXPECT_LE(kernel.resources.registers, 65536 / kernel.resources.max_threads)
          << arch << " " << kernel.name;
      EXPECT_EQ(kernel.parameters.size(), 6U) << kernel.name;
    }
  }
}

/// One GPU in the emulator, with small buffers.
class Emulated {
 public:
  Emulated() {
    const auto& program = compiled("sm_90");
    EXPECT_EQ(program.verdict, Verdict::kOk) << program.log;
    auto parsed = emulator::Module::parse(program.ptx);
    EXPECT_TRUE(parsed) << parsed.error().message;
    if (parsed) module_ = *parsed;
    const auto zero = [](std::uint64_t, std::uint8_t* out, std::size_t size) {
      std::memset(out, 0, size);
    };
    addresses_ = {memory_.allocate("out", protocol::kBenchWords * 8, true, zero),
                  memory_.allocate("a", kBuffer, true, zero),
                  memory_.allocate("b", kBuffer, true, zero)};
  }
  emulator::RunReport run(const BenchRequest& r) {
    emulator::LaunchConfig launch;
    launch.kernel = r.kernel;
    launch.grid[0] = static_cast<std::uint32_t>(r.blocks);
    launch.block[0] = static_cast<std::uint32_t>(r.threads);
    launch.dynamic_shared_bytes = static_cast<std::uint32_t>(r.shared_bytes);
    launch.parameters.resize(48);
    std::memcpy(launch.parameters.data(), addresses_.data(), 24);
    std::memcpy(launch.parameters.data() + 24, r.numbers.data(), 24);
    emulator::RunOptions options;
    options.max_warp_instructions = 20'000'000;
    return emulator::run(*module_, launch, memory_, options);
  }
  std::int64_t word(int i) {
    std::int64_t value = 0;
    EXPECT_TRUE(memory_.read(addresses_[0] + 8 * static_cast<std::uint64_t>(i), &value, 8));
    return value;
  }
  template <class T>
  std::vector<T> buffer(int which, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(memory_.read(addresses_.at(static_cast<std::size_t>(which)), values.data(),
                             count * sizeof(T)));
    return values;
  }

  static constexpr std::uint64_t kBuffer = 1 << 20;

 private:
  emulator::Memory memory_;
  std::shared_ptr<const emulator::Module> module_;
  std::array<std::uint64_t, 3> addresses_{};
};

TEST(Microbenchmarks, RunOnTheEmulator) {
  Emulated gpu;
  // One entry a kernel, with the smallest sizes that mean something.
  std::vector<BenchRequest> all = {{"empty", 4, 64},
                                   {"clock_under_load", 2, 64, 0, {1, 1, 1}},
                                   {"barriers", 1, 256, 0, {2, 0, 0}},
                                   {"chase_make", 2, 64, 0, {128, 128, 0}},
                                   {"chase_l1", 1, 1, 0, {2, 0, 128}},
                                   {"chase_l2", 1, 1, 0, {2, 0, 128}},
                                   {"chase_shared", 1, 32, 0, {2, 0, 0}},
                                   {"wgmma_f16", 1, 256, 0, {2, 0, 0}},
                                   {"wgmma_tf32", 1, 256, 0, {2, 0, 0}},
                                   {"wgmma_s8", 1, 256, 0, {2, 0, 0}},
                                   {"read_block_l1", 1, 128, 0, {2, 32768, 0}},
                                   {"read_block_l2", 1, 128, 0, {2, 32768, 0}},
                                   {"read_block_shared", 1, 128, 32768, {2, 32768, 0}},
                                   {"shared_stride", 1, 64, 0, {2, 32, 0}},
                                   {"read_l2_4", 2, 64, 0, {65536, 2, 0}},
                                   {"read_1", 2, 64, 0, {65536, 1, 0}},
                                   {"read_2", 2, 64, 0, {65536, 1, 0}},
                                   {"read_4", 2, 64, 0, {65536, 1, 0}},
                                   {"read_8", 2, 64, 0, {65536, 1, 0}},
                                   {"read_other", 2, 64, 0, {65536, 1, 0}},
                                   {"write_all", 2, 64, 0, {65536, 0, 0}},
                                   {"copy_all", 3, 64, 0, {65536, 0, 0}},
                                   {"atomic_hot_f32", 2, 64, 0, {2, 0, 0}},
                                   {"atomic_hot_s32", 2, 64, 0, {2, 0, 0}},
                                   {"atomic_line_f32", 2, 64, 0, {2, 0, 0}},
                                   {"atomic_sectors_f32", 2, 64, 0, {2, 0, 0}},
                                   {"atomic_sectors_s32", 2, 64, 0, {2, 0, 0}},
                                   {"atomic_spread_f32", 2, 64, 0, {2, 65536, 0}},
                                   {"shared_atomics_s32", 1, 1024, 0, {1, 1, 0}},
                                   {"shared_atomics_f32", 1, 32, 0, {1, 0, 0}}};
  std::set<std::string> seen = {"hold"};  // waits for a clock that the emulator's time is not
  for (const BenchRequest& r : all) seen.insert(r.kernel);
  for (const std::string& name : kernel_names()) {
    if (name.starts_with("latency_")) all.push_back({name, 1, 32, 0, {1, 1, 1}});
    if (name.starts_with("rate_")) all.push_back({name, 1, 64, 0, {1, 1, 1}});
    EXPECT_TRUE(name.find("_") == 4 || name.starts_with("latency_") || seen.contains(name))
        << name << " is not run";
  }
  for (const BenchRequest& r : all) {
    const auto report = gpu.run(r);
    // Tensor instructions may still be missing: never wrong, then.
    if (report.verdict == Verdict::kUnsupported && r.kernel.find("mma") != std::string::npos)
      continue;
    EXPECT_EQ(report.verdict, Verdict::kOk) << r.kernel << ": " << report.detail;
  }
}

TEST(Microbenchmarks, AChaseVisitsEveryLine) {
  Emulated gpu;
  ASSERT_EQ(gpu.run({"chase_make", 2, 64, 0, {256, 128, 0}}).verdict, Verdict::kOk);
  const auto pointers = gpu.buffer<std::uint64_t>(1, 256 * 16);
  std::set<std::uint64_t> targets;
  std::uint64_t low = ~0ULL;
  for (std::size_t i = 0; i < pointers.size(); i += 16) {
    targets.insert(pointers[i]);
    low = std::min(low, pointers[i]);
  }
  EXPECT_EQ(targets.size(), 256U);
  std::set<std::uint64_t> visited;
  std::uint64_t at = low;
  for (int i = 0; i < 256; ++i) {
    visited.insert(at);
    at = pointers[(at - low) / 8];
  }
  EXPECT_EQ(at, low);
  EXPECT_EQ(visited.size(), 256U) << "the chain is not one cycle";
}

TEST(Microbenchmarks, CopyCopies) {
  Emulated gpu;
  ASSERT_EQ(gpu.run({"write_all", 2, 64, 0, {65536, 0, 0}}).verdict, Verdict::kOk);
  ASSERT_EQ(gpu.run({"copy_all", 3, 96, 0, {65536, 0, 0}}).verdict, Verdict::kOk);
  EXPECT_EQ(gpu.buffer<std::uint32_t>(1, 16384), gpu.buffer<std::uint32_t>(2, 16384));
  EXPECT_EQ(gpu.buffer<std::uint32_t>(2, 16384)[4 * 77 + 3], 77U);
}

// ---- numbers into fields
// -------------------------------------------------------------------------

protocol::DeviceFacts h200() {
  protocol::DeviceFacts f;
  f.name = "NVIDIA H200";
  f.arch = "sm_90";
  f.sm_count = 132;
  f.memory_bytes = 141'000'000'000;
  f.l2_bytes = 60 << 20;
  f.threads_per_block = 1024;
  f.shared_per_block = 227 << 10;
  return f;
}
BenchDevice device() { return {std::int64_t{4} << 30, 2048, 32, 65536, 228 << 10, 1024}; }

/// A GPU with a clock of 2 GHz whose every kernel takes 1 ms and 10^6 cycles.
BenchReply dull(const BenchRequest& r) {
  BenchReply reply;
  reply.times_us.assign(static_cast<std::size_t>(r.repeats),
                        r.kernel == "empty" && r.blocks == 1 ? 2 : 1000);
  reply.words.assign(protocol::kBenchWords, 0);
  reply.words[0] = 1'000'000;
  reply.words[1] = 500'000;
  return reply;
}
const Progress kQuiet = [](const std::string&) {};

const std::string* warning(const Calibration& c, const std::string& text) {
  for (const auto& w : c.warnings)
    if (w.find(text) != std::string::npos) return &w;
  return nullptr;
}

TEST(Calibrate, NumbersFindTheirFields) {
  const auto c = measure(h200(), device(), dull, kQuiet);
  ASSERT_TRUE(c) << c.error().message;
  const auto& p = c->profile.profile;
  EXPECT_EQ(p.name, "H200");
  EXPECT_EQ(c->base, "sm_90/H200");
  EXPECT_DOUBLE_EQ(p.clock_hz, 2e9);
  EXPECT_DOUBLE_EQ(p.launch_us, 2);
  // 4 GiB in 998 us.
  EXPECT_NEAR(p.dram_read_bytes_per_s, 4294967296.0 / 998e-6, 1e10);
  EXPECT_NEAR(p.dram_bytes_per_s, 2 * 4294967296.0 / 998e-6, 1e10);
  // 16 rounds of 256 operations in 10^6 cycles: implausible for an FMA, so the old number stays.
  EXPECT_DOUBLE_EQ(p.fp32_latency, emulator::find_profile("sm_90")->fp32_latency);
  EXPECT_NE(warning(*c, "fp32_latency"), nullptr);
  EXPECT_NE(warning(*c, "not plausible"), nullptr);
  // All chases took the same time.
  EXPECT_NE(warning(*c, "do not rise"), nullptr);
  EXPECT_EQ(p.dram_latency, emulator::find_profile("sm_90")->dram_latency);
  EXPECT_EQ(c->profile.sources.at("dram_read_bytes_per_s").find("measured"), 0U);
}

TEST(Calibrate, CeilingsAreTheWholeDevices) {
  const auto c = ceilings(h200(), device(), dull);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_NEAR(c->dram_read_bytes_per_s, 4294967296.0 / 998e-6, 1e10);
  EXPECT_NEAR(c->dram_bytes_per_s, 2 * 4294967296.0 / 998e-6, 1e10);
  // 8 x 1024 FMAs of 32 warps in 10^6 cycles, on 132 SMs at 2 GHz.
  EXPECT_NEAR(c->fp32_flops_per_s, 8 * 1024 * 32 * 32 / 1e6 * 2 * 132 * 2e9, 1e9);
  EXPECT_EQ(c->source, "measured");
  EXPECT_EQ(c->l2_bytes, h200().l2_bytes);
  EXPECT_NEAR(c->uncertainty, 0.05, 1e-9);
  // One of seven copies was 3 % faster than the others; then one was twice as fast.
  for (const auto& [fastest_us, uncertainty] : {std::pair{970.9, 0.08}, std::pair{500.0, 0.1}}) {
    const auto uneven =
        ceilings(h200(), device(), [&](const BenchRequest& r) -> Result<BenchReply> {
          BenchReply reply = dull(r);
          if (r.kernel == "copy_all") reply.times_us[3] = fastest_us;
          return reply;
        });
    ASSERT_TRUE(uneven) << uneven.error().message;
    EXPECT_NEAR(uneven->uncertainty, uncertainty, 1e-3);
    EXPECT_EQ(uneven->dram_bytes_per_s, c->dram_bytes_per_s);
  }
  // What was not measured proves nothing: the profile that was begun with may be another GPU's.
  const auto unread = ceilings(h200(), device(), [&](const BenchRequest& r) -> Result<BenchReply> {
    BenchReply reply = dull(r);
    if (r.kernel.starts_with("read_")) reply.error = "it does not run";
    return reply;
  });
  ASSERT_TRUE(unread) << unread.error().message;
  EXPECT_EQ(unread->dram_read_bytes_per_s, 0);
  EXPECT_GT(unread->dram_bytes_per_s, 0);
  int answered = 0;
  const auto lost = ceilings(h200(), device(), [&](const BenchRequest& r) -> Result<BenchReply> {
    if (++answered > 5) return fail(ErrorCode::kEnvironment, "the GPU is gone");
    return dull(r);
  });
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().message, "the GPU is gone");
}

TEST(Calibrate, SameAnswersSameProfile) {
  const auto one = measure(h200(), device(), dull, kQuiet);
  const auto two = measure(h200(), device(), dull, kQuiet);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(emulator::to_text(one->profile), emulator::to_text(two->profile));
  EXPECT_EQ(one->measured, two->measured);
}

TEST(Calibrate, WhatDoesNotRunKeepsItsNumber) {
  const auto c = measure(
      h200(), device(),
      [](const BenchRequest& r) -> Result<BenchReply> {
        if (!r.kernel.starts_with("atomic_")) return dull(r);
        BenchReply reply;
        reply.error = r.kernel + ": no such thing";
        return reply;
      },
      kQuiet);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->profile.profile.atomic_hot_ops_per_cycle,
            emulator::find_profile("sm_90")->atomic_hot_ops_per_cycle);
  EXPECT_NE(warning(*c, "atomic_hot_ops_per_cycle: was not measured"), nullptr);
  EXPECT_NE(warning(*c, "no such thing"), nullptr);
}

TEST(Calibrate, ADeadRunnerEndsIt) {
  int calls = 0;
  const auto c = measure(
      h200(), device(),
      [&](const BenchRequest& r) -> Result<BenchReply> {
        if (++calls < 20) return dull(r);
        return fail(ErrorCode::kInfrastructure, "the GPU's runner died");
      },
      kQuiet);
  ASSERT_FALSE(c);
  EXPECT_EQ(calls, 20);
  EXPECT_NE(c.error().message.find("died"), std::string::npos);
}

TEST(Calibrate, AnUnknownGpuGetsAProfileFromTheNearest) {
  auto facts = h200();
  facts.name = "NVIDIA Q900";
  facts.arch = "sm_95";
  facts.sm_count = 77;
  const auto c = measure(facts, device(), dull, kQuiet);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->profile.profile.arch, "sm_95");
  EXPECT_EQ(c->profile.profile.name, "Q900");
  EXPECT_EQ(c->profile.profile.sm_count, 77);
  EXPECT_EQ(c->profile.sources.at("l1_bytes").find("not measured, as sm_90/H200"), 0U);
  const auto again = emulator::parse_profile(emulator::to_text(c->profile), "new");
  EXPECT_TRUE(again) << again.error().message;
}

// ---- messages
// ------------------------------------------------------------------------------------

TEST(BenchMessages, GoThroughUnchanged) {
  BenchRequest r{"read_4", 132, 512, 4096, {1LL << 40, -1, 3}, 5, 2, 9, 12.5};
  const auto again = protocol::bench_request_from(to_message(r));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, r);
  const auto reply = protocol::bench_reply_from(to_message(dull(r)), r.repeats);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->times_us.size(), 9U);
  EXPECT_EQ(reply->words[0], 1'000'000);
  const auto limits = protocol::bench_device_from(to_message(device()));
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->shared_per_sm, 228 << 10);
}

TEST(BenchMessages, LiesAreErrors) {
  const Json reply = to_message(dull({"x"})), request = to_message(BenchRequest{"x"}),
             limits = to_message(device());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, Json>>{{"times_us", Json::array()},
                                                 {"times_us", {1, 2}},
                                                 {"times_us", {"1"}},
                                                 {"times_us", {-1.0}},
                                                 {"times_us", {nan}},
                                                 {"times_us", 1},
                                                 {"times_us", nullptr},
                                                 {"words", Json::array()},
                                                 {"words", {1, 2}},
                                                 {"words", std::vector<double>(64)},
                                                 {"words", "x"},
                                                 {"failure", 3},
                                                 {"failure", std::string(5000, 'x')}}) {
    Json lie = reply;
    lie[key] = value;
    const auto read = protocol::bench_reply_from(lie, 1);
    ASSERT_FALSE(read) << lie.dump().substr(0, 200);
    EXPECT_EQ(read.error().code, ErrorCode::kInfrastructure);
  }
  for (const char* key : {"times_us", "words", "failure"}) {
    Json lie = reply;
    lie.erase(key);
    EXPECT_FALSE(protocol::bench_reply_from(lie, 1)) << key;
  }
  for (const Json& other : {Json(), Json(1), Json::array(), Json::object()})
    EXPECT_FALSE(protocol::bench_reply_from(other, 1)) << other;
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, Json>>{{"kernel", 1},
                                                 {"kernel", std::string(65, 'x')},
                                                 {"blocks", 0},
                                                 {"blocks", 1LL << 40},
                                                 {"threads", 1025},
                                                 {"threads", -1},
                                                 {"shared_bytes", -1},
                                                 {"numbers", {1, 2}},
                                                 {"numbers", {1, 2, 3, 4}},
                                                 {"numbers", {1, 2, "3"}},
                                                 {"launches", 0},
                                                 {"launches", 5000},
                                                 {"repeats", 0},
                                                 {"repeats", 101},
                                                 {"warmups", -1},
                                                 {"hold_us", -1},
                                                 {"hold_us", 1e9},
                                                 {"hold_us", nan}}) {
    Json lie = request;
    lie[key] = value;
    EXPECT_FALSE(protocol::bench_request_from(lie)) << lie;
  }
  for (const char* key : {"buffer_bytes", "threads_per_sm", "blocks_per_sm", "registers_per_sm",
                          "shared_per_sm", "shared_reserved"}) {
    Json lie = limits;
    lie[key] = -1;
    EXPECT_FALSE(protocol::bench_device_from(lie)) << key;
    lie.erase(key);
    EXPECT_FALSE(protocol::bench_device_from(lie)) << key;
  }
}

}  // namespace
}  // namespace hone::calibrate
