#include "rewriters/rules/common/tile_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace hone::rules {
namespace {

using syntax::Expr;
using syntax::Loop;
using syntax::Polynomial;
using syntax::Stmt;
using syntax::Variable;

constexpr double kLeastReuse = 2;
constexpr std::int64_t kLongStride = 8;      // elements between lanes: a sector each
constexpr std::int64_t kLargestOffset = 64;  // reads further apart get tiles of their own

// Not C identifiers, so they cannot clash with symbols of variables.
constexpr const char* kBase = "#k0";
constexpr const char* kStep = "#kk";
constexpr const char* kOffset = "#offset";

class Planner {
 public:
  Planner(const syntax::KernelInfo& info, const Program& program, const Loop& loop,
          std::int64_t steps, const RewriteContext& context, IndexSpace& space)
      : info_(info),
        program_(program),
        loop_(loop),
        steps_(steps),
        context_(context),
        space_(space),
        specialize_(context.task == nullptr || context.task->specialize) {}

  TilePlan run() {
    TilePlan plan;
    plan.k_symbol = syntax::symbol_of(*loop_.variable);
    plan.base_symbol = kBase;
    plan.step_symbol = kStep;
    plan.offset_symbol = kOffset;
    const auto block = info_.block_dim(context_.sizes);
    if (!block) return plan;
    block_ = *block;
    sizes_ = space_.launch_ranges({1, 1, 1});
    if (!collect_written()) return plan;

    // Reads of the same form, apart from a constant, share a tile.
    struct Candidate {
      IndexSpace::Address address;
      const Expr* expr;
      Polynomial form;  ///< without the constant
      std::int64_t constant;
      std::vector<const Loop*> inner;
      bool unconditional;
    };
    std::vector<std::vector<Candidate>> groups;
    for (const Expr* expr : expressions_in(*loop_.body)) {
      auto read = read_of(*expr);
      if (!read) continue;
      const auto inner = inner_loops(*read->second);
      if (!inner || !may_stage(*read->first.base)) continue;
      const auto form = space_.replace(
          read->first.offset,
          {{plan.k_symbol, Polynomial::symbol(kBase) +
                               Polynomial::constant(*loop_.step) * Polynomial::symbol(kStep)}});
      Candidate candidate{read->first, read->second, form,
                          0,           *inner,       is_unconditional(*read->second)};
      if (auto constant = candidate.form.terms.find({}); constant != candidate.form.terms.end()) {
        candidate.constant = constant->second;
        candidate.form.terms.erase(constant);
      }
      const auto same = std::ranges::find_if(groups, [&](const auto& group) {
        return group[0].address.base == candidate.address.base && group[0].form == candidate.form &&
               group[0].inner == candidate.inner &&
               std::abs(group[0].constant - candidate.constant) <= kLargestOffset;
      });
      if (same == groups.end()) {
        groups.push_back({candidate});
      } else {
        same->push_back(candidate);
      }
    }
    for (const auto& group : groups) {
      std::int64_t low = group[0].constant;
      std::int64_t high = low;
      bool unconditional = true;
      for (const Candidate& candidate : group) {
        low = std::min(low, candidate.constant);
        high = std::max(high, candidate.constant);
        unconditional = unconditional && candidate.unconditional;
      }
      Tile tile;
      tile.base = group[0].address.base;
      for (const Candidate& candidate : group) {
        tile.reads.push_back({candidate.expr, candidate.constant - low});
      }
      const Polynomial form = group[0].form + Polynomial::constant(low);
      if (shape(tile, form, high - low, group[0].inner, unconditional)) {
        plan.tiles.push_back(std::move(tile));
      }
    }
    return plan;
  }

 private:
  /// False when something is written that we cannot name.
  bool collect_written() {
    for (const Expr* expr : info_.function->all_expressions) {
      const auto write = write_of(*expr);
      if (!write || !write->memory) continue;
      if (write->root != nullptr && (write->root->storage == Variable::Storage::kShared ||
                                     write->root->storage == Variable::Storage::kDynamicShared)) {
        continue;
      }
      std::optional<IndexSpace::Address> place;
      if (write->atomic) {
        if (!write->target->operands.empty()) place = space_.address(*write->target->operands[0]);
      } else {
        place = space_.element(strip_members(*write->target));
      }
      const Variable* base = place ? place->base : pointer_root(write->root);
      if (base == nullptr) return false;
      written_.insert(base);
    }
    return true;
  }

