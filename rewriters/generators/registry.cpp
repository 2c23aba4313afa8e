#include <memory>

#include "rewriters/generators/contract/contract.h"
#include "rewriters/generators/generator.h"

namespace hone::generators {

const ConcreteBuffer* Goal::buffer(std::string_view name) const {
  for (const ConcreteBuffer& candidate : concrete->buffers) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

const std::vector<const Generator*>& generators() {
  static const auto* const list = [] {
    std::vector<std::unique_ptr<Generator>> owned;
    owned.push_back(make_contract());
    auto* pointers = new std::vector<const Generator*>;  // lives as long as the process
    for (auto& generator : owned) pointers->push_back(generator.release());
    return pointers;
  }();
  return *list;
}

}  // namespace hone::generators
