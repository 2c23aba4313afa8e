// Which files a runner of a mode uses, so that its sandbox can hold those and no others.
#pragma once

#include <string_view>

namespace hone::runner {

/// Loads what the mode loads and sends {"files": […], "gpus": […]} over the channel, once: its own
/// shared objects, NVRTC and the CUDA headers, the driver, or it and cuBLAS; and the PCI addresses
/// of the GPUs
/// ("0000:03:00.0") by ordinal. Returns the process's exit status.
int list_files(std::string_view mode);

}  // namespace hone::runner
