#include "evaluator/device/cuda/library_matmul.h"

#include <fmt/format.h>

#include <optional>

namespace hone::cuda {
namespace {

// What NVIDIA recommends for Hopper; enough for split-K on the others.
constexpr std::uint64_t kWorkspaceBytes = 32 << 20;

/// The libraries' handles and workspace: one of each in a process, as there is one context.
struct Session {
  CublasHandle handle = nullptr;
  CublasLtHandle lt = nullptr;
  void* workspace = nullptr;
  std::string text;
};

Result<Session> open_session(Gpu& gpu) {
  const auto& loaded = Cublas::get();
  if (!loaded) return std::unexpected(loaded.error());
  const Cublas& c = *loaded;
  Session s;
  const auto failed = [&](const char* call, CublasStatus status) {
    return fail(ErrorCode::kEnvironment, fmt::format("{}: {}", call, c.describe(status)));
  };
  if (const auto r = c.create(&s.handle); r != 0) return failed("cublasCreate", r);
  if (const auto r = c.lt_create(&s.lt); r != 0) return failed("cublasLtCreate", r);
  if (const auto r = c.set_stream(s.handle, gpu.stream()); r != 0)
    return failed("cublasSetStream", r);
  auto workspace = gpu.acquire(kWorkspaceBytes);
  if (!workspace) return fail(ErrorCode::kEnvironment, workspace.error().detail);
  s.workspace = reinterpret_cast<void*>(workspace->data());
  if (const auto r = c.set_workspace(s.handle, s.workspace, kWorkspaceBytes); r != 0)
    return failed("cublasSetWorkspace", r);
  int version = 0;  // 130100 is 13.1.0
  (void)c.get_version(s.handle, &version);
  s.text = fmt::format("cuBLAS {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  return s;
}

const Result<Session>& session(Gpu& gpu) {
  static const Result<Session> instance = open_session(gpu);
  return instance;
}

std::optional<int> cuda_type(ScalarType type) {
  switch (type) {
    case ScalarType::kF32:
      return kCudaR32F;
    case ScalarType::kF64:
      return kCudaR64F;
    case ScalarType::kF16:
      return kCudaR16F;
    case ScalarType::kBf16:
      return kCudaR16BF;
    default:
      return std::nullopt;
  }
}

/// alpha and beta in the type that the computation takes them.
struct Scale {
  float f = 0;
  double d = 0;
  [[nodiscard]] const void* of(int compute) const {
    return compute == kCompute64F ? static_cast<const void*>(&d) : &f;
  }
};
constexpr Scale kOne{1, 1}, kZero{0, 0};

}  // namespace

Result<std::string> open_libraries(Gpu& gpu) {
  const auto& s = session(gpu);
  if (!s) return std::unexpected(s.error());
  return s->text;
}

Outcome<std::unique_ptr<LibraryMatmul>> LibraryMatmul::load(
    Gpu& gpu, const MatmulCall& call, const std::vector<ConcreteBuffer>& buffers) {
  const auto& s = session(gpu);
  if (!s) return std::unexpected(launch_error(s.error().message));
  const auto type_of = [&](int i) { return buffers[static_cast<std::size_t>(i)].type; };
  const auto type = cuda_type(type_of(call.a)), out_type = cuda_type(type_of(call.out));
  if (!type || !out_type || type_of(call.a) != type_of(call.b))
    return std::unexpected(launch_error("cuBLAS multiplies no matrices of these types"));
  std::unique_ptr<LibraryMatmul> p(new LibraryMatmul(gpu, call));
  p->type_ = *type;
  p->out_type_ = *out_type;
  p->compute_ = *type == kCudaR64F                ? kCompute64F
                : call.tf32 && *type == kCudaR32F ? kCompute32FFastTf32
                                                  : kCompute32F;
  // A row-major matrix is its transpose column-major, so out^T = B^T A^T needs no transposition
  // but of what the task itself holds transposed.
  p->op_first_ = call.b_transposed ? kOpT : kOpN;
  p->ld_first_ = static_cast<int>(call.b_transposed ? call.k : call.n);
  p->op_second_ = call.a_transposed ? kOpT : kOpN;
  p->ld_second_ = static_cast<int>(call.a_transposed ? call.m : call.k);
  p->gemv_ = call.library == Library::kCublas && call.batch == 1 && (call.m == 1 || call.n == 1) &&
             *type == *out_type && (*type == kCudaR32F || *type == kCudaR64F) && !call.tf32;
  if (call.library == Library::kCublasLt) HONE_TRY(p->choose_algorithm());
  return p;
}

LibraryMatmul::~LibraryMatmul() {
  const auto& c = Cublas::get();
  if (!c) return;
  if (desc_ != nullptr) c->lt_desc_destroy(desc_);
  for (CublasLtObject layout : {layout_first_, layout_second_, layout_out_}) {
    if (layout != nullptr) c->lt_layout_destroy(layout);
  }
}

#define HONE_LT(call)                                                                           \
  do {                                                                                          \
    if (const CublasStatus lt_status = (call); lt_status != 0)                                  \
      return std::unexpected(launch_error(fmt::format("cublasLt: {}", c.describe(lt_status)))); \
  } while (false)

Outcome<void> LibraryMatmul::choose_algorithm() {
  const Cublas& c = *Cublas::get();
  const auto layout = [&](CublasLtObject& out, int type, std::int64_t rows, std::int64_t columns,
                          std::int64_t ld, std::int64_t stride) -> Outcome<void> {
    HONE_LT(c.lt_layout_create(&out, type, static_cast<std::uint64_t>(rows),
                               static_cast<std::uint64_t>(columns), ld));
    const auto batch = static_cast<std::int32_t>(call_.batch);
    HONE_LT(c.lt_layout_set(out, kLayoutBatchCount, &batch, sizeof batch));
    HONE_LT(c.lt_layout_set(out, kLayoutStridedBatchOffset, &stride, sizeof stride));
    return {};
  };
  HONE_LT(c.lt_desc_create(&desc_, compute_, compute_ == kCompute64F ? kCudaR64F : kCudaR32F));
  HONE_LT(c.lt_desc_set(desc_, kMatmulDescTransA, &op_first_, sizeof op_first_));
  HONE_LT(c.lt_desc_set(desc_, kMatmulDescTransB, &op_second_, sizeof op_second_));
  const std::int64_t m = call_.m, n = call_.n, k = call_.k;
  HONE_TRY(layout(layout_first_, type_, ld_first_, op_first_ == kOpN ? k : n, ld_first_,
                  call_.b_stride));
  HONE_TRY(layout(layout_second_, type_, ld_second_, op_second_ == kOpN ? m : k, ld_second_,
                  call_.a_stride));
  HONE_TRY(layout(layout_out_, out_type_, n, m, n, m * n));
  CublasLtObject preference = nullptr;
  HONE_LT(c.lt_preference_create(&preference));
  const std::uint64_t workspace = kWorkspaceBytes;
  CublasStatus status =
      c.lt_preference_set(preference, kPreferenceMaxWorkspaceBytes, &workspace, sizeof workspace);
  int found = 0;
  if (status == 0) {
    status = c.lt_heuristic(session(gpu_)->lt, desc_, layout_first_, layout_second_, layout_out_,
                            layout_out_, preference, 1, &algorithm_, &found);
  }
  c.lt_preference_destroy(preference);
  HONE_LT(status);
  if (found < 1 || algorithm_.state != 0)
    return std::unexpected(launch_error("cublasLt has no algorithm for this product"));
  return {};
}

Outcome<void> LibraryMatmul::launch() {
  const bool lt = call_.library == Library::kCublasLt;
  const CublasStatus status = lt ? launch_lt() : gemv_ ? launch_gemv() : launch_gemm();
  if (status == 0) return {};
  return std::unexpected(launch_error(fmt::format("{}: {}",
                                                  lt      ? "cublasLtMatmul"
                                                  : gemv_ ? "cublasXgemv"
                                                          : "cublasGemmEx",
                                                  Cublas::get()->describe(status))));
}

CublasStatus LibraryMatmul::launch_gemv() {
  const Cublas& c = *Cublas::get();
  // The matrix is the one that is more than a vector; column-major it is ld x the other extent.
  const bool matrix_is_a = call_.n == 1;
  const int op =
      matrix_is_a ? (call_.a_transposed ? kOpN : kOpT) : (call_.b_transposed ? kOpT : kOpN);
  const int length = static_cast<int>(matrix_is_a ? call_.m : call_.n);  // of the result
  const int k = static_cast<int>(call_.k);
  const int rows = op == kOpN ? length : k, columns = op == kOpN ? k : length;
  const void* matrix = address(matrix_is_a ? call_.a : call_.b);
  const void* vector = address(matrix_is_a ? call_.b : call_.a);
  void* out = address(call_.out);
  const CublasHandle handle = session(gpu_)->handle;
  if (type_ == kCudaR64F)
    return c.dgemv(handle, op, rows, columns, &kOne.d, matrix, rows, vector, 1, &kZero.d, out, 1);
  return c.sgemv(handle, op, rows, columns, &kOne.f, matrix, rows, vector, 1, &kZero.f, out, 1);
}

CublasStatus LibraryMatmul::launch_gemm() {
  const Cublas& c = *Cublas::get();
  const int m = static_cast<int>(call_.m), n = static_cast<int>(call_.n),
            k = static_cast<int>(call_.k);
  const CublasHandle handle = session(gpu_)->handle;
  const void *one = kOne.of(compute_), *zero = kZero.of(compute_);
  if (call_.batch == 1) {
    return c.gemm(handle, op_first_, op_second_, n, m, k, one, address(call_.b), type_, ld_first_,
                  address(call_.a), type_, ld_second_, zero, address(call_.out), out_type_, n,
                  compute_, kGemmDefault);
  }
  return c.gemm_batched(handle, op_first_, op_second_, n, m, k, one, address(call_.b), type_,
                        ld_first_, call_.b_stride, address(call_.a), type_, ld_second_,
                        call_.a_stride, zero, address(call_.out), out_type_, n, call_.m * call_.n,
                        static_cast<int>(call_.batch), compute_, kGemmDefault);
}

CublasStatus LibraryMatmul::launch_lt() {
  const Session& s = *session(gpu_);
  return Cublas::get()->lt_matmul(
      s.lt, desc_, kOne.of(compute_), address(call_.b), layout_first_, address(call_.a),
      layout_second_, kZero.of(compute_), address(call_.out), layout_out_, address(call_.out),
      layout_out_, algorithm_.algorithm, s.workspace, kWorkspaceBytes, gpu_.stream());
}

}  // namespace hone::cuda
