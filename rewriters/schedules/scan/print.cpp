#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/scan/scan_printer.h"

namespace hone::schedules::scan {

void ScanPrinter::print(const std::string& name, const std::string& what, Generated& generated) {
  collect_buffers();
  for (const Running& one : plan_.running) carried_.push_back(carried(one));
  tiles_ = plan_.length > tile();
  if (has_products()) print_functions_of_products();
  if (schedule_.single_pass) print_functions_of_look_back(generated);
  const Team& team = schedule_.team;
  code_.comment(what);
  code_.open_function(
      fmt::format("__global__ void __launch_bounds__({}) {}", team.threads * team.teams, name),
      parameters_.texts());
  print_constants();
  print_threads();
  printer_.indices[plan_.row] = "row";
  print_carry();
  if (loops()) code_.open("for (int tile = 0; tile < kCols; tile += kTile)");
  print_values();
  print_within_threads();
  if (team.across) {
    print_across();
  } else {
    print_along();
  }
  print_products();
  print_stores();
  if (loops()) code_.close();
  code_.close();
  code_.line();
  add_launch(name, generated);
}

void ScanPrinter::collect_buffers() {
  for (const Running& one : plan_.running) {
    if (one.before != nullptr) parameters_.read_all(one.before);
    parameters_.read_all(one.each);
  }
  for (const LaneBody::Store& store : plan_.stores) {
    parameters_.read_all(store.value);
    parameters_.read_all(store.guard);
  }
  for (const LaneBody::Store& store : plan_.stores) parameters_.write(store.buffer, store.type);
  if (schedule_.single_pass) {
    state_ = state_buffer(helpers_.prefix());
    parameters_.write(state_, ScalarType::kI64);
  }
  for (const std::string& buffer : parameters_.args()) names_.take(buffer);
  for (const char* word :
       {"col", "team", "active", "tile", "part", "own_part", "index", "ticket"}) {
    names_.take(word);
  }
}

void ScanPrinter::add_launch(const std::string& name, Generated& generated) {
  const Team& team = schedule_.team;
  const std::int64_t groups = ceil_divide(plan_.rows, team.teams);
  parameters_.add_launch(
      {.kernel = name,
       .grid = {schedule_.single_pass ? groups * tiles_of(plan_, schedule_) : groups},
       .block = team.block()},
      generated);
}

Carried ScanPrinter::carried(const Running& one) {
  Carried result;
  result.op = one.op;
  result.type = compute_type(one.each->type);
  const Accumulator like(nodes_, one.node, one.each, names_);
  result.element = result.c_type = like.type;
  result.element_start = result.start = like.start;
  result.values = names_.fresh("value");
  result.totals = names_.fresh("total");
  result.before = names_.fresh("before");
  result.carry = names_.fresh("carry");
  result.sums = names_.fresh("sums");
  result.all = names_.fresh("all");
  if (!is_float(result.type)) result.type = ScalarType::kI64;
  if (result.is_product()) {
    result.prefix = helpers_.prefix();
    result.at_once = products_at_once(one.each);
    result.c_type = fmt::format("{}Product<{}>", result.prefix, result.element);
    result.start = result.c_type + "{0.5f, 1}";
    result.left = names_.fresh("left");
    result.left_here = names_.fresh(result.left + "_here");
    result.walk_from = names_.fresh("walk_from");
    result.walked = names_.fresh("walked");
    result.walked_left = names_.fresh("walked_left");
  }
  return result;
}

void ScanPrinter::print_constants() {
  const Team& team = schedule_.team;
  code_.line(fmt::format("constexpr int kRows = {};", plan_.rows));
  code_.line(fmt::format("constexpr int kCols = {};  // elements of a row", plan_.length));
  code_.line(fmt::format("constexpr int kThreads = {};  // that share a row", team.threads));
  code_.line(fmt::format("constexpr int kRowsPerBlock = {};", team.teams));
  if (vectors()) {
    code_.line(fmt::format("constexpr int kVec = {};  // elements moved at once", schedule_.width));
  }
  code_.line(fmt::format("constexpr int kItems = {};  // {} of a thread in a tile", schedule_.items,
                         vectors() ? "vectors" : "elements"));
  if (tiles_) {
    code_.line(
        fmt::format("constexpr int kTile = kThreads * kItems{};", vectors() ? " * kVec" : ""));
  }
  if (schedule_.single_pass) {
    code_.line(fmt::format("constexpr int kTiles = {};  // of a row, a block for each",
                           tiles_of(plan_, schedule_)));
  }
  if (warps()) code_.line("constexpr int kWarps = kThreads / 32;  // that share a row");
  code_.line();
}

void ScanPrinter::print_threads() {
  const Team& team = schedule_.team;
  print_place_in_team(team, code_);
  spare_ = plan_.rows % team.teams != 0;
  if (schedule_.single_pass) {
    print_ticket();
  } else if (!spare_) {
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
      code_.line(fmt::format("__shared__ {} {}{}{}[kWarps];", one.c_type, one.sums,
                             loops() ? "[2]" : "", team.teams > 1 ? "[kRowsPerBlock]" : ""));
    } else if (team.across && team.threads > 1) {
      code_.line(fmt::format("__shared__ {} {}{}[kThreads][kRowsPerBlock];", one.c_type, one.sums,
                             loops() ? "[2]" : ""));
    }
  }
}

