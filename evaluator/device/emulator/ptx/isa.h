// The pre-decoded form of a PTX module: what the parser makes and the interpreter runs.
// Immutable once made, so any number of threads may run it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "evaluator/device/emulator/emulator.h"
#include "evaluator/device/emulator/ptx/tensor.h"

namespace hone::emulator {

/// What only the driver decides is drawn for each process, so that no program can know it: where
/// the windows below lie (ptx/drawn.cpp).
[[nodiscard]] std::uint64_t drawn_windows();

// Generic address windows, above global memory; buffers have addresses as on a GPU: see
// Memory::begin_anywhere.
inline constexpr std::uint64_t kWindowBytes = 0x0000'0001'0000'0000;
inline const std::uint64_t kConstBase = drawn_windows();
inline const std::uint64_t kParamBase = kConstBase + kWindowBytes;
inline const std::uint64_t kSharedBase = kParamBase + kWindowBytes;
inline const std::uint64_t kLocalBase = kSharedBase + kWindowBytes;
inline const std::uint64_t kFunctionBase = kLocalBase + kWindowBytes;
inline constexpr std::uint64_t kModuleBase = 0x0000'7C00'0000'0000;
inline constexpr std::uint64_t kModules = 512;  ///< numbers, each kWindowBytes on
inline constexpr std::uint64_t kGlobalBase = 0x0000'7E00'0000'0000;

/// Shared memory of block `rank` of the cluster, seen as shared::cluster: (rank + 1) of these on.
/// Lower offsets are a block's own.
inline constexpr std::uint64_t kRankBytes = 1 << 24;

enum class Space : std::uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam, kFormal };

/// What a register or a memory element holds.
struct Type {
  enum Kind : std::uint8_t { kUnsigned, kSigned, kFloat, kBits, kPred, kBFloat, kOther };
  Kind kind = kBits;
  std::uint8_t bits = 32;
  bool packed = false;  ///< f16x2, bf16x2, u16x2, s16x2
  bool operator==(const Type&) const = default;
};

/// Lane functions see whole registers: 32 u32 or 32 u64 a register; a predicate is one u32 mask.
/// `imm` is Inst::imm (the table of lop3).
using LaneFn = void (*)(void* d, const void* a, const void* b, const void* c, std::uint32_t mask,
                        std::uint32_t imm);

enum class Kind : std::uint8_t {
  kLane,     ///< fn over up to three sources
  kSpecial,  ///< d = special register `imm`
  kPack,     ///< d = concatenation of extra registers
  kUnpack,   ///< extra registers = pieces of a
  kLoad,
  kStore,
  kAtom,
  // Those above run straight on to the next instruction; those below may not.
  kBranch,
  kTensor,  ///< imm: index into Function::tensors
  kBranchIndexed,
  kCall,
  kCallIndirect,
  kPrintf,
  kRet,
  kExit,
  kTrap,
  kBarrier,  ///< bar.sync / barrier.sync / bar.arrive
  kBarrierRed,
  kWarpBarrier,
  kShuffle,
  kVote,
  kMatch,
  kReduce,  ///< redux.sync
  kActiveMask,
  kElect,
  kFence,  ///< sub 1: of the block only, others cannot rely on it; 2: of the cluster
  kIsSpace,
  kAlloca,
  kAsync,        ///< sub: AsyncOp; operands: Function::async[extra]
  kPrefetch,     ///< of the line at an address; b: of so many bytes instead; sub: LineHint
  kNop,          ///< a: a sleep's time [ns]; kNone: nothing; sub: Membars, which cost time alone
  kUnsupported,  ///< imm: index into Module::unsupported
};

/// What kPrefetch does to a line.
enum class LineHint : std::uint8_t {
  kFetch,
  kPriority,  ///< applypriority
  kDiscard,   ///< its bytes are as if nobody had written them
};

/// What ptxas makes of a fence that orders nothing here.
enum class Membars : std::uint8_t {
  kNone,
  kDevice,           ///< one for the device
  kDeviceAndSystem,  ///< and one for the system; the L1 forgets
};

/// Counter class, also the issue pipe of the time model.
enum class Class : std::uint8_t {
  kFp32,
  kFp64,
  kFp16,
  kInteger,
  kSfu,
  kConversion,
  kControl,
  kShuffle,
  kBarrier,
  kOther,
  kMemory,
  kTensor
};

