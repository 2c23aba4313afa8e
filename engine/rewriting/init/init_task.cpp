#include "engine/rewriting/init/init_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "engine/rewriting/init/kernel_facts.h"
#include "engine/rewriting/init/pipeline.h"
#include "engine/rewriting/init/task_writer.h"
#include "rewriters/syntax/host/read_unit.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

using syntax::HostArgument;
using syntax::HostLaunch;
using syntax::Variable;

/// The device code alone, parsed as a task's is.
Result<std::shared_ptr<const syntax::TranslationUnit>> parse_device(
    const syntax::DeviceCode& device, const std::vector<HostLaunch>& launches,
    const std::string& path) {
  Program program;
  program.source = device.text;
  for (const HostLaunch& launch : launches) {
    Launch one;
    one.kernel = launch.kernel;
    program.launches.push_back(one);
  }
  auto unit = syntax::parse(program);
  if (unit) return unit;
  // "12:5: message" is of the text that was cut out: show its line.
  const std::string& message = unit.error().message;
  const int line = std::atoi(message.c_str());
  std::size_t begin = 0;
  for (int i = 1; i < line && begin != std::string::npos; ++i)
    begin = device.text.find('\n', begin) + 1;
  std::string shown = device.text.substr(begin, device.text.find('\n', begin) - begin);
  shown.erase(0, shown.find_first_not_of(" \t"));
  return invalid(fmt::format("{}: the kernels need what a task cannot hold: {} in `{}`: cut it",
                             path, message.substr(message.find(": ") + 2), shown));
}

/// For a kernel that no host code launches: everything about its launch is to be guessed.
HostLaunch bare_launch(const syntax::Function& kernel) {
  HostLaunch launch;
  launch.kernel = launch.plain = kernel.name;
  for (const Variable* parameter : kernel.parameters) {
    HostArgument argument;
    argument.text = parameter->name;
    launch.args.push_back(argument);
  }
  return launch;
}

/// A block whose extents nothing says: 256, or 16 x 16.
std::map<std::string, std::int64_t> block_guesses(const syntax::UnitFacts& facts) {
  std::map<std::string, std::int64_t> guesses;
  for (const HostLaunch& launch : facts.launches) {
    int wide = 0;
    for (const syntax::HostInt& extent : launch.block)
      if (extent != nullptr && extent->value > 1) ++wide;
    const auto look = [&](auto&& self, const syntax::HostInt& part) -> void {
      if (part == nullptr) return;
      if (part->op == syntax::HostExpr::Op::kName) {
        const auto& name = facts.names[static_cast<std::size_t>(part->name)];
        if (name.guessed) guesses[name.name] = wide > 1 ? 16 : 256;
      }
      for (const syntax::HostInt& inner : part->operands) self(self, inner);
    };
    for (const syntax::HostInt& extent : launch.block) look(look, extent);
  }
  return guesses;
}

/// A file that was read, with what its kernels do. The stages point into the rest.
struct Reading {
  syntax::WholeUnit whole;
  std::shared_ptr<const syntax::TranslationUnit> unit;
  Program program;
  std::vector<HostLaunch> launches;
  std::vector<syntax::KernelInfo> kernels;
  std::vector<init::Stage> stages;
};

/// `picks`: only these launches, by their ids; empty: all of the kernels that were cut out.
Result<std::unique_ptr<Reading>> look_at(syntax::WholeUnit whole, const std::string& path,
                                         const std::set<std::size_t>& picks) {
  auto reading = std::make_unique<Reading>();
  reading->whole = std::move(whole);
  const auto& cut = reading->whole.device.kernels;
  if (!reading->whole.device.problems.empty())
    return invalid(reading->whole.device.problems.front());
  std::vector<std::size_t> ids;
  const auto& all = reading->whole.facts.launches;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::ranges::find(cut, all[i].plain) == cut.end()) continue;
    if (!picks.empty() && !picks.contains(i)) continue;
    reading->launches.push_back(all[i]);
    ids.push_back(i);
  }
  auto unit = parse_device(reading->whole.device, reading->launches, path);
  if (!unit) return std::unexpected(unit.error());
  reading->unit = *unit;
  if (reading->launches.empty()) {
    for (const syntax::Function* function : reading->unit->functions) {
      if (!function->is_kernel) continue;
      if (function->is_template)
        return invalid(
            fmt::format("{}: kernel '{}' is a template that nothing launches: write the "
                        "launch, or the instance as a plain kernel",
                        path, function->name));
      ids.push_back(reading->launches.size());
      reading->launches.push_back(bare_launch(*function));
    }
  }
  for (const HostLaunch& launch : reading->launches) {
    const auto same = std::ranges::count_if(reading->unit->functions, [&](const auto* function) {
      return function->is_kernel && function->body != nullptr && function->name == launch.plain;
    });
    if (same > 1 && launch.kernel.substr(0, launch.kernel.find('<')).contains("::"))
      return invalid(fmt::format(
          "{}: the kernels that are launched include {} of the name '{}', in other namespaces or "
          "of other parameters: rename or cut all but one",
          launch.place, same, launch.plain));
    Launch one;
    one.kernel = launch.plain;  // as its function is called: without namespaces
    reading->program.launches.push_back(one);
  }
  auto kernels = syntax::analyse(*reading->unit, reading->program);
  if (!kernels) return std::unexpected(kernels.error());
  reading->kernels = std::move(*kernels);
  for (std::size_t i = 0; i < reading->launches.size(); ++i) {
    const HostLaunch& launch = reading->launches[i];
    const auto info = std::ranges::find_if(
        reading->kernels, [&](const auto& one) { return one.function->name == launch.plain; });
    if (info == reading->kernels.end())
      return invalid(fmt::format("{}: kernel '{}' is not in the device code", path, launch.plain));
    if (info->function->parameters.size() != launch.args.size())
      return invalid(fmt::format("{}: kernel '{}' takes {} parameters, and {} are passed",
                                 launch.place, launch.plain, info->function->parameters.size(),
                                 launch.args.size()));
    reading->stages.push_back({ids[i], &launch, init::kernel_facts(*info)});
  }
  return reading;
}

