// Contractions by an equation: a thread for each element of the result, loops over the other
// labels. Several operands are contracted two at a time, in the order that PyTorch takes.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace contraction {
namespace {

/// A tensor with a letter for each dimension.
struct Labelled {
  Tensor tensor;
  std::string labels;
};

using Extents = std::map<char, Dim>;

/// Dimensions of "..." are called 0, 1, ... counted from the last one.
std::string spelled(std::string_view term, int ellipsis) {
  std::string labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term.substr(i).starts_with("...")) {
      if (ellipsis > 9) refuse("has more than 10 dimensions for '...'");
      for (int j = ellipsis; j-- > 0;) labels += static_cast<char>('0' + j);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels += term[i];
    } else {
      refuse("has '{}' in its equation", term[i]);
    }
  }
  return labels;
}

std::vector<std::string_view> terms_of(std::string_view left) {
  std::vector<std::string_view> terms;
  for (;;) {
    const std::size_t comma = left.find(',');
    terms.push_back(left.substr(0, comma));
    if (comma == std::string_view::npos) return terms;
    left.remove_prefix(comma + 1);
  }
}

Indices place(const Labelled& operand, const std::map<char, std::string>& names,
              const Sizes& sizes) {
  Indices at;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    const bool repeats = sizes.value(operand.tensor.shape[i]) == 1;
    at.push_back(repeats ? "0" : names.at(operand.labels[i]));
  }
  return at;
}

/// to[labels] = the product of the operands, summed over what `to` does not have.
void contract(Call& call, const std::vector<Labelled>& operands, const Labelled& to,
              const Extents& extents) {
  Kernel kernel(call.to, operands.size() == 1 ? "einsum_of_one" : "einsum",
                "One thread an element.");
  std::vector<Kernel::Operand> from;
  static const char* const kNames[] = {"a", "b"};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    from.push_back(kernel.in(fmt::format("x_{}", kNames[i]), operands[i].tensor));
  }
  const auto y = kernel.out("y_out", to.tensor);
  std::vector<std::pair<std::string, Dim>> box;
  const auto variable = [](char label) {
    // Another letter than the operands' and the flat index.
    return std::isdigit(static_cast<unsigned char>(label)) != 0
               ? fmt::format("e{}", label)
               : fmt::format("{}{}", static_cast<char>(std::tolower(label)),
                             std::isupper(static_cast<unsigned char>(label)) != 0 ? "u" : "_");
  };
  for (std::size_t i = 0; i < to.labels.size(); ++i) {
    box.emplace_back(variable(to.labels[i]), to.tensor.shape[i]);
  }
  const Indices at = kernel.each(box);
  std::map<char, std::string> names;
  for (std::size_t i = 0; i < at.size(); ++i) names[to.labels[i]] = at[i];
  std::string summed;
  Dim terms = 1;
  for (const Labelled& operand : operands) {
    for (const char label : operand.labels) {
      if (names.contains(label) || summed.contains(label)) continue;
      summed += label;
      terms *= extents.at(label);
    }
  }
  const ScalarType type = to.tensor.type;
  const Sum sum(kernel, type, call.to.sizes.value(terms));
  sum.begin("sum");
  int open = 0;
  for (const char label : summed) {
    const Dim extent = call.to.sizes.resolve(extents.at(label));
    names[label] = "0";
    if (extent == Dim(1)) continue;
    names[label] = variable(label);
    kernel.loop(names[label], kernel.size(fmt::format("count_{}", names[label]), extent));
    ++open;
  }
  const std::string a = kernel.load(from[0], place(operands[0], names, call.to.sizes));
  kernel.line(
      operands.size() == 1
          ? sum.add("sum", a)
          : sum.add("sum", a, kernel.load(from[1], place(operands[1], names, call.to.sizes))));
  while (open-- > 0) kernel.end();
  kernel.store(y, at, stored_as(type, sum.value("sum")));
  kernel.launch();
}

std::vector<Dim> shape_of(const std::string& labels, const Extents& extents) {
  std::vector<Dim> shape;
  for (const char label : labels) shape.push_back(extents.at(label));
  return shape;
}

