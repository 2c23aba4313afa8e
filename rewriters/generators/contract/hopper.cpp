#include "rewriters/generators/contract/hopper.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"
#include "rewriters/generators/contract/emit.h"
#include "rewriters/generators/products.h"
#include "rewriters/generators/tile_kernel.h"
#include "rewriters/tile/operands.h"

namespace hone::generators::contract {
namespace {

using nest::Node;
using nest::Nodes;

/// How far neighbours are along batch, rows or columns, and another index [elements].
struct Strides {
  std::int64_t batch = 0, outer = 0, other = 0;
};

/// Of an element from the buffer's first one on; empty: it is made in other ways, too.
std::optional<Strides> strides_of(Ref element, SymbolId batch, SymbolId outer, SymbolId other) {
  if (element->kind != Node::Kind::kSum || element->constant != 0) return std::nullopt;
  const nest::Strides strides = nest::strides_in(element, {batch, outer, other});
  if (!strides.others.empty() || std::ranges::min(strides.of) < 0) return std::nullopt;
  return Strides{strides.of[0], strides.of[1], strides.of[2]};
}

/// Of an operand, the other index being k; empty: it is no plain load.
std::optional<Strides> strides_of(const Contraction& c, const Operand& operand) {
  const Ref value = operand.value;
  if (value->kind != Node::Kind::kLoad || value->type != operand.type) return std::nullopt;
  if (!operand.mask->is_constant() || operand.mask->constant == 0) return std::nullopt;
  return strides_of(value->args[0], c.batch, operand.outer, operand.k);
}

/// The operand for bulk copies of `rows` x a line of k; empty: it cannot be.
std::optional<tile::View> view_of(const Contraction& c, const Operand& operand, int rows) {
  const auto strides = strides_of(c, operand);
  if (!strides) return std::nullopt;
  const bool along_k = strides->other == 1;
  if (!along_k && (strides->outer != 1 || is_fp8(operand.type))) return std::nullopt;
  const std::int64_t tile_k = tile::line_of(operand.type);  // and of rows, where they are lines
  const bool is_a = operand.outer == c.m;
  tile::View view{.name = is_a ? "map_a" : "map_b",
                  .buffer = operand.value->op,
                  .type = operand.type,
                  .swizzle = 128};
  const std::int64_t outer_size = is_a ? c.m_size : c.n_size;
  view.shape = along_k ? std::vector{outer_size, c.k_size} : std::vector{c.k_size, outer_size};
  view.strides = {along_k ? strides->outer : strides->other};
  view.box = along_k ? std::vector{std::int64_t{rows}, tile_k} : std::vector{tile_k, tile_k};
  if (strides->batch != 0) {
    view.shape.insert(view.shape.begin(), c.batch_size);
    view.strides.insert(view.strides.begin(), strides->batch);
    view.box.insert(view.box.begin(), 1);
  }
  const ConcreteTensorMap map{0, view.shape, view.strides, view.box, view.swizzle};
  if (!mistake_in(spec_of(map, view.type, 0)).empty()) return std::nullopt;
  return view;
}

bool reads(Ref value, const Contraction& c) {
  bool found = false;
  for_each(value, [&](Ref node) {
    found |= node->kind == Node::Kind::kLoad && node != c.sum && node->op == c.nest->buffer;
  });
  return found;
}

/// What is added to the output's own element, where the value of f32 is no more than that, as in
/// C += A * B; nullptr: it is not.
Ref added_to_output(const Contraction& c) {
  const Ref value = c.value;
  if (value->type != ScalarType::kF32 || c.nest->type != value->type || !value->is("+") ||
      value->args.size() != 2)
    return nullptr;
  for (const std::size_t own : {0, 1}) {
    const Ref load = value->args[own], other = value->args[1 - own];
    if (load->kind == Node::Kind::kLoad && load != c.sum && load->op == c.nest->buffer &&
        load->args[0] == c.element && other->type == value->type && !reads(other, c))
      return other;
  }
  return nullptr;
}

/// Outputs as bulk copies write them or, f32, add to them, in boxes of 64 rows; empty: not so.
std::optional<tile::View> output_view(const Contraction& c) {
  const nest::Nest& nest = *c.nest;
  if ((size_of(nest.type) != 2 && added_to_output(c) == nullptr) || c.contiguous_n < 2 ||
      !c.guard->is_constant() || c.guard->constant == 0)
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
  if (c.batch_size > 1) {
    view.shape.insert(view.shape.begin(), c.batch_size);
    view.strides.insert(view.strides.begin(), strides->batch);
    view.box.insert(view.box.begin(), 1);
  }
  const ConcreteTensorMap map{0, view.shape, view.strides, view.box, view.swizzle};
  if (!mistake_in(spec_of(map, view.type, 0)).empty()) return std::nullopt;
  return view;
}

constexpr int kPatchStages = 2;  // of boxes: one comes while one is read

/// Stages of what is made of B as tf32.
constexpr int kMadeStages = 3;  // one is written, one multiplied, one may wait for a slow group

/// What the roles have in common: which tile of the output is next, and of which part of k.
struct Place {
  SymbolId batch = -1, m_first = -1, n_first = -1;
  SymbolId slice = -1;         ///< only where sums are split
  SymbolId row_of_tiles = -1;  ///< where copies bring A in patches, in place of m_first
};

class BulkBuilder {
 public:
  BulkBuilder(const Contraction& given, const Schedule& s, const Goal& goal,
              const std::string& prefix)
      : given_(given),
        c_(as_multiplied(given, s)),
        s_(s),
        goal_(goal),
        nodes_(*given.nodes),
        tile_k_(tile::line_of(given.a.type)),
        prefix_(prefix) {
    if (uses_patches(given, s.pipe)) {
      tiling_ = *tiling_of(*given.patches, s.bm);
      arrange_in_patches();
    }
    const Contraction& c = c_;
    // A cluster's blocks have neighbouring rows of tiles: one tile here.
    tiles_m_ = ceil_divide(c.m_size, s.bm * s.cluster);
    tiles_n_ = ceil_divide(c.n_size, s.bn);
    of_slice_ = tiles_m_ * tiles_n_ * c.batch_size;
    tiles_ = of_slice_ * s.split_k;
    const std::int64_t whole = tiling_ ? tiling_->groups * tile_k_ : tile_k_;  // of k, undivided
    k_each_ =
        s.split_k == 1 ? c.k_size : ceil_divide(ceil_divide(c.k_size, whole), s.split_k) * whole;
    program_.kernel = prefix + "contract";
    program_.prefix = prefix;
    program_.nodes = &nodes_;
    program_.cluster = s.cluster;
    const int sms = sms_for_clusters(goal, s.cluster);
    program_.grid = std::clamp<std::int64_t>(sms / s.cluster, 1, tiles_) * s.cluster;
    program_.comment = fmt::format(
        "{}{}: {} x {} tiles of the output, {} of k at a time, {} in shared memory at once. "
        "{}, {} of 128 threads multiply them; each block does every {}th tile.{}",
        given.describe(), is_turned() ? ", transposed" : "", s.bm, s.bn, tile_k_, s.stages,
        is_gathered(s.pipe) ? "A group of 128 threads writes those of one operand there"
                            : "A thread copies tiles there",
        s.bm == 64 ? "a group" : fmt::format("{} groups", s.bm / 64), program_.grid / s.cluster,
        (s.cluster == 1 ? "" : fmt::format(" {} blocks share their tiles of B.", s.cluster)) +
            (s.split_k == 1
                 ? ""
                 : fmt::format(" {} tiles share each sum, {} of k each.", s.split_k, k_each_)));
  }

