#include "rewriters/rules/tunables.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/core/kernel_edit.h"

namespace hone {
namespace {

constexpr std::size_t kMaxCombinations = 20000;

class Tunables final : public Rewriter {
 public:
  std::string_view name() const override { return "tunables"; }
  std::string_view summary() const override {
    return "a tuning macro of the task gets another of its values; legal when the constraints hold";
  }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    if (context.task == nullptr || context.task->tunables.empty()) return {};
    Proposal proposal;
    proposal.rewriter = name();
    proposal.site = "task";
    proposal.description = "values of the task's tuning macros";
    for (const auto& [tunable, values] : context.task->tunables) {
      Parameter parameter{tunable, {}};
      for (const std::int64_t value : values) {
        if (can_hold(*context.task, context.sizes, tunable, value)) {
          parameter.domain.emplace_back(value);
        }
      }
      if (parameter.domain.empty()) return {};
      proposal.parameters.push_back(std::move(parameter));
    }
    if (!leave_out_present_values(program, proposal)) return {};
    return {proposal};
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    if (context.task == nullptr || step.site != "task") return refused("there is no such site");
    const Task& task = *context.task;
    Program result = program;
    for (const auto& [tunable, value] : step.params) {
      const auto known = task.tunables.find(tunable);
      if (known == task.tunables.end()) {
        return refused(fmt::format("the task has no tunable '{}'", tunable));
      }
      const auto* number = std::get_if<std::int64_t>(&value);
      if (number == nullptr ||
          std::find(known->second.begin(), known->second.end(), *number) == known->second.end()) {
        return refused(fmt::format("{} is not a value of tunable '{}'", to_string(value), tunable));
      }
      result.defines[tunable] = std::to_string(*number);
    }
    Bindings bindings = context.sizes;
    for (const auto& [tunable, values] : task.tunables) {
      const auto define = result.defines.find(tunable);
      if (define != result.defines.end()) bindings[tunable] = std::atoll(define->second.c_str());
    }
    for (const Expr& constraint : task.constraints) {
      if (!names_tunable(task, constraint)) continue;
      const auto holds = constraint.eval(bindings);
      if (!holds) return refused(holds.error().message);
      if (*holds == 0) return refused(fmt::format("breaks the constraint {}", constraint.text()));
    }
    return checked(std::move(result), context);
  }

 private:
  /// Where at most one tunable can change, its present value is no choice; false: nothing is left.
  /// Of several, the domains cannot leave out one combination.
  static bool leave_out_present_values(const Program& program, Proposal& proposal) {
    const auto is_present = [&](const Parameter& parameter, const ParameterValue& value) {
      const auto define = program.defines.find(parameter.name);
      return define != program.defines.end() && define->second == to_string(value);
    };
    Parameter* free = nullptr;
    for (Parameter& parameter : proposal.parameters) {
      const auto stays = [&](const ParameterValue& value) { return is_present(parameter, value); };
      if (std::ranges::all_of(parameter.domain, stays)) continue;
      if (free != nullptr || std::ranges::none_of(parameter.domain, stays)) return true;
      free = &parameter;
    }
    if (free == nullptr) return false;
    std::erase_if(free->domain,
                  [&](const ParameterValue& value) { return is_present(*free, value); });
    return true;
  }

  static bool names_tunable(const Task& task, const Expr& constraint) {
    for (const std::string& name : constraint.names()) {
      if (task.tunables.count(name) != 0) return true;
    }
    return false;
  }

  /// Is there a choice of the other tunables with which this value breaks no constraint?
  static bool can_hold(const Task& task, const Bindings& sizes, const std::string& tunable,
                       std::int64_t value) {
    std::vector<const Expr*> constraints;
    for (const Expr& constraint : task.constraints) {
      if (names_tunable(task, constraint)) constraints.push_back(&constraint);
    }
    if (constraints.empty()) return true;
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> axes;
    std::size_t combinations = 1;
    for (const auto& [other, values] : task.tunables) {
      axes.emplace_back(other, other == tunable ? std::vector<std::int64_t>{value} : values);
      combinations *= std::max<std::size_t>(1, axes.back().second.size());
      if (combinations > kMaxCombinations) return true;  // apply() decides
    }
    for (std::size_t index = 0; index < combinations; ++index) {
      Bindings bindings = sizes;
      std::size_t rest = index;
      for (const auto& [other, values] : axes) {
        bindings[other] = values[rest % values.size()];
        rest /= values.size();
      }
      const bool all = std::all_of(constraints.begin(), constraints.end(), [&](const Expr* one) {
        const auto holds = one->eval(bindings);
        return holds && *holds != 0;
      });
      if (all) return true;
    }
    return false;
  }

  /// The source must still parse, and no launch may exceed a __launch_bounds__ made before.
  static Result<Program> checked(Program result, const RewriteContext& context) {
    const auto read = read_program(result);
    if (!read) return std::unexpected(read.error());
    for (const syntax::KernelInfo& kernel : read->kernels) {
      if (kernel.function->max_threads == 0) continue;
      for (const Launch* launch : kernel.launches) {
        const auto concrete = block_threads(*launch, result, context.sizes);
        if (!concrete) return std::unexpected(concrete.error());
        if (*concrete > kernel.function->max_threads) {
          return refused(fmt::format("{} threads exceed the __launch_bounds__ of '{}'", *concrete,
                                     kernel.function->name));
        }
      }
    }
    return result;
  }

  static Result<std::int64_t> block_threads(const Launch& launch, const Program& program,
                                            const Bindings& sizes) {
    Bindings bindings = sizes;
    for (const auto& [name, text] : program.defines) {
      bindings.emplace(name, std::atoll(text.c_str()));
    }
    std::int64_t threads = 1;
    for (const Expr& entry : launch.block) {
      const auto value = entry.eval(bindings);
      if (!value) return refused(value.error().message);
      threads *= *value;
    }
    return threads;
  }
};

}  // namespace

std::unique_ptr<Rewriter> make_tunables() { return std::make_unique<Tunables>(); }

}  // namespace hone
