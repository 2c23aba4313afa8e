#include "rewriters/rules/memory/vector_lanes.h"

#include <algorithm>
#include <iterator>

namespace hone::rules::memory {

std::string LaneCarrier::lane(const std::string& name, int index) const {
  static constexpr const char* kFields[] = {".x", ".y", ".z", ".w"};
  return is_array ? name + "[" + std::to_string(index) + "]" : name + kFields[index];
}

std::string LaneCarrier::declare(const std::string& name, const std::string& first, bool load,
                                 bool is_const) const {
  const std::string from = "*reinterpret_cast<const " + moved + "*>(&" + first + ")";
  if (!is_array) {
    return (is_const ? "const " : "") + moved + " " + name + (load ? " = " + from : "") + ";\n";
  }
  std::string text = "__align__(16) " + element + " " + name + "[" + std::to_string(width) + "];\n";
  if (load) text += "*reinterpret_cast<" + moved + "*>(" + name + ") = " + from + ";\n";
  return text;
}

std::string LaneCarrier::store(const std::string& name, const std::string& first) const {
  const std::string value =
      is_array ? "*reinterpret_cast<const " + moved + "*>(" + name + ")" : name;
  return "*reinterpret_cast<" + moved + "*>(&" + first + ") = " + value + ";\n";
}

std::optional<LaneCarrier> lane_carrier(const syntax::Type& element, int width) {
  struct Named {
    const char* element;
    const char* stem;
    int bytes;
  };
  static constexpr Named kNamed[] = {
      {"float", "float", 4},         {"int", "int", 4},
      {"unsigned int", "uint", 4},   {"double", "double", 8},
      {"long long", "longlong", 8},  {"unsigned long long", "ulonglong", 8},
      {"short", "short", 2},         {"unsigned short", "ushort", 2},
      {"char", "char", 1},           {"signed char", "char", 1},
      {"unsigned char", "uchar", 1},
  };
  if (element.is_volatile) return std::nullopt;
  LaneCarrier carrier{.element = element.name, .width = width};
  const auto* named = std::ranges::find_if(
      kNamed, [&](const Named& entry) { return element.name == entry.element; });
  const bool half = element.name == "__half" || element.name == "__nv_bfloat16";
  const bool fp8 = element.name == "__nv_fp8_e4m3" || element.name == "__nv_fp8_e5m2";
  if (named == std::end(kNamed) && !half && !fp8) return std::nullopt;
  const int bytes = width * (half ? 2 : fp8 ? 1 : named->bytes);
  if (bytes > 16) return std::nullopt;
  // `char` is not `signed char`: char4 holds the latter, which an array avoids.
  if (!half && !fp8 && (width == 2 || width == 4) && element.name != "char") {
    carrier.moved = named->stem + std::to_string(width);
    return carrier;
  }
  carrier.is_array = true;
  switch (bytes) {
    case 2:
      carrier.moved = "unsigned short";
      return carrier;
    case 4:
      carrier.moved = "unsigned int";
      return carrier;
    case 8:
      carrier.moved = "uint2";
      return carrier;
    case 16:
      carrier.moved = "uint4";
      return carrier;
    default:
      return std::nullopt;
  }
}

std::string operand_text(const syntax::TranslationUnit& unit, const syntax::Expr& expr) {
  const syntax::Expr* inner = &expr;
  while (inner->kind == syntax::Expr::Kind::kCast && inner->implicit) inner = inner->operands[0];
  // By kind, not by text: a name may be a macro's, which may stand for a sum.
  const bool plain = inner->kind == syntax::Expr::Kind::kVariable ||
                     inner->kind == syntax::Expr::Kind::kIntLiteral;
  const std::string text(unit.text(expr.range));
  return plain ? text : "(" + text + ")";
}

}  // namespace hone::rules::memory
