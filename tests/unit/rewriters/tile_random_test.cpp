// Random tile programs, and the nests that they compute: products whose sums are mapped, reduced
// and multiplied again. HONE_RANDOM_TILES says how many, HONE_RANDOM_FIRST the first one's number.
#include <fmt/format.h>

#include <cstdlib>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/products.h"
#include "rewriters/schedules/tile_kernel.h"
#include "rewriters/tile/operands.h"
#include "tests/unit/rewriters/generator_harness.h"
#include "tests/unit/rewriters/random_tiles.h"

namespace hone::tile {
namespace {

using schedules::ceil_divide;

/// Where a tile of the output is.
struct Place {
  Ref batch = nullptr, m_first = nullptr, n_first = nullptr;
};

/// How the values of sums go on: each a function of (value, row, column).
using Map = std::function<Ref(Ref, Ref, Ref)>;

class RandomProgram : public DrawnTiles {
 public:
  explicit RandomProgram(unsigned seed) : DrawnTiles(seed) {
    make_program();
    make_nest();
  }

  Program p;
  /// What was drawn.
  [[nodiscard]] std::string describe() const {
    return fmt::format(
        "{} {} m {} n {} k {} batches {}, tiles {} x {} x {}, {} groups, cluster {}, stages {}, "
        "along k {} {} {}, {} rings, {}{}{}{}{}{}{}{}",
        chain_ ? "chain" : "product",
        fmt::format("{} x {}", to_string(a_type_), to_string(b_type_)), m_, n_, k_, batches_, rows_,
        columns_, tile_k_, groups_, cluster_, stages_, a_.along_k, b_.along_k, c_.along_k,
        p.rings.size(), advances_ ? "advances " : "",
        forget_ ? "runs that are forgotten "
        : runs_ ? "runs "
                : "",
        turns_ ? "turns " : "", staged_ ? "staged " : "", guarded_ ? "guarded " : "",
        turned_ ? "turned " : "", reduction_ ? info(*reduction_).name : "",
        tf32_ ? thrice_ ? " tf32x3" : " tf32" : "");
  }

 private:
  Ref number(std::int64_t value) { return nodes.integer(value); }
  Ref real(double value) { return nodes.number(value, ScalarType::kF32); }
  Ref at(SymbolId symbol) { return nodes.index(symbol); }
  Ref f32(const char* name, std::vector<Ref> args) {
    return nodes.call(name, ScalarType::kF32, std::move(args));
  }
  Ref least(Ref x, Ref y) { return nodes.op(Op::kMin, ScalarType::kI64, {x, y}); }
  Ref rank() { return nodes.remainder(at(p.block), number(cluster_)); }
  Ref of_group() { return groups_ == 1 ? number(0) : nodes.scale(at(p.group), 64); }

  // --- Copies -----------------------------------------------------------------------------------

  void add_matrix(const Matrix& matrix, Ring& ring) {
    buffer(matrix.name, matrix.type, batches_ * matrix.rows * matrix.k, hone::Role::kIn);
    // Whole numbers, so that sums are exact.
    for (double& value : contents[matrix.name]) value = below(7) - 3;
    // Of one operand such that tf32 does not hold, as the product of both rests is left out.
    if (thrice_ && (matrix.name == "A") == rest_of_a_)
      for (double& value : contents[matrix.name]) value += 4096 * (below(3) - 1);
    ring.tiles.push_back(
        {"tile_" + matrix.name, matrix.type,
         wgmma_operand(matrix.tile_rows, matrix.tile_k, matrix.along_k, matrix.type)});
    View view{
        .name = "map_" + matrix.name, .buffer = matrix.name, .type = matrix.type, .swizzle = 128};
    view.shape =
        matrix.along_k ? std::vector{matrix.rows, matrix.k} : std::vector{matrix.k, matrix.rows};
    view.strides = {view.shape[1]};
    view.box = {matrix.shared    ? parts(matrix)
                : matrix.along_k ? matrix.tile_rows
                                 : matrix.tile_k,
                line_of(matrix.type)};
    if (batches_ > 1) {
      view.shape.insert(view.shape.begin(), batches_);
      view.strides.insert(view.strides.begin(), matrix.rows * matrix.k);
      view.box.insert(view.box.begin(), 1);
    }
    p.views.push_back(std::move(view));
  }

