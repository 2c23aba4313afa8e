#include "engine/search/single/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace hone {
namespace recorded {
namespace {

namespace fs = std::filesystem;

/// The reference only copies. About two minutes of the emulator [warp instructions].
constexpr std::uint64_t kAllowance = 10'000'000'000;

constexpr std::string_view kCopy = R"(
template <class T>
__global__ void hone_copy(const T* from, T* to, long long count) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}
)";

std::string path_of(const fs::path& folder, std::string_view kind, std::size_t index) {
  return fs::absolute(folder / std::string(kind) / fmt::format("{}.bin", index)).string();
}

/// What is compared beside the results: a file and its buffer.
std::vector<std::pair<std::string, std::string>> mutated(const fs::path& folder,
                                                         const RecordedBuffers& buffers) {
  std::vector<std::pair<std::string, std::string>> files;
  const auto add = [&](const std::string& name, const std::string& buffer) {
    // Names come from the module's file, and name no file elsewhere.
    if (buffer.empty() || name.empty() || name.find('/') != std::string::npos) return;
    const std::string path = fs::absolute(folder / "mutated" / (name + ".bin")).string();
    std::error_code code;
    if (fs::exists(path, code)) files.emplace_back(path, buffer);
  };
  for (std::size_t i = 0; i < buffers.arguments.size(); ++i) {
    add(fmt::format("{}", i), buffers.arguments[i]);
  }
  for (const auto& [name, buffer] : buffers.parameters) add(name, buffer);
  return files;
}

Result<void> expect_length(const std::string& path, const ConcreteBuffer& buffer) {
  std::error_code code;
  const std::uintmax_t bytes = fs::file_size(path, code);
  if (code) return invalid(fmt::format("{}: {}", path, code.message()));
  if (bytes == static_cast<std::uintmax_t>(buffer.bytes())) return {};
  return invalid(
      fmt::format("{}: has {} bytes; '{}' has {}", path, bytes, buffer.name, buffer.bytes()));
}

int find(const ConcreteProgram& program, const std::string& name) {
  const auto found = std::ranges::find(program.buffers, name, &ConcreteBuffer::name);
  return found == program.buffers.end() ? -1 : static_cast<int>(found - program.buffers.begin());
}

ConcreteLaunch copy_launch(const ConcreteProgram& program, int from, int to) {
  constexpr std::int64_t kBlock = 256;
  const ConcreteBuffer& buffer = program.buffers[static_cast<std::size_t>(to)];
  ConcreteLaunch launch;
  launch.kernel = fmt::format("hone_copy<{}>", cuda_name(buffer.type));
  launch.grid = {(buffer.elements() + kBlock - 1) / kBlock, 1, 1};
  launch.block = {kBlock, 1, 1};
  launch.args = {BufferIndex{from}, BufferIndex{to}, buffer.elements()};
  return launch;
}

void redirect(std::vector<ConcreteLaunch>& launches, int from, int to) {
  for (ConcreteLaunch& launch : launches) {
    for (ConcreteArgument& argument : launch.args) {
      if (auto* index = std::get_if<BufferIndex>(&argument);
          index != nullptr && index->index == from) {
        index->index = to;
      } else if (auto* map = std::get_if<ConcreteTensorMap>(&argument);
                 map != nullptr && map->buffer == from) {
        map->buffer = to;
      }
    }
  }
}

/// The same buffers in both: the reference copies the recorded answers, the candidate computes.
struct Pair {
  ConcreteProgram reference, candidate;

  int add(ConcreteBuffer buffer) {
    reference.buffers.push_back(buffer);
    candidate.buffers.push_back(std::move(buffer));
    return static_cast<int>(candidate.buffers.size()) - 1;
  }
};

/// Inout buffers, and others that are compared afterwards, become inputs, which are copied to where
/// the candidate works; so only results are compared.
void keep_inputs(Pair& pair, const std::set<std::string>& results) {
  std::vector<ConcreteLaunch> copies;
  const std::size_t count = pair.candidate.buffers.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Role role = pair.candidate.buffers[i].role;
    const bool asked = role == Role::kIn && results.contains(pair.candidate.buffers[i].name);
    if (role != Role::kInOut && !asked) continue;
    ConcreteBuffer working = pair.candidate.buffers[i];
    pair.candidate.buffers[i].role = pair.reference.buffers[i].role = Role::kIn;
    const bool compared = results.contains(working.name);
    working.name += "_now";
    working.role = compared ? Role::kOut : Role::kScratch;
    working.fill = {};
    const int index = pair.add(working);
    redirect(pair.candidate.launches, static_cast<int>(i), index);
    copies.push_back(copy_launch(pair.candidate, static_cast<int>(i), index));
  }
  pair.candidate.launches.insert(pair.candidate.launches.begin(), copies.begin(), copies.end());
}

