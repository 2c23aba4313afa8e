// Running products of floats. A product in another order overflows or underflows elsewhere: where
// the row's values are 2^-200, then 2^200, the second half alone is infinite. So what threads,
// warps and tiles tell each other is a mantissa and an exponent that is an int of its own, so they
// never overflow.
//
// The kernel's own product has the range of its type: once it is 0 or infinite, it stays so, until
// it is NaN. So each thread multiplies its own elements in that type and in the row's order,
// starting from the pair before them. The first place where such a product is 0, infinite or NaN
// is the row's minimum of such places. After it each thread begins with what the product was there,
// 0, infinite or NaN, times the pair's mantissa: that has the sign, and is 0 or infinite where an
// element was, which makes NaN of the other.
//
// Among denormal numbers the kernel's product loses digits, and the pair has not lost them. Where
// it grows again, or is 0 in the end, this shows. So where blocks have whole rows that lie along
// memory, the row is walked: from the first vector in which the product is denormal or 0, vectors
// are multiplied one after another, to the place where the product is 0, infinite or NaN,
// or to the tile's end. Rows side by side in memory and tiles with a block each are not walked:
// they may leave the range at another place than the kernel, or not at all.
//
// Within rounding of the largest number, a product may be infinite at another place than in the
// kernel, in all ways: the pair rounds in another order.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/printing/text.h"
#include "rewriters/schedules/scan/scan_printer.h"