enum class SpecialRegister : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kSmid,
  kNsmid,
  kGridid,
  kClock,
  kClock64,
  kClockHi,
  kGlobaltimer,
  kGlobaltimerLo,
  kGlobaltimerHi,
  kLanemaskEq,
  kLanemaskLt,
  kLanemaskLe,
  kLanemaskGt,
  kLanemaskGe,
  kDynamicSmem,
  kTotalSmem,
  kClusterRank,
  kClusterSize,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
  kClusteridX,
  kClusteridY,
  kClusteridZ,
  kNclusteridX,
  kNclusteridY,
  kNclusteridZ,
  kLocalFrame,  ///< where the function's local variables begin, plus Inst::target
  kCount
};

enum class AtomicOp : std::uint8_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExch, kCas };
enum class ShuffleMode : std::uint8_t { kUp, kDown, kBfly, kIdx };
enum class VoteMode : std::uint8_t { kAll, kAny, kUni, kBallot };

/// Asynchronous copies, mbarriers and clusters (ptx/decode_async.cpp, sim/async*.cpp).
enum class AsyncOp : std::uint8_t {
  kCopy,            ///< cp.async
  kCommit,          ///< cp.async.commit_group
  kWaitGroup,       ///< cp.async.wait_group `imm`
  kWaitAll,         ///< cp.async.wait_all
  kArriveOnCopies,  ///< cp.async.mbarrier.arrive
  kBarrierInit,     ///< mbarrier.*
  kBarrierInval,
  kBarrierArrive,  ///< also arrive_drop and .expect_tx
  kBarrierExpect,
  kBarrierComplete,  ///< mbarrier.complete_tx
  kBarrierTest,      ///< test_wait, try_wait
  kBarrierPending,
  kBulkLoad,    ///< cp.async.bulk to shared memory, with an mbarrier
  kBulkShare,   ///< the same from shared memory, and cp.reduce.async.bulk
  kAsyncStore,  ///< st.async, red.async
  kBulkStore,   ///< cp.async.bulk to global memory, in a bulk group
  kBulkCommit,
  kBulkWait,
  kProxyFence,  ///< fence.proxy.async
  kMapRank,     ///< mapa
  kRank,        ///< getctarank
  kClusterArrive,
  kClusterWait,
  kSetRegisters,  ///< setmaxnreg
};

/// Inst::sub of kLane: operations whose result may not depend on every source, and those through
/// which an address keeps pointing into the variable it came from (ptx/dataflow.cpp).
enum LaneHint : std::uint8_t {
  kPlain,
  kSelect,
  kAndPredicate,
  kOrPredicate,
  kCopy,
  kSum,         ///< of an address and a number, in either order; or, and, xor likewise
  kDifference,  ///< a - b
  kScaledSum    ///< a * b + c
};

/// Of operations that move or combine single bits: every bit of the result hangs on at most one bit
/// of each source, and where that one is hangs on the second or third source.
enum BitsHint : std::uint8_t { kBitByBit = 1, kSecondMoves = 2, kThirdMoves = 4 };

/// Operand: >= 0 byte offset into the frame, < 0: ~offset into the module's constants.
using Slot = std::int32_t;
inline constexpr Slot kNone = INT32_MAX;
/// A b128 register is two b64 ones, this far apart; the lower half comes first.
inline constexpr Slot kWideHalf = 256;

/// Of a vector that is stored so much is seen at once [B]. The PTX ISA promises each element alone;
/// that pairs of words stay together is relied on everywhere.
inline constexpr std::size_t kSeenTogether = 8;

