// The loops of a kernel of rows, and the folds between.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/rowwise/row_printer.h"

namespace hone::schedules::rowwise {

using nest::Node;

void RowPrinter::print(const std::string& name, const std::string& what, Generated& generated) {
  if (schedule_.reciprocal) divide_once();
  kept_ = kept_between_loops(goal_, plan_, schedule_.keep);
  collect_buffers();
  const Team& team = schedule_.team;
  const std::int64_t block = std::int64_t{team.threads} * team.teams;
  code_.comment(what);
  const std::string dims =
      in_cluster() ? fmt::format("__cluster_dims__({}, 1, 1) ", schedule_.cluster) : "";
  code_.open_function(fmt::format("__global__ void {}__launch_bounds__({}) {}", dims, block, name),
                      parameters_.texts());
  print_constants();
  print_threads();
  printer_.indices[plan_.row] = "row";
  declare_shared();
  if (in_cluster()) {
    code_.comment("Other blocks may write here once this one has begun.");
    code_.line(helpers_.cluster("cluster_arrive") + "();");
  }
  if (schedule_.blocks_per_sm > 0) {
    print_row_loop();
  } else {
    print_row(group() + " * kRowsPerBlock");
    print_levels();
  }
  code_.close();
  code_.line();
  add_launch(name, generated);
}

/// For blocks that walk over rows.
void RowPrinter::print_row_loop() {
  load_for_all_rows();
  if (in_cluster()) wait_for_begin();
  turns_ = takes_turns(plan_, schedule_);
  if (turns_) code_.line("int turn = 0;  // which of two sets of slots");
  if (schedule_.ahead) declare_ahead();
  const std::string step =
      fmt::format("gridDim.x{} * kRowsPerBlock", in_cluster() ? " / kCluster" : "");
  code_.open(fmt::format("for (int first = {} * kRowsPerBlock; first < kRows; first += {})",
                         group(), step));
  print_row("first");
  if (schedule_.ahead) load_ahead(step);
  print_levels();
  // With two folds or more, each waits for all to have left the one before.
  if (!in_cluster() && folds_of(plan_) == 1 && folds_in_shared(schedule_.team)) {
    code_.line("__syncthreads();");
  }
  if (turns_) code_.line("turn ^= 1;");
  code_.close();
}

void RowPrinter::print_levels() {
  declare_registers();
  for (int level = 0; level < plan_.levels; ++level) print_level(level);
  print_row_outputs();
}

void RowPrinter::add_launch(const std::string& name, Generated& generated) {
  const Team& team = schedule_.team;
  std::int64_t groups = ceil_divide(plan_.rows, team.teams);
  if (schedule_.blocks_per_sm > 0) {
    const std::int64_t most =
        std::int64_t{schedule_.blocks_per_sm} * std::max(1, goal_.context->target.sm_count);
    groups = std::min(groups, std::max<std::int64_t>(1, most / schedule_.cluster));
  }
  parameters_.add_launch({.kernel = name,
                          .grid = {groups * schedule_.cluster},
                          .block = team.block(),
                          .shared_bytes = in_shared() ? shared_kept(goal_, plan_, schedule_) : 0},
                         generated);
}

/// x / s, where s is one number for the row, as x * (1 / s).
void RowPrinter::divide_once() {
  const auto change = [&](Ref value, SymbolId column) {
    const std::function<Ref(Ref)> multiply = [&](Ref node) -> Ref {
      if (node->kind == Node::Kind::kReduce) return node;
      if (!node->is(Op::kDiv) || !is_float(node->type) || node->args[1]->uses(column))
        return nullptr;
      if (node->args[1]->kind == Node::Kind::kFloat || !node->args[0]->uses(column)) {
        return nullptr;
      }
      const Ref one = nodes_.number(1, node->type);
      return nodes_.op(Op::kMul, node->type,
                       {nodes_.replace(node->args[0], multiply),
                        nodes_.op(Op::kDiv, node->type, {one, node->args[1]})});
    };
    return nodes_.replace(value, multiply);
  };
  for (Output& one : plan_.outputs) {
    if (one.space >= 0) one.value = change(one.value, column_of(one.space));
  }
  for (Reduction& one : plan_.reductions) one.body = change(one.body, column_of(one.space));
}

/// Opens the loop over a block's columns; gives how many braces to close.
int RowPrinter::open_loop(int space, Segment segment) {
  const std::string scaled = schedule_.width > 1 ? " * kVec" : "";
  const std::string begin = in_cluster() ? of_space("begin", space) + " + " : "";
  const std::string end = of_space(in_cluster() ? "end" : "kCols", space);
  if (!unrolled(segment)) {
    if (schedule_.unroll > 1) code_.line(fmt::format("#pragma unroll {}", schedule_.unroll));
    const char* held = segment == Segment::kRest ? "kHeld + " : "";
    code_.open(fmt::format("for (int col = {3}{2}lane{0}; col < {1}; col += kThreads{0})", scaled,
                           end, held, begin));
    return 1;
  }
  const std::string items = of_space("kItems", space);
  code_.line("#pragma unroll");
  code_.open(fmt::format("for (int i = 0; i < {}; ++i)", items));
  code_.line(schedule_.width > 1
                 ? fmt::format("const int col = {}(i * kThreads + lane) * kVec;", begin)
                 : fmt::format("const int col = {}i * kThreads + lane;", begin));
  if (segment == Segment::kHeld) return 1;
  if (even_parts(space) && part(space) % step_length() == 0) return 1;
  // All but the last of a thread's vectors are inside, unless the last block has fewer.
  const bool one = part(space) <= step_length();
  const std::int64_t full = (part(space) - 1) / step_length() * step_length();
  const bool last_alone = !one && last_part(space) >= full;
  code_.open(last_alone ? fmt::format("if (i + 1 < {} || col < {})", items, end)
                        : fmt::format("if (col < {})", end));
  return 2;
}

LaneBody RowPrinter::body_for(int space) {
  LaneBody body(goal_, printer_, names_, helpers_, column_of(space), "col", schedule_.width);
  body.cache = schedule_.cache;
  const SymbolId row = plan_.row, column = column_of(space);
  // Read once by one thread; where a row is read again, the caches should still have it.
  body.streamed = [this, row, column](Ref load) {
    return load->uses(row) && load->uses(column) && schedule_.keep != Keep::kReread;
  };
  if (spare_) body.store_if = "active";
  body.at_hand = for_all_rows_;
  return body;
}

/// Reductions and outputs of one level.
void RowPrinter::print_level(int level) {
  std::vector<Accumulator> accumulators;
  std::vector<const Reduction*> made;
  for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
    if (!plan_.has_loop(level, space)) continue;
    code_.line();
    std::vector<Ref> roots = plan_.roots(level, space);
    Printer with_kept = printer_;
    for (const Kept::Computed& one : kept_.computed) {
      if (one.level < level) with_kept.known[one.value] = "kept";
    }
    emit_invariants(with_kept, roots, column_of(space));
    const std::size_t first = accumulators.size();
    for (const Reduction& one : plan_.reductions) {
      if (one.level != level || one.space != space) continue;
      accumulators.emplace_back(nodes_, one.node, one.body, names_);
      made.push_back(&one);
    }
    for (std::size_t i = first; i < accumulators.size(); ++i) accumulators[i].declare(code_);
    if (schedule_.keep == Keep::kSplit) {
      print_loop(level, space, Segment::kHeld, accumulators, made, first);
      print_loop(level, space, Segment::kRest, accumulators, made, first);
    } else {
      print_loop(level, space, Segment::kWhole, accumulators, made, first);
    }
  }
  if (accumulators.empty()) return;
  print_fold(accumulators);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Accumulator& one = accumulators[i];
    printer_.known[made[i]->node] = one.finds_place() ? one.place : one.name;
  }
}

