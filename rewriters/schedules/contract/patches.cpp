#include "rewriters/schedules/contract/patches.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <utility>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"
#include "rewriters/schedules/contract/analysis.h"

namespace hone::schedules::contract {
namespace {

using nest::Node;
using nest::Nodes;

std::int64_t product(const std::vector<std::int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

/// constant + sum of coefficients x digits, those of rows first.
struct Linear {
  std::int64_t constant = 0;
  std::vector<std::int64_t> of;

  [[nodiscard]] bool operator==(const Linear&) const = default;
  [[nodiscard]] bool is_constant() const {
    return std::ranges::all_of(of, [](std::int64_t one) { return one == 0; });
  }
};

/// What a mask says of a dimension: at >= 0, and below `extent` where that is set.
struct Bounded {
  Linear at;
  std::optional<std::int64_t> extent;
};

class Reading {
 public:
  Reading(const Contraction& c, const Operand& operand) : c_(c), operand_(operand) {}

  std::optional<Patches> patches() {
    const Ref value = operand_.value;
    if (value->kind != Node::Kind::kLoad || operand_.type != ScalarType::kF32 ||
        value->type != ScalarType::kF32 || c_.batch_size != 1)
      return std::nullopt;
    const bool is_a = operand_.outer == c_.m;
    patches_.buffer = value->name;
    patches_.rows = is_a ? c_.m_digits : c_.n_digits;
    patches_.k = c_.k_digits;
    name_digits();
    const auto index = linear(value->args[0]);
    if (!index || !read_mask()) return std::nullopt;
    if (!divide(*index) || !choose()) return std::nullopt;
    return patches_;
  }

 private:
  Nodes& nodes() const { return *c_.nodes; }

  void name_digits() {
    std::vector<Ref> rows, k;
    for (const auto& [extents, named] :
         {std::pair{&patches_.rows, &rows}, std::pair{&patches_.k, &k}}) {
      for (const std::int64_t extent : *extents) {
        symbols_.push_back(nodes().new_symbol("digit", extent));
        extents_.push_back(extent);
        named->push_back(nodes().index(symbols_.back()));
      }
    }
    digits_ = {{operand_.outer, number_of(nodes(), patches_.rows, rows)},
               {operand_.k, number_of(nodes(), patches_.k, k)}};
  }

  std::optional<Linear> linear(Ref integer) const {
    const Ref by_digits = nodes().substitute(integer, digits_);
    if (by_digits->kind != Node::Kind::kSum) return std::nullopt;
    nest::Strides strides = nest::strides_in(by_digits, symbols_);
    if (!strides.others.empty()) return std::nullopt;
    return Linear{by_digits->constant, std::move(strides.of)};
  }

  /// What the mask says of whole dimensions: "at >= 0" and "extent - 1 - at >= 0".
  bool read_mask() {
    std::vector<Linear> upper;
    for (const Ref part : nest::conjuncts(operand_.mask)) {
      if (part->is_constant()) {
        if (part->constant == 0) return false;
        continue;
      }
      if (!part->is(Op::kNonNegative)) return false;
      auto at = linear(part->args[0]);
      if (!at || at->is_constant()) return false;
      // Coordinates grow with the digits of the rows: so this is "at >= 0" where one has a positive
      // coefficient, and else an upper bound of `at`.
      const bool counts_up = std::ranges::any_of(rows_of(*at), [](auto one) { return one > 0; });
      if (counts_up) {
        bounded_.push_back({std::move(*at), std::nullopt});
      } else {
        upper.push_back(std::move(*at));
      }
    }
    for (const Linear& one : upper) {
      Linear at{0, one.of};
      for (std::int64_t& of : at.of) of = -of;
      const auto same =
          std::ranges::find(bounded_, at.of, [](const Bounded& b) { return b.at.of; });
      // extent - 1 - at = one.constant - ..., and where nothing bounds `at` below it is 0 at least.
      if (same == bounded_.end()) {
        at.constant = -least(at);
        bounded_.push_back({at, std::nullopt});
        bounded_.back().extent = one.constant + at.constant + 1;
      } else {
        const std::int64_t extent = one.constant + same->at.constant + 1;
        same->extent = std::min(same->extent.value_or(extent), extent);
      }
    }
    return true;
  }
  [[nodiscard]] std::vector<std::int64_t> rows_of(const Linear& at) const {
    return {at.of.begin(), at.of.begin() + static_cast<std::ptrdiff_t>(patches_.rows.size())};
  }
  /// Least and largest of what the digits add.
  [[nodiscard]] std::int64_t least(const Linear& at) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < at.of.size(); ++i)
      sum += std::min<std::int64_t>(0, at.of[i] * (extents_[i] - 1));
    return sum;
  }
  [[nodiscard]] std::int64_t largest(const Linear& at) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < at.of.size(); ++i)
      sum += std::max<std::int64_t>(0, at.of[i] * (extents_[i] - 1));
    return sum;
  }

  /// The index as a sum of strides x dimensions: first those that the mask knows, then what is
  /// left, where a digit belongs to the dimension that it does not step out of.
  bool divide(const Linear& index) {
    Linear left = index;
    for (const Bounded& one : bounded_) {
      std::int64_t stride = 0;
      for (std::size_t i = 0; i < left.of.size(); ++i) {
        if (one.at.of[i] == 0) continue;
        if (left.of[i] % one.at.of[i] != 0) return false;
        const std::int64_t here = left.of[i] / one.at.of[i];
        if (here <= 0 || (stride != 0 && here != stride)) return false;
        stride = here;
        left.of[i] = 0;
      }
      left.constant -= stride * one.at.constant;
      const std::int64_t reach = one.at.constant + largest(one.at) + 1;
      add(stride, std::min(one.extent.value_or(reach), reach), one.at);
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < left.of.size(); ++i)
      if (left.of[i] != 0) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::abs(left.of[i]); });
    std::vector<std::pair<std::int64_t, Linear>> groups;
    for (const std::size_t i : order) {
      const std::int64_t stride = std::abs(left.of[i]);
      const bool same = !groups.empty() && stride % groups.back().first == 0 &&
                        (stride == groups.back().first ||
                         stride < groups.back().first * (largest(groups.back().second) -
                                                         least(groups.back().second) + 1));
      if (!same) groups.push_back({stride, {0, std::vector<std::int64_t>(left.of.size())}});
      groups.back().second.of[i] = left.of[i] / groups.back().first;
    }
    for (auto& [stride, at] : groups) {
      // Nothing is masked here: from 0 on.
      at.constant = -least(at);
      left.constant -= stride * at.constant;
      add(stride, at.constant + largest(at) + 1, at);
    }
    return left.constant == 0 && !patches_.dimensions.empty();
  }
  void add(std::int64_t stride, std::int64_t extent, const Linear& at) {
    const auto rows = static_cast<std::ptrdiff_t>(patches_.rows.size());
    patches_.dimensions.push_back({.stride = stride,
                                   .extent = extent,
                                   .constant = at.constant,
                                   .of_rows = {at.of.begin(), at.of.begin() + rows},
                                   .of_k = {at.of.begin() + rows, at.of.end()}});
  }

  /// Which digits are width, height and channel, and the dimensions in the order of boxes.
  bool choose() {
    auto& all = patches_.dimensions;
    std::ranges::stable_sort(all, std::greater<>(), &Patches::Dimension::stride);
    if (all.back().stride != 1) return false;
    patches_.width = row_digit(all.back());
    if (patches_.width < 0) return false;
    std::size_t channel = all.size(), height = all.size();
    for (std::size_t d = 0; d + 1 < all.size(); ++d) {
      const int digit = channel_digit(all[d]);
      if (digit < 0 ||
          (patches_.channel >= 0 && extent_of_k(patches_.channel) >= extent_of_k(digit)))
        continue;
      patches_.channel = digit;
      channel = d;
    }
    if (patches_.channel < 0 || extent_of_k(patches_.channel) < 8) return false;
    for (std::size_t d = all.size() - 1; d-- > 0 && patches_.height < 0;)
      if (d != channel && (patches_.height = row_digit(all[d])) >= 0) height = d;
    std::vector<Patches::Dimension> ordered;
    for (std::size_t d = 0; d + 1 < all.size(); ++d)
      if (d != channel && d != height) ordered.push_back(all[d]);
    if (height < all.size()) {
      ordered.push_back(all[height]);
      find_window(all[height]);
    } else {
      // One row, of which there is always the first.
      ordered.push_back({.stride = all[channel].stride,
                         .extent = 1,
                         .of_rows = std::vector<std::int64_t>(patches_.rows.size()),
                         .of_k = std::vector<std::int64_t>(patches_.k.size())});
    }
    ordered.push_back(all[channel]);
    ordered.push_back(all.back());
    find_window(all.back());
    all = std::move(ordered);
    if (all.size() > 5 || find_repeated()) return false;
    // Strides of a tensor map but the last are multiples of 16 bytes.
    return std::ranges::all_of(all, [&](const Patches::Dimension& one) {
      return one.extent > 0 && (&one == &all.back() || one.stride % 4 == 0);
    });
  }
  [[nodiscard]] std::int64_t extent_of_k(int digit) const {
    return patches_.k[static_cast<std::size_t>(digit)];
  }
  void find_window(const Patches::Dimension& one) {
    for (std::size_t i = 0; i < one.of_k.size(); ++i)
      if (one.of_k[i] != 0) patches_.window.push_back(static_cast<int>(i));
  }
  /// Whether a digit of k moves along height and width at once.
  bool find_repeated() {
    std::ranges::sort(patches_.window);
    return std::ranges::adjacent_find(patches_.window) != patches_.window.end() ||
           std::ranges::find(patches_.window, patches_.channel) != patches_.window.end();
  }
  /// The one digit of the rows that counts this dimension up; -1: there is none, or another.
  [[nodiscard]] static int row_digit(const Patches::Dimension& one) {
    int found = -1;
    for (std::size_t i = 0; i < one.of_rows.size(); ++i) {
      if (one.of_rows[i] == 0) continue;
      if (one.of_rows[i] < 0 || found >= 0) return -1;
      found = static_cast<int>(i);
    }
    return found;
  }
  /// The digit of k that alone counts this dimension, in steps of 1; -1: there is none.
  [[nodiscard]] static int channel_digit(const Patches::Dimension& one) {
    int found = -1;
    for (const std::int64_t of : one.of_rows)
      if (of != 0) return -1;
    for (std::size_t i = 0; i < one.of_k.size(); ++i) {
      if (one.of_k[i] == 0) continue;
      if (one.of_k[i] != 1 || found >= 0) return -1;
      found = static_cast<int>(i);
    }
    return one.constant == 0 ? found : -1;
  }

  const Contraction& c_;
  const Operand& operand_;
  Patches patches_;
  std::vector<SymbolId> symbols_;      ///< of the digits, those of rows first
  std::vector<std::int64_t> extents_;  ///< likewise
  Nodes::Substitution digits_;
  std::vector<Bounded> bounded_;
};

