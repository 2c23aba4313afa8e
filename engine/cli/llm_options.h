// Options of commands that may ask a language model.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "engine/llm/access.h"

namespace hone::cli {

struct LlmOptions {
  std::string url, model, key_file, record, replay;
  std::vector<std::string> modes;  ///< empty: all, or those of a replay
  std::int64_t tokens = 500'000;
  std::string cost;                 ///< dollars; empty: no limit but the tokens
  std::string price_in, price_out;  ///< dollars for a million tokens
  std::string temperature;          ///< empty: the server's
  std::int64_t output_tokens = 8192;
  double timeout_s = 300;
  int concurrency = 2, retries = 3;
  std::string proxy, ca_file;
  bool stream = true, plain_key = false, wait = false;

  void add_to(CLI::App& app);
  /// What decides what a search does with it, in a line; empty: none is wanted.
  [[nodiscard]] std::string words() const;
  [[nodiscard]] bool wanted() const { return !url.empty() || !replay.empty(); }
  /// Settings as given. kInvalidInput: which option, and what would be right.
  [[nodiscard]] Result<llm::AccessOptions> read() const;
  /// Null where no model is wanted. Before children and threads start: takes the key out of the
  /// environment in any case.
  [[nodiscard]] Result<std::unique_ptr<llm::Access>> open() const;
};

}  // namespace hone::cli
