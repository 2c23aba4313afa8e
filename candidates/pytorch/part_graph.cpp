#include "candidates/pytorch/part_graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::pytorch {
namespace {

/// Launches of one part, at most: a search has to run them all for each candidate.
constexpr int kMostLaunches = 64;

double elements_of(const TensorMeta& meta) {
  double count = 1;
  for (const std::int64_t size : meta.sizes) count *= static_cast<double>(size);
  return count;
}

/// Behind a module's path: what it does without its own modules.
constexpr const char* kItself = " itself";

/// "", "a", "a.b" of "a.b", until `visit` says true.
template <class Visit>
void for_each_module(const std::string& path, const Visit& visit) {
  for (std::size_t end = 0;;) {
    if (visit(path.substr(0, end)) || end >= path.size()) return;
    end = std::min(path.find('.', end + 1), path.size());
  }
}

}  // namespace

PartGraph::PartGraph(const Exported& exported, const PartsOptions& options)
    : exported_(exported), options_(options), facts_(examine(exported)) {
  for (const NodeFacts& facts : facts_.nodes) why_not_.push_back(facts.why_not);
  find_makers();
  find_writes();
  find_free_views();
  order_nodes();
}

void PartGraph::find_makers() {
  for (std::size_t i = 0; i < exported_.nodes.size(); ++i) {
    for (const std::string& name : exported_.nodes[i].outputs) {
      if (!name.empty()) makers_.emplace(name, i);
    }
  }
}

int PartGraph::class_of(int storage) const {
  for (auto found = classes_.find(storage); found != classes_.end();
       found = classes_.find(storage)) {
    storage = found->second;
  }
  return storage;
}

void PartGraph::join_classes(int a, int b) {
  const int first = class_of(a), second = class_of(b);
  if (first != second) classes_.emplace(std::max(first, second), std::min(first, second));
}

std::set<int> PartGraph::touched(std::size_t node) const {
  const NodeFacts& facts = facts_.nodes[node];
  std::set<int> all;
  for (const std::set<int>* storages : {&facts.reads, &facts.writes, &facts.makes}) {
    for (const int storage : *storages) all.insert(class_of(storage));
  }
  return all;
}

void PartGraph::find_writes() {
  // What only PyTorch knows may give views of what it is given.
  for (const NodeFacts& facts : facts_.nodes) {
    if (facts.why_not.empty()) continue;
    for (const int made : facts.makes) {
      for (const int read : facts.reads) join_classes(made, read);
    }
  }
  for (std::size_t i = 0; i < facts_.nodes.size(); ++i) {
    for (const int storage : facts_.nodes[i].writes) last_write_[class_of(storage)] = i;
  }
}

void PartGraph::find_free_views() {
  for (std::size_t i = 0; i < facts_.nodes.size(); ++i) {
    const NodeFacts& facts = facts_.nodes[i];
    bool is_free = facts.why_not.empty() && facts.launches == 0 && facts.writes.empty();
    // A view of what is still going to be written is tied to its place.
    for (const int storages : touched(i)) {
      const auto write = last_write_.find(storages);
      is_free = is_free && (write == last_write_.end() || write->second < i);
    }
    free_.push_back(is_free);
  }
}

/// A piece of a larger tensor that lies in one row: PyTorch gives it at no cost, and the part that
/// reads it need not know which piece it is.
bool PartGraph::is_slice(std::size_t view) const {
  const Node& node = exported_.nodes[view];
  const auto meta_of = [&](const std::string& name) -> const TensorMeta* {
    const auto found = exported_.tensors.find(name);
    return found == exported_.tensors.end() ? nullptr : &found->second;
  };
  const std::vector<std::string> read = tensors_read(node);
  if (read.size() != 1) return false;
  const TensorMeta* from = meta_of(read.front());
  return from != nullptr && std::ranges::all_of(node.outputs, [&](const std::string& name) {
           const TensorMeta* to = meta_of(name);
           return name.empty() ||
                  (to != nullptr && lies_in_a_row(*to) && elements_of(*to) < elements_of(*from));
         });
}

void PartGraph::add_views(const std::string& value, std::set<std::size_t>& views,
                          std::vector<std::string>& bases, std::optional<Unit> reader) const {
  const auto maker = makers_.find(value);
  if (maker == makers_.end() || !free_[maker->second] ||
      (reader && is_slice(maker->second) && !looks_at(value, *reader))) {
    if (std::ranges::find(bases, value) == bases.end()) bases.push_back(value);
    return;
  }
  views.insert(maker->second);
  for (const std::string& read : tensors_read(exported_.nodes[maker->second])) {
    add_views(read, views, bases, reader);
  }
}

