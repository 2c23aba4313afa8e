#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/transpose/plan.h"

namespace hone::schedules::transpose {
namespace {

/// The kernel of one nest. `r` counts neighbours of the loads, `c` those of the stores; `line` and
/// `column` the same within a tile.
class Kernel {
 public:
  Kernel(const Goal& goal, const Plan& plan, const Schedule& schedule, Helpers& helpers, Code& code)
      : goal_(goal),
        plan_(plan),
        schedule_(schedule),
        helpers_(helpers),
        code_(code),
        printer_(*goal.nodes),
        ragged_(extent(plan.stored) % schedule.tile != 0 ||
                extent(plan.loaded) % schedule.tile != 0) {
    for (const char* word : {"batch", "r", "c", "x", "y", "k", "i", "v", "place", "first", "wide",
                             "within", "line", "column", "turned"})
      names_.take(word);
    printer_.indices[plan.batch] = "batch";
    printer_.indices[plan.loaded] = "r";
    printer_.indices[plan.stored] = "c";
  }

  void print(const std::string& name, const Parameters& parameters) {
    for (const std::string& buffer : parameters.args()) names_.take(buffer);
    code_.open_function(
        fmt::format("__global__ void __launch_bounds__({}) {}", schedule_.threads, name),
        parameters.texts());
    print_sizes();
    if (schedule_.width > 1) {
      print_blocks();
    } else {
      print_elements();
    }
    code_.close();
    code_.line();
  }

  [[nodiscard]] std::int64_t tiles(SymbolId symbol) const {
    return ceil_divide(extent(symbol), schedule_.tile);
  }

 private:
  [[nodiscard]] std::int64_t extent(SymbolId symbol) const { return goal_.nodes->extent(symbol); }
  void print_sizes();
  void print_place();
  void print_elements();
  void print_blocks();
  void open_range() {
    code_.line("const int r = first_r + line, c = first_c + column;");
    if (ragged_) code_.open("if (r < kLoaded && c < kStored)");
  }
  void close_range() {
    if (ragged_) code_.close();
  }
  void open_elements(const std::string& slow, const std::string& fast);
  void close_elements();
  void print_turning(Ref load, const std::string& array);

