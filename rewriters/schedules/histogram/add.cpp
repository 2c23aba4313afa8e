#include "rewriters/schedules/histogram/add.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::schedules::histogram {
namespace {

bool is_simple(const std::string& text) {
  return text.find_first_not_of("0123456789.f-()") == std::string::npos;
}

/// "(long long)(value)": of exactly the type, so that the right overload is called.
std::string exactly(const Scatter& scatter, const std::string& value) {
  const bool is_it =
      is_float(scatter.type) || (scatter.type == ScalarType::kI32 && is_simple(value));
  return is_it ? value : fmt::format("({})({})", type_name(scatter.type), value);
}

std::string sum(const std::string& a, const std::string& b) {
  return a.empty() ? b : fmt::format("{} + {}", a, b);
}

}  // namespace

std::string atomic(const Scatter& scatter, const std::string& array, const std::string& index,
                   const std::string& value) {
  const std::string_view name = info(scatter.combine).atomic;
  // 64 bits are added as unsigned ones, which is the same.
  if (scatter.type == ScalarType::kI64 && scatter.combine != Op::kMin &&
      scatter.combine != Op::kMax) {
    return fmt::format(
        "{}(reinterpret_cast<unsigned long long*>({} + {}), (unsigned long long)({}));", name,
        array, index, value);
  }
  return fmt::format("{}(&{}[{}], {});", name, array, index, value);
}

std::string neutral(const Scatter& scatter) {
  const Op op = scatter.combine;
  const bool wide = scatter.type == ScalarType::kI64;
  const bool is_unsigned = scatter.type == ScalarType::kU32;
  if (op == Op::kMin) {
    return is_unsigned ? "0xffffffffu" : wide ? "9223372036854775807ll" : "2147483647";
  }
  if (op == Op::kMax) {
    return is_unsigned ? "0u" : wide ? "(-9223372036854775807ll - 1)" : "(-2147483647 - 1)";
  }
  if (op == Op::kBitAnd) return is_unsigned ? "0xffffffffu" : "-1";
  return literal(0, scatter.type);
}

std::string slot_type(nest::Nodes& nodes, const Scatter& scatter) {
  const auto fits = [&](const nest::Term& term) {
    if (term.atom->has_load) {
      return std::ranges::all_of(loads_of(term.atom), [](Ref load) {
        return is_float(load->type) || (size_of(load->type) <= 4 && load->type != ScalarType::kU32);
      });
    }
    const auto all = nodes.range(nodes.scale(term.atom, term.coefficient));
    return all && all->low >= INT32_MIN && all->high <= INT32_MAX;
  };
  // What is computed from ints is an int in the text, whatever they could be.
  if (!scatter.huge && !scatter.slot->terms.empty() &&
      std::ranges::all_of(scatter.slot->terms, fits)) {
    return "int";
  }
  return variable_type(nodes, scatter.slot);
}

std::string slot_text(const Printer& printer, const Scatter& scatter) {
  Printer own = printer;
  own.wide_loads = scatter.huge;
  return own.print_index(scatter.slot);
}

bool Adder::repeats(const Target& target) const {
  return schedule_.tables && (!target.scatter.sure || schedule_.parts > 1);
}

void Adder::add(Code& code, const Target& target, const std::string& slot,
                const std::string& value) {
  const Scatter& scatter = target.scatter;
  const std::string outside =
      atomic(scatter, scatter.buffer, sum(target.first, slot), exactly(scatter, value));
  if (!schedule_.tables) {
    code.line(outside);
    return;
  }
  if (schedule_.parts > 1) {
    add_in_part(code, target, slot, value);
    return;
  }
  const bool strided = schedule_.by_lane && schedule_.copies > 1;
  if (scatter.sure) {
    code.line(atomic(scatter, target.mine, strided ? fmt::format("({}) * kCopies", slot) : slot,
                     exactly(scatter, value)));
    return;
  }
  code.open(
      fmt::format("if ((unsigned {}){} < {})", slot_type(*nodes_, scatter), slot, target.slots));
  code.line(
      atomic(scatter, target.mine, strided ? slot + " * kCopies" : slot, exactly(scatter, value)));
  code.close(" else {");
  code.line("  " + outside);
  code.line("}");
}

void Adder::add_in_part(Code& code, const Target& target, const std::string& slot,
                        const std::string& value) {
  const Scatter& scatter = target.scatter;
  const std::string type = "unsigned " + slot_type(*nodes_, scatter);
  const bool strided = schedule_.by_lane && schedule_.copies > 1;
  const std::string place = names_->fresh("place");
  code.line(fmt::format("const {0} {1} = ({0}){2} - {3}_begin;", type, place, slot, target.table));
  code.open(fmt::format("if ({} < {}_size)", place, target.table));
  code.line(atomic(scatter, target.mine, strided ? place + " * kCopies" : place,
                   exactly(scatter, value)));
  if (!scatter.sure) {
    code.close(fmt::format(" else if (part == 0 && ({}){} >= {}) {{", type, slot, target.slots));
    code.line("  " +
              atomic(scatter, scatter.buffer, sum(target.first, slot), exactly(scatter, value)));
    code.line("}");
    return;
  }
  code.close();
}

void Adder::declare_run(Code& code, const Target& target) {
  code.line(fmt::format("{} {} = 0;", slot_type(*nodes_, target.scatter), target.run_slot));
  code.line(fmt::format("{} {} = {};", type_name(target.scatter.type), target.run_value,
                        neutral(target.scatter)));
}