struct Inst {
  LaneFn fn = nullptr;
  Kind kind = Kind::kNop;
  Class cls = Class::kOther;
  Space space = Space::kGeneric;
  std::uint8_t esize = 4;    ///< bytes of one element in memory
  std::uint8_t vec = 1;      ///< elements
  std::uint8_t sub = 0;      ///< AtomicOp, ShuffleMode, ...
  std::uint8_t latency = 4;  // [cycles] result to use
  std::uint8_t flops = 0;    ///< per lane
  std::uint8_t cost = 0;     ///< ptx/cost.h
  std::uint8_t issue = 1;    ///< machine instructions, estimated
  std::uint8_t sync = 0;     ///< the warp's issue waits here; k > 1: every k-th time
  std::uint8_t bits = 0;     ///< of kLane: BitsHint, added up; 0: not known
  bool guarded = false, guard_negated = false;
  bool sign_extend = false;
  bool dst_wide = false;     ///< destination (or stored, unpacked) register has 64-bit slots
  bool addr_wide = false;    ///< address register has 64-bit slots
  bool block_scope = false;  ///< ordered for the threads of its block or cluster alone
  bool of_cluster = false;   ///< ordered for the threads of its cluster
  bool ordered = false;      ///< volatile, relaxed, acquire, ...: not plain data for the race check
  bool acquire = false, release = false;  ///< carries the fence itself
  bool publishes = false;                 ///< likewise a release, if only to its own block
  bool bypass_l1 = false;
  bool aligned = true;       ///< barrier: the whole warp must arrive together
  bool arrive = false;       ///< bar.arrive
  bool noreturn = false;     ///< red
  bool helper = false;       ///< part of another instruction: not counted
  bool unread = false;       ///< no instruction reads what it writes
  bool used = false;         ///< an atomic whose result is read before the next one, in code order
  bool guess = false;        ///< a plain load that a compare-and-swap checks (ptx/loads.h)
  bool choice = false;       ///< a load of which nothing but selections reads (ptx/loads.h)
  bool noncoherent = false;  ///< ld.global.nc: of what nobody writes while the kernel runs
  bool whole = false;        ///< .b128: two elements here, but one access to everybody
  Type type;
  Slot guard = kNone;
  Slot d = kNone, d2 = kNone;
  Slot a = kNone, b = kNone, c = kNone, e = kNone;
  std::int32_t target = -1;  ///< branch target, callee
  std::int32_t reconverge = -1;
  std::int64_t imm = 0;     ///< address offset, ...
  std::uint32_t line = 0;   ///< of the CUDA source
  std::uint32_t place = 0;  ///< in ModuleImpl::places
  std::uint32_t extra = 0;  ///< first index in Function::extra (register lists)
  std::uint32_t regs = 0;   ///< first index in Function::regs: sources, then destinations
  std::uint8_t sources = 0, destinations = 0;
  std::uint16_t variable = 0;  ///< in Function::variables that the address points into; 0: unknown
};

/// A volatile, relaxed or releasing store to global memory that others may see in parts.
[[nodiscard]] inline bool is_in_parts(const Inst& in) {
  return in.kind == Kind::kStore && in.ordered && !in.whole &&
         (in.space == Space::kGlobal || in.space == Space::kGeneric) &&
         static_cast<std::size_t>(in.esize * in.vec) > kSeenTogether;
}

/// What the loop over straight code reads of an Inst (see straight.h).
struct Op {
  LaneFn fn = nullptr;
  Slot d = kNone, a = kNone, b = kNone, c = kNone;
  std::uint32_t imm = 0;
  Kind kind = Kind::kNop;
  /// Instructions from here on that run one after the other for all lanes of an entry; none of
  /// the later ones is jumped to. 0: this one may do something else.
  std::uint16_t run = 0;
};
static_assert(sizeof(Op) == 32);
inline constexpr std::uint16_t kLongestRun = 0xFFFF;

/// What the critical path needs of an Inst: registers as places in Warp::ready, whose first two
/// entries stand for "always there" and "nobody asks" (see straight.h).
inline constexpr std::uint32_t kAlwaysReady = 0, kNobodyAsks = 1, kFirstReady = 2;
struct Timing {
  std::uint32_t source[3] = {kAlwaysReady, kAlwaysReady, kAlwaysReady};
  std::uint32_t destination = kNobodyAsks;
  std::uint8_t latency = 0;  // [cycles]
  bool moves = false;        ///< the access itself says how long it takes
  std::uint8_t issue = 1;    ///< machine instructions
  bool sync = false;         ///< what follows waits until this has been issued
  bool many = false;         ///< more registers than fit here: Function::regs
};

/// Where a call's argument lies in the caller and in the callee (per lane byte areas).
struct CallArgument {
  std::uint32_t from = 0, to = 0, bytes = 0;
  bool unset = false;  ///< nothing in the function that fills it ever does
};
struct CallSite {
  std::vector<CallArgument> arguments;
  std::vector<CallArgument> results;  ///< `from` in the callee, `to` in the caller
};

struct AsyncAddress {
  Slot reg = kNone;
  bool wide = false;
  Space space = Space::kGeneric;
  std::int64_t offset = 0;
};

struct AsyncOperands {
  AsyncAddress to, from, barrier;
  AsyncAddress map;                               ///< of a tensor copy
  Slot size = kNone;                              ///< [B], a count, a parity, a state, a rank
  Slot ignore = kNone;                            ///< predicate of cp.async: nothing is read
  Slot multicast = kNone;                         ///< blocks of the cluster
  Slot values[4] = {kNone, kNone, kNone, kNone};  ///< of st.async and red.async
  Slot byte_mask = kNone;
  Slot coordinates[5] = {kNone, kNone, kNone, kNone, kNone};
  std::uint8_t dimensions = 0;  ///< of a tensor copy; 0: plain
  bool reduce = false;
  AtomicOp op = AtomicOp::kAdd;
  bool drop = false, expect = false, no_complete = false, no_increment = false;
  bool by_parity = false, suspends = false, read_only = false;
  bool reads_only = false;  ///< bulk_wait: until sources have been read, not until it is written
};

