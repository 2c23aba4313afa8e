#include "rewriters/tile/store_text.h"

#include <fmt/format.h>

#include "rewriters/schedules/printing/text.h"
#include "rewriters/tile/operands.h"
#include "rewriters/tile/places_text.h"

namespace hone::tile {
namespace {

using schedules::Code;
using schedules::filled;
using schedules::Holes;
using schedules::type_name;

/// What lies beyond the output is not copied, and what it would be made of not read.
std::string within(const Store& store) {
  bool loads = false;
  nest::for_each(store.value, [&](Ref node) {
    loads |= node->kind == nest::Node::Kind::kLoad && node != store.sum;
  });
  return loads ? fmt::format("if (m >= {} || n_run >= {}) return {{}};", store.rows, store.columns)
               : "";
}

}  // namespace

std::string StoreText::sum_type(const Store& store) const {
  const ScalarType type = p_.sums[static_cast<std::size_t>(store.sums)].type;
  return store.runs < 0 ? type_name(type) : "double";
}

void StoreText::write(const Store& store, Code& code) {
  packs_ = true;
  groups_meet_ |= store.staging >= 0;
  if (store.staging < 0) return write_by_threads(store, code);
  store.view < 0 ? write_turned(store, code) : write_staged(store, code);
}

/// Neighbouring sums from place `at` on: "{sums[at], sums[at + 1]}".
std::string StoreText::some_sums(const Store& store, const std::string& at, int more,
                                 int count) const {
  const auto one = [&](int number) {
    const std::string place = number == 0 ? at : fmt::format("{} + {}", at, number);
    const std::string& sums = called_.sums[static_cast<std::size_t>(store.sums)];
    if (store.runs < 0) return fmt::format("{}[{}]", sums, place);
    return fmt::format("static_cast<double>({}[{}]) + {}[{}]", sums, place,
                       called_.sums[static_cast<std::size_t>(store.runs)], place);
  };
  std::string all;
  for (int number = more; number < more + count; ++number)
    all += (all.empty() ? "{" : ", ") + one(number);
  return all + "}";
}

/// Reads `width` neighbours of each input that allows it; the printer then knows the one for j.
std::string StoreText::read_together(const Store& store, int width) {
  std::string text;
  values_.indices[store.column_symbol] = "n_run";
  for (std::size_t i = 0; i < store.beside.size(); ++i) {
    const auto& [load, contiguous] = store.beside[i];
    if (contiguous < width) continue;
    text +=
        filled("const $pack read$i = *reinterpret_cast<const $pack*>(&$from[$element]);\n",
               {{"pack", fmt::format("{}pack<{}, {}>", p_.prefix, type_name(load->type), width)},
                {"i", std::to_string(i)},
                {"from", called_.parameters.at(load->name)},
                {"element", values_.print_index(load->args[0])}});
    values_.known[load] = schedules::widened(load->type, fmt::format("read{}.at[j]", i));
  }
  return text;
}

/// The value of `width` outputs from (m, n_run) on, of their sums in `sum`.
std::string StoreText::outputs(const Store& store, int width) {
  const bool guarded = store.guard != nullptr && !store.guard->is_constant();
  const bool together = store.contiguous >= width && !guarded && store.places.empty();
  values_.indices[store.row_symbol] = "m";
  const std::string read = together ? read_together(store, width) : "";
  values_.indices[store.column_symbol] = "n";
  values_.known[store.sum] = "sum.at[j]";
  const std::string value = schedules::stored(values_, store.type, store.value);
  name_places(values_, store.places);
  for (const Beside& beside : store.beside) values_.known.erase(beside.load);
  const Holes holes = {
      {"value", value},
      {"element", store.view >= 0 ? "" : values_.print_index(store.element)},
      {"out", store.view >= 0 ? "" : called_.parameters.at(store.buffer)},
      {"pack", fmt::format("{}pack<{}, {}>", p_.prefix, type_name(store.type), width)},
      {"width", std::to_string(width)},
      {"columns", std::to_string(store.columns)},
      {"guard", guarded ? fmt::format(" && ({})", values_.print(store.guard)) : ""}};
  if (!store.places.empty()) {
    Holes more = holes;
    more["own"] = is_own(store.places);
    more["empty"] = schedules::stored(values_, store.type, store.empty);
    // Of a staging it is lanes that go through the places, from where they begin.
    if (store.staging < 0) more["guard"] += from_begin(values_, store.places);
    const std::string one =
        filled("if (n < $columns$guard) $out[$element] = $own ? $value : $empty;\n", more);
    if (store.staging >= 0) return "const int n = n_run, j = 0;\n" + one;
    more["one"] = one;
    more["last"] = place_name(store.places.size() - 1);
    more["end"] = std::to_string(store.places.back().end);
    more["unroll"] = unrolling(store.places.back().end, "#pragma unroll\n");
    more["apart"] = swaps(store) ? " * 8" : "";
    return filled(R"(#pragma unroll
for (int j = 0; j < $width; ++j) {
  const int n = n_run + j$apart;
$unroll  for (int $last = 0; $last < $end; ++$last) {
    $one
  }
}
)",
                  more);
  }
  if (!together) {
    return filled(R"(#pragma unroll
for (int j = 0; j < $width; ++j) {
  const int n = n_run + j;
  if (n < $columns$guard) $out[$element] = $value;
}
)",
                  holes);
  }
  Holes more = holes;
  more["read"] = read;
  more["column"] = schedules::mentions(value, "n") ? "const int n = n_run + j;" : "";
  more["done"] = store.view >= 0 ? (size_of(store.type) == 4
                                        ? "return made;"
                                        : "return *reinterpret_cast<const unsigned*>(&made);")
                                 : filled(
                                       "const int n = n_run;\n"
                                       "*reinterpret_cast<$pack*>(&$out[$element]) = made;",
                                       holes);
  return filled(R"($read
$pack made;
#pragma unroll
for (int j = 0; j < $width; ++j) {
  $column
  made.at[j] = $value;
}
$done
)",
                more);
}

