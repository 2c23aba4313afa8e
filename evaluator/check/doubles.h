// Which programs have the bits of f64 in what they answer.
#pragma once

#include <string_view>

namespace hone::check {

/// Does the PTX compute floats in f64 alone? What it loads, stores, widens or compares
/// may have fewer bits.
[[nodiscard]] bool computes_in_doubles(std::string_view ptx);

}  // namespace hone::check