bool contains(const std::vector<int>& all, std::size_t digit) {
  return std::ranges::find(all, static_cast<int>(digit)) != all.end();
}

std::int64_t points_of(const std::vector<std::int64_t>& extents, const std::vector<int>& chosen) {
  std::int64_t points = 1;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (contains(chosen, i)) points *= extents[i];
  return points;
}

/// The chosen digits of a number; the others stay as they are.
void split(Nodes& nodes, Ref number, const std::vector<std::int64_t>& extents,
           const std::vector<int>& chosen, std::vector<Ref>& digits) {
  digits.resize(extents.size());
  std::int64_t below = 1;
  const std::int64_t all = points_of(extents, chosen);
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (!contains(chosen, i)) continue;
    Ref digit = nodes.divide(number, nodes.integer(below));
    if (below * extents[i] < all) digit = nodes.remainder(digit, nodes.integer(extents[i]));
    digits[i] = digit;
    below *= extents[i];
  }
}

std::vector<int> all_but(std::size_t count, const std::vector<int>& left_out) {
  std::vector<int> chosen;
  for (std::size_t i = 0; i < count; ++i)
    if (!contains(left_out, i)) chosen.push_back(static_cast<int>(i));
  return chosen;
}

/// Of k but window and channel.
std::vector<int> other_digits(const Patches& patches) {
  std::vector<int> left_out = patches.window;
  left_out.push_back(patches.channel);
  return all_but(patches.k.size(), left_out);
}

