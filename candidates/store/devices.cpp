// What was measured on a device apart from candidates: other implementations, and its ceilings.
#include <algorithm>
#include <cmath>

#include "candidates/store/impl.h"

namespace hone {

using store_detail::dump;
using store_detail::now;
using store_detail::parse_stored;

std::vector<BaselineTime> Store::Impl::read_baselines(const std::string& task_hash,
                                                      const std::string& device_name) {
  SQLite::Statement query(
      database,
      "SELECT kind, device, device_name, time_us, ci95_low, ci95_high, samples, precision, "
      "versions, stored_at FROM baselines WHERE task_hash = ? AND device_name = ? ORDER BY kind");
  query.bind(1, task_hash);
  query.bind(2, device_name);
  std::vector<BaselineTime> found;
  while (query.executeStep()) {
    BaselineTime b;
    int i = 0;
    const auto text = [&] { return query.getColumn(i++).getString(); };
    const auto number = [&] { return query.getColumn(i++).getDouble(); };
    b.kind = text();
    b.device = text();
    b.device_name = text();
    b.time_us = number();
    b.ci95_low = number();
    b.ci95_high = number();
    for (const auto& sample : parse_stored(text())) {
      if (sample.is_number()) b.samples_us.push_back(sample.get<double>());
    }
    b.precision = text();
    b.versions = text();
    b.stored_at = text();
    found.push_back(std::move(b));
  }
  return found;
}

Result<void> Store::put_baseline(const std::string& task_hash, const BaselineTime& baseline) {
  const auto is_time = [](double us) { return std::isfinite(us) && us > 0; };
  if (baseline.kind.empty() || baseline.device_name.empty() ||
      !baseline.device.starts_with("cuda:")) {
    return invalid("a baseline needs a kind and the GPU that it was measured on");
  }
  if (!is_time(baseline.time_us) || !is_time(baseline.ci95_low) || !is_time(baseline.ci95_high) ||
      !std::ranges::all_of(baseline.samples_us, is_time)) {
    return invalid(fmt::format("{}: a time is not a positive number", baseline.kind));
  }
  return impl_->writing([&] {
    SQLite::Statement insert(
        impl_->database,
        "INSERT OR REPLACE INTO baselines (task_hash, device_name, kind, device, time_us, "
        "ci95_low, ci95_high, samples, precision, versions, stored_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(1, task_hash);
    insert.bind(2, baseline.device_name);
    insert.bind(3, baseline.kind);
    insert.bind(4, baseline.device);
    insert.bind(5, baseline.time_us);
    insert.bind(6, baseline.ci95_low);
    insert.bind(7, baseline.ci95_high);
    insert.bind(8, dump(baseline.samples_us));
    insert.bind(9, baseline.precision);
    insert.bind(10, baseline.versions);
    insert.bind(11, now());
    insert.exec();
  });
}

Result<std::vector<BaselineTime>> Store::baselines(const std::string& task_hash,
                                                   const std::string& device_name) const {
  return impl_->guarded([&] { return impl_->read_baselines(task_hash, device_name); });
}

Result<void> Store::put_ceilings(const std::string& device_name, const std::string& driver,
                                 const Ceilings& ceilings) {
  return impl_->writing([&] {
    Ceilings stamped = ceilings;
    stamped.measured_at = now();
    SQLite::Statement insert(impl_->database,
                             "INSERT OR REPLACE INTO devices (device_name, driver, ceilings) "
                             "VALUES (?, ?, ?)");
    insert.bind(1, device_name);
    insert.bind(2, driver);
    insert.bind(3, dump(stamped));
    insert.exec();
  });
}

Result<std::optional<Ceilings>> Store::ceilings(const std::string& device_name,
                                                const std::string& driver) const {
  return impl_->guarded([&]() -> std::optional<Ceilings> {
    SQLite::Statement query(impl_->database,
                            "SELECT ceilings FROM devices WHERE device_name = ? AND driver = ?");
    query.bind(1, device_name);
    query.bind(2, driver);
    if (!query.executeStep()) return std::nullopt;
    return store_detail::value_or_throw(
        ceilings_from_json(parse_stored(query.getColumn(0).getString())));
  });
}

}  // namespace hone