  /// The tile at (row, k) of that batch.
  void copy(const Matrix& matrix, int ring, int tile, int view, Ref batch, Ref row, Ref k,
            Body& body) {
    const std::int64_t across = matrix.along_k ? matrix.tile_k : matrix.tile_rows;
    for (std::int64_t band = 0; band < across; band += line_of(matrix.type)) {
      BulkCopy one{.ring = ring, .tile = tile, .view = view, .to = {0, band}};
      if (batches_ > 1) one.from.push_back(batch);
      Ref line = matrix.along_k ? row : k;
      if (matrix.shared) {
        line = nodes.add(line, nodes.scale(rank(), parts(matrix)));
        one.step_by_rank = {parts(matrix), 0};
      }
      one.from.push_back(line);
      one.from.push_back(nodes.add(matrix.along_k ? k : row, number(band)));
      if (!matrix.along_k) {
        std::ranges::reverse(one.to);
        std::ranges::reverse(one.step_by_rank);
      }
      body.push_back({std::move(one)});
    }
    // Now and then one more, which nobody reads.
    if (tile == 0 && ring == 0 && spare_ >= 0) {
      BulkCopy more{.ring = 0, .tile = spare_, .view = static_cast<int>(p.views.size()) - 1};
      if (batches_ > 1) more.from.push_back(batch);
      more.from.insert(more.from.end(), {number(1), number(8)});
      more.to = {0, 0};
      body.push_back({std::move(more)});
    }
  }

  /// A tile of another swizzle in the first ring, and its view, the last one.
  void add_spare() {
    if (fp8_ || tf32_ || below(3) != 0) return;
    const int swizzle = one_of({0, 32, 64, 128});
    const std::int64_t width = swizzle == 0 ? 24 : swizzle / 2;
    spare_ = static_cast<int>(p.rings[0].tiles.size());
    p.rings[0].tiles.push_back({"spare", type_, Layout({{{32, width}}, {{width, 1}}}, swizzle)});
    View view = p.views[0];
    view.name = "map_spare";
    view.swizzle = swizzle;
    view.box.back() = width;
    view.box[view.box.size() - 2] = 32;
    p.views.push_back(std::move(view));
  }

  // --- The program ------------------------------------------------------------------------------

  void make_program() {
    tiles_m_ = ceil_divide(m_, rows_ * cluster_);
    out_columns_ = chain_ ? e_ : n_;
    out_tile_ = chain_ ? tile_e_ : columns_;
    tiles_n_ = ceil_divide(out_columns_, out_tile_);
    tiles_ = tiles_m_ * tiles_n_ * batches_;
    const std::int64_t clusters = std::min<std::int64_t>(1 + below(3), tiles_);
    p.kernel = "g_test";
    p.prefix = "g_";
    p.nodes = &nodes;
    p.cluster = cluster_;
    p.grid = clusters * cluster_;
    p.block = nodes.new_symbol("block", p.grid);
    p.group = nodes.new_symbol("group", groups_);
    make_rings();
    buffer("bias", ScalarType::kF32, out_columns_, hone::Role::kIn);
    for (double& value : contents["bias"]) value = below(9) - 4;
    p.parameters = {{"bias", ScalarType::kF32, false}};
    buffer("Y", out_, batches_ * m_ * out_columns_, hone::Role::kOut);
    sum_ = nodes.load("%sum", ScalarType::kF32, number(0));
    draw_maps();
    const bool given = groups_ == 2 && !tf32_ && coin();
    p.roles = {{.name = "load", .registers = given ? 24 : 0, .one_thread = true},
               {.name = "math", .warp_groups = groups_, .registers = given ? 240 : 0}};
    for (const bool loads : {true, false}) {
      const SymbolId tile = nodes.new_symbol("tile", tiles_);
      Body body;
      const Place here = place(tile, body);
      if (loads)
        chain_ ? load_chain(here, body) : load_product(here, body);
      else
        chain_ ? math_chain(here, body) : math_product(here, body);
      p.roles[loads ? 0 : 1].body = {{Loop{tile, nodes.divide(at(p.block), number(cluster_)),
                                           number(tiles_), number(clusters), std::move(body), ""}}};
    }
    if (!thrice_) return;
    Body body;
    body.push_back(loop("k_first", k_, tile_k_, [&](Ref, Body& round) {
      round = {{Wait{0}}, {Acquire{1}}, {SplitTile{0, 1, 1, 0}}, {Commit{1}}, {Release{0}}};
    }));
    const SymbolId tile = nodes.new_symbol("tile", tiles_);
    p.roles.push_back({.name = "split",
                       .body = {{Loop{tile, at(p.block), number(tiles_), number(clusters),
                                      std::move(body), ""}}}});
  }

