#include "tests/unit/schedules/harness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <sstream>
#include <unordered_map>

#include "evaluator/compile/compile.h"
#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/sample_launches.h"
#include "tests/support/eight_bit_floats.h"

namespace hone::schedules {

using nest::Node;

Problem::Problem() { context_.target = target_limits("sm_90"); }

void Problem::in(const std::string& name, std::vector<std::int64_t> shape, ScalarType type,
                 double low, double high) {
  Fill fill{is_float(type) ? Fill::Kind::kUniform : Fill::Kind::kIntegers, low, high, {}, 0, {}};
  concrete_.buffers.push_back({name, type, std::move(shape), Role::kIn, fill});
}

void Problem::out(const std::string& name, std::vector<std::int64_t> shape, ScalarType type) {
  concrete_.buffers.push_back({name, type, std::move(shape), Role::kOut, {}});
}

void Problem::inout(const std::string& name, std::vector<std::int64_t> shape, ScalarType type) {
  in(name, std::move(shape), type);
  concrete_.buffers.back().role = Role::kInOut;
}

Ref Problem::element(const std::string& buffer, const std::vector<Ref>& indices) {
  for (const ConcreteBuffer& one : concrete_.buffers) {
    if (one.name != buffer) continue;
    Ref element = nodes.integer(0);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      element =
          nodes.add(nodes.scale(element, i < one.shape.size() ? one.shape[i] : 1), indices[i]);
    }
    return element;
  }
  ADD_FAILURE() << "no buffer " << buffer;
  return nodes.integer(0);
}

Ref Problem::load(const std::string& buffer, const std::vector<Ref>& indices) {
  ScalarType type = ScalarType::kF32;
  for (const ConcreteBuffer& one : concrete_.buffers) {
    if (one.name == buffer) type = one.type;
  }
  const Ref loaded = nodes.load(buffer, type, element(buffer, indices));
  return is_float(type) ? loaded : nodes.add(loaded, nodes.integer(0));  // integers stand in sums
}

Ref Problem::f(std::string_view name, std::vector<Ref> args) {
  const ScalarType type = args.front()->type;
  return nodes.call(name, type, std::move(args));
}

void Problem::store(const std::string& buffer, std::vector<SymbolId> dims,
                    const std::vector<Ref>& indices, Ref value, std::optional<Op> combine) {
  nest::Nest nest;
  nest.buffer = buffer;
  for (const ConcreteBuffer& one : concrete_.buffers) {
    if (one.name == buffer) nest.type = one.type;
  }
  nest.dims = std::move(dims);
  nest.element = element(buffer, indices);
  nest.guard = nodes.boolean(true);
  nest.value = value;
  nest.combine = combine;
  nest.covers = true;
  nests_.push_back(std::move(nest));
}

Goal Problem::goal() {
  Goal goal;
  goal.nodes = &nodes;
  goal.nests = nests_;
  goal.concrete = &concrete_;
  goal.context = &context_;
  return goal;
}

// --- On the CPU -------------------------------------------------------------------------------

namespace {

using Contents = std::map<std::string, std::vector<double>>;

double decode(ScalarType type, const std::uint8_t* from) {
  const auto as = [&]<typename T>(T value) {
    std::memcpy(&value, from, sizeof(T));
    return static_cast<double>(value);
  };
  switch (type) {
    case ScalarType::kF32:
      return as(float{});
    case ScalarType::kF64:
      return as(double{});
    case ScalarType::kI32:
      return as(std::int32_t{});
    case ScalarType::kI64:
      return as(std::int64_t{});
    case ScalarType::kI8:
      return as(std::int8_t{});
    case ScalarType::kU32:
      return as(std::uint32_t{});
    case ScalarType::kU64:
      return as(std::uint64_t{});
    case ScalarType::kU8:
    case ScalarType::kBool:
      return as(std::uint8_t{});
    case ScalarType::kE4m3:
    case ScalarType::kE5m2:
      return testing::eight_bit_float(type == ScalarType::kE4m3, *from);
    case ScalarType::kF16: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from, 2);
      const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
      const double size = exponent == 0    ? std::ldexp(mantissa, -24)
                          : exponent == 31 ? (mantissa != 0 ? NAN : HUGE_VAL)
                                           : std::ldexp(1024 + mantissa, exponent - 25);
      return (bits & 0x8000) != 0 ? -size : size;
    }
    case ScalarType::kBf16: {
      std::uint32_t bits = 0;
      std::memcpy(reinterpret_cast<std::uint8_t*>(&bits) + 2, from, 2);
      float value = 0;
      std::memcpy(&value, &bits, 4);
      return value;
    }
  }
  return 0;
}

