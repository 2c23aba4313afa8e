#include "rewriters/schedules/reduce/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "rewriters/affine/flatten.h"
#include "rewriters/affine/strides.h"
#include "rewriters/schedules/nests.h"
#include "rewriters/schedules/printing/print_value.h"

namespace hone::schedules::reduce {
namespace {

using nest::Node;

/// Do more loads step by one with an output than with a reduced index?
bool lies_across(Ref body, const std::vector<SymbolId>& outer, const std::vector<SymbolId>& inner) {
  const auto has_unit = [](Ref element, const std::vector<SymbolId>& symbols) {
    return std::ranges::any_of(
        symbols, [&](SymbolId symbol) { return std::abs(stride_of(element, symbol)) == 1; });
  };
  int along = 0, across = 0;
  for (const Ref load : loads_of(body)) {
    along += has_unit(load->args[0], inner) ? 1 : 0;
    across += has_unit(load->args[0], outer) ? 1 : 0;
  }
  return across > along;
}

/// Stages compute values for all points: whatever they load must be there behind the guard, too.
Result<nest::Nest> with_open_guard(const Goal& goal, const nest::Nest& given) {
  auto nest = plain(*goal.nodes, given);
  if (nest && nest->value->height > 0 && !nest->guard->is_constant() &&
      !all_in_range(goal, nest->value)) {
    return refused("a guard keeps loads inside their buffers");
  }
  return nest;
}

class Splitter {
 public:
  Splitter(const Goal& goal, const Splitting& how) : goal_(goal), nodes_(*goal.nodes), how_(how) {
    stages_.concrete.buffers = goal.concrete->buffers;
  }

  Result<Stages> split() {
    const auto shape = shape_of(goal_);
    if (!shape) return std::unexpected(shape.error());
    largest_ = shape->outputs * shape->length;
    for (const nest::Nest& given : goal_.nests) {
      auto nest = with_open_guard(goal_, given);
      if (!nest) return std::unexpected(nest.error());
      add(std::move(*nest), false);
    }
    std::ranges::stable_sort(stages_.all, {}, &Stage::depth);
    return std::move(stages_);
  }

 private:
  using Symbols = std::vector<SymbolId>;

  /// Splits the nest's reductions and puts what remains at the end of the stages.
  void add(nest::Nest nest, bool parts) {
    order_ = nest.dims;
    const std::int64_t all = points(nodes_, nest.dims);
    if (!parts) {
      nest.value = nodes_.replace(nest.value, [&](Ref node) -> Ref {
        if (node->height == 0) return node;
        // One value for many points: computed once.
        if (is_float(node->type) && points(nodes_, node->free) < all) return stored(node);
        return node->kind == Node::Kind::kReduce ? split_one(node) : nullptr;
      });
    }
    int depth = 0;
    visit_loads(nest.value, [&](Ref load) {
      const auto known = depth_of_.find(load->name);
      if (known != depth_of_.end()) depth = std::max(depth, known->second + 1);
    });
    depth_of_[nest.buffer] = depth;
    stages_.all.push_back({std::move(nest), depth, parts});
  }

  static void visit_loads(Ref value, const std::function<void(Ref)>& meet) {
    for (const Ref load : loads_of(value)) meet(load);
    for (const Ref node : reductions_of(value)) visit_loads(node->args[0], meet);
  }

  std::string scratch(ScalarType type, const std::string& word, std::int64_t size) {
    std::string name = fmt::format("{}{}", how_.prefix, word);
    for (int i = 2; depth_of_.contains(name); ++i)
      name = fmt::format("{}{}{}", how_.prefix, word, i);
    depth_of_[name] = 0;
    stages_.concrete.buffers.push_back({name, type, {size}, Role::kScratch, {}});
    stages_.scratch.push_back(scratch_of(stages_.concrete.buffers.back()));
    return name;
  }

  static ScalarType kept_type(Ref value) {
    return is_float(value->type) ? compute_type(value->type) : ScalarType::kI64;
  }

  /// Symbols in the order of the nest in hand, others behind.
  [[nodiscard]] Symbols ordered(Symbols symbols) const {
    std::ranges::stable_sort(symbols, {}, [&](SymbolId symbol) {
      return std::ranges::find(order_, symbol) - order_.begin();
    });
    return symbols;
  }

