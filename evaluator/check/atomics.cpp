#include "evaluator/check/atomics.h"

#include <cctype>

namespace hone::check {

bool any_statement(std::string_view ptx,
                   const std::function<bool(std::string_view statement)>& holds) {
  constexpr std::string_view kEnds = ";{}\n", kSpace = " \t\r";
  while (!ptx.empty()) {
    const auto end = ptx.find_first_of(kEnds);
    std::string_view statement = ptx.substr(0, end);
    ptx = end == ptx.npos ? std::string_view() : ptx.substr(end + 1);
    const auto trim = [&] {
      const auto first = statement.find_first_not_of(kSpace);
      statement = first == statement.npos ? std::string_view() : statement.substr(first);
    };
    trim();
    // A label, then a guard: "$L1: @%p1 red.add.f32 ...". No label: "cp.async.shared::cta ...".
    if (const auto colon = statement.find(':'); colon != statement.npos &&
                                                statement.find_first_of(kSpace) > colon &&
                                                !statement.substr(colon).starts_with("::")) {
      statement.remove_prefix(colon + 1);
      trim();
    }
    if (statement.starts_with('@')) {
      const auto guard = statement.find_first_of(kSpace);
      statement = guard == statement.npos ? std::string_view() : statement.substr(guard);
      trim();
    }
    if (holds(statement)) return true;
  }
  return false;
}

bool uses_atomics(std::string_view ptx) {
  return any_statement(ptx, [](std::string_view statement) {
    for (const std::string_view opcode : {"atom.", "red.", "multimem.red.", "cp.reduce."})
      if (statement.starts_with(opcode)) return true;
    return false;
  });
}

bool exchanges_words(std::string_view ptx) {
  return uses_atomics(ptx) || any_statement(ptx, [](std::string_view statement) {
           for (const std::string_view opcode :
                {"ld.volatile", "ld.relaxed", "ld.acquire", "ld.mmio", "st.volatile", "st.relaxed",
                 "st.release", "st.mmio", "st.async", "membar.", "fence.sc", "fence.acq_rel",
                 "barrier.cluster"})
             if (statement.starts_with(opcode)) return true;
           const std::string_view opcode = statement.substr(0, statement.find_first_of(" \t"));
           return (opcode.starts_with("ld.") && opcode.find(".cv") != opcode.npos) ||
                  (opcode.starts_with("st.") && opcode.find(".wt") != opcode.npos);
         });
}

}  // namespace hone::check