  tile::Program build() {
    program_.block = nodes_.new_symbol("block", program_.grid);
    program_.group = nodes_.new_symbol("group", s_.bm / 64);
    program_.sums = {{"sums", s_.bn}};
    if (in_runs() || in_short_runs() || is_thrice(s_.pipe))
      program_.sums.push_back({"runs", s_.bn});
    if (!is_gathered(s_.pipe)) {
      const auto tile_of = [&](const char* name, const Operand& operand, int rows, bool along_k) {
        return tile::SharedTile{name, operand.type,
                                tile::wgmma_operand(rows, tile_k_, along_k, operand.type)};
      };
      program_.views = {tiling_ ? view_of_patches() : *view_of(c_, c_.a, s_.bm),
                        *view_of(c_, c_.b, s_.bn / s_.cluster)};
      a_along_k_ = !tiling_ && strides_of(c_, c_.a)->other == 1;
      b_along_k_ = strides_of(c_, c_.b)->other == 1;
      const tile::SharedTile tile_b = tile_of("tile_b", c_.b, s_.bn, b_along_k_);
      if (tiling_) {
        program_.rings = {{"patches", kPatchStages, {patch()}}, {"tiles", s_.stages, {tile_b}}};
      } else {
        program_.rings = {
            {"tiles", s_.stages, {tile_of("tile_a", c_.a, s_.bm, a_along_k_), tile_b}}};
      }
    }
    if (is_hopper_tf32(s_.pipe)) {
      if (makes_b()) add_tf32_ring();
      // Copies round what products read from where they bring it.
      if (!makes_b())
        for (tile::View& view : program_.views) view.as_tf32 = true;
    }
    if (reads_fragments()) {
      const int k = static_cast<int>(tile_k_);
      program_.fragments = {{"of_a", k, ScalarType::kF32}};
      if (is_thrice(s_.pipe)) {
        program_.fragments.push_back({"rest_of_a", k, ScalarType::kF32});
      } else if (tiling_ && tiling_->groups > 1) {
        program_.fragments.push_back({"next_of_a", k, ScalarType::kF32});
      }
    }
    stage_outputs();
    parameters();
    const auto [load_registers, math_registers] = registers();
    made_ring_ = is_gathered(s_.pipe) ? 0 : b_ring() + 1;
    if (is_gathered(s_.pipe)) {
      name_elements();
      program_.roles = {{.name = "gather", .registers = load_registers, .body = {gather()}}};
    } else {
      program_.roles = {
          {.name = "load",
           .registers = load_registers,
           .one_thread = true,
           .body = {tiling_ ? load_patches() : load()}}};
      if (makes_b())
        program_.roles.push_back(
            {.name = "split", .registers = kSplitRegisters, .body = {split()}});
    }
    program_.roles.push_back(
        {.name = "math", .warp_groups = s_.bm / 64, .registers = math_registers, .body = {math()}});
    return std::move(program_);
  }

  /// The launch before that packs B, where A is read in patches: in rows of k, as it goes through
  /// the window, with zeros where there is none.
  void add_packing(Generated& generated) {
    if (!tiling_) return;
    Printer printer(nodes_);
    printer.indices = {{c_.n, "n"}, {c_.k, "k"}};
    const std::int64_t all = c_.n_size * c_.k_size;
    GeneratedLaunch launch{.kernel = prefix_ + "pack_operand", .grid = {ceil_divide(all, 256)}, .block = {256}};
    std::string parameters;
    for (const std::string& name : read_by({packed_value_})) {
      launch.args.push_back(name);
      parameters +=
          fmt::format("const {}* __restrict__ {}, ", type_name(goal_.buffer(name)->type), name);
    }
    launch.args.push_back(packed());
    generated.source += filled(
        R"(
// Packs the operand that is the same for all tiles of the other one: rows of $k_size along k, in the order
// in which tiles go through it, and zeros where there is none.
__global__ void __launch_bounds__(256) $prefixpack_operand($parametersfloat* __restrict__ $packed) {
  const int number = blockIdx.x * 256 + threadIdx.x, n = number / $k_size, k = number % $k_size;
  if (n < $n_size) $packed[number] = $value;
}
)",
        {{"prefix", prefix_},
         {"packed", packed()},
         {"parameters", parameters},
         {"k_size", std::to_string(c_.k_size)},
         {"n_size", std::to_string(c_.n_size)},
         {"value", printer.print(packed_value_)}});
    generated.launches.insert(generated.launches.begin(), std::move(launch));
    Buffer buffer;
    buffer.name = packed();
    buffer.type = ScalarType::kF32;
    buffer.role = Role::kScratch;
    buffer.shape = {Expr(c_.n_size), Expr(c_.k_size)};
    generated.scratch.push_back(std::move(buffer));
  }

