// A language model that a command may ask: from its options to a client with key, budgets, record
// or replay; and what of a service's each of its jobs gets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "rewriters/llm/client/client.h"
#include "rewriters/llm/prompt/prompt.h"

namespace hone::llm {

struct AccessOptions {
  llm::Settings settings;
  std::string key_file;  ///< empty: the environment's HONE_LLM_KEY, if it is set
  std::string record;    ///< a file for all exchanges; empty: none
  std::string replay;    ///< a file to answer from; then nobody is asked, and the model is its
  bool wait = false;     ///< the search waits for each reply: it repeats if the replies do
  std::vector<llm::Mode> modes;  ///< empty: those of the replay, else all
};

/// One job's, whose budgets end with it; or a service's, of which each job is granted its own.
struct Access {
  std::unique_ptr<llm::Meter> meter;
  std::unique_ptr<llm::Recorder> recorder;
  std::unique_ptr<llm::Replay> own_replay;
  std::unique_ptr<llm::Client> client;  ///< last: it uses the others
  const llm::Replay* replay = nullptr;  ///< that answers: its own, or the service's
  std::vector<llm::Mode> modes;
  bool in_order = false;  ///< wait, or a replay
};

/// Takes the key out of the environment: before other threads start. A process that has a key can
/// leave no core file from then on. Errors: kInvalidInput (which option, what would be right), kIo.
[[nodiscard]] Result<std::unique_ptr<Access>> open_access(const AccessOptions& options);

/// What a job asks for; what is left out: as much as it may have.
struct Wish {
  std::optional<std::int64_t> tokens, nano_dollars;
  std::vector<llm::Mode> modes;  ///< empty: all that there are
};

struct Grant {
  std::unique_ptr<Access> access;  ///< null: nothing, the notes say why
  std::vector<std::string> notes;  ///< where it is less than was asked for, a line each
};

/// The same model for one of a service's jobs: budgets of its own, at most the service's, that hold
/// over all processes that write to `ledger`. `service` must outlive it.
[[nodiscard]] Grant grant(const Access& service, const Wish& wish, llm::Ledger ledger);

}  // namespace hone::llm
