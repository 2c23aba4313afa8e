#include "evaluator/compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "candidates/std_headers.h"
#include "evaluator/compile/include_check.h"
#include "evaluator/compile/locate.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/compile/ptx_entries.h"
#include "evaluator/compile/ptxas_log.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/sass/code_hash.h"

namespace hone::compile {
namespace {

constexpr std::size_t kMaxSource = 4U << 20;  // [B]
constexpr std::size_t kMaxLog = 64U << 10;    // [B]
constexpr const char* kFileName = "kernel.cu";

CompiledProgram failed(std::string log) {
  CompiledProgram out;
  out.verdict = Verdict::kCompileError;
  out.log = protocol::clean_text(log, kMaxLog);
  return out;
}

int arch_number(const std::string& arch) {
  int value = 0;
  if (arch.starts_with("sm_")) std::from_chars(arch.data() + 3, arch.data() + arch.size(), value);
  return value;
}

constexpr const char* kFast = "--Ofast-compile=mid";

/// Whether this NVRTC knows kFast; older ones refuse an option that they do not know.
bool compiles_fast(const Nvrtc& nvrtc) {
  static const bool known = [&] {
    nvrtcProgram program = nullptr;
    if (nvrtc.create_program(&program, "", "empty.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
      return false;
    const char* options[] = {kFast};
    const bool taken = nvrtc.compile_program(program, 1, options) == NVRTC_SUCCESS;
    nvrtc.destroy_program(&program);
    return taken;
  }();
  return known;
}

std::vector<std::string> options_for(const CompileJob& job, const Nvrtc& nvrtc) {
  std::vector<std::string> options;
  const int arch = arch_number(job.arch);
  // One compile for a real architecture yields PTX and machine code; an architecture that this
  // NVRTC has no back end for still gets PTX. Code never leaves the architecture it is compiled
  // for, so from sm_90 on it may use what only that one has ("a": wgmma, setmaxnreg).
  const bool machine_code = nvrtc.supports(arch) && job.code_for != CodeFor::kEmulator;
  options.push_back(fmt::format("--gpu-architecture={}{}{}", machine_code ? "sm_" : "compute_",
                                arch, arch >= 90 ? "a" : ""));
  options.insert(options.end(),
                 {"-std=c++20", "--generate-line-info", "-default-device", "--ptxas-options=-v"});
  // nvcc includes its run-time header, and with it math.h's macros, in every file.
  options.push_back("--pre-include=math.h");
  if (job.exact_math) options.push_back("--fmad=false");
  // Compiled fast, arrays stay in memory, and what a wgmma writes is read before it was waited for.
  const bool asynchronous = job.source.contains("wgmma.mma_async");
  if (job.code_for != CodeFor::kTiming && !asynchronous && compiles_fast(nvrtc))
    options.push_back(kFast);
  for (const auto& folder : include_path()) options.push_back("-I" + folder.string());
  for (const auto& [name, value] : job.defines) options.push_back("-D" + name + "=" + value);
  return options;
}

/// One NVRTC program; destroyed with it.
class Build {
 public:
  explicit Build(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  ~Build() {
    if (program_ != nullptr) nvrtc_.destroy_program(&program_);
  }
  Build(const Build&) = delete;
  Build& operator=(const Build&) = delete;

  nvrtcResult run(const CompileJob& job, const std::vector<std::string>& kernels,
                  const std::vector<std::string>& options) {
    std::vector<const char*> names, texts, argv;
    for (const auto& header : std_headers()) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    for (const auto& option : options) argv.push_back(option.c_str());
    nvrtcResult r =
        nvrtc_.create_program(&program_, job.source.c_str(), kFileName,
                              static_cast<int>(names.size()), texts.data(), names.data());
    if (r != NVRTC_SUCCESS) return r;
    for (const auto& kernel : kernels) {
      r = nvrtc_.add_name_expression(program_, kernel.c_str());
      if (r != NVRTC_SUCCESS) return r;
    }
    return nvrtc_.compile_program(program_, static_cast<int>(argv.size()), argv.data());
  }

  [[nodiscard]] std::string log() const {
    return text(nvrtc_.get_program_log_size, nvrtc_.get_program_log);
  }
  [[nodiscard]] std::string ptx() const {
    std::string out = text(nvrtc_.get_ptx_size, nvrtc_.get_ptx);
    while (!out.empty() && out.back() == '\0') out.pop_back();
    return out;
  }
  [[nodiscard]] std::string cubin() const { return text(nvrtc_.get_cubin_size, nvrtc_.get_cubin); }
  [[nodiscard]] std::string lowered(const std::string& name) const {
    const char* lowered = nullptr;
    if (nvrtc_.get_lowered_name(program_, name.c_str(), &lowered) != NVRTC_SUCCESS) return {};
    return lowered != nullptr ? lowered : "";
  }

 private:
  template <class Size, class Get>
  std::string text(Size size_of, Get get) const {
    std::size_t size = 0;
    if (program_ == nullptr || size_of(program_, &size) != NVRTC_SUCCESS || size == 0) return {};
    std::string out(size, '\0');
    if (get(program_, out.data()) != NVRTC_SUCCESS) return {};
    return out;
  }

  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

std::string strip_nul(std::string text) {
  std::erase(text, '\0');
  return text;
}

/// "foo" of "ns::foo<float>"
std::string base_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('<'));
  if (const auto colon = kernel.rfind("::"); colon != kernel.npos)
    kernel = kernel.substr(colon + 2);
  return std::string(kernel);
}

std::string missing_kernel(const std::string& name, std::string_view source,
                           const std::vector<PtxEntry>& entries) {
  std::string known;
  std::set<std::string> seen;
  for (const auto& entry : entries) {
    std::string text = demangle(entry.name);
    text = text.substr(0, text.find('('));
    if (text.starts_with("void ")) text = text.substr(5);
    if (seen.insert(text).second) known += (known.empty() ? "" : ", ") + text;
  }
  if (source.find(base_name(name)) != source.npos && known.empty())
    return fmt::format(
        "no __global__ function '{}' in the source (a kernel must be declared "
        "__global__; name a template's instance as in 'scale<float>')",
        name);
  return fmt::format("no kernel '{}' in the source; {}", name,
                     known.empty() ? "it defines no __global__ function that is not a template"
                                   : "it has: " + known);
}

CompiledProgram without_kernel(std::string log) {
  CompiledProgram out = failed(std::move(log));
  out.missing_kernel = true;
  return out;
}

/// A compile with name expressions failed: is the source at fault, or one of the names? `log` is
/// the failed compile's.
CompiledProgram explain_failure(const CompileJob& job, const Nvrtc& nvrtc,
                                const std::vector<std::string>& options, const std::string& log) {
  Build plain(nvrtc);
  if (plain.run(job, {}, options) != NVRTC_SUCCESS) return failed(log);
  const auto entries = ptx_entries(plain.ptx());
  for (const auto& kernel : job.kernels) {
    Build one(nvrtc);
    if (one.run(job, {kernel}, options) == NVRTC_SUCCESS) continue;
    const std::string own_log = strip_nul(one.log());
    if (own_log.find("is undefined") != own_log.npos ||
        own_log.find("has no member") != own_log.npos ||
        own_log.find("expected an expression") != own_log.npos)
      return without_kernel(missing_kernel(kernel, job.source, entries));
    return without_kernel(
        fmt::format("kernel '{}' cannot be named: {}", kernel, first_error(own_log, {})));
  }
  return failed(log);
}

/// Kernels by the names in the PTX, for names that mean another function too ("norm", which CUDA's
/// math has as well) and so are no name expressions. Empty unless each has exactly one entry.
std::map<std::string, std::string> lowered_by_entries(const std::vector<std::string>& kernels,
                                                      const std::vector<PtxEntry>& entries) {
  std::map<std::string, std::string> lowered;
  for (const auto& kernel : kernels) {
    for (const auto& entry : entries) {
      const std::string text = demangle(entry.name);
      if (text.substr(0, text.find('(')) != kernel) continue;
      if (!lowered.emplace(kernel, entry.name).second) return {};
    }
    if (!lowered.contains(kernel)) return {};
  }
  return lowered;
}

bool valid_name_expression(std::string_view name) {
  return !name.empty() && name.size() < 512 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c < 0x7F; });
}

}  // namespace

std::string first_error(std::string_view log, std::string_view source) {
  std::string_view rest = log;
  std::string_view chosen;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const auto line = rest.substr(0, end);
    if (line.find("error") != line.npos) {
      chosen = line;
      break;
    }
    if (chosen.empty() && line.find_first_not_of(" \t") != line.npos) chosen = line;
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  if (chosen.empty()) return "the compiler gave no reason";
  // "kernel.cu(12): error: …" and, in headers, "/…/cuda_fp16.h(12): error: …"
  const std::string prefix = std::string(kFileName) + "(";
  if (!chosen.starts_with(prefix)) return std::string(chosen);
  int number = 0;
  const auto digits = chosen.substr(prefix.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  std::string_view message = chosen;
  if (const auto at = chosen.find("error: "); at != chosen.npos) message = chosen.substr(at + 7);
  std::string out = fmt::format("line {}: {}", number, message);
  std::string_view text = source;
  for (int i = 1; i < number && !text.empty(); ++i) {
    const auto end = text.find('\n');
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  if (!text.empty()) out += fmt::format(": `{}`", text.substr(0, 120));
  return out;
}

CompiledProgram compile_program(const CompileJob& job) {
  const auto& loaded = Nvrtc::get();
  if (!loaded) return failed(loaded.error().message);
  const Nvrtc& nvrtc = *loaded;
  if (job.source.size() > kMaxSource)
    return failed(fmt::format("the source has {} bytes; at most {} are accepted", job.source.size(),
                              kMaxSource));
  if (job.source.find('\0') != job.source.npos) return failed("the source holds a NUL character");
  for (const auto& kernel : job.kernels) {
    if (!valid_name_expression(kernel)) return failed("a kernel name is empty or not printable");
  }
  if (auto found = find_forbidden_include(job.source, include_path())) return failed(*found);

  const auto options = options_for(job, nvrtc);
  std::optional<Build> build(std::in_place, nvrtc);
  const nvrtcResult result = build->run(job, job.kernels, options);
  std::string log = strip_nul(build->log());
  std::map<std::string, std::string> lowered;
  if (result != NVRTC_SUCCESS) {
    if (log.empty()) return failed(fmt::format("NVRTC: {}", nvrtc.get_error_string(result)));
    if (log.find("instance of overloaded function") != log.npos) {
      build.emplace(nvrtc);
      if (build->run(job, {}, options) == NVRTC_SUCCESS)
        lowered = lowered_by_entries(job.kernels, ptx_entries(build->ptx()));
    }
    if (lowered.empty()) return explain_failure(job, nvrtc, options, without_ptxas_info(log));
    log = strip_nul(build->log());
  }

  CompiledProgram out;
  out.ptx = build->ptx();
  out.cubin = build->cubin();
  out.log = protocol::clean_text(without_ptxas_info(log), kMaxLog);
  const auto entries = ptx_entries(out.ptx);
  const auto resources = parse_ptxas_log(log);
  const auto machine_code = sass::Cubin::read(out.cubin);
  for (const auto& name : job.kernels) {
    CompiledKernel kernel;
    kernel.name = name;
    kernel.lowered_name = lowered.empty() ? build->lowered(name) : lowered.at(name);
    const auto entry = std::find_if(entries.begin(), entries.end(), [&](const PtxEntry& e) {
      return e.name == kernel.lowered_name;
    });
    if (kernel.lowered_name.empty() || entry == entries.end())
      return without_kernel(missing_kernel(name, job.source, entries));
    kernel.parameters = entry->parameters;
    kernel.parameter_bytes = entry->parameter_bytes;
    kernel.marks_pointers = entry->marks_pointers;
    if (const auto found = resources.find(kernel.lowered_name); found != resources.end())
      kernel.resources = found->second;
    kernel.resources.kernel = name;
    kernel.resources.max_threads = entry->max_threads > 0 ? entry->max_threads : 1024;
    if (machine_code) kernel.code_hash = sass::code_hash(*machine_code, kernel.lowered_name);
    out.kernels.push_back(std::move(kernel));
  }
  out.verdict = Verdict::kOk;
  return out;
}

}  // namespace hone::compile
