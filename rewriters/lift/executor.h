// Runs a kernel on symbols: block indices are unknown, the threads of a block are one unknown
// thread, or (where they work together) every thread of the block in lockstep, one lane each.
// Loops run once with an unknown index; what they carry must be a reduction, a prefix or an
// induction, else the loop is unrolled where it is short.
// Internal to rewriters/lift. Refusals travel as an exception up to lift().
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewriters/affine/node.h"
#include "rewriters/lift/folds.h"
#include "rewriters/nest/refusal.h"
#include "rewriters/syntax/analysis.h"

namespace hone::nest {

/// One value for all threads, or one for each.
using Lanes = std::vector<Ref>;

/// A buffer, a shared or a local array.
struct Memory {
  enum class Kind { kGlobal, kShared, kLocal };
  Kind kind = Kind::kGlobal;
  std::string name;
  ScalarType type = ScalarType::kF32;
};

struct Value {
  enum class Kind { kNone, kScalar, kPointer, kFields };
  Kind kind = Kind::kNone;
  Lanes lanes;      ///< kScalar: the value; kPointer: elements from the memory's start
  int memory = -1;  ///< kPointer
  std::map<std::string, Value> fields;
};

/// A store that the kernel does, for every value of `symbols`.
struct Store {
  int memory = -1;
  Lanes element, value, guard;
  std::vector<SymbolId> symbols;  ///< of loops around it that have ended
  std::optional<Op> combine;      ///< an atomic's
  int position = -1;
};

/// What is the same for the whole run.
struct Launched {
  const syntax::TranslationUnit* unit = nullptr;
  const syntax::Function* kernel = nullptr;
  const ConcreteProgram* program = nullptr;
  const ConcreteLaunch* launch = nullptr;
  bool in_lockstep = false;  ///< every thread of the block as a lane of its own
};

class Executor {
 public:
  Executor(Nodes& nodes, const Launched& launched);

  /// Throws Refusal.
  void run();

  // What came of it.
  std::vector<Memory> memories;
  std::vector<Store> stores;
  SymbolId block[3], thread[3];  ///< threads: only where not in lockstep
  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  /// Where it is, for a refusal of the work: "the loop at line 12 is done round by round".
  [[nodiscard]] int position() const { return position_; }
  [[nodiscard]] std::string doing() const;

 private:
  /// Of what was there before the launch.
  struct Load {
    int memory = -1;
    std::size_t lane = 0;
    Ref element = nullptr;
    Ref active = nullptr;  ///< who loads
    std::vector<SymbolId> loops;
    int position = -1;
  };
  using Variable = syntax::Variable;
  using Expr = syntax::Expr;
  using Stmt = syntax::Stmt;

  /// What a loop or a branch can change and must put back.
  struct State {
    std::map<const Variable*, Value> variables;
    std::map<int, std::map<std::int64_t, Lanes>> local;  ///< by memory: elements of local arrays
    std::map<int, std::map<std::int64_t, Ref>> shared;   ///< likewise, one for the block
    std::map<std::pair<int, std::int64_t>, Ref> shared_guards;  ///< where not surely written: if
    std::map<std::pair<int, std::vector<Ref>>, Lanes> cells;    ///< global elements a loop keeps
  };
  struct Frame {
    const syntax::Function* function = nullptr;
    Lanes live;  ///< has not returned
    Value result;
    std::size_t loops = 0;  ///< around the call
  };

  /// Without a position: at the present statement or expression.
  [[noreturn]] void refuse(std::string reason, int position = -1) const;
  void begin(int position);  ///< a statement or an expression
  /// Its text, as one short line in quotes, for a refusal.
  [[nodiscard]] std::string quoted(const Expr& expr) const;
  [[nodiscard]] std::string quoted(const Stmt& statement) const;

