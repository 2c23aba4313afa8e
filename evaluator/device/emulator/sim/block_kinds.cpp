#include "evaluator/device/emulator/sim/block_kinds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/registers.h"

namespace hone::emulator {
namespace {

constexpr std::uint64_t kMostBlocks = 1 << 22;
constexpr std::size_t kMostKinds = 64, kMostChosen = 8;

/// Instructions whose results follow from the block's place, the launch and constants.
class Scan {
 public:
  Scan(const ModuleImpl& module, const Function& f, const LaunchConfig& launch)
      : f_(f), launch_(launch), registers_(module, f) {
    find_known();
    find_asked();
  }

  /// Is there anything that blocks may differ in?
  [[nodiscard]] bool differs() const { return !asked_.empty(); }

  /// What 32 blocks from `first` on are told apart by.
  void kinds(std::uint64_t first, std::array<std::uint64_t, 32>& kinds) {
    for (const int i : slice_) evaluate(f_.code[static_cast<std::size_t>(i)], first);
    kinds.fill(0);
    for (const auto& [slot, is_index] : asked_)
      for (std::size_t lane = 0; lane < 32; ++lane) {
        const std::uint64_t value = is_index ? registers_.reg32(slot)[lane]
                                             : std::uint64_t{*registers_.reg32(slot) >> lane & 1};
        kinds[lane] = (kinds[lane] ^ value) * 0x9E3779B97F4A7C15ull + 1;
        kinds[lane] ^= kinds[lane] >> 29;
      }
  }

 private:
  static bool is_place(const Inst& in) {
    const auto id = static_cast<SpecialRegister>(in.imm);
    return in.imm >= 0 && id >= SpecialRegister::kCtaidX && id <= SpecialRegister::kCtaidZ;
  }
  static bool is_size(const Inst& in) {
    const auto id = static_cast<SpecialRegister>(in.imm);
    return in.imm >= 0 && ((id >= SpecialRegister::kNtidX && id <= SpecialRegister::kNtidZ) ||
                           (id >= SpecialRegister::kNctaidX && id <= SpecialRegister::kNctaidZ));
  }
  [[nodiscard]] const std::uint32_t* registers(const Inst& in) const {
    return f_.regs.data() + in.regs;
  }

  void find_known() {
    std::vector<int> writers(f_.reg_slots.size(), 0);
    for (const Inst& in : f_.code)
      for (int k = in.sources; k < in.sources + in.destinations; ++k) ++writers[registers(in)[k]];
    known_.assign(f_.reg_slots.size(), 0);
    for (std::size_t i = 0; i < f_.code.size(); ++i) {
      const Inst& in = f_.code[i];
      if (in.guarded || in.destinations == 0) continue;
      const std::uint32_t* r = registers(in);
      const bool alone = std::all_of(r + in.sources, r + in.sources + in.destinations,
                                     [&](std::uint32_t at) { return writers[at] == 1; });
      const bool from_known =
          std::all_of(r, r + in.sources, [&](std::uint32_t at) { return known_[at] != 0; });
      const bool plain = in.kind == Kind::kLane ||
                         (in.kind == Kind::kSpecial && (is_place(in) || is_size(in))) ||
                         (in.kind == Kind::kLoad && in.space == Space::kParam && in.a < 0 &&
                          in.vec == 1 && in.esize >= 4);
      if (!alone || !from_known || !plain) continue;
      for (int k = in.sources; k < in.sources + in.destinations; ++k)
        known_[r[k]] = static_cast<std::int32_t>(i) + 1;
    }
  }

  /// Predicates and indices of jumps that are known and hang on the place; what they need.
  void find_asked() {
    std::vector<char> needed(f_.code.size(), 0);
    std::map<Slot, std::int32_t> writer;  // of known registers
    for (std::size_t r = 0; r < known_.size(); ++r)
      if (known_[r] != 0) writer[f_.reg_slots[r]] = known_[r] - 1;
    std::set<std::pair<Slot, bool>> wanted;
    for (const Inst& in : f_.code) {
      if (in.guarded) wanted.insert({in.guard, false});
      if (in.kind == Kind::kBranchIndexed) wanted.insert({in.a, true});
      if (in.kind != Kind::kLane) continue;
      if (in.sub == kSelect) wanted.insert({in.c, false});
      if (in.sub == kAndPredicate || in.sub == kOrPredicate) {
        wanted.insert({in.a, false});
        wanted.insert({in.b, false});
      }
    }
    for (const auto& [slot, is_index] : wanted) {
      const auto found = writer.find(slot);
      if (found == writer.end()) continue;
      std::vector<int> work{found->second};
      std::vector<int> chain;
      bool places = false;
      std::vector<char> seen(f_.code.size(), 0);
      while (!work.empty()) {
        const int i = work.back();
        work.pop_back();
        if (seen[static_cast<std::size_t>(i)]) continue;
        seen[static_cast<std::size_t>(i)] = 1;
        chain.push_back(i);
        const Inst& in = f_.code[static_cast<std::size_t>(i)];
        places = places || (in.kind == Kind::kSpecial && is_place(in));
        for (int k = 0; k < in.sources; ++k) work.push_back(known_[registers(in)[k]] - 1);
      }
      if (!places) continue;
      asked_.emplace_back(slot, is_index);
      for (const int i : chain) needed[static_cast<std::size_t>(i)] = 1;
    }
    for (std::size_t i = 0; i < needed.size(); ++i)
      if (needed[i]) slice_.push_back(static_cast<int>(i));
  }

