// cp.async, mbarrier, bulk and tensor copies, proxy fences, clusters.
#include <fmt/format.h>

#include "evaluator/device/emulator/ptx/decode.h"
#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {
namespace {

const Type kU64{Type::kUnsigned, 64};
constexpr int kSharedLatency = 30;  // [cycles] until the result of an mbarrier operation

Space shared_or_generic(const Statement& s) {
  for (auto w : s.words)
    if (w.starts_with("shared")) return Space::kShared;
  return Space::kGeneric;
}

/// The operation of a reduction.
bool reduction(const Statement& s, AsyncOperands& o) {
  static const std::unordered_map<std::string_view, AtomicOp> kOps = {
      {"add", AtomicOp::kAdd}, {"min", AtomicOp::kMin}, {"max", AtomicOp::kMax},
      {"inc", AtomicOp::kInc}, {"dec", AtomicOp::kDec}, {"and", AtomicOp::kAnd},
      {"or", AtomicOp::kOr},   {"xor", AtomicOp::kXor}};
  for (auto w : s.words) {
    const auto it = kOps.find(w);
    if (it == kOps.end()) continue;
    o.reduce = true;
    o.op = it->second;
  }
  return o.reduce;
}

}  // namespace

AsyncAddress Decoder::async_address(const Operand& o, Space space) {
  Inst probe;
  probe.space = space;
  address(o, probe);
  return {probe.a, probe.addr_wide, probe.space, probe.imm};
}

void Decoder::emit_async(const Statement& s, AsyncOp op, Class cls, AsyncOperands operands,
                         Inst inst) {
  Inst begun = begin(s, Kind::kAsync);
  inst.kind = begun.kind;
  inst.line = begun.line;
  inst.guarded = begun.guarded;
  inst.guard_negated = begun.guard_negated;
  inst.guard = begun.guard;
  inst.sub = static_cast<std::uint8_t>(op);
  inst.cls = cls;
  inst.extra = static_cast<std::uint32_t>(f_.async.size());
  f_.async.push_back(operands);
  emit(inst);
}

