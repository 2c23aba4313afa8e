#include "rewriters/generators/rowwise/print.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::generators::rowwise {
namespace {

using lift::Node;

class RowPrinter {
 public:
  RowPrinter(const Goal& goal, Plan plan, const Schedule& schedule, Helpers& helpers, Code& code)
      : goal_(goal),
        nodes_(*goal.nodes),
        plan_(std::move(plan)),
        schedule_(schedule),
        helpers_(helpers),
        code_(code),
        printer_(*goal.nodes),
        parameters_(goal) {}

  void print(const std::string& name, const std::string& what, Generated& generated) {
    if (schedule_.reciprocal) divide_once();
    kept_ = kept_between_loops(goal_, plan_, schedule_.keep);
    collect_buffers();
    const Team& team = schedule_.team;
    const std::int64_t block = std::int64_t{team.threads} * team.teams;
    code_.comment(what);
    code_.open_function(fmt::format("__global__ void __launch_bounds__({}) {}", block, name),
                        parameters_.texts());
    print_constants();
    print_threads();
    printer_.indices[plan_.row] = "row";
    declare_shared();
    const bool loops = schedule_.blocks_per_sm > 0;
    if (loops) load_for_all_rows();
    if (loops) {
      code_.open(
          "for (int first = blockIdx.x * kRowsPerBlock; first < kRows; "
          "first += gridDim.x * kRowsPerBlock)");
    }
    print_row(loops ? "first" : "blockIdx.x * kRowsPerBlock");
    declare_registers();
    int folds = 0;
    for (int level = 0; level < plan_.levels; ++level) {
      folds += print_level(level) ? 1 : 0;
    }
    print_row_outputs();
    // With two folds or more, each waits for all to have left the one before.
    if (loops && folds == 1 && folds_in_shared(team)) code_.line("__syncthreads();");
    if (loops) code_.close();
    code_.close();
    code_.line();

    const std::int64_t groups = (plan_.rows + team.teams - 1) / team.teams;
    GeneratedLaunch launch;
    launch.kernel = name;
    const std::int64_t most =
        std::int64_t{schedule_.blocks_per_sm} * std::max(1, goal_.context->target.sm_count);
    launch.grid = {loops ? std::min(groups, most) : groups};
    launch.block = team.across ? std::vector<std::int64_t>{team.teams, team.threads}
                               : std::vector<std::int64_t>{block};
    launch.shared_bytes = in_shared() ? shared_kept(goal_, plan_, schedule_) : 0;
    launch.args = parameters_.args();
    generated.launches.push_back(std::move(launch));
    for (const std::string& header : parameters_.includes()) {
      if (std::ranges::find(generated.includes, header) == generated.includes.end()) {
        generated.includes.push_back(header);
      }
    }
  }

 private:
  [[nodiscard]] std::string of_space(const char* constant, int space) const {
    return space == 0 ? constant : fmt::format("{}{}", constant, space + 1);
  }

  /// x / s, where s is one number for the row, as x * (1 / s).
  void divide_once() {
    const auto change = [&](Ref value, SymbolId column) {
      const std::function<Ref(Ref)> multiply = [&](Ref node) -> Ref {
        if (node->kind == Node::Kind::kReduce) return node;
        if (!node->is("/") || !is_float(node->type) || node->args[1]->uses(column)) return nullptr;
        if (node->args[1]->kind == Node::Kind::kFloat || !node->args[0]->uses(column)) {
          return nullptr;
        }
        const Ref one = nodes_.number(1, node->type);
        return nodes_.op("*", node->type,
                         {nodes_.replace(node->args[0], multiply),
                          nodes_.op("/", node->type, {one, node->args[1]})});
      };
      return nodes_.replace(value, multiply);
    };
    for (Output& one : plan_.outputs) {
      if (one.space >= 0) one.value = change(one.value, column_of(one.space));
    }
    for (Reduction& one : plan_.reductions) one.body = change(one.body, column_of(one.space));
  }

