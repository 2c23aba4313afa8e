#include "engine/results/roofline.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "evaluator/calibrate/calibrate.h"
#include "evaluator/evaluator.h"

namespace hone::results {

std::optional<Roofline> roofline_of(const Task& task, const Ceilings& ceilings,
                                    const Measurement& measurement) {
  if (!task.flops) return std::nullopt;
  const auto flops = task.flops->eval(task.sizes);
  const auto reference = instantiate(task.reference, task.sizes);
  if (!flops || !reference) return std::nullopt;
  Roofline line;
  line.flops = static_cast<double>(*flops);
  line.bytes_per_s = ceilings.dram_bytes_per_s;
  // Without a bandwidth the roof is the arithmetic's.
  DeviceInfo device;
  device.ceilings = ceilings;
  device.ceilings.dram_bytes_per_s = 0;
  const Roof roof = roof_of(*reference, line.flops, task.math, device);
  line.bytes = roof.bytes;
  const double roof_us = measurement.roof_fraction * measurement.time_us;
  if (roof_us > 0) line.bytes = std::min(line.bytes, roof_us * 1e-6 * line.bytes_per_s);
  if (roof.time_us > 0) line.flops_per_s = line.flops / (roof.time_us * 1e-6);
  if (line.bytes <= 0 || line.bytes_per_s <= 0 || line.flops_per_s <= 0) return std::nullopt;
  return line;
}

RooflinePosition position_on(const Roofline& line, double time_us) {
  RooflinePosition at;
  at.intensity = line.flops / line.bytes;
  const double by_bandwidth = at.intensity * line.bytes_per_s;
  at.memory_bound = by_bandwidth < line.flops_per_s;
  at.roof_flops_per_s = std::min(by_bandwidth, line.flops_per_s);
  if (time_us <= 0) return at;
  at.flops_per_s = line.flops / (time_us * 1e-6);
  at.fraction = at.flops_per_s / at.roof_flops_per_s;
  return at;
}

nlohmann::json roofline_json(const Roofline& line, double time_us, bool modelled) {
  const RooflinePosition at = position_on(line, time_us);
  return {{"modelled", modelled},
          {"flops", line.flops},
          {"bytes", line.bytes},
          {"peak_bytes_per_s", line.bytes_per_s},
          {"peak_flops_per_s", line.flops_per_s},
          {"intensity", at.intensity},
          {"roof_flops_per_s", at.roof_flops_per_s},
          {"bound_by", at.memory_bound ? "memory" : "arithmetic"},
          {"flops_per_s", at.flops_per_s},
          {"fraction", at.fraction}};
}

Ceilings ceilings_of(const Store& store, const Provenance& provenance) {
  if (!provenance.modelled)
    return store.ceilings(provenance.device_name, provenance.driver)
        .value_or(std::nullopt)
        .value_or(Ceilings{});
  constexpr std::string_view kEmulated = "emu:";
  if (!provenance.device.starts_with(kEmulated)) return {};
  const auto* profile = emulator::find_profile(provenance.device.substr(kEmulated.size()));
  return profile == nullptr ? Ceilings{} : calibrate::ceilings_of(*profile, "profile");
}

std::string roof_note(double fraction) {
  constexpr double kUncertain = 0.10;
  if (fraction <= 1) return "";
  if (fraction <= 1 + kUncertain)
    return "a roof above 100 % is within the uncertainty of the device's ceilings; what is further "
           "above is refused as tampering";
  return fmt::format(
      "ALARM: {:.1f} % of the roof is more than the ceilings' uncertainty explains; run `hone "
      "verify` on it, or measure the ceilings again",
      100 * fraction);
}

}  // namespace hone::results
