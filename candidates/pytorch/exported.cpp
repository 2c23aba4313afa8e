#include "candidates/pytorch/exported.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostJson = 256u << 20;  // [B]
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
constexpr std::int64_t kMajor = 8;  // of the schema

const Json& member(const Json& json, const char* key, std::string_view where) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || found == json.end()) refuse("{} has no '{}'", where, key);
  return *found;
}

std::string text_of(const Json& json, std::string_view where) {
  if (!json.is_string()) refuse("{} is no text", where);
  return json.get<std::string>();
}

std::int64_t whole_of(const Json& json, std::string_view where) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  refuse("{} is no whole number", where);
}

/// {"as_int": 3}; an expression is a dynamic shape.
std::int64_t extent_of(const Json& json, std::string_view where) {
  const auto found = json.is_object() ? json.find("as_int") : json.end();
  if (json.is_object() && found != json.end()) return whole_of(*found, where);
  refuse(
      "{} has a dynamic shape; export with fixed shapes, that is without dynamic_shapes (one file "
      "for each size that matters)",
      where);
}

std::vector<std::int64_t> extents_of(const Json& json, std::string_view where) {
  if (!json.is_array()) refuse("{} is no list", where);
  std::vector<std::int64_t> extents;
  for (const Json& entry : json) extents.push_back(extent_of(entry, where));
  return extents;
}

/// Source: _TORCH_TO_SERIALIZE_DTYPE of PyTorch's torch/_export/serde/serialize.py.
std::string dtype_name(std::int64_t dtype) {
  static const std::map<std::int64_t, std::string_view> kOthers = {
      {3, "torch.int16"},        {9, "torch.complex32"},        {10, "torch.complex64"},
      {11, "torch.complex128"},  {28, "torch.uint16"},          {29, "torch.float8_e4m3fn"},
      {30, "torch.float8_e5m2"}, {31, "torch.float8_e4m3fnuz"}, {32, "torch.float8_e5m2fnuz"}};
  const auto found = kOthers.find(dtype);
  return found != kOthers.end() ? std::string(found->second)
                                : fmt::format("of PyTorch's dtype number {}", dtype);
}

TensorMeta meta_of(const Json& json, const std::string& where) {
  TensorMeta meta;
  const std::int64_t dtype = whole_of(member(json, "dtype", where), where);
  const auto type = scalar_type_of(dtype);
  if (type) {
    meta.type = *type;
  } else {
    meta.lacks = fmt::format(
        "is {}; hone has torch.float32, float64, float16, bfloat16, int64, int32, int8, uint8 and "
        "bool",
        dtype_name(dtype));
  }
  meta.sizes = extents_of(member(json, "sizes", where), where);
  meta.strides = extents_of(member(json, "strides", where), where);
  if (const auto offset = json.find("storage_offset"); offset != json.end()) {
    meta.offset = extent_of(*offset, where);
  }
  if (meta.strides.size() != meta.sizes.size())
    refuse("{} has {} sizes but {} strides", where, meta.sizes.size(), meta.strides.size());
  for (const std::int64_t size : meta.sizes) {
    if (size < 0) refuse("{} has a negative size", where);
    if (size == 0 && meta.lacks.empty()) meta.lacks = "is an empty tensor; hone has none";
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : meta.sizes) {
    if (size > kMostElements || (elements *= size) > kMostElements) {
      refuse("{} has more than 2^40 elements", where);
    }
  }
  for (const std::int64_t stride : meta.strides) {
    if (stride < 0 || stride > kMostElements) refuse("{} has the stride {}", where, stride);
  }
  if (meta.offset < 0 || meta.offset > kMostElements) refuse("{} begins nowhere", where);
  return meta;
}

double number_of(const Json& json, std::string_view where) {
  if (json.is_number()) return json.get<double>();
  // Since 2.7 numbers that JSON lacks are texts.
  const std::string text = text_of(json, where);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "Infinity") return kInfinity;
  if (text == "-Infinity") return -kInfinity;
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  refuse("{} is no number but '{}'", where, text);
}

std::string tensor_name(const Json& json, std::string_view where) {
  return text_of(member(json, "name", where), where);
}

TensorNames tensor_names(const Json& json, std::string_view where) {
  if (!json.is_array()) refuse("{} is no list", where);
  TensorNames names;
  for (const Json& entry : json) {
    if (entry.contains("as_none")) {
      names.emplace_back();
    } else {
      names.push_back(tensor_name(entry.contains("as_tensor") ? entry["as_tensor"] : entry, where));
    }
  }
  return names;
}

template <class T>
std::vector<T> list_of(const Json& json, std::string_view where,
                       T (*decode)(const Json&, std::string_view)) {
  if (!json.is_array()) refuse("{} is no list", where);
  std::vector<T> list;
  for (const Json& entry : json) list.push_back(decode(entry, where));
  return list;
}

