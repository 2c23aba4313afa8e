#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "candidates/pytorch/import.h"
#include "candidates/pytorch/parts.h"
#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/search/single/recorded.h"

namespace hone::cli {
namespace import_command {
namespace {

/// A whole network on the emulator [s].
constexpr double kPatience = 1200;

struct Options {
  Common common;
  std::string file;
  std::string output;
  std::string recorded;  ///< a folder
  std::string parts;     ///< a folder
  pytorch::PartsOptions cut;
  std::string math;                                            ///< empty: the default of tasks
  std::string convolution_math, product_math, recurrent_math;  ///< empty: as `math`
  DeviceOptions device;
  bool force = false;

  [[nodiscard]] pytorch::MathLevels math_levels() const {
    return {.usual = parse_math_level(math),
            .convolutions = parse_math_level(convolution_math),
            .products = parse_math_level(product_math),
            .recurrent = parse_math_level(recurrent_math)};
  }
};

nlohmann::json values_json(const std::vector<pytorch::PartValue>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const pytorch::PartValue& value : values) {
    nlohmann::json entry = {
        {"value", value.value}, {"buffer", value.buffer}, {"order", value.order}};
    if (value.changed) entry["changed"] = true;
    list.push_back(std::move(entry));
  }
  return list;
}

/// What stays PyTorch's: of each reason how many nodes, and the first of them.
void tell_left_out(const std::vector<pytorch::LeftOut>& left_out) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string_view> reasons;
  for (const pytorch::LeftOut& node : left_out) {
    if (std::ranges::find(reasons, node.why) == reasons.end()) reasons.push_back(node.why);
  }
  for (const std::string_view why : reasons) {
    std::string named;
    std::size_t count = 0;
    for (const pytorch::LeftOut& node : left_out) {
      if (node.why != why) continue;
      if (count < kNamed) {
        named += fmt::format("{}{} ({})", count > 0 ? ", " : "", node.node, node.target);
      }
      ++count;
    }
    fmt::print(stderr, "  {} node{} by PyTorch: {}{}: {}\n", count, count == 1 ? "" : "s", named,
               count > kNamed ? ", ..." : "", why);
  }
}

/// Of another module, say, or of this one cut otherwise.
void remove_old_parts(const std::filesystem::path& folder) {
  constexpr std::string_view kBegin = "part_", kEnd = ".task.cu";
  std::error_code code;
  std::vector<std::filesystem::path> old;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    std::string number = entry.path().filename().string();
    if (!number.starts_with(kBegin) || !number.ends_with(kEnd)) continue;
    number = number.substr(kBegin.size(), number.size() - kBegin.size() - kEnd.size());
    if (number.size() >= 3 &&
        std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; }))
      old.push_back(entry.path());
  }
  for (const auto& file : old) std::filesystem::remove(file, code);
}

