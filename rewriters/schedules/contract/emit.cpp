#include "rewriters/schedules/contract/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/products.h"

namespace hone::schedules::contract {

Emitter::Emitter(const Contraction& contraction, const Schedule& schedule, const Goal& goal,
                 std::string prefix_of_names)
    : c(contraction),
      s(schedule),
      a(tile_of(contraction, contraction.a, schedule, true)),
      b(tile_of(contraction, contraction.b, schedule, false)),
      prefix(std::move(prefix_of_names)),
      partial(prefix + "partial"),
      goal_(goal) {
  const std::int64_t tiles =
      ceil_divide(c.m_size, s.bm) * ceil_divide(c.n_size, s.bn) * c.batch_size;
  if (s.tail > 1) shared = tiles % (sm_count(goal) * resident());
  whole = tiles - shared;
}

// --- Names ------------------------------------------------------------------------------------

std::string Emitter::buffer_type(const std::string& name) const {
  if (name == partial) return type_name(c.total_type);
  for (const ConcreteBuffer& buffer : goal_.concrete->buffers) {
    if (buffer.name == name) return type_name(buffer.type);
  }
  return "float";
}

std::string Emitter::parameter_name(const std::string& buffer) const {
  // What the kernels call their own things.
  static const std::set<std::string, std::less<>> taken = {
      "m",      "n",           "k",         "i",         "j",         "l",          "at",
      "batch",  "block",       "column",    "each",      "every",     "fill",       "first",
      "from",   "frag_a",      "frag_b",    "fragment",  "got",       "half",       "inside",
      "lane",   "made",        "m_first",   "m_last",    "more",      "most",       "next",
      "now",    "odd",         "left",      "right",     "got0",      "got1",       "n_first",
      "n_last", "n_run",       "offsets_a", "offsets_b", "pair",      "parts",      "piece",
      "read",   "row",         "rows_here", "run",       "slice",     "small_a",    "small_b",
      "stage",  "staged",      "step",      "store",     "sum",       "sums",       "thread",
      "tile",   "tile_a",      "tile_b",    "tiles",     "to",        "warp",       "Vector",
      "a_m",    "a_k",         "b_n",       "b_k",       "place_a",   "place_b",    "from_a",
      "from_b", "copy_a",      "copy_b",    "in_group",  "first_row", "first_tile", "ordinal",
      "number", "tile_number", "in_tile",   "whole",     "runs"};
  return taken.contains(buffer) || buffer.starts_with("k") ? buffer + "_" : buffer;
}

std::vector<std::string> Emitter::buffers(bool first) const {
  std::vector<std::string> names;
  if (first && s.split_k > 1) {
    // The operands alone; the epilogue is the second kernel's.
    names = c.inputs;
    names.push_back(partial);
    return names;
  }
  if (is_split()) names.push_back(partial);
  for (const std::string& input : c.inputs) {
    if (input != c.nest->buffer) names.push_back(input);
  }
  names.push_back(c.nest->buffer);
  return names;
}

std::string Emitter::parameters(bool first) const {
  std::string text;
  for (const std::string& name : buffers(first)) {
    if (!text.empty()) text += ", ";
    const bool written = name == c.nest->buffer ? !(first && s.split_k > 1) : first;
    text += fmt::format("{}{}* __restrict__ {}",
                        written && (name == partial || name == c.nest->buffer) ? "" : "const ",
                        buffer_type(name), parameter_name(name));
  }
  return text;
}

Printer Emitter::printer(const std::string& sum) const {
  Printer printer(*c.nodes);
  printer.indices[c.m] = "m";
  printer.indices[c.n] = "n";
  printer.indices[c.k] = "k";
  printer.indices[c.batch] = "batch";
  printer.known[c.sum] = sum;
  return printer;
}

// --- The kernel's frame -----------------------------------------------------------------------

std::string Emitter::with_constants(
    const std::string& kernel,
    const std::vector<std::pair<std::string, std::int64_t>>& more) const {
  const std::vector<std::vector<std::pair<std::string, std::int64_t>>> lines = {
      {{"kM", c.m_size}, {"kN", c.n_size}, {"kK", c.k_size}},
      {{"kTileM", s.bm}, {"kTileN", s.bn}, {"kTileK", s.bk}, {"kStages", s.stages}},
      {{"kThreads", s.threads()},
       {"kTilesM", ceil_divide(c.m_size, s.bm)},
       {"kTilesN", ceil_divide(c.n_size, s.bn)},
       {"kGroup", s.group}},
      {{"kElementsA", a.elements()}, {"kElementsB", b.elements()}},
      more};
  return filled(kernel, {{"constants", constants_of(kernel, lines)}});
}

std::string Emitter::k_range() const {
  std::string text;
  const std::int64_t steps = ceil_divide(c.k_size, s.bk);
  std::vector<Bound> used;
  for (const Bound& bound : c.bounds) {
    if (bound.k != 0 || bound.row != 0 || bound.column != 0) used.push_back(bound);
  }
  if (used.empty()) {
    if (shared > 0) {
      return fmt::format(
          "const int first_tile = slice * {0};\n"
          "const int tiles = {2}max(0, min({0}, {1} - first_tile));",
          ceil_divide(steps, s.tail), steps,
          whole == 0 ? std::string() : fmt::format("whole ? {} : ", steps));
    }
    if (s.split_k == 1) return fmt::format("constexpr int first_tile = 0, tiles = {};", steps);
    const std::int64_t each = ceil_divide(steps, s.split_k);
    return fmt::format(
        "const int slice = blockIdx.y, first_tile = slice * {};\n"
        "const int tiles = max(0, min({}, {} - first_tile));",
        each, each, steps);
  }
  text = fmt::format(
      "// Elsewhere the terms are zero, or the sum is not needed.\n"
      "const int m_last = min(m_first + kTileM, kM) - 1, n_last = min(n_first + kTileN, kN) - 1;\n"
      "int k_first = 0, k_last = kK - 1;\n");
  for (const Bound& bound : used) {
    std::string most = std::to_string(bound.constant);
    const auto add = [&](std::int64_t factor, const std::string& name) {
      if (factor == 0) return;
      most += fmt::format(" + {} * {}{}", factor, name, factor > 0 ? "_last" : "_first");
    };
    add(bound.row, "m");
    add(bound.column, "n");
    if (bound.k == 0) {
      text += fmt::format("if ({} < 0) k_last = -1;\n", most);
    } else if (bound.k < 0) {
      text += fmt::format("k_last = min(k_last, {} < 0 ? -1 : ({}) / {});\n", most, most, -bound.k);
    } else {
      text +=
          fmt::format("k_first = max(k_first, ({} - ({})) / {});\n", bound.k - 1, most, bound.k);
    }
  }
  text += "const int every = k_first <= k_last ? k_last / kTileK + 1 - k_first / kTileK : 0;\n";
  if (!is_split()) {
    text += "const int first_tile = k_first / kTileK, tiles = every;";
  } else {
    text += shared > 0 ? fmt::format("const int each = {}(every + {}) / {};\n",
                                     whole == 0 ? "" : "whole ? every : ", s.tail - 1, s.tail)
                       : fmt::format("const int slice = blockIdx.y, each = (every + {}) / {};\n",
                                     s.split_k - 1, s.split_k);
    text += fmt::format(
        "const int first_tile = k_first / kTileK + slice * each;\n"
        "const int tiles = max(0, min(each, every - slice * each));");
  }
  return text;
}

std::int64_t Emitter::resident() const {
  // As many blocks on an SM as registers and shared memory let, by what the sums need.
  const bool gathers = (!a.async && !a.vector) || (!b.async && !b.vector) || a.direct || b.direct;
  const int by_copies = gathers ? 24 : 0;
  const int sums_need = is_fma(s.pipe) ? registers_of_fma(c, s) + 32
                                       : s.wm * s.wn / 32 * words_of_sum(c, s.pipe) + 80;
  const int registers = sums_need + by_copies;
  const std::int64_t memory =
      goal_.context == nullptr ? 228 * 1024 : goal_.context->target.shared_per_sm;
  return std::max(std::int64_t{1},
                  std::min({std::int64_t{65536} / (s.threads() * registers), std::int64_t{8},
                            memory / (shared_bytes(c, s) + 1024)}));
}

std::string Emitter::bounds() const {
  const std::int64_t blocks = resident();
  return blocks > 1 ? fmt::format("{}, {}", s.threads(), blocks) : std::to_string(s.threads());
}

Holes Emitter::holes(int width) const {
  const Move move_a = move(true), move_b = move(false);
  const bool is_async = uses_async();
  const auto joined = [](const std::string& x, const std::string& y) {
    return x.empty() || y.empty() ? x + y : x + "\n" + y;
  };
  const std::string wait = is_async ? prefix + "wait<kStages - 2>();\n" : "";
  const std::string commit = is_async ? prefix + "commit();" : "";
  Holes holes = {
      {"prefix", prefix},
      {"params", parameters(true)},
      {"threads", std::to_string(s.threads())},
      {"bounds", bounds()},
      {"type_a", type_name(a.type)},
      {"type_b", type_name(b.type)},
      {"type", type_name(sum_type(c, s.pipe))},
      {"moves", move_a.definition + move_b.definition},
      {"start", joined(move_a.start, move_b.start)},
      {"end", joined(move_a.end, move_b.end)},
      {"commit", commit},
      {"wait", wait + "__syncthreads();"},
      {"range", k_range()},
      {"added", in_runs() ? "runs" : "sums"},
      {"store", store(width)},
  };
  holes["what"] = fmt::format(
      "// {}: {} x {} tiles of the output, {} of k at a time, {} in shared memory at once{}.",
      c.describe(), s.bm, s.bn, s.bk, s.stages,
      s.split_k > 1 ? fmt::format("; {} blocks share each sum", s.split_k)
      : shared > 0  ? fmt::format("; {} blocks share each of the last {} tiles", s.tail, shared)
                    : "");
  holes["shared"] = filled(R"(extern __shared__ __align__(1024) unsigned char $prefixshared[];
$type_a* const shared_a = reinterpret_cast<$type_a*>($prefixshared);
$type_b* const shared_b = reinterpret_cast<$type_b*>(shared_a + kStages * kElementsA);
)",
                           holes);
  holes["where"] = "const int thread = threadIdx.x;\n";
  if (shared > 0) {
    holes["where"] +=
        "// The last wave's tiles are shared by some blocks each: every SM has its part.\n";
    holes["where"] +=
        filled(whole == 0 ? R"(constexpr int kSlices = $slices;
const int ordinal = blockIdx.x / kSlices;
const int slice = blockIdx.x % kSlices;
)"
                          : R"(constexpr int kWhole = $whole, kSlices = $slices;
const bool whole = blockIdx.x < kWhole;
const int ordinal = whole ? blockIdx.x : kWhole + (blockIdx.x - kWhole) / kSlices;
const int slice = whole ? 0 : (blockIdx.x - kWhole) % kSlices;
)",
               {{"whole", std::to_string(whole)}, {"slices", std::to_string(s.tail)}});
  }
  holes["where"] += tile_place(shared > 0 ? "ordinal" : "blockIdx.x");
  holes["first_tiles"] = filled(R"(#pragma unroll
for (int stage = 0; stage < kStages - 1; ++stage) {
  if (stage < tiles) {
    const int fill = stage, next = first_tile + stage;
    $start
    $end
  }
  $commit
}
)",
                                holes);
  return holes;
}

