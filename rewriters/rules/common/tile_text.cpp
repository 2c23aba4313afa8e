#include "rewriters/rules/common/tile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>

namespace hone::rules {
namespace {

using syntax::Expr;
using syntax::Loop;
using syntax::Polynomial;

constexpr std::int64_t kUnrolledWork = 1024;  // statements; what an instruction cache likes
constexpr const char* kCoordinate = "#w";

class Printer {
 public:
  Printer(const OpenProgram& open, const syntax::KernelInfo& info, const Loop& loop,
          const TilePlan& plan, const TileTextOptions& options, const RewriteContext& context,
          IndexSpace& space)
      : unit_(*open.unit),
        info_(info),
        loop_(loop),
        plan_(plan),
        options_(options),
        space_(space),
        names_(unit_) {
    const auto block = info.block_dim(context.sizes);
    block_ = *block;
    for (const Tile& tile : plan.tiles) tile_names_.push_back(names_(tile.base->name + "_tile"));
    base_ = names_(loop.variable->name + "_base");
    step_ = names_(loop.variable->name + "_step");
    thread_ = names_("thread");
    item_ = names_("item");
    round_ = names_("round");
    index_ = names_("index");
    coordinate_ = names_("at");
    space_.name_variable(plan.base_symbol, base_);
    space_.name_variable(plan.step_symbol, step_);
  }

