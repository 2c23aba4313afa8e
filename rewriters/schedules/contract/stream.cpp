#include "rewriters/schedules/contract/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/contract/finish.h"
#include "rewriters/schedules/contract/places.h"
#include "rewriters/schedules/contract/tile.h"
#include "rewriters/schedules/products.h"
#include "rewriters/schedules/tile_kernel.h"

namespace hone::schedules::contract {
namespace {

/// Blocks whose registers and shared memory a multiprocessor has, by what the sums need.
std::int64_t resident(const Contraction& c, const Schedule& s, const Goal& goal) {
  const OperandTile a = tile_of(c, c.a, s, true), b = tile_of(c, c.b, s, false);
  const auto by_registers = [](const OperandTile& tile) {
    return tile.gathers() || tile.way == tile::CopyWay::kAtOnce;
  };
  const int by_copies = by_registers(a) || by_registers(b) ? 24 : 0;
  const int sums_need = is_fma(s.pipe) ? registers_of_fma(c, s) + 32
                                       : s.wm * s.wn / 32 * words_of_sum(c, s.pipe) + 80;
  const int registers = sums_need + by_copies;
  const std::int64_t memory =
      goal.context == nullptr ? 228 * 1024 : goal.context->target.shared_per_sm;
  return std::max(std::int64_t{1},
                  std::min({std::int64_t{65536} / (s.threads() * registers), std::int64_t{8},
                            memory / (shared_bytes(c, s) + 1024)}));
}

std::int64_t tiles_of_output(const Contraction& c, const Schedule& s) {
  return ceil_divide(c.m_size, s.bm) * ceil_divide(c.n_size, s.bn) * c.batch_size;
}

class StreamBuilder {
 public:
  StreamBuilder(const Contraction& c, const Schedule& s, const Goal& goal,
                const std::string& prefix)
      : c_(c),
        s_(s),
        goal_(goal),
        nodes_(*c.nodes),
        waves_(waves_of(c, s, goal)),
        tiles_m_(ceil_divide(c.m_size, s.bm)),
        tiles_n_(ceil_divide(c.n_size, s.bn)),
        tiles_(tiles_m_ * tiles_n_ * c.batch_size),
        steps_(ceil_divide(c.k_size, s.bk)) {
    program_.kernel = prefix + "contract";
    program_.prefix = prefix;
    program_.nodes = &nodes_;
    program_.grid = (waves_.whole + waves_.shared * s.tail) * s.split_k;
    // Of one block the compiler takes fewer registers where nobody says that it is alone.
    const std::int64_t blocks = resident(c, s, goal);
    program_.resident = blocks == 1 ? 0 : static_cast<int>(blocks);
  }

  tile::Program build() {
    const int warps = s_.threads() / 32;
    program_.block = nodes_.new_symbol("block", program_.grid);
    program_.warp = nodes_.new_symbol("warp", warps);
    operands_ = {tile_of(c_, c_.a, s_, true), tile_of(c_, c_.b, s_, false)};
    program_.rings = {{"tiles", s_.stages, {operands_[0].tile, operands_[1].tile}}};
    const tile::Sums sums =
        is_fma(s_.pipe)
            ? tile::Sums{"sums",       s_.tn, s_.tm, tile::SumsOf::kThread, sum_type(c_, s_.pipe),
                         s_.bn / s_.tn}
            : tile::Sums{"sums", s_.wn, s_.wm, tile::SumsOf::kWarp};
    program_.sums = {sums};
    if (in_runs() || in_parts()) {
      program_.sums.push_back(sums);
      program_.sums[1].name = in_runs() ? "runs" : "parts";
    }
    tile::Body body;
    place(body);
    body.push_back({stream()});
    stores(body);
    parameters();
    comment();
    program_.roles = {{.name = "all", .warps = warps, .body = std::move(body)}};
    return std::move(program_);
  }

 private:
  Ref number(std::int64_t value) { return nodes_.integer(value); }
  Ref at(SymbolId symbol) { return nodes_.index(symbol); }
  Ref least(Ref a, Ref b) { return nodes_.op(Op::kMin, ScalarType::kI64, {a, b}); }
  Ref most(Ref a, Ref b) { return nodes_.op(Op::kMax, ScalarType::kI64, {a, b}); }
  Ref define(tile::Body& body, const char* name, Ref value, std::int64_t extent) {
    const SymbolId symbol = nodes_.new_symbol(name, extent);
    body.push_back({tile::Define{symbol, value}});
    return at(symbol);
  }