/// Labels that appear in the result or in what is still to come.
std::string kept(const std::vector<Labelled>& now, const std::vector<Labelled>& later,
                 const std::string& result) {
  std::string labels;
  for (const Labelled& operand : now) {
    for (const char label : operand.labels) {
      const bool needed =
          result.contains(label) || std::ranges::any_of(later, [&](const Labelled& other) {
            return other.labels.contains(label);
          });
      if (needed && !labels.contains(label)) labels += label;
    }
  }
  return labels;
}

void einsum(Call& call) {
  Sizes& sizes = call.to.sizes;
  const std::string equation = call.text("equation", "");
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  const auto terms = terms_of(left);
  const auto tensors = call.tensors("tensors");
  if (terms.size() != tensors.size()) {
    refuse("has {} terms for {} tensors", terms.size(), tensors.size());
  }
  std::vector<Labelled> operands;
  Extents extents;
  int most = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!tensors[i]) refuse("has an absent tensor");
    const auto letters = static_cast<int>(spelled(terms[i], 0).size());
    const int ellipsis = tensors[i]->rank() - letters;
    if (ellipsis < 0) refuse("has a term of {} letters for {}", letters, tensors[i]->rank());
    most = std::max(most, ellipsis);
    Labelled operand{*tensors[i], spelled(terms[i], ellipsis)};
    if (operand.labels.size() != operand.tensor.shape.size()) refuse("has a term of another rank");
    for (std::size_t j = 0; j < operand.labels.size(); ++j) {
      const Dim& extent = operand.tensor.shape[j];
      const auto [known, fresh] = extents.emplace(operand.labels[j], extent);
      if (fresh || sizes.value(extent) == 1) continue;
      if (sizes.value(known->second) == 1) {
        known->second = extent;
      } else {
        sizes.unify(known->second, extent);
      }
    }
    operands.push_back(std::move(operand));
  }
  std::string result;
  if (arrow != std::string::npos) {
    result = spelled(std::string_view(equation).substr(arrow + 2), most);
  } else {
    // "..." first, then all letters that appear once, in their order.
    for (int j = most; j-- > 0;) result += static_cast<char>('0' + j);
    for (const auto& [label, extent] : extents) {
      std::size_t count = 0;
      for (const Labelled& operand : operands) count += std::ranges::count(operand.labels, label);
      if (std::isalpha(static_cast<unsigned char>(label)) != 0 && count == 1) result += label;
    }
  }
  for (const char label : result) {
    if (!extents.contains(label)) refuse("has '{}' in its result alone", label);
    if (std::ranges::count(result, label) > 1) refuse("has '{}' twice in its result", label);
  }
  std::vector<std::int64_t> path = call.wholes("path");
  while (operands.size() > 2) {
    std::size_t first = 0, second = 1;
    if (path.size() >= 2) {
      first = static_cast<std::size_t>(std::min(path[0], path[1]));
      second = static_cast<std::size_t>(std::max(path[0], path[1]));
      path.erase(path.begin(), path.begin() + 2);
    }
    if (first >= second || second >= operands.size()) refuse("has a path that leads nowhere");
    const std::vector<Labelled> now = {operands[first], operands[second]};
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(second));
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(first));
    Labelled made;
    made.labels = kept(now, operands, result);
    made.tensor = call.between(call.type(), shape_of(made.labels, extents), "pair");
    contract(call, now, made, extents);
    // PyTorch puts a pair's result at the end with a path, in front without one.
    operands.insert(call.has("path") ? operands.end() : operands.begin(), made);
  }
  contract(call, operands, {call.make(shape_of(result, extents)), result}, extents);
}

/// Letters from `first` on.
std::string letters(char first, int count) {
  std::string labels;
  if (count > 12) refuse("has {} dimensions", count);
  for (int i = 0; i < count; ++i) labels += static_cast<char>(first + i);
  return labels;
}

/// to[labels] = a[labels] b[labels], summed over the labels that the result lacks.
void contract_two(Call& call, const Labelled& a, const Labelled& b, const std::string& result) {
  Sizes& sizes = call.to.sizes;
  Extents extents;
  for (const Labelled* operand : {&a, &b}) {
    for (std::size_t i = 0; i < operand->labels.size(); ++i) {
      const Dim& extent = operand->tensor.shape[i];
      const auto [known, fresh] = extents.emplace(operand->labels[i], extent);
      if (fresh || sizes.value(extent) == 1) continue;
      if (sizes.value(known->second) == 1) {
        known->second = extent;
      } else {
        sizes.unify(known->second, extent);
      }
    }
  }
  contract(call, {a, b}, {call.make(shape_of(result, extents)), result}, extents);
}

