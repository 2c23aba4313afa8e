#include <filesystem>
#include <nlohmann/json.hpp>

#include "candidates/export/forms.h"

namespace hone::exporting {
namespace {

using nlohmann::json;

/// Where a file lies on somebody's machine is nobody's business elsewhere.
std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

void forget_folders(json& program) {
  for (json& buffer : program["buffers"]) {
    if (!buffer.contains("fill") || !buffer["fill"].is_object()) continue;
    if (buffer["fill"].contains("file")) {
      buffer["fill"]["file"] = file_name(buffer["fill"]["file"].get<std::string>());
    }
  }
}

json provenance_of(const Provenance& p) {
  return {{"device", p.device},     {"device_name", p.device_name},
          {"arch", p.arch},         {"toolchain", p.toolchain},
          {"driver", p.driver},     {"hone_version", p.hone_version},
          {"modelled", p.modelled}, {"sandbox", p.sandbox}};
}

}  // namespace

std::string export_json(const std::vector<BoardRow>& rows, const Task& task) {
  json document{{"hone_export", 1}, {"task_hash", rows[0].candidate.task_hash}, {"task", task}};
  document["task"]["source_path"] = file_name(task.source_path);
  forget_folders(document["task"]["reference"]);
  document["candidates"] = json::array();
  for (const BoardRow& row : rows) {
    json candidate{{"id", row.candidate.id},
                   {"program_hash", row.candidate.program_hash},
                   {"origin", row.candidate.origin},
                   {"parent", row.candidate.parent},
                   {"found_at", row.found_at},
                   {"recipe", row.candidate.recipe},
                   {"program", row.candidate.program},
                   {"evaluation", row.evaluation},
                   {"provenance", provenance_of(row.provenance)}};
    forget_folders(candidate["program"]);
    document["candidates"].push_back(std::move(candidate));
  }
  return document.dump(2, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace) + "\n";
}

}  // namespace hone::exporting
