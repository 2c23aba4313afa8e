#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <unordered_set>

#include "candidates/fill_json.h"
#include "candidates/program_detail.h"

namespace hone {
namespace {

constexpr std::size_t kMaxRank = 8;
constexpr std::size_t kMaxTensorMapRank = 5;

template <class Items>
nlohmann::json exprs_to_json(const Items& items) {
  auto json = nlohmann::json::array();
  for (const Expr& expr : items) json.push_back(expr_to_json(expr));
  return json;
}

std::vector<Expr> decode_exprs(const JsonCursor& cursor, std::size_t most, const NameScope* scope) {
  std::vector<Expr> exprs;
  // One integer or expression for a list of one is what people write for a 1-D launch.
  if (cursor.value().is_string() || cursor.value().is_number_integer()) {
    exprs.push_back(decode_expr(cursor, scope));
    return exprs;
  }
  const auto elements = cursor.elements();
  if (!cursor.ok()) return exprs;
  if (elements.empty() || elements.size() > most) {
    cursor.fail(fmt::format("has {} entries; must have 1 to {}", elements.size(), most));
    return exprs;
  }
  for (const JsonCursor& element : elements) exprs.push_back(decode_expr(element, scope));
  return exprs;
}

Argument decode_tensor_map(const JsonCursor& cursor, const std::vector<Buffer>& buffers,
                           const NameScope* scope) {
  Argument argument{.kind = Argument::Kind::kTensorMap, .buffer = {}};
  if (!cursor.expect_keys({"tensor_map", "shape", "strides", "box", "swizzle", "as_tf32"}))
    return argument;
  const JsonCursor name = cursor.at("tensor_map");
  argument.buffer = name.string();
  std::vector<std::string> names;
  for (const Buffer& buffer : buffers) names.push_back(buffer.name);
  if (name.ok() && std::ranges::find(names, argument.buffer) == names.end()) {
    name.fail(fmt::format("there is no buffer '{}'{}; buffers are {}", printable(argument.buffer),
                          suggestion(argument.buffer, names), join_names(names)));
  }
  TensorMap& map = argument.tensor_map;
  if (const auto shape = cursor.find("shape"))
    map.shape = decode_exprs(*shape, kMaxTensorMapRank, scope);
  if (const auto strides = cursor.find("strides"))
    map.strides = decode_exprs(*strides, kMaxTensorMapRank - 1, scope);
  map.box = decode_exprs(cursor.at("box"), kMaxTensorMapRank, scope);
  if (const auto swizzle = cursor.find("swizzle")) {
    const std::int64_t bytes = swizzle->integer();
    if (swizzle->ok() && !is_swizzle(bytes))
      swizzle->fail(fmt::format("is {}; must be 0, 32, 64 or 128 bytes", bytes));
    map.swizzle = static_cast<int>(bytes);
  }
  if (const auto as_tf32 = cursor.find("as_tf32")) map.as_tf32 = as_tf32->boolean();
  return argument;
}

Argument decode_argument(const JsonCursor& cursor, const std::vector<Buffer>& buffers,
                         const NameScope* scope) {
  Argument argument;
  const nlohmann::json& value = cursor.value();
  if (value.is_object()) return decode_tensor_map(cursor, buffers, scope);
  if (value.is_boolean()) {
    argument.kind = Argument::Kind::kExpr;
    argument.expr = Expr(cursor.boolean() ? 1 : 0);
  } else if (value.is_number_float()) {
    argument.kind = Argument::Kind::kNumber;
    argument.number = cursor.number();
  } else if (value.is_number_integer()) {
    argument.kind = Argument::Kind::kExpr;
    argument.expr = Expr(cursor.integer());
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (std::ranges::find(buffers, text, &Buffer::name) != buffers.end()) {
      argument.buffer = text;
      return argument;
    }
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = end == text.data() + text.size() && code == std::errc();
    if (whole && text.find_first_of(".eE") != std::string::npos && std::isfinite(number)) {
      argument.kind = Argument::Kind::kNumber;
      argument.number = number;
    } else {
      argument.kind = Argument::Kind::kExpr;
      argument.expr = decode_expr(cursor, scope, &buffers);
    }
  } else {
    cursor.fail_type("a buffer, a size, a number, an expression or a tensor map");
  }
  return argument;
}

Buffer decode_buffer(const JsonCursor& cursor, const NameScope* scope) {
  Buffer buffer;
  if (!cursor.expect_keys({"name", "type", "shape", "role", "fill"})) return buffer;
  const JsonCursor name = cursor.at("name");
  buffer.name = name.string();
  if (name.ok() && !is_c_identifier(buffer.name)) {
    name.fail(fmt::format("'{}' is not a name (letters, digits and _, no digit first)",
                          printable(buffer.name)));
  } else if (name.ok() && scope != nullptr && is_reserved_name(buffer.name)) {
    name.fail(fmt::format("'{}' is a reserved word; choose another name", buffer.name));
  }
  const JsonCursor type = cursor.at("type");
  const std::string type_text = type.string();
  if (const auto parsed = parse_scalar_type(type_text)) {
    buffer.type = *parsed;
  } else if (type.ok()) {
    type.fail(fmt::format("'{}' is not one of {}", printable(type_text), kScalarTypeNames));
  }
  if (const auto role = cursor.find("role")) {
    buffer.role = role->choice<Role>(parse_role, kRoleNames);
  }
  const JsonCursor shape = cursor.at("shape");
  buffer.shape = decode_exprs(shape, kMaxRank, scope);
  if (scope != nullptr && buffer.role != Role::kScratch) {
    for (const Expr& extent : buffer.shape) {
      for (const std::string& used : extent.names()) {
        if (std::ranges::find(scope->tunables, used) == scope->tunables.end()) continue;
        shape.fail(fmt::format(
            "depends on the tunable '{}'; only scratch buffers may, as every candidate must "
            "take and give the same data",
            used));
      }
    }
  }
  const bool filled = buffer.role == Role::kIn || buffer.role == Role::kInOut;
  const auto fill = cursor.find("fill");
  if (fill && !filled) {
    fill->fail_at_key(fmt::format(
        "a buffer with role {} starts undefined and takes no fill; use role \"inout\" if its "
        "first contents matter",
        to_string(buffer.role)));
  }
  if (filled) {
    if (fill) {
      decode_fill(*fill, buffer, scope);
    } else {
      buffer.fill = default_fill(buffer.type);
    }
  }
  return buffer;
}

}  // namespace

bool is_c_identifier(std::string_view text) {
  if (text.empty() || text.size() > 200 || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::ranges::all_of(text, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

bool is_kernel_name(std::string_view text) {
  if (text.size() > 1000) return false;
  std::string_view name = text.substr(0, text.find('<'));
  std::string_view arguments = text.substr(name.size());
  while (!name.empty() && name.back() == ' ' && !arguments.empty()) name.remove_suffix(1);
  for (;;) {
    const std::size_t colons = name.find("::");
    if (!is_c_identifier(name.substr(0, colons))) return false;
    if (colons == std::string_view::npos) break;
    name.remove_prefix(colons + 2);
  }
  if (arguments.empty()) return true;
  if (arguments.back() != '>') return false;
  int depth = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto byte = static_cast<unsigned char>(arguments[i]);
    if (byte < 0x20 || byte > 0x7E || byte == ';' || byte == '{' || byte == '"') return false;
    depth += byte == '<' ? 1 : byte == '>' ? -1 : 0;
    if (depth == 0 && i + 1 != arguments.size()) return false;
  }
  return depth == 0;
}

bool is_reserved_name(std::string_view text) {
  static const std::unordered_set<std::string_view> kWords = {
      "min",    "max",      "ceildiv", "auto",      "bool",     "break",    "case",    "catch",
      "char",   "class",    "const",   "constexpr", "continue", "default",  "delete",  "do",
      "double", "else",     "enum",    "explicit",  "extern",   "false",    "float",   "for",
      "friend", "goto",     "if",      "inline",    "int",      "long",     "mutable", "namespace",
      "new",    "operator", "private", "protected", "public",   "register", "return",  "short",
      "signed", "sizeof",   "static",  "struct",    "switch",   "template", "this",    "throw",
      "true",   "try",      "typedef", "typename",  "union",    "unsigned", "using",   "virtual",
      "void",   "volatile", "while"};
  return kWords.contains(text);
}

Expr decode_expr(const JsonCursor& cursor, const NameScope* scope,
                 const std::vector<Buffer>* buffers) {
  Expr expr = cursor.expr();
  if (scope == nullptr || !cursor.ok()) return expr;
  std::vector<std::string> known = scope->sizes;
  known.insert(known.end(), scope->tunables.begin(), scope->tunables.end());
  for (const std::string& name : expr.names()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::vector<std::string> near = known;
    std::string listed;
    if (buffers != nullptr && !buffers->empty()) {
      std::vector<std::string> names;
      for (const Buffer& buffer : *buffers) names.push_back(buffer.name);
      if (std::ranges::find(names, name) != names.end()) {
        cursor.fail(fmt::format("'{}' is a buffer, and cannot be part of an expression", name));
        return expr;
      }
      listed = fmt::format("Buffers are {}", join_names(names));
      near.insert(near.end(), names.begin(), names.end());
    }
    const auto list = [&listed](std::string_view what, const std::vector<std::string>& names) {
      if (names.empty()) return;
      listed += fmt::format("{}{} are {}", listed.empty() ? "" : " and ", what, join_names(names));
      if (listed[0] >= 'a') listed[0] = static_cast<char>(listed[0] - 'a' + 'A');
    };
    list("sizes", scope->sizes);
    list("tunables", scope->tunables);
    if (listed.empty()) listed = "The task has no sizes and no tunables";
    const std::string hint = suggestion(name, near);
    cursor.fail(fmt::format("unknown name '{}'{} {}.", name, hint.empty() ? "." : hint, listed));
    return expr;
  }
  return expr;
}

std::vector<Buffer> decode_buffers(const JsonCursor& list, const NameScope* scope) {
  std::vector<Buffer> buffers;
  std::set<std::string> seen;
  for (const JsonCursor& element : list.elements()) {
    Buffer buffer = decode_buffer(element, scope);
    if (!list.ok()) break;
    if (!seen.insert(buffer.name).second) {
      element.at("name").fail(fmt::format("there is already a buffer '{}'", buffer.name));
      break;
    }
    if (scope != nullptr) {
      for (const auto* names : {&scope->sizes, &scope->tunables}) {
        if (std::ranges::find(*names, buffer.name) == names->end()) continue;
        element.at("name").fail(fmt::format("'{}' is also a {}; names must differ", buffer.name,
                                            names == &scope->sizes ? "size" : "tunable"));
      }
    }
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

std::vector<Launch> decode_launches(const JsonCursor& list, const std::vector<Buffer>& buffers,
                                    const NameScope* scope) {
  std::vector<Launch> launches;
  for (const JsonCursor& element : list.elements()) {
    Launch launch;
    if (!element.expect_keys({"kernel", "grid", "block", "shared_bytes", "args"})) break;
    const JsonCursor kernel = element.at("kernel");
    launch.kernel = kernel.string();
    if (kernel.ok() && !is_kernel_name(launch.kernel)) {
      kernel.fail(fmt::format(
          "'{}' is not a kernel name; expected one such as \"matmul\" or \"scale<float>\"",
          printable(launch.kernel)));
    }
    launch.grid = decode_exprs(element.at("grid"), 3, scope);
    launch.block = decode_exprs(element.at("block"), 3, scope);
    if (const auto shared = element.find("shared_bytes")) {
      launch.shared_bytes = decode_expr(*shared, scope);
    }
    for (const JsonCursor& argument : element.at("args").elements()) {
      launch.args.push_back(decode_argument(argument, buffers, scope));
    }
    if (!list.ok()) break;
    launches.push_back(std::move(launch));
  }
  return launches;
}

nlohmann::json expr_to_json(const Expr& expr) {
  std::int64_t value = 0;
  const std::string& text = expr.text();
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool plain =
      code == std::errc() && end == text.data() + text.size() && text == std::to_string(value);
  return plain ? nlohmann::json(value) : nlohmann::json(text);
}

namespace {

// As a task file has it: a string that names a buffer is that buffer.
nlohmann::json argument_to_json(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::kBuffer:
      return argument.buffer;
    case Argument::Kind::kExpr:
      return expr_to_json(argument.expr);
    case Argument::Kind::kNumber:
      return argument.number;
    case Argument::Kind::kTensorMap:
      break;
  }
  const TensorMap& map = argument.tensor_map;
  nlohmann::json json{{"tensor_map", argument.buffer}, {"box", exprs_to_json(map.box)}};
  if (!map.shape.empty()) json["shape"] = exprs_to_json(map.shape);
  if (!map.strides.empty()) json["strides"] = exprs_to_json(map.strides);
  if (map.swizzle != 0) json["swizzle"] = map.swizzle;
  if (map.as_tf32) json["as_tf32"] = true;
  return json;
}

}  // namespace

void to_json(nlohmann::json& json, const Program& program) {
  auto buffers = nlohmann::json::array();
  for (const Buffer& buffer : program.buffers) {
    nlohmann::json item{{"name", buffer.name},
                        {"type", to_string(buffer.type)},
                        {"shape", exprs_to_json(buffer.shape)},
                        {"role", to_string(buffer.role)}};
    const bool filled = buffer.role == Role::kIn || buffer.role == Role::kInOut;
    if (filled && !buffer.fill.unstated) item["fill"] = fill_to_json(buffer);
    buffers.push_back(std::move(item));
  }
  auto launches = nlohmann::json::array();
  for (const Launch& launch : program.launches) {
    auto args = nlohmann::json::array();
    for (const Argument& argument : launch.args) args.push_back(argument_to_json(argument));
    launches.push_back({{"kernel", launch.kernel},
                        {"grid", exprs_to_json(launch.grid)},
                        {"block", exprs_to_json(launch.block)},
                        {"shared_bytes", expr_to_json(launch.shared_bytes)},
                        {"args", std::move(args)}});
  }
  json = nlohmann::json{{"source", program.source},
                        {"defines", program.defines},
                        {"buffers", std::move(buffers)},
                        {"launches", std::move(launches)}};
}

Program decode_program(const JsonCursor& cursor) {
  Program program;
  if (!cursor.expect_keys({"source", "defines", "buffers", "launches"})) return program;
  program.source = cursor.at("source").string();
  for (const auto& [name, value] : cursor.at("defines").members()) {
    program.defines[name] = value.string();
  }
  program.buffers = decode_buffers(cursor.at("buffers"), nullptr);
  program.launches = decode_launches(cursor.at("launches"), program.buffers, nullptr);
  return program;
}

Result<Program> program_from_json(const nlohmann::json& json) {
  return decode<Program>(json, decode_program);
}

}  // namespace hone
