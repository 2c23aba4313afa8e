#include <fmt/format.h>

#include <algorithm>

#include "rewriters/generators/scan/plan.h"

namespace hone::generators::scan {
namespace {

/// The variables of one running reduction.
struct Carried {
  std::string op;
  ScalarType type = ScalarType::kF32;
  std::string c_type;
  std::string start;   ///< leaves others as they are
  std::string values;  ///< of a thread's elements, folded within the thread
  std::string totals;  ///< of its vectors
  std::string before;  ///< what comes before each vector
  std::string carry;   ///< what comes before the tile
  std::string sums;    ///< shared: of warps (along), of threads (across)

  [[nodiscard]] std::string fold(const std::string& a, const std::string& b) const {
    return combined(op, type, a, b);
  }
};

class ScanPrinter {
 public:
  ScanPrinter(const Goal& goal, const Plan& plan, const Schedule& schedule, Helpers& helpers,
              Code& code)
      : goal_(goal),
        nodes_(*goal.nodes),
        plan_(plan),
        schedule_(schedule),
        helpers_(helpers),
        code_(code),
        printer_(*goal.nodes),
        parameters_(goal) {}

  void print(const std::string& name, const std::string& what, Generated& generated) {
    for (const Running& one : plan_.running) {
      if (one.before != nullptr) parameters_.read_all(one.before);
      parameters_.read_all(one.each);
    }
    for (const LaneBody::Store& store : plan_.stores) {
      parameters_.read_all(store.value);
      parameters_.read_all(store.guard);
    }
    for (const LaneBody::Store& store : plan_.stores) parameters_.write(store.buffer, store.type);
    for (const std::string& buffer : parameters_.args()) names_.take(buffer);
    for (const char* word : {"col", "team", "active", "tile", "part", "own_part"})
      names_.take(word);
    for (const Running& one : plan_.running) carried_.push_back(carried(one));

    const Team& team = schedule_.team;
    const std::int64_t block = std::int64_t{team.threads} * team.teams;
    tiles_ = plan_.length > tile();
    code_.comment(what);
    code_.open_function(fmt::format("__global__ void __launch_bounds__({}) {}", block, name),
                        parameters_.texts());
    print_constants();
    print_threads();
    printer_.indices[plan_.row] = "row";
    print_carry();
    if (tiles_) {
      code_.open("for (int tile = 0; tile < kCols; tile += kTile)");
    }
    print_values();
    print_within_threads();
    if (team.across) {
      print_across();
    } else {
      print_along();
    }
    print_stores();
    if (tiles_) code_.close();
    code_.close();
    code_.line();

    GeneratedLaunch launch;
    launch.kernel = name;
    launch.grid = {(plan_.rows + team.teams - 1) / team.teams};
    launch.block = team.across ? std::vector<std::int64_t>{team.teams, team.threads}
                               : std::vector<std::int64_t>{block};
    launch.args = parameters_.args();
    generated.launches.push_back(std::move(launch));
    for (const std::string& header : parameters_.includes()) {
      if (std::ranges::find(generated.includes, header) == generated.includes.end()) {
        generated.includes.push_back(header);
      }
    }
  }

 private:
  Carried carried(const Running& one) {
    Carried result;
    result.op = one.op;
    result.type = compute_type(one.each->type);
    const Accumulator like(nodes_, one.node, one.each, names_);
    result.c_type = like.type;
    result.start = like.start;
    result.values = names_.fresh("value");
    result.totals = names_.fresh("total");
    result.before = names_.fresh("before");
    result.carry = names_.fresh("carry");
    result.sums = names_.fresh("sums");
    if (!is_float(result.type)) result.type = ScalarType::kI64;
    return result;
  }

  [[nodiscard]] std::int64_t tile() const {
    return std::int64_t{schedule_.team.threads} * schedule_.items * schedule_.width;
  }
  [[nodiscard]] bool vectors() const { return schedule_.width > 1; }
  [[nodiscard]] bool warps() const { return !schedule_.team.across && schedule_.team.threads > 32; }
  [[nodiscard]] std::string at_lane(const std::string& name) const {
    return name + (vectors() ? "[i][v]" : "[i]");
  }
  /// The last of a vector, in the order of the scan.
  [[nodiscard]] std::string last_of(const std::string& name) const {
    return name + (!vectors() ? "[i]" : plan_.reverse ? "[i][0]" : "[i][kVec - 1]");
  }

