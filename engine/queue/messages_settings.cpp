// What is asked of a search, in a job's message: a field for each of search_options().
#include <algorithm>

#include "engine/queue/messages_detail.h"

namespace hone::queue::detail {
namespace {

constexpr std::size_t kMaxNames = 256;
constexpr double kMaxSeconds = 30.0 * 24 * 3600;
constexpr std::int64_t kMaxEvaluations = 1'000'000'000;

Json field_json(const Budget& budget) {
  return {{"seconds", budget.seconds}, {"evaluations", budget.evaluations}};
}
template <class T>
Json field_json(const T& value) {
  return value;
}

Budget read_field(const BudgetField&, const JsonCursor& cursor) {
  Budget budget;
  if (!cursor.expect_keys({"seconds", "evaluations"})) return budget;
  budget.seconds = cursor.at("seconds").number_in(0, kMaxSeconds);
  budget.evaluations = cursor.at("evaluations").integer_in(0, kMaxEvaluations);
  return budget;
}

std::uint64_t read_field(const SeedField&, const JsonCursor& cursor) {
  return cursor.unsigned_integer();
}

int read_field(const CountField& field, const JsonCursor& cursor) {
  return static_cast<int>(cursor.integer_in(field.least, field.most));
}

/// Whether there is such a thing is asked where the job is run.
std::string read_field(const NameField&, const JsonCursor& cursor) { return read_id(cursor); }
std::vector<std::string> read_field(const NamesField&, const JsonCursor& cursor) {
  return read_ids(cursor, kMaxNames);
}

bool read_field(const SwitchField&, const JsonCursor& cursor) { return cursor.boolean(); }

}  // namespace

std::vector<std::string> read_ids(const JsonCursor& cursor, std::size_t most) {
  std::vector<std::string> ids;
  for (const JsonCursor& element : cursor.elements_up_to(most)) {
    ids.push_back(read_id(element));
    if (std::ranges::count(ids, ids.back()) > 1) element.fail("is given twice");
    if (!cursor.ok()) break;
  }
  return ids;
}

void write_settings(const SearchSettings& settings, Json& message) {
  for (const SearchOption& option : search_options()) {
    if (option.always_sent_as.empty() && same_value(option, settings, default_settings())) continue;
    message[std::string(option.message_key())] = std::visit(
        [&](const auto& field) { return field_json(settings.*field.member); }, option.field);
  }
}

SearchSettings read_settings(const JsonCursor& root) {
  SearchSettings settings;
  for (const SearchOption& option : search_options()) {
    const auto value = option.always_sent_as.empty() ? root.find(option.message_key())
                                                     : root.at(option.message_key());
    if (!value) continue;
    std::visit([&](const auto& field) { settings.*field.member = read_field(field, *value); },
               option.field);
  }
  return settings;
}

}  // namespace hone::queue::detail
