#include "candidates/fill_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone {
namespace {

using Kind = Fill::Kind;

constexpr std::int64_t kMostOffset = std::int64_t{1} << 50;  // in a file [B]
constexpr double kExactBelow = 9007199254740992.0;  // 2^53: a double holds every integer below it

/// Fills that are a word, without numbers.
constexpr std::pair<std::string_view, Kind> kWords[] = {{"permutation", Kind::kPermutation},
                                                        {"one_hot", Kind::kOneHot},
                                                        {"lower_triangular", Kind::kLowerTriangle},
                                                        {"upper_triangular", Kind::kUpperTriangle}};

constexpr std::string_view kForms =
    "{\"uniform\": [low, high]}, {\"normal\": [mean, deviation]}, {\"integers\": [low, high]}, "
    "{\"sorted\": [low, high]}, {\"constant\": value}, {\"iota\": [start, step]}, "
    "{\"file\": \"name\"} (with \"offset\": bytes to skip), \"permutation\", \"one_hot\", "
    "\"lower_triangular\" or "
    "\"upper_triangular\"";

/// Of an integer type.
struct WholeRange {
  std::int64_t low = 0;
  std::uint64_t high = 0;
};

WholeRange whole_range(ScalarType type) {
  switch (type) {
    case ScalarType::kI32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case ScalarType::kU32:
      return {0, std::numeric_limits<std::uint32_t>::max()};
    case ScalarType::kI8:
      return {-128, 127};
    case ScalarType::kU8:
      return {0, 255};
    case ScalarType::kI64:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    case ScalarType::kU64:
      return {0, std::numeric_limits<std::uint64_t>::max()};
    default:
      return {0, 1};
  }
}

/// The largest finite value that a fill of a floating type may give.
double most_of(ScalarType type) {
  switch (type) {
    case ScalarType::kF16:
      return 65504;
    case ScalarType::kE4m3:
      return 448;
    case ScalarType::kE5m2:
      return 57344;
    case ScalarType::kF32:
    case ScalarType::kBf16:
      return 3.3e38;
    default:
      return std::numeric_limits<double>::max();
  }
}

/// An integer of a task, of up to 64 bits with or without a sign.
struct Whole {
  std::uint64_t bits = 0;
  bool negative = false;

  [[nodiscard]] double value() const {
    return negative ? static_cast<double>(static_cast<std::int64_t>(bits))
                    : static_cast<double>(bits);
  }
  [[nodiscard]] bool in(const WholeRange& range) const {
    return negative ? static_cast<std::int64_t>(bits) >= range.low : bits <= range.high;
  }
  [[nodiscard]] std::string text() const {
    return negative ? fmt::format("{}", static_cast<std::int64_t>(bits)) : fmt::format("{}", bits);
  }
};

Whole whole(std::int64_t value) { return {static_cast<std::uint64_t>(value), value < 0}; }

/// An end of a range, a constant, a start or a step.
struct End {
  double value = 0;
  Whole bits;
  bool is_whole = false;  ///< `bits` is the value
  std::optional<Expr> expr;
};

/// Why a buffer of `type` cannot hold this; empty: it can.
std::string misfit(const End& end, ScalarType type, bool must_be_whole) {
  const std::string shown = end.is_whole ? end.bits.text() : fmt::format("{}", end.value);
  const bool real = is_float(type);
  const WholeRange range = whole_range(type);
  const bool fits = real           ? std::abs(end.value) <= most_of(type)
                    : end.is_whole ? end.bits.in(range)
                                   // 2^63 and 2^64 do not, but are what their types' ends round to.
                                   : end.value >= static_cast<double>(range.low) &&
                                         end.value - 1 < static_cast<double>(range.high);
  if (!fits) return fmt::format("{} does not fit {}", shown, to_string(type));
  if ((must_be_whole || !real) && end.value != std::trunc(end.value))
    return fmt::format("{} must be a whole number{}", shown,
                       real ? "" : fmt::format(" for {}", to_string(type)));
  return "";
}

Expr decode_end_expr(const JsonCursor& cursor, const NameScope* scope) {
  Expr expr = decode_expr(cursor, scope);
  if (scope == nullptr || !cursor.ok()) return expr;
  for (const std::string& used : expr.names()) {
    if (std::ranges::find(scope->tunables, used) == scope->tunables.end()) continue;
    cursor.fail(fmt::format(
        "depends on the tunable '{}'; a fill may not, as every candidate must take the same data",
        used));
  }
  return expr;
}

End decode_end(const JsonCursor& cursor, const NameScope* scope) {
  End end;
  const nlohmann::json& json = cursor.value();
  if (json.is_string()) {
    end.expr = decode_end_expr(cursor, scope);
  } else if (json.is_number_unsigned()) {
    end.bits = {json.get<std::uint64_t>(), false};
    end.is_whole = true;
    end.value = end.bits.value();
  } else if (json.is_number_integer()) {
    end.bits = whole(json.get<std::int64_t>());
    end.is_whole = true;
    end.value = end.bits.value();
  } else if (json.is_number()) {
    end.value = cursor.number();
  } else {
    cursor.fail_type("a number, or an expression over sizes such as \"N-1\"");
  }
  return end;
}

void store(Fill& fill, ScalarType type, const std::vector<End>& ends) {
  fill.a = ends[0].value;
  fill.b = ends.size() > 1 ? ends[1].value : 0;
  const bool rounds =
      std::ranges::any_of(ends, [](const End& end) { return std::abs(end.value) >= kExactBelow; });
  if (is_float(type) || !rounds) return;
  fill.exact.emplace();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const double v = ends[i].value;
    (*fill.exact)[i] = ends[i].is_whole ? ends[i].bits.bits
                       : v < 0          ? static_cast<std::uint64_t>(static_cast<std::int64_t>(v))
                                        : static_cast<std::uint64_t>(v);
  }
}