/// The instance of a template that the task takes.
void note_templates(const std::vector<init::Stage>& stages, std::vector<std::string>& notes) {
  std::set<std::string> said;
  for (const init::Stage& stage : stages) {
    const HostLaunch& launch = *stage.launch;
    if (launch.kernel.contains('<') && said.insert(launch.kernel).second)
      notes.push_back(fmt::format("kernel {}: a template, with the arguments of the launch at {}",
                                  launch.kernel, launch.place));
  }
}

}  // namespace

Result<InitResult> init_task(const InitRequest& request) {
  syntax::ReadUnitOptions options;
  options.path = request.path;
  options.defines = request.defines;
  if (!request.kernel.empty()) options.kernels = {request.kernel};
  auto whole = syntax::read_unit(request.source, options);
  if (!whole) return std::unexpected(whole.error());
  std::vector<std::string> notes;
  if (auto guesses = block_guesses(whole->facts); !guesses.empty()) {
    for (const auto& [name, value] : guesses)
      notes.push_back(fmt::format(
          "{}: nothing in the file says this extent of a block; {} is a guess", name, value));
    options.guesses = std::move(guesses);
    whole = syntax::read_unit(request.source, options);
    if (!whole) return std::unexpected(whole.error());
  }
  const std::vector<std::string> cut = whole->device.kernels;
  auto reading = look_at(std::move(*whole), request.path, {});
  if (!reading && options.kernels.empty() && std::set(cut.begin(), cut.end()).size() > 1) {
    // Another kernel of the file may be what does not fit: the first that does.
    const Error all = reading.error();
    for (const std::string& name : std::set(cut.begin(), cut.end())) {
      options.kernels = {name};
      auto one = syntax::read_unit(request.source, options);
      if (one) reading = look_at(std::move(*one), request.path, {});
      if (!one || !reading) continue;
      notes.push_back(fmt::format("only kernel {} is here; all together do not fit a task: {}",
                                  name, all.message));
      break;
    }
    if (!reading) return std::unexpected(all);
  }
  if (!reading) return std::unexpected(reading.error());
  const bool launched = !(*reading)->whole.facts.launches.empty();
  std::vector<std::size_t> chosen;
  if (launched) {
    chosen = init::choose_stages((*reading)->stages, (*reading)->whole.facts,
                                 options.kernels.empty() ? "" : options.kernels.front(), notes);
  } else {
    for (std::size_t i = 0; i < (*reading)->stages.size(); ++i) chosen.push_back(i);
  }
  if (chosen.empty()) {
    return invalid(fmt::format(
        "{}: kernel '{}' writes to no memory that it is given, so there is no result to compare: "
        "give it an output",
        launched ? (*reading)->stages.front().launch->place : request.path,
        (*reading)->stages.front().launch->plain));
  }
  std::set<std::size_t> picks;
  std::set<std::string> names;
  for (const std::size_t i : chosen) {
    picks.insert((*reading)->stages[i].id);
    names.insert((*reading)->stages[i].launch->plain);
  }
  if (names.size() < std::set(cut.begin(), cut.end()).size()) {
    // Once more, without the code of the others.
    options.kernels.assign(names.begin(), names.end());
    auto again = syntax::read_unit(request.source, options);
    if (!again) return std::unexpected(again.error());
    reading = look_at(std::move(*again), request.path, launched ? picks : std::set<std::size_t>{});
    if (!reading) return std::unexpected(reading.error());
    chosen.clear();
    for (std::size_t i = 0; i < (*reading)->stages.size(); ++i) chosen.push_back(i);
  }
  std::vector<init::Stage> stages;
  for (const std::size_t i : chosen) stages.push_back((*reading)->stages[i]);
  note_templates(stages, notes);
  for (const std::string& note : (*reading)->whole.device.notes) notes.push_back(note);
  for (const std::string& note : (*reading)->whole.facts.notes) notes.push_back(note);
  return init::write_task(request.path, (*reading)->whole, stages, std::move(notes));
}

}  // namespace hone