namespace hone::schedules::scan {
namespace {

/// Exponents of elements lie between: those of f64, denormals too.
constexpr std::int64_t kMostExponent = 1100;
/// Elements of f32's range of which a product cannot leave f64's.
constexpr int kFloatsAtOnce = 4;
/// Of a place, where others have 0, 1 or 2: the product becomes denormal there, or 0.
constexpr int kBecomesDenormal = 3;

constexpr const char* kProducts =
    R"(// A product that neither overflows nor underflows: of * 2^exponent. `of` is 0.5 to 1, or 0,
// infinite or NaN; after $times_few 2^-64 or more.
template <typename T>
struct $Product {
  T of;
  int exponent;
};

__device__ __forceinline__ $Product<double> $normal(double of, int exponent) {
  const int high = __double2hiint(of), bits = high >> 20 & 2047;
  if (bits == 0 || bits == 2047) return {of, exponent};
  return {__hiloint2double((high & 0x800fffff) | 0x3fe00000, __double2loint(of)),
          exponent + bits - 1022};
}
__device__ __forceinline__ $Product<float> $normal(float of, int exponent) {
  const int all = __float_as_int(of), bits = all >> 23 & 255;
  if (bits == 0 || bits == 255) return {of, exponent};
  return {__int_as_float((all & 0x807fffff) | 0x3f000000), exponent + bits - 126};
}

// Of at most 64 factors of at least 1/2 each: `of` is 2^-64 or more, so it is no denormal number.
template <typename T>
__device__ __forceinline__ $Product<T> $times_few($Product<T> a, $Product<T> b) {
  return {a.of * b.of, a.exponent + b.exponent};
}
template <typename T>
__device__ __forceinline__ $Product<T> $times($Product<T> a, $Product<T> b) {
  $Product<T> result = $normal(a.of * b.of, a.exponent + b.exponent);
  $limit
  return result;
}

// Of neighbours; kAtOnce of them stay in the range of double.
template <int kCount, int kAtOnce, typename T>
__device__ __forceinline__ $Product<T> $product_of(const T* values) {
  $Product<T> result = {T(0.5), 1};
#pragma unroll
  for (int first = 0; first < kCount; first += kAtOnce) {
    double part = values[first];
#pragma unroll
    for (int i = first + 1; i < kCount && i < first + kAtOnce; ++i) part *= values[i];
    const bool denormal = kAtOnce == 1 && fabs(part) < 0x1p-1022;
    const $Product<double> normal = $normal(denormal ? part * 0x1p64 : part, denormal ? -64 : 0);
    const $Product<T> next = {static_cast<T>(normal.of), normal.exponent};
    result = first == 0 ? next : $times(result, next);
  }
  return result;
}

// The same as a number.
__device__ __forceinline__ double $number_of($Product<double> value) {
  const int exponent = max(-1200, min(1200, value.exponent)), half = exponent >> 1;
  return value.of * __hiloint2double((1023 + half) << 20, 0) *
         __hiloint2double((1023 + exponent - half) << 20, 0);
}
__device__ __forceinline__ float $number_of($Product<float> value) {
  const int exponent = max(-240, min(240, value.exponent)), half = exponent >> 1;
  return value.of * __int_as_float((127 + half) << 23) *
         __int_as_float((127 + exponent - half) << 23);
}

template <typename T>
__device__ __forceinline__ $Product<T> $shuffle($Product<T> value, int lane, int width = 32) {
  return {__shfl_sync(0xffffffffu, value.of, lane, width),
          __shfl_sync(0xffffffffu, value.exponent, lane, width)};
}

template <typename T>
__device__ __forceinline__ $Product<T> $shuffle_up($Product<T> value, int step,
                                                  int width = 32) {
  return {__shfl_up_sync(0xffffffffu, value.of, step, width),
          __shfl_up_sync(0xffffffffu, value.exponent, step, width)};
}

template <typename T>
__device__ __forceinline__ $Product<T> $shuffle_xor($Product<T> value, int step) {
  return {__shfl_xor_sync(0xffffffffu, value.of, step),
          __shfl_xor_sync(0xffffffffu, value.exponent, step)};
}

// Where a product that is 0, infinite or NaN became so: 4 times the place, and 0, 1 or 2. A larger
// number where it is none of them.
template <typename T>
__device__ __forceinline__ int $left_at(T product, int at) {
  if (product != product) return 4 * at + 2;
  if (fabs(product) == T($infinity)) return 4 * at + 1;
  return product == 0 ? 4 * at : $never;
}

// If the product of a row becomes 0, infinite or NaN at these elements: 4 times where they begin,
// and the kind ($left_at).$or_denormal Else a larger number. `total`: a product of all these
// elements, and others.
template <int kCount, int kAtOnce, typename T>
__device__ __forceinline__ int $leaves($Product<T> before, $Product<T> total, const T* values,
                                       int at) {
  // Four floats do not take a product of this size out of the range of double.
  constexpr bool kFit = sizeof(T) == 8 && kAtOnce > 1 && kCount <= kAtOnce;
  if (kFit && abs(before.exponent) < 300 && total.of != 0 && fabs(total.of) <= 1) return $never;
  T product = $number_of(before);
  $begin
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    $look
  }
  $denormal
  return $left_at(product, at);
}

// Each value becomes the product up to it$exclusive. Where that has left the range before, it
// begins as what it was there, with the sign that it has here.
template <int kCount, typename T>
__device__ __forceinline__ void $multiply($Product<T> before, T* values, int at, int left) {
  const int kind = left % 4;
  const T stays = kind == 0 ? T(0) : T(kind == 1 ? $infinity : $nan);
  T product = left < 4 * at ? before.of * stays : $number_of(before);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    $step
  }
}

)";

constexpr const char* kWalk =
    R"(template <typename T>
__device__ __forceinline__ $Product<T> $pair_of(T value) {
  const bool denormal = fabs(value) < $least;
  return $normal(denormal ? value * T(0x1p64) : value, denormal ? -64 : 0);
}

// Where to begin a walk; $never: there is none.
__device__ __forceinline__ int $walk_from(int left) {
  return left % 4 == $becomes_denormal && left != $never ? left / 4 : $never;
}

