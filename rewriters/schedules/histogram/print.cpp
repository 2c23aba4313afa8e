#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/histogram/add.h"
#include "rewriters/schedules/kernel_printer.h"

namespace hone::schedules::histogram {
namespace {

using nest::Node;

/// Of points of which none takes part: a tail, above all.
bool never(Ref guard) { return guard->is_constant() && guard->constant == 0; }

class ScatterPrinter : KernelPrinter<Schedule> {
 public:
  ScatterPrinter(const Goal& goal, const Group& group, const Schedule& schedule, Helpers& helpers,
                 Code& code)
      : KernelPrinter(goal, schedule, helpers, code),
        group_(group),
        whole_(without_tail(*goal.nodes, group, unit_of(schedule))),
        adder_(*goal.nodes, names_, schedule) {}

  void print(const std::string& name, const std::string& what, Generated& generated) {
    take_names();
    lay_out();
    code_.comment(what);
    code_.open_function(
        fmt::format("__global__ void __launch_bounds__({}) {}", schedule_.threads, name),
        parameters_.texts());
    print_constants();
    print_place();
    if (schedule_.tables) print_tables();
    if (schedule_.merge == Merge::kRuns) {
      for (const Target& target : targets_) adder_.declare_run(code_, target);
    }
    print_points();
    if (schedule_.merge == Merge::kRuns) {
      for (const Target& target : targets_) adder_.end_run(code_, target);
    }
    print_tail();
    if (schedule_.tables) print_totals();
    code_.close();
    code_.line();
    add_launch(name, generated);
  }

 private:
  void take_names() {
    for (const Scatter& scatter : group_.scatters) {
      for (const Ref part : {scatter.first, scatter.slot, scatter.value, scatter.guard}) {
        parameters_.read_all(part);
      }
    }
    for (const Scatter& scatter : group_.scatters) parameters_.write(scatter.buffer, scatter.type);
    for (const std::string& buffer : parameters_.args()) names_.take(buffer);
    for (const char* word : {"point", "last", "chunk", "part", "start", "copy", "total", "w"}) {
      names_.take(word);
    }
    printer_.indices[group_.row] = "row";
    if (group_.steps > 1) printer_.indices[group_.step] = "w";
    for (const Scatter& scatter : whole_.scatters) {
      Target target;
      target.scatter = scatter;
      target.slots = names_.fresh("kSlots");
      if (!scatter.first->is_constant()) target.first = names_.fresh(scatter.buffer + "_row");
      if (schedule_.tables) {
        target.table = names_.fresh(scatter.buffer + "_table");
        target.mine = schedule_.copies > 1 ? names_.fresh(scatter.buffer + "_mine") : target.table;
      }
      if (schedule_.merge == Merge::kRuns || walks_in_packs(scatter)) {
        target.run_slot = names_.fresh("run_slot");
        target.run_value = names_.fresh("run");
      }
      targets_.push_back(std::move(target));
    }
  }

  /// How many blocks take which points.
  void lay_out() {
    tile_ = std::int64_t{schedule_.threads} * schedule_.width * schedule_.items;
    const std::int64_t tiles = std::max<std::int64_t>(1, ceil_divide(whole_.count, tile_));
    const std::int64_t most =
        std::int64_t{schedule_.blocks_per_sm} * std::max(1, goal_.context->target.sm_count);
    const std::int64_t others = group_.rows * schedule_.parts;
    chunks_ = std::clamp<std::int64_t>(ceil_divide(most, others), 1, tiles);
    walks_ = chunks_ < tiles;
    wide_ = whole_.count + tile_ * (chunks_ + 1) > INT32_MAX;
  }

  void print_constants() {
    print_sizes(whole_.count);
    if (group_.steps > 1) {
      code_.line(fmt::format("constexpr int kSteps = {};  // of a walk", group_.steps));
    }
    if (!is_one_block_each()) {
      code_.line(
          fmt::format("constexpr int kChunks = {};  // blocks that share the points", chunks_));
    }
    if (!schedule_.tables) return;
    if (schedule_.parts > 1) {
      code_.line(
          fmt::format("constexpr int kParts = {};  // of a table, a block each", schedule_.parts));
    }
    if (schedule_.copies > 1) {
      code_.line(fmt::format("constexpr int kCopies = {};  // of a table, {}", schedule_.copies,
                             schedule_.by_lane ? "for lanes" : "for warps"));
    }
    for (const Target& target : targets_) {
      code_.line(fmt::format("constexpr unsigned {} = {};  // of {}", target.slots,
                             target.scatter.slots, target.scatter.buffer));
    }
  }

  [[nodiscard]] bool is_one_block_each() const {
    return group_.rows == 1 && schedule_.parts == 1 && !walks_;
  }

