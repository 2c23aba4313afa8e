// Compiled programs on disk, shared by every hone of a user: one file per program, named by a hash
// of all that decides the result. A file is written elsewhere and renamed, and carries a hash of
// its contents, so a reader sees a whole entry or none, whatever was killed when. It also holds all
// that decides the result, which is compared: the hash is not one that nobody can make collide.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "evaluator/compile_types.h"

namespace hone::pool {

class CompileCache {
 public:
  /// `folder` is made when first needed. Empty: nothing is kept and nothing found.
  explicit CompileCache(std::filesystem::path folder,
                        std::uint64_t max_bytes = std::uint64_t{1} << 30)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  /// $XDG_CACHE_HOME/hone/compile, or ~/.cache/hone/compile.
  [[nodiscard]] static std::filesystem::path default_folder();

  /// All that decides what a compile yields; `toolchain`, `driver`: versions, as in provenance.
  [[nodiscard]] static nlohmann::json key(const CompileJob& job, const std::string& toolchain,
                                          const std::string& driver);

  /// The runner's reply of an earlier compile. A damaged entry is removed and not found.
  [[nodiscard]] std::optional<nlohmann::json> find(const nlohmann::json& key);
  /// Keeps a reply. What cannot be written is not kept: a full disk costs speed only.
  void put(const nlohmann::json& key, const nlohmann::json& reply);

  /// Removes what was used longest ago until `max_bytes` hold, and what writers that died have
  /// left.
  void trim();

 private:
  [[nodiscard]] std::filesystem::path path_of(const nlohmann::json& key) const;

  std::filesystem::path folder_;
  std::uint64_t max_bytes_;
  std::atomic<int> puts_ = 0;
  std::mutex trimming_;
};

}  // namespace hone::pool
