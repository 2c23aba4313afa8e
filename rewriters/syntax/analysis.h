// Facts about kernels that rules ask for: polynomial index forms, canonical loops, memory accesses,
// what varies between threads. All conservative: "don't know" is an empty optional or `false`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "candidates/expr.h"
#include "candidates/program.h"
#include "rewriters/syntax/ast.h"

namespace hone::syntax {

/// An integer polynomial over symbols: sum of coefficient x product of symbols. A symbol is
/// "threadIdx.x" and its kin, "name#k" for a variable (parameter, loop variable, or a local that is
/// not single-assignment; k makes shadowed names distinct), or an opaque quasi-affine atom such as
/// "(blockIdx.x / 4)". So `A[row*N + k]` is {row-terms…, "k#1": 1} with products kept symbolic.
struct Polynomial {
  using Monomial = std::vector<std::string>;  ///< sorted symbols; empty: the constant term
  std::map<Monomial, std::int64_t> terms;     ///< no zero coefficients

  [[nodiscard]] static Polynomial constant(std::int64_t value);
  [[nodiscard]] static Polynomial symbol(const std::string& name);
  [[nodiscard]] Polynomial operator+(const Polynomial& other) const;
  [[nodiscard]] Polynomial operator-(const Polynomial& other) const;
  [[nodiscard]] Polynomial operator*(const Polynomial& other) const;
  bool operator==(const Polynomial&) const = default;

  [[nodiscard]] bool is_zero() const { return terms.empty(); }
  [[nodiscard]] std::optional<std::int64_t> as_constant() const;
  [[nodiscard]] bool uses(const std::string& symbol) const;  ///< also inside an opaque atom
  [[nodiscard]] std::set<std::string> symbols() const;
  /// d/d(symbol), when the polynomial is linear in it: A[row*N+k] by "row#0" gives {N}.
  [[nodiscard]] std::optional<Polynomial> coefficient(const std::string& symbol) const;
  /// Terms without `symbol`.
  [[nodiscard]] Polynomial without(const std::string& symbol) const;
  /// Replaces a symbol by a polynomial. Empty when the symbol occurs inside an opaque atom.
  [[nodiscard]] std::optional<Polynomial> substitute(const std::string& symbol,
                                                     const Polynomial& value) const;
};

/// The symbol name of a variable.
[[nodiscard]] std::string symbol_of(const Variable& variable);

/// Polynomial of an integer expression. Single-assignment integer locals are expanded, integer
/// casts looked through (int to size_t and back: indices are taken not to overflow, as the
/// reference's own run at the sizes shows), `/`, `%`, `<<`, `>>` by constants kept or folded.
/// Empty: not an integer expression we can read (a load, a call, a float).
[[nodiscard]] std::optional<Polynomial> polynomial(const Expr& expr);

/// for (int i = lower; i < upper; i += step): step > 0, i not written in the body, bounds not
/// changed by the body, no break/return/goto out of it.
struct Loop {
  const Stmt* statement = nullptr;  ///< the kFor
  const Variable* variable = nullptr;
  const Expr* lower = nullptr;
  const Expr* upper = nullptr;       ///< as written
  bool inclusive = false;            ///< `<=`
  std::optional<std::int64_t> step;  ///< when a constant
  const Expr* step_expr = nullptr;   ///< when not (blockDim.x * gridDim.x in a grid-stride loop)
  const Stmt* body = nullptr;
  int depth = 0;                 ///< 0: not inside another canonical loop
  const Loop* parent = nullptr;  ///< the innermost enclosing canonical loop
  std::string site;              ///< "kernel/loopN", N counts every `for` of the kernel in order
};

/// One access to memory: p[i], *p, p[i].x, a[i][j] of a shared or local array; calls such as
/// atomicAdd are kAtomic on their first argument; __ldg(p + i) is a read; a pointer given to a
/// function of the file is an access without an index.
struct Access {
  enum class Kind { kRead, kWrite, kReadWrite, kAtomic };
  Kind kind = Kind::kRead;
  const Expr* expr = nullptr;  ///< the element: `a[i][j]`, `*p`, the `p[i]` of p[i].x; or the call
  const Variable* base =
      nullptr;  ///< the array or pointer variable; null when unknown. Pointer
                ///< locals that are single-assignment are followed to their origin
  const Variable* written_base = nullptr;  ///< the variable as written in the text
  std::vector<const Expr*> indices;        ///< as written, outermost first; empty for *p and calls
  std::optional<Polynomial> index;  ///< row-major element index from `base`, in units of `expr`'s
                                    ///< type; empty when unreadable or cast to another type
  const Stmt* statement = nullptr;
  const Loop* loop = nullptr;  ///< innermost canonical loop around it
};

struct Dataflow;  // dataflow.h

/// Everything about one kernel of a program, computed once.
struct KernelInfo {
  const TranslationUnit* unit = nullptr;
  const Function* function = nullptr;
  std::vector<const Launch*> launches;       ///< of the Program, in order; at least one
  std::vector<std::unique_ptr<Loop>> loops;  ///< canonical `for` loops, in source order
  std::vector<Access> accesses;              ///< global, shared and local arrays, in source order
  bool has_barrier = false;                  ///< __syncthreads and kin
  bool has_warp_ops = false;                 ///< shuffles, votes, __syncwarp
  bool has_atomics = false;
  bool has_shared = false;   ///< any __shared__ variable
  bool has_unknown = false;  ///< asm, goto, lambdas, or calls to functions that are neither
                             ///< known intrinsics nor pure __device__ functions of the file
  std::set<const Variable*> aliased;  ///< pointer locals (derived from other pointers), and
                                      ///< pointer parameters that are themselves assigned
  const Program* program = nullptr;
  std::shared_ptr<const Dataflow> dataflow;  ///< what varies; see varies_by_thread

