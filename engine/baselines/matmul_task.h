// Recognises the matrix products among tasks, for cuBLAS: from the task's PyTorch expression, which
// says what it computes, and the buffers' shapes and types, which say how the data lie.
//
//   torch.matmul(A, B)   torch.mm(A, B)   torch.bmm(A, B)   torch.mv(A, x)   A @ B
//   torch.nn.functional.linear(x, W)   F.linear(x, W)
//
// over buffers by name, each of which may be transposed: A.T, A.mT, A.t(), A.transpose(0, 1),
// A.transpose(-2, -1). Anything else, a bias say, is no matrix product here. Whether it computes
// what the reference computes is checked by running both. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "candidates/result.h"
#include "candidates/task.h"
#include "evaluator/library_call.h"

namespace hone {

struct MatmulOperand {
  std::string buffer;
  bool transposed = false;  ///< its last two extents
};

struct MatmulExpression {
  std::string function;  ///< "matmul", "mm", "bmm", "mv", "linear"
  MatmulOperand a, b;
};

/// kInvalidInput: it is something else, and what.
[[nodiscard]] Result<MatmulExpression> parse_matmul(std::string_view torch);

/// The call for a program of the task at given sizes. kInvalidInput: its buffers are not what the
/// expression multiplies, and why.
[[nodiscard]] Result<MatmulCall> matmul_call(const MatmulExpression& expression,
                                             const ConcreteProgram& program, MathLevel math);

}  // namespace hone
