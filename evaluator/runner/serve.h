// The loop of a runner: hello, then one reply per request until the channel closes.
#pragma once

namespace hone::runner {

/// Descriptor 3 is the channel. Returns the process' exit status.
[[nodiscard]] int serve_compile();
[[nodiscard]] int serve_emulate();
/// `mode`: "measure", or "library" where cuBLAS is in sight.
[[nodiscard]] int serve_measure(const char* mode);

}  // namespace hone::runner
