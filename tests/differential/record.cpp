// Runs every case on a real GPU and writes what it wrote. The work is done by child processes: a
// kernel that faults, hangs or does not load costs its own case only.
//   differential_record OUT.bin [NAME_PART]   records
//   differential_record --emulate [NAME_PART] runs the cases on the emulator, says which fail
//   differential_record --dump NAME_PART      prints what the emulator makes of the cases
//   differential_record --ptx FOLDER          writes every case's PTX
//   differential_record --compare OUT.bin [NAME_PART]  compares with a recording
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "evaluator/device/cuda/driver.h"
#include "tests/differential/case.h"
#include "tests/differential/recording.h"

namespace hone::differential {
namespace {

using cuda::Driver;

std::vector<Case> chosen(const std::string& part) {
  std::vector<Case> cases;
  for (Case& c : all_cases())
    if (part.empty() || c.name.find(part) != std::string::npos) cases.push_back(std::move(c));
  return cases;
}

struct Context {
  const Driver* driver = nullptr;
  CUstream stream = nullptr;
  std::string device;
};

std::string open(Context& context) {
  const auto& driver = Driver::get();
  if (!driver) return driver.error().message;
  context.driver = &*driver;
  CUdevice device = 0;
  CUcontext handle = nullptr;
  char name[256] = {};
  if (driver->device_get(&device, 0) != CUDA_SUCCESS ||
      driver->primary_ctx_retain(&handle, device) != CUDA_SUCCESS ||
      driver->ctx_set_current(handle) != CUDA_SUCCESS ||
      driver->stream_create(&context.stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
    return "the GPU cannot be opened";
  (void)driver->device_get_name(name, sizeof name, device);
  context.device = fmt::format("{}, driver {}", name, driver->version());
  return {};
}

/// Empty when `outputs` holds what the kernel wrote. `lost`: this process is of no more use.
std::string run_case(const Context& context, const Case& c, std::vector<std::uint8_t>& outputs,
                     bool& lost) {
  const Driver& d = *context.driver;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (const CUresult r = d.module_load_data(&module, c.ptx.c_str()); r != CUDA_SUCCESS)
    return "load: " + d.describe(r);
  if (const CUresult r = d.module_get_function(&function, module, "k"); r != CUDA_SUCCESS)
    return "no kernel k: " + d.describe(r);
  if (c.shared_bytes > 48 * 1024)
    (void)d.func_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               static_cast<int>(c.shared_bytes));
  std::vector<std::uint64_t> parameters;
  for (const Buffer& b : c.buffers) {
    CUdeviceptr at = 0;
    if (d.mem_alloc(&at, b.bytes) != CUDA_SUCCESS) return "out of memory";
    const std::vector<std::uint8_t> bytes = contents(b);
    if (d.memcpy_htod_async(at, bytes.data(), bytes.size(), context.stream) != CUDA_SUCCESS ||
        d.stream_synchronize(context.stream) != CUDA_SUCCESS)
      return "an input cannot be written";
    parameters.push_back(at);
  }
  const std::vector<std::uint64_t> addresses = parameters;
  parameters.insert(parameters.end(), c.words.begin(), c.words.end());
  std::size_t bytes = parameters.size() * 8;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &bytes, CU_LAUNCH_PARAM_END};
  if (const CUresult r =
          d.launch_kernel(function, c.grid[0], c.grid[1], c.grid[2], c.block[0], c.block[1],
                          c.block[2], c.shared_bytes, context.stream, nullptr, extra);
      r != CUDA_SUCCESS)
    return "launch: " + d.describe(r);
  const auto start = std::chrono::steady_clock::now();
  CUresult state = CUDA_ERROR_NOT_READY;
  while ((state = d.stream_query(context.stream)) == CUDA_ERROR_NOT_READY) {
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(5)) {
      lost = true;
      return "hangs";
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (state != CUDA_SUCCESS) {
    lost = true;
    return "run: " + d.describe(state);
  }
  for (std::size_t i = 0; i < c.buffers.size(); ++i) {
    if (c.buffers[i].output) {
      std::vector<std::uint8_t> got(c.buffers[i].bytes);
      if (d.memcpy_dtoh_async(got.data(), addresses[i], got.size(), context.stream) !=
              CUDA_SUCCESS ||
          d.stream_synchronize(context.stream) != CUDA_SUCCESS) {
        lost = true;
        return "an output cannot be read";
      }
      outputs.insert(outputs.end(), got.begin(), got.end());
    }
    (void)d.mem_free(addresses[i]);
  }
  (void)d.module_unload(module);
  return {};
}

/// Child: cases from `first` on, until one loses the context. Writes PART and PART.failed.
int child(const std::vector<Case>& cases, std::size_t first, const std::string& part) {
  Context context;
  if (const std::string why = open(context); !why.empty()) {
    fmt::print(stderr, "{}\n", why);
    return 3;
  }
  Recording recording;
  recording.device = context.device;
  std::ofstream failed(part + ".failed");
  std::size_t next = first;
  for (; next < cases.size(); ++next) {
    Record record;
    record.fingerprint = fingerprint(cases[next]);
    bool lost = false;
    const std::string why = run_case(context, cases[next], record.outputs, lost);
    if (why.empty())
      recording.records[cases[next].name] = std::move(record);
    else
      failed << cases[next].name << "\t" << why << "\n";
    if (lost) {
      ++next;
      break;
    }
  }
  std::ofstream(part + ".next") << next;
  failed.close();
  if (!write_recording(part, recording)) return 1;
  _exit(0);  // not through the driver's own clean-up: it waits for a kernel that hangs
}

int record(const std::string& path, const std::string& name_part) {
  const std::vector<Case> cases = chosen(name_part);
  Recording all;
  std::vector<std::string> failures;
  std::size_t next = 0;
  while (next < cases.size()) {
    const std::string part = path + ".part";
    for (const char* end : {"", ".failed", ".next"}) std::filesystem::remove(part + end);
    const pid_t pid = fork();
    if (pid == 0) return child(cases, next, part);
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) return 3;
    const auto got = read_recording(part);
    std::size_t reached = next + 1;
    std::ifstream(part + ".next") >> reached;
    if (got) {
      all.device = got->device;
      for (const auto& [name, r] : got->records) all.records[name] = r;
      std::ifstream failed(part + ".failed");
      for (std::string line; std::getline(failed, line);) failures.push_back(line);
    } else {
      failures.push_back(
          fmt::format("{}\tthe recorder died at or after this case", cases[next].name));
    }
    next = std::max(reached, next + 1);
    for (const char* end : {"", ".failed", ".next"}) std::filesystem::remove(part + end);
  }
  if (const auto written = write_recording(path, all); !written) {
    fmt::print(stderr, "{}\n", written.error().message);
    return 1;
  }
  fmt::print("{} of {} cases recorded on {}\n", all.records.size(), cases.size(), all.device);
  for (const std::string& f : failures) fmt::print("FAILED {}\n", f);
  return 0;
}

int emulate_all(const std::string& part, const std::string& against) {
  Recording recording;
  if (!against.empty()) {
    auto read = read_recording(against);
    if (!read) {
      fmt::print(stderr, "{}\n", read.error().message);
      return 1;
    }
    recording = std::move(*read);
  }
  int bad = 0;
  std::size_t bytes = 0;
  const std::vector<Case> cases = chosen(part);
  for (const Case& c : cases) {
    const Emulated e = emulate(c);
    std::string why = e.ok ? "" : e.detail;
    bytes += e.outputs.size();
    if (e.ok && !against.empty()) {
      const auto found = recording.records.find(c.name);
      if (found == recording.records.end())
        why = "not recorded";
      else if (found->second.fingerprint != fingerprint(c))
        why = "recorded from another text";
      else
        why = compare(c, found->second.outputs, e.outputs);
    }
    if (why.empty()) continue;
    ++bad;
    fmt::print("{}: {}\n", c.name, why);
  }
  fmt::print("{} cases, {} fail, {} B of outputs\n", cases.size(), bad, bytes);
  return bad ? 1 : 0;
}

/// The outputs of one case on the emulator, as words.
int dump(const std::string& part) {
  for (const Case& c : chosen(part)) {
    const Emulated e = emulate(c);
    fmt::print("{} {}\n", c.name, e.ok ? "" : e.detail);
    for (std::size_t i = 0; i + 4 <= e.outputs.size(); i += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, e.outputs.data() + i, 4);
      fmt::print("{} {:#x}\n", i / 4, word);
    }
  }
  return 0;
}

int write_ptx(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const Case& c : all_cases()) {
    std::string name = c.name;
    for (char& ch : name)
      if (ch == '/') ch = '-';
    std::ofstream(folder + "/" + name + ".ptx") << c.ptx;
  }
  return 0;
}

}  // namespace
}  // namespace hone::differential

int main(int argc, char** argv) {
  using namespace hone::differential;
  const std::string first = argc > 1 ? argv[1] : "";
  const auto argument = [&](int i) { return argc > i ? std::string(argv[i]) : std::string(); };
  if (first == "--emulate") return emulate_all(argument(2), "");
  if (first == "--compare") return emulate_all(argument(3), argument(2));
  if (first == "--dump") return dump(argument(2));
  if (first == "--ptx") return write_ptx(argument(2));
  if (first.empty() || first[0] == '-') {
    std::fputs("usage: differential_record OUT.bin [NAME_PART]\n", stderr);
    return 2;
  }
  return record(first, argument(2));
}
