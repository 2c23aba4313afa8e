#include "rewriters/rules/aggregate_atomics.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/rules/cooperative/atomics.h"
#include "rewriters/rules/cooperative/persistent.h"
#include "rewriters/syntax/edit.h"

namespace hone {
namespace {

namespace coop = rules::coop;
using coop::AtomicStatement;
using syntax::KernelInfo;
using syntax::Variable;
using Node = syntax::Expr;

// The address as text that is valid at the kernel's end: locals replaced by what they stand for.
struct Address {
  std::string text;
  bool per_block = false;  ///< depends on blockIdx.x
};
std::optional<Address> address_text(const syntax::TranslationUnit& unit, const Node& expr,
                                    int depth = 0) {
  if (depth > 8) return std::nullopt;
  Address address;
  bool good = true;
  coop::for_each_expr(&expr, [&](const Node& part) {
    switch (part.kind) {
      case Node::Kind::kBuiltin:
        address.per_block |= part.text == "blockIdx.x";
        good &= part.text.rfind("threadIdx", 0) != 0;
        break;
      case Node::Kind::kAssign:
      case Node::Kind::kCall:
      case Node::Kind::kOther:
        good = false;
        break;
      case Node::Kind::kSubscript:
        // &p[i] is an address; p[i] anywhere else is a load.
        good &= part.parent && part.parent->kind == Node::Kind::kUnary && part.parent->text == "&";
        break;
      case Node::Kind::kUnary:
        good &= part.text != "*" && part.text.find("++") == std::string::npos &&
                part.text.find("--") == std::string::npos;
        break;
      default:
        break;
    }
  });
  if (!good) return std::nullopt;
  auto text = syntax::text_with(unit, expr, [&](const Node& part) -> std::optional<std::string> {
    if (part.kind != Node::Kind::kVariable || !part.variable) return std::nullopt;
    const Variable& variable = *part.variable;
    if (variable.storage == Variable::Storage::kParameter && variable.writes == 0) {
      return variable.name;
    }
    if (variable.storage == Variable::Storage::kLocal && variable.single_assignment()) {
      if (auto inner = address_text(unit, *variable.init, depth + 1)) {
        address.per_block |= inner->per_block;
        return fmt::format("({})", inner->text);
      }
    }
    good &= variable.storage == Variable::Storage::kConstant ||
            variable.storage == Variable::Storage::kGlobal;
    return variable.name;
  });
  if (!good || !text) return std::nullopt;
  address.text = *text;
  return address;
}

// Atomics on one address share a partial result.
struct AtomicTarget {
  AtomicStatement first;
  Address address;
  std::vector<AtomicStatement> all;
  std::string name;  // of the partial result
};

std::vector<AtomicTarget> find_targets(const coop::Parsed& parsed, const KernelInfo& info) {
  std::vector<AtomicTarget> targets;
  for (const AtomicStatement& atomic : coop::atomic_statements(info)) {
    if (!atomic.uniform) continue;
    const auto address = address_text(*parsed.unit, *coop::strip_implicit(atomic.address));
    if (!address) continue;
    const auto same = std::find_if(targets.begin(), targets.end(), [&](const AtomicTarget& target) {
      return target.address.text == address->text && target.first.function == atomic.function;
    });
    if (same != targets.end()) {
      same->all.push_back(atomic);
    } else {
      targets.push_back({atomic, *address, {atomic}, ""});
    }
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i].name = syntax::fresh_name(
        *parsed.unit,
        fmt::format("{}_part{}", targets[i].first.root->name, i == 0 ? "" : fmt::format("{}", i)));
  }
  return targets;
}

std::string shuffle_down(const AtomicTarget& target, const std::string& offset,
                         const std::string& other) {
  return fmt::format(
      "#pragma unroll\nfor (int {0} = 16; {0} > 0; {0} /= 2) {{\n"
      "const {1} {2} = __shfl_down_sync(0xffffffffu, {3}, {0});\n{4}\n}}\n",
      offset, target.first.type, other, target.name, target.first.fold(target.name, other));
}

std::string epilogue(const coop::Parsed& parsed, const std::vector<AtomicTarget>& targets,
                     bool per_warp, std::int64_t threads, const std::string& thread) {
  const syntax::TranslationUnit& unit = *parsed.unit;
  const std::string offset = syntax::fresh_name(unit, "offset");
  const std::string other = syntax::fresh_name(unit, "other");
  const std::string tid = syntax::fresh_name(unit, "tid");
  std::string text = fmt::format("// One atomic per {}.\nconst int {} = {};\n",
                                 per_warp ? "warp" : "block", tid, thread);
  for (const AtomicTarget& target : targets) text += shuffle_down(target, offset, other);
  const auto atomics = [&] {
    std::string calls;
    for (const AtomicTarget& target : targets) {
      calls +=
          fmt::format("{}({}, {});\n", target.first.function, target.address.text, target.name);
    }
    return calls;
  };
  if (per_warp || threads == 32) {
    return text + fmt::format("if ({} % 32 == 0) {{\n{}}}\n", tid, atomics());
  }
  for (const AtomicTarget& target : targets) {
    text +=
        fmt::format("__shared__ {} {}_warps[{}];\n", target.first.type, target.name, threads / 32);
  }
  text += fmt::format("if ({} % 32 == 0) {{\n", tid);
  for (const AtomicTarget& target : targets) {
    text += fmt::format("{0}_warps[{1} / 32] = {0};\n", target.name, tid);
  }
  text += fmt::format("}}\n__syncthreads();\nif ({} < 32) {{\n", tid);
  for (const AtomicTarget& target : targets) {
    text += fmt::format("{0} = {1} < {2} ? {0}_warps[{1}] : {3};\n", target.name, tid, threads / 32,
                        target.first.identity());
    text += shuffle_down(target, offset, other);
  }
  return text + fmt::format("if ({} == 0) {{\n{}}}\n}}\n", tid, atomics());
}

class AggregateAtomics final : public Rewriter {
 public:
  std::string_view name() const override { return "aggregate-atomics"; }
  std::string_view summary() const override {
    return "atomics of all threads on one address => a partial result per thread and one atomic "
           "per "
           "block; legal when the result is unused and the address is uniform";
  }
  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override;
  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override;
};

std::vector<Proposal> AggregateAtomics::propose(const Program& program,
                                                const RewriteContext& context) const {
  std::vector<Proposal> proposals;
  const auto parsed = coop::parse_program(program);
  if (!parsed) return proposals;
  for (const KernelInfo& info : parsed->kernels) {
    const auto targets = find_targets(*parsed, info);
    if (targets.empty()) continue;
    Proposal proposal;
    proposal.rewriter = name();
    proposal.version = version();
    proposal.site = info.function->name;
    for (const AtomicTarget& target : targets) {
      if (target.first.is_float()) proposal.math = MathLevel::kReassociate;
    }
    proposal.parameters.push_back({"level", {std::string("block"), std::string("warp")}});
    const bool whole_grid = std::none_of(targets.begin(), targets.end(),
                                         [](const AtomicTarget& t) { return t.address.per_block; });
    const auto whole =
        coop::check_persistent(*parsed, info, {.items = 2, .vec = 1, .block = 256}, context);
    if (whole_grid && whole) {
      proposal.parameters.push_back({"items", {1, 2, 4, 8, 16, 32, 64}});
      proposal.parameters.push_back({"block", {128, 256, 512, 1024}});
      const bool specialize = !context.task || context.task->specialize;
      const int widest =
          specialize ? coop::widest_persistent_vector(*parsed, info, program, context.sizes) : 1;
      std::vector<ParameterValue> widths;
      for (std::int64_t width = 1; width <= widest; width *= 2) widths.emplace_back(width);
      if (widest > 1) proposal.parameters.push_back({"vec", widths});
    }
    proposal.description =
        fmt::format("one atomic per block of {} instead of one per thread", proposal.site);
    if (apply(program, proposal.step(std::vector<std::size_t>(proposal.parameters.size(), 0)),
              context)) {
      proposals.push_back(std::move(proposal));
    }
  }
  return proposals;
}

Result<Program> AggregateAtomics::apply(const Program& program, const Step& step,
                                        const RewriteContext& context) const {
  const auto parsed = coop::parse_program(program);
  if (!parsed) return std::unexpected(parsed.error());
  const KernelInfo* info = parsed->find(step.site);
  if (!info) return refused(fmt::format("there is no kernel `{}`", step.site));
  const auto targets = find_targets(*parsed, *info);
  if (targets.empty()) return refused("no atomic has the same address in the whole block");
  coop::PersistentShape shape;
  shape.items = static_cast<int>(step.int_param("items", 1));
  shape.vec = static_cast<int>(step.int_param("vec", 1));
  if (context.task && !context.task->specialize) shape.vec = 1;
  if (shape.items < 1 || shape.vec < 1) return refused("items and vec must be positive");
  if (shape.items > 1 || shape.vec > 1) {
    shape.block = static_cast<int>(step.int_param("block", 256));
  }
  for (const AtomicTarget& target : targets) {
    if (target.first.is_float() && coop::exact_only(context)) {
      return refused("a floating sum would change its order, and the task asks for exact math");
    }
    if (shape.changes_launch() && target.address.per_block) {
      return refused("the address differs from block to block");
    }
  }
  if (auto legal = coop::check_persistent(*parsed, *info, shape, context); !legal) {
    return std::unexpected(legal.error());
  }
  const auto threads = coop::new_block_threads(*info, shape, context.sizes);
  if (!threads || *threads % 32 != 0) return refused("the block is no multiple of a warp");

  coop::Patch patch(*parsed->unit);
  coop::PersistentParts parts;
  parts.preamble = "\n";
  for (const AtomicTarget& target : targets) {
    parts.preamble +=
        fmt::format("{} {} = {};\n", target.first.type, target.name, target.first.identity());
    for (const AtomicStatement& atomic : target.all) {
      const Node* value = coop::strip_implicit(atomic.value);
      // The value's own edits (indices, vector loads) are made later: keep its text, wrap around
      // it.
      const bool same_type = value->type.name == atomic.type;
      const std::string cast = same_type ? "(" : fmt::format("static_cast<{}>(", atomic.type);
      const std::string statement = atomic.fold(target.name, "\x01");
      const auto hole = statement.find('\x01');
      if (!value->range.valid()) return refused("the value comes from a macro");
      patch.replace({atomic.call->range.begin, value->range.begin},
                    statement.substr(0, hole) + cast);
      patch.replace(
          {value->range.end, atomic.call->range.end}, ")" + [&] {
            std::string rest = statement.substr(hole + 1);
            rest.pop_back();  // the statement's own semicolon stays
            return rest;
          }());
    }
  }
  parts.epilogue = epilogue(*parsed, targets, step.string_param("level", "block") == "warp",
                            *threads, coop::linear_thread(*info, shape, context.sizes));
  return coop::make_persistent(program, *parsed, *info, std::move(patch), parts, shape, context);
}

}  // namespace

std::unique_ptr<Rewriter> make_aggregate_atomics() { return std::make_unique<AggregateAtomics>(); }

}  // namespace hone
