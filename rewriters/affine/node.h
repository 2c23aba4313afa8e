// What a kernel computes, as a graph of values: immutable nodes, equal ones shared, so that two
// values are the same computation exactly when their pointers are equal. All sizes are numbers:
// a lift is made for given sizes. Nodes live as long as their Nodes; one thread at a time.
//
// Integers that index are kept as sums: constant + sum of coefficient x atom, an atom being an
// index, a quotient or remainder by a constant, or any other integer value. They are taken not to
// overflow, as the reference's own run at these sizes shows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "candidates/scalar_type.h"
#include "rewriters/affine/operations.h"

namespace hone::nest {

struct Node;
using Ref = const Node*;
using SymbolId = int;

/// An index variable: it runs from 0 to extent - 1.
struct Symbol {
  std::string name;
  std::int64_t extent = 1;
};

struct Term {
  std::int64_t coefficient = 0;
  Ref atom = nullptr;
  bool operator==(const Term&) const = default;
};

struct Node {
  enum class Kind {
    kFloat,   ///< `value`, of type `type`
    kSum,     ///< an integer (or bool constant): `constant` + `terms`, sorted by the atoms' ids
    kIndex,   ///< `symbol`
    kLoad,    ///< element args[0] of buffer `name`, as it is before the launch (or before the
              ///< program)
    kOp,      ///< `op` over `args`
    kReduce,  ///< args[0] folded by `op` over all values of `symbols`; order is free
    kPhi,     ///< inside the lift only: a loop-carried value
  };
  Kind kind = Kind::kOp;
  ScalarType type = ScalarType::kI64;
  Op op = Op::kCall;
  std::string name;  ///< kLoad: the buffer's; Op::kCall: the function's
  std::vector<Ref> args;
  std::vector<Term> terms;
  std::int64_t constant = 0;
  double value = 0;
  SymbolId symbol = -1;
  std::vector<SymbolId> symbols;  ///< kReduce: bound here, outermost first
  std::vector<SymbolId> free;     ///< symbols that the value depends on, sorted
  bool has_phi = false;
  bool has_load = false;
  int height = 0;  ///< of reductions nested in it
  int id = 0;      ///< in order of making

  [[nodiscard]] bool is_integer() const { return !is_float(type); }
  /// Is it one of these operations, not the reduction by one?
  template <class... Ops>
  [[nodiscard]] bool is(Ops... ops) const {
    return kind == Kind::kOp && ((op == ops) || ...);
  }
  template <class... Names>
  [[nodiscard]] bool calls(Names... functions) const {
    return is(Op::kCall) && ((name == functions) || ...);
  }
  /// "+", "exp"; of a load the buffer.
  [[nodiscard]] std::string_view what() const {
    return op == Op::kCall ? std::string_view(name) : info(op).name;
  }
  [[nodiscard]] bool is_constant() const { return kind == Kind::kSum && terms.empty(); }
  [[nodiscard]] bool uses(SymbolId id) const;
};

/// Whether `value` uses one of the symbols.
[[nodiscard]] bool uses_any(Ref value, const std::vector<SymbolId>& symbols);

/// Inclusive.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// Thrown by Nodes::work() beyond the limit.
struct TooMuchWork {};

/// Makes nodes, simplifying as it goes.
class Nodes {
 public:
  Nodes() = default;
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  SymbolId new_symbol(std::string name, std::int64_t extent);
  [[nodiscard]] const Symbol& symbol(SymbolId id) const { return symbols_[id]; }
  [[nodiscard]] std::int64_t extent(SymbolId id) const { return symbols_[id].extent; }

  /// While threads are run side by side their conditions stay as they are written, so that they
  /// stay alike: not in lowest terms, and no bounds of reductions. settled() does both later.
  bool plain_conditions = false;
  Ref settled(Ref value);

  // Leaves.
  Ref integer(std::int64_t value, ScalarType type = ScalarType::kI64);
  Ref boolean(bool value) { return integer(value ? 1 : 0, ScalarType::kBool); }
  Ref number(double value, ScalarType type);
  Ref index(SymbolId symbol);
  Ref load(const std::string& buffer, ScalarType type, Ref element);
  Ref phi(ScalarType type);  ///< unlike any other

  // Integers.
  Ref add(Ref a, Ref b);
  Ref subtract(Ref a, Ref b);
  Ref scale(Ref a, std::int64_t factor);
  Ref multiply(Ref a, Ref b);
  Ref divide(Ref a, Ref b);     ///< truncates, as C does
  Ref remainder(Ref a, Ref b);  ///< C's sign

  // Conditions.
  Ref non_negative(Ref a);  ///< a >= 0
  Ref is_zero(Ref a);
  Ref less(Ref a, Ref b) { return non_negative(subtract(subtract(b, a), integer(1))); }
  Ref both(Ref a, Ref b);
  Ref either(Ref a, Ref b);
  Ref negate(Ref a);

