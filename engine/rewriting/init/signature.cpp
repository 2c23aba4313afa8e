#include "engine/rewriting/init/signature.h"

#include <algorithm>
#include <set>

namespace hone::init {

using syntax::Expr;
using syntax::Polynomial;
using syntax::Variable;

namespace {

/// {"B", "T"} of the polynomial B*T of integer parameters.
Product product_of(const syntax::Function& function, const Expr& expr) {
  const auto polynomial = syntax::polynomial(expr);
  if (!polynomial || polynomial->terms.size() != 1) return {};
  const auto& [symbols, coefficient] = *polynomial->terms.begin();
  if (coefficient != 1) return {};
  Product product;
  for (const std::string& symbol : symbols) {
    const std::string name = symbol.substr(0, symbol.find('#'));
    const bool parameter = std::ranges::any_of(function.parameters, [&](const Variable* p) {
      return p->name == name && p->type.is_integer();
    });
    if (!parameter) return {};
    product.push_back(name);
  }
  // In the order of the signature, which is how people write extents.
  std::ranges::sort(product, {}, [&](const std::string& name) {
    return std::ranges::find(function.parameters, name, &Variable::name) -
           function.parameters.begin();
  });
  return product;
}

}  // namespace

Signature::Signature(const syntax::KernelInfo& info) : info_(info) {
  for (const Expr* expr : info.function->all_expressions) {
    if (expr->kind != Expr::Kind::kBinary || expr->operands.size() != 2) continue;
    const bool less = expr->text == "<" || expr->text == ">=";
    const bool more = expr->text == ">" || expr->text == "<=";
    if (!less && !more) continue;
    const Expr& index_side = *expr->operands[less ? 0 : 1];
    const Product bound = product_of(*info.function, *expr->operands[less ? 1 : 0]);
    const auto index = syntax::polynomial(index_side);
    if (bound.empty() || !index) continue;
    for (const std::string& symbol : index->symbols()) {
      if (symbol.starts_with("blockDim") || symbol.starts_with("gridDim")) continue;
      bounds_.emplace(symbol, bound);
    }
    if (bound.size() > largest_.size()) largest_ = bound;
  }
}

std::optional<Product> Signature::shape_of(const Polynomial& index) const {
  std::map<std::string, std::multiset<std::string>> strides;  // symbol -> what it is multiplied by
  for (const auto& [monomial, coefficient] : index.terms) {
    std::multiset<std::string> factors;
    std::string mover;
    bool block = false;
    for (const std::string& symbol : monomial) {
      if (symbol.starts_with("blockIdx")) {
        block = true;  // same dimension as the threadIdx term beside it
      } else if (symbol.starts_with("threadIdx") || bounds_.contains(symbol)) {
        mover = symbol;
      } else if (!symbol.starts_with("blockDim")) {
        factors.insert(symbol.substr(0, symbol.find('#')));
      }
    }
    if (block) continue;
    if (mover.empty() || coefficient != 1) return std::nullopt;
    strides[mover] = factors;
  }
  std::vector<std::pair<std::string, std::multiset<std::string>>> order(strides.begin(),
                                                                        strides.end());
  std::ranges::sort(order, {}, [](const auto& entry) { return entry.second.size(); });
  Product shape;
  std::multiset<std::string> inner;
  for (const auto& [symbol, factors] : order) {
    const auto extent = bounds_.find(symbol);
    if (extent == bounds_.end() || factors != inner) return std::nullopt;
    shape.insert(shape.begin(), extent->second.begin(), extent->second.end());
    inner.insert(extent->second.begin(), extent->second.end());
  }
  if (shape.empty()) return std::nullopt;
  return shape;
}

Product Signature::length_of(const Variable& parameter) const {
  for (const syntax::Access& access : info_.accesses) {
    if (access.base != &parameter || !access.index) continue;
    if (auto shape = shape_of(*access.index)) return *shape;
  }
  // As many as the axes bound together.
  Product all;
  for (const int axis : {2, 1, 0}) {
    const Product one = extent(axis);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all.size() > largest_.size() ? all : largest_;
}

Product Signature::extent(int axis) const {
  constexpr const char* kAxes[] = {"x", "y", "z"};
  for (const char* prefix : {"threadIdx.", "blockIdx."}) {
    const auto found = bounds_.find(std::string(prefix) + kAxes[axis]);
    if (found != bounds_.end()) return found->second;
  }
  return {};
}

int Signature::axes() const {
  int axes = 1;
  for (const Expr* expr : info_.function->all_expressions) {
    if (expr->kind != Expr::Kind::kBuiltin) continue;
    if (expr->text.ends_with(".y")) axes = std::max(axes, 2);
    if (expr->text.ends_with(".z")) axes = 3;
  }
  return axes;
}

std::array<int, 3> Signature::block() const {
  const int axes = this->axes();
  std::array<int, 3> block = axes == 1 ? std::array{256, 1, 1} : std::array{16, 16, 1};
  for (const Variable* local : info_.function->locals) {
    if (local->storage != Variable::Storage::kShared) continue;
    const syntax::Type& outer = local->type;
    if (outer.extent <= 0 || outer.extent > 1024 || outer.element == nullptr) continue;
    const syntax::Type& inner = *outer.element;
    if (axes >= 2 && inner.extent > 0 && outer.extent * inner.extent <= 1056) {
      // tile[16][17]: the 17 keeps banks apart.
      const auto side = std::min(outer.extent, inner.extent);
      block = {static_cast<int>(inner.extent == outer.extent + 1 ? side : inner.extent),
               static_cast<int>(outer.extent), 1};
      break;
    }
    if (axes == 1 && inner.extent <= 0 && outer.extent >= 32) {
      block = {static_cast<int>(outer.extent), 1, 1};
      break;
    }
  }
  const int most = info_.function->max_threads;
  if (most > 0 && axes == 1) block[0] = std::min(block[0], most);
  return block;
}

}  // namespace hone::init