  /// Which row, chunk and part are this block's.
  void print_place() {
    const bool rows = group_.rows > 1, parts = schedule_.parts > 1;
    const std::string by_part = parts ? "blockIdx.x / kParts" : "blockIdx.x";
    if (parts) code_.line("const int part = blockIdx.x % kParts;");
    code_.line(fmt::format("const int chunk = {}{};", by_part, rows ? " % kChunks" : ""));
    if (rows) code_.line(fmt::format("const int row = {} / kChunks;", by_part));
    for (const Target& target : targets_) {
      if (target.first.empty()) continue;
      code_.line(fmt::format("const {} {} = {};", variable_type(nodes_, target.scatter.first),
                             target.first, printer_.print_index(target.scatter.first)));
    }
  }

  [[nodiscard]] std::int64_t table_slots(const Target& target) const {
    return ceil_divide(target.scatter.slots, schedule_.parts);
  }

  /// The slots of a block's table: all, or those of its part.
  [[nodiscard]] std::string size_of_table(const Target& target) const {
    return schedule_.parts > 1 ? target.table + "_size" : target.slots;
  }

  void print_tables() {
    code_.line();
    code_.comment("This block's own tables, empty.");
    code_.line(fmt::format("extern __shared__ __align__(16) unsigned char {}shared[];",
                           helpers_.prefix()));
    std::int64_t offset = 0;
    for (const Target& target : targets_) {
      const std::string type = type_name(target.scatter.type);
      const std::int64_t slots = table_slots(target);
      code_.line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>({2}shared + {3});", type,
                             target.table, helpers_.prefix(), offset));
      const std::int64_t bytes =
          slots * schedule_.copies * static_cast<std::int64_t>(size_of(target.scatter.type));
      offset += (bytes + 15) / 16 * 16;
      if (schedule_.parts > 1) {
        code_.line(fmt::format("const unsigned {}_begin = part * {}u;", target.table, slots));
        code_.line(fmt::format(
            "const unsigned {0}_size = {1} < {0}_begin ? 0 : min({2}u, {1} - {0}_begin);",
            target.table, target.slots, slots));
      }
      code_.open(fmt::format("for (int i = threadIdx.x; i < {}; i += kThreads)",
                             slots * schedule_.copies));
      code_.line(fmt::format("{}[i] = {};", target.table, neutral(target.scatter)));
      code_.close();
    }
    if (schedule_.copies > 1) {
      code_.line(fmt::format("const int copy = threadIdx.x{} % kCopies;",
                             schedule_.by_lane ? "" : " / 32"));
      for (const Target& target : targets_) {
        code_.line(fmt::format("{}* const {} = {} + copy{};", type_name(target.scatter.type),
                               target.mine, target.table,
                               schedule_.by_lane ? "" : fmt::format(" * {}", table_slots(target))));
      }
    }
    code_.line("__syncthreads();");
    code_.line();
  }

  /// What a loop over points does with each.
  std::vector<LaneBody::Store> stores(const std::vector<Target>& targets, int width, bool alone) {
    std::vector<LaneBody::Store> all;
    for (const Target& target : targets) {
      const Scatter& scatter = target.scatter;
      if (never(scatter.guard)) continue;
      LaneBody::Store store{scatter.buffer, scatter.type, scatter.slot, scatter.value,
                            scatter.guard};
      store.put = [this, &target, alone](Code& code, Printer& printer) {
        adder_.put(code, printer, target, alone);
      };
      if (!alone && goes_in_packs(goal_, whole_, scatter, schedule_)) {
        store.put_pack = [this, &target, width](Code& code, Printer& at_base,
                                                const std::string& pack) {
          const std::string element = slot_text(at_base, target.scatter);
          if (group_.steps > 1) {
            adder_.put_pack_into_run(code, target, element, pack, width);
          } else {
            adder_.put_pack(code, target, element, pack, width);
          }
        };
      }
      all.push_back(std::move(store));
    }
    return all;
  }

  void print_points() {
    if (whole_.count == 0) return;
    const std::string vec = schedule_.width > 1 ? " * kVec" : "";
    const std::string items = schedule_.items > 1 ? " * kItems" : "";
    const std::string mine =
        fmt::format("{}chunk{} * kThreads + threadIdx.x", wide_ ? "(long long)" : "", items);
    const std::string start = vec.empty() ? mine : fmt::format("({}){}", mine, vec);
    const std::string base = schedule_.items > 1 ? "start" : "point";
    if (walks_) {
      code_.open(
          fmt::format("for ({0} {1} = {2}; {1} < kPoints; {1} += {3}kChunks{4} * kThreads{5})",
                      index_type(), base, start, wide_ ? "(long long)" : "", items, vec));
    } else {
      code_.line(fmt::format("const {} {} = {};", index_type(), base, start));
    }
    LaneBody body(goal_, printer_, names_, helpers_, whole_.point, "point", schedule_.width);
    body.cache = schedule_.cache;
    const bool guarded = whole_.count % tile_ != 0 && (!walks_ || schedule_.items > 1);
    const std::vector<LaneBody::Store> all = stores(targets_, schedule_.width, false);
    if (schedule_.items == 1) {
      if (guarded) code_.open("if (point < kPoints)");
      print_walk(body, all, true);
      if (guarded) code_.close();
    } else {
      body.emit_items(code_,
                      fmt::format("const {} point = start + i * kThreads{};", index_type(), vec),
                      guarded, whole_.values(nodes_), all);
    }
    if (walks_) code_.close();
  }