/// Sums over the dimensions that are named of both.
void tensordot(Call& call) {
  const Tensor a = call.tensor("self"), b = call.tensor("other");
  Labelled left{a, letters('a', a.rank())}, right{b, letters('n', b.rank())};
  const auto in_a = call.wholes("dims_self"), in_b = call.wholes("dims_other");
  if (in_a.size() != in_b.size())
    refuse("sums over {} and {} dimensions", in_a.size(), in_b.size());
  std::string summed;
  for (std::size_t i = 0; i < in_a.size(); ++i) {
    const auto from = static_cast<std::size_t>(Call::axis(in_a[i], a.rank()));
    const auto to = static_cast<std::size_t>(Call::axis(in_b[i], b.rank()));
    if (from >= left.labels.size() || to >= right.labels.size()) refuse("sums over a number");
    if (summed.contains(left.labels[from]) || right.labels[to] < 'n')
      refuse("sums twice over a dimension");
    summed += left.labels[from];
    right.labels[to] = left.labels[from];
  }
  std::string result;
  for (const char label : left.labels + right.labels) {
    if (!summed.contains(label)) result += label;
  }
  contract_two(call, left, right, result);
}

/// Sums over the last dimension of both.
void inner(Call& call) {
  const Tensor a = call.tensor("self"), b = call.tensor("other");
  Labelled left{a, letters('a', a.rank())}, right{b, letters('n', b.rank())};
  if (a.rank() == 0 || b.rank() == 0) refuse("multiplies a number");
  right.labels.back() = left.labels.back();
  contract_two(call, left, right,
               left.labels.substr(0, left.labels.size() - 1) +
                   right.labels.substr(0, right.labels.size() - 1));
}

/// Of vectors along one dimension their product; the other dimensions are repeated.
void vecdot(Call& call) {
  const bool named = call.has("x");
  Tensor a = call.tensor(named ? "x" : "self"), b = call.tensor(named ? "y" : "other");
  const std::vector<Dim> shape = broadcast(call.to.sizes, a.shape, b.shape);
  const auto rank = static_cast<int>(shape.size());
  if (rank == 0) refuse("multiplies numbers");
  const std::string labels = letters('a', rank);
  std::string result = labels;
  result.erase(static_cast<std::size_t>(Call::axis(call.whole("dim", -1), rank)), 1);
  contract_two(call, {expanded(call.to.sizes, a, shape), labels},
               {expanded(call.to.sizes, b, shape), labels}, result);
}

/// Each element of one times all of the other.
void kron(Call& call) {
  Tensor a = call.tensor("self"), b = call.tensor("other");
  for (Tensor* tensor : {&a, &b}) {
    while (tensor->shape.size() < static_cast<std::size_t>(std::max(a.rank(), b.rank()))) {
      tensor->shape.insert(tensor->shape.begin(), 1);
      tensor->strides.insert(tensor->strides.begin(), 0);
    }
  }
  const std::string outer = letters('a', a.rank()), inside = letters('n', b.rank());
  Extents extents;
  std::vector<Dim> shape, apart;
  std::string labels;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    extents[outer[i]] = a.shape[i];
    extents[inside[i]] = b.shape[i];
    labels += {outer[i], inside[i]};
    shape.push_back(a.shape[i] * b.shape[i]);
    apart.insert(apart.end(), {a.shape[i], b.shape[i]});
  }
  Tensor result = call.make(shape);
  result.shape = apart;
  result.strides = dense_strides(apart);
  contract(call, {{a, outer}, {b, inside}}, {result, labels}, extents);
}

constexpr Operation kOperations[] = {
    {"aten.tensordot.default", tensordot}, {"aten.inner.default", inner},
    {"aten.vdot.default", vecdot},         {"aten.linalg_vecdot.default", vecdot},
    {"aten.kron.default", kron},           {"aten.einsum.default", einsum},
};

}  // namespace
}  // namespace contraction

std::span<const Operation> einsum_operations() { return contraction::kOperations; }

}  // namespace hone::pytorch
