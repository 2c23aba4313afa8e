// execute(): nests done as they are written, one point after the other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "rewriters/nest/nest.h"

namespace hone::nest {
namespace {

struct Stop {
  std::string reason;
};

double rounded(double value, ScalarType type) {
  switch (type) {
    case ScalarType::kF32:
      return static_cast<float>(value);
    case ScalarType::kE4m3:
    case ScalarType::kE5m2: {
      if (std::isnan(value) || value == 0) return value;
      const bool e4m3 = type == ScalarType::kE4m3;
      const double most = e4m3 ? 448 : 57344;
      if (std::abs(value) >= most) return std::copysign(most, value);
      const int digits = e4m3 ? 3 : 2, lowest = e4m3 ? -6 : -14;
      const double step = std::ldexp(1.0, std::max(std::ilogb(value), lowest) - digits);
      return std::nearbyint(value / step) * step;
    }
    case ScalarType::kF16:
    case ScalarType::kBf16: {
      if (!std::isfinite(value) || value == 0) return value;
      const bool half = type == ScalarType::kF16;
      const int digits = half ? 10 : 7, lowest = half ? -14 : -126;
      const double step = std::ldexp(1.0, std::max(std::ilogb(value), lowest) - digits);
      const double near = std::nearbyint(value / step) * step;
      const double most = half ? 65504.0 : 3.3895313892515355e38;
      return std::abs(near) > most ? std::copysign(HUGE_VAL, near) : near;
    }
    case ScalarType::kI32:
      return static_cast<std::int32_t>(static_cast<std::int64_t>(value));
    case ScalarType::kU32:
      return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
    case ScalarType::kI8:
      return static_cast<std::int8_t>(static_cast<std::int64_t>(value));
    case ScalarType::kU8:
      return static_cast<std::uint8_t>(static_cast<std::int64_t>(value));
    default:
      return value;
  }
}

double folded(Op op, double a, double b) { return info(op).evaluate(a, b, 0); }

class Machine {
 public:
  Machine(const Nodes& nodes, std::int64_t most) : nodes_(nodes), left_(most) {}

  const Contents* contents = nullptr;
  std::unordered_map<SymbolId, std::int64_t> at;

  /// Of another launch: what was kept is no longer true.
  void forget() { kept_.clear(); }

  double value(Ref node) {
    if (--left_ < 0) throw Stop{"too many operations"};
    switch (node->kind) {
      case Node::Kind::kFloat:
        return node->value;
      case Node::Kind::kIndex:
        return static_cast<double>(at.at(node->symbol));
      case Node::Kind::kSum: {
        std::int64_t sum = node->constant;
        for (const Term& term : node->terms) sum += term.coefficient * whole(term.atom);
        return static_cast<double>(sum);
      }
      case Node::Kind::kLoad: {
        const std::vector<double>& buffer = contents->at(node->name);
        const std::int64_t element = whole(node->args[0]);
        if (element < 0 || element >= static_cast<std::int64_t>(buffer.size())) {
          throw Stop{
              fmt::format("element {} of '{}', which has {}", element, node->name, buffer.size())};
        }
        return buffer[static_cast<std::size_t>(element)];
      }
      case Node::Kind::kReduce:
        return reduction(node);
      case Node::Kind::kOp:
        return rounded(operation(node), node->type);
      case Node::Kind::kPhi:
        break;
    }
    throw Stop{"a value that is not known"};
  }
  std::int64_t whole(Ref node) { return static_cast<std::int64_t>(value(node)); }