class Cpu {
 public:
  Cpu(const Nodes& nodes, const Contents& contents) : nodes_(nodes), contents_(contents) {}
  std::map<SymbolId, std::int64_t> env;

  double value(Ref node) {
    switch (node->kind) {
      case Node::Kind::kFloat:
        return node->value;
      case Node::Kind::kSum: {
        double sum = static_cast<double>(node->constant);
        for (const nest::Term& term : node->terms) {
          sum += static_cast<double>(term.coefficient) * value(term.atom);
        }
        return sum;
      }
      case Node::Kind::kIndex:
        return static_cast<double>(env.at(node->symbol));
      case Node::Kind::kLoad: {
        const auto& data = contents_.at(node->name);
        const auto at = static_cast<std::int64_t>(value(node->args[0]));
        if (at < 0 || at >= static_cast<std::int64_t>(data.size())) {
          ADD_FAILURE() << node->name << "[" << at << "]";
          return 0;
        }
        return data[static_cast<std::size_t>(at)];
      }
      case Node::Kind::kReduce:
        return reduction(node);
      default:
        return operation(node);
    }
  }

 private:
  double reduction(Ref node) {
    std::string key = std::to_string(node->id);
    for (const SymbolId symbol : node->free) key += fmt::format(",{}", env.at(symbol));
    const auto found = memo_.find(key);
    if (found != memo_.end()) return found->second;
    std::int64_t points = 1;
    for (const SymbolId symbol : node->symbols) points *= nodes_.extent(symbol);
    double result = 0, best = 0;
    for (std::int64_t point = 0; point < points; ++point) {
      std::int64_t rest = point;
      for (std::size_t k = node->symbols.size(); k-- > 0;) {
        env[node->symbols[k]] = rest % nodes_.extent(node->symbols[k]);
        rest /= nodes_.extent(node->symbols[k]);
      }
      const double one = value(node->args[0]);
      if (point == 0) {
        result = info(node->op).evaluate == nullptr ? 0 : one;
        best = one;
      } else if (info(node->op).evaluate != nullptr) {
        result = info(node->op).evaluate(result, one, 0);
      } else if (node->op == Op::kArgMax ? one > best : one < best) {
        best = one;
        result = static_cast<double>(point);
      }
    }
    return memo_[key] = result;
  }

  double operation(Ref node) {
    const auto of = [&](std::size_t i) { return value(node->args[i]); };
    if (node->is(Op::kSelect)) return of(of(0) != 0 ? 1 : 2);
    if (node->is(Op::kAnd)) return of(0) != 0 && of(1) != 0;
    if (node->is(Op::kOr)) return of(0) != 0 || of(1) != 0;
    if (node->is(Op::kDiv) && node->is_integer()) return std::trunc(of(0) / of(1));
    if (node->is(Op::kCast)) return node->is_integer() ? std::trunc(of(0)) : of(0);
    std::vector<double> operands;
    for (const Ref arg : node->args) operands.push_back(value(arg));
    const auto result = nest::evaluate(node->op, node->name, operands);
    if (!result) ADD_FAILURE() << "no " << node->what();
    return result.value_or(0);
  }

  const Nodes& nodes_;
  const Contents& contents_;
  std::unordered_map<std::string, double> memo_;
};

