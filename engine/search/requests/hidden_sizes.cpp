#include "engine/search/requests/hidden_sizes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "engine/search/random.h"

namespace hone {
namespace {

constexpr int kTries = 20;
constexpr std::size_t kMostBindings = 24;  // of many sizes; a request holds 64 checks
constexpr std::int64_t kFriendly = 16;
constexpr std::int64_t kRemainders = 64;
constexpr double kGrow = 1.7;
constexpr std::int64_t kMostGrowth = 16;  // times the largest check size
// Times the timed ones.
constexpr std::pair<double, double> kBelow = {0.6, 1.0}, kAbove = {1.0, 1.4}, kFarAbove = {1.5, 3};
constexpr std::int64_t kMostStep = 1024;  // of which constraints want multiples
constexpr double kNumbersOfAnInt = 2.0 * (1U << 30);
constexpr double kFarLeast = 3, kFarMost = 5;
constexpr double kMostBytes = 4;                      // times what the timed sizes take
constexpr double kMostLargeBytes = 2.0 * (1U << 30);  // if that is not less than those take
constexpr double kNumbersOf32Bits = 4.0 * (1U << 30);
constexpr double kMostBytesBeyond = 64.0 * (1U << 30);  // as GPUs have; few pages are made
constexpr double kMostWork = 8;  // times the product of all sizes at any check: it is emulated

bool is_prime(std::int64_t n) {
  if (n < 2) return false;
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

struct Range {
  std::int64_t low, high, timed;
  std::int64_t multiple = 1;  ///< of which every listed size is one
  std::int64_t step = 1;      ///< of which the constraints want multiples
};

class Chooser {
 public:
  Chooser(const Task& task, std::uint64_t seed,
          const std::function<bool(const Bindings&)>& affordable)
      : task_(task), random_(seed), affordable_(affordable) {
    for (const auto& [name, timed] : task.sizes) {
      Range range{timed, 0, timed};
      bool fixed = true;
      for (const Bindings& check : task.check_sizes) {
        const auto listed = check.find(name);
        if (listed == check.end()) continue;
        range.low = std::min(range.low, listed->second);
        range.high = std::max(range.high, listed->second);
        fixed = fixed && listed->second == timed;
      }
      if (fixed) the_same_.push_back(name);
      if (fixed || range.high == 0) continue;
      range.multiple = task.specialize ? common_multiple(name, timed) : 1;
      ranges_.emplace(name, range);
    }
    for (auto& [name, range] : ranges_) range.step = step_of(name);
    for (const Bindings& check : task.check_sizes) most_work_ = std::max(most_work_, work(check));
  }

  std::vector<Bindings> run() {
    std::vector<Bindings> result;
    const auto add = [&](const std::optional<Bindings>& sizes) {
      if (sizes && std::ranges::find(result, *sizes) == result.end()) result.push_back(*sizes);
    };
    if (!ranges_.empty()) add(all_odd());
    for (const auto& [name, range] : ranges_) add(one_large(name));
    if (task_.specialize) return result;
    if (!ranges_.empty()) add(near_powers_of_two());
    for (const auto& [name, range] : ranges_) add(one_above(name));
    if (ranges_.size() > 1) add(all_equal());
    for (const auto& [name, range] : ranges_) add(one_is_one(name));
    add(all_are_one());
    for (const auto& [name, range] : ranges_)
      for (const auto& [other, its] : ranges_)
        if (name != other) add(multiple_of(name, other));
    for (const auto& name : the_same_)
      for (const bool above : {false, true}) add(other_than_timed(name, above));
    while (result.size() > kMostBindings)
      result.erase(result.begin() + static_cast<std::ptrdiff_t>(random_.index(result.size())));
    return result;
  }

  std::vector<Bindings> of_all_remainders() {
    std::vector<Bindings> result;
    if (task_.specialize || ranges_.empty()) return result;
    std::map<std::string, std::vector<std::int64_t>> orders;
    for (const auto& [name, range] : ranges_) {
      auto& order = orders[name];
      for (std::int64_t i = 0; i < kRemainders; ++i) order.push_back(i);
      for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random_.index(i + 1)]);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(kRemainders); ++i) {
      Bindings sizes = task_.sizes;
      for (const auto& [name, range] : ranges_) {
        const std::int64_t least = orders.at(name)[i] == 0 ? kRemainders : orders.at(name)[i];
        const auto more = std::clamp<std::int64_t>((range.high - least) / kRemainders, 0, 2);
        sizes[name] = least + kRemainders * static_cast<std::int64_t>(
                                                random_.index(static_cast<std::size_t>(more + 1)));
      }
      if (allowed(sizes) && is_affordable(sizes)) result.push_back(std::move(sizes));
    }
    return result;
  }

