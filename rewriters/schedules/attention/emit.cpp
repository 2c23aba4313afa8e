#include "rewriters/schedules/attention/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/printing/instructions.h"
#include "rewriters/schedules/products.h"

namespace hone::schedules::attention {
namespace {

constexpr const char* kNothing = "-__int_as_float(0x7f800000)";

}  // namespace

Emitter::Emitter(const Attention& attention, const Schedule& schedule, const Goal& goal,
                 std::string prefix_of_names)
    : a(attention),
      s(schedule),
      query(tile_of(attention, schedule, Which::kQuery)),
      key(tile_of(attention, schedule, Which::kKey)),
      values(tile_of(attention, schedule, Which::kValues)),
      prefix(std::move(prefix_of_names)),
      goal_(goal) {}

// --- Names ------------------------------------------------------------------------------------

std::string Emitter::parameter_name(const std::string& buffer) const {
  // What the kernels call their own things.
  constexpr std::string_view kTaken =
      " at batch before block column copy_key copy_query copy_values d e e_first end_tile fill "
      "first_key first_row first_tile from got i inverse j k k_first k_last key keys l made n "
      "nothing other part piece q q_first q_last query row score scores shift shrink stage sum "
      "sums "
      "thread tile tile_k to top total value values weight ";
  const bool taken = kTaken.find(" " + buffer + " ") != kTaken.npos;
  // So that no name of a tile's places, and no constant, is a buffer's.
  const bool alike = buffer.starts_with("k") || buffer.starts_with("shared_") ||
                     buffer.starts_with("query_") || buffer.starts_with("values_");
  return taken || alike ? buffer + "_" : buffer;
}

std::vector<std::string> Emitter::buffers() const {
  std::vector<std::string> names;
  for (const std::string& input : a.inputs) {
    if (input != a.nest->buffer) names.push_back(input);
  }
  names.push_back(a.nest->buffer);
  return names;
}

std::string Emitter::parameters() const {
  std::string text;
  for (const std::string& name : buffers()) {
    const ConcreteBuffer* buffer = goal_.buffer(name);
    text += fmt::format(
        "{}{}{}* __restrict__ {}", text.empty() ? "" : ", ", name == a.nest->buffer ? "" : "const ",
        type_name(buffer == nullptr ? ScalarType::kF32 : buffer->type), parameter_name(name));
  }
  return text;
}

Printer Emitter::printer() const {
  Printer printer(*a.nodes);
  printer.indices[a.batch] = "batch";
  printer.indices[a.q] = "q";
  printer.indices[a.k] = "k";
  printer.indices[a.d] = "d";
  printer.indices[a.e] = "e";
  printer.on_load = [this](Ref load) -> std::string {
    if (parameter_name(load->name) == load->name) return "";
    Printer inner = this->printer();
    return load_from(parameter_name(load->name), inner, load);
  };
  return printer;
}

// --- Which keys -------------------------------------------------------------------------------

namespace {

/// rest + query * q + key * k at the corner where it is largest (or least).
std::string corner(const Bound& bound, const std::string& rest, bool largest,
                   const std::string& first_key, const std::string& last_key) {
  std::string text = rest;
  const auto add = [&](std::int64_t factor, const std::string& first, const std::string& last) {
    if (factor == 0) return;
    const std::string& name = (factor > 0) == largest ? last : first;
    const std::string size =
        std::abs(factor) == 1 ? name : fmt::format("{} * {}", std::abs(factor), name);
    text += (factor < 0 ? " - " : " + ") + size;
  };
  add(bound.query, "q_first", "q_last");
  if (!first_key.empty()) add(bound.key, first_key, last_key);
  return text.starts_with("0 + ") ? text.substr(4) : text;
}

}  // namespace

bool Emitter::masks() const { return !a.allowed->is_constant() || a.keys % s.keys != 0; }

std::string Emitter::allowed() const {
  Printer print = printer();
  std::string text;
  if (a.keys % s.keys != 0) text = "k < kKeys";
  for (const Ref part : nest::conjuncts(a.allowed)) {
    if (part->is_constant() && part->constant != 0) continue;
    const std::string one = print.print(part);
    text += (text.empty() ? "" : " && ") +
            (one.find(" || ") == one.npos && one.find('?') == one.npos ? one : "(" + one + ")");
  }
  return text;
}

std::string Emitter::range() const {
  if (a.bounds.empty()) {
    return fmt::format("constexpr int first_tile = 0, end_tile = {};", ceil_divide(a.keys, s.keys));
  }
  Printer print = printer();
  std::string text =
      "// Other keys have no weight for these queries.\n"
      "const int q_last = min(q_first + kTileQ, kQueries) - 1;\n"
      "int k_first = 0, k_last = kKeys - 1;\n";
  for (const Bound& bound : a.bounds) {
    const std::string most = corner(bound, print.print_index(bound.rest), true, "", "");
    if (bound.key == 0) {
      text += fmt::format("if ({} < 0) k_last = -1;\n", most);
    } else if (bound.key == -1) {
      text += fmt::format("k_last = min(k_last, {});\n", most);
    } else if (bound.key < 0) {
      text +=
          fmt::format("k_last = min(k_last, {} < 0 ? -1 : ({}) / {});\n", most, most, -bound.key);
    } else {
      text += fmt::format("k_first = max(k_first, ({} - ({})) / {});\n", bound.key - 1, most,
                          bound.key);
    }
  }
  text +=
      "const int first_tile = k_first / kTileK;\n"
      "const int end_tile = k_first <= k_last ? k_last / kTileK + 1 : first_tile;";
  return text;
}

/// A condition on a tile (from tile_k on): all of it has weight; empty: one cannot know.
std::string Emitter::whole_tile() const {
  if (!a.only_bounds) return "";
  Printer print = printer();
  std::string text;
  const auto require = [&](const std::string& condition) {
    text += (text.empty() ? "" : " && ") + condition;
  };
  if (a.keys % s.keys != 0) require("tile_k + kTileK <= kKeys");
  for (const Bound& bound : a.bounds) {
    require(corner(bound, print.print_index(bound.rest), false, "tile_k", "(tile_k + kTileK - 1)") +
            " >= 0");
  }
  return text;
}

std::string Emitter::logit() const {
  Printer print = printer();
  print.known[a.score] = "score";
  const std::string value = makes_logits() ? print.print(a.logits) : "score";
  const std::string condition = allowed();
  return condition.empty() ? value : fmt::format("{} ? {} : nothing", condition, value);
}

std::string Emitter::helpers() const {
  std::string text = pack_type(prefix) + address_function(prefix);
  if (uses_async()) text += async_copies(prefix, SharedPlace::kAddress);
  return text + power_function(prefix);
}

// --- The kernel's frame -----------------------------------------------------------------------

std::string Emitter::with_constants(
    const std::string& kernel,
    const std::vector<std::pair<std::string, std::int64_t>>& more) const {
  const std::vector<std::vector<std::pair<std::string, std::int64_t>>> lines = {
      {{"kQueries", a.queries}, {"kKeys", a.keys}, {"kDepth", a.depth}, {"kColumns", a.columns}},
      {{"kTileQ", s.rows}, {"kTileK", s.keys}, {"kStages", s.stages}, {"kThreads", s.threads()}},
      {{"kBlocks", ceil_divide(a.queries, s.rows)}},
      {{"kElementsQ", query.elements()},
       {"kElementsK", key.elements()},
       {"kElementsV", values.elements()}},
      {{"kStrideQ", query.stride}, {"kStrideK", key.stride}, {"kStrideV", values.stride}},
      more};
  std::string text = constants_of(kernel, lines);
  // kLeast: the shift of a row that no key has been allowed yet, less than any score.
  text += fmt::format("constexpr float kScale = {}, kLeast = -3.4e38f;\n",
                      literal(a.scale.value_or(1), ScalarType::kF32));
  return filled(kernel, {{"constants", text}});
}

Holes Emitter::holes() const {
  // As many blocks on an SM as registers and shared memory let.
  const std::int64_t shared =
      goal_.context == nullptr ? 228 * 1024 : goal_.context->target.shared_per_sm;
  const int registers = (registers_of(a, s) + 7) / 8 * 8;
  const std::int64_t blocks = std::min({std::int64_t{65536} / (s.threads() * registers),
                                        std::int64_t{4}, shared / (shared_bytes(a, s) + 1024)});
  const bool copies = uses_async();
  const bool ring = s.stages > 1;
  Holes holes = {
      {"prefix", prefix},
      {"params", parameters()},
      {"bounds",
       blocks > 1 ? fmt::format("{}, {}", s.threads(), blocks) : std::to_string(s.threads())},
      {"range", range()},
      {"copies", copy(Which::kQuery) + copy(Which::kKey) + copy(Which::kValues)},
      {"commit", copies ? prefix + "commit();" : ""},
      {"wait_all", copies ? prefix + "wait<0>();" : ""},
      {"wait_ring", copies ? prefix + "wait<kStages - 2>();" : ""},
      {"type_q", type_name(query.type)},
      {"type_k", type_name(key.type)},
      {"type_v", type_name(values.type)},
      {"nothing", kNothing},
  };
  holes["what"] =
      fmt::format("// {}: {} queries a block, {} keys at a time, {}.", a.describe(), s.rows, s.keys,
                  ring ? fmt::format("{} tiles of them in shared memory at once", s.stages)
                       : "the next keys under way while values are used, and the other way round");
  const bool backwards = last_are_longest(a);
  holes["where"] =
      fmt::format("const int thread = threadIdx.x, batch = blockIdx.x / kBlocks;\n{}",
                  backwards ? "// The last queries have most to do: they go first.\n"
                              "const int q_first = (kBlocks - 1 - blockIdx.x % kBlocks) * kTileQ;"
                            : "const int q_first = blockIdx.x % kBlocks * kTileQ;");
  holes["shared"] = filled(R"(extern __shared__ __align__(128) unsigned char $prefixshared[];
$type_q* const shared_query = reinterpret_cast<$type_q*>($prefixshared);
$type_k* const shared_key = reinterpret_cast<$type_k*>(shared_query + kElementsQ);
$type_v* const shared_values = reinterpret_cast<$type_v*>(shared_key + kStages * kElementsK);
)",
                           holes);
  holes["first_tiles"] = filled(ring ? R"(copy_query();
#pragma unroll
for (int stage = 0; stage < kStages - 1; ++stage) {
  if (first_tile + stage < end_tile) {
    copy_key(stage, first_tile + stage);
    copy_values(stage, first_tile + stage);
  }
  $commit
}
$wait_ring
__syncthreads();
)"
                                     : R"(copy_query();
if (first_tile < end_tile) copy_key(0, first_tile);
$commit
$wait_all
__syncthreads();
)",
                                holes);
  holes["start_tile"] = filled(ring ? R"($wait_ring
__syncthreads();
if (tile + kStages - 1 < end_tile) {
  copy_key(fill, tile + kStages - 1);
  copy_values(fill, tile + kStages - 1);
}
$commit
)"
                                    : R"($wait_all
