// fast-intrinsics: single-precision functions to their fast forms.
//
//   before                after                               error of the fast form
//   a / b                 __fdividef(a, b)                    2 ulp, |b| <= 2^126
//   a / sqrtf(x)          a * rsqrtf(x)                       2.5 ulp
//   expf(x), exp10f(x)    __expf(x), __exp10f(x)              2 + |1.173 x| ulp, 2 + |2.97 x| ulp
//   tanhf(x)              |x| < 0.55: x (1 + x^2 p(x^2)), else  8 ulp
//                         1 - __fdividef(2, __expf(2 |x|) + 1)
//                         with the sign of x
//   logf, log2f, log10f   __logf, __log2f, __log10f           2^-21.4 absolute in [0.5, 2],
//                                                             else 3 ulp
//   sinf, cosf, tanf      __sinf, __cosf, __tanf              2^-21.4 absolute in [-pi, pi],
//                                                             else none
//   powf(x, 2|3|4)        x * x, ...                          2 ulp
//   powf(x, c)            __powf(x, c)                        none stated; c no integer
//
// Near 0 tanh(x) is x, and the difference of two numbers near 1 has no bit of that: hence the
// polynomial of tanhf, the best one of four terms by its relative error (2^-24.7).
//
// Site: "function/kind", all of them in one kernel or __device__ function. Legal when the operands
// are float and the text is not a macro's. Needs MathLevel::kReduced, or kReassociate where the
// stated bound (CUDA C++ Programming Guide, "Mathematical Functions Appendix"; over all finite
// results) leaves three quarters of the task's tolerance to everything else.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"

namespace hone {

[[nodiscard]] std::unique_ptr<Rewriter> make_fast_intrinsics();

}  // namespace hone
