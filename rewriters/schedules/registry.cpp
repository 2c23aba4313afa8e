#include <memory>

#include "rewriters/schedules/attention/attention.h"
#include "rewriters/schedules/contract/contract.h"
#include "rewriters/schedules/generator.h"
#include "rewriters/schedules/histogram/histogram.h"
#include "rewriters/schedules/map/map.h"
#include "rewriters/schedules/reduce/reduce.h"
#include "rewriters/schedules/rowwise/rowwise.h"
#include "rewriters/schedules/scan/scan.h"
#include "rewriters/schedules/transpose/transpose.h"
#include "rewriters/schedules/window/window.h"

namespace hone::schedules {

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

}  // namespace hone::schedules
