#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/kernel_printer.h"
#include "rewriters/schedules/map/plan.h"

namespace hone::schedules::map {
namespace {

using nest::Node;

class MapPrinter : KernelPrinter<Schedule> {
 public:
  MapPrinter(const Goal& goal, const Points& points, const Schedule& schedule, Helpers& helpers,
             Code& code)
      : KernelPrinter(goal, schedule, helpers, code),
        points_(points),
        whole_(without_tail(*goal.nodes, points, schedule.width)) {}

  void print(const std::string& name, const std::string& what, Generated& generated) {
    for (const LaneBody::Store& store : points_.stores) {
      parameters_.read_all(store.value);
      parameters_.read_all(store.guard);
      parameters_.read_all(store.element);
    }
    for (const LaneBody::Store& store : points_.stores) {
      parameters_.write(store.buffer, store.type);
    }
    for (const std::string& buffer : parameters_.args()) names_.take(buffer);
    names_.take("point");
    code_.comment(what);
    code_.open_function(
        fmt::format("__global__ void __launch_bounds__({}) {}", schedule_.threads, name),
        parameters_.texts());
    const std::int64_t tile = std::int64_t{schedule_.threads} * schedule_.width * schedule_.items;
    const std::int64_t tiles = ceil_divide(whole_.count, tile);
    const std::int64_t most =
        std::int64_t{schedule_.blocks_per_sm} * std::max(1, goal_.context->target.sm_count);
    const std::int64_t blocks =
        schedule_.blocks_per_sm > 0 ? std::min(tiles, most) : std::max<std::int64_t>(1, tiles);
    wide_ = whole_.count + tile * (blocks + 1) > INT32_MAX;
    print_sizes(whole_.count);
    code_.line();
    print_body(tile, blocks < tiles);
    print_tail();
    code_.close();
    code_.line();

    parameters_.add_launch({.kernel = name, .grid = {blocks}, .block = {schedule_.threads}},
                           generated);
  }

 private:
  void print_body(std::int64_t tile, bool walks) {
    const std::string vec = schedule_.width > 1 ? " * kVec" : "";
    const std::string items = schedule_.items > 1 ? " * kItems" : "";
    const std::string block = wide_ ? "(long long)blockIdx.x" : "blockIdx.x";
    const std::string start =
        schedule_.width > 1 ? fmt::format("({}{} * kThreads + threadIdx.x) * kVec", block, items)
                            : fmt::format("{}{} * kThreads + threadIdx.x", block, items);
    const std::string step =
        fmt::format("{}gridDim.x{} * kThreads{}", wide_ ? "(long long)" : "", items, vec);
    const std::string base = schedule_.items > 1 ? "first" : "point";
    if (walks) {
      code_.open(fmt::format("for ({0} {1} = {2}; {1} < kPoints; {1} += {3})", index_type(), base,
                             start, step));
    } else {
      code_.line(fmt::format("const {} {} = {};", index_type(), base, start));
    }
    LaneBody body(goal_, printer_, names_, helpers_, whole_.index, "point", schedule_.width);
    body.cache = schedule_.cache;
    body.streamed = [this](Ref load) {  // no element twice, as far as its range says
      const auto all = nodes_.range(load->args[0]);
      return all && all->high - all->low + 1 >= whole_.count;
    };
    const bool guarded = whole_.count % tile != 0 && (!walks || schedule_.items > 1);
    if (schedule_.items == 1) {
      if (guarded) code_.open("if (point < kPoints)");
      body.emit(code_, {}, whole_.stores, {});
      if (guarded) code_.close();
    } else {
      body.emit_items(code_,
                      fmt::format("const {} point = first + i * kThreads{};", index_type(), vec),
                      guarded, values_of(whole_.stores), whole_.stores);
    }
    if (walks) code_.close();
  }

  void print_tail() {
    if (points_.count == whole_.count) return;
    code_.line();
    code_.comment("The last points, too few for a vector.");
    const Points tail = tail_of(nodes_, points_, schedule_.width);
    code_.open(fmt::format("if (blockIdx.x == 0 && threadIdx.x < {})", tail.count));
    code_.line("const int last = threadIdx.x;");
    LaneBody body(goal_, printer_, names_, helpers_, tail.index, "last", 1);
    body.emit(code_, {}, tail.stores, {});
    code_.close();
  }

  const Points& points_;
  Points whole_;
};

}  // namespace

void print_map(const Goal& goal, const Points& points, Schedule schedule, const std::string& name,
               const std::string& what, Helpers& helpers, Code& code, Generated& generated) {
  schedule.threads = std::clamp(schedule.threads / 32 * 32, 32, 1024);
  schedule.items = std::clamp(schedule.items, 1, 16);
  schedule.width = std::min(schedule.width, widest(goal, points));
  MapPrinter(goal, points, schedule, helpers, code).print(name, what, generated);
}

}  // namespace hone::schedules::map