 private:
  [[nodiscard]] std::string packed() const { return prefix_ + "packed"; }
  Ref number(std::int64_t value) { return nodes_.integer(value); }
  Ref at(SymbolId symbol) { return nodes_.index(symbol); }
  /// Of the block in its cluster.
  Ref rank() { return nodes_.remainder(at(program_.block), number(s_.cluster)); }

  /// Registers that the copying threads leave to the others.
  [[nodiscard]] std::pair<int, int> registers() const {
    const bool gathers = is_gathered(s_.pipe), split = makes_b() && !gathers;
    const int groups = s_.bm / 64, all = groups + (split ? 2 : 1);
    const int each = tile::Limits().registers / (128 * all) / 8 * 8;
    if (groups == 1 && !split) return {0, 0};
    const int first = gathers ? 80 : 24;
    const int others = first + (split ? kSplitRegisters : 0);
    return {first, std::min(240, (each * all - others) / groups / 8 * 8)};
  }
  static constexpr int kSplitRegisters = 72;  ///< what the compiler takes where there are enough

  /// B as wgmma reads it, rounded to tf32; of three products what that leaves, and where B lies
  /// along k this alone, as wgmma reads the upper bits of B itself.
  void add_tf32_ring() {
    program_.rings.push_back({"made", is_gathered(s_.pipe) ? s_.stages : kMadeStages, {}});
    for (const char* name : {"big_b", "rest_of_b"}) {
      const bool rest = name[0] == 'r';
      if (rest ? !is_thrice(s_.pipe) : is_thrice(s_.pipe) && reads_b_itself()) continue;
      program_.rings.back().tiles.push_back(
          {name, ScalarType::kF32, tile::wgmma_operand(s_.bn, tile_k_, true, ScalarType::kF32)});
    }
  }
  /// wgmma reads B's upper bits where a copy has brought it.
  [[nodiscard]] bool reads_b_itself() const { return !is_gathered(s_.pipe) && b_along_k_; }
  /// Whether a role makes tf32 of B: its halves, or what wgmma is to read instead of it.
  [[nodiscard]] bool makes_b() const { return s_.splits || is_gathered(s_.pipe); }
  /// Whether wgmma has A in registers.
  [[nodiscard]] bool reads_fragments() const {
    return is_hopper_tf32(s_.pipe) && (makes_b() || !a_along_k_);
  }
  [[nodiscard]] bool is_turned() const { return c_.a.value != given_.a.value; }

  /// Rows and k as boxes of the tensor bring them; B as the launch before writes it.
  void arrange_in_patches() {
    const Patches& patches = *given_.patches;
    const SymbolId k = nodes_.new_symbol("k", tiling_->k_size());
    const SymbolId m = nodes_.new_symbol("m", tiling_->tiles() * s_.bm);
    const PatchDigits digits = digits_of_k(nodes_, patches, *tiling_, at(k));
    const nest::Nodes::Substitution of_k = {{c_.k, number_of(nodes_, patches.k, digits.digits)}};
    packed_value_ =
        nodes_.select(nodes_.both(digits.there, nodes_.substitute(c_.b.mask, of_k)),
                      nodes_.cast(nodes_.substitute(c_.b.value, of_k), ScalarType::kF32),
                      nodes_.number(0, ScalarType::kF32));
    const PatchDigits rows = digits_of_row(nodes_, patches, *tiling_, at(m));
    // By digits that stay below their extents first: so no number is made of them and divided again.
    std::vector<Ref> named;
    nest::Nodes::Substitution of_names;
    for (std::size_t i = 0; i < patches.rows.size(); ++i) {
      const SymbolId name = nodes_.new_symbol("digit", patches.rows[i]);
      named.push_back(at(name));
      of_names[name] = rows.digits[i];
    }
    const nest::Nodes::Substitution of_m = {{c_.m, number_of(nodes_, patches.rows, named)}};
    by_patches_ = [this, of_m, of_names](Ref value) {
      return nodes_.substitute(nodes_.substitute(value, of_m), of_names);
    };
    c_.value = by_patches_(c_.value);
    c_.element = by_patches_(c_.element);
    c_.guard = nodes_.both(rows.there, by_patches_(c_.guard));
    in_output_ = rows.there;
    c_.m = c_.a.outer = m;
    c_.k = c_.a.k = c_.b.k = k;
    c_.b.mask = nodes_.boolean(true);
    c_.b.value = nodes_.load(packed(), ScalarType::kF32,
                             nodes_.add(nodes_.scale(at(c_.n), tiling_->k_size()), at(k)));
  }
  tile::View view_of_patches() const {
    const Patches& patches = *given_.patches;
    tile::View view{.name = "map_a", .buffer = patches.buffer};
    for (const Patches::Dimension& one : patches.dimensions) {
      view.shape.push_back(one.extent);
      view.strides.push_back(one.stride);
      view.box.push_back(1);
    }
    view.strides.pop_back();
    const std::size_t rank = view.box.size();
    view.box[rank - 3] = tiling_->box_rows;
    view.box[rank - 2] = tiling_->channels;
    view.box[rank - 1] = tiling_->line;
    return view;
  }
  /// (input of the rows, channel)
  [[nodiscard]] tile::SharedTile patch() const {
    const PatchTiling& t = *tiling_;
    return {"patch", ScalarType::kF32,
            tile::Layout({{{t.line, 1}, {t.box_rows, t.channels * t.line}}, {{t.channels, t.line}}})};
  }
  /// Where B's tiles are.
  [[nodiscard]] int b_ring() const { return tiling_ ? 1 : 0; }
  /// Of a row of tiles, counted in steps, from the slice's first on.
  Ref step_at(const Place& place, SymbolId step) {
    const std::int64_t each = k_each_ / (tiling_->groups * tile_k_);
    return place.slice < 0 ? at(step)
                           : nodes_.add(nodes_.scale(at(place.slice), each), at(step));
  }
  SymbolId new_step() {
    return nodes_.new_symbol("step", k_each_ / (tiling_->groups * tile_k_));
  }
  tile::Loop over(SymbolId symbol, tile::Body body) {
    return {symbol, number(0), number(nodes_.extent(symbol)), number(1), std::move(body), ""};
  }

