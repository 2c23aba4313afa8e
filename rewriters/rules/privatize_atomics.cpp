#include "rewriters/rules/privatize_atomics.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/rules/cooperative/atomics.h"
#include "rewriters/rules/cooperative/persistent.h"

namespace hone {
namespace {

namespace coop = rules::coop;
using coop::AtomicStatement;
using syntax::KernelInfo;
using syntax::Variable;
using Node = syntax::Expr;

struct Table {
  const Variable* root = nullptr;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;  // of one element
  std::vector<AtomicStatement> atomics;

  [[nodiscard]] std::string type() const { return atomics[0].type; }
};

// The element index in an address: &p[e], p + e, or p itself.
struct Slot {
  bool known = false;
  const Node* index = nullptr;  ///< null: element 0
};
Slot slot_of(const Node* address, const Variable* root) {
  address = coop::strip_implicit(address);
  if (coop::as_variable(address) == root) return {true, nullptr};
  if (address->kind == Node::Kind::kUnary && address->text == "&") {
    const Node* target = coop::strip_implicit(address->operands[0]);
    if (target->kind == Node::Kind::kSubscript && coop::as_variable(target->operands[0]) == root) {
      return {true, target->operands[1]};
    }
  }
  if (address->kind == Node::Kind::kBinary && address->text == "+" &&
      coop::as_variable(address->operands[0]) == root) {
    return {true, address->operands[1]};
  }
  return {};
}

std::vector<Table> find_tables(const KernelInfo& info, const Program& program,
                               const RewriteContext& context) {
  std::vector<Table> tables;
  for (const AtomicStatement& atomic : coop::atomic_statements(info)) {
    if (!slot_of(atomic.address, atomic.root).known) continue;
    if (atomic.uniform) continue;
    const auto known = std::find_if(tables.begin(), tables.end(),
                                    [&](const Table& t) { return t.root == atomic.root; });
    if (known != tables.end()) {
      known->atomics.push_back(atomic);
      continue;
    }
    const Buffer* buffer = info.buffer_of(*atomic.root, program);
    if (!buffer) continue;
    Table table;
    table.root = atomic.root;
    table.elements = 1;
    for (const Expr& extent : buffer->shape) {
      table.elements *= extent.eval(context.sizes).value_or(0);
    }
    table.bytes = static_cast<std::int64_t>(size_of(buffer->type));
    table.atomics.push_back(atomic);
    if (table.elements < 1 || table.elements * table.bytes > context.target.shared_per_block) {
      continue;
    }
    tables.push_back(std::move(table));
  }
  // Every atomic on the table must be among those found, or some would miss the copy.
  std::erase_if(tables, [&](const Table& table) {
    const auto all = std::count_if(info.accesses.begin(), info.accesses.end(), [&](const auto& a) {
      const auto place = coop::place_of(a);
      return !place.root || place.root == table.root ||
             coop::may_overlap(info, place, coop::Place{table.root, std::nullopt});
    });
    return all != static_cast<std::ptrdiff_t>(table.atomics.size());
  });
  return tables;
}

class PrivatizeAtomics final : public Rewriter {
 public:
  std::string_view name() const override { return "privatize-atomics"; }
  std::string_view summary() const override {
    return "atomics on a small table => a copy per block in shared memory, added up at the end; "
           "legal "
           "when results are unused and the table fits";
  }
  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override;
  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override;
};

std::vector<Proposal> PrivatizeAtomics::propose(const Program& program,
                                                const RewriteContext& context) const {
  std::vector<Proposal> proposals;
  if (context.task && !context.task->specialize) return proposals;
  const auto parsed = coop::parse_program(program);
  if (!parsed) return proposals;
  for (const KernelInfo& info : parsed->kernels) {
    for (const Table& table : find_tables(info, program, context)) {
      Proposal proposal;
      proposal.rewriter = name();
      proposal.version = version();
      proposal.site = fmt::format("{}/{}", info.function->name, table.root->name);
      proposal.math = table.atomics[0].is_float() ? MathLevel::kReassociate : MathLevel::kExact;
      std::vector<ParameterValue> copies;
      for (std::int64_t c : {1, 2, 4, 8, 16}) {
        if (c * (table.elements + 1) * table.bytes <= context.target.shared_per_block) {
          copies.emplace_back(c);
        }
      }
      if (copies.empty()) continue;
      proposal.parameters.push_back({"copies", copies});
      if (coop::check_persistent(*parsed, info, {.items = 2, .vec = 1, .block = 256}, context)) {
        proposal.parameters.push_back({"items", {1, 2, 4, 8, 16, 32, 64}});
        proposal.parameters.push_back({"block", {128, 256, 512, 1024}});
        const int widest = coop::widest_persistent_vector(*parsed, info, program, context.sizes);
        std::vector<ParameterValue> widths;
        for (std::int64_t width = 1; width <= widest; width *= 2) widths.emplace_back(width);
        if (widest > 1) proposal.parameters.push_back({"vec", widths});
      }
      proposal.description =
          fmt::format("a copy of {} per block in shared memory", table.root->name);
      if (apply(program, proposal.step(std::vector<std::size_t>(proposal.parameters.size(), 0)),
                context)) {
        proposals.push_back(std::move(proposal));
      }
    }
  }
  return proposals;
}

Result<Program> PrivatizeAtomics::apply(const Program& program, const Step& step,
                                        const RewriteContext& context) const {
  if (context.task && !context.task->specialize) {
    return refused("the table's size must be known, and the task asks for all sizes");
  }
  const auto parsed = coop::parse_program(program);
  if (!parsed) return std::unexpected(parsed.error());
  const auto slash = step.site.find('/');
  const KernelInfo* info = parsed->find(step.site.substr(0, slash));
  if (!info || slash == std::string::npos) {
    return refused(fmt::format("there is no site `{}`", step.site));
  }
  const auto tables = find_tables(*info, program, context);
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const Table& table) {
    return table.root->name == step.site.substr(slash + 1);
  });
  if (found == tables.end()) return refused("the kernel has no such table of atomics");
  const Table& table = *found;
  if (table.atomics[0].is_float() && coop::exact_only(context)) {
    return refused("a floating sum would change its order, and the task asks for exact math");
  }
  coop::PersistentShape shape;
  shape.items = static_cast<int>(step.int_param("items", 1));
  shape.vec = static_cast<int>(step.int_param("vec", 1));
  if (shape.items < 1 || shape.vec < 1) return refused("items and vec must be positive");
  if (shape.items > 1 || shape.vec > 1) {
    shape.block = static_cast<int>(step.int_param("block", 256));
  }
  if (auto legal = coop::check_persistent(*parsed, *info, shape, context); !legal) {
    return std::unexpected(legal.error());
  }
  const auto threads = coop::new_block_threads(*info, shape, context.sizes);
  if (!threads) return refused("the launches of the kernel differ");
  const std::int64_t copies = step.int_param("copies", 1);
  // One element more per copy: equal bins of different copies lie in different banks.
  const std::int64_t stride = copies > 1 ? table.elements + 1 : table.elements;
  if (copies < 1 || copies * stride * table.bytes > context.target.shared_per_block) {
    return refused("the copies do not fit into shared memory");
  }