  /// Each thread adds runs of terms in f32, of f64 sums, and keeps what adding these loses.
  [[nodiscard]] bool in_runs() const { return adds_in_runs(c_, s_.pipe); }
  /// A tile's products are added up by themselves: rounded to nearest, which tensor cores do not,
  /// and in f32, where their own sums have 13 places.
  [[nodiscard]] bool in_parts() const {
    return !in_runs() && (is_thrice(s_.pipe) || adds_in_short_runs(c_, s_.pipe));
  }
  [[nodiscard]] std::string partial() const { return program_.prefix + "partial"; }

  /// Names for the block's place.
  void place(tile::Body& body) {
    const Ref block = at(program_.block);
    ordinal_ = block;
    if (s_.split_k > 1) {
      slice_ = define(body, "slice", nodes_.divide(block, number(tiles_)), s_.split_k);
      ordinal_ = define(body, "ordinal", nodes_.remainder(block, number(tiles_)), tiles_);
    } else if (waves_.shared > 0) {
      // The last wave's tiles are shared by some blocks each: every multiprocessor has its part.
      const Ref beyond = nodes_.subtract(block, number(waves_.whole));
      is_whole_ = nodes_.less(block, number(waves_.whole));
      slice_ = define(
          body, "slice",
          nodes_.select(is_whole_, number(0), nodes_.remainder(beyond, number(s_.tail))), s_.tail);
      ordinal_ = define(
          body, "ordinal",
          nodes_.select(is_whole_, block,
                        nodes_.add(number(waves_.whole), nodes_.divide(beyond, number(s_.tail)))),
          tiles_);
    }
    const std::int64_t of_batch = tiles_m_ * tiles_n_;
    Ref in_batch = ordinal_;
    if (c_.batch_size > 1) {
      body.push_back({tile::Define{c_.batch, nodes_.divide(ordinal_, number(of_batch))}});
      in_batch = define(body, "in_batch", nodes_.remainder(ordinal_, number(of_batch)), of_batch);
    }
    const std::vector<Bound> bounds = bounds_of_tiles(c_);
    if (last_rows_first(bounds)) in_batch = nodes_.subtract(number(of_batch - 1), in_batch);
    const TilePlace tile = place_of_tile(nodes_, in_batch, tiles_m_, tiles_n_, s_.group, body);
    m_first_ = define(body, "m_first", nodes_.scale(tile.row, s_.bm), (tiles_m_ - 1) * s_.bm + 1);
    n_first_ =
        define(body, "n_first", nodes_.scale(tile.column, s_.bn), (tiles_n_ - 1) * s_.bn + 1);
    range(bounds, body);
    row_ = m_first_;
    column_ = n_first_;
    if (is_fma(s_.pipe)) return;
    const Ref warp = at(program_.warp), across = number(s_.bn / s_.wn);
    warp_m_ =
        define(body, "warp_m", nodes_.scale(nodes_.divide(warp, across), s_.wm), s_.bm - s_.wm + 1);
    warp_n_ = define(body, "warp_n", nodes_.scale(nodes_.remainder(warp, across), s_.wn),
                     s_.bn - s_.wn + 1);
    row_ = nodes_.add(m_first_, warp_m_);
    column_ = nodes_.add(n_first_, warp_n_);
  }

