#include "rewriters/generators/contract/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rewriters/affine/integers.h"
#include "rewriters/generators/contract/analysis.h"
#include "rewriters/generators/nests.h"
#include "rewriters/generators/printing/emit.h"
#include "rewriters/generators/printing/print_value.h"
#include "rewriters/generators/printing/text.h"
#include "rewriters/generators/products.h"

namespace hone::generators::contract {
namespace {

using nest::Node;

constexpr int kPackedSide = 64;  // k of a block of 256 threads, and its rows

/// Few elements are spread over as many blocks as can be, where each row is read by itself.
int rows_of_block(const Packing& packing) {
  return packing.along_k && packing.elements() < 1 << 20 ? 256 / kPackedSide : kPackedSide;
}

constexpr const char* kPackAlongK = R"(#pragma unroll
for (int $part = threadIdx.x; $part < $block_rows * $side; $part += 256) {
  const int $r = $first_r + $part / $side, $k = $first_k + $part % $side;
  if ($r < $rows && $k < $k_size) $packed[$to + $k] = $value;
}
)";

constexpr const char* kPackAlongRows = R"(struct alignas(4 * $width) $Piece {
  float at[$width];
};
// Piece x of a row lies at place x ^ (row / $width): no bank twice, neither way.
__shared__ $Piece $tile[$side][$pieces];
// Side by side along the rows; each thread turns what it reads in registers.
#pragma unroll
for (int $part = threadIdx.x; $part < $pieces * $pieces; $part += 256) {
  const int $to_r = $part % $pieces * $width, $to_k = $part / $pieces;
  const int $r = $first_r + $to_r;
  $Piece $got[$width];
  #pragma unroll
  for (int $j = 0; $j < $width; ++$j) {
    const int $k = $first_k + $to_k * $width + $j;
    $got[$j] = $r < $rows && $k < $k_size ? $piece : $Piece{};
  }
  #pragma unroll
  for (int $u = 0; $u < $width; ++$u) {
    $Piece $turned;
    #pragma unroll
    for (int $j = 0; $j < $width; ++$j) $turned.at[$j] = $got[$j].at[$u];
    $tile[$to_r + $u][$to_k ^ ($to_r / $width)] = $turned;
  }
}
__syncthreads();
#pragma unroll
for (int $part = threadIdx.x; $part < $side * $pieces; $part += 256) {
  const int $to_r = $part / $pieces, $to_k = $part % $pieces;
  const int $r = $first_r + $to_r, $k = $first_k + $to_k * $width;
  if ($r < $rows && $k < $k_size)
    *reinterpret_cast<$Piece*>(&$packed[$to + $k]) = $tile[$to_r][$to_k ^ ($to_r / $width)];
}
)";

}  // namespace

std::int64_t Packing::pitch() const { return nest::ceil_divide(k_size, 32) * 32; }

Packing packing_of(const Contraction& c, const Operand& operand) {
  nest::Nodes& nodes = *c.nodes;
  const bool is_a = operand.outer == c.m;
  Packing packing;
  packing.name = is_a ? "a" : "b";
  packing.value = nodes.select(operand.mask, nodes.cast(operand.value, ScalarType::kF32),
                               nodes.number(0, ScalarType::kF32));
  packing.batch = c.batch;
  packing.row = operand.outer;
  packing.k = operand.k;
  packing.batches = packing.value->uses(c.batch) ? c.batch_size : 1;
  packing.rows = is_a ? c.m_size : c.n_size;
  packing.k_size = c.k_size;
  packing.along_k = operand.along_k;
  const bool plain = packing.value->kind == Node::Kind::kLoad;
  if (plain && !packing.along_k && operand.contiguous == 4) packing.width = 4;
  return packing;
}

Operand packed_operand(nest::Nodes& nodes, const Packing& packing, const std::string& prefix) {
  Ref line = nodes.index(packing.row);
  if (packing.batches > 1)
    line = nodes.add(nodes.scale(nodes.index(packing.batch), packing.rows), line);
  const Ref element = nodes.add(nodes.scale(line, packing.pitch()), nodes.index(packing.k));
  return {.value = nodes.load(packing.buffer(prefix), ScalarType::kF32, element),
          .mask = nodes.boolean(true),
          .type = ScalarType::kF32,
          .outer = packing.row,
          .k = packing.k,
          .along_k = true,
          .contiguous = 4};
}

