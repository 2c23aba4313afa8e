#include "evaluator/runner/known_answers.h"

#include <algorithm>
#include <random>

namespace hone::runner {
namespace {

std::uint64_t secret() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

std::vector<cuda::DeviceBuffer> outputs_of(const Side& side) {
  std::vector<cuda::DeviceBuffer> outputs;
  const auto& buffers = side.runnable->program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (is_output(buffers[i].role)) outputs.push_back(side.buffers[i]);
  return outputs;
}

Blamed hones_own(cuda::Failure failure) { return {std::move(failure), true}; }

}  // namespace

KnownAnswers::KnownAnswers(cuda::Gpu& gpu, std::uint64_t most_bytes)
    : gpu_(gpu), most_bytes_(most_bytes) {
  gpu_.when_memory_is_short([this] { forget(); });
}

void KnownAnswers::drop_oldest() {
  for (const cuda::DeviceBuffer& buffer : answers_.front().outputs) gpu_.release(buffer);
  bytes_ -= answers_.front().bytes;
  answers_.pop_front();
}

void KnownAnswers::forget() {
  while (!answers_.empty()) drop_oldest();
}

Step<void> KnownAnswers::keep(const Side& side, std::uint64_t seed) {
  const auto outputs = outputs_of(side);
  Answer answer{side.runnable->key, seed, {secret(), secret()}, {}, 0};
  for (const cuda::DeviceBuffer& output : outputs) answer.bytes += output.bytes;
  if (answer.bytes > most_bytes_) return {};
  while (bytes_ + answer.bytes > most_bytes_) drop_oldest();
  for (const cuda::DeviceBuffer& output : outputs) {
    auto masked = gpu_.acquire(output.bytes);
    if (!masked) {
      for (const cuda::DeviceBuffer& buffer : answer.outputs) gpu_.release(buffer);
      if (masked.error().out_of_memory) return {};
      return std::unexpected(hones_own(std::move(masked.error())));
    }
    answer.outputs.push_back(*masked);
    if (auto done = gpu_.mask(output, *masked, answer.key); !done)
      return std::unexpected(hones_own(std::move(done.error())));
  }
  bytes_ += answer.bytes;
  answers_.push_back(std::move(answer));
  return {};
}

Step<bool> KnownAnswers::recall(const Side& side, std::uint64_t seed) {
  const auto known = std::ranges::find_if(answers_, [&](const Answer& answer) {
    return answer.seed == seed && answer.program == side.runnable->key;
  });
  if (known == answers_.end()) return false;
  const auto outputs = outputs_of(side);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (auto done = gpu_.mask(known->outputs[i], outputs[i], known->key); !done)
      return std::unexpected(hones_own(std::move(done.error())));
  return true;
}

}  // namespace hone::runner
