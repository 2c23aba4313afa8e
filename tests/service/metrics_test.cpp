// What Prometheus and a log's reader get to see.
#include "engine/service/metrics.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "candidates/verdict.h"
#include "engine/queue/log_event.h"
#include "engine/service/job_runner.h"
#include "engine/service/metrics_server.h"
#include "tests/e2e/process.h"
#include "tests/service/daemon.h"
#include "tests/unit/engine/redis_server.h"

namespace hone {
namespace {

using hone::testing::hone;
using hone::testing::RedisServer;
using hone::testing::TemporaryFolder;
using Labels = std::map<std::string, std::string>;

/// The text format, strictly: HELP, TYPE, then that family's samples, and nothing else.
class Page {
 public:
  explicit Page(const std::string& text) {
    if (text.empty() || text.back() != '\n') add_error("the last line does not end");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
    for (const auto& [name, type] : types_)
      if (type == "histogram") check_histogram(name);
  }

  [[nodiscard]] double value(const std::string& name, const Labels& labels = {}) const {
    const auto found = samples_.find({name, labels});
    return found == samples_.end() ? -1 : found->second;
  }
  /// Over all series of a name that have these labels.
  [[nodiscard]] double sum(const std::string& name, const Labels& labels = {}) const {
    double total = 0;
    for (const auto& [key, value] : samples_) {
      const bool fits = std::ranges::all_of(labels, [&](const auto& label) {
        const auto found = key.second.find(label.first);
        return found != key.second.end() && found->second == label.second;
      });
      if (key.first == name && fits) total += value;
    }
    return total;
  }
  [[nodiscard]] std::set<std::string> families() const {
    std::set<std::string> names;
    for (const auto& [name, type] : types_) names.insert(name);
    return names;
  }
  std::string errors;

 private:
  void add_error(const std::string& what) { errors += what + "\n"; }

  void read(const std::string& line) {
    static const std::regex help("# HELP ([a-z_]+) (.+)");
    static const std::regex type("# TYPE ([a-z_]+) (counter|gauge|histogram)");
    static const std::regex sample(
        R"re(([a-z_]+)(\{([^]*)\})? ([+-]?(?:[0-9.]+(?:e[+-]?[0-9]+)?|Inf)|NaN))re");
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      family_.clear();
      helped_ = match[1];
      if (types_.contains(helped_)) add_error("twice: " + line);
    } else if (std::regex_match(line, match, type)) {
      family_ = match[1];
      if (family_ != helped_) add_error("TYPE without its HELP: " + line);
      if (!types_.emplace(family_, match[2]).second) add_error("twice: " + line);
      if ((match[2] == "counter") != family_.ends_with("_total"))
        add_error("named unlike its type: " + line);
    } else if (std::regex_match(line, match, sample)) {
      const std::string name = match[1];
      const bool fits = types_[family_] != "histogram"
                            ? name == family_
                            : name == family_ + "_bucket" || name == family_ + "_sum" ||
                                  name == family_ + "_count";
      if (family_.empty() || !fits) add_error("not of the family above: " + line);
      if (!samples_.emplace(std::pair(name, labels(match[3])), number(match[4])).second)
        add_error("a series comes twice: " + line);
    } else {
      add_error("not of the format: " + line);
    }
  }

  Labels labels(std::string text) {
    Labels labels;
    static const std::regex label(R"re(([a-z_]+)="((?:[^"\\]|\\["\\n])*)"(,|$))re");
    std::smatch match;
    while (!text.empty()) {
      if (!std::regex_search(text, match, label, std::regex_constants::match_continuous)) {
        add_error("not labels: " + text);
        break;
      }
      const std::string value = match[2];
      std::string plain;
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (value[i] != '\\') {
          plain += value[i];
        } else {
          plain += value[++i] == 'n' ? '\n' : value[i];
        }
      }
      if (!labels.emplace(match[1], plain).second) add_error("a label comes twice: " + text);
      text = match.suffix();
    }
    return labels;
  }

