// What requests cost, and the budgets that they never exceed. Before a request its worst case is
// set aside; afterwards what the server says was used is counted, and the rest is free again.
// Integers throughout: a request's cost is (input * price + output * price) / 1e6, rounded up to a
// whole nano-dollar. Cheaper cached input is counted in full.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "candidates/result.h"
#include "rewriters/llm/client/endpoint.h"
#include "rewriters/llm/client/message.h"

namespace hone::llm {

/// The most that a request can take.
struct WorstCase {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t least_output_tokens = 1;  ///< what its output may be lowered to
};

/// No token of a text is shorter than a byte of its UTF-8; each message has some tokens around it,
/// and servers put some before them all. A response_format may stand in the prompt, too.
[[nodiscard]] std::int64_t input_token_bound(const Request& request);

/// As a server says; what it leaves out or says below zero is not believed.
struct StatedUsage {
  std::optional<std::int64_t> input_tokens, output_tokens;
};

struct Spent {
  std::int64_t tokens = 0;  ///< input and output
  std::int64_t nano_dollars = 0;
};

/// Where a meter's budgets hold beyond its process: what was spent before it, and where to write
/// what may have been spent by now. Nothing is asked that was not written first, at its worst case,
/// so whatever kills the process, the next one counts no less than was paid.
struct Ledger {
  Spent earlier;
  /// From any thread, one call at a time. Empty: the budgets end with the meter.
  std::function<Result<void>(const Spent& at_most)> write;
};

/// Thread-safe. Must outlive its reservations.
class Meter {
 public:
  /// Of this meter: without what was spent before it.
  struct Totals {
    std::int64_t input_tokens = 0, output_tokens = 0, nano_dollars = 0;  ///< counted
    std::int64_t reserved_tokens = 0, reserved_nano_dollars = 0;         ///< in flight
    std::int64_t requests = 0;   ///< settled, those without charge not counted
    std::int64_t estimated = 0;  ///< of these: counted at their worst case, at least in part
    std::int64_t overruns = 0;   ///< of these: the server claimed more than was reserved
  };

  /// One request's share, counted at its worst case where neither settle() nor release() is called.
  class Reservation {
   public:
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();

    [[nodiscard]] std::int64_t output_tokens() const {
      return output_tokens_;
    }  ///< at most to ask for
    struct Settled {
      Charge charge;
      bool exact = false;    ///< all of it as stated
      bool overrun = false;  ///< more than was reserved
    };
    Settled settle(const StatedUsage& stated);
    void settle_as(const Charge& charge);  ///< a replayed exchange: what it cost when recorded
    void release();                        ///< nothing can have been paid

   private:
    friend class Meter;
    Reservation(Meter& meter, std::int64_t input, std::int64_t output, std::int64_t cost)
        : meter_(&meter), input_tokens_(input), output_tokens_(output), nano_dollars_(cost) {}

    void give_back();  // with the meter's mutex held

    Meter* meter_;  // null: done
    std::int64_t input_tokens_, output_tokens_, nano_dollars_;
  };

  Meter(std::optional<Prices> prices, std::optional<std::int64_t> token_budget,
        std::optional<std::int64_t> cost_budget, Ledger ledger = {});
  explicit Meter(const Settings& settings, Ledger ledger = {})
      : Meter(settings.prices, settings.token_budget, settings.cost_budget, std::move(ledger)) {}

  /// Sets the worst case aside, with as many output tokens as there is room for.
  /// Errors: kRefused, saying which budget has how much left and what the request needs; those of
  /// the ledger.
  [[nodiscard]] Result<Reservation> reserve(const WorstCase& worst);

  /// Input tokens for which there is room beside so many of output; of no budget, the largest
  /// number.
  [[nodiscard]] std::int64_t room_for_input(std::int64_t output_tokens) const;

  [[nodiscard]] Totals totals() const;
  /// Of the budget of which most is spent, from 0; without what is in flight.
  [[nodiscard]] double share_spent() const;
  /// Likewise, what this is of a whole budget.
  [[nodiscard]] double share(const Charge& charge) const;
  /// Of both, saturated. [n$]
  [[nodiscard]] std::int64_t cost(std::int64_t input_tokens, std::int64_t output_tokens) const;

 private:
  using Wide = __int128;
  [[nodiscard]] Result<std::int64_t> room_for_output(const WorstCase& worst) const;
  [[nodiscard]] double share(const Spent& spent) const;
  void add(const Charge& charge);
  // With the mutex held:
  /// Left of the budgets, below zero after an overrun; there is one.
  [[nodiscard]] Wide tokens_left() const;
  [[nodiscard]] Wide nano_dollars_left() const;
  [[nodiscard]] Spent spent() const;
  [[nodiscard]] Spent at_most() const;  ///< with what is in flight
  void settled();

  const std::optional<Prices> prices_;
  const std::optional<std::int64_t> token_budget_, cost_budget_;
  const Ledger ledger_;
  mutable std::mutex mutex_;
  Totals totals_;
};

}  // namespace hone::llm
