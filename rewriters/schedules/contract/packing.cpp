#include "rewriters/schedules/contract/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/contract/analysis.h"
#include "rewriters/schedules/nests.h"
#include "rewriters/schedules/printing/emit.h"
#include "rewriters/schedules/printing/instructions.h"
#include "rewriters/schedules/printing/print_value.h"
#include "rewriters/schedules/printing/text.h"
#include "rewriters/schedules/products.h"
#include "rewriters/tile/operands.h"

namespace hone::schedules::contract {
namespace {

using nest::Node;

/// Of a line, what a block of 256 threads packs [elements]; also lines, where it turns them.
int side_of(const Packing& packing) { return packing.type == ScalarType::kF32 ? 64 : 128; }

/// Few elements are spread over as many blocks as can be, where each line is read by itself.
int lines_of_block(const Packing& packing) {
  if (packing.turns) return side_of(packing);
  return packing.elements() < 1 << 20 ? 256 * packing.width / side_of(packing) : 64;
}

constexpr const char* kPackLines = R"(#pragma unroll
for (int $part = threadIdx.x; $part < $block_lines * $pieces; $part += 256) {
  const int $r = $first_r + $part / $pieces, $at = $first_k + $part % $pieces * $width;
  if ($r < $lines && $at < $length) {
    $Piece $made;
    #pragma unroll
    for (int $u = 0; $u < $width; $u += $read) {
      const int $k = $at + $u;
      $fetch
    }
    *reinterpret_cast<$Piece*>(&$packed[$to + $at]) = $made;
  }
}
)";

constexpr const char* kTurnLines =
    R"(// Piece x of a line lies at place x ^ (line / $width): no bank twice, neither way.
__shared__ $Piece $tile[$side][$pieces];
// Side by side along the lines; each thread turns what it reads in registers.
#pragma unroll
for (int $part = threadIdx.x; $part < $pieces * $pieces; $part += 256) {
  const int $to_r = $part % $pieces * $width, $to_k = $part / $pieces;
  $Piece $got[$width];
  #pragma unroll
  for (int $j = 0; $j < $width; ++$j) {
    const int $k = $first_k + $to_k * $width + $j;
    $Piece& $made = $got[$j];
    #pragma unroll
    for (int $u = 0; $u < $width; $u += $read) {
      const int $r = $first_r + $to_r + $u;
      $fetch
    }
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
  const int $r = $first_r + $to_r, $at = $first_k + $to_k * $width;
  if ($r < $lines && $at < $length)
    *reinterpret_cast<$Piece*>(&$packed[$to + $at]) = $tile[$to_r][$to_k ^ ($to_r / $width)];
}
)";

/// What is loaded, where the value is that alone or that as another type; else nullptr.
Ref loaded(Ref value) {
  while (value->is(Op::kCast)) value = value->args[0];
  return value->kind == Node::Kind::kLoad ? value : nullptr;
}

/// Elements of a piece from its `$u`th on, $read of them; 0 beyond the ends.
std::string fetch_of(nest::Nodes& nodes, const Packing& packing, Holes holes) {
  Printer printer(nodes);
  printer.indices = {
      {packing.batch, holes["batch"]}, {packing.line, holes["r"]}, {packing.inner, holes["k"]}};
  const std::string zero = from_float(packing.type, literal(0, packing.type));
  const Ref load = loaded(packing.value);
  // Of lines of a multiple of a piece, and of what a piece has of them.
  std::string inside;
  if (packing.turns) {
    inside = filled("$r < $lines && $k < $length", holes);
  } else if (packing.length % packing.width != 0) {
    inside = filled("$k < $length", holes);
  }
  const auto where_there = [&](const std::string& value, const std::string& nothing) {
    return inside.empty() ? value : fmt::format("{} ? {} : {}", inside, value, nothing);
  };
  if (packing.read == 1) {
    const bool plain = packing.value == load && load->type == packing.type;
    const std::string value =
        plain ? fmt::format("{}[{}]", load->name, printer.print_index(load->args[0]))
              : stored(printer, packing.type, packing.value);
    return filled("$made.at[$u] = $what;", [&] {
      holes["what"] = where_there(plain ? value : "(" + value + ")", zero);
      return holes;
    }());
  }
  holes["pack"] =
      fmt::format("{}pack<{}, {}>", holes["prefix"], type_name(load->type), packing.read);
  holes["what"] = where_there(fmt::format("*reinterpret_cast<const {}*>(&{}[{}])", holes["pack"],
                                          load->name, printer.print_index(load->args[0])),
                              holes["pack"] + "{}");
  const std::string element = filled("$more.at[$x]", holes);
  printer.known[load] = in_compute_type(load->type, element);
  holes["element"] = packing.value == load && load->type == packing.type
                         ? element
                         : stored(printer, packing.type, packing.value);
  return filled(R"(const $pack $more = $what;
#pragma unroll
for (int $x = 0; $x < $read; ++$x) $made.at[$u + $x] = $element;
)",
                holes);
}

}  // namespace

std::int64_t Packing::pitch() const {
  const std::int64_t line = tile::line_of(type);
  return nest::ceil_divide(length, line) * line;
}

