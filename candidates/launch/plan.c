#include "candidates/launch/plan.h"

#include <stdlib.h>
#include <string.h>

static const char kNoMemory[] = "there is no memory for it";
static const char kCutOff[] = "it is cut off";
static const char kOutside[] = "a number in it is out of range";

/// What is still to be read.
struct reader {
  const unsigned char* at;
  size_t left;
  const char* error;  ///< null: none yet
};

static const unsigned char* take(struct reader* reader, size_t bytes) {
  if (reader->error == NULL && bytes > reader->left) reader->error = kCutOff;
  if (reader->error != NULL) return NULL;
  const unsigned char* at = reader->at;
  reader->at += bytes;
  reader->left -= bytes;
  return at;
}

static uint32_t take_u32(struct reader* reader) {
  const unsigned char* at = take(reader, 4);
  if (at == NULL) return 0;
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t take_u64(struct reader* reader) {
  const uint64_t low = take_u32(reader);
  return low | (uint64_t)take_u32(reader) << 32;
}

/// Zeroed memory of `count` things that take at least `least` bytes of the plan each.
static void* take_room(struct reader* reader, uint32_t count, size_t least, size_t each) {
  if (reader->error == NULL && count > reader->left / least) reader->error = kCutOff;
  if (reader->error != NULL) return NULL;
  void* room = calloc(count > 0 ? count : 1, each);
  if (room == NULL) reader->error = kNoMemory;
  return room;
}

/// `bytes` of the plan with a zero behind them.
static char* take_text(struct reader* reader, size_t bytes) {
  const unsigned char* at = take(reader, bytes);
  if (at == NULL) return NULL;
  char* text = malloc(bytes + 1);
  if (text == NULL) {
    reader->error = kNoMemory;
    return NULL;
  }
  memcpy(text, at, bytes);
  text[bytes] = '\0';
  return text;
}

static void expect(struct reader* reader, int holds) {
  if (!holds && reader->error == NULL) reader->error = kOutside;
}

/// A place for `bytes` of a buffer's making in a launch's parameters.
static void read_place(struct reader* reader, const struct hone_parsed_plan* plan,
                       const struct hone_launch* launch, uint32_t bytes,
                       struct hone_pointer* pointer) {
  pointer->offset = take_u32(reader);
  pointer->buffer = take_u32(reader);
  pointer->scratch_offset = take_u64(reader);
  expect(reader,
         launch->parameter_bytes >= bytes && pointer->offset <= launch->parameter_bytes - bytes);
  if (pointer->buffer == HONE_SCRATCH) {
    expect(reader, pointer->scratch_offset < plan->scratch_bytes);
  } else {
    expect(reader, pointer->buffer < plan->buffer_count && pointer->scratch_offset == 0);
  }
}

static void read_tensor_map(struct reader* reader, struct hone_tensor_map* map) {
  map->type = take_u32(reader);
  map->swizzle = take_u32(reader);
  map->rank = take_u32(reader);
  expect(reader, map->rank >= 1 && map->rank <= 5);
  for (int i = 0; i < 5; ++i) map->box[i] = take_u32(reader);
  for (int i = 0; i < 5; ++i) map->sizes[i] = take_u64(reader);
  for (int i = 0; i < 4; ++i) map->strides[i] = take_u64(reader);
}

static void read_launch(struct reader* reader, struct hone_parsed_plan* plan,
                        struct hone_launch* launch) {
  static const uint32_t most_grid[3] = {0x7FFFFFFF, 65535, 65535};
  static const uint32_t most_block[3] = {1024, 1024, 64};
  launch->kernel = take_u32(reader);
  for (int i = 0; i < 3; ++i) launch->grid[i] = take_u32(reader);
  for (int i = 0; i < 3; ++i) launch->block[i] = take_u32(reader);
  launch->shared_bytes = take_u32(reader);
  launch->parameter_bytes = take_u32(reader);
  const uint32_t parameter_count = take_u32(reader);
  const uint32_t pointer_count = take_u32(reader);
  const uint32_t tensor_map_count = take_u32(reader);
  for (int i = 0; i < 3; ++i) {
    expect(reader, launch->grid[i] >= 1 && launch->grid[i] <= most_grid[i]);
    expect(reader, launch->block[i] >= 1 && launch->block[i] <= most_block[i]);
  }
  expect(reader, launch->kernel < plan->kernel_count);
  expect(reader, launch->shared_bytes <= 0x7FFFFFFF);
  expect(reader, launch->parameter_bytes <= HONE_MOST_PARAMETER_BYTES);
  expect(reader, parameter_count <= HONE_MOST_PARAMETERS);
  launch->parameters = take(reader, launch->parameter_bytes);
  launch->offsets = take_room(reader, parameter_count, 4, sizeof *launch->offsets);
  if (launch->offsets == NULL) return;
  launch->parameter_count = parameter_count;
  for (uint32_t i = 0; i < parameter_count; ++i) {
    launch->offsets[i] = take_u32(reader);
    expect(reader, launch->offsets[i] < launch->parameter_bytes);
    expect(reader, i == 0 || launch->offsets[i] > launch->offsets[i - 1]);
  }
  launch->pointers = take_room(reader, pointer_count, 16, sizeof *launch->pointers);
  if (launch->pointers == NULL) return;
  launch->pointer_count = pointer_count;
  for (uint32_t i = 0; i < pointer_count; ++i)
    read_place(reader, plan, launch, sizeof(uint64_t), &launch->pointers[i]);
  launch->tensor_maps = take_room(reader, tensor_map_count, 120, sizeof *launch->tensor_maps);
  if (launch->tensor_maps == NULL) return;
  launch->tensor_map_count = tensor_map_count;
  for (uint32_t i = 0; i < tensor_map_count; ++i) {
    struct hone_tensor_map* map = &launch->tensor_maps[i];
    read_place(reader, plan, launch, HONE_TENSOR_MAP_BYTES, &map->place);
    read_tensor_map(reader, map);
    plan->has_tensor_maps = 1;
  }
  if (reader->error != NULL) return;
  struct hone_kernel* kernel = &plan->kernels[launch->kernel];
  if (launch->shared_bytes > kernel->shared_bytes) kernel->shared_bytes = launch->shared_bytes;
}

const char* hone_parse_plan(const void* bytes, size_t size, struct hone_parsed_plan* plan) {
  static const char magic[8] = "HONEPLAN";
  memset(plan, 0, sizeof *plan);
  if (bytes == NULL || size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
    return "it does not begin as a plan does";
  plan->bytes = malloc(size);
  if (plan->bytes == NULL) return kNoMemory;
  memcpy(plan->bytes, bytes, size);
  struct reader reader = {plan->bytes + sizeof magic, size - sizeof magic, NULL};
  if (take_u32(&reader) != HONE_PLAN_VERSION) return "it is of another version of the format";
  plan->buffer_count = take_u32(&reader);
  const uint32_t kernel_count = take_u32(&reader);
  const uint32_t launch_count = take_u32(&reader);
  plan->scratch_bytes = take_u64(&reader);
  const uint64_t image_bytes = take_u64(&reader);
  plan->kernels = take_room(&reader, kernel_count, 4, sizeof *plan->kernels);
  if (plan->kernels == NULL) return reader.error;
  plan->kernel_count = kernel_count;
  for (uint32_t i = 0; i < kernel_count; ++i) {
    plan->kernels[i].name = take_text(&reader, take_u32(&reader));
    if (reader.error != NULL) return reader.error;
  }
  plan->launches = take_room(&reader, launch_count, 48, sizeof *plan->launches);
  if (plan->launches == NULL) return reader.error;
  plan->launch_count = launch_count;
  for (uint32_t i = 0; i < launch_count; ++i) {
    read_launch(&reader, plan, &plan->launches[i]);
    if (reader.error != NULL) return reader.error;
  }
  expect(&reader, image_bytes > 0 && image_bytes == reader.left);
  plan->image = take_text(&reader, reader.left);
  return reader.error;
}

void hone_forget_plan(struct hone_parsed_plan* plan) {
  for (uint32_t i = 0; i < plan->kernel_count; ++i) free(plan->kernels[i].name);
  for (uint32_t i = 0; i < plan->launch_count; ++i) {
    free(plan->launches[i].offsets);
    free(plan->launches[i].pointers);
    free(plan->launches[i].tensor_maps);
  }
  free(plan->kernels);
  free(plan->launches);
  free(plan->image);
  free(plan->bytes);
  memset(plan, 0, sizeof *plan);
}
