#include "evaluator/runner/needed_at_timed.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "evaluator/check/atomics.h"
#include "evaluator/fill/fill.h"
#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/other_values.h"
#include "evaluator/runner/sample_launches.h"

namespace hone::runner {
namespace {

using emulator::ByteRange;

constexpr int kTriedBlocks = 16;   // of a launch
constexpr int kFewestTried = 8;    // that say anything
constexpr int kMayHaveStayed = 1;  // a border, a tie
constexpr std::size_t kMostLaunches = 8;
constexpr double kUnitsOfAll = 16e6;              // see units_of
constexpr double kHeavyBlock = kUnitsOfAll / 50;  // of one whose run serves several trials
constexpr int kTrialsOfAHeavyBlock = 3;           // so that kFewestTried are of three blocks
constexpr double kUnitsPerNewByte = 0.01, kUnitsOfARun = 5000;
constexpr std::uint64_t kPart = 32;  // [B]; what memory moves at once
constexpr std::uint64_t kSampledElements = 2048;

/// Atomics of which the last, the largest or one of many decides: what one block adds to them may
/// count for nothing.
bool has_deciding_atomics(std::string_view ptx) {
  return check::any_statement(ptx, [](std::string_view statement) {
    if (!statement.starts_with("atom.") && !statement.starts_with("red.")) return false;
    const auto opcode = statement.substr(0, statement.find_first_of(" \t"));
    for (const std::string_view operation :
         {".or", ".and", ".xor", ".min", ".max", ".cas", ".exch"})
      if (opcode.contains(operation)) return true;
    return false;
  });
}

/// Blocks of a reference, each by itself.
class SingleBlocks {
 public:
  using Left = std::map<int, std::pair<std::vector<ByteRange>, std::vector<std::uint8_t>>>;

  SingleBlocks(const protocol::Runnable& reference, const emulator::Module& module,
               std::uint64_t seed)
      : reference_(reference), module_(module), seed_(seed) {}

  /// As if no block had run. False: not possible.
  bool begin() {
    if (program_ != nullptr && !program_->wrote_variables())
      return program_->forget_writes(seed_).has_value();
    auto loaded = EmulatedProgram::load(reference_, seed_, EmulatedProgram::Outputs::kZero);
    if (loaded) program_ = std::move(*loaded);
    return loaded.has_value();
  }
  /// False: it takes too long.
  bool run(std::size_t launch, std::uint64_t block) {
    if (units_left_ <= 0) return false;
    const std::vector<std::uint64_t> one = {block};
    emulator::RunOptions options;
    options.check_initialised = options.check_races = false;
    options.max_warp_instructions = static_cast<std::uint64_t>(units_left_) + 1;
    options.blocks = &one;
    const auto before = program_->live_bytes();
    const auto report = program_->launch(module_, launch, options);
    units_left_ -= units_of(report.counters) + kUnitsOfARun +
                   kUnitsPerNewByte * static_cast<double>(program_->live_bytes() - before);
    ended_ = report.verdict == Verdict::kOk;
    return report.verdict != Verdict::kTimeout;
  }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool has_time() const { return units_left_ > 0; }
  [[nodiscard]] double units_left() const { return units_left_; }
  [[nodiscard]] EmulatedProgram& program() { return *program_; }
  /// All that it wrote, or what is at the places that another run wrote.
  [[nodiscard]] Left left(const Left* where = nullptr) const {
    Left out;
    for (std::size_t i = 0; i < reference_.program.buffers.size(); ++i) {
      if (reference_.program.buffers[i].role == Role::kIn) continue;
      const int index = static_cast<int>(i);
      auto& [ranges, bytes] = out[index];
      ranges = where != nullptr ? where->at(index).first : program_->written(index);
      for (const ByteRange& range : ranges) {
        const std::size_t at = bytes.size();
        bytes.resize(at + (range.end - range.begin));
        program_->read(index, range.begin, std::span(bytes).subspan(at));
      }
    }
    out[-1].second = program_->variables();
    return out;
  }

 private:
  const protocol::Runnable& reference_;
  const emulator::Module& module_;
  const std::uint64_t seed_;
  double units_left_ = kUnitsOfAll;
  std::unique_ptr<EmulatedProgram> program_;
  bool ended_ = false;
};

/// Of each buffer, as its fill has it.
class OthersOfBuffers {
 public:
  OthersOfBuffers(const ConcreteProgram& program, std::uint64_t seed)
      : program_(program), seed_(seed) {}

  const OtherValues* of(std::size_t buffer) {
    const auto known = values_.find(buffer);
    if (known != values_.end()) return &known->second;
    const ConcreteBuffer& what = program_.buffers[buffer];
    auto source = fill::Source::open_repeating(what, seed_);
    if (!source) return nullptr;
    const auto element = [source = *source, size = size_of(what.type)](std::uint64_t at) {
      std::uint64_t bits = 0;
      source->read(at * size, reinterpret_cast<std::uint8_t*>(&bits), size);
      return bits;
    };
    return &values_.try_emplace(buffer, what, element, kSampledElements).first->second;
  }

