#include "engine/cli/llm_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "engine/cli/command.h"
#include "engine/search/search_limits.h"

namespace hone::cli {

void LlmOptions::add_to(CLI::App& app) {
  const char* const group = "A language model that proposes, too (none unless --llm is given)";
  app.add_option("--llm", url,
                 "Base URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1; its "
                 "key, if it wants one, in $HONE_LLM_KEY or --llm-key-file")
      ->type_name("URL")
      ->group(group);
  app.add_option("--llm-model", model, "The model's name, as the endpoint calls it")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--llm-key-file", key_file, "A file with the key, which nobody else may read")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--llm-modes", modes,
                 "What it is asked for, separated by commas: whole (programs), diff (edits of the "
                 "best), steps (of the rules)")
      ->type_name("MODE")
      ->delimiter(',')
      ->group(group)
      ->default_str("whole,diff,steps, or as recorded");
  app.add_option("--llm-tokens", tokens,
                 "At most so many tokens, input and output, of all requests")
      ->check(CLI::Range(std::int64_t{1}, kMostLlmTokens))
      ->type_name("N")
      ->group(group)
      ->capture_default_str();
  app.add_option("--llm-cost", cost, "At most so many dollars; needs the two prices")
      ->type_name("DOLLARS")
      ->group(group);
  app.add_option("--llm-price-in", price_in, "Dollars for a million input tokens")
      ->type_name("DOLLARS")
      ->group(group);
  app.add_option("--llm-price-out", price_out, "Dollars for a million output tokens")
      ->type_name("DOLLARS")
      ->group(group);
  app.add_option("--llm-output-tokens", output_tokens, "At most so many tokens in one reply")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{64}, std::int64_t{1} << 30))
      ->group(group)
      ->capture_default_str();
  app.add_option("--llm-temperature", temperature,
                 "How varied its replies are, 0 to 2; default: the server's")
      ->type_name("NUMBER")
      ->group(group);
  app.add_option("--llm-timeout", timeout_s, "At most so long for one reply, with its retries")
      ->type_name("TIME")
      ->transform(a_time())
      ->check(CLI::Range(1.0, 86'400.0))
      ->group(group)
      ->capture_default_str();
  app.add_option("--llm-retries", retries, "How often a request is tried again")
      ->type_name("N")
      ->check(CLI::Range(0, 20))
      ->group(group)
      ->capture_default_str();
  app.add_option("--llm-concurrency", concurrency, "How many requests are in flight at once")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->group(group)
      ->capture_default_str();
  app.add_option("--llm-proxy", proxy, "A proxy's URL, or none; default: as the environment says")
      ->type_name("URL")
      ->group(group);
  app.add_option("--llm-ca", ca_file, "Certificates (PEM) to trust instead of the system's")
      ->type_name("FILE")
      ->group(group);
  add_off_flag(app, "--llm-no-stream", stream, "Ask for replies in one piece")->group(group);
  app.add_flag("--llm-plain-key", plain_key, "Send the key over plain http to another machine, too")
      ->group(group);
  app.add_flag("--llm-wait", wait,
               "On an emulated device: wait for each reply, so that a search repeats where the "
               "replies do")
      ->group(group);
  app.add_option("--llm-record", record,
                 "Write all requests and replies to this file, without the key")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--llm-replay", replay,
                 "Take the replies from a file that --llm-record wrote: nobody is asked, and no "
                 "other option is "
                 "needed")
      ->type_name("FILE")
      ->group(group);
}

std::string LlmOptions::words() const {
  if (!wanted()) return "";
  return fmt::format("llm {} {} {} {} {} {} {} {} {} {} {}", model, replay, fmt::join(modes, ","),
                     tokens, cost, price_in, price_out, temperature, output_tokens, concurrency,
                     wait);
}

Result<llm::AccessOptions> LlmOptions::read() const {
  llm::AccessOptions options;
  llm::Settings& settings = options.settings;
  settings.url = url;
  settings.model = model;
  if (model.empty() && replay.empty())
    return invalid("--llm needs --llm-model NAME, as the endpoint calls it");
  settings.token_budget = tokens;
  settings.max_output_tokens = output_tokens;
  settings.least_output_tokens =
      std::min<std::int64_t>(settings.least_output_tokens, output_tokens);
  settings.total_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * timeout_s));
  settings.retries = retries;
  settings.concurrency = concurrency;
  settings.proxy = proxy;
  settings.ca_file = ca_file;
  settings.stream = stream;
  settings.allow_plain_key = plain_key;
  if (!temperature.empty()) {
    double value = -1;
    const char* const end = temperature.data() + temperature.size();
    const auto [at, error] = std::from_chars(temperature.data(), end, value);
    if (error != std::errc() || at != end || !(value >= 0 && value <= 2))
      return invalid(fmt::format("--llm-temperature {}: a number from 0 to 2", temperature));
    settings.temperature = value;
  }
  const auto dollars = [](const char* option, const std::string& text) -> Result<std::int64_t> {
    auto parsed = llm::parse_dollars(text);
    if (!parsed) return invalid(fmt::format("{} {}: {}", option, text, parsed.error().message));
    return parsed;
  };
  if (price_in.empty() != price_out.empty())
    return invalid("--llm-price-in and --llm-price-out: both or none");
  if (!price_in.empty()) {
    const auto in = dollars("--llm-price-in", price_in),
               out = dollars("--llm-price-out", price_out);
    if (!in) return std::unexpected(in.error());
    if (!out) return std::unexpected(out.error());
    settings.prices = llm::Prices{*in, *out};
  }
  if (!cost.empty()) {
    if (!settings.prices) return invalid("--llm-cost needs --llm-price-in and --llm-price-out");
    const auto limit = dollars("--llm-cost", cost);
    if (!limit) return std::unexpected(limit.error());
    settings.cost_budget = *limit;
  }
  options.modes.clear();
  for (const std::string& name : modes) {
    const auto mode = llm::parse_mode(name);
    if (!mode) return invalid(fmt::format("--llm-modes {}: there are {}", name, llm::kModeNames));
    options.modes.push_back(*mode);
  }
  options.key_file = key_file;
  options.record = record;
  options.replay = replay;
  options.wait = wait;
  return options;
}

Result<std::unique_ptr<llm::Access>> LlmOptions::open() const {
  if (!wanted()) {
    (void)llm::Key::from_environment();
    for (const auto& [option, value] :
         {std::pair{"--llm-model", model}, std::pair{"--llm-key-file", key_file},
          std::pair{"--llm-cost", cost}, std::pair{"--llm-record", record}}) {
      if (!value.empty()) return invalid(fmt::format("{} without --llm URL", option));
    }
    return nullptr;
  }
  auto options = read();
  if (!options) return std::unexpected(options.error());
  return llm::open_access(*options);
}

}  // namespace hone::cli
