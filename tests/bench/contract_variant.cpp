// One kernel of generate-contract as a program that times itself, by hand where there is a GPU:
//
//   contract_variant 4096 4096 4096 f32 NN tf32x3 pipe=fma bm=128 > v.cu   (the rest: the start)
//   contract_variant 4096 4096 4096 bf16 NN reassociate start=2 > v.cu     (the third first guess)
//   contract_variant 4096 4096 4096 e4m3xe5m2 NT reduced > v.cu    (8-bit floats: C is bf16)
//   contract_variant 4096 4096 4096 bf16+f64 NT reassociate > v.cu (what the nest adds up in f64)
//   contract_variant 4096 4096 4096 f32 NNL tf32x3 > v.cu          (A and B are zero above the
//     diagonal, and are not read there; NNU: below it)
//   contract_variant conv 8x64x512x1024 128x3x3 0 1 tf32 bm=128 > v.cu
//     (a convolution: images x channels x height x width, outputs x the window, padding, dilation)
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a v.cu -o v && ./v
//
// Says on stderr what ptxas says of its registers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "candidates/export/cpp_support.h"
#include "rewriters/schedules/contract/contract.h"
#include "tests/bench/variant_maps.h"
#include "tests/unit/rewriters/convolution.h"
#include "tests/unit/rewriters/generator_harness.h"

namespace hone::schedules {
namespace {

using nest::Ref;

constexpr const char* kMain = R"(
#include <cmath>
#include <algorithm>
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
  $sizes
  $in* A; $of_b* B; $out* C;
  cudaMalloc(&A, $count_a * sizeof *A); cudaMalloc(&B, $count_b * sizeof *B); cudaMalloc(&C, $count_c * sizeof *C);
  $scratch
  fill<<<1024, 256>>>(A, $count_a, 1); fill<<<1024, 256>>>(B, $count_b, 2);
  $views
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const auto once = [&] { $launches };
  $attributes
  once();
  if (auto e = cudaDeviceSynchronize()) { printf("%s\n", cudaGetErrorString(e)); return 1; }
  std::vector<$in> a($count_a); std::vector<$of_b> b($count_b); std::vector<$out> c($count_c);
  cudaMemcpy(a.data(), A, $count_a * sizeof *A, cudaMemcpyDeviceToHost);
  cudaMemcpy(b.data(), B, $count_b * sizeof *B, cudaMemcpyDeviceToHost);
  cudaMemcpy(c.data(), C, $count_c * sizeof *C, cudaMemcpyDeviceToHost);
  double square = 0, worst = 0, size = 0;
  const int samples = 4000;
  for (int s = 0; s < samples; ++s) {
    double want = 0;
    const long long at = s * 1000003LL * 7919 % ($count_c);
    $want
    const double off = fabs((double)(float)c[at] - want);
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
         2.0 * $products / best / 1e9, sqrt(square / size), worst / sqrt(size / samples));
}
)";

/// What is timed: the nest, and how its main() computes one output.
struct Problem {
  std::unique_ptr<NestCase> nest = std::make_unique<NestCase>();
  ScalarType type = ScalarType::kF32, b_type = type, out = type;
  std::string sizes;                      ///< definitions that the others use
  std::string count_a, count_b, count_c;  ///< elements
  std::string products;                   ///< multiply-adds in all
  std::string want;                       ///< adds to `want` what c[at] should be
};

