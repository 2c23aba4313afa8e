// A reduction over more than one block: stages, each a nest of its own over scratch buffers.
//
//   sum over k < 2^26 of x[k]
//     ──► part[s] = sum over c < 2^16 of x[2^16*s + c]   (s < 1024: enough blocks for the device)
//     ──► out = sum over s of part[s]
//
// Sums of squares around a value, and of exponentials below the maximum, are split without a pass
// of their own over the data (source: Chan, Golub, LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", 1979; Milakov, Gimelshein, "Online normalizer
// calculation for softmax", 2018):
//
//   sum (f - a)^2      = sum over s of  m2[s] + n (sum[s] / n - a)^2
//   sum exp(f - max f) = sum over s of  power[s] exp(max[s] - max f)
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rewriters/schedules/generator.h"
#include "rewriters/schedules/nests.h"

namespace hone::schedules::reduce {

/// What may run in one launch, given those of smaller depth.
struct Stage {
  nest::Nest nest;
  int depth = 0;
  bool parts = false;  ///< reads the data: what the parameters are about
};

struct Stages {
  std::vector<Stage> all;  ///< by depth
  std::vector<Buffer> scratch;
  ConcreteProgram concrete;  ///< the goal's, with the scratch buffers
  std::int64_t most_parts = 1;
};

struct Splitting {
  std::int64_t parts = 0;  ///< of a reduction; 0: as many as fill the device
  std::string prefix;
};

/// kRefused: a scatter.
[[nodiscard]] Result<Stages> split(const Goal& goal, const Splitting& how);

/// What the goal is about: reductions of `outputs` values over `length` elements.
struct Shape {
  std::int64_t outputs = 1;
  std::int64_t length = 1;
  bool across = false;  ///< outputs are neighbours in memory
  bool inner = false;   ///< a reduction depends on the index of another
};
[[nodiscard]] Result<Shape> shape_of(const Goal& goal);

}  // namespace hone::schedules::reduce
