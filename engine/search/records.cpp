#include "engine/search/records.h"

namespace hone {

Provenance provenance_of(const DeviceSpec& device, const DeviceInfo& info) {
  Provenance provenance;
  provenance.device = device.text();
  provenance.device_name = info.name;
  provenance.arch = info.arch;
  provenance.toolchain = info.toolchain;
  provenance.driver = info.driver;
  provenance.hone_version = HONE_VERSION;
  provenance.modelled = device.modelled();
  provenance.sandbox = info.sandbox;
  return provenance;
}

std::string id_of(const Store* store, const CandidateRecord& candidate) {
  if (store != nullptr) {
    auto id = store->candidate_id(candidate.program_hash, candidate.task_hash);
    if (id && *id) return **id;
  }
  return candidate.program_hash.substr(0, 12);
}

Error with_place(Error error, const Task& task) {
  const bool of_task =
      error.code == ErrorCode::kTaskFailed || error.code == ErrorCode::kInvalidInput;
  if (of_task && !task.source_path.empty() && !error.message.starts_with(task.source_path)) {
    error.message = task.source_path + ": " + error.message;
  }
  return error;
}

}  // namespace hone
