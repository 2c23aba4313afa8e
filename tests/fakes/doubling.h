// Programs whose kernels tests/fakes/fake_cuda.cpp knows by name: y = 2 * x.
#pragma once

#include <cstdint>
#include <string>

#include "candidates/program.h"

namespace hone {

inline ConcreteProgram doubling(const std::string& kernel, std::int64_t n) {
  ConcreteProgram p;
  p.source = "extern \"C\" __global__ void " + kernel + R"((const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
})";
  p.buffers = {{"x", ScalarType::kF32, {n}, Role::kIn, {}},
               {"y", ScalarType::kF32, {n}, Role::kOut, {}}};
  p.launches = {
      {kernel, {(n + 255) / 256, 1, 1}, {256, 1, 1}, 0, {BufferIndex{0}, BufferIndex{1}, n}}};
  return p;
}

}  // namespace hone
