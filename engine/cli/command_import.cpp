#include <fmt/core.h>

#include <filesystem>

#include "candidates/pytorch/import.h"
#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/search/single/recorded.h"

namespace hone::cli {
namespace import_command {
namespace {

struct Options {
  Common common;
  std::string file;
  std::string output;
  std::string recorded;  ///< a folder
  DeviceOptions device;
  bool force = false;
};

/// The imported program's answers beside PyTorch's.
int verify(const Options& options, Task task, const pytorch::Imported& imported,
           nlohmann::json document) {
  const Common& common = options.common;
  // The device's children may read what buffers are filled from.
  const RecordedBuffers buffers = {imported.arguments, imported.results, imported.draws,
                                   imported.parameters};
  const std::vector<std::string> files = recorded_files(options.recorded, buffers);
  auto device = open_device(options.device, task, MissingLayers::kUntold, files);
  if (!device) return common.fail(device.error());
  const auto result = compare_with_recorded(task, options.recorded, buffers, *device->evaluator,
                                            device->spec.modelled());
  if (!result) return common.fail(result.error());
  const bool ok = result->verdict == Verdict::kOk;
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  if (ok) {
    fmt::print(out, "agrees with {} on {}: max error {:.1e}\n", options.recorded,
               device->spec.text(), result->max_rel_error);
  } else {
    fmt::print(out, "{}: {}\n", to_string(result->verdict), result->detail);
  }
  document["verdict"] = to_string(result->verdict);
  document["detail"] = result->detail;
  document["max_rel_error"] = result->max_rel_error;
  if (!common.write_json(document)) return kEnvironmentLacks;
  return ok ? kDone : kCheckFailed;
}

int run(const Options& options) {
  namespace fs = std::filesystem;
  const Common& common = options.common;
  const fs::path path(options.file);
  std::string output = options.output;
  if (output.empty()) output = (path.parent_path() / (path.stem().string() + ".task.cu")).string();
  if (output != "-" && !options.force && fs::exists(output)) {
    return common.fail({ErrorCode::kInvalidInput,
                        fmt::format("{}: exists already; --force overwrites it", output)});
  }
  // Names in a task are relative to its folder.
  const fs::path folder = output == "-" ? fs::current_path() : fs::absolute(output).parent_path();
  const auto imported =
      pytorch::import_pt2(path, fs::absolute(path).lexically_relative(folder).string());
  if (!imported) return common.fail(imported.error());
  const auto task =
      parse_task(imported->text, output == "-" ? fs::path("task.cu") : fs::path(output));
  if (!task) return common.fail(task.error());
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
                                   {"launches", task->reference.launches.size()},
                                   {"arguments", imported->arguments},
                                   {"results", imported->results},
                                   {"draws", imported->draws},
                                   {"parameters", parameters}};
  if (!options.recorded.empty()) return verify(options, *task, *imported, document);
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
  options->device.add_to(*app);
  app->add_flag("--force", options->force, "Overwrite the output file if it is there");
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
