#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "candidates/task_file.h"
#include "candidates/task_reader.h"
#include "candidates/variant.h"
#include "engine/cli/command.h"
#include "engine/search/single/variant.h"
#include "evaluator/fill/input_sets.h"
#include "evaluator/sanitize.h"

namespace hone::cli {
namespace check_command {
namespace {

using emulator::CodePlace;
using emulator::FindingKind;

struct Options {
  Common common;
  std::string task;
  std::string variant;
  std::string device = "emu:sm_90";
  double timeout_s = 60;  ///< for each set of sizes
  bool quiet = false;
  std::vector<std::string> sizes;
  bool timed = false;
  int seeds = 1;
  std::uint64_t seed = 1;
  std::vector<std::string> checks;
  int limit = 50;
  int threads = 0;
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
};

/// The check that every element of the outputs is written.
constexpr std::string_view kOutputs = "outputs";

/// The names that people know the checks by; a finding's own name is taken too.
bool selects(const std::string& name, FindingKind kind) {
  const auto own = emulator::to_string(kind);
  if (name == own) return true;
  if (name == "bounds")
    return kind == FindingKind::kOutOfBounds || kind == FindingKind::kMisaligned;
  if (name == "races") return kind == FindingKind::kRace;
  if (name == "init") return kind == FindingKind::kUninitialised;
  if (name == "sync")
    return kind == FindingKind::kBarrier || kind == FindingKind::kWarpMask ||
           kind == FindingKind::kAsync || kind == FindingKind::kMBarrier ||
           kind == FindingKind::kDeadlock || kind == FindingKind::kTimeout;
  return false;
}

Error unknown_check(const std::string& name) {
  std::vector<std::string_view> names = {"bounds", "races", "init", "sync", kOutputs};
  for (const FindingKind kind : emulator::kAllFindingKinds) names.push_back(to_string(kind));
  return {ErrorCode::kInvalidInput,
          fmt::format("--checks: no check '{}'; there are {}", name, fmt::join(names, ", "))};
}

/// A line that was unrolled has several instructions that break the same rule; so has one that
/// several schedules show.
struct Group {
  SanitizeFinding first;
  int places = 1;           ///< instructions
  std::uint64_t count = 0;  ///< over all of them
};

std::vector<Group> by_line(std::vector<SanitizeFinding> findings) {
  std::vector<Group> groups;
  for (SanitizeFinding& s : findings) {
    const auto& place = s.finding.place;
    const auto same = [&](const Group& g) {
      const auto& other = g.first.finding.place;
      return place.line != 0 && g.first.finding.kind == s.finding.kind &&
             g.first.launch == s.launch && other.line == place.line &&
             other.call_line == place.call_line;
    };
    const auto it = std::find_if(groups.begin(), groups.end(), same);
    Group& group = it != groups.end() ? *it : groups.emplace_back(Group{s, 0, 0});
    ++group.places;
    group.count += s.finding.count;
  }
  return groups;
}

Result<std::vector<Bindings>> sizes_of(const Options& options, const Task& task) {
  std::vector<Bindings> all;
  for (const std::string& text : options.sizes) {
    Bindings one = task.check_sizes.empty() ? task.sizes : task.check_sizes.front();
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
      const auto equals = part.find('=');
      const std::string name = part.substr(0, equals);
      char* end = nullptr;
      const char* digits = equals == std::string::npos ? "" : part.c_str() + equals + 1;
      const long long value = std::strtoll(digits, &end, 10);
      if (*digits == 0 || *end != 0 || value <= 0)
        return invalid(fmt::format("--size {}: write NAME=NUMBER,...", text));
      if (!task.sizes.contains(name)) {
        std::vector<std::string> names;
        for (const auto& [known, ignored] : task.sizes) names.push_back(known);
        return invalid(fmt::format("--size {}: the task has no size '{}'; it has {}", text, name,
                                   fmt::join(names, ", ")));
      }
      one[name] = value;
    }
    all.push_back(std::move(one));
  }
  if (options.timed) all.push_back(task.sizes);
  if (all.empty()) all = task.check_sizes;
  if (all.empty()) all.push_back(task.sizes);
  return all;
}

std::string text_of(const Bindings& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : sizes) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string source_line(const std::string& source, std::uint32_t line) {
  std::istringstream in(source);
  std::string text;
  for (std::uint32_t n = 0; n < line; ++n)
    if (!std::getline(in, text)) return {};
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first);
}

std::string place_text(const CodePlace& place, const std::string& file, const std::string& source) {
  std::string text;
  if (place.line)
    text += fmt::format("    {}:{}: {}\n", file, place.line, source_line(source, place.line));
  if (place.call_line)
    text += fmt::format("      called at {}:{}: {}\n", file, place.call_line,
                        source_line(source, place.call_line));
  if (place.inner_line)
    text += fmt::format("      inside {}:{}\n", place.inner_file, place.inner_line);
  if (place.ptx_line)
    text += fmt::format("    PTX line {}: {}\n", place.ptx_line, place.instruction);
  return text;
}

/// "race: write of ..." and "misaligned read of ..." say their kind themselves.
bool says_its_kind(std::string_view what, std::string kind) {
  std::replace(kind.begin(), kind.end(), '_', '-');
  return what.starts_with(kind);
}

std::string text_of(const Group& group, const std::string& file, const std::string& source) {
  const SanitizeFinding& s = group.first;
  const auto& f = s.finding;
  const std::string kind(emulator::to_string(f.kind));
  std::string text =
      says_its_kind(f.what, kind) ? f.what + "\n" : fmt::format("{}: {}\n", kind, f.what);
  text += place_text(f.place, file, source);
  text += fmt::format("    kernel {}, launch {}", s.kernel, s.launch);
  if (f.has_thread)
    text += fmt::format(", block ({},{},{}), thread ({},{},{})", f.block[0], f.block[1], f.block[2],
                        f.thread[0], f.thread[1], f.thread[2]);
  if (group.count > 1) text += fmt::format(", {} times", group.count);
  if (s.schedule_seed) text += fmt::format(", schedule {}", s.schedule_seed);
  text += '\n';
  if (group.places > 1) text += fmt::format("    and {} more at this line\n", group.places - 1);
  if (!f.other.empty() && f.other_place.ptx_line) {
    text += fmt::format("  the other side: {}\n", f.other);
    text += place_text(f.other_place, file, source);
  }
  return text;
}

nlohmann::json place_json(const CodePlace& p, const std::string& source) {
  return {{"line", p.line},
          {"source", p.line ? source_line(source, p.line) : ""},
          {"call_line", p.call_line},
          {"inner_file", p.inner_file},
          {"inner_line", p.inner_line},
          {"ptx_line", p.ptx_line},
          {"instruction", p.instruction}};
}

nlohmann::json to_json(const Group& group, const std::string& source) {
  const SanitizeFinding& s = group.first;
  const auto& f = s.finding;
  nlohmann::json json = {{"kind", emulator::to_string(f.kind)},
                         {"what", f.what},
                         {"kernel", s.kernel},
                         {"launch", s.launch},
                         {"place", place_json(f.place, source)},
                         {"address", f.address},
                         {"other", f.other},
                         {"count", group.count},
                         {"places", group.places},
                         {"schedule_seed", s.schedule_seed}};
  if (f.has_thread) {
    json["block"] = f.block;
    json["thread"] = f.thread;
  }
  if (f.other_place.ptx_line) json["other_place"] = place_json(f.other_place, source);
  return json;
}

Error bare_file(const std::string& path) {
  return {ErrorCode::kInvalidInput,
          fmt::format("{}: there is no task comment, so nobody knows how its kernels are launched; "
                      "`hone init {}` writes a first version",
                      path, shell_word(path))};
}

/// What is checked, at some sizes: of an export its steps' program there.
using ProgramAt = std::function<Result<Program>(const Bindings&)>;

/// What the reference answers on inputs that the task does not list, where they break nothing.
Result<std::vector<std::string>> on_other_inputs(Evaluator& evaluator, const Options& options,
                                                 const Task& task, const ProgramAt& program_at,
                                                 const std::vector<Bindings>& sizes) {
  // Larger ones would take several times as long as the check itself.
  constexpr std::int64_t kMostBytes = 16 << 20;
  constexpr double kMostSeconds = 10;
  const auto bytes = [](const ConcreteProgram& of) {
    std::int64_t sum = 0;
    for (const ConcreteBuffer& buffer : of.buffers) sum += buffer.bytes();
    return sum;
  };
  std::optional<ConcreteProgram> smallest;
  for (const Bindings& at : sizes) {
    const auto program = program_at(at);
    if (!program) return std::unexpected(program.error());
    auto concrete = instantiate(*program, at);
    if (!concrete) return std::unexpected(concrete.error());
    if (!smallest || bytes(*concrete) < bytes(*smallest)) smallest = std::move(*concrete);
  }
  if (!smallest || bytes(*smallest) > kMostBytes) return {};
  std::vector<std::string> said;
  for (const InputSet set : input_sets_of(*smallest)) {
    if (set == InputSet::kOwn) continue;
    SanitizeRequest request;
    request.program = with_inputs(*smallest, set, options.seed);
    request.seed = options.seed;
    request.inputs = set;
    request.non_finite = task.tolerance.non_finite;
    request.threads = options.threads;
    // A count of the whole type's range may keep a loop going.
    request.seconds = std::min(options.timeout_s, kMostSeconds);
    const auto result = sanitize(evaluator, request);
    if (!result) return std::unexpected(result.error());
    if (result->verdict != Verdict::kOk || !result->findings.empty()) continue;
    said.insert(said.end(), result->said.begin(), result->said.end());
  }
  return said;
}

/// "emu:sm_90"; `--arch sm_90`, as it was once called, is taken too.
Result<std::string> emulated_device(const std::string& text) {
  const std::string device = text.starts_with("sm_") ? "emu:" + text : text;
  if (!device.starts_with("emu:")) {
    return invalid(
        fmt::format("--device {}: check runs on an emulated GPU: write emu:sm_90", text));
  }
  return device;
}

/// What is being checked, on stderr, when it begins and while it takes long.
class Progress {
 public:
  Progress(bool quiet, const std::string& what) {
    if (quiet) return;
    fmt::print(stderr, "checking {}\n", what);
    thread_ = std::jthread([this, what](const std::stop_token& ending) {
      constexpr int kEvery_s = 10;
      std::unique_lock lock(mutex_);
      for (int passed = kEvery_s;; passed += kEvery_s) {
        if (wake_.wait_for(lock, ending, std::chrono::seconds(kEvery_s), [] { return false; }) ||
            ending.stop_requested())
          return;
        fmt::print(stderr, "checking {}: {} s so far\n", what, passed);
      }
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

int run(const Options& options) {
  const Common& common = options.common;
  const auto device_name = emulated_device(options.device);
  if (!device_name) return common.fail(device_name.error());
  const auto extension = std::filesystem::path(options.task).extension();
  if (extension != ".json" && extension != ".pt2") {
    const auto text = read_text_file(options.task);
    if (!text) return common.fail(text.error());
    if (!find_task_comment(*text)) return common.fail(bare_file(options.task));
  }
  const auto task = read_task(options.task);
  if (!task) return common.fail(task.error());
  std::vector<Variant> variants = {{.program = task->reference}};
  std::string file = std::filesystem::path(options.task).filename();
  if (!options.variant.empty()) {
    auto read = read_variants(options.variant, *task);
    if (!read) return common.fail(read.error());
    variants = std::move(*read);
    file = std::filesystem::path(options.variant).filename();
  }
  for (const std::string& name : options.checks) {
    if (name != kOutputs &&
        std::none_of(std::begin(emulator::kAllFindingKinds), std::end(emulator::kAllFindingKinds),
                     [&](FindingKind kind) { return selects(name, kind); }))
      return common.fail(unknown_check(name));
  }
  const auto sizes = sizes_of(options, *task);
  if (!sizes) return common.fail(sizes.error());
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  auto device = open_device({.device = *device_name, .profile = "", .sandbox = options.sandbox},
                            *task, MissingLayers::kUntold);
  if (!device) return common.fail(device.error());
  const std::string arch = device->evaluator->info().arch;
  const auto variant = variant_for(variants, arch, options.variant);
  if (!variant) return common.fail(variant.error());

  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  nlohmann::json runs = nlohmann::json::array();
  std::vector<std::string> notes;
  const auto space_at = [&](const Bindings& at) {
    return std::make_unique<Space>(*device->rewriting,
                                   RewriteContext{&*task, at, target_limits(arch)});
  };
  const auto timed = space_at(task->sizes);
  const auto chosen = program_of_variant(*variant, *task, *device->rewriting, *timed, notes);
  if (!chosen) return common.fail(chosen.error());
  for (const std::string& note : notes) fmt::print(out, "note: {}\n", note);
  const ProgramAt program_at = [&](const Bindings& at) -> Result<Program> {
    if (chosen->recipe.empty()) return chosen->program;
    auto program = space_at(at)->program(chosen->recipe);
    if (!program && program.error().code == ErrorCode::kRefused) {
      return invalid(fmt::format("{}: the candidate is not for {}: {}; --size names other sizes",
                                 options.variant, text_of(at), program.error().message));
    }
    return program;
  };
  std::size_t total = 0;
  std::set<std::string> shown;
  for (const Bindings& at : *sizes) {
    SanitizeRequest request;
    const auto program = program_at(at);
    if (!program) return common.fail(program.error());
    auto concrete = instantiate(*program, at);
    if (!concrete) return common.fail(concrete.error());
    request.program = std::move(*concrete);
    request.seed = options.seed;
    request.seconds = options.timeout_s;
    request.max_findings = options.limit;
    request.threads = options.threads;
    request.non_finite = task->tolerance.non_finite;
    request.schedule_seeds.clear();
    for (int i = 0; i < options.seeds; ++i)
      request.schedule_seeds.push_back(static_cast<std::uint64_t>(i));
    const auto result = [&] {
      const Progress progress(options.quiet, fmt::format("{} ({} of {})", text_of(at),
                                                         &at - sizes->data() + 1, sizes->size()));
      return sanitize(*device->evaluator, request);
    }();
    if (!result) return common.fail(result.error());
    nlohmann::json findings = nlohmann::json::array();
    std::size_t here = 0;
    for (const Group& group : by_line(result->findings)) {
      const auto& f = group.first.finding;
      if (!options.checks.empty() &&
          std::none_of(options.checks.begin(), options.checks.end(),
                       [&](const auto& name) { return selects(name, f.kind); }))
        continue;
      ++here;
      findings.push_back(to_json(group, program->source));
      const std::string key = fmt::format(
          "{} {} {} {} {} {}", emulator::to_string(f.kind), group.first.launch, f.place.line,
          f.place.call_line, f.place.line ? 0 : f.place.ptx_line, f.place.line ? "" : f.what);
      if (shown.insert(key).second) fmt::print(out, "{}", text_of(group, file, program->source));
    }
    const bool asked =
        result->verdict != Verdict::kWrongResult || options.checks.empty() ||
        std::find(options.checks.begin(), options.checks.end(), kOutputs) != options.checks.end();
    if (result->verdict != Verdict::kOk && asked) {
      ++here;
      fmt::print(out, "{}: {}\n", to_string(result->verdict), result->detail);
    }
    for (const std::string& line : result->said) fmt::print(out, "note: {}\n", line);
    notes.insert(notes.end(), result->said.begin(), result->said.end());
    if (!result->output.empty())
      fmt::print(out, "---- printf at {}\n{}{}", text_of(at), result->output,
                 result->output_cut              ? "\n(more was cut off)\n"
                 : result->output.back() == '\n' ? ""
                                                 : "\n");
    std::string outcome =
        here == 0 ? "clean" : fmt::format("{} finding{}", here, here == 1 ? "" : "s");
    if (!result->stopped.empty()) {
      // What was not run is not clean.
      outcome = fmt::format(
          "stopped {}: {} so far; what comes after was not checked, --timeout "
          "gives it more time",
          result->stopped, here == 0 ? "nothing found" : outcome);
      if (here == 0) ++total;
    }
    fmt::print(out, "{}: {}\n", text_of(at), outcome);
    total += here;
    runs.push_back({{"sizes", at},
                    {"verdict", to_string(result->verdict)},
                    {"detail", result->detail},
                    {"stopped", result->stopped},
                    {"findings", std::move(findings)},
                    {"printf", result->output},
                    {"printf_cut", result->output_cut},
                    {"warp_instructions", result->warp_instructions}});
  }
  if (total == 0) {
    const auto other = on_other_inputs(*device->evaluator, options, *task, program_at, *sizes);
    if (!other) return common.fail(other.error());
    for (const std::string& line : *other) fmt::print(out, "note: {}\n", line);
    notes.insert(notes.end(), other->begin(), other->end());
  }
  if (!common.write_json({{"task", task->name},
                          {"notes", notes},
                          {"file", file},
                          {"device", *device_name},
                          {"clean", total == 0},
                          {"runs", std::move(runs)}}))
    return kEnvironmentLacks;
  return total == 0 ? kDone : kCheckFailed;
}

}  // namespace
}  // namespace check_command

Registration add_check(CLI::App& root) {
  using namespace check_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "check",
      "Look for mistakes in a task's kernels on the emulated GPU: out-of-bounds and misaligned "
      "access, races, uninitialised reads, barriers, warp masks, unwritten outputs; no GPU "
      "needed");
  add_task_argument(*app, options->task);
  app->add_option(
         "--variant", options->variant,
         "Check this file in place of the reference: what `hone evaluate` takes as VARIANT")
      ->type_name("FILE");
  app->add_option("--device,--arch", options->device, "The emulated device: emu:sm_XX")
      ->type_name("DEVICE")
      ->capture_default_str();
  app->add_option("--size", options->sizes,
                  "Check at these sizes in place of the task's check sizes; may be repeated")
      ->type_name("NAME=N,...");
  app->add_flag("--timed", options->timed, "Check the timed sizes, which may take long");
  app->add_option("--seeds", options->seeds,
                  "How many schedules of blocks and warps to try; the first is the plain order")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->capture_default_str();
  app->add_option(
         "--checks", options->checks,
         "Only these, separated by commas: bounds, races, init (uninitialised reads), sync "
         "(waits that go wrong), outputs (unwritten or wrong), or a kind as reported; "
         "default: all")
      ->type_name("NAME")
      ->delimiter(',');
  app->add_option("--limit", options->limit, "At most so many findings of one launch")
      ->check(CLI::Range(2, 1000))
      ->type_name("N")
      ->capture_default_str();
  app->add_option(
         "--timeout", options->timeout_s,
         "At most so long for each set of sizes; then it says what it has found, and that it "
         "stopped")
      ->transform(a_time())
      ->check(CLI::Range(1.0, 86400.0))
      ->type_name("TIME")
      ->capture_default_str();
  add_quiet_option(*app, options->quiet);
  app->add_option("--seed", options->seed, "Chooses the inputs")
      ->type_name("N")
      ->capture_default_str();
  app->add_option(
         "--threads", options->threads,
         "How many cores to use, which changes nothing in the findings; default: all, at most "
         "16")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  add_sandbox_option(*app, options->sandbox);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
