#include "candidates/scalar_type.h"

#include <array>

namespace hone {
namespace {

struct TypeRow {
  std::string_view name;
  std::string_view cuda;
  std::size_t bytes;
  bool floating;
};

// Indexed by ScalarType.
constexpr std::array<TypeRow, 13> kTypes = {{{"f32", "float", 4, true},
                                             {"f64", "double", 8, true},
                                             {"f16", "__half", 2, true},
                                             {"bf16", "__nv_bfloat16", 2, true},
                                             {"e4m3", "__nv_fp8_e4m3", 1, true},
                                             {"e5m2", "__nv_fp8_e5m2", 1, true},
                                             {"i32", "int", 4, false},
                                             {"i64", "long long", 8, false},
                                             {"i8", "signed char", 1, false},
                                             {"u8", "unsigned char", 1, false},
                                             {"u32", "unsigned int", 4, false},
                                             {"u64", "unsigned long long", 8, false},
                                             {"bool", "bool", 1, false}}};
constexpr std::array<std::string_view, 4> kRoles = {"in", "out", "inout", "scratch"};

const TypeRow& row(ScalarType type) { return kTypes[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view to_string(ScalarType type) { return row(type).name; }

std::optional<ScalarType> parse_scalar_type(std::string_view text) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == text) return static_cast<ScalarType>(i);
  }
  return std::nullopt;
}

std::size_t size_of(ScalarType type) { return row(type).bytes; }
bool is_float(ScalarType type) { return row(type).floating; }
std::string_view cuda_name(ScalarType type) { return row(type).cuda; }

std::string_view header_of(ScalarType type) {
  if (type == ScalarType::kF16) return "cuda_fp16.h";
  if (type == ScalarType::kBf16) return "cuda_bf16.h";
  return is_fp8(type) ? "cuda_fp8.h" : "";
}

std::string_view to_string(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

std::optional<Role> parse_role(std::string_view text) {
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (kRoles[i] == text) return static_cast<Role>(i);
  }
  return std::nullopt;
}

}  // namespace hone
