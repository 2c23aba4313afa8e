#include "engine/cli/command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>

#include "engine/results/text.h"
#include "engine/rewriting/remote_rewriting.h"
#include "evaluator/device/emulator/profile_file.h"
#include "sandbox/kept_programs.h"

namespace hone::cli {
namespace {

std::string_view code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
      return "invalid_input";
    case ErrorCode::kTaskFailed:
      return "task_failed";
    case ErrorCode::kEnvironment:
      return "environment";
    case ErrorCode::kInfrastructure:
      return "infrastructure";
    case ErrorCode::kRefused:
      return "refused";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace

int exit_status(const Error& error) {
  switch (error.code) {
    case ErrorCode::kTaskFailed:
    case ErrorCode::kRefused:
      return kCheckFailed;
    case ErrorCode::kInvalidInput:
      return kUsage;
    case ErrorCode::kEnvironment:
    case ErrorCode::kInfrastructure:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return kEnvironmentLacks;
  }
  return kEnvironmentLacks;
}

Result<void> write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text << std::flush;
    if (!std::cout)
      return hone::fail(ErrorCode::kIo, "standard output: " + std::string(std::strerror(errno)));
    return {};
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    return hone::fail(ErrorCode::kIo,
                      fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
  return {};
}

Result<void> check_writable(const std::string& path) {
  if (path == "-") return {};
  const bool was_there = std::filesystem::exists(path);
  std::ofstream file(path, std::ios::binary | std::ios::app);  // leaves what is in it
  if (!file) {
    return hone::fail(ErrorCode::kIo,
                      fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
  file.close();
  std::error_code code;
  if (!was_there) std::filesystem::remove(path, code);
  return {};
}

Result<void> Common::check_json() const {
  if (json.empty() || json_on_stdout()) return {};
  return check_writable(json);
}

bool Common::write_json(const nlohmann::json& document) const {
  if (json.empty()) return true;
  const auto text =
      document.dump(json == "-" ? -1 : 2, ' ', false, nlohmann::json::error_handler_t::replace);
  if (auto written = write_text(json, text + "\n"); !written) {
    fmt::print(stderr, "hone: {}\n", written.error().message);
    return false;
  }
  return true;
}

int Common::fail(const Error& error) const {
  fmt::print(stderr, "hone: {}\n", error.message);
  (void)write_json({{"error", {{"code", code_name(error.code)}, {"message", error.message}}}});
  return exit_status(error);
}

void add_json_option(CLI::App& app, Common& common) {
  app.add_option("--json", common.json,
                 "Write the result as one JSON document to FILE, or to stdout for '-'")
      ->type_name("FILE|-");
}

void warn_on_stderr(const std::string& line) { fmt::print(stderr, "hone: {}\n", line); }

void DeviceOptions::add_to(CLI::App& app, const std::string& otherwise) {
  app.add_option(
         "--device", device,
         "cuda:N, a GPU of this machine; cuda:0,2 or cuda:all, several GPUs of one model, on "
         "which one search works; or emu:sm_XX or emu:sm_XX/NAME, an emulated one, of which "
         "every number is modelled; default: " +
             otherwise)
      ->type_name("DEVICE");
  app.add_option(
         "--profile", profile,
         "What the emulated device is like: a file that `hone calibrate -o FILE` wrote on a GPU")
      ->type_name("FILE");
  app.add_option("--compile-processes", compile_processes,
                 "How many programs are compiled at once; 0: one per core, at most 16")
      ->check(CLI::Range(0, 256))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--check-processes", check_processes,
                 "How many emulated checks run at once; 0: one per core, at most 16")
      ->check(CLI::Range(0, 256))
      ->type_name("N")
      ->capture_default_str();
  add_sandbox_option(app, sandbox);
}

void add_sandbox_option(CLI::App& app, sandbox::Mode& mode) {
  app.add_option_function<std::string>(
         "--sandbox",
         [&mode](const std::string& text) {
           const auto parsed = sandbox::parse_mode(text);
           if (!parsed) throw CLI::ValidationError("--sandbox", parsed.error().message);
           mode = *parsed;
         },
         "How the processes that compile and run kernels are confined: strict (every layer of the "
         "sandbox, or an error), best-effort (every layer that this machine grants; `hone doctor` "
         "lists them), off (for debugging only)")
      ->type_name("MODE")
      ->check(CLI::IsMember({"strict", "best-effort", "off"}))
      ->default_str(std::string(to_string(mode)));
}

namespace {

Result<std::shared_ptr<const emulator::ProfileFile>> read_profile(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code))
    return invalid(fmt::format("{}: is a folder; --profile takes a file", path));
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) return invalid(fmt::format("{}: cannot be read", path));
  auto profile = emulator::parse_profile(text, path);
  if (!profile) return std::unexpected(profile.error());
  if (emulator::find_profile(profile->profile.arch) == nullptr) {
    return invalid(fmt::format("{}: arch: {} is not emulated", path, profile->profile.arch));
  }
  return std::make_shared<emulator::ProfileFile>(std::move(*profile));
}

}  // namespace