bool flag_of(const Json& json, std::string_view where) {
  if (json.is_boolean()) return json.get<bool>();
  refuse("{} is neither true nor false", where);
}

/// A union of the schema: an object with one key, which says the kind.
Value value_of(const Json& json, std::string_view where) {
  if (!json.is_object() || json.empty()) refuse("{} is no argument of the schema", where);
  const std::string kind = json.begin().key();
  const Json& value = json.begin().value();
  if (kind == "as_none") return std::monostate{};
  if (kind == "as_tensor") return TensorName{tensor_name(value, where)};
  if (kind == "as_tensors" || kind == "as_optional_tensors") return tensor_names(value, where);
  if (kind == "as_optional_tensor") {
    if (value.contains("as_none")) return std::monostate{};
    return TensorName{tensor_name(value.contains("as_tensor") ? value["as_tensor"] : value, where)};
  }
  if (kind == "as_bool") return flag_of(value, where);
  if (kind == "as_int") return whole_of(value, where);
  if (kind == "as_float") return number_of(value, where);
  if (kind == "as_string") return text_of(value, where);
  if (kind == "as_bools") return list_of<bool>(value, where, flag_of);
  if (kind == "as_ints") return list_of<std::int64_t>(value, where, whole_of);
  if (kind == "as_floats") return list_of<double>(value, where, number_of);
  if (kind == "as_scalar_type") return DtypeNumber{whole_of(value, where)};
  if (kind == "as_sym_int") return extent_of(value, where);
  if (kind == "as_sym_ints") return extents_of(value, where);
  return Other{kind};
}

/// "L__self__,,M;L__self__c,layer.c,torch.nn.Conv2d": the path of the innermost module.
std::string module_of(const Json& node) {
  const auto metadata = node.find("metadata");
  if (metadata == node.end() || !metadata->is_object()) return "";
  const auto stack = metadata->find("nn_module_stack");
  if (stack == metadata->end() || !stack->is_string()) return "";
  const std::string text = stack->get<std::string>();
  const std::string last = text.substr(text.rfind(';') + 1);
  const std::size_t first = last.find(',');
  const std::size_t second = first == std::string::npos ? first : last.find(',', first + 1);
  return second == std::string::npos ? "" : last.substr(first + 1, second - first - 1);
}

Node node_of(const Json& json, std::size_t index) {
  Node node;
  const std::string where = fmt::format("node {}", index);
  node.target = text_of(member(json, "target", where), where);
  for (const std::string_view prefix : {"torch.ops.", "#torch.ops."}) {
    if (node.target.starts_with(prefix)) node.target = node.target.substr(prefix.size());
  }
  const auto name = json.find("name");
  node.name = name != json.end() && name->is_string() ? name->get<std::string>() : where;
  const std::string here = fmt::format("node '{}' ({})", node.name, node.target);
  for (const Json& input : member(json, "inputs", here)) {
    const std::string argument = text_of(member(input, "name", here), here);
    node.inputs.emplace(argument, value_of(member(input, "arg", here),
                                           fmt::format("argument '{}' of {}", argument, here)));
  }
  for (const Json& output : member(json, "outputs", here)) {
    const Value value = value_of(output, here);
    if (const auto* one = std::get_if<TensorName>(&value)) {
      node.outputs.push_back(one->name);
    } else if (const auto* several = std::get_if<TensorNames>(&value)) {
      node.outputs.insert(node.outputs.end(), several->begin(), several->end());
    } else {
      node.outputs.emplace_back();
    }
  }
  node.module = module_of(json);
  return node;
}

struct Reader {
  const Archive& archive;
  Exported exported;
  std::map<std::string, std::size_t> parameters, constants;  ///< by name: index into the weights

  [[nodiscard]] Json json_of(const std::string& name, std::string_view absent) const {
    const Member* found = archive.find(name);
    if (found == nullptr) refuse("{}", absent);
    auto text = archive.read(*found, kMostJson);
    if (!text) refuse("{}: {}", name, text.error().message);
    Json json = Json::parse(*text, nullptr, false);
    if (json.is_discarded()) refuse("{} is no JSON", name);
    return json;
  }

