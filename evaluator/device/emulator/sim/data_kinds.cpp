#include "evaluator/device/emulator/sim/data_kinds.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "evaluator/device/emulator/ptx/dataflow.h"
#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/registers.h"

namespace hone::emulator {
namespace {

constexpr std::uint64_t kMostGrid = 1 << 22;       // blocks
constexpr std::uint64_t kMostEvaluated = 1 << 25;  // instructions, of 32 threads each
constexpr std::size_t kMostPages = 512;            // that are made for this alone: 32 MiB
constexpr std::size_t kMostAsked = 32, kMostOfOne = 4, kMostMissed = 8;
constexpr std::int32_t kMuchCode = 256;  // instructions: as much work as a loop

/// What blocks are told apart by.
struct Decision {
  Slot value = kNone;
  Slot less = kNone;  ///< is subtracted
  int bits = 1;       ///< 1: a predicate
};

/// The code that decides how often other code runs.
class Deciding {
 public:
  explicit Deciding(const Function& f) : f_(f) {
    find_known();
    find_decisions();
  }
  [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }
  [[nodiscard]] const std::vector<int>& slice() const { return slice_; }
  [[nodiscard]] bool by_thread() const { return by_thread_; }

  static bool is_tid(const Inst& in) {
    return in.kind == Kind::kSpecial && in.imm >= 0 &&
           static_cast<SpecialRegister>(in.imm) <= SpecialRegister::kTidZ;
  }

 private:
  static bool is_place(const Inst& in) {
    if (in.kind != Kind::kSpecial || in.imm < 0) return false;
    const auto id = static_cast<SpecialRegister>(in.imm);
    return is_tid(in) || id == SpecialRegister::kLaneid ||
           (id >= SpecialRegister::kNtidX && id <= SpecialRegister::kCtaidZ) ||
           (id >= SpecialRegister::kNctaidX && id <= SpecialRegister::kNctaidZ);
  }
  static bool is_data(const Inst& in) {
    return in.kind == Kind::kLoad && in.esize <= 8 &&
           (in.space == Space::kGlobal || in.space == Space::kGeneric);
  }
  static bool is_parameter(const Inst& in) {
    return in.kind == Kind::kLoad && in.space == Space::kParam && in.a < 0 && in.vec == 1 &&
           in.esize >= 4;
  }
  /// What leaves the thread's registers and comes back elsewhere.
  static bool is_exchange(const Inst& in) {
    return in.kind == Kind::kLoad &&
           (in.space == Space::kShared || in.space == Space::kLocal || in.space == Space::kGeneric);
  }
  [[nodiscard]] const std::uint32_t* registers(const Inst& in) const {
    return f_.regs.data() + in.regs;
  }
  [[nodiscard]] int bits_of(std::uint32_t r) const {
    const std::uint32_t end = r + 1 < f_.reg_slots.size()
                                  ? static_cast<std::uint32_t>(f_.reg_slots[r + 1])
                                  : f_.taint_offset;
    const std::uint32_t bytes = end - static_cast<std::uint32_t>(f_.reg_slots[r]);
    return bytes < 128 ? 1 : bytes < 256 ? 32 : 64;
  }

  void find_known() {
    const std::size_t n = f_.reg_slots.size();
    writers_.resize(n);
    for (std::size_t i = 0; i < f_.code.size(); ++i) {
      const Inst& in = f_.code[i];
      for (int k = in.sources; k < in.sources + in.destinations; ++k)
        writers_[registers(in)[k]].push_back(static_cast<int>(i));
    }
    known_.assign(n, 0);
    data_.assign(n, 0);
    for (std::size_t i = 0; i < f_.code.size(); ++i) {
      const Inst& in = f_.code[i];
      if (in.guarded || in.destinations == 0) continue;
      const std::uint32_t* r = registers(in);
      const auto from = [&](const std::vector<char>& set) {
        return [&](std::uint32_t at) { return set[at] != 0; };
      };
      const bool alone = std::all_of(r + in.sources, r + in.sources + in.destinations,
                                     [&](std::uint32_t at) { return writers_[at].size() == 1; });
      if (!alone || !std::all_of(r, r + in.sources, from(known_))) continue;
      if (in.kind != Kind::kLane && !is_place(in) && !is_parameter(in) && !is_data(in)) continue;
      const bool data = is_data(in) || std::any_of(r, r + in.sources, from(data_));
      for (int k = in.sources; k < in.sources + in.destinations; ++k) {
        known_[r[k]] = 1;
        data_[r[k]] = data ? 1 : 0;
      }
    }
  }