  Ref select(Ref condition, Ref then, Ref otherwise);
  Ref cast(Ref a, ScalarType type);
  /// Any operation but kCall, given to the right maker above where there is one.
  Ref op(Op op, ScalarType type, std::vector<Ref> args);
  /// A function, or an operation by its name.
  Ref call(std::string_view name, ScalarType type, std::vector<Ref> args);
  /// Symbols of a reduction are its own: equal reductions are one node, whatever their symbols
  /// were called. So look into one through open().
  Ref reduce(Op op, std::vector<SymbolId> symbols, Ref body);
  struct Opened {
    std::vector<SymbolId> symbols;  ///< new ones
    Ref body = nullptr;
  };
  Opened open(Ref reduction);
  /// The value that leaves the others as they are: 0 for a sum, -infinity for a float maximum.
  Ref identity(Op op, ScalarType type);

  /// What an integer can be, from the extents of its indices; empty: anything.
  std::optional<Range> range(Ref a);

  using Substitution = std::map<SymbolId, Ref>;
  /// Every use of the symbols replaced. Bound symbols are left alone.
  Ref substitute(Ref a, const Substitution& values);
  /// Every node for which `change` gives one (else null) replaced by that, from the top; what it
  /// gives is not looked into. Bodies of reductions are, opened.
  Ref replace(Ref a, const std::function<Ref(Ref)>& change);
  /// The same operation over other operands.
  Ref with_args(Ref a, std::vector<Ref> args);
  /// Nodes made so far; the lift gives up beyond a limit.
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  /// Counts what is done: nodes asked for, parts looked at. No clock: where a limit cuts off is the
  /// same on every machine. A million units take about half a second. Throws TooMuchWork.
  void work(std::size_t units = 1) {
    worked_ += static_cast<std::int64_t>(units);
    if (worked_ > most_work_) throw TooMuchWork{};
  }
  [[nodiscard]] std::int64_t worked() const { return worked_; }
  /// So many units more until it ends, or until a limit around it is reached.
  class WorkLimit {
   public:
    WorkLimit(Nodes& nodes, std::int64_t units) : nodes_(nodes), before_(nodes.most_work_) {
      nodes.most_work_ = std::min(before_, nodes.worked_ + units);
    }
    ~WorkLimit() { nodes_.most_work_ = before_; }
    WorkLimit(const WorkLimit&) = delete;
    WorkLimit& operator=(const WorkLimit&) = delete;

   private:
    Nodes& nodes_;
    std::int64_t before_;
  };

 private:
  Ref make(Node node);
  Ref make(Op op, ScalarType type, std::vector<Ref> args, std::string_view name = {});
  /// Made as it is; an integer as a sum.
  Ref operation(Op op, ScalarType type, std::vector<Ref> args, std::string_view name = {});
  Ref sum(std::int64_t constant, std::vector<Term> terms);
  Ref quotient(Ref a, std::int64_t divisor, bool remainder);

  std::deque<Node> nodes_;
  std::deque<Symbol> symbols_;
  std::unordered_map<std::string, Ref> known_;
  std::map<std::tuple<int, int, std::int64_t>, SymbolId> bound_;  // by height, position, extent
  std::unordered_map<Ref, std::optional<Range>> ranges_;
  std::int64_t worked_ = 0, most_work_ = INT64_MAX;
};

/// Things taken as true on the way to a value: "a >= 0" for integers.
class Facts {
 public:
  void add(
      Ref condition);  ///< a conjunction is taken apart; what is no kNonNegative is kept as it is
  /// Sure to hold where the facts do.
  [[nodiscard]] bool prove(Nodes& nodes, Ref condition) const;
  [[nodiscard]] const std::vector<Ref>& conditions() const { return conditions_; }

 private:
  std::vector<Ref> conditions_;
};

/// The value simplified where the facts hold: selects that they decide vanish.
[[nodiscard]] Ref under(Nodes& nodes, Ref value, const Facts& facts);

/// Integers stand in sums; a sum of one thing alone is that thing.
[[nodiscard]] Ref peel(Ref value);

/// Every node of the value, itself first, those inside of reductions too, once each.
void for_each(Ref value, const std::function<void(Ref)>& visit);

/// Every load in a value, once each.
[[nodiscard]] std::vector<Ref> loads_in(Ref value);

/// The parts of a conjunction.
[[nodiscard]] std::vector<Ref> conjuncts(Ref condition);

/// `a < b` of "a < b || x != x", whose second part holds for NaN alone; else the condition itself.
/// For extremes: NaN is not followed, so that one that keeps NaN is like one that passes it over.
[[nodiscard]] Ref order_alone(Ref condition);

/// "A[64*i + k] * B[k]", for people and for messages.
[[nodiscard]] std::string to_string(const Nodes& nodes, Ref value);

}  // namespace hone::nest
