// What is drawn for a random tile program: extents, types, tiles, and how its blocks work.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>

#include "rewriters/schedules/products.h"
#include "tests/unit/rewriters/generator_harness.h"

namespace hone::tile {

/// A matrix of (row, k), or of (k, row), for each batch, and the tile that it goes to.
struct Matrix {
  std::string name;
  std::int64_t rows = 1, k = 1;  ///< of the matrix
  std::int64_t tile_rows = 64, tile_k = 64;
  bool along_k = true;
  bool shared = false;  ///< the blocks of a cluster share its copies
  ScalarType type = ScalarType::kF16;
};

class DrawnTiles : public schedules::NestCase {
 protected:
  explicit DrawnTiles(unsigned seed) : random_(seed) {
    draw_extents();
    draw_tiles();
  }

  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  bool coin() { return below(2) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }

  void draw_extents() {
    chain_ = below(3) == 0;
    type_ = one_of({ScalarType::kF16, ScalarType::kBf16});
    out_ = coin() ? ScalarType::kF32 : type_;
    fp8_ = !chain_ && below(3) == 0;
    tf32_ = !chain_ && !fp8_ && below(3) == 0;
    a_.along_k = coin(), b_.along_k = tf32_ || coin(), c_.along_k = coin();
    // Extents that are rows of a matrix in memory, or whose elements are neighbours there.
    m_ = a_.along_k ? 1 + below(200) : 8 * (1 + below(25));
    n_ = 8 * (1 + below(chain_ ? 20 : 25));
    if (b_.along_k && (!chain_ || !c_.along_k) && coin()) n_ -= below(8);
    k_ = 8 * (1 + below(chain_ ? 16 : 28));
    if (!a_.along_k && !b_.along_k && coin()) k_ -= below(8);
    e_ = 8 * (1 + below(20));
    if (chain_ && c_.along_k && coin()) e_ -= below(8);
    batches_ = one_of({1, 1, 2});
    a_type_ = b_type_ = type_;
    if (tf32_) {
      a_type_ = b_type_ = out_ = ScalarType::kF32;
      thrice_ = coin();
    }
    if (!fp8_) return;
    a_type_ = one_of({ScalarType::kE4m3, ScalarType::kE5m2});
    b_type_ = one_of({ScalarType::kE4m3, ScalarType::kE5m2});
    a_.along_k = b_.along_k = true;
    m_ = 1 + below(200);
    k_ = 16 * (1 + below(20));
  }

  void draw_tiles() {
    groups_ = one_of({1, 1, 2, 2, 3});
    rows_ = 64 * groups_;
    const bool lines = a_.along_k || b_.along_k;
    tile_k_ = fp8_ ? one_of({128, 128, 256}) : lines ? one_of({64, 64, 128}) : 16 * (1 + below(6));
    columns_ = b_.along_k ? 8 * (1 + below(16)) : 64 * (1 + below(2));
    if (chain_) {
      tile_k_ = lines ? static_cast<int>(schedules::ceil_divide(k_, 64)) * 64
                      : static_cast<int>(schedules::ceil_divide(k_, 16)) * 16;
      columns_ = c_.along_k || !b_.along_k ? 64 : 16 * (1 + below(5));
      tile_e_ = c_.along_k ? 8 * (1 + below(12)) : 64;
    }
    if (tf32_) {
      tile_k_ = 32;
      columns_ = b_.along_k ? 16 * (1 + below(8)) : 32 * (1 + below(4));
    }
    cluster_ = tf32_ ? 1 : one_of({1, 1, 1, 2, 4});
    stages_ = 1 + below(4);
    advances_ = !chain_ && !tf32_ && stages_ > 1 && coin();
    runs_ = !chain_ && below(4) == 0;
    forget_ = runs_ && coin();
    turns_ = groups_ > 1 && coin();
    a_ = {"A", m_, k_, rows_, tile_k_, a_.along_k, false, a_type_};
    b_ = {"B", n_, k_, columns_, tile_k_, b_.along_k, cluster_ > 1 && coin(), b_type_};
    c_ = {"C", e_, n_, tile_e_, columns_, c_.along_k, cluster_ > 1 && coin(), type_};
    for (Matrix* matrix : {&b_, &c_}) matrix->shared = matrix->shared && parts(*matrix) > 0;
    // Of a whole row of the output, or of the scores.
    reduction_ = chain_ || n_ <= columns_ ? one_of<std::optional<Op>>({{}, {}, Op::kAdd, Op::kMax})
                                          : std::nullopt;
    if (runs_) reduction_.reset();
    guarded_ = below(4) == 0, turned_ = below(4) == 0;
  }

  /// Rows, or k where that is what lines are of, of each block's part of a shared tile; 0: it
  /// cannot be divided.
  [[nodiscard]] std::int64_t parts(const Matrix& matrix) const {
    const std::int64_t lines = matrix.along_k ? matrix.tile_rows : matrix.tile_k;
    return lines % (8 * cluster_) == 0 ? lines / cluster_ : 0;
  }

  std::mt19937 random_;
  bool chain_ = false;  ///< two products, one after the other
  ScalarType type_ = ScalarType::kF16, out_ = ScalarType::kF32;
  ScalarType a_type_ = type_, b_type_ = type_;
  bool fp8_ = false, forget_ = false;
  bool tf32_ = false, thrice_ = false;
  std::int64_t m_ = 1, n_ = 1, k_ = 1, e_ = 1, batches_ = 1;
  Matrix a_, b_, c_;
  int groups_ = 1, rows_ = 64, tile_k_ = 64, columns_ = 64, tile_e_ = 64, cluster_ = 1, stages_ = 1;
  bool advances_ = false, runs_ = false, turns_ = false, guarded_ = false, turned_ = false;
  std::optional<Op> reduction_;  ///< of rows
};

}  // namespace hone::tile
