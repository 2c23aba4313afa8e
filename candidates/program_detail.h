// What program.cpp, the task reader and the JSON forms share. Private to candidates/.
#pragma once

#include <expected>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "candidates/json_cursor.h"
#include "candidates/program.h"
#include "candidates/task.h"
#include "candidates/task_reader.h"

namespace hone {

inline constexpr std::string_view kScalarTypeNames =
    "f32, f64, f16, bf16, e4m3, e5m2, i32, i64, i8, u8, u32, u64, bool";
inline constexpr std::string_view kRoleNames = "in, out, inout, scratch";

/// Of a tensor map [B].
[[nodiscard]] inline bool is_swizzle(std::int64_t bytes) {
  return bytes == 0 || bytes == 32 || bytes == 64 || bytes == 128;
}

/// instantiate() with the place apart; the path has no "$." in front.
[[nodiscard]] std::expected<ConcreteProgram, JsonError> instantiate_placed(const Program& program,
                                                                           const Bindings& sizes);

/// The names that expressions of a task file may use.
struct NameScope {
  std::vector<std::string> sizes;
  std::vector<std::string> tunables;
  std::filesystem::path folder;  ///< of the task, for relative fill files
  FillFiles files = FillFiles::kOfThisMachine;
};

/// `scope` null reads a stored program: names are not checked and fills are taken as they are.
[[nodiscard]] std::vector<Buffer> decode_buffers(const JsonCursor& list, const NameScope* scope);
[[nodiscard]] std::vector<Launch> decode_launches(const JsonCursor& list,
                                                  const std::vector<Buffer>& buffers,
                                                  const NameScope* scope);
[[nodiscard]] Program decode_program(const JsonCursor& cursor);

/// An expression whose names must be sizes or tunables of the scope.
[[nodiscard]] Expr decode_expr(const JsonCursor& cursor, const NameScope* scope,
                               const std::vector<Buffer>* buffers = nullptr);

/// Of a task's "non_finite".
[[nodiscard]] NonFinite read_non_finite(const JsonCursor& cursor);

[[nodiscard]] nlohmann::json expr_to_json(const Expr& expr);
[[nodiscard]] bool is_reserved_name(std::string_view text);  ///< a C++ keyword or min, max, ceildiv

}  // namespace hone