Packing packing_of(const Contraction& c, const Operand& operand, ScalarType type) {
  nest::Nodes& nodes = *c.nodes;
  const bool is_a = operand.outer == c.m;
  const bool along_k = operand.along_k || size_of(type) != 2;
  const std::int64_t outer_size = is_a ? c.m_size : c.n_size;
  Packing packing;
  packing.name = is_a ? "a" : "b";
  packing.type = type;
  const bool narrow = is_narrow_float(type) && is_float(operand.value->type);
  const Ref value = narrow ? operand.value : nodes.cast(operand.value, ScalarType::kF32);
  packing.value = nodes.select(operand.mask, value, nodes.number(0, value->type));
  packing.batch = c.batch;
  packing.line = along_k ? operand.outer : operand.k;
  packing.inner = along_k ? operand.k : operand.outer;
  packing.batches = packing.value->uses(c.batch) ? c.batch_size : 1;
  packing.lines = along_k ? outer_size : c.k_size;
  packing.length = along_k ? c.k_size : outer_size;
  packing.turns = along_k && !operand.along_k;
  const bool plain = loaded(packing.value) != nullptr;
  const int side_by_side = plain ? operand.contiguous : 1;
  // A thread turns four lines; of f32 it moves one element where no four are read at once.
  packing.width = packing.turns ? 4 : 16 / static_cast<int>(size_of(type));
  if (type == ScalarType::kF32 && side_by_side < 4) packing.width = 1;
  packing.read = std::min(side_by_side, packing.width);
  return packing;
}

Operand packed_operand(nest::Nodes& nodes, const Packing& packing, const Operand& operand,
                       const std::string& prefix) {
  Ref line = nodes.index(packing.line);
  if (packing.batches > 1)
    line = nodes.add(nodes.scale(nodes.index(packing.batch), packing.lines), line);
  const Ref element = nodes.add(nodes.scale(line, packing.pitch()), nodes.index(packing.inner));
  return {.value = nodes.load(packing.buffer(prefix), packing.type, element),
          .mask = nodes.boolean(true),
          .type = packing.type,
          .outer = operand.outer,
          .k = operand.k,
          .along_k = packing.inner == operand.k,
          .contiguous = 16 / static_cast<int>(size_of(packing.type))};
}

void add_packing(nest::Nodes& nodes, const Packing& packing, const Goal& goal,
                 const std::string& prefix, Generated& generated) {
  const std::int64_t tiles_k = nest::ceil_divide(packing.length, side_of(packing));
  const std::int64_t tiles_lines = nest::ceil_divide(packing.lines, lines_of_block(packing));
  GeneratedLaunch launch{.kernel = prefix + "pack_" + packing.name,
                         .grid = {packing.batches * tiles_lines * tiles_k},
                         .block = {256}};
  std::string parameters;
  Names names;
  for_each(packing.value, [&](Ref node) {
    if (node->kind != Node::Kind::kLoad ||
        std::ranges::find(launch.args, node->name) != launch.args.end())
      return;
    launch.args.push_back(node->name);
    names.take(node->name);
    parameters += fmt::format("const {}* __restrict__ {}, ",
                              type_name(goal.buffer(node->name)->type), node->name);
  });
  launch.args.push_back(packing.buffer(prefix));

  Holes holes = {{"prefix", prefix},
                 {"name", packing.name},
                 {"type", type_name(packing.type)},
                 {"packed", packing.buffer(prefix)},
                 {"parameters", parameters},
                 {"side", std::to_string(side_of(packing))},
                 {"block_lines", std::to_string(lines_of_block(packing))},
                 {"tiles_k", std::to_string(tiles_k)},
                 {"tiles_lines", std::to_string(tiles_lines)},
                 {"lines", std::to_string(packing.lines)},
                 {"length", std::to_string(packing.length)},
                 {"pitch", std::to_string(packing.pitch())},
                 {"width", std::to_string(packing.width)},
                 {"read", std::to_string(packing.read)},
                 {"pieces", std::to_string(side_of(packing) / packing.width)}};
  holes["Piece"] = fmt::format("{}pack<{}, {}>", prefix, holes["type"], packing.width);
  for (const char* word : {"batch", "r", "k", "first_r", "first_k", "to_r", "to_k", "part", "j",
                           "u", "x", "at", "got", "made", "more", "turned", "tile"})
    holes[word] = names.fresh(word);
  const bool batched = packing.batches > 1;
  holes["in_batch"] =
      filled(batched ? "const int $batch = blockIdx.x / ($tiles_k * $tiles_lines);" : "", holes);
  holes["at_lines"] =
      filled(batched ? "blockIdx.x / $tiles_k % $tiles_lines" : "blockIdx.x / $tiles_k", holes);
  holes["to"] = filled(batched ? "($batch * $lines + $r) * $pitch" : "$r * $pitch", holes);
  holes["fetch"] = fetch_of(nodes, packing, holes);
  holes["pack"] = filled(packing.turns ? kTurnLines : kPackLines, holes);
  // The kernel's own text may have it.
  if (const std::string type = pack_type(prefix); !generated.source.contains(type))
    generated.source.insert(0, type);
  generated.source += filled(R"(
// Packs operand $name: its lines, as products read them, begin at lines of memory.
__global__ void __launch_bounds__(256) $prefixpack_$name($parameters$type* __restrict__ $packed) {
  $in_batch
  const int $first_r = $at_lines * $block_lines, $first_k = blockIdx.x % $tiles_k * $side;
  $pack
}
)",
                             holes);
  generated.launches.insert(generated.launches.begin(), std::move(launch));
  generated.scratch.push_back(scratch_of({packing.buffer(prefix),
                                          packing.type,
                                          {packing.batches * packing.lines, packing.pitch()},
                                          Role::kScratch,
                                          {}}));
}

}  // namespace hone::schedules::contract
