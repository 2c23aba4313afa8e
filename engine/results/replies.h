// What a language model was asked in a run, in numbers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "candidates/store/store.h"

namespace hone::results {

/// Questions that were sent, by what became of them; each counts once.
struct ModelUse {
  bool used = false;
  std::int64_t asked = 0;
  std::int64_t no_reply = 0, refused = 0, untried = 0, failed = 0, passed = 0, best = 0;
  /// Why replies were refused, and how often; the most frequent first, a few.
  std::vector<std::pair<std::string, std::int64_t>> refusals;
  std::int64_t input_tokens = 0, output_tokens = 0, nano_dollars = 0;

  [[nodiscard]] std::int64_t replies() const { return asked - no_reply; }
  /// Programs and steps that could be read.
  [[nodiscard]] std::int64_t accepted() const { return untried + failed + passed + best; }
  /// Of another run; its refusals are left out.
  void add_counts(const ModelUse& other);
  bool operator==(const ModelUse&) const = default;
};

[[nodiscard]] ModelUse model_use(const std::vector<RunReply>& replies);

/// "9 questions, 8 replies: 2 refused, 1 untried, 2 failed, 3 passed (1 the best so far); …"
[[nodiscard]] std::string model_use_text(const ModelUse& use);
/// Reply by reply, with what the model said: for a terminal.
[[nodiscard]] std::string replies_text(const std::vector<RunReply>& replies);
/// Of a reply that was refused or did not come: why, in one line fit for a terminal. Else empty.
[[nodiscard]] std::string refusal_of(const ReplyRecord& reply);

}  // namespace hone::results
