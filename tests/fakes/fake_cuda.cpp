// A libcuda.so.1 without a GPU: device memory is host memory, the evaluator's own kernels are the
// CPU build of formula.h, and "candidates" are C++ functions chosen by the kernel's name. It lets
// the measure runner's whole logic (poison, guards, hashes, order of runs, verdicts, replacement)
// be tested where there is no GPU. It says nothing about real driver behaviour or speed.
//
// A file beside the library, its name and ".conf", makes it several GPUs. It has to be there when
// the library is loaded, and is read again whenever a device is asked for and a candidate launched:
//   gpus N            how many there are
//   speed GPU F       a kernel takes F times as long there
//   run_ms MS         of the real clock, for each run of a candidate at the timed size
//   hold              no such run ends while this line is there
//   model GPU NAME    another name
//   lost GPU [RUNS]   from then on launches fail there and it is not opened again; with RUNS: once
//                     the file of runs has so many bytes
//   sick GPU          launches of candidates at the timed size fault there, and it is opened again
//   sick_small GPU    the same at smaller sizes
//   pci GPU ADDRESS   "0000:03:00.0"
// A file with the ending ".runs" gets a byte for each run of a candidate at the timed size.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define HONE_FN static inline
#define HONE_LARGE_FN static inline
#include "evaluator/fill/formula.h"
#include "evaluator/fill/formula_compare.h"
#include "evaluator/fill/formula_contents.h"
#include "evaluator/fill/formula_related.h"

namespace {

using u64 = unsigned long long;

CUresult sticky = CUDA_SUCCESS;
bool hanging = false;
std::mutex of_allocated;
std::set<void*> allocated;         // a real context frees what is left
std::atomic<double> clock_us = 0;  // the fake's own time: makes timings exact
int loads = 0;
std::map<std::string, int> runs;    // at the timed size, of candidates named "..._run<number>"
std::atomic<bool> flushed = false;  // the L2, since a candidate's last run
thread_local CUcontext current = nullptr;
thread_local std::vector<CUcontext> pushed;
int kept = 0;  // how often the primary context was retained

struct FakeGpus {
  int count = 1;
  double run_ms = 0;
  bool held = false;
  std::string path;  ///< of the description
  std::map<int, double> speed;
  std::map<int, std::string> model, pci;
  std::set<int> lost, sick, sick_small;
};

std::string file_of_runs(const std::string& description) {
  return description.substr(0, description.size() - 5) + ".runs";
}

int runs_on_record(const std::string& description) {
  std::ifstream runs(file_of_runs(description), std::ios::ate);
  return runs ? static_cast<int>(runs.tellg()) : 0;
}

FakeGpus fake_gpus() {
  static const std::string described = [] {
    Dl_info self;
    if (dladdr(reinterpret_cast<void*>(&fake_gpus), &self) == 0) return std::string();
    const std::string path = std::string(self.dli_fname) + ".conf";
    return std::ifstream(path) ? path : std::string();
  }();
  FakeGpus gpus;
  if (described.empty()) return gpus;
  gpus.path = described;
  std::ifstream file(described);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what;
    int gpu = 0, after = 0;
    words >> what;
    if (what == "run_ms") {
      words >> gpus.run_ms;
      continue;
    }
    if (what == "hold") {
      gpus.held = true;
      continue;
    }
    words >> gpu;
    if (what == "gpus") gpus.count = gpu;
    if (what == "speed") words >> gpus.speed[gpu];
    if (what == "model") std::getline(words >> std::ws, gpus.model[gpu]);
    if (what == "pci") words >> gpus.pci[gpu];
    if (what == "lost" && (!(words >> after) || runs_on_record(described) >= after))
      gpus.lost.insert(gpu);
    if (what == "sick") gpus.sick.insert(gpu);
    if (what == "sick_small") gpus.sick_small.insert(gpu);
  }
  return gpus;
}

int opened_gpu = 0;  // a runner has one

/// For a test that asks what was launched: the last cuLaunchKernel of its thread.
struct LastLaunch {
  unsigned grid[3], block[3], shared_bytes;
  CUstream stream;
  CUcontext context;
};
thread_local LastLaunch last_launch{};
constexpr size_t kFlush = 64U << 20;  // bytes: what is set at once to flush it