  Result<std::string> run() {
    const std::string type = loop_.variable->type.name;
    const auto lower = text_of(*loop_.lower);
    const auto upper_text = text_of(*loop_.upper);
    if (!lower || !upper_text) return refused("the loop's bounds come from a macro");
    const std::string upper = loop_.inclusive ? "(" + *upper_text + " + 1)" : *upper_text;
    auto tiled = body(true);
    if (!tiled) return tiled;

    std::string text = "{\n";
    for (std::size_t i = 0; i < plan_.tiles.size(); ++i) {
      text += declaration(plan_.tiles[i], tile_names_[i]);
    }
    text += fmt::format("const int {} = {};\n", thread_, thread_index());
    const std::int64_t stride = options_.steps * *loop_.step;
    std::string end = upper;
    if (options_.remainder) {
      end = names_(loop_.variable->name + "_full");
      const bool from_zero = loop_.lower->constant && *loop_.lower->constant == 0;
      text += from_zero
                  ? fmt::format("const {0} {1} = {2} / {3} * {3};\n", type, end, upper, stride)
                  : fmt::format("const {0} {1} = {2} + ({3} - {2}) / {4} * {4};\n", type, end,
                                *lower, upper, stride);
    }
    text += fmt::format("for ({0} {1} = {2}; {1} < {3}; {1} += {4}) {{\n", type, base_, *lower, end,
                        stride);
    for (std::size_t i = 0; i < plan_.tiles.size(); ++i) {
      text += staging(plan_.tiles[i], tile_names_[i]);
    }
    text += "__syncthreads();\n";
    text += unroll_pragma();
    text += fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{\n", step_, options_.steps);
    if (uses_counter()) {
      text += fmt::format("const {} {} = {} + {}{};\n", type, loop_.variable->name, base_, step_,
                          *loop_.step == 1 ? "" : fmt::format(" * {}", *loop_.step));
    }
    text += *tiled + "}\n__syncthreads();\n}\n";
    if (options_.remainder) {
      auto plain = body(false);
      if (!plain) return plain;
      // The pragma also keeps it out of the count of serial loops, which sites depend on.
      text +=
          fmt::format("#pragma unroll 1\nfor ({0} {1} = {2}; {1} < {3}; {4}) {{\n{5}}}\n", type,
                      loop_.variable->name, end, upper,
                      *loop_.step == 1 ? fmt::format("++{}", loop_.variable->name)
                                       : fmt::format("{} += {}", loop_.variable->name, *loop_.step),
                      *plain);
    }
    return text + "}";
  }

 private:
  std::optional<std::string> text_of(const Expr& expr) const {
    if (!expr.range.valid()) return std::nullopt;
    const std::string text{unit_.text(expr.range)};
    const Expr& inner = strip_casts(expr);
    const bool simple =
        inner.kind == Expr::Kind::kVariable || inner.kind == Expr::Kind::kIntLiteral;
    return simple ? text : "(" + text + ")";
  }

  std::string thread_index() const {
    std::string text = "threadIdx.x";
    if (block_[1] * block_[2] > 1) {
      std::string rows = "threadIdx.y";
      if (block_[2] > 1) rows = fmt::format("(threadIdx.y + threadIdx.z * {})", block_[1]);
      text += fmt::format(" + {} * {}", rows, block_[0]);
    }
    return text;
  }

  std::string unroll_pragma() const {
    std::int64_t work = 1;
    for (const auto& inner : info_.loops) {
      if (!within(inner->statement, *loop_.body)) continue;
      // Nested ones multiply; for siblings this is too much, and unrolls less.
      if (inner->lower->constant && inner->upper->constant) {
        const std::int64_t trips = *inner->upper->constant - *inner->lower->constant;
        if (trips > 1 && work < kUnrolledWork) work *= trips;
      }
    }
    const std::int64_t count = std::clamp<std::int64_t>(kUnrolledWork / work, 4, 64);
    if (count >= options_.steps) return "#pragma unroll\n";
    return fmt::format("#pragma unroll {}\n", count);
  }

  bool uses_counter() const {
    for (const Expr* expr : expressions_in(*loop_.body)) {
      if (expr->variable != loop_.variable) continue;
      bool staged = false;
      for (const Tile& tile : plan_.tiles) {
        for (const TileRead& read : tile.reads) {
          staged = staged || read.expr->range.contains(expr->range);
        }
      }
      if (!staged) return true;
    }
    return false;
  }

  /// The loop's body, with reads from the tiles or as it was.
  Result<std::string> body(bool tiled) {
    const auto replacement = [&](const Expr& expr) -> std::optional<std::string> {
      if (!tiled) return std::nullopt;
      for (std::size_t i = 0; i < plan_.tiles.size(); ++i) {
        for (const TileRead& read : plan_.tiles[i].reads) {
          if (read.expr == &expr) return element(plan_.tiles[i], tile_names_[i], read);
        }
      }
      return std::nullopt;
    };
    syntax::SourceRange range = loop_.body->range;
    if (loop_.body->kind == syntax::Stmt::Kind::kCompound && range.valid()) {
      range = {range.begin + 1, range.end - 1};  // the new loop has braces of its own
    }
    auto text = render(unit_, *info_.function, range, replacement);
    if (!text) return refused("the loop's body comes from a macro");
    std::string result = *text + "\n";
    if (loop_.body->pragma.valid()) {
      result = std::string(unit_.text(loop_.body->pragma)) + "\n" + result;
    }
    return result;
  }

  std::string element(const Tile& tile, const std::string& name, const TileRead& read) {
    std::string text = name;
    for (const TileDim& dim : tile.dims) {
      const Polynomial at =
          space_.replace(dim.local, {{plan_.offset_symbol, Polynomial::constant(read.offset)}});
      text += fmt::format("[{}]", space_.text(at));
    }
    return text;
  }

  static std::string declaration(const Tile& tile, const std::string& name) {
    std::string text = fmt::format("__shared__ __align__(16) {} {}", tile.type, name);
    for (std::size_t i = 0; i < tile.dims.size(); ++i) {
      const bool last = i + 1 == tile.dims.size();
      text += fmt::format("[{}]", tile.dims[i].extent + (last ? tile.pad : 0));
    }
    return text + ";\n";
  }

  /// All threads of the block fill the tile; neighbours take neighbours in global memory.
  std::string staging(const Tile& tile, const std::string& name) {
    const std::int64_t threads = block_[0] * block_[1] * block_[2];
    const std::int64_t elements = tile.elements();
    const std::int64_t rounds = (elements + threads - 1) / threads;
    const std::string& item = item_;
    std::string text = "{\n";
    if (rounds > 1) {
      const std::string& round = round_;
      const std::string unroll = rounds <= 16 ? "#pragma unroll" : "#pragma unroll 4";
      text = fmt::format("{0}\nfor (int {1} = 0; {1} < {2}; ++{1}) {{\n", unroll, round, rounds);
      text += fmt::format("const int {} = {} + {} * {};\n", item, thread_, round, threads);
    } else {
      text += fmt::format("const int {} = {};\n", item, thread_);
    }
    const bool partial = elements % threads != 0;
    if (partial) text += fmt::format("if ({} < {}) {{\n", item, elements);

    // Mixed radix over the dimensions, shortest global stride first.
    std::vector<std::size_t> order(tile.dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return tile.dims[i].stride; });
    std::vector<std::string> coordinates(tile.dims.size());
    std::int64_t below = 1;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const TileDim& dim = tile.dims[order[place]];
      std::string value = below == 1 ? item : fmt::format("{} / {}", item, below);
      if (place + 1 < order.size()) value += fmt::format(" % {}", dim.extent);
      below *= dim.extent;
      if (order.size() == 1) {
        coordinates[order[place]] = item;
        continue;
      }
      const std::string coordinate = fmt::format("{}{}", coordinate_, order[place]);
      text += fmt::format("const int {} = {};\n", coordinate, value);
      coordinates[order[place]] = coordinate;
    }
    std::string target = name;
    for (const std::string& coordinate : coordinates) target += "[" + coordinate + "]";
    text += fmt::format("{} = {}[{}];\n", target, tile.base->name, source(tile, coordinates, text));
    if (partial) text += "}\n";
    return text + "}\n";
  }

