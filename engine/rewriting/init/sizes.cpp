#include "engine/rewriting/init/sizes.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::init {

using syntax::HostExpr;
using syntax::HostInt;
using Op = HostExpr::Op;

Sizes::Key Sizes::key(const HostExpr& leaf) const {
  return {names_[static_cast<std::size_t>(leaf.name)].name, leaf.value};
}

void Sizes::want(const HostInt& value) {
  if (value == nullptr) return;
  if (value->op == Op::kName) {
    const Key one = key(*value);
    const auto& name = names_[static_cast<std::size_t>(value->name)];
    if (name.baked) fixed_.insert(one);
    if (name.guessed) guessed_keys_.insert(one);
    places_.emplace(one.first, name.place);
    if (std::ranges::find(wanted_, one) == wanted_.end()) wanted_.push_back(one);
  }
  for (const HostInt& part : value->operands) want(part);
}

void Sizes::fix(const HostInt& value) {
  if (value == nullptr) return;
  if (value->op == Op::kName) fixed_.insert(key(*value));
  for (const HostInt& part : value->operands) fix(part);
}

void Sizes::settle(const std::set<std::string>& taken) {
  final_.clear();
  order_.clear();
  timed_.clear();
  guessed_.clear();
  std::set<std::string> used = taken;
  for (const Key& one : wanted_) {
    if (fixed_.contains(one) || one.second < 1) continue;
    std::string name = one.first;
    for (int i = 2; !used.insert(name).second; ++i) name = fmt::format("{}_{}", one.first, i);
    final_[one] = name;
    order_.push_back(name);
    timed_[name] = one.second;
    places_[name] = places_[one.first];
    if (guessed_keys_.contains(one)) guessed_.insert(name);
  }
}

bool Sizes::is_symbolic(const HostInt& value) const {
  if (value == nullptr) return false;
  if (value->op == Op::kName) return final_.contains(key(*value));
  return std::ranges::any_of(value->operands,
                             [&](const HostInt& part) { return is_symbolic(part); });
}

std::string Sizes::text(const HostInt& value) const {
  if (!is_symbolic(value)) return fmt::format("{}", value->value);
  if (value->op == Op::kName) return final_.at(key(*value));
  const std::string a = text(value->operands[0]);
  const std::string b = text(value->operands[1]);
  const auto inner = [&](std::size_t i, const std::string& shown) {
    const HostInt& part = value->operands[i];
    const bool plain = !is_symbolic(part) || part->op == Op::kName || part->op == Op::kCeilDiv ||
                       part->op == Op::kMin || part->op == Op::kMax ||
                       (i == 0 && part->op == Op::kMul && value->op == Op::kMul);
    return plain ? shown : "(" + shown + ")";
  };
  const auto with = [&](const char* sign) {
    return fmt::format("{}{}{}", inner(0, a), sign, inner(1, b));
  };
  switch (value->op) {
    case Op::kAdd:
      return with(" + ");
    case Op::kSub:
      return with(" - ");
    case Op::kMul:
      return with("*");
    case Op::kDiv:
      return with("/");
    case Op::kMod:
      return with("%");
    case Op::kCeilDiv:
      return fmt::format("ceildiv({}, {})", a, b);
    case Op::kMin:
      return fmt::format("min({}, {})", a, b);
    case Op::kMax:
      return fmt::format("max({}, {})", a, b);
    default:
      return a;
  }
}

std::vector<std::string> Sizes::factors(const HostInt& value) const {
  if (value->op != Op::kMul || !is_symbolic(value)) return {text(value)};
  std::vector<std::string> all = factors(value->operands[0]);
  for (std::string& factor : factors(value->operands[1])) all.push_back(std::move(factor));
  return all.size() <= 8 ? all : std::vector<std::string>{text(value)};
}

std::optional<std::int64_t> Sizes::value(const HostInt& value,
                                         const std::map<std::string, std::int64_t>& at) const {
  if (value == nullptr) return std::nullopt;
  if (!is_symbolic(value)) return value->value;
  if (value->op == Op::kName) return at.at(final_.at(key(*value)));
  const auto a = this->value(value->operands[0], at);
  const auto b = this->value(value->operands[1], at);
  if (!a || !b) return std::nullopt;
  std::int64_t result = 0;
  switch (value->op) {
    case Op::kAdd:
      return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case Op::kSub:
      return __builtin_sub_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case Op::kMul:
      return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case Op::kDiv:
      return *b == 0 ? std::nullopt : std::optional(*a / *b);
    case Op::kMod:
      return *b == 0 ? std::nullopt : std::optional(*a % *b);
    case Op::kCeilDiv:
      return *b <= 0 ? std::nullopt : std::optional((*a + *b - 1) / *b);
    case Op::kMin:
      return std::min(*a, *b);
    case Op::kMax:
      return std::max(*a, *b);
    default:
      return std::nullopt;
  }
}

std::set<std::string> Sizes::names_in(const HostInt& value) const {
  std::set<std::string> found;
  if (value == nullptr) return found;
  if (value->op == Op::kName && final_.contains(key(*value))) found.insert(final_.at(key(*value)));
  for (const HostInt& part : value->operands) found.merge(names_in(part));
  return found;
}

void Sizes::exact_divisions(const HostInt& value, std::set<std::string>& constraints,
                            std::vector<std::pair<HostInt, HostInt>>& divisions) const {
  if (!is_symbolic(value)) return;
  for (const HostInt& part : value->operands) exact_divisions(part, constraints, divisions);
  if (value->op != Op::kDiv || value->operands[1]->value == 0) return;
  const HostInt& a = value->operands[0];
  const HostInt& b = value->operands[1];
  if (a->value % b->value != 0) return;
  const auto wrap = [&](const HostInt& part) {
    return part->op == Op::kName || !is_symbolic(part) ? text(part) : "(" + text(part) + ")";
  };
  if (constraints.insert(fmt::format("{} % {} == 0", wrap(a), wrap(b))).second)
    divisions.emplace_back(a, b);
}

}  // namespace hone::init
