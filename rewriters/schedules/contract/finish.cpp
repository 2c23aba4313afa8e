#include "rewriters/schedules/contract/finish.h"

#include <fmt/format.h>

#include <set>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/contract/places.h"
#include "rewriters/schedules/nests.h"
#include "rewriters/schedules/printing/emit.h"
#include "rewriters/schedules/printing/text.h"
#include "rewriters/schedules/products.h"
#include "rewriters/tile/places_text.h"

namespace hone::schedules::contract {
namespace {

class Finish {
 public:
  Finish(const Contraction& contraction, const Schedule& schedule, const Waves& of_waves,
         const Goal& goal, const std::string& prefix_of_names)
      : c(contraction),
        s(schedule),
        waves(of_waves),
        goal_(goal),
        prefix(prefix_of_names),
        partial(prefix + "partial") {}

  [[nodiscard]] std::string kernel() const { return waves.shared > 0 ? of_tail() : of_slices(); }
  [[nodiscard]] GeneratedLaunch launch() const;
  [[nodiscard]] Buffer partial_sums() const;

 private:
  /// The sums, the inputs of the outputs' values, and the output.
  [[nodiscard]] std::vector<tile::Program::Parameter> buffers() const;
  [[nodiscard]] std::string parameters() const;
  [[nodiscard]] std::string parameter_name(const std::string& buffer) const;
  [[nodiscard]] std::string pack(const std::string& type, const std::string& count) const {
    return prefix + "pack<" + type + ", " + count + ">";
  }
  [[nodiscard]] std::string finished(const std::string& width, bool vector) const;
  [[nodiscard]] std::string around(Printer& print, Holes holes) const;
  [[nodiscard]] std::string of_slices() const;
  [[nodiscard]] std::string of_tail() const;
  [[nodiscard]] int width() const { return c.n_size % 4 == 0 ? 4 : 1; }

  const Contraction& c;
  const Schedule& s;
  const Waves& waves;
  const Goal& goal_;
  const std::string prefix, partial;
};

std::string Finish::parameter_name(const std::string& buffer) const {
  // What the kernels call their own things.
  static const std::set<std::string, std::less<>> taken = {
      "m",       "n",       "j",         "k",         "batch",    "column",     "m_first",
      "n_first", "n_run",   "number",    "run",       "slice",    "sum",        "more",
      "made",    "ordinal", "first_row", "rows_here", "in_group", "tile_number"};
  return taken.contains(buffer) || (c.around && buffer.starts_with("place")) ||
                 buffer.starts_with("k")
             ? buffer + "_"
             : buffer;
}

std::vector<tile::Program::Parameter> Finish::buffers() const {
  std::vector<tile::Program::Parameter> all = {{partial, c.total_type, false}};
  for (auto& input : read_by(c.values_of_store(), c, goal_)) all.push_back(std::move(input));
  all.push_back({c.nest->buffer, c.nest->type, true});
  return all;
}

std::string Finish::parameters() const {
  std::string text;
  for (const auto& [buffer, type, written] : buffers()) {
    text += fmt::format("{}{}{}* __restrict__ {}", text.empty() ? "" : ", ",
                        written ? "" : "const ", type_name(type), parameter_name(buffer));
  }
  return text;
}

/// Statements that make `width` outputs from (m, n_run) on of `sum`.
std::string Finish::finished(const std::string& width, bool vector) const {
  Printer print(*c.nodes);
  print.indices[c.m] = "m";
  print.indices[c.n] = "n";
  print.indices[c.batch] = "batch";
  print.known[c.sum] = "sum.at[j]";
  print.on_load = [this, &print](Ref load) {
    const std::string name = parameter_name(load->name);
    return name == load->name ? "" : load_from(name, print, load);
  };
  const std::string type = type_name(c.nest->type);
  const std::string value = stored(print, c.nest->type, c.value);
  const bool guarded = !c.guard->is_constant();
  const Holes holes = {
      {"value", value},
      {"element", print.print_index(c.element)},
      {"out", parameter_name(c.nest->buffer)},
      {"pack", pack(type, width)},
      {"column", mentions(value, "n") ? "const int n = n_run + j;" : ""},
      {"columns", std::to_string(c.n_size)},
      {"width", width},
      {"guard", guarded ? fmt::format(" && {}", "(" + print.print(c.guard) + ")") : ""}};
  if (vector && !guarded && !c.around) {
    return filled(R"($pack made;
#pragma unroll
for (int j = 0; j < $width; ++j) {
  $column
  made.at[j] = $value;
}
const int n = n_run;
*reinterpret_cast<$pack*>(&$out[$element]) = made;
)",
                  holes);
  }
  if (c.around) return around(print, holes);
  return filled(R"(#pragma unroll
for (int j = 0; j < $width; ++j) {
  const int n = n_run + j;
  if (n < $columns$guard) $out[$element] = $value;
}
)",
                holes);
}

