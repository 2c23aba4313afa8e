// What the benchmark groups share: running, medians, and putting numbers into the profile.
#pragma once

#include <string>

#include "evaluator/calibrate/calibrate.h"

namespace hone::calibrate {

using protocol::BenchRequest;

class Session {
 public:
  Session(const protocol::DeviceFacts& facts, const protocol::BenchDevice& device,
          const Bench& bench, const Progress& progress, Calibration& into)
      : facts(facts), device(device), bench_(bench), progress_(progress), into_(into) {}

  const protocol::DeviceFacts& facts;
  const protocol::BenchDevice& device;
  double clock_hz = 0;   ///< once measured
  double launch_us = 0;  ///< likewise: what a timing holds beside the kernel's work
  /// Of the bandwidths of DRAM: the fastest repeat's above the median's, of it; the largest so far.
  double dram_spread = 0;

  void group(const std::string& name) { progress_(name); }

  /// Events around the launches [us]: median of the repeats; NaN when it did not run.
  double time_us(BenchRequest request, int repeats = 7);
  /// Likewise each of the repeats, the fastest first; none when it did not run.
  std::vector<double> times_us(BenchRequest request, int repeats = 7);
  /// As time_us, without the launch itself, in cycles of the SM clock.
  double work_cycles(const BenchRequest& request, int repeats = 7);
  /// Result word 0: median of three runs; NaN when it did not run.
  double cycles(BenchRequest request);
  /// One run; the words.
  std::vector<double> words(BenchRequest request);

  /// Puts a number into the profile, or warns when it is not plausible or no number.
  void set(const char* field, double value, const std::string& how);
  /// Gives a field the number and source that it has in `base`.
  void take_back(const char* field, const emulator::ProfileFile& base);
  void extra(std::string name, double value, std::string unit);

  /// What ended the calibration, if anything did: all that comes after it is NaN.
  [[nodiscard]] const std::optional<Error>& failed() const { return failed_; }
  [[nodiscard]] double kept(const char* field) const;  ///< the profile's present number

 private:
  std::optional<protocol::BenchReply> run(const BenchRequest& request);

  const Bench& bench_;
  const Progress& progress_;
  Calibration& into_;
  std::optional<Error> failed_;
};

// The groups, in the order in which they run.
void measure_launches(Session& s);
void measure_clock(Session& s);  ///< a part of it
void measure_arithmetic(Session& s);
void measure_arithmetic_rates(Session& s);  ///< a part of it: those in Ceilings
void measure_latencies(Session& s);
void measure_bandwidths(Session& s);
void measure_gpu_bandwidths(Session& s);  ///< a part of it
void measure_atomics(Session& s);

}  // namespace hone::calibrate
