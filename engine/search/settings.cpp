#include "engine/search/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/search/search_limits.h"
#include "engine/search/strategy/strategy.h"
#include "rewriters/core/registry.h"

namespace hone {
namespace {

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategies()) names.emplace_back(info.name);
  return names;
}

std::string strategy_summaries() {
  std::vector<std::string> all;
  for (const StrategyInfo& info : strategies())
    all.push_back(fmt::format("{}: {}", info.name, info.summary));
  return fmt::format("{}", fmt::join(all, "; "));
}

Result<void> check_rewriter(std::string_view name) {
  if (find_rewriter(name) != nullptr) return {};
  return invalid(fmt::format("{}: no such rewriter; `hone rules` lists them", name));
}

using S = SearchSettings;

std::vector<SearchOption> make_options() {
  return {
      {.name = "budget",
       .field = BudgetField{&S::budget},
       .help = "How long to search: a time (60s, 5m, 1h) or a number of evaluations (200)",
       .on_form = true,
       .always_sent_as = "budget"},
      {.name = "seed",
       .field = SeedField{&S::seed},
       .help = "Chooses what is random in the search; the same seed repeats it exactly on an "
               "emulated device with a number of evaluations as budget and without known recipes",
       .always_sent_as = "seed"},
      {.name = "strategy",
       .field = NameField{&S::strategy, strategy_names, check_strategy},
       .help = "How the next candidate is chosen: " + strategy_summaries(),
       .always_sent_as = "strategy"},
      {.name = "prescreen",
       .field = SwitchField{&S::prescreen,
                            "On a GPU: measure also those candidates that the time model expects "
                            "to be slow"},
       .help = "On a GPU: measure only those candidates that the time model gives a chance",
       .always_sent_as = "prescreen"},
      {.name = "finalists",
       .field = CountField{&S::finalists, 1, kMostFinalists},
       .help = "How many of the fastest candidates are timed again in a fresh process",
       .always_sent_as = "finalists"},
      {.name = "without",
       .field = NamesField{&S::without, check_rewriter},
       .help = "Rewriters not to use, separated by commas; `hone rules` lists them",
       .always_sent_as = "disabled"},
      {.name = "only",
       .field = NamesField{&S::only, check_rewriter},
       .help = "Rewriters to use and no others, separated by commas; `hone rules` lists them"},
      {.name = "known",
       .field = SwitchField{&S::known, "Begin as if nothing were known"},
       .help = "Begin with what was fastest in earlier searches of the task, or of the same one at "
               "other sizes, on this architecture"},
      {.name = "ranking",
       .field = SwitchField{&S::ranking, "Try candidates in the order in which they are drawn"},
       .help =
           "Draw several candidates for each that is tried, and try the one that a model trained "
           "on this architecture's measurements ranks first; on a GPU, where there is a model"},
      {.name = "patience",
       .field = CountField{&S::patience, 1, 100},
       .help = "End the search when it has found nothing faster for this part of the budget, in "
               "percent; 100: never"},
  };
}

Result<void> check(const SearchOption&, const BudgetField&, const S&) { return {}; }
Result<void> check(const SearchOption&, const SeedField&, const S&) { return {}; }
Result<void> check(const SearchOption&, const SwitchField&, const S&) { return {}; }

Result<void> check(const SearchOption& option, const CountField& field, const S& settings) {
  const int value = settings.*field.member;
  if (value >= field.least && value <= field.most) return {};
  return invalid(
      fmt::format("--{} {}: a number from {} to {}", option.name, value, field.least, field.most));
}

Result<void> check(const SearchOption&, const NameField& field, const S& settings) {
  return field.check(settings.*field.member);
}

Result<void> check(const SearchOption& option, const NamesField& field, const S& settings) {
  for (const std::string& name : settings.*field.member)
    if (auto known = field.check(name); !known)
      return invalid(fmt::format("--{} {}", option.name, known.error().message));
  return {};
}

std::string text_of(const Budget& budget) { return budget.text(); }
std::string text_of(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}
template <class T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}

}  // namespace

std::string default_strategy() { return std::string(strategies().front().name); }

SearchSettings default_settings() { return {.budget = {.seconds = 60}}; }

std::vector<std::string> left_out(const SearchSettings& settings) {
  std::vector<std::string> out = settings.without;
  if (settings.only.empty()) return out;
  for (const auto& rewriter : rewriters())
    if (std::ranges::find(settings.only, rewriter->name()) == settings.only.end())
      out.emplace_back(rewriter->name());
  return out;
}

const std::vector<SearchOption>& search_options() {
  static const std::vector<SearchOption> kOptions = make_options();
  return kOptions;
}

const SearchOption* find_search_option(std::string_view name) {
  const auto found = std::ranges::find(search_options(), name, &SearchOption::name);
  return found == search_options().end() ? nullptr : &*found;
}

bool same_value(const SearchOption& option, const SearchSettings& a, const SearchSettings& b) {
  return std::visit([&](const auto& field) { return a.*field.member == b.*field.member; },
                    option.field);
}

std::string value_text(const SearchOption& option, const SearchSettings& settings) {
  return std::visit([&](const auto& field) { return text_of(settings.*field.member); },
                    option.field);
}

Result<void> check_settings(const SearchSettings& settings) {
  for (const SearchOption& option : search_options()) {
    auto valid =
        std::visit([&](const auto& field) { return check(option, field, settings); }, option.field);
    if (!valid) return valid;
  }
  return {};
}

}  // namespace hone
