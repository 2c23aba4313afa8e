#include "evaluator/device/cuda/loaded_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "evaluator/device/arguments.h"

namespace hone::cuda {
namespace {

// TensorMapSpec has the driver's numbers.
static_assert(static_cast<int>(TensorMapSpec::Type::kBF16) == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
static_assert(static_cast<int>(TensorMapSpec::Type::kTf32) == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
static_assert(static_cast<int>(TensorMapSpec::Type::kF16) == CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
static_assert(static_cast<int>(TensorMapSpec::Type::kS32) == CU_TENSOR_MAP_DATA_TYPE_INT32);
static_assert(static_cast<int>(TensorMapSpec::Swizzle::k128B) == CU_TENSOR_MAP_SWIZZLE_128B);
static_assert(static_cast<int>(TensorMapSpec::Fill::kNan) ==
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
static_assert(sizeof(CUtensorMap) == kTensorMapBytes);
static_assert(alignof(CUtensorMap) % kTensorMapAlignment == 0);

Result<std::array<std::uint8_t, kTensorMapBytes>> encode(const Gpu& gpu,
                                                         const TensorMapSpec& spec) {
  const Driver& d = gpu.driver();
  if (d.tensor_map_encode_tiled == nullptr)
    return invalid("the NVIDIA driver is too old for tensor maps (12.0 and newer have them)");
  CUtensorMap map{};
  const CUresult r = d.tensor_map_encode_tiled(
      &map, static_cast<CUtensorMapDataType>(spec.type), static_cast<cuuint32_t>(spec.rank),
      reinterpret_cast<void*>(spec.address),  // NOLINT(performance-no-int-to-ptr): the device's
      spec.sizes.data(), spec.strides.data(), spec.box.data(), spec.element_strides.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(spec.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, static_cast<CUtensorMapFloatOOBfill>(spec.fill));
  if (r != CUDA_SUCCESS) return invalid("cuTensorMapEncodeTiled: " + d.describe(r));
  std::array<std::uint8_t, kTensorMapBytes> bytes{};
  std::memcpy(bytes.data(), &map, sizeof map);
  return bytes;
}

}  // namespace
namespace {

constexpr int kDefaultShared = 48 * 1024;  // what needs no opt-in [B]

}  // namespace

Outcome<std::unique_ptr<LoadedProgram>> LoadedProgram::load(Gpu& gpu,
                                                            const protocol::Runnable& runnable) {
  const Driver& d = gpu.driver();
  std::unique_ptr<LoadedProgram> p(new LoadedProgram(gpu, runnable));
  if (runnable.library) {
    auto library = LibraryMatmul::load(gpu, *runnable.library, runnable.program.buffers);
    if (!library) return std::unexpected(std::move(library.error()));
    p->library_ = std::move(*library);
    return p;
  }
  if (runnable.compiled.cubin.empty())
    return std::unexpected(launch_error("no machine code for this GPU"));
  HONE_CU(d, module_load_data(&p->module_, runnable.compiled.cubin.data()));
  for (std::size_t i = 0; i < runnable.program.launches.size(); ++i) {
    const auto& launch = runnable.program.launches[i];
    const CompiledKernel* kernel = runnable.compiled.find(launch.kernel);
    if (kernel == nullptr)
      return std::unexpected(
          launch_error(fmt::format("kernel '{}' was not compiled", launch.kernel)));
    CUfunction function = nullptr;
    HONE_CU(d, module_get_function(&function, p->module_, kernel->lowered_name.c_str()));
    int max_threads = 0, static_shared = 0;
    HONE_CU(d, func_get_attribute(&max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    HONE_CU(d, func_get_attribute(&static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
    if (threads > max_threads)
      return std::unexpected(launch_error(
          fmt::format("launches[{}] of kernel '{}': {} threads per block, its registers allow {}",
                      i, launch.kernel, threads, max_threads)));
    // Several launches may share a function, whose limit must suit the largest.
    std::int64_t dynamic = 0;
    for (const auto& other : runnable.program.launches) {
      if (other.kernel == launch.kernel) dynamic = std::max(dynamic, other.shared_bytes);
    }
    if (dynamic > 0 && static_shared + dynamic > kDefaultShared) {
      const CUresult r = d.func_set_attribute(
          function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(dynamic));
      if (r != CUDA_SUCCESS)
        return std::unexpected(launch_error(
            fmt::format("launches[{}] of kernel '{}': {} bytes of dynamic shared memory: {}", i,
                        launch.kernel, dynamic, d.describe(r))));
    }
    p->functions_.push_back(function);
  }
  return p;
}

LoadedProgram::~LoadedProgram() {
  if (module_ != nullptr && !gpu_.lost()) gpu_.driver().module_unload(module_);
}

Outcome<void> LoadedProgram::bind(const std::vector<std::uint64_t>& addresses) {
  if (library_) {
    library_->bind(addresses);
    return {};
  }
  arguments_.clear();
  for (std::size_t i = 0; i < runnable_.program.launches.size(); ++i) {
    const CompiledKernel* kernel = runnable_.compiled.find(runnable_.program.launches[i].kernel);
    auto packed = pack_arguments(runnable_.program, i, *kernel, addresses,
                                 [&](const TensorMapSpec& spec) { return encode(gpu_, spec); });
    if (!packed) return std::unexpected(launch_error(packed.error().message));
    arguments_.push_back({std::move(*packed), {}});
    for (const KernelParameter& parameter : kernel->parameters)
      arguments_.back().starts.push_back(arguments_.back().block.data() + parameter.offset);
    arguments_.back().starts.push_back(nullptr);  // the tests' driver counts
  }
  return {};
}

Outcome<void> LoadedProgram::launch(std::size_t from, std::size_t end) {
  if (library_) return library_->launch();
  const Driver& d = gpu_.driver();
  for (std::size_t i = from; i < end; ++i) {
    const auto& l = runnable_.program.launches[i];
    // One by one: ptxas leaves room before a tensor map, so that a block of all of them would have
    // to be laid out by what only the machine code says.
    const CUresult r = d.launch_kernel(
        functions_[i], static_cast<unsigned>(l.grid[0]), static_cast<unsigned>(l.grid[1]),
        static_cast<unsigned>(l.grid[2]), static_cast<unsigned>(l.block[0]),
        static_cast<unsigned>(l.block[1]), static_cast<unsigned>(l.block[2]),
        static_cast<unsigned>(l.shared_bytes), gpu_.stream(), arguments_[i].starts.data(), nullptr);
    if (r != CUDA_SUCCESS) {
      Failure f = failure_of(d, r, "cuLaunchKernel");
      f.detail = fmt::format("launches[{}] of kernel '{}': {}", i, l.kernel, f.detail);
      return std::unexpected(std::move(f));
    }
  }
  return {};
}

}  // namespace hone::cuda