/// Which tile of the output the `number`th is.
std::string Emitter::tile_place(const std::string& number) const {
  // Where k ends at the row, the last rows have most to do: they go first.
  const bool backwards = std::ranges::any_of(
      c.bounds, [](const Bound& bound) { return bound.k < 0 && bound.row > 0; });
  const bool one = c.batch_size == 1;
  return fmt::format(
      R"(// Blocks that run together go through kGroup rows of tiles: what they read stays in the L2.
const int tile_number = {}{}{};{}
const int first_row = tile_number / (kGroup * kTilesN) * kGroup;
const int rows_here = min(kTilesM - first_row, kGroup);
const int in_group = tile_number % (kGroup * kTilesN);
const int m_first = (first_row + in_group % rows_here) * kTileM;
const int n_first = in_group / rows_here * kTileN;
)",
      backwards ? "kTilesM * kTilesN - 1 - " : "", number, one ? "" : " % (kTilesM * kTilesN)",
      one ? "" : fmt::format("\nconst int batch = {} / (kTilesM * kTilesN);", number));
}

// --- Out --------------------------------------------------------------------------------------

/// Statements that make `width` outputs from (m, n) on of `sum`.
std::string Emitter::finished(const std::string& width, bool vector, const std::string& sum) const {
  Printer print = printer(fmt::format("{}.at[j]", sum));
  const std::string type = type_name(c.nest->type);
  const std::string value = stored(print, c.nest->type, c.value);
  const std::string output = parameter_name(c.nest->buffer);
  const bool guarded = !c.guard->is_constant();
  const Holes holes = {
      {"value", value},
      {"element", print.print_index(c.element)},
      {"out", output},
      {"type", type},
      {"pack", pack(type, width)},
      {"column", mentions(value, "n") ? "const int n = n_run + j;" : ""},
      {"width", width},
      {"guard", guarded ? fmt::format(" && {}", "(" + print.print(c.guard) + ")") : ""}};
  if (vector && !guarded) {
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
  return filled(R"(#pragma unroll
for (int j = 0; j < $width; ++j) {
  const int n = n_run + j;
  if (n < $kN$guard) $out[$element] = $value;
}
)",
                [&] {
                  Holes more = holes;
                  more["kN"] = std::to_string(c.n_size);
                  return more;
                }());
}

