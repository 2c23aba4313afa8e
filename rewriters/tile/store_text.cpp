#include "rewriters/tile/store_text.h"

#include <fmt/format.h>

#include "rewriters/generators/printing/text.h"

namespace hone::tile {
namespace {

using generators::Code;
using generators::filled;
using generators::Holes;
using generators::type_name;

std::string sum_type(const Store& store) { return store.runs < 0 ? "float" : "double"; }

/// What lies beyond the output is not copied, and what it would be made of not read.
std::string within(const Store& store) {
  bool loads = false;
  lift::for_each(store.value, [&](Ref node) {
    loads |= node->kind == lift::Node::Kind::kLoad && node != store.sum;
  });
  return loads ? fmt::format("if (m >= {} || n_run >= {}) return 0;\n  ", store.rows, store.columns)
               : "";
}

}  // namespace

void StoreText::write(const Store& store, Code& code) {
  packs_ = true;
  store.staging >= 0 ? write_staged(store, code) : write_by_threads(store, code);
}

/// Two neighbouring sums from place `at` on: "{sums[at], sums[at + 1]}".
std::string StoreText::two_sums(const Store& store, const std::string& at, int more) const {
  const auto one = [&](int number) {
    const std::string place = number == 0 ? at : fmt::format("{} + {}", at, number);
    const std::string& sums = called_.sums[static_cast<std::size_t>(store.sums)];
    if (store.runs < 0) return fmt::format("{}[{}]", sums, place);
    return fmt::format("static_cast<double>({}[{}]) + {}[{}]", sums, place,
                       called_.sums[static_cast<std::size_t>(store.runs)], place);
  };
  return fmt::format("{{{}, {}}}", one(more), one(more + 1));
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
                {"from", called_.parameters.at(load->op)},
                {"element", values_.print_index(load->args[0])}});
    values_.known[load] = generators::widened(load->type, fmt::format("read{}.at[j]", i));
  }
  return text;
}

/// The value of `width` outputs from (m, n_run) on, of their sums in `sum`.
std::string StoreText::outputs(const Store& store, int width) {
  const bool guarded = store.guard != nullptr && !store.guard->is_constant();
  const bool together = store.contiguous >= width && !guarded;
  values_.indices[store.row_symbol] = "m";
  const std::string read = together ? read_together(store, width) : "";
  values_.indices[store.column_symbol] = "n";
  values_.known[store.sum] = "sum.at[j]";
  const std::string value = generators::stored(values_, store.type, store.value);
  for (const Beside& beside : store.beside) values_.known.erase(beside.load);
  const Holes holes = {
      {"value", value},
      {"element", store.staging >= 0 ? "" : values_.print_index(store.element)},
      {"out", store.staging >= 0 ? "" : called_.parameters.at(store.buffer)},
      {"pack", fmt::format("{}pack<{}, {}>", p_.prefix, type_name(store.type), width)},
      {"width", std::to_string(width)},
      {"columns", std::to_string(store.columns)},
      {"guard", guarded ? fmt::format(" && ({})", values_.print(store.guard)) : ""}};
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
  more["column"] = generators::mentions(value, "n") ? "const int n = n_run + j;" : "";
  more["done"] = store.staging >= 0 ? "return *reinterpret_cast<const unsigned*>(&made);"
                                    : filled(
                                          "const int n = n_run;\n"
                                          "*reinterpret_cast<$pack*>(&$out[$element]) = made;",
                                          holes);
  return filled(R"($read$pack made;
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

void StoreText::write_by_threads(const Store& store, Code& code) {
  const Sums& sums = p_.sums[static_cast<std::size_t>(store.sums)];
  const std::string& name = called_.sums[static_cast<std::size_t>(store.sums)];
  const int width =
      size_of(store.type) == 2 && store.runs < 0 && store.contiguous >= 4 && sums.columns % 16 == 0
          ? 4
          : 2;
  const Holes holes = {{"prefix", p_.prefix},
                       {"sums", name},
                       {"sums0", two_sums(store, "j * 4", 0)},
                       {"sums2", two_sums(store, "j * 4", 2)},
                       {"sum_type", sum_type(store)},
                       {"row", values_.print_index(store.row)},
                       {"column", values_.print_index(store.column)},
                       {"rows", std::to_string(store.rows)},
                       {"columns", std::to_string(store.columns)},
                       {"width", std::to_string(width)},
                       {"eighths", std::to_string(sums.columns / 8)},
                       {"outputs", outputs(store, width)}};
  std::string all = filled(R"(// Outputs (m, n_run) and its right neighbours from their sums.
const auto store = [&](int m, int n_run, const $prefixpack<$sum_type, $width>& sum) {
  if (m < $rows && n_run < $columns) {
    $outputs
  }
};
const int m = $row + warp * 16 + lane / 4;
)",
                           holes);
  all +=
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
  const int half = l % 2, at = l / 2 * 8 + half * 2;
  const float left[2] = {$sums[at], $sums[at + 1]};
  const float right[2] = {$sums[at + 4], $sums[at + 5]};
  const float got0 = __shfl_xor_sync(0xffffffffu, odd ? left[0] : right[0], 1);
  const float got1 = __shfl_xor_sync(0xffffffffu, odd ? left[1] : right[1], 1);
  const int n = $column + l / 2 * 16 + (odd ? 6 : 0) + lane % 4 * 2;
  store(m + half * 8, n,
        {odd ? got0 : left[0], odd ? got1 : left[1], odd ? right[0] : got0, odd ? right[1] : got1});
}
)",
             holes);
  code.block(all);
}

