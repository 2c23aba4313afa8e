// StoreText for f32 sums that are turned in shared memory.
#include <fmt/format.h>

#include "rewriters/schedules/printing/text.h"
#include "rewriters/tile/places_text.h"
#include "rewriters/tile/store_text.h"

namespace hone::tile {

using schedules::Code;
using schedules::filled;
using schedules::Holes;

std::string StoreText::turned_rows(const Store& store, const std::string& columns) {
  const Holes row = {{"row", values_.print_index(store.row)}};
  if (store.places.empty()) {
    return filled(R"(// A warp has 32 rows of every second column.
const int row = warp % 2 * 32 + lane;
const int m = $row + row;
)",
                  row) +
           columns;
  }
  std::vector<Place> others = store.places;
  const Place last = others.back();
  if (!store.side_by_side) {
    return filled(R"(// A warp has the places of 32 rows of every second column.
const int row = warp % 2 * 32 + lane;
const int m = $row + row;
)",
                  row) +
           over_places(values_, others, columns);
  }
  // Neighbouring lanes write neighbouring places, so that a warp's sectors are whole.
  others.pop_back();
  const std::string name = place_name(others.size());
  const std::string own = fmt::format("beside + {}", last.own);
  std::string body = over_places(values_, others, columns);
  if (last.own == 0) {
    body = fmt::format("const int {} = beside;\n", name) + body;
  } else {
    body =
        unrolling(last.own + 1) +
        place_loop(name, fmt::format("beside == 0 ? {} : {}", values_.print_index(last.begin), own),
                   own + " + 1", body);
  }
  return filled(
      R"(// A warp has the places of 32 rows of every second column: neighbours in the output.
$unrollfor (int i = 0; i < $count; ++i) {
  const int number = (warp % 2 * $count + i) * 32 + lane;
  const int row = number / $count, beside = number % $count;
  const int m = $row + row;
  $body
}
)",
      {{"count", std::to_string(last.end - last.own)},
       {"unroll", unrolling(last.end - last.own, "#pragma unroll\n")},
       {"row", row.at("row")},
       {"body", body}});
}

/// Through shared memory, some columns at a time, from where neighbouring lanes read neighbouring
/// rows.
void StoreText::write_turned(const Store& store, Code& code) {
  const auto at = static_cast<std::size_t>(store.staging);
  const SharedTile& tile = p_.stagings[at].tile;
  const Sums& sums = p_.sums[static_cast<std::size_t>(store.sums)];
  const std::int64_t together = tile.layout.extent(1), line = tile.layout.dimension(1)[0].stride;
  std::string parameters, places;
  for (std::size_t i = 0; i < store.places.size(); ++i) {
    parameters += fmt::format("int {}, ", place_name(i));
    places += place_name(i) + ", ";
  }
  Holes holes = {{"prefix", p_.prefix},
                 {"rows", std::to_string(store.rows)},
                 {"columns", std::to_string(store.columns)},
                 {"places_of", parameters},
                 {"places", places},
                 {"outputs", outputs(store, 1)},
                 {"staging", called_.stagings[at]},
                 {"of_group", of_group(tile.bytes() / 4)},
                 {"parts", std::to_string(sums.columns / together)},
                 {"together", std::to_string(together)},
                 {"eighths", std::to_string(together / 8)},
                 {"line", std::to_string(line)},
                 {"sums", called_.sums[static_cast<std::size_t>(store.sums)]},
                 {"column", values_.print_index(store.column)}};
  holes["from_here"] = turned_rows(store, filled(R"(#pragma unroll 8
for (int column = warp / 2; column < $together; column += 2)
  store(m, $column + part * $together + column, $places{here[column * $line + row]});
)",
                                                 holes));
  code.block(filled(R"(// An output from its sum.
const auto store = [&](int m, int n_run, $places_ofconst $prefixpack<float, 1>& sum) {
  if (m < $rows && n_run < $columns) {
    $outputs
  }
};
float* const here = $staging$of_group;
#pragma unroll
for (int part = 0; part < $parts; ++part) {
  // Once all have read what was there.
  $prefixmeet_group();
  #pragma unroll
  for (int j = 0; j < $eighths; ++j) {
    const int at = (part * $eighths + j) * 4;
    float* const to = &here[(j * 8 + lane % 4 * 2) * $line + warp * 16 + lane / 4];
    to[0] = $sums[at];
    to[$line] = $sums[at + 1];
    to[8] = $sums[at + 2];
    to[$line + 8] = $sums[at + 3];
  }
  $prefixmeet_group();
  $from_here
}
)",
                    holes));
}

}  // namespace hone::tile
