#include "evaluator/runner/emulated_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "evaluator/device/arguments.h"
#include "evaluator/fill/fill.h"

namespace hone::runner {
namespace {

constexpr std::uint64_t kMostShared = 384U << 20;  // [B]

bool has_fill(Role role) { return role == Role::kIn || role == Role::kInOut; }

emulator::Memory::PageSource constant_source(std::uint8_t value) {
  return [value](std::uint64_t, std::uint8_t* out, std::size_t size) {
    std::memset(out, value, size);
  };
}

}  // namespace

void SharedInputs::read(const fill::Source& source, const ConcreteBuffer& buffer,
                        std::uint64_t offset, std::uint8_t* out, std::size_t size) {
  const auto known = pieces_.find({buffer.name, offset});
  if (known != pieces_.end() && known->second.size() == size) {
    std::memcpy(out, known->second.data(), size);
    return;
  }
  source.read(offset, out, size);
  made_elements_ += size / size_of(buffer.type);
  if (bytes_ + size > kMostShared) return;
  bytes_ += size;
  pieces_[{buffer.name, offset}].assign(out, out + size);
}

Result<emulator::Memory::PageSource> EmulatedProgram::contents(const ConcreteBuffer& buffer,
                                                               std::uint64_t seed,
                                                               std::uint64_t changes) const {
  if (!has_fill(buffer.role))
    return constant_source(outputs_ == Outputs::kUninitialised ? 0xFF : 0);
  auto source = outputs_ == Outputs::kZero ? fill::Source::open_repeating(buffer, seed)
                                           : fill::Source::open(buffer, seed);
  if (!source) return std::unexpected(source.error());
  if (changes != 0) *source = fill::Source::with_changes(std::move(*source), buffer, changes);
  if (shared_)
    return [source = *source, shared = shared_, &buffer](std::uint64_t offset, std::uint8_t* out,
                                                         std::size_t size) {
      shared->read(*source, buffer, offset, out, size);
    };
  return [source = *source](std::uint64_t offset, std::uint8_t* out, std::size_t size) {
    source->read(offset, out, size);
  };
}

Result<std::unique_ptr<EmulatedProgram>> EmulatedProgram::load(
    const protocol::Runnable& runnable, std::uint64_t seed, Outputs outputs, std::uint64_t pad,
    std::shared_ptr<SharedInputs> shared) {
  std::unique_ptr<EmulatedProgram> p(new EmulatedProgram(runnable, outputs));
  p->shared_ = std::move(shared);
  p->memory_.begin_anywhere(seed);
  p->memory_.round_by(seed);
  if (pad > 0) (void)p->memory_.allocate("padding", pad, true, constant_source(0));
  for (const auto& buffer : runnable.program.buffers) {
    auto source = p->contents(buffer, seed);
    if (!source) return std::unexpected(source.error());
    const bool initialised =
        outputs == Outputs::kUninitialised ? has_fill(buffer.role) : buffer.role == Role::kIn;
    p->addresses_.push_back(p->memory_.allocate(
        buffer.name, static_cast<std::uint64_t>(buffer.bytes()), initialised, std::move(*source)));
  }
  return p;
}

Result<emulator::LaunchConfig> EmulatedProgram::config(std::size_t index) const {
  const auto& launch = runnable_.program.launches[index];
  const CompiledKernel* kernel = runnable_.compiled.find(launch.kernel);
  if (kernel == nullptr) return invalid(fmt::format("kernel '{}' was not compiled", launch.kernel));
  auto parameters = pack_arguments(runnable_.program, index, *kernel, addresses_,
                                   emulator::encode_tiled_tensor_map);
  if (!parameters) return std::unexpected(parameters.error());
  emulator::LaunchConfig config;
  config.kernel = kernel->lowered_name;
  for (std::size_t i = 0; i < 3; ++i) {
    config.grid[i] = static_cast<std::uint32_t>(launch.grid[i]);
    config.block[i] = static_cast<std::uint32_t>(launch.block[i]);
  }
  config.dynamic_shared_bytes = static_cast<std::uint32_t>(launch.shared_bytes);
  config.parameters = std::move(*parameters);
  return config;
}

emulator::RunReport EmulatedProgram::launch(const emulator::Module& module, std::size_t index,
                                            const emulator::RunOptions& options) {
  const auto c = config(index);
  if (!c) return {Verdict::kLaunchError, c.error().message, {}};
  if (options.counters && options.profile && index != launched_) {
    memory_.next_launch(options.profile->l2_bytes);
    launched_ = index;
  }
  auto report = emulator::run(module, *c, memory_, options);
  if (report.verdict != Verdict::kOk) {
    const auto& launch = runnable_.program.launches[index];
    report.detail =
        runnable_.program.launches.size() > 1
            ? fmt::format("launches[{}] of kernel '{}': {}", index, launch.kernel, report.detail)
            : fmt::format("kernel '{}': {}", launch.kernel, report.detail);
  }
  return report;
}

emulator::RunReport EmulatedProgram::run_all(const emulator::Module& module, std::uint64_t budget,
                                             bool count, std::uint64_t schedule_seed) {
  emulator::RunReport total;
  emulator::RunOptions options;
  options.counters = count;
  options.schedule_seed = schedule_seed;
  options.threads = threads_;
  longest_.clear();
  for (std::size_t i = 0; i < runnable_.program.launches.size(); ++i) {
    const std::uint64_t used = total.counters.warp_instructions;
    options.max_warp_instructions = used < budget ? budget - used : 1;
    auto report = launch(module, i, options);
    total.counters.warp_instructions += report.counters.warp_instructions;
    total.counters.flops += report.counters.flops;
    longest_.push_back({report.counters.longest_block, report.counters.most_of_a_block});
    touched_.resize(addresses_.size());
    for (std::size_t k = 0; count && k < addresses_.size(); ++k)
      touched_[k] = std::max(touched_[k], memory_.touched_bytes(addresses_[k]));
    total.verdict = report.verdict;
    total.detail = std::move(report.detail);
    if (total.verdict != Verdict::kOk) break;
  }
  return total;
}

int EmulatedProgram::index_of(const std::string& buffer) const {
  for (std::size_t i = 0; i < runnable_.program.buffers.size(); ++i) {
    if (runnable_.program.buffers[i].name == buffer) return static_cast<int>(i);
  }
  return -1;
}

std::vector<std::uint8_t> EmulatedProgram::read(int buffer) const {
  const auto i = static_cast<std::size_t>(buffer);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(runnable_.program.buffers[i].bytes()));
  if (!memory_.read(addresses_[i], bytes.data(), bytes.size())) bytes.clear();
  return bytes;
}