  static double number(const std::string& text) {
    if (text.ends_with("Inf")) return text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    return std::stod(text);
  }

  void check_histogram(const std::string& name) {
    std::map<Labels, std::map<double, double>> buckets;  // by bound
    for (const auto& [key, value] : samples_) {
      if (key.first != name + "_bucket") continue;
      Labels rest = key.second;
      const double bound = number(rest["le"]);
      rest.erase("le");
      buckets[rest][bound] = value;
    }
    for (const auto& [rest, counts] : buckets) {
      double before = 0;
      for (const auto& [bound, count] : counts) {
        if (count < before) add_error(name + ": its buckets fall");
        before = count;
      }
      if (!std::isinf(counts.rbegin()->first) || before != value(name + "_count", rest))
        add_error(name + ": its last bucket is not its count");
      if (value(name + "_sum", rest) < 0) add_error(name + ": it has no sum");
    }
  }

  std::string helped_, family_;
  std::map<std::string, std::string> types_;
  std::map<std::pair<std::string, Labels>, double> samples_;
};

/// The whole answer, head and body; empty when nobody answers.
std::string get(int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<std::uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    (void)!write(fd, request.data(), request.size());
    char bytes[4096];
    for (ssize_t n = 0; (n = read(fd, bytes, sizeof bytes)) > 0;)
      answer.append(bytes, static_cast<std::size_t>(n));
  }
  close(fd);
  return answer;
}

std::string body(const std::string& answer) {
  const auto end = answer.find("\r\n\r\n");
  return end == answer.npos ? "" : answer.substr(end + 4);
}

int port_of(const std::string& text) {
  static const std::regex url("http://127\\.0\\.0\\.1:([0-9]+)/metrics");
  std::smatch match;
  return std::regex_search(text, match, url) ? std::stoi(match[1]) : 0;
}

/// Of a daemon that was told 127.0.0.1:0, once it has begun to count: its page is empty before.
int metrics_port(const test::Daemon& daemon) {
  for (int i = 0; i < 200; ++i) {
    const int port = port_of(daemon.log());
    if (port != 0 && !body(get(port, "/metrics")).empty()) return port;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ADD_FAILURE() << "no metrics: " << daemon.log();
  return 0;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const std::string kHostile = "a\" job=b\\\r\n2026-01-01T00:00:00.000Z error forged\x1b[2J\x7f";

TEST(MetricsPage, IsReadByAStrictReader) {
  Metrics metrics;
  metrics.declare_counter("a_total", "It has a \\ and\na second line");
  metrics.declare_gauge("b", "A gauge");
  metrics.declare_histogram("c_seconds", "A histogram", {0.5, 1});
  metrics.add("a_total", {{"name", kHostile}, {"other", "x"}}, 2);
  metrics.add("a_total", {{"other", "x"}, {"name", kHostile}}, 0.5);
  metrics.set("b", {}, -1e300);
  for (const double value : {0.1, 0.5, 0.7, 3.0}) metrics.observe("c_seconds", {}, value);
  const Page page(metrics.page());
  EXPECT_EQ(page.errors, "") << metrics.page();
  EXPECT_EQ(page.value("a_total", {{"name", kHostile}, {"other", "x"}}), 2.5);
  EXPECT_EQ(page.value("b"), -1e300);
  EXPECT_EQ(page.value("c_seconds_bucket", {{"le", "0.5"}}), 2);
  EXPECT_EQ(page.value("c_seconds_bucket", {{"le", "1"}}), 3);
  EXPECT_EQ(page.value("c_seconds_bucket", {{"le", "+Inf"}}), 4);
  EXPECT_DOUBLE_EQ(page.value("c_seconds_sum"), 4.3);
  metrics.clear("b");
  EXPECT_EQ(Page(metrics.page()).value("b"), -1);
}

TEST(MetricsPage, TheStrictReaderRefuses) {
  for (const char* text :
       {"", "a 1\n", "# HELP a x\n# TYPE a gauge\na 1", "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a x\n# TYPE a gauge\na 1\na 1\n", "# HELP a x\n# TYPE a gauge\na{b=\"\"c\"} 1\n",
        "# HELP a x\n# TYPE a gauge\nb 1\n", "# HELP a x\n# TYPE a gauge\n\na 1\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum "
        "1\na_count 1\n"})
    EXPECT_NE(Page(text).errors, "") << text;
}

TEST(MetricsPage, ThreadsCountTogether) {
  Metrics metrics;
  metrics.declare_counter("a_total", "x");
  int reads = 0;
  {
    const Metrics::Reading reading(metrics, [&] { ++reads; });
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < 1000; ++k) {
          metrics.add("a_total", {{"k", std::to_string(k % 3)}});
          if (k % 100 == 0) (void)metrics.page();
        }
      });
  }
  EXPECT_EQ(Page(metrics.page()).sum("a_total"), 4000);
  EXPECT_EQ(reads, 40);
}

