// An admission's emulated checks, divided among the emulator runners. What comes of it is what one
// runner would say of all, one after another: the first failure in the order of the checks is the
// verdict, and all that decides has the time that one runner would have. Sizes and orders decide;
// the other parts only say more of a reference that is one.
#pragma once

#include <future>
#include <mutex>
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
  struct Answer {
    Reply reply;
    double worked_s = 0;  ///< what a runner was at it
  };
  using Answers = std::vector<std::future<Answer>>;

  /// What may a part take that is begun now?
  [[nodiscard]] double left_s(Part::Does does);
  /// Of a part that decides nothing the answer is ok, and empty where there is none: it took too
  /// long, or its runner died. A cancel is an Error of every part.
  [[nodiscard]] Answer ask(std::size_t check, Part part, CheckCase::Buffers expected = {});
  /// The next in the order in which one runner would do what decides: had that come so far?
  [[nodiscard]] Reply in_order(Answer answer);
  [[nodiscard]] Answers begin_orders();
  /// Or ok.
  [[nodiscard]] Reply first_failure(Answers orders);
  /// Of the check that is run in other orders.
  [[nodiscard]] std::vector<std::string> inputs_read_whole() const;

  EvaluatorImpl& e_;
  const protocol::EmulateRequest& request_;
  const std::vector<CheckCase::Expected>& expected_;
  /// What runners may be at all that decides, together, however many they are: else it would depend
  /// on that whether a reference is one. Other parts have what is left of it, together.
  const double limit_s_;
  std::size_t own_ = 0;                        ///< checks on the task's own inputs
  std::size_t reordered_ = 0;                  ///< the check that is run in other orders
  std::vector<protocol::EmulateReply> sizes_;  ///< of run_sizes(), by check
  std::vector<std::string> said_;              ///< of all sizes together
  double in_order_s_ = 0;                      ///< see in_order()

  std::mutex mutex_;                     ///< of what follows
  double decided_s_ = 0, looked_s_ = 0;  ///< what runners were at parts that decide, and at others
};

}  // namespace hone
