// What somebody may ask of a search, described once. The commands' options, a job's message, the
// web page's form, the API and its description follow from search_options(). One more option is a
// member of SearchSettings and a row in settings.cpp; then the search may read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "candidates/result.h"
#include "engine/search/budget.h"

namespace hone {

/// The name of the first of strategies().
[[nodiscard]] std::string default_strategy();

struct SearchSettings {
  Budget budget;  ///< none: no limit
  std::uint64_t seed = 1;
  std::string strategy = default_strategy();
  int finalists = 5;                 ///< timed again in a fresh process
  std::vector<std::string> without;  ///< rewriters that may not propose
  std::vector<std::string> only;     ///< those that may; none: all
  bool prescreen = true;             ///< on a GPU: measure only what the time model gives a chance
  int patience = 100;                ///< [% of the budget] without anything faster; 100: no end
  bool known = true;                 ///< begin with what earlier searches found
  bool ranking = true;  ///< of several draws, try what a trained model takes for the fastest
  bool operator==(const SearchSettings&) const = default;
};

/// Names of the rewriters that may not propose.
[[nodiscard]] std::vector<std::string> left_out(const SearchSettings& settings);

/// What holds where a user says nothing: a budget of 60 s, and the members' own defaults.
[[nodiscard]] SearchSettings default_settings();

// What a value may be, by its type.
struct BudgetField {
  Budget SearchSettings::* member;
};
/// Any 64-bit number.
struct SeedField {
  std::uint64_t SearchSettings::* member;
};
struct CountField {
  int SearchSettings::* member;
  int least, most;
};
/// One of a list of names.
struct NameField {
  std::string SearchSettings::* member;
  std::vector<std::string> (*names)();
  Result<void> (*check)(std::string_view name);
};
/// Any number of names, each once.
struct NamesField {
  std::vector<std::string> SearchSettings::* member;
  Result<void> (*check)(std::string_view name);
};
/// On, unless "--no-NAME" is given, whose help is `off_help`.
struct SwitchField {
  bool SearchSettings::* member;
  std::string_view off_help;
};

struct SearchOption {
  std::string_view name;  ///< a key of the API; the command's option is "--NAME" or "--no-NAME"
  std::variant<BudgetField, SeedField, CountField, NameField, NamesField, SwitchField> field;
  std::string help;  ///< begins with a capital letter, ends without a full stop
  /// Most who submit by hand want to say it: the web page's form has it.
  bool on_form = false;
  /// In the messages of queue::kQueueVersion 5 under this name, always. Empty: under `name`, and
  /// left out where it has its default, so that older readers go on reading such jobs.
  std::string_view always_sent_as = {};

  [[nodiscard]] std::string_view message_key() const {
    return always_sent_as.empty() ? name : always_sent_as;
  }
};

/// All options, in the order in which help texts show them.
[[nodiscard]] const std::vector<SearchOption>& search_options();
/// Null: there is none of that name.
[[nodiscard]] const SearchOption* find_search_option(std::string_view name);

/// Whether both have the same value.
[[nodiscard]] bool same_value(const SearchOption& option, const SearchSettings& a,
                              const SearchSettings& b);
/// The value as text: "60s", "7", "evolve", "true", "tile,unroll".
[[nodiscard]] std::string value_text(const SearchOption& option, const SearchSettings& settings);

/// Ranges and names. kInvalidInput, by the options' names on the command line.
[[nodiscard]] Result<void> check_settings(const SearchSettings& settings);

}  // namespace hone
