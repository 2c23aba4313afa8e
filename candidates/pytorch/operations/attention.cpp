// scaled_dot_product_attention as a person writes it first: scores, softmax of each row, values.
// generate-attention recognises these three. Weights have a buffer of their own, as large as that
// of the scores: a softmax that works in place cannot be replaced alone.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace attention {
namespace {

struct Attention {
  Tensor query, key, value, scores, weights, result;
  std::optional<Tensor> mask;  ///< repeated to the scores' shape
  bool causal = false;
  std::int64_t group = 1;  ///< heads of the query for one of key and value
  std::optional<double> scale;
};

std::vector<Dim> batch_of(const Tensor& tensor) {
  return {tensor.shape.begin(), tensor.shape.end() - 2};
}

std::vector<Dim> with(std::vector<Dim> batch, const Dim& rows, const Dim& columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

std::vector<std::pair<std::string, Dim>> box(const Tensor& tensor, const char* row,
                                             const char* column) {
  static const char* const kNames[] = {"a", "b", "c", "d"};
  const std::size_t outer = tensor.shape.size() - 2;
  if (outer > 4) refuse("has more than 6 dimensions");
  std::vector<std::pair<std::string, Dim>> extents;
  for (std::size_t i = 0; i < outer; ++i) {
    // The innermost of the batch are the heads.
    extents.emplace_back(i + 1 == outer ? "head" : kNames[i], tensor.shape[i]);
  }
  extents.emplace_back(row, tensor.shape[outer]);
  extents.emplace_back(column, tensor.shape[outer + 1]);
  return extents;
}

/// The place in key or value: several heads of the query share one of theirs.
Indices shared(const Attention& the, Indices at) {
  if (the.group > 1) {
    std::string& head = at[at.size() - 3];
    if (head != "0") head = fmt::format("({} / {})", head, the.group);
  }
  return at;
}

void write_scores(Call& call, const Attention& the) {
  Kernel kernel(call.to, "attention_scores", "Scores of queries and keys, one thread each.");
  const auto q = kernel.in("Q", the.query);
  const auto k = kernel.in("K", the.key);
  std::optional<Kernel::Operand> mask;
  if (the.mask) mask = kernel.in("mask", *the.mask);
  const auto s = kernel.out("S", the.scores);
  const Indices at = kernel.each(box(the.scores, "row", "col"));
  const std::size_t rank = at.size();
  const bool wide = the.scores.type == ScalarType::kF64;
  const std::string extent = kernel.size("dim", the.query.shape.back());
  const Sum sum(kernel, the.scores.type, call.to.sizes.value(the.query.shape.back()));
  sum.begin("score");
  kernel.loop("d", extent);
  Indices in_q = at, in_k = at;
  in_q[rank - 1] = "d";
  in_k[rank - 2] = at[rank - 1];
  in_k[rank - 1] = "d";
  kernel.line(sum.add("score", kernel.load(q, in_q), kernel.load(k, shared(the, in_k))));
  kernel.end();
  std::string value = sum.value("score");
  value = the.scale ? fmt::format("{} * {}", value, literal(*the.scale, the.scores.type))
                    : fmt::format("{} / sqrt{}(({}){})", value, wide ? "" : "f",
                                  wide ? "double" : "float", extent);
  if (the.mask && the.mask->type == ScalarType::kBool) {
    value = fmt::format("{} ? {} : -INFINITY", kernel.load(*mask, at), value);
  } else if (the.mask) {
    value = fmt::format("{} + {}", value, kernel.load(*mask, at));
  }
  if (the.causal)
    value = fmt::format("{} <= {} ? {} : -INFINITY", at[rank - 1], at[rank - 2], value);
  kernel.store(s, at, value);
  kernel.launch();
}

void write_softmax(Call& call, const Attention& the) {
  Tensor outer = the.scores;
  outer.shape.pop_back();
  outer.strides.pop_back();
  merge_dimensions(call.to.sizes, {&outer});
  const auto as_rows = [&](Tensor tensor) {
    tensor.shape = {outer.shape[0], the.scores.shape.back()};
    tensor.strides = {the.scores.shape.back(), 1};
    return tensor;
  };
  const Tensor rows = as_rows(the.scores);
  Kernel kernel(call.to, "attention_softmax",
                "Softmax of each row of scores, one thread for each.");
  const auto s = kernel.in("S", rows);
  const auto p = kernel.out("P", as_rows(the.weights));
  const Indices row = kernel.each({{"row", rows.shape[0]}});
  const Indices at = {row[0], "j"};
  const std::string count = kernel.size("cols", rows.shape[1]);
  const bool wide = rows.type == ScalarType::kF64;
  const char* f = wide ? "" : "f";
  const Sum sum(kernel, rows.type, call.to.sizes.value(rows.shape[1]));
  kernel.line(fmt::format("{} largest = -INFINITY;", computed_in(rows.type)));
  kernel.loop("j", count);
  kernel.line(fmt::format("largest = fmax{}(largest, {});", f, kernel.load(s, at)));
  kernel.end();
  sum.begin("sum");
  kernel.loop("j", count);
  kernel.line(sum.add("sum", fmt::format("exp{}({} - largest)", f, kernel.load(s, at))));
  kernel.end();
  std::string value = fmt::format("exp{}({} - largest) / {}", f, kernel.load(s, at),
                                  sum.is_long() ? "total" : "sum");
  if (sum.is_long()) kernel.line(fmt::format("float total = {};", sum.value("sum")));
  // A row that sees nothing is 0, as in PyTorch.
  if (the.mask) value = fmt::format("largest == -INFINITY ? {} : {}", literal(0, rows.type), value);
  kernel.loop("j", count);
  kernel.store(p, at, value);
  kernel.end();
  kernel.launch();
}

void write_values(Call& call, const Attention& the) {
  Kernel kernel(call.to, "attention_values", "Rows of weights times the values, one thread each.");
  const auto p = kernel.in("P", the.weights);
  const auto v = kernel.in("V", the.value);
  const auto o = kernel.out("O", the.result);
  const Indices at = kernel.each(box(the.result, "row", "d"));
  const std::size_t rank = at.size();
  const Sum sum(kernel, the.scores.type, call.to.sizes.value(the.scores.shape.back()));
  sum.begin("out");
  kernel.loop("j", kernel.size("seq", the.scores.shape.back()));
  Indices in_p = at, in_v = at;
  in_p[rank - 1] = "j";
  in_v[rank - 2] = "j";
  kernel.line(sum.add("out", kernel.load(p, in_p), kernel.load(v, shared(the, in_v))));
  kernel.end();
  kernel.store(o, at, stored_as(the.result.type, sum.value("out")));
  kernel.launch();
}

void attend(Call& call) {
  Sizes& sizes = call.to.sizes;
  Attention the;
  the.query = call.tensor("query");
  the.key = call.tensor("key");
  the.value = call.tensor("value");
  for (std::size_t i = 1; i < call.results(); ++i) {
    if (call.is_used(i)) refuse("gives more than its values, which hone does not compute");
  }
  if (call.number("dropout_p", 0) != 0) {
    refuse("drops scores at random (dropout_p); export the module in eval mode");
  }
  for (const Tensor* tensor : {&the.query, &the.key, &the.value}) {
    if (tensor->rank() < 2 || tensor->rank() != the.query.rank()) {
      refuse("has {} and {} dimensions", the.query.rank(), tensor->rank());
    }
    if (!is_float(tensor->type)) refuse("attends to {}", torch_name(tensor->type));
  }
  the.causal = call.flag("is_causal", false);
  if (call.has("scale")) the.scale = call.number("scale");
  std::vector<Dim> batch = batch_of(the.query);
  std::vector<Dim> theirs = batch_of(the.key);
  if (call.flag("enable_gqa", false) && !batch.empty()) {
    const std::int64_t ours = sizes.value(batch.back()), heads = sizes.value(theirs.back());
    if (heads == 0 || ours % heads != 0) refuse("has {} heads for {}", ours, heads);
    the.group = ours / heads;
    sizes.unify(the.value.shape[the.value.shape.size() - 3], theirs.back());
    if (the.group > 1) sizes.unify(batch.back(), Dim(the.group) * theirs.back());
  }
  std::vector<Dim> value_batch = batch_of(the.value);
  if (the.group > 1) {
    theirs.pop_back();
    value_batch.pop_back();
    const Dim heads = batch.back();
    batch.pop_back();
    batch = broadcast(sizes, broadcast(sizes, batch, theirs), value_batch);
    theirs = batch;
    theirs.push_back(the.key.shape[the.key.shape.size() - 3]);
    batch.push_back(heads);
  } else {
    batch = broadcast(sizes, broadcast(sizes, batch, theirs), value_batch);
    theirs = batch;
  }
  const std::size_t rank = the.query.shape.size();
  const Dim rows = the.query.shape[rank - 2], columns = the.key.shape[rank - 2];
  sizes.unify(the.query.shape[rank - 1], the.key.shape[rank - 1]);
  sizes.unify(columns, the.value.shape[rank - 2]);
  the.query = expanded(sizes, the.query, with(batch, rows, the.query.shape[rank - 1]));
  the.key = expanded(sizes, the.key, with(theirs, columns, the.key.shape[rank - 1]));
  the.value = expanded(sizes, the.value, with(theirs, columns, the.value.shape[rank - 1]));
  const ScalarType type = the.query.type == ScalarType::kF64 ? ScalarType::kF64 : ScalarType::kF32;
  the.scores = call.between(type, with(batch, rows, columns), "scores");
  the.weights = call.between(type, with(batch, rows, columns), "weights");
  const std::string_view mask = call.has("attn_bias") ? "attn_bias" : "attn_mask";
  if (call.has(mask)) {
    the.mask = call.tensor(mask);
    broadcast(sizes, the.scores.shape, the.mask->shape);
    the.mask = expanded(sizes, *the.mask, the.scores.shape);
    if (the.mask->type != ScalarType::kBool && !is_float(the.mask->type)) {
      refuse("has a mask of {}", torch_name(the.mask->type));
    }
  }
  the.result = call.make(with(batch, rows, the.value.shape[rank - 1]));
  write_scores(call, the);
  write_softmax(call, the);
  write_values(call, the);
}

constexpr Operation kOperations[] = {
    {"aten.scaled_dot_product_attention.default", attend},
    // What PyTorch chooses by device; the further results are for a backward pass.
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", attend},
    {"aten._scaled_dot_product_flash_attention.default", attend},
    {"aten._scaled_dot_product_efficient_attention.default", attend},
    {"aten._scaled_dot_product_cudnn_attention.default", attend},
};

}  // namespace
}  // namespace attention

std::span<const Operation> attention_operations() { return attention::kOperations; }

}  // namespace hone::pytorch