  static const Expr& strip_members(const Expr& lvalue) {
    const Expr* expr = &lvalue;
    while (expr->kind == Expr::Kind::kMember) expr = expr->operands[0];
    return *expr;
  }

  static const Variable* pointer_root(const Variable* root) {
    return root != nullptr && root->storage == Variable::Storage::kParameter ? root : nullptr;
  }

  bool may_stage(const Variable& base) const {
    if (base.type.element == nullptr || base.type.element->is_volatile) return false;
    return std::ranges::none_of(written_, [&](const Variable* written) {
      return written == &base || info_.may_alias(*written, base);
    });
  }

  /// The address that an expression loads from, and the expression to replace.
  std::optional<std::pair<IndexSpace::Address, const Expr*>> read_of(const Expr& expr) {
    if (expr.kind == Expr::Kind::kCall && expr.text.starts_with("__ld") &&
        expr.operands.size() == 1) {
      auto address = space_.address(*expr.operands[0]);
      if (!address) return std::nullopt;
      return std::pair{*address, &expr};
    }
    const bool load = expr.kind == Expr::Kind::kSubscript ||
                      (expr.kind == Expr::Kind::kUnary && expr.text == "*");
    if (!load) return std::nullopt;
    // Not when its address is taken, and not when it is what gets written.
    const Expr* up = expr.parent;
    const Expr* below = &expr;
    while (up != nullptr && (up->kind == Expr::Kind::kMember || up->kind == Expr::Kind::kCast)) {
      below = up;
      up = up->parent;
    }
    if (up != nullptr && up->kind == Expr::Kind::kUnary && up->text == "&") return std::nullopt;
    if (up != nullptr) {
      const auto write = write_of(*up);
      if (write && write->target == below) return std::nullopt;
    }
    auto address = space_.element(expr);
    if (!address) return std::nullopt;
    return std::pair{*address, &expr};
  }

  /// Canonical loops between the staged loop and the read; empty when another loop is in between.
  std::optional<std::vector<const Loop*>> inner_loops(const Expr& read) const {
    std::vector<const Loop*> result;
    for (const Stmt* up = read.statement; up != nullptr && up != loop_.body; up = up->parent) {
      if (up->kind == Stmt::Kind::kWhile || up->kind == Stmt::Kind::kDo) return std::nullopt;
      if (up->kind != Stmt::Kind::kFor) continue;
      const Loop* inner = info_.loop_of(*up);
      if (inner == nullptr) return std::nullopt;
      result.push_back(inner);
    }
    return result;
  }

  bool is_unconditional(const Expr& read) const {
    const Expr* child = &read;
    for (const Expr* up = read.parent; up != nullptr; child = up, up = up->parent) {
      if (up->kind == Expr::Kind::kConditional && up->operands[0] != child) return false;
      if (up->kind == Expr::Kind::kBinary && (up->text == "&&" || up->text == "||") &&
          up->operands[0] != child) {
        return false;
      }
    }
    for (const Stmt* up = read.statement; up != nullptr && up != loop_.body; up = up->parent) {
      if (up->kind == Stmt::Kind::kIf && !within_condition(read, *up)) return false;
      if (up->kind == Stmt::Kind::kSwitch) return false;
    }
    return true;
  }

  static bool within_condition(const Expr& read, const Stmt& branch) {
    return read.statement == &branch;
  }

  struct Term {
    std::string symbol;
    std::int64_t factor = 0;
  };

  /// Ranges of the local symbols; false when a symbol is neither local nor block-uniform.
  bool classify(const Polynomial& form, const std::vector<const Loop*>& inner,
                std::int64_t largest_offset) {
    locals_.clear();
    local_ranges_.clear();
    const auto local = [&](const std::string& symbol, Interval range) {
      locals_.insert(symbol);
      local_ranges_[symbol] = range;
    };
    local("threadIdx.x", {0, block_[0] - 1});
    local("threadIdx.y", {0, block_[1] - 1});
    local("threadIdx.z", {0, block_[2] - 1});
    local(kStep, {0, steps_ - 1});
    local(kOffset, {0, largest_offset});
    for (const Loop* loop : inner) {
      if (!specialize_ && !(loop->lower->constant && loop->upper->constant)) return false;
      const auto low = info_.evaluate(*loop->lower, context_.sizes);
      const auto trips = info_.trip_count(*loop, context_.sizes);
      if (!low || !trips || *trips < 1 || !loop->step) return false;
      local(syntax::symbol_of(*loop->variable), {*low, *low + (*trips - 1) * *loop->step});
    }
    for (const std::string& symbol : space_.plain_symbols(form)) {
      if (locals_.contains(symbol) || symbol == kBase) continue;
      if (symbol.starts_with("blockIdx.") || symbol.starts_with("gridDim.")) continue;
      const Variable* variable = space_.variable(symbol);
      if (variable == nullptr || variable->address_taken || is_shadowed(*variable)) return false;
      if (variable->storage == Variable::Storage::kParameter && variable->writes == 0) continue;
      const Loop* outer = loop_.parent;
      while (outer != nullptr && outer->variable != variable) outer = outer->parent;
      if (outer == nullptr || info_.varies_by_thread(*outer->lower) ||
          (outer->step_expr != nullptr && info_.varies_by_thread(*outer->step_expr))) {
        return false;
      }
    }
    return true;
  }

