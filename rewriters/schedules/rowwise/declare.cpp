// Constants, indices and memory of a kernel of rows.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/rowwise/row_printer.h"

namespace hone::schedules::rowwise {

void RowPrinter::collect_buffers() {
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
  if (schedule_.ahead) {
    for (const char* word : {"next", "next_row"}) names_.take(word);
  }
  if (!in_cluster()) return;
  for (const char* word : {"rank", "group", "turn"}) names_.take(word);
  for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
    names_.take(of_space("begin", space));
    names_.take(of_space("end", space));
  }
}

void RowPrinter::print_constants() {
  const Team& team = schedule_.team;
  code_.line(fmt::format("constexpr int kRows = {};", plan_.rows));
  for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
    code_.line(fmt::format("constexpr int {} = {};  // elements of a row", of_space("kCols", space),
                           length(space)));
  }
  if (in_cluster()) {
    code_.line(
        fmt::format("constexpr int kCluster = {};  // blocks that share a row", schedule_.cluster));
  }
  for (int space = 0; in_cluster() && space < static_cast<int>(plan_.spaces.size()); ++space) {
    code_.line(fmt::format("constexpr int {} = {};  // elements of a row in one of its blocks",
                           of_space("kPart", space), part(space)));
  }
  code_.line(fmt::format("constexpr int kThreads = {};  // {}", team.threads,
                         in_cluster() ? "of a block, that share its part" : "that share a row"));
  code_.line(fmt::format("constexpr int kRowsPerBlock = {};", team.teams));
  if (schedule_.width > 1) {
    code_.line(fmt::format("constexpr int kVec = {};  // elements moved at once", schedule_.width));
  }
  if (in_cluster() || (!team.across && team.threads > 32)) {
    code_.line("constexpr int kWarps = kThreads / 32;  // that share a row");
  }
  if (schedule_.keep == Keep::kRegisters) {
    const std::string step = schedule_.width > 1 ? "(kThreads * kVec)" : "kThreads";
    for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
      const std::string cols = of_space(in_cluster() ? "kPart" : "kCols", space);
      const bool even = part(space) % step_length() == 0;
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

void RowPrinter::print_threads() {
  const Team& team = schedule_.team;
  print_place_in_team(team, code_);
  if (!in_cluster()) return;
  code_.line("const int rank = blockIdx.x % kCluster;  // of the blocks that share a row");
  code_.line("const int group = blockIdx.x / kCluster;");
  for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
    const std::string begin = of_space("begin", space), part = of_space("kPart", space);
    code_.line(fmt::format("const int {} = rank * {};", begin, part));
    code_.line(even_parts(space)
                   ? fmt::format("const int {} = {} + {};", of_space("end", space), begin, part)
                   : fmt::format("const int {} = min({} + {}, {});", of_space("end", space), begin,
                                 part, of_space("kCols", space)));
  }
}

void RowPrinter::print_row(const std::string& first) {
  const bool team = schedule_.team.teams > 1;
  spare_ = plan_.rows % schedule_.team.teams != 0;
  if (!spare_) {
    code_.line(fmt::format("const int row = {}{};", team || first == "first" ? first : group(),
                           team ? " + team" : ""));
    return;
  }
  code_.comment("Spare threads of the last block repeat the last row and store nothing.");
  code_.line(fmt::format("const bool active = {} + team < kRows;", first));
  code_.line(fmt::format("const int row = active ? {} + team : kRows - 1;", first));
}