  /// Does a loop, a call or much code hang on which way the branch goes?
  [[nodiscard]] bool decides_much(std::int32_t branch) const {
    const Inst& in = f_.code[static_cast<std::size_t>(branch)];
    const auto n = static_cast<std::int32_t>(f_.code.size());
    const std::int32_t join =
        in.kind == Kind::kBranch || in.kind == Kind::kBranchIndexed ? in.reconverge : -1;
    std::vector<char> seen(f_.code.size(), 0);
    std::vector<std::int32_t> work{branch + 1};
    if (in.kind == Kind::kBranch) work.push_back(in.target);
    if (in.kind == Kind::kBranchIndexed)
      for (const std::int32_t t : f_.branch_targets[static_cast<std::size_t>(in.target)])
        work.push_back(t);
    std::int32_t count = 0;
    while (!work.empty()) {
      std::int32_t at = work.back();
      work.pop_back();
      for (; at < n && at != join && !seen[static_cast<std::size_t>(at)]; ++at) {
        seen[static_cast<std::size_t>(at)] = 1;
        const Inst& next = f_.code[static_cast<std::size_t>(at)];
        if (++count > kMuchCode || next.kind == Kind::kCall || next.kind == Kind::kCallIndirect)
          return true;
        if (next.kind == Kind::kBranch) {
          if (next.target <= at) return true;
          work.push_back(next.target);
        }
        if (next.kind == Kind::kBranchIndexed)
          for (const std::int32_t t : f_.branch_targets[static_cast<std::size_t>(next.target)])
            work.push_back(t);
        const bool leaves = next.kind == Kind::kBranch || next.kind == Kind::kBranchIndexed ||
                            next.kind == Kind::kExit || next.kind == Kind::kRet ||
                            next.kind == Kind::kTrap;
        if (leaves && !next.guarded) break;
      }
    }
    return false;
  }

  /// The known values from data that register `from` hangs on, the nearest of each way back.
  [[nodiscard]] std::set<std::uint32_t> sources_of(std::uint32_t from) const {
    std::set<std::uint32_t> found;
    std::vector<char> seen(f_.reg_slots.size(), 0);
    std::vector<std::uint32_t> work{from};
    bool exchanged = false;
    const auto visit = [&](std::uint32_t r) {
      if (!seen[r]) work.push_back(r);
      seen[r] = 1;
    };
    while (!work.empty()) {
      const std::uint32_t r = work.back();
      work.pop_back();
      if (data_[r]) found.insert(r);
      if (known_[r] && bits_of(r) != 1) continue;  // of a predicate also what it compares
      for (const int w : writers_[r]) {
        const Inst& in = f_.code[static_cast<std::size_t>(w)];
        for (int k = 0; k < in.sources; ++k) visit(registers(in)[k]);
        if (!is_exchange(in) || exchanged) continue;
        exchanged = true;
        for (const Inst& store : f_.code)
          if (store.kind == Kind::kStore && store.space != Space::kGlobal)
            for (int k = 0; k < store.sources; ++k) visit(registers(store)[k]);
      }
    }
    return found;
  }

  void find_decisions() {
    std::set<std::uint32_t> predicates, amounts;
    std::set<std::pair<std::uint32_t, std::uint32_t>> differences;
    for (std::size_t i = 0; i < f_.code.size(); ++i) {
      const Inst& in = f_.code[i];
      const bool jumps = in.kind == Kind::kBranchIndexed;
      const bool decides =
          jumps || (in.guarded &&
                    (in.kind == Kind::kBranch || in.kind == Kind::kExit || in.kind == Kind::kRet));
      if (!decides || !decides_much(static_cast<std::int32_t>(i))) continue;
      const std::int32_t asked = register_at(f_, jumps ? in.a : in.guard);
      if (asked == kNoRegister) continue;
      std::vector<std::uint32_t> own;
      for (const std::uint32_t r : sources_of(static_cast<std::uint32_t>(asked))) {
        if (bits_of(r) == 1)
          predicates.insert(r);
        else
          own.push_back(r);
      }
      amounts.insert(own.begin(), own.end());
      if (own.size() > kMostOfOne) continue;
      for (const std::uint32_t a : own)
        for (const std::uint32_t b : own)
          if (a < b && bits_of(a) == bits_of(b)) differences.insert({a, b});
    }
    const auto add = [&](std::uint32_t r, Slot less, int bits) {
      if (decisions_.size() < kMostAsked) decisions_.push_back({f_.reg_slots[r], less, bits});
    };
    for (const std::uint32_t r : predicates) add(r, kNone, 1);
    for (const std::uint32_t r : amounts) add(r, kNone, bits_of(r));
    for (const auto& [a, b] : differences) add(a, f_.reg_slots[b], bits_of(a));
    find_slice();
  }

