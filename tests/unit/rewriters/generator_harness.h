// Runs what a generator prints on the emulator, with every checker, against the nest evaluated
// directly on the CPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "evaluator/compile/compile.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/device/emulator/lanes/dot.h"
#include "evaluator/fill/formula_cpu.h"
#include "rewriters/schedules/generator.h"
#include "tests/unit/rewriters/plain_text.h"

namespace hone::schedules {

inline double round_to(ScalarType type, double value) {
  const auto as_float = static_cast<float>(value);
  if (type == ScalarType::kF32) return as_float;
  if (type == ScalarType::kF16) return emulator::half_value(emulator::half_nearest(as_float));
  if (type == ScalarType::kBf16) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(as_float);
    bits += 0x7FFF + (bits >> 16 & 1);
    return std::bit_cast<float>(bits & 0xFFFF0000U);
  }
  if (is_fp8(type)) {
    const int own = static_cast<int>(type);
    return hone_decode(own, hone_encode_float(own, value));
  }
  return value;
}

/// One nest over dense buffers: builds it, evaluates it, runs kernels for it.
class NestCase {
 public:
  nest::Nodes nodes;
  nest::Nest nest;
  ConcreteProgram concrete;
  Task task;
  RewriteContext context{&task, {}, target_limits("sm_90")};
  std::map<std::string, std::vector<double>> contents;

  void buffer(const std::string& name, ScalarType type, std::int64_t elements, Role role) {
    concrete.buffers.push_back({name, type, {elements}, role, {}});
    std::vector<double>& data = contents[name];
    for (std::int64_t i = 0; i < elements; ++i) {
      const auto bits = static_cast<std::uint32_t>((i + 7) * 2654435761U + name[0] * 40503U);
      data.push_back(round_to(type, (bits >> 8) / 16777216.0 - 0.5));
    }
  }
  [[nodiscard]] Goal goal() { return {&nodes, {nest}, &concrete, &context}; }

  /// Of the indices in at_.
  double evaluate(nest::Ref value) {
    using Kind = nest::Node::Kind;
    const auto arg = [&](std::size_t i) { return evaluate(value->args[i]); };
    switch (value->kind) {
      case Kind::kFloat:
        return value->value;
      case Kind::kIndex:
        return static_cast<double>(at_.at(static_cast<std::size_t>(value->symbol)));
      case Kind::kSum: {
        double sum = static_cast<double>(value->constant);
        for (const nest::Term& term : value->terms)
          sum += static_cast<double>(term.coefficient) * evaluate(term.atom);
        return sum;
      }
      case Kind::kLoad:
        return contents.at(value->name).at(static_cast<std::size_t>(arg(0)));
      case Kind::kReduce: {
        // Once for all indices that it does not depend on.
        std::size_t count = 1, place = 0;
        for (const nest::SymbolId symbol : value->free) {
          const auto extent = static_cast<std::size_t>(nodes.extent(symbol));
          place =
              place * extent + static_cast<std::size_t>(at_.at(static_cast<std::size_t>(symbol)));
          count *= extent;
        }
        std::vector<double>& known = reductions_[value];
        known.resize(count, std::nan(""));
        if (std::isnan(known[place])) known[place] = reduction(value);
        return known[place];
      }
      default:
        break;
    }
    using nest::Op;
    if (value->is(Op::kSelect)) return arg(0) != 0 ? arg(1) : arg(2);
    if (value->is(Op::kAnd)) return arg(0) != 0 && arg(1) != 0;
    if (value->is(Op::kCast)) return round_to(value->type, arg(0));
    if (value->is(Op::kDiv) && value->is_integer()) return std::trunc(arg(0) / arg(1));
    std::vector<double> operands;
    for (const nest::Ref one : value->args) operands.push_back(evaluate(one));
    const auto result = nest::evaluate(value->op, value->name, operands);
    if (!result) ADD_FAILURE() << "no such operation here: " << value->what();
    return result.value_or(0);
  }

  const std::vector<double>& expected() {
    if (expected_.empty()) expected_ = evaluate_all();
    return expected_;
  }
  std::vector<double> evaluate_all() {
    std::vector<double> out = contents.at(nest.buffer);
    for_all(nest.dims, [&] {
      if (nest.guard != nullptr && evaluate(nest.guard) == 0) return;
      out[static_cast<std::size_t>(evaluate(nest.element))] =
          round_to(nest.type, evaluate(nest.value));
    });
    return out;
  }

