#include "evaluator/device/emulator/ptx/cost.h"

#include <algorithm>
#include <array>

#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {
namespace {

constexpr std::uint8_t kUnroll = 4;  // where the machine code does not say

enum Name : std::uint8_t {
  kOwnClass,
  kFree,
  kAlu,
  kAlu2,
  kImad,
  kImadWide,
  kMul64,
  kDiv32,
  kDiv64,
  kDivRn,
  kDivFull,
  kDivApprox,
  kRcpRn,
  kSqrtRn,
  kMufuScaled,
  kMufu,
  kSinCos,
  kFp64Iterative,
  kXu,
  kFma,
  kCount
};

constexpr std::array<Cost, kCount> make_costs() {
  std::array<Cost, kCount> c{};
  c[kFree] = {.issue = 0};
  c[kAlu] = {.issue = 1, .alu = 1};
  c[kAlu2] = {.issue = 2, .alu = 2, .latency = 8};
  c[kImad] = {.issue = 1, .imad = 1};
  c[kImadWide] = {.issue = 1, .imad = 2, .latency = 5};
  c[kMul64] = {.issue = 4, .alu = 1, .imad = 4, .latency = 14};
  c[kDiv32] = {.issue = 18, .alu = 9, .imad = 5, .xu = 3, .latency = 75};
  c[kDiv64] = {.issue = 115, .alu = 58, .imad = 45, .xu = 3, .latency = 250, .branches = true};
  c[kDivRn] = {.issue = 14, .alu = 1, .fma = 6, .xu = 2, .latency = 50, .branches = true};
  c[kDivFull] = {.issue = 5, .alu = 1, .fma = 3, .xu = 1, .latency = 34};
  c[kDivApprox] = {.issue = 3, .fma = 2, .xu = 1, .latency = 28};
  c[kRcpRn] = {.issue = 9, .alu = 3, .fma = 3, .xu = 1, .latency = 45, .branches = true};
  c[kSqrtRn] = {.issue = 10, .alu = 3, .fma = 4, .xu = 1, .latency = 50, .branches = true};
  c[kMufuScaled] = {.issue = 4, .alu = 1, .fma = 2, .xu = 1, .latency = 32};
  c[kMufu] = {.issue = 1, .xu = 1, .latency = 20};
  c[kSinCos] = {.issue = 2, .fma = 1, .xu = 1, .latency = 24};
  c[kFp64Iterative] = {
      .issue = 24, .alu = 6, .xu = 1, .fp64 = 12, .latency = 160, .branches = true};
  c[kXu] = {.issue = 1, .xu = 1, .latency = 14};
  c[kFma] = {.issue = 1, .fma = 1};
  return c;
}
constexpr std::array<Cost, kCount> kCosts = make_costs();

bool one_of(std::string_view w, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), w) != list.end();
}

Name conversion(const Statement& s) {
  const auto from = parse_type(s.words.back());
  const auto to = s.words.size() >= 3 ? parse_type(s.words[s.words.size() - 2]) : std::nullopt;
  if (!from || !to) return kXu;
  const auto is_float = [](Type t) { return t.kind == Type::kFloat || t.kind == Type::kBFloat; };
  if (!is_float(*from) && !is_float(*to)) {
    if (to->bits <= from->bits) return to->bits < 32 ? kAlu : kFree;
    return from->kind == Type::kSigned ? kAlu : kFree;  // the upper half is zero
  }
  if (is_float(*from) && is_float(*to)) {
    if (from->bits == 64 || to->bits == 64) return kXu;
    return from->bits == to->bits
               ? (s.has("rni") || s.has("rzi") || s.has("rmi") || s.has("rpi") ? kXu : kFma)
               : kAlu;
  }
  return kXu;
}