  // Lanes.
  Lanes uniform(Ref value) const { return {value}; }
  template <class F>
  Lanes map(F&& f, const Lanes& a) const;
  template <class F>
  Lanes map(F&& f, const Lanes& a, const Lanes& b) const;
  /// Of an unsigned type: as the number that it stands for. Sums of these are kept without the
  /// wrapping around; what is not sure to need none is refused where that would be seen.
  Lanes wrapped(const Lanes& value, const syntax::Type& type, int position);
  [[nodiscard]] bool fits(Ref value, std::size_t lane, std::int64_t low, std::int64_t high);
  Lanes choose(const Lanes& condition, const Lanes& then, const Lanes& otherwise);
  [[nodiscard]] static Ref lane(const Lanes& lanes, std::size_t i) {
    return lanes.size() == 1 ? lanes[0] : lanes[i];
  }
  static void shrink(Lanes& lanes);
  [[nodiscard]] static std::optional<bool> decided(const Lanes& condition);

  // expressions.cpp, arithmetic.cpp, calls.cpp, vectors.cpp, collectives.cpp
  Value evaluate(const Expr& expr);
  Lanes scalar(const Expr& expr);
  Lanes truth(const Expr& expr);
  Value evaluate_variable(const Expr& expr);
  Value evaluate_binary(const Expr& expr);
  Value evaluate_unary(const Expr& expr);
  Value evaluate_assign(const Expr& expr);
  Value evaluate_cast(const Expr& expr);
  Value evaluate_call(const Expr& expr);
  std::optional<Value> vector_call(const Expr& expr);
  Value field_of(const Value& value, const std::string& name, int position);
  Value fieldwise(const std::string& op, const std::vector<Value>& args, const syntax::Type& type,
                  int position);
  Value call_function(const Expr& expr);
  [[nodiscard]] std::string the_call(const Expr& expr) const;  ///< for a refusal
  /// Why a variable without a value has none, for a refusal.
  [[nodiscard]] std::string why_unknown(const Variable& variable) const;
  [[nodiscard]] static std::string unwritten(const std::string& what);
  Value shuffle(const Expr& expr);
  Value atomic(const Expr& expr);
  Value arithmetic(const std::string& op, const Value& a, const Value& b, const syntax::Type& type,
                   int position);
  Value converted(const Value& value, const syntax::Type& type, int position);
  Value builtin(const Expr& expr);
  static ScalarType scalar_type(const syntax::Type& type, const Executor& self, int position);

  // places.cpp
  struct Place {
    const Variable* variable = nullptr;  ///< with `fields` into it, or
    std::vector<std::string> fields;
    int memory = -1;
    Lanes element;
  };
  Place place_of(const Expr& expr);
  Value read(const Place& place, const syntax::Type& type, int position);
  void write(const Place& place, const Value& value, const syntax::Type& type, int position);
  int memory_of(const Variable& variable);
  /// A number whose address is taken: an array of one.
  bool in_memory(const Variable& variable);
  Value array_pointer(const Variable& variable);

  // memory.cpp
  Lanes load(int memory, const Lanes& element, int position);
  void store(int memory, const Lanes& element, const Lanes& value, int position,
             std::optional<Op> combine = {});
  [[nodiscard]] std::string may_be_written(int memory, const Store& store) const;
  Ref load_global(int memory, Ref element, std::size_t lane, int position, bool for_all);
  void barrier(int position);

  // shared.cpp
  Lanes load_shared(int memory, const Lanes& element, int position);
  void store_shared(int memory, const Lanes& element, const Lanes& value, int position,
                    std::optional<Op> combine);
  Ref shared_cell(int memory, std::int64_t at, Ref runs);
  Ref shared_cells(int memory, Ref element, Ref runs);

