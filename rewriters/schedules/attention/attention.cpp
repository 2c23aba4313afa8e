#include "rewriters/schedules/attention/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/attention/hopper.h"
#include "rewriters/schedules/attention/stream.h"
#include "rewriters/schedules/printing/emit.h"

namespace hone::schedules {
namespace {

using namespace attention;

class AttentionGenerator : public Generator {
 public:
  [[nodiscard]] std::string_view name() const override { return "generate-attention"; }
  [[nodiscard]] std::string_view summary() const override {
    return "softmax of products of queries and keys, weighing values => one kernel that keeps the "
           "running maximum and sums of each query in registers; legal when the sums' order is "
           "free";
  }

  [[nodiscard]] Result<Offer> match(const Goal& goal) const override {
    const auto found = analyse(goal);
    if (!found) return std::unexpected(found.error());
    if (pipes_for(*found, goal).empty())
      return refused("sums in another order, which the task does not allow");
    Offer offer;
    offer.parameters = space_of(*found, goal);
    offer.starts = first_guesses(*found, goal, offer.parameters);
    offer.math_parameter = 0;
    for (const Pipe pipe : pipes_for(*found, goal)) offer.maths.push_back(math_of(*found, pipe));
    offer.description = fmt::format("attention of {}", found->describe());
    return offer;
  }

  [[nodiscard]] Result<Generated> generate(const Goal& goal, const Step& step,
                                           const std::string& prefix) const override {
    const auto found = analyse(goal);
    if (!found) return std::unexpected(found.error());
    const auto schedule = schedule_of(*found, goal, step);
    if (!schedule) return std::unexpected(schedule.error());
    return with_includes(goal, *found,
                         schedule->pipe == Pipe::kWgmmaBulk
                             ? generate_bulk(*found, *schedule, goal, prefix)
                             : generate_stream(*found, *schedule, goal, prefix));
  }

 private:
  /// The headers of half types, where buffers have them.
  static Result<Generated> with_includes(const Goal& goal, const Attention& a,
                                         Result<Generated> generated) {
    if (!generated) return generated;
    std::vector<ScalarType> types{a.nest->type};
    for (const std::string& input : a.inputs) {
      if (const ConcreteBuffer* buffer = goal.buffer(input)) types.push_back(buffer->type);
    }
    std::ranges::copy(headers_for(types), std::back_inserter(generated->includes));
    return generated;
  }
};

}  // namespace

std::unique_ptr<Generator> make_attention() { return std::make_unique<AttentionGenerator>(); }

}  // namespace hone::schedules
