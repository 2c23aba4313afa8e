#include "evaluator/sass/line_program.h"

#include <algorithm>
#include <cstring>

namespace hone::sass {
namespace {

/// Reads on from a place; past the end everything is 0 and `ended` is set.
class Stream {
 public:
  Stream(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  template <class T>
  T fixed() {
    T value{};
    if (bytes_.size() - std::min(at_, bytes_.size()) < sizeof(T)) {
      at_ = bytes_.size() + 1;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint64_t unsigned_leb() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (!(byte & 0x80)) break;
    }
    return value;
  }
  std::int64_t signed_leb() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte & 0x80) continue;
      if (byte & 0x40 && shift < 57) value |= ~std::uint64_t{0} << (shift + 7);
      break;
    }
    return static_cast<std::int64_t>(value);
  }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool ended() const { return at_ > bytes_.size(); }
  void move_to(std::size_t at) { at_ = at; }

 private:
  std::string_view bytes_;
  std::size_t at_;
};

enum Standard : std::uint8_t {
  kExtended,
  kCopy,
  kAdvanceAddress,
  kAdvanceLine,
  kSetFile,
  kSetColumn,
  kNegate,
  kSetBlock,
  kConstAddAddress,
  kFixedAdvance,
};
enum Extended : std::uint8_t { kEndSequence = 1, kSetAddress = 2 };

struct Header {
  std::uint8_t instruction_bytes = 1, line_range = 1, first_special = 10;
  std::int8_t line_base = 0;
};

/// The sequences of one unit, which ends at `end`.
void read_unit(Stream& in, std::size_t end, const Header& h, std::vector<LineSequence>& out) {
  LineSequence sequence;
  std::uint64_t address = 0;
  std::int64_t line = 1;
  const auto row = [&] {
    sequence.rows.push_back({address, static_cast<std::uint32_t>(std::max<std::int64_t>(0, line))});
  };
  const auto advance = [&](std::uint64_t count) { address += count * h.instruction_bytes; };
  while (in.at() < end && !in.ended()) {
    const auto op = in.fixed<std::uint8_t>();
    if (op >= h.first_special) {
      advance((op - h.first_special) / h.line_range);
      line += h.line_base + (op - h.first_special) % h.line_range;
      row();
      continue;
    }
    switch (op) {
      case kExtended: {
        const auto length = in.unsigned_leb();
        const std::size_t begin = in.at();
        if (length == 0 || length > end - std::min(begin, end)) return;
        switch (in.fixed<std::uint8_t>()) {
          case kEndSequence:
            out.push_back(std::move(sequence));
            sequence = {};
            address = 0;
            line = 1;
            break;
          case kSetAddress:
            sequence.address_at = in.at();
            address = in.fixed<std::uint64_t>();
            break;
          default:
            break;
        }
        in.move_to(begin + length);
        break;
      }
      case kCopy:
        row();
        break;
      case kAdvanceAddress:
        advance(in.unsigned_leb());
        break;
      case kAdvanceLine:
        line += in.signed_leb();
        break;
      case kConstAddAddress:
        advance((255 - h.first_special) / h.line_range);
        break;
      case kFixedAdvance:
        address += in.fixed<std::uint16_t>();
        break;
      case kSetFile:
      case kSetColumn:
        (void)in.unsigned_leb();
        break;
      default:  // those without operands
        break;
    }
  }
}

}  // namespace

std::vector<LineSequence> read_line_program(std::string_view bytes) {
  std::vector<LineSequence> sequences;
  Stream in(bytes, 0);
  while (in.at() + 4 <= bytes.size()) {
    const auto length = in.fixed<std::uint32_t>();
    const std::size_t end = in.at() + length;
    if (length == 0 || end > bytes.size()) break;
    if (in.fixed<std::uint16_t>() != 2) break;
    const auto header_length = in.fixed<std::uint32_t>();
    const std::size_t program = in.at() + header_length;
    Header h;
    h.instruction_bytes = in.fixed<std::uint8_t>();
    (void)in.fixed<std::uint8_t>();  // is_stmt
    h.line_base = in.fixed<std::int8_t>();
    h.line_range = in.fixed<std::uint8_t>();
    h.first_special = in.fixed<std::uint8_t>();
    if (h.line_range == 0 || h.first_special != 10 || program > end) break;
    in.move_to(program);
    read_unit(in, end, h, sequences);
    in.move_to(end);
  }
  return sequences;
}

std::vector<PtxLine> lines_of(const LineSequence& sequence, std::size_t instructions) {
  std::vector<PtxLine> lines(instructions);
  for (const auto& row : sequence.rows) {
    const std::uint64_t i = row.address / kInstructionBytes;
    if (i < instructions) lines[i] = {row.line, true};
  }
  for (std::size_t i = 1; i < instructions; ++i)
    if (!lines[i].own) lines[i].line = lines[i - 1].line;
  return lines;
}

}  // namespace hone::sass
