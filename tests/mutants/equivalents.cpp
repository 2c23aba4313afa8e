#include "tests/mutants/equivalents.h"

#include <vector>

namespace hone::mutants {
namespace {

const std::vector<Equivalent> kEquivalents = {
    {"global_sum", "rewritten", "47: if (true) {",
     "warps after the first then add up zeros and nothing that is read; only thread 0 stores"},
    {"histogram", "rewritten",
     "35: for (unsigned int item = blockIdx.x * 128 + threadIdx.x; item <= threads;",
     "the one item more has tid == threads, a multiple of 512 that is >= n: `tid < n` keeps it "
     "out"},
    {"histogram", "rewritten",
     "35: for (unsigned int item = blockIdx.x * 128 + threadIdx.x; item < threads + 1;",
     "the one item more has tid == threads, a multiple of 512 that is >= n: `tid < n` keeps it "
     "out"},
    {"matvec", "rewritten", "55: if (true) y[row] = dot;",
     "after the butterflies every lane holds the same bits: all store one value to one place"},
    {"row_sum", "rewritten", "47: for (int offset = 1; offset > 0; offset /= 2 + 1) {",
     "1 / 3 == 1 / 2 == 0: the loop runs once either way"},
};

}  // namespace

std::span<const Equivalent> equivalents() { return kEquivalents; }

}  // namespace hone::mutants
