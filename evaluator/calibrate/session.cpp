#include "evaluator/calibrate/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone::calibrate {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double median(std::vector<double> values) {
  if (values.empty()) return kNone;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

std::optional<protocol::BenchReply> Session::run(const BenchRequest& request) {
  if (failed_) return std::nullopt;
  auto reply = bench_(request);
  if (!reply) {
    failed_ = reply.error();
    return std::nullopt;
  }
  if (!reply->error.empty()) {
    into_.warnings.push_back(reply->error);
    return std::nullopt;
  }
  return std::move(*reply);
}

std::vector<double> Session::times_us(BenchRequest request, int repeats) {
  request.repeats = repeats;
  auto reply = run(request);
  if (!reply) return {};
  std::ranges::sort(reply->times_us);
  return std::move(reply->times_us);
}

double Session::time_us(BenchRequest request, int repeats) {
  return median(times_us(std::move(request), repeats));
}

double Session::work_cycles(const BenchRequest& request, int repeats) {
  return (time_us(request, repeats) - launch_us) * 1e-6 * clock_hz;
}

double Session::cycles(BenchRequest request) {
  std::vector<double> values;
  for (int i = 0; i < 3; ++i) {
    const auto reply = run(request);
    if (!reply) return kNone;
    if (reply->words[0] <= 0) {
      into_.warnings.push_back(fmt::format("{}: wrote no cycles", request.kernel));
      return kNone;
    }
    values.push_back(static_cast<double>(reply->words[0]));
  }
  return median(values);
}

std::vector<double> Session::words(BenchRequest request) {
  const auto reply = run(request);
  if (!reply) return std::vector<double>(protocol::kBenchWords, kNone);
  return {reply->words.begin(), reply->words.end()};
}

void Session::set(const char* field, double value, const std::string& how) {
  const auto* f = emulator::find_field(field);
  if (f == nullptr || failed_) return;
  if (f->integer) value = std::round(value);
  if (!std::isfinite(value) || value < f->low || value > f->high) {
    into_.warnings.push_back(std::isfinite(value)
                                 ? fmt::format("{}: {:.4g} {} is not plausible; kept {:.4g}", field,
                                               value, f->unit, f->get(into_.profile.profile))
                                 : fmt::format("{}: was not measured; kept {:.4g} {}", field,
                                               f->get(into_.profile.profile), f->unit));
    return;
  }
  // Four figures are more than a measurement holds; counts and sizes are exact.
  if (!f->integer) value = std::stod(fmt::format("{:.4g}", value));
  f->set(into_.profile.profile, value);
  into_.profile.sources[field] = how;
  into_.measured.emplace_back(field);
}

void Session::take_back(const char* field, const emulator::ProfileFile& base) {
  const auto* f = emulator::find_field(field);
  f->set(into_.profile.profile, f->get(base.profile));
  into_.profile.sources[field] = base.sources.at(field);
  std::erase(into_.measured, field);
}

void Session::extra(std::string name, double value, std::string unit) {
  if (std::isfinite(value)) into_.extras.push_back({std::move(name), std::move(unit), value});
}

double Session::kept(const char* field) const {
  return emulator::find_field(field)->get(into_.profile.profile);
}

}  // namespace hone::calibrate
