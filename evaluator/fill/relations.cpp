#include "evaluator/fill/relations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "evaluator/fill/formula_cpu.h"

namespace hone {
namespace {

// Deviations of a normal fill that count as its range: of 2^30 values two or so are beyond six.
constexpr double kDeviations = 6, kUsualDeviations = 3;
constexpr double kLeastShared = 1.0 / 16;  // of the wider of two ranges
constexpr double kLargestNumber = 0x1p62;  // of which multiples are taken
constexpr int kRelations[] = {HONE_SAME,         HONE_MIRRORED, HONE_ROWS_MOVED, HONE_NEARLY,
                              HONE_MULTIPLES_OF, HONE_REPEATED, HONE_REPEATED};

/// What the contents of both may be; none: they have no type or no range in common.
std::optional<Fill> shared_fill(ScalarType type, const Fill& fill, const ConcreteBuffer& other) {
  if (type != other.type) return std::nullopt;
  if (fill == other.fill) return fill;
  Fill one = fill, two = other.fill;
  const auto is_plain = [](const Fill& f) {
    return !f.exact && (f.kind == Fill::Kind::kUniform || f.kind == Fill::Kind::kNormal ||
                        f.kind == Fill::Kind::kIntegers);
  };
  const auto is_whole = [&](const Fill& f) { return f.kind == Fill::Kind::kIntegers; };
  if (!is_plain(one) || !is_plain(two) || one.through != two.through) return std::nullopt;
  if (is_float(type) && is_whole(one) != is_whole(two)) return std::nullopt;
  for (Fill* const f : {&one, &two}) {
    bound(*f);
    if (f->kind == Fill::Kind::kNormal) f->kind = Fill::Kind::kUniform;
  }
  const double wider = std::max(one.b - one.a, two.b - two.a);
  one.a = std::max(one.a, two.a);
  one.b = std::min(one.b, two.b);
  one.unstated = one.unstated && two.unstated;
  if (!(one.b - one.a >= kLeastShared * wider) || one.b <= one.a) return std::nullopt;
  return one;
}

/// Buffers any of which may hold what another one does, by name, and what that is.
struct Kin {
  std::vector<ConcreteBuffer*> buffers;
  Fill fill;
};

enum class Ranges { kSame, kOverlapping };

std::vector<Kin> kin_of(const std::vector<ConcreteBuffer*>& varied, Ranges ranges) {
  std::vector<Kin> all;
  for (ConcreteBuffer* const buffer : varied) {
    bool found = false;
    for (Kin& kin : all) {
      const auto shared = shared_fill(kin.buffers.front()->type, kin.fill, *buffer);
      if (!shared || (ranges == Ranges::kSame && buffer->fill != kin.fill)) continue;
      kin.buffers.push_back(buffer);
      kin.fill = *shared;
      found = true;
      break;
    }
    if (!found) all.push_back({{buffer}, buffer->fill});
  }
  std::erase_if(all, [](const Kin& kin) { return kin.buffers.size() < 2; });
  return all;
}

/// Which of n buffers is like which: all like the first; each of the second half like one of the
/// first; or two neighbours alike.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t n, std::uint64_t choice) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const std::size_t half = n / 2;
  if (choice % 3 == 0)
    for (std::size_t i = 1; i < n; ++i) pairs.emplace_back(0, i);
  else
    for (std::size_t i = 0; i < half; ++i)
      pairs.push_back(choice % 3 == 1 ? std::pair(i, half + i) : std::pair(2 * i, 2 * i + 1));
  return pairs;
}

/// Two buffers, of which the second may hold multiples of what the first one holds.
std::vector<std::pair<ConcreteBuffer*, ConcreteBuffer*>> divisors_of(
    const std::vector<ConcreteBuffer*>& varied) {
  const auto ends = [](const ConcreteBuffer& buffer) {
    Fill fill = buffer.fill;
    bound(fill);
    return fill;
  };
  const auto is_plain = [](const ConcreteBuffer& buffer) {
    const Fill& f = buffer.fill;
    const bool random = f.kind == Fill::Kind::kUniform || f.kind == Fill::Kind::kIntegers ||
                        (f.kind == Fill::Kind::kNormal && is_float(buffer.type));
    return random && !f.exact && !is_whole_float(buffer) && buffer.type != ScalarType::kBool &&
           std::max(std::abs(f.a), std::abs(f.b)) < kLargestNumber;
  };
  std::vector<std::pair<ConcreteBuffer*, ConcreteBuffer*>> pairs;
  for (ConcreteBuffer* const one : varied) {
    for (ConcreteBuffer* const two : varied) {
      if (one == two || one->type != two->type || one->fill.through != two->fill.through) continue;
      if (!is_plain(*one) || !is_plain(*two)) continue;
      const Fill by = ends(*one), of = ends(*two);
      const double least = by.a > 0 ? by.a : by.b < 0 ? -by.b : 0;
      const double most_by = std::max(-by.a, by.b), most_of = std::max(-of.a, of.b);
      if (most_by <= 0 || most_of < 2 * least) continue;
      // The larger one, or the one of the wider range, is divided.
      if (one->elements() > two->elements()) continue;
      if (one->elements() == two->elements() && most_by > most_of) continue;
      pairs.emplace_back(one, two);
    }
  }
  return pairs;
}

void relate_by_multiples(const std::vector<ConcreteBuffer*>& varied, std::uint64_t choice) {
  const auto pairs = divisors_of(varied);
  if (pairs.empty()) return;
  const auto& [divisor, multiple] = pairs[choice % pairs.size()];
  fill_plainly(*divisor);
  fill_plainly(*multiple);
  divisor->fill.pattern = HONE_DIVISORS;
  Fill& fill = multiple->fill;
  fill.pattern = HONE_MULTIPLES_OF;
  fill.like = divisor->name;
  fill.like_a = divisor->fill.a;
  fill.like_b = divisor->fill.b;
  fill.like_count = divisor->elements();
}

}  // namespace

