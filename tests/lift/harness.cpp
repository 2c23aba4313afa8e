#include "tests/lift/harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "evaluator/compile/compile.h"
#include "evaluator/runner/emulated_program.h"
#include "rewriters/lift/lift.h"
#include "rewriters/nest/fuse.h"
#include "rewriters/schedules/generator.h"
#include "rewriters/schedules/rewriter.h"
#include "tests/support/eight_bit_floats.h"

namespace hone::lift_tests {
namespace {

constexpr std::uint64_t kSeed = 2718;
constexpr std::uint64_t kBudget = 100'000'000;       // warp instructions
constexpr std::int64_t kOperations = 2'000'000'000;  // of execute()

double half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double size = std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 0) size = std::ldexp(mantissa, -24);
  if (exponent == 31) size = mantissa != 0 ? NAN : HUGE_VAL;
  return (bits & 0x8000) != 0 ? -size : size;
}

template <class T>
double element(const std::uint8_t* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

double decode(ScalarType type, const std::uint8_t* from) {
  switch (type) {
    case ScalarType::kF32:
      return element<float>(from);
    case ScalarType::kF64:
      return element<double>(from);
    case ScalarType::kI32:
      return element<std::int32_t>(from);
    case ScalarType::kI64:
      return element<std::int64_t>(from);
    case ScalarType::kI8:
      return element<std::int8_t>(from);
    case ScalarType::kU32:
      return element<std::uint32_t>(from);
    case ScalarType::kU64:
      return element<std::uint64_t>(from);
    case ScalarType::kU8:
    case ScalarType::kBool:
      return element<std::uint8_t>(from);
    case ScalarType::kE4m3:
    case ScalarType::kE5m2:
      return testing::eight_bit_float(type == ScalarType::kE4m3, *from);
    case ScalarType::kF16: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from, sizeof bits);
      return half(bits);
    }
    case ScalarType::kBf16: {
      std::uint16_t high = 0;
      std::memcpy(&high, from, sizeof high);
      const std::uint32_t bits = static_cast<std::uint32_t>(high) << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
  }
  return 0;
}

nest::Contents contents_of(const runner::EmulatedProgram& program, bool poison) {
  nest::Contents contents;
  const ConcreteProgram& concrete = program.program();
  for (std::size_t i = 0; i < concrete.buffers.size(); ++i) {
    const ConcreteBuffer& buffer = concrete.buffers[i];
    std::vector<double>& values = contents[buffer.name];
    values.resize(static_cast<std::size_t>(buffer.elements()));
    const bool undefined = buffer.role == Role::kOut || buffer.role == Role::kScratch;
    if (poison && undefined) {
      std::ranges::fill(values, is_float(buffer.type) ? NAN : 77);
      continue;
    }
    const std::vector<std::uint8_t> bytes = program.read(static_cast<int>(i));
    for (std::size_t e = 0; e < values.size(); ++e)
      values[e] = decode(buffer.type, &bytes[e * size_of(buffer.type)]);
  }
  return contents;
}

/// The rule that candidates are held to: an error is small beside the element or the buffer's rms.
void compare(const std::string& what, const ConcreteBuffer& buffer, const Tolerance& tolerance,
             const std::vector<double>& want, const std::vector<double>& got,
             std::vector<std::string>& wrong) {
  double squares = 0, finite = 1;
  for (const double value : want) {
    if (!std::isfinite(value)) continue;
    squares += value * value;
    finite += 1;
  }
  const double rms = std::sqrt(squares / finite);
  int bad = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i] == got[i] || (std::isnan(want[i]) && std::isnan(got[i]))) continue;
    if (is_float(buffer.type)) {
      const double allowed = tolerance.atol + tolerance.rtol * std::max(std::abs(want[i]), rms);
      if (std::abs(got[i] - want[i]) <= allowed) continue;
    }
    if (++bad > 3) continue;
    wrong.push_back(
        fmt::format("{}: {}[{}] is {}, want {}", what, buffer.name, i, got[i], want[i]));
  }
  if (bad > 3) {
    wrong.push_back(
        fmt::format("{}: {} of {} elements of {}", what, bad, want.size(), buffer.name));
  }
}