std::string StoreText::of_group(std::int64_t elements) const {
  const std::string group = values_.indices.at(p_.group);
  return group == "0" ? "" : fmt::format(" + {} * {}", group, elements);
}

bool StoreText::swaps(const Store& store) const {
  const Sums& sums = p_.sums[static_cast<std::size_t>(store.sums)];
  return store.side_by_side && sums.of == SumsOf::kThread && sums.run() == 4 && store.runs < 0;
}

int StoreText::width_of(const Store& store) const {
  const Sums& sums = p_.sums[static_cast<std::size_t>(store.sums)];
  if (sums.of == SumsOf::kThread || sums.of == SumsOf::kHalfWarp) return sums.run();
  return size_of(store.type) == 2 && store.runs < 0 && store.contiguous >= 4 &&
                 sums.columns % 16 == 0
             ? 4
             : 2;
}

std::string StoreText::inside(const Store& store, std::int64_t rows, std::int64_t columns) const {
  std::string condition;
  const auto require = [&](const std::string& name, nest::Ref first, std::int64_t count,
                           std::int64_t size) {
    const auto range = p_.nodes->range(first);
    if (range && range->high + count <= size) return;
    condition += fmt::format("{}{} < {}", condition.empty() ? "" : " && ", name, size);
  };
  require("m", store.row, rows, store.rows);
  require("n_run", store.column, columns, store.columns);
  return condition;
}