  std::vector<Bindings> large() {
    std::vector<Bindings> result;
    const auto add = [&](const std::optional<Bindings>& sizes) {
      if (sizes && std::ranges::find(result, *sizes) == result.end()) result.push_back(*sizes);
    };
    if (task_.specialize) return result;
    for (const auto& part : {kAbove, kBelow})
      if (ranges_.size() > 1) add(several_large("", part));
    if (ranges_.size() > 2) {
      const auto small = static_cast<std::ptrdiff_t>(random_.index(ranges_.size()));
      add(several_large(std::next(ranges_.begin(), small)->first, kAbove));
    }
    for (const auto& [name, range] : ranges_) add(far_above(name));
    for (const auto& [name, range] : ranges_) add(beyond_32_bits(name));
    if (ranges_.size() > 1) add(all_far_above());
    return result;
  }

 private:
  /// The least number up to kMostStep of which the constraints take multiples, at some check's
  /// sizes: a power of two, if there is one.
  [[nodiscard]] std::int64_t step_of(const std::string& name) const {
    const Range& range = ranges_.at(name);
    const auto takes = [&](std::int64_t step) {
      return std::ranges::any_of(task_.check_sizes, [&](const Bindings& check) {
        Bindings sizes = task_.sizes;
        for (const auto& [listed, value] : check) sizes[listed] = value;
        const std::int64_t first = std::max<std::int64_t>(1, range.low / step);
        for (std::int64_t i = 0; i < 4; ++i) {
          sizes[name] = (first + i) * step;
          if (!allowed(sizes)) return false;
        }
        return true;
      });
    };
    if (takes(1)) return 1;
    for (std::int64_t step = 2; step <= kMostStep; step *= 2)
      if (takes(step)) return step;
    for (std::int64_t step = 3; step <= kMostStep; ++step)
      if (takes(step)) return step;
    return 1;
  }

  /// The size next to `value` that the constraints may take; where they want multiples, an odd one.
  [[nodiscard]] static std::int64_t stepped(const Range& range, std::int64_t value) {
    return range.step == 1 ? value
                           : (std::max<std::int64_t>(1, value / range.step) | 1) * range.step;
  }

  /// An odd number of `multiple`s.
  std::int64_t odd_multiple(double least, double most, std::int64_t multiple) {
    const auto times = [&](double value) {
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(value) / multiple);
    };
    return odd(times(least), times(most)) * multiple;
  }

  [[nodiscard]] static double bytes(const ConcreteProgram& program) {
    double sum = 0;
    for (const auto& buffer : program.buffers) sum += static_cast<double>(buffer.bytes());
    return sum;
  }

  [[nodiscard]] static double most_elements(const ConcreteProgram& program) {
    std::int64_t most = 1;
    for (const auto& buffer : program.buffers) most = std::max(most, buffer.elements());
    return static_cast<double>(most);
  }

  [[nodiscard]] bool fits_in_memory(const Bindings& sizes) const {
    const auto timed = instantiate(task_.reference, task_.sizes);
    const auto here = instantiate(task_.reference, sizes);
    if (!timed || !here) return false;
    const double most =
        std::max(bytes(*timed), std::min(kMostBytes * bytes(*timed), kMostLargeBytes));
    return bytes(*here) <= most;
  }

  /// All as large as timed, but for `small`.
  std::optional<Bindings> several_large(const std::string& small,
                                        const std::pair<double, double>& part) {
    for (int i = 0; i < kTries; ++i) {
      Bindings sizes = task_.sizes;
      for (const auto& [name, range] : ranges_) {
        const auto timed = static_cast<double>(range.timed);
        sizes[name] = name == small ? range.low
                                    : odd_multiple(part.first * timed, part.second * timed,
                                                   range.step << (i / 4));
      }
      if (allowed(sizes) && fits_in_memory(sizes)) return sizes;
    }
    return std::nullopt;
  }

