#include "tests/e2e/baselines_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace hone::baselines {
namespace {

using Index = std::int64_t;
using Vector = std::vector<double>;
using Row = std::span<const double>;

Index size(const Bindings& sizes, std::string_view name) { return sizes.find(name)->second; }

/// Row `r` of a dense matrix with `columns` columns.
Row row_of(const Vector& matrix, Index r, Index columns) {
  return Row(matrix).subspan(static_cast<std::size_t>(r * columns),
                             static_cast<std::size_t>(columns));
}

double sum_of(Row values) { return std::accumulate(values.begin(), values.end(), 0.0); }

double mean_of(Row values) { return sum_of(values) / static_cast<double>(values.size()); }

/// Population variance.
double variance_of(Row values) {
  const double mean = mean_of(values);
  double total = 0;
  for (double value : values) total += (value - mean) * (value - mean);
  return total / static_cast<double>(values.size());
}

Vector softmax_of(Row values) {
  const double largest = *std::max_element(values.begin(), values.end());
  Vector result;
  for (double value : values) result.push_back(std::exp(value - largest));
  const double total = sum_of(result);
  for (double& value : result) value /= total;
  return result;
}

/// Outer-product order, so that it shares no loop structure with the kernels.
Vector multiply(Row a, Row b, Index m, Index n, Index k) {
  Vector c(static_cast<std::size_t>(m * n), 0.0);
  for (Index p = 0; p < k; ++p) {
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
  return c;
}

Vector transposed(Row matrix, Index rows, Index columns) {
  Vector result(matrix.size());
  for (Index i = 0; i < rows * columns; ++i) {
    result[(i % columns) * rows + i / columns] = matrix[i];
  }
  return result;
}

Values vector_add(const Bindings&, const Values& in) {
  Vector c = in.at("a");
  std::ranges::transform(c, in.at("b"), c.begin(), std::plus<>());
  return {{"c", c}};
}

Values gelu(const Bindings&, const Values& in) {
  Vector y = in.at("x");
  for (double& v : y) {
    v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * std::pow(v, 3))));
  }
  return {{"y", y}};
}

Values matmul(const Bindings& sizes, const Values& in) {
  return {{"C",
           multiply(in.at("A"), in.at("B"), size(sizes, "M"), size(sizes, "N"), size(sizes, "K"))}};
}

Values matmul_transposed_b(const Bindings& sizes, const Values& in) {
  const Index m = size(sizes, "M"), n = size(sizes, "N"), k = size(sizes, "K");
  return {{"output", multiply(in.at("input"), transposed(in.at("weight"), n, k), m, n, k)}};
}

Values matmul_fp8_e4m3(const Bindings& sizes, const Values& in) {
  const Index m = size(sizes, "M"), n = size(sizes, "N"), k = size(sizes, "K");
  Vector c = multiply(in.at("A"), transposed(in.at("B"), n, k), m, n, k);
  for (double& value : c) value *= in.at("scale_a")[0] * in.at("scale_b")[0];
  return {{"C", c}};
}

Values batched_matmul(const Bindings& sizes, const Values& in) {
  const Index m = size(sizes, "M"), n = size(sizes, "N"), k = size(sizes, "K");
  Vector c;
  for (Index batch = 0; batch < size(sizes, "B"); ++batch) {
    const Vector part =
        multiply(row_of(in.at("a"), batch, m * k), row_of(in.at("b"), batch, k * n), m, n, k);
    c.insert(c.end(), part.begin(), part.end());
  }
  return {{"c", c}};
}

Values matvec(const Bindings& sizes, const Values& in) {
  return {{"y", multiply(in.at("A"), in.at("x"), size(sizes, "M"), 1, size(sizes, "N"))}};
}

Values softmax(const Bindings& sizes, const Values& in) {
  Vector output;
  for (Index r = 0; r < size(sizes, "ROWS"); ++r) {
    const Vector row = softmax_of(row_of(in.at("input"), r, size(sizes, "COLS")));
    output.insert(output.end(), row.begin(), row.end());
  }
  return {{"output", output}};
}

Values layernorm(const Bindings& sizes, const Values& in) {
  const Index hidden = size(sizes, "HIDDEN");
  Vector y;
  for (Index t = 0; t < size(sizes, "TOKENS"); ++t) {
    const Row row = row_of(in.at("x"), t, hidden);
    const double mean = mean_of(row);
    const double deviation = std::sqrt(variance_of(row) + 1e-5);
    for (Index i = 0; i < hidden; ++i) {
      y.push_back((row[i] - mean) / deviation * in.at("gamma")[i] + in.at("beta")[i]);
    }
  }
  return {{"y", y}};
}

Values row_sum(const Bindings& sizes, const Values& in) {
  Vector sums;
  for (Index r = 0; r < size(sizes, "R"); ++r) {
    sums.push_back(sum_of(row_of(in.at("matrix"), r, size(sizes, "C"))));
  }
  return {{"sums", sums}};
}

Values column_sum(const Bindings& sizes, const Values& in) {
  const Index columns = size(sizes, "W");
  const Vector flipped = transposed(in.at("image"), size(sizes, "H"), columns);
  Vector sums;
  for (Index c = 0; c < columns; ++c) {
    sums.push_back(sum_of(row_of(flipped, c, size(sizes, "H"))));
  }
  return {{"sums", sums}};
}

Values global_sum(const Bindings&, const Values& in) {
  return {{"total", {in.at("total")[0] + sum_of(in.at("data"))}}};
}

Values transpose(const Bindings& sizes, const Values& in) {
  return {{"dst", transposed(in.at("src"), size(sizes, "HEIGHT"), size(sizes, "WIDTH"))}};
}

