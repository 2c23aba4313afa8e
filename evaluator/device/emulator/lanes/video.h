// How the decoder tells the lane functions of the video instructions what to do: Inst::imm.
#pragma once

#include <cstdint>

namespace hone::emulator {

enum class VideoOp : std::uint8_t { kAdd, kSub, kAbsDiff, kMin, kMax, kAverage, kSet, kShl, kShr };
enum class VideoSecond : std::uint8_t { kNone, kAdd, kMin, kMax };
enum class VideoCompare : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };

struct Video {
  VideoOp op = VideoOp::kAdd;
  VideoSecond second = VideoSecond::kNone;
  VideoCompare compare = VideoCompare::kEq;
  bool signed_d = false, signed_a = false, signed_b = false, saturate = false;
  bool wrap = false;            ///< shift amounts
  std::uint8_t parts = 1;       ///< 1, 2 or 4 to a register
  std::uint8_t mask = 0xF;      ///< parts that are results; the others are those of c
  std::uint8_t place_bits = 0;  ///< 1 part: 0, or 8 or 16 that are merged into c ...
  std::uint8_t place = 0;       ///< ... at this bit

  [[nodiscard]] std::uint32_t encode() const {
    const auto bit = [](bool b, int at) { return static_cast<std::uint32_t>(b) << at; };
    return static_cast<std::uint32_t>(op) | static_cast<std::uint32_t>(second) << 4 |
           static_cast<std::uint32_t>(compare) << 6 | bit(signed_d, 9) | bit(signed_a, 10) |
           bit(signed_b, 11) | bit(saturate, 12) | bit(wrap, 13) |
           static_cast<std::uint32_t>(parts) << 14 | static_cast<std::uint32_t>(mask) << 17 |
           static_cast<std::uint32_t>(place_bits / 8) << 21 |
           static_cast<std::uint32_t>(place) << 23;
  }
  [[nodiscard]] static Video decode(std::uint32_t v) {
    Video r;
    r.op = static_cast<VideoOp>(v & 15);
    r.second = static_cast<VideoSecond>(v >> 4 & 3);
    r.compare = static_cast<VideoCompare>(v >> 6 & 7);
    r.signed_d = v >> 9 & 1;
    r.signed_a = v >> 10 & 1;
    r.signed_b = v >> 11 & 1;
    r.saturate = v >> 12 & 1;
    r.wrap = v >> 13 & 1;
    r.parts = v >> 14 & 7;
    r.mask = v >> 17 & 15;
    r.place_bits = static_cast<std::uint8_t>((v >> 21 & 3) * 8);
    r.place = v >> 23 & 31;
    return r;
  }
};

}  // namespace hone::emulator