  /// A in registers, and of three products what they leave of B.
  void make_tf32() {
    p.fragments = {{"of_a", tile_k_, ScalarType::kF32}};
    if (!thrice_) return;
    p.fragments.push_back({"rest_of_a", tile_k_, ScalarType::kF32});
    p.rings.push_back({"made", 1 + below(3), {}});
    p.rings.back().tiles = {
        {"rest", ScalarType::kF32, wgmma_operand(columns_, tile_k_, true, ScalarType::kF32)}};
  }

  /// One tile of k in tf32.
  void tf32_round(Ref fresh, Body& to) {
    to.insert(to.end(), {{Wait{0}}, {ReadFragments{0, thrice_ ? 1 : -1, 0, 0, of_group()}}});
    if (thrice_) to.push_back({Wait{1}});
    Multiply big{.sums = runs_ ? 1 : 0, .ring = 0, .b = 1, .fresh = fresh, .fragments = 0};
    multiply(big, to);
    if (thrice_) {
      big.fresh = nullptr;
      big.fragments = 1;
      multiply(big, to);
      multiply({.sums = big.sums, .ring = 1, .b = 0, .fragments = 0}, to);
    }
    to.push_back({Await{0}});
    to.push_back({Release{0}});
    if (thrice_) to.push_back({Release{1}});
  }

  void make_rings() {
    if (chain_) {
      p.rings = {{"a", 1, {}}, {"b", stages_, {}}, {"c", 1 + below(3), {}}};
      add_matrix(a_, p.rings[0]);
      add_matrix(b_, p.rings[1]);
      add_matrix(c_, p.rings[2]);
      p.sums = {{"scores", columns_}, {"sums", tile_e_}};
      p.fragments = {{"weights", columns_, type_}};
    } else {
      p.rings = {{"tiles", stages_, {}}};
      rest_of_a_ = coin();
      if (!tf32_ && coin())
        p.rings.push_back({"others", advances_ ? 2 + below(2) : 1 + below(3), {}});
      add_matrix(a_, p.rings.front());
      add_matrix(b_, p.rings.back());
      p.sums = {{"sums", columns_}};
      if (runs_) p.sums.push_back({"runs", columns_});
      if (tf32_) make_tf32();
    }
    add_spare();
    // What fits, in all stages.
    for (Ring& ring : p.rings)
      while (p.shared_bytes() > 160 * 1024 && ring.stages > (advances_ ? 2 : 1)) --ring.stages;
    const bool narrow = size_of(out_) == 2 && out_columns_ % 8 == 0 && out_tile_ % 64 == 0;
    staged_ = narrow && !guarded_ && !turned_ && m_ > 1 && coin();
    if (staged_) {
      p.stagings = {
          {groups_,
           {"staged", out_, wgmma_operand(64, out_tile_ % 128 == 0 && coin() ? 128 : 64, true)}}};
      View view{.name = "map_y", .buffer = "Y", .type = out_, .swizzle = 128};
      view.shape = {m_, out_columns_};
      view.strides = {out_columns_};
      view.box = {64, 64};
      if (batches_ > 1) {
        view.shape.insert(view.shape.begin(), batches_);
        view.strides.insert(view.strides.begin(), m_ * out_columns_);
        view.box.insert(view.box.begin(), 1);
      }
      p.views.push_back(std::move(view));
      staged_view_ = static_cast<int>(p.views.size()) - 1;
      if (spare_ >= 0) std::swap(p.views[p.views.size() - 2], p.views.back()), --staged_view_;
    }
  }

