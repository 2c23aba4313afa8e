#include "rewriters/nest/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "rewriters/affine/equations.h"
#include "rewriters/nest/canonical.h"
#include "rewriters/nest/prefix.h"
#include "rewriters/nest/renumber.h"

namespace hone::nest {
namespace {

constexpr char kVersion = '@';  // "B@3": B as launch 3 left it

enum class Depth { kAll, kMaps, kAlone };

class Fuser {
 public:
  explicit Fuser(const LiftedProgram& program) : program_(program), nodes_(*program.nodes) {}

  Result<Site> site(std::size_t target, Depth depth) {
    target_ = target;
    depth_ = depth;
    taken_ = {target};
    std::vector<Nest> nests = versioned(target);
    // What is put in may have been all that kept another launch where it is: loads of that are then
    // left from the round before.
    for (std::size_t taken = 0; taken != taken_.size();) {
      taken = taken_.size();
      for (Nest& nest : nests) {
        dims_ = {nest.dims.begin(), nest.dims.end()};
        nest.value = filled(nest.value);
        nest.element = filled(nest.element);
        nest.guard = filled(nest.guard);
      }
    }
    for (Nest& nest : nests) nest.value = renumbered(nodes_, nest.value);
    // What was put in and is read elsewhere, too, is computed for them as well.
    for (const std::size_t launch : std::set(taken_)) {
      if (launch == target) continue;
      for (Nest nest : versioned(launch)) {
        if (!needed_elsewhere(launch, nest.buffer)) continue;
        dims_ = {nest.dims.begin(), nest.dims.end()};
        nest.value = filled(nest.value);
        nests.push_back(std::move(nest));
      }
    }
    for (Nest& nest : nests) nest = taken_apart(nodes_, nest, buffer(nest.buffer));
    return finished(std::move(nests));
  }

 private:
  [[nodiscard]] const ConcreteBuffer& buffer(const std::string& name) const {
    return *std::ranges::find(program_.concrete.buffers, name, &ConcreteBuffer::name);
  }

  [[nodiscard]] bool writes(std::size_t launch, const std::string& buffer) const {
    const auto& all = program_.launches[launch].writes;
    return std::ranges::find(all, buffer) != all.end();
  }
  [[nodiscard]] bool reads(std::size_t launch, const std::string& buffer) const {
    const auto& all = program_.launches[launch].reads;
    return std::ranges::find(all, buffer) != all.end();
  }

  /// The launch's nests with loads that name the launch which wrote what they see; accumulation
  /// into every element as a plain store of the sum.
  std::vector<Nest> versioned(std::size_t launch) {
    std::vector<Nest> nests = program_.launches[launch].nests;
    for (Nest& nest : nests) {
      nest.value = with_versions(nest.value, launch);
      nest.element = with_versions(nest.element, launch);
      nest.guard = with_versions(nest.guard, launch);
      const bool whole = nest.guard->is_constant();
      if (nest.combine && whole && !nest.element->has_load && nest.covers) {
        const Ref before = nodes_.load(version(nest.buffer, launch), nest.type, nest.element);
        nest.value = nodes_.op(*nest.combine, nest.type, {before, nest.value});
        nest.combine.reset();
      }
    }
    return nests;
  }

  Ref with_versions(Ref value, std::size_t launch) {
    if (!value->has_load) return value;
    return nodes_.replace(value, [&](Ref node) -> Ref {
      if (node->kind != Node::Kind::kLoad) return nullptr;
      return nodes_.load(version(node->name, launch), node->type,
                         with_versions(node->args[0], launch));
    });
  }

  [[nodiscard]] std::string version(const std::string& buffer, std::size_t before) const {
    for (std::size_t i = before; i-- > 0;)
      if (writes(i, buffer)) return fmt::format("{}{}{}", buffer, kVersion, i);
    return buffer;
  }

  /// The nest that made what a load sees, where it may be put in.
  const Nest* maker(const std::string& name, std::size_t& launch, std::string& buffer) {
    const std::size_t at = name.find(kVersion);
    if (at == std::string::npos || depth_ == Depth::kAlone) return nullptr;
    launch = std::stoul(name.substr(at + 1));
    buffer = name.substr(0, at);
    const auto key = std::make_pair(launch, buffer);
    const auto known = makers_.find(key);
    if (known != makers_.end()) return known->second ? &*known->second : nullptr;
    std::optional<Nest>& made = makers_[key];
    int count = 0;
    for (Nest& nest : versioned(launch)) {
      if (nest.buffer != buffer) continue;
      ++count;
      if (!nest.combine && nest.covers) made = std::move(nest);
    }
    if (count != 1) made.reset();
    if (made) made->value = with_own_elements(nodes_, made->value);
    return made ? &*made : nullptr;
  }