/// Through shared memory, 64 columns at a time: the threads of a warp group write their outputs
/// there, then one of them starts the copy.
void StoreText::write_staged(const Store& store, Code& code) {
  const auto at = static_cast<std::size_t>(store.staging);
  const SharedTile& tile = p_.stagings[at].tile;
  const Sums& sums = p_.sums[static_cast<std::size_t>(store.sums)];
  const View& view = p_.views[static_cast<std::size_t>(store.view)];
  tensors_.insert(static_cast<int>(view.shape.size()));
  std::string others;
  for (std::size_t d = view.shape.size() - 1; d-- > 0;)
    others += ", " + values_.print_index(store.to[d]);
  const std::int64_t slots = tile.layout.extent(1) / 64, box = 64 * 64;
  const std::string slot = slots == 1 ? "here" : fmt::format("here + part % {} * {}", slots, box);
  const std::string parts = filled(R"(#pragma unroll
for (int part = 0; part < $parts; ++part) {
  // Once the copy of before has read what is there.
  if (threadIdx.x % 128 == 0) $prefixstores_have_read<$others_under_way>();
  $prefixmeet_group();
  $type* const box = $slot;
  const int first = part * 32;
  #pragma unroll
  for (int l = 0; l < 4; ++l) {
    const int at = first + l * 8;
    const int n = $column + first * 2 + l * 16 + lane % 4 * 2;
    $prefixstore_matrices(&box[row * 64 + (l * 2 ^ swizzle) * 8],
                          outputs(m, n, $sums0), outputs(m + 8, n, $sums2),
                          outputs(m, n + 8, $sums4), outputs(m + 8, n + 8, $sums6));
  }
  $prefixpublish();
  $prefixmeet_group();
  if (threadIdx.x % 128 == 0) {
    $prefixstore_box($view, box, $inner + part * 64$outer);
    $prefixstores_end();
  }
}
)",
                                   {{"prefix", p_.prefix},
                                    {"parts", std::to_string(sums.columns / 64)},
                                    {"others_under_way", std::to_string(slots - 1)},
                                    {"type", std::string(type_name(tile.type))},
                                    {"slot", slot},
                                    {"column", values_.print_index(store.column)},
                                    {"sums0", two_sums(store, "at", 0)},
                                    {"sums2", two_sums(store, "at", 2)},
                                    {"sums4", two_sums(store, "at", 4)},
                                    {"sums6", two_sums(store, "at", 6)},
                                    {"view", called_.views[static_cast<std::size_t>(store.view)]},
                                    {"inner", values_.print_index(store.to.back())},
                                    {"outer", others}});
  const std::string head = filled(R"(// Outputs (m, n_run) and its right neighbour.
const auto outputs = [&](int m, int n_run, const $prefixpack<$sum_type, 2>& sum) -> unsigned {
  $within$outputs
};
$type* const here = $staging$of_group;
const int m = $row + warp * 16 + lane / 4;
// Each lane says where half a row of 16 columns is: the eighths of a row's 128 bytes are swizzled.
const int row = warp * 16 + lane % 16, swizzle = lane % 8 ^ lane / 16;
)",
                                  {{"prefix", p_.prefix},
                                   {"sum_type", sum_type(store)},
                                   {"within", within(store)},
                                   {"outputs", outputs(store, 2)},
                                   {"type", std::string(type_name(tile.type))},
                                   {"staging", called_.stagings[at]},
                                   {"of_group", of_group(tile.bytes() / 2)},
                                   {"row", values_.print_index(store.row)}});
  code.block(head + parts);
}

}  // namespace hone::tile