void RowPrinter::declare_shared() {
  if (!in_shared() || kept_.raw.empty()) return;
  const std::string block = helpers_.prefix() + "rows";
  code_.line(fmt::format("extern __shared__ __align__(16) unsigned char {}[];", block));
  std::int64_t offset = 0;
  for (const Kept::Raw& one : kept_.raw) {
    const std::string name = names_.fresh(one.load->name + "_shared");
    const std::string cols = of_space(in_cluster() ? "kPart" : "kCols", one.space);
    const std::string col =
        std::string(in_cluster() ? "col - " + of_space("begin", one.space) : "col") +
        (schedule_.keep == Keep::kSplit ? " - kHeld" : "");
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

void RowPrinter::declare_registers() {
  if (!in_registers()) return;
  const bool vectors = schedule_.width > 1;
  for (const Kept::Raw& one : kept_.raw) {
    if (ahead_.contains(one.load)) continue;  // declared already
    if (!place_of_.contains(one.load)) place_of_[one.load] = names_.fresh(one.load->name + "_row");
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
void RowPrinter::load_for_all_rows() {
  if (schedule_.keep != Keep::kRegisters) return;
  std::int64_t registers = registers_kept(goal_, plan_, schedule_) +
                           (schedule_.ahead ? registers_ahead(goal_, plan_, schedule_) : 0);
  for (int space = 0; space < static_cast<int>(plan_.spaces.size()); ++space) {
    LaneBody body = body_for(space);
    const std::int64_t items = (part(space) + step_length() - 1) / step_length();
    std::vector<Ref> loads;
    for (const Stream& stream : streams_of(goal_, plan_, space)) {
      if (stream.load->uses(plan_.row) || !stream.certain) continue;
      if (stream.load->args[0]->has_load || !body.moves_whole(stream.load)) continue;
      const std::int64_t more =
          (items * schedule_.width * static_cast<std::int64_t>(size_of(stream.load->type)) + 3) / 4;
      if (registers + more > most_registers(schedule_.team, goal_.context->target)) continue;
      registers += more;
      std::erase_if(kept_.raw, [&](const Kept::Raw& one) { return one.load == stream.load; });
      const std::string name = names_.fresh(stream.load->name + "_all");
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

/// Where the next row's elements arrive, and the first of them.
void RowPrinter::declare_ahead() {
  code_.comment("The next row is on its way while this one is worked at.");
  for (const Kept::Raw& one : kept_.raw) {
    if (!one.load->uses(plan_.row)) continue;
    ahead_[one.load] = names_.fresh(one.load->name + "_next");
    code_.line(
        fmt::format("{} {}[{}];",
                    schedule_.width > 1 ? helpers_.pack(one.load->type) : type_name(one.load->type),
                    ahead_[one.load], of_space("kItems", one.space)));
  }
  code_.open("");
  fetch_next(group() + " * kRowsPerBlock");
  code_.close();
}

/// Takes the row that has arrived, and asks for the next.
void RowPrinter::load_ahead(const std::string& step) {
  for (const Kept::Raw& one : kept_.raw) {
    if (!ahead_.contains(one.load)) continue;
    place_of_[one.load] = names_.fresh(one.load->name + "_row");
    const std::string items = of_space("kItems", one.space);
    code_.line(
        fmt::format("{} {}[{}];",
                    schedule_.width > 1 ? helpers_.pack(one.load->type) : type_name(one.load->type),
                    place_of_[one.load], items));
    const int braces = open_loop(one.space, Segment::kWhole);
    code_.line(fmt::format("{}[i] = {}[i];", place_of_[one.load], ahead_[one.load]));
    for (int i = 0; i < braces; ++i) code_.close();
  }
  code_.line(fmt::format("const int next = first + {};", step));
  code_.open("if (next < kRows)");
  fetch_next("next");
  code_.close();
}

void RowPrinter::fetch_next(const std::string& first) {
  const std::string row = schedule_.team.teams > 1 ? first + " + team" : first;
  code_.line(plan_.rows % schedule_.team.teams == 0
                 ? fmt::format("const int next_row = {};", row)
                 : fmt::format("const int next_row = min({}, kRows - 1);", row));
  printer_.indices[plan_.row] = "next_row";
  for (const Kept::Raw& one : kept_.raw) {
    if (!ahead_.contains(one.load)) continue;
    LaneBody body = body_for(one.space);
    const int braces = open_loop(one.space, Segment::kWhole);
    body.emit_load(code_, one.load, ahead_[one.load] + "[i]");
    for (int i = 0; i < braces; ++i) code_.close();
  }
  printer_.indices[plan_.row] = "row";
}

}  // namespace hone::schedules::rowwise