std::unique_ptr<Rewriting> open_rewriting(sandbox::Mode sandbox, MissingLayers layers,
                                          std::function<void(const std::string&)> warn,
                                          const Placement& placement) {
  RemoteRewritingOptions options;
  options.placement = placement;
  options.sandbox = sandbox;
  options.tell_missing_layers = layers == MissingLayers::kTold;
  options.warn = std::move(warn);
  options.program = sandbox::executable();  // under any name
  return std::make_unique<RemoteRewriting>(options);
}

Result<OpenDevice> open_device(const DeviceOptions& options, const Task& task, MissingLayers layers,
                               const std::vector<std::string>& more_files) {
  EvaluatorOptions evaluator_options;
  evaluator_options.input_files = task.input_files();
  evaluator_options.input_files.insert(evaluator_options.input_files.end(), more_files.begin(),
                                       more_files.end());
  evaluator_options.sandbox = options.sandbox;
  evaluator_options.check_timeout_s = options.check_timeout_s;
  evaluator_options.warn = warn_on_stderr;
  evaluator_options.tell_missing_layers = layers == MissingLayers::kTold;
  evaluator_options.compile_processes = options.compile_processes;
  evaluator_options.check_processes = options.check_processes;
  evaluator_options.compile_cache = default_compile_cache();
  std::string device = options.device;
  if (!options.profile.empty()) {
    auto profile = read_profile(options.profile);
    if (!profile) return std::unexpected(profile.error());
    const std::string arch = (*profile)->profile.arch;
    if (device.empty() || device == "emu") device = "emu:" + arch;
    if (device != "emu:" + arch) {
      return invalid(fmt::format("{} is a profile of an emulated {}: --device must be emu:{}",
                                 options.profile, arch, arch));
    }
    evaluator_options.profile = std::move(*profile);
  }
  const auto open = [&](std::string_view text) -> Result<OpenDevice> {
    auto spec = DeviceSpec::parse(text);
    if (!spec) return std::unexpected(spec.error());
    spec = with_gpus_named(*spec, evaluator_options);
    if (!spec) return std::unexpected(spec.error());
    evaluator_options.placement = placement_of(*spec, evaluator_options);
    auto evaluator = Evaluator::open(*spec, evaluator_options);
    if (!evaluator) return std::unexpected(evaluator.error());
    spec->arch = (*evaluator)->info().arch;
    return OpenDevice{
        *spec, std::move(*evaluator),
        open_rewriting(options.sandbox, layers, warn_on_stderr, evaluator_options.placement)};
  };
  if (!device.empty()) return open(device);
  // A machine with an NVIDIA device node is a GPU node: its errors must not be hidden.
  if (std::filesystem::exists("/dev/nvidiactl")) return open("cuda:0");
  return open("emu:sm_90");
}

void DatabaseOptions::add_to(CLI::App& app) {
  app.add_option("--db", path,
                 "The results database; default: hone/hone.db in $XDG_DATA_HOME or ~/.local/share")
      ->type_name("FILE");
}

Result<std::unique_ptr<Store>> DatabaseOptions::open() const {
  return Store::open(path.empty() ? Store::default_path() : std::filesystem::path(path));
}

namespace {

Result<std::unique_ptr<Store>> open_there(const DatabaseOptions& of, bool read_only) {
  const auto file = of.path.empty() ? Store::default_path() : std::filesystem::path(of.path);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return invalid(fmt::format("{}: there is no database here; `hone optimize TASK{}` makes one",
                               file.string(), of.as_typed()));
  }
  StoreOptions options;
  options.read_only = read_only;
  return Store::open(file, options);
}

}  // namespace

Result<std::unique_ptr<Store>> DatabaseOptions::open_existing() const {
  return open_there(*this, true);
}

Result<std::unique_ptr<Store>> DatabaseOptions::open_existing_to_write() const {
  return open_there(*this, false);
}

MissingLayers DatabaseOptions::missing_layers() const {
  const auto file = path.empty() ? Store::default_path() : std::filesystem::path(path);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return MissingLayers::kTold;
  StoreOptions reading;
  reading.read_only = true;
  const auto store = Store::open(file, reading);
  if (!store) return MissingLayers::kUntold;  // opening it to write says why
  RunFilter one;
  one.limit = 1;
  const auto runs = (*store)->runs(one);
  return runs && runs->empty() ? MissingLayers::kTold : MissingLayers::kUntold;
}

std::string DatabaseOptions::as_typed() const {
  return path.empty() ? "" : " --db " + shell_word(path);
}

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-_./:@%+=,").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool colours_by_default() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

std::string format_time(double time_us) { return results::time_text(time_us); }

}  // namespace hone::cli