  Ref numbered(const Symbols& symbols) {
    Ref number = nodes_.integer(0);
    for (const SymbolId symbol : symbols) {
      number = nodes_.add(nodes_.scale(number, nodes_.extent(symbol)), nodes_.index(symbol));
    }
    return number;
  }

  Ref in_scratch(const std::string& word, const Symbols& dims, Ref value, bool parts) {
    const auto found = stored_.find(value);
    if (found != stored_.end()) return found->second;
    const ScalarType type = kept_type(value);
    nest::Nest nest;
    nest.buffer = scratch(type, word, points(nodes_, dims));
    nest.type = type;
    nest.dims = dims;
    nest.element = numbered(dims);
    nest.guard = nodes_.boolean(true);
    nest.value = value;
    nest.covers = true;
    const Ref load = nodes_.load(nest.buffer, type, nest.element);
    const Ref result = load->is_integer() ? nodes_.add(load, nodes_.integer(0)) : load;
    const Symbols order = order_;
    add(std::move(nest), parts);
    order_ = order;
    stored_[value] = result;
    return result;
  }

  /// A value that holds reductions, for each point of what it depends on.
  Ref stored(Ref value) { return in_scratch("value", ordered(value->free), value, false); }

  /// The same reduction over parts in scratch memory.
  Ref split_one(Ref node) {
    const auto known = split_.find(node);
    if (known != split_.end()) return known->second;
    const Ref result = split_fresh(node);
    split_[node] = result;
    return result;
  }

  Ref split_fresh(Ref node) {
    nest::Nodes::Opened opened = nodes_.open(node);
    const bool numbered_places = node->op == Op::kArgMax || node->op == Op::kArgMin;
    if (!numbered_places) sort_by_widest_load(opened.symbols, opened.body);
    const std::int64_t length = points(nodes_, opened.symbols);
    const Symbols outer = ordered(node->free);
    const std::int64_t outputs = points(nodes_, outer);
    const bool across = lies_across(opened.body, outer, opened.symbols);
    const SymbolId col = shared_symbol("col", length, node);
    const Ref body = flatten(nodes_, opened.body, opened.symbols, col);
    const bool twice = body->height > 0 && node->op == Op::kAdd;  // its parts are gone over twice
    const Cut cut = cut_for(outputs, length, across, numbered_places, twice);
    if (cut.parts <= 1) return nodes_.reduce(node->op, {col}, finished(body, col));
    stages_.most_parts = std::max(stages_.most_parts, cut.parts);

    const SymbolId part = shared_symbol("part", cut.parts, node),
                   c = shared_symbol("c", cut.chunk, node);
    Symbols dims = outer;
    dims.insert(across ? dims.begin() : dims.end(), part);
    const nest::Nodes::Substitution inside = {
        {col, nodes_.add(nodes_.scale(nodes_.index(part), cut.chunk), nodes_.index(c))}};
    const auto in_part = [&](Ref value) { return nodes_.substitute(value, inside); };
    const auto part_of = [&](Op op, Ref value) {
      return in_scratch("part", dims, nodes_.reduce(op, {c}, value), true);
    };
    const auto over_parts = [&](Ref value) { return nodes_.reduce(node->op, {part}, value); };

    Ref whole = nullptr, each = nullptr;  // over parts; of one element
    const Ref bare = nest::peel(body);
    if (node->op == Op::kAdd && bare->is(Op::kMul) && bare->args[0] == bare->args[1] &&
        bare->args[0]->is(Op::kSub) && bare->type == ScalarType::kF32 &&
        bare->args[0]->args[0]->height == 0 && !bare->args[0]->args[1]->uses(col)) {
      // Squares around a value of the row.
      const Ref f = in_part(bare->args[0]->args[0]);
      const Ref n = nodes_.number(static_cast<double>(cut.chunk), bare->type);
      const auto minus = [&](Ref a, Ref b) { return nodes_.op(Op::kSub, bare->type, {a, b}); };
      const auto square = [&](Ref a) { return nodes_.op(Op::kMul, bare->type, {a, a}); };
      const Ref mean = nodes_.op(Op::kDiv, bare->type, {nodes_.reduce(Op::kAdd, {c}, f), n});
      const Ref m2 = part_of(Op::kAdd, square(minus(f, mean)));
      const Ref part_mean = nodes_.op(Op::kDiv, bare->type, {part_of(Op::kAdd, f), n});
      const Ref around = row_value(bare->args[0]->args[1]);
      each = square(minus(bare->args[0]->args[0], around));
      const Ref between = nodes_.op(Op::kMul, bare->type, {n, square(minus(part_mean, around))});
      whole = over_parts(nodes_.op(Op::kAdd, bare->type, {m2, between}));
    } else if (const Ref peak = peak_of(node, bare, opened.symbols, col); peak != nullptr) {
      const Ref f = in_part(bare->args[0]->args[0]);
      const auto power = [&](Ref a, Ref b) {
        return nodes_.call("exp", bare->type, {nodes_.op(Op::kSub, bare->type, {a, b})});
      };
      each = power(bare->args[0]->args[0], row_value(peak));
      const Ref part_peak = part_of(Op::kMax, f);
      const Ref sum = part_of(Op::kAdd, power(f, nodes_.reduce(Op::kMax, {c}, f)));
      const Ref scaled = nodes_.op(Op::kMul, bare->type, {sum, power(part_peak, row_value(peak))});
      whole = over_parts(scaled);
    } else if (numbered_places) {
      const Op op = node->op == Op::kArgMax ? Op::kMax : Op::kMin;
      const Ref value = in_part(finished(body, col));
      const Ref extreme = part_of(op, value);
      const Ref first = nodes_.scale(nodes_.index(part), cut.chunk);
      const Ref place =
          in_scratch("place", dims, nodes_.add(nodes_.reduce(node->op, {c}, value), first), true);
      return nodes_.substitute(place, {{part, over_parts(extreme)}});
    } else {
      each = finished(body, col);
      whole = over_parts(part_of(node->op, in_part(each)));
    }
    const std::int64_t rest = length - cut.parts * cut.chunk;
    if (rest == 0) return whole;
    const SymbolId tail = shared_symbol("tail", rest, node);
    const Ref behind = nodes_.substitute(
        each, {{col, nodes_.add(nodes_.index(tail), nodes_.integer(length - rest))}});
    return nodes_.op(node->op, is_float(whole->type) ? whole->type : ScalarType::kI64,
                     {whole, nodes_.reduce(node->op, {tail}, behind)});
  }

