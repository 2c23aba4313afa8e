// Nests by hand, kernels from a generator, and both computed: the nests directly on the CPU, the
// kernels on the emulated GPU with every check on.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rewriters/schedules/generator.h"

namespace hone::schedules {

using nest::Nodes;
using nest::Op;
using nest::Ref;
using nest::SymbolId;

class Problem {
 public:
  Problem();

  nest::Nodes nodes;

  void in(const std::string& name, std::vector<std::int64_t> shape,
          ScalarType type = ScalarType::kF32, double low = -1, double high = 1);
  void out(const std::string& name, std::vector<std::int64_t> shape,
           ScalarType type = ScalarType::kF32);
  void inout(const std::string& name, std::vector<std::int64_t> shape,
             ScalarType type = ScalarType::kF32);
  SymbolId symbol(const std::string& name, std::int64_t extent) {
    return nodes.new_symbol(name, extent);
  }
  Ref at(SymbolId symbol) { return nodes.index(symbol); }
  /// Row-major element of a buffer.
  Ref element(const std::string& buffer, const std::vector<Ref>& indices);
  Ref load(const std::string& buffer, const std::vector<Ref>& indices);
  Ref f(std::string_view name, std::vector<Ref> args);  ///< of the first argument's type
  Ref number(double value) { return nodes.number(value, ScalarType::kF32); }
  void store(const std::string& buffer, std::vector<SymbolId> dims, const std::vector<Ref>& indices,
             Ref value, std::optional<Op> combine = {});

  [[nodiscard]] Goal goal();
  [[nodiscard]] ConcreteProgram& concrete() { return concrete_; }
  [[nodiscard]] std::vector<nest::Nest>& nests() { return nests_; }
  [[nodiscard]] RewriteContext& context() { return context_; }

 private:
  ConcreteProgram concrete_;
  std::vector<nest::Nest> nests_;
  RewriteContext context_;
};

using Choice = std::map<std::string, ParameterValue>;

/// "cluster=8,keep=shared" as a choice; null or empty: none.
[[nodiscard]] Choice choice_from(const char* text);
/// The start of the offer, with some values changed.
[[nodiscard]] Step step_for(const Generator& generator, Problem& problem, const Choice& changed);
[[nodiscard]] Generated generate(const Generator& generator, Problem& problem,
                                 const Choice& changed);
/// Generates, runs, compares every output. `tolerance` is relative to the largest value. `known`
/// computes the same where that is quicker.
void expect_right(const Generator& generator, Problem& problem, const Choice& changed = {},
                  double tolerance = 2e-5, Problem* known = nullptr);
/// Generates and runs with these contents of the first buffer, f32 or f64; what is in the last.
[[nodiscard]] std::vector<double> outputs_of(const Generator& generator, Problem& problem,
                                             const Choice& changed,
                                             const std::vector<double>& contents);
/// What the checks say of what was generated, right or not.
[[nodiscard]] Verdict verdict_of(const Generator& generator, Problem& problem,
                                 const Choice& changed = {});
/// A file for `hone evaluate`, by hand.
[[nodiscard]] std::string variant_text(const Generator& generator, Problem& problem,
                                       const Choice& changed = {});
/// The modelled time on an H200 [us], sampled: for large problems.
[[nodiscard]] double modelled_us(const Generator& generator, Problem& problem,
                                 const Choice& changed = {});

}  // namespace hone::schedules
