#include <memory>

#include "rewriters/generators/attention/attention.h"
#include "rewriters/generators/contract/contract.h"
#include "rewriters/generators/generator.h"
#include "rewriters/generators/histogram/histogram.h"
#include "rewriters/generators/map/map.h"
#include "rewriters/generators/reduce/reduce.h"
#include "rewriters/generators/rowwise/rowwise.h"
#include "rewriters/generators/scan/scan.h"
#include "rewriters/generators/transpose/transpose.h"
#include "rewriters/generators/window/window.h"

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
    owned.push_back(make_attention());
    owned.push_back(make_contract());
    owned.push_back(make_rowwise());
    owned.push_back(make_reduce());
    owned.push_back(make_scan());
    owned.push_back(make_window());
    owned.push_back(make_histogram());
    owned.push_back(make_transpose());
    owned.push_back(make_map());
    auto* pointers = new std::vector<const Generator*>;  // lives as long as the process
    for (auto& generator : owned) pointers->push_back(generator.release());
    return pointers;
  }();
  return *list;
}

}  // namespace hone::generators