void RowPrinter::print_fold(const std::vector<Accumulator>& accumulators) {
  if (!in_cluster()) return emit_team_fold(code_, names_, schedule_.team, accumulators);
  if (!begun_) wait_for_begin();
  emit_cluster_fold(code_, names_, helpers_, schedule_.team, schedule_.cluster, turns_,
                    accumulators);
}

/// For all blocks of the cluster.
void RowPrinter::wait_for_begin() {
  begun_ = true;
  code_.line(helpers_.cluster("cluster_wait") + "();");
}

void RowPrinter::emit_invariants(Printer& with_kept, const std::vector<Ref>& roots,
                                 SymbolId column) {
  const auto before = with_kept.known;
  emit_invariant(nodes_, with_kept, names_, code_, roots, column);
  for (const auto& [value, text] : with_kept.known) {
    if (!before.contains(value)) printer_.known[value] = text;
  }
}

void RowPrinter::print_loop(int level, int space, Segment segment,
                            const std::vector<Accumulator>& accumulators,
                            const std::vector<const Reduction*>& made, std::size_t first) {
  LaneBody body = body_for(space);
  const bool registers = unrolled(segment);
  std::vector<Ref> fetched;
  for (const Kept::Raw& one : kept_.raw) {
    if (one.space != space) continue;
    if (one.level == level && registers && !ahead_.contains(one.load)) fetched.push_back(one.load);
    if (registers && one.level <= level) body.at_hand[one.load] = place_of_[one.load] + "[i]";
    if (!registers && one.level == level) body.to_shared[one.load] = shared_place_[one.load];
    if (!registers && one.level < level) body.in_shared[one.load] = shared_place_[one.load];
  }
  const std::string lane = schedule_.width > 1 ? "[i][v]" : "[i]";
  std::vector<LaneBody::Keep> keeps;
  for (const Kept::Computed& one : kept_.computed) {
    if (one.space != space) continue;
    if (one.level == level) keeps.push_back({one.value, place_of_[one.value] + lane});
    if (one.level < level) body.known[one.value] = place_of_[one.value] + lane;
  }
  if (!fetched.empty()) {
    const int braces = open_loop(space, segment);
    for (const Ref load : fetched) body.emit_load(code_, load, place_of_[load] + "[i]");
    for (int i = 0; i < braces; ++i) code_.close();
  }
  std::vector<LaneBody::Fold> folds;
  for (std::size_t i = first; i < accumulators.size(); ++i) {
    folds.push_back({&accumulators[i], made[i]->body});
  }
  std::vector<LaneBody::Store> stores;
  for (const Output& one : plan_.outputs) {
    if (one.level != level || one.space != space) continue;
    stores.push_back({one.buffer, one.type, one.element, one.value, one.guard});
  }
  const int braces = open_loop(space, segment);
  body.emit(code_, folds, stores, keeps);
  for (int i = 0; i < braces; ++i) code_.close();
}

void RowPrinter::print_row_outputs() {
  std::vector<Ref> roots;
  for (const Output& one : plan_.outputs) {
    if (one.space < 0) roots.push_back(one.value);
  }
  if (roots.empty()) return;
  code_.line();
  code_.open(fmt::format("if ({}lane == 0{})", in_cluster() ? "rank == 0 && " : "",
                         spare_ ? " && active" : ""));
  Printer printer = printer_;
  emit_shared(nodes_, printer, names_, code_, roots);
  for (const Output& one : plan_.outputs) {
    if (one.space >= 0) continue;
    const std::string text =
        fmt::format("{}[{}] = {};", one.buffer, printer.print_index(one.element),
                    as_element(printer, one.type, one.value));
    code_.line(one.guard->is_constant()
                   ? text
                   : fmt::format("if ({}) {}", printer.print(one.guard), text));
  }
  code_.close();
}

void print_rows(const Goal& goal, const Plan& plan, const Schedule& schedule,
                const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                Generated& generated) {
  RowPrinter(goal, plan, schedule, helpers, code).print(name, what, generated);
}

}  // namespace hone::schedules::rowwise