void StoreText::write_by_threads(const Store& store, Code& code) {
  const Sums& sums = p_.sums[static_cast<std::size_t>(store.sums)];
  const bool of_thread = sums.of == SumsOf::kThread, of_warp = sums.of == SumsOf::kWarp;
  const int width = width_of(store), run = sums.run();
  const std::int64_t down = p_.threads() / sums.across;
  const std::string at = of_warp ? fmt::format("(i * {} + j) * 4", sums.columns / 8) : "j * 4";
  const bool of_half = sums.of == SumsOf::kHalfWarp;
  const std::string condition =
      of_thread ? inside(store, down * sums.rows, std::int64_t{sums.across} * sums.columns)
      : of_half ? inside(store, sums.warp_rows(), std::int64_t{16} * sums.columns)
                : inside(store, sums.rows, sums.columns);
  const Holes holes = {
      {"prefix", p_.prefix},
      {"sums", called_.sums[static_cast<std::size_t>(store.sums)]},
      {"sums0", some_sums(store, at, 0, 2)},
      {"sums2", some_sums(store, at, 2, 2)},
      {"sums_run", some_sums(store, fmt::format("i * {} + j * {}", sums.columns, run), 0, run)},
      {"sum_type", sum_type(store)},
      {"row", values_.print_index(store.row)},
      {"column", values_.print_index(store.column)},
      {"condition", condition},
      {"width", std::to_string(width)},
      {"eighths", std::to_string(sums.columns / 8)},
      {"blocks", std::to_string(sums.rows / 16)},
      {"run", std::to_string(run)},
      {"of_rows", std::to_string(sums.rows)},
      {"runs", std::to_string(sums.columns / run)},
      {"below", std::to_string(down * run)},
      {"beside", std::to_string(sums.across * run)},
      {"outputs", outputs(store, width)}};
  std::string all = "// Outputs (m, n_run) and its right neighbours from their sums.\n";
  const auto add = [&](const std::string& rest) {
    // Not once for each output: that would be a loop for each, and all of them unrolled.
    all += rest;
    for (std::size_t i = store.places.size(); i-- > 1;)
      all = "#pragma unroll 1\n" +
            place_loop(place_name(i - 1), "0", std::to_string(store.places[i - 1].end), all);
    code.block(all);
  };
  all += filled(
      condition.empty()
          ? R"(const auto store = [&](int m, int n_run, const $prefixpack<$sum_type, $width>& sum) {
  $outputs
};
)"
          : R"(const auto store = [&](int m, int n_run, const $prefixpack<$sum_type, $width>& sum) {
  if ($condition) {
    $outputs
  }
};
)",
      holes);
  if (of_thread && swaps(store)) {
    add(filled(
        R"(// Eight lanes that have four neighbours each swap them, so that each has every eighth.
const bool upper = lane / 8 % 2 != 0, odd = lane / 4 % 2 != 0;
const auto swapped = [&](const $prefixpack<float, 4>& sum) -> $prefixpack<float, 4> {
  const float one = __shfl_xor_sync(0xffffffffu, upper ? sum.at[0] : sum.at[2], 8);
  const float other = __shfl_xor_sync(0xffffffffu, upper ? sum.at[1] : sum.at[3], 8);
  const float made[4] = {upper ? one : sum.at[0], upper ? other : sum.at[1],
                         upper ? sum.at[2] : one, upper ? sum.at[3] : other};
  const float left = __shfl_xor_sync(0xffffffffu, odd ? made[0] : made[1], 4);
  const float right = __shfl_xor_sync(0xffffffffu, odd ? made[2] : made[3], 4);
  return {odd ? left : made[0], odd ? made[1] : left, odd ? right : made[2],
          odd ? made[3] : right};
};
const int first = (thread_n - lane / 2 % 8) * 4 + lane / 2 % 2 * 4 + lane / 8 % 2 * 2 + lane / 4 % 2;
#pragma unroll
for (int i = 0; i < $of_rows; ++i) {
  const int m = $row + i / $run * $below + thread_m * $run + i % $run;
#pragma unroll
  for (int j = 0; j < $runs; ++j) store(m, $column + j * $beside + first, swapped($sums_run));
}
)",
        holes));
    return;
  }
  if (of_half) {
    add(filled(R"(#pragma unroll
for (int i = 0; i < $of_rows; ++i) {
  const int m = $row + lane / 16 * $of_rows + i;
#pragma unroll
  for (int j = 0; j < $runs; ++j) store(m, $column + (j * 16 + lane % 16) * $run, $sums_run);
}
)",
               holes));
    return;
  }
  if (of_thread) {
    add(filled(R"(#pragma unroll
for (int i = 0; i < $of_rows; ++i) {
  const int m = $row + i / $run * $below + thread_m * $run + i % $run;
#pragma unroll
  for (int j = 0; j < $runs; ++j) store(m, $column + j * $beside + thread_n * $run, $sums_run);
}
)",
               holes));
    return;
  }
  const std::string rows =
      filled(width == 2 ? R"(#pragma unroll
for (int j = 0; j < $eighths; ++j) {
  const int n = $column + j * 8 + lane % 4 * 2;
  store(m, n, $sums0);
  store(m + 8, n, $sums2);
}
)"
                        : R"(// Two lanes swap halves, so that each has four neighbours of one row.