/// A buffer that a candidate wrote so that its hash stays what it was, until it is filled again.
struct {
  const void* data = nullptr;
  std::vector<unsigned char> hashed_as;
} forged;

struct Event {
  double at_us = 0;
};
struct Module;
struct Function {
  std::string name;
  Module* module;
};
struct Module {
  std::atomic<int> launches = 0;
  std::vector<float> memory;  // its variables
  std::vector<Function*> functions;
};

template <class T>
T parameter(void** params, int i) {
  T value;
  std::memcpy(&value, params[i], sizeof value);
  return value;
}

u64 load(const unsigned char* data, u64 i, int size) {
  u64 bits = 0;
  std::memcpy(&bits, data + i * size, size);
  return bits;
}

bool helper(const std::string& name, void** p) {
  using Bytes = unsigned char*;
  if (name == "hone_fill_kernel") {
    auto* out = parameter<Bytes>(p, 0);
    if (out == forged.data) forged.data = nullptr;
    const auto f = parameter<hone_contents>(p, 3);
    const int size = hone_size(f.type);
    for (u64 i = 0; i < parameter<u64>(p, 1); ++i) {
      const u64 bits = hone_element(f, parameter<u64>(p, 2) + i);
      std::memcpy(out + i * size, &bits, size);
    }
  } else if (name == "hone_hash_kernel") {
    const auto* data = parameter<Bytes>(p, 0);
    if (data == forged.data) data = forged.hashed_as.data();
    const u64 bytes = parameter<u64>(p, 1);
    u64 sum = parameter<u64>(p, 3);
    for (u64 i = 0; i < bytes; ++i) sum = hone_mix(sum ^ data[i]);
    *parameter<u64*>(p, 2) += sum;
  } else if (name == "hone_mask_kernel") {
    const auto* in = parameter<Bytes>(p, 0);
    auto* out = parameter<Bytes>(p, 1);
    const u64 key = parameter<u64>(p, 3) ^ parameter<u64>(p, 4);
    for (u64 i = 0; i < parameter<u64>(p, 2); ++i)
      out[i] = static_cast<unsigned char>(in[i] ^ hone_mix(i + key));
  } else if (name == "hone_guard_kernel") {
    const auto* data = parameter<Bytes>(p, 0);
    for (u64 i = parameter<u64>(p, 1); i-- > 0;)
      if (data[i] != parameter<int>(p, 2)) *parameter<u64*>(p, 3) = i;
  } else if (name == "hone_unwritten_kernel") {
    const auto *a = parameter<Bytes>(p, 0), *b = parameter<Bytes>(p, 1);
    for (u64 i = parameter<u64>(p, 2); i-- > 0;)
      if (a[i] == parameter<int>(p, 3) && b[i] == parameter<int>(p, 4)) *parameter<u64*>(p, 5) = i;
  } else if (name == "hone_squares_kernel") {
    const auto* data = parameter<Bytes>(p, 0);
    const int type = parameter<int>(p, 2);
    double sum = 0, count = 0;
    for (u64 i = 0; i < parameter<u64>(p, 1); ++i) {
      const double v = hone_decode(type, load(data, i, hone_size(type)));
      if (!hone_is_finite(v, parameter<double>(p, 3))) continue;
      sum += v * v;
      count += 1;
    }
    *parameter<double*>(p, 4) = sum;
    *parameter<double*>(p, 5) = count;  // all in the first of the partial sums
  } else if (name == "hone_rms_kernel") {
    const double count = *parameter<double*>(p, 1);
    auto* rms = parameter<double*>(p, 3);
    rms[0] = count > 0 ? std::sqrt(*parameter<double*>(p, 0) / count) : 0;
    rms[2] = count;
  } else if (name == "hone_compare_kernel") {
    const auto *want = parameter<Bytes>(p, 0), *got = parameter<Bytes>(p, 2);
    const int want_type = parameter<int>(p, 1), type = parameter<int>(p, 3);
    auto* result = parameter<u64*>(p, 10);
    const auto* scale = parameter<double*>(p, 5);
    const auto enough = parameter<double>(p, 9) * static_cast<double>(parameter<u64>(p, 4));
    const int non_finite = scale[2] < enough ? HONE_NEVER : parameter<int>(p, 8);
    double squares = 0;
    for (u64 i = 0; i < parameter<u64>(p, 4); ++i) {
      int bad = 0;
      const u64 w = load(want, i, hone_size(want_type)), g = load(got, i, hone_size(type));
      const double error = hone_error(want_type, w, type, g, *scale, parameter<double>(p, 6),
                                      parameter<double>(p, 7), non_finite, &bad);
      const double difference = hone_decode(type, g) - hone_decode(want_type, w);
      if (std::isfinite(difference)) squares += difference * difference;
      std::memcpy(result + 4, &squares, sizeof squares);
      const u64 bits = __builtin_bit_cast(u64, error);
      if (bits > result[2]) result[2] = bits;
      if (std::isfinite(error) && bits > result[6]) result[6] = bits;
      if (!bad) continue;
      ++result[0];
      if (i < result[1]) result[1] = i;
    }
  } else if (name == "hone_local_kernel") {
    // Nothing that is right as a whole is wrong in a part here: tests of the rule run elsewhere.
  } else if (name == "hone_non_finite_kernel") {
    const auto* data = parameter<Bytes>(p, 0);
    const int type = parameter<int>(p, 2);
    auto* result = parameter<u64*>(p, 3);
    for (u64 i = parameter<u64>(p, 1); i-- > 0;) {
      const double v = hone_decode(type, load(data, i, hone_size(type)));
      if (hone_is_finite(v, hone_limit(type))) continue;
      ++result[0];
      result[1] = i;
    }
  } else if (name == "hone_read_kernel") {
    clock_us += 1000;
  } else {
    return false;
  }
  return true;
}

