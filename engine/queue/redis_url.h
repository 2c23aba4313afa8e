// Where a Redis server is, as the user writes it:
//
//   redis://[user[:password]@]host[:port][/db]      TCP; port 6379 and db 0 where left out
//   rediss://[user[:password]@]host[:port][/db]     the same by TLS, with any of the parameters
//       ?cafile=/path           who may sign the server's certificate (PEM); else the system's
//       &cert=/path&key=/path   our own certificate and its key (PEM), where the server asks
//       &insecure=1             believe any certificate: for trying things out
//   unix://[user[:password]@]/path[?db=N]           a socket of this machine
//
// An IPv6 address stands in brackets. Special characters are percent-encoded (`@` is %40, `/` is
// %2F), in a password above all. A password alone is `redis://:password@host`.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone {

struct RedisUrl {
  enum class Transport { kTcp, kTls, kUnix };

  /// A URL without a password takes `environment_password`, where that is neither null nor empty.
  /// Errors: kInvalidInput, with the character (from 1) and what would be right there, but no part
  /// of the text that may belong to a password.
  [[nodiscard]] static Result<RedisUrl> parse(
      std::string_view text, const char* environment_password = std::getenv("HONE_REDIS_PASSWORD"));

  /// The URL for messages and logs: `***` for the password, no TLS files.
  [[nodiscard]] std::string display() const;

  Transport transport = Transport::kTcp;
  std::string host;      ///< a name, an IPv4 address, or an IPv6 address without its brackets
  int port = 6379;       ///< 1 to 65535
  std::string path;      ///< of a unix socket
  std::string user;      ///< empty: Redis' user `default`
  std::string password;  ///< empty: none. Never to be printed
  int db = 0;
  std::string ca_file;    ///< empty: the system's
  std::string cert_file;  ///< both or neither of these two
  std::string key_file;
  bool insecure = false;  ///< the server's certificate is not looked at
};

}  // namespace hone