  /// Global index of the tile's element, factored by the dimensions' multipliers.
  std::string source(const Tile& tile, const std::vector<std::string>& coordinates,
                     std::string& before) {
    Polynomial rest = tile.origin;
    const bool wide = is_wide(tile);
    std::string text;
    std::vector<std::size_t> order(tile.dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>{},
                             [&](std::size_t i) { return tile.dims[i].stride; });
    for (const std::size_t i : order) {
      const TileDim& dim = tile.dims[i];
      const std::string symbol = fmt::format("{}{}", kCoordinate, i);
      space_.name_variable(symbol, coordinates[i]);
      Polynomial at = Polynomial::constant(dim.step) * Polynomial::symbol(symbol) +
                      Polynomial::constant(dim.low);
      if (!dim.clamp.empty()) {
        at = space_.replace_part(Polynomial::symbol(dim.clamp), dim.clamped_local, at);
      }
      at = at + divided(rest, dim.multiplier);
      std::string piece = space_.text(at);
      const auto constant = dim.multiplier.as_constant();
      if (!constant || *constant != 1) {
        if (at.terms.size() > 1) piece = "(" + piece + ")";
        piece =
            fmt::format("{}{} * {}", wide ? "(long long)" : "", piece, space_.text(dim.multiplier));
      } else if (wide) {
        piece = "(long long)(" + piece + ")";
      }
      text += (text.empty() ? "" : " + ") + piece;
    }
    if (!rest.is_zero()) text += " + " + space_.text(rest, wide);
    if (!tile.exact) {
      const std::string& index = index_;
      const std::string type = wide ? "long long" : "int";
      before += fmt::format("const {} {} = {};\n", type, index, text);
      text = fmt::format("{0} < 0 ? 0 : {0} < {1} ? {0} : {1} - 1", index, tile.buffer_elements);
    }
    return text;
  }

  /// Takes the terms that the multiplier divides out of `rest`.
  static Polynomial divided(Polynomial& rest, const Polynomial& multiplier) {
    Polynomial quotient;
    if (multiplier.terms.size() != 1) return quotient;
    const auto& [factors, coefficient] = *multiplier.terms.begin();
    Polynomial left;
    for (const auto& [monomial, count] : rest.terms) {
      Polynomial::Monomial remaining = monomial;
      bool divides = count % coefficient == 0;
      for (const std::string& factor : factors) {
        const auto found = std::ranges::find(remaining, factor);
        if (found == remaining.end()) {
          divides = false;
          break;
        }
        remaining.erase(found);
      }
      if (divides) {
        quotient.terms[remaining] += count / coefficient;
      } else {
        left.terms[monomial] = count;
      }
    }
    rest = left;
    return quotient;
  }

  /// Indices of buffers with 2^31 elements or more need 64 bits.
  bool is_wide(const Tile& tile) const {
    return tile.buffer_elements == 0 ||
           tile.buffer_elements > std::numeric_limits<std::int32_t>::max();
  }

  const syntax::TranslationUnit& unit_;
  const syntax::KernelInfo& info_;
  const Loop& loop_;
  const TilePlan& plan_;
  const TileTextOptions& options_;
  IndexSpace& space_;
  FreshNames names_;
  Dim3 block_{1, 1, 1};
  std::vector<std::string> tile_names_;
  std::string base_, step_, thread_, item_, round_, index_;
  std::string coordinate_;  ///< stem: at0, at1, …
};

}  // namespace

Result<std::string> tiled_loop(const OpenProgram& open, const syntax::KernelInfo& info,
                               const Loop& loop, const TilePlan& plan,
                               const TileTextOptions& options, const RewriteContext& context,
                               IndexSpace& space) {
  return Printer(open, info, loop, plan, options, context, space).run();
}

}  // namespace hone::rules
