// What is done with one point. Internal to schedules/histogram.
#pragma once

#include "rewriters/schedules/histogram/schedule.h"

namespace hone::schedules::histogram {

/// A scatter and what it is called in a kernel.
struct Target {
  Scatter scatter;
  std::string first;     ///< a variable: where the row begins in the buffer; empty: at 0
  std::string slots;     ///< a constant: of a row
  std::string table;     ///< in shared memory; empty: there is none
  std::string mine;      ///< this thread's copy of it
  std::string run_slot;  ///< variables: points not given to the table yet, and where they belong
  std::string run_value;
};

/// "atomicAdd(&counts[slot], value);"
[[nodiscard]] std::string atomic(const Scatter& scatter, const std::string& array,
                                 const std::string& index, const std::string& value);
/// The value that leaves others as they are.
[[nodiscard]] std::string neutral(const Scatter& scatter);
/// "int" or "long long": what holds the slot.
[[nodiscard]] std::string slot_type(nest::Nodes& nodes, const Scatter& scatter);

[[nodiscard]] std::string slot_text(const Printer& printer, const Scatter& scatter);

class Adder {
 public:
  Adder(nest::Nodes& nodes, Names& names, const Schedule& schedule)
      : nodes_(&nodes), names_(&names), schedule_(schedule) {}

  /// A point at hand, guard and all. `alone`: not together with others, whatever the schedule says.
  void put(Code& code, Printer& printer, const Target& target, bool alone);
  /// Neighbouring elements, from a pack of values.
  void put_pack(Code& code, const Target& target, const std::string& element,
                const std::string& pack, int width);
  /// Likewise, put together with what the steps before gave to the same elements.
  void put_pack_into_run(Code& code, const Target& target, const std::string& element,
                         const std::string& pack, int width);
  void declare_pack_run(Code& code, const Target& target, const std::string& pack_type);
  void end_pack_run(Code& code, const Target& target, int width);
  void declare_run(Code& code, const Target& target);
  void end_run(Code& code, const Target& target);

 private:
  void add(Code& code, const Target& target, const std::string& slot, const std::string& value);
  void add_in_part(Code& code, const Target& target, const std::string& slot,
                   const std::string& value);
  void put_into_run(Code& code, const Target& target, const std::string& slot,
                    const std::string& value);
  void put_matched(Code& code, Printer& printer, const Target& target);
  /// May `add` name the slot more than once?
  [[nodiscard]] bool repeats(const Target& target) const;

  nest::Nodes* nodes_;
  Names* names_;
  Schedule schedule_;
};

}  // namespace hone::schedules::histogram