  Place place(SymbolId tile, Body& body) {
    const auto define = [&](const char* name, Ref value, std::int64_t extent) {
      const SymbolId symbol = nodes.new_symbol(name, extent);
      body.push_back({Define{symbol, value}});
      return at(symbol);
    };
    Place place;
    const Ref row = nodes.remainder(nodes.divide(at(tile), number(tiles_n_)), number(tiles_m_));
    const Ref of_cluster = nodes.add(nodes.scale(row, cluster_), rank());
    place.batch = number(0);
    if (batches_ > 1)
      place.batch = define("batch", nodes.divide(at(tile), number(tiles_n_ * tiles_m_)), batches_);
    place.m_first = define("m_first", nodes.scale(of_cluster, rows_), tiles_m_ * cluster_ * rows_);
    place.n_first =
        define("n_first", nodes.scale(nodes.remainder(at(tile), number(tiles_n_)), out_tile_),
               tiles_n_ * out_tile_);
    return place;
  }

  Operation loop(const char* name, std::int64_t extent, std::int64_t step,
                 const std::function<void(Ref, Body&)>& fill) {
    const SymbolId symbol = nodes.new_symbol(name, extent);
    Body body;
    fill(at(symbol), body);
    return {Loop{symbol, number(0), number(extent), number(step), std::move(body), ""}};
  }

  void load_product(const Place& here, Body& body) {
    const int last = tf32_ ? 0 : static_cast<int>(p.rings.size()) - 1;
    body.push_back(loop("k_first", k_, tile_k_, [&](Ref k, Body& round) {
      round.push_back({Acquire{0}});
      copy(a_, 0, 0, 0, here.batch, here.m_first, k, round);
      if (last > 0) round.insert(round.end(), {{Commit{0}}, {Acquire{last}}});
      copy(b_, last, last > 0 ? 0 : 1, 1, here.batch, here.n_first, k, round);
      round.push_back({Commit{last}});
    }));
  }

  void load_chain(const Place& here, Body& body) {
    body.push_back({Acquire{0}});
    copy(a_, 0, 0, 0, here.batch, here.m_first, number(0), body);
    body.push_back({Commit{0}});
    body.push_back(loop("j_first", n_, columns_, [&](Ref j, Body& round) {
      round.push_back({Acquire{1}});
      copy(b_, 1, 0, 1, here.batch, j, number(0), round);
      round.insert(round.end(), {{Commit{1}}, {Acquire{2}}});
      copy(c_, 2, 0, 2, here.batch, here.n_first, j, round);
      round.push_back({Commit{2}});
    }));
  }

  void multiply(Multiply one, Body& body) {
    if (turns_) body.push_back({TakeTurn{}});
    body.push_back({one});
    if (turns_) body.push_back({PassTurn{}});
  }

