// Sums that several blocks share: a kernel after the product's adds them up.
#pragma once

#include <string>

#include "rewriters/schedules/contract/stream.h"

namespace hone::schedules::contract {

/// Adds to a product's kernel, whose pack type it uses, the kernel that adds up what that has
/// written to PREFIXpartial, its launch, and that buffer: [slice, batch, m, n] where `s.split_k`
/// blocks share each sum, [slice, tile, row, column] where the last wave's tiles are shared.
/// Nothing where no sums are shared.
void add_finish(const Contraction& c, const Schedule& s, const Waves& waves, const Goal& goal,
                const std::string& prefix, Generated& generated);

}  // namespace hone::schedules::contract