  const Goal& goal_;
  const Plan& plan_;
  const Schedule& schedule_;
  Helpers& helpers_;
  Code& code_;
  Printer printer_;
  Names names_;
  bool ragged_;
};

void Kernel::print_sizes() {
  code_.line(fmt::format("constexpr int kTile = {};", schedule_.tile));
  if (schedule_.width > 1) {
    code_.line(fmt::format("constexpr int kThreads = {};", schedule_.threads));
    code_.line(fmt::format("constexpr int kVec = {};  // elements moved at once", schedule_.width));
    code_.line("constexpr int kVecs = kTile / kVec;");
  } else {
    code_.line(fmt::format("constexpr int kRows = {};  // of 32 threads", schedule_.threads / 32));
  }
  code_.line(fmt::format("constexpr int kStored = {}, kLoaded = {};  // neighbours of each kind",
                         extent(plan_.stored), extent(plan_.loaded)));
  code_.line(fmt::format("constexpr int kStoredTiles = {}, kLoadedTiles = {};", tiles(plan_.stored),
                         tiles(plan_.loaded)));
  code_.line();
}

void Kernel::print_place() {
  const std::int64_t stored_tiles = tiles(plan_.stored);
  const std::int64_t group = std::min(schedule_.group, stored_tiles);
  code_.line("const int batch = blockIdx.x / (kLoadedTiles * kStoredTiles);");
  code_.line("const int place = blockIdx.x % (kLoadedTiles * kStoredTiles);");
  if (group == stored_tiles) {
    code_.line("const int first_r = place / kStoredTiles * kTile;");
    code_.line("const int first_c = place % kStoredTiles * kTile;");
  } else if (group == 1) {
    code_.line("const int first_r = place % kLoadedTiles * kTile;");
    code_.line("const int first_c = place / kLoadedTiles * kTile;");
  } else {
    // Blocks that run together then cover long pieces of rows on both sides.
    code_.line(fmt::format("constexpr int kGroup = {};  // stored tiles side by side", group));
    code_.line("const int first = place / (kLoadedTiles * kGroup) * kGroup;");
    code_.line(stored_tiles % group == 0 ? "constexpr int wide = kGroup;"
                                         : "const int wide = min(kGroup, kStoredTiles - first);");
    code_.line("const int within = place - first * kLoadedTiles;");
    code_.line("const int first_r = within / wide * kTile;");
    code_.line("const int first_c = (first + within % wide) * kTile;");
  }
}

void Kernel::open_elements(const std::string& slow, const std::string& fast) {
  code_.line("#pragma unroll");
  code_.open(fmt::format("for (int {0} = threadIdx.y; {0} < kTile; {0} += kRows)", slow));
  if (schedule_.tile > 32) {
    code_.line("#pragma unroll");
    code_.open(fmt::format("for (int {0} = threadIdx.x; {0} < kTile; {0} += 32)", fast));
  } else {
    code_.line(fmt::format("const int {} = threadIdx.x;", fast));
  }
  open_range();
}

void Kernel::close_elements() {
  close_range();
  if (schedule_.tile > 32) code_.close();
  code_.close();
}

void Kernel::print_elements() {
  LaneBody body(goal_, printer_, names_, helpers_, plan_.stored, "c", 1);
  body.cache = schedule_.cache;
  std::vector<std::string> arrays;
  for (const Ref load : plan_.turned) {
    arrays.push_back(names_.fresh(load->name + "_tile"));
    code_.line(fmt::format("__shared__ {} {}[kTile][kTile + 1];  // a column more: no bank twice",
                           type_name(load->type), arrays.back()));
    body.at_hand[load] = arrays.back() + "[column][line]";
  }
  print_place();
  open_elements("column", "line");
  for (std::size_t i = 0; i < plan_.turned.size(); ++i) {
    body.emit_load(code_, plan_.turned[i], arrays[i] + "[column][line]");
  }
  close_elements();
  code_.line("__syncthreads();");
  open_elements("line", "column");
  body.emit(code_, {}, {plan_.store}, {});
  close_elements();
}

/// A thread loads kVec vectors, one below the other, turns the block in registers and puts it down
/// as vectors along the stores.
void Kernel::print_turning(Ref load, const std::string& array) {
  Printer printer = printer_;
  printer.indices[plan_.stored] = "(c + i)";
  LaneBody body(goal_, printer, names_, helpers_, plan_.loaded, "r", schedule_.width);
  body.cache = schedule_.cache;
  const std::string block = names_.fresh(load->name + "_block");
  code_.line(fmt::format("{} {}[kVec];", helpers_.pack(load->type), block));
  code_.line("#pragma unroll");
  code_.open("for (int i = 0; i < kVec; ++i)");
  body.emit_load(code_, load, block + "[i]");
  code_.close();
  code_.line("#pragma unroll");
  code_.open("for (int v = 0; v < kVec; ++v)");
  code_.line(helpers_.pack(load->type) + " turned;");
  code_.line("#pragma unroll");
  code_.line(fmt::format("for (int i = 0; i < kVec; ++i) turned.at[i] = {}[i].at[v];", block));
  code_.line(fmt::format("{}[line + v][(column / kVec) ^ (line / kVec)] = turned;", array));
  code_.close();
}

void Kernel::print_blocks() {
  LaneBody body(goal_, printer_, names_, helpers_, plan_.stored, "c", schedule_.width);
  body.cache = schedule_.cache;
  std::vector<std::string> arrays;
  for (const Ref load : plan_.turned) {
    arrays.push_back(names_.fresh(load->name + "_tile"));
    // Vector x of a line lies at place x ^ (line / kVec): no bank twice, neither way.
    code_.line(
        fmt::format("__shared__ {} {}[kTile][kVecs];", helpers_.pack(load->type), arrays.back()));
    body.at_hand[load] = arrays.back() + "[line][(column / kVec) ^ (line / kVec)]";
  }
  print_place();
  code_.line("#pragma unroll");
  code_.open("for (int k = threadIdx.x; k < kVecs * kVecs; k += kThreads)");
  code_.line("const int line = k % kVecs * kVec, column = k / kVecs * kVec;");
  open_range();
  for (std::size_t i = 0; i < plan_.turned.size(); ++i) print_turning(plan_.turned[i], arrays[i]);
  close_range();
  code_.close();
  code_.line("__syncthreads();");
  code_.line("#pragma unroll");
  code_.open("for (int k = threadIdx.x; k < kTile * kVecs; k += kThreads)");
  code_.line("const int line = k / kVecs, column = k % kVecs * kVec;");
  open_range();
  body.emit(code_, {}, {plan_.store}, {});
  close_range();
  code_.close();
}

}  // namespace

void print_transpose(const Goal& goal, const Plan& plan, const Schedule& schedule,
                     const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                     Generated& generated) {
  Parameters parameters(goal);
  parameters.read_all(plan.store.value);
  parameters.read_all(plan.store.guard);
  parameters.write(plan.store.buffer, plan.store.type);
  code.comment(what);
  Kernel kernel(goal, plan, schedule, helpers, code);
  kernel.print(name, parameters);

  using Block = std::vector<std::int64_t>;
  parameters.add_launch(
      {.kernel = name,
       .grid = {plan.batches * kernel.tiles(plan.stored) * kernel.tiles(plan.loaded)},
       .block = schedule.width > 1 ? Block{schedule.threads} : Block{32, schedule.threads / 32}},
      generated);
}

}  // namespace hone::schedules::transpose
