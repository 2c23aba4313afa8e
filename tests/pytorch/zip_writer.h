// Writes zip files as torch.export.save does, members as they are, for tests that need wrong ones.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hone::pytorch {

struct ZipMember {
  std::string name, bytes;
  int method = 0;  ///< 8: says that it is compressed
  int flags = 0;   ///< 1: says that it is encrypted
};

inline std::string zip_of(const std::vector<ZipMember>& members) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i)
      text += i < 8 ? static_cast<char>(value >> (8 * i) & 255) : '\0';
    return text;
  };
  std::string file, directory;
  for (const ZipMember& member : members) {
    // version, flags, method, time, date, checksum (which the importer does not read)
    const std::string common = number(20, 2) + number(static_cast<std::uint64_t>(member.flags), 2) +
                               number(static_cast<std::uint64_t>(member.method), 2) + number(0, 8) +
                               number(member.bytes.size(), 4) + number(member.bytes.size(), 4) +
                               number(member.name.size(), 2) + number(0, 2);
    directory += number(0x02014b50, 4) + number(20, 2) + common + number(0, 10) +
                 number(file.size(), 4) + member.name;
    file += number(0x04034b50, 4) + common + member.name + member.bytes;
  }
  const std::string end = number(0x06054b50, 4) + number(0, 4) + number(members.size(), 2) +
                          number(members.size(), 2) + number(directory.size(), 4) +
                          number(file.size(), 4) + number(0, 2);
  return file + directory + end;
}

}  // namespace hone::pytorch
