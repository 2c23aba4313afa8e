#include "evaluator/runner/list_files.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "evaluator/compile/compile.h"
#include "evaluator/compile/locate.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/device/cuda/cublas.h"
#include "evaluator/device/cuda/driver.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/messages.h"

namespace hone::runner {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> shared_objects() {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const std::string name = info->dlpi_name;
        std::error_code code;
        if (name.starts_with("/") && fs::exists(name, code))
          static_cast<std::vector<std::string>*>(out)->push_back(name);
        return 0;
      },
      &files);
  return files;
}

void add_compiler(std::vector<std::string>& files) {
  const auto& nvrtc = compile::Nvrtc::get();
  if (!nvrtc) return;
  // NVRTC opens its built-ins at its first compile.
  (void)compile::compile_program({"__global__ void k() {}", {}, {"k"}, "sm_80", false});
  for (const auto& folder : compile::include_path()) files.push_back(folder);
}

/// Of every GPU that the driver counts; "" of one that it cannot say anything about.
std::vector<std::string> pci_addresses() {
  std::vector<std::string> out;
  const auto& driver = cuda::Driver::get();
  int count = 0;
  if (!driver || driver->device_get_count(&count) != CUDA_SUCCESS) return out;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    const bool known = driver->device_get(&device, i) == CUDA_SUCCESS;
    out.push_back(known ? driver->pci_address(device) : "");
  }
  return out;
}

}  // namespace

int list_files(std::string_view mode) {
  std::vector<std::string> files, gpus;
  if (mode == "compile") add_compiler(files);
  const bool on_gpu = mode == "measure" || mode == "library";
  if (on_gpu) {
    gpus = pci_addresses();
    (void)dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);  // stays open, to be listed
  }
  if (mode == "library") (void)cuda::Cublas::get();
  const auto objects = shared_objects();
  files.insert(files.end(), objects.begin(), objects.end());
  // Built-ins that were closed again after the compile.
  for (const auto& object : objects) {
    const fs::path path(object);
    if (!path.filename().string().starts_with("libnvrtc.so")) continue;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(path.parent_path(), code)) {
      if (entry.path().filename().string().starts_with("libnvrtc-builtins.so"))
        files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  return protocol::Channel(protocol::kChildChannel).send({{"files", files}, {"gpus", gpus}}) ? 0
                                                                                             : 1;
}

}  // namespace hone::runner
