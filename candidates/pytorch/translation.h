// The program that an import builds: storages, kernels and launches, added operation by operation.
//
// A Tensor is a view of a storage: views (transpose, slice, split, expand, ...) cost no kernel. A
// storage is where an element lives over the module's life: what is written in place is a new
// buffer where the whole storage is written (then launches hand values on, and a buffer has one
// writer), and the same buffer where a part is.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "candidates/pytorch/dims.h"
#include "candidates/pytorch/index_ranges.h"
#include "candidates/pytorch/names.h"
#include "candidates/scalar_type.h"

namespace hone::pytorch {

/// One number for each dimension. A rule that asks for a dimension which a tensor of the file does
/// not have refuses: the graph comes from outside.
class PerDimension : public std::vector<Dim> {
 public:
  using std::vector<Dim>::vector;
  PerDimension(std::vector<Dim> list)  // NOLINT(google-explicit-constructor): the same numbers
      : std::vector<Dim>(std::move(list)) {}
  [[nodiscard]] Dim& operator[](std::size_t i) { return data()[checked(i)]; }
  [[nodiscard]] const Dim& operator[](std::size_t i) const { return data()[checked(i)]; }
  [[nodiscard]] Dim& back() { return data()[checked(size() - 1)]; }
  [[nodiscard]] const Dim& back() const { return data()[checked(size() - 1)]; }
  [[nodiscard]] Dim& front() { return data()[checked(0)]; }
  [[nodiscard]] const Dim& front() const { return data()[checked(0)]; }

 private:
  [[nodiscard]] std::size_t checked(std::size_t i) const;
};

struct Tensor {
  int storage = -1;
  ScalarType type = ScalarType::kF32;
  PerDimension shape;
  PerDimension strides;  // [elements]
  Dim offset;            // of its first element in the storage [elements]

  [[nodiscard]] int rank() const { return static_cast<int>(shape.size()); }
  [[nodiscard]] Dim elements() const;
};

/// Strides of a dense row-major tensor.
[[nodiscard]] std::vector<Dim> dense_strides(const std::vector<Dim>& shape);

struct BufferText {
  std::string name;
  ScalarType type = ScalarType::kF32;
  std::vector<Dim> shape;
  Role role = Role::kScratch;
  nlohmann::json fill;   ///< null: the task format's default
  bool made_up = false;  ///< the fill is a guess, which an operation may better
  /// Of integers that index something, where there is no fill: all are in 0 to each of these - 1,
  std::vector<Dim> below;
  /// and in this interval.
  std::optional<Interval> within;
};

struct Storage {
  int buffer = -1;
  std::vector<Dim> shape;  ///< dense
  bool given = false;      ///< the module's caller owns it, and sees what is written
};

struct KernelText {
  std::string name;
  std::string text;  ///< from the parameter list's "(" on
  std::string comment;
};

struct LaunchText {
  std::string kernel;
  std::vector<Dim> grid;   ///< x first
  std::vector<Dim> block;  ///< x first
  struct Argument {
    int buffer = -1;  ///< or -1: `value`
    Dim value;
  };
  std::vector<Argument> args;
};

class Translation {
 public:
  Sizes sizes;

  /// A new dense tensor in a scratch buffer of this name.
  Tensor make(ScalarType type, std::vector<Dim> shape, std::string_view name);
  /// A buffer that comes from outside.
  Tensor give(const BufferText& buffer);

  /// Numbers that PyTorch would draw: a buffer from outside, so that the caller supplies them.
  Tensor draw(const BufferText& buffer);
  /// The draws' storages, in their order.
  [[nodiscard]] const std::vector<int>& draws() const { return draws_; }

  /// From here on the elements of `index` are places among `extent` elements, with `from_end` also
  /// -extent and more. What the caller fills is said to be in range; where something is made of it
  /// first, the extent is frozen.
  void index_into(const Tensor& index, const Dim& extent, bool from_end = false);
  /// What is known of a tensor's whole numbers; null: nothing.
  [[nodiscard]] Whole whole_of(const Tensor& tensor) const;
  void set_whole(const Tensor& tensor, Whole whole);
  /// Narrows the fills of what indices are made of. Once, when all operations are translated.
  void settle_indices();

  /// An operation is defined for these numbers alone: a fill that was made up keeps to them.
  void keep_within(const Tensor& tensor, double low, double high);

  /// Whether all of its storage is this tensor, row-major.
  [[nodiscard]] bool is_whole(const Tensor& tensor) const;
  [[nodiscard]] bool is_dense(const Tensor& tensor) const;  ///< row-major without gaps
  /// Itself if it is dense, else a copy by a kernel.
  Tensor dense(const Tensor& tensor);

  /// A kernel that writes the elements of one tensor into another of the same shape and type.
  void copy(const Tensor& from, const Tensor& to, std::string_view kernel,
            std::string_view comment);

  /// What an operation in place does: from now on the elements of `target`, and of all views of its
  /// storage, are those of `value`, a dense tensor of the same shape and type that was made for
  /// this. Refuses a target of which several elements may lie in one place.
  void assign(const Tensor& target, const Tensor& value);

  /// The storages that kernels and assignments wrote so far, each as often as it was written.
  [[nodiscard]] const std::vector<int>& written() const { return written_; }
  void note_written(int storage) { written_.push_back(storage); }

  /// PyTorch 2.11 exports an LSTM's states on a CPU with a dimension of extent 1 too many, and all
  /// that is computed of them; when they run they have the right ones. From here on the file may
  /// have other dimensions of extent 1 than the rules.
  void doubt_ones() { doubts_ones_ = true; }
  [[nodiscard]] bool doubts_ones() const { return doubts_ones_; }

  /// A kernel of this text, shared with launches whose text is the same. Its name.
  std::string add_kernel(std::string_view name, const std::string& text,
                         const std::string& comment);
  void add_launch(LaunchText launch) { launches_.push_back(std::move(launch)); }

  [[nodiscard]] int buffer_of(const Tensor& tensor) const;
  [[nodiscard]] BufferText& buffer(int index) { return buffers_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const std::vector<BufferText>& buffers() const { return buffers_; }
  [[nodiscard]] const std::vector<KernelText>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<LaunchText>& launches() const { return launches_; }
  [[nodiscard]] int storages() const { return static_cast<int>(storages_.size()); }
  [[nodiscard]] Storage& storage(int index) { return storages_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const Storage& storage(int index) const {
    return storages_[static_cast<std::size_t>(index)];
  }

 private:
  /// Whether several elements of a view may lie in one place. May say yes of interleaved
  /// views that do not.
  [[nodiscard]] bool may_overlap(const Tensor& tensor) const;
  int add_buffer(BufferText buffer);
  [[nodiscard]] bool is_open(int storage) const;

  std::vector<BufferText> buffers_;
  std::vector<Storage> storages_;
  std::vector<KernelText> kernels_;
  std::vector<LaunchText> launches_;
  std::vector<int> draws_, written_;
  std::map<int, Whole> wholes_;  ///< of storages; null: nothing is known of them any more
  std::vector<IndexUse> index_uses_;
  bool doubts_ones_ = false;
  std::map<std::string, int, std::less<>> kernel_names_;
  LastNumbers buffer_numbers_, kernel_numbers_;
};

}  // namespace hone::pytorch