// Vectors one after another, a lane's each, from the place `from` to the one where the product is
// 0, infinite or NaN: that becomes `left`. Each value becomes the product up to it$exclusive, with
// the digits that are left to the kernel.
template <int kCount, int kLanes, typename T>
__device__ __forceinline__ void $walk($Product<T> before, T* values, int at, int from, int& left,
                                      T& product) {
  const unsigned ahead = __ballot_sync(0xffffffffu, at >= from && left == $never);
  if (ahead == 0) return;
#pragma unroll 1
  for (int turn = kLanes == 32 ? __ffs(ahead) - 1 : 0; turn < kLanes; ++turn) {
    if (threadIdx.x % kLanes == turn && at >= from && left == $never) {
      if (at == from) product = $number_of(before);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        $step
      }
      left = $left_at(product, at);
    }
    product = __shfl_sync(0xffffffffu, product, turn, kLanes);
    left = __shfl_sync(0xffffffffu, left, turn, kLanes);
    if (kLanes == 32 && left != $never) return;
  }
}

)";

constexpr const char* kTellProducts =
    R"(template <typename T>
__device__ __forceinline__ void $tell(volatile unsigned long long* to, $Product<T> value) {
  $tell(to, value.of);
  $tell(to + sizeof(T) / 4, value.exponent);
}

template <typename T>
__device__ __forceinline__ bool $told(const volatile unsigned long long* from, $Product<T>& value) {
  const bool first = $told(from, value.of);
  return $told(from + sizeof(T) / 4, value.exponent) && first;
}

)";

}  // namespace

int products_at_once(Ref each) {
  const bool in_double = compute_type(each->type) == ScalarType::kF64;
  const bool from_float =
      each->is(Op::kCast) && is_float(each->args[0]->type) && size_of(each->args[0]->type) <= 4;
  return in_double && !from_float ? 1 : kFloatsAtOnce;
}

std::string Carried::fold(const std::string& a, const std::string& b) const {
  return is_product() ? fmt::format("{}times({}, {})", prefix, a, b) : combined(op, type, a, b);
}

std::string Carried::fold_few(const std::string& a, const std::string& b) const {
  return is_product() ? fmt::format("{}times_few({}, {})", prefix, a, b) : fold(a, b);
}

std::string Carried::shuffled(std::string_view how, const std::string& arguments) const {
  if (!is_product()) return fmt::format("__shfl{}_sync(0xffffffffu, {})", how, arguments);
  return fmt::format("{}shuffle{}({})", prefix, how, arguments);
}

bool ScanPrinter::has_products() const {
  return std::ranges::any_of(carried_, &Carried::is_product);
}
bool ScanPrinter::only_products() const {
  return std::ranges::all_of(carried_, &Carried::is_product);
}

void ScanPrinter::print_functions_of_products() {
  const bool long_rows = plan_.length > INT32_MAX / 2 / kMostExponent;
  const std::string& prefix = helpers_.prefix();
  Holes holes = {{"place", plan_.reverse && !plan_.across ? "kCount - 1 - i" : "i"},
                 {"limit", long_rows ? "result.exponent = max(-(1 << 29), min(1 << 29, "
                                       "result.exponent));"
                                     : ""},
                 {"infinity", "__int_as_float(0x7f800000)"},
                 {"nan", "__int_as_float(0x7fc00000)"},
                 {"never", std::to_string(kNeverLeaves)},
                 {"exclusive", plan_.exclusive ? ", without itself" : ""}};
  if (walks()) {
    holes["least"] = "(sizeof(T) == 8 ? T(0x1p-1022) : T(0x1p-126))";
    holes["becomes_denormal"] = std::to_string(kBecomesDenormal);
    // Compares products, not elements: these would be kept as f64, 20 registers more for 16 of f32.
    holes["or_denormal"] =
        fmt::format(" Where it is denormal or 0 anywhere among them: and {}.", kBecomesDenormal);
    holes["begin"] = "bool denormal = false;";
    holes["look"] =
        filled("product *= values[$place];\ndenormal = denormal || fabs(product) < $least;", holes);
    holes["denormal"] = filled("if (denormal) return 4 * at + $becomes_denormal;", holes);
  } else {
    holes["or_denormal"] = holes["begin"] = holes["denormal"] = "";
    holes["look"] = filled("product *= values[$place];", holes);
  }
  const std::string place = holes["place"], take = fmt::format("values[{}] = product;", place);
  holes["step"] =
      plan_.exclusive
          ? fmt::format("const T value = values[{}];\n{}\nproduct *= value;", place, take)
          : fmt::format("product *= values[{}];\n{}", place, take);
  for (const char* name : {"Product", "normal", "times_few", "times", "product_of", "number_of",
                           "shuffle", "shuffle_up", "shuffle_xor", "left_at", "leaves", "multiply",
                           "pair_of", "walk_from", "walk"}) {
    holes[name] = prefix + name;
  }
  code_.lines(filled(kProducts, holes));
  if (walks()) code_.lines(filled(kWalk, holes));
}

