#include "sandbox/spawner.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace hone::sandbox {
namespace {

struct Job {
  const std::function<void()>* work;
  bool done = false;
};

class Spawner {
 public:
  Spawner() {
    std::thread([this] { loop(); }).detach();
  }

  void run(const std::function<void()>& work) {
    Job job{&work};
    std::unique_lock lock(mutex_);
    jobs_.push_back(&job);
    changed_.notify_all();
    changed_.wait(lock, [&] { return job.done; });
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      Job* job = jobs_.front();
      jobs_.pop_front();
      lock.unlock();
      (*job->work)();
      lock.lock();
      job->done = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job*> jobs_;
};

}  // namespace

void on_spawner_thread(const std::function<void()>& work) {
  // Never destroyed: its thread must not outlive its state when the process exits.
  static Spawner* spawner = new Spawner;
  spawner->run(work);
}

}  // namespace hone::sandbox