std::string Emitter::store(int width) const {
  const std::string type = type_name(c.total_type);
  const bool all_m = c.m_size % s.bm == 0, all_n = c.n_size % s.bn == 0;
  std::string condition;
  if (!all_m) condition = "m < kM";
  if (!all_n) condition += std::string(condition.empty() ? "" : " && ") + "n_run < kN";
  Holes holes = {{"pack", pack(type, std::to_string(width))}, {"condition", condition}};
  const std::string finish = finished(std::to_string(width), c.contiguous_n >= width, "sum");
  if (is_split() && (s.split_k > 1 || whole == 0)) {
    holes["body"] = partial_store(width, holes);
  } else if (shared > 0) {
    holes["finish"] = finish;
    holes["keep"] = partial_store(width, holes);
    holes["body"] = filled(R"(if (whole) {
  $finish
} else {
  $keep
}
)",
                           holes);
  } else {
    holes["body"] = finish;
  }
  if (!condition.empty()) holes["body"] = filled("if ($condition) {\n  $body\n}\n", holes);
  return filled(R"(// Outputs (m, n_run) and its right neighbours from their sums.
const auto store = [&](int m, int n_run, const $pack& sum) {
  $body
};
)",
                holes);
}

GeneratedLaunch Emitter::first_launch() const {
  GeneratedLaunch launch;
  launch.kernel = prefix + "contract";
  launch.grid = {whole + shared * s.tail, s.split_k};
  launch.block = {s.threads()};
  launch.shared_bytes = shared_bytes(c, s);
  launch.args = buffers(true);
  return launch;
}

}  // namespace hone::schedules::contract
