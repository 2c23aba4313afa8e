// Running products of floats. A product in another order overflows or underflows elsewhere: where
// the row's values are 2^-200, then 2^200, the second half alone is infinite. So what threads,
// warps and tiles tell each other is a mantissa and an exponent, whose range no row leaves.
//
// The kernel's own product has the range of its type: once it is 0 or infinite, it stays so, until
// it is NaN. So each thread multiplies its own elements in that type and in the row's order,
// starting from the pair before them. The first place where such a product is 0, infinite or NaN
// is the row's minimum of such places. After it stands what the product was there, with the sign of
// the pair, or NaN where the pair is: a pair is 0 where an element is, and infinite likewise.
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

constexpr const char* kProducts =
    R"(// A product that neither overflows nor underflows: of * 2^exponent. `of` is at least 0.5 and at
// most 1, or 0, infinite or NaN.
template <typename T>
struct $Product {
  T of;
  int exponent;
};

template <typename T>
__device__ __forceinline__ $Product<T> $product_of(double value) {
  $Product<T> result;
  result.of = static_cast<T>(frexp(value, &result.exponent));
  return result;
}

template <typename T>
__device__ __forceinline__ $Product<T> $times($Product<T> a, $Product<T> b) {
  $Product<T> result = {a.of * b.of, a.exponent + b.exponent};
  if (fabs(result.of) < T(0.5)) {
    result.of *= 2;
    --result.exponent;
  }
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
    result = first == 0 ? $product_of<T>(part) : $times(result, $product_of<T>(part));
  }
  return result;
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

// Where the product of a row becomes 0, infinite or NaN, if it does so at these elements: 4 times
// where they begin, and 0, 1 or 2. A larger number where it does not.
template <int kCount, typename T>
__device__ __forceinline__ int $leaves($Product<T> before, const T* values, int at) {
  T product = ldexp(before.of, before.exponent);
#pragma unroll
  for (int i = 0; i < kCount; ++i) product *= values[$place];
  if (product != product) return 4 * at + 2;
  if (fabs(product) == T($infinity)) return 4 * at + 1;
  return product == 0 ? 4 * at : $never;
}

// Each value becomes the product up to it$exclusive.
template <int kCount, typename T>
__device__ __forceinline__ void $multiply($Product<T> before, T* values, int at, int left) {
  if (left >= 4 * at) {
    T product = ldexp(before.of, before.exponent);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      $step
    }
    return;
  }
  // It has left the range: only signs, zeros, infinities and NaN count.
  const T infinity = $infinity;
  const T stays = left % 4 == 0 ? T(0) : left % 4 == 1 ? infinity : T($nan);
  T product = before.of;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const T value = values[$place];
    const bool plain = value != 0 && fabs(value) < infinity;
    $stay
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
  const std::string multiply = "product *= plain ? (value < 0 ? T(-1) : T(1)) : value;";
  if (plan_.exclusive) {
    holes["step"] =
        fmt::format("const T value = values[{0}];\nvalues[{0}] = product;\nproduct *= value;",
                    holes["place"]);
    holes["stay"] = fmt::format("values[{}] = product * stays;\n{}", holes["place"], multiply);
  } else {
    holes["step"] = fmt::format("product *= values[{0}];\nvalues[{0}] = product;", holes["place"]);
    holes["stay"] = fmt::format("{}\nvalues[{}] = product * stays;", multiply, holes["place"]);
  }
  for (const char* name : {"Product", "product_of", "times", "shuffle", "shuffle_up", "shuffle_xor",
                           "leaves", "multiply"}) {
    holes[name] = prefix + name;
  }
  code_.lines(filled(kProducts, holes));
}

std::string tell_products(const std::string& prefix) {
  return filled(kTellProducts, {{"Product", prefix + "Product"},
                                {"tell", prefix + "tell"},
                                {"told", prefix + "told"}});
}

void ScanPrinter::print_whole_product(const Carried& one, const std::string& to,
                                      const std::string& values, const char* count) {
  code_.line(fmt::format("{} = {}product_of<{}, {}>({});", to, one.prefix, count, one.at_once,
                         values));
}

/// Of a product, beside its value before the first tile.
void ScanPrinter::print_range(const Carried& one) {
  if (!one.is_product()) return;
  code_.line(fmt::format("int {} = {};  // where the product leaves the range of {}, and how",
                         one.left, kNeverLeaves, one.element));
  if (!in_shared()) return;
  const Team& team = schedule_.team;
  code_.line(fmt::format("__shared__ int {}{};", one.left_here,
                         team.teams > 1 ? "[kRowsPerBlock]" : ""));
  code_.line(fmt::format("if (lane == 0) {}{} = {};", one.left_here, team.teams > 1 ? "[team]" : "",
                         kNeverLeaves));
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
    code_.line(fmt::format("if ({0} > 4 * {1}{5}) {0} = min({0}, {2}leaves<{3}>({4}, {6}, {1}));",
                           one.left, at, one.prefix, count, before(one),
                           ragged() ? fmt::format(" && {} < kCols", at) : "", values(one)));
  });
  if (across) code_.close();
  print_first_of_row();
  if (across) code_.open("");
  of_each([&](const Carried& one, const std::string& at) {
    code_.line(fmt::format("{}multiply<{}>({}, {}, {}, {});", one.prefix, count, before(one),
                           values(one), at, one.left));
  });
  if (across) code_.close();
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
