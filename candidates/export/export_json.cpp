#include <nlohmann/json.hpp>

#include "candidates/export/forms.h"
#include "candidates/without_folders.h"

namespace hone::exporting {
namespace {

using nlohmann::json;

json provenance_of(const Provenance& p) {
  return {{"device", p.device},     {"device_name", p.device_name},
          {"arch", p.arch},         {"toolchain", p.toolchain},
          {"driver", p.driver},     {"hone_version", p.hone_version},
          {"modelled", p.modelled}, {"sandbox", p.sandbox}};
}

}  // namespace

std::string export_json(const std::vector<BoardRow>& rows, const Task& task) {
  json document{{"hone_export", 1},
                {"task_hash", rows[0].candidate.task_hash},
                {"task", without_folders(task)}};
  document["candidates"] = json::array();
  for (const BoardRow& row : rows) {
    json candidate{{"id", row.candidate.id},
                   {"program_hash", row.candidate.program_hash},
                   {"origin", row.candidate.origin},
                   {"parent", row.candidate.parent},
                   {"found_at", row.found_at},
                   {"recipe", row.candidate.recipe},
                   {"program", without_folders(row.candidate.program)},
                   {"evaluation", row.evaluation},
                   {"provenance", provenance_of(row.provenance)}};
    document["candidates"].push_back(std::move(candidate));
  }
  return document.dump(2, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace) + "\n";
}

}  // namespace hone::exporting
