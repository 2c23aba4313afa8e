// A root file system made of the policy's paths alone.
#pragma once

#include "sandbox/jail/jail.h"

namespace hone::sandbox::jail {

/// In a new mount namespace: puts the policy's paths into an empty tmpfs, read-only but where the
/// policy says, with a /proc of this pid namespace, and makes it the root. On failure the layer is
/// noted as missing and the old root stays. Needs Linux 5.12 (mount_setattr).
void build_private_root(State& state);

}  // namespace hone::sandbox::jail
