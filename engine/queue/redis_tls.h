// TLS (1.2 or newer, by OpenSSL) over a connected socket.
#pragma once

#include <memory>

#include "engine/queue/redis_socket.h"

namespace hone {

/// Shakes hands over the non-blocking socket `fd`, which becomes the result's whatever happens. The
/// server's certificate must be signed by who the URL says and be for the URL's host.
/// Errors and `may_pass`: as RedisSocket::open.
[[nodiscard]] Result<std::unique_ptr<RedisSocket>> open_redis_tls(int fd, const RedisUrl& url,
                                                                  const RedisWait& wait,
                                                                  bool& may_pass);

}  // namespace hone
