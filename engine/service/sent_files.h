// What a task reads of this machine's files, sent to the Redis server for the workers: `hone
// submit` of a PyTorch module, whose weights lie in its .pt2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "candidates/task.h"
#include "engine/queue/inputs.h"

namespace hone {

/// A range of a file, and the hash of its bytes.
struct FileRange {
  queue::Input input;
  std::string path;
  std::int64_t offset = 0;  // [B]
};

struct HashedTask {
  Task task;  ///< a file's name and hash in place of each path, see candidates/sent_file.h
  std::vector<FileRange> ranges;  ///< each hash once
};

/// Of each file what buffers read at the timed and the check sizes. Errors: kInvalidInput, a file
/// that is missing or too short, and more bytes than a server takes: said before any is read.
[[nodiscard]] Result<HashedTask> with_hashed_files(Task task);

struct SentFiles {
  std::int64_t sent = 0;   ///< inputs
  std::int64_t there = 0;  ///< inputs that the server had
  std::int64_t bytes = 0;  ///< of the sent ones
};

/// Those that the server lacks. Errors: those of Inputs, and kInvalidInput for a file that changed
/// meanwhile.
[[nodiscard]] Result<SentFiles> send_files(queue::Broker& broker,
                                           const std::vector<FileRange>& ranges);

}  // namespace hone
