#include "engine/service/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace hone {
namespace {

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

/// `name{labels} value`
void write(std::string& page, const std::string& name, const std::string& labels, double value) {
  page += name;
  if (!labels.empty()) page += fmt::format("{{{}}}", labels);
  page += fmt::format(" {}\n", number(value));
}

}  // namespace

void Metrics::declare_counter(const std::string& name, const std::string& help) {
  declare(name, {.type = Type::kCounter, .help = help});
}

void Metrics::declare_gauge(const std::string& name, const std::string& help) {
  declare(name, {.type = Type::kGauge, .help = help});
}

void Metrics::declare_histogram(const std::string& name, const std::string& help,
                                std::vector<double> bounds) {
  declare(name, {.type = Type::kHistogram, .help = help, .bounds = std::move(bounds)});
}

void Metrics::declare(const std::string& name, Family family) {
  const std::lock_guard lock(mutex_);
  families_.try_emplace(name, std::move(family));
}

Metrics::Family* Metrics::find(std::string_view name) {
  const auto found = families_.find(name);
  assert(found != families_.end());
  return found == families_.end() ? nullptr : &found->second;
}

Metrics::Series& Metrics::series(Family& family, const Labels& labels) {
  std::string key;
  for (const auto& [label, value] : labels) {
    if (!key.empty()) key += ',';
    key += label;
    key += "=\"";
    key += escaped(value, true);
    key += '"';
  }
  return family.series[key];
}

void Metrics::add(std::string_view name, const Labels& labels, double amount) {
  const std::lock_guard lock(mutex_);
  if (Family* family = find(name)) series(*family, labels).value += amount;
}

void Metrics::set(std::string_view name, const Labels& labels, double value) {
  const std::lock_guard lock(mutex_);
  if (Family* family = find(name)) series(*family, labels).value = value;
}

void Metrics::observe(std::string_view name, const Labels& labels, double value) {
  const std::lock_guard lock(mutex_);
  Family* family = find(name);
  if (family == nullptr) return;
  Series& one = series(*family, labels);
  one.buckets.resize(family->bounds.size() + 1);
  ++one.buckets[static_cast<std::size_t>(std::ranges::lower_bound(family->bounds, value) -
                                         family->bounds.begin())];
  one.value += value;
}

void Metrics::clear(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (Family* family = find(name)) family->series.clear();
}

Metrics::Reading::Reading(Metrics& metrics, std::function<void()> read) : metrics_(metrics) {
  const std::lock_guard lock(metrics_.reading_);
  metrics_.read_ = std::move(read);
}

Metrics::Reading::~Reading() {
  const std::lock_guard lock(metrics_.reading_);
  metrics_.read_ = nullptr;
}

std::string Metrics::page() {
  const std::lock_guard reading(reading_);
  if (read_) read_();
  const std::lock_guard lock(mutex_);
  std::string page;
  for (const auto& [name, family] : families_) {
    const char* type = family.type == Type::kCounter ? "counter"
                       : family.type == Type::kGauge ? "gauge"
                                                     : "histogram";
    page +=
        fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(family.help, false), name, type);
    for (const auto& [labels, one] : family.series) {
      if (family.type != Type::kHistogram) {
        write(page, name, labels, one.value);
        continue;
      }
      std::uint64_t so_far = 0;
      for (std::size_t i = 0; i < one.buckets.size(); ++i) {
        so_far += one.buckets[i];
        const std::string bound = i < family.bounds.size() ? number(family.bounds[i]) : "+Inf";
        write(page, name + "_bucket",
              fmt::format("{}{}le=\"{}\"", labels, labels.empty() ? "" : ",", bound),
              static_cast<double>(so_far));
      }
      write(page, name + "_sum", labels, one.value);
      write(page, name + "_count", labels, static_cast<double>(so_far));
    }
  }
  return page;
}

std::vector<double> evaluation_seconds() {
  return {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};
}

}  // namespace hone
