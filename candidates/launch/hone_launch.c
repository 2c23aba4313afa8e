#include "candidates/launch/hone_launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidates/launch/driver.h"
#include "candidates/launch/plan.h"

struct hone_plan {
  const struct hone_driver* driver;
  struct hone_parsed_plan parsed;
  void* context;
  void* module;
  int device;  ///< whose primary context is kept; -1: none
};

// cuda.h's.
enum {
  MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,  // a CUfunction_attribute
  CAPTURE_MODE_RELAXED = 2,           // a CUstreamCaptureMode
  L2_PROMOTION_256B = 3,              // a CUtensorMapL2promotion
};

static _Thread_local char last_error[512];

__attribute__((format(printf, 2, 3))) static int fail(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return status;
}

/// `what` failed in the driver.
static int driver_failed(const struct hone_driver* driver, int result, const char* what) {
  const char* name = NULL;
  const char* text = NULL;
  (void)driver->get_error_name(result, &name);
  (void)driver->get_error_string(result, &text);
  return fail(result, "%s: %s (%s)", what, name != NULL ? name : "an unknown error",
              text != NULL ? text : "no text");
}

/// Finds the kernels and gives them the shared memory that their launches take.
static int find_kernels(hone_plan* plan) {
  const struct hone_driver* driver = plan->driver;
  for (uint32_t i = 0; i < plan->parsed.kernel_count; ++i) {
    struct hone_kernel* kernel = &plan->parsed.kernels[i];
    int result = driver->module_get_function(&kernel->function, plan->module, kernel->name);
    if (result != 0) {
      char what[160];
      (void)snprintf(what, sizeof what, "kernel %.120s: cuModuleGetFunction", kernel->name);
      return driver_failed(driver, result, what);
    }
    // Else the driver may load it at its first launch, which it must not while a graph is captured.
    if (driver->function_load != NULL && (result = driver->function_load(kernel->function)) != 0)
      return driver_failed(driver, result, "cuFuncLoad");
    if (kernel->shared_bytes == 0) continue;
    result = driver->function_set_attribute(kernel->function, MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                            (int)kernel->shared_bytes);
    if (result != 0) {
      char what[200];
      (void)snprintf(what, sizeof what, "kernel %.120s: %u bytes of shared memory", kernel->name,
                     kernel->shared_bytes);
      return driver_failed(driver, result, what);
    }
  }
  return HONE_LAUNCH_OK;
}

/// In the plan's context, which is current.
static int load_module(hone_plan* plan) {
  const struct hone_driver* driver = plan->driver;
  // Loading is among the calls that a capture in another mode refuses.
  int mode = CAPTURE_MODE_RELAXED;
  const int exchanged =
      driver->exchange_capture_mode != NULL && driver->exchange_capture_mode(&mode) == 0;
  const int result = driver->module_load_data(&plan->module, plan->parsed.image);
  const int status =
      result != 0 ? driver_failed(driver, result, "cuModuleLoadData") : find_kernels(plan);
  if (exchanged) (void)driver->exchange_capture_mode(&mode);
  return status;
}

/// Takes the context that the plan belongs to, and loads its code there.
static int load_on(hone_plan* plan, int device) {
  const struct hone_driver* driver = plan->driver;
  int result = 0;
  if (device < 0) {
    result = driver->context_get_current(&plan->context);
    if (result != 0) return driver_failed(driver, result, "cuCtxGetCurrent");
    if (plan->context == NULL)
      return fail(HONE_LAUNCH_BAD_CALL, "no CUDA context is current in this thread");
    return load_module(plan);
  }
  int handle = 0;
  result = driver->device_get(&handle, device);
  if (result != 0) return driver_failed(driver, result, "cuDeviceGet");
  result = driver->primary_context_retain(&plan->context, handle);
  if (result != 0) return driver_failed(driver, result, "cuDevicePrimaryCtxRetain");
  plan->device = handle;
  result = driver->context_push(plan->context);
  if (result != 0) return driver_failed(driver, result, "cuCtxPushCurrent");
  const int status = load_module(plan);
  void* popped = NULL;
  (void)driver->context_pop(&popped);
  return status;
}

int hone_plan_load(const void* bytes, size_t size, int device, hone_plan** plan) {
  if (plan == NULL) return fail(HONE_LAUNCH_BAD_CALL, "there is no place for the plan");
  *plan = NULL;
  const struct hone_driver* driver = hone_open_driver();
  if (driver->status != HONE_LAUNCH_OK) return fail(driver->status, "%s", driver->error);
  hone_plan* made = calloc(1, sizeof *made);
  if (made == NULL) return fail(HONE_LAUNCH_NO_MEMORY, "there is no memory for a plan");
  made->driver = driver;
  made->device = -1;
  const char* wrong = hone_parse_plan(bytes, size, &made->parsed);
  int status = HONE_LAUNCH_OK;
  if (wrong != NULL) {
    status = fail(HONE_LAUNCH_BAD_PLAN, "this plan cannot be read: %s", wrong);
  } else if (made->parsed.has_tensor_maps && driver->tensor_map_encode_tiled == NULL) {
    status = fail(HONE_LAUNCH_NO_DRIVER,
                  "the NVIDIA driver is too old: it has no cuTensorMapEncodeTiled");
  } else {
    status = load_on(made, device);
  }
  if (status != HONE_LAUNCH_OK) {
    hone_plan_free(made);
    return status;
  }
  *plan = made;
  return HONE_LAUNCH_OK;
}

