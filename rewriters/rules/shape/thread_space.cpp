#include "rewriters/rules/shape/thread_space.h"

#include <set>

#include "rewriters/syntax/stability.h"
#include "rewriters/syntax/walk.h"

namespace hone::shape {
namespace {

using syntax::Access;
using syntax::Expr;
using syntax::KernelInfo;
using syntax::Loop;
using syntax::Polynomial;
using syntax::Stmt;
using syntax::Variable;

class Study {
 public:
  Study(const KernelInfo& kernel, char axis, const Bindings& sizes)
      : kernel_(kernel),
        sizes_(sizes),
        thread_(std::string("threadIdx.") + axis),
        block_(std::string("blockIdx.") + axis),
        block_dim_(std::string("blockDim.") + axis),
        grid_dim_(std::string("gridDim.") + axis) {}

  Dimension run() {
    Dimension result;
    result.regular = true;
    for (const Expr* expr : kernel_.function->all_expressions) {
      if (expr->kind != Expr::Kind::kBuiltin) continue;
      if (expr->text.find('.') == std::string::npos && expr->text != "warpSize") {
        result.used = true;
        result.regular = false;
      }
      if (!is_index(expr->text)) continue;
      result.used = true;
      if (!use_is_regular(*expr, 0)) result.regular = false;
    }
    result.strided = !strided_.empty();
    if (result.strided && !stride_loops_cover_all()) result.regular = false;
    if (result.regular) result.bound = guard_bound();
    return result;
  }

 private:
  bool is_index(const std::string& text) const {
    return text == thread_ || text == block_ || text == block_dim_ || text == grid_dim_;
  }

  bool mentions_index(const Polynomial& polynomial) const {
    return polynomial.uses(thread_) || polynomial.uses(block_) || polynomial.uses(block_dim_) ||
           polynomial.uses(grid_dim_);
  }

  /// The polynomial in terms of the global index "global", when every index occurs through it.
  std::optional<Polynomial> in_global(const Polynomial& polynomial) const {
    const Polynomial rest =
        Polynomial::symbol("global") - Polynomial::symbol(block_) * Polynomial::symbol(block_dim_);
    auto result = polynomial.substitute(thread_, rest);
    if (!result || mentions_index(*result)) return std::nullopt;
    return result;
  }

  bool is_total_threads(const Polynomial& polynomial) const {
    return polynomial == Polynomial::symbol(block_dim_) * Polynomial::symbol(grid_dim_);
  }

  /// The largest expression around the use that is still a polynomial; `regular` tells whether it,
  /// or a part of it around the use, depends on the global index alone.
  const Expr& largest_readable(const Expr& use, bool& regular) const {
    const Expr* best = &use;
    for (const Expr* at = &use; at != nullptr; at = at->parent) {
      if (at != &use && at->kind != Expr::Kind::kBinary && at->kind != Expr::Kind::kCast &&
          at->kind != Expr::Kind::kUnary) {
        break;
      }
      const auto polynomial = syntax::polynomial(*at);
      if (!polynomial) break;
      best = at;
      regular |= in_global(*polynomial).has_value();
    }
    return *best;
  }

  const Loop* loop_stepping_by(const Expr& expr) const {
    for (const auto& loop : kernel_.loops) {
      if (loop->step_expr == nullptr) continue;
      const Expr& step = syntax::without_casts(*loop->step_expr);
      if (&step == &syntax::without_casts(expr) && loop->statement == expr.statement) {
        return loop.get();
      }
    }
    return nullptr;
  }

  const Variable* initialised_by(const Expr& expr) const {
    for (const Variable* local : kernel_.function->locals) {
      if (local->init != nullptr &&
          &syntax::without_casts(*local->init) == &syntax::without_casts(expr)) {
        return local;
      }
    }
    return nullptr;
  }

  bool use_is_regular(const Expr& use, int depth) {
    if (depth > 16) return false;
    bool regular = false;
    const Expr& whole = largest_readable(use, regular);
    const auto polynomial = syntax::polynomial(whole);
    if (!polynomial) return false;
    if (regular) return true;  // starting a grid-stride loop is judged with the loop
    if (const Loop* loop = loop_stepping_by(whole)) {
      if (!is_total_threads(*polynomial)) return false;
      strided_.insert(loop);
      return true;
    }
    // A part of the index that is given a name first: then every use of the name must do.
    const Variable* local = initialised_by(whole);
    if (local == nullptr || !local->single_assignment() || !syntax::init_is_stable(*local) ||
        !local->type.is_integer()) {
      return false;
    }
    for (const Expr* expr : kernel_.function->all_expressions) {
      if (expr->kind == Expr::Kind::kVariable && expr->variable == local &&
          !use_is_regular(*expr, depth + 1)) {
        return false;
      }
    }
    return true;
  }

  /// for (i = global; i < n; i += total): every i is visited once under any shape, so the loops
  /// must be all that has an effect, and one iteration must not hand anything to the next.
  bool stride_loops_cover_all() const {
    for (const Loop* loop : strided_) {
      const auto lower = syntax::polynomial(*loop->lower);
      if (!lower || in_global(*lower) != Polynomial::symbol("global")) return false;
      const syntax::Effects body = syntax::effects_of(*loop->body);
      for (const Variable* written : body.writes) {
        if (written->statement == nullptr || !is_inside(written->statement, loop->body)) {
          return false;
        }
      }
    }
    for (const Access& access : kernel_.accesses) {
      if (access.kind == Access::Kind::kRead) continue;
      bool inside = false;
      for (const Loop* loop : strided_) inside |= is_inside(access.statement, loop->statement);
      if (!inside) return false;
    }
    // The global index may do nothing but start the loops.
    for (const Expr* expr : kernel_.function->all_expressions) {
      if (expr->kind != Expr::Kind::kBuiltin || !is_index(expr->text)) continue;
      bool in_loop_body = false;
      for (const Loop* loop : strided_) in_loop_body |= is_inside(expr->statement, loop->body);
      if (in_loop_body) return false;
    }
    for (const Variable* local : kernel_.function->locals) {
      if (local->init == nullptr) continue;
      const auto value = syntax::polynomial(*local->init);
      if (!value || !mentions_index(*value)) continue;
      for (const Expr* expr : kernel_.function->all_expressions) {
        if (expr->variable != local) continue;
        for (const Loop* loop : strided_) {
          if (loop->variable != local && is_inside(expr->statement, loop->body)) return false;
        }
      }
    }
    return true;
  }