  void read_weights(const std::string& folder, const std::string& config,
                    std::map<std::string, std::size_t>& names) {
    if (archive.find(folder + config) == nullptr) return;
    const Json json = json_of(folder + config, "");
    const Json& entries = member(json, "config", config);
    for (const auto& [name, entry] : entries.items()) {
      const std::string where = fmt::format("weight '{}'", name);
      Weight weight;
      weight.meta = meta_of(member(entry, "tensor_meta", where), where);
      if (entry.value("use_pickle", false)) {
        weight.meta.lacks =
            "is pickled, which only Python can read; export it as a plain dense tensor";
      }
      const std::string file = folder + text_of(member(entry, "path_name", where), where);
      const Member* bytes = archive.find(file);
      if (bytes == nullptr) refuse("{}: its bytes, '{}', are missing", where, file);
      weight.bytes = *bytes;
      weight.has_bytes = bytes->bytes > 0;
      if (weight.has_bytes && weight.meta.lacks.empty()) check_extent(weight, where);
      names[name] = exported.weights.size();
      exported.weights.push_back(std::move(weight));
    }
  }

  static void check_extent(const Weight& weight, const std::string& where) {
    std::int64_t last = weight.meta.offset;
    bool fits = last >= 0;
    for (std::size_t i = 0; fits && i < weight.meta.sizes.size(); ++i) {
      if (weight.meta.strides[i] < 0) refuse("{} has a negative stride", where);
      std::int64_t reach = 0;
      fits = !__builtin_mul_overflow(weight.meta.sizes[i] - 1, weight.meta.strides[i], &reach) &&
             !__builtin_add_overflow(last, reach, &last);
    }
    std::uint64_t needed = 0;
    fits = fits &&
           !__builtin_mul_overflow(static_cast<std::uint64_t>(last) + 1,
                                   static_cast<std::uint64_t>(size_of(weight.meta.type)), &needed);
    if (!fits || needed > weight.bytes.bytes) {
      refuse("{} needs {} bytes, the file has {}", where, needed, weight.bytes.bytes);
    }
  }

  void read_input(const Json& spec) {
    if (!spec.is_object() || spec.empty()) refuse("an input of the signature is no object");
    const std::string kind = spec.begin().key();
    const Json& body = spec.begin().value();
    GraphInput input;
    const auto named = [&](GraphInput::Kind which, const char* key,
                           const std::map<std::string, std::size_t>& names) {
      input.kind = which;
      input.name = tensor_name(member(body, "arg", kind), kind);
      input.target = text_of(member(body, key, kind), kind);
      const auto found = names.find(input.target);
      if (found == names.end()) refuse("the bytes of '{}' are missing", input.target);
      input.weight = found->second;
      const std::string& lacks = exported.weights[found->second].meta.lacks;
      if (!lacks.empty()) exported.tensors[input.name].lacks = lacks;
    };
    if (kind == "parameter") {
      named(GraphInput::Kind::kParameter, "parameter_name", parameters);
    } else if (kind == "buffer") {
      // One that is not persistent lies among the constants.
      const bool persistent = body.value("persistent", true);
      named(GraphInput::Kind::kBuffer, "buffer_name", persistent ? parameters : constants);
    } else if (kind == "tensor_constant") {
      named(GraphInput::Kind::kConstant, "tensor_constant_name", constants);
    } else if (kind == "user_input") {
      const Value value = value_of(member(body, "arg", kind), "an argument of the module");
      if (const auto* tensor = std::get_if<TensorName>(&value)) input.name = tensor->name;
    } else if (kind == "constant_input") {
      // A number or None that the graph has as a literal.
    } else {
      refuse("the signature has an input of kind '{}', which hone does not take", kind);
    }
    exported.inputs.push_back(std::move(input));
  }

  void read_output(const Json& spec) {
    if (!spec.is_object() || spec.empty()) refuse("an output of the signature is no object");
    const std::string kind = spec.begin().key();
    const Json& body = spec.begin().value();
    GraphOutput output;
    if (kind == "user_output") {
      const Value value = value_of(member(body, "arg", kind), "a result of the module");
      if (const auto* tensor = std::get_if<TensorName>(&value)) output.name = tensor->name;
    } else if (kind == "buffer_mutation" || kind == "user_input_mutation" ||
               kind == "parameter_mutation") {
      output.kind = GraphOutput::Kind::kMutation;
      output.name = tensor_name(member(body, "arg", kind), kind);
      const char* key = kind == "buffer_mutation"       ? "buffer_name"
                        : kind == "user_input_mutation" ? "user_input_name"
                                                        : "parameter_name";
      output.target = text_of(member(body, key, kind), kind);
    } else {
      refuse("the signature has an output of kind '{}', which hone does not take", kind);
    }
    exported.outputs.push_back(std::move(output));
  }

  /// Results of several of which nobody reads one: its name goes. Those for a backward pass may be
  /// empty where there will be none.
  void drop_unused_results() {
    std::set<std::string> used;
    for (const GraphOutput& output : exported.outputs) used.insert(output.name);
    for (const Node& node : exported.nodes) {
      for (const std::string& name : tensors_read(node)) used.insert(name);
    }
    for (Node& node : exported.nodes) {
      if (node.outputs.size() < 2) continue;
      for (std::string& name : node.outputs) {
        if (!used.contains(name)) name.clear();
      }
    }
  }

