#include "engine/llm/access.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::llm {
namespace {

std::vector<llm::Mode> all_modes() {
  return {llm::Mode::kWhole, llm::Mode::kDiff, llm::Mode::kSteps};
}

/// Of the recorded questions, which LlmSource names "whole", "whole repair", …
std::vector<llm::Mode> modes_of(const llm::Replay& replay) {
  std::vector<llm::Mode> modes;
  for (const std::string& kind : replay.kinds()) {
    const auto mode = llm::parse_mode(std::string_view(kind).substr(0, kind.find(' ')));
    if (mode && std::ranges::find(modes, *mode) == modes.end()) modes.push_back(*mode);
  }
  return modes;
}

Result<std::unique_ptr<Access>> open_replay(const AccessOptions& options) {
  if (!options.record.empty()) return invalid("--llm-record beside --llm-replay: one of them");
  auto replay = llm::Replay::open(options.replay);
  if (!replay) return std::unexpected(replay.error());
  llm::Settings settings = options.settings;
  if (settings.model.empty()) settings.model = (*replay)->model();
  if (settings.model != (*replay)->model())
    return invalid(fmt::format("--llm-model {}: the record '{}' is of {}; leave the option out",
                               settings.model, options.replay, (*replay)->model()));
  auto access = std::make_unique<Access>();
  access->modes = options.modes.empty() ? modes_of(**replay) : options.modes;
  if (access->modes.empty()) access->modes = all_modes();
  access->in_order = true;
  access->own_replay = std::move(*replay);
  access->replay = access->own_replay.get();
  access->meter = std::make_unique<llm::Meter>(settings);
  access->client = llm::Client::make_replaying(settings, *access->meter, *access->own_replay);
  return access;
}

/// The smaller one, and a note where that is not the job's.
template <class Words>
std::optional<std::int64_t> at_most(std::optional<std::int64_t> wish,
                                    std::optional<std::int64_t> limit, const Words& words,
                                    std::vector<std::string>& notes) {
  if (!wish || !limit) return wish ? wish : limit;
  if (*wish > *limit)
    notes.push_back(
        fmt::format("it wants {} of the language model and gets {}, the most that a "
                    "job may have here",
                    words(*wish), words(*limit)));
  return std::min(*wish, *limit);
}

}  // namespace

Result<std::unique_ptr<Access>> open_access(const AccessOptions& options) {
  // Gone from the environment in any case: children need not have it.
  auto key = llm::Key::from_environment();
  if (!options.replay.empty()) return open_replay(options);
  if (!options.key_file.empty()) key = llm::Key::from_file(options.key_file);
  if (!key) return std::unexpected(key.error());
  if (!key->empty()) llm::hide_memory();
  auto access = std::make_unique<Access>();
  access->modes = options.modes.empty() ? all_modes() : options.modes;
  access->in_order = options.wait;
  auto endpoint = llm::Endpoint::make(options.settings, !key->empty());
  if (!endpoint) return std::unexpected(endpoint.error());
  if (!options.record.empty()) {
    auto recorder = llm::Recorder::open(options.record);
    if (!recorder) return std::unexpected(recorder.error());
    access->recorder = std::move(*recorder);
  }
  access->meter = std::make_unique<llm::Meter>(options.settings);
  llm::ClientOptions client_options;
  client_options.recorder = access->recorder.get();
  auto client =
      llm::Client::make(options.settings, std::move(*key), *access->meter, client_options);
  if (!client) return std::unexpected(client.error());
  access->client = std::move(*client);
  return access;
}

Grant grant(const Access& service, const Wish& wish, llm::Ledger ledger) {
  Grant granted;
  const llm::Settings& settings = service.client->endpoint().settings;
  if (wish.nano_dollars && !settings.prices) {
    granted.notes = {
        "it limits what the language model may cost, and no prices are known here "
        "(--llm-price-in, --llm-price-out): rules alone"};
    return granted;
  }
  auto access = std::make_unique<Access>();
  for (const llm::Mode mode : service.modes) {
    if (wish.modes.empty() || std::ranges::find(wish.modes, mode) != wish.modes.end())
      access->modes.push_back(mode);
  }
  if (access->modes.empty()) {
    granted.notes = {"the language model is not asked here for what it wants: rules alone"};
    return granted;
  }
  const auto tokens = at_most(
      wish.tokens, settings.token_budget, [](auto n) { return fmt::format("{} tokens", n); },
      granted.notes);
  const auto cost =
      at_most(wish.nano_dollars, settings.cost_budget, llm::format_dollars, granted.notes);
  access->meter = std::make_unique<llm::Meter>(settings.prices, tokens, cost, std::move(ledger));
  access->client = service.client->beside(*access->meter);
  access->replay = service.replay;
  access->in_order = service.in_order;
  granted.access = std::move(access);
  return granted;
}

}  // namespace hone::llm