  /// The step at `choice` ("bm=32"), the start elsewhere.
  static Step step_at(const Offer& offer, const std::map<std::string, std::string>& choice) {
    Step step;
    for (std::size_t i = 0; i < offer.parameters.size(); ++i) {
      const Parameter& parameter = offer.parameters[i];
      ParameterValue value = parameter.domain[offer.starts.at(0)[i]];
      if (const auto found = choice.find(parameter.name); found != choice.end()) {
        const auto place = std::ranges::find_if(parameter.domain, [&](const ParameterValue& v) {
          return to_string(v) == found->second;
        });
        EXPECT_NE(place, parameter.domain.end()) << parameter.name << "=" << found->second;
        if (place != parameter.domain.end()) value = *place;
      }
      step.params[parameter.name] = value;
    }
    return step;
  }

  static std::string source_of(const Generated& generated) {
    std::string source;
    for (const std::string& include : generated.includes) source += "#include <" + include + ">\n";
    return source + generated.source;
  }
  static CompiledProgram compiled(const Generated& generated, bool timing, int capability = 90) {
    CompileJob job;
    job.source = source_of(generated);
    for (const GeneratedLaunch& launch : generated.launches) {
      if (std::ranges::find(job.kernels, launch.kernel) == job.kernels.end())
        job.kernels.push_back(launch.kernel);
    }
    job.arch = "sm_" + std::to_string(capability);
    job.code_for = timing ? CodeFor::kTiming : CodeFor::kEmulator;
    return compile::compile_program(job);
  }

