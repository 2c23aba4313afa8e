// Launches a plan: machine code and a list of launches that `hone export --format plan` wrote
// (README.md has the format). Plain C for any language that can load a shared library; needs the C
// library alone, and opens NVIDIA's driver, libcuda.so.1, at the first load of a plan.
//
// A function that can fail returns 0 or an error's number: the driver's CUresult, or one of enum
// hone_launch_status. The error's text is hone_launch_error()'s until the same thread calls again.
//
// Threads: every function may be called from any thread. A loaded plan does not change, so that
// several threads may launch it at once, each with buffers and scratch of its own.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_LAUNCH_API __attribute__((visibility("default")))

enum hone_launch_status {
  HONE_LAUNCH_OK = 0,
  HONE_LAUNCH_BAD_PLAN = -1,   ///< the bytes are no plan, or one of another version
  HONE_LAUNCH_NO_DRIVER = -2,  ///< there is no libcuda.so.1, or it is too old
  HONE_LAUNCH_BAD_CALL = -3,   ///< an argument of the call does not fit the plan
  HONE_LAUNCH_NO_MEMORY = -4,
};

/// A plan on one device.
typedef struct hone_plan hone_plan;

/// Loads a plan's machine code and finds its kernels; `*plan` is for hone_plan_free().
///
/// bytes, size [B]: the plan; copied. device: the CUDA device whose primary context is used, which
/// is PyTorch's and the CUDA runtime's; -1: the context that is current in this thread, which must
/// live as long as the plan. The thread's current context stays what it is. May be called while a
/// CUDA graph is captured.
HONE_LAUNCH_API int hone_plan_load(const void* bytes, size_t size, int device, hone_plan** plan);

/// Puts all launches of a plan into a stream, in order; returns at once.
///
/// buffers: `count` device pointers, those of the plan's buffers, each aligned to 16 bytes; `count`
/// must be hone_plan_buffers(). scratch: memory of hone_plan_scratch_bytes(), aligned likewise,
/// that nothing else uses until the launches are done; ignored where that is 0. stream: a CUstream
/// (cudaStream_t) of the plan's context; null: the default one. Allocates nothing, synchronises
/// nothing, and may be captured into a CUDA graph. After an error the launches before the one that
/// failed are in the stream.
HONE_LAUNCH_API int hone_plan_launch(const hone_plan* plan, const uint64_t* buffers, size_t count,
                                     uint64_t scratch, void* stream);

/// How many buffers the caller gives.
HONE_LAUNCH_API size_t hone_plan_buffers(const hone_plan* plan);
/// Of temporary memory that a call needs [B].
HONE_LAUNCH_API size_t hone_plan_scratch_bytes(const hone_plan* plan);

/// Unloads the machine code. Only once no launch of the plan is pending. Null does nothing.
HONE_LAUNCH_API void hone_plan_free(hone_plan* plan);

/// What the last call that failed in this thread said, in one line; "" before there was one.
HONE_LAUNCH_API const char* hone_launch_error(void);

/// Of the format of plans that this library reads.
HONE_LAUNCH_API int hone_launch_version(void);

#ifdef __cplusplus
}
#endif
