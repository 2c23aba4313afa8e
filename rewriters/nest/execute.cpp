// execute(): nests done as they are written, one point after the other.
#include <fmt/format.h>

#include <algorithm>
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

double folded(const std::string& op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "*") return a * b;
  if (op == "min") return std::fmin(a, b);
  if (op == "max") return std::fmax(a, b);
  const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  if (op == "&") return static_cast<double>(x & y);
  if (op == "|") return static_cast<double>(x | y);
  if (op == "^") return static_cast<double>(x ^ y);
  throw Stop{"there is no fold by '" + op + "'"};
}

using Function = double (*)(double);

Function function_of(const std::string& name) {
  static const std::map<std::string, Function, std::less<>> known = {
      {"exp", std::exp},
      {"exp2", std::exp2},
      {"expm1", std::expm1},
      {"log", std::log},
      {"log2", std::log2},
      {"log10", std::log10},
      {"log1p", std::log1p},
      {"sqrt", std::sqrt},
      {"cbrt", std::cbrt},
      {"sin", std::sin},
      {"cos", std::cos},
      {"tan", std::tan},
      {"tanh", std::tanh},
      {"sinh", std::sinh},
      {"cosh", std::cosh},
      {"asin", std::asin},
      {"acos", std::acos},
      {"atan", std::atan},
      {"asinh", std::asinh},
      {"acosh", std::acosh},
      {"atanh", std::atanh},
      {"fabs", std::fabs},
      {"floor", std::floor},
      {"ceil", std::ceil},
      {"round", std::round},
      {"trunc", std::trunc},
      {"rint", std::rint},
      {"nearbyint", std::nearbyint},
      {"erf", std::erf},
      {"erfc", std::erfc},
      {"lgamma", std::lgamma},
      {"tgamma", std::tgamma},
      {"__expf", std::exp},
      {"__logf", std::log},
      {"__sinf", std::sin},
      {"__cosf", std::cos},
      {"__log2f", std::log2},
      {"__tanf", std::tan},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"exp10", [](double x) { return std::pow(10.0, x); }},
      {"__exp10f", [](double x) { return std::pow(10.0, x); }},
      {"__frcp_rn", [](double x) { return 1 / x; }},
      {"__frsqrt_rn", [](double x) { return 1 / std::sqrt(x); }},
      {"sinpi", [](double x) { return std::sin(M_PI * x); }},
      {"cospi", [](double x) { return std::cos(M_PI * x); }},
      {"normcdf", [](double x) { return std::erfc(-x * M_SQRT1_2) / 2; }}};
  const auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

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
        const std::vector<double>& buffer = contents->at(node->op);
        const std::int64_t element = whole(node->args[0]);
        if (element < 0 || element >= static_cast<std::int64_t>(buffer.size())) {
          throw Stop{
              fmt::format("element {} of '{}', which has {}", element, node->op, buffer.size())};
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
    const bool arg = node->op.starts_with("arg");
    const std::string op = arg ? node->op.substr(3) : node->op;
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
        if (op == "max" ? next > total : next < total) {
          total = next;
          place = i;
        }
      } else {
        total = rounded(folded(op, total, next), node->type);
      }
    }
    for (std::size_t s = 0; s < saved.size(); ++s) at[node->symbols[s]] = saved[s];
    return arg ? static_cast<double>(place) : total;
  }

  double operation(Ref node) {
    const std::string& op = node->op;
    const auto a = [&](std::size_t i) { return value(node->args[i]); };
    const auto n = [&](std::size_t i) { return whole(node->args[i]); };
    if (op == "select") return a(0) != 0 ? a(1) : a(2);
    if (op == ">=0") return n(0) >= 0 ? 1 : 0;
    if (op == "==0") return n(0) == 0 ? 1 : 0;
    if (op == "&&") return a(0) != 0 && a(1) != 0 ? 1 : 0;
    if (op == "||") return a(0) != 0 || a(1) != 0 ? 1 : 0;
    if (op == "!") return a(0) != 0 ? 0 : 1;
    if (op == "<") return a(0) < a(1) ? 1 : 0;
    if (op == "<=") return a(0) <= a(1) ? 1 : 0;
    if (op == "==") return a(0) == a(1) ? 1 : 0;
    if (op == "!=") return a(0) != a(1) ? 1 : 0;
    if (op == "neg") return -a(0);
    if (op == "cast") {
      return is_float(node->type) || !is_float(node->args[0]->type) ? a(0) : std::trunc(a(0));
    }
    const bool integers = !is_float(node->type);
    if (integers && (op == "/" || op == "%")) {
      const std::int64_t by = n(1);
      if (by == 0) throw Stop{"a division by zero"};
      return static_cast<double>(op == "/" ? n(0) / by : n(0) % by);
    }
    if (integers && (op == "<<" || op == ">>")) {
      return static_cast<double>(op == "<<" ? n(0) << n(1) : n(0) >> n(1));
    }
    if (op == "-") return a(0) - a(1);
    if (op == "/") return a(0) / a(1);
    if (op == "fma") return std::fma(a(0), a(1), a(2));
    if (op == "pow" || op == "__powf") return std::pow(a(0), a(1));
    if (op == "atan2") return std::atan2(a(0), a(1));
    if (op == "fmod") return std::fmod(a(0), a(1));
    if (op == "hypot") return std::hypot(a(0), a(1));
    if (op == "fdim") return std::fdim(a(0), a(1));
    if (op == "copysign") return std::copysign(a(0), a(1));
    if (op == "__fdividef") return a(0) / a(1);
    if (node->args.size() == 1) {
      if (const Function function = function_of(op)) return function(a(0));
    }
    if (node->args.size() == 2) return folded(op, a(0), a(1));
    throw Stop{"there is no '" + op + "'"};
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
    place = rounded(nest.combine.empty() ? value : folded(nest.combine, place, value), nest.type);
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