/// What comes before the first tile: of a cut row, its parts before.
void ScanPrinter::print_carry() {
  std::vector<Accumulator> all;
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Carried& one = carried_[i];
    code_.line(fmt::format("{} {} = {};  // of {}", one.c_type, one.carry, one.start,
                           tiles_ ? "the tiles before" : "what comes before"));
    print_range(one);
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

/// The loop over a thread's vectors, with `at` in the order of the scan and `col`, where it is
/// asked for, in memory's.
void ScanPrinter::open_items(bool column) {
  code_.line("#pragma unroll");
  code_.open("for (int i = 0; i < kItems; ++i)");
  const std::string place = schedule_.team.across ? "lane * kItems + i"
                            : warps()             ? "(lane / 32 * kItems + i) * 32 + lane % 32"
                                                  : "i * kThreads + lane";
  const std::string start = tiles_ ? "tile + " : "";
  code_.line(
      fmt::format("const int at = {}{};", start, vectors() ? "(" + place + ") * kVec" : place));
  if (!column) return;
  code_.line(!plan_.reverse ? "const int col = at;"
             : vectors()    ? "const int col = kCols - kVec - at;"
                            : "const int col = kCols - 1 - at;");
}

LaneBody ScanPrinter::body() {
  LaneBody body(goal_, printer_, names_, helpers_, plan_.column, "col", schedule_.width);
  body.cache = schedule_.cache;
  if (spare_) body.store_if = "active";
  return body;
}

void ScanPrinter::print_values() {
  for (const Carried& one : carried_) {
    code_.line(fmt::format("{} {}[kItems]{};", one.element, one.values, vectors() ? "[kVec]" : ""));
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
      code_.line(fmt::format("{} = {};", at_lane(one.values), one.element_start));
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

void ScanPrinter::print_stores() {
  open_items();
  if (ragged()) code_.open("if (at < kCols)");
  LaneBody lanes = body();
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Carried& one = carried_[i];
    const std::string before = one.before + (schedule_.team.across ? "" : "[i]");
    std::string text;
    if (one.is_product()) {
      text = at_lane(one.values);
    } else if (!plan_.exclusive) {
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
    const Running& running = plan_.running[i];
    lanes.known[running.node] = text;
  }
  lanes.emit(code_, {}, plan_.stores, {});
  if (ragged()) code_.close();
  code_.close();
}

void print_scan(const Goal& goal, const Plan& plan, const Schedule& schedule,
                const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                Generated& generated) {
  ScanPrinter(goal, plan, schedule, helpers, code).print(name, what, generated);
}

}  // namespace hone::schedules::scan