  // --- guards -----------------------------------------------------------------------------

  /// From `index < limit` (or its negation when `negated`): the first global index that fails it.
  std::optional<std::int64_t> first_failing(const Expr& condition, bool negated) const {
    const Expr& expr = syntax::without_casts(condition);
    if (expr.kind == Expr::Kind::kUnary && expr.text == "!") {
      return first_failing(*expr.operands[0], !negated);
    }
    if (expr.kind != Expr::Kind::kBinary) return std::nullopt;
    std::string op = expr.text;
    if (op == (negated ? "||" : "&&")) {
      const auto left = first_failing(*expr.operands[0], negated);
      const auto right = first_failing(*expr.operands[1], negated);
      if (!left || !right) return left ? left : right;
      return std::min(*left, *right);
    }
    const Expr *index = expr.operands[0], *limit = expr.operands[1];
    auto limit_value = kernel_.evaluate(*limit, sizes_);
    if (!limit_value) {  // limit > index
      std::swap(index, limit);
      limit_value = kernel_.evaluate(*limit, sizes_);
      op = op == "<" ? ">" : op == ">" ? "<" : op == "<=" ? ">=" : op == ">=" ? "<=" : op;
    }
    if (!limit_value) return std::nullopt;
    const auto polynomial = syntax::polynomial(*index);
    const auto global = polynomial ? in_global(*polynomial) : std::nullopt;
    if (!global) return std::nullopt;
    const auto offset = (*global - Polynomial::symbol("global")).as_constant();
    if (!offset) return std::nullopt;
    if (negated) op = op == ">=" ? "<" : op == ">" ? "<=" : "";
    if (op == "<") return *limit_value - *offset;
    if (op == "<=") return *limit_value - *offset + 1;
    return std::nullopt;
  }

  /// The smallest bound that stands between a statement and the kernel's entry.
  std::optional<std::int64_t> bound_before(const Stmt& statement) const {
    std::optional<std::int64_t> best;
    const auto offer = [&](std::optional<std::int64_t> bound) {
      if (bound && (!best || *bound < *best)) best = bound;
    };
    const Stmt* inner = &statement;
    for (const Stmt* at = &statement; at != nullptr; inner = at, at = at->parent) {
      if (at->kind == Stmt::Kind::kIf && at != &statement && at->expr != nullptr) {
        if (at->children[0] == inner) offer(first_failing(*at->expr, false));
        if (at->children.size() > 1 && at->children[1] == inner) {
          offer(first_failing(*at->expr, true));
        }
      }
      if (at->kind == Stmt::Kind::kFor && at != &statement && at->children[0] == inner) {
        const Loop* loop = kernel_.loop_of(*at);
        if (loop != nullptr && strided_.count(loop) != 0) offer(loop_bound(*loop));
      }
      if (at->kind == Stmt::Kind::kCompound) {
        for (const Stmt* before : at->children) {  // if (index >= limit) return;
          if (before == inner) break;
          if (before->kind != Stmt::Kind::kIf || before->children.size() != 1) continue;
          const Stmt* then = before->children[0];
          if (then->kind == Stmt::Kind::kCompound && then->children.size() == 1) {
            then = then->children[0];
          }
          if (then->kind == Stmt::Kind::kReturn) offer(first_failing(*before->expr, true));
        }
      }
    }
    return best;
  }

  std::optional<std::int64_t> loop_bound(const Loop& loop) const {
    const auto upper = kernel_.evaluate(*loop.upper, sizes_);
    if (!upper) return std::nullopt;
    return loop.inclusive ? *upper + 1 : *upper;
  }

  /// Reads count as effects: beyond the bound they could leave their buffer.
  std::optional<std::int64_t> guard_bound() const {
    std::int64_t most = 0;
    for (const Access& access : kernel_.accesses) {
      if (access.base != nullptr && access.base->storage == Variable::Storage::kLocal &&
          access.base->type.kind == syntax::Type::Kind::kArray) {
        continue;
      }
      auto bound = bound_before(*access.statement);
      // An access in the condition of the guarding `if` itself: `if (i < n && a[i])`.
      for (const Expr* at = access.expr; at->parent != nullptr; at = at->parent) {
        if (at->parent->kind == Expr::Kind::kBinary && at->parent->text == "&&" &&
            at->parent->operands[1] == at) {
          const auto here = first_failing(*at->parent->operands[0], false);
          if (here && (!bound || *here < *bound)) bound = here;
        }
      }
      if (!bound) return std::nullopt;
      most = std::max(most, *bound);
    }
    return most;
  }

  const KernelInfo& kernel_;
  const Bindings& sizes_;
  std::string thread_, block_, block_dim_, grid_dim_;
  std::set<const Loop*> strided_;
};

}  // namespace

Dimension study_dimension(const KernelInfo& kernel, char axis, const Bindings& sizes) {
  return Study(kernel, axis, sizes).run();
}

}  // namespace hone::shape