Fill from_file(const std::string& path) {
  Fill fill{Fill::Kind::kFile, 0, 0, path};
  return fill;
}

/// The reference copies what was recorded to where the candidate computes it.
Result<void> expect_recorded(Pair& pair, const fs::path& folder, const RecordedBuffers& buffers) {
  const std::vector<std::string>& results = buffers.results;
  std::set<std::string> compared(results.begin(), results.end());
  const auto changed = mutated(folder, buffers);
  for (const auto& [path, buffer] : changed) compared.insert(buffer);
  keep_inputs(pair, compared);
  std::set<int> expected_of;
  const auto expect = [&](const std::string& name, const std::string& path,
                          const std::string& recorded_as) -> Result<void> {
    int index = find(pair.candidate, name + "_now");
    if (index < 0) index = find(pair.candidate, name);
    if (index < 0 || !expected_of.insert(index).second) return {};
    ConcreteBuffer expected = pair.candidate.buffers[static_cast<std::size_t>(index)];
    if (auto good = expect_length(path, expected); !good) return good;
    expected.name = recorded_as;
    expected.role = Role::kIn;
    expected.fill = from_file(path);
    const int recorded = pair.add(expected);
    pair.reference.launches.push_back(copy_launch(pair.reference, recorded, index));
    return {};
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto good = expect(results[i], path_of(folder, "outputs", i), fmt::format("recorded_{}", i));
    if (!good) return good;
  }
  for (std::size_t i = 0; i < changed.size(); ++i) {
    auto good = expect(changed[i].second, changed[i].first, fmt::format("recorded_after_{}", i));
    if (!good) return good;
  }
  return {};
}

Result<Pair> pair_of(const Task& task, const fs::path& folder, const RecordedBuffers& buffers) {
  const auto& arguments = buffers.arguments;
  const auto& draws = buffers.draws;
  auto program = instantiate(task.reference, task.sizes);
  if (!program) return std::unexpected(program.error());
  Pair pair{*program, *std::move(program)};
  const auto fill = [&](const std::string& name, const std::string& path) -> Result<void> {
    const int index = find(pair.candidate, name);
    if (index < 0) return {};
    const auto at = static_cast<std::size_t>(index);
    if (auto good = expect_length(path, pair.candidate.buffers[at]); !good) return good;
    pair.candidate.buffers[at].fill = pair.reference.buffers[at].fill = from_file(path);
    return {};
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (auto good = fill(arguments[i], path_of(folder, "inputs", i)); !good) {
      return std::unexpected(good.error());
    }
  }
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const std::string path = path_of(folder, "draws", i);
    if (!fs::exists(path)) continue;
    if (auto good = fill(draws[i], path); !good) return std::unexpected(good.error());
  }
  pair.reference.launches.clear();
  pair.reference.source = kCopy;
  pair.candidate.source += kCopy;
  for (const std::string_view header : {"cuda_fp16.h", "cuda_bf16.h"}) {
    const std::string line = fmt::format("#include <{}>\n", header);
    if (pair.candidate.source.contains(line)) pair.reference.source.insert(0, line);
  }
  if (auto good = expect_recorded(pair, folder, buffers); !good) {
    return std::unexpected(good.error());
  }
  if (pair.reference.launches.empty()) return invalid("the module has no tensor among its results");
  return pair;
}

}  // namespace
}  // namespace recorded

std::vector<std::string> recorded_files(const std::filesystem::path& folder,
                                        const RecordedBuffers& buffers) {
  std::vector<std::string> files;
  const auto add = [&](std::string_view kind, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) files.push_back(recorded::path_of(folder, kind, i));
  };
  add("inputs", buffers.arguments.size());
  add("outputs", buffers.results.size());
  add("draws", buffers.draws.size());
  std::erase_if(files, [](const std::string& path) { return !std::filesystem::exists(path); });
  for (const auto& [path, buffer] : recorded::mutated(folder, buffers)) files.push_back(path);
  return files;
}

Result<Evaluation> compare_with_recorded(const Task& task, const std::filesystem::path& folder,
                                         const RecordedBuffers& buffers, Evaluator& evaluator,
                                         bool modelled) {
  auto pair = recorded::pair_of(task, folder, buffers);
  if (!pair) return std::unexpected(pair.error());
  EvaluationRequest request;
  request.timed.reference = std::move(pair->reference);
  request.timed.candidate = std::move(pair->candidate);
  // An emulated device compares at check sizes alone.
  if (modelled) request.checks.push_back(request.timed);
  request.tolerance = task.tolerance;
  request.tolerance.non_finite = NonFinite::kSame;
  request.math = request.claims = task.math;
  request.by_rules = true;
  request.allowance = recorded::kAllowance;
  request.measure_first = !modelled;
  return evaluator.evaluate(request);
}

}  // namespace hone