Name name_of(const Statement& s) {
  const std::string_view op = s.words[0];
  const auto type = parse_type(s.words.back());
  const bool is_float = type && (type->kind == Type::kFloat || type->kind == Type::kBFloat);
  const int bits = type ? type->bits : 32;
  const bool wide = bits == 64;
  if (op == "cvta" || (op == "ld" && s.has("param"))) return kFree;
  if (op == "mov") {
    // Special registers are read; other moves disappear, as constants do.
    for (const Operand& o : s.operands)
      if (o.kind == Operand::Kind::kName && o.name.starts_with("%")) return kAlu;
    return kFree;
  }
  if (op == "cvt") return conversion(s);
  if (is_float) {
    if (wide) return one_of(op, {"div", "rcp", "sqrt", "rsqrt"}) ? kFp64Iterative : kOwnClass;
    if (bits == 16) return one_of(op, {"tanh", "ex2"}) ? kMufu : kOwnClass;
    if (op == "abs" || op == "neg") return kFree;
    if (one_of(op, {"min", "max", "setp", "set", "selp", "slct", "testp", "copysign"})) return kAlu;
    if (op == "div") return s.has("approx") ? kDivApprox : s.has("full") ? kDivFull : kDivRn;
    if (op == "rcp" && !s.has("approx")) return kRcpRn;
    if (op == "sqrt" && !s.has("approx")) return kSqrtRn;
    if (op == "sin" || op == "cos") return kSinCos;
    if (op == "tanh") return kMufu;
    if (one_of(op, {"rcp", "sqrt", "rsqrt", "ex2", "lg2"}))
      return s.has("ftz") && op != "sqrt" ? kMufu : kMufuScaled;
    return kOwnClass;
  }
  if (type && type->kind == Type::kPred) return kFree;  // compares take a predicate along
  if (op == "div" || op == "rem") return wide ? kDiv64 : kDiv32;
  if (op == "mul" || op == "mad") {
    if (s.has("wide")) return wide ? kMul64 : kImadWide;
    return wide ? kMul64 : s.has("hi") ? kImadWide : kImad;
  }
  if (one_of(op, {"popc", "clz", "bfind", "brev", "fns"})) return kXu;
  if (op == "bfe" || op == "bfi") return kAlu2;
  // Most 64-bit additions are addresses, which ptxas folds into the multiplication before.
  if (wide && one_of(op, {"add", "sub"})) return kAlu;
  if (wide && one_of(op, {"and", "or", "xor", "not", "shl", "shr", "setp", "selp", "min", "max",
                          "neg", "abs"}))
    return kAlu2;
  return kOwnClass;
}

}  // namespace

std::uint8_t cost_index(const Statement& s) {
  return s.words.size() < 2 ? std::uint8_t{kOwnClass} : std::uint8_t{name_of(s)};
}
const Cost& cost_at(std::uint8_t index) { return kCosts[index]; }

Cost cost_of(const Inst& inst) {
  if (inst.cost != kOwnClass) return kCosts[inst.cost];
  Cost c;
  switch (inst.cls) {
    case Class::kFp32:
      c.fma = 1;
      break;
    case Class::kFp64:
      c.fp64 = 1;
      break;
    case Class::kInteger:
      c.alu = 1;
      break;
    case Class::kSfu:
    case Class::kConversion:
      c.xu = 1;
      break;
    default:
      break;
  }
  return c;
}

void plan_issue(Function& f) {
  constexpr int kPredicated = 9;  // instructions that ptxas predicates instead of a branch
  const int n = static_cast<int>(f.code.size());
  const auto plain = [&](int i) {
    const Inst& in = f.code[i];
    return in.kind < Kind::kBranch && !cost_of(in).branches;
  };
  for (int i = 0; i < n; ++i) {
    Inst& in = f.code[i];
    in.sync = in.kind >= Kind::kBranch || cost_of(in).branches ? 1 : 0;
    if (in.kind == Kind::kActiveMask || in.kind == Kind::kNop || in.kind == Kind::kPrefetch ||
        in.kind == Kind::kTensor)
      in.sync = 0;
    if (in.kind != Kind::kBranch || !in.guarded || in.target <= i) continue;
    int weight = 0;
    bool short_and_plain = in.target - i <= 2 * kPredicated;
    for (int k = i + 1; short_and_plain && k < in.target; ++k) {
      weight += cost_of(f.code[k]).issue;
      short_and_plain = plain(k) && weight <= kPredicated;
    }
    if (!short_and_plain) continue;
    in.sync = 0;
    in.cost = kFree;
  }
  for (int i = 0; i < n; ++i) {
    Inst& in = f.code[i];
    if (in.kind != Kind::kBranch || !in.guarded || in.target > i) continue;
    bool single = true;
    for (int k = in.target; single && k < i; ++k)
      single = f.code[k].sync == 0 && f.code[k].kind != Kind::kBarrier;
    const bool forbidden = std::ranges::find(f.nounroll, in.target) != f.nounroll.end();
    if (single && !forbidden) in.sync = kUnroll;
  }
}

std::vector<LineRange> inner_loops(const Module& base, std::string_view kernel) {
  const auto& module = static_cast<const ModuleImpl&>(base);
  std::vector<LineRange> loops;
  for (std::size_t i = 0; i < module.kernels_.size(); ++i) {
    if (module.kernels_[i].name != kernel) continue;
    const Function& f = module.functions[module.kernel_functions[i]];
    for (const Inst& in : f.code)
      if (in.kind == Kind::kBranch && in.sync == kUnroll)
        loops.push_back(
            {module.places[f.code[in.target].place].ptx_line, module.places[in.place].ptx_line});
  }
  return loops;
}

}  // namespace hone::emulator
