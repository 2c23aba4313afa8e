// The folds of a tile: over vectors, threads and warps.
#include <fmt/format.h>

#include "rewriters/schedules/scan/scan_printer.h"

namespace hone::schedules::scan {

void ScanPrinter::print_within_threads() {
  const bool across = schedule_.team.across;
  if (across) {
    code_.comment("Within a thread, whose elements follow each other.");
    for (const Carried& one : carried_) {
      if (one.is_product())
        print_whole_product(one, fmt::format("const {} {}", one.c_type, one.totals), one.values,
                            "kItems");
    }
    if (only_products()) return;
    code_.line("#pragma unroll");
    code_.open("for (int i = 1; i < kItems; ++i)");
    for (const Carried& one : carried_) {
      if (one.is_product()) continue;
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
  if (vectors() && !only_products()) {
    code_.line("#pragma unroll");
    code_.open(plan_.reverse ? "for (int v = kVec - 2; v >= 0; --v)"
                             : "for (int v = 1; v < kVec; ++v)");
    const std::string previous = plan_.reverse ? "[i][v + 1]" : "[i][v - 1]";
    for (const Carried& one : carried_) {
      if (one.is_product()) continue;
      code_.line(fmt::format("{} = {};", at_lane(one.values),
                             one.fold(one.values + previous, at_lane(one.values))));
    }
    code_.close();
  }
  for (const Carried& one : carried_) {
    if (one.is_product()) {
      print_whole_product(one, one.totals + "[i]", address_of_vector(one),
                          vectors() ? "kVec" : "1");
    } else {
      code_.line(fmt::format("{}[i] = {};", one.totals, last_of(one.values)));
    }
  }
  const std::string width = schedule_.team.threads < 32 ? "kThreads" : "32";
  if (schedule_.team.threads > 1) {
    code_.line("#pragma unroll");
    code_.open(fmt::format("for (int step = 1; step < {}; step *= 2)", width));
    for (const Carried& one : carried_) {
      const std::string other = names_.fresh("other");
      code_.line(
          fmt::format("const {} {} = {};", one.c_type, other,
                      one.shuffled("_up", fmt::format("{}[i], step, {}", one.totals, width))));
      code_.line(fmt::format("if (lane % {0} >= step) {1}[i] = {2};", width, one.totals,
                             one.fold_few(other, one.totals + "[i]")));
    }
    code_.close();
    for (const Carried& one : carried_) {
      code_.line(fmt::format("{}[i] = {};", one.before,
                             one.shuffled("_up", fmt::format("{}[i], 1, {}", one.totals, width))));
      code_.line(fmt::format("if (lane % {} == 0) {}[i] = {};", width, one.before, one.start));
    }
  } else {
    for (const Carried& one : carried_) {
      code_.line(fmt::format("{}[i] = {};", one.before, one.start));
    }
  }
  code_.close();
}

void ScanPrinter::print_along() {
  if (!warps()) {
    code_.comment("Vectors of one thread are a team's width apart.");
    code_.line("#pragma unroll");
    code_.open("for (int i = 0; i < kItems; ++i)");
    for (const Carried& one : carried_) {
      code_.line(
          fmt::format("{0}[i] = {1};", one.before, one.fold_few(one.carry, one.before + "[i]")));
      const std::string all = schedule_.team.threads > 1
                                  ? one.shuffled("", one.totals + "[i], kThreads - 1, kThreads")
                                  : one.totals + "[i]";
      code_.line(fmt::format("{} = {};", one.carry, one.fold(one.carry, all)));
    }
    code_.close();
    return;
  }
  print_sums_of_warps();
  if (schedule_.single_pass) print_look_back();
  print_before_vectors();
}

/// What comes before each vector in its warp; leaves in lane w what warps up to w come to.
void ScanPrinter::print_sums_of_warps() {
  code_.comment("A warp's vectors follow each other: what comes before each of them in the warp.");
  std::vector<std::string> runs;
  for (const Carried& one : carried_) {
    runs.push_back(names_.fresh("of_warp"));
    code_.line(fmt::format("{} {} = {};", one.c_type, runs.back(), one.start));
  }
  code_.line("#pragma unroll");
  code_.open("for (int i = 0; i < kItems; ++i)");
  for (std::size_t k = 0; k < carried_.size(); ++k) {
    const Carried& one = carried_[k];
    code_.line(fmt::format("{0}[i] = {1};", one.before, one.fold_few(runs[k], one.before + "[i]")));
    code_.line(fmt::format("{} = {};", runs[k],
                           one.fold(runs[k], one.shuffled("", one.totals + "[i], 31"))));
  }
  code_.close();
  code_.comment("Over warps: each warp adds up all their sums.");
  const std::string turn = loops() ? "[tile / kTile % 2]" : "";
  const std::string team = turn + (schedule_.team.teams > 1 ? "[team]" : "");
  code_.open("if (lane % 32 == 0)");
  for (std::size_t k = 0; k < carried_.size(); ++k) {
    code_.line(fmt::format("{}{}[lane / 32] = {};", carried_[k].sums, team, runs[k]));
  }
  code_.close();
  code_.line("__syncthreads();");
  for (const Carried& one : carried_) {
    code_.line(fmt::format("{0} {1} = lane % 32 < kWarps ? {2}{3}[lane % 32] : {4};", one.c_type,
                           one.all, one.sums, team, one.start));
    code_.line("#pragma unroll");
    code_.open("for (int step = 1; step < kWarps; step *= 2)");
    const std::string other = names_.fresh("other");
    code_.line(fmt::format("const {} {} = {};", one.c_type, other,
                           one.shuffled("_up", one.all + ", step")));
    code_.line(
        fmt::format("if (lane % 32 >= step) {} = {};", one.all, one.fold_few(other, one.all)));
    code_.close();
  }
}

/// From the sums of warps and the carry; then the carry of the next tile.
void ScanPrinter::print_before_vectors() {
  for (const Carried& one : carried_) {
    const std::string warps = names_.fresh("warps_before");
    code_.line(fmt::format("{} {} = {};", one.c_type, warps,
                           one.shuffled("", one.all + ", lane < 32 ? 0 : lane / 32 - 1")));
    code_.line(fmt::format("{0} = lane < 32 ? {1} : {2};", warps, one.carry,
                           one.fold_few(one.carry, warps)));
    code_.line("#pragma unroll");
    code_.open("for (int i = 0; i < kItems; ++i)");
    code_.line(fmt::format("{0}[i] = {1};", one.before, one.fold_few(warps, one.before + "[i]")));
    code_.close();
    if (schedule_.single_pass) continue;
    code_.line(fmt::format("{} = {};", one.carry,
                           one.fold(one.carry, one.shuffled("", one.all + ", kWarps - 1"))));
  }
}

void ScanPrinter::print_across() {
  const auto whole_of = [](const Carried& one) {
    return one.is_product() ? one.totals : one.values + "[kItems - 1]";
  };
  if (schedule_.team.threads == 1) {
    for (const Carried& one : carried_) {
      code_.line(fmt::format("const {} {} = {};", one.c_type, one.before, one.carry));
      code_.line(fmt::format("{} = {};", one.carry, one.fold(one.carry, whole_of(one))));
    }
    return;
  }
  code_.comment("Over the threads of a row.");
  const std::string turn = loops() ? "[tile / kTile % 2]" : "";
  for (const Carried& one : carried_) {
    code_.line(fmt::format("{}{}[lane][team] = {};", one.sums, turn, whole_of(one)));
  }
  code_.line("__syncthreads();");
  for (const Carried& one : carried_) {
    code_.line(fmt::format("{} {} = {};", one.c_type, one.before, one.carry));
    code_.line("#pragma unroll");
    code_.open("for (int part = 0; part < kThreads; ++part)");
    const std::string sum = fmt::format("{}{}[part][team]", one.sums, turn);
    code_.line(fmt::format("if (part < lane) {} = {};", one.before, one.fold_few(one.before, sum)));
    code_.line(fmt::format("{} = {};", one.carry, one.fold(one.carry, sum)));
    code_.close();
  }
}

}  // namespace hone::schedules::scan