const bool odd = lane % 2 != 0;
#pragma unroll
for (int l = 0; l < $eighths; ++l) {
  const int half = l % 2, at = $first_at + half * 2;
  const float left[2] = {$sums[at], $sums[at + 1]};
  const float right[2] = {$sums[at + 4], $sums[at + 5]};
  const float got0 = __shfl_xor_sync(0xffffffffu, odd ? left[0] : right[0], 1);
  const float got1 = __shfl_xor_sync(0xffffffffu, odd ? left[1] : right[1], 1);
  const int n = $column + l / 2 * 16 + (odd ? 6 : 0) + lane % 4 * 2;
  store(m + half * 8, n,
        {odd ? got0 : left[0], odd ? got1 : left[1], odd ? right[0] : got0, odd ? right[1] : got1});
}
)",
             [&] {
               Holes more = holes;
               more["first_at"] =
                   of_warp ? fmt::format("i * {} + l / 2 * 8", sums.columns / 2) : "l / 2 * 8";
               return more;
             }());
  if (of_warp) {
    Holes more = holes;
    more["rows"] = rows;
    add(filled(R"(#pragma unroll
for (int i = 0; i < $blocks; ++i) {
  const int m = $row + i * 16 + lane / 4;
  $rows
}
)",
               more));
  } else {
    add(filled("const int m = $row + warp * 16 + lane / 4;\n", holes) + rows);
  }
}

/// A band of outputs to `box`, in the swizzled places that the copy reads: 16 bits four matrices at
/// a time, 32 bits two neighbours at a time.
std::string staged_band(ScalarType type) {
  return size_of(type) == 2 ? R"(for (int l = 0; l < 4; ++l) {
    const int at = first + l * 8;
    const int n = $column + first * 2 + l * 16 + lane % 4 * 2;
    $prefixstore_matrices(&box[row * 64 + (l * 2 ^ swizzle) * 8],
                          outputs(m, n, $sums0), outputs(m + 8, n, $sums2),
                          outputs(m, n + 8, $sums4), outputs(m + 8, n + 8, $sums6));
  })"
                            : R"(for (int l = 0; l < 2; ++l) {
    const int at = first + l * 4, piece = l * 2 + lane % 4 / 2;
    const int n = $column + first * 2 + l * 8 + lane % 4 * 2;
    const $pair left = outputs(m, n, $sums0), below = outputs(m + 8, n, $sums2);
    const $pair right = outputs(m, n + 16, $sums8), last = outputs(m + 8, n + 16, $sums10);
    // Odd rows write the other half first: no two lanes meet in a bank.
    $type* const to = &box[row * 32 + lane % 2 * 2];
    $pair* const one = reinterpret_cast<$pair*>(to + ((odd ? piece + 4 : piece) ^ swizzle) * 4);
    $pair* const other = reinterpret_cast<$pair*>(to + ((odd ? piece : piece + 4) ^ swizzle) * 4);
    one[0] = {odd ? right.at[0] : left.at[0], odd ? right.at[1] : left.at[1]};
    one[8 * 16] = {odd ? last.at[0] : below.at[0], odd ? last.at[1] : below.at[1]};
    other[0] = {odd ? left.at[0] : right.at[0], odd ? left.at[1] : right.at[1]};
    other[8 * 16] = {odd ? below.at[0] : last.at[0], odd ? below.at[1] : last.at[1]};
  })";
}

