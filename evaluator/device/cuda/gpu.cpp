#include "evaluator/device/cuda/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <thread>

#include "evaluator/device/cuda/helper_kernels.h"
#include "evaluator/trace.h"

namespace hone::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint8_t kGuardByte = 0xC5;
constexpr unsigned kHelperThreads = 256;
constexpr std::uint64_t kHelperBlocks = 4096;
constexpr unsigned kSquaresBlocks = 512;
constexpr std::size_t kInspected = 128;  // buffers at once
constexpr std::uint64_t kScratchBytes =
    std::max<std::uint64_t>(2 * 8 * kSquaresBlocks, 3 * 8 * kInspected) + 64;
constexpr auto kSpin = std::chrono::microseconds(100);
constexpr auto kNap = std::chrono::milliseconds(1);
constexpr double kHelperLimit_s = 60;

std::uint64_t round_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

}  // namespace

Failure failure_of(const Driver& driver, CUresult result, const char* call) {
  Failure f;
  f.detail =
      fmt::format("{}: {}", std::string_view(call).substr(0, std::string_view(call).find('(')),
                  driver.describe(result));
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_LAUNCH_FAILED:
      f.verdict = Verdict::kFault;
      f.context_lost = true;
      break;
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      f.verdict = Verdict::kTimeout;
      f.context_lost = true;
      break;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
      f.verdict = Verdict::kLaunchError;
      break;
    case CUDA_ERROR_OUT_OF_MEMORY:
      f.verdict = Verdict::kLaunchError;
      f.out_of_memory = true;
      break;
    default:
      f.verdict = Verdict::kCrash;
      f.context_lost = true;
  }
  return f;
}