bool PartGraph::looks_at(const std::string& value, Unit unit) const {
  std::set<std::size_t> views;
  std::vector<std::string> bases;
  add_views(value, views, bases, std::nullopt);
  return std::ranges::any_of(bases, [&](const std::string& base) {
    const auto maker = makers_.find(base);
    return maker != makers_.end() && unit_[maker->second] == unit;
  });
}

void PartGraph::order_nodes() {
  before_.resize(exported_.nodes.size());
  after_.resize(exported_.nodes.size());
  const auto order = [&](std::size_t first, std::size_t second) {
    if (first == second) return;
    before_[second].insert(first);
    after_[first].insert(second);
  };
  std::map<int, std::size_t> last_writer;        // of a class so far
  std::map<int, std::vector<std::size_t>> seen;  // since then
  std::optional<std::size_t> last_of_pytorch;    // its draws come in their order
  for (std::size_t i = 0; i < exported_.nodes.size(); ++i) {
    if (free_[i]) continue;
    std::set<std::size_t> views;
    std::vector<std::string> bases;
    for (const std::string& read : tensors_read(exported_.nodes[i])) {
      add_views(read, views, bases, std::nullopt);
    }
    for (const std::string& base : bases) {
      if (const auto maker = makers_.find(base); maker != makers_.end()) order(maker->second, i);
    }
    std::set<int> written;
    for (const int storage : facts_.nodes[i].writes) written.insert(class_of(storage));
    for (const int storages : touched(i)) {
      if (!last_write_.contains(storages)) continue;
      if (const auto writer = last_writer.find(storages); writer != last_writer.end()) {
        order(writer->second, i);
      }
      if (!written.contains(storages)) {
        seen[storages].push_back(i);
        continue;
      }
      for (const std::size_t earlier : seen[storages]) order(earlier, i);
      seen[storages].clear();
      last_writer[storages] = i;
    }
    if (!facts_.nodes[i].why_not.empty()) {
      if (last_of_pytorch) order(*last_of_pytorch, i);
      last_of_pytorch = i;
    }
  }
}

std::set<PartGraph::Unit> PartGraph::units_before(Unit unit) const {
  std::set<Unit> units;
  for (const std::size_t node : members_.at(unit)) {
    for (const std::size_t other : before_[node]) units.insert(unit_[other]);
  }
  units.erase(unit);
  return units;
}

std::set<PartGraph::Unit> PartGraph::units_after(Unit unit) const {
  std::set<Unit> units;
  for (const std::size_t node : members_.at(unit)) {
    for (const std::size_t other : after_[node]) units.insert(unit_[other]);
  }
  units.erase(unit);
  return units;
}

bool PartGraph::leads_around(Unit from, Unit to) const {
  const std::size_t last = members_.at(to).back();
  std::set<Unit> seen = {from, to};
  std::vector<Unit> open = {from};
  while (!open.empty()) {
    const Unit unit = open.back();
    open.pop_back();
    for (const Unit next : units_after(unit)) {
      if (next == to && unit != from) return true;
      // The graph's own order is one of those that are allowed.
      if (members_.at(next).front() < last && seen.insert(next).second) open.push_back(next);
    }
  }
  return false;
}

bool PartGraph::can_be_one(Unit a, Unit b) const {
  int launches = 0;
  for (const Unit unit : {a, b}) {
    if (!why_not_[unit].empty()) return false;
    for (const std::size_t node : members_.at(unit)) launches += facts_.nodes[node].launches;
  }
  return launches <= kMostLaunches && !leads_around(a, b) && !leads_around(b, a);
}

void PartGraph::merge(Unit a, Unit b) {
  std::vector<std::size_t>& kept = members_.at(a);
  for (const std::size_t node : members_.at(b)) {
    unit_[node] = a;
    kept.push_back(node);
  }
  std::ranges::sort(kept);
  members_.erase(b);
}

bool PartGraph::merge_if_possible(Unit a, Unit b) {
  if (a == b || !can_be_one(a, b)) return false;
  merge(a, b);
  return true;
}

void PartGraph::count_loops() {
  loops_below_.clear();
  for (std::size_t i = 0; i < facts_.nodes.size(); ++i) {
    if (!facts_.nodes[i].loops || !why_not_[i].empty()) continue;
    const std::string& path = exported_.nodes[i].module;
    ++loops_below_[path + kItself];
    for_each_module(path, [&](const std::string& module) { return ++loops_below_[module], false; });
  }
}

std::string PartGraph::home_of(std::size_t node) const {
  const std::string& path = exported_.nodes[node].module;
  std::optional<std::string> home;
  for_each_module(path, [&](const std::string& module) {
    // A whole network that is small stays one.
    const int most = options_.most_loops * (module.empty() ? 2 : 1);
    if (loops_below_.at(module) <= most) home = module;
    return home.has_value();
  });
  if (home) return *home;
  if (loops_below_.at(path + kItself) <= options_.most_loops) return path + kItself;
  return fmt::format("node {}", node);
}

