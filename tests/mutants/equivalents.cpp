#include "tests/mutants/equivalents.h"

#include <vector>

namespace hone::mutants {
namespace {

const std::vector<Equivalent> kEquivalents = {
    {"histogram", "rewritten", "48: part += counts_block[copy * slot + stride];",
     "copy is 1 in the only turn of the loop: 1 * slot + stride == 1 * stride + slot"},
    {"matmul", "rewritten",
     "48: A[((int)blockIdx.y * 16 + at1 <= M - 1 ? (int)blockIdx.y * 16 + at1 : M - 1) * K +",
     "where the two differ, at M - 1, both branches give M - 1"},
    {"row_sum", "rewritten", "47: for (int offset = 1; offset > 0; offset /= 2 + 1) {",
     "1 / 3 == 1 / 2 == 0: the loop runs once either way"},
    {"softmax", "rewritten", "47: if (threadIdx.x % 32 != 0) {",
     "after the butterflies every lane holds the same bits: the other lanes store what the first "
     "did"},
};

}  // namespace

std::span<const Equivalent> equivalents() { return kEquivalents; }

}  // namespace hone::mutants