/// The same with the outputs without terms around those.
std::string Finish::around(Printer& print, Holes holes) const {
  const Contraction::Around& all = *c.around;
  tile::name_places(print, all.places);
  holes["own"] = tile::is_own(all.places);
  holes["empty"] = stored(print, c.nest->type, all.empty);
  holes["element"] = print.print_index(all.element);
  holes["guard"] = all.guard->is_constant() ? "" : " && (" + print.print(all.guard) + ")";
  holes["all"] = tile::over_places(
      print, all.places,
      filled("if (n < $columns$guard) $out[$element] = $own ? $value : $empty;\n", holes));
  return filled(R"(#pragma unroll
for (int j = 0; j < $width; ++j) {
  const int n = n_run + j;
  $all
}
)",
                holes);
}

std::string Finish::of_slices() const {
  const int width = this->width();
  const std::int64_t runs = c.batch_size * c.m_size * (c.n_size / width);
  const bool wide = c.batch_size * c.m_size * c.n_size * s.split_k > INT32_MAX;
  const std::string index = wide ? "long long" : "int";
  return filled(R"(
// Adds up what the $split slices have summed, and finishes each output.
__global__ void __launch_bounds__(256) $prefixfinish($params) {
  constexpr int kM = $m, kRunsN = $runs_n;
  const $index run = blockIdx.x * ($index)256 + threadIdx.x;
  if (run >= $runs) return;
  const int n_run = run % kRunsN * $width, m = run / kRunsN % kM;
  $batch
  $pack sum = *reinterpret_cast<const $pack*>(&$partial[run * $width]);
#pragma unroll
  for (int slice = 1; slice < $split; ++slice) {
    const $pack more = *reinterpret_cast<const $pack*>(&$partial[($index)$total * slice + run * $width]);
#pragma unroll
    for (int j = 0; j < $width; ++j) sum.at[j] += more.at[j];
  }
  $body
}
)",
                {{"split", std::to_string(s.split_k)},
                 {"prefix", prefix},
                 {"params", parameters()},
                 {"m", std::to_string(c.m_size)},
                 {"runs_n", std::to_string(c.n_size / width)},
                 {"runs", std::to_string(runs)},
                 {"width", std::to_string(width)},
                 {"index", index},
                 {"total", std::to_string(c.batch_size * c.m_size * c.n_size)},
                 {"partial", partial},
                 {"batch", c.batch_size == 1 ? ""
                                             : fmt::format("const int batch = run / {};",
                                                           c.m_size * (c.n_size / width))},
                 {"pack", pack(type_name(c.total_type), std::to_string(width))},
                 {"body", finished(std::to_string(width), c.contiguous_n >= width)}});
}

