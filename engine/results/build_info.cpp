#include "engine/results/build_info.h"

#include <fmt/format.h>

namespace hone {
namespace {

BuildInfo& changeable_build_info() {
  static BuildInfo info{.version = HONE_VERSION,
#ifdef __clang__
                        .compiler = fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__,
                                                __clang_patchlevel__),
#else
                        .compiler = fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__,
                                                __GNUC_PATCHLEVEL__),
#endif
                        .build_type = HONE_BUILD_TYPE};
  return info;
}

}  // namespace

const BuildInfo& build_info() { return changeable_build_info(); }

void set_build_commit(const std::string& commit) { changeable_build_info().commit = commit; }

}  // namespace hone