float to_bf16(float v) {
  return std::bit_cast<float>(hone_f32_to_bf16(std::bit_cast<hone_u32>(v)) << 16);
}

float to_tf32(float v) {
  return std::bit_cast<float>(hone_f32_to_tf32(std::bit_cast<hone_u32>(v)));
}

// Candidates: name(const float* x, float* y, int n), all meant to compute y = 2 x. Of what is read
// in double the mangled name says so.
CUresult candidate(Function& function, const unsigned char* block) {
  const std::string& name = function.name;
  float *x, *y;
  int n;
  std::memcpy(&x, block, 8);
  std::memcpy(&y, block + 8, 8);
  std::memcpy(&n, block + 16, 4);
  const auto is = [&](const char* what) { return name.find(what) != std::string::npos; };
  bool timed = n > 100000;
  // Misbehaves in that one run.
  if (const auto at = name.find("_run"); at != std::string::npos && timed)
    timed = ++runs[name] == std::atoi(name.c_str() + at + 4);
  while (n > 100000 && fake_gpus().held) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const FakeGpus gpus = fake_gpus();
  if (n > 100000)
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(gpus.run_ms));
  if (n > 100000 && !gpus.path.empty()) {
    if (std::fstream runs(file_of_runs(gpus.path), std::ios::in | std::ios::out | std::ios::ate);
        runs)
      runs << '.';
  }
  if (gpus.lost.contains(opened_gpu)) return sticky = CUDA_ERROR_UNKNOWN;
  if ((n > 100000 ? gpus.sick : gpus.sick_small).contains(opened_gpu))
    return sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
  const int launch = function.module->launches++;
  const bool cold = flushed.exchange(false);
  auto& memory = function.module->memory;
  if (is("keep") && timed && !memory.empty()) {  // what it answered first, in no time
    std::memcpy(y, memory.data(), memory.size() * sizeof(float));
    clock_us += 10;
    return CUDA_SUCCESS;
  }
  const auto slower = gpus.speed.find(opened_gpu);
  const double took_us = is("naive")  ? is("cached") && !cold ? 25'000 : 50'000
                         : is("slow") ? 400
                         : is("quick") || (is("cached") && !cold) ? 50
                                                                  : 100;
  clock_us += took_us * (slower != gpus.speed.end() ? slower->second : 1);
  // "naive_takes700": so many milliseconds at the timed size, of the real clock, too.
  if (const auto at = name.find("_takes"); at != std::string::npos && n > 100000) {
    const int ms = std::atoi(name.c_str() + at + 6);
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    clock_us += 1e3 * ms - 50'000;
  }
  if (is("fault") && timed) return sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
  if (is("hang") && timed) {
    hanging = true;
    return CUDA_SUCCESS;
  }
  // In a process whose first program it is: one that replaces another.
  if (is("grudge") && timed && loads <= 2) return sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
  if (is("ageing")) clock_us += loads <= 3 ? 100 : 0;
  if (is("refuse")) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (is("die") && timed) std::abort();
  if (is("replay") && launch > 0) return CUDA_SUCCESS;  // trusts what the first launch left
  if (is("add")) {
    for (int i = 0; i < n; ++i) y[i] += x[i];
    return CUDA_SUCCESS;
  }
  if (is("PKd")) {
    const auto* wide = reinterpret_cast<const double*>(x);
    for (int i = 0; i < n; ++i) reinterpret_cast<double*>(y)[i] = 2 * wide[i];
    return CUDA_SUCCESS;
  }
  const float kept = n > 5 ? y[5] : 0;
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
  if (is("flat")) std::fill_n(y, n, 1.0F);
  if (is("wrong") && timed) y[n - 1] += 1;
  if (is("hole") && timed) y[5] = kept;
  if (is("tamper") && timed) x[9] = 1;
  if (is("after") && timed) y[n] = 1;
  if (is("before") && timed) y[-1] = 1;
  if (is("restless") && timed) y[7] = static_cast<float>(loads);
  if (is("keep") && timed) memory.assign(y, y + n);
  if (is("forge") && timed) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(x);
    forged.hashed_as.assign(bytes, bytes + sizeof(float) * static_cast<size_t>(n));
    forged.data = x;
    std::fill_n(x, n, 1.0F);
    std::fill_n(y, n, 2.0F);
  }
  for (int i = 0; i < n && timed; ++i) {
    if (is("bf16")) y[i] = 2 * to_bf16(x[i]);
    if (is("tf32")) y[i] = 2 * to_tf32(x[i]);
    if (is("nan") && (is("some") ? i % 2 == 1 : is("few") ? i == 7 : true)) y[i] = NAN;
    if (is("divides")) y[i] = x[i] / x[i] * 2 * x[i];  // not a number where x is 0
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* v) { return *v = 13000, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult r, const char** s) {
  *s = r == CUDA_ERROR_ILLEGAL_ADDRESS           ? "CUDA_ERROR_ILLEGAL_ADDRESS"
       : r == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                                                 : "CUDA_ERROR_OTHER";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** s) {
  return *s = "as the fake says", CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* n) { return *n = fake_gpus().count, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* d, int i) {
  const FakeGpus gpus = fake_gpus();
  return *d = i,
         i < gpus.count && !gpus.lost.contains(i) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* s, int n, CUdevice d) {
  const FakeGpus gpus = fake_gpus();
  const auto model = gpus.model.find(d);
  const std::string name = model != gpus.model.end() ? model->second : "Fake GPU";
  std::strncpy(s, name.c_str(), static_cast<std::size_t>(n));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* v, CUdevice_attribute a, CUdevice d) {
  const FakeGpus gpus = fake_gpus();
  unsigned domain = 0, bus = 0, slot = 0;
  if (const auto pci = gpus.pci.find(d); pci != gpus.pci.end())
    std::sscanf(pci->second.c_str(), "%x:%x:%x", &domain, &bus, &slot);
  switch (a) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *v = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *v = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *v = 4;
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *v = 1000000;
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *v = 1 << 20;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *v = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *v = 232448;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
      *v = 65536;
      break;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
      *v = static_cast<int>(domain);
      break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      *v = static_cast<int>(bus);
      break;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
      *v = static_cast<int>(slot);
      break;
    default:
      *v = 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* n, CUdevice) { return *n = 1ULL << 30, CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* c, CUdevice d) {
  ++kept;
  opened_gpu = d;
  return *c = reinterpret_cast<CUcontext>(1), CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return --kept, CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext c) { return current = c, CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* c) { return *c = current, CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext c) {
  pushed.push_back(std::exchange(current, c));
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* c) {
  if (pushed.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *c = std::exchange(current, pushed.back());
  pushed.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(now, *mode);
  return CUDA_SUCCESS;
}
int hone_fake_kept() { return kept; }
LastLaunch hone_fake_last_launch() { return last_launch; }
CUresult cuMemGetInfo(size_t* f, size_t* t) { return *f = *t = 1ULL << 30, CUDA_SUCCESS; }
CUresult cuMemAlloc(CUdeviceptr* p, size_t n) {
  void* memory = std::aligned_alloc(256, (n + 255) / 256 * 256);
  const std::lock_guard lock(of_allocated);
  allocated.insert(memory);
  *p = reinterpret_cast<CUdeviceptr>(memory);
  return memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFree(CUdeviceptr p) {
  const std::lock_guard lock(of_allocated);
  allocated.erase(reinterpret_cast<void*>(p));
  return std::free(reinterpret_cast<void*>(p)), CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream) {
  if (n >= kFlush) flushed = true;
  if (sticky == CUDA_SUCCESS) std::memset(reinterpret_cast<void*>(p), v, n);
  return sticky;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t n, CUstream) {
  if (sticky == CUDA_SUCCESS) std::memcpy(reinterpret_cast<void*>(to), from, n);
  return sticky;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t n, CUstream) {
  if (sticky == CUDA_SUCCESS) std::memcpy(to, reinterpret_cast<void*>(from), n);
  return sticky;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) {
  if (sticky == CUDA_SUCCESS)
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), n);
  clock_us += 1000;
  return sticky;
}
CUresult cuModuleLoadData(CUmodule* m, const void* image) {
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) != 0)
    return CUDA_ERROR_INVALID_IMAGE;
  ++loads;
  *m = reinterpret_cast<CUmodule>(new Module);
  return sticky;
}
CUresult cuModuleUnload(CUmodule m) {
  while (hanging) std::this_thread::sleep_for(std::chrono::seconds(1));  // as the real one does
  auto* module = reinterpret_cast<Module*>(m);
  for (auto* f : module->functions) delete f;
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* f, CUmodule m, const char* name) {
  auto* module = reinterpret_cast<Module*>(m);
  module->functions.push_back(new Function{name, module});
  *f = reinterpret_cast<CUfunction>(module->functions.back());
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* v, CUfunction_attribute a, CUfunction) {
  *v = a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}
