#include "candidates/launch_plan.h"

#include <fmt/format.h>

#include "candidates/program_detail.h"

namespace hone {
namespace {

// More than any real program has.
constexpr std::size_t kMaxLaunches = 8192;
constexpr std::size_t kMaxScratch = 256;
constexpr std::size_t kMaxArguments = 256;

NameScope scope_of(const Task& task) {
  NameScope scope;
  for (const auto& [name, value] : task.sizes) scope.sizes.push_back(name);
  for (const auto& [name, values] : task.tunables) scope.tunables.push_back(name);
  return scope;
}

// The role may be left out; it can be only one.
nlohmann::json with_roles(const JsonCursor& list) {
  nlohmann::json roles = list.value();
  if (!roles.is_array()) return roles;
  for (nlohmann::json& buffer : roles) {
    if (buffer.is_object() && !buffer.contains("role")) buffer["role"] = to_string(Role::kScratch);
  }
  return roles;
}

std::vector<Buffer> read_scratch(const JsonCursor& list, const nlohmann::json& with_roles,
                                 const Task& task, const NameScope& scope,
                                 std::optional<JsonError>& error) {
  const auto elements = list.elements_up_to(kMaxScratch);
  if (!list.ok()) return {};
  std::vector<Buffer> buffers = decode_buffers(JsonCursor(with_roles, list.path(), error), &scope);
  for (std::size_t i = 0; i < buffers.size() && i < elements.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (buffer.role != Role::kScratch) {
      elements[i].fail(
          fmt::format("'{}' has role \"{}\"; only buffers with role \"scratch\" can be added",
                      buffer.name, to_string(buffer.role)));
    } else if (task.reference.find_buffer(buffer.name) != nullptr) {
      elements[i].fail(
          fmt::format("the task already has a buffer '{}'; choose another name", buffer.name));
    }
  }
  return buffers;
}

std::vector<Launch> read_plan_launches(const JsonCursor& list, const std::vector<Buffer>& buffers,
                                       const NameScope& scope) {
  const auto elements = list.elements_up_to(kMaxLaunches);
  if (list.ok() && elements.empty()) list.fail("is empty; there must be at least 1 launch");
  for (const JsonCursor& element : elements) {
    if (const auto args = element.find("args"); args && args->value().is_array()) {
      static_cast<void>(args->elements_up_to(kMaxArguments));
    }
  }
  if (!list.ok()) return {};
  return decode_launches(list, buffers, &scope);
}

}  // namespace

Result<LaunchPlan> read_launch_plan(const nlohmann::json& json, const Task& task,
                                    const std::vector<Buffer>& known) {
  std::optional<JsonError> error;
  const JsonCursor root(json, "$", error);
  const NameScope scope = scope_of(task);
  LaunchPlan plan;
  root.expect_keys({"launches", "scratch"});
  nlohmann::json roles;
  if (const auto scratch = root.find("scratch"); scratch && root.ok()) {
    roles = with_roles(*scratch);
    plan.scratch = read_scratch(*scratch, roles, task, scope, error);
  }
  std::vector<Buffer> buffers = task.reference.buffers;
  const std::vector<Buffer>& added = plan.scratch ? *plan.scratch : known;
  buffers.insert(buffers.end(), added.begin(), added.end());
  if (const auto launches = root.find("launches"); launches && root.ok()) {
    plan.launches = read_plan_launches(*launches, buffers, scope);
  }
  if (error) return invalid(error->path + ": " + error->message);
  return plan;
}

}  // namespace hone
