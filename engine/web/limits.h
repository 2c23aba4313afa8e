// What one server bears.
#pragma once

#include <cstdint>

namespace hone::web {

struct Limits {
  int connections = 512;  ///< at once; a thread each
  /// Of them those that wait for the head of a request: so many of one address, after which its
  /// oldest is cut; twice as many of one address never.
  int half_open = 128;
  int streams = 256;         ///< of events, at once: at most that many of the connections
  int keep_alive_s = 5;      // that an idle connection is kept
  int requests = 1000;       ///< on one connection
  double head_s = 5;         // within which a request's head must be here, from its first byte
  double request_s = 15;     // within which all of it must be here
  double write_s = 10;       // in which a client that is written to must have read something
  double write_all_s = 600;  // within which a body (of a stream: an event) must be gone
  double reader_s = 5;       // that a page waits for a reader of the database
  std::int64_t payload = 1 << 20;  // of a POST [B]
};

}  // namespace hone::web