bool is_whole_float(const ConcreteBuffer& buffer) {
  return is_float(buffer.type) && buffer.fill.kind == Fill::Kind::kIntegers;
}

void bound(Fill& fill) {
  if (fill.kind != Fill::Kind::kNormal) return;
  const double middle = fill.a, usual = kUsualDeviations * fill.b, reach = kDeviations * fill.b;
  fill.a = middle - (middle - usual > 0 && middle - reach <= 0 ? usual : reach);
  fill.b = middle + (middle + usual < 0 && middle + reach >= 0 ? usual : reach);
}

void fill_plainly(ConcreteBuffer& buffer) {
  bound(buffer.fill);
  buffer.fill.kind = is_float(buffer.type) ? Fill::Kind::kUniform : Fill::Kind::kIntegers;
}

int forms_of_relations(bool floats) {
  // Of integers, whose sums are exact, more rests on the period.
  return static_cast<int>(std::size(kRelations)) - (floats ? 1 : 0);
}

void relate(const std::vector<ConcreteBuffer*>& varied, std::uint64_t seed) {
  const auto forms = static_cast<std::uint64_t>(forms_of_relations(is_float(varied.front()->type)));
  const int relation = kRelations[seed % forms];
  std::uint64_t choice = seed / forms;
  // A wide range that becomes the part it has in common with others loses most of its values.
  const bool overlapping = (choice >> 16 & 1U) != 0;
  std::vector<Kin> all = kin_of(varied, overlapping ? Ranges::kOverlapping : Ranges::kSame);
  if (all.empty()) all = kin_of(varied, Ranges::kOverlapping);
  if (relation == HONE_MULTIPLES_OF || all.empty()) return relate_by_multiples(varied, choice);
  for (Kin& kin : all) {
    const std::size_t n = kin.buffers.size();
    // What is nearly alike in pairs may cancel; where all is alike, everything may.
    auto pairs = pairs_of(n, relation == HONE_NEARLY && n > 2 ? 1 + choice % 2 : choice % 3);
    if (n != 4)
      std::ranges::rotate(kin.buffers,
                          kin.buffers.begin() + static_cast<std::ptrdiff_t>(choice / 3 % n));
    for (const auto& [first, second] : pairs) {
      ConcreteBuffer &one = *kin.buffers[first], &two = *kin.buffers[second];
      one.fill = two.fill = kin.fill;
      two.fill.pattern = relation;
      two.fill.like = one.name;
      if (relation == HONE_REPEATED && seed % forms == std::size(kRelations) - 1)
        two.fill.form = HONE_CURVE;
      const bool both = relation == HONE_REPEATED ||
                        (relation == HONE_NEARLY && is_float(one.type) && !is_whole_float(one));
      if (!both) continue;
      one.fill.pattern = relation;
      one.fill.like = one.name;
      one.fill.form = two.fill.form;
    }
  }
}

bool can_relate(const std::vector<ConcreteBuffer*>& varied) {
  return !kin_of(varied, Ranges::kOverlapping).empty() || !divisors_of(varied).empty();
}

}  // namespace hone