/// The module in parts: a task file for each that differs, and how they fit together.
int write_parts(const Options& options) {
  namespace fs = std::filesystem;
  const Common& common = options.common;
  pytorch::PartsOptions cutting = options.cut;
  cutting.math = options.math_levels();
  const auto cut = pytorch::cut_pt2(options.file, cutting);
  if (!cut) return common.fail(cut.error());
  std::error_code code;
  if (!cut->parts.empty()) fs::create_directories(options.parts, code);
  if (code) {
    return common.fail({ErrorCode::kIo, fmt::format("{}: {}", options.parts, code.message())});
  }
  const auto name_of = [](std::size_t index) { return fmt::format("part_{:03}.task.cu", index); };
  if (!options.force && fs::exists(fs::path(options.parts) / name_of(0))) {
    return common.fail(
        {ErrorCode::kInvalidInput,
         fmt::format("{}: holds parts already; --force overwrites them", options.parts)});
  }
  if (options.force && !cut->parts.empty()) remove_old_parts(options.parts);
  nlohmann::json parts = nlohmann::json::array();
  std::size_t tasks = 0;
  std::vector<std::string> hashes, levels;
  for (std::size_t i = 0; i < cut->parts.size(); ++i) {
    const pytorch::Part& part = cut->parts[i];
    if (part.alike == i) {
      ++tasks;
      const auto task = parse_task(part.text, name_of(i));
      if (!task) return common.fail(task.error());
      hashes.push_back(task->hash());
      levels.emplace_back(to_string(task->math));
      const auto written = write_text((fs::path(options.parts) / name_of(i)).string(), part.text);
      if (!written) return common.fail(written.error());
    } else {
      hashes.push_back(std::string(hashes[part.alike]));
      levels.push_back(std::string(levels[part.alike]));
    }
    parts.push_back({{"task", name_of(part.alike)},
                     {"task_hash", hashes.back()},
                     {"math", levels.back()},
                     {"nodes", part.nodes},
                     {"inputs", values_json(part.inputs)},
                     {"outputs", values_json(part.outputs)}});
  }
  nlohmann::json steps = nlohmann::json::array(), left_out = nlohmann::json::array();
  for (const pytorch::Step& step : cut->steps) {
    steps.push_back(step.part ? nlohmann::json{{"part", *step.part}}
                              : nlohmann::json{{"node", step.node}});
  }
  for (const pytorch::LeftOut& node : cut->left_out) {
    left_out.push_back({{"node", node.node}, {"target", node.target}, {"why", node.why}});
  }
  if (cut->parts.empty()) {
    fmt::print(stderr, "wrote nothing: no part of {} is worth a task\n", options.file);
  } else {
    fmt::print(stderr, "wrote {}: {} part{}, {} different\n", options.parts, cut->parts.size(),
               cut->parts.size() == 1 ? "" : "s", tasks);
  }
  tell_left_out(cut->left_out);
  const nlohmann::json document = {{"folder", options.parts},
                                   {"parts", parts},
                                   {"steps", steps},
                                   {"left_out", left_out},
                                   {"dropped", cut->dropped}};
  return common.write_json(document) ? kDone : kEnvironmentLacks;
}

/// The imported program's answers beside PyTorch's.
struct Compared {
  Evaluation evaluation;
  std::string device;
};

Result<Compared> compare(const Options& options, const Task& task,
                         const pytorch::Imported& imported) {
  // The device's children may read what buffers are filled from.
  const RecordedBuffers buffers = {imported.arguments, imported.results, imported.draws,
                                   imported.parameters};
  const std::vector<std::string> files = recorded_files(options.recorded, buffers);
  DeviceOptions patient = options.device;
  patient.check_timeout_s = kPatience;
  auto device = open_device(patient, task, MissingLayers::kUntold, files);
  if (!device) return std::unexpected(device.error());
  auto result = compare_with_recorded(task, options.recorded, buffers, *device->evaluator,
                                      device->spec.modelled());
  if (!result) return std::unexpected(result.error());
  return Compared{*std::move(result), device->spec.text()};
}

/// Says how they differ. Exit status.
int tell(const Options& options, const Compared& compared, nlohmann::json document) {
  const Common& common = options.common;
  const Evaluation& result = compared.evaluation;
  const bool ok = result.verdict == Verdict::kOk;
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  if (ok) {
    fmt::print(out, "agrees with {} on {}: max error {:.1e}\n", options.recorded, compared.device,
               result.max_rel_error);
  } else {
    fmt::print(out, "{}: {}\n", to_string(result.verdict), result.detail);
  }
  document["verdict"] = to_string(result.verdict);
  document["detail"] = result.detail;
  document["max_rel_error"] = result.max_rel_error;
  if (!common.write_json(document)) return kEnvironmentLacks;
  return ok ? kDone : kCheckFailed;
}

