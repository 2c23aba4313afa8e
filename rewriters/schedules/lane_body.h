// The body of a loop over vectors: what happens at kVec neighbouring indices. Loads and stores of
// neighbours are moved at once; the rest is done lane by lane.
//
//   const Pack<float, kVec> x_vec = load<kVec>(x + row * 4096 + col);
//   for (int v = 0; v < kVec; ++v) { … x_vec.at[v] … }
//   store(y + row * 4096 + col, y_vec);
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rewriters/affine/neighbours.h"
#include "rewriters/schedules/fold.h"
#include "rewriters/schedules/nests.h"
#include "rewriters/schedules/space.h"

namespace hone::schedules {

/// What accesses tell the caches. Streaming ones: that their lines are not used again. Kept loads
/// leave the L2 cache last, so that lines written leave it first: on an H200 a copy takes 2 % less,
/// an RMS norm 4 % (we believe that DRAM turns less often between reading and writing).
enum class Cache { kDefault, kStreamStores, kStream, kKeepLoads };
[[nodiscard]] Cache parse_cache(std::string_view text);
/// A parameter "cache". It starts with kept loads where those were measured to be no slower.
void add_cache(SpaceBuilder& space, const Goal& goal);

/// How one access is printed.
enum class Hint { kNone, kStreaming, kKept };

/// The functions at file scope that generated kernels call; only those that one used are printed.
class Helpers {
 public:
  explicit Helpers(std::string prefix) : prefix_(std::move(prefix)) {}
  [[nodiscard]] std::string pack(ScalarType type);  ///< "p_Pack<float, kVec>"
  [[nodiscard]] std::string load(Hint hint, std::string_view width = "kVec");  ///< "p_load<kVec>"
  [[nodiscard]] std::string store(bool streaming);
  /// "p_push": of cluster_arrive, cluster_wait and push.
  [[nodiscard]] std::string cluster(std::string_view function);
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] std::string text() const;

 private:
  std::string prefix_;
  bool pack_ = false, loads_ = false, stores_ = false;
  bool streaming_loads_ = false, kept_loads_ = false, streaming_stores_ = false;
  bool clusters_ = false;
};

/// The most elements that may be moved at once (at most `most`): all indexed loads in `values` that
/// are read in any case, and all `elements` stored, with neighbours side by side move whole
/// vectors; a vector is at most 16 bytes of the smallest type and 32 of any.
[[nodiscard]] int widest_vector(const Goal& goal, SymbolId symbol, const std::vector<Ref>& values,
                                const std::vector<std::pair<ScalarType, Ref>>& elements, int most);

class LaneBody {
 public:
  struct Fold {
    const Accumulator* into = nullptr;
    Ref value = nullptr;
    std::string position = {};  ///< for arg-max, in any order; empty: the index
  };
  struct Store {
    std::string buffer;
    ScalarType type = ScalarType::kF32;
    Ref element = nullptr;
    Ref value = nullptr;
    Ref guard = nullptr;
    /// Where a store is no "buffer[element] = value;": prints what is done at one lane, guard and
    /// all. Then loads in the element are moved as those in the value are.
    std::function<void(Code& code, Printer& printer)> put = nullptr;
    /// Likewise of lanes side by side, under no guard: of a pack of their values.
    std::function<void(Code& code, Printer& at_base, const std::string& pack)> put_pack = nullptr;
  };
  struct Keep {
    Ref value = nullptr;
    std::string place;  ///< "kept[i][v]"
  };

  /// `printer` knows the other indices, and values that do not depend on `symbol`. `base` is the
  /// variable that holds the first of the indices.
  LaneBody(const Goal& goal, const Printer& printer, Names& names, Helpers& helpers,
           SymbolId symbol, std::string base, int width)
      : goal_(&goal),
        printer_(printer),
        names_(&names),
        helpers_(&helpers),
        symbol_(symbol),
        base_(std::move(base)),
        width_(width),
        lanes_(*goal.nodes, symbol, width) {}

  Cache cache = Cache::kDefault;
  /// Loads that no other thread needs; null: those that depend on the symbol.
  std::function<bool(Ref load)> streamed;
  std::map<Ref, std::string> at_hand;  ///< loaded before: the pack (or element), "x_row[i]"
  // Rows in shared memory: the element's text ("x_row[col]") or, of vectors, the address.
  std::map<Ref, std::string> in_shared;  ///< loaded before
  std::map<Ref, std::string> to_shared;  ///< to be put there
  std::map<Ref, std::string> known;      ///< values at hand, by lane: "kept[i][v]"
  std::string store_if;                  ///< a condition of every store; empty: none

  /// "x_row[i] = load(…);" for a load that moves as a vector (or with width 1 any).
  void emit_load(Code& code, Ref load, const std::string& place);
  /// Can emit_load() be used for it?
  [[nodiscard]] bool moves_whole(Ref load);
  /// kItems rounds `i` over what begins with the line `point`, and where `guarded` only of points
  /// below kPoints: first all loads of `values` that may stand before the rest, then the stores.
  void emit_items(Code& code, const std::string& point, bool guarded,
                  const std::vector<Ref>& values, const std::vector<Store>& stores);
  void emit(Code& code, const std::vector<Fold>& folds, const std::vector<Store>& stores,
            const std::vector<Keep>& keeps);

 private:
  [[nodiscard]] std::string loaded(Printer& printer, Ref load);
  void emit_store(Code& code, Printer& printer, const Store& store, const std::string& pack);
  [[nodiscard]] Hint hint_of(Ref load) const;
  [[nodiscard]] bool streams_stores() const {
    return cache == Cache::kStream || cache == Cache::kStreamStores;
  }
  const Goal* goal_;
  Printer printer_;
  Names* names_;
  Helpers* helpers_;
  SymbolId symbol_;
  std::string base_;
  int width_;
  Neighbours lanes_;
};

/// Of stores: the values under no guard, and the elements.
[[nodiscard]] std::vector<Ref> values_of(const std::vector<LaneBody::Store>& stores);
[[nodiscard]] std::vector<std::pair<ScalarType, Ref>> elements_of(
    const std::vector<LaneBody::Store>& stores);

}  // namespace hone::schedules
