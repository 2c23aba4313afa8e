#include "rewriters/schedules/window/print.h"

#include <fmt/format.h>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/kernel_printer.h"

namespace hone::schedules::window {
namespace {

class WindowPrinter : KernelPrinter<Schedule> {
 public:
  WindowPrinter(const Goal& goal, const Plan& plan, const Schedule& schedule, Helpers& helpers,
                Code& code)
      : KernelPrinter(goal, schedule, helpers, code), plan_(plan) {}

  void print(const std::string& name, const std::string& what, Generated& generated) {
    for (const Fold& fold : plan_.folds) {
      for (const Ref body : fold.bodies) parameters_.read_all(body);
    }
    for (const LaneBody::Store& store : plan_.stores) {
      parameters_.read_all(store.value);
      parameters_.read_all(store.guard);
    }
    for (const LaneBody::Store& store : plan_.stores) parameters_.write(store.buffer, store.type);
    for (const std::string& buffer : parameters_.args()) names_.take(buffer);
    for (const char* word : {"col", "group", "u"}) names_.take(word);

    const std::int64_t groups = plan_.padded / schedule_.width;
    const std::int64_t threads = groups * plan_.rows;
    const std::int64_t blocks = ceil_divide(threads, schedule_.threads);
    code_.comment(what);
    code_.open_function(
        fmt::format("__global__ void __launch_bounds__({}) {}", schedule_.threads, name),
        parameters_.texts());
    if (schedule_.along == 0) {
      code_.line(fmt::format("constexpr int kGroups = {};  // of {} outputs, in each of {} rows",
                             groups, schedule_.width, plan_.rows));
    } else {
      code_.line(
          fmt::format("constexpr int kRows = {};  // neighbours in memory first", plan_.rows));
    }
    if (schedule_.width > 1) {
      code_.line(fmt::format("constexpr int kVec = {};  // neighbouring outputs of a thread",
                             schedule_.width));
    }
    code_.line();
    const bool wide = blocks * schedule_.threads > INT32_MAX;
    code_.line(fmt::format("const {} group = {}blockIdx.x * {} + threadIdx.x;",
                           wide ? "long long" : "int", wide ? "(long long)" : "",
                           schedule_.threads));
    if (threads % schedule_.threads != 0) {
      code_.line(fmt::format("if (group >= {}) return;", threads));
    }
    const std::string vec = schedule_.width > 1 ? " * kVec" : "";
    if (schedule_.along == 0) {
      code_.line("const int row = group / kGroups;");
      code_.line(fmt::format("const int col = group % kGroups{};", vec));
    } else {
      code_.line("const int row = group % kRows;");
      code_.line(fmt::format("const int col = group / kRows{};", vec));
    }
    printer_.indices[plan_.row] = "row";
    for (const Fold& fold : plan_.folds) print_fold(fold);
    code_.line();
    LaneBody body = lanes();
    for (const auto& [node, text] : results_) body.known[node] = text;
    body.emit(code_, {}, plan_.stores, {});
    code_.close();
    code_.line();

    parameters_.add_launch({.kernel = name, .grid = {blocks}, .block = {schedule_.threads}},
                           generated);
  }

 private:
  LaneBody lanes() {
    LaneBody body(goal_, printer_, names_, helpers_, plan_.column, "col", schedule_.width);
    body.cache = schedule_.cache == Cache::kStream ? Cache::kStreamStores : schedule_.cache;
    return body;
  }

  void print_fold(const Fold& fold) {
    code_.line();
    const bool many = schedule_.width > 1;
    std::vector<Accumulator> accumulators;
    for (std::size_t i = 0; i < fold.nodes.size(); ++i) {
      accumulators.emplace_back(nodes_, fold.nodes[i], fold.bodies[i], names_);
      Accumulator& one = accumulators.back();
      if (many) {
        code_.line(fmt::format("{} {}[kVec];", one.type, one.name));
        if (one.finds_place()) code_.line(fmt::format("int {}[kVec];", one.place));
      } else {
        one.declare(code_);
      }
    }
    if (many) {
      code_.line("#pragma unroll");
      code_.open("for (int v = 0; v < kVec; ++v)");
      for (Accumulator& one : accumulators) {
        one.name += "[v]";
        code_.line(fmt::format("{} = {};", one.name, one.start));
        if (one.finds_place()) {
          one.place += "[v]";
          code_.line(fmt::format("{} = 0;", one.place));
        }
      }
      code_.close();
    }
    int loops = 0;
    const auto open_loop = [&](SymbolId symbol) {
      const std::string name = names_.fresh(nodes_.symbol(symbol).name);
      printer_.indices[symbol] = name;
      code_.line("#pragma unroll");
      code_.open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", name, nodes_.extent(symbol)));
      ++loops;
    };
    for (const SymbolId symbol : fold.window) {
      if (symbol != fold.inner) open_loop(symbol);
    }
    LaneBody body = lanes();
    std::vector<std::string> arrays;
    for (const Shared& shared : fold.shared) {
      const std::string array = names_.fresh("line");
      arrays.push_back(array);
      code_.line(fmt::format("{} {}[{}];  // what the outputs share",
                             variable_type(nodes_, shared.value), array, shared.span));
      code_.line("#pragma unroll");
      code_.open(fmt::format("for (int u = 0; u < {}; ++u)", shared.span));
      Printer printer = printer_;
      printer.indices[plan_.column] = "col";
      printer.indices[shared.offset] = "u";
      code_.line(fmt::format("{}[u] = {};", array, printer.print(shared.at_offset)));
      code_.close();
    }
    if (fold.inner >= 0) open_loop(fold.inner);
    std::string number;  // of the window's point, row-major
    for (const SymbolId symbol : fold.window) {
      const std::string& index = printer_.indices[symbol];
      number = number.empty() ? index
                              : fmt::format("({} * {} + {})", number, nodes_.extent(symbol), index);
    }
    body = lanes();
    for (std::size_t i = 0; i < fold.shared.size(); ++i) {
      const Shared& shared = fold.shared[i];
      const std::string scaled = shared.stride == 1 ? "v" : fmt::format("v * {}", shared.stride);
      body.known[shared.value] =
          fmt::format("{}[{} + {}]", arrays[i], scaled, printer_.indices[fold.inner]);
    }
    std::vector<LaneBody::Fold> folds;
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
      folds.push_back({&accumulators[i], fold.bodies[i], number});
    }
    body.emit(code_, folds, {}, {});
    for (int i = 0; i < loops; ++i) code_.close();
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
      const Accumulator& one = accumulators[i];
      results_.emplace_back(fold.nodes[i], one.finds_place() ? one.place : one.name);
    }
  }

  const Plan& plan_;
  std::vector<std::pair<Ref, std::string>> results_;  ///< by lane
};

}  // namespace

void print_window(const Goal& goal, const Plan& plan, const Schedule& schedule,
                  const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                  Generated& generated) {
  WindowPrinter(goal, plan, schedule, helpers, code).print(name, what, generated);
}

}  // namespace hone::schedules::window
