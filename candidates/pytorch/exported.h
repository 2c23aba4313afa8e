// A .pt2 file as PyTorch wrote it: graph, tensors, signature and weights, nothing interpreted yet.
// The schema is PyTorch's torch/_export/serde/schema.py, major version 8; keys that it does not
// know are ignored, as minor versions only add some.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "candidates/pytorch/archive.h"
#include "candidates/result.h"
#include "candidates/scalar_type.h"

namespace hone::pytorch {

/// What a graph says of one tensor.
struct TensorMeta {
  ScalarType type = ScalarType::kF32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // [elements]
  std::int64_t offset = 0;            // in its storage [elements]
  /// Why hone has no such tensor: "is an empty tensor; hone has none". Then `type` means nothing,
  /// and what reads or makes it stays PyTorch's. "": hone has it.
  std::string lacks;
};

/// Values by name; "" stands for an absent one of a list of optional tensors.
struct TensorName {
  std::string name;
};
using TensorNames = std::vector<std::string>;
/// A dtype by PyTorch's number, see scalar_type_of().
struct DtypeNumber {
  std::int64_t number = 0;
};
/// An argument of a kind that no operation reads: a device, a layout, a memory format.
struct Other {
  std::string kind;
};
using Value = std::variant<std::monostate, TensorName, TensorNames, bool, std::int64_t, double,
                           std::string, std::vector<bool>, std::vector<std::int64_t>,
                           std::vector<double>, DtypeNumber, Other>;

/// Row-major without gaps.
[[nodiscard]] bool lies_in_a_row(const TensorMeta& meta);

/// One call of an operator.
struct Node {
  std::string name;    ///< "conv2d_3"
  std::string target;  ///< "aten.conv2d.default"
  std::map<std::string, Value>
      inputs;                        ///< by the names of the operator's schema; defaults left out
  std::vector<std::string> outputs;  ///< a list of tensors counts as so many outputs; "": unused
  std::string module;                ///< "layer1.0.conv", where the export says so
};

/// The names of the tensors among its arguments, in their order, each once.
[[nodiscard]] std::vector<std::string> tensors_read(const Node& node);

/// Raw bytes in the file, elements laid out by `meta`.
struct Weight {
  TensorMeta meta;
  Member bytes;
  bool has_bytes = true;  ///< false: exported on the meta device, for its shape alone
};

struct GraphInput {
  enum class Kind { kParameter, kBuffer, kConstant, kUser };
  Kind kind = Kind::kUser;
  std::string name;                   ///< of the graph's value; "" for a number that is built in
  std::string target;                 ///< "layer1.0.conv.weight"; of an argument of the user: ""
  std::optional<std::size_t> weight;  ///< index into `weights`; user arguments have none
};

struct GraphOutput {
  enum class Kind { kUser, kMutation };
  Kind kind = Kind::kUser;
  std::string name;    ///< "" for a number or None
  std::string target;  ///< kMutation: what is written back
};

struct Exported {
  std::map<std::string, TensorMeta> tensors;
  std::vector<Node> nodes;
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
  std::vector<Weight> weights;
  std::string torch_version;
};

/// kInvalidInput with one line that names the file and the part that is wrong: no zip, another
/// schema, no graph, missing weights, dynamic shapes.
[[nodiscard]] Result<Exported> read_exported(const std::filesystem::path& path);

/// "torch.float16": as PyTorch calls it.
[[nodiscard]] std::string_view torch_name(ScalarType type);

/// Of PyTorch's dtype numbers those that hone has.
[[nodiscard]] std::optional<ScalarType> scalar_type_of(std::int64_t dtype);

}  // namespace hone::pytorch
