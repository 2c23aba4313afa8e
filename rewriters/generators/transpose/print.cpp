#include <fmt/format.h>

#include <algorithm>

#include "rewriters/generators/transpose/plan.h"

namespace hone::generators::transpose {

void print_transpose(const Goal& goal, const Plan& plan, const Schedule& schedule,
                     const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                     Generated& generated) {
  lift::Nodes& nodes = *goal.nodes;
  Parameters parameters(goal);
  parameters.read_all(plan.store.value);
  parameters.read_all(plan.store.guard);
  parameters.write(plan.store.buffer, plan.store.type);
  Names names;
  for (const std::string& buffer : parameters.args()) names.take(buffer);
  for (const char* word : {"batch", "r", "c", "x", "y", "place", "first", "wide", "within"})
    names.take(word);

  const int threads = 32 * schedule.threads;
  const auto tiles = [&](SymbolId symbol) {
    return (nodes.extent(symbol) + schedule.tile - 1) / schedule.tile;
  };
  code.comment(what);
  code.open_function(fmt::format("__global__ void __launch_bounds__({}) {}", threads, name),
                     parameters.texts());
  code.line(fmt::format("constexpr int kTile = {};", schedule.tile));
  code.line(fmt::format("constexpr int kRows = {};  // of 32 threads", schedule.threads));
  code.line(fmt::format("constexpr int kStored = {}, kLoaded = {};  // neighbours of each kind",
                        nodes.extent(plan.stored), nodes.extent(plan.loaded)));
  code.line(fmt::format("constexpr int kStoredTiles = {}, kLoadedTiles = {};", tiles(plan.stored),
                        tiles(plan.loaded)));
  code.line();

  Printer printer(nodes);
  printer.indices[plan.batch] = "batch";
  printer.indices[plan.loaded] = "r";
  printer.indices[plan.stored] = "c";
  LaneBody body(goal, printer, names, helpers, plan.stored, "c", 1);
  body.cache = schedule.cache;
  std::vector<std::string> arrays;
  for (const Ref load : plan.turned) {
    arrays.push_back(names.fresh(load->op + "_tile"));
    code.line(fmt::format("__shared__ {} {}[kTile][kTile + 1];  // a column more: no bank twice",
                          type_name(load->type), arrays.back()));
    body.at_hand[load] = arrays.back() + "[column][line]";
  }
  const std::int64_t stored_tiles = tiles(plan.stored);
  const std::int64_t group = std::min(schedule.group, stored_tiles);
  code.line("const int batch = blockIdx.x / (kLoadedTiles * kStoredTiles);");
  code.line("const int place = blockIdx.x % (kLoadedTiles * kStoredTiles);");
  if (group == 1) {
    code.line("const int first_r = place % kLoadedTiles * kTile;");
    code.line("const int first_c = place / kLoadedTiles * kTile;");
  } else {
    // Blocks that run together then cover long pieces of rows on both sides.
    code.line(fmt::format("constexpr int kGroup = {};  // stored tiles side by side", group));
    code.line("const int first = place / (kLoadedTiles * kGroup) * kGroup;");
    code.line(stored_tiles % group == 0 ? "constexpr int wide = kGroup;"
                                        : "const int wide = min(kGroup, kStoredTiles - first);");
    code.line("const int within = place - first * kLoadedTiles;");
    code.line("const int first_r = within / wide * kTile;");
    code.line("const int first_c = (first + within % wide) * kTile;");
  }
  const bool ragged = nodes.extent(plan.stored) % schedule.tile != 0 ||
                      nodes.extent(plan.loaded) % schedule.tile != 0;
  // `line` and `column` number the tile's elements by r and by c.
  const auto open = [&](const std::string& slow, const std::string& fast) {
    code.line("#pragma unroll");
    code.open(fmt::format("for (int {0} = threadIdx.y; {0} < kTile; {0} += kRows)", slow));
    if (schedule.tile > 32) {
      code.line("#pragma unroll");
      code.open(fmt::format("for (int {0} = threadIdx.x; {0} < kTile; {0} += 32)", fast));
    } else {
      code.line(fmt::format("const int {} = threadIdx.x;", fast));
    }
    code.line("const int r = first_r + line, c = first_c + column;");
    if (ragged) code.open("if (r < kLoaded && c < kStored)");
  };
  const auto close = [&] {
    if (ragged) code.close();
    if (schedule.tile > 32) code.close();
    code.close();
  };
  open("column", "line");
  for (std::size_t i = 0; i < plan.turned.size(); ++i) {
    body.emit_load(code, plan.turned[i], arrays[i] + "[column][line]");
  }
  close();
  code.line("__syncthreads();");
  open("line", "column");
  body.emit(code, {}, {plan.store}, {});
  close();
  code.close();
  code.line();

  GeneratedLaunch launch;
  launch.kernel = name;
  launch.grid = {plan.batches * tiles(plan.stored) * tiles(plan.loaded)};
  launch.block = {32, schedule.threads};
  launch.args = parameters.args();
  generated.launches.push_back(std::move(launch));
  for (const std::string& header : parameters.includes()) {
    if (std::ranges::find(generated.includes, header) == generated.includes.end()) {
      generated.includes.push_back(header);
    }
  }
}

}  // namespace hone::generators::transpose
