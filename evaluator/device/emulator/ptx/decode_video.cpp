// vadd, vadd2, vadd4 and their kin. Which parts of a and b are meant is arranged by instructions of
// their own; the lane function then sees them in order.
#include <algorithm>

#include "evaluator/device/emulator/lanes/video.h"
#include "evaluator/device/emulator/ptx/decode.h"

namespace hone::emulator {
namespace {

const std::unordered_map<std::string_view, VideoOp> kOps = {
    {"vadd", VideoOp::kAdd}, {"vsub", VideoOp::kSub}, {"vabsdiff", VideoOp::kAbsDiff},
    {"vmin", VideoOp::kMin}, {"vmax", VideoOp::kMax}, {"vavrg", VideoOp::kAverage},
    {"vset", VideoOp::kSet}, {"vshl", VideoOp::kShl}, {"vshr", VideoOp::kShr}};
const std::unordered_map<std::string_view, VideoCompare> kCompares = {
    {"eq", VideoCompare::kEq}, {"ne", VideoCompare::kNe}, {"lt", VideoCompare::kLt},
    {"le", VideoCompare::kLe}, {"gt", VideoCompare::kGt}, {"ge", VideoCompare::kGe}};

/// "h10" or "b3210", the digits from the highest part down, each below `limit`; false: not that.
bool digits_of(std::string_view selector, std::size_t parts, int limit, int* digits) {
  if (selector.size() != parts + 1 || selector[0] != (parts == 2 ? 'h' : 'b')) return false;
  for (std::size_t i = 0; i < parts; ++i) {
    const int digit = selector[parts - i] - '0';
    if (digit < 0 || digit >= limit) return false;
    digits[i] = digit;
  }
  return true;
}

}  // namespace

// "%r1.h10" as the register and "h10".
Operand Decoder::without_selector(const Operand& o, std::string_view& selector) {
  if (o.kind != Operand::Kind::kName) return o;
  const std::size_t dot = o.name.rfind('.');
  if (dot == std::string_view::npos) return o;
  Operand plain = o;
  plain.symbol = p_.lookup(o.name.substr(0, dot));
  if (!plain.symbol || plain.symbol->kind != Symbol::Kind::kRegister) return o;
  plain.kind = Operand::Kind::kRegister;
  selector = o.name.substr(dot + 1);
  return plain;
}

bool Decoder::decode_video(const Statement& s) {
  std::string_view name = s.words[0];
  if (name.size() < 4 || name[0] != 'v') return false;
  Video v;
  if (name.back() == '2' || name.back() == '4') {
    v.parts = static_cast<std::uint8_t>(name.back() - '0');
    name.remove_suffix(1);
  }
  const auto op = kOps.find(name);
  if (op == kOps.end() || (v.parts == 1 && op->second == VideoOp::kAverage)) return false;
  v.op = op->second;
  const bool shift = v.op == VideoOp::kShl || v.op == VideoOp::kShr;
  if (shift && v.parts != 1) return false;
  std::vector<bool> types;
  for (std::size_t i = 1; i < s.words.size(); ++i) {
    const std::string_view w = s.words[i];
    const auto compare = kCompares.find(w);
    if (w == "u32" || w == "s32")
      types.push_back(w == "s32");
    else if (w == "sat")
      v.saturate = true;
    else if (w == "wrap" || w == "clamp")
      v.wrap = w == "wrap";
    else if (w == "add")
      v.second = VideoSecond::kAdd;
    else if (w == "min" || w == "max")
      v.second = w == "min" ? VideoSecond::kMin : VideoSecond::kMax;
    else if (compare != kCompares.end() && v.op == VideoOp::kSet)
      v.compare = compare->second;
    else
      return false;
  }
  if (types.size() != (v.op == VideoOp::kSet ? 2U : 3U)) return false;
  v.signed_d = types[0];  // of vset: a's, by which ptxas makes its second operation
  v.signed_a = types[types.size() - 2];
  v.signed_b = types.back();
  if (v.parts != 1 && (v.second == VideoSecond::kMin || v.second == VideoSecond::kMax))
    return false;
  if (s.operands.size() < 3 || s.operands.size() > 4) return false;
  return v.parts == 1 ? decode_video_one(s, v) : decode_video_many(s, v);
}

bool Decoder::decode_video_one(const Statement& s, Video v) {
  std::string_view selectors[3];
  const auto place = [](std::string_view w, std::uint8_t& bits, std::uint8_t& at) {
    if (w.empty()) return true;
    if (w.size() != 2 || (w[0] != 'b' && w[0] != 'h')) return false;
    bits = w[0] == 'b' ? 8 : 16;
    at = static_cast<std::uint8_t>((w[1] - '0') * bits);
    return w[1] >= '0' && at < 32;
  };
  Operand d = without_selector(s.operands[0], selectors[2]);
  if (!place(selectors[2], v.place_bits, v.place)) return false;
  const bool three = s.operands.size() == 4;
  if (three != (v.place_bits != 0 || v.second != VideoSecond::kNone)) return false;
  Operand parts[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const Operand from = without_selector(s.operands[i + 1], selectors[i]);
    std::uint8_t bits = 0;
    std::uint8_t at = 0;
    if (!place(selectors[i], bits, at)) return false;
    parts[i] = from;
    if (!bits) continue;
    parts[i] = temporary(kU32);
    const Slot a = source(from, kU32);
    const bool is_signed = i == 0 ? v.signed_a : v.signed_b;
    lane(s, is_signed ? "bfe.s32" : "bfe.u32", Class::kInteger, 4, destination(parts[i], 32), a,
         constant(at, 32), constant(bits, 32));
  }
  const Slot a = source(parts[0], kU32);
  const Slot b = source(parts[1], kU32);
  const Slot c = three ? source(s.operands[3], kU32) : constant(0, 32);
  if (!lane(s, "video", Class::kInteger, 8, destination(d, 32), a, b, c)) return false;
  f_.code.back().imm = v.encode();
  return true;
}

bool Decoder::decode_video_many(const Statement& s, Video v) {
  if (s.operands.size() != 4) return false;
  const std::size_t parts = v.parts;
  std::string_view selectors[3];
  const Operand d = without_selector(s.operands[0], selectors[2]);
  if (!selectors[2].empty()) {  // "h1", "b310": which parts are results
    if (selectors[2][0] != (parts == 2 ? 'h' : 'b')) return false;
    v.mask = 0;
    for (const char digit : selectors[2].substr(1)) {
      if (digit < '0' || digit >= static_cast<char>('0' + parts)) return false;
      v.mask |= static_cast<std::uint8_t>(1 << (digit - '0'));
    }
    if (v.mask == 0) return false;
  }
  const Operand from[2] = {without_selector(s.operands[1], selectors[0]),
                           without_selector(s.operands[2], selectors[1])};
  Operand chosen[2];
  for (std::size_t i = 0; i < 2; ++i) {
    chosen[i] = from[i];
    if (selectors[i].empty()) continue;
    int digits[4];
    if (!digits_of(selectors[i], parts, static_cast<int>(2 * parts), digits)) return false;
    std::uint32_t selector = 0;  // of prmt, a byte each
    for (std::size_t k = 0; k < 4; ++k) {
      const int byte = parts == 4 ? digits[k] : 2 * digits[k / 2] + static_cast<int>(k % 2);
      selector |= static_cast<std::uint32_t>(byte) << (4 * k);
    }
    chosen[i] = temporary(kU32);
    const Slot a = source(from[0], kU32);
    const Slot b = source(from[1], kU32);
    lane(s, "prmt.b32", Class::kInteger, 4, destination(chosen[i], 32), a, b,
         constant(selector, 32));
  }
  const Slot a = source(chosen[0], kU32);
  const Slot b = source(chosen[1], kU32);
  const Slot c = source(s.operands[3], kU32);
  if (!lane(s, "video", Class::kInteger, 8, destination(d, 32), a, b, c)) return false;
  f_.code.back().imm = v.encode();
  return true;
}

}  // namespace hone::emulator
