// What travels between `hone submit`, `hone coordinator` and `hone worker` through Redis: one CBOR
// map {"v", "type", …} each, as bytes. All functions are pure.
//
//   work    coordinator -> worker        messages_work.h
//   result  worker -> coordinator        messages_result.h
//   job     submit -> coordinator        messages_job.h
//   about   submit -> who lists jobs     messages_about.h
//   status  coordinator -> who asks      messages_job.h
//   places  coordinator -> who asks      messages_places.h
//   worker  worker -> coordinator        messages_worker.h
//
// Whoever reaches Redis may have written a message, so every `…_from` checks all that it reads:
// kInvalidInput with the place, "work message: checks[2].candidate.buffers[0].type: …". `encode`
// refuses what its reader would refuse, and cleans texts for people as the reader does. No message
// names a file of a machine: contents of files have their SHA-256 (candidates/sent_file.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone::queue {

/// Raised with every change of what a message means or holds; others are refused. Not for a field
/// that is left out unless somebody asks for what is new: an older reader then refuses that message
/// alone, by the field's name, and all else goes on.
inline constexpr int kQueueVersion = 8;

inline constexpr std::size_t kMaxMessage = 8U << 20;  // [B]
inline constexpr std::size_t kMaxSources = 1U << 20;  // of one message [B]

/// Of a job, an evaluation, a worker or a pool: 1 to 80 of [A-Za-z0-9._:-]. Parts of Redis keys.
[[nodiscard]] bool is_id(std::string_view text);

}  // namespace hone::queue