  /// For each step a box of A, and for each group of places a tile of B.
  tile::Operation load_patches() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_), step = new_step(),
                   group = nodes_.new_symbol("group", tiling_->groups);
    tile::Body body;
    const Place where = place(tile, body, true);
    const Ref here = step_at(where, step);
    tile::Body tiles = {
        {tile::Acquire{1}},
        {tile::BulkCopy{.ring = 1,
                        .tile = 0,
                        .view = 1,
                        .from = {at(where.n_first),
                                 nodes_.add(nodes_.scale(here, tiling_->groups * tile_k_),
                                            nodes_.scale(at(group), tile_k_))},
                        .to = {0, 0}}},
        {tile::Commit{1}}};
    body.push_back({over(step, {{tile::Acquire{0}},
                                {tile::BulkCopy{.ring = 0,
                                                .tile = 0,
                                                .view = 0,
                                                .from = place_of_box(nodes_, *given_.patches,
                                                                     *tiling_,
                                                                     at(where.row_of_tiles), here),
                                                .to = {0, 0}}},
                                {tile::Commit{0}},
                                {over(group, std::move(tiles))}})});
    return over_tiles(tile, std::move(body));
  }

  /// All of k for one tile of outputs.
  tile::Operation multiply_patches(Ref of_group) {
    const SymbolId step = new_step();
    tile::Body body = {{tile::Wait{0}}};
    if (is_thrice(s_.pipe)) {
      const SymbolId group = nodes_.new_symbol("group", tiling_->groups);
      tile::Body round;
      read_group(at(group), of_group, 0, round);
      round.push_back({tile::Wait{1}});
      multiply_fragments(round, nodes_.is_zero(nodes_.add(at(step), at(group))), {});
      body.push_back({over(group, std::move(round))});
    } else {
      multiply_in_pairs(step, of_group, body);
    }
    body.push_back({tile::Release{0}});
    if (in_runs() && !is_thrice(s_.pipe))
      body.push_back({tile::AddRuns{0, 1, nodes_.is_zero(at(step))}});
    return {over(step, std::move(body))};
  }
  /// What the next group of places in the window reads comes while the tensor cores are at this
  /// one's, in other registers: so groups go in pairs.
  void multiply_in_pairs(SymbolId step, Ref of_group, tile::Body& body) {
    const std::int64_t groups = tiling_->groups, last = groups - 1;
    const auto round = [&](tile::Body& body, Ref group, int from, Ref next) {
      tile::Body meanwhile;
      if (next != nullptr) read_group(next, of_group, 1 - from, meanwhile);
      body.push_back({tile::Wait{1}});
      multiply_fragments(body, nodes_.is_zero(nodes_.add(at(step), group)), std::move(meanwhile),
                         from);
    };
    read_group(number(0), of_group, 0, body);
    if (groups > 1) {
      const SymbolId pair = nodes_.new_symbol("pair", groups / 2);
      const Ref first = nodes_.scale(at(pair), 2), second = nodes_.add(first, number(1));
      Ref third = nodes_.add(first, number(2));
      if (groups % 2 == 0) third = nodes_.op("min", ScalarType::kI64, {third, number(last)});
      tile::Body rounds;
      round(rounds, first, 0, second);
      round(rounds, second, 1, third);
      body.push_back({over(pair, std::move(rounds))});
    }
    if (groups % 2 == 1) round(body, number(last), 0, nullptr);
  }
  /// What a group of places in the window reads, to these fragments and, of three products, the
  /// next ones.
  void read_group(Ref group, Ref of_group, int fragments, tile::Body& body) {
    const PatchSteps steps = steps_in_box(*given_.patches, *tiling_);
    const std::int64_t places = tile_k_ / tiling_->channels;
    for (std::int64_t i = 0; i < places; ++i) {
      const PatchDigits place =
          place_in_box(nodes_, *given_.patches, *tiling_,
                       nodes_.add(nodes_.scale(group, places), number(i)));
      body.push_back({tile::ReadPatch{.fragments = fragments,
                                      .rest = is_thrice(s_.pipe) ? fragments + 1 : -1,
                                      .ring = 0,
                                      .tile = 0,
                                      .first = static_cast<int>(i * tiling_->channels),
                                      .row = of_group,
                                      .from = place.digits[0],
                                      .there = place.there,
                                      .width = tiling_->width,
                                      .across = steps.across,
                                      .down = steps.down}});
    }
  }

  /// Where shared memory is left for it, outputs are copied in bulk, as many columns at a time as
  /// fit.
  void stage_outputs() {
    // Values that read the output's own buffer read it through a pointer.
    if (s_.split_k > 1) return;
    if (tiling_ && !in_runs() && s_.bn >= 32) {
      // Outputs of neighbouring rows lie side by side.
      for (int columns = s_.bn; columns >= 32; columns /= 2) {
        const tile::Staging staging{
            s_.bm / 64, {"turned", ScalarType::kF32, tile::turned_outputs(columns)}};
        if (program_.shared_bytes() + staging.warp_groups * staging.tile.bytes() >
            shared_limit(goal_))
          continue;
        program_.stagings = {staging};
        return;
      }
    }
    if (tiling_ || (added_to_output(c_) == nullptr && reads(c_.value, c_))) return;
    const auto view = output_view(c_);
    for (int columns = s_.bn; view && columns >= 64; columns /= 2) {
      const tile::Staging staging{
          s_.bm / 64, {"staged", c_.nest->type, tile::staged_outputs(columns, c_.nest->type)}};
      if (program_.shared_bytes() + staging.warp_groups * staging.tile.bytes() >
          shared_limit(goal_))
        continue;
      program_.stagings = {staging};
      program_.views.push_back(*view);
      return;
    }
  }

  /// Buffers that the output's value reads, and the output where it is written by threads.
  void parameters() {
    if (s_.split_k > 1) {
      if (is_gathered(s_.pipe)) read_parameters({c_.a.value, c_.a.mask, c_.b.value, c_.b.mask});
      program_.parameters.push_back({partial(), c_.total_type, true});
      return;
    }
    std::vector<Ref> values = {c_.value, c_.guard, c_.element};
    if (is_gathered(s_.pipe))
      values.insert(values.end(), {c_.a.value, c_.a.mask, c_.b.value, c_.b.mask});
    read_parameters(values);
    if (!stores_by_copies())
      program_.parameters.push_back({c_.nest->buffer, c_.nest->type, true});
  }
  [[nodiscard]] bool stores_by_copies() const {
    return !program_.stagings.empty() && !tiling_;
  }
  void read_parameters(const std::vector<Ref>& values) {
    for (const std::string& name : read_by(values))
      if (name != c_.nest->buffer)
        program_.parameters.push_back({name, goal_.buffer(name)->type, false});
  }

  /// Where the sums of each part of k go.
  [[nodiscard]] std::string partial() const { return program_.prefix + "partial"; }

  [[nodiscard]] std::vector<std::string> read_by(const std::vector<Ref>& values) const {
    std::vector<std::string> names;
    for (const Ref value : values) {
      for_each(value, [&](Ref node) {
        if (node->kind == Node::Kind::kLoad && node != c_.sum &&
            std::ranges::find(names, node->op) == names.end())
          names.push_back(node->op);
      });
    }
    return names;
  }

  /// Names for the place of the `tile`th tile. Blocks that run together go through s.group rows of
  /// tiles: what they read stays in the L2.
  Place place(SymbolId tile, tile::Body& body, bool copies = false) {
    const auto define = [&](const char* name, Ref value, std::int64_t extent) {
      const SymbolId symbol = nodes_.new_symbol(name, extent);
      body.push_back({tile::Define{symbol, value}});
      return symbol;
    };
    Place place;
    const std::int64_t of_batch = tiles_m_ * tiles_n_;
    Ref number_in = at(tile);
    if (s_.split_k > 1) {
      place.slice = define("slice", nodes_.divide(at(tile), number(of_slice_)), s_.split_k);
      const SymbolId in =
          define("in_slice", nodes_.remainder(at(tile), number(of_slice_)), of_slice_);
      number_in = at(in);
    }
    if (c_.batch_size > 1) {
      place.batch = define("batch_at", nodes_.divide(number_in, number(of_batch)), c_.batch_size);
      const SymbolId in =
          define("in_batch", nodes_.remainder(number_in, number(of_batch)), of_batch);
      number_in = at(in);
    }
    const std::int64_t group = std::min<std::int64_t>(s_.group, tiles_m_);
    const std::int64_t strip = group * tiles_n_;
    const Ref first_row = nodes_.scale(nodes_.divide(number_in, number(strip)), group);
    const Ref in_group = nodes_.remainder(number_in, number(strip));
    Ref row = nullptr, column = nullptr;
    if (tiles_m_ % group == 0) {
      row = nodes_.add(first_row, nodes_.remainder(in_group, number(group)));
      column = nodes_.divide(in_group, number(group));
    } else {
      const SymbolId rows_here =
          define("rows_here",
                 nodes_.op("min", ScalarType::kI64,
                           {number(group), nodes_.subtract(number(tiles_m_), first_row)}),
                 group + 1);
      row = nodes_.add(first_row, nodes_.remainder(in_group, at(rows_here)));
      column = nodes_.divide(in_group, at(rows_here));
    }
    row = nodes_.add(nodes_.scale(row, s_.cluster), rank());
    if (tiling_ && copies) {
      place.row_of_tiles = define("row_of_tiles", row, tiles_m_);
    } else {
      place.m_first = define("m_first", nodes_.scale(row, s_.bm), tiles_m_ * s_.cluster * s_.bm);
    }
    place.n_first = define("n_first", nodes_.scale(column, s_.bn), tiles_n_ * s_.bn);
    return place;
  }

  tile::Operation over_tiles(SymbolId tile, tile::Body body) {
    return {tile::Loop{tile, nodes_.divide(at(program_.block), number(s_.cluster)), number(tiles_),
                       number(program_.grid / s_.cluster), std::move(body), ""}};
  }
  tile::Loop over_k(SymbolId k, tile::Body body) {
    return {k, number(0), number(k_each_), number(tile_k_), std::move(body), ""};
  }

  /// Boxes of one operand at (batch, first, k).
  void copies(bool is_a, const Place& place, SymbolId k, tile::Body& body) {
    const tile::View& view = program_.views[is_a ? 0 : 1];
    const Ref first = at(is_a ? place.m_first : place.n_first);
    const Ref k_at =
        place.slice < 0 ? at(k) : nodes_.add(nodes_.scale(at(place.slice), k_each_), at(k));
    const bool along_k = tile::is_along_k(program_.rings[0].tiles[is_a ? 0 : 1]);
    const bool batched = view.shape.size() == 3;
    // Each block of a cluster copies its share of B, for all.
    const bool shared = !is_a && s_.cluster > 1;
    const int rows = (is_a ? s_.bm : s_.bn) / (shared ? s_.cluster : 1);
    const int each = along_k ? rows : static_cast<int>(tile_k_);
    for (int row = 0; row < rows; row += each) {
      tile::BulkCopy copy{.ring = 0, .tile = is_a ? 0 : 1, .view = is_a ? 0 : 1};
      if (batched) copy.from.push_back(at(place.batch));
      Ref outer = nodes_.add(first, number(row));
      if (shared) {
        outer = nodes_.add(outer, nodes_.scale(rank(), rows));
        copy.step_by_rank = {rows, 0};
      }
      copy.from.push_back(along_k ? outer : k_at);
      copy.from.push_back(along_k ? k_at : outer);
      copy.to = {row, 0};
      body.push_back({std::move(copy)});
    }
  }

  tile::Operation load() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_);
    const SymbolId k = nodes_.new_symbol("k_first", k_each_);
    tile::Body body;
    const Place where = place(tile, body, true);
    tile::Body round = {{tile::Acquire{0}}};
    copies(true, where, k, round);
    copies(false, where, k, round);
    round.push_back({tile::Commit{0}});
    body.push_back({over_k(k, std::move(round))});
    return over_tiles(tile, std::move(body));
  }

  tile::Operation math() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_);
    const SymbolId k = nodes_.new_symbol("k_first", k_each_);
    tile::Body body;
    const Place where = place(tile, body);
    const Ref of_group = s_.bm == 64 ? number(0) : nodes_.scale(at(program_.group), 64);
    const Ref fresh = nodes_.is_zero(at(k));
    if (tiling_) {
      body.push_back(multiply_patches(of_group));
    } else if (reads_fragments()) {
      if (is_gathered(s_.pipe)) body.push_back(gather_a(where, number(0), of_group));
      body.push_back(is_thrice(s_.pipe) || !in_runs()
                         ? tile::Operation{over_k(k, tf32_round(where, k, of_group))}
                         : over_runs(where, k, of_group));
    } else if (in_runs()) {
      body.push_back(over_runs(where, k, of_group));
    } else if (in_short_runs()) {
      tile::Loop loop = over_k(k, {{tile::Wait{0}},
                                   {tile::Multiply{1, 0, 0, 1, of_group, nodes_.boolean(true)}},
                                   {tile::Await{0}},
                                   {tile::Release{0}},
                                   {tile::AddRuns{0, 1, fresh, true}}});
      loop.comment = fmt::format(
          "The tensor cores' sums have 13 places: those of {} terms are added up in f32.", tile_k_);
      body.push_back({std::move(loop)});
    } else {
      body.push_back({over_k(k, {{tile::Wait{0}},
                                 {tile::Multiply{0, 0, 0, 1, of_group, fresh}},
                                 {tile::Advance{0, fresh}}})});
      body.push_back({tile::Drain{0}});
    }
    body.push_back({s_.split_k > 1 ? partial_store(where, of_group) : store(where, of_group)});
    return over_tiles(tile, std::move(body));
  }

  void name_elements() {
    using Order = tile::Elements::Order;
    const int k = static_cast<int>(tile_k_);
    program_.elements = {
        {"next_of_a", 64, k, Order::kFragments},
        {"next_of_b", s_.bn, k, c_.b.along_k ? Order::kAlongK : Order::kAlongRows}};
  }
  /// Reads the elements of an operand of `size` rows from (first, k) on; what lies beyond is 0.
  tile::Operation gather_of(int elements, const Operand& operand, const Place& where, Ref first,
                            Ref k, std::int64_t size) {
    const Ref k_at = where.slice < 0 ? k : nodes_.add(nodes_.scale(at(where.slice), k_each_), k);
    const auto reach = [&](Ref from, std::int64_t more) {
      const auto range = nodes_.range(from);
      return (range ? range->high : INT32_MAX) + more;
    };
    tile::Gather gather;
    gather.elements = elements;
    gather.row = first;
    gather.k = k_at;
    gather.row_symbol = nodes_.new_symbol("row", reach(first, program_.elements[elements].rows));
    gather.k_symbol = nodes_.new_symbol("k", reach(k_at, tile_k_));
    const Ref row = at(gather.row_symbol), of_k = at(gather.k_symbol);
    nest::Nodes::Substitution places = {{operand.outer, row}, {operand.k, of_k}};
    if (where.batch >= 0) places[c_.batch] = at(where.batch);
    Ref end = number(c_.k_size);
    if (where.slice >= 0) {
      const Ref next = nodes_.add(at(where.slice), number(1));
      end = nodes_.op("min", ScalarType::kI64, {end, nodes_.scale(next, k_each_)});
    }
    const Ref there =
        nodes_.both(nodes_.both(nodes_.less(row, number(size)), nodes_.less(of_k, end)),
                    nodes_.substitute(operand.mask, places));
    const Ref value = nodes_.cast(nodes_.substitute(operand.value, places), ScalarType::kF32);
    gather.value = nodes_.select(there, value, nodes_.number(0, ScalarType::kF32));
    return {std::move(gather)};
  }
  tile::Operation gather_a(const Place& where, Ref k, Ref of_group) {
    return gather_of(0, c_.a, where, nodes_.add(at(where.m_first), of_group), k, c_.m_size);
  }
  tile::Operation gather_b(const Place& where, Ref k) {
    return gather_of(1, c_.b, where, at(where.n_first), k, c_.n_size);
  }

  /// B to what wgmma reads of it, its elements read a tile ahead.
  tile::Operation gather() {
    const SymbolId tile = nodes_.new_symbol("tile", tiles_);
    const SymbolId k = nodes_.new_symbol("k_first", k_each_);
    tile::Body body;
    const Place where = place(tile, body);
    body.push_back(gather_b(where, number(0)));
    body.push_back({over_k(k, {{tile::Acquire{0}},
                               {tile::WriteTile{1, 0, 0, is_thrice(s_.pipe) ? 1 : -1}},
                               {tile::Commit{0}},
                               gather_b(where, nodes_.add(at(k), number(tile_k_)))})});
    return over_tiles(tile, std::move(body));
  }

  /// B to what wgmma reads of it.
  tile::Operation split() {
    const bool both = program_.rings[static_cast<std::size_t>(made_ring_)].tiles.size() == 2;
    const int big = both || !is_thrice(s_.pipe) ? 0 : -1;
    const int rest = !is_thrice(s_.pipe) ? -1 : both ? 1 : 0;
    return over_tiles(
        nodes_.new_symbol("tile", tiles_),
        {{over_k(nodes_.new_symbol("k_first", k_each_),
                 {{tile::Wait{b_ring()}},
                  {tile::Acquire{made_ring_}},
                  {tile::SplitTile{b_ring(), tiling_ ? 0 : 1, made_ring_, big, rest}},
                  {tile::Commit{made_ring_}},
                  {tile::Release{b_ring()}}})}});
  }

  /// One tile of k as tf32.
  tile::Body tf32_round(const Place& where, SymbolId k, Ref of_group) {
    const Ref fresh = nodes_.is_zero(at(k));
    const bool gathered = is_gathered(s_.pipe), thrice = is_thrice(s_.pipe);
    tile::Body body, meanwhile;
    if (gathered) {
      body.push_back({tile::RoundElements{0, 0, thrice ? 1 : -1}});
      // The next elements are on their way while the tensor cores are at these.
      meanwhile.push_back(gather_a(where, nodes_.add(at(k), number(tile_k_)), of_group));
    } else {
      body.push_back({tile::Wait{0}});
      body.push_back({tile::ReadFragments{0, thrice ? 1 : -1, 0, 0, of_group, !makes_b()}});
      if (!multiplies_copies()) body.push_back({tile::Release{0}});
    }
    multiply_fragments(body, fresh, std::move(meanwhile));
    return body;
  }
  /// wgmma reads the ring of copies, too, or alone.
  [[nodiscard]] bool multiplies_copies() const {
    return !is_gathered(s_.pipe) && (!makes_b() || (b_along_k_ && is_thrice(s_.pipe)));
  }
  /// Fragments by the tile of B whose copy has come: once, or the three products of halves that
  /// matter, the small ones first. `fresh`: the first of all. `from`: which fragments.
  void multiply_fragments(tile::Body& body, Ref fresh, tile::Body meanwhile, int from = 0) {
    const bool thrice = is_thrice(s_.pipe), itself = multiplies_copies();
    const int sums = thrice || in_runs() ? 1 : 0, big_tile = tiling_ ? 0 : 1;
    if (makes_b()) body.push_back({tile::Wait{made_ring_}});
    const int big_ring = itself ? b_ring() : made_ring_, big = itself ? big_tile : 0;
    if (thrice) {
      const Ref begins = in_runs() ? fresh : nodes_.boolean(true);
      body.push_back({tile::Multiply{sums, big_ring, 0, big, nullptr, begins, -1, from + 1}});
      body.push_back({tile::Multiply{sums, made_ring_, 0, itself ? 0 : 1, nullptr, nullptr, -1, from}});
    }
    body.push_back(
        {tile::Multiply{sums, big_ring, 0, big, nullptr, thrice ? nullptr : fresh, -1, from}});
    std::ranges::move(meanwhile, std::back_inserter(body));
    body.push_back({tile::Await{0}});
    if (itself) body.push_back({tile::Release{b_ring()}});
    if (makes_b()) body.push_back({tile::Release{made_ring_}});
    if (thrice) body.push_back({tile::AddRuns{0, 1, fresh, !in_runs()}});
  }

  /// Runs of a few tiles of k, each of which ends before its sums are added up.
  tile::Operation over_runs(const Place& where, SymbolId k, Ref of_group) {
    const std::int64_t length = std::min<std::int64_t>(tiles_of_run(s_) * tile_k_, k_each_);
    const SymbolId run = nodes_.new_symbol("run", k_each_);
    Ref end = nodes_.add(at(run), number(length));
    if (k_each_ % length != 0) end = nodes_.op("min", ScalarType::kI64, {end, number(k_each_)});
    const bool tf32 = reads_fragments();
    tile::Body round = {{tile::Wait{0}},
                        {tile::Multiply{1, 0, 0, 1, of_group, nodes_.is_zero(at(k))}},
                        {tile::Advance{0, nodes_.is_zero(nodes_.subtract(at(k), at(run)))}}};
    if (tf32) round = tf32_round(where, k, of_group);
    tile::Body body = {{tile::Loop{k, at(run), end, number(tile_k_), std::move(round), ""}}};
    if (!tf32) body.push_back({tile::Drain{0}});
    body.push_back({tile::AddRuns{0, 1, nodes_.is_zero(at(run))}});
    return {tile::Loop{run, number(0), number(k_each_), number(length), std::move(body),
                       fmt::format("Terms are added in f32 in runs of {}.", length)}};
  }
  [[nodiscard]] bool in_runs() const { return adds_in_runs(c_, s_.pipe); }
  [[nodiscard]] bool in_short_runs() const { return adds_in_short_runs(c_, s_.pipe); }

  [[nodiscard]] tile::Store store_at(const Place& where, Ref of_group) {
    return {.sums = 0,
            .runs = in_runs() ? 1 : -1,
            .row = nodes_.add(at(where.m_first), of_group),
            .column = at(where.n_first),
            .row_symbol = c_.m,
            .column_symbol = c_.n,
            .rows = c_.m_size,
            .columns = c_.n_size,
            .sum = c_.sum};
  }

  tile::Store store(const Place& where, Ref of_group) {
    tile::Store store = store_at(where, of_group);
    store.buffer = c_.nest->buffer;
    store.type = c_.nest->type;
    store.contiguous = c_.contiguous_n;
    nest::Nodes::Substitution batch;
    if (where.batch >= 0) batch[c_.batch] = at(where.batch);
    const Ref added = stores_by_copies() ? added_to_output(c_) : nullptr;
    store.adds = added != nullptr;
    store.value = nodes_.substitute(store.adds ? added : c_.value, batch);
    store.element = nodes_.substitute(c_.element, batch);
    store.guard = nodes_.substitute(c_.guard, batch);
    store.beside = inputs_beside(nodes_, store);
    if (program_.stagings.empty()) return store;
    store.staging = 0;
    if (!stores_by_copies()) return store;
    store.view = static_cast<int>(program_.views.size()) - 1;
    store.to = {store.row, store.column};
    if (program_.views.back().shape.size() == 3) store.to.insert(store.to.begin(), at(where.batch));
    return store;
  }

  /// The sums themselves, as [slice, batch, m, n].
  tile::Store partial_store(const Place& where, Ref of_group) {
    tile::Store store = store_at(where, of_group);
    store.buffer = partial();
    store.type = c_.total_type;
    store.contiguous = !is_turned() && !tiling_ && c_.n_size % 2 == 0 ? 2 : 1;
    store.value = c_.sum;
    store.guard = tiling_ ? in_output_ : nodes_.boolean(true);
    Ref matrix = nodes_.scale(at(where.slice), c_.batch_size);
    if (where.batch >= 0) matrix = nodes_.add(matrix, at(where.batch));
    store.element = nodes_.add(
        nodes_.scale(nodes_.add(nodes_.scale(matrix, given_.m_size), at(given_.m)), given_.n_size),
        at(given_.n));
    if (tiling_) store.element = by_patches_(store.element);
    return store;
  }

  const Contraction& given_;
  Contraction c_;  ///< rows and columns as wgmma has them
  const Schedule& s_;
  const Goal& goal_;
  Nodes& nodes_;
  const std::int64_t tile_k_;  ///< 128 bytes, as wide as a swizzle
  std::int64_t tiles_m_ = 0, tiles_n_ = 0, tiles_ = 0;
  std::int64_t of_slice_ = 0;  ///< tiles
  std::int64_t k_each_ = 0;    ///< of each tile
  const std::string prefix_;
  bool a_along_k_ = false, b_along_k_ = false;  ///< in tiles that copies bring
  // Where A is read in patches: how; B as it is packed, over c_.n and c_.k; whether there is such
  // an output; and a value over rows of the output as one over rows of tiles.
  std::optional<PatchTiling> tiling_;
  int made_ring_ = 1;  ///< of what a role makes of B
  Ref packed_value_ = nullptr, in_output_ = nullptr;
  std::function<Ref(Ref)> by_patches_;
  tile::Program program_;
};

}  // namespace

