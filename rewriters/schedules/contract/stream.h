// Products by multiply-adds and by mma.sync as tile programs: each block has one tile of the output
// or, where sums are shared, a part of k of one. All of its threads stream tiles of k through
// shared memory, and multiply them.
#pragma once

#include <string>

#include "rewriters/schedules/contract/schedule.h"
#include "rewriters/tile/program.h"

namespace hone::schedules::contract {

/// Tiles of the output that one block does whole; after them those of the last wave, each shared by
/// `s.tail` blocks.
struct Waves {
  std::int64_t whole = 0, shared = 0;
};
[[nodiscard]] Waves waves_of(const Contraction& c, const Schedule& s, const Goal& goal);

/// Of a schedule whose pipe is not is_bulk().
[[nodiscard]] tile::Program stream_program(const Contraction& c, const Schedule& s,
                                           const Goal& goal, const std::string& prefix);

/// The kernel's text and launch. kRefused: the program does not verify.
[[nodiscard]] Result<Generated> generate_stream(const Contraction& c, const Schedule& s,
                                                const Goal& goal, const std::string& prefix);

}  // namespace hone::schedules::contract
