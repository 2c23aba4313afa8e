#include "rewriters/schedules/lane_body.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/neighbours.h"

namespace hone::schedules {

using nest::Node;

int widest_vector(const Goal& goal, SymbolId symbol, const std::vector<Ref>& values,
                  const std::vector<std::pair<ScalarType, Ref>>& elements, int most) {
  nest::Nodes& nodes = *goal.nodes;
  const Printer nothing_known(nodes);
  std::vector<std::pair<ScalarType, Ref>> streams = elements;
  for (const Use& use : uses_of(nothing_known, values)) {
    const bool load = use.value->kind == Node::Kind::kLoad && use.value->uses(symbol);
    if (load && (use.certain || in_range(goal, use.value))) {
      streams.emplace_back(use.value->type, use.value->args[0]);
    }
  }
  Neighbours single(nodes, symbol, 1);
  std::erase_if(streams, [&](const auto& stream) { return single.step(stream.second) != 1; });
  if (streams.empty()) return 1;
  std::size_t smallest = 8, largest = 1;
  for (const auto& [type, element] : streams) {
    smallest = std::min(smallest, size_of(type));
    largest = std::max(largest, size_of(type));
  }
  int best = 1;
  for (int width = 2; width <= most; width *= 2) {
    if (nodes.extent(symbol) % width != 0) break;
    const std::size_t count = static_cast<std::size_t>(width);
    if (count * smallest > 16 || count * largest > 32) break;
    Neighbours lanes(nodes, symbol, width);
    if (!std::ranges::all_of(streams,
                             [&](const auto& stream) { return lanes.contiguous(stream.second); })) {
      break;
    }
    best = width;
  }
  return best;
}

Hint LaneBody::hint_of(Ref load) const {
  const bool kept = cache == Cache::kKeepLoads;
  if ((cache != Cache::kStream && !kept) || load->type == ScalarType::kBool) return Hint::kNone;
  if (!(streamed ? streamed(load) : load->uses(symbol_))) return Hint::kNone;
  if (!kept) return Hint::kStreaming;
  // The compiler does not know that such a load reads memory: nothing may be written there.
  const bool written = std::ranges::any_of(
      goal_->nests, [&](const nest::Nest& nest) { return nest.buffer == load->name; });
  return written ? Hint::kNone : Hint::kKept;
}

bool LaneBody::moves_whole(Ref load) {
  return load->uses(symbol_) && (width_ == 1 || lanes_.contiguous(load->args[0]));
}

/// An element read one at a time.
std::string LaneBody::loaded(Printer& printer, Ref load) {
  const std::string element = printer.print_index(load->args[0]);
  switch (hint_of(load)) {
    case Hint::kStreaming:
      if (is_fp8(load->type)) break;  // there is no such function of these
      return fmt::format("__ldcs({} + {})", load->name, element);
    case Hint::kKept:
      return fmt::format("{}({} + {}).at[0]", helpers_->load(Hint::kKept, "1"), load->name,
                         element);
    case Hint::kNone:
      break;
  }
  return fmt::format("{}[{}]", load->name, element);
}

void LaneBody::emit_load(Code& code, Ref load, const std::string& place) {
  Printer printer = printer_;
  printer.indices[symbol_] = base_;
  const std::string text = width_ == 1
                               ? loaded(printer, load)
                               : fmt::format("{}({} + {})", helpers_->load(hint_of(load)),
                                             load->name, printer.print_index(load->args[0]));
  code.line(fmt::format("{} = {};", place, text));
}

void LaneBody::emit_store(Code& code, Printer& printer, const Store& store,
                          const std::string& pack) {
  const std::string value = as_element(printer, store.type, store.value);
  if (!pack.empty()) {
    code.line(fmt::format("{}.at[v] = {};", pack, value));
    return;
  }
  const std::string element = printer.print_index(store.element);
  const bool streaming = streams_stores() && store.type != ScalarType::kBool && !is_fp8(store.type);
  const std::string text =
      streaming ? fmt::format("__stcs({} + {}, {});", store.buffer, element,
                              is_float(store.type)
                                  ? value
                                  : fmt::format("({})({})", type_name(store.type), value))
                : fmt::format("{}[{}] = {};", store.buffer, element, value);
  std::string condition = store_if;
  if (!store.guard->is_constant()) {
    condition += (condition.empty() ? "" : " && ") + printer.print(store.guard);
  }
  code.line(condition.empty() ? text : fmt::format("if ({}) {}", condition, text));
}

void LaneBody::emit_items(Code& code, const std::string& point, bool guarded,
                          const std::vector<Ref>& values, const std::vector<Store>& stores) {
  const auto open_items = [&] {
    code.line("#pragma unroll");
    code.open("for (int i = 0; i < kItems; ++i)");
    code.line(point);
    if (guarded) code.open("if (point < kPoints)");
  };
  const auto close_items = [&] {
    if (guarded) code.close();
    code.close();
  };
  std::vector<Ref> loads;
  for (const Use& use : uses_of(Printer(*goal_->nodes), values)) {
    const bool early = use.value->kind == Node::Kind::kLoad && !use.value->args[0]->has_load &&
                       moves_whole(use.value) && (use.certain || in_range(*goal_, use.value));
    if (early) loads.push_back(use.value);
  }
  for (const Ref load : loads) {
    const std::string name = names_->fresh(load->name + "_in");
    at_hand[load] = name + "[i]";
    code.line(fmt::format("{} {}[kItems];",
                          width_ > 1 ? helpers_->pack(load->type) : type_name(load->type), name));
  }
  if (!loads.empty()) {
    open_items();
    for (const Ref load : loads) emit_load(code, load, at_hand[load]);
    close_items();
  }
  open_items();
  emit(code, {}, stores, {});
  close_items();
}

void LaneBody::emit(Code& code, const std::vector<Fold>& folds, const std::vector<Store>& stores,
                    const std::vector<Keep>& keeps) {
  nest::Nodes& nodes = *goal_->nodes;
  Printer printer = printer_;
  for (const auto& [value, text] : known) printer.known[value] = text;

  // What is evaluated in any case, and what only where a guard holds.
  std::vector<Ref> roots;
  for (const Fold& fold : folds) roots.push_back(fold.value);
  for (const Keep& keep : keeps) roots.push_back(keep.value);
  std::vector<std::string> packs(stores.size());
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const bool always = stores[i].guard->is_constant();
    if (always) roots.push_back(stores[i].value);
    const bool own = stores[i].put || stores[i].put_pack;
    if (width_ > 1 && always && !(own && !stores[i].put_pack) &&
        lanes_.contiguous(stores[i].element)) {
      packs[i] = names_->fresh(stores[i].buffer + "_out");
    } else if (always && own) {
      roots.push_back(stores[i].element);
    }
  }
  std::vector<Ref> all = roots;
  for (const Store& store : stores) {
    if (!store.guard->is_constant()) {
      all.push_back(nodes.select(
          store.guard, store.value,
          is_float(store.value->type) ? nodes.number(0, store.value->type) : nodes.integer(0)));
      if (store.put) all.push_back(nodes.select(store.guard, store.element, nodes.integer(0)));
    }
  }