TEST(MetricsServerTest, AnswersAndEnds) {
  Metrics metrics;
  metrics.declare_counter("a_total", "x");
  metrics.add("a_total", {});
  int port = 0;
  {
    const auto server = MetricsServer::open("127.0.0.1:0", metrics);
    ASSERT_TRUE(server) << server.error().message;
    port = port_of((*server)->url());
    const std::string answer = get(port, "/metrics");
    EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
              answer.npos)
        << answer;
    EXPECT_EQ(Page(body(answer)).value("a_total"), 1);
    EXPECT_EQ(body(get(port, "/healthz")), "ok\n");
    EXPECT_TRUE(get(port, "/other").starts_with("HTTP/1.1 404"));
    // Its port is its own.
    const auto second = MetricsServer::open("127.0.0.1:" + std::to_string(port), metrics);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kEnvironment);
    EXPECT_NE(second.error().message.find("in use"), std::string::npos) << second.error().message;
  }
  EXPECT_EQ(get(port, "/healthz"), "");
  EXPECT_TRUE(MetricsServer::open("127.0.0.1:" + std::to_string(port), metrics));
}

TEST(MetricsServerTest, SaysWhatIsNoAddress) {
  Metrics metrics;
  for (const char* address : {"9400", "127.0.0.1", "127.0.0.1:", ":9400", "127.0.0.1:65536",
                              "127.0.0.1:-1", "127.0.0.1:9400x", "::1:9400"}) {
    const auto server = MetricsServer::open(address, metrics);
    ASSERT_FALSE(server) << address;
    EXPECT_EQ(server.error().code, ErrorCode::kInvalidInput) << address;
  }
  const auto elsewhere = MetricsServer::open("192.0.2.1:9400", metrics);
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().code, ErrorCode::kEnvironment);
}

TEST(LogLines, NothingInThemForgesALine) {
  LogEvent event{.level = LogLevel::kWarning, .message = kHostile, .job = "a-1"};
  event.worker = "two words";
  event.pool = "x\xc2\x9b\xe2\x80\xae\xff";
  event.component = "worker";
  const std::string text = text_line(event);
  for (const char c : text) EXPECT_FALSE(c >= 0 && (c < 0x20 || c == 0x7f)) << text;
  EXPECT_EQ(text.substr(24),
            " warning \"a\\\" job=b\\\\\\r\\n2026-01-01T00:00:00.000Z error "
            "forged\\u001b[2J\\u007f\" component=worker job=a-1 worker=\"two words\" "
            "pool=\"x\\u009b\\u202e\xef\xbf\xbd\"");
  const std::string json = json_line(event);
  for (const char c : json) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << json;
  const auto read = nlohmann::json::parse(json);
  EXPECT_EQ(read["message"], kHostile);
  EXPECT_EQ(read["level"], "warning");
  EXPECT_EQ(read["worker"], "two words");
  EXPECT_FALSE(read.contains("evaluation"));
  EXPECT_EQ(read["time"], text.substr(0, 24));

  const LogEvent plain{.message = "größer als 'vorher'", .job = "a", .evaluation = "a.1.1.1"};
  EXPECT_EQ(text_line(plain).substr(24), " info größer als 'vorher' job=a evaluation=a.1.1.1");
}

