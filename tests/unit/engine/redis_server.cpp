#include "redis_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace hone::testing {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string read_file(const std::string& path) {
  const std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

[[noreturn]] void give_up(const std::string& what) { throw std::runtime_error(what); }

bool installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

void require(const std::string& program, const std::string& package) {
  if (!installed(program))
    give_up(fmt::format("'{}' is not installed: apt-get install {} (scripts/setup.sh does)",
                        program, package));
}

/// Starts programs from one thread that never ends: PR_SET_PDEATHSIG means the end of the thread
/// that forked, not of its process.
class Starter {
 public:
  static Starter& get() {
    static auto* const starter = new Starter;  // lives until the process ends
    return *starter;
  }

  /// Output goes to `log`. The child dies with this process. `network`: see RedisServerOptions.
  pid_t start(const std::vector<std::string>& command, const std::string& log, int network) {
    const std::lock_guard one_at_a_time(mutex_);
    std::packaged_task<pid_t()> task([&] { return fork_and_exec(command, log, network); });
    auto pid = task.get_future();
    jobs_.set_value(std::move(task));
    return pid.get();
  }

 private:
  Starter() {
    std::thread([this] {
      while (true) {
        auto job = jobs_.get_future().get();
        jobs_ = {};
        job();
      }
    }).detach();
  }

  static pid_t fork_and_exec(const std::vector<std::string>& command, const std::string& log,
                             int network) {
    std::vector<char*> argv;
    for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(126);
      if (network >= 0 && setns(network, CLONE_NEWNET) != 0) _exit(125);
      dup2(out, STDOUT_FILENO);
      dup2(out, STDERR_FILENO);
      execvp(argv[0], argv.data());
      _exit(127);
    }
    close(out);
    return pid;
  }

  std::mutex mutex_;
  std::promise<std::packaged_task<pid_t()>> jobs_;
};

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool ok = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  if (!ok) give_up("no free port on the loopback");
  return ntohs(address.sin_port);
}

}  // namespace