  /// Tiles of k: those whose terms may count, and of these the slice's.
  void range(const std::vector<Bound>& bounds, tile::Body& body) {
    first_ = number(0);
    Ref count = number(steps_);
    if (!bounds.empty()) {
      const KRange k = range_of_k(c_, bounds, m_first_, s_.bm, n_first_, s_.bn);
      const Ref tile = number(s_.bk);
      first_ = define(body, "first_of_all", least(nodes_.divide(k.begin, tile), number(steps_)),
                      steps_ + 1);
      count = define(
          body, "count",
          most(number(0),
               nodes_.subtract(nodes_.divide(nodes_.add(k.end, number(s_.bk - 1)), tile), first_)),
          steps_ + 1);
    }
    end_ = nodes_.add(first_, count);
    if (slice_ != nullptr) {
      const std::int64_t slices = s_.split_k * s_.tail;
      const Ref each = nodes_.divide(nodes_.add(count, number(slices - 1)), number(slices));
      const Ref every = define(
          body, "each", is_whole() ? nodes_.select(is_whole_, count, each) : each, steps_ + 1);
      const Ref all = end_;
      first_ = nodes_.add(first_, nodes_.multiply(slice_, every));
      first_ = define(body, "first_tile", first_, steps_ * slices + 1);
      end_ = least(all, nodes_.add(first_, every));
    }
    if (!end_->is_constant()) end_ = define(body, "end_tile", end_, steps_ + 1);
  }
  /// Whether some blocks have tiles of their own, others not.
  [[nodiscard]] bool is_whole() const { return is_whole_ != nullptr && !is_whole_->is_constant(); }

  tile::CopyTile copy(int which, Ref k) {
    const Operand& operand = which == 0 ? c_.a : c_.b;
    const OperandTile& tile = operands_[static_cast<std::size_t>(which)];
    return {.tile = which,
            .value = operand.value,
            .mask = operand.mask,
            .row_symbol = operand.outer,
            .k_symbol = operand.k,
            .row = which == 0 ? m_first_ : n_first_,
            .k = k,
            .rows = which == 0 ? c_.m_size : c_.n_size,
            .ks = c_.k_size,
            .way = tile.way,
            .along_k = tile.along_k,
            .piece = tile.piece};
  }

  tile::Stream stream() {
    const SymbolId tile = nodes_.new_symbol("tile", steps_);
    const Ref k = nodes_.scale(at(tile), s_.bk);
    tile::Stream stream{.symbol = tile, .first = first_, .end = end_};
    stream.copies = {copy(0, k), copy(1, k)};
    const int sums = static_cast<int>(program_.sums.size()) - 1;
    if (is_fma(s_.pipe)) {
      stream.body.push_back({tile::ThreadMultiply{.sums = sums}});
    } else {
      stream.body.push_back({tile::WarpMultiply{.sums = sums,
                                                .a_row = warp_m_,
                                                .b_row = warp_n_,
                                                .fresh = in_parts(),
                                                .thrice = is_thrice(s_.pipe)}});
    }
    const tile::AddRuns add{0, 1, in_parts()};
    if (in_parts()) stream.body.push_back({add});
    if (in_runs()) {
      const Ref done = nodes_.add(nodes_.subtract(at(tile), first_), number(1));
      const Ref ends = nodes_.is_zero(nodes_.remainder(done, number(tiles_of_run(s_))));
      stream.body.push_back({tile::When{ends, {{add}}}});
    }
    return stream;
  }

  void stores(tile::Body& body) {
    if (s_.split_k > 1 || waves_.whole == 0) {
      body.push_back({partial_store()});
    } else if (waves_.shared > 0) {
      body.push_back({tile::When{is_whole_, {{store()}}}});
      body.push_back({tile::When{nodes_.negate(is_whole_), {{partial_store()}}}});
    } else {
      body.push_back({store()});
    }
  }

  tile::Store store_at() {
    return {.sums = 0,
            .runs = in_runs() ? 1 : -1,
            .row = row_,
            .column = column_,
            .row_symbol = c_.m,
            .column_symbol = c_.n,
            .rows = c_.m_size,
            .columns = c_.n_size,
            .sum = c_.sum};
  }

  tile::Store store() {
    tile::Store store = store_at();
    store.buffer = c_.nest->buffer;
    store.type = c_.nest->type;
    store.value = c_.value;
    store.element = c_.element;
    store.guard = c_.guard;
    store.contiguous = c_.contiguous_n;
    store.beside = inputs_beside(nodes_, store);
    add_places(c_, {}, store);
    return store;
  }

