#include "rewriters/rules/cooperative/vector_loads.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::rules::coop {

using syntax::Access;
using syntax::KernelInfo;
using syntax::Polynomial;
using syntax::Stmt;
using Node = syntax::Expr;

namespace {

// Is the statement performed once per pass through `region`?
bool straight(const Stmt* stmt, const Stmt& region) {
  for (; stmt && stmt != &region; stmt = stmt->parent) {
    switch (stmt->kind) {
      case Stmt::Kind::kCompound:
      case Stmt::Kind::kDeclaration:
      case Stmt::Kind::kExpression:
        break;
      default:
        return false;
    }
  }
  return stmt != nullptr;
}

// Straight, or in the condition of an `if` that is.
bool always_evaluated(const Access& access, const Stmt& region) {
  if (!unconditional(*access.expr)) return false;
  const Stmt* stmt = access.statement;
  if (stmt->kind == Stmt::Kind::kIf) {
    const Stmt* parent = stmt->parent;
    return stmt == &region || (parent && straight(parent, region));
  }
  return straight(stmt, region);
}

std::optional<int> residue_of(const Polynomial& rest, int lanes) {
  std::int64_t constant = 0;
  for (const auto& [monomial, coefficient] : rest.terms) {
    if (monomial.empty()) {
      constant = coefficient;
    } else if (coefficient % lanes != 0) {
      return std::nullopt;
    }
  }
  return static_cast<int>(((constant % lanes) + lanes) % lanes);
}

}  // namespace

std::vector<VectorAccess> vector_accesses(const Parsed& parsed, const KernelInfo& info,
                                          const Stmt& region, const Polynomial& counter, int lanes,
                                          const Bindings& sizes, bool speculative) {
  std::vector<VectorAccess> result;
  std::vector<Polynomial> indices;
  const auto values = symbol_values(info, sizes);
  const bool skips = [&] {
    bool found = false;
    for_each_stmt(region, [&](const Stmt& stmt) {
      found |= stmt.kind == Stmt::Kind::kContinue || stmt.kind == Stmt::Kind::kOther;
    });
    return found;
  }();
  if (skips && !speculative) return result;
  // Symbols that the region itself changes make an index different from one pass to the next.
  const auto effects = syntax::effects_of(region);
  const auto local_to_region = [&](const Polynomial& rest) {
    for (const syntax::Variable* local : info.function->locals) {
      const bool changes = effects.writes.contains(local) || declared_inside(*local, region);
      if (changes && rest.uses(syntax::symbol_of(*local))) return true;
    }
    return false;
  };
  for (const Access& access : info.accesses) {
    if (access.kind == Access::Kind::kAtomic || !inside(access.statement, region)) continue;
    const Node& lvalue = *access.expr;
    if (lvalue.kind != Node::Kind::kSubscript && lvalue.kind != Node::Kind::kUnary) continue;
    const Place place = place_of(access);
    if (!place.root || !place.index || !is_global(place) || !lvalue.range.valid()) continue;
    if (place.root->storage != syntax::Variable::Storage::kParameter) continue;
    if (lvalue.type.is_volatile) continue;
    const std::string type = vector_type(lvalue.type, lanes);
    if (type.empty()) continue;
    const Polynomial rest = at_sizes(*place.index, values) - at_sizes(counter, values);
    bool free_of_counter = true;
    for (const std::string& symbol : at_sizes(counter, values).symbols()) {
      free_of_counter &= !rest.uses(symbol);
    }
    if (!free_of_counter || local_to_region(rest)) continue;
    const auto residue = residue_of(rest, lanes);
    const bool write = access.kind != Access::Kind::kRead;
    if (!residue || (speculative && write)) continue;
    const bool always = speculative || always_evaluated(access, region);
    if (!always && write) continue;
    const bool read = access.kind != Access::Kind::kWrite;
    std::size_t at = 0;
    while (at < result.size() &&
           !(place_of(*result[at].accesses[0]).root == place.root && indices[at] == *place.index)) {
      ++at;
    }
    if (at == result.size()) {
      if (!always) continue;  // it may join a load that happens anyway, not cause one
      VectorAccess fresh;
      fresh.type = type;
      fresh.name = syntax::fresh_name(
          *parsed.unit,
          fmt::format("{}{}{}", place.root->name, lanes, at == 0 ? "" : fmt::format("_{}", at)));
      fresh.residue = *residue;
      result.push_back(std::move(fresh));
      indices.push_back(*place.index);
    }
    result[at].accesses.push_back(&access);
    result[at].reads |= read;
    result[at].writes |= write;
  }
  // A store must be the only way in which the region touches that element: no other access to the
  // same memory through another index, vectorised or not.
  std::vector<VectorAccess> sound;
  for (VectorAccess& vector : result) {
    const auto overlaps = [&](const Access& other) {
      if (!inside(other.statement, region)) return false;
      if (std::find(vector.accesses.begin(), vector.accesses.end(), &other) !=
          vector.accesses.end()) {
        return false;
      }
      if (other.kind == Access::Kind::kRead && !vector.writes) return false;
      return may_overlap(info, place_of(*vector.accesses[0]), place_of(other));
    };
    if (std::none_of(info.accesses.begin(), info.accesses.end(), overlaps)) {
      sound.push_back(std::move(vector));
    }
  }
  return sound;
}

}  // namespace hone::rules::coop
