#include "engine/baselines/matmul_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>
#include <optional>
#include <span>

namespace hone {
namespace {

/// A cursor over the expression; white space does not count.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool take(std::string_view what) {
    skip();
    if (!text_.starts_with(what)) return false;
    text_.remove_prefix(what.size());
    return true;
  }
  /// A name with dots in it: "torch.nn.functional.linear". Stops before a suffix of a buffer.
  std::string name() {
    skip();
    std::size_t length = 0;
    while (length < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[length])) != 0 || text_[length] == '_'))
      ++length;
    std::string word(text_.substr(0, length));
    text_.remove_prefix(length);
    return word;
  }
  bool done() {
    skip();
    return text_.empty();
  }

 private:
  void skip() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

constexpr std::string_view kTransposes[] = {".transpose(-2,-1)",
                                            ".transpose(-2, -1)",
                                            ".transpose(-1,-2)",
                                            ".transpose(-1, -2)",
                                            ".transpose(0,1)",
                                            ".transpose(0, 1)",
                                            ".transpose(1,0)",
                                            ".transpose(1, 0)",
                                            ".transpose(1,2)",
                                            ".transpose(1, 2)",
                                            ".transpose(2,1)",
                                            ".transpose(2, 1)",
                                            ".t()",
                                            ".mT",
                                            ".T"};

std::optional<MatmulOperand> take_operand(Reader& reader) {
  MatmulOperand operand{reader.name()};
  if (operand.buffer.empty()) return std::nullopt;
  const auto transposed = [&] {
    return std::ranges::any_of(kTransposes, [&](std::string_view t) { return reader.take(t); });
  };
  while (transposed()) operand.transposed = !operand.transposed;
  return operand;
}

struct TorchFunction {
  std::string_view spelling, name;
};
constexpr TorchFunction kFunctions[] = {{"torch.matmul(", "matmul"},
                                        {"torch.mm(", "mm"},
                                        {"torch.bmm(", "bmm"},
                                        {"torch.mv(", "mv"},
                                        {"torch.nn.functional.linear(", "linear"},
                                        {"F.linear(", "linear"}};

using Shape = std::span<const std::int64_t>;

std::int64_t product(Shape shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string shape_text(Shape shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// An operand as matrices: the extents of one as stored, and how many.
struct Matrices {
  std::int64_t rows = 1, columns = 1;
  std::vector<std::int64_t> batch;
};

Matrices matrices_of(const ConcreteBuffer& buffer) {
  const auto& shape = buffer.shape;
  Matrices m;
  m.columns = shape.back();
  if (shape.size() > 1) m.rows = shape[shape.size() - 2];
  if (shape.size() > 2) m.batch.assign(shape.begin(), shape.end() - 2);
  return m;
}

int index_of(const ConcreteProgram& program, const std::string& name) {
  const auto found = std::ranges::find(program.buffers, name, &ConcreteBuffer::name);
  return found == program.buffers.end() ? -1 : static_cast<int>(found - program.buffers.begin());
}

bool has_ranks(const std::string& function, std::size_t a, std::size_t b) {
  if (function == "mm") return a == 2 && b == 2;
  if (function == "bmm") return a == 3 && b == 3;
  if (function == "mv") return a == 2 && b == 1;
  if (function == "linear") return a >= 1 && b == 2;
  return a >= 1 && b >= 1;
}

/// The one buffer that the task writes, and does not read.
Result<int> output_of(const ConcreteProgram& program) {
  int output = -1;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Role role = program.buffers[i].role;
    if (role != Role::kOut && role != Role::kInOut) continue;
    if (output >= 0 || role == Role::kInOut)
      return invalid("the task writes more than one fresh output");
    output = static_cast<int>(i);
  }
  if (output < 0) return invalid("the task has no output");
  return output;
}

}  // namespace