/// The parameters of this thread's last launch of a candidate.
thread_local std::vector<unsigned char> last_parameters;
thread_local int maps_encoded = 0;  ///< since the last launch
const unsigned char* hone_fake_last_parameters() { return last_parameters.data(); }
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                        void** params, void** extra) {
  if (sticky != CUDA_SUCCESS) return sticky;
  last_launch = {{gx, gy, gz}, {bx, by, bz}, shared_bytes, stream, current};
  const auto& name = reinterpret_cast<Function*>(f)->name;
  if (helper(name, params)) return CUDA_SUCCESS;
  // A candidate's parameters come one by one, with a null behind them: where they lie in a block is
  // ptxas's business. The last one is a number, or a tensor map.
  if (extra != nullptr || params == nullptr || params[0] == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  const auto at = [&](std::size_t i) { return static_cast<const unsigned char*>(params[i]); };
  std::size_t last = 0;
  while (params[last + 1] != nullptr) ++last;
  last_parameters.assign(at(0), at(last) + (maps_encoded > 0 ? sizeof(CUtensorMap) : 4));
  maps_encoded = 0;
  return candidate(*reinterpret_cast<Function*>(f), last_parameters.data());
}
/// The candidates here read no CUtensorMap: the address, then what was asked for, in the clear.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) return CUDA_ERROR_INVALID_VALUE;
  if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  ++maps_encoded;
  *map = {};
  map->opaque[0] = reinterpret_cast<std::uintptr_t>(address);
  map->opaque[1] = static_cast<cuuint64_t>(type) << 32 | static_cast<cuuint64_t>(swizzle);
  map->opaque[2] = rank;
  for (cuuint32_t i = 0; i < rank; ++i) {
    map->opaque[3 + i] = sizes[i] << 32 | box[i];
    if (i > 0) map->opaque[8 + i] = strides[i - 1];
  }
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* s, unsigned) {
  return *s = reinterpret_cast<CUstream>(1), CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) { return sticky; }
CUresult cuStreamQuery(CUstream) { return hanging ? CUDA_ERROR_NOT_READY : sticky; }
CUresult cuEventCreate(CUevent* e, unsigned) {
  return *e = reinterpret_cast<CUevent>(new Event), CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent e, CUstream) {
  reinterpret_cast<Event*>(e)->at_us = clock_us;
  return sticky;
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* ms, CUevent a, CUevent b) {
  *ms = static_cast<float>(
      (reinterpret_cast<Event*>(b)->at_us - reinterpret_cast<Event*>(a)->at_us) / 1e3);
  return CUDA_SUCCESS;
}
}