/// Over every point of the nest's box.
void execute(const Nodes& nodes, const nest::Nest& nest, const Contents& before, Contents& after) {
  Cpu cpu(nodes, before);
  std::int64_t points = 1;
  for (const SymbolId symbol : nest.dims) points *= nodes.extent(symbol);
  auto& target = after[nest.buffer];
  for (std::int64_t point = 0; point < points; ++point) {
    std::int64_t rest = point;
    for (std::size_t k = nest.dims.size(); k-- > 0;) {
      cpu.env[nest.dims[k]] = rest % nodes.extent(nest.dims[k]);
      rest /= nodes.extent(nest.dims[k]);
    }
    if (cpu.value(nest.guard) == 0) continue;
    const auto at = static_cast<std::size_t>(cpu.value(nest.element));
    const double value = cpu.value(nest.value);
    double& slot = target.at(at);
    slot = nest.combine ? info(*nest.combine).evaluate(slot, value, 0) : value;
  }
}

struct Built {
  protocol::Runnable runnable;
  std::shared_ptr<const emulator::Module> module;
};

bool build(const Generated& generated, Problem& problem, CodeFor code_for, Built& built) {
  ConcreteProgram program = problem.concrete();
  for (const Buffer& scratch : generated.scratch) {
    ConcreteBuffer buffer{scratch.name, scratch.type, {}, Role::kScratch, {}};
    for (const Expr& size : scratch.shape) buffer.shape.push_back(*size.eval({}));
    program.buffers.push_back(std::move(buffer));
  }
  CompileJob job;
  for (const std::string& header : generated.includes) {
    job.source += "#include <" + header + ">\n";
  }
  job.source += generated.source;
  job.arch = "sm_90";
  job.code_for = code_for;
  for (const GeneratedLaunch& one : generated.launches) {
    job.kernels.push_back(one.kernel);
    ConcreteLaunch launch;
    launch.kernel = one.kernel;
    for (std::size_t i = 0; i < one.grid.size(); ++i) launch.grid[i] = one.grid[i];
    for (std::size_t i = 0; i < one.block.size(); ++i) launch.block[i] = one.block[i];
    launch.shared_bytes = one.shared_bytes;
    const auto index_of = [&](const std::string& name) {
      int index = -1;
      for (std::size_t i = 0; i < program.buffers.size(); ++i) {
        if (program.buffers[i].name == name) index = static_cast<int>(i);
      }
      EXPECT_GE(index, 0) << name;
      return index;
    };
    for (const GeneratedTensorMap& map : one.tensor_maps) {
      launch.args.emplace_back(map.map);
      std::get<ConcreteTensorMap>(launch.args.back()).buffer = index_of(map.buffer);
    }
    for (const std::string& arg : one.args) launch.args.emplace_back(BufferIndex{index_of(arg)});
    program.launches.push_back(std::move(launch));
  }
  program.source = job.source;
  built.runnable.program = program;
  built.runnable.compiled = compile::compile_program(job);
  if (built.runnable.compiled.verdict != Verdict::kOk) {
    ADD_FAILURE() << built.runnable.compiled.log << "\n" << generated.source;
    return false;
  }
  auto module = emulator::Module::parse(built.runnable.compiled.ptx);
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return false;
  }
  built.module = *module;
  return true;
}

std::vector<double> contents_of(const runner::EmulatedProgram& program, int index) {
  const ConcreteBuffer& buffer = program.program().buffers[static_cast<std::size_t>(index)];
  const std::vector<std::uint8_t> bytes = program.read(index);
  std::vector<double> values(static_cast<std::size_t>(buffer.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = decode(buffer.type, bytes.data() + i * size_of(buffer.type));
  }
  return values;
}

}  // namespace

// --- Both -------------------------------------------------------------------------------------

Choice choice_from(const char* text) {
  Choice choice;
  std::stringstream parts(text == nullptr ? "" : text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const std::string value = part.substr(equals + 1);
    const bool number = value.find_first_not_of("0123456789") == std::string::npos;
    choice[part.substr(0, equals)] =
        number ? ParameterValue(std::int64_t{std::stoll(value)}) : ParameterValue(value);
  }
  return choice;
}

