#include "evaluator/device/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "evaluator/device/cuda/resolve.h"

namespace hone::cuda {
namespace {

// cuda.h maps plain names to versioned ones (cuMemAlloc -> cuMemAlloc_v2); taking the text after
// that expansion keeps symbol and type together.
#define HONE_STRING(name) #name
#define HONE_SYMBOL(name) HONE_STRING(name)

Result<Driver> load_driver() {
  Driver d;
  void* handle = nullptr;
  // HONE_LIBCUDA: a driver in an unusual place, or the tests' own.
  if (const char* named = std::getenv("HONE_LIBCUDA"); named != nullptr && *named != '\0') {
    handle = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
      return fail(ErrorCode::kEnvironment, fmt::format("HONE_LIBCUDA={}: {}", named, dlerror()));
    d.path = named;
  }
  for (const char* name :
       {"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/local/nvidia/lib/libcuda.so.1",
        "/usr/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}) {
    if (handle != nullptr) break;
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) d.path = name;
  }
  if (handle == nullptr)
    return fail(ErrorCode::kEnvironment,
                "no NVIDIA driver: libcuda.so.1 was not found; install the driver, or use --device "
                "emu:sm_90, which needs no GPU");
  std::string missing;
  resolve(handle, HONE_SYMBOL(cuInit), d.init, missing);
  resolve(handle, HONE_SYMBOL(cuDriverGetVersion), d.driver_get_version, missing);
  resolve(handle, HONE_SYMBOL(cuGetErrorName), d.get_error_name, missing);
  resolve(handle, HONE_SYMBOL(cuGetErrorString), d.get_error_string, missing);
  resolve(handle, HONE_SYMBOL(cuDeviceGetCount), d.device_get_count, missing);
  resolve(handle, HONE_SYMBOL(cuDeviceGet), d.device_get, missing);
  resolve(handle, HONE_SYMBOL(cuDeviceGetName), d.device_get_name, missing);
  resolve(handle, HONE_SYMBOL(cuDeviceGetAttribute), d.device_get_attribute, missing);
  resolve(handle, HONE_SYMBOL(cuDeviceTotalMem), d.device_total_mem, missing);
  resolve(handle, HONE_SYMBOL(cuDevicePrimaryCtxRetain), d.primary_ctx_retain, missing);
  resolve(handle, HONE_SYMBOL(cuCtxSetCurrent), d.ctx_set_current, missing);
  resolve(handle, HONE_SYMBOL(cuMemGetInfo), d.mem_get_info, missing);
  std::string not_needed;
  resolve(handle, HONE_SYMBOL(cuCtxResetPersistingL2Cache), d.ctx_reset_persisting_l2_cache,
          not_needed);
  resolve(handle, HONE_SYMBOL(cuMemAlloc), d.mem_alloc, missing);
  resolve(handle, HONE_SYMBOL(cuMemFree), d.mem_free, missing);
  resolve(handle, HONE_SYMBOL(cuMemsetD8Async), d.memset_d8_async, missing);
  resolve(handle, HONE_SYMBOL(cuMemcpyHtoDAsync), d.memcpy_htod_async, missing);
  resolve(handle, HONE_SYMBOL(cuMemcpyDtoHAsync), d.memcpy_dtoh_async, missing);
  resolve(handle, HONE_SYMBOL(cuMemcpyDtoDAsync), d.memcpy_dtod_async, missing);
  resolve(handle, HONE_SYMBOL(cuModuleLoadData), d.module_load_data, missing);
  resolve(handle, HONE_SYMBOL(cuModuleUnload), d.module_unload, missing);
  resolve(handle, HONE_SYMBOL(cuModuleGetFunction), d.module_get_function, missing);
  resolve(handle, HONE_SYMBOL(cuFuncSetAttribute), d.func_set_attribute, missing);
  resolve(handle, HONE_SYMBOL(cuFuncGetAttribute), d.func_get_attribute, missing);
  resolve(handle, HONE_SYMBOL(cuLaunchKernel), d.launch_kernel, missing);
  resolve(handle, HONE_SYMBOL(cuTensorMapEncodeTiled), d.tensor_map_encode_tiled, not_needed);
  resolve(handle, HONE_SYMBOL(cuStreamCreate), d.stream_create, missing);
  resolve(handle, HONE_SYMBOL(cuStreamSynchronize), d.stream_synchronize, missing);
  resolve(handle, HONE_SYMBOL(cuStreamQuery), d.stream_query, missing);
  resolve(handle, HONE_SYMBOL(cuEventCreate), d.event_create, missing);
  resolve(handle, HONE_SYMBOL(cuEventRecord), d.event_record, missing);
  // CUDA 13's header maps this to a _v2 that older drivers lack; the signature is the same.
  resolve(handle, "cuEventElapsedTime", d.event_elapsed_time, missing);
  if (!missing.empty())
    return fail(ErrorCode::kEnvironment,
                fmt::format("the NVIDIA driver ({}) is too old: it has no {}", d.path, missing));
  if (const CUresult r = d.init(0); r != CUDA_SUCCESS)
    return fail(ErrorCode::kEnvironment, fmt::format("no usable GPU: cuInit: {}", d.describe(r)));
  return d;
}

}  // namespace

std::string Driver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (get_error_name(result, &name) != CUDA_SUCCESS || name == nullptr)
    return fmt::format("CUDA error {}", static_cast<int>(result));
  get_error_string(result, &text);
  return text != nullptr ? fmt::format("{} ({})", name, text) : std::string(name);
}

std::string Driver::pci_address(CUdevice device) const {
  int domain = 0, bus = 0, slot = 0;
  const auto get = [&](int& value, CUdevice_attribute which) {
    return device_get_attribute(&value, which, device) == CUDA_SUCCESS;
  };
  const bool known = get(domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID) &&
                     get(bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) &&
                     get(slot, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  return known ? fmt::format("{:04x}:{:02x}:{:02x}.0", domain, bus, slot) : "";
}

std::string Driver::version() const {
  int version = 0;
  if (driver_get_version(&version) != CUDA_SUCCESS) return "unknown";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

const Result<Driver>& Driver::get() {
  static const Result<Driver> instance = load_driver();
  return instance;
}

}  // namespace hone::cuda