  /// Another variable of the same name: printing by name could mean that one.
  bool is_shadowed(const Variable& variable) const {
    const auto other = [&](const Variable* candidate) {
      return candidate != &variable && candidate->name == variable.name;
    };
    return std::ranges::any_of(info_.function->locals, other) ||
           std::ranges::any_of(info_.function->parameters, other);
  }

  bool is_local(const std::string& symbol) const { return space_.symbol_uses(symbol, locals_); }

  /// Splits into a uniform part and terms multiplier * factor * local symbol.
  bool split(const Polynomial& form, Polynomial& uniform,
             std::map<Polynomial::Monomial, std::vector<Term>>& terms) const {
    for (const auto& [monomial, factor] : form.terms) {
      Polynomial::Monomial rest;
      std::string local;
      for (const std::string& symbol : monomial) {
        if (!is_local(symbol)) {
          rest.push_back(symbol);
        } else if (local.empty()) {
          local = symbol;
        } else {
          return false;
        }
      }
      if (local.empty()) {
        uniform.terms[monomial] += factor;
      } else {
        terms[rest].push_back({local, factor});
      }
    }
    return true;
  }

  /// A local symbol that is a number in a known range: plain, or a quotient of plain ones.
  std::optional<Interval> local_range(const std::string& symbol) const {
    const auto* atom = space_.atom(symbol);
    if (atom != nullptr) {
      if (atom->kind == IndexSpace::Atom::Kind::kSelect) return std::nullopt;
      for (const std::string& inner : space_.plain_symbols(Polynomial::symbol(symbol))) {
        if (!locals_.contains(inner)) return std::nullopt;
      }
    }
    return space_.range(Polynomial::symbol(symbol), local_ranges_);
  }

  /// One dimension from terms of one multiplier. Its extremes must be reached together.
  std::optional<TileDim> dimension(const std::vector<Term>& terms) const {
    TileDim dim;
    Polynomial sum;
    std::int64_t step = 0;
    for (const Term& term : terms) {
      step = std::gcd(step, term.factor);
      sum = sum + Polynomial::constant(term.factor) * Polynomial::symbol(term.symbol);
    }
    if (step == 0) return std::nullopt;
    const auto reach = space_.range(sum, local_ranges_);
    if (!reach) return std::nullopt;
    dim.step = step;
    dim.low = reach->low;
    dim.extent = (reach->high - reach->low) / step + 1;
    for (const auto& [monomial, factor] : sum.terms) dim.local.terms[monomial] = factor / step;
    // low is a multiple of step: every term is.
    if (dim.low != 0) dim.local = dim.local - Polynomial::constant(dim.low / step);
    const std::set<std::string> symbols = space_.plain_symbols(sum);
    dim.only_k =
        symbols == std::set<std::string>{kStep} || symbols == std::set<std::string>{kStep, kOffset};
    dim.by_thread_x = symbols.contains("threadIdx.x");
    return dim;
  }

  static bool by_threads(const Term& term) { return term.symbol.starts_with("threadIdx"); }
  static bool by_steps(const Term& term) { return term.symbol == kStep; }

