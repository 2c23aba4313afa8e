#include "evaluator/device/cuda/clocks.h"

#include <dlfcn.h>

namespace hone::cuda {
namespace {

// From NVML's documentation: its header is not everywhere where the driver is.
constexpr int kSuccess = 0;
constexpr int kSmClock = 1;
constexpr unsigned long long kSlowdown = 0x8ULL |   // hardware
                                         0x20ULL |  // software, heat
                                         0x40ULL |  // hardware, heat
                                         0x80ULL;   // hardware, power brake

}  // namespace

struct Clocks::Library {
  void* handle = nullptr;
  void* device = nullptr;
  int (*shutdown)() = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;

  ~Library() {
    if (shutdown != nullptr) (void)shutdown();
    if (handle != nullptr) dlclose(handle);
  }
};

Clocks::~Clocks() = default;

std::unique_ptr<Clocks> Clocks::open(const std::string& pci) {
  auto library = std::make_unique<Library>();
  library->handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) return nullptr;
  const auto find = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library->handle, name));
    return function != nullptr;
  };
  int (*init)() = nullptr;
  int (*by_pci)(const char*, void**) = nullptr;
  if (!find(init, "nvmlInit_v2") || !find(by_pci, "nvmlDeviceGetHandleByPciBusId_v2") ||
      !find(library->clock, "nvmlDeviceGetClockInfo") ||
      !find(library->reasons, "nvmlDeviceGetCurrentClocksThrottleReasons")) {
    return nullptr;
  }
  if (init() != kSuccess) return nullptr;
  if (!find(library->shutdown, "nvmlShutdown")) return nullptr;
  if (by_pci(pci.c_str(), &library->device) != kSuccess) return nullptr;
  std::unique_ptr<Clocks> clocks(new Clocks);
  clocks->library_ = std::move(library);
  return clocks;
}

Clocks::Reading Clocks::read() const {
  Reading reading;
  unsigned mhz = 0;
  if (library_->clock(library_->device, kSmClock, &mhz) == kSuccess) reading.sm_mhz = mhz;
  unsigned long long reasons = 0;
  if (library_->reasons(library_->device, &reasons) == kSuccess)
    reading.slowed = (reasons & kSlowdown) != 0;
  return reading;
}

}  // namespace hone::cuda
