// A generator prints kernels for nests. Stateless; may be called from several threads at once
// (each with its own Goal).
//
//   goal: the fused nests of one site, at given sizes      parameters: a point of match()'s space
//     ──► generate() ──► kernels as text, their launches, scratch buffers
//
// schedules/rewriter.h makes a Rewriter of each: it lifts the program, fuses, and puts what was
// generated in the place of the launches that did the work before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidates/program.h"
#include "candidates/recipe.h"
#include "candidates/result.h"
#include "rewriters/core/rewriter.h"
#include "rewriters/nest/nest.h"

namespace hone::schedules {

/// What is to be computed: for every point of each nest's box, one element. Nests do not read what
/// others here write, and no nest reads the buffer that it writes but at the element that it
/// writes.
struct Goal {
  nest::Nodes* nodes = nullptr;
  std::vector<nest::Nest> nests;              ///< at least one
  const ConcreteProgram* concrete = nullptr;  ///< types, shapes and roles of the buffers
  const RewriteContext* context = nullptr;    ///< target, math level, tolerance

  [[nodiscard]] const ConcreteBuffer* buffer(std::string_view name) const;
};

/// A space of kernels, or why there is none.
struct Offer {
  std::vector<Parameter> parameters;
  /// Good first points by an analytic model: of each, for each parameter the index of a value. The
  /// best one first, of each math level where that follows from a parameter.
  std::vector<std::vector<std::size_t>> starts;
  MathLevel math = MathLevel::kReassociate;
  /// Where what is needed depends on one parameter, the pipe: which, and the level of each value.
  /// Each level becomes a proposal of its own, at the site "C, tf32x3".
  int math_parameter = -1;
  std::vector<MathLevel> maths;
  std::string description;  ///< "softmax-like rows of 4096: 2 reductions, 1 map"
};

/// A tensor map of a buffer; `map.buffer` does not count.
struct GeneratedTensorMap {
  std::string buffer;
  ConcreteTensorMap map;
};

struct GeneratedLaunch {
  std::string kernel;               ///< as in `source`
  std::vector<std::int64_t> grid;   ///< 1 to 3 entries, x first
  std::vector<std::int64_t> block;  ///< likewise
  std::int64_t shared_bytes = 0;    // dynamic [B]
  // The kernel's parameters, in their order; sizes are constants in the text.
  std::vector<GeneratedTensorMap> tensor_maps;
  std::vector<std::string> args;  ///< buffers by name
};

struct Generated {
  /// Kernels, `__global__`, each with a comment that says what it does. Buffers are parameters of
  /// the buffers' names. Every other name at file scope begins with `prefix` of generate().
  std::string source;
  std::vector<std::string> includes;  ///< "cuda_fp16.h"
  std::vector<GeneratedLaunch> launches;
  std::vector<Buffer> scratch;  ///< new buffers (Role::kScratch), names beginning with `prefix`
};

class Generator {
 public:
  virtual ~Generator() = default;
  /// Kebab-case, never changes: "generate-rowwise".
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual int version() const { return 1; }
  [[nodiscard]] virtual std::string_view summary() const = 0;
  /// kRefused, with the reason: not this generator's kind of nests. Domains hold only what fits
  /// the target; a point may be refused still.
  [[nodiscard]] virtual Result<Offer> match(const Goal& goal) const = 0;
  /// The kernels for `step`'s parameters. Deterministic. Must hold at any sizes at which match()
  /// matches (a step may come from a recipe made at others: then a parameter that does not suit is
  /// brought to one that does, where that is safe, else kRefused).
  [[nodiscard]] virtual Result<Generated> generate(const Goal& goal, const Step& step,
                                                   const std::string& prefix) const = 0;
};

/// All generators, in the order in which they are tried.
[[nodiscard]] const std::vector<const Generator*>& generators();

}  // namespace hone::schedules
