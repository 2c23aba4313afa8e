#include <cstring>

#include "evaluator/device/emulator/emulator.h"
#include "tests/differential/case.h"

namespace hone::differential {

Emulated emulate(const Case& c, int threads) {
  Emulated result;
  const auto module = emulator::Module::parse(c.ptx);
  if (!module) {
    result.detail = module.error().message;
    return result;
  }
  emulator::Memory memory;
  emulator::LaunchConfig launch;
  launch.kernel = "k";
  launch.grid = c.grid;
  launch.block = c.block;
  launch.dynamic_shared_bytes = c.shared_bytes;
  std::vector<std::uint64_t> parameters;
  for (std::size_t i = 0; i < c.buffers.size(); ++i) {
    const std::vector<std::uint8_t> bytes = contents(c.buffers[i]);
    parameters.push_back(
        memory.allocate("buffer" + std::to_string(i), c.buffers[i].bytes, true,
                        [bytes](std::uint64_t at, std::uint8_t* out, std::size_t size) {
                          std::memcpy(out, bytes.data() + at, size);
                        }));
  }
  const std::vector<std::uint64_t> addresses = parameters;
  parameters.insert(parameters.end(), c.words.begin(), c.words.end());
  launch.parameters.resize(parameters.size() * 8);
  std::memcpy(launch.parameters.data(), parameters.data(), launch.parameters.size());
  emulator::RunOptions options;
  options.max_warp_instructions = 20'000'000;
  options.threads = threads;
  options.threads_after = 0;
  options.counters = threads == 1;
  const emulator::RunReport report = emulator::run(**module, launch, memory, options);
  result.threads = report.threads;
  if (report.verdict != Verdict::kOk) {
    result.detail = std::string(to_string(report.verdict)) + ": " + report.detail;
    return result;
  }
  for (std::size_t i = 0; i < c.buffers.size(); ++i) {
    if (!c.buffers[i].output) continue;
    std::vector<std::uint8_t> bytes(c.buffers[i].bytes);
    if (!memory.read(addresses[i], bytes.data(), bytes.size())) {
      result.detail = "an output cannot be read";
      return result;
    }
    result.outputs.insert(result.outputs.end(), bytes.begin(), bytes.end());
  }
  result.ok = true;
  return result;
}

}  // namespace hone::differential