  // statements.cpp, jumps.cpp
  void run(const Stmt& statement);
  void declare(const Variable& variable);
  void initialise(int memory, std::int64_t first, const syntax::Type& type, const Expr& init);
  void run_if(const Stmt& statement);
  void run_choice(const Lanes& condition, const Stmt& first, const Stmt* second);
  void run_switch(const Stmt& statement);
  void run_jump(const Stmt& statement);
  /// Around a loop's body, or a switch's. Returns whether it may have been left early.
  void enter_loop(bool unrolls);
  bool leave_loop();
  [[nodiscard]] bool stays_so(const Lanes& condition);
  void run_return(const Stmt& statement);
  [[nodiscard]] Lanes active();  ///< who runs the present statement
  [[nodiscard]] State copied() const;
  State merge(const Lanes& condition, State then, State otherwise);
  Value merge(const Lanes& condition, const Value& then, const Value& otherwise);

  // loops.cpp
  /// A loop in parts: `first` has run already.
  struct LoopParts {
    const Stmt* statement = nullptr;
    const Expr* condition = nullptr;
    const Stmt* body = nullptr;
    const Expr* step = nullptr;
    bool tests_last = false;  ///< do … while
  };
  /// A variable, or a field of one, or a global element, that a round hands on to the next.
  struct Carried {
    const Variable* variable = nullptr;
    std::vector<std::string> fields;
    std::pair<int, Lanes> cell{-1, {}};
    std::pair<int, std::int64_t> element{-1, 0};  ///< of a local array
    Lanes cell_guard;                             ///< who touches the cell
    Lanes before;                                 ///< the loop
    Lanes phi;                                    ///< stands for it in a round
    Lanes after;                                  ///< one round, in terms of phi
    Lanes step;                                   ///< an induction's; else empty
    std::vector<std::optional<Folded>> folds;     ///< a reduction's, one per lane
    Lanes result;                                 ///< after the loop
  };
  void run_loop(const Stmt& statement);
  void run_whole_loop(const Stmt& statement);
  void run_or_unroll(const LoopParts& loop);
  void unroll(const LoopParts& loop, std::int64_t most_rounds);
  /// One round; `values` are the carried ones' at its start. Returns the condition.
  Lanes round(const LoopParts& loop, std::vector<Carried>& carried,
              const std::vector<Lanes>& values, SymbolId symbol = -1);
  void run_dry(const LoopParts& loop);
  void run_step(const LoopParts& loop, const std::vector<Carried>& carried);

  // carried.cpp
  std::vector<Carried> carried_by(const LoopParts& loop);
  /// What a round has changed in `before` beyond `carried`, added to it.
  bool carry_more(const LoopParts& loop, const State& before, std::vector<Carried>& carried);
  void name_phis(Carried& one);
  void collect(const Variable* variable, const Value& value, std::vector<std::string> fields,
               std::vector<Carried>& all);
  Lanes& slot(const Carried& carried);
  bool find_cells(std::size_t first_store, SymbolId symbol, const Lanes& guard,
                  std::vector<Carried>& carried);

  // folds.cpp, arg_folds.cpp, online_folds.cpp, welford.cpp
  struct Rounds;
  struct Extreme {
    Op op = Op::kMax;  ///< or kMin
    Ref values = nullptr, start = nullptr;
    bool ties = false;  ///< an equal one takes the place
  };
  Ref folded(const Carried& one, std::size_t lane, SymbolId symbol, const Lanes& guard);
  Lanes folded(const Carried& one, SymbolId symbol, const Lanes& guard);
  bool fold_arg(std::vector<Carried>& carried, Carried& one, SymbolId symbol, const Lanes& guard);
  bool fold_arg_alone(Carried& one, SymbolId symbol, const Lanes& guard);
  Ref place_of_extreme(Op op, SymbolId symbol, Ref values, bool last);
  Ref chosen_at(const Extreme& extreme, SymbolId symbol, Ref place, Ref otherwise);
  bool fold_online(std::vector<Carried>& carried, Carried& one, SymbolId symbol,
                   const Lanes& guard);
  Ref online_sum(const Carried& one, const Carried& top, std::size_t lane, SymbolId symbol,
                 Ref guard);
  bool fold_mean(Carried& one, const Rounds& rounds);
  bool fold_squares(std::vector<Carried>& carried, Carried& one, const Rounds& rounds);
  Ref mean_of(const Carried& one, std::size_t lane, const Rounds& rounds);
  Ref squares_of(const Carried& one, const Carried& top, std::size_t lane, const Rounds& rounds);
  Ref times(std::int64_t count, Ref value);