  void find_slice() {
    std::vector<char> needed(f_.code.size(), 0);
    std::vector<std::int32_t> work;
    for (const Decision& d : decisions_)
      for (const Slot slot : {d.value, d.less})
        if (slot != kNone) work.push_back(register_at(f_, slot));
    while (!work.empty()) {
      const auto r = static_cast<std::size_t>(work.back());
      work.pop_back();
      const auto at = static_cast<std::size_t>(writers_[r].front());
      if (needed[at]) continue;
      needed[at] = 1;
      const Inst& in = f_.code[at];
      for (int k = 0; k < in.sources; ++k)
        work.push_back(static_cast<std::int32_t>(registers(in)[k]));
    }
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      slice_.push_back(static_cast<int>(i));
      const Inst& in = f_.code[i];
      by_thread_ = by_thread_ || is_tid(in) ||
                   (in.kind == Kind::kSpecial &&
                    static_cast<SpecialRegister>(in.imm) == SpecialRegister::kLaneid);
    }
  }

  const Function& f_;
  std::vector<std::vector<int>> writers_;  ///< by register: instructions
  std::vector<char> known_, data_;         ///< by register
  std::vector<Decision> decisions_;
  std::vector<int> slice_;
  bool by_thread_ = false;
};

/// Runs the slice for 32 threads, or blocks, at once.
class DecidingRun {
 public:
  DecidingRun(const ModuleImpl& module, const Function& f, const LaunchConfig& launch,
              Memory::Impl& memory, const Deciding& deciding)
      : f_(f), launch_(launch), memory_(memory), deciding_(deciding), registers_(module, f) {
    blocks_.resize(32);
    threads_.resize(32);
  }

  /// Too much memory would have to be made.
  [[nodiscard]] bool gave_up() const { return pages_ > kMostPages; }

  void evaluate(const std::vector<std::array<std::uint32_t, 3>>& blocks, std::uint32_t first) {
    blocks_ = blocks;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t t = first + (deciding_.by_thread() ? lane : 0);
      const auto& b = launch_.block;
      threads_[lane] = {t % b[0], t / b[0] % b[1], t / b[0] / b[1]};
    }
    for (const int i : deciding_.slice()) one(f_.code[static_cast<std::size_t>(i)]);
  }

  [[nodiscard]] std::int64_t value(const Decision& d, std::size_t lane) {
    if (d.bits == 1) return *registers_.reg32(d.value) >> lane & 1;
    const auto at = [&](Slot slot) {
      return d.bits == 64 ? static_cast<std::int64_t>(registers_.reg64(slot)[lane])
                          : std::int64_t{static_cast<std::int32_t>(registers_.reg32(slot)[lane])};
    };
    if (d.less == kNone) return at(d.value);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(at(d.value)) -
                                     static_cast<std::uint64_t>(at(d.less)));
  }

 private:
  void one(const Inst& in) {
    if (in.kind == Kind::kLane) return registers_.compute(in);
    if (in.kind == Kind::kLoad) return load(in);
    const auto id = static_cast<SpecialRegister>(in.imm);
    for (std::size_t lane = 0; lane < 32; ++lane)
      registers_.put(in.d, in.dst_wide, lane, special(id, lane));
  }

  [[nodiscard]] std::uint64_t special(SpecialRegister id, std::size_t lane) const {
    const auto axis = [&](SpecialRegister x) {
      return static_cast<std::size_t>(static_cast<int>(id) - static_cast<int>(x));
    };
    if (id <= SpecialRegister::kTidZ) return threads_[lane][axis(SpecialRegister::kTidX)];
    if (id <= SpecialRegister::kNtidZ) return launch_.block[axis(SpecialRegister::kNtidX)];
    if (id <= SpecialRegister::kCtaidZ) return blocks_[lane][axis(SpecialRegister::kCtaidX)];
    if (id <= SpecialRegister::kNctaidZ) return launch_.grid[axis(SpecialRegister::kNctaidX)];
    return lane;
  }

  void load(const Inst& in) {
    for (std::size_t lane = 0; lane < 32; ++lane) {
      std::uint64_t address = (in.addr_wide ? registers_.reg64(in.a)[lane]
                                            : std::uint64_t{registers_.reg32(in.a)[lane]}) +
                              static_cast<std::uint64_t>(in.imm);
      for (int v = 0; v < in.vec; ++v, address += in.esize) {
        const Slot to = f_.extra[in.extra + static_cast<std::size_t>(v)];
        if (to == kNone) continue;
        std::uint64_t value = 0;
        if (in.space != Space::kParam)
          read(address, &value, in.esize);
        else if (address + in.esize <= launch_.parameters.size())
          std::memcpy(&value, launch_.parameters.data() + address, in.esize);
        const int unused = 64 - 8 * in.esize;
        if (in.sign_extend)
          value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
        registers_.put(to, in.dst_wide, lane, value);
      }
    }
  }

  /// Zero where nothing is, and once too much is.
  void read(std::uint64_t address, std::uint64_t* value, std::size_t bytes) {
    if (!span_.holds(address, bytes)) {
      Allocation* const there = memory_.find(address);
      if (there == nullptr || there->base + there->bytes - address < bytes) return;
      if (!there->live_span(address, span_)) {
        if (++pages_ > kMostPages || !memory_.span(address, bytes, span_)) return;
      }
      if (!span_.holds(address, bytes)) return;
    }
    std::memcpy(value, span_.data + (address - span_.lo), bytes);
  }

  const Function& f_;
  const LaunchConfig& launch_;
  Memory::Impl& memory_;
  const Deciding& deciding_;
  Registers registers_;
  std::vector<std::array<std::uint32_t, 3>> blocks_, threads_;  ///< by lane
  Span span_;
  std::size_t pages_ = 0;
};