  /// All well above the timed ones. Where a product of all sizes passes what an int holds at such
  /// sizes alone, it does.
  std::optional<Bindings> all_far_above() {
    constexpr double kShrink = 0.95;
    std::optional<Bindings> found;
    double least = kFarAbove.first, most = kFarAbove.second;
    for (int i = 0; i < 4 * kTries; ++i) {
      Bindings sizes = task_.sizes;
      for (const auto& [name, range] : ranges_) {
        const auto timed = static_cast<double>(range.timed);
        sizes[name] = odd_multiple(least * timed, most * timed, range.step << (i % kTries / 4));
      }
      const bool fits = fits_in_memory(sizes);
      if (!fits) most = std::max(least, kShrink * most);
      if (!fits || !allowed(sizes)) continue;
      if (!found || work(sizes) > work(*found)) found = sizes;
      if (work(task_.sizes) >= kNumbersOfAnInt || work(*found) > kNumbersOfAnInt) break;
    }
    return found;
  }

  std::optional<Bindings> far_above(const std::string& large) {
    for (int i = 0; i < kTries; ++i) {
      Bindings sizes = task_.sizes;
      for (const auto& [name, range] : ranges_) sizes[name] = range.low;
      const auto timed = static_cast<double>(ranges_.at(large).timed);
      sizes[large] =
          odd_multiple(kFarLeast * timed, kFarMost * timed, ranges_.at(large).step << (i / 4));
      if (allowed(sizes) && fits_in_memory(sizes)) return sizes;
    }
    return std::nullopt;
  }

  /// The largest buffer has more elements than 32 bits count: a reference that indexes with 64
  /// allows that.
  std::optional<Bindings> beyond_32_bits(const std::string& large) {
    const auto here = instantiate(task_.reference, task_.sizes);
    if (!here) return std::nullopt;
    const double times = kNumbersOf32Bits / most_elements(*here);
    const auto least = static_cast<double>(ranges_.at(large).timed) * times;
    if (times < kFarMost || 2 * least >= kNumbersOf32Bits) return std::nullopt;
    Bindings sizes = task_.sizes;
    for (int i = 0; i < kTries; ++i) {
      sizes[large] = odd_multiple(1.01 * least, 1.1 * least, ranges_.at(large).step << (i / 4));
      const auto beyond = instantiate(task_.reference, sizes);
      if (beyond && most_elements(*beyond) > kNumbersOf32Bits && allowed(sizes) &&
          bytes(*beyond) <= kMostBytesBeyond)
        return sizes;
    }
    return std::nullopt;
  }

  std::int64_t odd(std::int64_t low, std::int64_t high) {
    const auto n = low + static_cast<std::int64_t>(random_.index(
                             static_cast<std::size_t>(std::max<std::int64_t>(1, high - low + 1))));
    if (random_.chance(0.5)) return n | 1;
    for (std::int64_t prime = n; prime < 2 * n + 3; ++prime)
      if (is_prime(prime)) return prime;
    return n | 1;
  }

  /// What a candidate made for the timed sizes may count on: the power of two that divides every
  /// listed size, too.
  [[nodiscard]] std::int64_t common_multiple(const std::string& name, std::int64_t timed) const {
    std::int64_t multiple = 1;
    const auto divides = [&](std::int64_t n) {
      return timed % n == 0 && std::ranges::all_of(task_.check_sizes, [&](const Bindings& check) {
               const auto listed = check.find(name);
               return listed == check.end() || listed->second % n == 0;
             });
    };
    while (multiple < 64 && divides(2 * multiple)) multiple *= 2;
    return multiple;
  }

  static std::int64_t fitted(const Range& range, std::int64_t value) {
    return std::min(range.timed, (value + range.multiple - 1) / range.multiple * range.multiple);
  }

  static double work(const Bindings& sizes) {
    double product = 1;
    for (const auto& [name, value] : sizes) product *= static_cast<double>(value);
    return product;
  }

  std::optional<Bindings> all_odd() {
    std::int64_t divisor = 1;
    for (int i = 0; i < kTries; ++i) {
      Bindings sizes = task_.sizes;
      for (const auto& [name, range] : ranges_) {
        const std::int64_t low = std::max<std::int64_t>(1, range.low / 2 / divisor);
        sizes[name] = fitted(range, stepped(range, odd(low, std::max(low, range.high / divisor))));
      }
      if (!allowed(sizes)) continue;
      if (is_affordable(sizes)) return sizes;
      divisor *= 2;
    }
    return std::nullopt;
  }