bool has_bulk_operands(const Contraction& c) {
  const bool half = c.a.type == ScalarType::kF16 || c.a.type == ScalarType::kBf16;
  const bool fp8 = is_fp8(c.a.type) && is_fp8(c.b.type) && c.total_type == ScalarType::kF32;
  const bool same_half =
      half && c.a.type == c.b.type && (c.total_type == ScalarType::kF32 || c.narrow_terms);
  return (fp8 || same_half) && view_of(c, c.a, 64).has_value() && view_of(c, c.b, 64).has_value();
}

bool has_plain_f32(const Contraction& c) {
  return c.a.type == ScalarType::kF32 && c.b.type == ScalarType::kF32 &&
         view_of(c, c.a, 64).has_value() && view_of(c, c.b, 64).has_value();
}

bool has_bulk_f32(const Contraction& c) {
  if (c.total_type != ScalarType::kF32 && !c.narrow_terms) return false;
  if (has_plain_f32(c)) return true;
  if (!c.patches || !tiling_of(*c.patches, 64)) return false;
  const Operand& other = c.patches_of_a ? c.b : c.a;
  return other.type == ScalarType::kF32 && !reads(other.value, c) && !reads(other.mask, c) &&
         c.patches->buffer != c.nest->buffer;
}

bool has_gathered_f32(const Contraction& c) {
  const auto is_f32 = [&](const Operand& operand) {
    return operand.type == ScalarType::kF32 && !reads(operand.value, c) && !reads(operand.mask, c);
  };
  return is_f32(c.a) && is_f32(c.b);
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
  return is_hopper_tf32(pipe) && !is_gathered(pipe) && !has_plain_f32(c);
}