void Adder::end_run(Code& code, const Target& target) {
  code.open(fmt::format("if ({} != {})", target.run_value, neutral(target.scatter)));
  add(code, target, target.run_slot, target.run_value);
  code.close();
}

void Adder::put_into_run(Code& code, const Target& target, const std::string& slot,
                         const std::string& value) {
  const Scatter& scatter = target.scatter;
  code.open(fmt::format("if ({} != {})", slot, target.run_slot));
  end_run(code, target);
  code.line(fmt::format("{} = {};", target.run_slot, slot));
  code.line(fmt::format("{} = {};", target.run_value, neutral(scatter)));
  code.close();
  code.line(fmt::format(
      "{} = {};", target.run_value,
      combined(scatter.combine, scatter.type, target.run_value, exactly(scatter, value))));
}

void Adder::put_matched(Code& code, Printer& printer, const Target& target) {
  const Scatter& scatter = target.scatter;
  const std::string type = slot_type(*nodes_, scatter);
  const std::string slot = names_->fresh("slot"), same = names_->fresh("same");
  std::string takes;
  if (scatter.guard->is_constant()) {
    code.line(fmt::format("const {} {} = {};", type, slot, slot_text(printer, scatter)));
  } else {
    takes = names_->fresh("takes");
    code.line(fmt::format("const bool {} = {};", takes, printer.print(scatter.guard)));
    code.line(fmt::format("const {} {} = {} ? {} : -2147483647 - 1;", type, slot, takes,
                          slot_text(printer, scatter)));
    takes += " && ";
  }
  code.line(fmt::format("const unsigned {} = __match_any_sync(0xffffffffu, {});", same, slot));
  code.open(fmt::format("if ({}threadIdx.x % 32 == __ffs({}) - 1)", takes, same));
  const std::string one = as_element(printer, scatter.type, scatter.value);
  const std::string times = is_float(scatter.type)
                                ? fmt::format("({})__popc({})", type_name(scatter.type), same)
                                : fmt::format("__popc({})", same);
  add(code, target, slot, one == "1" ? times : fmt::format("{} * {}", times, one));
  code.close();
}

void Adder::put(Code& code, Printer& printer, const Target& target, bool alone) {
  const Scatter& scatter = target.scatter;
  if (!alone && schedule_.merge == Merge::kMatch) {
    put_matched(code, printer, target);
    return;
  }
  const bool guarded = !scatter.guard->is_constant();
  if (guarded) code.open(fmt::format("if ({})", printer.print(scatter.guard)));
  const bool in_run = !alone && schedule_.merge == Merge::kRuns;
  std::string slot = slot_text(printer, scatter);
  std::string value = as_element(printer, scatter.type, scatter.value);
  if (repeats(target) || in_run) {
    const std::string name = names_->fresh("slot");
    code.line(fmt::format("const {} {} = {};", slot_type(*nodes_, scatter), name, slot));
    slot = name;
    if (!is_simple(value) && !in_run) {
      const std::string held = names_->fresh("value");
      code.line(fmt::format("const {} {} = {};", type_name(scatter.type), held, value));
      value = held;
    }
  }
  if (in_run) {
    put_into_run(code, target, slot, value);
  } else {
    add(code, target, slot, value);
  }
  if (guarded) code.close();
}

void Adder::put_pack(Code& code, const Target& target, const std::string& element,
                     const std::string& pack, int width) {
  const int most = std::min(width, 4);
  for (int begin = 0; begin < width; begin += most) {
    std::string values;
    for (int i = 0; i < most; ++i) {
      values += fmt::format("{}{}.at[{}]", i == 0 ? "" : ", ", pack, begin + i);
    }
    const std::string at = begin == 0 ? element : fmt::format("{} + {}", element, begin);
    code.line(fmt::format("atomicAdd(reinterpret_cast<float{0}*>({1} + {2}), make_float{0}({3}));",
                          most, target.scatter.buffer, at, values));
  }
}

void Adder::declare_pack_run(Code& code, const Target& target, const std::string& pack_type) {
  code.line(fmt::format("bool {}_any = false;", target.run_value));
  code.line(fmt::format("{} {} = 0;", slot_type(*nodes_, target.scatter), target.run_slot));
  code.line(fmt::format("{} {};", pack_type, target.run_value));
}

void Adder::end_pack_run(Code& code, const Target& target, int width) {
  code.open(fmt::format("if ({}_any)", target.run_value));
  put_pack(code, target, target.run_slot, target.run_value, width);
  code.close();
}

void Adder::put_pack_into_run(Code& code, const Target& target, const std::string& element,
                              const std::string& pack, int width) {
  const std::string slot = names_->fresh("slot");
  code.line(fmt::format("const {} {} = {};", slot_type(*nodes_, target.scatter), slot, element));
  code.open(fmt::format("if ({0}_any && {1} == {2})", target.run_value, slot, target.run_slot));
  code.line("#pragma unroll");
  code.line(
      fmt::format("for (int v = 0; v < kVec; ++v) {}.at[v] += {}.at[v];", target.run_value, pack));
  code.close();
  code.open("else");
  end_pack_run(code, target, width);
  code.line(fmt::format("{}_any = true;", target.run_value));
  code.line(fmt::format("{} = {};", target.run_slot, slot));
  code.line(fmt::format("{} = {};", target.run_value, pack));
  code.close();
}

}  // namespace hone::schedules::histogram
