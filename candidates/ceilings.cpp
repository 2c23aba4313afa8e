#include "candidates/ceilings.h"

#include "candidates/json_cursor.h"

namespace hone {
namespace {

struct Rate {
  const char* name;
  double Ceilings::* value;
};

constexpr Rate kRates[] = {{"dram_bytes_per_s", &Ceilings::dram_bytes_per_s},
                           {"dram_read_bytes_per_s", &Ceilings::dram_read_bytes_per_s},
                           {"l2_bytes_per_s", &Ceilings::l2_bytes_per_s},
                           {"fp64_flops_per_s", &Ceilings::fp64_flops_per_s},
                           {"fp32_flops_per_s", &Ceilings::fp32_flops_per_s},
                           {"tf32_flops_per_s", &Ceilings::tf32_flops_per_s},
                           {"f16_flops_per_s", &Ceilings::f16_flops_per_s},
                           {"s8_ops_per_s", &Ceilings::s8_ops_per_s}};

}  // namespace

void to_json(nlohmann::json& json, const Ceilings& ceilings) {
  json = nlohmann::json{{"l2_bytes", ceilings.l2_bytes},
                        {"uncertainty", ceilings.uncertainty},
                        {"source", ceilings.source},
                        {"measured_at", ceilings.measured_at}};
  for (const Rate& rate : kRates) json[rate.name] = ceilings.*rate.value;
}

Result<Ceilings> ceilings_from_json(const nlohmann::json& json) {
  return decode<Ceilings>(json, [](const JsonCursor& cursor) {
    Ceilings ceilings;
    if (!cursor.expect_keys({"dram_bytes_per_s", "dram_read_bytes_per_s", "l2_bytes_per_s",
                             "l2_bytes", "fp64_flops_per_s", "fp32_flops_per_s", "tf32_flops_per_s",
                             "f16_flops_per_s", "s8_ops_per_s", "uncertainty", "source",
                             "measured_at"})) {
      return ceilings;
    }
    for (const Rate& rate : kRates) {
      const JsonCursor at = cursor.at(rate.name);
      ceilings.*rate.value = at.number();
      if (ceilings.*rate.value < 0) at.fail("must be a rate of at least 0");
    }
    // Ceilings that were measured before it was recorded have none.
    if (const auto uncertainty = cursor.find("uncertainty"))
      ceilings.uncertainty = uncertainty->number_in(0, 1);
    ceilings.l2_bytes = cursor.at("l2_bytes").integer_in(0, std::int64_t{1} << 50);
    ceilings.source = cursor.at("source").string();
    ceilings.measured_at = cursor.at("measured_at").string();
    return ceilings;
  });
}

}  // namespace hone