  std::optional<Bindings> one_large(const std::string& large) {
    std::optional<Bindings> best;
    double factor = 2.2;
    for (int i = 0; i < kTries; ++i, factor *= kGrow) {
      Bindings sizes = task_.sizes;
      for (const auto& [name, range] : ranges_) {
        if (name == large) continue;
        const std::int64_t up = (range.low + kFriendly - 1) / kFriendly * kFriendly;
        sizes[name] = fitted(range, up <= range.high ? up : range.low);
      }
      const Range& range = ranges_.at(large);
      const auto least = static_cast<std::int64_t>(factor * static_cast<double>(range.high));
      if (least > kMostGrowth * range.high && best) break;
      // A size that the constraints want to be a multiple of something is tried as such, too.
      std::optional<Bindings> found;
      for (const std::int64_t value : {odd(least, least + least / 3), odd(least, least + least / 3),
                                       least / kFriendly * kFriendly + kFriendly}) {
        sizes[large] = fitted(range, stepped(range, value));
        if (!found && allowed(sizes)) found = sizes;
      }
      if (found) {
        if (best && work(*found) > kMostWork * most_work_) break;
        if (!is_affordable(*found)) break;
        best = found;
        if (several_blocks(*found, large)) break;
      }
      if (least >= range.timed) break;
    }
    return best;
  }

  /// Each size a power of two or next to one, about as large as the check sizes.
  std::optional<Bindings> near_powers_of_two() {
    for (int i = 0; i < kTries; ++i) {
      Bindings sizes = task_.sizes;
      for (const auto& [name, range] : ranges_) {
        const std::int64_t most = std::min(2 * range.high, range.timed);
        std::int64_t power = 2;
        while (2 * power <= std::max<std::int64_t>(range.low / 2, 2)) power *= 2;
        while (2 * power <= most && random_.chance(0.5)) power *= 2;
        sizes[name] = stepped(range, power - 1 + static_cast<std::int64_t>(random_.index(3)));
      }
      if (allowed(sizes) && is_affordable(sizes)) return sizes;
    }
    return std::nullopt;
  }

  /// Squares, of which a candidate may take one buffer for another.
  std::optional<Bindings> all_equal() {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = least;
    for (const auto& [name, range] : ranges_) {
      least = std::min(least, range.low);
      most = std::min(most, range.high);
    }
    for (int i = 0; i < kTries; ++i) {
      const std::int64_t value = odd(std::max<std::int64_t>(2, least >> (i / 4)), most >> (i / 4));
      Bindings sizes = task_.sizes;
      for (const auto& [name, range] : ranges_) sizes[name] = i % 4 == 3 ? least : value;
      if (allowed(sizes) && is_affordable(sizes)) return sizes;
    }
    return std::nullopt;
  }

  std::optional<Bindings> one_is_one(const std::string& small) {
    Bindings sizes = task_.sizes;
    for (const auto& [name, range] : ranges_) sizes[name] = name == small ? 1 : range.low;
    if (allowed(sizes) && is_affordable(sizes)) return sizes;
    return std::nullopt;
  }

  /// A size that has its timed value at each check has another one.
  std::optional<Bindings> other_than_timed(const std::string& name, bool above) {
    const std::int64_t timed = task_.sizes.at(name);
    for (int i = 0; i < kTries; ++i) {
      Bindings sizes = task_.sizes;
      for (const auto& [other, range] : ranges_) sizes[other] = range.low;
      // Next to the timed one first; then where constraints may want multiples.
      const std::int64_t far = i < 4 ? i + 1 : std::int64_t{1} << (i - 2) / 2;
      sizes[name] = above ? timed + far : timed - far;
      if (sizes[name] < 1) break;
      if (allowed(sizes) && is_affordable(sizes)) return sizes;
    }
    return std::nullopt;
  }

  std::optional<Bindings> all_are_one() {
    Bindings sizes = task_.sizes;
    for (const auto& [name, range] : ranges_) sizes[name] = 1;
    if (allowed(sizes) && is_affordable(sizes)) return sizes;
    return std::nullopt;
  }