Step step_for(const Generator& generator, Problem& problem, const Choice& changed) {
  Step step;
  step.rewriter = std::string(generator.name());
  const auto offer = generator.match(problem.goal());
  if (!offer) {
    ADD_FAILURE() << offer.error().message;
    return step;
  }
  EXPECT_FALSE(offer->starts.empty());
  for (const auto& start : offer->starts) EXPECT_EQ(start.size(), offer->parameters.size());
  for (std::size_t i = 0; i < offer->parameters.size(); ++i) {
    const Parameter& parameter = offer->parameters[i];
    EXPECT_LT(offer->starts.at(0)[i], parameter.domain.size()) << parameter.name;
    step.params[parameter.name] = parameter.domain[offer->starts.at(0)[i]];
  }
  for (const auto& [name, value] : changed) {
    EXPECT_TRUE(step.params.contains(name)) << name;
    step.params[name] = value;
  }
  return step;
}

Generated generate(const Generator& generator, Problem& problem, const Choice& changed) {
  const Step step = step_for(generator, problem, changed);
  auto generated = generator.generate(problem.goal(), step, "g0_");
  if (!generated) {
    ADD_FAILURE() << to_string(step) << ": " << generated.error().message;
    return {};
  }
  return *generated;
}

void expect_right(const Generator& generator, Problem& problem, const Choice& changed,
                  double tolerance, Problem* known) {
  const Generated generated = generate(generator, problem, changed);
  if (generated.source.empty()) return;
  std::string what = to_string(step_for(generator, problem, changed)) + "\n" + generated.source;
  for (const GeneratedLaunch& launch : generated.launches) {
    what += fmt::format("// {} blocks of {} threads\n", launch.grid[0], launch.block[0]);
  }
  if (std::getenv("SHOW_SOURCE") != nullptr) std::cout << what << "\n";
  SCOPED_TRACE(what);
  Built built;
  if (!build(generated, problem, CodeFor::kEmulator, built)) return;
  auto program = runner::EmulatedProgram::load(built.runnable, 7,
                                               runner::EmulatedProgram::Outputs::kUninitialised);
  ASSERT_TRUE(program.has_value()) << program.error().message;

  Contents before;
  for (std::size_t i = 0; i < problem.concrete().buffers.size(); ++i) {
    before[problem.concrete().buffers[i].name] = contents_of(**program, static_cast<int>(i));
  }
  Contents after = before;
  Problem& reference = known == nullptr ? problem : *known;
  for (const nest::Nest& nest : reference.nests()) execute(reference.nodes, nest, before, after);

  const auto report = (*program)->run_all(*built.module, 200'000'000, true);
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  // Blocks and warps in another order: the same bits, but for sums of floats by atomics.
  auto again = runner::EmulatedProgram::load(built.runnable, 7,
                                             runner::EmulatedProgram::Outputs::kUninitialised);
  const auto repeated = (*again)->run_all(*built.module, 200'000'000, false, 5);
  ASSERT_EQ(repeated.verdict, Verdict::kOk) << repeated.detail;
  const bool any_order = std::ranges::any_of(problem.nests(), [](const nest::Nest& nest) {
    return nest.combine && is_float(nest.type) && nest.element->has_load;
  });
  for (std::size_t i = 0; !any_order && i < problem.concrete().buffers.size(); ++i) {
    EXPECT_EQ((*program)->read(static_cast<int>(i)), (*again)->read(static_cast<int>(i)));
  }
  for (std::size_t i = 0; i < problem.concrete().buffers.size(); ++i) {
    const ConcreteBuffer& buffer = problem.concrete().buffers[i];
    if (buffer.role != Role::kOut && buffer.role != Role::kInOut) continue;
    const std::vector<double> got = contents_of(**program, static_cast<int>(i));
    const std::vector<double>& want = after.at(buffer.name);
    double largest = 0;
    for (const double value : want) largest = std::max(largest, std::fabs(value));
    const double bound = is_float(buffer.type) ? tolerance * largest : 0;
    int wrong = 0;
    for (std::size_t k = 0; k < want.size() && wrong < 4; ++k) {
      if (got[k] == want[k] || std::fabs(got[k] - want[k]) <= bound) continue;
      ++wrong;
      ADD_FAILURE() << buffer.name << "[" << k << "]: " << got[k] << ", not " << want[k];
    }
  }
}