Result<std::unique_ptr<Gpu>> Gpu::open(int ordinal) {
  const auto& loaded = Driver::get();
  if (!loaded) return std::unexpected(loaded.error());
  const Driver& d = *loaded;
  const auto failed = [&](const char* call, CUresult r) {
    return fail(ErrorCode::kEnvironment,
                fmt::format("cuda:{}: {}: {}", ordinal, call, d.describe(r)));
  };
  int count = 0;
  if (const CUresult r = d.device_get_count(&count); r != CUDA_SUCCESS)
    return failed("cuDeviceGetCount", r);
  if (ordinal < 0 || ordinal >= count)
    return fail(ErrorCode::kEnvironment,
                fmt::format("there is no cuda:{}: {} GPU{} visible (see CUDA_VISIBLE_DEVICES)",
                            ordinal, count, count == 1 ? " is" : "s are"));
  CUdevice device = 0;
  if (const CUresult r = d.device_get(&device, ordinal); r != CUDA_SUCCESS)
    return failed("cuDeviceGet", r);
  std::unique_ptr<Gpu> gpu(new Gpu(d));
  auto& facts = gpu->facts_;
  char name[256] = {};
  if (const CUresult r = d.device_get_name(name, sizeof name - 1, device); r != CUDA_SUCCESS)
    return failed("cuDeviceGetName", r);
  facts.name = name;
  facts.driver = d.version();
  std::size_t memory = 0;
  if (const CUresult r = d.device_total_mem(&memory, device); r != CUDA_SUCCESS)
    return failed("cuDeviceTotalMem", r);
  facts.memory_bytes = static_cast<std::int64_t>(memory);
  gpu->device_ = device;
  const auto attribute = [&](CUdevice_attribute what) { return gpu->attribute(what); };
  facts.arch = fmt::format("sm_{}{}", attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                           attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  facts.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  facts.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  facts.shared_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  facts.registers_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  if (const CUresult r = d.primary_ctx_retain(&gpu->context_, device); r != CUDA_SUCCESS)
    return failed("cuDevicePrimaryCtxRetain", r);
  if (const CUresult r = d.ctx_set_current(gpu->context_); r != CUDA_SUCCESS)
    return failed("cuCtxSetCurrent", r);
  trace(fmt::format("opened cuda:{}: {} {} driver {}", ordinal, facts.name, facts.arch,
                    facts.driver));
  return gpu;
}

int Gpu::attribute(CUdevice_attribute what) const {
  int value = 0;
  return driver_.device_get_attribute(&value, what, device_) == CUDA_SUCCESS ? value : 0;
}

Outcome<void> Gpu::setup(const std::string& cubin) {
  HONE_CU(driver_, stream_create(&stream_, CU_STREAM_DEFAULT));
  HONE_CU(driver_, event_create(&begin_, CU_EVENT_DEFAULT));
  HONE_CU(driver_, event_create(&end_, CU_EVENT_DEFAULT));
  HONE_CU(driver_, module_load_data(&helpers_, cubin.data()));
  for (const std::string& name : helper_kernel_names()) {
    CUfunction function = nullptr;
    HONE_CU(driver_, module_get_function(&function, helpers_, name.c_str()));
    kernels_[name] = function;
  }
  auto scratch = allocate(kScratchBytes);
  if (!scratch) return std::unexpected(scratch.error());
  scratch_ = *scratch;
  flush_bytes_ =
      std::max<std::uint64_t>(64U << 20, 2 * static_cast<std::uint64_t>(facts_.l2_bytes));
  auto flush = allocate(flush_bytes_);
  if (!flush) return std::unexpected(flush.error());
  flush_ = *flush;
  trace("helpers loaded");
  return wait(kHelperLimit_s);
}

Outcome<void> Gpu::measure_bandwidth() {
  std::size_t free_bytes = 0, total = 0;
  HONE_CU(driver_, mem_get_info(&free_bytes, &total));
  // Beyond any L2, but no more than a shared GPU can spare.
  const std::uint64_t bytes = std::min<std::uint64_t>(1ULL << 30, free_bytes / 8 / 4096 * 4096);
  if (bytes < (64U << 20)) return {};
  auto from = acquire(bytes);
  if (!from) return {};
  auto to = acquire(bytes);
  if (!to) {
    release(*from);
    return {};
  }
  HONE_TRY(set_bytes(from->data(), 1, bytes));
  // A copy and a read alone: which is faster depends on the memory, and the roof is the faster.
  for (const bool copy : {true, false}) {
    double best_us = 0;
    for (int i = 0; i < 6; ++i) {
      HONE_TRY(mark_begin());
      if (copy) {
        HONE_CU(driver_, memcpy_dtod_async(to->data(), from->data(), bytes, stream_));
      } else {
        CUdeviceptr data = from->data();
        unsigned long long vectors = bytes / 16;
        HONE_TRY(launch_helper("hone_read_kernel", vectors / 4, {&data, &vectors, &scratch_}));
      }
      HONE_TRY(mark_end());
      HONE_TRY(wait(kHelperLimit_s));
      const auto us = elapsed_us();
      if (!us) return std::unexpected(us.error());
      if (i > 0 && (best_us == 0 || *us < best_us)) best_us = *us;
    }
    const double moved = static_cast<double>(bytes) * (copy ? 2 : 1);
    if (best_us > 0)
      facts_.dram_bytes_per_s = std::max(facts_.dram_bytes_per_s, moved / best_us * 1e6);
    trace(fmt::format("{} bandwidth {:.3g} TB/s", copy ? "copy" : "read", moved / best_us / 1e6));
  }
  for (const auto& buffer : {*from, *to}) driver_.mem_free(buffer.slab);
  return {};
}

Outcome<CUdeviceptr> Gpu::allocate(std::uint64_t bytes) {
  CUdeviceptr pointer = 0;
  CUresult r = driver_.mem_alloc(&pointer, bytes);
  if (r == CUDA_ERROR_OUT_OF_MEMORY) {
    if (make_room_) make_room_();
    for (const auto& [size, slab] : free_slabs_) driver_.mem_free(slab);
    free_slabs_.clear();
    r = driver_.mem_alloc(&pointer, bytes);
  }
  if (r != CUDA_SUCCESS) return std::unexpected(failure_of(driver_, r, "cuMemAlloc"));
  return pointer;
}

Outcome<DeviceBuffer> Gpu::acquire(std::uint64_t bytes) {
  DeviceBuffer buffer;
  buffer.bytes = bytes;
  const std::uint64_t needed = round_up(bytes, 256) + 2 * kGuardBytes;
  const auto it = free_slabs_.lower_bound(needed);
  if (it != free_slabs_.end() && it->first <= needed + needed / 4 + (1U << 16)) {
    buffer.slab = it->second;
    buffer.slab_bytes = it->first;
    free_slabs_.erase(it);
    return buffer;
  }
  auto slab = allocate(needed);
  if (!slab) return std::unexpected(slab.error());
  buffer.slab = *slab;
  buffer.slab_bytes = needed;
  return buffer;
}

void Gpu::release(const DeviceBuffer& buffer) {
  free_slabs_.emplace(buffer.slab_bytes, buffer.slab);
}

Outcome<void> Gpu::set_bytes(CUdeviceptr at, std::uint8_t value, std::uint64_t bytes) {
  if (bytes > 0) HONE_CU(driver_, memset_d8_async(at, value, bytes, stream_));
  return {};
}

Outcome<void> Gpu::set_guards(const DeviceBuffer& b) {
  HONE_TRY(set_bytes(b.slab, kGuardByte, kGuardBytes));
  const CUdeviceptr after = b.data() + b.bytes;
  return set_bytes(after, kGuardByte, b.slab + b.slab_bytes - after);
}

Outcome<void> Gpu::launch_helper(const char* name, std::uint64_t items,
                                 std::vector<void*> arguments) {
  const std::uint64_t blocks =
      std::clamp<std::uint64_t>((items + kHelperThreads - 1) / kHelperThreads, 1, kHelperBlocks);
  HONE_CU(driver_, launch_kernel(kernels_.at(name), static_cast<unsigned>(blocks), 1, 1,
                                 kHelperThreads, 1, 1, 0, stream_, arguments.data(), nullptr));
  return {};
}

Outcome<void> Gpu::download(void* out, CUdeviceptr from, std::uint64_t bytes) {
  HONE_CU(driver_, memcpy_dtoh_async(out, from, bytes, stream_));
  return wait(kHelperLimit_s);
}

Outcome<void> Gpu::fill(const DeviceBuffer& buffer, const ConcreteBuffer& what,
                        std::uint64_t seed) {
  if (what.fill.kind == Fill::Kind::kFile) {
    const auto source = fill::Source::open(what, seed);
    if (!source)
      return std::unexpected(Failure{Verdict::kRefused, false, false, source.error().message});
    std::vector<std::uint8_t> chunk;
    constexpr std::uint64_t kChunk = 64U << 20;
    for (std::uint64_t at = 0; at < buffer.bytes; at += kChunk) {
      chunk.resize(std::min(kChunk, buffer.bytes - at));
      (*source)->read(at, chunk.data(), chunk.size());
      HONE_CU(driver_, memcpy_htod_async(buffer.data() + at, chunk.data(), chunk.size(), stream_));
      HONE_TRY(wait(kHelperLimit_s));  // `chunk` is used again
    }
    return {};
  }
  CUdeviceptr out = buffer.data();
  unsigned long long elements = buffer.bytes / size_of(what.type), first = 0;
  hone_contents fill = fill::formula_of(what, seed);
  return launch_helper("hone_fill_kernel", elements, {&out, &elements, &first, &fill});
}

Outcome<void> Gpu::flush_l2() {
  // Lines that a program asked to be kept would outlive the flush.
  if (driver_.ctx_reset_persisting_l2_cache != nullptr)
    HONE_CU(driver_, ctx_reset_persisting_l2_cache());
  return set_bytes(flush_, 0, flush_bytes_);
}

Outcome<void> Gpu::mask(const DeviceBuffer& from, const DeviceBuffer& to,
                        const std::array<std::uint64_t, 2>& key) {
  CUdeviceptr in = from.data(), out = to.data();
  unsigned long long bytes = from.bytes, first = key[0], second = key[1];
  return launch_helper("hone_mask_kernel", bytes / 8 + 1, {&in, &out, &bytes, &first, &second});
}

Outcome<Inspection> Gpu::inspect(const std::vector<DeviceBuffer>& guarded,
                                 const std::vector<DeviceBuffer>& hashed, std::uint64_t hash_key) {
  Inspection result;
  const std::size_t most = std::max(guarded.size(), hashed.size());
  for (std::size_t from = 0; from < most; from += kInspected) {
    const auto part = [&](const std::vector<DeviceBuffer>& all) {
      const std::size_t begin = std::min(from, all.size());
      return std::span(all).subspan(begin, std::min(kInspected, all.size() - begin));
    };
    const auto guards = part(guarded), contents = part(hashed);
    // Two words for each pair of guards, then one for each hash.
    HONE_TRY(set_bytes(scratch_, 0xFF, 16 * guards.size()));
    CUdeviceptr word = scratch_;
    for (const DeviceBuffer& b : guards) {
      int value = kGuardByte;
      CUdeviceptr before = b.slab, after = b.data() + b.bytes;
      unsigned long long before_bytes = kGuardBytes, after_bytes = b.slab + b.slab_bytes - after;
      HONE_TRY(launch_helper("hone_guard_kernel", before_bytes,
                             {&before, &before_bytes, &value, &word}));
      word += 8;
      HONE_TRY(
          launch_helper("hone_guard_kernel", after_bytes, {&after, &after_bytes, &value, &word}));
      word += 8;
    }
    HONE_TRY(set_bytes(word, 0, 8 * contents.size()));
    for (const DeviceBuffer& b : contents) {
      CUdeviceptr data = b.data();
      unsigned long long bytes = b.bytes, key = hash_key;
      HONE_TRY(launch_helper("hone_hash_kernel", bytes / 8, {&data, &bytes, &word, &key}));
      word += 8;
    }
    std::vector<std::uint64_t> words(2 * guards.size() + contents.size());
    HONE_TRY(download(words.data(), scratch_, 8 * words.size()));
    for (std::size_t i = 0; i < guards.size(); ++i) {
      const std::uint64_t before = words[2 * i], after = words[2 * i + 1];
      std::int64_t damage = std::numeric_limits<std::int64_t>::min();
      if (before != ~0ULL)
        damage = static_cast<std::int64_t>(before) - static_cast<std::int64_t>(kGuardBytes);
      if (after != ~0ULL) damage = static_cast<std::int64_t>(guards[i].bytes + after);
      result.damage.push_back(damage);
    }
    result.hashes.insert(result.hashes.end(), words.end() - contents.size(), words.end());
  }
  return result;
}

Outcome<std::int64_t> Gpu::first_unwritten(const DeviceBuffer& a, std::uint8_t poison_a,
                                           const DeviceBuffer& b, std::uint8_t poison_b) {
  HONE_TRY(set_bytes(scratch_, 0xFF, 8));
  CUdeviceptr pa = a.data(), pb = b.data();
  unsigned long long bytes = a.bytes;
  int va = poison_a, vb = poison_b;
  HONE_TRY(launch_helper("hone_unwritten_kernel", bytes, {&pa, &pb, &bytes, &va, &vb, &scratch_}));
  std::uint64_t found = 0;
  HONE_TRY(download(&found, scratch_, 8));
  return found == ~0ULL ? -1 : static_cast<std::int64_t>(found);
}

Outcome<check::Comparison> Gpu::compare(const DeviceBuffer& want, ScalarType want_type,
                                        const DeviceBuffer& got, const ConcreteBuffer& what,
                                        const Tolerance& tolerance) {
  check::Comparison c;
  c.want_type = want_type;
  CUdeviceptr pw = want.data(), pg = got.data();
  const std::size_t size = size_of(what.type), want_size = size_of(want_type);
  unsigned long long elements = got.bytes / size;
  int type = static_cast<int>(what.type), wanted = static_cast<int>(want_type);
  // {mismatches, first mismatch, largest error, rms, squared differences, finite values, largest
  // finite error}, then the partial sums.
  std::uint64_t result[7] = {};
  CUdeviceptr rms = scratch_ + 24;
  HONE_TRY(set_bytes(scratch_, 0, sizeof result));
  HONE_TRY(set_bytes(scratch_ + 8, 0xFF, 8));
  if (is_float(what.type)) {
    CUdeviceptr sums = scratch_ + sizeof result, counts = sums + 8 * kSquaresBlocks;
    double limit = hone_limit(type);
    void* squares[] = {&pw, &elements, &wanted, &limit, &sums, &counts};
    HONE_CU(driver_, launch_kernel(kernels_.at("hone_squares_kernel"), kSquaresBlocks, 1, 1,
                                   kHelperThreads, 1, 1, 0, stream_, squares, nullptr));
    int partials = kSquaresBlocks;
    HONE_TRY(launch_helper("hone_rms_kernel", 1, {&sums, &counts, &partials, &rms}));
  }
  double rtol = tolerance.rtol, atol = tolerance.atol;
  check::FiniteRule rule = check::rule_of(tolerance.non_finite);
  HONE_TRY(launch_helper("hone_compare_kernel", elements,
                         {&pw, &wanted, &pg, &type, &elements, &rms, &rtol, &atol, &rule.equality,
                          &rule.least_finite, &scratch_}));
  HONE_TRY(download(result, scratch_, sizeof result));
  c.rms = __builtin_bit_cast(double, result[3]);
  c.elements = static_cast<std::int64_t>(elements);
  c.mismatches = static_cast<std::int64_t>(result[0]);
  c.max_rel_error = __builtin_bit_cast(double, result[2]);
  c.max_finite_error = __builtin_bit_cast(double, result[6]);
  const double differences = __builtin_bit_cast(double, result[4]);
  if (is_float(what.type)) {
    c.non_finite = c.elements - static_cast<std::int64_t>(__builtin_bit_cast(double, result[5]));
    if (c.rms > 0) c.norm_error = std::sqrt(differences / static_cast<double>(elements)) / c.rms;
    c.norm_limit = check::norm_limit_of(what.type, tolerance, c.rms);
  }
  if (c.mismatches == 0) return c;
  c.first_mismatch = static_cast<std::int64_t>(result[1]);
  HONE_TRY(download(&c.want_bits, pw + result[1] * want_size, want_size));
  HONE_TRY(download(&c.got_bits, pg + result[1] * size, size));
  return c;
}

Outcome<check::LocalComparison> Gpu::compare_locally(const TypedBuffer& want,
                                                     const TypedBuffer& got, std::int64_t width,
                                                     double rms, const Tolerance& tolerance,
                                                     const TypedBuffer& own,
                                                     const TypedBuffer& truth) {
  constexpr std::uint64_t kGroup = 32;  // at least: a warp's
  check::LocalComparison c;
  const std::size_t size = size_of(got.type), want_size = size_of(want.type);
  unsigned long long elements = got.buffer->bytes / size,
                     columns = static_cast<unsigned long long>(width);
  c.elements = static_cast<std::int64_t>(elements);
  c.explained = truth.buffer != nullptr;
  if (!check::has_local_rule(got.type, tolerance)) return c;
  const auto data = [](const TypedBuffer& of) { return of.buffer ? of.buffer->data() : 0; };
  CUdeviceptr pw = data(want), pg = data(got), po = data(own), pt = data(truth);
  int wanted = static_cast<int>(want.type), type = static_cast<int>(got.type);
  int owned = static_cast<int>(own.type), precise = static_cast<int>(truth.type);
  double rtol = tolerance.rtol, atol = tolerance.atol;
  HONE_TRY(set_bytes(scratch_, 0, 24));
  HONE_TRY(set_bytes(scratch_ + 8, 0xFF, 8));
  HONE_TRY(launch_helper("hone_local_kernel", elements / kGroup * 32 + 32,
                         {&pw, &wanted, &pg, &type, &po, &owned, &pt, &precise, &elements, &columns,
                          &rms, &rtol, &atol, &scratch_}));
  std::uint64_t result[3] = {};
  HONE_TRY(download(result, scratch_, sizeof result));
  c.mismatches = static_cast<std::int64_t>(result[0]);
  c.off = static_cast<std::int64_t>(result[2]);
  if (c.mismatches == 0) return c;
  c.first_mismatch = static_cast<std::int64_t>(result[1]);
  HONE_TRY(download(&c.want_bits, pw + result[1] * want_size, want_size));
  HONE_TRY(download(&c.got_bits, pg + result[1] * size, size));
  return c;
}

Outcome<check::NonFiniteElements> Gpu::non_finite(const DeviceBuffer& buffer, ScalarType type) {
  check::NonFiniteElements found;
  const std::size_t size = size_of(type);
  unsigned long long elements = buffer.bytes / size;
  found.elements = static_cast<std::int64_t>(elements);
  if (!is_float(type)) return found;
  HONE_TRY(set_bytes(scratch_, 0, 8));
  HONE_TRY(set_bytes(scratch_ + 8, 0xFF, 8));
  CUdeviceptr data = buffer.data();
  int wanted = static_cast<int>(type);
  HONE_TRY(
      launch_helper("hone_non_finite_kernel", elements, {&data, &elements, &wanted, &scratch_}));
  std::uint64_t result[2] = {};
  HONE_TRY(download(result, scratch_, sizeof result));
  found.count = static_cast<std::int64_t>(result[0]);
  if (found.count == 0) return found;
  found.first = static_cast<std::int64_t>(result[1]);
  HONE_TRY(download(&found.first_bits, data + result[1] * size, size));
  return found;
}

Outcome<std::vector<std::uint8_t>> Gpu::read(const DeviceBuffer& buffer, std::uint64_t bytes) {
  std::vector<std::uint8_t> out(std::min(bytes, buffer.bytes));
  HONE_TRY(download(out.data(), buffer.data(), out.size()));
  return out;
}

Outcome<void> Gpu::wait(double limit_s) {
  const auto begin = Clock::now();
  const auto deadline = begin + std::chrono::duration<double>(limit_s);
  for (;;) {
    const CUresult r = driver_.stream_query(stream_);
    if (r == CUDA_SUCCESS) return {};
    if (r != CUDA_ERROR_NOT_READY) {
      Failure failure = failure_of(driver_, r, "waiting for the GPU");
      lost_ = lost_ || failure.context_lost;
      return std::unexpected(std::move(failure));
    }
    if (Clock::now() >= deadline) {
      lost_ = true;
      return std::unexpected(Failure{Verdict::kTimeout, true, false,
                                     fmt::format("still running after {:.3g} s", limit_s)});
    }
    // Short runs are spun for. Long ones are slept for, a small part of what they took so far at a
    // time: the GPU idles while a sleep lasts too long, and compilers want the core.
    const auto waited = Clock::now() - begin;
    if (waited > kSpin) std::this_thread::sleep_for(std::min<Clock::duration>(waited / 32, kNap));
  }
}

Outcome<void> Gpu::mark_begin() {
  HONE_CU(driver_, event_record(begin_, stream_));
  return {};
}

Outcome<void> Gpu::mark_end() {
  HONE_CU(driver_, event_record(end_, stream_));
  return {};
}

Outcome<double> Gpu::elapsed_us() {
  float ms = 0;
  HONE_CU(driver_, event_elapsed_time(&ms, begin_, end_));
  return static_cast<double>(ms) * 1e3;
}

}  // namespace hone::cuda