  /// exp(f - max f): the maximum; else null. `body` is that of `node` over `col`.
  Ref peak_of(Ref node, Ref body, const Symbols& symbols, SymbolId col) {
    if (node->op != Op::kAdd || !body->calls("exp") || !body->args[0]->is(Op::kSub)) return nullptr;
    if (body->type != ScalarType::kF32) return nullptr;
    const Ref f = body->args[0]->args[0], peak = body->args[0]->args[1];
    if (peak->kind != Node::Kind::kReduce || peak->op != Op::kMax || f->height != 0) return nullptr;
    bool masked = false;
    nodes_.replace(f, [&](Ref part) -> Ref {
      masked |= part->is(Op::kSelect);
      return nullptr;
    });
    if (masked) return nullptr;  // a part may be empty: its maximum -infinity
    if (nodes_.reduce(Op::kMax, {col}, f) == peak) return peak;
    // The maximum is over the indices as they were before they became one.
    nest::Nodes::Opened opened = nodes_.open(peak);
    if (points(nodes_, opened.symbols) != points(nodes_, symbols)) return nullptr;
    sort_by_widest_load(opened.symbols, opened.body);
    return flatten(nodes_, opened.body, opened.symbols, col) == f ? peak : nullptr;
  }

  /// A value of the row with its reductions split: it stays in the launch that adds up the parts.
  Ref row_value(Ref value) {
    return nodes_.replace(value, [&](Ref node) -> Ref {
      return node->kind == Node::Kind::kReduce ? split_one(node) : nullptr;
    });
  }

  /// The body with the reductions in it computed before.
  Ref finished(Ref body, SymbolId col) {
    if (body->height == 0) return body;
    // Rows of their own: their whole value, one for each index, where it is for no more than they.
    const std::vector<Ref> inner = reductions_of(body);
    if (is_float(body->type) && std::ranges::any_of(inner, [&](Ref node) {
          return node->uses(col) && points(nodes_, node->free) == points(nodes_, body->free);
        })) {
      return stored(body);
    }
    return nodes_.replace(body, [&](Ref node) -> Ref {
      if (node->height == 0) return node;
      if (!node->uses(col) || node->kind == Node::Kind::kReduce) {
        if (is_float(node->type) || node->kind == Node::Kind::kReduce) return stored(node);
      }
      return nullptr;
    });
  }

