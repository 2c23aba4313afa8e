#include "evaluator/device/emulator/sim/opaque.h"

#include <array>
#include <random>
#include <utility>

namespace hone::emulator {
namespace {

constexpr int kRounds = 4;  // of a Feistel network

const std::array<std::uint32_t, kRounds>& keys() {
  static const std::array<std::uint32_t, kRounds> kDrawn = [] {
    std::random_device random;
    std::array<std::uint32_t, kRounds> drawn{};
    for (std::uint32_t& key : drawn) key = random();
    return drawn;
  }();
  return kDrawn;
}

std::uint32_t mixed(std::uint32_t half, std::uint32_t key, std::uint32_t place) {
  std::uint32_t h = (half ^ key) * 0x9E3779B1u + place;
  h = (h ^ h >> 15) * 0x85EBCA77u;
  return h ^ h >> 13;
}

}  // namespace

std::uint64_t scrambled(std::uint64_t word, std::uint32_t place) {
  auto left = static_cast<std::uint32_t>(word >> 32), right = static_cast<std::uint32_t>(word);
  for (const std::uint32_t key : keys())
    left = std::exchange(right, left ^ mixed(right, key, place));
  return std::uint64_t{left} << 32 | right;
}

std::uint64_t unscrambled(std::uint64_t word, std::uint32_t place) {
  auto left = static_cast<std::uint32_t>(word >> 32), right = static_cast<std::uint32_t>(word);
  for (int k = kRounds; k-- > 0;)
    right = std::exchange(left, right ^ mixed(left, keys()[static_cast<std::size_t>(k)], place));
  return std::uint64_t{left} << 32 | right;
}

}  // namespace hone::emulator
