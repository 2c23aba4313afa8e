#include "candidates/export/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "candidates/export/source.h"
#include "candidates/json_cursor.h"
#include "candidates/task_reader.h"

namespace hone::exporting {

int capability_of(std::string_view arch) {
  int value = 0;
  if (!arch.starts_with("sm_")) return 0;
  const auto [end, code] = std::from_chars(arch.data() + 3, arch.data() + arch.size(), value);
  const bool whole = end == arch.data() + arch.size() ||
                     (end + 1 == arch.data() + arch.size() && (*end == 'a' || *end == 'f'));
  return code == std::errc() && whole && value >= 50 && value < 1000 ? value : 0;
}

namespace {

int capability_in(const Provenance& provenance) {
  const int capability = capability_of(provenance.arch);
  constexpr std::string_view kEmulated = "emu:";
  if (capability != 0 || !provenance.device.starts_with(kEmulated)) return capability;
  const std::string_view device = std::string_view(provenance.device).substr(kEmulated.size());
  return capability_of(device.substr(0, device.find('/')));
}

/// Nothing that could end the line, the launch or a comment it stands in.
bool is_safe_kernel_name(const std::string& name) {
  return is_kernel_name(name) && name.find_first_of("\\#'}@`") == name.npos &&
         name.find("/*") == name.npos && name.find("*/") == name.npos &&
         name.find("//") == name.npos && name.find("??") == name.npos;
}

bool is_one_line(const std::string& text) {
  return !text.ends_with('\\') && text.find("/*") == text.npos && text.find("??") == text.npos &&
         std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

Result<Part> make_part(std::string name, const Program& program, const Task& task) {
  auto concrete = instantiate(program, task.sizes);
  if (!concrete) return std::unexpected(concrete.error());
  for (const auto& [macro, value] : program.defines) {
    if (!is_c_identifier(macro) || !is_one_line(value)) {
      return invalid(fmt::format("the macro '{}' cannot be exported: its name or value is none",
                                 printable(macro)));
    }
  }
  for (const Launch& launch : program.launches) {
    if (!is_safe_kernel_name(launch.kernel)) {
      return invalid(
          fmt::format("the kernel name '{}' cannot be exported", printable(launch.kernel)));
    }
  }
  for (const Buffer& buffer : program.buffers) {
    if (!is_c_identifier(buffer.name)) {
      return invalid(
          fmt::format("the buffer name '{}' cannot be exported", printable(buffer.name)));
    }
  }
  // A NUL would end the text for a compiler that reads it as a C string.
  if (program.source.find('\0') != program.source.npos) {
    return invalid("a source with NUL bytes cannot be exported");
  }
  Part part;
  part.name = std::move(name);
  part.program = &program;
  part.concrete = std::move(*concrete);
  part.source = without_task_comment(program.source);
  const auto taken = [&](const std::string& prefix) {
    const auto uses = [&](const std::string& text) { return text.find(prefix + "_") != text.npos; };
    return uses(part.source) || std::ranges::any_of(program.defines, [&](const auto& define) {
             return uses(define.first) || uses(define.second);
           });
  };
  for (int i = 2; taken(part.prefix); ++i) part.prefix = fmt::format("hone{}", i);
  return part;
}

}  // namespace

std::vector<const Buffer*> Part::scratch(const Task& task) const {
  std::vector<const Buffer*> result;
  for (const Buffer& buffer : program->buffers) {
    const Buffer* given = task.reference.find_buffer(buffer.name);
    const bool is_scratch = given == nullptr || given->role == Role::kScratch;
    if (is_scratch && program->uses(buffer.name)) result.push_back(&buffer);
  }
  return result;
}

std::vector<const Buffer*> Plan::buffers() const {
  std::vector<const Buffer*> result;
  for (const Buffer& buffer : task->reference.buffers) {
    if (buffer.role != Role::kScratch) result.push_back(&buffer);
  }
  return result;
}

Bindings Plan::tunables(const Program& program) {
  Bindings bindings;
  for (const auto& [name, text] : program.defines) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc() && end == text.data() + text.size()) bindings[name] = value;
  }
  return bindings;
}

Result<void> check_one_task(const std::vector<BoardRow>& rows, const Task& task) {
  if (rows.empty()) return invalid("there is no candidate to export");
  for (const BoardRow& row : rows) {
    if (row.candidate.task_hash == rows[0].candidate.task_hash) continue;
    return invalid(
        fmt::format("{} is of task {} and {} of task {}: one export holds candidates of one task",
                    rows[0].candidate.id, printable(rows[0].candidate.task_name), row.candidate.id,
                    printable(row.candidate.task_name)));
  }
  for (const auto& [name, value] : task.sizes) {
    if (!is_c_identifier(name)) {
      return invalid(fmt::format("the size name '{}' cannot be exported", printable(name)));
    }
  }
  return {};
}

Result<Plan> make_plan(const std::vector<BoardRow>& rows, const Task& task) {
  if (auto one = check_one_task(rows, task); !one) return std::unexpected(one.error());
  Plan plan;
  plan.task = &task;
  plan.name = identifier(task.name);
  auto reference = make_part("hone_reference", task.reference, task);
  if (!reference) return std::unexpected(reference.error());
  plan.reference = std::move(*reference);
  for (const BoardRow& row : rows) {
    const int capability = capability_in(row.provenance);
    // One candidate alone may run anywhere.
    if (capability == 0 && rows.size() > 1) {
      return invalid(fmt::format("{} was found on '{}', which is no architecture such as sm_90",
                                 row.candidate.id, printable(row.provenance.arch)));
    }
    for (const Part& other : plan.candidates) {
      if (other.capability != capability) continue;
      return invalid(fmt::format(
          "{} and {} were both found on sm_{}: of each architecture one candidate is dispatched to",
          other.row->candidate.id, row.candidate.id, capability));
    }
    auto part = make_part(fmt::format("hone_sm_{}", capability), row.candidate.program, task);
    if (!part) {
      return invalid(fmt::format("candidate {}: {}", row.candidate.id, part.error().message));
    }
    part->row = &row;
    part->capability = capability;
    part->arch_features = capability >= 90 && needs_arch_features(part->source);
    part->arch_specific = part->arch_features || is_arch_specific(part->source);
    plan.candidates.push_back(std::move(*part));
  }
  std::ranges::sort(plan.candidates, {}, &Part::capability);
  plan.unique = plan.name;
  for (const Part& part : plan.candidates) {
    plan.unique += '_';
    for (const char c : part.row->candidate.id)
      plan.unique += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return plan;
}

}  // namespace hone::exporting
