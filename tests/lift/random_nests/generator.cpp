#include "tests/lift/random_nests/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hone::lift_tests {
namespace {

struct Buffer {
  std::string name, type, role;
  std::int64_t elements = 1;
  std::string fill;
};

/// An index of the nest: its name in the source and how far it runs.
struct Index {
  std::string name;
  std::int64_t extent = 1;
};

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15ULL + 1), seed_(seed) {}

  std::string task() {
    dims_ = indices("ijlm", 1 + below(4), 1, 9);
    reduced_ = indices("kp", below(3), 1, 11);
    reduction_ =
        reduced_.empty() ? "" : pick({"sum", "sum", "sum", "max", "min", "argmax", "scan"});
    if (reduction_ == "argmax" || reduction_ == "scan") reduced_.resize(1);
    integer_ = pick({"int", "int", "int", "size_t", "unsigned int", "long long"});
    const bool two = chance(4) && reduction_ != "argmax" && reduction_ != "scan";
    if (chance(8)) {
      tree_reduction();
    } else {
      kernel("first", two ? "T" : "y");
      if (two) second();
    }
    return text();
  }

 private:
  std::uint64_t below(std::uint64_t count) { return random_() % count; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::string pick(const std::vector<std::string>& all) { return all[below(all.size())]; }

  std::vector<Index> indices(const std::string& names, std::size_t count, std::int64_t low,
                             std::int64_t high) {
    std::vector<Index> all;
    for (std::size_t i = 0; i < count; ++i)
      all.push_back({std::string(1, names[i]), between(low, high)});
    return all;
  }

  void shuffle(std::vector<Index>& all) {
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
  }

  /// An element of a new buffer that is right for all values of the indices; `all`: each index
  /// counts, once.
  std::string element(std::vector<Index> over, bool all, std::int64_t& elements) {
    shuffle(over);
    std::int64_t stride = 1, offset = all ? 0 : between(0, 3);
    std::string sum;
    for (const Index& index : over) {
      if (!all && chance(4)) continue;
      if (chance(6)) stride += between(0, 3);
      const bool falls = !all && chance(8);
      const std::string at =
          falls ? fmt::format("({} - {})", index.extent - 1, index.name) : index.name;
      sum = fmt::format("{}{}{} * {}", sum, sum.empty() ? "" : " + ", at, stride);
      stride *= index.extent;
    }
    if (!all && !over.empty() && chance(6)) {
      // Divided or taken modulo: neighbours share.
      const Index& index = over[below(over.size())];
      sum += fmt::format("{}{} {} {}", sum.empty() ? "" : " + ", index.name, pick({"/", "%"}),
                         between(2, 4));
      offset += index.extent;
      stride += index.extent;
    }
    elements = stride + offset;
    if (sum.empty()) return std::to_string(offset);
    return offset == 0 ? sum : fmt::format("{} + {}", sum, offset);
  }

  std::string load(const std::vector<Index>& over) {
    Buffer made;
    made.type = "f32";
    made.role = "in";
    const std::string at = element(over, false, made.elements);
    // The same buffer again, or a new one.
    if (!inputs_.empty() && (inputs_.size() >= 3 || chance(3))) {
      Buffer& known = buffers_[inputs_[below(inputs_.size())]];
      known.elements = std::max(known.elements, made.elements);
      return fmt::format("{}[{}]", known.name, at);
    }
    made.name = fmt::format("x{}", inputs_.size());
    inputs_.push_back(buffers_.size());
    buffers_.push_back(made);
    return fmt::format("{}[{}]", made.name, at);
  }

  std::string expression(const std::vector<Index>& over, int depth) {
    if (depth == 0 || chance(5)) {
      switch (below(6)) {
        case 0:
          return pick({"0.5f", "-1.25f", "2.0f", "0.75f"});
        case 1:
          if (!over.empty())
            return fmt::format("(float){} * 0.125f", over[below(over.size())].name);
          [[fallthrough]];
        default:
          return load(over);
      }
    }
    const auto inner = [&] { return expression(over, depth - 1); };
    switch (below(12)) {
      case 0:
      case 1:
        return fmt::format("({} + {})", inner(), inner());
      case 2:
        return fmt::format("({} - {})", inner(), inner());
      case 3:
      case 4:
        return fmt::format("{} * {}", inner(), inner());
      case 5:
        return fmt::format("fmaxf({}, {})", inner(), inner());
      case 6:
        return fmt::format("tanhf({})", inner());
      case 7:
        return fmt::format("{} / (1.5f + fabsf({}))", inner(), inner());
      case 8:
        return fmt::format("({} > 0.1f ? {} : {})", load(over), inner(), inner());
      case 9:
        if (over.size() >= 2) {
          return fmt::format("({} <= {} ? {} : {})", over[0].name, over[1].name, inner(), inner());
        }
        [[fallthrough]];
      case 10:
        return fmt::format("sqrtf(fabsf({}))", inner());
      default:
        return fmt::format("fmaf({}, {}, {})", inner(), inner(), inner());
    }
  }

  void line(const std::string& text) {
    body_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n";
  }
  void open(const std::string& text) {
    line(text + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }

  /// `for` in one of its forms; closed by close() `closes` times.
  int open_loop(const Index& index) {
    const std::string type = integer_ == "size_t" || integer_ == "unsigned int" ? integer_ : "int";
    switch (below(5)) {
      case 0:
        open(fmt::format("for (int {0} = {1} - 1; {0} >= 0; --{0})", index.name, index.extent));
        return 1;
      case 1:
        line(fmt::format("int {0}_next = 0;", index.name));
        open(fmt::format("while ({}_next < {})", index.name, index.extent));
        line(fmt::format("const int {0} = {0}_next++;", index.name));
        return 1;
      default:
        open(fmt::format("for ({0} {1} = 0; {1} < {2}; {1}++)", type, index.name, index.extent));
        return 1;
    }
  }

  /// From the reduction to the store.
  void compute(const std::string& output, const std::string& at) {
    std::vector<Index> every = dims_;
    every.insert(every.end(), reduced_.begin(), reduced_.end());
    if (reduction_.empty()) {
      const std::string value = expression(dims_, 3);
      if (chance(5)) {
        open(fmt::format("if ({} > 0.0f)", load(dims_)));
        line(fmt::format("{}[{}] = {};", output, at, value));
        --depth_;
        line("} else {");
        ++depth_;
        line(fmt::format("{}[{}] = {};", output, at, expression(dims_, 1)));
        close();
      } else if (chance(4)) {
        line(fmt::format("float v = {};", value));
        open(fmt::format("if ({} < {})", dims_[0].name, between(0, dims_[0].extent)));
        line("v = v * 2.0f + 1.0f;");
        close();
        line(fmt::format("{}[{}] = v;", output, at));
      } else {
        line(fmt::format("{}[{}] = {};", output, at, value));
      }
      return;
    }
    if (reduction_ == "scan") {
      line("float sum = 0.0f;");
      const bool exclusive = chance(2);
      const int closes = open_loop(reduced_[0]);
      const std::string value = expression(every, 1);
      // The element beside the sum of those before it; a sum of some elements.
      const bool with_own = exclusive && chance(3), masked = chance(3);
      if (with_own || masked) line(fmt::format("const float v = {};", value));
      const std::string each = with_own || masked ? "v" : value;
      if (exclusive) line(fmt::format("{}[{}] = {};", output, at, with_own ? "v + sum" : "sum"));
      line(fmt::format("{}sum += {};", masked ? pick({"if (v < 0.4f) ", "if (v < 1e9f) "}) : "",
                       each));
      if (!exclusive) line(fmt::format("{}[{}] = sum;", output, at));
      for (int i = 0; i < closes; ++i) close();
      return;
    }
    if (reduction_ == "argmax") {
      line("float best = -1e30f;");
      line("int where = 0;");
      open(
          fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", reduced_[0].name, reduced_[0].extent));
      line(fmt::format("const float v = {};", load(every)));
      open("if (v > best)");
      line("best = v;");
      line(fmt::format("where = {};", reduced_[0].name));
      close();
      close();
      line(fmt::format("{}[{}] = where;", output, at));
      return;
    }
    const bool in_memory = reduction_ == "sum" && chance(5);
    const std::string into = in_memory ? fmt::format("{}[{}]", output, at) : "acc";
    const std::string start = reduction_ == "sum" ? pick({"0.0f", "0.0f", "1.5f"})
                                                  : (reduction_ == "max" ? "-1e30f" : "1e30f");
    line(fmt::format("{}{} = {};", in_memory ? "" : "float ", into, start));
    std::vector<Index> order = reduced_;
    shuffle(order);
    int closes = 0;
    for (const Index& index : order) closes += open_loop(index);
    if (chance(4)) line(fmt::format("if ({} % 3 == 1) continue;", order.back().name));
    const bool guarded = chance(4);
    if (guarded) {
      open(fmt::format("if ({} <= {})", order.back().name, dims_[below(dims_.size())].name));
    }
    const std::string term = expression(every, 2);
    if (reduction_ == "sum") {
      line(fmt::format("{} += {};", into, term));
    } else if (chance(2)) {
      line(fmt::format("acc = {}(acc, {});", reduction_ == "max" ? "fmaxf" : "fminf", term));
    } else {
      line(fmt::format("const float t = {};", term));
      line(fmt::format("acc = t {} acc ? t : acc;", reduction_ == "max" ? ">" : "<"));
    }
    if (guarded) close();
    for (int i = 0; i < closes; ++i) close();
    if (in_memory) return;
    if (chance(3)) {
      line(fmt::format("{}[{}] = acc * {};", output, at, expression(dims_, 1)));
    } else {
      line(fmt::format("{}[{}] = acc;", output, at));
    }
  }

  void kernel(const std::string& name, const std::string& output) {
    Buffer made;
    made.name = output;
    made.type = reduction_ == "argmax" ? "i32" : "f32";
    made.role = output == "T" ? "scratch" : "out";
    std::vector<Index> stored = dims_;
    if (reduction_ == "scan") stored.push_back(reduced_[0]);
    output_element_ = element(stored, true, made.elements);
    buffers_.push_back(made);
    depth_ = 1;
    std::string grid, block;
    std::int64_t points = 1;
    for (const Index& index : dims_) points *= index.extent;
    switch (below(5)) {
      case 0:  // two or three dimensions of threads, loops for the rest
        by_axes(output, grid, block);
        break;
      case 1: {  // grid-stride
        const std::int64_t threads = 32 * between(1, 2), blocks = between(1, 2);
        grid = std::to_string(blocks);
        block = std::to_string(threads);
        open(fmt::format(
            "for ({0} at = blockIdx.x * blockDim.x + threadIdx.x; at < {1}; at += gridDim.x "
            "* blockDim.x)",
            integer_, points));
        take_apart(dims_.size());
        compute(output, output_element_);
        close();
        break;
      }
      case 2: {  // the last dimension as a loop of the thread
        const std::int64_t outer = points / dims_.back().extent;
        const std::int64_t threads = 32;
        grid = std::to_string((outer + threads - 1) / threads);
        block = std::to_string(threads);
        line(fmt::format("const {} at = blockIdx.x * {} + threadIdx.x;", integer_, threads));
        line(fmt::format("if (at >= {}) return;", outer));
        take_apart(dims_.size() - 1);
        const int closes = open_loop(dims_.back());
        compute(output, output_element_);
        for (int i = 0; i < closes; ++i) close();
        break;
      }
      default: {
        const std::int64_t threads = 16 * between(1, 6);
        grid = std::to_string((points + threads - 1) / threads);
        block = std::to_string(threads);
        line(fmt::format("{} at = threadIdx.x + blockIdx.x * blockDim.x;", integer_));
        const bool returns = chance(2);
        if (returns) {
          line(fmt::format("if (at >= {}) return;", points));
        } else {
          open(fmt::format("if (at < {})", points));
        }
        take_apart(dims_.size());
        compute(output, output_element_);
        if (!returns) close();
        break;
      }
    }
    finish(name, grid, block);
  }

  /// The first indices from a flat one.
  void take_apart(std::size_t count) {
    const std::string type = chance(2) ? "const int" : "const " + integer_;
    std::string rest = "at";
    for (std::size_t d = count; d-- > 1;) {
      line(fmt::format("{} {} = {} % {};", type, dims_[d].name, rest, dims_[d].extent));
      line(fmt::format("const {} rest{} = {} / {};", integer_, d, rest, dims_[d].extent));
      rest = fmt::format("rest{}", d);
    }
    if (count > 0) line(fmt::format("{} {} = {};", type, dims_[0].name, rest));
  }

  void by_axes(const std::string& output, std::string& grid, std::string& block) {
    const std::size_t axes = std::min<std::size_t>(dims_.size(), 1 + below(3));
    const std::vector<std::int64_t> sizes = {between(2, 8), between(2, 6), between(1, 4)};
    std::string bounds;
    for (std::size_t a = 0; a < axes; ++a) {
      const Index& index = dims_[dims_.size() - 1 - a];
      const char axis = "xyz"[a];
      line(fmt::format("int {} = blockIdx.{} * blockDim.{} + threadIdx.{};", index.name, axis, axis,
                       axis));
      grid += fmt::format("{}{}", a == 0 ? "" : ", ", (index.extent + sizes[a] - 1) / sizes[a]);
      block += fmt::format("{}{}", a == 0 ? "" : ", ", sizes[a]);
      bounds += fmt::format("{}{} {} {}", a == 0 ? "" : (bounds_return_ ? " || " : " && "),
                            index.name, bounds_return_ ? ">=" : "<", index.extent);
    }
    if (bounds_return_) {
      line(fmt::format("if ({}) return;", bounds));
    } else {
      open(fmt::format("if ({})", bounds));
    }
    int closes = bounds_return_ ? 0 : 1;
    for (std::size_t d = 0; d + axes < dims_.size(); ++d) closes += open_loop(dims_[d]);
    compute(output, output_element_);
    for (int i = 0; i < closes; ++i) close();
  }

  /// A map over what the first kernel has left.
  void second() {
    std::int64_t count = 0;
    for (const Buffer& buffer : buffers_)
      if (buffer.name == "T") count = buffer.elements;
    body_.clear();
    depth_ = 1;
    Buffer made{"y", "f32", "out", count, ""};
    buffers_.push_back(made);
    dims_ = {{"i", count}};
    // Elements of T that nobody has written must not be read: only where it is dense.
    std::int64_t points = 1;
    for (const Index& index : first_dims_) points *= index.extent;
    if (points != count) {
      buffers_.back().elements = 1;
      line("if (blockIdx.x + threadIdx.x == 0) y[0] = T[0] + 1.0f;");
    } else {
      line("const int i = blockIdx.x * blockDim.x + threadIdx.x;");
      line(fmt::format("if (i < {}) y[i] = tanhf(T[i]) + {};", count, expression(dims_, 1)));
    }
    finish("second", std::to_string((count + 31) / 32), "32");
  }

  /// A row in shared memory, summed up by a tree.
  void tree_reduction() {
    const std::int64_t rows = between(1, 5), columns = between(5, 90), threads = 32;
    integer_ = "int";
    dims_ = {{"r", rows}, {"c", columns}};
    buffers_.push_back({"y", "f32", "out", rows, ""});
    const bool sums = chance(2);
    depth_ = 1;
    line("__shared__ float s[32];");
    line("const int r = blockIdx.x, t = threadIdx.x;");
    line(fmt::format("float acc = {};", sums ? "0.0f" : "-1e30f"));
    open(fmt::format("for (int c = t; c < {}; c += {})", columns, threads));
    const std::string term = expression(dims_, 1);
    line(sums ? fmt::format("acc += {};", term) : fmt::format("acc = fmaxf(acc, {});", term));
    close();
    line("s[t] = acc;");
    line("__syncthreads();");
    open(chance(2) ? "for (int h = 16; h > 0; h >>= 1)"
                   : "for (int h = blockDim.x / 2; h >= 1; h /= 2)");
    line(sums ? "if (t < h) s[t] += s[t + h];" : "if (t < h) s[t] = fmaxf(s[t], s[t + h]);");
    line("__syncthreads();");
    close();
    line("if (t == 0) y[r] = s[0];");
    finish("first", std::to_string(rows), "32");
  }

  void finish(const std::string& name, const std::string& grid, const std::string& block) {
    first_dims_ = dims_;
    std::string parameters, arguments;
    for (const Buffer& buffer : buffers_) {
      const bool used = body_.find(buffer.name + "[") != std::string::npos;
      if (!used) continue;
      const bool reads = buffer.role == "in" || (buffer.name == "T" && name == "second");
      parameters += fmt::format("{}{}{}* {}", parameters.empty() ? "" : ", ", reads ? "const " : "",
                                buffer.type == "i32" ? "int" : "float", buffer.name);
      arguments += fmt::format("{}\"{}\"", arguments.empty() ? "" : ", ", buffer.name);
    }
    source_ += fmt::format("__global__ void {}({}) {{\n{}}}\n\n", name, parameters, body_);
    launches_ +=
        fmt::format("{}    {{\"kernel\": \"{}\", \"grid\": [{}], \"block\": [{}], \"args\": [{}]}}",
                    launches_.empty() ? "" : ",\n", name, grid, block, arguments);
  }

  std::string text() {
    std::string buffers;
    for (const Buffer& buffer : buffers_) {
      buffers += fmt::format(
          "{}    {{\"name\": \"{}\", \"type\": \"{}\", \"shape\": [{}], \"role\": \"{}\"}}",
          buffers.empty() ? "" : ",\n", buffer.name, buffer.type, buffer.elements, buffer.role);
    }
    return fmt::format(
        "/* hone\n{{ \"name\": \"random_{}\",\n  \"sizes\": {{\"ONE\": 1}},\n  \"check_sizes\": "
        "[{{\"ONE\": 1}}],\n  \"buffers\": [\n{} ],\n  \"launches\": [\n{} ],\n  \"tolerance\": "
        "{{\"rtol\": 1e-4, \"atol\": 1e-5}} }}\n*/\n\n{}",
        seed_, buffers, launches_, source_);
  }

  std::mt19937_64 random_;
  std::uint64_t seed_;
  std::vector<Index> dims_, reduced_, first_dims_;
  std::string reduction_, integer_;
  std::vector<Buffer> buffers_;
  std::vector<std::size_t> inputs_;  ///< of buffers_
  std::string output_element_, body_, source_, launches_;
  int depth_ = 1;
  bool bounds_return_ = chance(2);
};

}  // namespace

std::string random_task(std::uint64_t seed) {
  return seed % 12 == 11 ? random_scatter(seed) : Writer(seed).task();
}

}  // namespace hone::lift_tests