  const syntax::TranslationUnit& unit = *parsed->unit;
  const std::string shared = syntax::fresh_name(unit, fmt::format("{}_block", table.root->name));
  const std::string slot = syntax::fresh_name(unit, "slot");
  const std::string tid = syntax::fresh_name(unit, "tid");
  const std::string part = syntax::fresh_name(unit, "part");
  const std::string copy = syntax::fresh_name(unit, "copy");
  const AtomicStatement& kind = table.atomics[0];
  coop::PersistentParts parts;
  parts.preamble = fmt::format(
      "\n// Every block counts for itself first.\n"
      "__shared__ {0} {1}[{2}];\nconst int {3} = {4};\n"
      "for (int {5} = {3}; {5} < {2}; {5} += {6}) {1}[{5}] = {7};\n__syncthreads();\n",
      table.type(), shared, copies * stride, tid, coop::linear_thread(*info, shape, context.sizes),
      slot, *threads, kind.identity());
  std::string mine = shared;
  if (copies > 1) {
    mine = syntax::fresh_name(unit, fmt::format("{}_mine", table.root->name));
    parts.preamble += fmt::format("{}* const {} = {} + {} % {} * {};\n", table.type(), mine, shared,
                                  tid, copies, stride);
  }
  parts.epilogue = fmt::format(
      "__syncthreads();\nfor (int {0} = {1}; {0} < {2}; {0} += {3}) {{\n{4} {5} = {6}[{0}];\n",
      slot, tid, table.elements, *threads, table.type(), part, shared);
  if (copies > 1) {
    parts.epilogue +=
        fmt::format("#pragma unroll\nfor (int {0} = 1; {0} < {1}; ++{0}) {{ {2} }}\n", copy, copies,
                    kind.fold(part, fmt::format("{}[{} * {} + {}]", shared, copy, stride, slot)));
  }
  parts.epilogue += fmt::format("if ({0} != {1}) {2}(&{3}[{4}], {0});\n}}\n", part, kind.identity(),
                                kind.function, table.root->name, slot);

  coop::Patch patch(unit);
  for (const AtomicStatement& atomic : table.atomics) {
    const Slot where = slot_of(atomic.address, atomic.root);
    // Subtracting goes into the copy as adding: the flush subtracts the sum.
    if (atomic.function == "atomicSub") {
      const syntax::SourceRange name{
          atomic.call->range.begin,
          atomic.call->range.begin + static_cast<int>(atomic.function.size())};
      if (unit.text(name) != atomic.function) return refused("the call is not written plainly");
      patch.replace(name, "atomicAdd");
    }
    if (!where.index) {
      patch.replace(coop::strip_implicit(atomic.address)->range, mine);
      continue;
    }
    coop::for_each_expr(atomic.address, [&](const Node& part_of) {
      if (part_of.kind == Node::Kind::kVariable && part_of.variable == table.root) {
        patch.replace(part_of.range, mine);
      }
    });
  }
  return coop::make_persistent(program, *parsed, *info, std::move(patch), parts, shape, context);
}

}  // namespace

std::unique_ptr<Rewriter> make_privatize_atomics() { return std::make_unique<PrivatizeAtomics>(); }

}  // namespace hone
