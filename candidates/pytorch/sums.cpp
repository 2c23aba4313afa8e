#include "candidates/pytorch/sums.h"

#include <fmt/format.h>

namespace hone::pytorch {

Sum::Sum(Kernel& kernel, ScalarType type, std::int64_t terms, std::int64_t is_long_from)
    : kernel_(kernel), computed_(computed_in(type)), element_(type) {
  long_ = computed_ == "float" && terms >= is_long_from;
  type_ = long_ ? "double" : computed_ == "bool" ? "int" : computed_;
  if (long_) element_ = ScalarType::kF64;
  if (!long_ && is_float(type) && type != ScalarType::kF64) element_ = ScalarType::kF32;
}

void Sum::begin(std::string_view name) const {
  const std::string zero = type_ == "float" ? "0.0f" : type_ == "double" ? "0.0" : "0";
  kernel_.line(fmt::format("{} {} = {};", type_, name, zero));
}

std::string Sum::add(std::string_view name, const std::string& a, const std::string& b) const {
  if (!long_)
    return b.empty() ? fmt::format("{} += {};", name, a)
                     : fmt::format("{} += {} * {};", name, a, b);
  return b.empty() ? fmt::format("{} += (double)({});", name, a)
                   : fmt::format("{} += (double){} * (double){};", name, a, b);
}

std::string Sum::value(std::string_view name) const {
  return long_ ? fmt::format("({}){}", computed_, name) : std::string(name);
}

}  // namespace hone::pytorch