/// Into the fill, or as expressions where one of them is one.
void put(const JsonCursor& cursor, Buffer& buffer, const std::vector<End>& ends) {
  if (!cursor.ok()) return;
  if (std::ranges::any_of(ends, [](const End& end) { return end.expr.has_value(); })) {
    for (const End& end : ends) {
      const bool fits = end.is_whole && (end.bits.negative || end.bits.bits >> 63 == 0);
      if (!end.expr && !fits) {
        cursor.fail(fmt::format("{} stands beside an expression and must be an integer, too",
                                end.is_whole ? end.bits.text() : fmt::format("{}", end.value)));
        return;
      }
      buffer.fill_ends.push_back(end.expr ? *end.expr
                                          : Expr(static_cast<std::int64_t>(end.bits.bits)));
    }
    return;
  }
  store(buffer.fill, buffer.type, ends);
}

std::vector<End> decode_pair(const JsonCursor& cursor, const NameScope* scope,
                             std::string_view what) {
  const auto elements = cursor.elements();
  if (!cursor.ok()) return {};
  if (elements.size() != 2) {
    cursor.fail(fmt::format("must be {}, found {} entries", what, elements.size()));
    return {};
  }
  return {decode_end(elements[0], scope), decode_end(elements[1], scope)};
}

void expect_fits(const JsonCursor& cursor, const End& end, ScalarType type, bool must_be_whole) {
  if (end.expr || !cursor.ok()) return;  // where the sizes are known
  if (auto mistake = misfit(end, type, must_be_whole); !mistake.empty())
    cursor.fail(std::move(mistake));
}

bool is_above(const End& low, const End& high) {
  if (low.is_whole && high.is_whole && low.bits.negative == high.bits.negative)
    return low.bits.negative ? static_cast<std::int64_t>(low.bits.bits) >
                                   static_cast<std::int64_t>(high.bits.bits)
                             : low.bits.bits > high.bits.bits;
  return low.value > high.value;
}

void decode_range(const JsonCursor& cursor, Buffer& buffer, const NameScope* scope,
                  bool must_be_whole) {
  const auto ends = decode_pair(cursor, scope, "[low, high]");
  if (!cursor.ok()) return;
  for (const End& end : ends) expect_fits(cursor, end, buffer.type, must_be_whole);
  if (cursor.ok() && !ends[0].expr && !ends[1].expr && is_above(ends[0], ends[1]))
    cursor.fail(fmt::format("low {} is above high {}", ends[0].value, ends[1].value));
  put(cursor, buffer, ends);
}