  // loop_rounds.cpp
  /// A loop run on symbols, as far as it has come.
  struct Rounds {
    const LoopParts* loop = nullptr;
    State before;  ///< the loop
    std::vector<Frame> frames;
    std::size_t first_store = 0, first_load = 0;
    std::vector<Carried> carried;
    std::int64_t count = 0;  ///< at most, of any lane
    Lanes trips;             ///< per lane; null: not one number
    SymbolId symbol = -1;    ///< of the round
    Lanes guard;             ///< who runs it
    State after;             ///< it
    bool left_early = false;
    std::vector<std::optional<Lanes>> known;  ///< per carried: at the start of round `symbol`
  };
  struct Trips {
    std::int64_t most = -1;  ///< -1: not known
    Ref exact = nullptr;
  };
  /// `rounds` becomes how many there are as soon as that is one known number.
  void run_symbolic(const LoopParts& loop, std::optional<std::int64_t>& rounds);
  void rewind(const Rounds& rounds);
  Lanes at_round(const Carried& one, Ref index);
  void find_inductions(Rounds& rounds);
  std::vector<Load> count_rounds(Rounds& rounds);
  Trips trips_of(Ref part, SymbolId unknown, int position);
  void run_rounds(Rounds& rounds);
  [[nodiscard]] bool is_settled(const Carried& one) const;
  [[nodiscard]] bool leaves_phis(const Rounds& rounds) const;
  bool all_folds(Rounds& rounds);
  Lanes at_start(const Carried& one, const Rounds& rounds);
  void settle(Rounds& rounds);
  [[nodiscard]] std::string name_of(const Carried& one) const;  ///< for a refusal
  Lanes result_of(const Carried& one, const std::optional<Lanes>& known, const Rounds& rounds);
  void leave_shared(Rounds& rounds);
  void finish(Rounds& rounds);

  void check_in_place();
  [[nodiscard]] bool may_meet(const Load& load, const Store& store, std::size_t lane);

  Nodes& nodes_;
  const Launched launched_;
  std::size_t lanes_ = 1;
  State state_;
  std::vector<Frame> frames_;
  std::vector<Lanes> path_;   ///< conditions around the present statement
  std::vector<Lanes> exits_;  ///< per loop being run: has neither continued nor broken off
  std::vector<Lanes> breaks_;
  std::map<const Variable*, int> memory_ids_;
  std::map<const syntax::Function*, std::set<const Variable*>> addressed_;
  std::vector<SymbolId> open_loops_;     ///< indices of the loops being run on symbols
  std::vector<std::size_t> loop_paths_;  ///< per loop being run: conditions around it
  std::vector<bool> loop_unrolls_;       ///< per loop being run: may be left by break
  std::vector<bool> loop_left_;          ///< per loop being run: has a break that was reached
  bool left_early_ = false;              ///< the last round that was run
  std::vector<Load> loads_;              ///< of what was there before the launch
  std::set<std::pair<int, std::int64_t>> shared_read_early_;  ///< in the loop being run
  std::set<std::pair<int, std::int64_t>> shared_written_;
  std::map<const Variable*, int> lost_;  ///< without a known value since the loop at this position
  int position_ = -1;                    ///< of the present statement or expression
  std::vector<std::pair<int, std::int64_t>>
      unrolled_;           ///< loops done round by round: where, rounds
  bool counting_ = false;  ///< rounds, of which there may be any number yet
  bool dry_ = false;       ///< looking for inductions only: memory holds nobody knows what
};

/// May evaluating it change anything?
[[nodiscard]] bool has_effects(const syntax::Expr& expr);

}  // namespace hone::nest
