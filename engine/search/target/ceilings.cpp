#include "engine/search/target/ceilings.h"

namespace hone {

std::string take_ceilings(Evaluator& evaluator, const DeviceSpec& device, Store* store,
                          const std::function<void()>& on_measure) {
  if (device.modelled() || store == nullptr) return "";
  const DeviceInfo& info = evaluator.info();
  const auto known = store->ceilings(info.name, info.driver);
  if (known && *known) {
    evaluator.use_ceilings(**known);
    return "";
  }
  if (on_measure) on_measure();
  const auto measured = evaluator.measure_ceilings();
  if (!measured) {
    return "the device's ceilings were not measured, so the roof is the driver's word: " +
           measured.error().message;
  }
  evaluator.use_ceilings(*measured);
  const auto kept = store->put_ceilings(info.name, info.driver, *measured);
  return kept ? "" : "the device's ceilings are not kept: " + kept.error().message;
}

}  // namespace hone
