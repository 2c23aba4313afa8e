#include "rewriters/llm/client/message.h"

#include <array>
#include <utility>

namespace hone::llm {
namespace {

constexpr std::array<std::pair<Role, const char*>, 3> kRoles{
    {{Role::kSystem, "system"}, {Role::kUser, "user"}, {Role::kAssistant, "assistant"}}};
constexpr std::array<std::pair<FailureKind, const char*>, 11> kKinds{
    {{FailureKind::kRequest, "request"},
     {FailureKind::kBudget, "budget"},
     {FailureKind::kLedger, "ledger"},
     {FailureKind::kCancelled, "cancelled"},
     {FailureKind::kSettings, "settings"},
     {FailureKind::kDown, "down"},
     {FailureKind::kTrouble, "trouble"},
     {FailureKind::kBadReply, "bad-reply"},
     {FailureKind::kNoText, "no-text"},
     {FailureKind::kNoRecord, "no-record"},
     {FailureKind::kRecordEnd, "record-end"}}};

template <class Enum, std::size_t size>
const char* name_in(const std::array<std::pair<Enum, const char*>, size>& names, Enum value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  return "";
}

template <class Enum, std::size_t size>
std::optional<Enum> value_in(const std::array<std::pair<Enum, const char*>, size>& names,
                             const std::string& text) {
  for (const auto& [known, name] : names)
    if (text == name) return known;
  return std::nullopt;
}

ErrorCode code_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::kRequest:
    case FailureKind::kNoRecord:
    case FailureKind::kRecordEnd:
      return ErrorCode::kInvalidInput;
    case FailureKind::kBudget:
    case FailureKind::kCancelled:
      return ErrorCode::kRefused;
    case FailureKind::kSettings:
      return ErrorCode::kEnvironment;
    case FailureKind::kLedger:
    case FailureKind::kDown:
    case FailureKind::kTrouble:
    case FailureKind::kBadReply:
    case FailureKind::kNoText:
      return ErrorCode::kInfrastructure;
  }
  return ErrorCode::kInternal;
}

}  // namespace

Error to_error(const Failure& failure) { return {code_of(failure.kind), failure.message}; }

const char* role_name(Role role) { return name_in(kRoles, role); }
std::optional<Role> role_from(const std::string& name) { return value_in(kRoles, name); }
const char* kind_name(FailureKind kind) { return name_in(kKinds, kind); }
std::optional<FailureKind> kind_from(const std::string& name) { return value_in(kKinds, name); }

}  // namespace hone::llm