int run(const Options& options) {
  namespace fs = std::filesystem;
  const Common& common = options.common;
  if (!options.parts.empty()) return write_parts(options);
  const fs::path path(options.file);
  std::string output = options.output;
  if (output.empty()) output = (path.parent_path() / (path.stem().string() + ".task.cu")).string();
  if (output != "-" && !options.force && fs::exists(output)) {
    return common.fail({ErrorCode::kInvalidInput,
                        fmt::format("{}: exists already; --force overwrites it", output)});
  }
  // Names in a task are relative to its folder.
  const fs::path folder = output == "-" ? fs::current_path() : fs::absolute(output).parent_path();
  const auto imported = pytorch::import_pt2(
      path, fs::absolute(path).lexically_relative(folder).string(), options.math_levels());
  if (!imported) return common.fail(imported.error());
  const auto task =
      parse_task(imported->text, output == "-" ? fs::path("task.cu") : fs::path(output));
  if (!task) return common.fail(task.error());
  std::optional<Compared> compared;
  if (!options.recorded.empty()) {
    auto answers = compare(options, *task, *imported);
    if (!answers) return common.fail(answers.error());
    compared = *std::move(answers);
  }
  if (!(output == "-" && common.json_on_stdout())) {
    auto written = write_text(output, imported->text);
    if (!written) return common.fail(written.error());
  }
  if (output != "-") {
    fmt::print(stderr, "wrote {}: {} launches; next: hone optimize {}\n", output,
               task->reference.launches.size(), output);
  }
  nlohmann::json parameters = nlohmann::json::object();
  for (const auto& [name, buffer] : imported->parameters) parameters[name] = buffer;
  const nlohmann::json document = {{"file", output},
                                   {"task_hash", task->hash()},
                                   {"math", to_string(task->math)},
                                   {"launches", task->reference.launches.size()},
                                   {"arguments", imported->arguments},
                                   {"results", imported->results},
                                   {"draws", imported->draws},
                                   {"parameters", parameters}};
  if (compared) return tell(options, *compared, document);
  return common.write_json(document) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace import_command

Registration add_import(CLI::App& root) {
  using namespace import_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "import", "Write a PyTorch module as a task: what torch.export.save wrote, without Python");
  app->add_option("FILE", options->file, "A .pt2 file: torch.export.save(program, FILE)")
      ->required();
  app->add_option("-o,--output", options->output,
                  "Write to FILE, or to stdout for '-'; default: NAME.task.cu beside it")
      ->type_name("FILE|-");
  app->add_option(
         "--verify", options->recorded,
         "Run it on DIR/inputs/N.bin and compare with DIR/outputs/N.bin: raw elements of "
         "the module's N-th tensor argument and result; DIR/draws/N.bin, where it is there, "
         "is what the N-th random operation drew. What the module changes is compared with "
         "DIR/mutated/NAME.bin, where it is there: NAME in the module's state ('bn.running_mean') "
         "or "
         "the number of the tensor argument, as it is afterwards")
      ->type_name("DIR");
  app->add_option("--parts", options->parts,
                  "Cut the module into several tasks, and write them to DIR; --json tells how they "
                  "fit together and what PyTorch computes still")
      ->type_name("DIR")
      ->excludes("--output")
      ->excludes("--verify");
  app->add_option("--loops", options->cut.most_loops,
                  "With --parts: operations with loops in one part, at most (products, "
                  "convolutions, reductions)")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option(
         "--math", options->math,
         "How far candidates may depart from the module's arithmetic (candidates/TASK.md); "
         "default: reassociate")
      ->type_name("LEVEL")
      ->check(CLI::IsMember(math_level_names()));
  app->add_option("--convolution-math", options->convolution_math,
                  "A looser level of tasks with convolutions of f32")
      ->type_name("LEVEL")
      ->check(CLI::IsMember(math_level_names()));
  app->add_option(
         "--product-math", options->product_math,
         "A looser level of tasks with products of matrices, attention or recurrent cells of f32")
      ->type_name("LEVEL")
      ->check(CLI::IsMember(math_level_names()));
  app->add_option("--recurrent-math", options->recurrent_math,
                  "A looser level of tasks with an LSTM, a GRU or a plain recurrent network of f32")
      ->type_name("LEVEL")
      ->check(CLI::IsMember(math_level_names()));
  options->device.add_to(*app);
  app->add_flag("--force", options->force, "Overwrite the output file if it is there");
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