  /// May the launch be done where the target stands instead? Nothing that is left between may
  /// read what it writes or write what it reads.
  bool movable(std::size_t launch) const {
    if (!program_.launches[launch].refusal.empty()) return false;
    for (std::size_t i = launch + 1; i < target_; ++i) {
      if (taken_.contains(i)) continue;
      for (const std::string& buffer : program_.launches[launch].writes)
        if (reads(i, buffer) || writes(i, buffer)) return false;
      for (const std::string& buffer : program_.launches[launch].reads)
        if (writes(i, buffer)) return false;
    }
    return true;
  }

  Ref filled(Ref value) {
    if (!value->has_load) return value;
    return nodes_.replace(value, [&](Ref node) -> Ref {
      if (node->is(Op::kSelect)) return filled_choice(node);
      if (node->kind != Node::Kind::kLoad) return nullptr;
      const Ref element = filled(node->args[0]);
      std::size_t launch = 0;
      std::string buffer;
      const Nest* nest = maker(node->name, launch, buffer);
      if (nest != nullptr && (depth_ == Depth::kAll || nest->value->height == 0) &&
          (taken_.contains(launch) || movable(launch))) {
        if (const auto point = solve_for(nodes_, nest->element, nest->dims, element)) {
          taken_.insert(launch);
          return filled(nodes_.substitute(nest->value, *point));
        }
      }
      return nodes_.load(node->name, node->type, element);
    });
  }

  /// "i >= 5" of "i >= 3 and i >= 5", as the last of several branches asks.
  Ref without_implied(Ref condition) {
    const std::vector<Ref> parts = conjuncts(condition);
    Ref left = nodes_.boolean(true);
    for (const Ref part : parts) {
      const bool is_implied = std::ranges::any_of(parts, [&](Ref other) {
        return part->is(Op::kNonNegative) && other->is(Op::kNonNegative) &&
               part->args[0]->terms == other->args[0]->terms &&
               part->args[0]->constant > other->args[0]->constant;
      });
      if (!is_implied) left = nodes_.both(left, part);
    }
    return left;
  }

  /// Of the nest's own indices the values that a condition leaves, where that is not all.
  std::map<SymbolId, Range> left_by(Ref condition) {
    std::map<SymbolId, Range> left;
    for (const SymbolId symbol : condition->free) {
      if (!dims_.contains(symbol)) continue;
      const Range all{0, nodes_.extent(symbol) - 1};
      const Range one = narrowed(nodes_, all, condition, symbol);
      if (one.low <= one.high && (one.low > all.low || one.high < all.high)) left[symbol] = one;
    }
    return left;
  }

  /// filled() of a choice whose condition leaves only some values of an index: a tensor that was
  /// joined from parts, say. Null: it is like any other node.
  Ref filled_choice(Ref choice) {
    const Ref condition = without_implied(choice->args[0]), otherwise = nodes_.negate(condition);
    const auto left = left_by(condition), left_otherwise = left_by(otherwise);
    if (left.empty() && left_otherwise.empty()) return nullptr;
    return nodes_.select(filled(condition), filled_where(left, choice->args[1]),
                         filled_where(left_otherwise, choice->args[2]));
  }

  /// filled() of a value that is asked for only where indices are within these ranges. Meanwhile
  /// they are written as new indices that begin there, so that what is known of them is used.
  Ref filled_where(const std::map<SymbolId, Range>& left, Ref value) {
    if (!value->has_load) return value;
    Nodes::Substitution there, back;
    for (const auto& [symbol, range] : left) {
      const SymbolId part =
          nodes_.new_symbol(nodes_.symbol(symbol).name, range.high - range.low + 1);
      dims_.insert(part);
      there[symbol] = nodes_.add(nodes_.index(part), nodes_.integer(range.low));
      back[part] = nodes_.subtract(nodes_.index(symbol), nodes_.integer(range.low));
    }
    if (there.empty()) return filled(value);
    return nodes_.substitute(filled(nodes_.substitute(value, there)), back);
  }

  bool needed_elsewhere(std::size_t launch, const std::string& buffer) const {
    for (std::size_t i = launch + 1; i < program_.launches.size(); ++i) {
      if (!taken_.contains(i) && reads(i, buffer)) return true;
      if (writes(i, buffer)) {
        // Overwritten as a whole? Else some of it stays.
        for (const Nest& nest : program_.launches[i].nests)
          if (nest.buffer == buffer && nest.covers && !nest.combine) return false;
        if (taken_.contains(i)) return false;
      }
    }
    return is_output(this->buffer(buffer).role);
  }