  /// Terms whose reach overlaps walk the same elements; the others are dimensions of their own.
  std::optional<std::vector<std::vector<Term>>> cluster(std::vector<Term> terms) const {
    std::ranges::sort(terms, {}, [](const Term& term) { return std::abs(term.factor); });
    std::vector<std::vector<Term>> clusters;
    std::int64_t reach = 0;
    for (const Term& term : terms) {
      const auto range = local_range(term.symbol);
      if (!range) return std::nullopt;
      const std::int64_t length = std::abs(term.factor) * (range->high - range->low);
      const std::int64_t gap = std::abs(term.factor) - reach;
      // Neighbours without a gap share a dimension, but what threads walk over stays apart from
      // what the loop walks over: a row of the tile is then a row of threads.
      const auto any = [&](const auto& what) {
        return what(term) || (!clusters.empty() && std::ranges::any_of(clusters.back(), what));
      };
      const bool apart = clusters.empty() || gap > std::abs(clusters.back()[0].factor) ||
                         (gap > 0 && any(by_threads) && any(by_steps));
      if (apart) {
        clusters.push_back({term});
        reach = length;
      } else {
        clusters.back().push_back(term);
        reach += length;
      }
    }
    return clusters;
  }

  std::optional<std::int64_t> value(const Polynomial& uniform) const {
    const auto range = space_.range(uniform, sizes_);
    if (!range || range->low != range->high) return std::nullopt;
    return range->low;
  }

  bool shape(Tile& tile, Polynomial form, std::int64_t largest_offset,
             const std::vector<const Loop*>& inner, bool unconditional) {
    if (!classify(form, inner, largest_offset)) return false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      static constexpr std::array kThreads = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
      if (block_[axis] == 1) {
        form = space_.replace(form, {{kThreads[axis], Polynomial::constant(0)}});
        locals_.erase(kThreads[axis]);
      }
    }
    if (largest_offset > 0) form = form + Polynomial::symbol(kOffset);
    std::map<Polynomial::Monomial, std::vector<Term>> terms;
    if (!split(form, tile.origin, terms)) return false;
    if (const auto open = without_sliding_clamps(form, terms, *tile.base); open != form) {
      form = open;
      unconditional = false;  // threads outside the guard now read what nobody read before
      tile.origin = {};
      terms.clear();
      if (!split(form, tile.origin, terms)) return false;
    }

    for (auto& [monomial, list] : terms) {
      std::vector<Term> plain;
      for (const Term& term : list) {
        if (const auto* atom = space_.atom(term.symbol);
            atom != nullptr && atom->kind == IndexSpace::Atom::Kind::kSelect) {
          auto dim = clamped_dimension(term.symbol);
          if (!dim) return false;
          dim->multiplier = Polynomial{{{monomial, term.factor}}};
          tile.dims.push_back(*dim);
        } else {
          plain.push_back(term);
        }
      }
      if (plain.empty()) continue;
      const auto clusters = cluster(plain);
      if (!clusters) return false;
      for (const auto& members : *clusters) {
        auto dim = dimension(members);
        if (!dim) return false;
        dim->multiplier = Polynomial{{{monomial, 1}}};
        tile.dims.push_back(*dim);
      }
    }
    if (tile.dims.empty()) return false;
    for (TileDim& dim : tile.dims) {
      const auto multiplier = value(dim.multiplier);
      if (!multiplier || *multiplier == 0) return false;
      dim.stride = std::abs(*multiplier * dim.step);
    }
    tile.type = tile.base->type.element->name;
    tile.element_bytes = tile.base->type.element->bytes;
    if (tile.element_bytes <= 0 || tile.element_bytes > 16) return false;
    tile.exact = unconditional && corners_are_read(tile);
    tile.buffer_elements = elements_of(*tile.base, tile.element_bytes);
    if (!tile.exact && (tile.buffer_elements == 0 || !specialize_)) return false;
    order(tile);
    return is_worth_it(tile, inner);
  }

  /// A window that slides over a clamped coordinate (h_in + r) is one dimension only without the
  /// clamp. That changes what threads outside the guard compute, never what is stored, when the
  /// clamp is one of flatten_guards() and every store is behind the guard it came from.
  Polynomial without_sliding_clamps(const Polynomial& form,
                                    const std::map<Polynomial::Monomial, std::vector<Term>>& terms,
                                    const Variable& base) {
    std::map<std::string, Polynomial> open;
    for (const auto& [monomial, list] : terms) {
      if (list.size() < 2) continue;
      for (const Term& term : list) {
        const auto* atom = space_.atom(term.symbol);
        if (atom == nullptr || atom->kind != IndexSpace::Atom::Kind::kSelect) continue;
        if (!base.type.element->is_float() || !guards_all_stores(term.symbol)) continue;
        open[term.symbol] = atom->chosen;
      }
    }
    return open.empty() ? form : space_.replace(form, open);
  }