bool PartGraph::loops_in(Unit unit) const {
  return std::ranges::any_of(members_.at(unit),
                             [&](std::size_t node) { return facts_.nodes[node].loops; });
}

void PartGraph::group_nodes() {
  unit_.assign(exported_.nodes.size(), 0);
  members_.clear();
  for (std::size_t i = 0; i < exported_.nodes.size(); ++i) {
    unit_[i] = i;
    if (!free_[i]) members_[i] = {i};
  }
  count_loops();
  std::map<std::string, std::size_t> homes;  // a node of the newest group of each module
  for (std::size_t i = 0; i < exported_.nodes.size(); ++i) {
    if (free_[i] || !why_not_[i].empty()) continue;
    if (facts_.nodes[i].loops) {
      const auto [found, is_new] = homes.try_emplace(home_of(i), i);
      if (!is_new && !merge_if_possible(unit_[found->second], i)) found->second = i;
    } else {
      // What works on single elements goes with what made its arguments: first what made those
      // that it changes, then a group with loops, then what made one last.
      std::vector<std::size_t> makers(before_[i].rbegin(), before_[i].rend());
      std::ranges::stable_partition(makers,
                                    [&](std::size_t maker) { return loops_in(unit_[maker]); });
      std::ranges::stable_partition(makers, [&](std::size_t maker) {
        return std::ranges::any_of(facts_.nodes[maker].makes, [&](int storage) {
          return facts_.nodes[i].writes.contains(storage);
        });
      });
      for (const std::size_t maker : makers) {
        if (merge_if_possible(unit_[maker], i)) break;
      }
    }
  }
  // What only prepares one group's arguments goes with it.
  for (std::size_t i = exported_.nodes.size(); i-- > 0;) {
    if (free_[i] || unit_[i] != i || !why_not_[i].empty()) continue;
    const std::set<Unit> after = units_after(i);
    if (!loops_in(i) && after.size() == 1) merge_if_possible(*after.begin(), i);
  }
}

/// A part works on its own copy of what it makes; so whatever shares elements with it until they
/// are written for the last time must be in the part. Else PyTorch does the writing.
bool PartGraph::leave_shared_writes() {
  std::map<int, std::set<Unit>> units;
  for (std::size_t i = 0; i < exported_.nodes.size(); ++i) {
    if (free_[i]) continue;
    for (const int storages : touched(i)) {
      const auto write = last_write_.find(storages);
      if (write != last_write_.end() && i <= write->second) units[storages].insert(unit_[i]);
    }
  }
  bool changed = false;
  for (std::size_t i = 0; i < exported_.nodes.size(); ++i) {
    if (!why_not_[i].empty()) continue;
    for (const int storage : facts_.nodes[i].writes) {
      if (units[class_of(storage)].size() < 2) continue;
      why_not_[i] = "writes elements that other parts of the module see";
      changed = true;
      break;
    }
  }
  // A part would hand on a copy of a view, which does not see what PyTorch writes later.
  std::map<int, std::size_t> writes;  // of PyTorch: of each class the last
  for (std::size_t i = 0; i < exported_.nodes.size(); ++i) {
    if (why_not_[i].empty()) continue;
    for (const int storage : facts_.nodes[i].writes) writes[class_of(storage)] = i;
  }
  for (std::size_t i = 0; i < exported_.nodes.size(); ++i) {
    if (free_[i] || !why_not_[i].empty() || facts_.nodes[i].launches > 0) continue;
    for (const int storages : touched(i)) {
      const auto write = writes.find(storages);
      if (write == writes.end() || write->second < i) continue;
      why_not_[i] = "a view of elements that PyTorch writes";
      changed = true;
    }
  }
  return changed;
}

void PartGraph::leave_small_ones() {
  std::vector<Unit> small;
  bool others = false;
  for (const auto& [unit, nodes] : members_) {
    if (!why_not_[unit].empty()) continue;
    const bool is_small = std::ranges::all_of(nodes, [&](std::size_t node) {
      return !facts_.nodes[node].loops &&
             std::ranges::all_of(exported_.nodes[node].outputs, [&](const std::string& name) {
               const auto meta = exported_.tensors.find(name);
               return meta == exported_.tensors.end() ||
                      elements_of(meta->second) < options_.least_elements;
             });
    });
    if (is_small) {
      small.push_back(unit);
    } else {
      others = true;
    }
  }
  if (!others) return;
  for (const Unit unit : small) {
    for (const std::size_t node : members_.at(unit)) {
      unit_[node] = node;
      why_not_[node] = "too small to gain from a kernel of its own";
    }
    const std::vector<std::size_t> nodes = members_.at(unit);
    for (const std::size_t node : nodes) members_[node] = {node};
  }
}