  /// The sums themselves: [slice, batch, m, n], or [slice, tile of the last wave, row, column].
  tile::Store partial_store() {
    tile::Store store = store_at();
    store.buffer = partial();
    store.type = c_.total_type;
    store.value = c_.sum;
    store.guard = nodes_.boolean(true);
    const Ref m = at(c_.m), n = at(c_.n);
    if (s_.split_k > 1) {
      Ref matrix = nodes_.scale(slice_, c_.batch_size);
      if (c_.batch_size > 1) matrix = nodes_.add(matrix, at(c_.batch));
      store.element =
          nodes_.add(nodes_.scale(nodes_.add(nodes_.scale(matrix, c_.m_size), m), c_.n_size), n);
      store.contiguous = c_.n_size % 4 == 0 ? 4 : c_.n_size % 2 == 0 ? 2 : 1;
    } else {
      const Ref tile = nodes_.add(nodes_.scale(slice_, waves_.shared),
                                  nodes_.subtract(ordinal_, number(waves_.whole)));
      const Ref row = nodes_.add(nodes_.scale(tile, s_.bm), nodes_.subtract(m, m_first_));
      store.element = nodes_.add(nodes_.scale(row, s_.bn), nodes_.subtract(n, n_first_));
      store.contiguous = 4;
    }
    return store;
  }

  void parameters() {
    const bool keeps = s_.split_k > 1 || waves_.shared > 0;
    const bool finishes = s_.split_k == 1 && waves_.whole > 0;
    std::vector<Ref> values = {c_.a.value, c_.a.mask, c_.b.value, c_.b.mask};
    if (finishes) std::ranges::copy(c_.values_of_store(), std::back_inserter(values));
    program_.parameters = read_by(values, c_, goal_);
    if (keeps) program_.parameters.push_back({partial(), c_.total_type, true});
    const bool reads_output = std::ranges::any_of(values, [&](Ref value) {
      return std::ranges::any_of(nest::loads_in(value),
                                 [&](Ref load) { return load->name == c_.nest->buffer; });
    });
    if (finishes || reads_output)
      program_.parameters.push_back({c_.nest->buffer, c_.nest->type, finishes});
  }

  void comment() {
    program_.comment = fmt::format(
        "{}: {} x {} tiles of the output, {} of k at a time, {} in shared memory at once{}. Each "
        "{} keeps {} x {} sums.",
        c_.describe(), s_.bm, s_.bn, s_.bk, s_.stages,
        s_.split_k > 1 ? fmt::format("; {} blocks share each sum", s_.split_k)
        : waves_.shared > 0
            ? fmt::format("; {} blocks share each of the last {} tiles", s_.tail, waves_.shared)
            : "",
        is_fma(s_.pipe) ? "thread" : "warp", program_.sums[0].rows, program_.sums[0].columns);
    if (in_runs()) {
      program_.comment += fmt::format(
          " Terms are added in f32 in runs of {}, and these so that nothing of them is lost.",
          tiles_of_run(s_) * s_.bk);
    }
  }

  const Contraction& c_;
  const Schedule& s_;
  const Goal& goal_;
  nest::Nodes& nodes_;
  const Waves waves_;
  const std::int64_t tiles_m_, tiles_n_, tiles_, steps_;
  std::vector<OperandTile> operands_;
  // Of a block: its tile of the output, whether that is its alone, and its tiles of k; and of a
  // warp its place in the tile.
  Ref ordinal_ = nullptr, slice_ = nullptr, is_whole_ = nullptr;
  Ref m_first_ = nullptr, n_first_ = nullptr, first_ = nullptr, end_ = nullptr;
  Ref warp_m_ = nullptr, warp_n_ = nullptr, row_ = nullptr, column_ = nullptr;
  tile::Program program_;
};

}  // namespace

Waves waves_of(const Contraction& c, const Schedule& s, const Goal& goal) {
  const std::int64_t tiles = tiles_of_output(c, s);
  const std::int64_t shared = s.tail > 1 ? tiles % (sm_count(goal) * resident(c, s, goal)) : 0;
  return {tiles - shared, shared};
}

tile::Program stream_program(const Contraction& c, const Schedule& s, const Goal& goal,
                             const std::string& prefix) {
  return StreamBuilder(c, s, goal, prefix).build();
}

Result<Generated> generate_stream(const Contraction& c, const Schedule& s, const Goal& goal,
                                  const std::string& prefix) {
  auto generated = kernel_of(stream_program(c, s, goal, prefix), goal);
  if (generated) add_finish(c, s, waves_of(c, s, goal), goal, prefix, *generated);
  return generated;
}

}  // namespace hone::schedules::contract
