// The device's measured ceilings, from the database or measured for it.
#pragma once

#include <functional>
#include <string>

#include "candidates/store/store.h"
#include "evaluator/evaluator.h"

namespace hone {

/// Gives the evaluator of a GPU the ceilings that the database has for it under this driver;
/// measures and stores them where it has none, after `on_measure`. `store` may be null and then,
/// as on an emulated device, nothing happens. Returns a warning, or "".
[[nodiscard]] std::string take_ceilings(Evaluator& evaluator, const DeviceSpec& device,
                                        Store* store, const std::function<void()>& on_measure = {});

}  // namespace hone
