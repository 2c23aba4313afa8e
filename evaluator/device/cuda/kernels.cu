// The evaluator's own kernels, compiled by NVRTC for the device after evaluator/fill/formula.h.
// Not part of the C++ build. Every count is in elements or bytes as named; grids are grid-stride.

#define HONE_FIRST (((hone_u64)blockIdx.x * blockDim.x) + threadIdx.x)
#define HONE_STEP ((hone_u64)gridDim.x * blockDim.x)

static __device__ inline hone_u64 hone_load(const unsigned char* data, hone_u64 index, int size) {
  switch (size) {
    case 8:
      return ((const hone_u64*)data)[index];
    case 4:
      return ((const unsigned int*)data)[index];
    case 2:
      return ((const unsigned short*)data)[index];
    default:
      return data[index];
  }
}

extern "C" __global__ void __launch_bounds__(256, 4)
    hone_fill_kernel(unsigned char* out, hone_u64 elements, hone_u64 first, hone_contents f) {
  const int size = hone_size(f.type);
  for (hone_u64 i = HONE_FIRST; i < elements; i += HONE_STEP) {
    const hone_u64 bits = hone_element(f, first + i);
    switch (size) {
      case 8:
        ((hone_u64*)out)[i] = bits;
        break;
      case 4:
        ((unsigned int*)out)[i] = (unsigned int)bits;
        break;
      case 2:
        ((unsigned short*)out)[i] = (unsigned short)bits;
        break;
      default:
        out[i] = (unsigned char)bits;
    }
  }
}