bool counts(const ConcreteBuffer& buffer) { return is_output(buffer.role); }

/// "matmul, line 12: a barrier" without kernel and line.
std::string reason_of(const std::string& refusal) {
  const std::size_t colon = refusal.find(": ");
  return colon == std::string::npos ? refusal : refusal.substr(colon + 2);
}

void check_sites(const nest::LiftedProgram& program, const std::string& where,
                 const Tolerance& tolerance, const Emulated& reference, Outcome& outcome) {
  for (const nest::Site& site : nest::sites(program)) {
    nest::LiftedProgram fused = program;
    fused.launches.clear();
    for (std::size_t i = 0; i < program.launches.size(); ++i) {
      if (i == site.launches.back()) {
        nest::LiftedLaunch one;
        one.kernel = site.name;
        one.nests = site.nests;
        fused.launches.push_back(std::move(one));
      }
      if (std::ranges::find(site.launches, i) == site.launches.end())
        fused.launches.push_back(program.launches[i]);
    }
    nest::Contents contents = reference.before;
    const std::string what = fmt::format("{} fused as '{}'", where, site.name);
    ++outcome.sites;
    if (const auto done = nest::execute(fused, contents, kOperations); !done) {
      outcome.wrong.push_back(what + ": " + done.error().message);
      continue;
    }
    for (const ConcreteBuffer& buffer : program.concrete.buffers) {
      const bool written = std::ranges::any_of(
          site.nests, [&](const nest::Nest& nest) { return nest.buffer == buffer.name; });
      const bool later =
          std::any_of(program.launches.begin() + static_cast<std::ptrdiff_t>(site.launches.back()),
                      program.launches.end(), [&](const nest::LiftedLaunch& launch) {
                        return std::ranges::find(launch.writes, buffer.name) != launch.writes.end();
                      });
      if (!counts(buffer) && !(written && !later)) continue;
      compare(what, buffer, tolerance, reference.after.at(buffer.name), contents.at(buffer.name),
              outcome.wrong);
    }
  }
}

void check_generators(const Task& task, const Bindings& sizes, const std::string& where,
                      const Emulated& reference, Outcome& outcome) {
  RewriteContext context;
  context.task = &task;
  context.sizes = sizes;
  context.target = target_limits("sm_90");
  for (const schedules::Generator* generator : schedules::generators()) {
    const auto rewriter = schedules::make_rewriter(*generator);
    for (const Proposal& proposal : rewriter->propose(task.reference, context)) {
      const std::string what =
          fmt::format("{}: {} at '{}'", where, rewriter->name(), proposal.site);
      Step step;
      step.rewriter = proposal.rewriter;
      step.version = proposal.version;
      step.site = proposal.site;
      step.math = proposal.math;
      for (std::size_t i = 0; i < proposal.parameters.size(); ++i) {
        const std::size_t at = proposal.starts.empty() ? 0 : proposal.starts[0][i];
        step.params[proposal.parameters[i].name] = proposal.parameters[i].domain[at];
      }
      const auto made = rewriter->apply(task.reference, step, context);
      if (!made) {
        outcome.ungenerated.push_back(what + ": " + made.error().message);
        continue;
      }
      ++outcome.generated;
      const Emulated result = emulate(*made, sizes);
      if (!result.failure.empty()) {
        outcome.wrong.push_back(what + ": " + result.failure);
        continue;
      }
      const auto concrete = instantiate(*made, sizes);
      for (const ConcreteBuffer& buffer : concrete->buffers) {
        if (!counts(buffer)) continue;
        compare(what, buffer, task.tolerance, reference.after.at(buffer.name),
                result.after.at(buffer.name), outcome.wrong);
      }
    }
  }
}

}  // namespace

