#include "rewriters/rules/memory/vectorize_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "rewriters/rules/cooperative/patch.h"
#include "rewriters/rules/memory/lane_guard.h"
#include "rewriters/rules/memory/lane_variance.h"
#include "rewriters/rules/memory/pointer_facts.h"
#include "rewriters/rules/memory/vector_lanes.h"

namespace hone::rules::memory {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the tools this room shares.
using namespace coop;
using syntax::Access;
using syntax::KernelInfo;
using syntax::Polynomial;
using syntax::Stmt;
using syntax::Variable;
using Node = syntax::Expr;

constexpr std::size_t kLongestText = 30'000;  // characters of a merged body

/// One vector of a statement: the same element for every lane, next to that of the lane before.
struct LaneGroup {
  std::vector<const Access*> accesses;
  Place place;
  LaneCarrier carrier;
  std::string name;
  bool reads = false, writes = false;
};

class ThreadVectorizer {
 public:
  ThreadVectorizer(const Program& program, const Parsed& parsed, const KernelInfo& info, int width,
                   const Bindings& sizes)
      : program_(program),
        unit_(*parsed.unit),
        info_(info),
        kernel_(*info.function),
        width_(width),
        sizes_(sizes) {}

  Result<VectorizedThreads> run() {
    if (auto fine = check_kernel(); !fine) return std::unexpected(fine.error());
    if (auto fine = find_lane(); !fine) return std::unexpected(fine.error());
    auto guard = find_lane_guard(kernel_, *lane_, statements_);
    if (!guard) return std::unexpected(guard.error());
    guard_ = *guard;
    variance_.emplace(kernel_, *lane_, guard_.statement);
    if (auto fine = check_cover(); !fine) return std::unexpected(fine.error());
    return emit();
  }

 private:
  // --- is the kernel of a shape that can be merged? -----------------------------------------
  Result<void> check_kernel() {
    if (kernel_.is_template) return refused("a template");
    if (info_.has_barrier || info_.has_warp_ops || info_.has_shared || info_.has_unknown) {
      return refused("the threads of a block work together");
    }
    if (helpers_see_threads(unit_)) return refused("a helper function looks at threadIdx");
    for (const Node* expr : kernel_.all_expressions) {
      if (expr->type.is_volatile || (expr->type.element && expr->type.element->is_volatile)) {
        return refused("volatile accesses");
      }
      if (expr->kind == Node::Kind::kCall &&
          (expr->text.starts_with("__threadfence") || expr->text.starts_with("__nanosleep"))) {
        return refused("threads wait for each other");
      }
    }
    for (const Access& access : info_.accesses) {
      if (access.kind != Access::Kind::kAtomic) continue;
      for (const Stmt* outer = access.statement; outer != nullptr; outer = outer->parent) {
        const bool loop = outer->kind == Stmt::Kind::kFor || outer->kind == Stmt::Kind::kWhile ||
                          outer->kind == Stmt::Kind::kDo;
        if (loop && info_.loop_of(*outer) == nullptr) return refused("a loop around an atomic");
      }
    }
    return {};
  }

  Result<void> find_lane() {
    const auto block = info_.block_dim(sizes_);
    if (!block) return refused("launches with different blocks");
    block_ = *block;
    const ThreadIndex index = thread_index(kernel_, block_);
    if (index.global[0].size() != 1 || !index.only_global(0)) {
      return refused("threadIdx.x is used beside the global index");
    }
    for (const Node* use : index.rest) {
      if (use->text == "gridDim.x") return refused("gridDim.x is used");
    }
    for (std::size_t i = 0; i < kernel_.body->children.size(); ++i) {
      for (const Variable* variable : kernel_.body->children[i]->variables) {
        if (strip_casts(variable->init) != index.global[0][0]) continue;
        lane_ = variable;
        statements_.assign(kernel_.body->children.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                           kernel_.body->children.end());
      }
    }
    if (lane_ == nullptr || !lane_->single_assignment() || !lane_->type.is_integer() ||
        lane_->type.bytes < 4) {
      return refused("the global index is not a variable of its own");
    }
    if (lane_->statement->variables.size() != 1) {
      // Other declarators of the statement must not need the lane.
      for (const Variable* other : lane_->statement->variables) {
        bool uses = false;
        for_each_expr(other->init, [&](const Node& node) { uses |= node.variable == lane_; });
        if (uses) return refused("the global index is used where it is declared");
      }
    }
    const auto position = syntax::polynomial(*lane_->init);
    if (!position || !lane_->name_range.valid() || !lane_->init->range.valid()) {
      return refused("the global index comes from a macro");
    }
    position_ = *position;
    if (statements_.empty()) return refused("nothing follows the global index");
    for (const Stmt* statement : statements_) {
      if (!statement->range.valid()) return refused("a statement comes from a macro");
    }
    first_ = syntax::fresh_name(unit_, lane_->name + "_first");
    return {};
  }