Result<MatmulExpression> parse_matmul(std::string_view torch) {
  const auto other = [&] {
    return invalid(fmt::format("\"{}\" is not one matrix product of two buffers", torch));
  };
  Reader reader(torch);
  for (const TorchFunction& function : kFunctions) {
    if (!reader.take(function.spelling)) continue;
    const auto a = take_operand(reader);
    if (!a || !reader.take(",")) return other();
    const auto b = take_operand(reader);
    if (!b || !reader.take(")") || !reader.done()) return other();
    return MatmulExpression{std::string(function.name), *a, *b};
  }
  const auto a = take_operand(reader);
  if (!a || !reader.take("@")) return other();
  const auto b = take_operand(reader);
  if (!b || !reader.done()) return other();
  return MatmulExpression{"matmul", *a, *b};
}

Result<MatmulCall> matmul_call(const MatmulExpression& expression, const ConcreteProgram& program,
                               MathLevel math) {
  MatmulCall call;
  call.a = index_of(program, expression.a.buffer);
  call.b = index_of(program, expression.b.buffer);
  for (const auto& [index, operand] : {std::pair(call.a, &expression.a), {call.b, &expression.b}}) {
    if (index < 0 || program.buffers[static_cast<std::size_t>(index)].role != Role::kIn)
      return invalid(fmt::format("'{}' is not an input of the task", operand->buffer));
  }
  const auto output = output_of(program);
  if (!output) return std::unexpected(output.error());
  call.out = *output;
  const auto& a = program.buffers[static_cast<std::size_t>(call.a)];
  const auto& b = program.buffers[static_cast<std::size_t>(call.b)];
  const auto& out = program.buffers[static_cast<std::size_t>(call.out)];
  const bool half = a.type == ScalarType::kF16 || a.type == ScalarType::kBf16;
  if (!is_float(a.type) || is_fp8(a.type) || a.type != b.type ||
      !(out.type == a.type || (half && out.type == ScalarType::kF32))) {
    return invalid(fmt::format("hone does not have cuBLAS multiply {} by {} into {}",
                               to_string(a.type), to_string(b.type), to_string(out.type)));
  }
  if (!has_ranks(expression.function, a.shape.size(), b.shape.size())) {
    return invalid(fmt::format("{} does not take shapes {} and {}", expression.function,
                               shape_text(a.shape), shape_text(b.shape)));
  }
  Matrices first = matrices_of(a), second = matrices_of(b);
  call.a_transposed = expression.a.transposed && a.shape.size() > 1;
  call.b_transposed = expression.b.transposed && b.shape.size() > 1;
  if (expression.function == "linear") call.b_transposed = !call.b_transposed;
  if (b.shape.size() == 1) std::swap(second.rows, second.columns);  // a vector stands upright
  call.m = call.a_transposed ? first.columns : first.rows;
  call.k = call.a_transposed ? first.rows : first.columns;
  call.n = call.b_transposed ? second.rows : second.columns;
  const std::int64_t other_k = call.b_transposed ? second.columns : second.rows;
  if (call.k != other_k) {
    return invalid(fmt::format("{} does not take shapes {} and {}: {} is not {}",
                               expression.function, shape_text(a.shape), shape_text(b.shape),
                               call.k, other_k));
  }
  if (!first.batch.empty() && second.batch.empty() && !call.a_transposed) {
    call.m *= product(first.batch);  // rows of one tall matrix
  } else if (!first.batch.empty() && !second.batch.empty() && first.batch != second.batch) {
    return invalid("the operands' batches differ");
  } else {
    call.batch = product(first.batch.empty() ? second.batch : first.batch);
    if (!first.batch.empty()) call.a_stride = first.rows * first.columns;
    if (!second.batch.empty()) call.b_stride = second.rows * second.columns;
  }
  for (const std::int64_t extent : {call.m, call.n, call.k, call.batch}) {
    if (extent > INT_MAX) return invalid("the matrices are larger than cuBLAS takes");
  }
  if (call.m * call.n * call.batch != out.elements()) {
    return invalid(fmt::format("the output '{}' has {} elements, the product has {}", out.name,
                               out.elements(), call.m * call.n * call.batch));
  }
  call.tf32 = math >= MathLevel::kTf32 && a.type == ScalarType::kF32;
  return call;
}

}  // namespace hone