/// Scatters every input pixel to the outputs that see it, where the kernel gathers.
Values conv3x3(const Bindings& sizes, const Values& in) {
  const Index images = size(sizes, "N"), channels = size(sizes, "C"), filters = size(sizes, "K");
  const Index height = size(sizes, "H"), width = size(sizes, "W");
  const Vector &input = in.at("input"), &weight = in.at("weight"), &bias = in.at("bias");
  Vector output(static_cast<std::size_t>(images * filters * height * width));
  for (Index i = 0; i < std::ssize(output); ++i) output[i] = bias[i / (height * width) % filters];
  for (Index i = 0; i < std::ssize(input); ++i) {
    const Index x = i % width, y = i / width % height;
    const Index channel = i / (width * height) % channels, image = i / (width * height * channels);
    for (Index filter = 0; filter < filters; ++filter) {
      for (Index tap = 0; tap < 9; ++tap) {
        const Index out_y = y - (tap / 3 - 1), out_x = x - (tap % 3 - 1);
        if (out_y < 0 || out_y >= height || out_x < 0 || out_x >= width) continue;
        output[((image * filters + filter) * height + out_y) * width + out_x] +=
            input[i] * weight[(filter * channels + channel) * 9 + tap];
      }
    }
  }
  return {{"output", output}};
}

/// Scatters as well: every pixel raises the maxima of the windows that hold it.
Values max_pool2d(const Bindings& sizes, const Values& in) {
  const Index planes = size(sizes, "PLANES"), height = size(sizes, "H"), width = size(sizes, "W");
  const Index out_height = (height - 1) / 2 + 1, out_width = (width - 1) / 2 + 1;
  Vector y(static_cast<std::size_t>(planes * out_height * out_width),
           -std::numeric_limits<double>::infinity());
  const Vector& x = in.at("x");
  for (Index i = 0; i < std::ssize(x); ++i) {
    const Index column = i % width, row = i / width % height, plane = i / (width * height);
    for (Index out_row = row / 2; out_row <= std::min((row + 1) / 2, out_height - 1); ++out_row) {
      for (Index out_column = column / 2; out_column <= std::min((column + 1) / 2, out_width - 1);
           ++out_column) {
        double& best = y[(plane * out_height + out_row) * out_width + out_column];
        best = std::max(best, x[i]);
      }
    }
  }
  return {{"y", y}};
}

Values histogram(const Bindings& sizes, const Values& in) {
  Vector counts = in.at("counts");
  for (double key : in.at("keys")) counts[static_cast<Index>(key) % size(sizes, "BINS")] += 1;
  return {{"counts", counts}};
}

Values nbody(const Bindings& sizes, const Values& in) {
  const Index bodies = size(sizes, "N");
  Vector acceleration(static_cast<std::size_t>(bodies * 3), 0.0);
  for (Index j = 0; j < bodies; ++j) {
    const Row pull = row_of(in.at("position"), j, 3);
    for (Index i = 0; i < bodies; ++i) {
      const Row body = row_of(in.at("position"), i, 3);
      double squared = static_cast<double>(0.01f);
      for (Index d = 0; d < 3; ++d) squared += (pull[d] - body[d]) * (pull[d] - body[d]);
      for (Index d = 0; d < 3; ++d) {
        acceleration[i * 3 + d] += in.at("mass")[j] * (pull[d] - body[d]) / std::pow(squared, 1.5);
      }
    }
  }
  return {{"acceleration", acceleration}};
}

Values variance(const Bindings& sizes, const Values& in) {
  Vector result;
  for (Index r = 0; r < size(sizes, "ROWS"); ++r) {
    result.push_back(variance_of(row_of(in.at("x"), r, size(sizes, "COLS"))));
  }
  return {{"var", result}};
}

Values attention(const Bindings& sizes, const Values& in) {
  const Index length = size(sizes, "SEQ"), width = size(sizes, "DIM");
  Vector output;
  for (Index head = 0; head < size(sizes, "HEADS"); ++head) {
    const Row q = row_of(in.at("Q"), head, length * width);
    const Row k = row_of(in.at("K"), head, length * width);
    const Row v = row_of(in.at("V"), head, length * width);
    Vector scores = multiply(q, transposed(k, length, width), length, length, width);
    for (double& score : scores) score /= std::sqrt(static_cast<double>(width));
    for (Index row = 0; row < length; ++row) {
      const Vector weights = softmax_of(row_of(scores, row, length));
      const Vector values = multiply(weights, v, 1, width, length);
      output.insert(output.end(), values.begin(), values.end());
    }
  }
  return {{"O", output}};
}

constexpr std::pair<std::string_view, ReferenceFunction> kReferences[] = {
    {"vector_add", vector_add},
    {"gelu", gelu},
    {"matmul", matmul},
    {"matmul_transposed_b", matmul_transposed_b},
    {"matmul_fp8_e4m3", matmul_fp8_e4m3},
    {"batched_matmul", batched_matmul},
    {"matvec", matvec},
    {"softmax", softmax},
    {"layernorm", layernorm},
    {"row_sum", row_sum},
    {"column_sum", column_sum},
    {"global_sum", global_sum},
    {"transpose", transpose},
    {"conv3x3", conv3x3},
    {"max_pool2d", max_pool2d},
    {"histogram", histogram},
    {"nbody", nbody},
    {"variance", variance},
    {"attention", attention},
};

}  // namespace

ReferenceFunction find_reference(std::string_view name) {
  for (const auto& [known, function] : kReferences) {
    if (known == name) return function;
  }
  return nullptr;
}

std::vector<std::string> reference_names() {
  std::vector<std::string> names;
  for (const auto& [name, function] : kReferences) names.emplace_back(name);
  return names;
}

}  // namespace hone::baselines
