#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/jail/jail.h"

namespace hone::sandbox::jail {

void set_limits(State& state) {
  const Policy& p = state.policy;
  bool ok = true;
  const auto set = [&](int what, std::uint64_t value) {
    rlimit limit{value, value};
    rlimit now{};
    // A limit that is lower already stays.
    if (getrlimit(static_cast<__rlimit_resource_t>(what), &now) == 0 && now.rlim_max < value)
      limit = {now.rlim_max, now.rlim_max};
    ok = setrlimit(static_cast<__rlimit_resource_t>(what), &limit) == 0 && ok;
  };
  set(RLIMIT_CORE, 0);
  set(RLIMIT_NOFILE, p.open_files);
  set(RLIMIT_FSIZE, p.file_size);
  if (p.address_space != 0) set(RLIMIT_AS, p.address_space);
  if (p.cpu_s != 0) set(RLIMIT_CPU, p.cpu_s);
  // Counted by user within the user namespace: outside of one, others' processes would count too.
  if (state.in_user_namespace)
    set(RLIMIT_NPROC, p.processes > 1 ? static_cast<std::uint64_t>(p.processes) : 1024);
  if (ok) {
    state.active(Layer::kLimits);
  } else {
    state.missing(Layer::kLimits, why("setrlimit"));
  }
}

void drop_privileges(State& state) {
  for (int c = 0; c <= 63; ++c) {
    if (prctl(PR_CAPBSET_READ, c) == 1) (void)prctl(PR_CAPBSET_DROP, c);
  }
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
    state.active(Layer::kNoNewPrivileges);
  } else {
    state.missing(Layer::kNoNewPrivileges, why("prctl"));
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) == 0) {
    state.active(Layer::kCapabilities);
  } else {
    state.missing(Layer::kCapabilities, why("capset"));
  }
}

}  // namespace hone::sandbox::jail
