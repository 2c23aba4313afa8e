// A convolution of two dimensions as a nest, for tests and timings of generate-contract.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "tests/unit/rewriters/generator_harness.h"

namespace hone::schedules {

/// output[n, o, y, x] = sum of input[n, c, y * step + r * dilation - pad, x * step + ...] *
/// weights[o, c, r, s]
struct Window {
  std::int64_t images = 1, channels = 8, height = 8, width = 32, outputs = 64;
  std::int64_t rows = 3, columns = 3;
  std::int64_t pad = 0, dilation = 1;
  std::int64_t step = 1;  ///< from output to output; if turned, from input to input
  bool turned = false;    ///< as a transposed convolution reads: (y - r) / step, (x - s) / step
  std::int64_t more = 0;  ///< outputs behind the last that an input reaches, if turned
  bool sum_in_f64 = false, bias = false;
  /// Rows of the input from this one on count as zero, where it is not 0; which conjunct of the
  /// mask says so first.
  std::int64_t rows_there = 0;
  bool tight_first = false;
  const char* weights = "B";  ///< the buffer's name

  /// Outputs along a dimension.
  [[nodiscard]] std::int64_t out(std::int64_t size, std::int64_t window) const {
    const std::int64_t reach = (window - 1) * dilation;
    return turned ? (size - 1) * step + 1 + reach + more - 2 * pad
                  : (size - reach - 1 + 2 * pad) / step + 1;
  }
};

class Convolution : public NestCase {
 public:
  /// Without `filled` there are no contents.
  explicit Convolution(const Window& w, MathLevel math = MathLevel::kTf32, bool filled = true) {
    task.math = math;
    const auto buffer = [&](const char* name, ScalarType type, std::int64_t elements, Role role) {
      if (filled) return NestCase::buffer(name, type, elements, role);
      concrete.buffers.push_back({name, type, {elements}, role, {}});
    };
    const std::int64_t out_y = w.out(w.height, w.rows), out_x = w.out(w.width, w.columns);
    const auto symbol = [&](const char* name, std::int64_t extent) {
      return nodes.new_symbol(name, extent);
    };
    const nest::SymbolId n = symbol("n", w.images), o = symbol("o", w.outputs),
                         y = symbol("y", out_y), x = symbol("x", out_x),
                         c = symbol("c", w.channels), r = symbol("r", w.rows),
                         s = symbol("s", w.columns);
    const auto flat = [&](std::initializer_list<std::pair<nest::Ref, std::int64_t>> digits) {
      nest::Ref all = nodes.integer(0);
      for (const auto& [digit, extent] : digits) all = nodes.add(nodes.scale(all, extent), digit);
      return all;
    };
    const auto at = [&](nest::SymbolId id) { return nodes.index(id); };
    buffer("A", ScalarType::kF32, w.images * w.channels * w.height * w.width, Role::kIn);
    buffer(w.weights, ScalarType::kF32, w.outputs * w.channels * w.rows * w.columns, Role::kIn);
    buffer("bias", ScalarType::kF32, w.outputs, Role::kIn);
    buffer("C", ScalarType::kF32, w.images * w.outputs * out_y * out_x, Role::kOut);
    const auto place = [&](nest::SymbolId output, nest::SymbolId window) {
      const nest::Ref step = nodes.scale(at(window), w.turned ? -w.dilation : w.dilation);
      return nodes.add(nodes.add(nodes.scale(at(output), w.turned ? 1 : w.step), step),
                       nodes.integer(w.turned ? w.pad : -w.pad));
    };
    const nest::Ref apart = nodes.integer(w.turned ? w.step : 1);
    const nest::Ref from_y = place(y, r), from_x = place(x, s);
    const nest::Ref in_y = nodes.divide(from_y, apart), in_x = nodes.divide(from_x, apart);
    const ScalarType sum = w.sum_in_f64 ? ScalarType::kF64 : ScalarType::kF32;
    const nest::Ref in =
        nodes.load("A", ScalarType::kF32,
                   flat({{at(n), 1}, {at(c), w.channels}, {in_y, w.height}, {in_x, w.width}}));
    const nest::Ref weight =
        nodes.load(w.weights, ScalarType::kF32,
                   flat({{at(o), 1}, {at(c), w.channels}, {at(r), w.rows}, {at(s), w.columns}}));
    nest::Ref term = nodes.op(nest::Op::kMul, sum, {nodes.cast(in, sum), nodes.cast(weight, sum)});
    const auto only_rows_there = [&](bool now) {
      if (w.rows_there > 0 && now)
        term =
            nodes.select(nodes.less(in_y, nodes.integer(w.rows_there)), term, nodes.number(0, sum));
    };
    only_rows_there(w.tight_first);
    if (w.pad > 0 || w.turned) {
      nest::Ref inside = nodes.boolean(true);
      for (const auto& [from, one, extent] :
           {std::tuple{from_y, in_y, w.height}, {from_x, in_x, w.width}}) {
        inside = nodes.both(inside, nodes.both(nodes.non_negative(from),
                                               nodes.is_zero(nodes.remainder(from, apart))));
        inside = nodes.both(inside, nodes.less(one, nodes.integer(extent)));
      }
      term = nodes.select(inside, term, nodes.number(0, sum));
    }
    only_rows_there(!w.tight_first);
    nest::Ref value = nodes.cast(nodes.reduce(nest::Op::kAdd, {c, r, s}, term), ScalarType::kF32);
    if (w.bias)
      value = nodes.op(nest::Op::kAdd, ScalarType::kF32,
                       {value, nodes.load("bias", ScalarType::kF32, at(o))});
    nest.buffer = "C";
    nest.type = ScalarType::kF32;
    nest.dims = {n, o, y, x};
    nest.element = flat({{at(n), 1}, {at(o), w.outputs}, {at(y), out_y}, {at(x), out_x}});
    nest.guard = nodes.boolean(true);
    nest.value = value;
    nest.covers = true;
  }
};

}  // namespace hone::schedules