std::string tell_products(const std::string& prefix) {
  return filled(
      kTellProducts,
      {{"Product", prefix + "Product"}, {"tell", prefix + "tell"}, {"told", prefix + "told"}});
}

void ScanPrinter::print_whole_product(const Carried& one, const std::string& to,
                                      const std::string& values, const char* count) {
  code_.line(
      fmt::format("{} = {}product_of<{}, {}>({});", to, one.prefix, count, one.at_once, values));
}

/// Of a product, beside its value before the first tile.
void ScanPrinter::print_range(const Carried& one) {
  if (!one.is_product()) return;
  code_.line(fmt::format("int {} = {};  // where the product leaves the range of {}, and how",
                         one.left, kNeverLeaves, one.element));
  if (!in_shared()) return;
  const Team& team = schedule_.team;
  code_.line(
      fmt::format("__shared__ int {}{};", one.left_here, team.teams > 1 ? "[kRowsPerBlock]" : ""));
  code_.line(fmt::format("if (lane == 0) {}{} = {};", one.left_here, team.teams > 1 ? "[team]" : "",
                         kNeverLeaves));
  if (!walks()) return;
  const char* const teams = team.teams > 1 ? "[kRowsPerBlock]" : "";
  code_.line(fmt::format("__shared__ {} {}{}[kWarps];  // of a walk, after each warp", one.element,
                         one.walked, teams));
  code_.line(fmt::format("__shared__ int {}{}[kWarps];", one.walked_left, teams));
}

/// From what is before each vector to the values.
void ScanPrinter::print_products() {
  if (!has_products()) return;
  const bool across = schedule_.team.across;
  code_.comment("Where the row's product first leaves its range.");
  const auto values = [&](const Carried& one) {
    return across ? one.values : address_of_vector(one);
  };
  const auto before = [&](const Carried& one) { return one.before + (across ? "" : "[i]"); };
  const char* const count = across ? "kItems" : vectors() ? "kVec" : "1";
  const auto of_each = [&](auto&& print) {
    if (across) {
      code_.line(fmt::format("const int first = {}lane * kItems;", tiles_ ? "tile + " : ""));
    } else {
      open_items(false);
    }
    const std::string at = across ? "first" : "at";
    for (const Carried& one : carried_) {
      if (one.is_product()) print(one, at);
    }
    if (!across) code_.close();
  };
  if (across) code_.open("");
  of_each([&](const Carried& one, const std::string& at) {
    code_.open(fmt::format("if ({} > 4 * {}{})", one.left, at,
                           ragged() ? fmt::format(" && {} < kCols", at) : ""));
    code_.line(fmt::format("{0} = min({0}, {1}leaves<{2}, {3}>({4}, {5}, {6}, {7}));", one.left,
                           one.prefix, count, one.at_once, before(one),
                           one.totals + (across ? "" : "[i]"), values(one), at));
    code_.close();
  });
  if (across) code_.close();
  print_first_of_row();
  if (walks()) print_walk(count);
  if (across) code_.open("");
  of_each([&](const Carried& one, const std::string& at) {
    const std::string skip =
        walks() ? fmt::format("if ({0} < {1} || 4 * {0} > {2}) ", at, one.walk_from, one.left) : "";
    code_.line(fmt::format("{}{}multiply<{}>({}, {}, {}, {});", skip, one.prefix, count,
                           before(one), values(one), at, one.left));
  });
  if (across) code_.close();
}

