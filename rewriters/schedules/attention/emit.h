// Parts of the kernel of multiply-adds, as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rewriters/schedules/attention/schedule.h"
#include "rewriters/schedules/attention/tile.h"
#include "rewriters/schedules/printing/emit.h"
#include "rewriters/schedules/printing/text.h"

namespace hone::schedules::attention {

class Emitter {
 public:
  Emitter(const Attention& attention, const Schedule& schedule, const Goal& goal,
          std::string prefix);

  const Attention& a;
  const Schedule& s;
  Tile query, key, values;
  std::string prefix;

  /// What the kernel's text may ask for: prefix, params, bounds, where, range, copies, shared,
  /// first_tiles, next_tiles, mask, shift, write and more.
  [[nodiscard]] Holes holes() const;
  /// Device functions and types that come before the kernels.
  [[nodiscard]] std::string helpers() const;
  [[nodiscard]] GeneratedLaunch launch() const;
  /// A kernel's text with its $constants: those that it mentions, of these and of `more`.
  [[nodiscard]] std::string with_constants(
      const std::string& kernel,
      const std::vector<std::pair<std::string, std::int64_t>>& more) const;

  /// Statements that store the output (q, e + j) for j < `width` from `sums` ("sums[j]"), where
  /// there is such a query; names in scope: q, e, inverse (of the sum of weights) and sum.
  [[nodiscard]] std::string write(int width, const std::string& sums) const;
  /// Keys beyond the last, and those not allowed: is there any such?
  [[nodiscard]] bool masks() const;
  /// A score made a logit, where the kernel's text has q, k and `score`.
  [[nodiscard]] std::string logit() const;
  /// Every logit is made one by one: they are not just the scores times a number.
  [[nodiscard]] bool makes_logits() const { return !a.scale.has_value(); }

 private:
  [[nodiscard]] std::string copy(Which which) const;
  [[nodiscard]] std::string range() const;
  [[nodiscard]] std::string whole_tile() const;
  [[nodiscard]] std::string allowed() const;
  [[nodiscard]] std::string write_row(int width, const std::string& sums) const;
  [[nodiscard]] std::string parameters() const;
  [[nodiscard]] std::vector<std::string> buffers() const;
  [[nodiscard]] std::string parameter_name(const std::string& buffer) const;
  [[nodiscard]] Printer printer() const;
  [[nodiscard]] bool uses_async() const { return query.async || key.async || values.async; }
  const Goal& goal_;
};

/// The whole kernel of a schedule whose pipe is kFma.
[[nodiscard]] std::string fma_kernel(const Emitter& emit);

}  // namespace hone::schedules::attention
