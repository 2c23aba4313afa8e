#include "rewriters/schedules/fold.h"

#include <fmt/format.h>

#include <cmath>

namespace hone::schedules {
namespace {

std::string base_name(Ref reduction, Ref body) {
  const std::string word(info(reduction->op).folded);
  const Ref bare = nest::peel(body);
  if (bare->calls("exp")) return word + "_of_powers";
  if (bare->is(Op::kMul) && bare->args[0] == bare->args[1]) return word + "_of_squares";
  return word;
}

}  // namespace

Accumulator::Accumulator(nest::Nodes& nodes, Ref reduction, Ref body, Names& names)
    : op(reduction->op) {
  const bool real = is_float(body->type);
  const bool keeps_range = op != Op::kAdd && op != Op::kMul && op != Op::kBitXor;
  type = real || (keeps_range && body->type != ScalarType::kBool) ? variable_type(nodes, body)
                                                                  : "long long";
  name = names.fresh(base_name(reduction, body));
  if (op == Op::kArgMax || op == Op::kArgMin) place = names.fresh(name + "_at");
  const double identity = info(op).identity;
  if (real || std::isfinite(identity)) {
    start = literal(identity, real ? body->type : ScalarType::kI64);
  } else if (type == "int") {
    start = identity < 0 ? "(-2147483647 - 1)" : "2147483647";
  } else {
    start = identity < 0 ? "(-9223372036854775807ll - 1)" : "9223372036854775807ll";
  }
}

std::int64_t Accumulator::bytes() const {
  const std::int64_t value = type == "double" || type == "long long" ? 8 : 4;
  return value + (finds_place() ? 4 : 0);
}

void Accumulator::declare(Code& code) const {
  code.line(fmt::format("{} {} = {};", type, name, start));
  if (finds_place()) code.line(fmt::format("int {} = 0;", place));
}

void Accumulator::take(Code& code, const std::string& value, const std::string& position) const {
  if (finds_place()) {
    const std::string candidate = value;
    code.open(fmt::format("if ({} {} {})", candidate, op == Op::kArgMax ? ">" : "<", name));
    code.line(fmt::format("{} = {};", name, candidate));
    code.line(fmt::format("{} = {};", place, position));
    code.close();
  } else if (op == Op::kMin || op == Op::kMax) {
    const bool real = type == "float" || type == "double";
    // An int and a long long have no max().
    const std::string cast = type == "long long" ? "(long long)(" + value + ")" : value;
    code.line(fmt::format("{} = {}{}{}({}, {});", name, real ? "f" : "", info(op).name,
                          type == "float" ? "f" : "", name, cast));
  } else {
    code.line(fmt::format("{} {}= {};", name, info(op).name, value));
  }
}

void Accumulator::merge(Code& code, const std::string& value, const std::string& position) const {
  if (!finds_place()) return take(code, value, position);
  code.open(fmt::format("if ({0} {1} {2} || ({0} == {2} && {3} < {4}))", value,
                        op == Op::kArgMax ? ">" : "<", name, position, place));
  code.line(fmt::format("{} = {};", name, value));
  code.line(fmt::format("{} = {};", place, position));
  code.close();
}

void print_place_in_team(const Team& team, Code& code) {
  if (team.across) {
    code.line("const int team = threadIdx.x;  // neighbours read neighbouring rows");
    code.line("const int lane = threadIdx.y;");
  } else if (team.teams == 1) {
    code.line("const int lane = threadIdx.x;");
  } else {
    code.line("const int team = threadIdx.x / kThreads;");
    code.line("const int lane = threadIdx.x % kThreads;");
  }
}

void emit_lane_fold(Code& code, Names& names, const std::string& lanes,
                    const std::vector<Accumulator>& all) {
  code.line("#pragma unroll");
  code.open(fmt::format("for (int step = {} / 2; step > 0; step /= 2)", lanes));
  for (const Accumulator& one : all) {
    const std::string other = fmt::format("__shfl_xor_sync(0xffffffffu, {}, step)", one.name);
    if (one.finds_place()) {
      const std::string value = names.fresh("other"), place = names.fresh("other_at");
      code.line(fmt::format("const {} {} = {};", one.type, value, other));
      code.line(
          fmt::format("const int {} = __shfl_xor_sync(0xffffffffu, {}, step);", place, one.place));
      one.merge(code, value, place);
    } else {
      one.merge(code, other, "");
    }
  }
  code.close();
}

std::vector<FoldSlots> declare_slots(Code& code, Names& names, const std::string& shape,
                                     const std::vector<Accumulator>& accumulators) {
  std::vector<FoldSlots> all;
  for (const Accumulator& one : accumulators) {
    FoldSlots slots;
    slots.values = names.fresh(one.name + "_parts");
    code.line(fmt::format("__shared__ {} {}{};", one.type, slots.values, shape));
    if (one.finds_place()) {
      slots.places = names.fresh(one.place + "_parts");
      code.line(fmt::format("__shared__ int {}{};", slots.places, shape));
    }
    all.push_back(slots);
  }
  return all;
}

bool folds_in_shared(const Team& team) {
  return team.across ? team.threads > 1 : team.threads > 32;
}

std::int64_t fold_slots(const Team& team) {
  if (!folds_in_shared(team)) return 0;
  const std::int64_t threads = std::int64_t{team.threads} * team.teams;
  return team.across ? threads : threads / 32;
}

void emit_team_fold(Code& code, Names& names, const Team& team,
                    const std::vector<Accumulator>& accumulators) {
  if (accumulators.empty() || team.threads == 1) return;
  if (!team.across) {
    emit_lane_fold(code, names, team.threads > 32 ? "32" : "kThreads", accumulators);
    if (team.threads <= 32) return;
  }
  const std::vector<FoldSlots> parts = declare_slots(code, names,
                                                     team.across      ? "[kThreads][kRowsPerBlock]"
                                                     : team.teams > 1 ? "[kRowsPerBlock][kWarps]"
                                                                      : "[kWarps]",
                                                     accumulators);
  const std::string mine = team.across      ? "[lane][team]"
                           : team.teams > 1 ? "[team][lane / 32]"
                                            : "[lane / 32]";
  if (!team.across) code.open("if (lane % 32 == 0)");
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    code.line(fmt::format("{}{} = {};", parts[i].values, mine, accumulators[i].name));
    if (accumulators[i].finds_place()) {
      code.line(fmt::format("{}{} = {};", parts[i].places, mine, accumulators[i].place));
    }
  }
  if (!team.across) code.close();
  code.line("__syncthreads();");
  if (team.across) {
    const std::string from = names.fresh("part");
    for (const Accumulator& one : accumulators) {
      code.line(fmt::format("{} = {};", one.name, one.start));
      if (one.finds_place()) code.line(fmt::format("{} = 0;", one.place));
    }
    code.line("#pragma unroll");
    code.open(fmt::format("for (int {0} = 0; {0} < kThreads; ++{0})", from));
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
      accumulators[i].merge(code, fmt::format("{}[{}][team]", parts[i].values, from),
                            fmt::format("{}[{}][team]", parts[i].places, from));
    }
    code.close();
    return;
  }
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const std::string theirs = team.teams > 1 ? "[team][lane % kWarps]" : "[lane % kWarps]";
    code.line(fmt::format("{} = {}{};", accumulators[i].name, parts[i].values, theirs));
    if (accumulators[i].finds_place()) {
      code.line(fmt::format("{} = {}{};", accumulators[i].place, parts[i].places, theirs));
    }
  }
  emit_lane_fold(code, names, "kWarps", accumulators);
}

}  // namespace hone::schedules