  struct Cut {
    std::int64_t parts = 1;
    std::int64_t chunk = 1;
  };

  /// Into so many equal parts that the device is full, each worth a block's while.
  [[nodiscard]] Cut cut_for(std::int64_t outputs, std::int64_t length, bool across, bool exact,
                            bool twice) const {
    const std::int64_t sms = std::max(1, goal_.context->target.sm_count);
    std::int64_t wanted = how_.parts;
    // What is asked for is about the reductions that read the most.
    if (wanted == 0 || outputs * length * 2 < largest_) {
      const std::int64_t blocks = across ? (outputs + 31) / 32 : outputs;
      wanted = static_cast<std::int64_t>(
          std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, sms * 4 / blocks))));
      // Short enough to stay in registers.
      while (twice && !across && length / wanted > 8192) wanted *= 2;
      const std::int64_t least = across ? 64 : 4096;  // elements of a part
      while (wanted > 1 && (length / wanted < least || outputs * length < 32768)) wanted /= 2;
    }
    if (wanted <= 1) return {1, length};
    wanted = std::min(wanted, std::max<std::int64_t>(1, length / 2));
    if (wanted <= 1) return {1, length};
    for (const std::int64_t unit : {16, 4, 1}) {
      for (std::int64_t parts = wanted; parts >= std::max<std::int64_t>(2, wanted / 2); --parts) {
        if (length % parts == 0 && length / parts % unit == 0) return {parts, length / parts};
      }
      if (!exact && unit == 16 && length / wanted >= 64) break;  // what is left over is little
    }
    if (exact) {  // no tail: any divisor, or none
      for (std::int64_t parts = wanted; parts > 1; --parts) {
        if (length % parts == 0) return {parts, length / parts};
      }
      return {1, length};
    }
    std::int64_t chunk = length / wanted;
    if (chunk >= 64) chunk = chunk / 16 * 16;
    return {wanted, chunk};
  }

  /// The same for all reductions, so that equal ones are one; but not what `node`, which may lie
  /// within another reduction, depends on.
  SymbolId shared_symbol(const std::string& name, std::int64_t extent, Ref node) {
    std::vector<SymbolId>& made = symbols_[{name, extent}];
    for (const SymbolId symbol : made)
      if (!node->uses(symbol)) return symbol;
    made.push_back(nodes_.new_symbol(name, extent));
    return made.back();
  }

  const Goal& goal_;
  nest::Nodes& nodes_;
  Splitting how_;
  Stages stages_;
  Symbols order_;
  std::int64_t largest_ = 0;  ///< elements of the reduction that reads the most
  std::map<std::string, int> depth_of_;
  std::map<Ref, Ref> stored_, split_;
  std::map<std::pair<std::string, std::int64_t>, std::vector<SymbolId>> symbols_;
};

}  // namespace

Result<Stages> split(const Goal& goal, const Splitting& how) { return Splitter(goal, how).split(); }

Result<Shape> shape_of(const Goal& goal) {
  nest::Nodes& nodes = *goal.nodes;
  Shape shape;
  bool any = false;
  for (const nest::Nest& given : goal.nests) {
    auto nest = with_open_guard(goal, given);
    if (!nest) return std::unexpected(nest.error());
    const std::function<void(Ref)> look = [&](Ref value) {
      for (const Ref node : reductions_of(value)) {
        const nest::Nodes::Opened opened = nodes.open(node);
        const std::int64_t length = points(nodes, opened.symbols);
        const std::int64_t outputs = points(nodes, node->free);
        if (!any || outputs * length > shape.outputs * shape.length) {
          shape.length = length;
          shape.outputs = outputs;
          shape.across = lies_across(opened.body, node->free, opened.symbols);
        }
        any = true;
        for (const Ref inner : reductions_of(opened.body)) {
          for (const SymbolId symbol : opened.symbols) shape.inner |= inner->uses(symbol);
        }
        look(opened.body);
      }
    };
    look(nest->value);
  }
  if (!any) return refused("no reduction");
  return shape;
}

}  // namespace hone::schedules::reduce
