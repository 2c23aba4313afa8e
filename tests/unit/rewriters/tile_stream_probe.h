// Small programs whose only role streams a ring: its threads write to a buffer what they find in
// shared memory and in their sums. Run on the emulator with every check on.
#pragma once

#include <algorithm>
#include <cmath>

#include "rewriters/tile/operands.h"
#include "tests/unit/rewriters/tile_probe.h"

namespace hone::tile {

/// f32 that tf32 does not hold: whole numbers and a bit that rounding takes.
inline void add_bits(std::vector<double>& values) {
  for (double& value : values)
    if (value != 0) value += std::copysign(0x1p-12, value);
}

/// One ring of tiles that are copied from matrices.
class Streamed : public schedules::NestCase {
 public:
  Program p;
  Body start;  ///< what stands before the stream
  Stream stream;

  Streamed(int warps, int stages, std::int64_t probes) {
    buffer("probe", ScalarType::kF32, probes, hone::Role::kOut);
    nest.buffer = "probe";
    nest.type = ScalarType::kF32;
    p.kernel = "g_test";
    p.prefix = "g_";
    p.nodes = &nodes;
    p.block = nodes.new_symbol("block", 1);
    p.warp = nodes.new_symbol("warp", warps);
    p.parameters = {{"probe", ScalarType::kF32, true}};
    p.rings = {{"tiles", stages, {}}};
    p.roles = {{.name = "all", .warps = warps}};
  }

  Ref number(std::int64_t value) { return nodes.integer(value); }
  Ref row() { return nodes.index(row_symbol); }
  Ref k() { return nodes.index(k_symbol); }

  /// Rounds of `ks` elements of k, `each` of them at a time.
  void rounds(std::int64_t ks, std::int64_t each) {
    const std::int64_t count = (ks + each - 1) / each;
    stream.symbol = nodes.new_symbol("round", count);
    stream.first = number(0);
    stream.end = number(count);
    k_first = nodes.scale(nodes.index(stream.symbol), each);
    row_symbol = nodes.new_symbol("row_at", 1 << 20);
    k_symbol = nodes.new_symbol("k_at", ks);
    k_size = ks;
  }

  /// The matrix [rows, k], or [k, rows] in memory, of small whole numbers.
  Ref matrix(const std::string& name, ScalarType type, std::int64_t rows, bool along_k) {
    buffer(name, type, rows * k_size, hone::Role::kIn);
    std::mt19937 random(static_cast<unsigned>(name[0]));
    for (double& value : contents[name]) value = static_cast<double>(random() % 7) - 3;
    p.parameters.push_back({name, type, false});
    return nodes.load(name, type,
                      along_k ? nodes.add(nodes.scale(row(), k_size), k())
                              : nodes.add(nodes.scale(k(), rows), row()));
  }

  CopyTile copy(int tile, Ref value, std::int64_t rows, bool along_k, int piece, CopyWay way) {
    return {.tile = tile,
            .value = value,
            .mask = nodes.boolean(true),
            .row_symbol = row_symbol,
            .k_symbol = k_symbol,
            .row = number(0),
            .k = k_first,
            .rows = rows,
            .ks = k_size,
            .way = way,
            .along_k = along_k,
            .piece = piece};
  }

  /// What the kernel writes to "probe", with more text in it after the last place of another, or
  /// where that is empty at its end.
  std::vector<double> probed(const std::string& after, const std::string& text) {
    Program whole = p;
    Body& body = whole.roles[0].body;
    body.insert(body.begin(), {stream});
    body.insert(body.begin(), start.begin(), start.end());
    auto generated = schedules::kernel_of(whole, goal());
    EXPECT_TRUE(generated.has_value()) << (generated ? "" : generated.error().message);
    if (!generated) return {};
    generated->includes.insert(generated->includes.end(),
                               {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"});
    const std::string& source = generated->source;
    const std::size_t at = after.empty() ? source.rfind('}') : source.rfind(after);
    EXPECT_NE(at, std::string::npos) << after << " is not in\n" << generated->source;
    if (at == std::string::npos) return {};
    generated->source.insert(at + after.size(), "\n" + text + "\n");
    const std::vector<double> got = run(*generated);
    EXPECT_FALSE(got.empty()) << generated->source;
    return got;
  }

  /// A value at this row and this k.
  double value_at(Ref value, std::int64_t row, std::int64_t k) {
    at_.resize(static_cast<std::size_t>(std::max(row_symbol, k_symbol)) + 1);
    at_[static_cast<std::size_t>(row_symbol)] = row;
    at_[static_cast<std::size_t>(k_symbol)] = k;
    return evaluate(value);
  }

  SymbolId row_symbol = -1, k_symbol = -1;
  Ref k_first = nullptr;
  std::int64_t k_size = 0;
};

}  // namespace hone::tile
