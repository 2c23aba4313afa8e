#include "rewriters/rules/cooperative/atomics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace hone::rules::coop {

using syntax::Access;
using syntax::KernelInfo;
using syntax::Stmt;
using Node = syntax::Expr;

namespace {

struct Limits {
  const char* low;
  const char* high;
  const char* ones;
};

const std::map<std::string, Limits, std::less<>>& limits() {
  static const std::map<std::string, Limits, std::less<>> kLimits = {
      {"int", {"(-2147483647 - 1)", "2147483647", "-1"}},
      {"unsigned int", {"0u", "0xffffffffu", "0xffffffffu"}},
      {"long long", {"(-9223372036854775807ll - 1)", "9223372036854775807ll", "-1ll"}},
      {"unsigned long long", {"0ull", "0xffffffffffffffffull", "0xffffffffffffffffull"}},
      {"float", {"", "", ""}},
      {"double", {"", "", ""}},
  };
  return kLimits;
}

// &p[i] and p + i are the same for the block when p and i are: no memory is read.
bool varies_by_thread(const KernelInfo& info, const Node* address) {
  address = strip_casts(address);
  if (address->kind == Node::Kind::kUnary && address->text == "&") {
    const Node* target = strip_casts(address->operands[0]);
    if (target->kind == Node::Kind::kSubscript) {
      return varies_by_thread(info, target->operands[0]) ||
             info.varies_by_thread(*target->operands[1]);
    }
  }
  return info.varies_by_thread(*address);
}

bool certainly_apart(const Place& a, const Place& b) {
  if (a.root != b.root || !a.index || !b.index) return false;
  const auto distance = (*a.index - *b.index).as_constant();
  return distance && *distance != 0;
}

}  // namespace

std::string AtomicStatement::identity() const {
  if (type == "float") return "0.0f";
  if (type == "double") return "0.0";
  const Limits& range = limits().find(type)->second;
  if (function == "atomicMax") return range.low;
  if (function == "atomicMin") return range.high;
  if (function == "atomicAnd") return range.ones;
  return "0";
}

std::string AtomicStatement::fold(const std::string& value, const std::string& other) const {
  static const std::map<std::string, const char*, std::less<>> kOperators = {{"atomicAdd", "+="},
                                                                             {"atomicSub", "+="},
                                                                             {"atomicAnd", "&="},
                                                                             {"atomicOr", "|="},
                                                                             {"atomicXor", "^="}};
  if (const auto found = kOperators.find(function); found != kOperators.end()) {
    return fmt::format("{} {} {};", value, found->second, other);
  }
  return fmt::format("{0} = {1}({0}, {2});", value, function == "atomicMax" ? "max" : "min", other);
}

std::vector<AtomicStatement> atomic_statements(const KernelInfo& info) {
  static const std::set<std::string, std::less<>> kFunctions = {
      "atomicAdd", "atomicSub", "atomicMin", "atomicMax", "atomicAnd", "atomicOr", "atomicXor"};
  std::vector<AtomicStatement> result;
  for (const Access& access : info.accesses) {
    if (access.kind != Access::Kind::kAtomic) continue;
    const Node* call = strip_implicit(access.expr);
    if (!call || call->kind != Node::Kind::kCall || call->operands.size() != 2 ||
        !kFunctions.contains(call->text) || !call->range.valid()) {
      continue;
    }
    const Place place = place_of(access);
    if (!place.root || place.root->storage != syntax::Variable::Storage::kParameter) continue;
    if (call->parent || access.statement->kind != Stmt::Kind::kExpression) continue;
    const Stmt* parent = access.statement->parent;
    if (parent && parent->kind == Stmt::Kind::kFor && parent->init == access.statement) continue;
    AtomicStatement atomic;
    atomic.access = &access;
    atomic.call = call;
    atomic.address = call->operands[0];
    atomic.value = call->operands[1];
    atomic.root = place.root;
    atomic.function = call->text;
    const syntax::Type& pointer = strip_implicit(atomic.address)->type;
    if (!pointer.element) continue;
    atomic.type = pointer.element->name;
    if (!limits().contains(atomic.type)) continue;
    if (atomic.is_float() && atomic.function != "atomicAdd") continue;
    atomic.uniform = !varies_by_thread(info, atomic.address);
    bool touched_otherwise = false;
    for (const Access& other : info.accesses) {
      const Place touched = place_of(other);
      if (&other == &access || !may_overlap(info, place, touched)) continue;
      if (certainly_apart(place, touched)) continue;
      const bool same_kind = other.kind == Access::Kind::kAtomic &&
                             strip_implicit(other.expr)->text == call->text && !other.expr->parent;
      touched_otherwise |= !same_kind;
    }
    if (!touched_otherwise) result.push_back(std::move(atomic));
  }
  return result;
}

}  // namespace hone::rules::coop
