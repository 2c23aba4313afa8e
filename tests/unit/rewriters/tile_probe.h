// Small tile programs whose threads write to a buffer what they have: elements of tiles in shared
// memory, sums in registers. Run on the emulator with every check on.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <random>
#include <utility>

#include "rewriters/schedules/tile_kernel.h"
#include "rewriters/tile/operands.h"
#include "tests/unit/rewriters/generator_harness.h"

namespace hone::tile {

/// To tf32: to the nearest, halves away from zero.
inline float rounded(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000U) & 0xffffe000U);
}

/// A program of two roles around one ring, and the buffer "probe".
class Probed : public schedules::NestCase {
 public:
  Program p;

  explicit Probed(std::int64_t probes, int groups = 1, int cluster = 1) {
    buffer("probe", ScalarType::kF32, probes, hone::Role::kOut);
    nest.buffer = "probe";
    nest.type = ScalarType::kF32;
    p.kernel = "g_test";
    p.prefix = "g_";
    p.nodes = &nodes;
    p.grid = p.cluster = cluster;
    p.block = nodes.new_symbol("block", cluster);
    p.group = nodes.new_symbol("group", groups);
    p.parameters = {{"probe", ScalarType::kF32, true}};
    p.rings = {{"tiles", 1, {}}};
    p.roles = {{.name = "load", .one_thread = true}, {.name = "math", .warp_groups = groups}};
  }

  Body& load() { return p.roles[0].body; }
  Body& math() { return p.roles[1].body; }
  Ref number(std::int64_t value) { return nodes.integer(value); }
  Ref real(double value) { return nodes.number(value, ScalarType::kF32); }
  Ref f32(const char* name, std::vector<Ref> args) {
    return nodes.call(name, ScalarType::kF32, std::move(args));
  }
  std::vector<Ref> numbers(const std::vector<std::int64_t>& values) {
    std::vector<Ref> all;
    for (const std::int64_t value : values) all.push_back(number(value));
    return all;
  }

  /// A buffer of small whole numbers, whose products and sums are exact.
  void whole_numbers(const std::string& name, ScalarType type, std::int64_t elements) {
    buffer(name, type, elements, hone::Role::kIn);
    std::mt19937 random(static_cast<unsigned>(name[0]));
    for (double& value : contents[name]) value = static_cast<double>(random() % 7) - 3;
  }

  /// The matrix [rows, k], or [k, rows] in memory, copied whole to a tile that wgmma reads. Returns
  /// the tile's number.
  int operand(const std::string& name, ScalarType type, std::int64_t rows, std::int64_t k,
              bool along_k) {
    whole_numbers(name, type, rows * k);
    const int tile = static_cast<int>(p.rings[0].tiles.size());
    p.rings[0].tiles.push_back({"tile_" + name, type, wgmma_operand(rows, k, along_k, type)});
    const std::int64_t line = line_of(type);
    View view{.name = "map_" + name, .buffer = name, .type = type, .swizzle = 128};
    view.shape = along_k ? std::vector{rows, k} : std::vector{k, rows};
    view.strides = {view.shape[1]};
    view.box = {view.shape[0], line};
    p.views.push_back(std::move(view));
    for (std::int64_t first = 0; first < (along_k ? k : rows); first += line) {
      BulkCopy copy{.tile = tile, .view = static_cast<int>(p.views.size()) - 1};
      copy.from = numbers({0, first});
      copy.to = along_k ? std::vector<std::int64_t>{0, first} : std::vector<std::int64_t>{first, 0};
      copies.push_back({std::move(copy)});
    }
    return tile;
  }
  /// (row, k) of an operand.
  double element(const std::string& name, std::int64_t rows, std::int64_t k, bool along_k,
                 std::int64_t row, std::int64_t at) {
    return contents.at(name)[static_cast<std::size_t>(along_k ? row * k + at : at * rows + row)];
  }

  /// Fills the ring once.
  void fill() {
    load().push_back({Acquire{0}});
    for (Operation& copy : copies) load().push_back(std::move(copy));
    load().push_back({Commit{0}});
  }
  /// For the reader of a ring that only looks at its tiles: something is multiplied all the same.
  void read_ring() {
    const int a = operand("A", ScalarType::kF16, 64, 16, false);
    p.sums = {{"sums", 64}};
    fill();
    math() = {{Wait{0}},
              {Multiply{.a = a, .b = a, .a_row = number(0), .fresh = nodes.boolean(true)}},
              {Await{0}},
              {Release{0}}};
  }

  /// Lines for the printed kernel, each after the last place of a text in it.
  using Lines = std::vector<std::pair<std::string, std::string>>;
  /// What they wrote to "probe".
  std::vector<double> probed(const Lines& lines) {
    auto generated = schedules::kernel_of(p, goal());
    EXPECT_TRUE(generated.has_value()) << (generated ? "" : generated.error().message);
    if (!generated) return {};
    generated->includes.insert(generated->includes.end(), {"cuda_fp16.h", "cuda_bf16.h"});
    for (const auto& [after, line] : lines) {
      const std::size_t at = generated->source.rfind(after);
      EXPECT_NE(at, std::string::npos) << after << " is not in\n" << generated->source;
      if (at == std::string::npos) return {};
      generated->source.insert(at + after.size(), "\n" + line + "\n");
    }
    const std::vector<double> got = run(*generated);
    EXPECT_FALSE(got.empty());
    return got;
  }

  /// Text that writes all of an array in registers: `count` of each thread of the role 'math'.
  static std::string each_of(const std::string& array, int count, int first = 0) {
    return fmt::format(
        "#pragma unroll\nfor (int i = 0; i < {1}; ++i) probe[{2} + (threadIdx.x - 128) * {1} + i] "
        "= "
        "{0};\n",
        array, count, first);
  }
  /// Text that writes a tile as it lies in shared memory.
  static std::string raw(const std::string& tile, std::int64_t elements, const std::string& first) {
    return fmt::format(
        "for (int i = threadIdx.x % 128; i < {1}; i += 128) probe[{2} + i] = "
        "static_cast<float>({0}[i]);",
        tile, elements, first);
  }

  std::vector<Operation> copies;
};

}  // namespace hone::tile
