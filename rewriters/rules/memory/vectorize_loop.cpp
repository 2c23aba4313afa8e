#include "rewriters/rules/memory/vectorize_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "rewriters/rules/cooperative/patch.h"
#include "rewriters/rules/memory/pointer_facts.h"
#include "rewriters/rules/memory/vector_lanes.h"
#include "rewriters/syntax/edit.h"

namespace hone::rules::memory {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the tools this room shares.
using namespace coop;
using syntax::Access;
using syntax::KernelInfo;
using syntax::Loop;
using syntax::Polynomial;
using syntax::Stmt;
using syntax::Variable;
using Node = syntax::Expr;

/// Accesses to one element per iteration, next to the one of the iteration before.
struct Run {
  std::vector<const Access*> accesses;
  Place place;
  LaneCarrier carrier;
  std::optional<std::int64_t> residue;  ///< of the index without the counter, modulo the width
  std::string first;                    ///< the element of a strip's first iteration
  std::string name;
  bool reads = false, writes = false;
};

class LoopVectorizer {
 public:
  LoopVectorizer(const Parsed& parsed, const KernelInfo& info, const Loop& loop, int width,
                 const Bindings& sizes)
      : unit_(*parsed.unit), info_(info), loop_(loop), width_(width), sizes_(sizes) {}

  Result<Vectorized> run() {
    if (auto legal = check(); !legal) return std::unexpected(legal.error());
    strip_ = syntax::fresh_name(unit_, loop_.variable->name + "_strip");
    find_runs();
    choose_aligned();
    return emit();
  }

 private:
  Result<void> check() {
    const Variable& counter = *loop_.variable;
    const Stmt& statement = *loop_.statement;
    grid_stride_ = is_grid_stride();
    if (!grid_stride_ && (!loop_.step || *loop_.step != 1)) {
      return refused("the loop steps neither by one nor by the whole grid");
    }
    if (!counter.type.is_integer() || counter.address_taken) return refused("an unusual counter");
    if (statement.init == nullptr || statement.init->kind != Stmt::Kind::kDeclaration ||
        statement.init->variables.size() != 1) {
      return refused("the counter outlives the loop");
    }
    if (!statement.range.valid() || !loop_.body->range.valid() || !loop_.lower->range.valid() ||
        !loop_.upper->range.valid()) {
      return refused("the loop comes from a macro");
    }
    const syntax::Effects effects = syntax::effects_of(*loop_.body);
    if (effects.synchronises || effects.unknown) return refused("the body synchronises");
    bool plain = true;
    for_each_stmt(*loop_.body, [&](const Stmt& inner) {
      switch (inner.kind) {
        case Stmt::Kind::kCompound:
        case Stmt::Kind::kDeclaration:
        case Stmt::Kind::kExpression:
        case Stmt::Kind::kIf:
        case Stmt::Kind::kNull:
          break;
        default:
          plain = false;
      }
      for (const Variable* variable : inner.variables) {
        plain = plain && variable->storage == Variable::Storage::kLocal;
      }
    });
    if (!plain) return refused("the body holds a loop, a jump or a static variable");
    for (const Variable* local : info_.function->locals) {
      if (declared_inside(*local, *loop_.body)) varying_.insert(local);
    }
    varying_.insert(effects.writes.begin(), effects.writes.end());
    return grid_stride_ ? check_grid_stride(effects) : check_bounds();
  }

  Result<void> check_bounds() {
    const bool plain_ints = loop_.variable->type.name == "int" && loop_.upper->type.name == "int" &&
                            loop_.lower->type.name == "int";
    starts_at_zero_ = loop_.lower->constant && *loop_.lower->constant == 0;
    if (!plain_ints && !starts_at_zero_) return refused("bounds that are not of type int");
    return {};
  }

  /// for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
  bool is_grid_stride() const {
    if (loop_.step_expr == nullptr) return false;
    const auto start = syntax::polynomial(*loop_.lower);
    const auto step = syntax::polynomial(*loop_.step_expr);
    if (!start || !step) return false;
    const auto extent = Polynomial::symbol("blockDim.x");
    const auto values = symbol_values(info_, sizes_);
    const auto same = [&](const Polynomial& a, const Polynomial& b) {
      return at_sizes(a, values) == at_sizes(b, values);
    };
    return same(*start,
                Polynomial::symbol("blockIdx.x") * extent + Polynomial::symbol("threadIdx.x")) &&
           same(*step, extent * Polynomial::symbol("gridDim.x"));
  }

