#include "evaluator/check/exact.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "candidates/characters.h"
#include "evaluator/check/atomics.h"
#include "evaluator/check/precise.h"

namespace hone::check {
namespace {

/// Functions whose values have no short form, without the f of float and leading underscores.
constexpr std::string_view kRounding[] = {
    "acos",   "acosh",    "asin",       "asinh",  "atan",  "atan2",  "atanh",   "cbrt",  "cos",
    "cosh",   "cospi",    "erf",        "erfc",   "erfcx", "erfinv", "erfcinv", "exp",   "exp10",
    "exp2",   "expm1",    "hypot",      "lgamma", "log",   "log1p",  "log10",   "log2",  "norm3d",
    "norm4d", "normcdf",  "normcdfinv", "pow",    "powi",  "rcbrt",  "rhypot",  "rsqrt", "sin",
    "sincos", "sincospi", "sinh",       "sinpi",  "tan",   "tanh",   "tgamma"};

bool rounds(std::string_view name) {
  while (name.starts_with('_')) name.remove_prefix(1);
  const auto known = [](std::string_view word) {
    return std::ranges::find(kRounding, word) != std::end(kRounding);
  };
  return known(name) || (name.ends_with('f') && known(name.substr(0, name.size() - 1)));
}

/// A name outside comments.
bool names_a_rounding_function(std::string_view source) {
  for (std::size_t at = 0; at < source.size();) {
    if (source.substr(at).starts_with("//")) {
      at = std::min(source.find('\n', at), source.size());
    } else if (source.substr(at).starts_with("/*")) {
      at = std::min(source.find("*/", at + 2), source.size() - 2) + 2;
    } else if (is_word(source[at])) {
      std::size_t end = at;
      while (end < source.size() && is_word(source[end])) ++end;
      if (rounds(source.substr(at, end - at))) return true;
      at = end;
    } else {
      ++at;
    }
  }
  return false;
}

/// Has a double no more than eight bits after the first?
bool is_short(std::uint64_t bits) { return (bits & ((1ULL << 44) - 1)) == 0; }

/// "0f3D372713" or "0d3FF0000000000000" with more bits than that; the largest float, which maxima
/// begin with, is none.
bool has_long_constant(std::string_view statement) {
  for (auto at = statement.find('0'); at != statement.npos; at = statement.find('0', at + 1)) {
    if (at > 0 && is_word(statement[at - 1])) continue;
    const bool single = statement.substr(at).starts_with("0f");
    if (!single && !statement.substr(at).starts_with("0d")) continue;
    const std::string_view digits = statement.substr(at + 2, single ? 8 : 16);
    std::uint64_t bits = 0;
    const auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (code != std::errc() || end != digits.data() + digits.size()) continue;
    constexpr std::uint64_t kLargest = 0x7F7FFFFF;
    if (single && (bits & 0x7FFFFFFF) == kLargest) continue;
    if (single ? (bits & 0x7FFF) != 0 : !is_short(bits)) return true;
  }
  return false;
}

bool approximates(std::string_view statement, bool narrow) {
  const std::string_view opcode = statement.substr(0, statement.find_first_of(" \t"));
  const std::string_view base = opcode.substr(0, opcode.find('.'));
  for (const std::string_view always : {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"})
    if (base == always) return true;
  if (base == "div" || base == "rcp" || base == "sqrt") {
    const bool real = opcode.ends_with(".f32") || opcode.ends_with(".f64") ||
                      opcode.ends_with(".f16") || opcode.ends_with(".bf16");
    if (real && (narrow || opcode.contains(".approx") || opcode.contains(".full"))) return true;
  }
  return narrow && has_long_constant(statement);
}

}  // namespace

bool can_be_exact(const ConcreteProgram& reference, std::string_view ptx) {
  const bool narrow = std::ranges::any_of(reference.buffers, [](const ConcreteBuffer& buffer) {
    return buffer.role != Role::kIn && buffer.role != Role::kScratch &&
           is_narrow_float(buffer.type);
  });
  if (multiplies_fp8(reference.buffers)) return false;
  if (narrow) {
    for (const ConcreteLaunch& launch : reference.launches)
      for (const ConcreteArgument& argument : launch.args)
        if (const auto* number = std::get_if<double>(&argument);
            number != nullptr && !is_short(__builtin_bit_cast(std::uint64_t, *number)))
          return false;
  }
  // The run in double would not show what was lost.
  if (rounds_through_bits(reference.source)) return false;
  return !names_a_rounding_function(reference.source) &&
         !any_statement(ptx, [&](std::string_view s) { return approximates(s, narrow); });
}

}  // namespace hone::check
