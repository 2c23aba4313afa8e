// One thread that lives as long as the process and does the forking: the kernel delivers a child's
// parent-death signal when the *thread* that forked it ends, and callers' threads come and go.
#pragma once

#include <functional>

namespace hone::sandbox {

/// Runs `work` on the spawner thread and returns when it is done. Thread-safe.
void on_spawner_thread(const std::function<void()>& work);

}  // namespace hone::sandbox
