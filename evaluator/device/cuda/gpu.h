// One GPU in a measure runner: its context, memory and the evaluator's own kernels.
// Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "candidates/program.h"
#include "candidates/task.h"
#include "evaluator/check/compare.h"
#include "evaluator/check/finite.h"
#include "evaluator/check/local.h"
#include "evaluator/device/cuda/failure.h"
#include "evaluator/fill/fill.h"
#include "evaluator/protocol/measure_messages.h"

namespace hone::cuda {

inline constexpr std::uint64_t kGuardBytes = 4096;  // before and after every buffer [B]

/// A buffer of a program between two guard zones.
struct DeviceBuffer {
  CUdeviceptr slab = 0;
  std::uint64_t slab_bytes = 0;
  std::uint64_t bytes = 0;
  CUdeviceptr data() const { return slab + kGuardBytes; }
};

/// Null: none.
struct TypedBuffer {
  const DeviceBuffer* buffer = nullptr;
  ScalarType type = ScalarType::kF32;
};

/// What was found in buffers, in the order in which they were given.
struct Inspection {
  /// Offset of a damaged guard byte relative to the data (negative: before it), or INT64_MIN.
  std::vector<std::int64_t> damage;
  std::vector<std::uint64_t> hashes;  ///< of the contents
};

class Gpu {
 public:
  /// Errors: kEnvironment.
  [[nodiscard]] static Result<std::unique_ptr<Gpu>> open(int ordinal);

  /// Loads the helper kernels.
  [[nodiscard]] Outcome<void> setup(const std::string& cubin);
  /// Fills in facts().dram_bytes_per_s; after setup().
  [[nodiscard]] Outcome<void> measure_bandwidth();

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] const protocol::DeviceFacts& facts() const { return facts_; }
  [[nodiscard]] std::string pci_address() const { return driver_.pci_address(device_); }
  [[nodiscard]] CUstream stream() const { return stream_; }
  /// 0 where this driver or device has none.
  [[nodiscard]] int attribute(CUdevice_attribute what) const;

  // Memory. Slabs are kept and given out again, so that a search does not allocate per candidate.
  [[nodiscard]] Outcome<DeviceBuffer> acquire(std::uint64_t bytes);
  void release(const DeviceBuffer& buffer);
  /// Called before memory that cannot be had is refused; releases what it can do without.
  void when_memory_is_short(std::function<void()> release) { make_room_ = std::move(release); }

  // All of these are queued on the stream.
  [[nodiscard]] Outcome<void> set_bytes(CUdeviceptr at, std::uint8_t value, std::uint64_t bytes);
  [[nodiscard]] Outcome<void> set_guards(const DeviceBuffer& buffer);
  [[nodiscard]] Outcome<void> fill(const DeviceBuffer& buffer, const ConcreteBuffer& what,
                                   std::uint64_t seed);
  [[nodiscard]] Outcome<void> flush_l2();
  /// `from` combined with a stream of numbers that `key` gives, into `to`, which is as large. The
  /// same again with the same key gives `from` back.
  [[nodiscard]] Outcome<void> mask(const DeviceBuffer& from, const DeviceBuffer& to,
                                   const std::array<std::uint64_t, 2>& key);

  // These wait for the stream. Only to be used when nothing of a candidate is in flight.
  [[nodiscard]] Outcome<Inspection> inspect(const std::vector<DeviceBuffer>& guarded,
                                            const std::vector<DeviceBuffer>& hashed,
                                            std::uint64_t hash_key);
  /// First byte that holds `poison_a` in a and `poison_b` in b, or -1.
  [[nodiscard]] Outcome<std::int64_t> first_unwritten(const DeviceBuffer& a, std::uint8_t poison_a,
                                                      const DeviceBuffer& b, std::uint8_t poison_b);
  /// As check::compare; `what` describes `got`.
  [[nodiscard]] Outcome<check::Comparison> compare(const DeviceBuffer& want, ScalarType want_type,
                                                   const DeviceBuffer& got,
                                                   const ConcreteBuffer& what,
                                                   const Tolerance& tolerance);

  /// As check::compare_locally.
  [[nodiscard]] Outcome<check::LocalComparison> compare_locally(
      const TypedBuffer& want, const TypedBuffer& got, std::int64_t width, double rms,
      const Tolerance& tolerance, const TypedBuffer& own = {}, const TypedBuffer& truth = {});

  /// As check::non_finite_of.
  [[nodiscard]] Outcome<check::NonFiniteElements> non_finite(const DeviceBuffer& buffer,
                                                             ScalarType type);

  /// The first bytes of a buffer.
  [[nodiscard]] Outcome<std::vector<std::uint8_t>> read(const DeviceBuffer& buffer,
                                                        std::uint64_t bytes);

  /// Waits for the stream at most `limit_s`; kTimeout (context lost) after that.
  [[nodiscard]] Outcome<void> wait(double limit_s);
  /// After a time-out or a lost context: any call that synchronises (cuModuleUnload, cuMemFree)
  /// would block for as long as the kernel runs. This process can only report and end.
  [[nodiscard]] bool lost() const { return lost_; }
  /// Events that bracket a timed run; elapsed_us after wait().
  [[nodiscard]] Outcome<void> mark_begin();
  [[nodiscard]] Outcome<void> mark_end();
  [[nodiscard]] Outcome<double> elapsed_us();

 private:
  explicit Gpu(const Driver& driver) : driver_(driver) {}
  [[nodiscard]] Outcome<void> launch_helper(const char* name, std::uint64_t items,
                                            std::vector<void*> arguments);
  [[nodiscard]] Outcome<void> download(void* out, CUdeviceptr from, std::uint64_t bytes);
  [[nodiscard]] Outcome<CUdeviceptr> allocate(std::uint64_t bytes);

  const Driver& driver_;
  CUdevice device_ = 0;
  protocol::DeviceFacts facts_;
  bool lost_ = false;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  CUmodule helpers_ = nullptr;
  std::map<std::string, CUfunction> kernels_;
  CUdeviceptr scratch_ = 0;        ///< results and partial sums of helper kernels
  CUdeviceptr flush_ = 0;          ///< twice the L2
  std::uint64_t flush_bytes_ = 0;  // [B]
  std::multimap<std::uint64_t, CUdeviceptr> free_slabs_;
  std::function<void()> make_room_;
};

}  // namespace hone::cuda