/// Through shared memory, a band of columns at a time: the threads of a warp group write their
/// outputs there, then one of them starts the copy.
void StoreText::write_staged(const Store& store, Code& code) {
  const auto at = static_cast<std::size_t>(store.staging);
  const SharedTile& tile = p_.stagings[at].tile;
  const Sums& sums = p_.sums[static_cast<std::size_t>(store.sums)];
  const View& view = p_.views[static_cast<std::size_t>(store.view)];
  tensors_.emplace(static_cast<int>(view.shape.size()), store.adds);
  std::string others;
  for (std::size_t d = view.shape.size() - 1; d-- > 0;)
    others += ", " + values_.print_index(store.to[d]);
  const std::int64_t band = staged_columns(tile.type);
  const std::int64_t slots = tile.layout.extent(1) / band, box = 64 * band;
  const std::string pair = fmt::format("{}pack<{}, 2>", p_.prefix, type_name(tile.type));
  const bool halves = size_of(tile.type) == 2;
  const std::string slot = slots == 1 ? "here" : fmt::format("here + part % {} * {}", slots, box);
  const std::string parts = filled(R"(#pragma unroll
for (int part = 0; part < $parts; ++part) {
  // Once the copy of before has read what is there.
  if (threadIdx.x % 128 == 0) $prefixstores_have_read<$others_under_way>();
  $prefixmeet_group();
  $type* const box = $slot;
  const int first = part * $half_band;
  #pragma unroll
  )" + staged_band(tile.type) + R"(
  $prefixpublish();
  $prefixmeet_group();
  if (threadIdx.x % 128 == 0) {
    $prefix$name_box($view, box, $inner + part * $band$outer);
    $prefixstores_end();
  }
}
)",
                                   {{"prefix", p_.prefix},
                                    {"name", store.adds ? "add" : "store"},
                                    {"band", std::to_string(band)},
                                    {"half_band", std::to_string(band / 2)},
                                    {"pair", pair},
                                    {"parts", std::to_string(sums.columns / band)},
                                    {"others_under_way", std::to_string(slots - 1)},
                                    {"type", std::string(type_name(tile.type))},
                                    {"slot", slot},
                                    {"column", values_.print_index(store.column)},
                                    {"sums0", some_sums(store, "at", 0, 2)},
                                    {"sums2", some_sums(store, "at", 2, 2)},
                                    {"sums4", some_sums(store, "at", 4, 2)},
                                    {"sums6", some_sums(store, "at", 6, 2)},
                                    {"sums8", some_sums(store, "at", 8, 2)},
                                    {"sums10", some_sums(store, "at", 10, 2)},
                                    {"view", called_.views[static_cast<std::size_t>(store.view)]},
                                    {"inner", values_.print_index(store.to.back())},
                                    {"outer", others}});
  const std::string head =
      filled(R"(// Outputs (m, n_run) and its right neighbour.
const auto outputs = [&](int m, int n_run, const $prefixpack<$sum_type, 2>& sum) -> $made {
  $within
  $outputs
};
$type* const here = $staging$of_group;
const int m = $row + warp * 16 + lane / 4;
// $where: the eighths of a row's 128 bytes are swizzled.
const int row = warp * 16 + $lane_row, swizzle = $swizzle;
$odd
)",
             {{"prefix", p_.prefix},
              {"where", halves ? "Each lane says where half a row of 16 columns is"
                               : "Where the two neighbours of each lane go"},
              {"lane_row", halves ? "lane % 16" : "lane / 4"},
              {"swizzle", halves ? "lane % 8 ^ lane / 16" : "lane / 4"},
              {"odd", halves ? "" : "const bool odd = row % 2 != 0;"},
              {"made", halves ? "unsigned" : pair},
              {"sum_type", sum_type(store)},
              {"within", within(store)},
              {"outputs", outputs(store, 2)},
              {"type", std::string(type_name(tile.type))},
              {"staging", called_.stagings[at]},
              {"of_group", of_group(tile.bytes() / static_cast<std::int64_t>(size_of(tile.type)))},
              {"row", values_.print_index(store.row)}});
  code.block(head + parts);
}

}  // namespace hone::tile