std::vector<double> outputs_of(const Generator& generator, Problem& problem, const Choice& changed,
                               const std::vector<double>& contents) {
  const Generated generated = generate(generator, problem, changed);
  Built built;
  if (generated.source.empty() || !build(generated, problem, CodeFor::kEmulator, built)) return {};
  auto program = runner::EmulatedProgram::load(built.runnable, 7,
                                               runner::EmulatedProgram::Outputs::kUninitialised);
  EXPECT_TRUE(program.has_value());
  std::vector<std::uint8_t> bytes;
  const auto put = [&](auto value) {
    const auto* const from = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(value));
  };
  for (const double value : contents) {
    if (problem.concrete().buffers.front().type == ScalarType::kF64) {
      put(value);
    } else {
      put(static_cast<float>(value));
    }
  }
  EXPECT_TRUE((*program)->write(0, 0, bytes));
  const auto report = (*program)->run_all(*built.module, 200'000'000, true);
  EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail << "\n" << generated.source;
  return contents_of(**program, static_cast<int>(problem.concrete().buffers.size()) - 1);
}

Verdict verdict_of(const Generator& generator, Problem& problem, const Choice& changed) {
  const Generated generated = generate(generator, problem, changed);
  Built built;
  if (generated.source.empty() || !build(generated, problem, CodeFor::kEmulator, built)) {
    return Verdict::kCompileError;
  }
  auto program = runner::EmulatedProgram::load(built.runnable, 7,
                                               runner::EmulatedProgram::Outputs::kUninitialised);
  EXPECT_TRUE(program.has_value());
  return (*program)->run_all(*built.module, 200'000'000, true).verdict;
}

std::string variant_text(const Generator& generator, Problem& problem, const Choice& changed) {
  const Generated generated = generate(generator, problem, changed);
  std::string buffers, launches;
  const auto put = [](std::string& list, const std::string& text) {
    list += (list.empty() ? "" : ", ") + text;
  };
  for (const ConcreteBuffer& one : problem.concrete().buffers) {
    put(buffers,
        fmt::format(R"({{"name": "{}", "type": "{}", "shape": [{}]{}}})", one.name,
                    to_string(one.type), fmt::join(one.shape, ", "),
                    one.role == Role::kOut ? std::string(R"(, "role": "out")")
                                           : fmt::format(R"(, "fill": {{"uniform": [{}, {}]}})",
                                                         one.fill.a, one.fill.b)));
  }
  for (const Buffer& one : generated.scratch) {
    put(buffers, fmt::format(R"({{"name": "{}", "type": "{}", "shape": [{}], "role": "scratch"}})",
                             one.name, to_string(one.type), *one.shape[0].eval({})));
  }
  for (const GeneratedLaunch& one : generated.launches) {
    put(launches,
        fmt::format(
            R"({{"kernel": "{}", "grid": [{}], "block": [{}], "shared_bytes": {}, "args": ["{}"]}})",
            one.kernel, fmt::join(one.grid, ", "), fmt::join(one.block, ", "), one.shared_bytes,
            fmt::join(one.args, "\", \"")));
  }
  std::string text = fmt::format(
      "/* hone {{\"name\": \"t\", \"sizes\": {{\"N\": 1}}, \"check_sizes\": [{{\"N\": 2}}], "
      "\"buffers\": [{}], \"launches\": [{}]}} */\n",
      buffers, launches);
  for (const std::string& header : generated.includes) text += "#include <" + header + ">\n";
  return text + generated.source;
}

double modelled_us(const Generator& generator, Problem& problem, const Choice& changed) {
  const Generated generated = generate(generator, problem, changed);
  Built built;
  if (generated.source.empty() || !build(generated, problem, CodeFor::kTiming, built)) return 0;
  const emulator::Profile& profile = *emulator::find_profile("sm_90");
  const auto sampled = runner::sample_launches(built.runnable, 7, *built.module, profile);
  EXPECT_EQ(sampled.verdict, Verdict::kOk) << sampled.detail;
  double time = 0;
  for (const auto& launch : sampled.launches) {
    const auto one = emulator::model(profile, launch.counters, launch.config, launch.registers,
                                     launch.static_shared_bytes);
    time += one.time_us;
    std::cout << fmt::format("  {:.1f} us ({}), {} registers\n", one.time_us, one.bound,
                             launch.registers);
  }
  return time;
}

}  // namespace hone::schedules
