#include "rewriters/schedules/contract/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/contract/hopper.h"
#include "rewriters/schedules/contract/stream.h"
#include "rewriters/schedules/contract/tile.h"
#include "rewriters/schedules/printing/print_value.h"

namespace hone::schedules {
namespace {

using namespace contract;

class Contract : public Generator {
 public:
  [[nodiscard]] std::string_view name() const override { return "generate-contract"; }
  [[nodiscard]] std::string_view summary() const override {
    return "sums of products of two operands => tiles in shared memory and registers, on the pipe "
           "that the math level allows; legal when the sum's order is free";
  }

  [[nodiscard]] Result<Offer> match(const Goal& goal) const override {
    const auto contraction = analyse(goal);
    if (!contraction) return std::unexpected(contraction.error());
    Offer offer;
    offer.parameters = space_of(*contraction, goal);
    offer.starts = first_guesses(*contraction, goal, offer.parameters);
    offer.math_parameter = 0;
    for (const Pipe pipe : pipes_for(*contraction, goal))
      offer.maths.push_back(math_of(*contraction, pipe));
    offer.description = fmt::format("product of {}", contraction->describe());
    return offer;
  }

  [[nodiscard]] Result<Generated> generate(const Goal& goal, const Step& step,
                                           const std::string& prefix) const override {
    const auto contraction = analyse(goal);
    if (!contraction) return std::unexpected(contraction.error());
    const auto schedule = schedule_of(*contraction, goal, step);
    if (!schedule) return std::unexpected(schedule.error());
    if (is_bulk(schedule->pipe)) {
      const BulkWay way = way_of(*contraction, *schedule);
      return with_includes(goal, *contraction, {way.a.type, way.b.type},
                           generate_bulk(*contraction, *schedule, goal, prefix));
    }
    const ScalarType type_a = tile_of(*contraction, contraction->a, *schedule, true).tile.type;
    const ScalarType type_b = tile_of(*contraction, contraction->b, *schedule, false).tile.type;
    return with_includes(goal, *contraction, {type_a, type_b},
                         generate_stream(*contraction, *schedule, goal, prefix));
  }

 private:
  /// The headers of narrow types, where buffers or `types` have them.
  static Result<Generated> with_includes(const Goal& goal, const Contraction& c,
                                         std::vector<ScalarType> types,
                                         Result<Generated> generated) {
    if (!generated) return generated;
    types.insert(types.end(), {c.a.type, c.b.type, c.nest->type});
    for (const ConcreteBuffer& buffer : goal.concrete->buffers) {
      if (std::ranges::find(c.inputs, buffer.name) != c.inputs.end()) types.push_back(buffer.type);
    }
    std::ranges::copy(headers_for(types), std::back_inserter(generated->includes));
    return generated;
  }
};

}  // namespace

std::unique_ptr<Generator> make_contract() { return std::make_unique<Contract>(); }

}  // namespace hone::schedules