  /// Is the atom `v < B - 1 ? v : B - 1` of a guard `v < B` that is around every store?
  bool guards_all_stores(const std::string& symbol) {
    const IndexSpace::Atom atom = *space_.atom(symbol);
    if (!space_.is_guard_clamp(symbol) || atom.op != "<" || atom.left != atom.chosen ||
        atom.right != atom.other) {
      return false;
    }
    for (const Expr* expr : info_.function->all_expressions) {
      const auto write = write_of(*expr);
      if (!write || !write->memory) continue;
      bool guarded = false;
      for (const Stmt* up = expr->statement; up != nullptr && !guarded; up = up->parent) {
        guarded = up->kind == Stmt::Kind::kIf && up->children.size() == 1 &&
                  implies_bound(*up->expr, atom);
      }
      if (!guarded) return false;
    }
    return true;
  }

  bool implies_bound(const Expr& condition, const IndexSpace::Atom& atom) {
    const Expr& expr = strip_casts(condition);
    if (expr.kind != Expr::Kind::kBinary || expr.operands.size() != 2) return false;
    if (expr.text == "&&") {
      return implies_bound(*expr.operands[0], atom) || implies_bound(*expr.operands[1], atom);
    }
    if (expr.text != "<") return false;
    const auto left = space_.form(*expr.operands[0]);
    const auto right = space_.form(*expr.operands[1]);
    return left && right && *right - Polynomial::constant(1) == atom.right &&
           by_name(*left) == by_name(atom.left);
  }

  /// The replica counters of the loop and of the stores are different variables of one name.
  std::map<std::multiset<std::string>, std::int64_t> by_name(const Polynomial& form) const {
    std::map<std::multiset<std::string>, std::int64_t> result;
    for (const auto& [monomial, factor] : form.terms) {
      std::multiset<std::string> names;
      for (const std::string& symbol : monomial) {
        const Variable* variable = space_.variable(symbol);
        const auto* atom = space_.atom(symbol);
        if (variable != nullptr) {
          names.insert(variable->name);
        } else if (atom != nullptr) {
          names.insert(space_.text(Polynomial::symbol(symbol)));
        } else {
          names.insert(symbol);
        }
      }
      result[names] += factor;
    }
    return result;
  }

  /// Elements of the buffer behind a parameter at these sizes; 0 when unknown.
  std::int64_t elements_of(const Variable& base, int element_bytes) const {
    const Buffer* buffer = info_.buffer_of(base, program_);
    if (buffer == nullptr || static_cast<int>(size_of(buffer->type)) != element_bytes) return 0;
    std::int64_t elements = 1;
    for (const auto& extent : buffer->shape) {
      const auto size = extent.eval(context_.sizes);
      if (!size) return 0;
      elements *= *size;
    }
    return elements;
  }

  /// select(left op right ? … : …) whose local symbols all sit in one linear combination.
  std::optional<TileDim> clamped_dimension(const std::string& symbol) {
    const IndexSpace::Atom atom = *space_.atom(symbol);
    Polynomial uniform;
    std::map<Polynomial::Monomial, std::vector<Term>> terms;
    const bool by_left = space_.uses(atom.left, locals_);
    // A clamp inside a clamp: the inner one carries the local part.
    const Polynomial* carrier = by_left ? &atom.left : &atom.right;
    Polynomial inner;
    for (int depth = 0; depth < 4; ++depth) {
      if (carrier->terms.size() != 1) break;
      const auto& monomial = carrier->terms.begin()->first;
      const auto* nested = monomial.size() == 1 ? space_.atom(monomial[0]) : nullptr;
      if (nested == nullptr || nested->kind != IndexSpace::Atom::Kind::kSelect) break;
      inner = space_.uses(nested->left, locals_) ? nested->left : nested->right;
      carrier = &inner;
    }
    if (!split(*carrier, uniform, terms) || terms.size() != 1 || !terms.begin()->first.empty()) {
      return std::nullopt;
    }
    for (const Term& term : terms.begin()->second) {
      if (!local_range(term.symbol)) return std::nullopt;
    }
    auto dim = dimension(terms.begin()->second);
    if (!dim) return std::nullopt;
    for (const Term& term : terms.begin()->second) {
      dim->clamped_local.terms[{term.symbol}] += term.factor;
    }
    // With the local part abstracted nothing local may be left.
    const Polynomial abstract = space_.replace_part(Polynomial::symbol(symbol), dim->clamped_local,
                                                    Polynomial::symbol("#w"));
    if (space_.uses(abstract, locals_)) return std::nullopt;
    dim->clamp = symbol;
    return dim;
  }

