// The members of a .pt2 file: where each lies, without copying it. torch.export.save writes a zip
// whose members are stored and not compressed, so a weight is a range of bytes of the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone::pytorch {

struct Member {
  std::uint64_t offset = 0;  // of its first byte in the file [B]
  std::uint64_t bytes = 0;   // [B]
};

class Archive {
 public:
  /// kInvalidInput: no zip, cut off, a member that is compressed or encrypted, or reaches beyond
  /// the file. kIo: it cannot be read. Reads the directory alone; zip64 is taken.
  [[nodiscard]] static Result<Archive> open(const std::filesystem::path& path);

  /// By its name below the archive's top folder, if there is one: "models/model.json". Null: there
  /// is none.
  [[nodiscard]] const Member* find(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, Member, std::less<>>& members() const {
    return members_;
  }
  /// kInvalidInput: it has more than `most` bytes.
  [[nodiscard]] Result<std::string> read(const Member& member, std::uint64_t most) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::map<std::string, Member, std::less<>> members_;
};

}  // namespace hone::pytorch