__syncthreads();
copy_values(0, tile);
$commit
)",
                               holes);
  holes["middle"] = ring ? ""
                         : filled(R"($wait_all
__syncthreads();
if (tile + 1 < end_tile) copy_key(0, tile + 1);
$commit
)",
                                  holes);
  holes["stages"] = ring ? "int stage = 0, fill = kStages - 1;" : "constexpr int stage = 0;";
  holes["end_tile"] = ring ? "stage = stage + 1 == kStages ? 0 : stage + 1;\n"
                             "fill = fill + 1 == kStages ? 0 : fill + 1;"
                           : "";
  holes["logit"] = logit();
  const std::string whole = whole_tile();
  holes["if_masked"] = makes_logits() || whole.empty() ? "" : "if (!(" + whole + ")) ";
  return holes;
}

std::string Emitter::write(int width, const std::string& sums) const {
  const std::string row = write_row(width, sums);
  return a.queries % s.rows == 0 ? row : "if (q < kQueries) {\n" + row + "}\n";
}

std::string Emitter::write_row(int width, const std::string& sums) const {
  Printer print = printer();
  print.known[a.mean] = "(" + sums + " * inverse)";
  print.known[a.weighted] = sums;
  print.known[a.sum] = "sum";
  const std::string output = parameter_name(a.nest->buffer);
  const bool guarded = !a.guard->is_constant();
  const bool vector = width > 1 && a.run_of_outputs >= width && !guarded;
  const std::string columns = padded_columns(a, s.pipe) == a.columns ? "" : "e < kColumns";
  Holes holes = {{"width", std::to_string(width)},
                 {"out", output},
                 {"pack", fmt::format("{}pack<{}, {}>", prefix, type_name(a.nest->type), width)},
                 {"if_column", columns.empty() ? "" : "if (" + columns + ") "}};
  if (vector) {
    holes["element"] = print.print_index(a.element);
    print.indices[a.e] = "(e + j)";
    holes["value"] = stored(print, a.nest->type, a.value);
    return filled(R"($pack made;
#pragma unroll
for (int j = 0; j < $width; ++j) made.at[j] = $value;
$if_column*reinterpret_cast<$pack*>(&$out[$element]) = made;
)",
                  holes);
  }
  std::string condition = columns;
  if (guarded) condition += (condition.empty() ? "" : " && ") + ("(" + print.print(a.guard) + ")");
  holes["if"] = condition.empty() ? "" : "if (" + condition + ") ";
  holes["element"] = print.print_index(a.element);
  holes["value"] = stored(print, a.nest->type, a.value);
  return filled(R"(const int e_first = e;
#pragma unroll
for (int j = 0; j < $width; ++j) {
  const int e = e_first + j;
  $if$out[$element] = $value;
}
)",
                holes);
}

GeneratedLaunch Emitter::launch() const {
  GeneratedLaunch launch;
  launch.kernel = prefix + "attention";
  launch.grid = {ceil_divide(a.queries, s.rows) * a.batches};
  launch.block = {s.threads()};
  launch.shared_bytes = shared_bytes(a, s);
  launch.args = buffers();
  return launch;
}

}  // namespace hone::schedules::attention