bool EmulatedProgram::touched_whole(int buffer) const {
  const auto i = static_cast<std::size_t>(buffer);
  return i < touched_.size() &&
         touched_[i] >= static_cast<std::uint64_t>(runnable_.program.buffers[i].bytes());
}

bool EmulatedProgram::was_written(int buffer) const {
  return memory_.was_written(addresses_[static_cast<std::size_t>(buffer)]);
}

std::int64_t EmulatedProgram::first_unwritten(int buffer) const {
  const auto i = static_cast<std::size_t>(buffer);
  return memory_.first_unwritten(addresses_[i],
                                 static_cast<std::uint64_t>(runnable_.program.buffers[i].bytes()));
}

Result<void> EmulatedProgram::begin_again(std::uint64_t seed, std::uint64_t changes) {
  const std::string changed =
      changes != 0 ? fill::changed_buffer(runnable_.program, changes) : std::string();
  memory_.round_by(seed);
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const auto& buffer = runnable_.program.buffers[i];
    if (buffer.role == Role::kScratch) continue;
    auto source = contents(buffer, seed, buffer.name == changed ? changes : 0);
    if (!source) return std::unexpected(source.error());
    memory_.renew(addresses_[i], std::move(*source));
  }
  return {};
}

Result<void> EmulatedProgram::forget_writes(std::uint64_t seed) {
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const auto& buffer = runnable_.program.buffers[i];
    if (buffer.role == Role::kIn) continue;
    auto source = contents(buffer, seed);
    if (!source) return std::unexpected(source.error());
    memory_.renew(addresses_[i], std::move(*source));
  }
  return {};
}

std::vector<std::uint8_t> EmulatedProgram::state() const {
  std::vector<std::uint8_t> out = memory_.variables();
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    if (runnable_.program.buffers[i].role != Role::kScratch) continue;
    const auto bytes = read(static_cast<int>(i));
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

std::vector<std::uint32_t> EmulatedProgram::state_words() const {
  std::vector<std::uint32_t> words = memory_.variable_words();
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    if (runnable_.program.buffers[i].role != Role::kScratch) continue;
    auto bytes = read(static_cast<int>(i));
    bytes.resize((bytes.size() + 3) / 4 * 4);
    const std::size_t first = words.size();
    words.resize(first + bytes.size() / 4);
    if (!bytes.empty()) std::memcpy(&words[first], bytes.data(), bytes.size());
  }
  return words;
}

void EmulatedProgram::add_to_state(std::span<const std::uint32_t> numbers, std::uint32_t times) {
  std::size_t next = memory_.variable_words().size();
  memory_.add_to_variables(numbers.first(std::min(next, numbers.size())), times);
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    if (runnable_.program.buffers[i].role != Role::kScratch) continue;
    const auto bytes = read(static_cast<int>(i));
    for (std::size_t at = 0; at < bytes.size() && next < numbers.size(); at += 4, ++next) {
      if (numbers[next] == 0) continue;  // what nobody has written stays so
      const std::size_t count = std::min<std::size_t>(4, bytes.size() - at);
      std::uint32_t word = 0;
      std::memcpy(&word, &bytes[at], count);
      word += times * numbers[next];
      (void)memory_.write(addresses_[i] + at, &word, count);
    }
  }
}

bool EmulatedProgram::keeps_something() const {
  return memory_.variables_were_written() ||
         std::ranges::any_of(runnable_.program.buffers,
                             [](const auto& buffer) { return buffer.role == Role::kScratch; });
}

}  // namespace hone::runner
