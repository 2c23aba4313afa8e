#include "candidates/export/launched.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "candidates/export/plan.h"

namespace hone {
namespace {

std::vector<std::string> sizes_without_shape(const Task& task) {
  std::set<std::string> told;
  for (const Buffer& buffer : task.reference.buffers) {
    if (buffer.role != Role::kIn && buffer.role != Role::kInOut) continue;
    for (const Expr& extent : buffer.shape) told.insert(extent.text());
  }
  std::vector<std::string> given;
  for (const auto& [name, value] : task.sizes) {
    if (!told.contains(name)) given.push_back(name);
  }
  return given;
}

}  // namespace

Result<Launched> launched_candidate(const BoardRow& row, const Task& task, std::string_view arch) {
  auto plan = exporting::make_plan({row}, task);
  if (!plan) return std::unexpected(plan.error());
  const exporting::Part& part = plan->candidates[0];
  const int wanted = arch.empty() ? part.capability : exporting::capability_of(arch);
  if (wanted == 0) {
    return invalid(fmt::format("'{}' is no architecture such as sm_90",
                               arch.empty() ? row.provenance.arch : arch));
  }
  if (wanted < part.capability || (wanted != part.capability && part.arch_features)) {
    return invalid(fmt::format("candidate {} was made for sm_{}{} and does not run on sm_{}",
                               row.candidate.id, part.capability,
                               part.arch_features ? " alone" : "", wanted));
  }
  Launched result{
      plan->name, fmt::format("sm_{}", wanted), part.concrete, {}, sizes_without_shape(task)};
  for (const Buffer* buffer : plan->buffers()) {
    const auto& all = result.program.buffers;
    const auto found = std::ranges::find(all, buffer->name, &ConcreteBuffer::name);
    if (found == all.end()) {
      return invalid(
          fmt::format("candidate {} has no buffer '{}'", row.candidate.id, buffer->name));
    }
    result.callers.push_back(static_cast<std::size_t>(found - all.begin()));
  }
  return result;
}

}  // namespace hone