void add_packing(nest::Nodes& nodes, const Packing& packing, const Goal& goal,
                 const std::string& prefix, Generated& generated) {
  const std::int64_t tiles_k = nest::ceil_divide(packing.k_size, kPackedSide);
  const std::int64_t tiles_rows = nest::ceil_divide(packing.rows, rows_of_block(packing));
  GeneratedLaunch launch{.kernel = prefix + "pack_" + packing.name,
                         .grid = {packing.batches * tiles_rows * tiles_k},
                         .block = {256}};
  std::string parameters;
  Names names;
  for_each(packing.value, [&](Ref node) {
    if (node->kind != Node::Kind::kLoad ||
        std::ranges::find(launch.args, node->op) != launch.args.end())
      return;
    launch.args.push_back(node->op);
    names.take(node->op);
    parameters += fmt::format("const {}* __restrict__ {}, ", type_name(goal.buffer(node->op)->type),
                              node->op);
  });
  launch.args.push_back(packing.buffer(prefix));

  Holes holes = {{"prefix", prefix},
                 {"name", packing.name},
                 {"packed", packing.buffer(prefix)},
                 {"parameters", parameters},
                 {"side", std::to_string(kPackedSide)},
                 {"block_rows", std::to_string(rows_of_block(packing))},
                 {"tiles_k", std::to_string(tiles_k)},
                 {"tiles_rows", std::to_string(tiles_rows)},
                 {"rows", std::to_string(packing.rows)},
                 {"k_size", std::to_string(packing.k_size)},
                 {"pitch", std::to_string(packing.pitch())},
                 {"width", std::to_string(packing.width)},
                 {"pieces", std::to_string(kPackedSide / packing.width)}};
  for (const char* word : {"batch", "r", "k", "first_r", "first_k", "to_r", "to_k", "part", "j",
                           "u", "got", "turned", "tile", "Piece"})
    holes[word] = names.fresh(word);
  const bool batched = packing.batches > 1;
  holes["in_batch"] =
      filled(batched ? "const int $batch = blockIdx.x / ($tiles_k * $tiles_rows);" : "", holes);
  holes["at_rows"] =
      filled(batched ? "blockIdx.x / $tiles_k % $tiles_rows" : "blockIdx.x / $tiles_k", holes);
  holes["to"] = filled(batched ? "($batch * $rows + $r) * $pitch" : "$r * $pitch", holes);
  Printer printer(nodes);
  printer.indices = {
      {packing.batch, holes["batch"]}, {packing.row, holes["r"]}, {packing.k, holes["k"]}};
  if (packing.width > 1) {
    holes["piece"] = fmt::format("*reinterpret_cast<const {}*>(&{}[{}])", holes["Piece"],
                                 packing.value->op, printer.print_index(packing.value->args[0]));
  } else {
    holes["value"] = printer.print(packing.value);
    holes["piece"] = holes["Piece"] + "{" + holes["value"] + "}";
  }
  holes["pack"] = filled(packing.along_k ? kPackAlongK : kPackAlongRows, holes);
  generated.source += filled(R"(
// Packs operand $name: each row has its elements along k, from a line of memory on.
__global__ void __launch_bounds__(256) $prefixpack_$name($parametersfloat* __restrict__ $packed) {
  $in_batch
  const int $first_r = $at_rows * $block_rows, $first_k = blockIdx.x % $tiles_k * $side;
  $pack
}
)",
                             holes);
  generated.launches.insert(generated.launches.begin(), std::move(launch));
  generated.scratch.push_back(scratch_of({packing.buffer(prefix),
                                          ScalarType::kF32,
                                          {packing.batches * packing.rows, packing.pitch()},
                                          Role::kScratch,
                                          {}}));
}

}  // namespace hone::generators::contract