Emulated emulate(const Program& program, const Bindings& sizes) {
  Emulated result;
  CompileJob job{.source = program.source, .defines = program.defines, .arch = "sm_90"};
  for (const Launch& launch : program.launches) job.kernels.push_back(launch.kernel);
  protocol::Runnable runnable;
  runnable.compiled = compile::compile_program(job);
  if (runnable.compiled.verdict != Verdict::kOk) {
    result.failure = "does not compile: " + runnable.compiled.log;
    return result;
  }
  const auto module = emulator::Module::parse(runnable.compiled.ptx);
  if (!module) {
    result.failure = module.error().message;
    return result;
  }
  const auto concrete = instantiate(program, sizes);
  if (!concrete) {
    result.failure = concrete.error().message;
    return result;
  }
  runnable.program = *concrete;
  using Outputs = runner::EmulatedProgram::Outputs;
  // What is left unwritten starts as zeros on both sides.
  for (const Outputs outputs : {Outputs::kUninitialised, Outputs::kZero}) {
    auto emulated = runner::EmulatedProgram::load(runnable, kSeed, outputs);
    if (!emulated) {
      result.failure = emulated.error().message;
      return result;
    }
    result.before = contents_of(**emulated, outputs == Outputs::kUninitialised);
    const emulator::RunReport report = (*emulated)->run_all(**module, kBudget, false);
    if (report.verdict != Verdict::kOk) {
      result.failure = report.detail;
      return result;
    }
    result.after = contents_of(**emulated, false);
    bool whole = true;
    for (std::size_t i = 0; i < concrete->buffers.size(); ++i)
      whole = whole && (*emulated)->first_unwritten(static_cast<int>(i)) < 0;
    if (whole) break;
  }
  return result;
}

Outcome lift_only(const Task& task) {
  Outcome outcome;
  for (const Bindings& sizes : task.check_sizes) {
    const auto lifted = nest::lift(task.reference, sizes);
    if (!lifted) {
      outcome.refusals.push_back(lifted.error().message);
      continue;
    }
    for (const nest::LiftedLaunch& launch : lifted->launches)
      if (!launch.refusal.empty()) outcome.refusals.push_back(reason_of(launch.refusal));
  }
  return outcome;
}

Outcome check(const Task& task, const Checks& checks) {
  Outcome outcome;
  for (const Bindings& sizes : task.check_sizes) {
    std::string where = task.name;
    for (const auto& [name, value] : sizes) where += fmt::format(" {}={}", name, value);
    const auto lifted = nest::lift(task.reference, sizes);
    if (!lifted) {
      outcome.refusals.push_back(lifted.error().message);
      continue;
    }
    bool whole = true;
    for (const nest::LiftedLaunch& launch : lifted->launches) {
      if (launch.refusal.empty()) continue;
      outcome.refusals.push_back(reason_of(launch.refusal));
      whole = false;
    }
    if (!whole) continue;
    const Emulated reference = emulate(task.reference, sizes);
    if (!reference.failure.empty()) {
      outcome.unrun.push_back(where + ": the reference: " + reference.failure);
      continue;
    }
    nest::Contents contents = reference.before;
    if (const auto done = nest::execute(*lifted, contents, kOperations); !done) {
      outcome.wrong.push_back(where + ": " + done.error().message);
      continue;
    }
    const std::size_t before = outcome.wrong.size();
    for (const ConcreteBuffer& buffer : lifted->concrete.buffers) {
      compare(where, buffer, task.tolerance, reference.after.at(buffer.name),
              contents.at(buffer.name), outcome.wrong);
    }
    if (outcome.wrong.size() > before) outcome.wrong.push_back(nest::to_string(*lifted));
    if (checks.sites) check_sites(*lifted, where, task.tolerance, reference, outcome);
    if (checks.generators) check_generators(task, sizes, where, reference, outcome);
  }
  return outcome;
}

std::string expectation_of(const std::string& source) {
  constexpr std::string_view kMark = "// lift: ";
  const std::size_t at = source.find(kMark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kMark.size();
  return source.substr(begin, source.find('\n', begin) - begin);
}

std::vector<std::filesystem::path> tasks_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".cu") paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

}  // namespace hone::lift_tests