std::optional<Problem> product_of(char** args) {
  Problem problem;
  const std::int64_t m = std::atoll(args[0]), n = std::atoll(args[1]), k = std::atoll(args[2]);
  std::string types = args[3];
  const bool in_f64 = types.ends_with("+f64");
  if (in_f64) types.resize(types.size() - 4);
  const auto first = parse_scalar_type(types.substr(0, types.find('x')));
  const auto second = parse_scalar_type(types.substr(types.find('x') + 1));
  if (!first || !second) return std::nullopt;
  const ScalarType type = *first, b_type = *second;
  const ScalarType out = is_fp8(type) ? ScalarType::kBf16 : type;
  const std::string layout = args[4];
  const bool a_transposed = layout[0] == 'T', b_transposed = layout[1] == 'T';
  const char triangle = layout.size() > 2 ? layout[2] : ' ';
  NestCase& nest = *problem.nest;
  auto& nodes = nest.nodes;
  const auto i = nodes.new_symbol("i", m), j = nodes.new_symbol("j", n),
             l = nodes.new_symbol("l", k);
  for (const auto& [name, of, elements] :
       {std::tuple("A", type, m * k), {"B", b_type, k * n}, {"C", out, m * n}}) {
    nest.concrete.buffers.push_back(
        {name, of, {elements}, *name == 'C' ? Role::kOut : Role::kIn, {}});
  }
  const auto at = [&](nest::SymbolId row, std::int64_t rows, nest::SymbolId column,
                      std::int64_t columns, bool transposed) {
    return transposed ? nodes.add(nodes.scale(nodes.index(column), rows), nodes.index(row))
                      : nodes.add(nodes.scale(nodes.index(row), columns), nodes.index(column));
  };
  const ScalarType sum = in_f64 || type == ScalarType::kF64 ? ScalarType::kF64 : ScalarType::kF32;
  const Ref a = nodes.cast(nodes.load("A", type, at(i, m, l, k, a_transposed)), sum);
  const Ref b = nodes.cast(nodes.load("B", b_type, at(l, k, j, n, b_transposed)), sum);
  nest.nest.buffer = "C";
  nest.nest.type = out;
  nest.nest.dims = {i, j};
  nest.nest.element = at(i, m, j, n, false);
  nest.nest.guard = nodes.boolean(true);
  Ref term = nodes.op(nest::Op::kMul, sum, {a, b});
  if (triangle != ' ') {
    const auto [first, last] = triangle == 'L' ? std::pair(j, i) : std::pair(i, j);
    const auto from_to = [&](nest::SymbolId from, nest::SymbolId to) {
      return nodes.non_negative(nodes.subtract(nodes.index(to), nodes.index(from)));
    };
    term =
        nodes.select(nodes.both(from_to(first, l), from_to(l, last)), term, nodes.number(0, sum));
  }
  nest.nest.value = nodes.cast(nodes.reduce(nest::Op::kAdd, {l}, term), out);
  nest.nest.covers = true;
  problem.type = type;
  problem.b_type = b_type;
  problem.out = out;
  problem.sizes = fmt::format("const long long m = {}, n = {}, k = {};", m, n, k);
  problem.count_a = "m * k";
  problem.count_b = "k * n";
  problem.count_c = "m * n";
  problem.products = "m * n * k";
  problem.want = fmt::format(
      "const long long i = at / n, j = at % n;\n"
      "    for (long long l = {}; l < {}; ++l) want += (double)(float)a[{}] * "
      "(double)(float)b[{}];",
      triangle == ' '   ? "0"
      : triangle == 'L' ? "j"
                        : "i",
      triangle == ' '   ? "k"
      : triangle == 'L' ? "i + 1"
                        : "j + 1",
      a_transposed ? "l * m + i" : "i * k + l", b_transposed ? "j * k + l" : "l * n + j");
  return problem;
}

std::optional<Problem> convolution_of(char** args) {
  Window w;
  long long images = 0, channels = 0, height = 0, width = 0, outputs = 0, rows = 0, columns = 0;
  if (std::sscanf(args[0], "%lldx%lldx%lldx%lld", &images, &channels, &height, &width) != 4 ||
      std::sscanf(args[1], "%lldx%lldx%lld", &outputs, &rows, &columns) != 3)
    return std::nullopt;
  w.images = images, w.channels = channels, w.height = height, w.width = width;
  w.outputs = outputs, w.rows = rows, w.columns = columns;
  w.pad = std::atoll(args[2]);
  w.dilation = std::atoll(args[3]);
  Problem problem;
  problem.nest = std::make_unique<Convolution>(w, MathLevel::kTf32, false);
  problem.sizes = fmt::format(
      "const long long images = {}, channels = {}, height = {}, width = {}, outputs = {}, rows = "
      "{}, "
      "columns = {}, pad = {}, step = {}, out_y = {}, out_x = {};",
      w.images, w.channels, w.height, w.width, w.outputs, w.rows, w.columns, w.pad, w.dilation,
      w.out(w.height, w.rows), w.out(w.width, w.columns));
  problem.count_a = "images * channels * height * width";
  problem.count_b = "outputs * channels * rows * columns";
  problem.count_c = "images * outputs * out_y * out_x";
  problem.products = "images * outputs * out_y * out_x * channels * rows * columns";
  problem.want =
      R"(const long long x = at % out_x, y = at / out_x % out_y, o = at / out_x / out_y % outputs;
    const long long image = at / out_x / out_y / outputs;
    for (long long l = 0; l < channels * rows * columns; ++l) {
      const long long f = l / rows / columns, r = l / columns % rows, q = l % columns;
      const long long in_y = y + r * step - pad, in_x = x + q * step - pad;
      if (in_y < 0 || in_y >= height || in_x < 0 || in_x >= width) continue;
      want += (double)a[((image * channels + f) * height + in_y) * width + in_x] *
              (double)b[((o * channels + f) * rows + r) * columns + q];
    })";
  return problem;
}