bool Decoder::decode_async(const Statement& s) {
  const std::string_view op = s.words[0];
  if (op == "mbarrier") return decode_mbarrier(s);
  if (op == "mapa" || op == "getctarank") {
    const bool map = op == "mapa";
    if (s.operands.size() != (map ? 3U : 2U)) return false;
    const Type type = s.words.back() == "u64" ? kU64 : kU32;
    Inst inst;
    inst.latency = 8;
    inst.space = s.has("shared::cluster") ? Space::kShared : Space::kGeneric;
    inst.addr_wide = type.bits == 64;
    inst.a = source(s.operands[1], type);
    if (map) inst.b = source(s.operands[2], kU32);
    inst.dst_wide = map && inst.addr_wide;
    inst.d = destination(s.operands[0], inst.dst_wide ? 64 : 32);
    emit_async(s, map ? AsyncOp::kMapRank : AsyncOp::kRank, Class::kInteger, {}, inst);
    return true;
  }
  if (op == "barrier" && s.has("cluster")) {
    if (!s.has("arrive") && !s.has("wait")) return false;
    Inst inst;
    inst.publishes = !s.has("relaxed");
    emit_async(s, s.has("arrive") ? AsyncOp::kClusterArrive : AsyncOp::kClusterWait,
               Class::kBarrier, {}, inst);
    return true;
  }
  if (op == "createpolicy") {  // where lines stay in L2: of no effect here
    return lane(s, "createpolicy", Class::kOther, 4, destination(s.operands.at(0), 64),
                constant(0, 64));
  }
  if (op == "setmaxnreg") {
    if (s.operands.size() != 1 || s.operands[0].kind != Operand::Kind::kImmediate) return false;
    Inst inst;
    inst.imm = static_cast<std::int64_t>(s.operands[0].value);
    inst.destinations = 0;
    AsyncOperands o;
    o.drop = s.has("dec");
    emit_async(s, AsyncOp::kSetRegisters, Class::kControl, o, inst);
    return true;
  }
  if (op == "fence" && s.has("mbarrier_init")) {
    emit(begin(s, Kind::kNop));
    return true;
  }
  if (op == "fence" && s.has("proxy")) {
    // What they cost is what ptxas makes of them.
    if (s.has("alias") || s.has("tensormap::generic")) {
      Inst inst = begin(s, Kind::kNop);
      inst.sub = static_cast<std::uint8_t>(s.has("alias")     ? Membars::kDeviceAndSystem
                                           : s.has("release") ? Membars::kDevice
                                                              : Membars::kNone);
      emit(inst);
      return true;
    }
    const bool of_one_space = s.words.size() > 3;
    Inst inst;
    inst.imm = static_cast<std::int64_t>(of_one_space ? Membars::kNone : Membars::kDevice);
    emit_async(s, AsyncOp::kProxyFence, Class::kOther, {}, inst);
    return true;
  }
  if ((op == "st" || op == "red") && s.has("async")) return decode_async_store(s);
  if (op != "cp" || !s.has("async")) return false;
  if (s.has("bulk")) return decode_bulk(s);
  if (s.has("commit_group")) {
    emit_async(s, AsyncOp::kCommit, Class::kOther, {}, {});
    return true;
  }
  if (s.has("wait_all")) {
    emit_async(s, AsyncOp::kWaitAll, Class::kOther, {}, {});
    return true;
  }
  if (s.has("wait_group")) {
    if (s.operands.size() != 1 || s.operands[0].kind != Operand::Kind::kImmediate) return false;
    Inst inst;
    inst.imm = static_cast<std::int64_t>(s.operands[0].value);
    emit_async(s, AsyncOp::kWaitGroup, Class::kOther, {}, inst);
    return true;
  }
  if (s.has("mbarrier")) {
    AsyncOperands o;
    o.barrier = async_address(s.operands.at(0), shared_or_generic(s));
    o.no_increment = s.has("noinc");
    emit_async(s, AsyncOp::kArriveOnCopies, Class::kOther, o, {});
    return true;
  }
  // cp.async.{ca,cg}.shared.global [to], [from], bytes{, read bytes | skip}{, policy}
  if (s.operands.size() < 3 || s.operands[2].kind != Operand::Kind::kImmediate) return false;
  const std::uint64_t bytes = s.operands[2].value;
  if (s.has("cg") ? bytes != 16 : bytes != 4 && bytes != 8 && bytes != 16) return false;
  const std::size_t count = s.operands.size() - (s.has("L2::cache_hint") ? 1 : 0);
  if (count > 4) return false;
  AsyncOperands o;
  o.to = async_address(s.operands[0], Space::kShared);
  o.from = async_address(s.operands[1], Space::kGlobal);
  if (count == 4) {
    if (width_of(s.operands[3], 32) == 1)
      o.ignore = predicate(s.operands[3]);
    else
      o.size = source(s.operands[3], kU32);
  }
  Inst inst;
  inst.esize = static_cast<std::uint8_t>(bytes);
  inst.space = Space::kGlobal;
  inst.bypass_l1 = s.has("cg");
  module_.shared_granule = std::min<int>(module_.shared_granule, 4);
  emit_async(s, AsyncOp::kCopy, Class::kMemory, o, inst);
  return true;
}

// cp{.reduce}.async.bulk.shared::cluster.shared::cta.completion [to], [from], size, [mbarrier]
bool Decoder::decode_bulk_share(const Statement& s) {
  if (s.operands.size() != 4 || !s.has("shared::cluster") || !s.has("shared::cta")) return false;
  AsyncOperands o;
  Inst inst;
  inst.type = {Type::kBits, 32};
  if (s.has("reduce")) {
    const auto type = parse_type(s.words.back());
    if (!type || !reduction(s, o)) return false;
    inst.type = *type;
  }
  o.to = async_address(s.operands[0], Space::kShared);
  o.from = async_address(s.operands[1], Space::kShared);
  o.size = source(s.operands[2], kU32);
  o.barrier = async_address(s.operands[3], Space::kShared);
  module_.async_reads = true;
  module_.shared_granule = std::min<int>(module_.shared_granule, 4);
  emit_async(s, AsyncOp::kBulkShare, Class::kMemory, o, inst);
  return true;
}