  /// The smallest and the largest index of the tile are ones that the loop reads: dimensions are
  /// independent, and each reaches its extremes.
  bool corners_are_read(const Tile& tile) const {
    std::set<std::string> seen;
    for (const TileDim& dim : tile.dims) {
      if (dim.stride == 0) return false;
      for (const std::string& symbol : space_.plain_symbols(dim.local)) {
        if (symbol == kOffset) continue;  // both extremes are reads of their own
        if (!seen.insert(symbol).second) return false;
      }
      for (const bool high : {false, true}) {
        Ranges corner;
        for (const auto& [name, range] : local_ranges_) {
          const std::int64_t at = high ? range.high : range.low;
          corner[name] = {at, at};
        }
        const auto at = space_.range(dim.local, corner);
        const std::int64_t wanted = high ? dim.extent - 1 : 0;
        if (!at || at->low != at->high || at->low != wanted) return false;
      }
    }
    return true;
  }

  /// Loop steps first, then by falling stride; what follows threadIdx.x is contiguous, so that a
  /// warp reads neighbours.
  static void order(Tile& tile) {
    std::ranges::stable_sort(tile.dims, [](const TileDim& a, const TileDim& b) {
      if (a.only_k != b.only_k) return a.only_k;
      if (a.by_thread_x != b.by_thread_x) return b.by_thread_x;
      return a.stride > b.stride;
    });
    const auto fastest =
        std::ranges::min_element(tile.dims, {}, [](const TileDim& dim) { return dim.stride; });
    if (fastest + 1 == tile.dims.end() || tile.dims.size() == 1) return;
    // Neighbours in global memory are apart in the tile: pad, so that they fall into distinct
    // banks. By 16 bytes where runs of neighbours are read as vectors, by one element otherwise.
    tile.pad = 1;
    for (const auto& [monomial, factor] : tile.dims.back().local.terms) {
      if (monomial.size() == 1 && !monomial[0].starts_with("threadIdx") && factor == 1) {
        tile.pad = std::max(1, 16 / tile.element_bytes);
      }
    }
  }

  bool is_worth_it(Tile& tile, const std::vector<const Loop*>& inner) const {
    double reads = static_cast<double>(steps_ * block_[0] * block_[1] * block_[2]) *
                   static_cast<double>(tile.reads.size());
    for (const Loop* loop : inner) {
      reads *= static_cast<double>(info_.trip_count(*loop, context_.sizes).value_or(1));
    }
    tile.reuse = reads / static_cast<double>(tile.elements());
    std::int64_t lane_stride = 0;
    std::int64_t smallest = tile.dims[0].stride;
    std::int64_t smallest_extent = tile.dims[0].extent;
    for (const TileDim& dim : tile.dims) {
      if (dim.stride < smallest) {
        smallest = dim.stride;
        smallest_extent = dim.extent;
      }
      const auto factor = dim.local.coefficient("threadIdx.x");
      const auto by_x = factor ? factor->as_constant() : std::nullopt;
      if (by_x) lane_stride += *by_x * dim.stride;
    }
    tile.coalesces = lane_stride >= kLongStride && smallest == 1 && smallest_extent >= kLongStride;
    return tile.reuse >= kLeastReuse || (tile.coalesces && tile.reuse > 0.9);
  }

  const syntax::KernelInfo& info_;
  const Program& program_;
  const Loop& loop_;
  std::int64_t steps_;
  const RewriteContext& context_;
  IndexSpace& space_;
  bool specialize_;
  Dim3 block_{1, 1, 1};
  Ranges sizes_;
  std::set<const Variable*> written_;
  std::set<std::string> locals_;
  Ranges local_ranges_;
};

}  // namespace

std::int64_t Tile::elements() const {
  std::int64_t product = 1;
  for (const TileDim& dim : dims) product *= dim.extent;
  return product;
}

std::int64_t Tile::shared_bytes() const {
  std::int64_t product = element_bytes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    product *= dims[i].extent + (i + 1 == dims.size() ? pad : 0);
  }
  return (product + 15) / 16 * 16;
}

TilePlan plan_tiles(const syntax::KernelInfo& info, const Program& program,
                    const syntax::Loop& loop, std::int64_t steps, const RewriteContext& context,
                    IndexSpace& space) {
  return Planner(info, program, loop, steps, context, space).run();
}

}  // namespace hone::rules
