#include "engine/model/access.h"

namespace hone::model {

Result<std::unique_ptr<Access>> open_access(const AccessOptions& options) {
  auto access = std::make_unique<Access>();
  access->modes = options.modes;
  access->in_order = options.wait || !options.replay.empty();
  if (access->modes.empty()) return invalid("--llm-modes: at least one of whole, diff, steps");
  // Gone from the environment in any case: children need not have it.
  auto key = llm::Key::from_environment();
  if (!options.key_file.empty()) key = llm::Key::from_file(options.key_file);
  if (!options.replay.empty()) {
    if (!options.record.empty()) return invalid("--llm-record beside --llm-replay: one of them");
    auto replay = llm::Replay::open(options.replay);
    if (!replay) return std::unexpected(replay.error());
    access->replay = std::move(*replay);
    access->meter = std::make_unique<llm::Meter>(options.settings);
    access->client = llm::Client::make_replaying(options.settings, *access->meter, *access->replay);
    return access;
  }
  if (!key) return std::unexpected(key.error());
  auto endpoint = llm::Endpoint::make(options.settings, !key->empty());
  if (!endpoint) return std::unexpected(endpoint.error());
  if (!options.record.empty()) {
    auto recorder = llm::Recorder::open(options.record);
    if (!recorder) return std::unexpected(recorder.error());
    access->recorder = std::move(*recorder);
  }
  access->meter = std::make_unique<llm::Meter>(options.settings);
  llm::ClientOptions client_options;
  client_options.recorder = access->recorder.get();
  auto client =
      llm::Client::make(options.settings, std::move(*key), *access->meter, client_options);
  if (!client) return std::unexpected(client.error());
  access->client = std::move(*client);
  return access;
}

}  // namespace hone::model
