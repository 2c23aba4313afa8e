// Every baseline, as compiled by NVRTC and run by the emulator, against the independent computation
// of baselines_reference.cpp, at each of its check sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "candidates/task_reader.h"
#include "evaluator/compile/compile.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/fill/fill.h"
#include "evaluator/fill/formula_cpu.h"
#include "evaluator/runner/emulated_program.h"
#include "tests/e2e/baselines_reference.h"

namespace hone {
namespace {

constexpr std::uint64_t kSeed = 2718;
constexpr std::uint64_t kBudget = 100'000'000;  // warp instructions

const std::filesystem::path kFolder = std::filesystem::path(HONE_SOURCE_DIR) / "baselines";

std::vector<double> to_doubles(const std::vector<std::uint8_t>& bytes, ScalarType type) {
  std::vector<double> values(bytes.size() / size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == ScalarType::kF32) {
      float value = 0;
      std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
      values[i] = value;
    } else if (type == ScalarType::kI32) {
      std::int32_t value = 0;
      std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
      values[i] = value;
    } else if (is_narrow_float(type)) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &bytes[i * size_of(type)], size_of(type));
      values[i] = hone_decode(static_cast<int>(type), bits);
    } else {
      ADD_FAILURE() << "no baseline has buffers of type " << to_string(type);
    }
  }
  return values;
}

baselines::Values inputs_of(const ConcreteProgram& program) {
  baselines::Values inputs;
  for (const ConcreteBuffer& buffer : program.buffers) {
    if (buffer.role != Role::kIn && buffer.role != Role::kInOut) continue;
    const auto source = fill::Source::open(buffer, kSeed);
    if (!source) {
      ADD_FAILURE() << source.error().message;
      continue;
    }
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(buffer.bytes()));
    (*source)->read(0, bytes.data(), bytes.size());
    inputs[buffer.name] = to_doubles(bytes, buffer.type);
  }
  return inputs;
}

/// The rule that candidates are held to: an error is small beside the element or the buffer's rms.
void expect_close(const std::string& name, const std::vector<double>& want,
                  const std::vector<double>& got, const Tolerance& tolerance) {
  ASSERT_EQ(want.size(), got.size()) << name;
  double squares = 0;
  for (double value : want) squares += value * value;
  const double rms = std::sqrt(squares / static_cast<double>(want.size()));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double allowed = tolerance.atol + tolerance.rtol * std::max(std::abs(want[i]), rms);
    ASSERT_LE(std::abs(got[i] - want[i]), allowed)
        << name << "[" << i << "] is " << got[i] << ", want " << want[i];
  }
}

class Baseline : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto task = read_task(kFolder / GetParam() / (GetParam() + ".cu"));
    ASSERT_TRUE(task) << task.error().message;
    task_ = std::move(*task);
  }
  Task task_;
};

TEST_P(Baseline, EmulatedKernelAgreesWithTheCpu) {
  CompileJob job{
      .source = task_.reference.source, .defines = task_.reference.defines, .arch = "sm_90"};
  for (const Launch& launch : task_.reference.launches) job.kernels.push_back(launch.kernel);
  const CompiledProgram compiled = compile::compile_program(job);
  ASSERT_EQ(compiled.verdict, Verdict::kOk) << compiled.log;
  const auto module = emulator::Module::parse(compiled.ptx);
  ASSERT_TRUE(module) << module.error().message;

  ASSERT_GE(task_.check_sizes.size(), 2U);
  for (const Bindings& sizes : task_.check_sizes) {
    const auto program = instantiate(task_.reference, sizes);
    ASSERT_TRUE(program) << program.error().message;
    const protocol::Runnable runnable{.program = *program, .compiled = compiled};
    auto emulated = runner::EmulatedProgram::load(runnable, kSeed,
                                                  runner::EmulatedProgram::Outputs::kUninitialised);
    ASSERT_TRUE(emulated) << emulated.error().message;
    const emulator::RunReport report = (*emulated)->run_all(**module, kBudget, false);
    ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;

    const auto reference = baselines::find_reference(GetParam());
    ASSERT_NE(reference, nullptr);
    for (const auto& [name, want] : reference(sizes, inputs_of(*program))) {
      const int buffer = (*emulated)->index_of(name);
      ASSERT_GE(buffer, 0) << name;
      const auto got = to_doubles((*emulated)->read(buffer),
                                  program->buffers[static_cast<std::size_t>(buffer)].type);
      expect_close(name, want, got, task_.tolerance);
    }
  }
}

TEST_P(Baseline, TimedSizesAreWithinWhatCudaAllows) {
  const auto program = instantiate(task_.reference, task_.sizes);
  ASSERT_TRUE(program) << program.error().message;
  std::int64_t bytes = 0;
  for (const ConcreteBuffer& buffer : program->buffers) {
    bytes += buffer.bytes();
    EXPECT_LE(buffer.elements(), INT32_MAX) << buffer.name << ": the kernels index with int";
  }
  EXPECT_LE(bytes, std::int64_t{8} << 30);
}

INSTANTIATE_TEST_SUITE_P(All, Baseline, ::testing::ValuesIn(baselines::reference_names()),
                         [](const auto& info) { return info.param; });

TEST(Baselines, EveryFolderHasAReference) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name != "results") folders.push_back(name);
  }
  std::vector<std::string> names = baselines::reference_names();
  std::ranges::sort(folders);
  std::ranges::sort(names);
  EXPECT_EQ(folders, names);
}

}  // namespace
}  // namespace hone
