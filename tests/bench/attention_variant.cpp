// One kernel of generate-attention as a program that times itself, by hand where there is a GPU:
//
//   attention_variant 64 4096 128 f16 causal reassociate rows=128 keys=64 > v.cu  (the rest: the
//   start) nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a v.cu -o v && ./v
//
// Says on stderr what ptxas says of its registers.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "candidates/export/cpp_support.h"
#include "candidates/task_reader.h"
#include "rewriters/lift/lift.h"
#include "rewriters/nest/fuse.h"
#include "rewriters/schedules/attention/attention.h"
#include "tests/bench/variant_maps.h"
#include "tests/unit/rewriters/generator_harness.h"

namespace hone::schedules {
namespace {

constexpr const char* kTask = R"cuda(/* hone
{ "name": "attention", "sizes": {"H": $heads, "S": $length, "D": $depth},
  "check_sizes": [{"H": 2, "S": 64, "D": 16}],
  "buffers": [
    {"name": "Q", "type": "$kind", "shape": ["H", "S", "D"]},
    {"name": "K", "type": "$kind", "shape": ["H", "S", "D"]},
    {"name": "V", "type": "$kind", "shape": ["H", "S", "D"]},
    {"name": "P", "type": "f32", "shape": ["H", "S", "S"], "role": "scratch"},
    {"name": "O", "type": "$kind", "shape": ["H", "S", "D"], "role": "out"} ],
  "launches": [
    {"kernel": "scores", "grid": ["ceildiv(S,16)", "ceildiv(S,16)", "H"], "block": [16, 16],
     "args": ["Q", "K", "P", "S", "D"]},
    {"kernel": "weights", "grid": ["ceildiv(H*S,64)"], "block": [64], "args": ["P", "H*S", "S"]},
    {"kernel": "mix", "grid": ["ceildiv(D,16)", "ceildiv(S,16)", "H"], "block": [16, 16],
     "args": ["P", "V", "O", "S", "D"]} ],
  "math": "$math" } */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__global__ void scores(const $type* Q, const $type* K, float* P, int S, int D) {
  int k = blockIdx.x * 16 + threadIdx.x, q = blockIdx.y * 16 + threadIdx.y, h = blockIdx.z;
  if (q >= S || k >= S) return;
  float score = 0.0f;
  for (int d = 0; d < D; d++) score += (float)Q[(h * S + q) * D + d] * (float)K[(h * S + k) * D + d];
  P[((size_t)h * S + q) * S + k] = $condition ? score / sqrtf((float)D) : -INFINITY;
}
__global__ void weights(float* P, int rows, int S) {
  int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= rows) return;
  float* p = P + (size_t)row * S;
  float top = -INFINITY, sum = 0.0f;
  for (int k = 0; k < S; k++) top = fmaxf(top, p[k]);
  for (int k = 0; k < S; k++) sum += expf(p[k] - top);
  for (int k = 0; k < S; k++) p[k] = expf(p[k] - top) / sum;
}
__global__ void mix(const float* P, const $type* V, $type* O, int S, int D) {
  int d = blockIdx.x * 16 + threadIdx.x, q = blockIdx.y * 16 + threadIdx.y, h = blockIdx.z;
  if (q >= S || d >= D) return;
  float out = 0.0f;
  for (int k = 0; k < S; k++) out += P[((size_t)h * S + q) * S + k] * (float)V[(h * S + k) * D + d];
  O[(h * S + q) * D + d] = ($type)out;
}
)cuda";

constexpr const char* kMain = R"cuda(
#include <cmath>
#include <cstdio>
#include <vector>

template <class T>
__global__ void fill(T* to, long long count, unsigned seed) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL) {
    float sum = 0;  // of four uniform ones: nearly normal
    for (int n = 0; n < 4; ++n) {
      unsigned x = (unsigned)(4 * i + n) * 2654435761u + seed;
      x ^= x >> 15; x *= 2246822519u; x ^= x >> 13; x *= 3266489917u; x ^= x >> 16;
      sum += (x >> 8) / 8388608.0f - 1.0f;
    }
    to[i] = (T)(sum * 0.866f);
  }
}

