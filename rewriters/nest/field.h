// Are two values the same function, whatever is loaded? Values are worked out modulo a prime, with
// random numbers for what is no arithmetic: what agrees there is the same polynomial quotient, but
// for a chance of 2^-50. Floats count as real numbers. Internal to rewriters.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "rewriters/affine/node.h"

namespace hone::nest {

class Field {
 public:
  explicit Field(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t of(Ref value);
  static std::uint64_t add(std::uint64_t a, std::uint64_t b);
  static std::uint64_t subtract(std::uint64_t a, std::uint64_t b);
  static std::uint64_t multiply(std::uint64_t a, std::uint64_t b);
  static std::uint64_t divide(std::uint64_t a, std::uint64_t b);  ///< 0 by 0
  static std::uint64_t integer(std::int64_t value);
  static constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

 private:
  std::uint64_t work_out(Ref value);
  std::uint64_t unknown(Ref value) const;

  std::uint64_t seed_;
  std::unordered_map<Ref, std::uint64_t> known_;
};

}  // namespace hone::nest