  Result<Site> finished(std::vector<Nest> nests) {
    Site site;
    site.launches.assign(taken_.begin(), taken_.end());
    // Another order of launches than the program's must not change what anyone sees.
    for (const std::size_t launch : taken_)
      if (launch != target_ && !movable(launch)) {
        return refused(fmt::format("launch {} ('{}') cannot be moved to it", launch,
                                   program_.launches[launch].kernel));
      }
    std::set<std::string> written;
    for (const Nest& nest : nests) written.insert(nest.buffer);
    for (Nest& nest : nests) {
      bool valid = true;
      const auto plain = [&](Ref value) { return unversioned(value, valid); };
      nest.value = plain(nest.value);
      nest.element = plain(nest.element);
      nest.guard = plain(nest.guard);
      if (!valid) {
        return refused(
            fmt::format("'{}' depends on a buffer as it was before a launch between", nest.buffer));
      }
      for (const Ref part : {nest.value, nest.guard, nest.element}) {
        for (const Ref load : loads_in(part)) {
          const bool own = load->name == nest.buffer && load->args[0] == nest.element;
          if (!written.contains(load->name) || own) continue;
          return refused(load->name == nest.buffer
                             ? fmt::format("'{}' is made of other elements of itself", nest.buffer)
                             : fmt::format("'{}' reads '{}', which the same launch{} write{}",
                                           nest.buffer, load->name, taken_.size() > 1 ? "es" : "",
                                           taken_.size() > 1 ? "" : "s"));
        }
      }
    }
    for (std::size_t i = 0; i < nests.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (nests[i].buffer == nests[j].buffer && taken_.size() > 1) {
          return refused(fmt::format("several of the launches write '{}'", nests[i].buffer));
        }
    for (const std::string& buffer : written) site.name += (site.name.empty() ? "" : "+") + buffer;
    site.nests = std::move(nests);
    return site;
  }

  /// Loads as the buffers are called, where what they see is what is there at the site.
  Ref unversioned(Ref value, bool& valid) {
    if (!value->has_load) return value;
    return nodes_.replace(value, [&](Ref node) -> Ref {
      if (node->kind != Node::Kind::kLoad) return nullptr;
      const std::size_t at = node->name.find(kVersion);
      const std::string buffer = node->name.substr(0, at);
      // The last launch that stays and writes the buffer before the target.
      std::string present = buffer;
      for (std::size_t i = target_; i-- > 0;) {
        if (!writes(i, buffer) || taken_.contains(i)) continue;
        present = fmt::format("{}{}{}", buffer, kVersion, i);
        break;
      }
      if (present != node->name) valid = false;
      return nodes_.load(buffer, node->type, unversioned(node->args[0], valid));
    });
  }

  const LiftedProgram& program_;
  Nodes& nodes_;
  std::size_t target_ = 0;
  Depth depth_ = Depth::kAll;
  std::set<SymbolId> dims_;  ///< of the nest in hand
  std::set<std::size_t> taken_;
  std::map<std::pair<std::size_t, std::string>, std::optional<Nest>> makers_;
};

}  // namespace

namespace {

/// About half a second.
constexpr std::int64_t kMostSiteWork = 1'000'000;

Result<Site> site_of(const LiftedProgram& program, std::size_t target, Depth depth) {
  const Nodes::WorkLimit limit(*program.nodes, kMostSiteWork);
  try {
    return Fuser(program).site(target, depth);
  } catch (const TooMuchWork&) {
    return refused(fmt::format("putting launches together takes more than {} million steps",
                               kMostSiteWork / 1'000'000));
  }
}

}  // namespace

std::vector<Site> sites(const LiftedProgram& program, std::vector<NoSite>* without) {
  std::vector<Site> all;
  for (std::size_t target = 0; target < program.launches.size(); ++target) {
    if (!program.launches[target].refusal.empty()) continue;
    std::vector<std::vector<std::size_t>> seen;
    std::string reason;
    for (const Depth depth : {Depth::kAll, Depth::kMaps, Depth::kAlone}) {
      auto site = site_of(program, target, depth);
      if (!site) reason = site.error().message;
      if (!site || std::ranges::find(seen, site->launches) != seen.end()) continue;
      seen.push_back(site->launches);
      if (depth == Depth::kMaps) site->name += ", maps put in";
      if (depth == Depth::kAlone && seen.size() > 1) site->name += ", alone";
      all.push_back(std::move(*site));
    }
    if (seen.empty() && without != nullptr) {
      without->push_back({target, program.launches[target].kernel + ": " + reason});
    }
  }
  std::ranges::stable_sort(all, std::greater<>(),
                           [](const Site& site) { return site.launches.size(); });
  std::map<std::string, int> seen;
  for (Site& site : all) {
    const int times = ++seen[site.name];
    if (times > 1) site.name += fmt::format("#{}", times);
  }
  return all;
}

}  // namespace hone::nest