/// What the window adds along a dimension: at least, and at most.
std::pair<std::int64_t, std::int64_t> reach(const Patches& patches, const Patches::Dimension& one) {
  std::int64_t low = one.constant, high = one.constant;
  for (const int digit : patches.window) {
    const auto i = static_cast<std::size_t>(digit);
    const std::int64_t most = one.of_k[i] * (patches.k[i] - 1);
    (most < 0 ? low : high) += most;
  }
  return {low, high};
}

/// Where a box begins before its tile's first output: multiples of 16 bytes across.
std::int64_t first_across(const Patches& patches) {
  return nest::floor_divide(reach(patches, patches.across()).first, 4) * 4;
}
std::int64_t first_down(const Patches& patches) { return reach(patches, patches.down()).first; }

std::int64_t step_across(const Patches& patches) {
  return patches.across().of_rows[static_cast<std::size_t>(patches.width)];
}
std::int64_t step_down(const Patches& patches) {
  return patches.height < 0 ? 0 : patches.down().of_rows[static_cast<std::size_t>(patches.height)];
}

}  // namespace

std::int64_t Patches::places() const { return points_of(k, window); }
std::int64_t Patches::others() const { return points_of(k, other_digits(*this)); }

std::optional<Patches> patches_of(const Contraction& c, const Operand& operand) {
  return Reading(c, operand).patches();
}

