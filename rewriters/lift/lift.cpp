// Every launch run on symbols, its stores made nests.
#include "rewriters/lift/lift.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "rewriters/lift/executor.h"
#include "rewriters/nest/canonical.h"
#include "rewriters/nest/unify.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/parse.h"
#include "rewriters/syntax/walk.h"

namespace hone::nest {
namespace {

/// Of all launches together: about two seconds. Most kernels of the tests take a hundredth of it.
constexpr std::int64_t kMostLiftWork = 10'000'000;

/// Threads of a block that work together are run side by side; others one stands for all.
bool works_together(const syntax::KernelInfo& kernel) {
  return kernel.has_barrier || kernel.has_warp_ops || kernel.has_shared;
}

/// A store after another one into the same element by the same thread: what both leave. In loops of
/// their own where these run alike.
bool merge_into(Nodes& nodes, Store& earlier, const Store& later) {
  if (earlier.memory != later.memory || earlier.combine || later.combine) {
    return false;
  }
  if (earlier.symbols.size() != later.symbols.size()) return false;
  Nodes::Substitution renamed;
  for (std::size_t i = 0; i < later.symbols.size(); ++i) {
    const SymbolId from = later.symbols[i], to = earlier.symbols[i];
    if (nodes.extent(from) != nodes.extent(to)) return false;
    if (from != to) renamed[from] = nodes.index(to);
  }
  const auto at = [](const Lanes& lanes, std::size_t i) {
    return lanes.size() == 1 ? lanes[0] : lanes[i];
  };
  const std::size_t width =
      std::max({earlier.element.size(), later.element.size(), earlier.guard.size(),
                later.guard.size(), earlier.value.size(), later.value.size()});
  std::vector<Ref> elements(width);
  for (std::size_t i = 0; i < width; ++i) {
    elements[i] = nodes.substitute(at(later.element, i), renamed);
    const Ref guard = at(later.guard, i), first = at(earlier.guard, i);
    const bool never = (guard->is_constant() && guard->constant == 0) ||
                       (first->is_constant() && first->constant == 0);
    if (elements[i] != at(earlier.element, i) && !never) return false;
  }
  Lanes values, guards, places;
  for (std::size_t i = 0; i < width; ++i) {
    const Ref first = at(earlier.guard, i);
    const Ref second = nodes.substitute(at(later.guard, i), renamed);
    const Ref value = nodes.substitute(at(later.value, i), renamed);
    const bool never = first->is_constant() && first->constant == 0;
    places.push_back(never ? elements[i] : at(earlier.element, i));
    const Ref either = nodes.either(first, second);
    // What both ask for is no choice between them.
    Facts facts;
    facts.add(either);
    guards.push_back(either);
    values.push_back(
        never ? value : nodes.select(under(nodes, second, facts), value, at(earlier.value, i)));
  }
  earlier.element = std::move(places);
  earlier.value = std::move(values);
  earlier.guard = std::move(guards);
  return true;
}

/// One store for each element that a thread stores to.
std::vector<Store> merged(Nodes& nodes, const std::vector<Store>& stores) {
  std::vector<Store> all;
  for (const Store& store : stores) {
    bool done = false;
    for (auto earlier = all.rbegin(); earlier != all.rend() && !done; ++earlier)
      done = merge_into(nodes, *earlier, store);
    if (!done) all.push_back(store);
  }
  return all;
}

/// Operations where what is used twice is written twice.
double written_out(Ref value, std::unordered_map<Ref, double>& known) {
  const auto found = known.find(value);
  if (found != known.end()) return found->second;
  double count = 1;
  for (const Ref arg : value->args) count += written_out(arg, known);
  for (const Term& term : value->terms) count += written_out(term.atom, known);
  known.emplace(value, count);
  return count;
}

/// The executor's stores, their unrolled folds as reductions: a fold of folds over a block's
/// threads is small only so.
std::vector<Store> with_folds(Nodes& nodes, const Executor& executor) {
  constexpr double kMostOperations = 200'000;
  std::vector<Store> stores = executor.stores;
  Rerolled known_folds;
  std::unordered_map<Ref, double> known;
  for (Store& store : stores) {
    for (Ref& value : store.value)
      if (executor.lanes() > 1) value = rerolled(nodes, value, known_folds);
    const auto is_small = [&](Ref part) { return written_out(part, known) <= kMostOperations; };
    for (const Lanes& part : {store.value, store.element, store.guard}) {
      if (std::ranges::all_of(part, is_small)) continue;
      throw Refusal{fmt::format("a value of too many operations, more than {} where what is used "
                                "twice counts twice: store a part of it to a buffer in a launch of "
                                "its own",
                                static_cast<std::int64_t>(kMostOperations)),
                    store.position};
    }
  }
  return stores;
}

std::vector<Scattered> scattered(Nodes& nodes, const Executor& executor, bool in_lockstep) {
  std::vector<Scattered> all;
  Rerolled known_folds;
  for (const Store& store : merged(nodes, with_folds(nodes, executor))) {
    Scattered made;
    made.buffer = executor.memories[store.memory].name;
    made.type = executor.memories[store.memory].type;
    made.symbols = store.symbols;
    made.combine = store.combine;
    made.position = store.position;
    for (const SymbolId symbol : executor.block) made.symbols.push_back(symbol);
    if (!in_lockstep) {
      for (const SymbolId symbol : executor.thread) made.symbols.push_back(symbol);
      made.element = store.element[0];
      made.value = store.value[0];
      made.guard = store.guard[0];
      all.push_back(std::move(made));
      continue;
    }
    // Lanes that store, as functions of the thread's index.
    std::vector<std::size_t> lanes;
    const auto at = [](const Lanes& values, std::size_t i) {
      return values.size() == 1 ? values[0] : values[i];
    };
    for (std::size_t i = 0; i < executor.lanes(); ++i) {
      const Ref guard = at(store.guard, i);
      if (!guard->is_constant() || guard->constant != 0) lanes.push_back(i);
    }
    if (lanes.empty()) continue;
    std::vector<std::int64_t> extents;
    for (const SymbolId symbol : executor.thread) extents.push_back(nodes.extent(symbol));
    // Threads as x, y, z; else x taken apart at a power of two; else any box of them.
    std::vector<std::vector<std::int64_t>> radices;
    radices.push_back({extents[0], extents[1], extents[2]});
    for (std::int64_t r = 2; r <= 512; r *= 2) {
      if (extents[0] % r == 0 && extents[0] > r && extents[1] * extents[2] == 1)
        radices.push_back({r, extents[0] / r});
    }
    // At last, as they are, with quotients of the thread's index.
    radices.push_back(radices.front());
    bool done = false;
    for (std::size_t n = 0; n < radices.size(); ++n) {
      const auto& radix = radices[n];
      Basis basis;
      basis.steps = n + 1 == radices.size();
      std::vector<std::int64_t> low(radix.size(), INT64_MAX), high(radix.size(), 0);
      std::vector<std::vector<std::int64_t>> digits;
      for (const std::size_t lane : lanes) {
        std::vector<std::int64_t> row;
        auto rest = static_cast<std::int64_t>(lane);
        for (std::size_t d = 0; d < radix.size(); ++d) {
          row.push_back(rest % radix[d]);
          rest /= radix[d];
          low[d] = std::min(low[d], row[d]);
          high[d] = std::max(high[d], row[d]);
        }
        digits.push_back(std::move(row));
      }
      std::int64_t box = 1;
      for (std::size_t d = 0; d < radix.size(); ++d) box *= high[d] - low[d] + 1;
      if (box != static_cast<std::int64_t>(lanes.size())) continue;
      for (auto& row : digits)
        for (std::size_t d = 0; d < radix.size(); ++d) row[d] -= low[d];
      for (std::size_t d = 0; d < radix.size(); ++d)
        basis.symbols.push_back(
            nodes.new_symbol(fmt::format("threadIdx.{}", "xyz"[d]), high[d] - low[d] + 1));
      basis.digits = digits;
      std::vector<Ref> elements, values, guards;
      for (const std::size_t lane : lanes) {
        elements.push_back(at(store.element, lane));
        values.push_back(rerolled(nodes, at(store.value, lane), known_folds));
        guards.push_back(at(store.guard, lane));
      }
      made.element = unified(nodes, elements, basis);
      made.value = made.element == nullptr ? nullptr : unified(nodes, values, basis);
      made.guard = made.value == nullptr ? nullptr : unified(nodes, guards, basis);
      if (made.guard == nullptr) continue;
      made.symbols.insert(made.symbols.end(), basis.symbols.begin(), basis.symbols.end());
      done = true;
      break;
    }
    if (!done)
      throw Refusal{
          fmt::format("what the threads of a block store to '{}' cannot be shown to be one "
                      "formula of their index",
                      made.buffer),
          store.position};
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace

namespace {

/// What an unknown kernel may read and write.
void assume_all(const ConcreteProgram& program, const ConcreteLaunch& launch,
                const syntax::Function& kernel, LiftedLaunch& lifted) {
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    if (const auto* map = std::get_if<ConcreteTensorMap>(&launch.args[i])) {
      lifted.reads.push_back(program.buffers[map->buffer].name);
      lifted.writes.push_back(program.buffers[map->buffer].name);
    }
    const auto* buffer = std::get_if<BufferIndex>(&launch.args[i]);
    if (buffer == nullptr) continue;
    const std::string& name = program.buffers[buffer->index].name;
    lifted.reads.push_back(name);
    const bool is_const = i < kernel.parameters.size() && kernel.parameters[i]->type.element &&
                          kernel.parameters[i]->type.element->is_const;
    if (!is_const) lifted.writes.push_back(name);
  }
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace

namespace {

std::vector<Nest> nests_of_launch(Nodes& nodes, Executor& executor, const Launched& launched) {
  nodes.plain_conditions = launched.in_lockstep;
  executor.run();
  std::vector<Scattered> stores = scattered(nodes, executor, launched.in_lockstep);
  nodes.plain_conditions = false;
  for (Scattered& store : stores) {
    store.element = nodes.settled(store.element);
    store.value = nodes.settled(store.value);
    store.guard = nodes.settled(store.guard);
  }
  return nests_of(nodes, std::move(stores), *launched.program);
}

void add_uses(LiftedLaunch& made) {
  for (const Nest& nest : made.nests) {
    add_once(made.writes, nest.buffer);
    if (nest.combine) add_once(made.reads, nest.buffer);
    for (const Ref part : {nest.element, nest.guard, nest.value})
      for (const Ref load : loads_in(part)) add_once(made.reads, load->name);
  }
}

}  // namespace

Result<LiftedProgram> lift(const Program& program, const Bindings& sizes,
                           const std::function<bool(std::string_view kernel)>& skip) {
  LiftedProgram lifted;
  lifted.nodes = std::make_shared<Nodes>();
  auto concrete = instantiate(program, sizes);
  if (!concrete) return std::unexpected(concrete.error());
  lifted.concrete = std::move(*concrete);
  const auto unit = syntax::parse(program);
  if (!unit) return refused("the program does not parse: " + unit.error().message);
  const auto kernels = syntax::analyse(**unit, program);
  if (!kernels) return refused(kernels.error().message);
  const Nodes::WorkLimit limit(*lifted.nodes, kMostLiftWork);
  for (std::size_t i = 0; i < lifted.concrete.launches.size(); ++i) {
    const ConcreteLaunch& launch = lifted.concrete.launches[i];
    const syntax::Function* function = (*unit)->find_function(program.launches[i].kernel);
    const auto kernel = std::ranges::find(*kernels, function, &syntax::KernelInfo::function);
    if (kernel == kernels->end()) {
      return refused(fmt::format("the kernel '{}' is not in the source", launch.kernel));
    }
    LiftedLaunch made;
    made.kernel = launch.kernel;
    const auto refused_at = [&](int position, const std::string& reason) {
      const int at = position >= 0 ? position : function->name_range.begin;
      made.refusal = fmt::format("{}, line {}: {}", launch.kernel, (*unit)->line_of(at), reason);
      made.nests.clear();
    };
    const bool several = std::ranges::any_of(program.launches, [&](const Launch& other) {
      return other.kernel != launch.kernel && (*unit)->find_function(other.kernel) == function;
    });
    if (skip && skip(launch.kernel)) {
      refused_at(-1, "generated, or changed by an earlier step");
    } else if (several) {
      refused_at(-1, "a template that is launched in several ways");
    } else {
      const Launched launched{unit->get(), function, &lifted.concrete, &launch,
                              works_together(*kernel)};
      std::optional<Executor> executor;
      try {
        executor.emplace(*lifted.nodes, launched);
        made.nests = nests_of_launch(*lifted.nodes, *executor, launched);
        add_uses(made);
      } catch (const Refusal& refusal) {
        refused_at(refusal.position, refusal.reason);
      } catch (const TooMuchWork&) {
        const std::string loops = executor->doing();
        refused_at(executor->position(),
                   fmt::format("lifting the program takes more than {} million steps{}{}",
                               kMostLiftWork / 1'000'000, loops.empty() ? "" : ": ", loops));
      }
      lifted.nodes->plain_conditions = false;
    }
    if (!made.refusal.empty()) assume_all(lifted.concrete, launch, *function, made);
    lifted.launches.push_back(std::move(made));
  }
  return lifted;
}

}  // namespace hone::nest