  /// Threads get other iterations than before, so each iteration must stand for itself.
  Result<void> check_grid_stride(const syntax::Effects& effects) {
    const auto block = info_.block_dim(sizes_);
    const auto grid = info_.grid_dim(sizes_);
    const auto end = info_.evaluate(*loop_.upper, sizes_);
    if (!block || !grid) return refused("launches that differ");
    if ((*block)[1] * (*block)[2] * (*grid)[1] * (*grid)[2] != 1) {
      return refused("a grid of several dimensions runs the loop more than once");
    }
    if (loop_.parent != nullptr) return refused("a grid-stride loop inside a loop");
    if (!loop_.step_expr->range.valid()) return refused("the step comes from a macro");
    if (loop_.variable->type.bytes < 8 &&
        (!end || *end + (*block)[0] * (*grid)[0] * width_ > std::numeric_limits<int>::max())) {
      return refused("the counter might overflow");
    }
    for (const Variable* variable : effects.writes) {
      if (variable != loop_.variable && !declared_inside(*variable, *loop_.body)) {
        return refused("iterations share the variable " + variable->name);
      }
    }
    const std::string counter = syntax::symbol_of(*loop_.variable);
    for (const Access& one : info_.accesses) {
      if (one.kind == Access::Kind::kRead && inside(one.statement, *loop_.body)) continue;
      const Place place = place_of(one);
      if (place.root != nullptr && declared_inside(*place.root, *loop_.body)) continue;
      for (const Access& other : info_.accesses) {
        const bool in_one = inside(one.statement, *loop_.body);
        const bool in_other = inside(other.statement, *loop_.body);
        if (!in_one && !in_other) continue;
        if (one.kind == Access::Kind::kRead && other.kind == Access::Kind::kRead) continue;
        if (one.kind == Access::Kind::kAtomic && other.kind == Access::Kind::kAtomic) continue;
        const Place with = place_of(other);
        if (!may_overlap(info_, place, with)) continue;
        // Inside, both must be the iteration's own element.
        const auto stride = place.index ? place.index->coefficient(counter) : std::nullopt;
        const bool own = in_one && in_other && with.index == place.index && stride &&
                         stride->as_constant().value_or(0) != 0 &&
                         !varies_in_body(place.index->without(counter));
        if (!own) return refused("iterations share memory");
      }
    }
    starts_at_zero_ = true;  // the first strip is that of thread 0
    return {};
  }

  bool varies_in_body(const Polynomial& rest) const {
    return rest.uses(syntax::symbol_of(*loop_.variable)) || rest.uses("threadIdx.x") ||
           rest.uses("blockIdx.x") || std::ranges::any_of(varying_, [&](const Variable* variable) {
             return rest.uses(syntax::symbol_of(*variable));
           });
  }

  bool every_iteration(const Access& access) const {
    if (!unconditional(*access.expr)) return false;
    // The access may stand in the condition of an `if`, not in a branch of it.
    for (const Stmt* statement = access.statement; statement != loop_.body;) {
      statement = statement->parent;
      if (statement == nullptr || statement->kind != Stmt::Kind::kCompound) {
        return statement == loop_.statement;
      }
    }
    return true;
  }

  /// The text of an element in front of the strip, locals of the body written out.
  std::optional<std::string> first_text(const Node& element) const {
    return syntax::text_with(unit_, element, [&](const Node& node) -> std::optional<std::string> {
      if (node.kind != Node::Kind::kVariable || node.variable == nullptr) return std::nullopt;
      if (node.variable == loop_.variable) return strip_;
      if (!varying_.contains(node.variable)) return std::nullopt;
      if (!node.variable->single_assignment()) return "";  // given up below
      const auto value = first_text(*node.variable->init);
      if (!value) return "";
      if (node.variable->init->type.name == node.variable->type.name) {
        return fmt::format("({})", *value);
      }
      return fmt::format("(({})({}))", node.variable->type.name, *value);
    });
  }

  /// Does the element's address depend only on the counter and on what the body leaves alone?
  bool hoistable(const Node& element) const {
    bool fine = true;
    for_each_expr(&element, [&](const Node& node) {
      switch (node.kind) {
        case Node::Kind::kCall:
        case Node::Kind::kAssign:
        case Node::Kind::kOther:
          fine = false;
          break;
        case Node::Kind::kSubscript:
        case Node::Kind::kMember:
          fine = fine && &node == &element;
          break;
        case Node::Kind::kUnary:
          fine = fine &&
                 (node.text == "-" || node.text == "+" || (node.text == "*" && &node == &element));
          break;
        case Node::Kind::kVariable:
          if (node.variable == nullptr) {
            fine = false;
          } else if (node.variable != loop_.variable && varying_.contains(node.variable)) {
            fine = fine && node.variable->single_assignment() && node.variable->type.is_integer() &&
                   hoistable(*node.variable->init);
          }
          break;
        default:
          break;
      }
    });
    return fine;
  }

