#include "rewriters/llm/client/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "candidates/saturated.h"

namespace hone::llm {
namespace {

using Wide = __int128;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kTokensPerMessage = 16;   // role and separators of a chat template
constexpr std::int64_t kTokensPerRequest = 256;  // what templates put before the first message

std::int64_t saturated(Wide value) {
  return value > kMost ? kMost : static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> believable(std::optional<std::int64_t> tokens) {
  return tokens && *tokens >= 0 ? tokens : std::nullopt;
}

}  // namespace

std::int64_t input_token_bound(const Request& request) {
  Wide tokens = kTokensPerRequest + static_cast<Wide>(request.response_format.size());
  for (const Message& message : request.messages)
    tokens += static_cast<Wide>(message.text.size()) + kTokensPerMessage;
  return saturated(tokens);
}

Meter::Meter(std::optional<Prices> prices, std::optional<std::int64_t> token_budget,
             std::optional<std::int64_t> cost_budget, Ledger ledger)
    : prices_(prices),
      token_budget_(token_budget),
      cost_budget_(cost_budget),
      ledger_(std::move(ledger)) {}

std::int64_t Meter::cost(std::int64_t input_tokens, std::int64_t output_tokens) const {
  if (!prices_) return 0;
  const Wide parts = Wide{input_tokens} * prices_->input_per_million +
                     Wide{output_tokens} * prices_->output_per_million;
  return saturated((parts + kMillion - 1) / kMillion);
}

Meter::Wide Meter::tokens_left() const { return Wide{*token_budget_} - at_most().tokens; }

Meter::Wide Meter::nano_dollars_left() const {
  return Wide{*cost_budget_} - at_most().nano_dollars;
}

std::int64_t Meter::room_for_input(std::int64_t output_tokens) const {
  const std::lock_guard lock(mutex_);
  Wide room = kMost;
  if (token_budget_) room = std::min(room, tokens_left() - output_tokens);
  if (cost_budget_ && prices_ && prices_->input_per_million > 0) {
    const Wide money =
        nano_dollars_left() * kMillion - Wide{output_tokens} * prices_->output_per_million;
    room = std::min(room, money / prices_->input_per_million);
  }
  return static_cast<std::int64_t>(std::max<Wide>(room, 0));
}

Result<std::int64_t> Meter::room_for_output(const WorstCase& worst) const {
  std::int64_t output = worst.output_tokens;
  const auto too_little = [&](const std::string& budget) {
    return refused(fmt::format("{}; the request may need {} input tokens and at least {} of output",
                               budget, worst.input_tokens, worst.least_output_tokens));
  };
  if (token_budget_) {
    const Wide left = tokens_left();
    const Wide room = left - worst.input_tokens;
    if (room < worst.least_output_tokens)
      return too_little(fmt::format("the token budget of {} has {} left", *token_budget_,
                                    saturated(std::max<Wide>(left, 0))));
    output = std::min(output, saturated(room));
  }
  if (cost_budget_ && prices_) {
    const Wide left = nano_dollars_left();
    const Wide room = left * kMillion - Wide{worst.input_tokens} * prices_->input_per_million;
    const Wide price = prices_->output_per_million;
    if (room < 0 || room < price * worst.least_output_tokens)
      return too_little(fmt::format("the cost budget of {} has {} left",
                                    format_dollars(*cost_budget_),
                                    format_dollars(saturated(std::max<Wide>(left, 0)))));
    if (price > 0) output = std::min(output, saturated(room / price));
  }
  return output;
}

Result<Meter::Reservation> Meter::reserve(const WorstCase& worst) {
  std::lock_guard lock(mutex_);
  const auto output = room_for_output(worst);
  if (!output) return std::unexpected(output.error());
  Reservation made(*this, worst.input_tokens, *output, cost(worst.input_tokens, *output));
  totals_.reserved_tokens =
      saturated_sum(totals_.reserved_tokens, saturated_sum(worst.input_tokens, *output));
  totals_.reserved_nano_dollars = saturated_sum(totals_.reserved_nano_dollars, made.nano_dollars_);
  if (!ledger_.write) return made;
  const auto written = ledger_.write(at_most());
  if (written) return made;
  made.give_back();
  return fail(written.error().code,
              "what a request may cost cannot be written down first: " + written.error().message);
}

Spent Meter::spent() const {
  return {saturated_sum(ledger_.earlier.tokens,
                        saturated_sum(totals_.input_tokens, totals_.output_tokens)),
          saturated_sum(ledger_.earlier.nano_dollars, totals_.nano_dollars)};
}

Spent Meter::at_most() const {
  const Spent counted = spent();
  return {saturated_sum(counted.tokens, totals_.reserved_tokens),
          saturated_sum(counted.nano_dollars, totals_.reserved_nano_dollars)};
}

/// Where this cannot be written, more than was spent stands there.
void Meter::settled() {
  if (ledger_.write) (void)ledger_.write(at_most());
}

double Meter::share(const Spent& spent) const {
  double share = 0;
  if (token_budget_.value_or(0) > 0)
    share = static_cast<double>(spent.tokens) / static_cast<double>(*token_budget_);
  if (cost_budget_.value_or(0) > 0)
    share = std::max(share,
                     static_cast<double>(spent.nano_dollars) / static_cast<double>(*cost_budget_));
  return share;
}

double Meter::share(const Charge& charge) const {
  return share(
      Spent{saturated_sum(charge.input_tokens, charge.output_tokens), charge.nano_dollars});
}

double Meter::share_spent() const {
  std::lock_guard lock(mutex_);
  return share(spent());
}

void Meter::add(const Charge& charge) {
  totals_.input_tokens = saturated_sum(totals_.input_tokens, charge.input_tokens);
  totals_.output_tokens = saturated_sum(totals_.output_tokens, charge.output_tokens);
  totals_.nano_dollars = saturated_sum(totals_.nano_dollars, charge.nano_dollars);
}

Meter::Totals Meter::totals() const {
  std::lock_guard lock(mutex_);
  return totals_;
}

Meter::Reservation::Reservation(Reservation&& other) noexcept
    : meter_(std::exchange(other.meter_, nullptr)),
      input_tokens_(other.input_tokens_),
      output_tokens_(other.output_tokens_),
      nano_dollars_(other.nano_dollars_) {}

Meter::Reservation::~Reservation() {
  if (meter_ != nullptr) settle({});
}

Meter::Reservation::Settled Meter::Reservation::settle(const StatedUsage& stated) {
  Settled settled;
  Meter* const meter = meter_;
  if (meter == nullptr) return settled;
  const auto input = believable(stated.input_tokens), output = believable(stated.output_tokens);
  settled.charge.input_tokens = input.value_or(input_tokens_);
  settled.charge.output_tokens = output.value_or(output_tokens_);
  settled.charge.nano_dollars =
      meter->cost(settled.charge.input_tokens, settled.charge.output_tokens);
  settled.exact = input && output;
  settled.overrun =
      settled.charge.input_tokens > input_tokens_ || settled.charge.output_tokens > output_tokens_;
  // One step under the lock: what is given back and not yet counted would seem free.
  std::lock_guard lock(meter->mutex_);
  give_back();
  meter->add(settled.charge);
  ++meter->totals_.requests;
  if (!settled.exact) ++meter->totals_.estimated;
  if (settled.overrun) ++meter->totals_.overruns;
  meter->settled();
  return settled;
}

void Meter::Reservation::settle_as(const Charge& charge) {
  Meter* const meter = meter_;
  if (meter == nullptr) return;
  std::lock_guard lock(meter->mutex_);
  give_back();
  meter->add(charge);
  ++meter->totals_.requests;
  meter->settled();
}

void Meter::Reservation::release() {
  if (meter_ == nullptr) return;
  Meter* const meter = meter_;
  std::lock_guard lock(meter->mutex_);
  give_back();
  meter->settled();
}

void Meter::Reservation::give_back() {
  meter_->totals_.reserved_tokens -= saturated_sum(input_tokens_, output_tokens_);
  meter_->totals_.reserved_nano_dollars -= nano_dollars_;
  meter_ = nullptr;
}

}  // namespace hone::llm
