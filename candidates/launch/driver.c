#include "candidates/launch/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidates/launch/hone_launch.h"

static struct hone_driver driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct symbol {
  const char* name;
  size_t offset;
  int optional;
};

#define SYMBOL(member, name, optional) {name, offsetof(struct hone_driver, member), optional}

// The names that drivers of CUDA 11 to 13 all export.
static const struct symbol kSymbols[] = {
    SYMBOL(init, "cuInit", 0),
    SYMBOL(get_error_name, "cuGetErrorName", 0),
    SYMBOL(get_error_string, "cuGetErrorString", 0),
    SYMBOL(device_get, "cuDeviceGet", 0),
    SYMBOL(primary_context_retain, "cuDevicePrimaryCtxRetain", 0),
    SYMBOL(primary_context_release, "cuDevicePrimaryCtxRelease_v2", 0),
    SYMBOL(context_get_current, "cuCtxGetCurrent", 0),
    SYMBOL(context_push, "cuCtxPushCurrent_v2", 0),
    SYMBOL(context_pop, "cuCtxPopCurrent_v2", 0),
    SYMBOL(module_load_data, "cuModuleLoadData", 0),
    SYMBOL(module_unload, "cuModuleUnload", 0),
    SYMBOL(module_get_function, "cuModuleGetFunction", 0),
    SYMBOL(function_set_attribute, "cuFuncSetAttribute", 0),
    SYMBOL(launch_kernel, "cuLaunchKernel", 0),
    SYMBOL(tensor_map_encode_tiled, "cuTensorMapEncodeTiled", 1),
    SYMBOL(function_load, "cuFuncLoad", 1),
    SYMBOL(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", 1),
};

static void refuse(const char* format, const char* first, const char* second) {
  driver.status = HONE_LAUNCH_NO_DRIVER;
  snprintf(driver.error, sizeof driver.error, format, first, second);
}

static void open_driver(void) {
  const char* named = getenv("HONE_LIBCUDA");
  const int given = named != NULL && *named != '\0';
  const char* const places[] = {given ? named : "libcuda.so.1",
                                "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                                "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1",
                                "/usr/lib/wsl/lib/libcuda.so.1"};
  void* library = NULL;
  for (size_t i = 0; i < sizeof places / sizeof *places && library == NULL; ++i) {
    if (i == 0 || !given) library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
  }
  if (library == NULL) {
    if (given) {
      refuse("HONE_LIBCUDA=%s cannot be opened%s", named, "");
    } else {
      refuse("there is no NVIDIA driver: libcuda.so.1 was not found%s%s", "", "");
    }
    return;
  }
  for (size_t i = 0; i < sizeof kSymbols / sizeof *kSymbols; ++i) {
    void* function = dlsym(library, kSymbols[i].name);
    if (function == NULL && !kSymbols[i].optional) {
      refuse("the NVIDIA driver is too old: it has no %s%s", kSymbols[i].name, "");
      return;
    }
    memcpy((char*)&driver + kSymbols[i].offset, &function, sizeof function);
  }
  const int result = driver.init(0);
  if (result != 0) {
    const char* name = NULL;
    const char* text = NULL;
    (void)driver.get_error_name(result, &name);
    (void)driver.get_error_string(result, &text);
    refuse("no usable GPU: cuInit: %s (%s)", name != NULL ? name : "an error",
           text != NULL ? text : "unknown");
  }
}

const struct hone_driver* hone_open_driver(void) {
  (void)pthread_once(&once, open_driver);
  return &driver;
}