/// From the place where a row's product becomes denormal. Then `left` is where it leaves the range;
/// what is walked lies between the two, and needs no `multiply`.
void ScanPrinter::print_walk(const char* count) {
  const Team& team = schedule_.team;
  const std::string own = team.teams > 1 ? "[team]" : "";
  code_.comment("Among denormal numbers it loses digits: there the row's own order counts.");
  for (const Carried& one : carried_) {
    if (!one.is_product()) continue;
    code_.line(fmt::format("const int {} = {}walk_from({});", one.walk_from, one.prefix, one.left));
    const std::string begins = fmt::format("{} != {}", one.walk_from, kNeverLeaves);
    code_.open(!warps()      ? fmt::format("if (__any_sync(0xffffffffu, {}))", begins)
               : own.empty() ? fmt::format("if ({})", begins)
                             : fmt::format("if (__syncthreads_or({}))", begins));
    // Other rows of the block or warp may have nothing to walk: their `left` and carry stay.
    const std::string if_begins = warps() && own.empty() ? "" : fmt::format("if ({}) ", begins);
    code_.line(fmt::format("{}{} = {};", if_begins, one.left, kNeverLeaves));
    code_.line(fmt::format("{} product = 1;", one.element));
    if (warps()) {
      code_.open("for (int warp = 0; warp < kWarps; ++warp)");
      code_.open("if (lane / 32 == warp)");
      code_.open("if (warp > 0)");
      code_.line(fmt::format("product = {}{}[warp - 1];", one.walked, own));
      code_.line(fmt::format("{} = {}{}[warp - 1];", one.left, one.walked_left, own));
      code_.close();
    }
    open_items(false);
    code_.line(fmt::format("{}walk<{}, {}>({}[i], {}, at, {}, {}, product);", one.prefix, count,
                           warps() ? "32" : "kThreads", one.before, address_of_vector(one),
                           one.walk_from, one.left));
    code_.close();
    if (warps()) {
      code_.open("if (lane % 32 == 0)");
      code_.line(fmt::format("{}{}[warp] = product;", one.walked, own));
      code_.line(fmt::format("{}{}[warp] = {};", one.walked_left, own, one.left));
      code_.close();
      code_.close();
      code_.line("__syncthreads();");
      code_.close();
      code_.line(fmt::format("{} = {}{}[kWarps - 1];", one.left, one.walked_left, own));
      code_.line(fmt::format("if (lane == 0) {}{} = {};", one.left_here, own, one.left));
      if (loops()) code_.line(fmt::format("product = {}{}[kWarps - 1];", one.walked, own));
    }
    if (loops())
      code_.line(fmt::format("{}if ({} == {}) {} = {}pair_of(product);", if_begins, one.left,
                             kNeverLeaves, one.carry, one.prefix));
    code_.close();
  }
}

/// The minimum over the threads of a row, and in a single pass over the tiles before.
void ScanPrinter::print_first_of_row() {
  const Team& team = schedule_.team;
  if (team.threads == 1) return;
  if (!in_shared()) {
    code_.line("#pragma unroll");
    code_.open("for (int step = 1; step < kThreads; step *= 2)");
    for (const Carried& one : carried_) {
      if (!one.is_product()) continue;
      code_.line(fmt::format("{0} = min({0}, __shfl_xor_sync(0xffffffffu, {0}, step));", one.left));
    }
    code_.close();
    return;
  }
  const auto here = [&](const Carried& one) {
    return one.left_here + (team.teams > 1 ? "[team]" : "");
  };
  for (const Carried& one : carried_) {
    if (!one.is_product()) continue;
    code_.line(fmt::format("if ({0} != {1}{3}) atomicMin(&{2}, {0});", one.left, kNeverLeaves,
                           here(one), tiles_ ? fmt::format(" && {} >= 4 * tile", one.left) : ""));
  }
  code_.line("__syncthreads();");
  for (const Carried& one : carried_) {
    if (one.is_product()) code_.line(fmt::format("{} = {};", one.left, here(one)));
  }
  if (schedule_.single_pass) print_look_back_for_range();
}

}  // namespace hone::schedules::scan