void decode_normal(const JsonCursor& cursor, Buffer& buffer, const NameScope* scope) {
  const auto ends = decode_pair(cursor, scope, "[mean, deviation]");
  if (!cursor.ok()) return;
  if (!is_float(buffer.type)) {
    cursor.fail(fmt::format("is for floating types; use {{\"integers\": [low, high]}} for {}",
                            to_string(buffer.type)));
  } else if (!ends[1].expr && ends[1].value < 0) {
    cursor.fail(fmt::format("the deviation {} is negative", ends[1].value));
  }
  for (const End& end : ends) expect_fits(cursor, end, buffer.type, false);
  put(cursor, buffer, ends);
}

void decode_constant(const JsonCursor& cursor, Buffer& buffer, const NameScope* scope) {
  if (cursor.value().is_boolean()) {
    buffer.fill.a = cursor.boolean() ? 1 : 0;
    buffer.fill.b = 0;
    return;
  }
  const End end = decode_end(cursor, scope);
  expect_fits(cursor, end, buffer.type, false);
  put(cursor, buffer, {end});
}

void decode_iota(const JsonCursor& cursor, Buffer& buffer, const NameScope* scope) {
  std::vector<End> ends;
  if (cursor.value().is_array()) {
    ends = decode_pair(cursor, scope, "[start, step]");
  } else {
    ends = {decode_end(cursor, scope), End{.value = 1, .bits = whole(1), .is_whole = true}};
  }
  if (!cursor.ok()) return;
  expect_fits(cursor, ends[0], buffer.type, false);
  if (!is_float(buffer.type) && !ends[1].expr && ends[1].value != std::trunc(ends[1].value))
    cursor.fail(fmt::format("the step {} must be a whole number for {}", ends[1].value,
                            to_string(buffer.type)));
  put(cursor, buffer, ends);
}

void decode_file(const JsonCursor& cursor, Fill& fill, const NameScope* scope) {
  const std::string text = cursor.string();
  if (!cursor.ok()) return;
  if (scope != nullptr && scope->files == FillFiles::kNone) {
    cursor.fail(
        "inputs from files cannot be submitted here, where only the task's text is taken: use "
        "`hone submit`, which sends them, or a fill that hone makes, such as {\"uniform\": [-1, "
        "1]}");
    return;
  }
  if (text.empty() || text.find('\0') != std::string::npos) {
    cursor.fail("must be the name of a file of raw little-endian elements");
    return;
  }
  if (scope == nullptr) {
    fill.path = text;
    return;
  }
  std::error_code error;
  const auto path = std::filesystem::absolute(scope->folder / text, error).lexically_normal();
  if (error || !std::filesystem::is_regular_file(path, error)) {
    cursor.fail(fmt::format("there is no file '{}' (names are relative to the task's folder)",
                            printable(text)));
    return;
  }
  fill.path = path.string();
}

}  // namespace

Fill default_fill(ScalarType type) {
  if (is_float(type)) return Fill{Kind::kUniform, -1, 1, ""};
  if (type == ScalarType::kBool) return Fill{Kind::kIntegers, 0, 1, ""};
  return {.kind = Kind::kIntegers, .a = 0, .b = 100, .unstated = true};
}

void decode_fill(const JsonCursor& cursor, Buffer& buffer, const NameScope* scope) {
  Fill& fill = buffer.fill;
  fill = {};
  if (cursor.value().is_number()) {
    fill.kind = Kind::kConstant;
    decode_constant(cursor, buffer, scope);
    return;
  }
  if (cursor.value().is_string()) {
    const std::string word = cursor.string();
    const auto known = std::ranges::find(kWords, word, &std::pair<std::string_view, Kind>::first);
    if (known == std::end(kWords)) {
      cursor.fail(fmt::format("'{}' is none of {}", printable(word), kForms));
      return;
    }
    fill = Fill{known->second, 0, 0, ""};
    return;
  }
  if (!cursor.value().is_object()) {
    cursor.fail(fmt::format("must be a number or one of {}", kForms));
    return;
  }
  if (!cursor.expect_keys(
          {"uniform", "normal", "integers", "sorted", "constant", "iota", "file", "offset"}))
    return;
  const auto offset = cursor.find("offset");
  const auto members = cursor.members();
  if (members.size() != (offset ? 2U : 1U) || (offset && !cursor.find("file"))) {
    cursor.fail(fmt::format("must be exactly one of {}", kForms));
    return;
  }
  const auto [kind, value] =
      offset ? std::pair(std::string("file"), cursor.at("file")) : members.front();
  if (kind == "uniform") {
    // Whole bounds on an integer buffer can only mean integers.
    fill.kind = is_float(buffer.type) ? Kind::kUniform : Kind::kIntegers;
    decode_range(value, buffer, scope, false);
  } else if (kind == "integers") {
    fill.kind = Kind::kIntegers;
    decode_range(value, buffer, scope, true);
  } else if (kind == "sorted") {
    fill.kind = Kind::kSorted;
    decode_range(value, buffer, scope, false);
  } else if (kind == "normal") {
    fill.kind = Kind::kNormal;
    decode_normal(value, buffer, scope);
  } else if (kind == "constant") {
    fill.kind = Kind::kConstant;
    decode_constant(value, buffer, scope);
  } else if (kind == "iota") {
    fill.kind = Kind::kIota;
    decode_iota(value, buffer, scope);
  } else {
    fill = Fill{Kind::kFile, 0, 0, ""};
    if (offset) fill.offset = offset->integer_in(0, kMostOffset);
    decode_file(value, fill, scope);
  }
}