  void find_runs() {
    find_runs(/*certain=*/true);
    // A branch may read again what every iteration reads.
    find_runs(/*certain=*/false);
    std::erase_if(runs_, [&](const Run& run) { return conflicts(run); });
  }

  void find_runs(bool certain) {
    const std::string counter = syntax::symbol_of(*loop_.variable);
    for (const Access& access : info_.accesses) {
      if (access.kind == Access::Kind::kAtomic || !inside(access.statement, *loop_.body)) continue;
      const Node& element = *access.expr;
      const bool plain = element.kind == Node::Kind::kSubscript ||
                         (element.kind == Node::Kind::kUnary && element.text == "*");
      if (!plain || !element.range.valid()) continue;
      if (element.parent != nullptr && element.parent->kind == Node::Kind::kUnary &&
          element.parent->text == "&") {
        continue;
      }
      const Place place = place_of(access);
      if (place.root == nullptr || place.root->storage != Variable::Storage::kParameter ||
          !place.root->type.is_pointer() || !place.index) {
        continue;
      }
      const auto stride = place.index->coefficient(counter);
      const auto carrier = lane_carrier(element.type, width_);
      if (!stride || stride->as_constant() != 1 || !carrier || !hoistable(element)) continue;
      const Polynomial rest = place.index->without(counter);
      const bool varies =
          rest.uses(counter) || std::ranges::any_of(varying_, [&](const Variable* variable) {
            return rest.uses(syntax::symbol_of(*variable));
          });
      if (varies) continue;
      if (certain != every_iteration(access)) continue;
      if (!certain && access.kind != Access::Kind::kRead) continue;
      add(access, place, *carrier, residue(rest, width_, info_, sizes_), certain);
    }
  }

  void add(const Access& access, const Place& place, const LaneCarrier& carrier,
           std::optional<std::int64_t> residue, bool may_begin) {
    auto run = std::ranges::find_if(runs_, [&](const Run& other) {
      return other.place.root == place.root && other.place.index == place.index &&
             other.carrier.element == carrier.element;
    });
    if (run == runs_.end() && !may_begin) return;
    if (run == runs_.end()) {
      const auto first = first_text(*access.expr);
      if (!first) return;
      runs_.push_back({.place = place, .carrier = carrier, .residue = residue, .first = *first});
      run = std::prev(runs_.end());
    }
    run->accesses.push_back(&access);
    run->reads = run->reads || access.kind != Access::Kind::kWrite;
    run->writes = run->writes || access.kind != Access::Kind::kRead;
  }

  /// May another access of the body touch the run's elements, one of them writing? Loads move to
  /// the front of the strip and stores to its end.
  bool conflicts(const Run& run) const {
    for (const Access& access : info_.accesses) {
      if (!inside(access.statement, *loop_.body)) continue;
      if (std::ranges::find(run.accesses, &access) != run.accesses.end()) continue;
      if (access.kind == Access::Kind::kRead && !run.writes) continue;
      if (may_overlap(info_, run.place, place_of(access))) return true;
    }
    if (!run.writes) return false;
    // A function that is handed a pointer may read what the run has not stored yet.
    return std::ranges::any_of(info_.function->parameters, [&](const Variable* parameter) {
      return parameter->type.is_pointer() && escapes(info_, *parameter);
    });
  }

  /// Keeps the runs whose strips can all begin at a vector boundary, and says how many iterations
  /// have to go before the first strip.
  void choose_aligned() {
    const auto lower = grid_stride_ ? Polynomial::constant(0) : syntax::polynomial(*loop_.lower);
    const auto start = lower ? residue(*lower, width_, info_, sizes_) : std::nullopt;
    // Whether there are iterations to peel must not depend on the sizes: later steps count loops.
    peels_ = !grid_stride_ && loop_.lower->constant && *loop_.lower->constant % width_ != 0;
    std::map<std::int64_t, int> votes;
    if (start) {
      for (const Run& run : runs_) {
        if (run.residue) ++votes[(*run.residue + *start) % width_];
      }
    }
    std::int64_t best = 0;
    if (peels_) {
      for (const auto& [offset, count] : votes) {
        if (count > votes[best]) best = offset;
      }
      peel_ = (width_ - best) % width_;
    }
    std::erase_if(runs_, [&](const Run& run) {
      return !start || !run.residue || (*run.residue + *start) % width_ != best;
    });
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      runs_[i].name =
          syntax::fresh_name(unit_, fmt::format("{}_vec{}", runs_[i].place.root->name, i));
    }
  }

