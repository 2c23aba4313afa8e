// generate-attention: softmax(Q K^T) V without the matrix of weights, as one kernel.
//
//   O[b][q][e] = sum over k of softmax over k of (logits(sum over d of Q[b][q][d] * K[b][k][d]))
//                           * V[b][k][e]
//
// for any layout, any elementwise work on the scores, masks, causal or not, keys shared by several
// heads, on the pipes that the math level allows.
#pragma once

#include <memory>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

[[nodiscard]] std::unique_ptr<Generator> make_attention();

}  // namespace hone::schedules
