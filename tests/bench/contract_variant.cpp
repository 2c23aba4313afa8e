// One kernel of generate-contract as a program that times itself, by hand where there is a GPU:
//
//   contract_variant 4096 4096 4096 f32 NN tf32x3 pipe=fma bm=128 > v.cu   (the rest: the start)
//   contract_variant 4096 4096 4096 bf16 NN reassociate start=2 > v.cu     (the third first guess)
//   contract_variant 4096 4096 4096 e4m3xe5m2 NT reduced > v.cu            (8-bit floats: C is
//   bf16) nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a v.cu -o v && ./v
//
// Says on stderr what ptxas says of its registers.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "candidates/export/cpp_support.h"
#include "rewriters/generators/contract/contract.h"
#include "tests/bench/variant_maps.h"
#include "tests/unit/rewriters/generator_harness.h"

namespace hone::generators {
namespace {

using nest::Ref;

constexpr const char* kMain = R"(
#include <cmath>
#include <cstdio>
#include <vector>

template <class T>
__global__ void fill(T* to, long long count, unsigned seed) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    unsigned x = (unsigned)i * 2654435761u + seed;
    x ^= x >> 15; x *= 2246822519u; x ^= x >> 13; x *= 3266489917u; x ^= x >> 16;
    to[i] = (T)((x >> 8) / 8388608.0f - 1.0f);
  }
}

int main() {
  const long long m = $m, n = $n, k = $k;
  $in* A; $of_b* B; $out* C; float* partial;
  cudaMalloc(&A, m * k * sizeof *A); cudaMalloc(&B, k * n * sizeof *B); cudaMalloc(&C, m * n * sizeof *C);
  cudaMalloc(&partial, $scratch + 16);
  fill<<<1024, 256>>>(A, m * k, 1); fill<<<1024, 256>>>(B, k * n, 2);
  $views
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const auto once = [&] { $launches };
  $attributes
  once();
  if (auto e = cudaDeviceSynchronize()) { printf("%s\n", cudaGetErrorString(e)); return 1; }
  std::vector<$in> a(m * k); std::vector<$of_b> b(k * n); std::vector<$out> c(m * n);
  cudaMemcpy(a.data(), A, m * k * sizeof *A, cudaMemcpyDeviceToHost);
  cudaMemcpy(b.data(), B, k * n * sizeof *B, cudaMemcpyDeviceToHost);
  cudaMemcpy(c.data(), C, m * n * sizeof *C, cudaMemcpyDeviceToHost);
  double square = 0, worst = 0, size = 0;
  const int samples = 4000;
  for (int s = 0; s < samples; ++s) {
    const long long i = s * 7919LL % m, j = s * 104729LL % n;
    double want = 0;
    for (long long l = 0; l < k; ++l) want += (double)(float)a[$a] * (double)(float)b[$b];
    const double off = fabs((double)(float)c[i * n + j] - want);
    square += off * off; size += want * want; worst = fmax(worst, off);
  }
  cudaEvent_t start, stop; cudaEventCreate(&start); cudaEventCreate(&stop);
  cudaGraph_t graph; cudaGraphExec_t ten;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < 10; ++i) once();
  cudaStreamEndCapture(stream, &graph);
  if (cudaGraphInstantiate(&ten, graph, 0)) { printf("no graph\n"); return 1; }
  float best = 1e9f;
  for (int round = 0; round < 6; ++round) {
    cudaEventRecord(start, stream);
    cudaGraphLaunch(ten, stream);
    cudaEventRecord(stop, stream); cudaEventSynchronize(stop);
    float ms; cudaEventElapsedTime(&ms, start, stop); best = fmin(best, ms / 10);
  }
  printf("%s: %.1f us, %.1f TFLOP/s, relative error %.2e (rms), %.2e (worst)\n", "$title", best * 1e3,
         2.0 * m * n * k / best / 1e9, sqrt(square / size), worst / sqrt(size / samples));
}
)";