void PartGraph::find_needed() {
  needed_.clear();
  std::set<std::size_t> views;
  std::vector<std::string> read;
  // What PyTorch reads: it makes the views too.
  const auto by_pytorch = [&](const std::string& value) {
    read.clear();
    add_views(value, views, read, std::nullopt);
    needed_.insert(read.begin(), read.end());
  };
  for (const GraphOutput& output : exported_.outputs) {
    if (!output.name.empty()) by_pytorch(output.name);
  }
  for (const auto& [unit, nodes] : members_) {
    for (const std::size_t node : nodes) {
      for (const std::string& name : tensors_read(exported_.nodes[node])) {
        if (!why_not_[unit].empty()) {
          by_pytorch(name);
          continue;
        }
        std::vector<std::string> values;
        add_views(name, views, values, unit);
        for (const std::string& value : values) {
          const auto maker = makers_.find(value);
          const bool is_view = maker != makers_.end() && free_[maker->second];
          if (is_view) by_pytorch(value);
          if (maker != makers_.end() && unit_[maker->second] != unit) needed_.insert(value);
        }
      }
    }
  }
}

std::vector<PartNodes> PartGraph::groups() {
  group_nodes();
  while (leave_shared_writes()) group_nodes();
  leave_small_ones();

  find_needed();
  std::vector<PartNodes> groups;
  group_of_.clear();
  dropped_.clear();
  inputs_.clear();
  for (const auto& [unit, nodes] : members_) {
    if (!why_not_[unit].empty()) continue;
    PartNodes part = part_of(unit);
    if (part.outputs.empty() && part.changed.empty()) {  // nobody sees what it does
      for (const std::size_t node : nodes) dropped_.push_back(exported_.nodes[node].name);
      continue;
    }
    group_of_.emplace(unit, groups.size());
    inputs_.push_back(part.inputs);
    groups.push_back(std::move(part));
  }
  return groups;
}

PartNodes PartGraph::part_of(Unit unit) const {
  PartNodes part;
  std::set<std::size_t> nodes;
  std::vector<std::string> read;
  std::set<int> written;
  for (const std::size_t node : members_.at(unit)) {
    nodes.insert(node);
    for (const std::string& name : tensors_read(exported_.nodes[node])) {
      add_views(name, nodes, read, unit);
    }
    for (const int storage : facts_.nodes[node].writes) written.insert(class_of(storage));
    for (const std::string& name : exported_.nodes[node].outputs) {
      if (needed_.contains(name)) part.outputs.push_back(name);
    }
  }
  part.nodes.assign(nodes.begin(), nodes.end());
  for (const std::string& name : read) {
    const auto maker = makers_.find(name);
    if (maker != makers_.end() && unit_[maker->second] == unit) continue;
    part.inputs.push_back(name);
    const auto storage = facts_.storages.find(name);
    if (storage != facts_.storages.end() && written.contains(class_of(storage->second))) {
      part.changed.insert(name);
    }
  }
  return part;
}

void PartGraph::leave_out(const PartNodes& group, const std::string& why) {
  for (const std::size_t node : group.nodes) {
    if (!free_[node]) why_not_[node] = why;
  }
}

std::vector<Step> PartGraph::steps() const {
  std::vector<Step> steps;
  std::set<Unit> done;
  std::set<std::size_t> viewed;
  const auto view = [&](auto&& self, const std::string& value) -> void {
    const auto maker = makers_.find(value);
    if (maker == makers_.end() || !free_[maker->second]) return;
    if (!viewed.insert(maker->second).second) return;
    for (const std::string& read : tensors_read(exported_.nodes[maker->second])) self(self, read);
    steps.push_back({std::nullopt, exported_.nodes[maker->second].name});
  };
  const auto run = [&](auto&& self, Unit unit) -> void {
    if (!done.insert(unit).second) return;
    for (const Unit earlier : units_before(unit)) self(self, earlier);
    if (const auto group = group_of_.find(unit); group != group_of_.end()) {
      for (const std::string& read : inputs_[group->second]) view(view, read);
      steps.push_back({group->second, ""});
    } else if (!why_not_[unit].empty()) {
      for (const std::string& read : tensors_read(exported_.nodes[unit])) view(view, read);
      steps.push_back({std::nullopt, exported_.nodes[unit].name});
    }
  };
  for (const auto& [unit, nodes] : members_) run(run, unit);
  for (const GraphOutput& output : exported_.outputs) view(view, output.name);
  return steps;
}

std::vector<LeftOut> PartGraph::left_out() const {
  std::vector<LeftOut> nodes;
  for (std::size_t i = 0; i < why_not_.size(); ++i) {
    const Node& node = exported_.nodes[i];
    if (!why_not_[i].empty()) nodes.push_back({node.name, node.target, why_not_[i]});
  }
  return nodes;
}

}  // namespace hone::pytorch
