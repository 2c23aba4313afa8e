// Writes one naive kernel as a person would: a thread for each result, plain loops, row-major
// indices, nothing shared.
//
//   Kernel k(translation, "scale", "y = 2 x");
//   const auto x = k.in("x", tensor);
//   const auto y = k.out("y", result);
//   const auto at = k.each_element(result);            // one thread an element; its indices
//   k.store(y, at, fmt::format("{} * 2.0f", k.load(x, at)));
//   k.launch();
//
// Extents are written as numbers where they are numbers by now, else they are parameters of the
// kernel.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candidates/pytorch/translation.h"

namespace hone::pytorch {

using Indices = std::vector<std::string>;

class Kernel {
 public:
  /// `comment`: what it computes, one line; "" for none.
  Kernel(Translation& translation, std::string name, std::string comment);

  /// Operands, by their position among the kernel's parameters.
  struct Operand {
    std::size_t index = 0;
  };
  Operand in(std::string_view name, const Tensor& tensor);
  Operand out(std::string_view name, const Tensor& tensor);
  /// Read and written through one pointer.
  Operand inout(std::string_view name, const Tensor& tensor) { return out(name, tensor); }

  /// An extent in the kernel's text: a number, or the parameter of this name (or of the name that
  /// the same extent got before).
  std::string size(std::string_view name, const Dim& dim);

  /// One thread for each element of a box: declares and bounds the index of each extent and returns
  /// the names. Extents of 1 get "0". Call once, before the body.
  Indices each(const std::vector<std::pair<std::string, Dim>>& extents);
  Indices each_element(const Tensor& tensor);
  /// One block for each element of a box: its threads share what follows. Goes with
  /// launch_blocks().
  Indices each_block(const std::vector<std::pair<std::string, Dim>>& extents);

  /// "for (int k = 0; k < K; k++) {" around what follows until end().
  void loop(std::string_view index, const std::string& bound, const std::string& from = "0");
  void begin(const std::string& head);  ///< "if (a < b)": opens a block
  void end();
  void line(const std::string& text);  ///< one statement, with its ";"

  /// "x[(n * C + c) * W + w]" in the type that one computes with: float for f16 and bf16.
  [[nodiscard]] std::string load(Operand operand, const Indices& at);
  /// Without a conversion.
  [[nodiscard]] std::string load_raw(Operand operand, const Indices& at);
  /// The operand's index as PyTorch repeats it: dimensions from the last on, extents of 1 at 0.
  [[nodiscard]] Indices repeated(const Tensor& tensor, const Indices& at) const;
  void store(Operand operand, const Indices& at, const std::string& value);

  /// Of an index variable: "int", or "long long" where an operand has 2^31 elements and more.
  [[nodiscard]] const std::string& index_type() const { return index_type_; }

  /// Adds kernel and launch: blocks of so many threads.
  void launch(int block = 256);
  void launch_blocks(int block);

 private:
  void add(LaunchText launch);
  Indices index_box(const std::vector<std::pair<std::string, Dim>>& extents, bool blocks);
  struct Parameter {
    std::string name;
    Tensor tensor;
    bool written = false;
  };
  struct Number {
    std::string name;
    Dim value;
  };
  [[nodiscard]] std::string index_of(const Parameter& parameter, const Indices& at);
  [[nodiscard]] std::string free_name(std::string_view wanted) const;
  Operand add(std::string_view name, const Tensor& tensor, bool written);

  Translation& to_;
  std::string name_, comment_, body_;
  std::string index_type_ = "int";
  std::vector<Parameter> parameters_;
  std::vector<Number> numbers_;
  std::vector<std::string> locals_;
  Dim threads_ = 1;
  int depth_ = 1;
};

/// The type that an operation on elements of this type computes with: "float" for f32, f16, bf16.
[[nodiscard]] std::string_view computed_in(ScalarType type);
/// A number as that type's literal: "1e-05f", "-INFINITY", "3".
[[nodiscard]] std::string literal(double value, ScalarType type);
/// `value`, an expression of computed_in(from), as one of computed_in(to).
[[nodiscard]] std::string converted(const std::string& value, ScalarType from, ScalarType to);
/// `value`, an expression of computed_in(type), as an element of the type: "__float2half(v)".
[[nodiscard]] std::string stored_as(ScalarType type, const std::string& value);

}  // namespace hone::pytorch