int main_of(int count, char** args) {
  if (count < 7) {
    std::fputs(
        "contract_variant M N K f32|f16|bf16|f64|e4m3[xe5m2] NN|NT|TN|TT MATH [parameter=value "
        "…]\n",
        stderr);
    return 2;
  }
  const std::int64_t m = std::atoll(args[1]), n = std::atoll(args[2]), k = std::atoll(args[3]);
  const std::string types = args[4];
  const auto first = parse_scalar_type(types.substr(0, types.find('x')));
  const auto second = parse_scalar_type(types.substr(types.find('x') + 1));
  if (!first || !second) return std::fputs("no such type\n", stderr), 2;
  const ScalarType type = *first, b_type = *second;
  const ScalarType out = is_fp8(type) ? ScalarType::kBf16 : type;
  const bool a_transposed = args[5][0] == 'T', b_transposed = args[5][1] == 'T';
  NestCase nest;
  auto& nodes = nest.nodes;
  nest.task.math = *parse_math_level(args[6]);
  const auto i = nodes.new_symbol("i", m), j = nodes.new_symbol("j", n),
             l = nodes.new_symbol("l", k);
  for (const auto& [name, of, elements] :
       {std::tuple("A", type, m * k), {"B", b_type, k * n}, {"C", out, m * n}}) {
    nest.concrete.buffers.push_back(
        {name, of, {elements}, *name == 'C' ? Role::kOut : Role::kIn, {}});
  }
  const auto type_of = [&](const std::string& buffer) {
    return buffer == "A" ? type : buffer == "B" ? b_type : out;
  };
  const auto at = [&](nest::SymbolId row, std::int64_t rows, nest::SymbolId column,
                      std::int64_t columns, bool transposed) {
    return transposed ? nodes.add(nodes.scale(nodes.index(column), rows), nodes.index(row))
                      : nodes.add(nodes.scale(nodes.index(row), columns), nodes.index(column));
  };
  const ScalarType sum = type == ScalarType::kF64 ? type : ScalarType::kF32;
  const Ref a = nodes.cast(nodes.load("A", type, at(i, m, l, k, a_transposed)), sum);
  const Ref b = nodes.cast(nodes.load("B", b_type, at(l, k, j, n, b_transposed)), sum);
  nest.nest.buffer = "C";
  nest.nest.type = out;
  nest.nest.dims = {i, j};
  nest.nest.element = at(i, m, j, n, false);
  nest.nest.guard = nodes.boolean(true);
  nest.nest.value = nodes.cast(nodes.reduce("+", {l}, nodes.op("*", sum, {a, b})), out);
  nest.nest.covers = true;

  const auto generator = make_contract();
  const auto offer = generator->match(nest.goal());
  if (!offer) return std::fprintf(stderr, "%s\n", offer.error().message.c_str()), 1;
  std::map<std::string, std::string> choice;
  for (int x = 7; x < count; ++x) {
    const std::string text = args[x];
    choice[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  if (const auto start = choice.extract("start")) {
    const auto number = static_cast<std::size_t>(std::atoi(start.mapped().c_str()));
    if (number >= offer->starts.size())
      return std::fprintf(stderr, "there are %zu starts\n", offer->starts.size()), 1;
    for (std::size_t p = 0; p < offer->parameters.size(); ++p)
      choice.try_emplace(offer->parameters[p].name,
                         to_string(offer->parameters[p].domain[offer->starts[number][p]]));
  }
  const Step step = NestCase::step_at(*offer, choice);
  const auto generated = generator->generate(nest.goal(), step, "g_");
  if (!generated) return std::fprintf(stderr, "%s\n", generated.error().message.c_str()), 1;
  const CompiledProgram program = NestCase::compiled(*generated, true);
  std::fprintf(stderr, "%s\n%s\n", to_string(step).c_str(), program.log.c_str());
  for (const CompiledKernel& kernel : program.kernels) {
    std::fprintf(stderr, "%s: %d registers, %d bytes spilled\n", kernel.name.c_str(),
                 kernel.resources.registers, kernel.resources.spill_bytes);
  }

  std::string launches, attributes, maps;
  for (const GeneratedLaunch& launch : generated->launches) {
    const auto grid = launch.grid;
    auto [encoded, list] = map_texts(launch, type_of);
    maps += encoded;
    for (const std::string& arg : launch.args)
      list += (list.empty() ? "" : ", ") + (arg == "g_partial" ? "partial" : arg);
    launches +=
        fmt::format("{}<<<dim3({}, {}), {}, {}, stream>>>({}); ", launch.kernel, grid[0],
                    grid.size() > 1 ? grid[1] : 1, launch.block[0], launch.shared_bytes, list);
    attributes +=
        fmt::format("cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {});",
                    launch.kernel, launch.shared_bytes);
  }
  std::int64_t scratch = 0;
  for (const Buffer& buffer : generated->scratch) {
    scratch = static_cast<std::int64_t>(size_of(buffer.type));
    for (const Expr& size : buffer.shape) scratch *= *size.eval({});
  }
  std::string text = NestCase::source_of(*generated);
  if (!maps.empty()) text += "#include <cstring>\n" + std::string(exporting::kCppTensorMaps);
  text += kMain;
  for (const auto& [name, value] : std::initializer_list<std::pair<std::string, std::string>>{
           {"$m", fmt::format("{}", m)},
           {"$n", fmt::format("{}", n)},
           {"$k", fmt::format("{}", k)},
           {"$in", std::string(cuda_name(type))},
           {"$of_b", std::string(cuda_name(b_type))},
           {"$out", std::string(cuda_name(out))},
           {"$scratch", fmt::format("{}LL", scratch)},
           {"$launches", launches},
           {"$attributes", attributes},
           {"$views", maps},
           {"$title", to_string(step)},
           {"$a", a_transposed ? "l * m + i" : "i * k + l"},
           {"$b", b_transposed ? "j * k + l" : "l * n + j"}}) {
    for (std::size_t found = 0; (found = text.find(name, found)) != text.npos;
         found += value.size()) {
      text.replace(found, name.size(), value);
    }
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace hone::generators

int main(int count, char** args) { return hone::generators::main_of(count, args); }