  [[nodiscard]] bool walks_in_packs(const Scatter& scatter) const {
    return group_.steps > 1 && goes_in_packs(goal_, whole_, scatter, schedule_);
  }

  /// One point, or the steps from it on.
  void print_walk(LaneBody& body, const std::vector<LaneBody::Store>& all, bool in_packs) {
    if (group_.steps == 1) {
      body.emit(code_, {}, all, {});
      return;
    }
    const auto in_run = [&](const Target& target) {
      return in_packs && walks_in_packs(target.scatter);
    };
    for (const Target& target : targets_) {
      if (in_run(target)) {
        adder_.declare_pack_run(code_, target, helpers_.pack(target.scatter.type));
      }
    }
    code_.line("#pragma unroll");
    code_.open("for (int w = 0; w < kSteps; ++w)");
    body.emit(code_, {}, all, {});
    code_.close();
    for (const Target& target : targets_) {
      if (in_run(target)) adder_.end_pack_run(code_, target, schedule_.width);
    }
  }

  void print_tail() {
    const Group tail = tail_of(nodes_, group_, unit_of(schedule_));
    if (tail.count == 0) return;
    std::vector<Target> targets = targets_;
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i].scatter = tail.scatters[i];
    const std::vector<LaneBody::Store> all = stores(targets, 1, true);
    if (all.empty()) return;
    code_.line();
    code_.comment("The last points, too few for all.");
    code_.open("if (chunk == 0)");
    code_.open(
        fmt::format("for (int last = threadIdx.x; last < {}; last += kThreads)", tail.count));
    LaneBody body(goal_, printer_, names_, helpers_, tail.point, "last", 1);
    print_walk(body, all, false);
    code_.close();
    code_.close();
  }

  void print_totals() {
    code_.line("__syncthreads();");
    code_.line();
    code_.comment("What has come together in this block.");
    for (const Target& target : targets_) {
      const Scatter& scatter = target.scatter;
      const std::string first = (target.first.empty() ? "" : target.first + " + ") +
                                (schedule_.parts > 1 ? target.table + "_begin + " : std::string());
      code_.open(fmt::format("for (unsigned slot = threadIdx.x; slot < {}; slot += kThreads)",
                             size_of_table(target)));
      if (schedule_.copies == 1) {
        code_.line(
            fmt::format("const {} total = {}[slot];", type_name(scatter.type), target.table));
      } else {
        // Neighbours begin at different copies: at different banks.
        const auto copy = [&](const std::string& c) {
          return schedule_.by_lane
                     ? fmt::format("{}[slot * kCopies + (threadIdx.x{}) % kCopies]", target.table,
                                   c)
                     : fmt::format("{}[{}slot]", target.table,
                                   c.empty() ? "" : fmt::format("c * {} + ", table_slots(target)));
        };
        code_.line(fmt::format("{} total = {};", type_name(scatter.type), copy("")));
        code_.line("#pragma unroll");
        code_.open("for (int c = 1; c < kCopies; ++c)");
        code_.line(fmt::format("total = {};",
                               combined(scatter.combine, scatter.type, "total", copy(" + c"))));
        code_.close();
      }
      code_.line(fmt::format("if (total != {}) {}", neutral(scatter),
                             atomic(scatter, scatter.buffer, first + "slot", "total")));
      code_.close();
    }
  }

  void add_launch(const std::string& name, Generated& generated) const {
    parameters_.add_launch({.kernel = name,
                            .grid = {group_.rows * chunks_ * schedule_.parts},
                            .block = {schedule_.threads},
                            .shared_bytes = shared_bytes(group_, schedule_)},
                           generated);
  }

  const Group& group_;
  Group whole_;
  Adder adder_;
  std::vector<Target> targets_;
  std::int64_t tile_ = 1, chunks_ = 1;
  bool walks_ = false;
};

}  // namespace

void print_scatters(const Goal& goal, const Group& group, const Schedule& schedule,
                    const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                    Generated& generated) {
  ScatterPrinter(goal, group, schedule, helpers, code).print(name, what, generated);
}

}  // namespace hone::schedules::histogram
