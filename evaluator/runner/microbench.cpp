#include "evaluator/runner/microbench.h"

#include <fmt/format.h>

namespace hone::runner {
namespace {

using protocol::BenchReply;
using protocol::BenchRequest;

constexpr double kLimit_s = 20;  // of one timing
constexpr std::int64_t kLeastBuffer = 64 << 20;

std::unexpected<Error> environment(const cuda::Failure& failure) {
  return fail(ErrorCode::kEnvironment, "setting up the microbenchmarks: " + failure.detail);
}

}  // namespace

Result<protocol::BenchDevice> Microbench::load(const std::string& cubin, std::int64_t bytes) {
  if (module_ != nullptr) return fail(ErrorCode::kInfrastructure, "loaded already");
  const auto& driver = gpu_.driver();
  if (const CUresult r = driver.module_load_data(&module_, cubin.data()); r != CUDA_SUCCESS)
    return environment(cuda::failure_of(driver, r, "cuModuleLoadData"));
  protocol::BenchDevice device;
  device.threads_per_sm = gpu_.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  device.blocks_per_sm = gpu_.attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  device.registers_per_sm = gpu_.attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  device.shared_per_sm = gpu_.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  device.shared_reserved = gpu_.attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  for (; bytes >= kLeastBuffer; bytes /= 2) {
    auto a = gpu_.acquire(static_cast<std::uint64_t>(bytes));
    if (!a && !a.error().out_of_memory) return environment(a.error());
    if (!a) continue;
    auto b = gpu_.acquire(static_cast<std::uint64_t>(bytes));
    if (!b && !b.error().out_of_memory) return environment(b.error());
    if (!b) {
      gpu_.release(*a);
      continue;
    }
    a_ = a->data();
    b_ = b->data();
    break;
  }
  auto out = gpu_.acquire(protocol::kBenchWords * 8);
  if (a_ == 0 || !out)
    return fail(ErrorCode::kEnvironment, "the GPU's memory is in use by other programs");
  out_ = out->data();
  device.buffer_bytes = bytes;
  for (const CUdeviceptr at : {a_, b_}) {
    if (auto set = gpu_.set_bytes(at, 0, static_cast<std::uint64_t>(bytes)); !set)
      return environment(set.error());
  }
  if (auto done = gpu_.wait(kLimit_s); !done) return environment(done.error());
  return device;
}

cuda::Outcome<void> Microbench::launch(const BenchRequest& r) {
  const auto& driver = gpu_.driver();
  CUfunction& function = kernels_[r.kernel];
  if (function == nullptr)
    HONE_CU(driver, module_get_function(&function, module_, r.kernel.c_str()));
  if (r.shared_bytes > (48 << 10))
    HONE_CU(driver, func_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       r.shared_bytes));
  CUdeviceptr out = out_, a = a_, b = b_;
  auto numbers = r.numbers;
  void* arguments[] = {&out, &a, &b, &numbers[0], &numbers[1], &numbers[2]};
  HONE_CU(driver,
          launch_kernel(function, static_cast<unsigned>(r.blocks), 1, 1,
                        static_cast<unsigned>(r.threads), 1, 1,
                        static_cast<unsigned>(r.shared_bytes), gpu_.stream(), arguments, nullptr));
  return {};
}

cuda::Outcome<BenchReply> Microbench::run_all(const BenchRequest& r) {
  BenchReply reply;
  BenchRequest hold;
  hold.kernel = "hold";
  hold.numbers = {static_cast<std::int64_t>(r.hold_us * 1e3), 0, 0};
  for (int i = 0; i < r.warmups + r.repeats; ++i) {
    HONE_TRY(gpu_.set_bytes(out_, 0, protocol::kBenchWords * 8));
    if (r.hold_us > 0) HONE_TRY(launch(hold));
    HONE_TRY(gpu_.mark_begin());
    for (int j = 0; j < r.launches; ++j) HONE_TRY(launch(r));
    HONE_TRY(gpu_.mark_end());
    HONE_TRY(gpu_.wait(kLimit_s));
    const auto time_us = gpu_.elapsed_us();
    if (!time_us) return std::unexpected(time_us.error());
    if (i >= r.warmups) reply.times_us.push_back(*time_us);
  }
  reply.words.resize(protocol::kBenchWords);
  HONE_CU(gpu_.driver(),
          memcpy_dtoh_async(reply.words.data(), out_, reply.words.size() * 8, gpu_.stream()));
  HONE_TRY(gpu_.wait(kLimit_s));
  return reply;
}

BenchReply Microbench::run(const BenchRequest& request) {
  auto reply = run_all(request);
  if (reply) return std::move(*reply);
  BenchReply failed;
  failed.error = fmt::format("{}: {}", request.kernel, reply.error().detail);
  return failed;
}

}  // namespace hone::runner
