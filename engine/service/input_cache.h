// A worker's copies of inputs that tasks read from files (engine/queue/inputs.h), on disk, and the
// evaluator that puts them in place of what a request names by hash. Thread-safe; several workers
// of a user may share a folder.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/queue/inputs.h"
#include "engine/queue/log_event.h"
#include "evaluator/evaluator.h"

namespace hone {

/// All that one server may have, and what went before. [B]
inline constexpr std::int64_t kMostInputCache = 2 * queue::kMostInputs;

struct InputCacheOptions {
  std::filesystem::path folder;  ///< is there; the evaluator's children may read it. Empty: none
  std::int64_t most_bytes = kMostInputCache;
  std::function<void(std::int64_t bytes)> on_fetched = {};  ///< from any thread; may be null
};

class InputCache {
 public:
  /// A file that is there as long as this lives.
  class Use {
   public:
    Use(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

   private:
    std::filesystem::path path_;
    int file_;  ///< with a shared lock, so that nobody removes it
  };

  /// `broker` must outlive it. `log` gets a line for each input that is fetched.
  InputCache(queue::Broker& broker, InputCacheOptions options, Log log)
      : inputs_(broker), options_(std::move(options)), log_(std::move(log)) {}

  /// The bytes have this hash: compared when they are fetched, and when this process first meets a
  /// file that was there. Errors: those of Inputs; kEnvironment, it does not fit.
  [[nodiscard]] Result<std::shared_ptr<const Use>> use(const std::string& sha256);

  /// $XDG_CACHE_HOME/hone/inputs, or ~/.cache/hone/inputs; empty: neither is set.
  [[nodiscard]] static std::filesystem::path default_folder();
  /// For this user and the evaluator's children alone, unless it was there. False: it cannot be.
  [[nodiscard]] static bool make_folder(const std::filesystem::path& folder);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::shared_ptr<const Use> open(const std::string& sha256);
  [[nodiscard]] Result<void> fetch(const std::string& sha256);
  /// And reserves it.
  [[nodiscard]] Result<void> make_room(std::int64_t bytes);

  queue::Inputs inputs_;
  const InputCacheOptions options_;
  const Log log_;
  std::mutex mutex_;  ///< of the next four
  std::condition_variable changed_;
  std::set<std::string> at_work_;  ///< hashes that a thread opens or fetches
  std::set<std::string> good_;     ///< hashes of files that this process has compared
  std::map<std::string, std::weak_ptr<const Use>> in_use_;
  /// Inputs that were damaged on the server, and until when nobody asks for them again.
  std::map<std::string, std::pair<Error, Clock::time_point>> damaged_;
  std::mutex room_;            ///< one makes room at a time
  std::int64_t reserved_ = 0;  ///< of `room_`: bytes of what is being fetched
};

/// An evaluator of requests that name inputs by hash.
class LocalInputs final : public Evaluator {
 public:
  /// Both must outlive it.
  LocalInputs(Evaluator& evaluator, InputCache& cache) : evaluator_(evaluator), cache_(cache) {}

  [[nodiscard]] const DeviceInfo& info() const override { return evaluator_.info(); }
  [[nodiscard]] Result<Evaluation> admit(const EvaluationRequest& request) override;
  [[nodiscard]] Result<Evaluation> evaluate(const EvaluationRequest& request) override;
  [[nodiscard]] Result<Ceilings> measure_ceilings() override {
    return evaluator_.measure_ceilings();
  }
  void use_ceilings(const Ceilings& ceilings) override { evaluator_.use_ceilings(ceilings); }
  [[nodiscard]] std::vector<GpuUse> gpus() override { return evaluator_.gpus(); }
  void cancel() override { evaluator_.cancel(); }
  void resume() override { evaluator_.resume(); }

 private:
  Evaluator& evaluator_;
  InputCache& cache_;
};

}  // namespace hone
