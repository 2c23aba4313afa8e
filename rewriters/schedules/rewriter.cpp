#include "rewriters/schedules/rewriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "rewriters/lift/lift.h"
#include "rewriters/nest/facts.h"
#include "rewriters/nest/fuse.h"
#include "rewriters/syntax/edit.h"
#include "rewriters/syntax/parse.h"

namespace hone::schedules {
namespace {

/// Generated kernels begin so; they are not lifted again.
constexpr std::string_view kPrefix = "hone_";

/// A program lifted, for all generators. Its nodes grow as generators work: one at a time.
struct Lifted {
  std::once_flag once;
  std::mutex mutex;
  Result<nest::LiftedProgram> program = refused("not lifted");
  std::vector<nest::Site> sites;
  std::vector<nest::NoSite> without_site;
};

std::string_view text_of(const syntax::TranslationUnit& unit, std::string_view function) {
  for (const syntax::Function* known : unit.functions) {
    if (known->name == function && known->range.valid()) return unit.text(known->range);
  }
  return {};
}

/// The kernels that a lift does not look into: generated ones, and those that earlier steps
/// changed. Those compute what the task's own compute, and are lifted slowly, if at all.
std::set<std::string> left_alone(const Program& program, const Task* task) {
  std::set<std::string> names;
  const auto unit = syntax::parse(program);
  const auto original = task != nullptr
                            ? syntax::parse(task->reference)
                            : Result<std::shared_ptr<const syntax::TranslationUnit>>(nullptr);
  for (const Launch& launch : program.launches) {
    const std::string function = launch.kernel.substr(0, launch.kernel.find('<'));
    const bool is_ours = function.starts_with(kPrefix);
    if (is_ours ||
        (task != nullptr && unit && original &&
         (program.defines != task->reference.defines ||
          std::ranges::find(task->reference.launches, launch) == task->reference.launches.end() ||
          text_of(**unit, function) != text_of(**original, function)))) {
      names.insert(launch.kernel);
    }
  }
  return names;
}

void fill(Lifted& lifted, const Program& program, const Bindings& sizes,
          const std::set<std::string>& skipped) {
  lifted.program = nest::lift(program, sizes, [&](std::string_view kernel) {
    return skipped.contains(std::string(kernel));
  });
  if (lifted.program) lifted.sites = nest::sites(*lifted.program, &lifted.without_site);
}

/// For questions alone: what is printed depends on the order in which nodes were made.
std::shared_ptr<Lifted> lifted_of(const Program& program, const RewriteContext& context) {
  constexpr std::size_t kMost = 16;
  static std::mutex mutex;
  static std::list<std::pair<std::string, std::shared_ptr<Lifted>>> kept;  // the newest first
  std::string key = nlohmann::json(program).dump();
  if (context.task != nullptr) key += nlohmann::json(context.task->reference).dump();
  for (const auto& [name, value] : context.sizes) key += fmt::format("|{}={}", name, value);
  std::shared_ptr<Lifted> lifted;
  {
    const std::lock_guard lock(mutex);
    const auto found = std::ranges::find(kept, key, [](const auto& entry) { return entry.first; });
    if (found != kept.end()) {
      kept.splice(kept.begin(), kept, found);
    } else {
      kept.emplace_front(std::move(key), std::make_shared<Lifted>());
      if (kept.size() > kMost) kept.pop_back();
    }
    lifted = kept.front().second;
  }
  std::call_once(lifted->once,
                 [&] { fill(*lifted, program, context.sizes, left_alone(program, context.task)); });
  return lifted;
}

std::string identifier(const std::string& text) {
  std::string name;
  for (const char c : text) {
    if (isalnum(static_cast<unsigned char>(c)) != 0) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

/// The source without the kernels that nobody launches, and with what was generated.
Result<std::string> spliced(const Program& program, const std::set<std::string>& launched,
                            const Generated& generated) {
  std::string includes;
  for (const std::string& header : generated.includes) {
    const std::string line = "#include <" + header + ">\n";
    if (program.source.find(line) == std::string::npos || launched.empty()) includes += line;
  }
  if (!includes.empty()) includes += "\n";
  if (launched.empty()) return includes + generated.source;
  const auto unit = syntax::parse(program);
  if (!unit) return std::unexpected(unit.error());
  syntax::Edits edits(**unit);
  for (const syntax::Function* function : (*unit)->functions) {
    if (!function->is_kernel || function->is_template || launched.contains(function->name))
      continue;
    if (function->range.valid()) edits.remove(function->range);
  }
  auto rest = edits.apply();
  if (!rest) rest = program.source;
  return includes + *rest + "\n" + generated.source;
}

Goal goal_of(Lifted& lifted, const nest::Site& site, const RewriteContext& context) {
  Goal goal;
  goal.nodes = lifted.program->nodes.get();
  goal.nests = site.nests;
  goal.concrete = &lifted.program->concrete;
  goal.context = &context;
  return goal;
}

/// match(), given up where it takes too long.
Result<Offer> matched(const Generator& generator, const Goal& goal) {
  constexpr std::int64_t kMostMatchWork = 1'000'000;  // about half a second
  const nest::Nodes::WorkLimit limit(*goal.nodes, kMostMatchWork);
  try {
    return generator.match(goal);
  } catch (const nest::TooMuchWork&) {
    return refused(fmt::format("to see whether it can takes more than {} million steps",
                               kMostMatchWork / 1'000'000));
  }
}

class GeneratorRewriter final : public Rewriter {
 public:
  explicit GeneratorRewriter(const Generator& generator) : generator_(generator) {}

  std::string_view name() const override { return generator_.name(); }
  int version() const override { return generator_.version(); }
  std::string_view summary() const override { return generator_.summary(); }

  std::vector<Proposal> propose(const Program& program,
                                const RewriteContext& context) const override {
    std::vector<Proposal> proposals;
    if (context.task != nullptr && !context.task->specialize) return proposals;
    const auto lifted = lifted_of(program, context);
    const std::lock_guard lock(lifted->mutex);
    if (!lifted->program) return proposals;
    for (const nest::Site& site : lifted->sites) {
      const auto offer = matched(generator_, goal_of(*lifted, site, context));
      if (!offer) continue;
      for (const MathLevel math : levels_of(*offer)) {
        if (context.task != nullptr && math > context.task->math) continue;
        proposals.push_back(proposal_of(*offer, site, math));
      }
    }
    return proposals;
  }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    if (context.task != nullptr && !context.task->specialize) {
      return refused("the task may not be specialised, and generated kernels are for given sizes");
    }
    Lifted lifted;
    fill(lifted, program, context.sizes, left_alone(program, context.task));
    if (!lifted.program) return std::unexpected(lifted.program.error());
    const auto site = std::ranges::find_if(lifted.sites, [&](const nest::Site& candidate) {
      return step.site == candidate.name || step.site == site_name(candidate, step.math);
    });
    if (site == lifted.sites.end()) return refused(why_no_site(lifted, step.site));
    std::string prefix = fmt::format("{}{}_", kPrefix, identifier(site->name));
    while (program.source.find(prefix) != std::string::npos) prefix += "2_";
    if (auto fine = check_exactness(goal_of(lifted, *site, context)); !fine) {
      return std::unexpected(fine.error());
    }
    auto generated = generator_.generate(goal_of(lifted, *site, context), step, prefix);
    if (!generated) return std::unexpected(generated.error());
    auto result = with_generated(program, *site, *generated);
    if (result || result.error().code != ErrorCode::kInternal) return result;
    // A buffer may be called as something in the kernel is.
    const auto index = static_cast<std::size_t>(site - lifted.sites.begin());
    generated = generated_renamed(program, index, step, context, prefix);
    if (generated) result = with_generated(program, *site, *generated);
    if (!result && result.error().code == ErrorCode::kInternal) {
      return refused("what was generated does not parse: " + result.error().message);
    }
    return result;
  }

 private:
  /// kInternal: it does not parse.
  static Result<Program> with_generated(const Program& program, const nest::Site& site,
                                        const Generated& generated) {
    Program result = program;
    result.launches.clear();
    std::set<std::string> launched;
    for (std::size_t i = 0; i < program.launches.size(); ++i) {
      const bool replaced = std::ranges::find(site.launches, i) != site.launches.end();
      if (i == site.launches.back()) {
        for (const GeneratedLaunch& launch : generated.launches)
          result.launches.push_back(made(launch));
      }
      if (replaced) continue;
      result.launches.push_back(program.launches[i]);
      const std::string& kernel = program.launches[i].kernel;
      launched.insert(kernel.substr(0, kernel.find('<')));
    }
    for (const Buffer& buffer : generated.scratch) {
      if (program.find_buffer(buffer.name) != nullptr) {
        return refused(fmt::format("there is a buffer '{}' already", buffer.name));
      }
      result.buffers.push_back(buffer);
    }
    auto source = spliced(program, launched, generated);
    if (!source) return std::unexpected(source.error());
    result.source = std::move(*source);
    if (const auto unit = syntax::parse(result); !unit) {
      return fail(ErrorCode::kInternal, unit.error().message);
    }
    return result;
  }

  /// A recipe says itself what it needs; where nothing may change, the generator is asked.
  [[nodiscard]] Result<void> check_exactness(const Goal& goal) const {
    const Task* task = goal.context->task;
    if (task == nullptr || task->math != MathLevel::kExact) return {};
    const auto offer = generator_.match(goal);
    if (!offer) return {};
    const std::vector<MathLevel> levels = levels_of(*offer);
    if (!levels.empty() && levels.front() == MathLevel::kExact) return {};
    return refused("needs math 'reassociate', the task allows 'exact'");
  }

  /// Parameters have other names than the buffers.
  Result<Generated> generated_renamed(const Program& program, std::size_t site, const Step& step,
                                      const RewriteContext& context,
                                      const std::string& prefix) const {
    std::map<std::string, std::string> given;  // by new name
    const auto renamed = [&](const std::string& name) {
      std::string other = name + "_buffer";
      while (program.find_buffer(other) != nullptr) other += "_";
      given[other] = name;
      return other;
    };
    Program other = program;
    for (Buffer& buffer : other.buffers) buffer.name = renamed(buffer.name);
    for (Launch& launch : other.launches) {
      for (Argument& argument : launch.args) {
        if (!argument.buffer.empty()) argument.buffer = renamed(argument.buffer);
      }
    }
    Lifted lifted;
    fill(lifted, other, context.sizes, left_alone(program, context.task));
    if (!lifted.program) return std::unexpected(lifted.program.error());
    if (site >= lifted.sites.size()) return refused("the buffers cannot be renamed");
    auto generated =
        generator_.generate(goal_of(lifted, lifted.sites[site], context), step, prefix);
    if (!generated) return generated;
    for (GeneratedLaunch& launch : generated->launches) {
      const auto restore = [&](std::string& name) {
        const auto known = given.find(name);
        if (known != given.end()) name = known->second;
      };
      for (std::string& name : launch.args) restore(name);
      for (GeneratedTensorMap& one : launch.tensor_maps) restore(one.buffer);
    }
    return generated;
  }

  static std::vector<MathLevel> levels_of(const Offer& offer) {
    if (offer.math_parameter < 0) return {offer.math};
    std::vector<MathLevel> levels = offer.maths;
    std::ranges::sort(levels);
    levels.erase(std::ranges::unique(levels).begin(), levels.end());
    return levels;
  }

  static std::string site_name(const nest::Site& site, MathLevel math) {
    if (math <= MathLevel::kReassociate) return site.name;
    return fmt::format("{}, {}", site.name, to_string(math));
  }

  Proposal proposal_of(const Offer& offer, const nest::Site& site, MathLevel math) const {
    Proposal proposal;
    proposal.rewriter = name();
    proposal.version = version();
    proposal.site = site_name(site, math);
    proposal.math = math;
    proposal.description = offer.description;
    proposal.parameters = offer.parameters;
    proposal.starts = offer.starts;
    if (offer.math_parameter < 0) return proposal;
    // Of that parameter, the values of this level.
    const auto place = static_cast<std::size_t>(offer.math_parameter);
    std::vector<ParameterValue> domain;
    std::map<std::size_t, std::size_t> new_place;  // by old
    for (std::size_t i = 0; i < offer.maths.size(); ++i) {
      if (offer.maths[i] != math) continue;
      new_place[i] = domain.size();
      domain.push_back(offer.parameters[place].domain[i]);
    }
    proposal.parameters[place].domain = std::move(domain);
    std::erase_if(proposal.starts,
                  [&](const auto& start) { return !new_place.contains(start[place]); });
    for (auto& start : proposal.starts) start[place] = new_place[start[place]];
    return proposal;
  }

  static std::string why_no_site(const Lifted& lifted, const std::string& name) {
    std::string why = fmt::format("there is no site '{}'", name);
    for (const nest::LiftedLaunch& launch : lifted.program->launches) {
      if (!launch.refusal.empty()) why += "; not lifted: " + launch.refusal;
    }
    return why;
  }

  static Launch made(const GeneratedLaunch& generated) {
    Launch launch;
    launch.kernel = generated.kernel;
    for (const std::int64_t extent : generated.grid) launch.grid.emplace_back(extent);
    for (const std::int64_t extent : generated.block) launch.block.emplace_back(extent);
    launch.shared_bytes = Expr(generated.shared_bytes);
    for (const GeneratedTensorMap& one : generated.tensor_maps) {
      Argument argument{.kind = Argument::Kind::kTensorMap, .buffer = one.buffer};
      const auto constants = [](const std::vector<std::int64_t>& values) {
        std::vector<Expr> exprs;
        for (const std::int64_t value : values) exprs.emplace_back(value);
        return exprs;
      };
      argument.tensor_map = {constants(one.map.shape), constants(one.map.strides),
                             constants(one.map.box), one.map.swizzle, one.map.as_tf32};
      launch.args.push_back(std::move(argument));
    }
    for (const std::string& name : generated.args) {
      Argument argument;
      argument.kind = Argument::Kind::kBuffer;
      argument.buffer = name;
      launch.args.push_back(std::move(argument));
    }
    return launch;
  }

  const Generator& generator_;
};

}  // namespace

Result<Explanation> explained(const Program& program, const RewriteContext& context) {
  Lifted lifted;  // also of kernels that steps changed
  std::set<std::string> generated;
  for (const Launch& launch : program.launches) {
    if (launch.kernel.starts_with(kPrefix)) generated.insert(launch.kernel);
  }
  fill(lifted, program, context.sizes, generated);
  if (!lifted.program) return std::unexpected(lifted.program.error());
  Explanation made;
  made.facts = nest::facts_of(*lifted.program);
  made.structure = nest::structure_of(*lifted.program);
  for (const nest::LiftedLaunch& launch : lifted.program->launches) {
    if (launch.refusal.empty()) {
      made.nests += nest::to_string(*lifted.program->nodes, launch);
    } else {
      made.refusals.push_back(launch.refusal);
    }
  }
  for (const nest::Site& site : lifted.sites) {
    made.sites += fmt::format("site '{}' ({} launch{}):\n", site.name, site.launches.size(),
                              site.launches.size() == 1 ? "" : "es");
    for (const Generator* generator : generators()) {
      const auto offer = matched(*generator, goal_of(lifted, site, context));
      made.sites += fmt::format("  {}: {}\n", generator->name(),
                                offer ? offer->description : "no, " + offer.error().message);
    }
  }
  for (const nest::NoSite& none : lifted.without_site) {
    made.sites += fmt::format("no site, so no generator can print it: {}\n", none.reason);
  }
  return made;
}

std::unique_ptr<Rewriter> make_rewriter(const Generator& generator) {
  return std::make_unique<GeneratorRewriter>(generator);
}

}  // namespace hone::schedules