/// The smallest and the largest value of some blocks, and where.
struct Reach {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(),
               most = std::numeric_limits<std::int64_t>::min();
  std::uint64_t least_at = 0, most_at = 0;
  void see(std::int64_t value, std::uint64_t block) {
    if (value < least) {
      least = value;
      least_at = block;
    }
    if (value > most) {
      most = value;
      most_at = block;
    }
  }
};

}  // namespace

std::vector<std::uint64_t> missed_by_data(const ModuleImpl& module, int function,
                                          const LaunchConfig& launch, Memory::Impl& memory,
                                          const std::vector<std::uint64_t>& sample) {
  const Function& f = module.functions[static_cast<std::size_t>(function)];
  const Deciding deciding(f);
  const auto& decisions = deciding.decisions();
  const std::uint64_t total = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const std::uint64_t warps = (threads + 31) / 32;
  const std::uint64_t rounds = deciding.by_thread() ? total * warps : (total + 31) / 32;
  if (decisions.empty() || total > kMostGrid || rounds * deciding.slice().size() > kMostEvaluated)
    return {};
  DecidingRun run(module, f, launch, memory, deciding);
  std::vector<Reach> all(decisions.size()), sampled(decisions.size());
  const auto note = [&](std::size_t lane, std::uint64_t block, bool in_sample) {
    for (std::size_t k = 0; k < decisions.size(); ++k) {
      const std::int64_t value = run.value(decisions[k], lane);
      all[k].see(value, block);
      if (in_sample) sampled[k].see(value, block);
    }
  };
  const auto is_sampled = [&](std::uint64_t block) {
    return std::ranges::binary_search(sample, block);
  };
  std::vector<std::array<std::uint32_t, 3>> blocks(32);
  if (deciding.by_thread()) {
    for (std::uint64_t block = 0; block < total && !run.gave_up(); ++block) {
      blocks.assign(32, block_of(launch, block));
      const bool in_sample = is_sampled(block);
      for (std::uint64_t first = 0; first < threads; first += 32) {
        run.evaluate(blocks, static_cast<std::uint32_t>(first));
        if (run.gave_up()) break;
        for (std::uint64_t lane = 0; lane < 32 && first + lane < threads; ++lane)
          note(lane, block, in_sample);
      }
    }
  } else {
    for (std::uint64_t first = 0; first < total && !run.gave_up(); first += 32) {
      for (std::uint64_t lane = 0; lane < 32; ++lane)
        blocks[lane] = block_of(launch, std::min(first + lane, total - 1));
      run.evaluate(blocks, 0);
      for (std::uint64_t lane = 0; lane < 32 && first + lane < total && !run.gave_up(); ++lane)
        note(lane, first + lane, is_sampled(first + lane));
    }
  }
  std::vector<std::uint64_t> missed;
  const auto add = [&](std::uint64_t block) {
    if (missed.size() < kMostMissed && std::ranges::find(missed, block) == missed.end())
      missed.push_back(block);
  };
  for (std::size_t k = 0; k < decisions.size(); ++k) {
    if (all[k].least < sampled[k].least) add(all[k].least_at);
    if (all[k].most > sampled[k].most) add(all[k].most_at);
  }
  std::ranges::sort(missed);
  return missed;
}

bool decides_by_data(const Module& base, std::string_view kernel) {
  const auto& module = static_cast<const ModuleImpl&>(base);
  for (std::size_t i = 0; i < module.kernels_.size(); ++i) {
    if (module.kernels_[i].name != kernel) continue;
    const auto function = static_cast<std::size_t>(module.kernel_functions[i]);
    return !Deciding(module.functions[function]).decisions().empty();
  }
  return false;
}

}  // namespace hone::emulator