  void check_version(const Json& model) const {
    const Json& version = member(model, "schema_version", "models/model.json");
    const std::int64_t major =
        whole_of(member(version, "major", "schema_version"), "schema_version");
    if (major != kMajor) {
      refuse("has schema version {}.{}; hone reads {}.x (PyTorch 2.7 and later write it)", major,
             version.value("minor", 0), kMajor);
    }
  }

  void read() {
    if (archive.find("models/model.json") == nullptr) {
      for (const auto& [name, bytes] : archive.members()) {
        if (name.ends_with(".so") || name.find("aotinductor") != std::string::npos) {
          refuse(
              "is a package of compiled code (AOTInductor), which holds no graph; save the "
              "exported "
              "program itself with torch.export.save");
        }
      }
    }
    const Json model = json_of("models/model.json",
                               "holds no models/model.json; torch.export.save(program, "
                               "\"model.pt2\") of PyTorch 2.7 or later writes it");
    check_version(model);
    exported.torch_version = model.value("torch_version", "");
    const bool plain = std::ranges::all_of(exported.torch_version, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '.' || c == '+' || c == '-' || c == '_';
    });
    if (!plain) exported.torch_version.clear();
    read_weights("data/weights/", "model_weights_config.json", parameters);
    read_weights("data/constants/", "model_constants_config.json", constants);
    const Json& graph_module = member(model, "graph_module", "models/model.json");
    const Json& graph = member(graph_module, "graph", "graph_module");
    for (const auto& [name, meta] : member(graph, "tensor_values", "the graph").items()) {
      exported.tensors.emplace(name, meta_of(meta, fmt::format("tensor '{}'", name)));
    }
    for (const Json& node : member(graph, "nodes", "the graph")) {
      exported.nodes.push_back(node_of(node, exported.nodes.size()));
    }
    const Json& signature = member(graph_module, "signature", "graph_module");
    for (const Json& spec : member(signature, "input_specs", "the signature")) read_input(spec);
    for (const Json& spec : member(signature, "output_specs", "the signature")) read_output(spec);
    drop_unused_results();
  }
};

}  // namespace

bool lies_in_a_row(const TensorMeta& meta) {
  std::int64_t stride = 1;
  for (std::size_t i = meta.sizes.size(); i-- > 0;) {
    if (meta.sizes[i] != 1 && meta.strides[i] != stride) return false;
    stride *= meta.sizes[i];
  }
  return true;
}

std::vector<std::string> tensors_read(const Node& node) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    // "" is an absent one of a list.
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const auto& [argument, value] : node.inputs) {
    if (const auto* one = std::get_if<TensorName>(&value)) add(one->name);
    if (const auto* several = std::get_if<TensorNames>(&value))
      std::ranges::for_each(*several, add);
  }
  return names;
}

std::string_view torch_name(ScalarType type) {
  switch (type) {
    case ScalarType::kU8:
      return "torch.uint8";
    case ScalarType::kI8:
      return "torch.int8";
    case ScalarType::kI32:
      return "torch.int32";
    case ScalarType::kI64:
      return "torch.int64";
    case ScalarType::kF16:
      return "torch.float16";
    case ScalarType::kF32:
      return "torch.float32";
    case ScalarType::kF64:
      return "torch.float64";
    case ScalarType::kBool:
      return "torch.bool";
    case ScalarType::kBf16:
      return "torch.bfloat16";
    default:
      return to_string(type);
  }
}

std::optional<ScalarType> scalar_type_of(std::int64_t dtype) {
  // Source: enum ScalarType of PyTorch's torch/_export/serde/schema.py.
  switch (dtype) {
    case 1:
      return ScalarType::kU8;
    case 2:
      return ScalarType::kI8;
    case 4:
      return ScalarType::kI32;
    case 5:
      return ScalarType::kI64;
    case 6:
      return ScalarType::kF16;
    case 7:
      return ScalarType::kF32;
    case 8:
      return ScalarType::kF64;
    case 12:
      return ScalarType::kBool;
    case 13:
      return ScalarType::kBf16;
    default:
      return std::nullopt;
  }
}

Result<Exported> read_exported(const std::filesystem::path& path) {
  auto archive = Archive::open(path);
  if (!archive) return std::unexpected(archive.error());
  Reader reader{*archive, {}, {}, {}};
  try {
    reader.read();
  } catch (const Refusal& refusal) {
    return invalid(fmt::format("{}: {}", path.string(), one_line(refusal.what())));
  } catch (const nlohmann::json::exception& error) {
    return invalid(
        fmt::format("{}: is not as the schema says: {}", path.string(), one_line(error.what())));
  }
  return std::move(reader.exported);
}

}  // namespace hone::pytorch