  void print_constants() {
    const Team& team = schedule_.team;
    code_.line(fmt::format("constexpr int kRows = {};", plan_.rows));
    code_.line(fmt::format("constexpr int kCols = {};  // elements of a row", plan_.length));
    code_.line(fmt::format("constexpr int kThreads = {};  // that share a row", team.threads));
    code_.line(fmt::format("constexpr int kRowsPerBlock = {};", team.teams));
    if (vectors()) {
      code_.line(
          fmt::format("constexpr int kVec = {};  // elements moved at once", schedule_.width));
    }
    code_.line(fmt::format("constexpr int kItems = {};  // {} of a thread in a tile",
                           schedule_.items, vectors() ? "vectors" : "elements"));
    if (tiles_) {
      code_.line(
          fmt::format("constexpr int kTile = kThreads * kItems{};", vectors() ? " * kVec" : ""));
    }
    if (warps()) code_.line("constexpr int kWarps = kThreads / 32;  // that share a row");
    code_.line();
  }

  void print_threads() {
    const Team& team = schedule_.team;
    if (team.across) {
      code_.line("const int team = threadIdx.x;  // neighbours read neighbouring rows");
      code_.line("const int lane = threadIdx.y;");
    } else if (team.teams == 1) {
      code_.line("const int lane = threadIdx.x;");
    } else {
      code_.line("const int team = threadIdx.x / kThreads;");
      code_.line("const int lane = threadIdx.x % kThreads;");
    }
    spare_ = plan_.rows % team.teams != 0;
    if (!spare_) {
      code_.line(team.teams > 1 ? "const int row = blockIdx.x * kRowsPerBlock + team;"
                                : "const int row = blockIdx.x;");
    } else {
      code_.comment("Spare threads of the last block repeat the last row and store nothing.");
      code_.line("const bool active = blockIdx.x * kRowsPerBlock + team < kRows;");
      code_.line("const int row = active ? blockIdx.x * kRowsPerBlock + team : kRows - 1;");
    }
    for (const Carried& one : carried_) {
      if (warps()) {
        // Two of each: a tile's may still be read while the next is written.
        code_.line(fmt::format("__shared__ {} {}{}{}[kItems * kWarps];", one.c_type, one.sums,
                               tiles_ ? "[2]" : "", team.teams > 1 ? "[kRowsPerBlock]" : ""));
      } else if (team.across && team.threads > 1) {
        code_.line(fmt::format("__shared__ {} {}{}[kThreads][kRowsPerBlock];", one.c_type, one.sums,
                               tiles_ ? "[2]" : ""));
      }
    }
  }

  /// What comes before the first tile: of a cut row, its parts before.
  void print_carry() {
    std::vector<Accumulator> all;
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      const Carried& one = carried_[i];
      code_.line(fmt::format("{} {} = {};  // of {}", one.c_type, one.carry, one.start,
                             tiles_ ? "the tiles before" : "what comes before"));
      all.emplace_back(nodes_, plan_.running[i].node, plan_.running[i].each, names_);
      all.back().name = one.carry;
    }
    if (plan_.parts == 1) return;
    printer_.indices[plan_.part] = "part";
    code_.line(fmt::format("const int own_part = {};", printer_.print(plan_.own_part)));
    code_.open(plan_.reverse
                   ? fmt::format("for (int part = own_part + 1 + lane; part < {}; part += "
                                 "kThreads)",
                                 plan_.parts)
                   : std::string("for (int part = lane; part < own_part; part += kThreads)"));
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      all[i].take(code_, printer_.print(plan_.running[i].before), "");
    }
    code_.close();
    emit_team_fold(code_, names_, schedule_.team, all);
  }

  /// The loop over a thread's vectors, with `at` in the order of the scan and `col` in memory's.
  void open_items() {
    code_.line("#pragma unroll");
    code_.open("for (int i = 0; i < kItems; ++i)");
    const std::string place = schedule_.team.across ? "lane * kItems + i" : "i * kThreads + lane";
    const std::string start = tiles_ ? "tile + " : "";
    code_.line(
        fmt::format("const int at = {}{};", start, vectors() ? "(" + place + ") * kVec" : place));
    code_.line(!plan_.reverse ? "const int col = at;"
               : vectors()    ? "const int col = kCols - kVec - at;"
                              : "const int col = kCols - 1 - at;");
  }
  [[nodiscard]] bool ragged() const { return plan_.length % tile() != 0; }

  LaneBody body() {
    LaneBody body(goal_, printer_, names_, helpers_, plan_.column, "col", schedule_.width);
    body.cache = schedule_.cache;
    if (spare_) body.store_if = "active";
    return body;
  }