  void math_product(const Place& here, Body& body) {
    const int last = tf32_ ? 0 : static_cast<int>(p.rings.size()) - 1;
    const auto both = [&](const auto& visit) {
      for (int ring = 0; ring <= last; ++ring) visit(ring);
    };
    const bool zeroed = !runs_ && coin();
    if (zeroed || runs_) body.push_back({MapSums{.sums = 0, .value = real(0)}});
    const auto round = [&](Ref k, Ref first, Body& to) {
      const Ref fresh = zeroed    ? nodes.boolean(false)
                        : forget_ ? nodes.is_zero(nodes.subtract(k, first))
                                  : nodes.is_zero(k);
      if (tf32_) return tf32_round(fresh, to);
      both([&](int ring) { to.push_back({Wait{ring}}); });
      multiply({.sums = runs_ ? 1 : 0,
                .ring = last,
                .a = 0,
                .b = last > 0 ? 0 : 1,
                .a_row = of_group(),
                .fresh = fresh,
                .a_ring = 0},
               to);
      const Ref nothing = nodes.is_zero(nodes.subtract(k, first));
      if (!advances_) to.push_back({Await{0}});
      both([&](int ring) {
        to.push_back(advances_ ? Operation{Advance{ring, nothing}} : Operation{Release{ring}});
      });
    };
    const auto drain = [&](Body& to) {
      if (advances_) both([&](int ring) { to.push_back({Drain{ring}}); });
    };
    if (runs_) {
      const std::int64_t length = std::int64_t{tile_k_} * (1 + below(3));
      body.push_back(loop("run", k_, length, [&](Ref run, Body& to) {
        const SymbolId k = nodes.new_symbol("k_first", k_ + length);
        Body inner;
        round(at(k), run, inner);
        to.push_back({Loop{k, run, least(nodes.add(run, number(length)), number(k_)),
                           number(tile_k_), std::move(inner), ""}});
        drain(to);
        to.push_back({AddRuns{0, 1, forget_}});
      }));
    } else {
      body.push_back(
          loop("k_first", k_, tile_k_, [&](Ref k, Body& to) { round(k, number(0), to); }));
      drain(body);
      map_sums(0, here, here.n_first, n_, tiles_n_ * columns_, body);
      if (reduction_) {
        reduce(0, false, body);
        fold(0, body);
      }
    }
    store(0, here, body);
  }

  void math_chain(const Place& here, Body& body) {
    if (reduction_) body.push_back({MapRows{0, real(reduction_ == Op::kAdd ? 0 : -1e30)}});
    const bool zeroed = coin();
    if (zeroed) body.push_back({MapSums{.sums = 1, .value = real(0)}});
    body.push_back({Wait{0}});
    body.push_back(loop("j_first", n_, columns_, [&](Ref j, Body& round) {
      round.push_back({Wait{1}});
      multiply(
          {.sums = 0, .ring = 1, .a_row = of_group(), .fresh = nodes.boolean(true), .a_ring = 0},
          round);
      round.insert(round.end(), {{Await{0}}, {Release{1}}});
      map_sums(0, here, j, n_, ceil_divide(n_, columns_) * columns_, round);
      if (reduction_) reduce(0, true, round);
      round.push_back({RoundSums{0, 0}});
      round.push_back({Wait{2}});
      multiply({.sums = 1,
                .ring = 2,
                .fresh = zeroed ? nodes.boolean(false) : nodes.is_zero(j),
                .fragments = 0},
               round);
      round.insert(round.end(), {{Await{0}}, {Release{2}}});
    }));
    body.push_back({Release{0}});
    if (reduction_) fold(1, body);
    store(1, here, body);
  }

  // --- What is done to sums ---------------------------------------------------------------------

  void draw_maps() {
    // A bias for each column is a load: of columns that may lie beyond the last one.
    const auto bias = [this](Ref column) {
      const Ref at = least(column, number(out_columns_ - 1));
      return nodes.load("bias", ScalarType::kF32, at);
    };
    const auto draw = [&]() -> Map {
      switch (below(7)) {
        case 0:
          return [this](Ref x, Ref, Ref) { return f32("*", {x, real(0.5)}); };
        case 1:
          return [this](Ref x, Ref, Ref) { return f32("max", {x, real(0)}); };
        case 2:
          return [this](Ref x, Ref row, Ref column) {
            return nodes.select(nodes.non_negative(nodes.subtract(row, column)), x, real(1));
          };
        case 3:
          return [this](Ref x, Ref row, Ref column) {
            const Ref place =
                nodes.subtract(nodes.remainder(nodes.add(row, column), number(5)), number(2));
            return f32("+", {x, nodes.cast(place, ScalarType::kF32)});
          };
        case 4:
          if (!chain_)
            return [this, bias](Ref x, Ref, Ref column) { return f32("+", {x, bias(column)}); };
          [[fallthrough]];
        default:
          return [this](Ref x, Ref, Ref) { return f32("min", {x, real(100)}); };
      }
    };
    if (!runs_ || chain_) map_ = draw();
    if (!chain_ && coin())
      last_ = [this, bias](Ref x, Ref, Ref column) { return f32("+", {x, bias(column)}); };
    // Rows from a multiple of 64 on stay as they are.
    if (map_ && below(3) == 0) kept_from_ = 64 * (1 + below(3));
    if (reduction_) p.rows = {{"folded", nodes.load("%folded", ScalarType::kF32, number(0))}};
  }