  std::string body_text(const Patch& patch) const {
    syntax::SourceRange range = loop_.body->range;
    if (loop_.body->kind == Stmt::Kind::kCompound) range = {range.begin + 1, range.end - 1};
    const std::string text = patch.text(range);
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return begin == std::string::npos ? "" : text.substr(begin);
  }

  /// `width` iterations with their loads in front and their stores behind.
  Result<std::string> strip_text(int& accesses) const {
    std::string text;
    for (const Run& run : runs_) {
      text += run.carrier.declare(run.name, run.first, run.reads, !run.writes);
      accesses += static_cast<int>(run.reads) + static_cast<int>(run.writes);
    }
    for (int lane = 0; lane < width_; ++lane) {
      Patch patch(unit_);
      for (const Run& run : runs_) {
        for (const Access* access : run.accesses) {
          patch.replace(access->expr->range, run.carrier.lane(run.name, lane));
        }
      }
      if (patch.broken()) return refused("an access comes from a macro");
      const std::string here = lane == 0 ? strip_ : fmt::format("{} + {}", strip_, lane);
      text += fmt::format("{{\nconst {} {} = {};\n{}\n}}\n", loop_.variable->type.name,
                          loop_.variable->name, here, body_text(patch));
    }
    for (const Run& run : runs_) {
      if (run.writes) text += run.carrier.store(run.name, run.first);
    }
    return text;
  }

  Result<Vectorized> emit() const {
    Vectorized result;
    const std::string type = loop_.variable->type.name;
    const std::string& counter = loop_.variable->name;
    const std::string original = body_text(Patch(unit_));
    std::string end = operand_text(unit_, *loop_.upper);
    if (loop_.inclusive) end = fmt::format("({} + 1)", end);
    std::string start = operand_text(unit_, *loop_.lower);

    auto strip = strip_text(result.accesses);
    if (!strip) return std::unexpected(strip.error());
    std::string text;
    if (grid_stride_) {
      text = fmt::format("for ({0} {1} = ({2}) * {3}; {1} < {4}; {1} += ({5}) * {3}) {{\n", type,
                         strip_, unit_.text(loop_.lower->range), width_, end,
                         unit_.text(loop_.step_expr->range));
      text += fmt::format("if ({} + {} < {}) {{\n{}}} else {{\n", strip_, width_ - 1, end, *strip);
      text += fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{\n{4}\n}}\n}}\n}}", type,
                          counter, strip_, end, original);
    } else {
      text = "{\n";
      if (peels_) {
        const std::int64_t first = *loop_.lower->constant + peel_;
        text += fmt::format("for ({0} {1} = {2}; {1} < min({3}, {4}); ++{1}) {{\n{5}\n}}\n", type,
                            counter, start, first, end, original);
        start = std::to_string(first);
      }
      const std::string strips_end = syntax::fresh_name(unit_, counter + "_strips_end");
      const std::string strips =
          starts_at_zero_ ? fmt::format("{0} / {1} * {1}", end, width_)
                          : fmt::format("{0} + ({1} - {0}) / {2} * {2}", start, end, width_);
      text += fmt::format("const {} {} = {};\n", type, strips_end, strips);
      text += fmt::format("for ({0} {1} = {2}; {1} < {3}; {1} += {4}) {{\n{5}}}\n", type, strip_,
                          start, strips_end, width_, *strip);
      text += fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{\n{4}\n}}\n}}", type, counter,
                          strips_end, end, original);
    }

    Patch patch(unit_);
    syntax::SourceRange whole = loop_.statement->range;
    if (loop_.statement->pragma.valid()) whole.begin = loop_.statement->pragma.begin;
    patch.replace(whole, text);
    auto source = patch.source();
    if (!source) return std::unexpected(source.error());
    result.source = std::move(*source);
    return result;
  }

  const syntax::TranslationUnit& unit_;
  const KernelInfo& info_;
  const Loop& loop_;
  const int width_;
  const Bindings& sizes_;

  std::set<const Variable*> varying_;  ///< written or declared in the body
  std::vector<Run> runs_;
  std::string strip_;  ///< name of the strip's counter
  std::int64_t peel_ = 0;
  bool peels_ = false;
  bool starts_at_zero_ = false;
  bool grid_stride_ = false;
};

}  // namespace

Result<Vectorized> vectorize_loop(const Parsed& parsed, const KernelInfo& info, const Loop& loop,
                                  int width, const Bindings& sizes) {
  return LoopVectorizer(parsed, info, loop, width, sizes).run();
}

}  // namespace hone::rules::memory