// Reads and does nothing: the bandwidth that no kernel which mostly reads can exceed.
extern "C" __global__ void hone_read_kernel(const uint4* data, hone_u64 vectors, unsigned int* sink) {
  unsigned int seen = 0;
  hone_u64 i = HONE_FIRST;
  for (; i + 3 * HONE_STEP < vectors; i += 4 * HONE_STEP) {
    const uint4 a = __ldcs(data + i), b = __ldcs(data + i + HONE_STEP);
    const uint4 c = __ldcs(data + i + 2 * HONE_STEP), d = __ldcs(data + i + 3 * HONE_STEP);
    seen ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
    seen ^= c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  if (seen == 0x9E3779B9u) *sink = seen;  // keeps the loads alive
}

// The sum over the block, for thread 0: an atomic of every thread on one word takes longer than
// reading the buffer.
static __device__ inline hone_u64 hone_block_sum(hone_u64 value) {
  __shared__ hone_u64 warps[32];
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(0xFFFFFFFFu, value, distance);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  hone_u64 sum = 0;
  if (threadIdx.x == 0) {
    for (unsigned int i = 0; i < blockDim.x / 32; ++i) sum += warps[i];
  }
  return sum;
}

// Order-free sum of mixed (place, word) pairs: equal contents give equal sums. Who does not know the
// key cannot make other contents with the same sum.
extern "C" __global__ void hone_hash_kernel(const unsigned char* data, hone_u64 bytes, hone_u64* sum,
                                            hone_u64 key) {
  hone_u64 local = 0;
  const hone_u64 words = bytes / 8;
  for (hone_u64 i = HONE_FIRST; i < words; i += HONE_STEP)
    local += hone_mix(((const hone_u64*)data)[i] ^ hone_mix((i + 1) ^ key));
  if (HONE_FIRST == 0) {
    hone_u64 tail = 0;
    for (hone_u64 i = words * 8; i < bytes; ++i) tail = (tail << 8) | data[i];
    local += hone_mix(tail ^ hone_mix((words + 1) ^ key));
  }
  local = hone_block_sum(local);
  if (threadIdx.x == 0) atomicAdd(sum, local);
}

// Who knows one word and its masked form learns that number of the stream and no other.
extern "C" __global__ void hone_mask_kernel(const unsigned char* in, unsigned char* out,
                                            hone_u64 bytes, hone_u64 key, hone_u64 second_key) {
  const hone_u64 words = bytes / 8;
  for (hone_u64 i = HONE_FIRST; i < words; i += HONE_STEP)
    ((hone_u64*)out)[i] =
        ((const hone_u64*)in)[i] ^ hone_mix(hone_mix(hone_mix(i + key) ^ second_key) + key);
  if (HONE_FIRST == 0) {
    const hone_u64 mask = hone_mix(hone_mix(hone_mix(words + key) ^ second_key) + key);
    for (hone_u64 i = words * 8; i < bytes; ++i)
      out[i] = in[i] ^ (unsigned char)(mask >> (8 * (i % 8)));
  }
}

// *first: the lowest offset whose byte is not `value`.
extern "C" __global__ void hone_guard_kernel(const unsigned char* data, hone_u64 bytes, int value,
                                             hone_u64* first) {
  for (hone_u64 i = HONE_FIRST; i < bytes; i += HONE_STEP)
    if (data[i] != (unsigned char)value) atomicMin(first, i);
}

// *first: the lowest byte that still holds the poison of both runs.
extern "C" __global__ void hone_unwritten_kernel(const unsigned char* a, const unsigned char* b,
                                                 hone_u64 bytes, int poison_a, int poison_b,
                                                 hone_u64* first) {
  for (hone_u64 i = HONE_FIRST; i < bytes; i += HONE_STEP)
    if (a[i] == (unsigned char)poison_a && b[i] == (unsigned char)poison_b) atomicMin(first, i);
}

// One partial sum of squares and count of finite values per block; the host adds them in order.
// Finite is what is below `limit`.
extern "C" __global__ void hone_squares_kernel(const unsigned char* data, hone_u64 elements, int type,
                                               double limit, double* sums, double* counts) {
  __shared__ double shared_sum[256];
  __shared__ double shared_count[256];
  double sum = 0.0, count = 0.0;
  const int size = hone_size(type);
  for (hone_u64 i = HONE_FIRST; i < elements; i += HONE_STEP) {
    const double v = hone_decode(type, hone_load(data, i, size));
    if (!hone_is_finite(v, limit)) continue;
    sum += v * v;
    count += 1.0;
  }
  shared_sum[threadIdx.x] = sum;
  shared_count[threadIdx.x] = count;
  __syncthreads();
  for (unsigned int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shared_sum[threadIdx.x] += shared_sum[threadIdx.x + half];
      shared_count[threadIdx.x] += shared_count[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = shared_sum[0];
    counts[blockIdx.x] = shared_count[0];
  }
}

// One block. rms[0]: root of the mean square from the partial sums, added in order; 0 when there is
// nothing finite or the squares overflow. rms[2]: how many values are finite.
extern "C" __global__ void hone_rms_kernel(const double* sums, const double* counts, int partials,
                                           double* rms) {
  if (threadIdx.x != 0) return;
  double squares = 0.0, count = 0.0;
  for (int i = 0; i < partials; ++i) {
    squares += sums[i];
    count += counts[i];
  }
  const double root = count > 0.0 ? sqrt(squares / count) : 0.0;
  rms[0] = hone_is_inf(root) || hone_is_nan(root) ? 0.0 : root;
  rms[2] = count;
}

// result: {how many elements are not finite, the first of them}
extern "C" __global__ void hone_non_finite_kernel(const unsigned char* data, hone_u64 elements,
                                                  int type, hone_u64* result) {
  const int size = hone_size(type);
  const double limit = hone_limit(type);
  hone_u64 count = 0, first = ~0ULL;
  for (hone_u64 i = HONE_FIRST; i < elements; i += HONE_STEP) {
    if (hone_is_finite(hone_decode(type, hone_load(data, i, size)), limit)) continue;
    ++count;
    if (i < first) first = i;
  }
  if (count) atomicMin(result + 1, first);
  count = hone_block_sum(count);
  if (threadIdx.x == 0 && count) atomicAdd(result, count);
}

// `least_finite`: of the wanted elements; with fewer, NaN and infinities equal nothing.
// result: {mismatches, first mismatch, largest error as the bits of a double, rms (untouched), sum
// of the finite squared differences, as a double: not bitwise repeatable, finite values (untouched),
// largest error where both sides are finite}
extern "C" __global__ void hone_compare_kernel(const unsigned char* want, int want_type,
                                               const unsigned char* got, int type,
                                               hone_u64 elements, const double* scale, double rtol,
                                               double atol, int non_finite, double least_finite,
                                               hone_u64* result) {
  const int size = hone_size(type), want_size = hone_size(want_type);
  const double rms = *scale;
  if (scale[2] < least_finite * (double)elements) non_finite = HONE_NEVER;
  hone_u64 mismatches = 0, first = ~0ULL;
  double largest = 0.0, finite = 0.0, squares = 0.0;
  for (hone_u64 i = HONE_FIRST; i < elements; i += HONE_STEP) {
    int bad = 0;
    const hone_u64 w = hone_load(want, i, want_size), g = hone_load(got, i, size);
    const double error = hone_error(want_type, w, type, g, rms, rtol, atol, non_finite, &bad);
    if (error > 0.0) {
      const double difference = hone_decode(type, g) - hone_decode(want_type, w);
      if (!hone_is_nan(difference) && !hone_is_inf(difference)) squares += difference * difference;
    }
    if (error > largest) largest = error;
    if (error > finite && !hone_is_inf(error)) finite = error;
    if (bad) {
      ++mismatches;
      if (i < first) first = i;
    }
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    largest = fmax(largest, __shfl_down_sync(0xFFFFFFFFu, largest, distance));
    finite = fmax(finite, __shfl_down_sync(0xFFFFFFFFu, finite, distance));
    mismatches += __shfl_down_sync(0xFFFFFFFFu, mismatches, distance);
    const hone_u64 other = __shfl_down_sync(0xFFFFFFFFu, first, distance);
    if (other < first) first = other;
    squares += __shfl_down_sync(0xFFFFFFFFu, squares, distance);
  }
  if (threadIdx.x % 32 != 0) return;
  if (squares > 0.0) atomicAdd((double*)(result + 4), squares);
  if (mismatches) {
    atomicAdd(result, mismatches);
    atomicMin(result + 1, first);
  }
  // Bits of non-negative doubles order like the doubles; looking first spares most of the atomics.
  const hone_u64 bits = __builtin_bit_cast(hone_u64, largest);
  if (bits > *(volatile hone_u64*)(result + 2)) atomicMax(result + 2, bits);
  const hone_u64 numbers = __builtin_bit_cast(hone_u64, finite);
  if (numbers > *(volatile hone_u64*)(result + 6)) atomicMax(result + 6, numbers);
}

// The local rule of formula_compare.h, a warp for each group: twice over its elements. `own` and
// `truth`: for the reference's own error; null: not known. result: {mismatches, first mismatch,
// elements that are off}
extern "C" __global__ void hone_local_kernel(const unsigned char* want, int want_type,
                                             const unsigned char* got, int type,
                                             const unsigned char* own, int own_type,
                                             const unsigned char* truth, int truth_type,
                                             hone_u64 elements, hone_u64 width, double rms,
                                             double rtol, double atol, hone_u64* result) {
  const hone_groups groups = hone_groups_of(elements, width);
  const double limit = hone_limit(type);
  const int size = hone_size(type), want_size = hone_size(want_type);
  const int own_size = hone_size(own_type), truth_size = hone_size(truth_type);
  const unsigned int lane = threadIdx.x % 32;
  hone_u64 mismatches = 0, first = ~0ULL, off = 0;
  for (hone_u64 group = HONE_FIRST / 32; group < groups.count; group += HONE_STEP / 32) {
    const hone_u64 begin = hone_group_begin(groups, group), end = hone_group_end(groups, group);
    double squares = 0.0, count = 0.0, error = 0.0;
    for (hone_u64 i = begin + lane; i < end; i += 32) {
      const double v = hone_decode(want_type, hone_load(want, i, want_size));
      if (hone_is_finite(v, limit)) {
        squares += v * v;
        count += 1.0;
      }
      if (!truth) continue;
      const double difference = fabs(hone_decode(own_type, hone_load(own, i, own_size)) -
                                     hone_decode(truth_type, hone_load(truth, i, truth_size)));
      if (hone_is_finite(difference, limit) && difference > error) error = difference;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      squares += __shfl_down_sync(0xFFFFFFFFu, squares, distance);
      count += __shfl_down_sync(0xFFFFFFFFu, count, distance);
      error = fmax(error, __shfl_down_sync(0xFFFFFFFFu, error, distance));
    }
    hone_local local;
    const double root = count > 0.0 ? sqrt(squares / count) : 0.0;
    local.rms = hone_is_inf(root) || hone_is_nan(root) ? rms : root;
    local.rms = __shfl_sync(0xFFFFFFFFu, local.rms, 0);
    local.error = __shfl_sync(0xFFFFFFFFu, error, 0);
    for (hone_u64 i = begin + lane; i < end; i += 32) {
      const double w = hone_decode(want_type, hone_load(want, i, want_size));
      const double g = hone_decode(type, hone_load(got, i, size));
      const int wrong = hone_local_error(type, w, g, local, rms, rtol, atol, limit);
      off += (wrong & 2) != 0;
      if (!(wrong & 1)) continue;
      ++mismatches;
      if (i < first) first = i;
    }
  }
  if (mismatches) {
    atomicAdd(result, mismatches);
    atomicMin(result + 1, first);
  }
  if (off) atomicAdd(result + 2, off);
}