int main_of(int count, char** args) {
  const bool convolves = count > 1 && std::string_view(args[1]) == "conv";
  if (count < 7) {
    std::fputs(
        "contract_variant M N K f32|f16|bf16|f64|e4m3[xe5m2][+f64] NN|NT|TN|TT[L|U] MATH "
        "[parameter=value …]\n"
        "contract_variant conv NxCxHxW OxRxS PADDING DILATION MATH [parameter=value …]\n",
        stderr);
    return 2;
  }
  std::optional<Problem> problem = convolves ? convolution_of(args + 2) : product_of(args + 1);
  if (!problem) return std::fputs("no such types or sizes\n", stderr), 2;
  NestCase& nest = *problem->nest;
  const ScalarType type = problem->type, b_type = problem->b_type, out = problem->out;
  nest.task.math = *parse_math_level(args[6]);

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

  const auto type_of = [&](const std::string& buffer) {
    const auto scratch = std::ranges::find(generated->scratch, buffer, &Buffer::name);
    if (scratch != generated->scratch.end()) return scratch->type;
    return buffer == "A" ? type : buffer == "B" ? b_type : out;
  };
  std::string launches, attributes, maps;
  for (const GeneratedLaunch& launch : generated->launches) {
    const auto grid = launch.grid;
    auto [encoded, list] = map_texts(launch, type_of);
    maps += encoded;
    for (const std::string& arg : launch.args) list += (list.empty() ? "" : ", ") + arg;
    launches +=
        fmt::format("{}<<<dim3({}, {}), {}, {}, stream>>>({}); ", launch.kernel, grid[0],
                    grid.size() > 1 ? grid[1] : 1, launch.block[0], launch.shared_bytes, list);
    attributes +=
        fmt::format("cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {});",
                    launch.kernel, launch.shared_bytes);
  }
  std::string scratch;
  for (const Buffer& buffer : generated->scratch) {
    auto bytes = static_cast<std::int64_t>(size_of(buffer.type));
    for (const Expr& size : buffer.shape) bytes *= *size.eval({});
    scratch += fmt::format("{0}* {1}; cudaMalloc(&{1}, {2}LL);", cuda_name(buffer.type),
                           buffer.name, bytes);
  }
  std::string text = NestCase::source_of(*generated);
  if (!maps.empty()) text += "#include <cstring>\n" + std::string(exporting::kCppTensorMaps);
  text += kMain;
  for (const auto& [name, value] : std::initializer_list<std::pair<std::string, std::string>>{
           {"$in", std::string(cuda_name(type))},
           {"$of_b", std::string(cuda_name(b_type))},
           {"$out", std::string(cuda_name(out))},
           {"$scratch", scratch},
           {"$launches", launches},
           {"$attributes", attributes},
           {"$views", maps},
           {"$title", to_string(step)},
           {"$sizes", problem->sizes},
           {"$count_a", problem->count_a},
           {"$count_b", problem->count_b},
           {"$count_c", problem->count_c},
           {"$products", problem->products},
           {"$want", problem->want}}) {
    for (std::size_t found = 0; (found = text.find(name, found)) != text.npos;
         found += value.size()) {
      text.replace(found, name.size(), value);
    }
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace hone::schedules

int main(int count, char** args) { return hone::schedules::main_of(count, args); }