  /// One size two, three or four times another.
  std::optional<Bindings> multiple_of(const std::string& large, const std::string& small) {
    for (int i = 0; i < kTries; ++i) {
      Bindings sizes = task_.sizes;
      for (const auto& [name, range] : ranges_) sizes[name] = range.low;
      const std::int64_t times = i == 0 ? 2 : 2 + static_cast<std::int64_t>(random_.index(3));
      const Range& range = ranges_.at(small);
      sizes[small] =
          stepped(range, std::max<std::int64_t>(1, odd(range.low, range.high) >> (i / 4)));
      sizes[large] = times * sizes[small];
      if (allowed(sizes) && is_affordable(sizes)) return sizes;
    }
    return std::nullopt;
  }

  /// One size above the timed one, the others as small as it takes for that to be affordable.
  std::optional<Bindings> one_above(const std::string& large) {
    const std::int64_t timed = ranges_.at(large).timed;
    std::int64_t power = 1;
    while (power <= timed) power *= 2;
    std::vector<std::int64_t> values = {timed + 1, odd(timed + 2, timed + timed / 3 + 3),
                                        power - 1, power,
                                        power + 1, timed + kFriendly,
                                        2 * timed};
    std::erase_if(values, [&](std::int64_t value) { return value <= timed; });
    // The last two are for constraints that want multiples.
    for (std::size_t i = values.size() - 2; i-- > 1;)
      std::swap(values[i], values[random_.index(i + 1)]);
    const std::int64_t step = ranges_.at(large).step;
    if (step > 1) values = {((timed / step + 1) | 1) * step, 2 * timed};
    for (std::int64_t divisor = 1; divisor <= 16; divisor *= 4) {
      for (const std::int64_t value : values) {
        Bindings sizes = task_.sizes;
        for (const auto& [name, range] : ranges_)
          sizes[name] =
              std::max<std::int64_t>(range.step, range.low / divisor / range.step * range.step);
        sizes[large] = value;
        if (allowed(sizes) && is_affordable(sizes)) return sizes;
      }
      if (ranges_.size() == 1) break;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_affordable(const Bindings& sizes) const {
    return !affordable_ || affordable_(sizes);
  }

  [[nodiscard]] bool allowed(const Bindings& sizes) const {
    Bindings bound = sizes;
    for (const auto& [name, values] : task_.tunables)
      if (!values.empty()) bound[name] = values.front();
    return std::ranges::all_of(task_.constraints, [&](const Expr& constraint) {
      const auto value = constraint.eval(bound);
      return value && *value != 0;
    });
  }

  /// In every dimension that grows with this size and has several at the timed sizes.
  [[nodiscard]] bool several_blocks(const Bindings& sizes, const std::string& large) const {
    const auto timed = instantiate(task_.reference, task_.sizes);
    Bindings without = task_.sizes;
    without[large] = ranges_.at(large).low;
    const auto smaller = instantiate(task_.reference, without);
    const auto here = instantiate(task_.reference, sizes);
    if (!timed || !smaller || !here) return true;
    for (std::size_t i = 0; i < here->launches.size(); ++i) {
      for (std::size_t d = 0; d < 3; ++d) {
        const bool grows = timed->launches[i].grid[d] > smaller->launches[i].grid[d];
        if (grows && timed->launches[i].grid[d] > 1 && here->launches[i].grid[d] < 2) return false;
      }
    }
    return true;
  }

  const Task& task_;
  Random random_;
  const std::function<bool(const Bindings&)>& affordable_;
  std::map<std::string, Range> ranges_;
  std::vector<std::string> the_same_;  ///< at all listed sizes
  double most_work_ = 1;
};

}  // namespace

std::vector<Bindings> large_sizes(const Task& task, std::uint64_t seed) {
  constexpr std::uint64_t kOther = 0x6C61726765;
  const std::function<bool(const Bindings&)> any;
  return Chooser(task, seed ^ kOther, any).large();
}

std::vector<Bindings> sizes_of_all_remainders(
    const Task& task, std::uint64_t seed, const std::function<bool(const Bindings&)>& affordable) {
  constexpr std::uint64_t kOther = 0x72656D61696E;
  return Chooser(task, seed ^ kOther, affordable).of_all_remainders();
}

std::vector<Bindings> hidden_sizes(const Task& task, std::uint64_t seed,
                                   const std::function<bool(const Bindings&)>& affordable) {
  return Chooser(task, seed, affordable).run();
}

}  // namespace hone
