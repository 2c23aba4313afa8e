// A transposed convolution as a nest, for tests of generate-contract.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/rewriters/contract_product.h"

namespace hone::schedules {

/// A transposed convolution of any number of dimensions, and what follows it:
/// C[n, o, y...] = after(sum over c, k... of x[n, c, (y + pad - k dilation) / step...] *
/// w[c, o, k...]).
struct Transposed : NestCase {
  struct Dimension {
    std::int64_t size = 1, window = 3, step = 2, dilation = 2, pad = 1, more = 0;

    [[nodiscard]] std::int64_t out() const {
      return (size - 1) * step + 1 + (window - 1) * dilation + more - 2 * pad;
    }
  };
  enum class After {
    kOfChannels,  ///< relu(sum + bias[o]) * scale[o]
    kOfOutputs,   ///< (sum + residual[n, o, y...]) * mask[y...]
    kOfEdges,     ///< y == 0 ? edge[o] : sum
    kOfParity,    ///< sum + (y % 2 == 0 ? even[y...] : odd[y...])
  };
  struct Options {
    std::int64_t channels = 4, outputs = 8;  ///< of each group
    std::int64_t images = 2, groups = 1;
    bool channels_last = false;  ///< of x and C: [n, y..., c]
    bool own_weights = false;    ///< each image has its own
    ScalarType type = ScalarType::kF32;
    After after = After::kOfChannels;
  };

  Transposed(const std::vector<Dimension>& dimensions, MathLevel math, const Options& options)
      : options_(options) {
    task.math = math;
    const auto at = [&](SymbolId symbol) { return nodes.index(symbol); };
    const SymbolId n = nodes.new_symbol("n", options.images),
                   g = nodes.new_symbol("g", options.groups),
                   o = nodes.new_symbol("o", options.outputs),
                   c = nodes.new_symbol("c", options.channels);
    std::vector<SymbolId> rounds = {c};
    nest.dims = {n, g, o};
    const std::int64_t all_channels = options.groups * options.channels;
    const std::int64_t all_outputs = options.groups * options.outputs;
    const Ref from_channel = nodes.add(nodes.scale(at(g), options.channels), at(c));
    const Ref channel = nodes.add(nodes.scale(at(g), options.outputs), at(o));
    const auto digit = [&](Ref outer, std::int64_t size, Ref inner) {
      return nodes.add(nodes.scale(outer, size), inner);
    };
    Ref x = at(n), y = at(n), w = options.own_weights ? at(n) : nodes.integer(0);
    w = digit(digit(w, all_channels, from_channel), options.outputs, at(o));
    if (!options.channels_last) {
      x = digit(x, all_channels, from_channel);
      y = digit(y, all_outputs, channel);
    }
    Ref place_of_output = nodes.integer(0), there = nodes.boolean(true), last = nullptr;
    for (const Dimension& d : dimensions) {
      const SymbolId out = nodes.new_symbol("y", d.out()), k = nodes.new_symbol("k", d.window);
      nest.dims.push_back(out);
      rounds.push_back(k);
      const Ref step = nodes.integer(d.step);
      const Ref place =
          nodes.add(nodes.subtract(at(out), nodes.scale(at(k), d.dilation)), nodes.integer(d.pad));
      const Ref from = nodes.divide(place, step);
      there = nodes.both(there, nodes.both(nodes.non_negative(place),
                                           nodes.is_zero(nodes.remainder(place, step))));
      there = nodes.both(there, nodes.less(from, nodes.integer(d.size)));
      x = digit(x, d.size, from);
      w = digit(w, d.window, at(k));
      y = digit(y, d.out(), at(out));
      place_of_output = digit(place_of_output, d.out(), at(out));
      last = at(out);
    }
    if (options.channels_last) {
      x = digit(x, all_channels, from_channel);
      y = digit(y, all_outputs, channel);
    }
    std::int64_t inputs = options.images * all_channels;
    for (const Dimension& d : dimensions) inputs *= d.size;
    buffer("x", options.type, inputs, Role::kIn);
    buffer("w", options.type, elements(w), Role::kIn);
    buffer("C", options.type, elements(y), Role::kOut);
    const Ref term = f32(Op::kMul, input("x", x), input("w", w));
    const Ref sum = nodes.reduce(Op::kAdd, rounds, nodes.select(there, term, zero()));
    nest.buffer = "C";
    nest.type = options.type;
    nest.element = y;
    nest.guard = nodes.boolean(true);
    nest.value = nodes.cast(after(sum, channel, place_of_output, last), options.type);
    nest.covers = true;
  }

 private:
  [[nodiscard]] std::int64_t elements(Ref place) { return nodes.range(place)->high + 1; }
  Ref f32(Op op, Ref a, Ref b) { return nodes.op(op, ScalarType::kF32, {a, b}); }
  Ref zero() { return nodes.number(0, ScalarType::kF32); }
  /// Of a buffer that is there.
  Ref input(const std::string& name, Ref place) {
    return nodes.cast(nodes.load(name, options_.type, place), ScalarType::kF32);
  }
  /// Of a buffer of f32 that has as many elements as `place` says.
  Ref own_input(const std::string& name, Ref place) {
    buffer(name, ScalarType::kF32, elements(place), Role::kIn);
    return nodes.load(name, ScalarType::kF32, place);
  }

  Ref after(Ref sum, Ref channel, Ref place, Ref last) {
    switch (options_.after) {
      case After::kOfChannels: {
        const Ref biased = f32(Op::kAdd, sum, own_input("bias", channel));
        return f32(Op::kMul, f32(Op::kMax, biased, zero()), own_input("scale", channel));
      }
      case After::kOfOutputs: {
        const Ref more = f32(Op::kAdd, sum, own_input("residual", nest.element));
        return f32(Op::kMul, more, own_input("mask", place));
      }
      case After::kOfEdges:
        return nodes.select(nodes.is_zero(last), own_input("edge", channel), sum);
      case After::kOfParity: {
        const Ref even = own_input("even", place), odd = own_input("odd", place);
        const Ref is_even = nodes.is_zero(nodes.remainder(last, nodes.integer(2)));
        return f32(Op::kAdd, sum, nodes.select(is_even, even, odd));
      }
    }
    return sum;
  }

  Options options_;
};

}  // namespace hone::schedules
