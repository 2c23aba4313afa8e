// `hone serve`: the web page and the JSON API over a database and, where there is one, a queue.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "candidates/result.h"
#include "engine/queue/broker.h"
#include "engine/rewriting/rewriting.h"
#include "engine/web/limits.h"

namespace hone::web {

struct ServerOptions {
  std::filesystem::path database;  ///< must be there
  std::string listen = "127.0.0.1:8080";
  queue::Broker* broker = nullptr;  ///< null: no jobs
  Rewriting* rewriting = nullptr;   ///< formats sources, checks what is submitted; never null
  std::string token;                ///< who has it may submit; empty: nobody may
  int readers = 4;                  ///< of the database, at once
  Limits limits;
  std::function<void(const std::string&)> warn;  ///< of what is for the log; any thread
};

/// Answers on threads of its own until it is destroyed. What the options point at must outlive it.
class Server {
 public:
  /// Errors: kInvalidInput for what is no address, kEnvironment where it cannot listen, and those
  /// of Store::open.
  [[nodiscard]] static Result<std::unique_ptr<Server>> open(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] const std::string& url() const;  ///< "http://127.0.0.1:8080/"
  [[nodiscard]] bool on_loopback() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace hone::web
