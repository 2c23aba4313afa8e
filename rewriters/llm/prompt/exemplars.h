// Which candidates a prompt contrasts: spread over their speeds, drawn by chance among equals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone::llm {

/// At most `count` indices into `times_us`, slowest first: the times' logarithms are put into
/// buckets of equal width, as many as it takes for `count` to hold something, and one is drawn from
/// each (the contrastive sampling of CUDA-L1, arXiv 2507.14111). The slowest and the fastest bucket
/// are always among them. Times that are not positive and finite count as failed and are never
/// chosen. The same arguments give the same answer.
[[nodiscard]] std::vector<std::size_t> choose_exemplars(const std::vector<double>& times_us,
                                                        std::size_t count, std::uint64_t seed);

}  // namespace hone::llm