std::string Finish::of_tail() const {
  const int width = this->width();
  const bool one = c.batch_size == 1;
  const std::string place =
      filled(R"(const int tile_number = $back$ordinal;
$batch
const int first_row = tile_number / (kGroup * kTilesN) * kGroup;
const int rows_here = min(kTilesM - first_row, kGroup);
const int in_group = tile_number % (kGroup * kTilesN);
const int m_first = (first_row + in_group % rows_here) * kTileM;
const int n_first = in_group / rows_here * kTileN;
)",
             {{"back", last_rows_first(bounds_of_tiles(c)) ? "kTilesM * kTilesN - 1 - " : ""},
              {"ordinal", one ? "ordinal" : "ordinal % (kTilesM * kTilesN)"},
              {"batch", one ? "" : "const int batch = ordinal / (kTilesM * kTilesN);"}});
  const std::string kernel = filled(
      R"(
// Adds up what the blocks have summed that share a tile of the last wave, and finishes each output.
__global__ void __launch_bounds__(256) $prefixfinish($params) {
  $constants
  constexpr int kRuns = kTileM * kTileN / $width;  // of a tile
  const int number = blockIdx.x * 256 + threadIdx.x, run = number % kRuns;
  if (number >= $last * kRuns) return;
  const int ordinal = $whole + number / kRuns;
  $place
  const int m = m_first + run / (kTileN / $width), n_run = n_first + run % (kTileN / $width) * $width;
  if (m >= kM || n_run >= kN) return;
  $pack sum = *reinterpret_cast<const $pack*>(&$partial[number * $width]);
#pragma unroll
  for (int slice = 1; slice < $slices; ++slice) {
    const $pack more = *reinterpret_cast<const $pack*>(
        &$partial[slice * ($last * kTileM * kTileN) + number * $width]);
#pragma unroll
    for (int j = 0; j < $width; ++j) sum.at[j] += more.at[j];
  }
  $body
}
)",
      {{"prefix", prefix},
       {"params", parameters()},
       {"width", std::to_string(width)},
       {"last", std::to_string(waves.shared)},
       {"whole", std::to_string(waves.whole)},
       {"slices", std::to_string(s.tail)},
       {"partial", partial},
       {"place", place},
       {"pack", pack(type_name(c.total_type), std::to_string(width))},
       {"body", finished(std::to_string(width), c.contiguous_n >= width)}});
  const std::vector<std::vector<std::pair<std::string, std::int64_t>>> lines = {
      {{"kM", c.m_size}, {"kN", c.n_size}},
      {{"kTileM", s.bm}, {"kTileN", s.bn}},
      {{"kTilesM", ceil_divide(c.m_size, s.bm)},
       {"kTilesN", ceil_divide(c.n_size, s.bn)},
       {"kGroup", s.group}}};
  return filled(kernel, {{"constants", constants_of(kernel, lines)}});
}

Buffer Finish::partial_sums() const {
  using Shape = std::vector<std::int64_t>;
  return scratch_of({partial,
                     c.total_type,
                     waves.shared > 0 ? Shape{s.tail, waves.shared, s.bm, s.bn}
                                      : Shape{s.split_k, c.batch_size, c.m_size, c.n_size},
                     Role::kScratch,
                     {}});
}

GeneratedLaunch Finish::launch() const {
  const std::int64_t outputs =
      waves.shared > 0 ? waves.shared * s.bm * s.bn : c.batch_size * c.m_size * c.n_size;
  GeneratedLaunch launch;
  launch.kernel = prefix + "finish";
  launch.grid = {ceil_divide(outputs / width(), 256)};
  launch.block = {256};
  for (const auto& buffer : buffers()) launch.args.push_back(buffer.buffer);
  return launch;
}

}  // namespace

void add_finish(const Contraction& c, const Schedule& s, const Waves& waves, const Goal& goal,
                const std::string& prefix, Generated& generated) {
  if ((s.split_k == 1 || s.share_by_cluster) && waves.shared == 0) return;
  const Finish finish(c, s, waves, goal, prefix);
  generated.source += finish.kernel();
  generated.launches.push_back(finish.launch());
  generated.scratch.push_back(finish.partial_sums());
}

}  // namespace hone::schedules::contract
