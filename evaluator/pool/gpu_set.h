// The GPUs of one evaluator: one, or several of one model that share what waits to be measured. Of
// the requests, the first by Priority goes to the GPU that is free first. A GPU that fails is left
// out from then on, and what it was at goes to another one. Thread-safe.
//
// Clocks differ from GPU to GPU. So the reference is timed on each of them, and a quick time is
// given as the first GPU would take for it: times the reference's ratio. A final stage's times are
// its own GPU's; candidate and reference run there in turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/pool/gpu_client.h"
#include "evaluator/pool/gpu_line.h"

namespace hone {

/// What the GPUs say of a reference.
struct GpuAdmission {
  Result<protocol::MeasureReply> reply;
  /// GPUs, by index, on which it did not end well, though it did on another, and how it ended.
  std::vector<std::pair<std::size_t, std::string>> unlike = {};
};

class GpuSet {
 public:
  /// All at once. `some_will_do`: one that does not open is left out, and `options.warn` says so.
  /// Errors: kEnvironment, as of a GpuClient; kInvalidInput: they are not of one model.
  [[nodiscard]] static Result<std::unique_ptr<GpuSet>> open(const std::vector<int>& ordinals,
                                                            bool some_will_do,
                                                            const EvaluatorOptions& options);

  [[nodiscard]] const protocol::DeviceFacts& facts() const {
    return gpus_.front()->client->facts();
  }
  [[nodiscard]] std::size_t size() const { return gpus_.size(); }

  /// For each GPU that works: how many requests wait for it, or have it.
  [[nodiscard]] std::size_t waiting();

  /// An admission, on every GPU. Once `stopping` says so, it ends with an Error.
  [[nodiscard]] GpuAdmission admit(const protocol::MeasureRequest& request, double deadline_s,
                                   const std::stop_token& stopping = {});
  /// Of a reference that is one: leaves out the GPUs that say otherwise.
  void leave_out_unlike(const GpuAdmission& admission);

  struct Measured {
    protocol::MeasureReply reply;
    double alone_us = 0;    ///< what the reference took on this GPU by itself [us]; 0: not known
    double to_first = 1;    ///< times a time of the reply: on the first GPU
    bool given_up = false;  ///< it was no longer wanted; the reply says nothing
  };
  using Priority = GpuLine::Priority;
  /// Asked when a request has a GPU: is it still to be measured? Empty: it is.
  using StillWanted = std::function<bool()>;
  /// Waits for a GPU (GpuLine). Fills in what the reference takes on the GPU that measures.
  /// `request.best_time_us` and, of the quick stage, the reply's times are the first GPU's. As
  /// GpuClient::measure() otherwise. Errors: kInfrastructure, also when no GPU is left.
  [[nodiscard]] Result<Measured> measure(const protocol::MeasureRequest& request,
                                         const Priority& priority, double deadline_s,
                                         GateSeconds* gates, const StillWanted& wanted = {});

  /// Of one GPU that idles: has a runner started that has served nobody, for a final stage that
  /// will want one. Returns at once.
  void freshen_soon();

  /// The longest that the reference took on any GPU [us]; 0: not known.
  [[nodiscard]] double reference_us(const std::string& reference_key);

  [[nodiscard]] std::vector<GpuUse> uses();

  void cancel();
  void resume();

 private:
  struct Gpu {
    int ordinal = 0;
    std::unique_ptr<GpuClient> client;
    // Of what follows the set's mutex_.
    std::map<std::string, std::vector<double>> samples_us;  ///< of references, by key
    GpuUse use;
    int failures = 0;  ///< in a row; of whoever has taken the GPU
  };

  explicit GpuSet(const EvaluatorOptions& options) : options_(options) {}
  [[nodiscard]] Result<Measured> measure_alone(const protocol::MeasureRequest& request,
                                               const Priority& priority, double deadline_s,
                                               GateSeconds* gates, const StillWanted& wanted);
  /// Has a GPU, by index, until it is destroyed.
  class Turn;
  /// Waits for a GPU.
  [[nodiscard]] Result<Turn> take(const Priority& priority);
  /// The request as this GPU's runner is to have it. `message`: what is the same for all GPUs.
  [[nodiscard]] Result<protocol::Frame> message_for(const Gpu& gpu,
                                                    const protocol::MeasureRequest& request,
                                                    nlohmann::json& message);
  [[nodiscard]] Result<Measured> measure_on(Gpu& gpu, const protocol::MeasureRequest& request,
                                            const protocol::Frame& frame, double deadline_s,
                                            GateSeconds* gates);
  /// How the reference's admission ends on a GPU, if not well. "": well, or it was never admitted.
  [[nodiscard]] std::string mistake_of(Gpu& gpu, const std::string& reference_key,
                                       double deadline_s);
  void lose(std::size_t gpu, const std::string& why);
  [[nodiscard]] bool is_cancelled();
  // With mutex_ held:
  [[nodiscard]] std::size_t left() const;  ///< GPUs that work
  [[nodiscard]] std::string who_failed() const;
  /// Of a reference's time on this GPU: to the first one's.
  [[nodiscard]] double to_first(const Gpu& gpu, const std::string& reference_key) const;

  const EvaluatorOptions options_;
  std::vector<std::unique_ptr<Gpu>> gpus_;  ///< at least one

  std::mutex mutex_;  ///< of what follows
  std::condition_variable moved_;
  std::deque<std::size_t> free_;  ///< GPUs, by index; the one that idles longest first
  GpuLine line_;
  std::map<std::string, double> first_us_;  ///< by key: what a reference takes on the first GPU
  std::map<std::string, protocol::MeasureRequest> admissions_;  ///< by key
  bool cancelled_ = false;
  std::future<void> freshening_;
};

}  // namespace hone