std::optional<PatchTiling> tiling_of(const Patches& patches, std::int64_t rows) {
  constexpr std::int64_t kMostBytes = 56 * 1024;  // of a box, of which two have to fit
  constexpr std::int64_t kMostOfBox = 256;        // along a dimension
  constexpr std::int64_t kMost = 1 << 30;         // rows, and k
  const std::int64_t width = patches.rows[static_cast<std::size_t>(patches.width)];
  const std::int64_t height =
      patches.height < 0 ? 1 : patches.rows[static_cast<std::size_t>(patches.height)];
  const std::int64_t channels = patches.k[static_cast<std::size_t>(patches.channel)];
  const auto across = reach(patches, patches.across()), down = reach(patches, patches.down());
  std::optional<PatchTiling> best;
  std::pair<std::int64_t, std::int64_t> least;
  for (std::int64_t wide = rows; wide >= (patches.height < 0 ? rows : 8); wide /= 2) {
    for (const std::int64_t box : {32, 16, 8}) {
      PatchTiling one{.width = wide, .height = rows / wide, .channels = box};
      one.tiles_across = ceil_divide(width, one.width);
      one.tiles_down = ceil_divide(height, one.height);
      one.others = product(patches.rows) / width / height;
      one.blocks = ceil_divide(channels, box);
      one.groups = ceil_divide(patches.places(), 32 / box);
      one.steps = one.blocks * patches.others();
      one.line = (one.width - 1) * step_across(patches) + across.second - first_across(patches) + 1;
      // Lanes that read four lines at once meet in no bank.
      while (one.line % 32 != 8 && one.line % 32 != 24) ++one.line;
      one.box_rows = (one.height - 1) * step_down(patches) + down.second - down.first + 1;
      if (one.box_elements() * 4 > kMostBytes || one.line > kMostOfBox ||
          one.box_rows > kMostOfBox || one.tiles() * rows > kMost || one.k_size() > kMost)
        continue;
      const std::pair cost{one.tiles() * one.k_size(), one.box_elements() / box};
      if (best && cost >= least) continue;
      least = cost;
      best = one;
    }
  }
  return best;
}

PatchDigits digits_of_row(Nodes& nodes, const Patches& patches, const PatchTiling& tiling,
                          Ref row) {
  const auto number = [&](std::int64_t value) { return nodes.integer(value); };
  const std::int64_t rows = tiling.width * tiling.height;
  const Ref tile = nodes.divide(row, number(rows)), in_tile = nodes.remainder(row, number(rows));
  const Ref across = nodes.remainder(tile, number(tiling.tiles_across));
  const Ref next = nodes.divide(tile, number(tiling.tiles_across));
  PatchDigits at{{}, nodes.boolean(true)};
  split(nodes, nodes.divide(next, number(tiling.tiles_down)), patches.rows,
        all_but(patches.rows.size(), {patches.width, patches.height}), at.digits);
  const auto place = [&](int digit, Ref of_tile, std::int64_t size, Ref inside) {
    if (digit < 0) return;
    Ref& here = at.digits[static_cast<std::size_t>(digit)];
    here = nodes.add(nodes.scale(of_tile, size), inside);
    at.there = nodes.both(at.there,
                          nodes.less(here, number(patches.rows[static_cast<std::size_t>(digit)])));
  };
  place(patches.width, across, tiling.width, nodes.remainder(in_tile, number(tiling.width)));
  place(patches.height, nodes.remainder(next, number(tiling.tiles_down)), tiling.height,
        nodes.divide(in_tile, number(tiling.width)));
  return at;
}