// {st,red}.async{...}.shared::cluster.mbarrier::complete_tx::bytes{.vec}.type [to], value,
// [mbarrier]
bool Decoder::decode_async_store(const Statement& s) {
  const auto type = parse_type(s.words.back());
  if (!type || (type->bits != 32 && type->bits != 64) || s.operands.size() != 3 ||
      !s.has("shared::cluster") || !s.has("mbarrier::complete_tx::bytes"))
    return false;
  AsyncOperands o;
  if (s.words[0] == "red" && !reduction(s, o)) return false;
  Inst inst;
  inst.type = *type;
  inst.esize = type->bits / 8;
  inst.dst_wide = type->bits == 64;
  const Operand& value = s.operands[1];
  const bool vector = value.kind == Operand::Kind::kVector;
  const std::size_t count = vector ? value.parts.size() : 1;
  if (count > 4 || count * inst.esize > 16) return false;
  inst.vec = static_cast<std::uint8_t>(count);
  for (std::size_t i = 0; i < count; ++i)
    o.values[i] = source(vector ? value.parts[i] : value, *type);
  o.to = async_address(s.operands[0], Space::kShared);
  o.barrier = async_address(s.operands[2], Space::kShared);
  module_.shared_granule = std::min<int>(module_.shared_granule, 4);
  emit_async(s, AsyncOp::kAsyncStore, Class::kMemory, o, inst);
  return true;
}

// cp{.reduce}.async.bulk{.tensor.Nd}.to.from{.load_mode}.completion{...}
bool Decoder::decode_bulk(const Statement& s) {
  if (s.has("commit_group")) {
    emit_async(s, AsyncOp::kBulkCommit, Class::kOther, {}, {});
    return true;
  }
  if (s.has("wait_group")) {
    if (s.operands.size() != 1 || s.operands[0].kind != Operand::Kind::kImmediate) return false;
    Inst inst;
    inst.imm = static_cast<std::int64_t>(s.operands[0].value);
    AsyncOperands o;
    o.reads_only = s.has("read");
    emit_async(s, AsyncOp::kBulkWait, Class::kOther, o, inst);
    return true;
  }
  if (s.has("prefetch")) {
    if (!s.has("tensor") && s.operands.size() >= 2) return decode_prefetch(s, &s.operands[1]);
    emit(begin(s, Kind::kNop));  // of a tensor: not charged
    return true;
  }
  for (auto w : s.words) {  // not covered
    if (w.starts_with("im2col") || w.starts_with("tile::") || w.starts_with("cta_group") ||
        w == "cp_mask")
      return false;
  }
  const bool tensor = s.has("tensor");
  const bool reduce = s.has("reduce");
  const bool multicast = s.has("multicast::cluster");
  const std::size_t count =
      s.operands.size() - (s.has("L2::cache_hint") ? 1 : 0) - (multicast ? 1 : 0);
  AsyncOperands o;
  Inst inst;
  if (tensor) {
    for (auto w : s.words)
      if (w.size() == 2 && w[1] == 'd' && w[0] >= '1' && w[0] <= '5')
        o.dimensions = static_cast<std::uint8_t>(w[0] - '0');
    if (o.dimensions == 0) return false;
  }
  const auto map = [&](const Operand& operand) {
    if (operand.parts.size() != 1 || operand.parts[0].kind != Operand::Kind::kVector ||
        operand.parts[0].parts.size() != o.dimensions)
      return false;
    o.map = async_address(operand, Space::kGeneric);
    for (std::size_t i = 0; i < o.dimensions; ++i)
      o.coordinates[i] = source(operand.parts[0].parts[i], {Type::kSigned, 32});
    return true;
  };
  if (s.has("mbarrier::complete_tx::bytes")) {
    if (!s.has("global")) return !tensor && !multicast && decode_bulk_share(s);
    if (reduce || count != (tensor ? 3U : 4U)) return false;
    o.to = async_address(s.operands[0], Space::kShared);
    if (tensor) {
      if (!map(s.operands[1])) return false;
    } else {
      o.from = async_address(s.operands[1], Space::kGlobal);
      o.size = source(s.operands[2], kU32);
    }
    o.barrier = async_address(s.operands[count - 1], Space::kShared);
    if (multicast) o.multicast = source(s.operands.at(count), {Type::kUnsigned, 16});
    module_.shared_granule = std::min<int>(module_.shared_granule, 4);
    emit_async(s, AsyncOp::kBulkLoad, Class::kMemory, o, inst);
    return true;
  }
  if (!s.has("bulk_group") || !s.has("global") || count != (tensor ? 2U : 3U)) return false;
  if (multicast) return false;
  if (reduce) {  // a tensor map names the type itself
    const auto type = tensor ? std::optional<Type>(Type{}) : parse_type(s.words.back());
    if (!type || !reduction(s, o)) return false;
    inst.type = *type;
  }
  if (tensor) {
    if (!map(s.operands[0])) return false;
    o.from = async_address(s.operands[1], Space::kShared);
  } else {
    o.to = async_address(s.operands[0], Space::kGlobal);
    o.from = async_address(s.operands[1], Space::kShared);
    o.size = source(s.operands[2], kU32);
  }
  module_.async_reads = true;
  module_.shared_granule = std::min<int>(module_.shared_granule, 4);
  emit_async(s, AsyncOp::kBulkStore, Class::kMemory, o, inst);
  return true;
}