  /// Merged threads reach beyond the old grid when grid.x is no multiple of the width; the guard
  /// must then stop them where the old threads ended or earlier.
  Result<void> check_cover() {
    const auto grid = info_.grid_dim(sizes_);
    if (!grid) return refused("launches with different grids");
    const std::int64_t blocks = ((*grid)[0] + width_ - 1) / width_;
    const std::int64_t reached = blocks * width_ * block_[0] + width_;
    if (lane_->type.bytes == 4 && reached > std::numeric_limits<std::int32_t>::max()) {
      return refused("the global index would overflow");
    }
    std::optional<std::int64_t> bound;
    if (guard_.bound != nullptr) bound = info_.evaluate(*guard_.bound, sizes_);
    if (bound && guard_.inclusive) ++*bound;
    exact_ = bound && *bound % width_ == 0;
    const bool covered = bound && *bound <= (*grid)[0] * block_[0];
    if (!covered && (*grid)[0] % width_ != 0) return refused("grid.x is no multiple of the width");
    return {};
  }

  // --- the merged body ----------------------------------------------------------------------
  std::string lane_name(const Variable& variable, int lane) const {
    if (&variable == lane_) {
      return lane == 0 ? first_ : fmt::format("({} + {})", first_, lane);
    }
    return syntax::fresh_name(unit_, fmt::format("{}_{}", variable.name, lane));
  }

  /// Edits that turn the text of `statement` into that of one lane.
  std::optional<Patch> lane_patch(const Stmt& statement, int lane) {
    Patch patch(unit_);
    for_each_expr(statement, [&](const Node& node) {
      if (node.kind == Node::Kind::kVariable && node.variable != nullptr &&
          variance_->varies(*node.variable)) {
        patch.replace(node.range, lane_name(*node.variable, lane));
      }
    });
    for_each_stmt(statement, [&](const Stmt& inner) {
      for (const Variable* variable : inner.variables) {
        if (variance_->varies(*variable)) {
          patch.replace(variable->name_range, lane_name(*variable, lane));
        }
      }
    });
    if (patch.broken()) {
      why_ = "a statement comes from a macro";
      return std::nullopt;
    }
    return patch;
  }

  std::optional<LaneGroup> group_of(const Stmt& statement, const Access& access) const {
    if (access.statement != &statement || access.kind == Access::Kind::kAtomic) return std::nullopt;
    const Node& element = *access.expr;
    const bool plain = element.kind == Node::Kind::kSubscript ||
                       (element.kind == Node::Kind::kUnary && element.text == "*");
    if (!plain || !element.range.valid() || !unconditional(element)) return std::nullopt;
    const Node* parent = element.parent;
    if (parent != nullptr && parent->kind == Node::Kind::kUnary && parent->text == "&") {
      return std::nullopt;
    }
    const bool writes = access.kind != Access::Kind::kRead;
    if (writes && (parent == nullptr || parent->kind != Node::Kind::kAssign ||
                   parent != statement.expr || parent->operands[0] != &element)) {
      return std::nullopt;
    }
    bool movable = true;
    for_each_expr(&element, [&](const Node& node) {
      movable = movable && node.kind != Node::Kind::kCall && node.kind != Node::Kind::kAssign;
      for (const Variable* variable : statement.variables) {
        movable = movable && node.variable != variable;
      }
    });
    const Place place = place_of(access);
    const auto carrier = lane_carrier(element.type, width_);
    if (!movable || !carrier || place.root == nullptr || !place.index ||
        place.root->storage != Variable::Storage::kParameter || !place.root->type.is_pointer()) {
      return std::nullopt;
    }
    const Polynomial rest = *place.index - position_;
    if (rest.uses("threadIdx.x") || rest.uses("blockIdx.x")) return std::nullopt;
    for (const Variable* variable : variance_->varying()) {
      if (rest.uses(syntax::symbol_of(*variable))) return std::nullopt;
    }
    if (residue(rest, width_, info_, sizes_) != 0) return std::nullopt;
    return LaneGroup{.accesses = {&access},
                     .place = place,
                     .carrier = *carrier,
                     .reads = access.kind != Access::Kind::kWrite,
                     .writes = writes};
  }

  std::vector<LaneGroup> groups_of(const Stmt& statement) {
    std::vector<LaneGroup> groups;
    for (const Access& access : info_.accesses) {
      auto group = group_of(statement, access);
      if (!group) continue;
      const auto same = std::ranges::find_if(groups, [&](const LaneGroup& other) {
        return other.place.root == group->place.root && other.place.index == group->place.index;
      });
      if (same == groups.end()) {
        group->name =
            syntax::fresh_name(unit_, fmt::format("{}_vec{}", group->place.root->name, vectors_++));
        groups.push_back(std::move(*group));
      } else {
        same->accesses.push_back(&access);
        same->reads = same->reads || group->reads;
        same->writes = same->writes || group->writes;
      }
    }
    return groups;
  }

