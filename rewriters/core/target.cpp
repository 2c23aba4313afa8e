#include "rewriters/core/rewriter.h"

namespace hone {

// CUDA C++ Programming Guide, "Technical specifications per compute capability".
TargetLimits target_limits(std::string_view arch) {
  TargetLimits limits;
  limits.shared_per_block_optin = 99 * 1024;  // what every target since sm_75 comes near
  limits.shared_per_sm = 100 * 1024;
  limits.sm_count = 108;
  limits.compute_capability = 75;
  if (arch == "sm_75") {
    limits.shared_per_block_optin = 64 * 1024;
    limits.shared_per_sm = 64 * 1024;
    limits.sm_count = 40;
  } else if (arch == "sm_80" || arch == "sm_87") {
    limits.compute_capability = arch == "sm_80" ? 80 : 87;
    limits.shared_per_block_optin = 163 * 1024;
    limits.shared_per_sm = 164 * 1024;
  } else if (arch == "sm_86" || arch == "sm_89") {
    limits.compute_capability = arch == "sm_86" ? 86 : 89;
    limits.sm_count = arch == "sm_86" ? 84 : 142;
  } else if (arch.starts_with("sm_90")) {
    limits.compute_capability = 90;
    limits.shared_per_block_optin = 227 * 1024;
    limits.shared_per_sm = 228 * 1024;
    limits.sm_count = 132;
  } else if (arch.starts_with("sm_100") || arch.starts_with("sm_103")) {
    limits.compute_capability = 100;
    limits.shared_per_block_optin = 227 * 1024;
    limits.shared_per_sm = 228 * 1024;
    limits.sm_count = 148;
  } else if (arch.starts_with("sm_120")) {
    limits.compute_capability = 120;
    limits.sm_count = 170;
  }
  return limits;
}

}  // namespace hone