int main() {
  const long long heads = $heads, length = $length, depth = $depth, count = heads * length * depth;
  const bool causal = $causal;
  $type *Q, *K, *V, *O;
  cudaMalloc(&Q, count * sizeof *Q); cudaMalloc(&K, count * sizeof *K);
  cudaMalloc(&V, count * sizeof *V); cudaMalloc(&O, count * sizeof *O);
  fill<<<1024, 256>>>(Q, count, 1); fill<<<1024, 256>>>(K, count, 2); fill<<<1024, 256>>>(V, count, 3);
  $views
  const auto once = [&] { $launches };
  $attributes
  once();
  if (auto e = cudaDeviceSynchronize()) { printf("%s\n", cudaGetErrorString(e)); return 1; }
  std::vector<$type> q(count), k(count), v(count), o(count);
  cudaMemcpy(q.data(), Q, count * sizeof *Q, cudaMemcpyDeviceToHost);
  cudaMemcpy(k.data(), K, count * sizeof *K, cudaMemcpyDeviceToHost);
  cudaMemcpy(v.data(), V, count * sizeof *V, cudaMemcpyDeviceToHost);
  cudaMemcpy(o.data(), O, count * sizeof *O, cudaMemcpyDeviceToHost);
  double square = 0, worst = 0, size = 0;
  long long samples = 0;
  for (int s = 0; s < 100; ++s) {
    const long long head = s * 7919LL % heads, row = s < 3 ? s : s < 6 ? length - s + 2 : s * 104729LL % length;
    const long long keys = causal ? row + 1 : length;
    std::vector<double> logits(keys), want(depth);
    double top = -1e300, sum = 0;
    for (long long j = 0; j < keys; ++j) {
      double score = 0;
      for (long long d = 0; d < depth; ++d)
        score += (double)(float)q[(head * length + row) * depth + d] * (double)(float)k[(head * length + j) * depth + d];
      logits[j] = score / sqrt((double)depth); top = fmax(top, logits[j]);
    }
    for (long long j = 0; j < keys; ++j) {
      const double weight = exp(logits[j] - top);
      sum += weight;
      for (long long d = 0; d < depth; ++d) want[d] += weight * (double)(float)v[(head * length + j) * depth + d];
    }
    for (long long d = 0; d < depth; ++d, ++samples) {
      const double off = fabs((double)(float)o[(head * length + row) * depth + d] - want[d] / sum);
      square += off * off; size += want[d] / sum * (want[d] / sum); worst = fmax(worst, off);
    }
  }
  cudaEvent_t start, stop; cudaEventCreate(&start); cudaEventCreate(&stop);
  for (int i = 0; i < 3; ++i) once();
  float best = 1e9f;
  for (int round = 0; round < 5; ++round) {
    cudaEventRecord(start);
    for (int i = 0; i < 10; ++i) once();
    cudaEventRecord(stop); cudaEventSynchronize(stop);
    float ms; cudaEventElapsedTime(&ms, start, stop); best = fmin(best, ms / 10);
  }
  printf("%lld x %lld x %lld $kind%s %s: %.1f us, %.1f TFLOP/s, relative error %.2e (rms), %.2e (worst)\n",
         heads, length, depth, causal ? " causal" : "", "$title", best * 1e3,
         4.0 * heads * length * length * depth / (causal ? 2 : 1) / best / 1e9, sqrt(square / size),
         worst / sqrt(size / samples));
}
)cuda";

using Values = std::initializer_list<std::pair<std::string, std::string>>;

std::string with(std::string text, const Values& values) {
  for (const auto& [name, value] : values) {
    for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; at += value.size()) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

int failed(const std::string& why) { return std::fprintf(stderr, "%s\n", why.c_str()), 1; }

int main_of(int count, char** args) {
  if (count < 7) {
    std::fputs(
        "attention_variant HEADS LENGTH DEPTH f32|f16|bf16 full|causal MATH [parameter=value …]\n",
        stderr);
    return 2;
  }
  const std::string kind = args[4];
  const bool causal = std::string(args[5]) == "causal";
  const std::string type(cuda_name(*parse_scalar_type(kind)));
  const auto task = parse_task(with(kTask, {{"$heads", args[1]},
                                            {"$length", args[2]},
                                            {"$depth", args[3]},
                                            {"$kind", kind},
                                            {"$type", type},
                                            {"$math", args[6]},
                                            {"$condition", causal ? "k <= q" : "true"}}),
                               "attention.cu");
  if (!task) return failed(task.error().message);
  const auto lifted = nest::lift(task->reference, task->sizes);
  if (!lifted) return failed(lifted.error().message);
  const std::vector<nest::Site> sites = nest::sites(*lifted);
  const RewriteContext context{&*task, task->sizes, target_limits("sm_90")};
  const Goal goal{lifted->nodes.get(), sites.at(0).nests, &lifted->concrete, &context};
  const auto generator = make_attention();
  const auto offer = generator->match(goal);
  if (!offer) return failed(offer.error().message);
  std::map<std::string, std::string> choice;
  for (int x = 7; x < count; ++x) {
    const std::string text = args[x];
    choice[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  const Step step = NestCase::step_at(*offer, choice);
  const auto generated = generator->generate(goal, step, "g_");
  if (!generated) return failed(generated.error().message);
  const CompiledProgram program = NestCase::compiled(*generated, true);
  std::fprintf(stderr, "%s\n%s\n", to_string(step).c_str(), program.log.c_str());
  for (const CompiledKernel& kernel : program.kernels) {
    std::fprintf(stderr, "%s: %d registers, %d bytes spilled\n", kernel.name.c_str(),
                 kernel.resources.registers, kernel.resources.spill_bytes);
  }

  const GeneratedLaunch& launch = generated->launches.at(0);
  auto [maps, list] = map_texts(launch, [&](const auto&) { return *parse_scalar_type(kind); });
  for (const std::string& arg : launch.args) list += (list.empty() ? "" : ", ") + arg;
  const std::string launches = fmt::format("{}<<<{}, {}, {}>>>({});", launch.kernel, launch.grid[0],
                                           launch.block[0], launch.shared_bytes, list);
  const std::string attributes =
      fmt::format("cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {});",
                  launch.kernel, launch.shared_bytes);
  std::string text = NestCase::source_of(*generated);
  if (!maps.empty()) text += "#include <cstring>\n" + std::string(exporting::kCppTensorMaps);
  std::fputs(with(text + kMain, {{"$heads", args[1]},
                                 {"$length", args[2]},
                                 {"$depth", args[3]},
                                 {"$causal", causal ? "true" : "false"},
                                 {"$kind", kind},
                                 {"$type", type},
                                 {"$launches", launches},
                                 {"$views", maps},
                                 {"$attributes", attributes},
                                 {"$title", to_string(step)}})
                 .c_str(),
             stdout);
  return 0;
}

}  // namespace
}  // namespace hone::schedules

int main(int count, char** args) { return hone::schedules::main_of(count, args); }