  void print_values() {
    for (const Carried& one : carried_) {
      code_.line(
          fmt::format("{} {}[kItems]{};", one.c_type, one.values, vectors() ? "[kVec]" : ""));
    }
    if (ragged()) {
      code_.comment("Beyond the end stands what changes nothing.");
      code_.line("#pragma unroll");
      code_.open("for (int i = 0; i < kItems; ++i)");
      if (vectors()) {
        code_.line("#pragma unroll");
        code_.open("for (int v = 0; v < kVec; ++v)");
      }
      for (const Carried& one : carried_) {
        code_.line(fmt::format("{} = {};", at_lane(one.values), one.start));
      }
      if (vectors()) code_.close();
      code_.close();
    }
    open_items();
    if (ragged()) code_.open("if (at < kCols)");
    std::vector<LaneBody::Keep> keeps;
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      keeps.push_back({plan_.running[i].each, at_lane(carried_[i].values)});
    }
    body().emit(code_, {}, {}, keeps);
    if (ragged()) code_.close();
    code_.close();
  }

  void print_within_threads() {
    const bool across = schedule_.team.across;
    if (across) {
      code_.comment("Within a thread, whose elements follow each other.");
      code_.line("#pragma unroll");
      code_.open("for (int i = 1; i < kItems; ++i)");
      for (const Carried& one : carried_) {
        code_.line(fmt::format("{0}[i] = {1};", one.values,
                               one.fold(one.values + "[i - 1]", one.values + "[i]")));
      }
      code_.close();
      return;
    }
    code_.comment("Within vectors, then what comes before each of them in its warp.");
    for (const Carried& one : carried_) {
      code_.line(fmt::format("{} {}[kItems], {}[kItems];", one.c_type, one.totals, one.before));
    }
    code_.line("#pragma unroll");
    code_.open("for (int i = 0; i < kItems; ++i)");
    if (vectors()) {
      code_.line("#pragma unroll");
      code_.open(plan_.reverse ? "for (int v = kVec - 2; v >= 0; --v)"
                               : "for (int v = 1; v < kVec; ++v)");
      const std::string previous = plan_.reverse ? "[i][v + 1]" : "[i][v - 1]";
      for (const Carried& one : carried_) {
        code_.line(fmt::format("{} = {};", at_lane(one.values),
                               one.fold(one.values + previous, at_lane(one.values))));
      }
      code_.close();
    }
    for (const Carried& one : carried_) {
      code_.line(fmt::format("{}[i] = {};", one.totals, last_of(one.values)));
    }
    const std::string width = schedule_.team.threads < 32 ? "kThreads" : "32";
    if (schedule_.team.threads > 1) {
      code_.line("#pragma unroll");
      code_.open(fmt::format("for (int step = 1; step < {}; step *= 2)", width));
      for (const Carried& one : carried_) {
        const std::string other = names_.fresh("other");
        code_.line(fmt::format("const {} {} = __shfl_up_sync(0xffffffffu, {}[i], step, {});",
                               one.c_type, other, one.totals, width));
        code_.line(fmt::format("if (lane % {0} >= step) {1}[i] = {2};", width, one.totals,
                               one.fold(other, one.totals + "[i]")));
      }
      code_.close();
      for (const Carried& one : carried_) {
        code_.line(fmt::format("{}[i] = __shfl_up_sync(0xffffffffu, {}[i], 1, {});", one.before,
                               one.totals, width));
        code_.line(fmt::format("if (lane % {} == 0) {}[i] = {};", width, one.before, one.start));
      }
    } else {
      for (const Carried& one : carried_) {
        code_.line(fmt::format("{}[i] = {};", one.before, one.start));
      }
    }
    code_.close();
  }

  void print_along() {
    if (!warps()) {
      code_.comment("Vectors of one thread are a team's width apart.");
      code_.line("#pragma unroll");
      code_.open("for (int i = 0; i < kItems; ++i)");
      for (const Carried& one : carried_) {
        code_.line(
            fmt::format("{0}[i] = {1};", one.before, one.fold(one.carry, one.before + "[i]")));
        const std::string all =
            schedule_.team.threads > 1
                ? fmt::format("__shfl_sync(0xffffffffu, {}[i], kThreads - 1, kThreads)", one.totals)
                : one.totals + "[i]";
        code_.line(fmt::format("{} = {};", one.carry, one.fold(one.carry, all)));
      }
      code_.close();
      return;
    }
    code_.comment("Over warps: each warp adds up all their sums.");
    const std::string turn = tiles_ ? "[tile / kTile % 2]" : "";
    const std::string team = turn + (schedule_.team.teams > 1 ? "[team]" : "");
    code_.open("if (lane % 32 == 31)");
    code_.line("#pragma unroll");
    code_.open("for (int i = 0; i < kItems; ++i)");
    for (const Carried& one : carried_) {
      code_.line(fmt::format("{}{}[i * kWarps + lane / 32] = {}[i];", one.sums, team, one.totals));
    }
    code_.close();
    code_.close();
    code_.line("__syncthreads();");
    for (const Carried& one : carried_) {
      const std::string all = names_.fresh("all");
      code_.line(fmt::format("{0} {1} = lane % 32 < kItems * kWarps ? {2}{3}[lane % 32] : {4};",
                             one.c_type, all, one.sums, team, one.start));
      code_.line("#pragma unroll");
      code_.open("for (int step = 1; step < kItems * kWarps; step *= 2)");
      const std::string other = names_.fresh("other");
      code_.line(fmt::format("const {} {} = __shfl_up_sync(0xffffffffu, {}, step);", one.c_type,
                             other, all));
      code_.line(fmt::format("if (lane % 32 >= step) {} = {};", all, one.fold(other, all)));
      code_.close();
      code_.line("#pragma unroll");
      code_.open("for (int i = 0; i < kItems; ++i)");
      const std::string warp = names_.fresh("warp_before");
      code_.line("const int place = i * kWarps + lane / 32;");
      code_.line(fmt::format("{} {} = __shfl_sync(0xffffffffu, {}, place == 0 ? 0 : place - 1);",
                             one.c_type, warp, all));
      code_.line(fmt::format("if (place == 0) {} = {};", warp, one.start));
      code_.line(fmt::format("{0}[i] = {1};", one.before,
                             one.fold(in_parentheses(one, one.carry, warp), one.before + "[i]")));
      code_.close();
      code_.line(fmt::format(
          "{} = {};", one.carry,
          one.fold(one.carry,
                   fmt::format("__shfl_sync(0xffffffffu, {}, kItems * kWarps - 1)", all))));
    }
  }

  [[nodiscard]] static std::string in_parentheses(const Carried& one, const std::string& a,
                                                  const std::string& b) {
    return "(" + one.fold(a, b) + ")";
  }

  void print_across() {
    if (schedule_.team.threads == 1) {
      for (const Carried& one : carried_) {
        code_.line(fmt::format("const {} {} = {};", one.c_type, one.before, one.carry));
        code_.line(
            fmt::format("{} = {};", one.carry, one.fold(one.carry, one.values + "[kItems - 1]")));
      }
      return;
    }
    code_.comment("Over the threads of a row.");
    const std::string turn = tiles_ ? "[tile / kTile % 2]" : "";
    for (const Carried& one : carried_) {
      code_.line(fmt::format("{}{}[lane][team] = {}[kItems - 1];", one.sums, turn, one.values));
    }
    code_.line("__syncthreads();");
    for (const Carried& one : carried_) {
      code_.line(fmt::format("{} {} = {};", one.c_type, one.before, one.carry));
      code_.line("#pragma unroll");
      code_.open("for (int part = 0; part < kThreads; ++part)");
      const std::string sum = fmt::format("{}{}[part][team]", one.sums, turn);
      code_.line(fmt::format("if (part < lane) {} = {};", one.before, one.fold(one.before, sum)));
      code_.line(fmt::format("{} = {};", one.carry, one.fold(one.carry, sum)));
      code_.close();
    }
  }

  void print_stores() {
    open_items();
    if (ragged()) code_.open("if (at < kCols)");
    LaneBody lanes = body();
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      const Carried& one = carried_[i];
      const std::string before = one.before + (schedule_.team.across ? "" : "[i]");
      std::string text;
      if (!plan_.exclusive) {
        text = in_parentheses(one, before, at_lane(one.values));
      } else if (schedule_.team.across) {
        text = fmt::format("(i == 0 ? {0} : {1})", before,
                           one.fold(before, one.values + "[i == 0 ? 0 : i - 1]"));
      } else if (!vectors()) {
        text = before;
      } else {
        const std::string previous =
            plan_.reverse ? "[i][v == kVec - 1 ? v : v + 1]" : "[i][v == 0 ? 0 : v - 1]";
        text = fmt::format("(v == {} ? {} : {})", plan_.reverse ? "kVec - 1" : "0", before,
                           one.fold(before, one.values + previous));
      }
      lanes.known[plan_.running[i].node] = text;
    }
    lanes.emit(code_, {}, plan_.stores, {});
    if (ragged()) code_.close();
    code_.close();
  }

  const Goal& goal_;
  lift::Nodes& nodes_;
  const Plan& plan_;
  const Schedule& schedule_;
  Helpers& helpers_;
  Code& code_;
  Printer printer_;
  Parameters parameters_;
  Names names_;
  std::vector<Carried> carried_;
  bool spare_ = false, tiles_ = false;
};

}  // namespace

void print_scan(const Goal& goal, const Plan& plan, const Schedule& schedule,
                const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                Generated& generated) {
  ScanPrinter(goal, plan, schedule, helpers, code).print(name, what, generated);
}

}  // namespace hone::generators::scan
