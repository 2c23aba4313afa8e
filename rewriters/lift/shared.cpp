// Shared memory: an element is the value that was stored there, whoever stored it.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/executor_lanes.h"
#include "rewriters/nest/unify.h"

namespace hone::nest {
namespace {

constexpr std::int64_t kMostElements = 4096;

/// The indices that an element is a sum over; empty: it is something else.
std::vector<SymbolId> indices_of(Ref element) {
  std::vector<SymbolId> symbols;
  for (const Term& term : element->terms) {
    if (term.atom->kind != Node::Kind::kIndex) return {};
    symbols.push_back(term.atom->symbol);
  }
  return symbols;
}

}  // namespace

/// What one lane finds in an element that is known; null: nothing, or not surely what was stored.
Ref Executor::shared_cell(int memory, std::int64_t at, Ref runs) {
  const auto& cells = state_.shared[memory];
  const auto found = cells.find(at);
  if (found == cells.end()) return nullptr;
  // Else it may hold what somebody left there before.
  const auto guard = state_.shared_guards.find({memory, at});
  if (guard != state_.shared_guards.end()) {
    Facts facts;
    facts.add(runs);
    if (!facts.prove(nodes_, guard->second)) return nullptr;
  }
  if (!shared_written_.contains({memory, at})) shared_read_early_.insert({memory, at});
  return found->second;
}

/// An element that depends on loops' indices: all that they can reach, as a function of them. Null:
/// it is not one.
Ref Executor::shared_cells(int memory, Ref element, Ref runs) {
  Basis basis;
  basis.symbols = indices_of(element);
  std::int64_t count = 1;
  for (const SymbolId symbol : basis.symbols) {
    count *= nodes_.extent(symbol);
    const bool of_loop = std::ranges::find(open_loops_, symbol) != open_loops_.end();
    if (!of_loop || count > kMostElements) return nullptr;
  }
  if (basis.symbols.empty()) return nullptr;
  std::vector<Ref> values;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = element->constant;
    std::vector<std::int64_t>& digits = basis.digits.emplace_back();
    for (std::size_t d = 0; d < basis.symbols.size(); ++d) {
      const std::int64_t extent = nodes_.extent(basis.symbols[d]);
      digits.push_back(rest % extent);
      at += element->terms[d].coefficient * digits.back();
      rest /= extent;
    }
    const Ref value = shared_cell(memory, at, runs);
    if (value == nullptr || value->has_phi) return nullptr;
    for (const SymbolId symbol : basis.symbols)
      if (value->uses(symbol)) return nullptr;
    values.push_back(value);
  }
  return unified(nodes_, values, basis);
}

Lanes Executor::load_shared(int memory, const Lanes& element, int position) {
  const Memory& from = memories[memory];
  const Lanes now = active();
  Lanes result;
  std::map<std::pair<Ref, Ref>, Ref> known;  // many lanes read the same
  const std::size_t width = std::max(element.size(), now.size());
  for (std::size_t i = 0; i < width; ++i) {
    const Ref runs = lane(now, i), at = lane(element, i);
    if (runs->is_constant() && runs->constant == 0) {
      result.push_back(nodes_.identity(Op::kAdd, from.type));
      continue;
    }
    Ref& value = known[{at, runs}];
    if (value == nullptr) {
      value = at->is_constant() ? shared_cell(memory, at->constant, runs)
                                : shared_cells(memory, at, runs);
    }
    if (value == nullptr) {
      refuse(at->is_constant()
                 ? unwritten(fmt::format("{}[{}]", from.name, at->constant))
                 : fmt::format("the shared array '{}' is indexed by what is not known", from.name),
             position);
    }
    result.push_back(value);
  }
  shrink(result);
  return result;
}

void Executor::store_shared(int memory, const Lanes& element, const Lanes& value, int position,
                            std::optional<Op> combine) {
  const Lanes now = active();
  auto& cells = state_.shared[memory];
  for (std::size_t i = 0; i < lanes_; ++i) {
    const Ref runs = lane(now, i);
    if (runs->is_constant() && runs->constant == 0) continue;
    const Ref at = lane(element, i);
    if (!at->is_constant()) {
      refuse(fmt::format("the shared array '{}' is indexed by what is not known",
                         memories[memory].name),
             position);
    }
    const auto found = cells.find(at->constant);
    Ref written = lane(value, i);
    if (combine) {
      if (found == cells.end()) {
        refuse(unwritten(fmt::format("{}[{}]", memories[memory].name, at->constant)), position);
      }
      written = nodes_.op(*combine, memories[memory].type, {found->second, written});
    }
    const std::pair<int, std::int64_t> cell{memory, at->constant};
    if (found == cells.end()) {
      if (!runs->is_constant()) state_.shared_guards[cell] = runs;
    } else if (state_.shared_guards.contains(cell)) {
      Ref& guard = state_.shared_guards[cell];
      guard = nodes_.either(guard, runs);
      if (guard->is_constant() || guard == nodes_.boolean(true)) state_.shared_guards.erase(cell);
    }
    cells[at->constant] =
        found == cells.end() ? written : nodes_.select(runs, written, found->second);
    shared_written_.insert({memory, at->constant});
  }
}

}  // namespace hone::nest