// mbarrier.op{.modifiers}.b64 {result,} [address]{, count | state | parity}{, hint}
bool Decoder::decode_mbarrier(const Statement& s) {
  if (s.words.size() < 3 || s.operands.empty()) return false;
  const std::string_view what = s.words[1];
  AsyncOperands o;
  Inst inst;
  inst.latency = kSharedLatency;
  const Space space = shared_or_generic(s);
  const auto emit_it = [&](AsyncOp op) { emit_async(s, op, Class::kOther, o, inst); };
  if (what == "init" || what == "inval" || what == "expect_tx" || what == "complete_tx") {
    o.barrier = async_address(s.operands[0], space);
    if (what != "inval") o.size = source(s.operands.at(1), kU32);
    emit_it(what == "init"        ? AsyncOp::kBarrierInit
            : what == "inval"     ? AsyncOp::kBarrierInval
            : what == "expect_tx" ? AsyncOp::kBarrierExpect
                                  : AsyncOp::kBarrierComplete);
    return true;
  }
  if (what == "pending_count") {
    o.size = source(s.operands.at(1), kU64);
    inst.d = destination(s.operands[0], 32);
    emit_it(AsyncOp::kBarrierPending);
    return true;
  }
  if (what == "arrive" || what == "arrive_drop") {
    const std::size_t at = s.operands[0].kind == Operand::Kind::kAddress ? 0 : 1;
    o.barrier = async_address(s.operands.at(at), space);
    if (s.operands.size() > at + 1) o.size = source(s.operands[at + 1], kU32);
    o.drop = what == "arrive_drop";
    o.expect = s.has("expect_tx");
    o.no_complete = s.has("noComplete");
    if (at == 1 && s.operands[0].kind != Operand::Kind::kSink)
      inst.d = destination(s.operands[0], 64);
    emit_it(AsyncOp::kBarrierArrive);
    return true;
  }
  if (what == "test_wait" || what == "try_wait") {
    if (s.operands.size() < 3) return false;
    o.barrier = async_address(s.operands[1], space);
    o.by_parity = s.has("parity");
    o.suspends = what == "try_wait";
    o.size = source(s.operands[2], o.by_parity ? kU32 : kU64);
    inst.d = destination(s.operands[0], 1);
    emit_it(AsyncOp::kBarrierTest);
    return true;
  }
  return false;
}

}  // namespace hone::emulator