namespace {

/// Whether the operand that stays in shared memory lies along k there.
bool reads_along_k(const Contraction& c) {
  if (!has_plain_f32(c)) return true;
  return strides_of(c, of_columns(c) ? c.a : c.b)->other == 1;
}

}  // namespace

bool splits_tiles(const Contraction& c, Pipe pipe) {
  return is_hopper_tf32(pipe) && !is_gathered(pipe) && (is_thrice(pipe) || !reads_along_k(c));
}

Contraction as_multiplied(const Contraction& c, const Schedule& s) {
  if (!is_hopper_tf32(s.pipe)) return c;
  if (!uses_patches(c, s.pipe)) return of_columns(c) ? transposed(c) : c;
  Contraction turned = c.patches_of_a ? c : transposed(c);
  const PatchTiling tiling = *tiling_of(*c.patches, s.bm);
  turned.m_size = tiling.tiles() * s.bm;
  turned.k_size = tiling.k_size();
  return turned;
}

std::int64_t tf32_bytes(const Contraction& c, const Schedule& s) {
  if (is_gathered(s.pipe))
    return s.stages * (std::int64_t{128} * s.bn * (is_thrice(s.pipe) ? 2 : 1) + 16);
  const int tiles = !s.splits ? 0 : is_thrice(s.pipe) && !reads_along_k(c) ? 2 : 1;
  const std::int64_t line = 128;  // [B] of k
  const std::int64_t made = s.splits ? kMadeStages * (line * tiles * s.bn + 16) : 0;
  if (!uses_patches(c, s.pipe)) return s.stages * (line * (s.bm + s.bn) + 16) + made;
  const std::int64_t patch = tiling_of(*c.patches, s.bm)->box_elements() * 4;
  return kPatchStages * (ceil_divide(patch, 1024) * 1024 + 16) +
         s.stages * (line * s.bn + 16) + made;
}

double bulk_rate(const Contraction& c, const Operand& operand) {
  const auto view = view_of(c, operand, 64);
  const std::int64_t row =
      view ? view->strides.back() * static_cast<std::int64_t>(size_of(operand.type)) : 0;
  return row % 128 == 0 ? 60 : 25;
}

tile::Program bulk_program(const Contraction& c, const Schedule& s, const Goal& goal,
                           const std::string& prefix) {
  return BulkBuilder(c, s, goal, prefix).build();
}

Result<Generated> generate_bulk(const Contraction& c, const Schedule& s, const Goal& goal,
                                const std::string& prefix) {
  BulkBuilder builder(c, s, goal, prefix);
  auto generated = kernel_of(builder.build(), goal);
  if (!generated) return generated;
  builder.add_packing(*generated);
  if (s.split_k == 1) return generated;
  const Emitter emit(c, s, goal, prefix);
  generated->source += emit.second_kernel();
  generated->launches.push_back(emit.second_launch());
  generated->scratch.push_back(emit.partial_sums());
  return generated;
}

}  // namespace hone::generators::contract