  static std::vector<std::uint8_t> bytes_of(ScalarType type, const std::vector<double>& values) {
    std::vector<std::uint8_t> bytes(values.size() * size_of(type));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto put = [&](auto x) { std::memcpy(bytes.data() + i * sizeof x, &x, sizeof x); };
      const auto as_float = static_cast<float>(values[i]);
      if (type == ScalarType::kF64) {
        put(values[i]);
      } else if (type == ScalarType::kF32) {
        put(as_float);
      } else if (type == ScalarType::kI32) {
        put(static_cast<std::int32_t>(values[i]));
      } else if (type == ScalarType::kF16) {
        put(emulator::half_bits(as_float));
      } else if (is_fp8(type)) {
        put(static_cast<std::uint8_t>(hone_encode_float(static_cast<int>(type), values[i])));
      } else {
        put(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(as_float) >> 16));
      }
    }
    return bytes;
  }
  static double value_of(ScalarType type, const std::uint8_t* at) {
    const auto get = [&](auto x) {
      std::memcpy(&x, at, sizeof x);
      return x;
    };
    if (type == ScalarType::kF64) return get(0.0);
    if (type == ScalarType::kF32) return get(0.0F);
    if (type == ScalarType::kF16) return emulator::half_value(get(std::uint16_t{}));
    if (is_fp8(type)) return hone_decode(static_cast<int>(type), *at);
    return std::bit_cast<float>(static_cast<std::uint32_t>(get(std::uint16_t{})) << 16);
  }

  /// Runs the launches; the output buffer afterwards. Failures are the test's.
  std::vector<double> run(const Generated& generated, bool timing = false) {
    const CompiledProgram program = compiled(generated, timing, context.target.compute_capability);
    if (program.verdict != Verdict::kOk) {
      ADD_FAILURE() << program.log << "\n" << source_of(generated);
      return {};
    }
    auto module = emulator::Module::parse(program.ptx);
    if (!module) {
      ADD_FAILURE() << module.error().message;
      return {};
    }
    emulator::Memory memory;
    std::map<std::string, std::uint64_t> addresses;
    for (const ConcreteBuffer& buffer : concrete.buffers) {
      const auto bytes = bytes_of(buffer.type, contents.at(buffer.name));
      addresses[buffer.name] = memory.allocate(
          buffer.name, bytes.size(), buffer.role == Role::kIn || buffer.role == Role::kInOut,
          [bytes](std::uint64_t offset, std::uint8_t* to, std::size_t size) {
            std::memcpy(to, bytes.data() + offset, size);
          });
    }
    for (const Buffer& buffer : generated.scratch) {
      std::uint64_t elements = 1;
      for (const Expr& size : buffer.shape) elements *= static_cast<std::uint64_t>(*size.eval({}));
      addresses[buffer.name] = memory.allocate(
          buffer.name, elements * size_of(buffer.type), false,
          [](std::uint64_t, std::uint8_t* to, std::size_t n) { std::memset(to, 0xCD, n); });
    }
    for (const GeneratedLaunch& launch : generated.launches) {
      emulator::LaunchConfig config;
      config.kernel = program.find(launch.kernel)->lowered_name;
      for (std::size_t i = 0; i < launch.grid.size(); ++i)
        config.grid[i] = static_cast<std::uint32_t>(launch.grid[i]);
      for (std::size_t i = 0; i < launch.block.size(); ++i)
        config.block[i] = static_cast<std::uint32_t>(launch.block[i]);
      config.dynamic_shared_bytes = static_cast<std::uint32_t>(launch.shared_bytes);
      for (const GeneratedTensorMap& one : launch.tensor_maps) {
        const auto buffer = std::ranges::find(concrete.buffers, one.buffer, &ConcreteBuffer::name);
        const auto scratch = std::ranges::find(generated.scratch, one.buffer, &Buffer::name);
        const ScalarType type = buffer != concrete.buffers.end() ? buffer->type : scratch->type;
        const auto bytes =
            emulator::encode_tiled_tensor_map(spec_of(one.map, type, addresses.at(one.buffer)));
        EXPECT_TRUE(bytes.has_value()) << bytes.error().message;
        config.parameters.insert(config.parameters.end(), bytes->begin(), bytes->end());
      }
      for (const std::string& arg : launch.args) {
        const std::uint64_t address = addresses.at(arg);
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(&address);
        config.parameters.insert(config.parameters.end(), bytes, bytes + 8);
      }
      const emulator::RunReport report = emulator::run(**module, config, memory, {});
      EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail << "\n" << source_of(generated);
      if (report.verdict != Verdict::kOk) return {};
      last_counters = report.counters;
    }
    const auto output = std::ranges::find(concrete.buffers, nest.buffer, &ConcreteBuffer::name);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(output->bytes()));
    EXPECT_TRUE(memory.read(addresses.at(nest.buffer), bytes.data(), bytes.size()));
    std::vector<double> values;
    for (std::size_t i = 0; i < bytes.size(); i += size_of(output->type))
      values.push_back(value_of(output->type, bytes.data() + i));
    return values;
  }
  emulator::Counters last_counters;

  /// Generates, runs and compares at one point of the space. Returns what was generated.
  Generated check(const Generator& generator, const std::map<std::string, std::string>& choice,
                  double tolerance) {
    const auto offer = generator.match(goal());
    EXPECT_TRUE(offer.has_value()) << (offer ? "" : offer.error().message);
    if (!offer) return {};
    const auto generated = generator.generate(goal(), step_at(*offer, choice), "g_");
    EXPECT_TRUE(generated.has_value()) << (generated ? "" : generated.error().message);
    if (!generated) return {};
    if (std::getenv("HONE_SHOW_SOURCE") != nullptr) std::puts(source_of(*generated).c_str());
    expect_plain(generated->source);
    expect_same(*generated, tolerance);
    return *generated;
  }
  /// Runs what was generated, and compares.
  void expect_same(const Generated& generated, double tolerance) {
    const std::vector<double> got = run(generated), &want = expected();
    if (got.empty()) return;
    int shown = 0;
    for (std::size_t i = 0; i < want.size() && shown < 4; ++i) {
      if (std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]))) continue;
      ADD_FAILURE() << nest.buffer << "[" << i << "] is " << got[i] << ", not " << want[i];
      if (++shown == 1) ADD_FAILURE() << source_of(generated);
    }
  }

 protected:
  std::vector<std::int64_t> at_;  ///< of each index

 private:
  /// Calls `visit` for every point of the indices' box, the last one fastest.
  template <class Visit>
  void for_all(const std::vector<nest::SymbolId>& symbols, const Visit& visit) {
    for (const nest::SymbolId symbol : symbols) {
      if (static_cast<std::size_t>(symbol) >= at_.size())
        at_.resize(static_cast<std::size_t>(symbol) + 1);
      at_[static_cast<std::size_t>(symbol)] = 0;
    }
    for (;;) {
      visit();
      std::size_t i = symbols.size();
      for (; i > 0; --i) {
        std::int64_t& digit = at_[static_cast<std::size_t>(symbols[i - 1])];
        if (++digit < nodes.extent(symbols[i - 1])) break;
        digit = 0;
      }
      if (i == 0) return;
    }
  }
  double reduction(nest::Ref value) {
    const nest::OpInfo& fold = info(value->op);
    double result = fold.identity;
    for_all(value->symbols, [&] { result = fold.evaluate(result, evaluate(value->args[0]), 0); });
    return result;
  }

  std::map<nest::Ref, std::vector<double>> reductions_;
  std::vector<double> expected_;
};

}  // namespace hone::schedules