TEST(LogLines, HaveTheEventAndItsFields) {
  const LogEvent event{.level = LogLevel::kDebug,
                       .event = "search_ended",
                       .message = "ended",
                       .job = "a-1",
                       .fields = {{"evaluations", 25},
                                  {"search_s", 1.25},
                                  {"reason", "its budget = used"},
                                  {"job", "another"}}};
  EXPECT_EQ(text_line(event).substr(24),
            " debug ended job=a-1 evaluations=25 search_s=1.25 reason=\"its budget = used\" "
            "job=another event=search_ended");
  const auto json = nlohmann::json::parse(json_line(event));
  EXPECT_EQ(json["event"], "search_ended");
  EXPECT_TRUE(json["evaluations"].is_number_integer());
  EXPECT_EQ(json["search_s"], 1.25);
  EXPECT_EQ(json["reason"], "its budget = used");
  EXPECT_EQ(json["job"], "a-1");  // no field takes an id's place
  for (const char* name : {"debug", "info", "warning", "error"})
    EXPECT_EQ(to_string(*parse_log_level(name)), name);
  EXPECT_FALSE(parse_log_level("Info"));
}

/// Of a daemon on a free port: what stands behind the last colon of its first address.
int serve_port(const test::Daemon& daemon) {
  for (int i = 0; i < 200; ++i) {
    const std::string log = daemon.log();
    const auto at = log.find("http://127.0.0.1:");
    if (at != log.npos && log.find('/', at + 17) != log.npos) return std::stoi(log.substr(at + 17));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ADD_FAILURE() << "it serves nothing: " << daemon.log();
  return 0;
}

/// What every daemon tells of itself, against what the system says of it.
void check_process(const Page& page, pid_t pid) {
  EXPECT_EQ(page.sum("hone_build_info"), 1);
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::map<std::string, double> said;
  for (std::string line; std::getline(status, line);) {
    const auto colon = line.find(':');
    if (colon != line.npos) said[line.substr(0, colon)] = std::atof(line.c_str() + colon + 1);
  }
  EXPECT_NEAR(page.value("process_resident_memory_bytes") / 1024, said["VmRSS"],
              0.5 * said["VmRSS"]);
  EXPECT_GE(page.value("process_virtual_memory_bytes"),
            page.value("process_resident_memory_bytes"));
  EXPECT_NEAR(page.value("process_threads"), said["Threads"], 8);
  EXPECT_GE(page.value("process_cpu_seconds_total"), 0);
  EXPECT_GE(page.value("process_open_fds"), 4);  // three streams and the one that answers
  EXPECT_GE(page.value("process_max_fds"), page.value("process_open_fds"));
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(page.value("process_start_time_seconds"), now, 600);
  EXPECT_LE(page.value("process_start_time_seconds"), now + 2);
}

TEST(Metrics, OfAJobAgreeWithWhatItCounted) {
  const RedisServer server;
  const TemporaryFolder folder;
  const std::vector<std::string> common = {"--redis", server.url_text(), "--metrics", "127.0.0.1:0",
                                           "--log-format"};
  const auto daemon = [&](std::vector<std::string> arguments, const char* format) {
    arguments.insert(arguments.end(), common.begin(), common.end());
    arguments.emplace_back(format);
    return arguments;
  };
  test::Daemon worker(daemon({"worker", "--device", "emu:sm_90", "--name", "one"}, "text"));
  const test::Daemon coordinator(daemon({"coordinator", "--db", folder.file("hone.db")}, "json"));
  const int ask_coordinator = metrics_port(coordinator), ask_worker = metrics_port(worker);
  EXPECT_EQ(body(get(ask_coordinator, "/healthz")), "ok\n");
  const Page before(body(get(ask_coordinator, "/metrics")));
  EXPECT_EQ(before.errors, "");
  EXPECT_EQ(before.value("hone_jobs_ended_total", {{"state", "done"}}), 0);

  std::ifstream file(HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu");
  std::string source{std::istreambuf_iterator<char>(file), {}};
  const auto name = source.find("\"vector_add\"");
  ASSERT_NE(name, source.npos);
  const std::string hostile_name = "a\" job=b \\ error x";
  source.replace(name, 12, nlohmann::json(hostile_name).dump());
  std::atomic<bool> ended = false;
  std::string errors;
  std::jthread scraping([&] {  // while it runs
    while (!ended) {
      for (const int port : {ask_coordinator, ask_worker})
        errors += Page(body(get(port, "/metrics"))).errors;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const auto job = hone({"submit", folder.write("task.cu", source), "--arch", "emu:sm_90",
                         "--budget", "25", "--owner", "x\n{\"level\":\"error\"}", "--wait",
                         "--redis", server.url_text(), "--json", "-"});
  ended = true;
  scraping.join();
  EXPECT_EQ(errors, "");
  ASSERT_EQ(job.status, 0) << job.out << job.err << worker.log() << coordinator.log();

  // The user hears of the end a moment before it is counted.
  for (int i = 0; i < 100; ++i) {
    const Page now(body(get(ask_coordinator, "/metrics")));
    if (now.value("hone_jobs_ended_total", {{"state", "done"}}) == 1) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const Page c(body(get(ask_coordinator, "/metrics"))), w(body(get(ask_worker, "/metrics")));
  EXPECT_EQ(c.errors + w.errors, "");
  EXPECT_EQ(c.value("hone_leading"), 1);
  EXPECT_EQ(c.value("hone_jobs_ended_total", {{"state", "done"}}), 1);
  EXPECT_EQ(c.value("hone_workers", {{"arch", "emu:sm_90"}, {"pool", "emu:sm_90"}}), 1);
  EXPECT_GE(c.value("hone_worker_capacity", {{"arch", "emu:sm_90"}, {"pool", "emu:sm_90"}}), 1);
  EXPECT_EQ(c.sum("hone_queue_depth"), 0);
  EXPECT_GE(c.value("hone_redis_connections_total"), 1);
  EXPECT_GE(w.value("hone_redis_connections_total"), 1);
  // Verdict by verdict, what the search counted, the coordinator passed on and the worker did.
  const auto counts = job.json()["archs"][0]["counts"];
  double evaluated = 0;
  for (const Verdict verdict : kAllVerdicts) {
    const std::string text(to_string(verdict));
    const double expected = counts.value(text, 0.0);
    if (verdict == Verdict::kRefused) continue;  // refused before it was asked for
    evaluated += expected;
    const Labels labels = {{"pool", "emu:sm_90"}, {"stage", "search"}, {"verdict", text}};
    // The final stage tries its finalists with fewer steps, in the same way.
    const double done = c.sum("hone_evaluations_total", labels);
    EXPECT_GE(done, expected) << text;
    EXPECT_EQ(w.sum("hone_worker_evaluations_total", labels), done) << text;
  }
  EXPECT_GT(evaluated, 5);
  EXPECT_EQ(c.sum("hone_evaluations_total", {{"stage", "admission"}}), 1);
  EXPECT_GT(c.sum("hone_evaluations_total", {{"stage", "final"}}), 1);
  const double all = c.sum("hone_evaluations_total");
  EXPECT_EQ(c.value("hone_dispatch_answered_total"), all);
  EXPECT_EQ(c.value("hone_dispatch_given_total"), all);
  EXPECT_EQ(c.value("hone_dispatch_refused_total"), 0);
  EXPECT_EQ(c.value("hone_dispatch_seconds_count", {{"pool", "emu:sm_90"}}), all);
  const Labels device = {{"device", "emu:sm_90"}, {"pool", "emu:sm_90"}};
  EXPECT_EQ(w.value("hone_worker_evaluation_seconds_count", device), all);
  EXPECT_LE(w.value("hone_worker_evaluation_seconds_sum", device),
            c.sum("hone_dispatch_seconds_sum"));
  EXPECT_GT(w.sum("hone_worker_gate_seconds_total", {{"gate", "compile"}}), 0);
  EXPECT_GT(w.sum("hone_worker_gate_seconds_total", {{"gate", "check"}}), 0);
  EXPECT_EQ(w.value("hone_worker_in_flight", device), 0);
  EXPECT_EQ(w.value("hone_worker_draining"), 0);

  check_process(c, coordinator.pid());
  check_process(w, worker.pid());
  EXPECT_EQ(c.value("hone_redis_reachable"), 1);
  EXPECT_EQ(w.value("hone_redis_reachable"), 1);
  EXPECT_EQ(c.value("hone_oldest_queued_job_seconds"), 0);
  EXPECT_EQ(c.sum("hone_searches_waiting"), 0);

  // METRICS.md names them all, and no others.
  const test::Daemon serve(
      {"serve", "--db", folder.file("hone.db"), "--redis", server.url_text(), "--port", "0"});
  const int ask_serve = serve_port(serve);
  EXPECT_EQ(body(get(ask_serve, "/healthz")), "ok\n");
  EXPECT_TRUE(get(ask_serve, "/nowhere/at/all").starts_with("HTTP/1.1 404"));
  const std::string answer = get(ask_serve, "/metrics");
  EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), answer.npos)
      << answer;
  const Page s(body(answer));
  EXPECT_EQ(s.errors, "");
  check_process(s, serve.pid());
  EXPECT_EQ(s.value("hone_redis_reachable"), 1);
  EXPECT_EQ(s.value("hone_http_requests_total",
                    {{"code", "200"}, {"method", "GET"}, {"route", "/healthz"}}),
            1);
  EXPECT_EQ(
      s.value("hone_http_requests_total", {{"code", "404"}, {"method", "GET"}, {"route", "other"}}),
      1);
  EXPECT_EQ(s.value("hone_http_request_seconds_count"), s.sum("hone_http_requests_total"));
  std::ifstream table(HONE_SOURCE_DIR "/engine/service/METRICS.md");
  std::set<std::string> documented, there = c.families();
  there.merge(w.families());
  there.merge(s.families());
  for (std::string line; std::getline(table, line);)
    if (line.starts_with("| `")) documented.insert(line.substr(3, line.find('`', 3) - 3));
  EXPECT_EQ(documented, there);

  // Its log: every line is an object, and what the submitter wrote is in one of them.
  const std::string id = job.json()["job"];
  int begins = 0;
  for (const std::string& line : lines_of(coordinator.log())) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(event.is_object()) << line;
    EXPECT_EQ(event["component"], "coordinator");
    EXPECT_NE(event["level"], "error") << line;
    EXPECT_TRUE(event["event"].is_string() && event["event"] != "") << line;
    const std::string message = event["message"];
    if (event["event"] == "search_ended") EXPECT_GT(event["evaluations"], 5) << line;
    if (event["event"] != "job_begins") continue;
    ++begins;
    EXPECT_EQ(event["task"], hostile_name);
    EXPECT_EQ(event["job"], id);
    EXPECT_NE(message.find(hostile_name), message.npos) << message;
  }
  EXPECT_EQ(begins, 1);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(20), 0);
  static const std::regex line_of_text(
      R"re(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (info|warning|error) .+ component=worker( .*)?)re");
  for (const std::string& line : lines_of(worker.log()))
    EXPECT_TRUE(std::regex_match(line, line_of_text)) << line;
  EXPECT_NE(worker.log().find(" info draining component=worker worker=one."), std::string::npos)
      << worker.log();
}

/// The value of a metric, asked for until it is `wanted` or `seconds` are over.
double value_within(int port, const std::string& name, double wanted, double seconds,
                    const Labels& labels = {}) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  double value = -1;
  do {
    value = Page(body(get(port, "/metrics"))).value(name, labels);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (value != wanted && std::chrono::steady_clock::now() < until);
  return value;
}

TEST(Metrics, AJobThatWaitsIsSeenByItsArchitectureAndAge) {
  const RedisServer server;
  const TemporaryFolder folder;
  const test::Daemon coordinator({"coordinator", "--db", folder.file("hone.db"), "--redis",
                                  server.url_text(), "--metrics", "127.0.0.1:0"});
  const int port = metrics_port(coordinator);
  EXPECT_EQ(value_within(port, "hone_leading", 1, 10), 1) << coordinator.log();
  const auto job = hone({"submit", HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu", "--arch",
                         "emu:sm_80", "--redis", server.url_text(), "--json", "-"});
  ASSERT_EQ(job.status, 0) << job.err;
  const Labels arch = {{"arch", "emu:sm_80"}};
  EXPECT_EQ(value_within(port, "hone_searches_waiting", 1, 10, arch), 1);
  const double first = Page(body(get(port, "/metrics"))).value("hone_oldest_queued_job_seconds");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const double later = Page(body(get(port, "/metrics"))).value("hone_oldest_queued_job_seconds");
  EXPECT_GT(later, first + 1);
  EXPECT_LT(later, 120);
  ASSERT_EQ(hone({"cancel", job.json()["job"], "--redis", server.url_text()}).status, 0);
  EXPECT_EQ(value_within(port, "hone_oldest_queued_job_seconds", 0, 10), 0);
  const Page after(body(get(port, "/metrics")));
  EXPECT_EQ(after.value("hone_searches_waiting", arch), -1);  // no series for what nobody asks for
}

TEST(Metrics, WhoCannotKnowDoesNotLeadAndWorkersSayThatTheServerIsLost) {
  RedisServer server;
  const TemporaryFolder folder;
  const auto daemon = [&](std::vector<std::string> arguments) {
    for (const char* word : {"--metrics", "127.0.0.1:0", "--log-format", "json", "--redis"})
      arguments.emplace_back(word);
    arguments.push_back(server.url_text());
    return arguments;
  };
  const test::Daemon coordinator(daemon({"coordinator", "--db", folder.file("hone.db")}));
  const test::Daemon worker(daemon({"worker", "--device", "emu:sm_90", "--name", "one"}));
  const test::Daemon quiet(
      daemon({"worker", "--device", "emu:sm_90", "--log-level", "warning", "--name", "two"}));
  const int ask_coordinator = metrics_port(coordinator), ask_worker = metrics_port(worker);
  ASSERT_EQ(value_within(ask_coordinator, "hone_leading", 1, 10), 1) << coordinator.log();
  server.kill();
  EXPECT_EQ(value_within(ask_worker, "hone_redis_reachable", 0, 10), 0);
  EXPECT_EQ(value_within(ask_coordinator, "hone_redis_reachable", 0, 10), 0);
  // The lock lasts 5 s; what a call of the term still waits for (30 s) does not count.
  EXPECT_EQ(value_within(ask_coordinator, "hone_leading", 0, 15), 0);
  server.start();
  EXPECT_EQ(value_within(ask_worker, "hone_redis_reachable", 1, 20), 1);
  EXPECT_EQ(value_within(ask_coordinator, "hone_leading", 1, 20), 1) << coordinator.log();
  for (const test::Daemon* one : {&coordinator, &worker}) {
    std::vector<std::string> events;
    for (const std::string& line : lines_of(one->log())) {
      const auto event = nlohmann::json::parse(line, nullptr, false);
      const std::string name = event["event"];
      if (name == "redis_back") EXPECT_GT(event["away_s"], 0);
      if (name == "redis_lost" || name == "redis_back") events.push_back(name);
    }
    // A call that began before may find out late; between two it is lost once.
    ASSERT_GE(events.size(), 2U) << one->log();
    for (std::size_t i = 0; i < events.size(); ++i)
      EXPECT_EQ(events[i], i % 2 == 0 ? "redis_lost" : "redis_back") << one->log();
  }
  EXPECT_NE(quiet.log().find("redis_lost"), std::string::npos) << quiet.log();
  EXPECT_EQ(quiet.log().find("\"info\""), std::string::npos) << quiet.log();
  // Nobody asks for anything for ten seconds.
  for (int i = 0; i < 200 && worker.log().find("worker_waits") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_NE(worker.log().find("\"event\":\"worker_waits\""), std::string::npos) << worker.log();
  quiet.signal(SIGKILL);  // the other one is to have all the work
  const auto job = hone({"submit", HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu", "--arch",
                         "emu:sm_90", "--budget", "3", "--wait", "--redis", server.url_text()});
  EXPECT_EQ(job.status, 0) << job.err << coordinator.log();
  EXPECT_NE(worker.log().find("\"event\":\"worker_works\""), std::string::npos) << worker.log();
}

TEST(LogLines, OfAFinalStageAreAsManyForManyFinalists) {
  std::map<LogLevel, int> lines;
  std::string warning;
  const Log log = [&](const LogEvent& event) {
    ++lines[event.level];
    if (event.level != LogLevel::kWarning) return;
    warning = text_line(event).substr(24);
  };
  log_finals(log, {}, "a-1", "emu:sm_90");
  EXPECT_TRUE(lines.empty());
  log_finals(log, {"the first", "another", "one more"}, "a-1", "emu:sm_90");
  EXPECT_EQ(lines, (std::map<LogLevel, int>{{LogLevel::kDebug, 3}, {LogLevel::kWarning, 1}}));
  EXPECT_EQ(warning,
            " warning 3 warnings of the final stage, the first: the first job=a-1 "
            "pool=emu:sm_90 warnings=3 event=final_stage_warnings");
  log_finals(log, {"only one"}, "a-1", "");
  EXPECT_EQ(warning, " warning only one job=a-1 warnings=1 event=final_stage_warnings");
}

TEST(LogLines, OfServeAreForPeopleUnlessAsked) {
  const TemporaryFolder folder;
  ASSERT_EQ(hone({"optimize", HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu", "--device",
                  "emu:sm_90", "--budget", "1", "--quiet", "--db", folder.file("hone.db")})
                .status,
            0);
  const auto serve = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"serve", "--port", "0", "--db", folder.file("hone.db")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const test::Daemon plain(serve({}));
  const std::string url = "http://127.0.0.1:" + std::to_string(serve_port(plain)) + "/";
  EXPECT_EQ(plain.log(), "hone: " + url + " (Ctrl-C ends it)\n");
  const test::Daemon json(serve({"--log-format", "json"}));
  const int port = serve_port(json);
  const auto event = nlohmann::json::parse(json.log(), nullptr, false);
  EXPECT_EQ(event["event"], "serve_ready") << json.log();
  EXPECT_EQ(event["component"], "serve");
  EXPECT_EQ(event["url"], "http://127.0.0.1:" + std::to_string(port) + "/");
  // Without a queue there is nothing to say of one.
  EXPECT_EQ(Page(body(get(port, "/metrics"))).value("hone_redis_reachable"), -1);
}

TEST(Metrics, ABadAddressIsAClearError) {
  for (const char* command : {"coordinator", "worker"}) {
    const auto bad = hone({command, "--metrics", "nowhere"});
    EXPECT_EQ(bad.status, 2);
    EXPECT_EQ(bad.err,
              "hone: --metrics 'nowhere': give HOST:PORT, such as 127.0.0.1:9400 or [::1]:9400\n");
    Metrics metrics;
    const auto taken = MetricsServer::open("127.0.0.1:0", metrics);
    ASSERT_TRUE(taken);
    const std::string address = "127.0.0.1:" + std::to_string(port_of((*taken)->url()));
    const auto late = hone({command, "--metrics", address});
    EXPECT_EQ(late.status, 3);
    EXPECT_EQ(late.err,
              "hone: --metrics " + address + ": cannot listen there: Address already in use\n");
    const auto json = hone({command, "--metrics", address, "--log-format", "json"});
    EXPECT_EQ(json.status, 3);
    EXPECT_EQ(nlohmann::json::parse(json.err, nullptr, false)["level"], "error") << json.err;
  }
}

}  // namespace
}  // namespace hone
