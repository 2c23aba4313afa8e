// The GPU's clocks through NVML, where it is there: to notice samples taken while they were down.
#pragma once

#include <memory>
#include <string>

namespace hone::cuda {

class Clocks {
 public:
  /// `pci`: "0000:03:00.0". Null where NVML is missing or does not know the GPU.
  [[nodiscard]] static std::unique_ptr<Clocks> open(const std::string& pci);
  ~Clocks();
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  struct Reading {
    double sm_mhz = 0;
    bool slowed = false;  ///< by heat, power brake or hardware: not by its own power limit
  };
  /// Takes some microseconds. `sm_mhz` 0: not known.
  [[nodiscard]] Reading read() const;

 private:
  Clocks() = default;
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace hone::cuda
