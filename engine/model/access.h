// A language model that a command may ask: from its options to a client with key, budgets, record
// or replay.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "rewriters/llm/client/client.h"
#include "rewriters/llm/prompt/prompt.h"

namespace hone::model {

struct AccessOptions {
  llm::Settings settings;
  std::string key_file;  ///< empty: the environment's HONE_LLM_KEY, if it is set
  std::string record;    ///< a file for all exchanges; empty: none
  std::string replay;    ///< a file to answer from; then nobody is asked, and the model is its
  bool wait = false;     ///< the search waits for each reply: it repeats if the replies do
  std::vector<llm::Mode> modes;  ///< empty: those of the replay, else all
};

/// One job's: its budgets end with it.
struct Access {
  std::unique_ptr<llm::Meter> meter;
  std::unique_ptr<llm::Recorder> recorder;
  std::unique_ptr<llm::Replay> replay;
  std::unique_ptr<llm::Client> client;  ///< last: it uses the others
  std::vector<llm::Mode> modes;
  bool in_order = false;  ///< wait, or a replay
};

/// Takes the key out of the environment: before other threads start. A process that has a key can
/// leave no core file from then on. Errors: kInvalidInput (which option, what would be right), kIo.
[[nodiscard]] Result<std::unique_ptr<Access>> open_access(const AccessOptions& options);

}  // namespace hone::model