  // Loads before the lanes: vectors, and what all lanes share.
  Printer at_base = printer;
  at_base.indices[symbol_] = base_;
  std::map<Ref, std::string> texts;
  for (const Use& use : uses_of(printer, all)) {
    const Ref load = use.value;
    if (load->kind != Node::Kind::kLoad || printer.known.contains(load)) continue;
    if (const auto have = at_hand.find(load); have != at_hand.end()) {
      texts[load] = width_ == 1 ? have->second : have->second + ".at[v]";
      continue;
    }
    const auto resident = in_shared.find(load);
    if (resident != in_shared.end() && width_ == 1) {
      texts[load] = resident->second;
      continue;
    }
    if (resident == in_shared.end() && !use.certain && !in_range(*goal_, load)) continue;
    const auto save = to_shared.find(load);
    if (moves_whole(load) && (width_ > 1 || save != to_shared.end())) {
      const std::string name = names_->fresh(load->name + (width_ > 1 ? "_vec" : "_here"));
      const std::string type = width_ > 1 ? helpers_->pack(load->type) : type_name(load->type);
      if (resident != in_shared.end()) {
        code.line(fmt::format("const {} {} = {}({});", type, name, helpers_->load(Hint::kNone),
                              resident->second));
      } else {
        emit_load(code, load, fmt::format("const {} {}", type, name));
      }
      if (save != to_shared.end()) {
        code.line(width_ > 1
                      ? fmt::format("{}({}, {});", helpers_->store(false), save->second, name)
                      : fmt::format("{} = {};", save->second, name));
      }
      texts[load] = width_ > 1 ? name + ".at[v]" : name;
    } else if (width_ > 1 && load->uses(symbol_) && lanes_.step(load->args[0]) == 0) {
      const std::string name = names_->fresh(load->name + "_here");
      const std::string type =
          is_float(load->type) ? type_name(compute_type(load->type)) : type_name(load->type);
      code.line(
          fmt::format("const {} {} = {};", type, name, widened(load->type, loaded(at_base, load))));
      printer.known[load] = name;
    }
  }
  printer.on_load = [&](Ref load) -> std::string {
    const auto found = texts.find(load);
    if (found != texts.end()) return widened(load->type, found->second);
    return hint_of(load) != Hint::kNone && width_ == 1 ? widened(load->type, loaded(printer, load))
                                                       : "";
  };

  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (!packs[i].empty()) {
      code.line(fmt::format("{} {};", helpers_->pack(stores[i].type), packs[i]));
    }
  }
  if (width_ > 1) {
    code.line("#pragma unroll");
    code.open("for (int v = 0; v < kVec; ++v)");
  }
  printer.indices[symbol_] = width_ > 1 ? fmt::format("({} + v)", base_) : base_;
  std::vector<Ref> shared_roots = roots;
  // A value that is folded by its place is compared before it is taken: it needs a name.
  for (const Fold& fold : folds) {
    if (fold.into->finds_place()) shared_roots.push_back(fold.value);
  }
  emit_shared(nodes, printer, *names_, code, shared_roots);
  for (const Keep& keep : keeps) {
    code.line(fmt::format("{} = {};", keep.place, printer.print(keep.value)));
    printer.known.try_emplace(keep.value, keep.place);
  }
  for (const Fold& fold : folds) {
    const std::string value = printer.print(fold.value);
    if (fold.position.empty()) {
      fold.into->take(code, value, printer.indices[symbol_]);
    } else {
      fold.into->merge(code, value, fold.position);
    }
  }
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (stores[i].put && packs[i].empty()) {
      stores[i].put(code, printer);
    } else {
      emit_store(code, printer, stores[i], packs[i]);
    }
  }
  if (width_ > 1) code.close();
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (packs[i].empty()) continue;
    if (stores[i].put_pack) {
      stores[i].put_pack(code, at_base, packs[i]);
      continue;
    }
    code.line(fmt::format("{}{}({} + {}, {});",
                          store_if.empty() ? "" : fmt::format("if ({}) ", store_if),
                          helpers_->store(streams_stores()), stores[i].buffer,
                          at_base.print_index(stores[i].element), packs[i]));
  }
}

std::vector<Ref> values_of(const std::vector<LaneBody::Store>& stores) {
  std::vector<Ref> all;
  for (const LaneBody::Store& store : stores)
    if (store.guard->is_constant()) all.push_back(store.value);
  return all;
}

std::vector<std::pair<ScalarType, Ref>> elements_of(const std::vector<LaneBody::Store>& stores) {
  std::vector<std::pair<ScalarType, Ref>> all;
  for (const LaneBody::Store& store : stores) all.emplace_back(store.type, store.element);
  return all;
}

}  // namespace hone::schedules
