// Questions about nests that every generator asks.
#pragma once

#include <string>
#include <vector>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/neighbours.h"
#include "rewriters/schedules/generator.h"

namespace hone::schedules {

using nest::ceil_divide;
using nest::Neighbours;
using nest::Op;
using nest::Ref;
using nest::SymbolId;

[[nodiscard]] const ConcreteBuffer* buffer_of(const Goal& goal, std::string_view name);

/// The nest as a plain store over dims of more than one point: accumulations become reductions
/// over the dims that the element does not depend on, and what is there. kRefused: points share
/// elements in another way (a scatter).
[[nodiscard]] Result<nest::Nest> plain(nest::Nodes& nodes, const nest::Nest& nest);

/// The outermost reductions in a value, each once, in order of meeting.
[[nodiscard]] std::vector<Ref> reductions_of(Ref value);
/// The loads in a value, those inside its reductions left out.
[[nodiscard]] std::vector<Ref> loads_of(Ref value);
/// Reads inside its buffer whatever the indices are.
[[nodiscard]] bool in_range(const Goal& goal, Ref load);
/// All loads below, reductions looked into, read inside their buffers whatever the indices are.
[[nodiscard]] bool all_in_range(const Goal& goal, Ref value);

/// The symbols, those that step furthest in memory first: the order in which to number them. The
/// load in `body` that depends on most of them says so.
void sort_by_widest_load(std::vector<SymbolId>& symbols, Ref body);

/// The buffer as a generated program's own, undefined before.
[[nodiscard]] Buffer scratch_of(const ConcreteBuffer& buffer);

/// Buffers as the parameters of a kernel, in order of first use.
class Parameters {
 public:
  explicit Parameters(const Goal& goal) : goal_(&goal) {}
  void read(const std::string& buffer) { add(buffer, ScalarType::kF32, false); }
  /// Every buffer that the value reads, reductions included.
  void read_all(Ref value);
  void write(const std::string& buffer, ScalarType type) { add(buffer, type, true); }
  /// "const float* __restrict__ x", "float* __restrict__ y".
  [[nodiscard]] std::vector<std::string> texts() const;
  [[nodiscard]] std::vector<std::string> args() const;
  /// A launch with these arguments, and the headers of their types.
  void add_launch(GeneratedLaunch launch, Generated& generated) const;

 private:
  struct One {
    std::string buffer;
    ScalarType type;
    bool written = false;
  };
  void add(const std::string& buffer, ScalarType type, bool written);
  const Goal* goal_;
  std::vector<One> all_;
};

}  // namespace hone::schedules
