// A plan as it is read from its bytes. Private to candidates/launch/.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
  HONE_PLAN_VERSION = 3,
  HONE_MOST_PARAMETER_BYTES = 4096,
  HONE_MOST_PARAMETERS = 1024,
  HONE_TENSOR_MAP_BYTES = 128
};

/// In HONE_SCRATCH's place stands which of the caller's buffers it is.
#define HONE_SCRATCH UINT32_MAX

/// A pointer in a kernel's parameters.
struct hone_pointer {
  uint32_t offset;          // in the parameters [B]
  uint32_t buffer;          ///< of the caller, or HONE_SCRATCH
  uint64_t scratch_offset;  // in the scratch memory [B]
};

/// A CUtensorMap in a kernel's parameters, in the numbers of cuda.h; dimension 0 is the innermost.
struct hone_tensor_map {
  struct hone_pointer place;
  uint32_t type, swizzle;  ///< CUtensorMapDataType, CUtensorMapSwizzle
  uint32_t rank;
  uint32_t box[5];      // [elements]
  uint64_t sizes[5];    // [elements]
  uint64_t strides[4];  ///< of dimensions 1 to rank - 1 [B]
};

struct hone_launch {
  uint32_t kernel;
  uint32_t grid[3];   // [blocks]
  uint32_t block[3];  // [threads]
  uint32_t shared_bytes;
  uint32_t parameter_bytes;
  uint32_t parameter_count, pointer_count, tensor_map_count;
  const unsigned char* parameters;  ///< in the plan's own bytes; pointers and tensor maps are zero
  uint32_t* offsets;                ///< where each parameter begins in these [B]
  struct hone_pointer* pointers;
  struct hone_tensor_map* tensor_maps;
};

struct hone_kernel {
  char* name;
  uint32_t shared_bytes;  ///< the most that a launch of it takes
  void* function;         ///< of the driver, once the plan is loaded
};

struct hone_parsed_plan {
  uint32_t buffer_count, kernel_count, launch_count;
  uint64_t scratch_bytes;
  struct hone_kernel* kernels;
  struct hone_launch* launches;
  int has_tensor_maps;   ///< some launch has
  char* image;           ///< a cubin, a fat binary or PTX, with a zero behind it
  unsigned char* bytes;  ///< a copy of what was read
};

/// Reads a plan. Null, or what is wrong with it; a plan that was read or not is for
/// hone_forget_plan(). Any bytes may come: none make it read or write elsewhere.
const char* hone_parse_plan(const void* bytes, size_t size, struct hone_parsed_plan* plan);
void hone_forget_plan(struct hone_parsed_plan* plan);