  /// Scores beyond the last column are left out of what follows; a largest one is -64 at least.
  Ref masked(Ref value, Ref column, std::int64_t columns, bool may_lie_beyond) {
    const double outside = reduction_ == Op::kMax ? -64 : 0;
    if (reduction_ == Op::kMax) value = f32("max", {value, real(-64)});
    if (!may_lie_beyond) return value;
    return nodes.select(nodes.less(column, number(columns)), value, real(outside));
  }

  void map_sums(int sums, const Place& here, Ref column, std::int64_t columns, std::int64_t reach,
                Body& body) {
    const SymbolId m = nodes.new_symbol("m_at", tiles_m_ * cluster_ * rows_);
    const SymbolId n = nodes.new_symbol("n_at", reach);
    MapSums map{.sums = sums,
                .sum = sum_,
                .value = map_(sum_, at(m), at(n)),
                .row = nodes.add(here.m_first, of_group()),
                .column = column,
                .row_symbol = m,
                .column_symbol = n};
    if (kept_from_ > 0)
      map.unless = nodes.non_negative(nodes.subtract(map.row, number(kept_from_)));
    body.push_back({map});
    if (!chain_ && !reduction_) return;
    map.value = masked(sum_, at(n), columns, columns % columns_ != 0);
    map.unless = nullptr;
    body.push_back({map});
  }
  void reduce(int sums, bool onto, Body& body) {
    const bool adds = reduction_ == Op::kAdd;
    in_lanes_ = adds ? onto || coin() : coin();
    body.push_back({ReduceRows{
        .rows = 0, .sums = sums, .op = *reduction_, .onto = onto, .in_lanes = in_lanes_}});
  }
  /// What the rows have one of is taken from the sums.
  void fold(int sums, Body& body) {
    if (in_lanes_) body.push_back({FoldRows{0, *reduction_}});
    body.push_back(
        {MapSums{.sums = sums, .sum = sum_, .value = f32("-", {sum_, p.rows[0].value})}});
  }

  // --- What is written --------------------------------------------------------------------------

  Ref element(Ref batch, Ref row, Ref column) {
    const Ref matrix = nodes.scale(batch, m_ * out_columns_);
    return nodes.add(matrix, turned_ ? nodes.add(nodes.scale(column, m_), row)
                                     : nodes.add(nodes.scale(row, out_columns_), column));
  }
  Ref guard(Ref row, Ref column) {
    if (!guarded_) return nodes.boolean(true);
    return nodes.negate(nodes.is_zero(nodes.remainder(nodes.add(row, column), number(3))));
  }
  Ref output(Ref value, Ref row, Ref column) {
    if (runs_ && !forget_) value = nodes.cast(value, ScalarType::kF32);
    if (last_) value = last_(value, row, column);
    return nodes.cast(value, out_);
  }

  void store(int sums, const Place& here, Body& body) {
    const SymbolId m = nodes.new_symbol("m", m_), n = nodes.new_symbol("n", out_columns_);
    Store store{
        .sums = sums,
        .runs = runs_ && !forget_ ? 1 : -1,
        .row = nodes.add(here.m_first, of_group()),
        .column = here.n_first,
        .row_symbol = m,
        .column_symbol = n,
        .rows = m_,
        .columns = out_columns_,
        .buffer = "Y",
        .type = out_,
        .sum = runs_ && !forget_ ? nodes.load("%total", ScalarType::kF64, number(0)) : sum_};
    store.value = output(store.sum, at(m), at(n));
    store.element = element(here.batch, at(m), at(n));
    store.guard = guard(at(m), at(n));
    for (int wide = 8; wide > 1 && !turned_ && store.contiguous == 1; wide /= 2)
      if (out_columns_ % wide == 0) store.contiguous = wide;
    if (staged_) {
      store.staging = 0;
      store.view = staged_view_;
      store.to = {store.row, store.column};
      if (batches_ > 1) store.to.insert(store.to.begin(), here.batch);
    } else {
      p.parameters.push_back({"Y", out_, true});
    }
    body.push_back({store});
  }