 private:
  double reduction(Ref node) {
    std::vector<std::int64_t> key;
    for (const SymbolId symbol : node->free) key.push_back(at.at(symbol));
    auto& known = kept_[node];
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    const double made = folds(node);
    if (known.size() < 100'000) known.emplace(std::move(key), made);
    return made;
  }

  double folds(Ref node) {
    const bool most = node->op == Op::kArgMax, arg = most || node->op == Op::kArgMin;
    std::vector<std::int64_t> saved;
    std::int64_t count = 1;
    for (const SymbolId symbol : node->symbols) {
      const auto held = at.find(symbol);
      saved.push_back(held == at.end() ? 0 : held->second);
      count *= nodes_.extent(symbol);
    }
    double total = 0;
    std::int64_t place = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i;
      for (std::size_t s = node->symbols.size(); s-- > 0;) {
        const std::int64_t extent = nodes_.extent(node->symbols[s]);
        at[node->symbols[s]] = rest % extent;
        rest /= extent;
      }
      const double next = value(node->args[0]);
      if (i == 0) {
        total = next;
      } else if (arg) {
        if (most ? next > total : next < total) {
          total = next;
          place = i;
        }
      } else {
        total = rounded(folded(node->op, total, next), node->type);
      }
    }
    for (std::size_t s = 0; s < saved.size(); ++s) at[node->symbols[s]] = saved[s];
    return arg ? static_cast<double>(place) : total;
  }

  double operation(Ref node) {
    const auto a = [&](std::size_t i) { return value(node->args[i]); };
    if (node->is(Op::kSelect)) return a(0) != 0 ? a(1) : a(2);
    if (node->is(Op::kAnd)) return a(0) != 0 && a(1) != 0 ? 1 : 0;
    if (node->is(Op::kOr)) return a(0) != 0 || a(1) != 0 ? 1 : 0;
    const bool integers = !is_float(node->type);
    if (node->is(Op::kCast)) {
      return integers && is_float(node->args[0]->type) ? std::trunc(a(0)) : a(0);
    }
    std::array<double, 3> operands = {};
    const std::size_t count = std::min(node->args.size(), operands.size());
    for (std::size_t i = 0; i < count; ++i) operands[i] = a(i);
    if (integers && node->is(Op::kDiv, Op::kMod)) {
      const auto of = static_cast<std::int64_t>(operands[0]);
      const auto by = static_cast<std::int64_t>(operands[1]);
      if (by == 0) throw Stop{"a division by zero"};
      return static_cast<double>(node->is(Op::kDiv) ? of / by : of % by);
    }
    const auto result = evaluate(node->op, node->name, {operands.data(), count});
    if (!result) throw Stop{fmt::format("there is no '{}'", node->what())};
    return *result;
  }

  const Nodes& nodes_;
  std::int64_t left_;
  std::unordered_map<Ref, std::map<std::vector<std::int64_t>, double>> kept_;
};

void run(const Nodes& nodes, const Nest& nest, Machine& machine, const Contents& before,
         Contents& after) {
  machine.contents = &before;
  std::int64_t count = 1;
  for (const SymbolId symbol : nest.dims) count *= nodes.extent(symbol);
  std::vector<double>& buffer = after.at(nest.buffer);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = nest.dims.size(); d-- > 0;) {
      const std::int64_t extent = nodes.extent(nest.dims[d]);
      machine.at[nest.dims[d]] = rest % extent;
      rest /= extent;
    }
    if (machine.value(nest.guard) == 0) continue;
    const std::int64_t element = machine.whole(nest.element);
    if (element < 0 || element >= static_cast<std::int64_t>(buffer.size())) {
      throw Stop{
          fmt::format("element {} of '{}', which has {}", element, nest.buffer, buffer.size())};
    }
    double& place = buffer[static_cast<std::size_t>(element)];
    const double value = machine.value(nest.value);
    place = rounded(nest.combine ? folded(*nest.combine, place, value) : value, nest.type);
  }
}

}  // namespace

Result<void> execute(const LiftedProgram& program, Contents& contents,
                     std::int64_t most_operations) {
  Machine machine(*program.nodes, most_operations);
  for (const LiftedLaunch& launch : program.launches) {
    if (!launch.refusal.empty()) return refused("not lifted: " + launch.refusal);
    const Contents before = contents;
    machine.forget();
    try {
      for (const Nest& nest : launch.nests) run(*program.nodes, nest, machine, before, contents);
    } catch (const Stop& stop) {
      return refused(fmt::format("{}: {}", launch.kernel, stop.reason));
    }
  }
  return {};
}

}  // namespace hone::nest
