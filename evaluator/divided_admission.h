// An admission's emulated checks, divided among the emulator runners. What comes of it is what one
// runner would say of all, one after another: the first failure in the order of the checks is the
// verdict.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "evaluator/evaluator_impl.h"

namespace hone {

class EvaluatorImpl::DividedAdmission {
 public:
  /// `request`: checks without candidates, the task's own inputs first. `expected`: by check; see
  /// CheckCase. Both outlive it.
  DividedAdmission(EvaluatorImpl& evaluator, const protocol::EmulateRequest& request,
                   const std::vector<CheckCase::Expected>& expected);

  /// Every check size in grid order. Where one fails that is the answer, unless another order of
  /// the blocks of one before it fails, too.
  [[nodiscard]] Result<protocol::EmulateReply> run_sizes();
  /// Where all sizes were ok: other orders, inputs that count, inputs that are made up, and what
  /// was expected. The answer to all.
  [[nodiscard]] Result<protocol::EmulateReply> run_rest();

 private:
  using Part = protocol::Part;
  using Reply = Result<protocol::EmulateReply>;

  [[nodiscard]] Reply ask(std::size_t check, Part part, CheckCase::Buffers expected = {}) const;
  [[nodiscard]] Reply ask_order(int order) const;
  /// See Part::own_work.
  [[nodiscard]] std::uint64_t own_work(std::size_t check) const;
  /// Of the check that is run in other orders.
  [[nodiscard]] std::vector<std::string> inputs_read_whole() const;
  /// The first that fails, or ok.
  [[nodiscard]] Reply run_orders() const;

  EvaluatorImpl& e_;
  const protocol::EmulateRequest& request_;
  const std::vector<CheckCase::Expected>& expected_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::size_t own_ = 0;                        ///< checks on the task's own inputs
  std::size_t reordered_ = 0;                  ///< the check that is run in other orders
  std::vector<protocol::EmulateReply> sizes_;  ///< of run_sizes(), by check
};

}  // namespace hone