  void evaluate(const Inst& in, std::uint64_t first) {
    if (in.kind == Kind::kLane) return registers_.compute(in);
    const auto set = [&](Slot to, bool wide, auto&& value) {
      for (std::size_t lane = 0; lane < 32; ++lane) registers_.put(to, wide, lane, value(lane));
    };
    if (in.kind == Kind::kLoad) {
      std::uint64_t value = 0;
      const std::uint64_t at = registers_.reg64(in.a)[0] + static_cast<std::uint64_t>(in.imm);
      if (at + in.esize <= launch_.parameters.size())
        std::memcpy(&value, launch_.parameters.data() + at, in.esize);
      if (in.sign_extend && in.esize == 4)
        value =
            static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
      const Slot to = f_.extra[in.extra];
      if (to != kNone) set(to, in.dst_wide, [&](std::size_t) { return value; });
      return;
    }
    const auto id = static_cast<SpecialRegister>(in.imm);
    if (is_place(in)) {
      const auto axis =
          static_cast<std::size_t>(in.imm - static_cast<int>(SpecialRegister::kCtaidX));
      set(in.d, in.dst_wide,
          [&](std::size_t lane) { return std::uint64_t{block_of(launch_, first + lane)[axis]}; });
      return;
    }
    const bool of_grid = id >= SpecialRegister::kNctaidX;
    const auto axis = static_cast<std::size_t>(
        in.imm - static_cast<int>(of_grid ? SpecialRegister::kNctaidX : SpecialRegister::kNtidX));
    set(in.d, in.dst_wide,
        [&](std::size_t) { return std::uint64_t{(of_grid ? launch_.grid : launch_.block)[axis]}; });
  }

  const Function& f_;
  const LaunchConfig& launch_;
  std::vector<std::int32_t> known_;  ///< by register: its one instruction, + 1; 0: not known
  std::vector<int> slice_;
  std::vector<std::pair<Slot, bool>> asked_;  ///< is it an index?
  Registers registers_;
};

}  // namespace

std::optional<BlockKinds> BlockKinds::of(const ModuleImpl& module, int function,
                                         const LaunchConfig& launch) {
  const std::uint64_t total = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  if (total > kMostBlocks) return std::nullopt;
  Scan scan(module, module.functions[static_cast<std::size_t>(function)], launch);
  if (!scan.differs()) return std::nullopt;
  BlockKinds kinds;
  kinds.kind_of_.reserve(total);
  std::map<std::uint64_t, std::uint8_t> known;  // by what blocks are told apart by
  std::array<std::uint64_t, 32> now{};
  for (std::uint64_t first = 0; first < total; first += 32) {
    scan.kinds(first, now);
    for (std::uint64_t k = 0; k < 32 && first + k < total; ++k) {
      const auto [at, is_new] = known.emplace(now[k], static_cast<std::uint8_t>(known.size()));
      if (is_new) kinds.counts_.push_back({0, first + k});
      ++kinds.counts_[at->second].first;
      kinds.kind_of_.push_back(at->second);
    }
    if (known.size() > kMostKinds) return std::nullopt;
  }
  return kinds;
}

std::vector<std::uint64_t> BlockKinds::counts_in(const std::vector<std::uint64_t>& blocks) const {
  std::vector<std::uint64_t> counts(counts_.size(), 0);
  for (const std::uint64_t block : blocks) ++counts[kind_of_[block]];
  return counts;
}

std::vector<std::uint64_t> BlockKinds::missed_by(const std::vector<std::uint64_t>& sample) const {
  const auto sampled = counts_in(sample);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> missed;
  for (std::size_t k = 0; k < counts_.size(); ++k)
    if (sampled[k] == 0) missed.push_back(counts_[k]);
  std::ranges::sort(missed);
  if (missed.size() > kMostChosen) missed.resize(kMostChosen);
  std::vector<std::uint64_t> chosen;
  for (const auto& [count, first] : missed) chosen.push_back(first);
  std::ranges::sort(chosen);
  return chosen;
}

double BlockKinds::distance(const std::vector<std::uint64_t>& sample) const {
  const auto sampled = counts_in(sample);
  double distance = 0;
  for (std::size_t k = 0; k < counts_.size(); ++k)
    distance +=
        std::abs(static_cast<double>(sampled[k]) / static_cast<double>(sample.size()) - share(k));
  return distance;
}

std::vector<std::uint64_t> rare_blocks(const Module& base, const LaunchConfig& launch) {
  const auto& module = static_cast<const ModuleImpl&>(base);
  for (std::size_t i = 0; i < module.kernels_.size(); ++i) {
    if (module.kernels_[i].name != launch.kernel) continue;
    const auto kinds = BlockKinds::of(module, module.kernel_functions[i], launch);
    return kinds ? kinds->missed_by({}) : std::vector<std::uint64_t>();
  }
  return {};
}

}  // namespace hone::emulator