  [[nodiscard]] SymbolId column_of(int space) const {
    return plan_.spaces[static_cast<std::size_t>(space)].column;
  }

  /// The loops over a row: all of it, or what is in registers and then what is in shared memory.
  enum class Segment { kWhole, kHeld, kRest };
  [[nodiscard]] bool in_registers() const {
    return schedule_.keep == Keep::kRegisters || schedule_.keep == Keep::kSplit;
  }
  [[nodiscard]] bool in_shared() const {
    return schedule_.keep == Keep::kShared || schedule_.keep == Keep::kSplit;
  }
  [[nodiscard]] bool unrolled(Segment segment) const {
    return segment == Segment::kHeld || schedule_.keep == Keep::kRegisters;
  }

  void collect_buffers() {
    for (const Reduction& one : plan_.reductions) parameters_.read_all(one.body);
    for (const Output& one : plan_.outputs) {
      parameters_.read_all(one.value);
      parameters_.read_all(one.guard);
    }
    for (const Output& one : plan_.outputs) parameters_.write(one.buffer, one.type);
    for (const std::string& buffer : parameters_.args()) names_.take(buffer);
    names_.take("col");
    names_.take("team");
    names_.take("active");
  }

  void print_constants() {
    const Team& team = schedule_.team;
    code_.line(fmt::format("constexpr int kRows = {};", plan_.rows));
    for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
      code_.line(fmt::format("constexpr int {} = {};  // elements of a row",
                             of_space("kCols", space),
                             plan_.spaces[static_cast<std::size_t>(space)].length));
    }
    code_.line(fmt::format("constexpr int kThreads = {};  // that share a row", team.threads));
    code_.line(fmt::format("constexpr int kRowsPerBlock = {};", team.teams));
    if (schedule_.width > 1) {
      code_.line(
          fmt::format("constexpr int kVec = {};  // elements moved at once", schedule_.width));
    }
    if (!team.across && team.threads > 32) {
      code_.line("constexpr int kWarps = kThreads / 32;  // that share a row");
    }
    if (schedule_.keep == Keep::kRegisters) {
      const std::string step = schedule_.width > 1 ? "(kThreads * kVec)" : "kThreads";
      for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
        const std::string cols = of_space("kCols", space);
        const bool even = plan_.spaces[static_cast<std::size_t>(space)].length % step_length() == 0;
        code_.line(even ? fmt::format("constexpr int {} = {} / {};  // of a thread",
                                      of_space("kItems", space), cols, step)
                        : fmt::format("constexpr int {} = ({} + {} - 1) / {};  // of a thread",
                                      of_space("kItems", space), cols,
                                      schedule_.width > 1 ? "kThreads * kVec" : "kThreads", step));
      }
    }
    if (schedule_.keep == Keep::kSplit) {
      code_.line(
          fmt::format("constexpr int kItems = {};  // of a thread, in registers", schedule_.held));
      code_.line(fmt::format("constexpr int kHeld = kItems * kThreads{};  // the rest is shared",
                             schedule_.width > 1 ? " * kVec" : ""));
    }
    code_.line();
  }

  [[nodiscard]] std::int64_t step_length() const {
    return std::int64_t{schedule_.team.threads} * schedule_.width;
  }

  void print_threads() {
    const Team& team = schedule_.team;
    if (team.across) {
      code_.line("const int team = threadIdx.x;  // neighbours read neighbouring rows");
      code_.line("const int lane = threadIdx.y;");
    } else if (team.teams == 1) {
      code_.line("const int lane = threadIdx.x;");
    } else {
      code_.line("const int team = threadIdx.x / kThreads;");
      code_.line("const int lane = threadIdx.x % kThreads;");
    }
  }

  void print_row(const std::string& first) {
    const bool team = schedule_.team.teams > 1;
    spare_ = plan_.rows % schedule_.team.teams != 0;
    if (!spare_) {
      code_.line(fmt::format("const int row = {}{};",
                             team || first == "first" ? first : "blockIdx.x",
                             team ? " + team" : ""));
      return;
    }
    code_.comment("Spare threads of the last block repeat the last row and store nothing.");
    code_.line(fmt::format("const bool active = {} + team < kRows;", first));
    code_.line(fmt::format("const int row = active ? {} + team : kRows - 1;", first));
  }

  void declare_shared() {
    if (!in_shared() || kept_.raw.empty()) return;
    const std::string block = helpers_.prefix() + "rows";
    code_.line(fmt::format("extern __shared__ __align__(16) unsigned char {}[];", block));
    std::int64_t offset = 0;
    const std::string col = schedule_.keep == Keep::kSplit ? "col - kHeld" : "col";
    for (const Kept::Raw& one : kept_.raw) {
      const std::string name = names_.fresh(one.load->op + "_shared");
      const std::string cols = of_space("kCols", one.space);
      const bool along_teams = !schedule_.team.across && schedule_.team.teams > 1;
      code_.line(fmt::format("{0}* {1} = reinterpret_cast<{0}*>({2}{3}){4};",
                             type_name(one.load->type), name, block,
                             offset > 0 ? fmt::format(" + {}", offset) : "",
                             along_teams ? fmt::format(" + team * {}", cols) : ""));
      offset += (shared_row(plan_, schedule_, one) * schedule_.team.teams + 15) / 16 * 16;
      shared_place_[one.load] = schedule_.width > 1     ? name + " + " + col
                                : schedule_.team.across ? name + "[col * kRowsPerBlock + team]"
                                                        : name + "[" + col + "]";
    }
  }

  void declare_registers() {
    if (!in_registers()) return;
    const bool vectors = schedule_.width > 1;
    for (const Kept::Raw& one : kept_.raw) {
      if (!place_of_.contains(one.load)) place_of_[one.load] = names_.fresh(one.load->op + "_row");
      code_.line(fmt::format("{} {}[{}];",
                             vectors ? helpers_.pack(one.load->type) : type_name(one.load->type),
                             place_of_[one.load], of_space("kItems", one.space)));
    }
    for (const Kept::Computed& one : kept_.computed) {
      if (!place_of_.contains(one.value)) place_of_[one.value] = names_.fresh("kept");
      code_.line(fmt::format("{} {}[{}]{};", variable_type(nodes_, one.value), place_of_[one.value],
                             of_space("kItems", one.space), vectors ? "[kVec]" : ""));
    }
  }

  /// What does not depend on the row, such as weights: loaded once by a block that walks over rows.
  void load_for_all_rows() {
    if (schedule_.keep != Keep::kRegisters) return;
    std::int64_t registers = registers_kept(goal_, plan_, schedule_);
    for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
      LaneBody body = body_for(space);
      const std::int64_t length = plan_.spaces[static_cast<std::size_t>(space)].length;
      const std::int64_t items = (length + step_length() - 1) / step_length();
      std::vector<Ref> loads;
      for (const Stream& stream : streams_of(goal_, plan_, space)) {
        if (stream.load->uses(plan_.row) || !stream.certain) continue;
        if (stream.load->args[0]->has_load || !body.moves_whole(stream.load)) continue;
        const std::int64_t more =
            (items * schedule_.width * static_cast<std::int64_t>(size_of(stream.load->type)) + 3) /
            4;
        if (registers + more > most_registers(schedule_.team, goal_.context->target)) continue;
        registers += more;
        std::erase_if(kept_.raw, [&](const Kept::Raw& one) { return one.load == stream.load; });
        const std::string name = names_.fresh(stream.load->op + "_all");
        for_all_rows_[stream.load] = name + "[i]";
        code_.line(fmt::format(
            "{} {}[{}];  // the same for all rows",
            schedule_.width > 1 ? helpers_.pack(stream.load->type) : type_name(stream.load->type),
            name, of_space("kItems", space)));
        loads.push_back(stream.load);
      }
      if (loads.empty()) continue;
      const int braces = open_loop(space, Segment::kWhole);
      for (const Ref load : loads) body.emit_load(code_, load, for_all_rows_[load]);
      for (int i = 0; i < braces; ++i) code_.close();
    }
  }

  /// Opens the loop over a row's columns; gives how many braces to close.
  int open_loop(int space, Segment segment) {
    const std::string cols = of_space("kCols", space);
    const std::string scaled = schedule_.width > 1 ? " * kVec" : "";
    if (!unrolled(segment)) {
      if (schedule_.unroll > 1) code_.line(fmt::format("#pragma unroll {}", schedule_.unroll));
      code_.open(fmt::format("for (int col = {2}lane{0}; col < {1}; col += kThreads{0})", scaled,
                             cols, segment == Segment::kRest ? "kHeld + " : ""));
      return 1;
    }
    code_.line("#pragma unroll");
    code_.open(fmt::format("for (int i = 0; i < {}; ++i)", of_space("kItems", space)));
    code_.line(schedule_.width > 1 ? "const int col = (i * kThreads + lane) * kVec;"
                                   : "const int col = i * kThreads + lane;");
    const std::int64_t length = plan_.spaces[static_cast<std::size_t>(space)].length;
    if (length % step_length() == 0 || segment == Segment::kHeld) return 1;
    code_.open(length < step_length()
                   ? fmt::format("if (col < {})", cols)
                   : fmt::format("if (i + 1 < {} || col < {})", of_space("kItems", space), cols));
    return 2;
  }

  LaneBody body_for(int space) {
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

  /// Reductions and outputs of one level; true: its threads met in shared memory.
  bool print_level(int level) {
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
    if (accumulators.empty()) return false;
    emit_team_fold(code_, names_, schedule_.team, accumulators);
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Accumulator& one = accumulators[i];
      printer_.known[made[i]->node] = one.finds_place() ? one.place : one.name;
    }
    return true;
  }

  void emit_invariants(Printer& with_kept, const std::vector<Ref>& roots, SymbolId column) {
    const auto before = with_kept.known;
    emit_invariant(nodes_, with_kept, names_, code_, roots, column);
    for (const auto& [value, text] : with_kept.known) {
      if (!before.contains(value)) printer_.known[value] = text;
    }
  }

  void print_loop(int level, int space, Segment segment,
                  const std::vector<Accumulator>& accumulators,
                  const std::vector<const Reduction*>& made, std::size_t first) {
    LaneBody body = body_for(space);
    const bool registers = unrolled(segment);
    std::vector<Ref> fetched;
    for (const Kept::Raw& one : kept_.raw) {
      if (one.space != space) continue;
      if (one.level == level && registers) fetched.push_back(one.load);
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

  void print_row_outputs() {
    std::vector<Ref> roots;
    for (const Output& one : plan_.outputs) {
      if (one.space < 0) roots.push_back(one.value);
    }
    if (roots.empty()) return;
    code_.line();
    code_.open(spare_ ? "if (lane == 0 && active)" : "if (lane == 0)");
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

  const Goal& goal_;
  lift::Nodes& nodes_;
  Plan plan_;
  const Schedule& schedule_;
  Helpers& helpers_;
  Code& code_;
  Printer printer_;
  Parameters parameters_;
  Names names_;
  Kept kept_;
  std::map<Ref, std::string> place_of_, shared_place_, for_all_rows_;
  bool spare_ = false;
};

}  // namespace

void print_rows(const Goal& goal, const Plan& plan, const Schedule& schedule,
                const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                Generated& generated) {
  RowPrinter(goal, plan, schedule, helpers, code).print(name, what, generated);
}

}  // namespace hone::generators::rowwise
