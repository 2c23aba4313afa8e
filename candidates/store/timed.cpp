// What searches timed, for those who learn from it.
#include "candidates/store/impl.h"

namespace hone {

using store_detail::parse_stored;
using store_detail::value_or_throw;

Result<void> Store::timed_candidates(const std::string& arch,
                                     const std::function<void(TimedCandidate)>& take) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        "SELECT r.task_hash, r.device_name, r.modelled, c.program, r.evaluation "
        "FROM results r JOIN candidates c ON c.id = r.candidate WHERE r.arch = ? AND r.final = 0 "
        "AND r.verdict = 'ok' AND r.time_us > 0 "
        "ORDER BY r.task_hash, r.modelled, r.device_name, r.candidate, r.toolchain");
    query.bind(1, arch);
    while (query.executeStep()) {
      TimedCandidate one;
      one.task_hash = query.getColumn(0).getString();
      one.device_name = query.getColumn(1).getString();
      one.modelled = query.getColumn(2).getInt() != 0;
      one.program = value_or_throw(program_from_json(parse_stored(query.getColumn(3).getString())));
      auto evaluation =
          value_or_throw(evaluation_from_json(parse_stored(query.getColumn(4).getString())));
      one.time_us = evaluation.measurement.time_us;
      one.resources = std::move(evaluation.resources);
      take(std::move(one));
    }
  });
}

Result<std::vector<std::string>> Store::timed_architectures() const {
  return impl_->guarded([&] {
    SQLite::Statement query(impl_->database,
                            "SELECT DISTINCT arch FROM results WHERE final = 0 AND verdict = 'ok' "
                            "AND time_us > 0 ORDER BY arch");
    std::vector<std::string> architectures;
    while (query.executeStep()) architectures.push_back(query.getColumn(0).getString());
    return architectures;
  });
}

}  // namespace hone