nlohmann::json fill_to_json(const Buffer& buffer) {
  using nlohmann::json;
  const Fill& fill = buffer.fill;
  const auto end = [&](std::size_t i) -> json {
    if (i < buffer.fill_ends.size()) return expr_to_json(buffer.fill_ends[i]);
    if (!fill.exact) return i == 0 ? fill.a : fill.b;
    const std::uint64_t bits = (*fill.exact)[i];
    if (buffer.type == ScalarType::kU64) return bits;
    return static_cast<std::int64_t>(bits);
  };
  for (const auto& [word, kind] : kWords)
    if (kind == fill.kind) return word;
  switch (fill.kind) {
    case Kind::kUniform:
      return {{"uniform", json::array({end(0), end(1)})}};
    case Kind::kNormal:
      return {{"normal", json::array({end(0), end(1)})}};
    case Kind::kIntegers:
      return {{"integers", json::array({end(0), end(1)})}};
    case Kind::kSorted:
      return {{"sorted", json::array({end(0), end(1)})}};
    case Kind::kConstant:
      return {{"constant", end(0)}};
    case Kind::kIota:
      return {{"iota", json::array({end(0), end(1)})}};
    case Kind::kFile:
      if (fill.offset != 0) return {{"file", fill.path}, {"offset", fill.offset}};
      return {{"file", fill.path}};
    default:
      return nullptr;  // hone's own variations of a fill: no task has them
  }
}

std::string set_fill_ends(Fill& fill, ScalarType type, const std::vector<std::int64_t>& values) {
  std::vector<End> ends;
  for (const std::int64_t value : values)
    ends.push_back(
        {.value = static_cast<double>(value), .bits = whole(value), .is_whole = true, .expr = {}});
  if (ends.empty()) return "";
  store(fill, type, ends);
  const bool range =
      fill.kind == Kind::kUniform || fill.kind == Kind::kIntegers || fill.kind == Kind::kSorted;
  if (range && is_above(ends[0], ends[1]))
    return fmt::format("low {} is above high {}", values[0], values[1]);
  if (fill.kind == Kind::kNormal && values[1] < 0)
    return fmt::format("the deviation {} is negative", values[1]);
  auto mistake = misfit(ends[0], type, false);
  return mistake.empty() && range ? misfit(ends[1], type, false) : mistake;
}

std::string fill_mistake(const ConcreteBuffer& buffer) {
  const ScalarType type = buffer.type;
  switch (buffer.fill.kind) {
    case Kind::kPermutation: {
      if (is_float(type) || type == ScalarType::kBool)
        return fmt::format("a permutation is of integers, not of {}", to_string(type));
      const auto last =
          static_cast<std::uint64_t>(buffer.shape.empty() ? 0 : buffer.shape.back() - 1);
      if (last > whole_range(type).high)
        return fmt::format("a permutation of 0 to {} does not fit {}", last, to_string(type));
      return "";
    }
    case Kind::kLowerTriangle:
    case Kind::kUpperTriangle:
      if (!is_float(type))
        return fmt::format("a triangular matrix is of a floating type, not of {}", to_string(type));
      return buffer.shape.size() < 2 ? "a triangular matrix needs two extents" : "";
    default:
      return "";
  }
}

}  // namespace hone
