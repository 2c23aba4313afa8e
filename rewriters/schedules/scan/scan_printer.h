// The kernel of running reductions, as it is printed. Tiles of a row either follow each other in
// one block, or have a block each (look_back.cpp).
#pragma once

#include <string>
#include <vector>

#include "rewriters/schedules/kernel_printer.h"
#include "rewriters/schedules/scan/plan.h"

namespace hone::schedules::scan {

/// The variables of one running reduction.
struct Carried {
  Op op = Op::kAdd;
  ScalarType type = ScalarType::kF32;
  std::string element, element_start;  ///< of a thread's elements: type, what changes nothing
  std::string c_type;                  ///< of all others
  std::string start;                   ///< leaves others as they are
  std::string values;                  ///< of a thread's elements, folded within the thread
  std::string totals;                  ///< of its vectors
  std::string before;                  ///< what comes before each vector
  std::string carry;                   ///< what comes before the tile
  std::string sums;                    ///< shared: of warps (along), of threads (across)
  std::string all;                     ///< of a lane: the warps up to it (along)

  // Of products of floats (products.cpp).
  std::string prefix;                         ///< of their functions
  int at_once = 1;                            ///< elements whose product is in the range of f64
  std::string left;                           ///< where the row's product leaves its range
  std::string left_here = {};                 ///< likewise, shared
  std::string walk_from = {};                 ///< where a walk begins
  std::string walked = {}, walked_left = {};  ///< shared: its product and `left` after each warp

  [[nodiscard]] bool is_product() const { return scan::is_product(op, type); }
  [[nodiscard]] std::string fold(const std::string& a, const std::string& b) const;
  /// Where at most 64 values that fold() gave, or single ones, come together.
  [[nodiscard]] std::string fold_few(const std::string& a, const std::string& b) const;
  /// From another lane; `how`: "", "_up" or "_xor".
  [[nodiscard]] std::string shuffled(std::string_view how, const std::string& arguments) const;
};

/// Larger than 4 times any place in a row, and 3.
inline constexpr std::int64_t kNeverLeaves = INT32_MAX;
/// Elements of which a product in f64 has all its bits, whatever they are.
[[nodiscard]] int products_at_once(Ref each);
/// What look-backs tell of products.
[[nodiscard]] std::string tell_products(const std::string& prefix);

class ScanPrinter : KernelPrinter<Schedule> {
 public:
  ScanPrinter(const Goal& goal, const Plan& plan, const Schedule& schedule, Helpers& helpers,
              Code& code)
      : KernelPrinter(goal, schedule, helpers, code), plan_(plan) {}

  void print(const std::string& name, const std::string& what, Generated& generated);

 private:
  // print.cpp: constants, indices, loads and stores.
  void collect_buffers();
  Carried carried(const Running& one);
  void print_constants();
  void print_threads();
  void print_carry();
  void open_items(bool column = true);
  [[nodiscard]] LaneBody body();
  void print_values();
  void print_stores();
  void add_launch(const std::string& name, Generated& generated);

  // folds.cpp: over vectors, threads, warps.
  void print_within_threads();
  void print_along();
  void print_sums_of_warps();
  void print_before_vectors();
  void print_across();

  // products.cpp: of floats, in any order without overflow.
  void print_functions_of_products();
  void print_whole_product(const Carried& one, const std::string& to, const std::string& values,
                           const char* count);
  void print_range(const Carried& one);
  void print_products();
  void print_walk(const char* count);
  void print_first_of_row();
  [[nodiscard]] bool has_products() const;
  [[nodiscard]] bool only_products() const;

  // look_back.cpp: over blocks.
  void print_functions_of_look_back(Generated& generated);
  void print_ticket();
  void print_look_back();
  void print_look_back_for_range();
  void print_state();
  [[nodiscard]] std::string state_at(std::int64_t first, std::int64_t words) const;

  [[nodiscard]] std::int64_t tile() const {
    return std::int64_t{schedule_.team.threads} * schedule_.items * schedule_.width;
  }
  [[nodiscard]] bool ragged() const { return plan_.length % tile() != 0; }
  [[nodiscard]] bool vectors() const { return schedule_.width > 1; }
  [[nodiscard]] bool warps() const { return !schedule_.team.across && schedule_.team.threads > 32; }
  /// Threads of a row tell each other through shared memory.
  [[nodiscard]] bool in_shared() const {
    return warps() || (schedule_.team.across && schedule_.team.threads > 1);
  }
  /// Products that become denormal are multiplied in the row's order.
  [[nodiscard]] bool walks() const { return !schedule_.team.across && !schedule_.single_pass; }
  /// Tiles follow each other in a loop.
  [[nodiscard]] bool loops() const { return tiles_ && !schedule_.single_pass; }
  [[nodiscard]] std::string at_lane(const std::string& name) const {
    return name + (vectors() ? "[i][v]" : "[i]");
  }
  [[nodiscard]] std::string address_of_vector(const Carried& one) const {
    return (vectors() ? "" : "&") + one.values + "[i]";
  }
  /// The last of a vector, in the order of the scan.
  [[nodiscard]] std::string last_of(const std::string& name) const {
    return name + (!vectors() ? "[i]" : plan_.reverse ? "[i][0]" : "[i][kVec - 1]");
  }
  [[nodiscard]] static std::string in_parentheses(const Carried& one, const std::string& a,
                                                  const std::string& b) {
    return "(" + one.fold(a, b) + ")";
  }

  const Plan& plan_;
  std::vector<Carried> carried_;
  std::string state_;  ///< the buffer of look-backs
  bool spare_ = false, tiles_ = false;
};

}  // namespace hone::schedules::scan