namespace {

/// Channel and other digits of a step.
void split_step(Nodes& nodes, const Patches& patches, const PatchTiling& tiling, Ref step,
                Ref channel_in_block, std::vector<Ref>& digits) {
  const Ref others = nodes.integer(patches.others());
  split(nodes, nodes.remainder(step, others), patches.k, other_digits(patches), digits);
  digits[static_cast<std::size_t>(patches.channel)] =
      nodes.add(nodes.scale(nodes.divide(step, others), tiling.channels), channel_in_block);
}

}  // namespace

PatchDigits digits_of_k(Nodes& nodes, const Patches& patches, const PatchTiling& tiling, Ref k) {
  const auto number = [&](std::int64_t value) { return nodes.integer(value); };
  const Ref tile = nodes.divide(k, number(32)), in_tile = nodes.remainder(k, number(32));
  const Ref place =
      nodes.add(nodes.scale(nodes.remainder(tile, number(tiling.groups)), 32 / tiling.channels),
                nodes.divide(in_tile, number(tiling.channels)));
  PatchDigits at{{}, nodes.less(place, number(patches.places()))};
  split(nodes, place, patches.k, patches.window, at.digits);
  split_step(nodes, patches, tiling, nodes.divide(tile, number(tiling.groups)),
             nodes.remainder(in_tile, number(tiling.channels)), at.digits);
  const auto channel = static_cast<std::size_t>(patches.channel);
  at.there = nodes.both(at.there, nodes.less(at.digits[channel], number(patches.k[channel])));
  return at;
}

std::vector<Ref> place_of_box(Nodes& nodes, const Patches& patches, const PatchTiling& tiling,
                              Ref tile, Ref step) {
  const PatchDigits rows =
      digits_of_row(nodes, patches, tiling, nodes.scale(tile, tiling.width * tiling.height));
  std::vector<Ref> of_k(patches.k.size());
  split_step(nodes, patches, tiling, step, nodes.integer(0), of_k);
  std::vector<Ref> place;
  for (std::size_t d = 0; d < patches.dimensions.size(); ++d) {
    const Patches::Dimension& one = patches.dimensions[d];
    // Along the window from its first place on.
    Ref at = nodes.integer(&one == &patches.across() ? first_across(patches)
                           : &one == &patches.down() ? first_down(patches)
                                                     : one.constant);
    for (std::size_t i = 0; i < one.of_rows.size(); ++i)
      if (one.of_rows[i] != 0) at = nodes.add(at, nodes.scale(rows.digits[i], one.of_rows[i]));
    for (std::size_t i = 0; i < one.of_k.size(); ++i)
      if (one.of_k[i] != 0 && of_k[i] != nullptr)
        at = nodes.add(at, nodes.scale(of_k[i], one.of_k[i]));
    place.push_back(at);
  }
  return place;
}

PatchDigits place_in_box(Nodes& nodes, const Patches& patches, const PatchTiling& tiling,
                         Ref number) {
  PatchDigits at{{}, nodes.less(number, nodes.integer(patches.places()))};
  // Beyond the last place the last one's, which does not count.
  if (!at.there->is_constant() || at.there->constant == 0)
    number = nodes.op(Op::kMin, ScalarType::kI64, {number, nodes.integer(patches.places() - 1)});
  std::vector<Ref> digits;
  split(nodes, number, patches.k, patches.window, digits);
  Ref across = nodes.integer(patches.across().constant - first_across(patches));
  Ref down = nodes.integer(patches.down().constant - first_down(patches));
  for (const int digit : patches.window) {
    const auto i = static_cast<std::size_t>(digit);
    across = nodes.add(across, nodes.scale(digits[i], patches.across().of_k[i]));
    down = nodes.add(down, nodes.scale(digits[i], patches.down().of_k[i]));
  }
  at.digits = {nodes.add(nodes.scale(down, tiling.channels * tiling.line), across)};
  return at;
}

PatchSteps steps_in_box(const Patches& patches, const PatchTiling& tiling) {
  return {step_across(patches), step_down(patches) * tiling.channels * tiling.line};
}

Ref number_of(Nodes& nodes, const std::vector<std::int64_t>& extents,
              const std::vector<Ref>& digits) {
  Ref number = nodes.integer(0);
  for (std::size_t i = 0; i < extents.size(); ++i)
    number = nodes.add(nodes.scale(number, extents[i]), digits[i]);
  return number;
}

}  // namespace hone::schedules::contract