  /// Loop whose statement this is, or null.
  [[nodiscard]] const Loop* loop_of(const Stmt& statement) const;
  [[nodiscard]] const Loop* find_loop(std::string_view site) const;

  /// May the value differ between threads of one block / between blocks? Follows locals through
  /// all their assignments, and control flow. Conservative: unknown is true.
  [[nodiscard]] bool varies_by_thread(const Expr& expr) const;
  [[nodiscard]] bool varies_by_block(const Expr& expr) const;
  /// Is every thread of a block sure to reach this statement the same number of times?
  [[nodiscard]] bool uniform_control(const Stmt& statement) const;

  /// The task's buffer that every launch passes for this parameter; null when they differ.
  [[nodiscard]] const Buffer* buffer_of(const Variable& parameter, const Program& program) const;
  /// The integer that every launch passes for this parameter at these sizes.
  [[nodiscard]] std::optional<std::int64_t> value_of(const Variable& parameter,
                                                     const Bindings& sizes) const;
  /// May these two parameters point into the same buffer in any launch?
  [[nodiscard]] bool may_alias(const Variable& a, const Variable& b) const;
  /// Value of an integer expression at these sizes: constants, integer parameters (through the
  /// launches), blockDim and gridDim. Empty when it varies by thread, block or loop.
  [[nodiscard]] std::optional<std::int64_t> evaluate(const Expr& expr, const Bindings& sizes) const;
  /// Trip count at these sizes, when its bounds do not vary.
  [[nodiscard]] std::optional<std::int64_t> trip_count(const Loop& loop,
                                                       const Bindings& sizes) const;
  /// Block dimensions at these sizes, when all launches agree.
  [[nodiscard]] std::optional<Dim3> block_dim(const Bindings& sizes) const;
  [[nodiscard]] std::optional<Dim3> grid_dim(const Bindings& sizes) const;
};

/// One per kernel that `program` launches, in order of first launch. Errors: kernel not found.
/// The infos point into `unit` and `program`; keep both alive.
[[nodiscard]] Result<std::vector<KernelInfo>> analyse(const TranslationUnit& unit,
                                                      const Program& program);

/// The variables that a statement (with all inside it) writes, reads; and whether it has side
/// effects other than writing variables (memory writes, barriers, atomics, unknown calls).
struct Effects {
  std::set<const Variable*> writes;
  std::set<const Variable*> reads;
  bool writes_memory = false;  ///< through pointers or arrays
  bool reads_memory = false;
  bool synchronises = false;
  bool unknown = false;
  bool may_exit = false;  ///< return / break / continue that leaves the statement
};
[[nodiscard]] Effects effects_of(const Stmt& statement);

/// A name that does not occur in the unit, made from `stem` ("tile", "tile_2", ...).
[[nodiscard]] std::string fresh_name(const TranslationUnit& unit, std::string_view stem);

}  // namespace hone::syntax