 private:
  const ConcreteProgram& program_;
  const std::uint64_t seed_;
  std::map<std::size_t, OtherValues> values_;
};

/// What a block does where nothing was changed.
struct Unchanged {
  std::uint64_t block;
  SingleBlocks::Left left;
  std::map<int, std::vector<ByteRange>> touched;
  int trials;  ///< that it serves
};

/// Of a block at random; none where that did not end well.
std::optional<Unchanged> unchanged(SingleBlocks& single, const ConcreteProgram& program,
                                   std::size_t launch, std::uint64_t block) {
  const double before = single.units_left();
  if (!single.begin() || !single.run(launch, block) || !single.ended()) return std::nullopt;
  Unchanged out{block, single.left(), {}, 1};
  for (std::size_t k = 0; k < program.buffers.size(); ++k)
    out.touched[static_cast<int>(k)] = single.program().touched(static_cast<int>(k));
  if (before - single.units_left() > kHeavyBlock) out.trials = kTrialsOfAHeavyBlock;
  return out;
}

/// A whole part at random of what was touched.
std::uint64_t any_part(const std::vector<ByteRange>& touched, std::mt19937_64& random) {
  std::uint64_t total = 0;
  for (const ByteRange& range : touched) total += range.end - range.begin;
  std::uint64_t at = random() % total;
  for (const ByteRange& range : touched) {
    if (at < range.end - range.begin) return (range.begin + at) / kPart;
    at -= range.end - range.begin;
  }
  return touched.front().begin / kPart;
}

}  // namespace

std::set<std::string> needed_at_timed(const protocol::Runnable& reference,
                                      const emulator::Module& module, std::uint64_t seed,
                                      const std::set<std::string>& names, std::uint64_t places) {
  const auto& program = reference.program;
  std::set<std::string> needed;
  // What several blocks or launches make of what one leaves is not looked at: sums of it are.
  const bool all_bools = std::ranges::all_of(program.buffers, [](const ConcreteBuffer& buffer) {
    return !is_output(buffer.role) || buffer.type == ScalarType::kBool;
  });
  if (has_deciding_atomics(reference.compiled.ptx) || (all_bools && program.launches.size() > 1))
    return needed;
  SingleBlocks single(reference, module, seed);
  std::mt19937_64 random(places ^ seed);
  OthersOfBuffers others(program, seed);
  struct Tally {
    int tried = 0, stayed = 0;
  };
  for (std::size_t launch = 0; launch < std::min(kMostLaunches, program.launches.size());
       ++launch) {
    const auto& grid = program.launches[launch].grid;
    const auto blocks = static_cast<std::uint64_t>(grid[0] * grid[1] * grid[2]);
    std::map<std::string, Tally> tallies;
    std::optional<Unchanged> now;
    for (int i = 0; i < kTriedBlocks && single.has_time(); ++i) {
      if (!now || now->trials-- <= 0) {
        now = unchanged(single, program, launch, random() % blocks);
        if (!now) continue;
        --now->trials;
      }
      const auto& [block, left, all_touched, trials] = *now;
      for (std::size_t k = 0; k < program.buffers.size(); ++k) {
        const ConcreteBuffer& buffer = program.buffers[k];
        if (!names.contains(buffer.name) || buffer.role == Role::kOut) continue;
        const int index = static_cast<int>(k);
        const auto& touched = all_touched.at(index);
        if (touched.empty()) continue;
        const std::size_t size = size_of(buffer.type);
        const std::uint64_t part = any_part(touched, random);
        const std::uint64_t first = part * kPart / size,
                            last = std::min((part + 1) * kPart / size,
                                            static_cast<std::uint64_t>(buffer.elements())) -
                                   1;
        const OtherValues* values = others.of(k);
        if (values == nullptr) continue;
        bool changes = false, known = true;
        for (const std::uint64_t bits : values->of(first, last)) {
          std::vector<std::uint8_t> other, own((last - first + 1) * size);
          for (std::uint64_t at = first; at <= last; ++at) {
            const auto* value = reinterpret_cast<const std::uint8_t*>(&bits);
            other.insert(other.end(), value, value + size);
          }
          known = single.begin();
          if (!known) break;
          single.program().read(index, first * size, own);
          known = single.program().write(index, first * size, other) && single.run(launch, block);
          // A run that does not end well shows that it was used.
          changes = known && (!single.ended() || single.left(&left) != left);
          known = single.program().write(index, first * size, own) && known;
          if (!known || changes) break;
        }
        if (!known) continue;
        Tally& tally = tallies[buffer.name];
        ++tally.tried;
        if (!changes) ++tally.stayed;
      }
    }
    for (const auto& [name, tally] : tallies)
      if (tally.tried >= kFewestTried && tally.stayed <= kMayHaveStayed) needed.insert(name);
  }
  return needed;
}

}  // namespace hone::runner