  /// A declaration or expression: once per lane, with the vector accesses around the copies.
  std::optional<std::string> lanes(const Stmt& statement) {
    const std::vector<LaneGroup> groups = groups_of(statement);
    const auto first = lane_patch(statement, 0);
    if (!first) return std::nullopt;
    std::string text;
    for (const LaneGroup& group : groups) {
      const std::string element = first->text(group.accesses[0]->expr->range);
      text += group.carrier.declare(group.name, element, group.reads, !group.writes);
      accesses_ += static_cast<int>(group.reads) + static_cast<int>(group.writes);
    }
    for (int lane = 0; lane < width_; ++lane) {
      auto patch = lane_patch(statement, lane);
      for (const LaneGroup& group : groups) {
        for (const Access* access : group.accesses) {
          patch->replace(access->expr->range, group.carrier.lane(group.name, lane));
        }
      }
      text += patch->text(statement.range) + "\n";
    }
    for (const LaneGroup& group : groups) {
      if (!group.writes) continue;
      text += group.carrier.store(group.name, first->text(group.accesses[0]->expr->range));
    }
    return text;
  }

  /// The lanes part ways in it: one whole copy for each.
  std::optional<std::string> copies(const Stmt& statement) {
    if (syntax::effects_of(statement).may_exit) {
      why_ = "a jump that not all lanes take";
      return std::nullopt;
    }
    std::string text;
    for (int lane = 0; lane < width_; ++lane) {
      const auto patch = lane_patch(statement, lane);
      if (!patch) return std::nullopt;
      text += patch->text(statement.range) + "\n";
    }
    return text;
  }

  bool header_varies(const Stmt& statement) const {
    bool varies = statement.init != nullptr && !variance_->once_for_all(*statement.init);
    for (const Node* part : {statement.expr, statement.step}) {
      if (part == nullptr) continue;
      varies = varies || variance_->varies(*part);
      for_each_expr(part, [&](const Node& node) {
        // A call or a store in a condition is not worth reasoning about.
        varies = varies || (node.kind == Node::Kind::kAssign && part == statement.expr);
      });
    }
    return varies;
  }

  std::optional<std::string> block(const Stmt& statement) {
    if (statement.kind != Stmt::Kind::kCompound) {
      const auto text = merged(statement);
      return text ? std::optional("{\n" + *text + "}\n") : std::nullopt;
    }
    std::string text = "{\n";
    for (const Stmt* child : statement.children) {
      const auto part = merged(*child);
      if (!part) return std::nullopt;
      text += *part;
    }
    return text + "}\n";
  }

  std::optional<std::string> merged(const Stmt& statement) {
    if (!statement.range.valid()) {
      why_ = "a statement comes from a macro";
      return std::nullopt;
    }
    if (statement.kind != Stmt::Kind::kCompound && variance_->once_for_all(statement)) {
      return whole_text(statement) + "\n";
    }
    switch (statement.kind) {
      case Stmt::Kind::kCompound:
        return block(statement);
      case Stmt::Kind::kDeclaration:
        for (const Variable* variable : statement.variables) {
          if (variable->storage != Variable::Storage::kLocal || variable->is_reference) {
            why_ = "a static variable or a reference";
            return std::nullopt;
          }
        }
        return lanes(statement);
      case Stmt::Kind::kExpression:
        return lanes(statement);
      case Stmt::Kind::kNull:
        return "";
      case Stmt::Kind::kIf: {
        if (header_varies(statement)) return copies(statement);
        const auto then = block(*statement.children[0]);
        if (!then) return std::nullopt;
        std::string text = header_text(statement, *statement.children[0]) + *then;
        if (statement.children.size() > 1) {
          const auto otherwise = block(*statement.children[1]);
          if (!otherwise) return std::nullopt;
          text += "else " + *otherwise;
        }
        return text;
      }
      case Stmt::Kind::kFor:
      case Stmt::Kind::kWhile: {
        if (header_varies(statement)) return copies(statement);
        const auto body = block(*statement.children[0]);
        if (!body) return std::nullopt;
        return header_text(statement, *statement.children[0]) + *body;
      }
      case Stmt::Kind::kBreak:
      case Stmt::Kind::kContinue:
        return whole_text(statement) + "\n";  // reached by all lanes or in a copy
      case Stmt::Kind::kDo:
        return copies(statement);
      default:
        why_ = "a statement that cannot be merged";
        return std::nullopt;
    }
  }

  std::string whole_text(const Stmt& statement) const {
    syntax::SourceRange range = statement.range;
    if (statement.pragma.valid()) range.begin = statement.pragma.begin;
    return std::string(unit_.text(range));
  }

