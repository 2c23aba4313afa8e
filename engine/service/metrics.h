// Numbers about a running daemon, as Prometheus reads them (text format 0.0.4).
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

/// Families of series: declared once, then fed by name. Labels tell the series of one family
/// apart. Thread-safe. An undeclared name is a bug, and counts nothing.
class Metrics {
 public:
  using Labels = std::map<std::string, std::string>;

  void declare_counter(const std::string& name, const std::string& help);
  void declare_gauge(const std::string& name, const std::string& help);
  /// `bounds`: of the buckets, rising, without infinity.
  void declare_histogram(const std::string& name, const std::string& help,
                         std::vector<double> bounds);

  /// To a counter; `amount` is not negative.
  void add(std::string_view name, const Labels& labels, double amount = 1);
  /// A gauge, or a counter that is counted elsewhere.
  void set(std::string_view name, const Labels& labels, double value);
  /// Into a histogram.
  void observe(std::string_view name, const Labels& labels, double value);
  /// Forgets all series of a family.
  void clear(std::string_view name);

  /// While it lives, `read` is called before each page, to set what is read and not counted.
  class Reading {
   public:
    Reading(Metrics& metrics, std::function<void()> read);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    Metrics& metrics_;
  };

  [[nodiscard]] std::string page();

 private:
  enum class Type { kCounter, kGauge, kHistogram };
  struct Series {
    double value = 0;  ///< of a histogram: the sum
    std::vector<std::uint64_t> buckets;
  };
  struct Family {
    Type type = Type::kGauge;
    std::string help;
    std::vector<double> bounds;
    std::map<std::string, Series> series;  ///< by labels, as they are written
  };
  void declare(const std::string& name, Family family);
  /// Precondition: the lock is held. Null: no such family.
  Family* find(std::string_view name);
  static Series& series(Family& family, const Labels& labels);

  std::mutex reading_;  ///< of read_, and held while it runs; taken before mutex_
  std::function<void()> read_;
  std::mutex mutex_;  ///< of families_
  std::map<std::string, Family, std::less<>> families_;
};

/// Bounds [s] for what an evaluation may take: milliseconds to minutes.
[[nodiscard]] std::vector<double> evaluation_seconds();

}  // namespace hone
