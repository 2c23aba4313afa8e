// What the translation of one operator sees: its arguments as tensors and numbers, and where its
// results go. An operator of PyTorch is one entry of a list in operations/*.cpp; operations.h has
// all lists. An operator that changes its first argument ("aten.relu_.default") needs no entry: it
// is translated as the one without the "_", whose result is then assigned.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/pytorch/exported.h"
#include "candidates/pytorch/kernel.h"
#include "candidates/pytorch/translation.h"

namespace hone::pytorch {

class Call {
 public:
  using Values = std::map<std::string, Tensor>;
  /// `read`: all values that some node or the module's caller reads; null: every one is.
  Call(Translation& translation, const Exported& exported, const Node& node, Values& values,
       const std::set<std::string>* read)
      : to(translation), exported_(exported), node_(node), values_(values), read_(read) {}

  // Arguments by their names in the operator's schema. Without a default they must be there. What
  // is there but of another kind is refused with its name.
  [[nodiscard]] bool has(std::string_view name) const;  ///< given, and not None
  [[nodiscard]] bool is_tensor(std::string_view name) const;
  [[nodiscard]] Tensor tensor(std::string_view name) const;
  [[nodiscard]] std::optional<Tensor> maybe_tensor(std::string_view name) const;
  /// How a tensor lay in memory when the module was exported; hone's own may lie otherwise.
  [[nodiscard]] const TensorMeta& tensor_meta(std::string_view name) const;
  [[nodiscard]] std::vector<std::optional<Tensor>> tensors(std::string_view name) const;
  [[nodiscard]] bool is_whole(std::string_view name) const;  ///< a whole number, and no float
  [[nodiscard]] std::int64_t whole(std::string_view name) const;
  [[nodiscard]] std::int64_t whole(std::string_view name, std::int64_t otherwise) const;
  /// A number that an element may be, of any size; whole() is for sizes and places.
  [[nodiscard]] std::int64_t whole_value(std::string_view name) const;
  [[nodiscard]] bool is_flag(std::string_view name) const;  ///< true or false, and no number
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name, double otherwise) const;
  [[nodiscard]] bool flag(std::string_view name, bool otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> wholes(std::string_view name,
                                                 std::vector<std::int64_t> otherwise = {}) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view name) const;  ///< empty: not given
  /// Of `count` dimensions: a list of one stands for all.
  [[nodiscard]] std::vector<std::int64_t> for_each_dimension(std::string_view name, int count,
                                                             std::int64_t otherwise) const;

  /// A dimension counted from the end where it is negative.
  [[nodiscard]] static int axis(std::int64_t dimension, int rank);
  /// Several; none given means all.
  [[nodiscard]] std::vector<int> axes(std::string_view name, int rank) const;

  // What the file says of a result.
  [[nodiscard]] ScalarType type(std::size_t result = 0) const;
  [[nodiscard]] const std::vector<std::int64_t>& extents(std::size_t result = 0) const;
  /// One of the first result's; refuses where it has none.
  [[nodiscard]] std::int64_t extent(std::size_t dimension) const;
  [[nodiscard]] std::size_t results() const { return node_.outputs.size(); }
  /// Whether something reads it.
  [[nodiscard]] bool is_used(std::size_t result) const;

  /// A new tensor in a buffer with the result's name, and that result's value.
  Tensor make(const std::vector<Dim>& shape, std::size_t result = 0);
  /// A tensor for something between, in a buffer called after the node and `what`.
  Tensor between(ScalarType type, const std::vector<Dim>& shape, std::string_view what);
  /// This is the result: a view, or what make() did not make. Its shape must be the file's.
  void give(const Tensor& tensor, std::size_t result = 0);

  /// "conv2d_3", for names of buffers.
  [[nodiscard]] const std::string& name() const { return node_.name; }
  [[nodiscard]] const std::string& target() const { return node_.target; }

  Translation& to;

 private:
  [[nodiscard]] const Value* find(std::string_view name) const;
  [[nodiscard]] const Tensor& value_named(const std::string& name) const;
  [[nodiscard]] const TensorMeta& meta(std::size_t result) const;

  const Exported& exported_;
  const Node& node_;
  Values& values_;
  const std::set<std::string>* read_;
};

struct Operation {
  std::string_view target;  ///< "aten.conv2d.default"
  void (*translate)(Call& call);
};

// Shapes, as PyTorch combines them.
/// The shape that both are repeated to; what must be equal is unified.
std::vector<Dim> broadcast(Sizes& sizes, const std::vector<Dim>& a, const std::vector<Dim>& b);
/// A view of this shape: new dimensions in front, and extents of 1 where the shape has others, with
/// stride 0.
Tensor expanded(const Sizes& sizes, const Tensor& tensor, const std::vector<Dim>& shape);
/// A tensor with its dimensions in this order.
Tensor permuted(const Tensor& tensor, const std::vector<int>& order);
/// A view in which neighbouring dimensions that lie in one row are one, in all tensors alike. They
/// have the same shape.
void merge_dimensions(const Sizes& sizes, const std::vector<Tensor*>& tensors);

}  // namespace hone::pytorch