void hone_plan_free(hone_plan* plan) {
  if (plan == NULL) return;
  if (plan->module != NULL && plan->driver->context_push(plan->context) == 0) {
    (void)plan->driver->module_unload(plan->module);
    void* popped = NULL;
    (void)plan->driver->context_pop(&popped);
  }
  if (plan->device >= 0) (void)plan->driver->primary_context_release(plan->device);
  hone_forget_plan(&plan->parsed);
  free(plan);
}

/// Checks what a call brings.
static int check_call(const struct hone_parsed_plan* plan, const uint64_t* buffers, size_t count,
                      uint64_t scratch) {
  if (count != plan->buffer_count || (count > 0 && buffers == NULL)) {
    return fail(HONE_LAUNCH_BAD_CALL, "the plan has %u buffers, %zu are given", plan->buffer_count,
                buffers == NULL ? (size_t)0 : count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (buffers[i] == 0 || buffers[i] % 16 != 0) {
      return fail(HONE_LAUNCH_BAD_CALL, "buffer %zu is %s", i,
                  buffers[i] == 0 ? "null" : "not aligned to 16 bytes");
    }
  }
  if (plan->scratch_bytes > 0 && (scratch == 0 || scratch % 16 != 0)) {
    return fail(HONE_LAUNCH_BAD_CALL, "the scratch memory is %s",
                scratch == 0 ? "null" : "not aligned to 16 bytes");
  }
  return HONE_LAUNCH_OK;
}

static uint64_t address_of(const struct hone_pointer* pointer, const uint64_t* buffers,
                           uint64_t scratch) {
  return pointer->buffer == HONE_SCRATCH ? scratch + pointer->scratch_offset
                                         : buffers[pointer->buffer];
}

static int encode(const struct hone_driver* driver, const struct hone_tensor_map* map,
                  uint64_t address, unsigned char* place) {
  static const unsigned steps[5] = {1, 1, 1, 1, 1};
  _Alignas(128) unsigned char encoded[HONE_TENSOR_MAP_BYTES];
  const int result = driver->tensor_map_encode_tiled(
      encoded, (int)map->type, map->rank, (void*)(uintptr_t)address, map->sizes, map->strides,
      map->box, steps, 0, (int)map->swizzle, L2_PROMOTION_256B, 0);
  if (result != 0) return driver_failed(driver, result, "cuTensorMapEncodeTiled");
  memcpy(place, encoded, sizeof encoded);
  return HONE_LAUNCH_OK;
}

static int launch_all(const hone_plan* plan, const uint64_t* buffers, uint64_t scratch,
                      void* stream) {
  _Alignas(128) unsigned char parameters[HONE_MOST_PARAMETER_BYTES];
  void* starts[HONE_MOST_PARAMETERS + 1];
  for (uint32_t i = 0; i < plan->parsed.launch_count; ++i) {
    const struct hone_launch* launch = &plan->parsed.launches[i];
    if (launch->parameter_bytes > 0)
      memcpy(parameters, launch->parameters, launch->parameter_bytes);
    for (uint32_t p = 0; p < launch->pointer_count; ++p) {
      const struct hone_pointer* pointer = &launch->pointers[p];
      const uint64_t address = address_of(pointer, buffers, scratch);
      memcpy(parameters + pointer->offset, &address, sizeof address);
    }
    for (uint32_t m = 0; m < launch->tensor_map_count; ++m) {
      const struct hone_tensor_map* map = &launch->tensor_maps[m];
      const int status = encode(plan->driver, map, address_of(&map->place, buffers, scratch),
                                parameters + map->place.offset);
      if (status != HONE_LAUNCH_OK) return status;
    }
    // One by one: ptxas may leave room before a tensor map, so that offsets in the kernel's own
    // block are not these. The driver knows them, and each parameter's size.
    for (uint32_t p = 0; p < launch->parameter_count; ++p)
      starts[p] = parameters + launch->offsets[p];
    starts[launch->parameter_count] = NULL;
    const struct hone_kernel* kernel = &plan->parsed.kernels[launch->kernel];
    const int result = plan->driver->launch_kernel(
        kernel->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
        launch->block[1], launch->block[2], launch->shared_bytes, stream, starts, NULL);
    if (result != 0) {
      char what[200];
      (void)snprintf(what, sizeof what, "launch %u, kernel %.120s: cuLaunchKernel", i,
                     kernel->name);
      return driver_failed(plan->driver, result, what);
    }
  }
  return HONE_LAUNCH_OK;
}

int hone_plan_launch(const hone_plan* plan, const uint64_t* buffers, size_t count, uint64_t scratch,
                     void* stream) {
  if (plan == NULL) return fail(HONE_LAUNCH_BAD_CALL, "there is no plan");
  const int fits = check_call(&plan->parsed, buffers, count, scratch);
  if (fits != HONE_LAUNCH_OK) return fits;
  void* current = NULL;
  int result = plan->driver->context_get_current(&current);
  if (result != 0) return driver_failed(plan->driver, result, "cuCtxGetCurrent");
  if (current == plan->context) return launch_all(plan, buffers, scratch, stream);
  result = plan->driver->context_push(plan->context);
  if (result != 0) return driver_failed(plan->driver, result, "cuCtxPushCurrent");
  const int status = launch_all(plan, buffers, scratch, stream);
  (void)plan->driver->context_pop(&current);
  return status;
}

size_t hone_plan_buffers(const hone_plan* plan) { return plan->parsed.buffer_count; }

size_t hone_plan_scratch_bytes(const hone_plan* plan) { return plan->parsed.scratch_bytes; }

const char* hone_launch_error(void) { return last_error; }

int hone_launch_version(void) { return HONE_PLAN_VERSION; }
