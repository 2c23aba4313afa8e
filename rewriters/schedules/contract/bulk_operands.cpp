#include "rewriters/schedules/contract/bulk_operands.h"

#include <algorithm>
#include <utility>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/neighbours.h"
#include "rewriters/affine/strides.h"
#include "rewriters/schedules/products.h"
#include "rewriters/tile/operands.h"

namespace hone::schedules::contract {

using nest::Node;

std::optional<Strides> strides_of(Ref element, SymbolId batch, SymbolId outer, SymbolId other) {
  if (element->kind != Node::Kind::kSum || element->constant != 0) return std::nullopt;
  const nest::Strides strides = nest::strides_in(element, {batch, outer, other});
  if (!strides.others.empty() || std::ranges::min(strides.of) < 0) return std::nullopt;
  return Strides{strides.of[0], strides.of[1], strides.of[2]};
}

std::optional<Strides> strides_of(const Contraction& c, const Operand& operand) {
  const Ref value = operand.value;
  if (value->kind != Node::Kind::kLoad || value->type != operand.type) return std::nullopt;
  if (!operand.mask->is_constant() || operand.mask->constant == 0) return std::nullopt;
  return strides_of(value->args[0], c.batch, operand.outer, operand.k);
}

namespace {

/// The view of one matrix, or where it is `batched` of `size` that are `stride` elements apart;
/// empty: no tensor map can be so.
std::optional<tile::View> of_batches(tile::View view, bool batched, std::int64_t size,
                                     std::int64_t stride) {
  if (batched) {
    view.shape.insert(view.shape.begin(), size);
    view.strides.insert(view.strides.begin(), stride);
    view.box.insert(view.box.begin(), 1);
  }
  if (!mistake_in(tile::tensor_map(view), view.type).empty()) return std::nullopt;
  return view;
}

}  // namespace

std::optional<tile::View> view_of(const Contraction& c, const Operand& operand, int rows) {
  const auto strides = strides_of(c, operand);
  if (!strides) return std::nullopt;
  const bool along_k = strides->other == 1;
  if (!along_k && (strides->outer != 1 || is_fp8(operand.type))) return std::nullopt;
  const std::int64_t tile_k = tile::line_of(operand.type);  // and of rows, where they are lines
  const bool is_a = operand.outer == c.m;
  tile::View view{.name = is_a ? "map_a" : "map_b",
                  .buffer = operand.value->name,
                  .type = operand.type,
                  .swizzle = 128};
  const std::int64_t outer_size = is_a ? c.m_size : c.n_size;
  view.shape = along_k ? std::vector{outer_size, c.k_size} : std::vector{c.k_size, outer_size};
  view.strides = {along_k ? strides->outer : strides->other};
  view.box = along_k ? std::vector{std::int64_t{rows}, tile_k} : std::vector{tile_k, tile_k};
  return of_batches(std::move(view), strides->batch != 0, c.batch_size, strides->batch);
}

bool reads(Ref value, const Contraction& c) {
  bool found = false;
  for_each(value, [&](Ref node) {
    found |= node->kind == Node::Kind::kLoad && node != c.sum && node->name == c.nest->buffer;
  });
  return found;
}

Ref added_to_output(const Contraction& c) {
  const Ref value = c.value;
  if (value->type != ScalarType::kF32 || c.nest->type != value->type || !value->is(Op::kAdd) ||
      value->args.size() != 2)
    return nullptr;
  for (const std::size_t own : {0, 1}) {
    const Ref load = value->args[own], other = value->args[1 - own];
    if (load->kind == Node::Kind::kLoad && load != c.sum && load->name == c.nest->buffer &&
        load->args[0] == c.element && other->type == value->type && !reads(other, c))
      return other;
  }
  return nullptr;
}

std::optional<tile::View> output_view(const Contraction& c) {
  const nest::Nest& nest = *c.nest;
  if ((size_of(nest.type) != 2 && added_to_output(c) == nullptr) || c.contiguous_n < 2 ||
      !c.guard->is_constant() || c.guard->constant == 0 || c.around)
    return std::nullopt;
  const auto strides = strides_of(c.element, c.batch, c.m, c.n);
  if (!strides || strides->other != 1 || c.m_size < 2) return std::nullopt;
  tile::View view{.name = "map_c",
                  .buffer = nest.buffer,
                  .type = nest.type,
                  .shape = {c.m_size, c.n_size},
                  .strides = {strides->outer},
                  .box = {64, tile::staged_columns(nest.type)},
                  .swizzle = 128};
  return of_batches(std::move(view), c.batch_size > 1, c.batch_size, strides->batch);
}

namespace {

/// Packed operands have to be in what any device has to spare.
constexpr std::int64_t kMostPacked = std::int64_t{1} << 29;  // [elements]

/// Where rows do not begin at lines of the L2, each box of 128 bytes takes two.
bool begins_at_lines(const tile::View& view) {
  return view.strides.back() * static_cast<std::int64_t>(size_of(view.type)) % 128 == 0;
}

/// `along_k`: as wgmma has to have it. Empty: the operand reads the output, and is to be packed.
std::optional<BulkOperand> way_of_operand(const Contraction& c, const Operand& operand,
                                          ScalarType type, bool along_k) {
  const auto view = operand.type == type ? view_of(c, operand, 64) : std::nullopt;
  BulkOperand way{.type = type};
  way.packs = !view || (along_k && strides_of(c, operand)->other != 1);
  way.may_pack = !way.packs && !begins_at_lines(*view) && operand.value->name != c.nest->buffer;
  if (!way.packs && !way.may_pack) return way;
  if (reads(operand.value, c) || reads(operand.mask, c)) return std::nullopt;
  way.elements = packing_of(c, operand, type).elements();
  const ScalarType from = operand.value->type;
  way.bytes =
      static_cast<double>(way.elements) * static_cast<double>(size_of(from) + size_of(type));
  return way;
}

/// wgmma's `a` and `b` as these types.
std::optional<BulkWay> without_patches(const Contraction& c, const Operand& a, ScalarType type_a,
                                       bool a_along_k, const Operand& b, ScalarType type_b,
                                       bool b_along_k) {
  const auto way_a = way_of_operand(c, a, type_a, a_along_k);
  const auto way_b = way_of_operand(c, b, type_b, b_along_k);
  if (!way_a || !way_b) return std::nullopt;
  BulkWay way{.a = *way_a, .b = *way_b, .turned = a.outer == c.n};
  if (way.packed() > kMostPacked) return std::nullopt;
  if (way.a.elements + way.b.elements > kMostPacked) way.a.may_pack = way.b.may_pack = false;
  return way;
}

/// One operand of f32 in patches, and the other one whatever it is; empty: not so.
std::optional<BulkWay> with_patches(const Contraction& c) {
  if (!c.patches || c.patches->buffer == c.nest->buffer) return std::nullopt;
  const Operand& other = c.patches_of_a ? c.b : c.a;
  if ((c.patches_of_a ? c.a : c.b).type != ScalarType::kF32) return std::nullopt;
  const auto tiling = tiling_of(*c.patches, 64);
  if (!tiling || reads(other.value, c) || reads(other.mask, c)) return std::nullopt;
  const std::int64_t packed = (c.patches_of_a ? c.n_size : c.m_size) * tiling->k_size();
  if (packed > kMostPacked) return std::nullopt;
  // f64 sums of so many terms at least are added up in f32 first.
  if (c.total_type != ScalarType::kF32 && c.patches->places() > 16) return std::nullopt;
  return BulkWay{
      .b = {.packs = true, .elements = packed, .bytes = static_cast<double>(packed) * 2 * 4},
      .turned = !c.patches_of_a,
      .in_patches = true};
}

std::optional<BulkWay> as_f32(const Contraction& c) {
  constexpr ScalarType kF32 = ScalarType::kF32;
  const auto straight = without_patches(c, c.a, kF32, false, c.b, kF32, true);
  const auto turned = without_patches(c, c.b, kF32, false, c.a, kF32, true);
  const auto best = [&] {
    if (!straight || !turned) return straight ? straight : turned;
    if (straight->packed() != turned->packed())
      return straight->packed() < turned->packed() ? straight : turned;
    return of_columns(c) ? turned : straight;
  }();
  if (best && best->packed() == 0) return best;
  const auto patches = with_patches(c);
  return patches && (!best || patches->packed() < best->packed()) ? patches : best;
}

}  // namespace

BulkWays bulk_ways_of(const Contraction& c) {
  constexpr ScalarType kBf16 = ScalarType::kBf16;
  const bool half = c.a.type == ScalarType::kF16 || c.a.type == kBf16;
  const bool same_half = half && c.a.type == c.b.type, fp8 = has_fp8(c);
  BulkWays ways;
  if (c.total_type != ScalarType::kF32 && !c.narrow_terms) return ways;
  // The tensor cores' own sums of 8-bit floats have fewer bits than f32: no f64 is made of them.
  if (same_half || (fp8 && c.total_type == ScalarType::kF32))
    ways.as_they_are = without_patches(c, c.a, c.a.type, fp8, c.b, c.b.type, fp8);
  if (same_half) return ways;
  ways.as_bf16 = without_patches(c, c.a, kBf16, false, c.b, kBf16, false);
  if (!fp8) ways.as_f32 = as_f32(c);
  return ways;
}

const std::optional<BulkWay>& way_of(const Contraction& c, Pipe pipe) {
  if (is_bulk_tf32(pipe)) return c.bulk.as_f32;
  return pipe == Pipe::kWgmmaBf16 ? c.bulk.as_bf16 : c.bulk.as_they_are;
}

BulkWay way_of(const Contraction& c, const Schedule& s) {
  BulkWay way = *way_of(c, s.pipe);
  way.a.packs = way.a.packs || s.pack_a;
  way.b.packs = way.b.packs || s.pack_b;
  return way;
}

bool of_columns(const Contraction& c) { return c.a.along_k && !c.b.along_k; }

Contraction transposed(const Contraction& c) {
  Contraction turned = c;
  std::swap(turned.a, turned.b);
  std::swap(turned.m, turned.n);
  std::swap(turned.m_size, turned.n_size);
  for (Bound& bound : turned.bounds) std::swap(bound.row, bound.column);
  turned.contiguous_n = longest_run(*c.nodes, c.element, turned.n, c.nest->type);
  return turned;
}

bool uses_patches(const Contraction& c, Pipe pipe) {
  return is_bulk_tf32(pipe) && c.bulk.as_f32->in_patches;
}

Contraction as_multiplied(const Contraction& c, const Schedule& s, const std::string& prefix) {
  if (!is_bulk(s.pipe)) return c;
  const BulkWay way = way_of(c, s);
  Contraction built = way.turned ? transposed(c) : c;
  if (way.in_patches) {
    const PatchTiling tiling = *tiling_of(*c.patches, s.bm);
    built.m_size = tiling.tiles() * s.bm;
    built.k_size = tiling.k_size();
  }
  const auto packed = [&](const Operand& operand, ScalarType type) {
    return packed_operand(*c.nodes, packing_of(built, operand, type), operand, prefix);
  };
  if (way.a.packs) built.a = packed(built.a, way.a.type);
  if (way.b.packs) built.b = packed(built.b, way.b.type);
  return built;
}

std::int64_t bulk_bytes(const Contraction& c, const Schedule& s) {
  const std::int64_t line = 128;  // [B] of k
  const std::int64_t made = is_thrice(s.pipe) ? kMadeStages * (line * s.bn + 16) : 0;
  const std::int64_t exchanged = s.share_by_cluster ? 4 * s.bm * s.bn + 16 : 0;
  if (!uses_patches(c, s.pipe)) return s.stages * (line * (s.bm + s.bn) + 16) + made + exchanged;
  const std::int64_t patch = tiling_of(*c.patches, s.bm)->box_elements() * 4;
  return kPatchStages * (ceil_divide(patch, 1024) * 1024 + 16) + s.stages * (line * s.bn + 16) +
         made;
}

double bulk_rate(const Contraction& c, const Operand& operand) {
  const auto view = view_of(c, operand, 64);
  return !view || begins_at_lines(*view) ? 60 : 25;
}

}  // namespace hone::schedules::contract
