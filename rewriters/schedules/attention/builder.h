// What the tile programs of attention have in common: the tiles of keys that queries need, masks,
// and the steps from scores to weights and from sums to outputs. For the builders of single pipes
// (hopper.cpp, stream.cpp), whose program_ it fills.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rewriters/affine/node.h"
#include "rewriters/schedules/attention/schedule.h"
#include "rewriters/tile/program.h"

namespace hone::schedules::attention {

/// Whether the output is a function of the weighted mean and not of the two sums themselves.
[[nodiscard]] bool is_of_mean(const Attention& a);
/// Whether it is a function of the sums that reads no index and no buffer.
[[nodiscard]] bool is_of_sums(const Attention& a);

/// Which queries a block has, from `row` on those of a warp group or a warp, and which tiles of
/// keys they need, from `first` to `last`.
struct Work {
  Ref batch = nullptr, q_first = nullptr, row = nullptr, first = nullptr, last = nullptr;
};

class Builder {
 protected:
  /// `part_rows`: queries of a warp group or of a warp.
  Builder(const Attention& a, const Schedule& s, const Goal& goal, const std::string& prefix,
          int part_rows);

  static constexpr int kScores = 0, kSums = 1;                         // sums
  static constexpr int kTop = 0, kShift = 1, kShrink = 2, kTotal = 3;  // rows
  static constexpr int kWeights = 0;                                   // fragments

  Ref number(std::int64_t value) { return nodes_.integer(value); }
  Ref real(double value) { return nodes_.number(value, ScalarType::kF32); }
  Ref at(SymbolId symbol) { return nodes_.index(symbol); }
  Ref row(int which) { return program_.rows[static_cast<std::size_t>(which)].value; }
  Ref f32(nest::Op op, std::vector<Ref> args) {
    return nodes_.op(op, ScalarType::kF32, std::move(args));
  }
  Ref called(const char* function, Ref x) { return nodes_.call(function, ScalarType::kF32, {x}); }
  Ref least(Ref x, Ref y) { return nodes_.op(nest::Op::kMin, ScalarType::kI64, {x, y}); }
  Ref most(Ref x, Ref y) { return nodes_.op(nest::Op::kMax, ScalarType::kI64, {x, y}); }
  Ref define(const char* name, Ref value, std::int64_t extent, tile::Body& body);
  void set(int rows, Ref value, tile::Body& body) { body.push_back({tile::MapRows{rows, value}}); }

  /// Rows of sums, each with its leaf.
  void add_rows(int warp_rows);
  /// Buffers that values read, and `read`, which come first; then the output.
  void add_parameters(std::vector<Ref> read);
  /// Tiles of keys that any of the block's queries may be allowed; at least one, so that there are
  /// sums.
  void range(Work& work, tile::Body& body);
  /// Nothing is weighed yet.
  void begin(tile::Body& body);
  /// The shift of the weights of the tile of keys from `k_first` on, by its scores; the rows
  /// kShrink are what the sums so far are to be multiplied by.
  void shift(const Work& work, Ref k_first, tile::Body& body);
  /// Scores to weights.
  void weigh(tile::Body& body);
  /// Sums times kShrink, where that is not 1; `awaits`: the products into them first.
  tile::MapSums shrink_sums(bool awaits);
  /// All keys are weighed: how much that is.
  void end(tile::Body& body);
  /// Sums to outputs, and these to memory.
  void store(const Work& work, tile::Body& body);

  const Attention& a_;
  const Schedule& s_;
  const Goal& goal_;
  nest::Nodes& nodes_;
  const int part_rows_;
  const std::int64_t tiles_k_;
  tile::Program program_;

 private:
  /// Multiply-adds are asked for where weights are to be as exact as the nest's own.
  [[nodiscard]] bool is_exact() const { return s_.pipe == Pipe::kFma; }
  Ref corner(const Bound& bound, const Work& work, Ref first, Ref last, bool largest);
  void mask(const Work& work, Ref k_first, tile::Body& body);
  Ref of_sums(const Work& work, Ref mean, SymbolId q, SymbolId e);

  std::int64_t padded_queries_;  ///< all that blocks have
};

}  // namespace hone::schedules::attention