/// A shared or local variable, as far as accesses through its name reach.
struct Extent {
  Space space = Space::kGeneric;
  std::uint32_t offset = 0, bytes = 0;
  bool dynamic = false;  ///< the extern array: as the launch says
  std::string name;
  /// Behind it [B]. The compiler shortens an array that no thread uses to its end, and may still
  /// read its last elements as a whole vector, up to the array's alignment.
  std::uint32_t padding = 0;
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;
  std::vector<Inst> code;
  std::vector<Op> ops;          ///< as code
  std::vector<Timing> timings;  ///< as code
  std::vector<Slot> extra;
  std::vector<std::uint32_t> regs;  ///< register numbers
  std::vector<Slot> reg_slots;      ///< register number -> slot
  std::vector<CallSite> calls;
  std::vector<AsyncOperands> async;
  std::vector<TensorOp> tensors;
  std::vector<std::vector<std::int32_t>> branch_targets;
  std::uint32_t frame_bytes = 0;    ///< registers
  std::uint32_t taint_offset = 0;   ///< inside the frame: u32 per register, then per formal byte
  std::uint32_t formal_offset = 0;  ///< per-lane byte areas for .param, inside the frame
  std::uint32_t formal_bytes = 0;   // per lane
  std::uint32_t local_bytes = 0;    // per lane
  std::vector<CallArgument> formals, returns;  ///< `to` / `from` and bytes
  int kernel = -1;                             ///< index in kernels()
  bool module_shared = false;                  ///< the module's shared variables come first in it
  std::vector<std::int32_t> nounroll;          ///< loop heads that ptxas was told not to unroll
  std::vector<std::uint32_t> live_in;          ///< registers that may be read before any write
  std::vector<std::uint32_t> hollow;           ///< of those, ascending: that nothing ever writes
  std::vector<Extent> variables;               ///< from 1
};

/// At Function::taint_offset of a frame [u32].
[[nodiscard]] inline std::uint32_t taint_words(const Function& f) {
  return static_cast<std::uint32_t>(f.reg_slots.size()) + f.formal_bytes;
}

struct Variable {
  std::string name;
  std::uint64_t address = 0;  ///< generic for global and const, an offset for shared
  std::uint64_t bytes = 0;
  std::vector<std::uint8_t> init;
};

struct SharedSymbol {
  std::string name;
  std::uint32_t offset = 0, bytes = 0;
  int function = -1;  ///< -1: module scope
};

/// Where in the CUDA source: `.loc`.
struct SourceLocation {
  std::uint32_t file = 0, line = 0;
  std::int32_t inlined_at = -1;  ///< another one
};
/// Where one PTX statement lies.
struct StatementPlace {
  std::uint32_t ptx_line = 0;
  std::int32_t location = -1;  ///< in ModuleImpl::locations
  std::uint32_t offset = 0;    ///< in ModuleImpl::text
};

/// Memory that begins on a cache line.
template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  CacheLineAllocator() = default;
  template <class U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  bool operator==(const CacheLineAllocator&) const = default;
};

class ModuleImpl : public Module {
 public:
  const std::vector<Kernel>& kernels() const override { return kernels_; }

  std::vector<Kernel> kernels_;
  std::vector<int> kernel_functions;  ///< per kernel
  std::vector<Function> functions;
  /// Operand constants, broadcast to 32 lanes.
  std::vector<std::uint8_t, CacheLineAllocator<std::uint8_t>> constants;
  std::vector<Variable> globals;
  std::vector<std::uint8_t> const_bank;  ///< .const variables, at kConstBase
  std::vector<SharedSymbol> shared;
  std::vector<std::string> unsupported;
  std::vector<StatementPlace> places;
  std::vector<SourceLocation> locations;
  std::unordered_map<std::uint32_t, std::string> files;  ///< of `.file`
  int user_file = -1;
  std::string text;                      ///< keeps the views of the parser alive
  std::deque<std::string> names;         ///< of registers declared as ranges
  std::uint32_t dynamic_alignment = 16;  ///< of extern shared arrays [B]
  bool async_reads = false;  ///< some instruction reads shared memory in the async proxy
  bool noncoherent = false;  ///< some load is
  int shared_granule = 4;    ///< smallest access width to shared memory [B]
  std::uint64_t id = 0;
};

}  // namespace hone::emulator
