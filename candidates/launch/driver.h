// The few functions of NVIDIA's driver that a launch needs, opened at run time; declared here,
// since no CUDA toolkit is needed to build this. Private to candidates/launch/.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hone_driver {
  int (*init)(unsigned flags);
  int (*get_error_name)(int result, const char** text);
  int (*get_error_string)(int result, const char** text);
  int (*device_get)(int* device, int ordinal);
  int (*primary_context_retain)(void** context, int device);
  int (*primary_context_release)(int device);
  int (*context_get_current)(void** context);
  int (*context_push)(void* context);
  int (*context_pop)(void** context);
  int (*module_load_data)(void** module, const void* image);
  int (*module_unload)(void* module);
  int (*module_get_function)(void** function, void* module, const char* name);
  int (*function_set_attribute)(void* function, int attribute, int value);
  int (*launch_kernel)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       void* stream, void** parameters, void** extra);
  int (*tensor_map_encode_tiled)(void* map, int type, unsigned rank, void* address,
                                 const uint64_t* sizes, const uint64_t* strides,
                                 const unsigned* box, const unsigned* steps, int interleave,
                                 int swizzle, int l2_promotion, int fill);  ///< or null
  int (*function_load)(void* function);     ///< from 12.4 on; else null
  int (*exchange_capture_mode)(int* mode);  ///< or null
  int status;       ///< HONE_LAUNCH_OK, or why none of the above may be called
  char error[256];  ///< its text
};

/// Opens the driver once: HONE_LIBCUDA where that is set, else libcuda.so.1. Never null.
const struct hone_driver* hone_open_driver(void);