  std::string header_text(const Stmt& statement, const Stmt& body) const {
    const int begin = statement.pragma.valid() ? statement.pragma.begin : statement.range.begin;
    return std::string(unit_.text({begin, body.range.begin}));
  }

  Result<VectorizedThreads> emit() {
    // In front of the guard: what is common stays there, the rest goes to both sides.
    std::string common;
    std::vector<const Stmt*> main, late;
    const std::size_t before = guard_.statement != nullptr ? guard_.at : 0;
    for (std::size_t i = 0; i < before; ++i) {
      const Stmt& statement = *statements_[i];
      if (variance_->once_for_all(statement)) {
        common += whole_text(statement) + "\n";
        continue;
      }
      if (statement.kind != Stmt::Kind::kDeclaration ||
          syntax::effects_of(statement).writes_memory) {
        return refused("work in front of the guard");
      }
      late.push_back(&statement);
    }
    main = late;
    if (guard_.statement == nullptr) {
      main.insert(main.end(), statements_.begin(), statements_.end());
    } else if (guard_.returns) {
      main.insert(main.end(), statements_.begin() + static_cast<std::ptrdiff_t>(guard_.at) + 1,
                  statements_.end());
    } else {
      const Stmt& taken = *guard_.statement->children[0];
      if (taken.kind == Stmt::Kind::kCompound) {
        main.insert(main.end(), taken.children.begin(), taken.children.end());
      } else {
        main.push_back(&taken);
      }
    }
    std::string body;
    for (const Stmt* statement : main) {
      const auto text = merged(*statement);
      if (!text) return refused(why_);
      body += *text;
    }
    if (body.size() > kLongestText) return refused("the merged body would be too long");

    std::string text = common;
    if (guard_.statement == nullptr) {
      text += body;
    } else {
      text += fmt::format("if ({}) {{\n{}}}", condition(), body);
      if (!exact_) text += fmt::format(" else {{\n{}}}", tail(late));
    }
    Patch patch(unit_);
    patch.replace(lane_->name_range, first_);
    patch.replace(lane_->init->range,
                  fmt::format("({}) * {}", unit_.text(lane_->init->range), width_));
    patch.replace({statements_.front()->range.begin, statements_.back()->range.end}, text);
    auto source = patch.source();
    if (!source) return std::unexpected(source.error());
    auto program = with_source(program_, std::move(*source));
    if (!program) return std::unexpected(program.error());
    for (Launch* launch : launches_of(*program, info_, program_)) {
      launch->grid[0] = make_expr(fmt::format("ceildiv({},{})", launch->grid[0].text(), width_));
    }
    return VectorizedThreads{.program = std::move(*program), .accesses = accesses_};
  }

  std::string condition() const {
    std::string text;
    for (const Node* other : guard_.others) {
      text += fmt::format("{}({}) && ", guard_.returns ? "!" : "", unit_.text(other->range));
    }
    return text + fmt::format("{} + {} {} {}", first_, width_ - 1, guard_.inclusive ? "<=" : "<",
                              operand_text(unit_, *guard_.bound));
  }

  /// The lanes one after the other, as they were; a return ends them all, as it should.
  std::string tail(const std::vector<const Stmt*>& late) const {
    std::string text = fmt::format("for ({0} {1} = {2}; {1} < {2} + {3}; ++{1}) {{\n",
                                   lane_->type.name, lane_->name, first_, width_);
    for (const Stmt* statement : late) text += whole_text(*statement) + "\n";
    const syntax::SourceRange rest{guard_.statement->range.begin, statements_.back()->range.end};
    return text + std::string(unit_.text(rest)) + "\n}\n";
  }

  const Program& program_;
  const syntax::TranslationUnit& unit_;
  const KernelInfo& info_;
  const syntax::Function& kernel_;
  const int width_;
  const Bindings& sizes_;

  Dim3 block_{1, 1, 1};
  const Variable* lane_ = nullptr;       ///< the global index
  Polynomial position_;                  ///< its value
  std::string first_;                    ///< name of lane 0's index
  std::vector<const Stmt*> statements_;  ///< of the kernel, behind the lane's declaration
  LaneGuard guard_;
  bool exact_ = false;  ///< no thread has only some of its lanes inside the bound
  std::optional<LaneVariance> variance_;
  int vectors_ = 0;
  int accesses_ = 0;
  std::string why_ = "a statement that cannot be merged";
};

}  // namespace

Result<VectorizedThreads> vectorize_threads(const Program& program, const Parsed& parsed,
                                            const KernelInfo& info, int width,
                                            const Bindings& sizes) {
  return ThreadVectorizer(program, parsed, info, width, sizes).run();
}

}  // namespace hone::rules::memory
