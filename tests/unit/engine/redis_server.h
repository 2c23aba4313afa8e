// A real redis-server for tests: on a free port of the loopback, in a folder of its own, gone with
// the object and with the test process, however that ends. Throws, which fails the test, where
// redis-server or openssl are not installed. One thread at a time, any thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/queue/redis_connection.h"
#include "engine/queue/redis_url.h"

namespace hone::testing {

/// Whether an error has this code and says this: EXPECT_TRUE(says(…)).
[[nodiscard]] ::testing::AssertionResult says(const Error& error, ErrorCode code,
                                              std::string_view text);

/// A folder that is removed at the end.
class RedisFolder {
 public:
  RedisFolder();
  ~RedisFolder();
  RedisFolder(const RedisFolder&) = delete;
  RedisFolder& operator=(const RedisFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

/// Certificates made on the fly by the `openssl` command, valid for two days.
class RedisCertificates {
 public:
  RedisCertificates();
  [[nodiscard]] std::string authority() const { return folder_.file("ca.crt"); }
  [[nodiscard]] std::string stranger() const;  ///< an authority that has signed nothing
  /// Makes NAME.crt and NAME.key, signed by the authority. `names` as in a subjectAltName:
  /// "DNS:localhost,IP:127.0.0.1".
  void issue(const std::string& name, const std::string& names) const;
  [[nodiscard]] std::string certificate(const std::string& name) const {
    return folder_.file(name + ".crt");
  }
  [[nodiscard]] std::string key(const std::string& name) const {
    return folder_.file(name + ".key");
  }

 private:
  void openssl(const std::string& arguments) const;
  void authority(const std::string& name) const;
  RedisFolder folder_;
};

struct RedisServerOptions {
  enum class Persistence { kNone, kEverySecond, kAlways };  ///< the two by an append-only file
  Persistence persistence = Persistence::kNone;
  bool unix_socket = false;  ///< beside the port; see socket()
  std::string password;      ///< of the user `default`
  /// Lines of an ACL file, such as "user worker on >secret ~hone:* +@all". `default` stays as it is
  /// unless a line says otherwise.
  std::vector<std::string> acl;
  bool tls = false;              ///< the port speaks TLS only
  bool tls_asks_client = false;  ///< and wants a certificate: "client" of certificates()
  std::string tls_names = "DNS:localhost,IP:127.0.0.1";  ///< whom the server's certificate is for
  std::vector<std::string> config;                       ///< further lines of redis.conf
  /// Where it listens. Out of this network, a test's own clients take the socket: see socket_url().
  std::string address = "127.0.0.1";
  int network = -1;  ///< the network namespace it runs in; -1: this process's
};

class RedisServer {
 public:
  /// Starts it and waits until it is ready.
  explicit RedisServer(RedisServerOptions options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] pid_t pid() const { return pid_; }  ///< -1: not running
  [[nodiscard]] std::string socket() const;         ///< the unix socket's path
  [[nodiscard]] std::string socket_url() const { return "unix://" + socket(); }
  [[nodiscard]] std::string log() const;
  [[nodiscard]] const RedisCertificates& certificates() const { return *certificates_; }

  /// "redis://ADDRESS:PORT/DB", or rediss:// with the right cafile. `users` is "user:password",
  /// or ":password".
  [[nodiscard]] std::string url_text(const std::string& users = "", int db = 0) const;
  /// The same, parsed, with the server's password where `users` is empty.
  [[nodiscard]] RedisUrl url(const std::string& users = "", int db = 0) const;
  /// A new connection, for a test's own look at the server. Throws where there is none.
  [[nodiscard]] std::unique_ptr<RedisConnection> connect() const;

  /// kill -9; memory is lost, an append-only file stays.
  void kill();
  /// On the same port. With `wait` false it returns while the server still reads its file.
  void start(bool wait = true);
  void restart() { kill(), start(); }
  /// Killed and started again without its append-only file: it has forgotten all.
  void restart_empty();
  /// SIGSTOP: it is there and answers nothing. SIGCONT.
  void pause() const;
  void resume() const;

 private:
  void write_config();
  [[nodiscard]] bool wait_until_ready();

  RedisServerOptions options_;
  RedisFolder folder_;
  std::unique_ptr<RedisCertificates> certificates_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace hone::testing