  // --- The same as a nest -----------------------------------------------------------------------

  Ref load(const Matrix& matrix, Ref batch, Ref row, Ref k) {
    const Ref inside = matrix.along_k ? nodes.add(nodes.scale(row, matrix.k), k)
                                      : nodes.add(nodes.scale(k, matrix.rows), row);
    return nodes.cast(nodes.load(matrix.name, matrix.type,
                                 nodes.add(nodes.scale(batch, matrix.rows * matrix.k), inside)),
                      ScalarType::kF32);
  }
  /// (row, column) of the first product, mapped.
  Ref scores(Ref batch, Ref row, Ref column) {
    const SymbolId k = nodes.new_symbol("k", k_);
    const Ref plain = nodes.reduce(
        Op::kAdd, {k}, f32("*", {load(a_, batch, row, at(k)), load(b_, batch, column, at(k))}));
    if (!map_) return plain;
    Ref mapped = map_(plain, row, column);
    if (kept_from_ > 0)
      mapped =
          nodes.select(nodes.non_negative(nodes.subtract(row, number(kept_from_))), plain, mapped);
    return chain_ || reduction_ ? masked(mapped, column, n_, false) : mapped;
  }

  void make_nest() {
    const SymbolId b = nodes.new_symbol("b", batches_), m = nodes.new_symbol("m", m_),
                   n = nodes.new_symbol("n", out_columns_), j = nodes.new_symbol("j", n_);
    Ref value = nullptr;
    if (chain_) {
      const Ref weight =
          nodes.cast(nodes.cast(scores(at(b), at(m), at(j)), type_), ScalarType::kF32);
      value = nodes.reduce(Op::kAdd, {j}, f32("*", {weight, load(c_, at(b), at(n), at(j))}));
    } else {
      value = scores(at(b), at(m), at(n));
    }
    if (reduction_)
      value = f32("-", {value, nodes.reduce(*reduction_, {j}, scores(at(b), at(m), at(j)))});
    nest.buffer = "Y";
    nest.type = out_;
    nest.dims = {b, m, n};
    nest.element = element(at(b), at(m), at(n));
    nest.guard = guard(at(m), at(n));
    nest.value = output(value, at(m), at(n));
  }

  bool rest_of_a_ = false;  ///< A is what tf32 does not hold, else B
  bool staged_ = false, in_lanes_ = false;
  std::int64_t tiles_m_ = 1, tiles_n_ = 1, tiles_ = 1, out_columns_ = 1, out_tile_ = 64;
  int spare_ = -1, staged_view_ = -1;
  Map map_, last_;
  std::int64_t kept_from_ = 0;
  Ref sum_ = nullptr;
};

/// Sums that need more registers than there are, or tiles more shared memory, are drawn again.
bool is_too_large(const Error& error) {
  return error.message.contains("registers of sums") ||
         error.message.contains("bytes of shared memory");
}

TEST(TileRandom, ProgramsComputeTheirNests) {
  const auto asked = [](const char* variable, int otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::atoi(text);
  };
  const int first = asked("HONE_RANDOM_FIRST", 1), count = asked("HONE_RANDOM_TILES", 25);
  int too_large = 0;
  for (int seed = first; seed < first + count; ++seed) {
    RandomProgram one(static_cast<unsigned>(seed));
    SCOPED_TRACE(fmt::format("{}: {}", seed, one.describe()));
    auto kernel = schedules::kernel_of(one.p, one.goal());
    if (!kernel && is_too_large(kernel.error())) {
      ++too_large;
      continue;
    }
    ASSERT_TRUE(kernel.has_value()) << kernel.error().message;
    kernel->includes.insert(kernel->includes.end(), {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"});
    one.expect_same(*kernel, 1e-6);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_LE(too_large * 5, count) << "of " << count;
}

}  // namespace
}  // namespace hone::tile