::testing::AssertionResult says(const Error& error, ErrorCode code, std::string_view text) {
  if (error.code == code && error.message.contains(text)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << fmt::format("error {} \"{}\" where {} with \"{}\" was expected",
                        static_cast<int>(error.code), error.message, static_cast<int>(code), text);
}

RedisFolder::RedisFolder() {
  std::string name = (fs::temp_directory_path() / "hone_redis_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) give_up("no temporary folder " + name);
  path_ = name;
}
RedisFolder::~RedisFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}
std::string RedisFolder::write(const std::string& name, const std::string& content) const {
  std::ofstream(file(name)) << content;
  return file(name);
}

RedisCertificates::RedisCertificates() {
  require("openssl", "openssl");
  authority("ca");
}

void RedisCertificates::openssl(const std::string& arguments) const {
  const std::string log = folder_.file("openssl.log");
  const std::string command =
      fmt::format("cd '{}' && openssl {} >openssl.log 2>&1", folder_.file("."), arguments);
  if (std::system(command.c_str()) != 0) give_up(command + ": " + read_file(log));
}

void RedisCertificates::authority(const std::string& name) const {
  openssl(
      fmt::format("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                  "-subj '/CN=hone test {}' -keyout {}.key -out {}.crt",
                  name, name, name));
}

std::string RedisCertificates::stranger() const {
  if (!fs::exists(folder_.file("stranger.crt"))) authority("stranger");
  return folder_.file("stranger.crt");
}

void RedisCertificates::issue(const std::string& name, const std::string& names) const {
  folder_.write(name + ".ext", "subjectAltName=" + names + "\n");
  openssl(
      fmt::format("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                  "-subj '/CN={}' -keyout {}.key -out {}.csr",
                  name, name, name));
  openssl(
      fmt::format("x509 -req -in {}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 "
                  "-extfile {}.ext -out {}.crt",
                  name, name, name));
}

RedisServer::RedisServer(RedisServerOptions options) : options_(std::move(options)) {
  require("redis-server", "redis-server");
  if (options_.tls) {
    certificates_ = std::make_unique<RedisCertificates>();
    certificates_->issue("server", options_.tls_names);
    certificates_->issue("client", "DNS:client");
  }
  // Somebody else may take the port between our look and redis-server's.
  for (int tries = 0; tries < 5; ++tries) {
    port_ = free_port();
    write_config();
    start(false);
    if (wait_until_ready()) return;
    if (!log().contains("Address already in use")) break;
  }
  give_up("redis-server did not start:\n" + log());
}

RedisServer::~RedisServer() { kill(); }

void RedisServer::write_config() {
  std::string text = fmt::format(
      "bind {}\nprotected-mode no\ndaemonize no\ndir \"{}\"\nsave \"\"\n"
      "enable-debug-command local\n",
      options_.address, folder_.file("."));
  using Persistence = RedisServerOptions::Persistence;
  if (options_.persistence != Persistence::kNone) {
    text += fmt::format("appendonly yes\nappendfsync {}\n",
                        options_.persistence == Persistence::kAlways ? "always" : "everysec");
  }
  if (options_.tls) {
    text += fmt::format(
        "port 0\ntls-port {}\ntls-cert-file \"{}\"\ntls-key-file \"{}\"\n"
        "tls-ca-cert-file \"{}\"\ntls-auth-clients {}\n",
        port_, certificates_->certificate("server"), certificates_->key("server"),
        certificates_->authority(), options_.tls_asks_client ? "yes" : "no");
  } else {
    text += fmt::format("port {}\n", port_);
  }
  if (options_.unix_socket) text += fmt::format("unixsocket \"{}\"\n", socket());
  // An ACL file replaces requirepass, so the password becomes a line of it.
  if (options_.acl.empty()) {
    if (!options_.password.empty()) text += fmt::format("requirepass {}\n", options_.password);
  } else {
    std::string users;
    if (!options_.password.empty())
      users += fmt::format("user default on >{} ~* &* +@all\n", options_.password);
    for (const auto& line : options_.acl) users += line + "\n";
    text += fmt::format("aclfile \"{}\"\n", folder_.write("users.acl", users));
  }
  for (const auto& line : options_.config) text += line + "\n";
  folder_.write("redis.conf", text);
}

bool RedisServer::wait_until_ready() {
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (Clock::now() < deadline) {
    if (log().contains("Ready to accept connections")) return true;
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

void RedisServer::start(bool wait) {
  kill();
  pid_ = Starter::get().start({"redis-server", folder_.file("redis.conf")}, folder_.file("log"),
                              options_.network);
  if (pid_ < 0) give_up("fork failed");
  if (wait && !wait_until_ready()) give_up("redis-server did not start again:\n" + log());
}

void RedisServer::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::pause() const {
  ::kill(pid_, SIGSTOP);
  waitpid(pid_, nullptr, WUNTRACED);
}
void RedisServer::resume() const { ::kill(pid_, SIGCONT); }

void RedisServer::restart_empty() {
  kill();
  fs::remove_all(folder_.file("appendonlydir"));
  start();
}

std::string RedisServer::socket() const { return folder_.file("redis.sock"); }
std::string RedisServer::log() const { return read_file(folder_.file("log")); }

std::string RedisServer::url_text(const std::string& users, int db) const {
  std::string text = fmt::format("redis{}://{}{}{}:{}/{}", options_.tls ? "s" : "", users,
                                 users.empty() ? "" : "@", options_.address, port_, db);
  if (options_.tls) text += "?cafile=" + certificates_->authority();
  return text;
}

RedisUrl RedisServer::url(const std::string& users, int db) const {
  auto url = RedisUrl::parse(url_text(users, db), nullptr);
  if (!url) give_up(url.error().message);
  if (users.empty()) url->password = options_.password;
  if (options_.tls_asks_client) {
    url->cert_file = certificates_->certificate("client");
    url->key_file = certificates_->key("client");
  }
  return *url;
}

std::unique_ptr<RedisConnection> RedisServer::connect() const {
  auto connection = RedisConnection::open(url(), {});
  if (!connection) give_up(connection.error().message);
  return std::move(*connection);
}

}  // namespace hone::testing
