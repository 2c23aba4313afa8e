// A fill as a task file and a stored program write it. Private to candidates/.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "candidates/program_detail.h"

namespace hone {

/// What a buffer starts with when the task says nothing.
[[nodiscard]] Fill default_fill(ScalarType type);

/// Sets the fill and the fill's ends, if any. `scope` null: of a stored program.
void decode_fill(const JsonCursor& cursor, Buffer& buffer, const NameScope* scope);
[[nodiscard]] nlohmann::json fill_to_json(const Buffer& buffer);

/// Puts what a buffer's fill_ends are at given sizes into its fill; empty `values`: leaves it. Says
/// what is wrong with them; empty: nothing.
[[nodiscard]] std::string set_fill_ends(Fill& fill, ScalarType type,
                                        const std::vector<std::int64_t>& values);

/// Why a buffer of this type and shape cannot have a fill of its kind; empty: it can.
[[nodiscard]] std::string fill_mistake(const ConcreteBuffer& buffer);

}  // namespace hone
