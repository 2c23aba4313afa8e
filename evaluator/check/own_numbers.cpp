#include "evaluator/check/own_numbers.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "evaluator/check/atomics.h"
#include "evaluator/fill/formula_cpu.h"

namespace hone::check {
namespace {

constexpr std::string_view kEndOfOperand = " \t\r,()[]{}|+";
constexpr std::int64_t kSmallest = 17;

/// "0f3F800000", "0d3FF0000000000000", "-559038737", "0xDEADBEEF".
std::optional<OwnNumber> number_of(std::string_view word) {
  const bool minus = word.starts_with('-');
  const std::string_view digits = minus ? word.substr(1) : word;
  if (digits.empty() || digits.front() < '0' || digits.front() > '9') return std::nullopt;
  OwnNumber number;
  int base = 10;
  std::string_view rest = digits;
  const std::string_view head = digits.substr(0, 2);
  if (head == "0f" || head == "0F" || head == "0d" || head == "0D") {
    number.kind = head[1] == 'f' || head[1] == 'F' ? OwnNumber::Kind::kF32 : OwnNumber::Kind::kF64;
    base = 16;
  } else if (head == "0x" || head == "0X") {
    base = 16;
  }
  if (base == 16) rest.remove_prefix(2);
  const auto [end, code] =
      std::from_chars(rest.data(), rest.data() + rest.size(), number.bits, base);
  const std::string_view after(end, static_cast<std::size_t>(rest.data() + rest.size() - end));
  if (code != std::errc() || (!after.empty() && after != "U")) return std::nullopt;
  if (minus) number.bits = 0 - number.bits;
  return number;
}

bool is_telling(const OwnNumber& number) {
  if (number.kind != OwnNumber::Kind::kInteger) {
    const double value = number.kind == OwnNumber::Kind::kF32
                             ? std::bit_cast<float>(static_cast<std::uint32_t>(number.bits))
                             : std::bit_cast<double>(number.bits);
    return std::isfinite(value) && value != 0;
  }
  const auto value = static_cast<std::int64_t>(number.bits);
  const std::uint64_t magnitude = value < 0 ? 0 - number.bits : number.bits;
  return magnitude >= kSmallest && !std::has_single_bit(magnitude);
}

std::vector<OwnNumber> numbers_in(std::string_view ptx) {
  std::vector<OwnNumber> out;
  (void)any_statement(ptx, [&](std::string_view statement) {
    if (statement.starts_with('.') || statement.starts_with("//")) return false;
    statement = statement.substr(0, statement.find("//"));
    while (!statement.empty()) {
      const auto end = statement.find_first_of(kEndOfOperand);
      if (const auto number = number_of(statement.substr(0, end));
          number && is_telling(*number) && std::ranges::find(out, *number) == out.end())
        out.push_back(*number);
      if (end == statement.npos) break;
      statement.remove_prefix(end + 1);
    }
    return false;
  });
  return out;
}

void add_near(std::vector<std::uint64_t>& out, const ConcreteBuffer& buffer, double value) {
  const int type = static_cast<int>(buffer.type);
  const Fill& fill = buffer.fill;
  const double deviations = 6;
  const bool normal = fill.kind == Fill::Kind::kNormal;
  const double low = normal ? fill.a - deviations * fill.b : fill.a,
               high = normal ? fill.a + deviations * fill.b : fill.b;
  const std::uint64_t bits = hone_encode_float(type, value);
  for (const std::uint64_t near : {bits, bits - 1, bits + 1}) {
    const double is = hone_decode(type, near);
    if (std::isfinite(is) && is >= low && is <= high && std::ranges::find(out, near) == out.end() &&
        (fill.kind != Fill::Kind::kIntegers || is == std::floor(is)))
      out.push_back(near);
  }
}

void add_near(std::vector<std::uint64_t>& out, const ConcreteBuffer& buffer, std::uint64_t number) {
  const Fill& fill = buffer.fill;
  const bool any = fill.unstated;
  const int type = static_cast<int>(buffer.type);
  const std::size_t bits = 8 * size_of(buffer.type);
  const std::uint64_t mask = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
  const bool is_signed = hone_type_min(type) < 0;
  for (const std::uint64_t near : {number, number - 1, number + 1}) {
    // An immediate has the bits of the value, and perhaps another sign.
    const std::uint64_t own = near & mask;
    if (std::ranges::find(out, own) != out.end()) continue;
    bool fits = any || fill.exact.has_value();
    if (!fits) {
      const std::uint64_t sign = 1ULL << (bits - 1);
      const double value = is_signed
                               ? static_cast<double>(static_cast<std::int64_t>((own ^ sign) - sign))
                               : static_cast<double>(own);
      fits = value >= fill.a && value <= fill.b;
    }
    if (fill.exact) {
      const auto [low, high] = *fill.exact;
      fits = own - low <= high - low;
    }
    if (fits) out.push_back(own);
  }
}

}  // namespace

std::vector<OwnNumber> own_numbers(std::string_view reference_ptx, std::string_view candidate_ptx) {
  const auto known = numbers_in(reference_ptx);
  auto own = numbers_in(candidate_ptx);
  std::erase_if(own,
                [&](const OwnNumber& n) { return std::ranges::find(known, n) != known.end(); });
  return own;
}

std::vector<std::uint64_t> elements_of(const std::vector<OwnNumber>& numbers,
                                       const ConcreteBuffer& buffer) {
  std::vector<std::uint64_t> out;
  const Fill::Kind kind = buffer.fill.kind;
  const bool random =
      kind == Fill::Kind::kUniform || kind == Fill::Kind::kNormal || kind == Fill::Kind::kIntegers;
  if (!random || (buffer.role != Role::kIn && buffer.role != Role::kInOut) ||
      buffer.type == ScalarType::kBool)
    return out;
  for (const OwnNumber& number : numbers) {
    const bool whole = number.kind == OwnNumber::Kind::kInteger;
    if (!is_float(buffer.type)) {
      if (whole && kind == Fill::Kind::kIntegers) add_near(out, buffer, number.bits);
      continue;
    }
    const auto bits = static_cast<std::uint32_t>(number.bits);
    const double value = number.kind == OwnNumber::Kind::kF64 ? std::bit_cast<double>(number.bits)
                         : number.kind == OwnNumber::Kind::kF32
                             ? std::bit_cast<float>(bits)
                             : static_cast<double>(static_cast<std::int64_t>(number.bits));
    add_near(out, buffer, value);
    // Floats are compared as integers, too.
    if (whole && buffer.type == ScalarType::kF32 && std::isnormal(std::bit_cast<float>(bits)))
      add_near(out, buffer, static_cast<double>(std::bit_cast<float>(bits)));
  }
  return out;
}

}  // namespace hone::check
